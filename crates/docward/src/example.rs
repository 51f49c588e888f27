//! Formats the examples of rule pages for readers. Their source is executed as tests, in a short
//! notation for many documents (CONTRIBUTING.md): `x20 {"_id": $i, "tags": $array(1200, "a")}`.

use docward_model::text;

/// Returns a description of an example from the head of its fence: `jsonl,fires,max-elements=3`.
pub(crate) fn label(info: &str) -> Option<String> {
    let mut parts = info.split(',').map(str::trim);
    let verdict = parts.find_map(|part| match part {
        "fires" => Some("reported"),
        "clean" => Some("not reported"),
        _ => None,
    })?;
    let rest: Vec<&str> = parts.collect();
    let settings = rest.join(",");
    Some(match settings.strip_prefix("ns=") {
        _ if settings.is_empty() => format!("{verdict}:"),
        Some(namespace) if !namespace.contains([',', '=']) => {
            format!("{verdict}, in {namespace}:")
        }
        _ => format!("{verdict}, with {}:", settings.replace('=', " = ").replace(',', ", ")),
    })
}

/// Whether the lines of a fence use the notation.
pub(crate) fn is_notation(info: &str) -> bool {
    info.starts_with("jsonl")
}

/// Returns a line of the notation in words.
pub(crate) fn readable(line: &str) -> String {
    const KINDS: [(&str, &str); 14] = [
        ("@ ", "in "),
        ("options ", "created with "),
        ("schema ", "schema: "),
        ("index ", "index: "),
        ("ran ", "operation: "),
        ("running ", "running operation: "),
        ("log ", "log line: "),
        ("server ", "the server reports: "),
        ("stats ", "the server counts: "),
        ("uri ", "client: "),
        ("source ", "audited: "),
        ("file ", "client in a file: "),
        ("template ", "client in code: "),
        ("service ", "declared service: "),
    ];
    let indent = &line[..line.len() - line.trim_start().len()];
    let (kind, rest) = KINDS
        .iter()
        .find_map(|(short, words)| Some((*words, line.trim_start().strip_prefix(short)?)))
        .unwrap_or(("", line.trim_start()));
    let (times, body) = match rest.strip_prefix('x').and_then(|rest| rest.split_once(' ')) {
        Some((times, body)) => match times.parse::<u64>() {
            Ok(times) => (Some(times), body),
            Err(_) => (None, rest),
        },
        None => (None, rest),
    };
    let head = match (times, kind) {
        (None, kind) => kind.to_owned(),
        (Some(times), "operation: ") => format!("{} like: ", text::plural(times, "operation")),
        (Some(times), "running operation: ") => {
            format!("{} like: ", text::plural(times, "running operation"))
        }
        (Some(times), _) => format!("{} like: ", text::plural(times, "document")),
    };
    let colon = if kind == "in " { ":" } else { "" };
    format!("{indent}{head}{}{colon}", filled(body))
}

/// Replaces the placeholders in the first of many documents.
fn filled(body: &str) -> String {
    let mut out = arrays(body);
    out = pads(&out);
    for (placeholder, value) in [("\"$oid\"", "…"), ("$oid", "…"), ("$uuid", "<random UUID>")] {
        out = out.replace(placeholder, value);
    }
    running_number(&running_number(&out, "$i"), "$j")
}

/// Replaces `$array(1200, X)` by `[X, … 1,200 elements]`.
fn arrays(body: &str) -> String {
    let Some((before, rest)) = body.split_once("$array(") else { return body.to_owned() };
    let (mut depth, mut quoted) = (1, false);
    let end = rest.char_indices().find_map(|(at, c)| {
        match c {
            '"' => quoted = !quoted,
            '(' | '{' | '[' if !quoted => depth += 1,
            ')' | '}' | ']' if !quoted => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    });
    let Some((times, value)) = end.and_then(|end| rest[..end].split_once(',')) else {
        return body.to_owned();
    };
    let after = &rest[end.unwrap_or_default() + 1..];
    let length = match times.trim().parse::<u64>() {
        Ok(times) => text::plural(times, "element"),
        Err(_) => "a different number of elements in each".to_owned(),
    };
    format!("{before}[{}, … {length}]{}", value.trim(), arrays(after))
}

/// Replaces `"$pad(900)"` by `"… 900 letters"`.
fn pads(body: &str) -> String {
    let Some((before, rest)) = body.split_once("$pad(") else { return body.to_owned() };
    let Some((length, after)) = rest.split_once(')') else { return body.to_owned() };
    let length = match length.trim().parse::<u64>() {
        Ok(length) => format!("… {}", text::plural(length, "letter")),
        Err(_) => "… text of several lengths".to_owned(),
    };
    format!("{before}{length}{}", pads(after))
}

/// Replaces `$i` and `$j` by 1, but not in `$in`, `$inc` and `$jsonSchema`.
fn running_number(body: &str, name: &str) -> String {
    let mut parts = body.split(name);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(if part.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { "1" });
        out.push_str(part);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notation_is_written_out() {
        for (line, words) in [
            (
                r#"x20 {"_id": ObjectId("$oid"), "logins": $array(1200, {"ip": "10.0.0.$j"})}"#,
                r#"20 documents like: {"_id": ObjectId(…), "logins": [{"ip": "10.0.0.1"}, … 1,200 elements]}"#,
            ),
            (
                r#"x3 {"_id": $i, "n": "$pad(900)"}"#,
                r#"3 documents like: {"_id": 1, "n": "… 900 letters"}"#,
            ),
            (
                r#"{"u": {"$inc": {"n": 1}}, "f": {"$in": []}}"#,
                r#"{"u": {"$inc": {"n": 1}}, "f": {"$in": []}}"#,
            ),
            (
                r#"options {"validator": {"$jsonSchema": {}}}"#,
                r#"created with {"validator": {"$jsonSchema": {}}}"#,
            ),
            ("@ db_shop.t_user", "in db_shop.t_user:"),
            (r#"ran x30 {"ns": "a$i"}"#, r#"30 operations like: {"ns": "a1"}"#),
            (r#"ran {"op": "query"}"#, r#"operation: {"op": "query"}"#),
            ("uri mongodb://a", "client: mongodb://a"),
        ] {
            assert_eq!(readable(line), words);
        }
        assert_eq!(label("jsonl,fires").as_deref(), Some("reported:"));
        assert_eq!(label("jsonl,clean,ns=a.b").as_deref(), Some("not reported, in a.b:"));
        let settings = label("jsonl,fires,max-elements=3,ns=a.b");
        assert_eq!(settings.as_deref(), Some("reported, with max-elements = 3, ns = a.b:"));
        assert_eq!(label("js"), None);
    }

    /// No page may contain the notation.
    #[test]
    fn no_example_of_a_rule_keeps_a_placeholder() {
        for rule in docward_rules::RULES {
            let mut is_notated = false;
            for line in rule.meta.doc.lines().map(str::trim) {
                if let Some(info) = line.strip_prefix("```") {
                    is_notated = is_notation(info);
                } else if is_notated {
                    let shown = readable(line);
                    let code = rule.meta.code;
                    for placeholder in
                        ["$array(", "$pad(", "$oid", "$uuid", "$j\"", "$j,", "$i\"", "$i,"]
                    {
                        assert!(!shown.contains(placeholder), "{code}: {shown}");
                    }
                    let counts = |c: char| c.is_ascii_digit();
                    let is_short =
                        shown.strip_prefix('x').is_some_and(|rest| rest.starts_with(counts));
                    assert!(!is_short && !shown.starts_with("ran "), "{code}: {shown}");
                }
            }
        }
    }
}
