//! SE-6, SC-4: passwords in connection strings that are easy to guess. A finding contains neither the password nor its
//! length.

use docward_model::{ClientUri, Draft, Evidence, Need, Password, Seen, Severity, Subject, Unit};

use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Weak password
    ///
    /// ## What it checks
    /// Checks the passwords in connection strings: those of the sources and those given with `--client-uri`. A
    /// password needs:
    /// - at least 12 characters
    /// - an upper-case letter, a lower-case letter, a digit and a special character
    /// - more than a common word (`admin`, `root`, `password`, …) with digits and signs around it
    ///
    /// It is a warning if a long password lacks only one kind of character, and an error otherwise. An empty
    /// password is an error as well.
    ///
    /// Docward checks the password once when it reads the string. It neither stores nor prints it.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - placeholders such as `<password>`, `${VAR}` and `*****`
    /// - keys of cloud logins
    /// - local addresses in code and settings
    /// - passwords in source code or settings that S020 reports, because they must be changed however strong they
    ///   are
    ///
    /// ## Why it matters
    /// Attackers try lists of common passwords on every server they can reach.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// uri mongodb://order:admin123@10.0.0.5/db_order
    /// ```
    /// ```jsonl,clean
    /// uri mongodb://order:Abcdef1!xyzw@10.0.0.5/db_order
    /// uri mongodb://order:${PASSWORD}@10.0.0.5/db_order
    /// ```
    ///
    /// ## How to fix
    /// Generate a password (`openssl rand -base64 24`, with a character of each kind) and set it with
    /// `db.changeUserPassword`. Keep it in the environment or a secret store.
    ///
    /// ## When to ignore it
    /// The account exists only on a test server that holds no real data and listens on the loopback address.
    S008, "weak-password",
    level: Mandatory,
    area: Security,
    severities: [Error, Warn],
    clauses: ["SE-6", "SE-9", "SC-4"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [MIN_LENGTH],
    data: ["account"],
    check: Deployment(check),
}

threshold!(
    MIN_LENGTH,
    "min-length",
    Int(12),
    "characters",
    "SE-6, GC-12: 12 in two of three places; set 13 for the third (longer than 12)",
    "minimum password length"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let judged = |uri: &&ClientUri| {
        matches!(uri.password, Password::Given(_) | Password::Empty)
            && !uri.is_for_development()
            && !is_told_as_secret(evidence, uri)
    };
    let uris: Vec<&ClientUri> = evidence.uris.iter().filter(judged).collect();
    if uris.is_empty() {
        cx.skip(Need::Uris);
    }
    let least = cx.count(&MIN_LENGTH);
    let mut told: Vec<String> = Vec::new();
    for uri in &uris {
        let faults = faults(&uri.password, least);
        let account = uri.user.as_deref().unwrap_or_default();
        // Report each account of a deployment once, even if several strings use it.
        let key = format!("{account}@{}/{}", uri.label(), uri.auth_source);
        if faults.is_empty() || told.contains(&key) {
            continue;
        }
        let draft = Draft::new(
            Subject::Deployment,
            format!("the password of `{account}` for {} {}", uri.label(), and(&faults)),
            "attackers try lists of common passwords on every server that they can reach",
            format!(
                "generate a password with at least {least} characters, including upper-case and lower-case letters, digits and special characters, and store it in the environment or a secret store"
            ),
            Seen::all(uris.len() as u64, Unit::ConnectionStrings),
        )
        .data("account", account)
        .key(&key);
        let site = || uri.site.as_ref().map(|site| site.location.clone());
        let draft =
            match uri.places.password.clone().or_else(|| uri.places.start.clone()).or_else(site) {
                Some(place) => draft.location(place),
                None => draft,
            };
        // A long password that lacks one kind of character is hardly easier to guess.
        let draft = match is_nearly_strong(&uri.password, least) {
            true => draft.severity(Severity::Warn),
            false => draft,
        };
        cx.report(if uri.password == Password::Empty {
            draft
        } else {
            draft.clauses(&["SE-6", "SC-4"])
        });
        told.push(key);
    }
}

/// Whether S020 reports the same line. Each place has one finding, with the severity of S020.
fn is_told_as_secret(evidence: &Evidence, uri: &ClientUri) -> bool {
    let site = uri.site.as_ref().map(|site| &site.location);
    let places = [uri.places.password.as_ref(), uri.places.start.as_ref(), site];
    // S020 reports a constant in the file that declares it, which can be another file.
    let account = uri.user.as_deref().filter(|user| !user.is_empty());
    let label = uri.label();
    let host = label.split_once("://").map_or(label.as_str(), |(_, host)| host);
    let names_both = |shown: &str| {
        account.is_some_and(|account| shown.contains(&format!("{account}:")))
            && shown.contains(host)
    };
    evidence.code.iter().flat_map(|code| &code.secrets).any(|secret| {
        let told = &secret.place.location;
        names_both(&secret.shown)
            || places
                .iter()
                .flatten()
                .any(|place| place.file == told.file && place.line == told.line)
    })
}

