//! DM-02.2: the characters of database names.

use docward_model::{Draft, Evidence, Level, ProfileName, Seen, Severity, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::{deployment::server, names, text},
    threshold,
};

use super::n004_long_database_name::LONGEST;

declare_rule! {
    /// # Odd database name
    ///
    /// ## What it checks
    /// Reports database names:
    /// - with a character that servers refuse (`/`, `\`, `.`, a space, `"`, `$`): an error
    /// - with a character that servers on Windows refuse (`*`, `<`, `>`, `:`, `|`, `?`): a warning
    /// - with other characters than lower-case letters, digits and underscores: a warning
    /// - with a digit directly after the prefix: a note
    ///
    /// N002 reports capital letters in names without the prefix. Under the `neutral` profile, only the first two
    /// are reported.
    ///
    /// ## Why it matters
    /// A dot ends the database part of a namespace, and a hyphen is a minus sign in the shell. With capital
    /// letters, connection strings may differ only in case.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db-payment.t_payment
    /// {"_id": 1}
    /// ```
    /// ```jsonl,clean,ns=db_payment.t_payment
    /// {"_id": 1}
    /// ```
    ///
    /// ## How to fix
    /// Copy the collections to a database with the proposed name and change the connection strings.
    ///
    /// ## When to ignore it
    /// A third-party product sets the name.
    N003, "odd-database-name",
    level: Recommended,
    area: Hygiene,
    severities: [Error, Warn, Info],
    clauses: ["DM-02.2"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Names],
    thresholds: [PREFIX, ALLOW_DIGITS],
    data: ["proposal", "refusedByServers"],
    check: Deployment(check),
}

threshold!(
    PREFIX,
    "prefix",
    Text("db_"),
    "text",
    "DM-02.1",
    "required prefix, which proposals keep"
);
threshold!(
    ALLOW_DIGITS,
    "allow-digits",
    Flag(true),
    "on or off",
    "GC-21",
    "whether digits may follow the first letter"
);

/// Refused by every server.
const ILLEGAL: &[char] = &['/', '\\', '.', ' ', '"', '$', '\0'];
/// Refused by servers on Windows, so such a dump cannot be restored there.
const ILLEGAL_ON_WINDOWS: &[char] = &['*', '<', '>', ':', '|', '?'];

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let prefix = cx.prefix(&PREFIX);
    let digits = cx.flag(&ALLOW_DIGITS);
    let house = cx.settings().profile == ProfileName::Vendor;
    for database in &evidence.databases {
        if database.is_empty() || server::is_system_database(database) {
            continue;
        }
        let having = |test: &dyn Fn(char) -> bool| {
            let mut found: Vec<char> = database.chars().filter(|&c| test(c)).collect();
            found.sort_unstable();
            found.dedup();
            found
        };
        let illegal = having(&|c| ILLEGAL.contains(&c));
        let windows = having(&|c| ILLEGAL_ON_WINDOWS.contains(&c));
        let odd = having(&|c| {
            !(c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit() || c.is_ascii_uppercase())
        });
        let upper = having(&|c| c.is_ascii_uppercase());
        let number = having(&|c| c.is_ascii_digit());
        let prefixed = database.starts_with(&prefix);
        let body = database.strip_prefix(&prefix).unwrap_or(database);
        // A name that servers refuse is not proposed.
        let proposal = Some(names::prefixed(database, &prefix)).filter(|p| p.len() <= LONGEST);
        // Letters without a Latin spelling stay in the words: then only people can choose a name.
        let spelled =
            |p: &str| p != database && p.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let untold = proposal.as_deref().is_some_and(|p| !spelled(p));
        let proposal = proposal.filter(|_| !untold);
        let (what, severity, level) = if !illegal.is_empty() {
            let what = format!("{}, which servers reject", show(&illegal));
            (what, Severity::Error, Level::Mandatory)
        } else if !windows.is_empty() {
            let what = format!("{}, which servers on Windows reject", show(&windows));
            (what, Severity::Warn, Level::Recommended)
        } else if !house {
            continue;
        } else if !odd.is_empty() {
            let what =
                format!("characters other than letters, digits and underscores ({})", show(&odd));
            (what, Severity::Warn, Level::Recommended)
        } else if !upper.is_empty() && prefixed {
            // Without the prefix N002 already proposes the lower-case name.
            ("capital letters".to_owned(), Severity::Warn, Level::Recommended)
        } else if !number.is_empty() && !digits {
            (format!("the digits {}", show(&number)), Severity::Warn, Level::Recommended)
        } else if prefixed && body.starts_with(|c: char| c.is_ascii_digit()) {
            (
                "a digit as the first character after the prefix".to_owned(),
                Severity::Info,
                Level::Recommended,
            )
        } else {
            continue;
        };
        let needs_word = untold
            || body.starts_with(|c: char| c.is_ascii_digit())
            || (!digits && !number.is_empty());
        let todo = if needs_word {
            format!(
                "name it after its content, `{prefix}<module>`, in lower-case letters and underscores"
            )
        } else if proposal.is_none() {
            format!(
                "name it with `{prefix}` and at most {} more bytes, in lower-case letters and underscores",
                LONGEST.saturating_sub(prefix.len())
            )
        } else {
            format!(
                "name it `{}`: copy the collections, change the connection strings, then drop the old database",
                proposal.as_deref().unwrap_or_default()
            )
        };
        let why = if illegal.contains(&'.') {
            "in `database.collection` a dot ends the database name, so no client can address this database"
        } else if severity == Severity::Error {
            "servers refuse to create or restore a database with this name"
        } else {
            "such names need quoting in scripts and are easy to mistype, and a mistyped name finds no data"
        };
        cx.report(
            Draft::new(
                Subject::Database(database.clone()),
                format!("database name `{database}` has {what}"),
                why,
                todo,
                Seen::all(evidence.databases.len() as u64, Unit::Databases),
            )
            .data("proposal", proposal.unwrap_or_default())
            .data("refusedByServers", !illegal.is_empty())
            .severity(severity)
            .level(level),
        );
    }
}

