//! SC-7: passwords belong in the environment or a secret store, not in code.

use std::collections::BTreeMap;

use docward_model::{
    Applicability, Draft, Edit, EditedText, Evidence, Severity,
    code::{Code, CodeSecret, Placeholder},
};

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Hard-coded credential
    ///
    /// ## What it checks
    /// Reports passwords of MongoDB in source code and settings. They stand in connection strings, also in strings
    /// that are joined from parts or escaped. They also stand in options of clients, in credentials and in settings
    /// about MongoDB. The password is never printed.
    ///
    /// Docward reports each account and host once, at the place with the highest severity. A password that is used
    /// only if a variable is not set (`os.getenv(name, "…")`) is a warning instead of an error. A placeholder that is
    /// filled in later does not count (`<password>`, `${PASSWORD}`, `*****`).
    ///
    /// ## Exceptions
    /// Only with `--select pedantic`, because no server in use has them as a rule:
    /// - placeholder passwords (`password`, `changeme`), unless the host is an Atlas cluster
    /// - host names that are used only in documentation (`db.example.com`, `cluster0.mongodb.net`)
    /// - comments
    /// - example files (`.env.example`), unless the password is random and for a cluster of Atlas
    /// - messages, prompts and tutorials that quote a connection string in prose
    /// - servers on this machine or in a container of the same application
    ///
    /// ## Why it matters
    /// Anyone who can read the code can read the data. So can former colleagues, and anyone who has a copy of the
    /// repository or a build log. A password in the history of a repository cannot be taken back, only changed.
    ///
    /// ## Example
    /// ```python,fires
    /// from pymongo import MongoClient
    /// client = MongoClient("mongodb+srv://shop:9dXk2pLw7Q@cluster0.abcde.mongodb.net/shop")
    /// ```
    /// ```python,clean
    /// import os
    /// from pymongo import MongoClient
    /// client = MongoClient(os.environ["MONGODB_URI"])
    /// ```
    ///
    /// ## How to fix
    /// Take it from the environment or from a secret store, and change the password: it is known.
    ///
    /// ## When to ignore it
    /// A throw-away server for tests that only this machine reaches.
    S020, "hard-coded-credential",
    level: Prohibited,
    area: Security,
    severities: [Error, Warn],
    clauses: ["SC-7"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    // A password must be changed once, even if it occurs in several places, so it is one finding.
    let mut same: BTreeMap<(&str, u64), Vec<&CodeSecret>> = BTreeMap::new();
    for secret in &found.secrets {
        let alone = draft(evidence, secret, &[]);
        let exception = EXCEPTIONS.iter().find(|exception| (exception.applies)(found, secret));
        match exception {
            Some(exception) => {
                let mut alone = alone.severity(Severity::Warn).pedantic();
                alone.edits.clear();
                alone.what.push_str(&format!(
                    "; reported only with --select pedantic (exception: {})",
                    exception.text
                ));
                cx.report(alone);
            }
            None if cx.is_accepted(&alone) => cx.report(alone),
            None => same.entry((account(&secret.shown), secret.mark)).or_default().push(secret),
        }
    }
    for mut secrets in same.into_values() {
        secrets.sort_by(|a, b| {
            let order = |secret: &CodeSecret| (secret.fallback, secret.place.location.clone());
            order(a).cmp(&order(b))
        });
        if let Some((first, others)) = secrets.split_first() {
            cx.report(draft(evidence, first, others));
        }
    }
}

/// A case in which a password is reported only to users who select `pedantic`.
struct Exception {
    /// The wording of the exception on the rule page.
    text: &'static str,
    applies: fn(&Code, &CodeSecret) -> bool,
}

const EXCEPTIONS: [Exception; 6] = [
    Exception {
        text: "placeholder passwords (`password`, `changeme`), unless the host is an Atlas cluster",
        applies: |_, secret| secret.placeholder == Some(Placeholder::Password),
    },
    Exception {
        text: "host names that are used only in documentation (`db.example.com`, `cluster0.mongodb.net`)",
        applies: |_, secret| matches!(secret.placeholder, Some(Placeholder::Host(_))),
    },
    Exception { text: "comments", applies: |_, secret| secret.in_remark },
    Exception {
        text: "example files (`.env.example`), unless the password is random and for a cluster of Atlas",
        applies: |_, secret| secret.in_sample,
    },
    Exception {
        text: "messages, prompts and tutorials that quote a connection string in prose",
        applies: |_, secret| secret.in_prose,
    },
    Exception {
        text: "servers on this machine or in a container of the same application",
        applies: |found, secret| secret.local || is_of_compose(found, secret),
    },
];

