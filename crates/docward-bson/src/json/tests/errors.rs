//! Tests error messages: each states the error, the expected content, and the position.

use crate::json::{Error, parse_one};

use super::read_all;

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let error = parse_one(text).expect_err(text);
        assert_eq!(error.to_string(), *expected, "{text}");
    }
}

#[test]
fn grammar() {
    check(&[
        ("", "expected a document at line 1, column 1 (byte 0), found the end of the input"),
        (
            "  // nothing",
            "expected a document at line 1, column 13 (byte 12), found the end of the input",
        ),
        ("42", "expected a document at line 1, column 1 (byte 0), found `42`"),
        (
            "\n \"text\"",
            "expected a document at line 2, column 2 (byte 2), found the string \"text\"",
        ),
        ("[1]", "expected a document at line 1, column 2 (byte 1), found `1`"),
        ("]", "expected a document at line 1, column 1 (byte 0), found `]`"),
        ("ObjectId(\"x\")", "expected a document at line 1, column 1 (byte 0), found `ObjectId`"),
        ("\u{1}", "expected a document at line 1, column 1 (byte 0), found the byte 0x01"),
        ("{} {}", "expected nothing after the document at line 1, column 4 (byte 3), found `{`"),
        (
            "{\n  \"a\" 1}",
            "expected `:` after the field name at line 2, column 7 (byte 8), found `1`",
        ),
        ("{\"a\": }", "expected a value at line 1, column 7 (byte 6), found `}`"),
        ("{\"a\": [1,,2]}", "expected a value at line 1, column 10 (byte 9), found `,`"),
        (
            "{\"a\": 1 \"b\": 2}",
            "expected `,` or `}` after the value at line 1, column 9 (byte 8), found the string \"b\"",
        ),
        (
            "{\"a\": [1 2]}",
            "expected `,` or `]` after the value at line 1, column 10 (byte 9), found `2`",
        ),
        (
            "{\"a\": [1}",
            "expected `,` or `]` after the value at line 1, column 9 (byte 8), found `}`",
        ),
        (
            "{\"a\": Timestamp(1 2)}",
            "expected `,` or `)` after the argument at line 1, column 19 (byte 18), found `2`",
        ),
        ("{,}", "expected a field name or `}` at line 1, column 2 (byte 1), found `,`"),
        ("{-1: 1}", "expected a field name or `}` at line 1, column 2 (byte 1), found `-1`"),
        ("{\"a\": tru}", "unknown word `tru` at line 1, column 7 (byte 6): expected a value"),
        (
            "{\"a\": trueish}",
            "unknown word `trueish` at line 1, column 7 (byte 6): expected a value",
        ),
        (
            "{\"a\": new Foo(1)}",
            "unknown word `Foo` at line 1, column 7 (byte 6): expected a value",
        ),
        (
            "{\"a\": ObjectId}",
            "expected `(` after the name of a type at line 1, column 15 (byte 14), found `}`",
        ),
        ("{\"a\": /b\n/}", "expected a value at line 1, column 7 (byte 6), found `/`"),
    ]);
}

#[test]
fn ends() {
    check(&[
        (
            "  {\"a\": 1",
            "unexpected end of input at line 1, column 10 (byte 9): the document that began at \
             line 1, column 3 (byte 2) is not closed",
        ),
        (
            "{\"a\": \"b}\n",
            "unexpected end of input at line 2, column 1 (byte 10): the document that began at \
             line 1, column 1 (byte 0) is not closed",
        ),
        (
            "\n/* a",
            "unexpected end of input at line 2, column 5 (byte 5): the comment that began at \
             line 2, column 1 (byte 1) is not closed",
        ),
    ]);
    let errors: Vec<_> = read_all(b"\n[{}, {}").into_iter().filter_map(Result::err).collect();
    assert_eq!(
        errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["unexpected end of input at line 2, column 8 (byte 8): the array that began at line 2, \
          column 1 (byte 1) is not closed"]
    );
}

#[test]
fn a_cut_is_told_once_and_as_a_cut() {
    let whole =
        r#"[{"a": true}, {"b": -1.5, "c": ObjectId("507f1f77bcf86cd799439011"), "d": "\u0041"}"#;
    let second = whole.find("{\"b").expect("the second document");
    for end in second + 1..whole.len() {
        let outcomes = read_all(&whole.as_bytes()[..end]);
        assert!(
            matches!(
                &outcomes[..],
                [Ok(_), Err(Error::UnexpectedEnd { at, began, what: "document" })]
                    if at.offset == end as u64 && began.offset == second as u64
            ),
            "{:?}: {outcomes:?}",
            &whole[..end]
        );
    }
}

