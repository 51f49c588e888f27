//! DM-11.6: a pattern that no valid value can match (GC-17).

use docward_model::{BsonType, Collection, Draft, Field, Seen, Severity, Subject, TextClass, Unit};

use crate::{
    Cx, declare_rule,
    facts::{
        names::words,
        schema::{DemandKind, demands, schemas},
        text,
    },
};

declare_rule! {
    /// # Impossible pattern
    ///
    /// ## What it checks
    /// Tests the `pattern` of a validator on values from the documents:
    /// - A warning: no stored value matches.
    /// - An error: no stored value matches, and the pattern requires a literal backslash.
    /// - An error: the pattern is not a valid regular expression, for example with an open bracket.
    ///
    /// If no values are known, Docward tests only patterns that require a literal backslash. It uses samples for
    /// the form of the field (e-mail, URL, …) or for its name. Patterns with PCRE features that Docward does not
    /// support are not checked.
    ///
    /// ## Why it matters
    /// The usual cause is a doubled escape. `\\\\S` in JavaScript becomes `\\S`, a backslash followed by an S,
    /// which no address contains. The server then refuses every insert. Or the validator is turned off and
    /// checks nothing.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// options {"validator": {"$jsonSchema": {"properties": {"email": {"bsonType": "string", "pattern": "^\\\\S+@\\\\S+$"}}}}, "validationAction": "warn"}
    /// {"_id": 1, "email": "zhangsan@example.com"}
    /// ```
    /// ```jsonl,clean
    /// options {"validator": {"$jsonSchema": {"properties": {"email": {"bsonType": "string", "pattern": "^\\S+@\\S+\\.\\S+$"}}}}}
    /// {"_id": 1, "email": "zhangsan@example.com"}
    /// ```
    ///
    /// ## How to fix
    /// Write one backslash in the regular expression itself. In a JavaScript or JSON string, this is two
    /// backslashes.
    ///
    /// ## When to ignore it
    /// The pattern describes a future form, and the stored values will be converted soon.
    V005, "impossible-pattern",
    level: Mandatory,
    area: Writes,
    severities: [Error, Warn],
    clauses: ["DM-11.6"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Options],
    thresholds: [],
    data: ["doubledEscape", "fault", "pattern", "storedValues", "tried"],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(validator) = collection.options.as_ref().and_then(|o| o.validator.as_ref()) else {
        return;
    };
    for demand in schemas(validator).into_iter().flat_map(demands) {
        let DemandKind::Pattern(pattern) = demand.kind else { continue };
        let Ok(regex) = regex::RegexBuilder::new(pattern).size_limit(1 << 20).build() else {
            if let Some(fault) = broken(pattern) {
                report_broken(collection, &demand.path, pattern, fault, cx);
            }
            continue;
        };
        let field = collection.profile.as_ref().and_then(|p| p.field(&demand.path));
        let values = field.map(known_values).unwrap_or_default();
        if values.iter().any(|v| regex.is_match(v)) {
            continue;
        }
        let (tried, tries, known) = if values.is_empty() {
            // Without data, only a doubled escape is certainly wrong. A correct narrow pattern (the addresses of one
            // company) also rejects the samples.
            let samples = match field.and_then(form) {
                Some(class) => samples(class),
                None => samples_by_name(&demand.path),
            };
            if samples.is_empty()
                || !pattern.contains("\\\\")
                || samples.iter().any(|s| regex.is_match(s))
            {
                continue;
            }
            (text::plural(samples.len() as u64, "sample value"), samples.len(), false)
        } else {
            (text::plural(values.len() as u64, "stored value"), values.len(), true)
        };
        let doubled = pattern.contains("\\\\");
        let cause = if doubled {
            "; it requires a literal backslash, which suggests a doubled escape"
        } else {
            ""
        };
        let todo = if doubled {
            format!(
                "use `{}` in the schema (double each backslash only inside a string literal), and test it on real values",
                pattern.replace("\\\\", "\\")
            )
        } else {
            "correct the pattern, and test it on real values before you apply the validator"
                .to_owned()
        };
        let seen = collection
            .profile
            .as_ref()
            .map_or_else(|| Seen::all(1, Unit::Collections), |p| p.seen());
        let ns = &collection.namespace;
        cx.report(
            Draft::new(
                Subject::Field(ns.clone(), docward_model::FieldPath::new(demand.path.as_str())),
                format!(
                    "none of {tried} tried matches the pattern of `{}`{cause}: `{pattern}`",
                    demand.path
                ),
                "the validator rejects writes of correct values, or it is off and checks nothing",
                todo,
                seen,
            )
            .data("pattern", pattern)
            .data("tried", tries)
            .data("storedValues", known)
            .data("doubledEscape", doubled)
            .examples(values.into_iter().take(3))
            // A narrow pattern may describe new values that are not stored yet; a doubled escape never does.
            .severity(if doubled { Severity::Error } else { Severity::Warn }),
        );
    }
}

