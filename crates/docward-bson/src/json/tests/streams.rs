//! Tests documents in all arrangements, in pieces, and after broken ones.

use bson::{Document, doc};

use super::{decode, read_all, read_pieces};
use crate::json::{Error, MAX_TEXT, Parser, Step};

/// A summary of a stream: the documents, and the lines of errors.
fn summary(input: &str) -> Vec<Result<Document, u64>> {
    read_all(input.as_bytes())
        .into_iter()
        .map(|result| result.map(|bytes| decode(&bytes)).map_err(|error| error.place().line))
        .collect()
}

#[track_caller]
fn check(input: &str, expected: &[Result<Document, u64>]) {
    assert_eq!(summary(input), expected, "{input}");
    for piece in 1..=input.len().min(100) {
        assert_eq!(
            read_pieces(input.as_bytes(), piece),
            read_all(input.as_bytes()),
            "{piece}: {input}"
        );
    }
}

fn n(n: i32) -> Result<Document, u64> {
    Ok(doc! { "n": n })
}

#[test]
fn arrangements() {
    let three = [n(1), n(2), n(3)];
    for input in [
        "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n",
        "{\"n\":1}\r\n{\"n\":2}\r\n\r\n{\"n\":3}",
        "{\"n\":1}{\"n\":2}{\"n\":3}",
        "{\"n\":1},{\"n\":2},{\"n\":3},",
        "[{\"n\":1},{\"n\":2},{\"n\":3}]",
        "[{\"n\":1} {\"n\":2}\n{\"n\":3},]\n",
        "\u{feff}[\n  {\n    \"n\": 1\n  },\n  {\n    \"n\": 2\n  },\n  {\n    \"n\": 3\n  }\n]\n",
        "\u{feff}{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n",
        "[{\"n\":1}]\n[{\"n\":2}]\n{\"n\":3}",
        "{\n\t\"n\": 1\n}\n{\n\t\"n\": 2\n}\n{\n\t\"n\": 3\n}",
        "/* 1 */\n{\n    \"n\" : 1\n}\n\n/* 2 */\n{\n    \"n\" : 2\n}\n\n/* 3 */\n{n:3} // end",
    ] {
        check(input, &three);
    }
    for input in
        ["", " \n ", "\u{feff}", "[]", "// only a comment", "/* and\nanother */", "[ ] [ ]"]
    {
        check(input, &[]);
    }
}

#[test]
fn broken_documents_do_not_take_others_along() {
    for input in [
        // One line is broken.
        "{\"n\":1}\n{\"n\":x}\n{\"n\":3}\n",
        "{\"n\":1}\n{\"n\":2\n{\"n\":3}\n",
        "{\"n\":1}\n{\"n\":\"2}\n{\"n\":3}\n",
        "{\"n\":1}\n{\"n\":[2}\n{\"n\":3}\n",
        "{\"n\":1}\n{\"n\": /* 2}\n{\"n\":3}\n",
        "{\"n\":1}\n{\"n\":'it's'}\n{\"n\":3}\n",
        "{\"n\":1}\n{\"n\":{\"$oid\":\"x\"}}\n{\"n\":3}\n",
        "{\"n\":1}\n{\"n\":\"}\", \"m\": x}\n{\"n\":3}\n",
        "{\"n\":1}\n42\n{\"n\":3}\n",
        "{\"n\":1}\n\"text\nof two lines\"\n{\"n\":3}\n",
        "{\"n\":1}\ndb.c.insert({\"n\":2})\n{\"n\":3}\n",
        "{\"n\":1}\n}\n{\"n\":3}\n",
        "{\"n\":1}\n]\n{\"n\":3}\n",
        // On the same line, the brackets decide.
        "{\"n\":1}\n{\"n\":x} {\"n\":3}\n",
        "[{\"n\":1},\n{\"n\":x},{\"n\":3}]",
        "[{\"n\":1},\n42, {\"n\":3}]",
        "[{\"n\":1},\n[42, {\"n\":2}], {\"n\":3}]",
        "[{\"n\":1},\nnull,{\"n\":3}]",
        "[{\"n\":1},\n\"a,b]\",{\"n\":3}]",
        // Over several lines.
        "[\n{\"n\":1},{\n  \"n\": [{\"m\": 5}\n  }\n,{\"n\":3}]".replacen("[\n{", "[{", 1).as_str(),
    ] {
        let [first, Err(line), last] = &summary(input)[..] else {
            panic!("{input}: {:?}", summary(input))
        };
        assert_eq!((first, last), (&n(1), &n(3)), "{input}");
        assert!((2..=4).contains(line), "{input}");
        check(input, &[n(1), Err(*line), n(3)]);
    }
}