#[test]
fn text() {
    check(&[
        (
            r#"{"a": "b\q"}"#,
            "invalid escape at line 1, column 9 (byte 8): expected one of \\\" \\\\ \\/ \\b \\f \\n \
             \\r \\t or \\u with four hexadecimal digits, found `\\q`",
        ),
        (
            r#"{"a": "\u12G4"}"#,
            "invalid escape at line 1, column 8 (byte 7): expected one of \\\" \\\\ \\/ \\b \\f \\n \
             \\r \\t or \\u with four hexadecimal digits, found `\\u12G4`",
        ),
        (
            r#"{"a": "\ud83d"}"#,
            "lone surrogate \\uD83D at line 1, column 8 (byte 7): expected a high and a low \
             surrogate in a row",
        ),
        (
            r#"{"a": "\ud83d\u0041"}"#,
            "lone surrogate \\uD83D at line 1, column 8 (byte 7): expected a high and a low \
             surrogate in a row",
        ),
        (
            r#"{"a": "\ude00"}"#,
            "lone surrogate \\uDE00 at line 1, column 8 (byte 7): expected a high and a low \
             surrogate in a row",
        ),
        (
            r#"{"a\u0000b": 1}"#,
            "found a NUL character in a field name at line 1, column 3 (byte 2): BSON cannot hold one there",
        ),
        (
            "{\"long enough for blocks \0\": 1}",
            "found a NUL character in a field name at line 1, column 3 (byte 2): BSON cannot hold one there",
        ),
        (
            "{'\0': 1}",
            "found a NUL character in a field name at line 1, column 3 (byte 2): BSON cannot hold one there",
        ),
        (
            "{\"a\": /\0/}",
            "found a NUL character in a regular expression at line 1, column 7 (byte 6): BSON cannot hold \
             one there",
        ),
    ]);
    for (text, expected) in [
        (
            &b"{\"a\": \"b\xFFc\"}"[..],
            "invalid UTF-8 at line 1, column 9 (byte 8): found the byte 0xFF",
        ),
        (
            b"{\"a\": \"\\n\xC3\"}",
            "invalid UTF-8 at line 1, column 10 (byte 9): found the byte 0xC3",
        ),
        (b"{\"\xE9t\xE9\": 1}", "invalid UTF-8 at line 1, column 3 (byte 2): found the byte 0xE9"),
        (b"{\xE9: 1}", "invalid UTF-8 at line 1, column 2 (byte 1): found the byte 0xE9"),
        (b"{a: /\xE9/}", "invalid UTF-8 at line 1, column 6 (byte 5): found the byte 0xE9"),
    ] {
        let outcome = read_all(text);
        let [Err(error)] = outcome.as_slice() else { panic!("{outcome:?}") };
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn numbers() {
    for (text, shown) in [
        ("{\"a\": 007}", "007"),
        ("{\"a\": 0x1F}", "0x1F"),
        ("{\"a\": 12abc}", "12abc"),
        ("{\"a\": 1.2.3}", "1.2.3"),
        ("{\"a\": -}", "-"),
        ("{\"a\": 1e}", "1e"),
        ("{\"a\": 1e+}", "1e+"),
        ("{\"a\": .}", "."),
        ("{\"a\": 1e999}", "1e999"),
        ("{\"a\": -Infinit}", "-Infinit"),
    ] {
        let expected = format!(
            "invalid number at line 1, column 7 (byte 6): expected a decimal number in the range \
             of a double, found `{shown}`"
        );
        check(&[(text, &expected)]);
    }
}

#[test]
fn typed_values() {
    check(&[
        (
            "{\"_id\": ObjectId(\"user_001\")}",
            "invalid ObjectId at line 1, column 18 (byte 17): expected 24 hexadecimal digits, \
             found \"user_001\" with 8 characters",
        ),
        (
            "{\"_id\": {\"$oid\": \"507f1f77bcf86cd79943901z\"}}",
            "invalid ObjectId at line 1, column 18 (byte 17): expected 24 hexadecimal digits, \
             found \"507f1f77bcf86cd79943901z\"",
        ),
        (
            "{\"_id\": {\"$oid\": 5}}",
            "invalid ObjectId at line 1, column 9 (byte 8): expected 24 hexadecimal digits, \
             found `5`",
        ),
        (
            "{\"_id\": ObjectId()}",
            "invalid ObjectId at line 1, column 9 (byte 8): expected 24 hexadecimal digits, \
             found nothing",
        ),
        (
            "{\"a\": {\"$date\": \"yesterday\"}}",
            "invalid date at line 1, column 17 (byte 16): expected an ISO 8601 date such as \
             \"2024-05-31T12:00:00Z\" or a whole number of milliseconds, found \"yesterday\"",
        ),
        (
            "{\"a\": {\"$date\": 1.5}}",
            "invalid date at line 1, column 7 (byte 6): expected an ISO 8601 date such as \
             \"2024-05-31T12:00:00Z\" or a whole number of milliseconds, found `1.5`",
        ),
        (
            "{\"a\": new Date(2014, 1, 1)}",
            "invalid date at line 1, column 7 (byte 6): expected an ISO 8601 date such as \
             \"2024-05-31T12:00:00Z\" or a whole number of milliseconds, found more than two \
             arguments",
        ),
        (
            "{\"a\": {\"$numberInt\": \"2147483648\"}}",
            "invalid int32 at line 1, column 22 (byte 21): expected a whole number from \
             -2147483648 to 2147483647, found \"2147483648\"",
        ),
        (
            "{\"a\": NumberLong(\"1.5\")}",
            "invalid int64 at line 1, column 18 (byte 17): expected a whole number from \
             -9223372036854775808 to 9223372036854775807, found \"1.5\"",
        ),
        (
            "{\"a\": {\"$numberDouble\": \"inf\"}}",
            "invalid double at line 1, column 25 (byte 24): expected a number, \"NaN\", \
             \"Infinity\" or \"-Infinity\", found \"inf\"",
        ),
        (
            "{\"a\": NumberDecimal(\"1,5\")}",
            "invalid decimal128 at line 1, column 21 (byte 20): expected a decimal number of at \
             most 34 digits, found \"1,5\"",
        ),
        (
            "{\"a\": UUID(\"73ffd264\")}",
            "invalid UUID at line 1, column 12 (byte 11): expected 32 hexadecimal digits, in \
             groups of 8-4-4-4-12 or in one, found \"73ffd264\"",
        ),
        (
            "{\"a\": {\"$binary\": {\"base64\": \"!\", \"subType\": \"00\"}}}",
            "invalid binary value at line 1, column 7 (byte 6): expected base64 text and a subtype \
             from 0 to 255 (in JSON as hexadecimal text), found \"!\" and \"00\"",
        ),
        (
            "{\"a\": {\"$binary\": {\"base64\": \"AQID\"}}}",
            "invalid binary value at line 1, column 7 (byte 6): expected base64 text and a subtype \
             from 0 to 255 (in JSON as hexadecimal text), found no `subType`",
        ),
        (
            "{\"a\": BinData(256, \"AQID\")}",
            "invalid binary value at line 1, column 7 (byte 6): expected base64 text and a subtype \
             from 0 to 255 (in JSON as hexadecimal text), found `256` and \"AQID\"",
        ),
        (
            "{\"a\": {\"$regularExpression\": \"a\"}}",
            "invalid regular expression at line 1, column 7 (byte 6): expected a pattern and \
             options, both text, found \"a\"",
        ),
        (
            "{\"a\": {\"$timestamp\": {\"t\": -1, \"i\": 1}}}",
            "invalid timestamp at line 1, column 7 (byte 6): expected seconds `t` and increment \
             `i`, both from 0 to 4294967295, found `-1` and `1`",
        ),
        (
            "{\"a\": {\"$code\": \"x\", \"$scope\": 1}}",
            "invalid JavaScript code at line 1, column 7 (byte 6): expected code as text and, at \
             most, a scope document, found \"x\" and `1`",
        ),
        (
            "{\"a\": {\"$minKey\": 2}}",
            "invalid MinKey at line 1, column 7 (byte 6): expected nothing but the number 1, found \
             `2`",
        ),
        (
            "{\"a\": {\"$undefined\": false}}",
            "invalid undefined value at line 1, column 7 (byte 6): expected nothing but `true`, \
             found `false`",
        ),
        (
            "{\"a\": {\"$oid\": \"507f1f77bcf86cd799439011\", \"b\": 1}}",
            "unexpected field \"b\" at line 1, column 7 (byte 6): `$oid` makes a typed value and \
             stands without it",
        ),
        (
            "{\"a\": {\"$timestamp\": {\"t\": 1, \"i\": 1, \"x\": 1}}}",
            "unexpected field \"x\" at line 1, column 7 (byte 6): `$timestamp` makes a typed value \
             and stands without it",
        ),
        (
            "{\"a\": {\"$numberInt\": \"1\", \"$numberInt\": \"1\"}}",
            "unexpected field \"$numberInt\" at line 1, column 7 (byte 6): `$numberInt` makes a \
             typed value and stands without it",
        ),
        (
            "{\"a\": DBRef(\"c\")}",
            "invalid DBRef at line 1, column 7 (byte 6): expected a collection, an identifier and, \
             at most, a database, found fewer than two",
        ),
    ]);
}

#[test]
fn limits() {
    let text = format!("{}\n  {{ \"b\": 1", "{\"a\":".repeat(200));
    assert_eq!(
        parse_one(&text).unwrap_err().to_string(),
        "nested too deeply at line 2, column 3 (byte 1003): at most 200 levels are read"
    );
}

#[test]
fn long_texts_are_shortened() {
    let text = format!("{{\"a\": ObjectId(\"{}\")}}", "é".repeat(500));
    assert_eq!(
        parse_one(&text).unwrap_err().to_string(),
        format!(
            "invalid ObjectId at line 1, column 16 (byte 15): expected 24 hexadecimal digits, \
             found \"{}…\" with 500 characters",
            "é".repeat(16)
        )
    );
}

#[test]
fn places_count_lines() {
    let text = "// one\r\n{\r\n  \"ä\": x\r\n}\r\n{\"b\": y}";
    let places: Vec<_> =
        read_all(text.as_bytes()).into_iter().map(|r| r.unwrap_err().place()).collect();
    let shown: Vec<_> = places.iter().map(|p| (p.offset, p.line, p.column)).collect();
    assert_eq!(shown, [(19, 3, 9), (31, 5, 7)]);
}
