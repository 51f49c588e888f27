//! DM-03.2: the characters of collection names.

use docward_model::{
    Collection, CollectionKind, Draft, Level, ProfileName, Safety, Seen, Severity, Step, Subject,
    Unit,
};

use crate::{
    Cx, declare_rule,
    facts::{
        deployment::server,
        names::{
            renames::{self, Candidates},
            suffix::{Tail, time_tail},
        },
        text,
    },
    threshold,
};

declare_rule! {
    /// # Odd collection name
    ///
    /// ## What it checks
    /// Reports collection names:
    /// - with a `$` or `.system.` inside, which servers refuse: an error
    /// - with other characters than lower-case letters, digits and underscores: a warning
    /// - with a digit directly after the prefix: a note
    ///
    /// N006 reports capital letters in names without the prefix, and N010 a hyphen or dot before a time suffix.
    /// Under the `neutral` profile, only names that servers refuse are reported.
    ///
    /// ## Why it matters
    /// In the shell, `db.t_user-address` is a subtraction. A collection whose name servers refuse cannot be
    /// restored from a dump.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_shop.t_user-address
    /// {"_id": 1}
    /// ```
    /// ```jsonl,clean,ns=db_shop.t_user_address
    /// {"_id": 1}
    /// ```
    ///
    /// ## How to fix
    /// Rename the collection, and keep a view under the old name until every client has switched.
    ///
    /// ## When to ignore it
    /// The collection belongs to a third-party product.
    N007, "odd-collection-name",
    level: Recommended,
    area: Hygiene,
    severities: [Error, Warn, Info],
    clauses: ["DM-03.2"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Names],
    thresholds: [PREFIX, ALLOW_DIGITS],
    data: ["proposal", "refusedByServers"],
    check: Collection(check),
}

threshold!(
    PREFIX,
    "prefix",
    Text("t_"),
    "text",
    "DM-03.1",
    "required prefix, which proposals keep"
);
threshold!(
    ALLOW_DIGITS,
    "allow-digits",
    Flag(true),
    "on or off",
    "GC-21",
    "whether digits may follow the first letter; a time suffix always may"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let ns = &collection.namespace;
    let name = &ns.collection;
    if name.starts_with("system.")
        || server::is_system_database(&ns.database)
        || server::is_tool_collection(name)
        || server::is_gridfs(cx.evidence(), ns)
    {
        return;
    }
    let prefix = cx.prefix(&PREFIX);
    let house = cx.settings().profile == ProfileName::Vendor;
    let tail = time_tail(name);
    let mut odd: Vec<char> =
        name.chars().filter(|&c| !(c.is_ascii_alphanumeric() || c == '_')).collect();
    odd.sort_unstable();
    odd.dedup();
    let prefixed = name.starts_with(&prefix);
    let body = name.strip_prefix(&prefix).unwrap_or(name);
    let digit_first = body.starts_with(|c: char| c.is_ascii_digit());
    let has_digits = name.chars().any(|c| c.is_ascii_digit());
    let (what, severity, level) = if name.contains(['$', '\0']) {
        ("a `$` or NUL, which servers reject".to_owned(), Severity::Error, Level::Mandatory)
    } else if name.contains(".system.") {
        (
            "`.system.` in the middle, which servers reject".to_owned(),
            Severity::Error,
            Level::Mandatory,
        )
    } else if !house || belongs_to_suffix(&tail, &odd) {
        return;
    } else if !odd.is_empty() {
        let shown: Vec<_> = odd
            .iter()
            .map(|c| if *c == ' ' { "space".to_owned() } else { c.to_string() })
            .collect();
        let what = format!(
            "characters other than letters, digits and underscores ({})",
            text::list(&shown, 5)
        );
        (what, Severity::Warn, Level::Recommended)
    } else if prefixed && name.chars().any(|c| c.is_ascii_uppercase()) {
        // Without the prefix N006 already proposes the lower-case name.
        ("capital letters".to_owned(), Severity::Warn, Level::Recommended)
    } else if has_digits && !cx.flag(&ALLOW_DIGITS) && tail != Tail::Good {
        ("digits that are not a time suffix".to_owned(), Severity::Warn, Level::Recommended)
    } else if prefixed && digit_first {
        (
            "a digit as the first character after the prefix".to_owned(),
            Severity::Info,
            Level::Recommended,
        )
    } else {
        return;
    };
    let proposal = renames::house_name(name, &prefix);
    // People must choose a new name if it has letters of other alphabets.
    let needs_word = digit_first || proposal == *name || !proposal.is_ascii();
    let candidates = cx.shared(&prefix, |evidence| Candidates::of(evidence, &prefix));
    let obstacle = candidates.obstacle(cx.evidence(), ns, &proposal);
    let renamable =
        !needs_word && obstacle.is_none() && collection.kind != CollectionKind::TimeSeries;
    let todo = if needs_word {
        format!("name it after its content, `{prefix}<module>_<entity>`")
    } else if let Some(obstacle) = obstacle {
        obstacle
    } else if renamable {
        format!("rename it to `{proposal}`")
    } else {
        format!(
            "create `{proposal}` and copy the data, because a time series collection cannot be renamed"
        )
    };
    let mut draft = Draft::new(
        Subject::Collection(ns.clone()),
        format!("collection name `{name}` has {what}"),
        if severity == Severity::Error {
            "current servers refuse to create or restore a collection with this name"
        } else {
            "names with other characters need quoting in the shell and in scripts"
        },
        todo,
        Seen::all(cx.evidence().collections.len() as u64, Unit::Collections),
    )
    .data("proposal", proposal.as_str())
    .data("refusedByServers", severity == Severity::Error)
    .severity(severity)
    .level(level);
    if renamable {
        draft = draft.plan(
            Some("RF-11"),
            Safety::Manual,
            [Step::RenameCollection { namespace: ns.clone(), to: proposal }],
        );
    }
    cx.report(draft);
}