#[test]
fn indented_documents_are_found_again_by_their_indent() {
    let input = "[\n  {\n    \"n\": 1\n  },\n  {\n    \"n\": {\n      \"m\": [1, 2\n    \n  },\n  {\n    \
                 \"n\": 3\n  }\n]\n";
    check(input, &[n(1), Err(9), n(3)]);
}

#[test]
fn the_end_of_the_array_ends_a_broken_document() {
    check("[{\"n\":1}, {\"n\": {\"m\": 2, {}]\n[{\"n\":3}]", &[n(1), Err(1), n(3)]);
}

#[test]
fn an_open_comment_does_not_take_documents_along() {
    check("{\"n\":1}\n/* oops\n{\"n\":3}", &[n(1), Err(3), n(3)]);
}

#[test]
fn a_truncated_last_document() {
    check("{\"n\":1}\n{\"n\":", &[n(1), Err(2)]);
    check("[{\"n\":1},{\"n\":", &[n(1), Err(1)]);
    let errors: Vec<_> = read_all(b"{}\n{\"n\":").into_iter().filter_map(Result::err).collect();
    assert!(matches!(
        errors[..],
        [Error::UnexpectedEnd { began, what: "document", .. }] if began.offset == 3
    ));
}

#[test]
fn pieces_give_what_the_whole_gives() {
    let input = "\u{feff}// first\n{\"a\": [1.5, -2e3, \"x\\u0041\\ud83d\\ude00é\", true], \
                 b: ObjectId('507f1f77bcf86cd799439011'), c: new Date(5), d: /a\\/[/]/i} \
                 /* between */ , {\"a\": {\"$date\": {\"$numberLong\": \"5\"}}, 'b': -Infinity,}\n\
                 [{a: bad}, 5, {\"$numberInt\": \"1\", \"n\": undefined}]\n{\"ab\\qc\": 1}\n{}";
    let whole = read_all(input.as_bytes());
    assert_eq!(whole.iter().filter(|r| r.is_ok()).count(), 4);
    for piece in 1..=input.len() {
        assert_eq!(read_pieces(input.as_bytes(), piece), whole, "{piece}");
    }
}

#[test]
fn every_beginning_of_a_document_needs_more() {
    let text = r#"{"a": [1.5, -2e3, 12345678901, "x\u0041\ud83d\ude00é", true, null], "$b": false,
        b: ObjectId('507f1f77bcf86cd799439011'), c: new Date(5), d: /a\/[/]/i, // comment
        "e": {"$date": {"$numberLong": "5"}}, 'f': -Infinity, /* */ g: MinKey, h: undefined,
        i: {"$regex": "a", "$options": ""}, j: {"$oid": "507f1f77bcf86cd799439011"}, k: .5 }"#;
    for end in 0..text.len() {
        let mut out = Vec::new();
        let step = Parser::new().step(&text.as_bytes()[..end], false, &mut out);
        assert!(matches!(step, Step::NeedMore { consumed: 0 }), "{step:?}: {}", &text[..end]);
        assert!(out.is_empty());
    }
    let mut out = Vec::new();
    let step = Parser::new().step(text.as_bytes(), false, &mut out);
    assert!(matches!(step, Step::Document { consumed } if consumed == text.len()));
}

#[test]
fn what_is_too_long_is_given_up() {
    for (start, filler) in [("{\"a\":\"", b'x'), ("/*", b'x')] {
        let mut input = start.as_bytes().to_vec();
        input.resize(MAX_TEXT + 10, filler);
        let (mut parser, mut out) = (Parser::new(), Vec::new());
        let step = parser.step(&input, false, &mut out);
        let Step::Failed { consumed, error: Error::TooLong { at, .. } } = step else {
            panic!("{step:?}")
        };
        assert_eq!((consumed, at.offset), (input.len(), 0));
        let step = parser.step(b"x\n{\"n\":1}", true, &mut out);
        assert_eq!(matches!(step, Step::Document { .. }), start != "/*", "{step:?}");
    }
}