fn report_broken(collection: &Collection, path: &str, pattern: &str, fault: &str, cx: &mut Cx<'_>) {
    let seen =
        collection.profile.as_ref().map_or_else(|| Seen::all(1, Unit::Collections), |p| p.seen());
    cx.report(
        Draft::new(
            Subject::Field(collection.namespace.clone(), docward_model::FieldPath::new(path)),
            format!("the pattern `{pattern}` of `{path}` is not a valid regular expression: it has {fault}"),
            "the server rejects a schema with such a pattern, so you cannot set or restore the validator",
            "correct the pattern, and test it on real values before you apply the validator",
            seen,
        )
        .data("pattern", pattern)
        .data("fault", fault)
        .severity(Severity::Error),
    );
}

/// Returns why a pattern is invalid in every dialect: an open bracket, or a quantifier with nothing before it.
/// Returns `None` in doubt, because PCRE supports more than this function knows.
fn broken(pattern: &str) -> Option<&'static str> {
    // Literal stretches, comments and free spacing change what a bracket means.
    if pattern.contains("\\Q")
        || pattern.contains("(?#")
        || pattern.contains("(*")
        || spaced(pattern)
    {
        return None;
    }
    let mut open = 0_u32;
    // Whether a quantifier has something before it.
    let mut subject = false;
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                if chars.next().is_none() {
                    return Some("a backslash at its end");
                }
                subject = true;
            }
            '[' => {
                // A bracket right after the opening one is a member of the class.
                if chars.peek() == Some(&'^') {
                    chars.next();
                }
                if chars.peek() == Some(&']') {
                    chars.next();
                }
                if !class_closes(&mut chars) {
                    return Some("a square bracket that is not closed");
                }
                subject = true;
            }
            '(' => {
                open += 1;
                subject = false;
                // `(?:`, `(?=`, `(?<name>`: the question mark is not a quantifier.
                if chars.peek() == Some(&'?') {
                    chars.next();
                }
            }
            ')' => {
                if open == 0 {
                    return Some("a closing parenthesis without an opening one");
                }
                open -= 1;
                subject = true;
            }
            '|' => subject = false,
            '*' | '+' | '?' if !subject => return Some("a quantifier with nothing before it"),
            _ => subject = true,
        }
    }
    (open > 0).then_some("a parenthesis that is not closed")
}

/// Reads to the end of a character class.
fn class_closes(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> bool {
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            // `[:alpha:]`
            '[' if chars.peek() == Some(&':') => {
                let mut rest = chars.clone();
                rest.next();
                let name: String = rest.by_ref().take_while(|c| *c != ':').collect();
                if name.chars().all(|c| c.is_ascii_lowercase() || c == '^')
                    && rest.next() == Some(']')
                {
                    *chars = rest;
                }
            }
            ']' => return true,
            _ => {}
        }
    }
    false
}

/// Whether free spacing (`(?x)`, `(?ix)`, `(?x:`) is turned on anywhere.
fn spaced(pattern: &str) -> bool {
    pattern.split("(?").skip(1).any(|rest| {
        rest.split([')', ':']).next().is_some_and(|flags| {
            flags.contains('x')
                && flags.chars().all(|c| c.is_ascii_alphabetic() || "-^".contains(c))
        })
    })
}

/// Complete string values of a field: all of them if they are few, otherwise the kept examples.
fn known_values(field: &Field) -> Vec<String> {
    if !field.is_only(BsonType::String) {
        return Vec::new();
    }
    let all: Vec<&String> = match &field.enumeration {
        Some(values) => values.iter().map(|(value, _)| value).collect(),
        None => field.examples.iter().collect(),
    };
    // Shortened values would fail a pattern that the full ones match.
    all.into_iter().filter(|v| !v.is_empty() && !v.ends_with('…')).cloned().collect()
}

/// The class of nearly all strings of a field.
fn form(field: &Field) -> Option<TextClass> {
    let text = field.text.as_ref()?;
    TextClass::ALL.into_iter().find(|&class| {
        !matches!(class, TextClass::Other | TextClass::Empty)
            && text.of(class) as f64 >= 0.95 * text.total() as f64
    })
}