/// Whether every odd character is a separator inside a time suffix: `t_log-2024-03`.
fn belongs_to_suffix(tail: &Tail, odd: &[char]) -> bool {
    matches!(tail, Tail::Odd(tail) if !odd.is_empty()
        && !tail.stem.contains(|c: char| !(c.is_ascii_alphanumeric() || c == '_')))
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};
    use docward_model::Severity;

    fn named(name: &str) -> Vec<docward_model::Finding> {
        check("N007", &format!("@ db_shop.{name}\n{{\"_id\": 1}}"))
    }

    #[test]
    fn dm_03_2_hyphen_is_odd() {
        let found = named("t_user-address");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        assert!(found[0].todo.contains("`t_user_address`"), "{}", found[0].todo);
    }

    #[test]
    fn dm_03_2_dollar_is_refused_everywhere() {
        let found = named("t_log$202403");
        assert_eq!(found[0].severity, Severity::Error);
        assert!(found[0].todo.contains("`t_log_202403`"), "{}", found[0].todo);
        let neutral = check_with("N007", "profile=neutral", "@ shop.log$202403\n{\"_id\": 1}");
        assert_eq!(neutral.len(), 1);
        assert!(
            check_with("N007", "profile=neutral", "@ shop.user-address\n{\"_id\": 1}").is_empty()
        );
    }

    #[test]
    fn dm_03_2_good_names_pass() {
        for name in ["t_user_address", "t_log_202403", "t_line2", "OrderDetail", "t_log-2024-03"] {
            assert!(named(name).is_empty(), "{name}");
        }
    }

    #[test]
    fn dm_03_2_capitals_and_leading_digits() {
        assert_eq!(named("t_OrderDetail")[0].severity, Severity::Warn);
        assert_eq!(named("t_2024_orders")[0].severity, Severity::Info);
        let foreign = named("t_用户");
        assert!(
            foreign[0].fix.is_none() && foreign[0].todo.contains("after its content"),
            "{foreign:?}"
        );
    }

    #[test]
    fn dm_03_2_two_collections_are_never_given_one_name() {
        let found = |names: &[&str]| {
            let body: String =
                names.iter().map(|name| format!("@ db_shop.{name}\n{{\"_id\": 1}}\n")).collect();
            check("N007", &body)
        };
        let rivals = found(&["t_user-address", "t_user.address", "t_order-item"]);
        assert_eq!(rivals.len(), 3);
        for finding in &rivals {
            let alone = finding.what.contains("order");
            assert_eq!(finding.fix.is_some(), alone, "{}", finding.what);
            assert_eq!(finding.todo.contains("would also become"), !alone, "{}", finding.todo);
        }
        let taken = found(&["t_user-address", "t_user_address"]);
        assert!(taken[0].fix.is_none() && taken[0].todo.contains("exists already"), "{taken:?}");
        // N006 would give this one the same name.
        let other = found(&["t_user-address", "UserAddress"]);
        assert!(other[0].fix.is_none() && other[0].todo.contains("`UserAddress`"), "{other:?}");
    }
}
