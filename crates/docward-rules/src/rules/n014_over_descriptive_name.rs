//! DM-04.4: names without redundant description (GC-24).

use std::collections::BTreeSet;

use docward_model::{Collection, Draft, Severity, Subject};

use crate::{
    Cx, declare_rule,
    facts::{
        names::{naming::named, origin, words},
        text,
    },
    threshold,
};

declare_rule! {
    /// # Over-descriptive name
    ///
    /// ## What it checks
    /// Reports field names longer than 40 characters as a warning, and shorter names of more than five words as a
    /// note. It is also a note if another system chose the names, as in N011. Field names that are data are not
    /// checked.
    ///
    /// ## Why it matters
    /// Every document stores its field names, and index and query paths repeat them. Long names are easily
    /// mistyped.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// {"_id": 1, "theUniqueIdentifierOfTheCustomerWhoPlacedTheOrder": 7}
    /// ```
    /// ```jsonl,clean
    /// {"_id": 1, "customerId": 7}
    /// ```
    ///
    /// ## How to fix
    /// Remove the words that the collection or the parent object already expresses, and articles and
    /// prepositions.
    ///
    /// ## When to ignore it
    /// A standard for data exchange defines the name.
    N014, "over-descriptive-name",
    level: Recommended,
    area: Hygiene,
    severities: [Warn, Info],
    clauses: ["DM-04.4"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MAX_LENGTH, MAX_WORDS],
    data: ["limit", "longest", "nameBytes", "names"],
    check: Collection(check),
}

threshold!(
    MAX_LENGTH,
    "max-length",
    Int(40),
    "characters",
    "DM-04.4, GC-24: our default",
    "maximum length of a field name"
);
threshold!(
    MAX_WORDS,
    "max-words",
    Int(5),
    "words",
    "DM-04.4: our default",
    "maximum number of words in a field name"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = &collection.profile else { return };
    let (max_length, max_words) = (cx.count(&MAX_LENGTH), cx.count(&MAX_WORDS));
    let length = |name: &str| name.chars().count() as u64;
    let all = named(profile);
    let long: Vec<_> = all
        .iter()
        .filter(|n| length(n.name()) > max_length || words(n.name()).len() as u64 > max_words)
        .collect();
    if long.is_empty() {
        return;
    }
    let mut unique = BTreeSet::new();
    let mut names: Vec<_> = long.iter().map(|n| n.name()).filter(|n| unique.insert(*n)).collect();
    names.sort_by_key(|n| std::cmp::Reverse(length(n)));
    let longest = names.first().map_or(0, |n| length(n));
    let bytes: u64 = long.iter().map(|n| n.field.count * n.name().len() as u64).sum();
    // Sorted by length: those above the limit come first.
    let too_long = names.iter().filter(|n| length(n) > max_length).count();
    let listed = |names: &[&str]| {
        let short: Vec<_> = names.iter().map(|n| clip(n)).collect();
        text::list(&short, 3)
    };
    let wordy = match names.len() - too_long {
        0 => String::new(),
        n => format!(
            "{} of more than {max_words} words: {}",
            text::plural(n as u64, "field name"),
            listed(&names[too_long..])
        ),
    };
    let what = if too_long > 0 {
        format!(
            "{} longer than {max_length} characters (longest {longest}): {}{}{wordy}",
            text::plural(too_long as u64, "field name"),
            listed(&names[..too_long]),
            if wordy.is_empty() { "" } else { "; " },
        )
    } else {
        wordy
    };
    let is_foreign = origin::are_foreign(profile, long.iter().map(|n| n.field));
    let severity = if too_long > 0 && !is_foreign { Severity::Warn } else { Severity::Info };
    cx.report(
        Draft::new(
            Subject::Collection(collection.namespace.clone()),
            what,
            "every document, query and index repeats its field names, and long names are often mistyped",
            format!(
                "keep the noun and its qualifier (`customerId`), and drop words that the collection's name already has; these names take {} in the {} read",
                text::bytes(bytes),
                text::plural(profile.documents, "document")
            ),
            profile.seen(),
        )
        .paths(long.iter().map(|n| n.field.path.clone()))
        .data("names", names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>())
        .data("longest", longest)
        .data("limit", max_length)
        .data("nameBytes", bytes)
        .severity(severity),
    );
}

/// Shortens a name that is too long for a line. The data of the finding contains the complete name.
fn clip(name: &str) -> String {
    const SHOWN: usize = 60;
    if name.chars().count() <= SHOWN {
        return name.to_owned();
    }
    let head: String = name.chars().take(SHOWN).collect();
    format!("{head}…")
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use docward_model::Severity;

    fn named(name: &str) -> Vec<docward_model::Finding> {
        check("N014", &format!(r#"{{"_id": 1, "{name}": 1}}"#))
    }

    #[test]
    fn dm_04_4_the_sample_is_found() {
        let found = named("theUniqueIdentifierOfTheCustomerWhoPlacedTheOrder");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        assert!(named("customerId").is_empty());
    }

    #[test]
    fn dm_04_4_each_name_is_listed_under_what_is_wrong_with_it() {
        let body = format!("{{\"{}\": 1, \"days_since_the_user_logged_in\": 2}}", "a".repeat(41));
        let what = &check("N014", &body)[0].what;
        assert!(
            what.starts_with("1 field name longer than 40 characters (longest 41): `aaa"),
            "{what}"
        );
        assert!(
            what.ends_with("1 field name of more than 5 words: `days_since_the_user_logged_in`"),
            "{what}"
        );
    }

    #[test]
    fn dm_04_4_40_characters_pass_41_warn() {
        assert!(named(&"a".repeat(40)).is_empty());
        assert_eq!(named(&"a".repeat(41))[0].severity, Severity::Warn);
    }

    #[test]
    fn dm_04_4_many_short_words_are_information() {
        assert_eq!(named("days_since_the_user_logged_in")[0].severity, Severity::Info);
        assert!(named("days_since_the_user_login").is_empty());
    }
}