fn samples(class: TextClass) -> &'static [&'static str] {
    match class {
        TextClass::Email => {
            &["zhangsan@example.com", "a.b+c@mail.example.org", "x_1@example.co.uk"]
        }
        TextClass::Url => {
            &["https://example.com/a?b=c", "http://example.org", "https://www.example.com/"]
        }
        TextClass::UuidV4 | TextClass::Uuid => {
            &["3f2504e0-4f89-41d3-9a0c-0305e82c3301", "9B2E4F61-0C4D-4B6E-8E8A-6A1C0F5D2B3A"]
        }
        TextClass::DateOnly => &["2024-03-15", "1999-12-31"],
        TextClass::DateTimeOffset => &["2024-03-15T10:30:00Z", "2024-03-15T10:30:00.123+08:00"],
        TextClass::Integer => &["1", "42", "13800138000"],
        TextClass::LeadingZero => &["007", "01234"],
        TextClass::ObjectIdHex => &["65f3a2b8c1d2e3f4a5b6c7d8"],
        _ => &[],
    }
}

/// Samples for the last name of the path.
fn samples_by_name(path: &str) -> &'static [&'static str] {
    let leaf = path.trim_end_matches("[]").rsplit('.').next().unwrap_or(path);
    let words = words(leaf);
    let says = |word: &str| words.iter().any(|w| w == word);
    if says("email") || says("mail") {
        samples(TextClass::Email)
    } else if says("url") || says("website") || says("homepage") {
        samples(TextClass::Url)
    } else if says("phone") || says("mobile") || says("tel") {
        &["13800138000", "+86 138 0013 8000", "555-123-4567"]
    } else {
        &[]
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use docward_model::Severity;

    fn with(pattern: &str, documents: &str) -> Vec<docward_model::Finding> {
        check(
            "V005",
            &format!(
                "options {{\"validator\": {{\"$jsonSchema\": {{\"properties\": {{\"email\": {{\"pattern\": \"{pattern}\"}}}}}}}}}}\n{documents}"
            ),
        )
    }

    const USERS: &str = r#"x100 {"_id": $i, "email": "zhang$i@example.com"}"#;

    #[test]
    fn dm_11_6_gc_17_four_backslashes_reject_every_address() {
        let found = with(r"^\\\\S+@\\\\S+\\\\.\\\\S+$", USERS);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Error);
        assert!(found[0].todo.contains(r"`^\S+@\S+\.\S+$`"), "{}", found[0].todo);
        assert!(!found[0].what.contains("example.com"), "values stay out of the message");
        assert!(!found[0].examples.is_empty());
    }

    #[test]
    fn dm_11_6_gc_17_the_right_pattern_passes() {
        assert!(with(r"^\\S+@\\S+\\.\\S+$", USERS).is_empty());
        // One backslash is missing: any character, which accepts too much but rejects nothing valid.
        assert!(with(r"^S+@S+.S+$|@", USERS).is_empty());
    }

    #[test]
    fn dm_11_6_without_data_only_the_doubled_escape_is_reported() {
        assert_eq!(with(r"^\\\\S+@\\\\S+$", "").len(), 1);
        assert!(with(r"@corp\\.example\\.net$", "").is_empty());
        assert!(with(r"^\\S+@\\S+$", "").is_empty());
    }

    #[test]
    fn dm_11_6_patterns_beyond_this_engine_are_left_alone() {
        assert!(with(r"^(?=.*@)(?!.*\\\\s).+$", USERS).is_empty());
    }

    #[test]
    fn dm_11_6_a_narrow_pattern_all_values_miss_warns() {
        let found = with(r"@corp\\.net$", USERS);
        assert_eq!(found[0].severity, Severity::Warn);
    }

    #[test]
    fn dm_11_6_patterns_that_do_not_parse_are_reported() {
        for bad in ["^(a", "a)", "^[a-z", "*a", "a|+", "(?:a", "(+)"] {
            let found = with(bad, USERS);
            assert_eq!(found.len(), 1, "{bad}");
            assert_eq!(found[0].severity, Severity::Error);
            assert!(found[0].what.contains("not a valid regular expression"), "{}", found[0].what);
        }
        for pcre in [
            r"^(?=.*@)a\\(",
            r"(?<!x)[]a(]@",
            r"(?>a+)@",
            r"a++(?!b)",
            r"[[:alpha:](]+(?=@)",
            r"(?x)a # (\n",
            r"\\Qa(\\E",
            r"(?i)(?=z)+?^*a",
        ] {
            assert!(with(pcre, "").is_empty(), "{pcre}");
        }
    }
}