/// `'-'`, or `'-' and '.'`: the characters in words of a message.
fn show(chars: &[char]) -> String {
    let names: Vec<String> = chars
        .iter()
        .map(|c| match c {
            ' ' => "space".to_owned(),
            '\0' => "NUL".to_owned(),
            c => c.to_string(),
        })
        .collect();
    text::list(&names, 5)
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};
    use docward_model::Severity;

    #[test]
    fn dm_02_2_hyphen_is_odd() {
        let found =
            check("N003", "@ db-payment.t_a\n{\"_id\": 1}\n@ db_user_center.t_a\n{\"_id\": 1}");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        assert!(found[0].todo.contains("`db_payment`"), "{}", found[0].todo);
    }

    #[test]
    fn dm_02_2_db_2024_follows_the_setting() {
        let body = "@ db_2024.t_a\n{\"_id\": 1}";
        assert_eq!(check("N003", body)[0].severity, Severity::Info);
        assert_eq!(check_with("N003", "allow-digits=false", body)[0].severity, Severity::Warn);
        assert!(check("N003", "@ db_shop2.t_a\n{\"_id\": 1}").is_empty());
    }

    #[test]
    fn dm_02_2_illegal_characters_are_errors_everywhere() {
        let body = "@ db$pay.t_a\n{\"_id\": 1}";
        for profile in ["", "profile=neutral"] {
            let found = check_with("N003", profile, body);
            assert_eq!(found[0].severity, Severity::Error, "{profile}");
        }
        assert!(check_with("N003", "profile=neutral", "@ db-payment.t_a\n{\"_id\": 1}").is_empty());
    }

    #[test]
    fn dm_02_2_the_name_itself_is_no_proposal() {
        for name in ["db_中中", "db_pay中", "数据"] {
            let found = check("N003", &format!("@ {name}.t_a\n{{\"_id\": 1}}"));
            assert_eq!(found.len(), 1, "{name}");
            assert!(found[0].todo.starts_with("name it after its content"), "{}", found[0].todo);
        }
    }

    #[test]
    fn dm_02_2_dots_are_refused_by_servers() {
        let evidence = docward_model::Evidence {
            deployment: docward_model::Deployment { server_version: None, names_are_real: true },
            databases: vec!["db.user.center".to_owned()],
            ..docward_model::Evidence::default()
        };
        let settings = docward_model::Settings {
            select: vec!["N003".to_owned()],
            ..docward_model::Settings::default()
        };
        let found = crate::judge(&evidence, &settings).findings;
        assert_eq!(found[0].severity, Severity::Error);
        assert!(found[0].todo.contains("`db_user_center`"), "{}", found[0].todo);
    }

    #[test]
    fn dm_02_2_capitals_without_prefix_belong_to_n002() {
        assert!(check("N003", "@ UserCenter.t_a\n{\"_id\": 1}").is_empty());
        assert_eq!(check("N003", "@ db_UserCenter.t_a\n{\"_id\": 1}").len(), 1);
    }

    #[test]
    fn dm_02_3_a_proposal_is_no_longer_than_servers_take() {
        let name = format!("{}-a", "a".repeat(60));
        let found = check("N003", &format!("@ {name}.t_a\n{{\"_id\": 1}}"));
        assert!(found[0].todo.contains("at most 60 more bytes"), "{}", found[0].todo);
    }
}