/// The part of a connection string that identifies the account: user and host. One machine may listen at several ports.
fn account(shown: &str) -> &str {
    let from = shown.find("://").map_or(0, |at| at + 3);
    let end = shown[from..].find(['/', '?']).map_or(shown.len(), |at| from + at);
    let hosts = &shown[..end];
    match hosts.rsplit_once(':') {
        Some((before, port))
            if port.bytes().all(|b| b.is_ascii_digit()) && !hosts.contains(',') =>
        {
            before
        }
        _ => hosts,
    }
}

/// Returns the finding about a password and the other places that contain it.
fn draft(evidence: &Evidence, secret: &CodeSecret, others: &[&CodeSecret]) -> Draft {
    let more = match others.len() {
        0 => String::new(),
        1 => "; the same password is in 1 more place".to_owned(),
        n => format!("; the same password is in {n} more places"),
    };
    let (severity, remark) = match secret.fallback {
        true => (Severity::Warn, ", used if the variable is not set"),
        false => (Severity::Error, ""),
    };
    let what = format!("plain-text password in `{}`{remark}{more}", secret.shown);
    let draft = code::draft(
        evidence,
        &secret.place,
        &secret.shown,
        what,
        "anyone who can read the code can read the data, and the password stays in the history of the repository",
        "read it from the environment or a secret store, and change the password, which others may know",
    )
    .severity(severity)
    .locations(others.iter().map(|other| other.place.location.clone()));
    // Only certain passwords are removed from the code.
    let secrets = std::iter::once(secret).chain(others.iter().copied());
    let literals = secrets.filter(|s| !s.fallback).filter_map(|secret| secret.literal.as_ref());
    literals.fold(draft, |draft, (location, lookup)| {
        draft.edit(Edit {
            applicability: Applicability::Unsafe,
            location: location.clone(),
            old: EditedText::Literal,
            new: lookup.expression.to_owned(),
            needs: lookup.needs,
        })
    })
}

/// Whether it is the initial password of a container, in an environment file that a compose file in the same or a
/// parent folder reads.
fn is_of_compose(found: &Code, secret: &CodeSecret) -> bool {
    let file = found.within_project(&secret.place.location.file);
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", &file));
    let is_compose = |path: &String| {
        let (beside, name) = path.rsplit_once('/').unwrap_or(("", path));
        let is_above = beside.is_empty()
            || folder
                .strip_prefix(beside)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        is_above
            && (name.starts_with("docker-compose") || name.starts_with("compose."))
            && (name.ends_with(".yml") || name.ends_with(".yaml"))
    };
    let is_variables = name.starts_with(".env") || name.ends_with(".env");
    is_variables && secret.shown.contains("initdb") && found.paths.iter().any(is_compose)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check;

    #[test]
    fn the_page_lists_the_exceptions() {
        let page = S020.meta.section("Exceptions").expect("a section");
        assert_eq!(page.matches("- ").count(), EXCEPTIONS.len(), "{page}");
        assert!(EXCEPTIONS.iter().all(|exception| page.contains(exception.text)), "{page}");
    }

    #[test]
    fn sc_7_settings_about_mongodb_have_passwords() {
        let settings = |name: &str, host: &str| {
            let value =
                format!("{{'host': '{host}', 'username': 'app', 'password': '9dXk2pLw7Q'}}");
            check(
                "S020",
                &format!("source a.py\nfrom pymongo import MongoClient\n{name} = {value}\n"),
            )
        };
        assert_eq!(settings("MONGO", "10.1.2.3").len(), 1);
        assert!(settings("REDIS", "10.1.2.3").is_empty());
        // A server on this machine is reported only with --select pedantic.
        assert!(settings("MONGO", "localhost").is_empty());
    }
}