/// Joins phrases with commas, and the last with "and".
fn and(phrases: &[String]) -> String {
    match phrases {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => phrases.concat(),
    }
}

/// Returns the faults of a password, as text after "the password".
fn faults(password: &Password, least: u64) -> Vec<String> {
    let strength = match password {
        Password::Empty => return vec!["is empty".to_owned()],
        Password::Given(strength) => strength,
        Password::Absent | Password::Placeholder | Password::Unfilled => return Vec::new(),
    };
    let mut faults = Vec::new();
    if !strength.has_characters(least) {
        faults.push(format!("has fewer than {least} characters"));
    }
    let missing = strength.missing();
    if !missing.is_empty() {
        faults.push(format!("has no {}", missing.join(" or ")));
    }
    if strength.is_weak_word() {
        faults.push("consists of words that attackers guess first".to_owned());
    }
    faults
}

/// Whether a password is long and lacks only one kind of character.
fn is_nearly_strong(password: &Password, least: u64) -> bool {
    match password {
        Password::Given(strength) => {
            strength.has_characters(least)
                && strength.missing().len() == 1
                && !strength.is_weak_word()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};

    fn found(password: &str) -> Vec<String> {
        let body = format!("uri mongodb://order:{password}@10.0.0.5/db_order");
        check("S008", &body).into_iter().map(|f| f.what).collect()
    }

    #[test]
    fn se_6_sc_4_gc_12_twelve_characters_of_four_kinds_pass() {
        assert!(found("Abcdef1!xyzw").is_empty());
        assert!(found("Abcdef1!xyz")[0].ends_with("has fewer than 12 characters"));
        assert!(found("abcdef1!xyzw")[0].ends_with("has no upper-case letter"));
        assert_eq!(found("admin123").len(), 1);
        assert_eq!(found("root").len(), 1);
        assert!(found("Password123!")[0].ends_with("attackers guess first"));
        let body = "uri mongodb://order:Abcdef1!xyzw@10.0.0.5";
        assert_eq!(check_with("S008", "min-length=13", body).len(), 1, "GC-12: selectable");
    }

    #[test]
    fn se_6_sc_4_a_long_password_without_one_kind_weighs_less() {
        use docward_model::Severity::{Error, Warn};
        let severity = |body: &str| check("S008", body)[0].severity;
        assert_eq!(severity("uri mongodb://order:Abcdef1gxyzw@10.0.0.5"), Warn);
        assert_eq!(
            severity("uri mongodb://order:abcdefgxyzw1@10.0.0.5"),
            Error,
            "two kinds missing"
        );
        assert_eq!(severity("uri mongodb://order:Abcdef1gxyz@10.0.0.5"), Error, "short");
    }

    #[test]
    fn se_6_sc_7_a_password_in_a_file_is_told_once() {
        for (file, text) in [
            (".env", "MONGO_URL=mongodb+srv://order:abc123@c.shop.io/x"),
            (
                "a.js",
                "const {MongoClient} = require('mongodb');\nnew MongoClient('mongodb://order:abc123@db1.shop.io/x');",
            ),
        ] {
            let body = format!("source {file}\n{text}\n");
            assert!(check("S008", &body).is_empty(), "{text}");
            assert_eq!(check("S020", &body).len(), 1, "{text}");
        }
    }

    #[test]
    fn gc_31_se_6_the_word_password_is_no_password() {
        let body = "uri mongodb://mongouser:password@10.0.0.5/admin";
        assert_eq!(check("S008", body).len(), 1);
    }

    #[test]
    fn se_6_nothing_of_the_password_is_printed() {
        let found = check("S008", "uri mongodb://order:Zebra%40Zoo@10.0.0.5");
        assert_eq!(found.len(), 1);
        for finding in found {
            let text = format!("{finding:?}");
            assert!(!text.contains("Zebra") && !text.contains("Zoo"), "{text}");
        }
    }

    #[test]
    fn se_9_an_empty_password_is_found_and_an_absent_one_is_not() {
        let empty = check("S008", "uri mongodb://order:@10.0.0.5");
        assert!(empty[0].what.ends_with("is empty") && empty[0].cites("SE-9"));
        assert!(check("S008", "uri mongodb://order@10.0.0.5").is_empty());
        let twice = "uri mongodb://a:root@10.0.0.5\nsource mongodb://a:root@10.0.0.5";
        assert_eq!(check("S008", twice).len(), 1);
    }
}
