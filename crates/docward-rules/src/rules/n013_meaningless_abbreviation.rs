//! DM-04.3: names are self-explanatory (GC-24).

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use docward_model::{
    BsonType, Collection, DataValue, Draft, Evidence, Field, Profile, Severity, Subject,
};

use crate::{
    Cx, declare_rule,
    facts::{
        names::{
            Style, in_style, initials,
            naming::{
                ABBREVIATIONS, Named, dominant_style, is_capital_abbreviation, named, spelled_twice,
            },
            origin, words,
        },
        text,
    },
    threshold,
};

declare_rule! {
    /// # Meaningless abbreviation
    ///
    /// ## What it checks
    /// Reports field names that do not explain themselves:
    /// - one or two letters
    /// - three capitals without a vowel
    /// - three letters that are the initials of another field
    ///
    /// If another field has matching initials, the finding proposes its name. It is a note in these cases:
    /// - all fields are called `a`, `b`, `c` and so on, as in test documents
    /// - there is a single such name of two or three letters, and no proposal for it: it may be a term of the trade
    /// - another system chose the names, as in N011
    ///
    /// ## Exceptions
    /// Not reported:
    /// - common short forms: `id`, `ip`, `ts`, `qty`, units, currencies, language codes, `x`/`y`/`z`, `k`/`v`,
    ///   prices of a period (`o`/`h`/`l`/`c`). Add your own with `allow`
    /// - at least three names of three capitals in one object, which count as technical terms
    ///
    /// ## Why it matters
    /// The field name is the only description in a document. `UN` can be a user name, a unit or the United
    /// Nations, and the next developer has to guess.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// {"_id": 1, "UN": "zhang", "oi": [], "totalAmount": 1}
    /// ```
    /// ```jsonl,clean
    /// {"_id": 1, "userName": "zhang", "orderItems": [], "qty": 2, "ip": "10.0.0.1", "ts": 1}
    /// ```
    ///
    /// ## How to fix
    /// Rename the field to whole words. Long names cost little, because the storage engine compresses repeated
    /// keys.
    ///
    /// ## When to ignore it
    /// The short form is a term of your business; add it to `allow`.
    N013, "meaningless-abbreviation",
    level: Prohibited,
    area: Hygiene,
    severities: [Warn, Info],
    clauses: ["DM-04.3"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [ALLOW],
    data: ["names"],
    check: Collection(check),
}

threshold!(
    ALLOW,
    "allow",
    Words(ABBREVIATIONS),
    "names",
    "GC-24",
    "short names that count as words; names in `docward.toml` are added to this list"
);

/// The meaning of the rule book's examples, if the data does not show it.
const GLOSSARY: &[(&str, &str)] = &[
    ("un", "userName"),
    ("ct", "createTime"),
    ("ut", "updateTime"),
    ("oi", "orderItems"),
    ("fn", "firstName"),
    ("ln", "lastName"),
    ("pw", "password"),
    ("dt", "date"),
    ("cd", "code"),
    ("nm", "name"),
];

/// Returns the meaning of an abbreviation of the rule book.
pub(super) fn long_form(name: &str) -> Option<&'static str> {
    let letters = name.to_lowercase();
    GLOSSARY.iter().find(|(known, _)| *known == letters).map(|(_, long)| *long)
}

/// A name without a clear meaning.
#[derive(Clone, Debug)]
pub(super) struct Abbreviation {
    /// Its index in the profile's fields.
    pub(super) at: usize,
}

/// The allow list as a set, with the user's words.
pub(super) fn allowed(more: &[String]) -> BTreeSet<String> {
    ABBREVIATIONS
        .iter()
        .map(|&w| w.to_owned())
        .chain(more.iter().map(|w| w.to_lowercase()))
        .collect()
}

/// Returns the names in `all` without a clear meaning. Requires strong evidence, because many trades use short words.
/// `allow` takes long to build, and most collections have no short names.
pub(super) fn abbreviations(
    profile: &Profile,
    all: &[Named<'_>],
    allow: impl FnOnce() -> BTreeSet<String>,
) -> Vec<Abbreviation> {
    let is_short = |name: &str| name.len() <= 3 && name.chars().all(|c| c.is_ascii_alphabetic());
    if !all.iter().any(|named| is_short(named.name())) {
        return Vec::new();
    }
    let allow = allow();
    let mut siblings: BTreeMap<Option<usize>, Vec<&Named<'_>>> = BTreeMap::new();
    for name in all {
        siblings.entry(name.field.parent).or_default().push(name);
    }
    // If most names are in capitals, an upper-case name is style and not an abbreviation.
    let capitals = all.iter().filter(|n| n.style == Style::Screaming).count();
    let shouting = capitals * 2 > all.len()
        && all.iter().any(|n| n.name().len() > 4 && n.style == Style::Screaming);
    let long: BTreeSet<String> = profile
        .fields
        .iter()
        .filter(|f| words(&f.name).len() > 1)
        .map(|f| initials(&f.name))
        .collect();
    let mut out = Vec::new();
    for group in siblings.values() {
        let names: Vec<_> = group.iter().map(|n| n.name()).collect();
        let nested = group.first().is_some_and(|n| n.field.parent.is_some());
        if are_codes(&names, nested) || are_candles(&names) {
            continue;
        }
        let trade =
            names.iter().filter(|n| n.len() == 3 && is_capital_abbreviation(n, 3)).count() >= 3;
        for name in group {
            let text = name.name();
            let lower = text.to_lowercase();
            if !text.chars().all(|c| c.is_ascii_alphabetic()) || allow.contains(&lower) {
                continue;
            }
            let matched = long.contains(&lower);
            let vowel = lower.contains(['a', 'e', 'i', 'o', 'u']);
            let upper = is_capital_abbreviation(text, 3);
            let meaningless = match text.len() {
                1 | 2 => !(shouting && upper),
                3 if upper => matched || (!vowel && !trade && !shouting),
                3 => matched && !vowel,
                _ => false,
            };
            let in_company = |set: &&&[&str]| {
                set.contains(&text) && set.iter().all(|other| names.contains(other))
            };
            if meaningless && !COMPANY.iter().any(|set| in_company(&set)) {
                out.push(Abbreviation { at: name.at });
            }
        }
    }
    // If a collection has many single letters, they are not axes or sizes, unless they occur in pairs: `x` with `y`,
    // `k` with `v`.
    let letters = out.iter().filter(|a| profile.fields[a.at].name.len() == 1).count();
    if letters >= 2 {
        for group in siblings.values() {
            let names: Vec<_> = group.iter().map(|n| n.name().to_lowercase()).collect();
            if names.len() > 1 && names.iter().all(|n| n.len() == 1 && allow.contains(n)) {
                continue;
            }
            let lonely = group.iter().filter(|n| {
                n.name().len() == 1
                    && n.name().chars().all(|c| c.is_ascii_alphabetic())
                    && !COMPANY.iter().any(|set| {
                        set.contains(&n.name())
                            && set.iter().filter(|s| names.iter().any(|n| n == *s)).count() > 1
                    })
            });
            out.extend(lonely.map(|n| Abbreviation { at: n.at }));
        }
    }
    out.sort_by_key(|a| a.at);
    out.dedup_by_key(|a| a.at);
    out
}

/// Single letters that explain each other.
const COMPANY: &[&[&str]] = &[
    &["x", "y", "z", "w", "h"],
    &["h", "w", "l", "d"],
    &["r", "g", "b", "a"],
    &["k", "v"],
    &["t", "v"],
    &["r", "w"],
    &["i", "j"],
    &["f", "m"],
    &["u", "v"],
];

/// Whether the siblings are keys of translations, countries or states: nearly all are two-letter
/// codes and at least two of them are common ones, or an embedded object has nothing but such codes
/// in capitals.
fn are_codes(names: &[&str], nested: bool) -> bool {
    const COMMON: &[&str] = &[
        "en", "de", "fr", "es", "it", "zh", "cn", "jp", "ja", "ko", "kr", "ru", "pt", "nl", "pl",
        "sv", "da", "fi", "tr", "ar", "vi", "th", "cs", "el", "hu", "ro", "uk", "us", "gb", "br",
        "ca", "au", "mx", "in", "no", "he", "id",
    ];
    let two = names.iter().filter(|n| n.len() == 2).count();
    let common = names.iter().filter(|n| COMMON.contains(&n.to_lowercase().as_str())).count();
    let capitals = names.iter().all(|n| n.len() == 2 && is_capital_abbreviation(n, 2));
    (common >= 2 && two * 5 >= names.len() * 4) || (nested && names.len() >= 4 && capitals)
}

/// Whether the names are the first letters of the alphabet, in any order: documents that people created as a test.
/// Such names have no meaning, so a note is enough.
fn are_placeholders(names: &[&Named<'_>]) -> bool {
    let letters: BTreeSet<&str> = names.iter().map(|n| n.name()).collect();
    let alphabet = ["a", "b", "c", "d", "e", "f", "g", "h"];
    letters.len() >= 2
        && letters.len() <= alphabet.len()
        && letters.iter().eq(&alphabet[..letters.len()])
}

/// `o`, `h`, `l`, `c` together: prices of a period.
fn are_candles(names: &[&str]) -> bool {
    ["o", "h", "l", "c"].iter().all(|c| names.iter().any(|n| n.eq_ignore_ascii_case(c)))
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = &collection.profile else { return };
    let owned = spelled_twice(profile);
    let mut all = named(profile);
    all.retain(|n| !owned.contains(&n.at));
    let allow = || cx.words(&ALLOW).iter().map(|w| w.to_lowercase()).collect();
    let mut found = abbreviations(profile, &all, allow);
    let top: Vec<_> = all.iter().filter(|n| n.field.parent.is_none()).collect();
    let placeholders = are_placeholders(&top);
    if placeholders {
        // `a`, `b`, `c` belong together, although some of them are on the list of short words.
        found.extend(top.iter().map(|n| Abbreviation { at: n.at }));
        found.sort_by_key(|a| a.at);
        found.dedup_by_key(|a| a.at);
    }
    if found.is_empty() {
        return;
    }
    let style = dominant_style(&all, Style::Camel).unwrap_or(Style::Camel);
    let mut proposals: Vec<(String, Option<String>)> = Vec::new();
    for short in &found {
        let field = &profile.fields[short.at];
        if proposals.iter().all(|(known, _)| *known != field.name) {
            let long = proposal(field, profile, || cx.shared("initials", by_initials), style);
            let long = long.filter(|long| *long != field.name);
            proposals.push((field.name.clone(), long));
        }
    }
    let names: Vec<_> = proposals.iter().map(|(name, _)| name.as_str()).collect();
    // A single short name without context is often a technical term.
    let is_term =
        names.len() == 1 && names[0].len() > 1 && proposals.iter().all(|(_, long)| long.is_none());
    let is_foreign = origin::are_foreign(profile, found.iter().map(|a| &profile.fields[a.at]));
    let known: Vec<_> = proposals
        .iter()
        .filter_map(|(name, long)| long.as_ref().map(|long| format!("`{name}` perhaps `{long}`")))
        .take(5)
        .collect();
    let todo = if known.is_empty() {
        "write the words in full, or add the names to `allow` if they are common terms of your field"
            .to_owned()
    } else {
        format!(
            "write the words in full ({}), or add the names to `allow` if they are common terms of your field",
            known.join(", ")
        )
    };
    cx.report(
        Draft::new(
            Subject::Collection(collection.namespace.clone()),
            if names.len() == 1 {
                format!("field name {} is an abbreviation without a clear meaning", text::list(&names, 1))
            } else {
                format!(
                    "{} field names are abbreviations without a clear meaning: {}",
                    names.len(),
                    text::list(&names, 8)
                )
            },
            "the name is a field's only description, and readers interpret abbreviations differently",
            todo,
            profile.seen(),
        )
        .paths(found.iter().map(|short| profile.fields[short.at].path.clone()))
        .data(
            "names",
            DataValue::Map(
                proposals
                    .iter()
                    .map(|(name, long)| {
                        (name.clone(), DataValue::from(long.as_deref().unwrap_or("")))
                    })
                    .collect(),
            ),
        )
        // GC-24: the rule book has no measure, so the severity is at most a warning.
        .severity(if placeholders || is_foreign || is_term { Severity::Info } else { Severity::Warn }),
    );
}

/// Names of several words with their types, by their initials.
type ByInitials = BTreeMap<String, BTreeSet<(String, Option<BsonType>)>>;

fn by_initials(evidence: &Evidence) -> ByInitials {
    let mut all = ByInitials::new();
    for field in
        evidence.collections.iter().filter_map(|c| c.profile.as_ref()).flat_map(|p| &p.fields)
    {
        if words(&field.name).len() > 1 {
            let named = (field.name.clone(), field.types.dominant());
            all.entry(initials(&field.name)).or_default().insert(named);
        }
    }
    all
}

/// A name with these initials and the same type in the same collection, else from the glossary, else in another
/// collection. If there are two candidates, none is proposed.
fn proposal(
    short: &Field,
    profile: &Profile,
    everywhere: impl FnOnce() -> Rc<ByInitials>,
    style: Style,
) -> Option<String> {
    let letters = short.name.to_lowercase();
    if letters.len() < 2 {
        return None;
    }
    let fitting = |profile: &Profile| -> BTreeSet<String> {
        profile
            .fields
            .iter()
            .filter(|f| words(&f.name).len() > 1 && initials(&f.name) == letters)
            .filter(|f| f.types.dominant() == short.types.dominant())
            .map(|f| in_style(&f.name, style))
            .collect()
    };
    let only =
        |names: BTreeSet<String>| (names.len() == 1).then(|| names.into_iter().next()).flatten();
    let known = || long_form(&short.name).map(|long| in_style(long, style));
    let elsewhere = || {
        let kind = short.types.dominant();
        let all = everywhere();
        let names = all.get(&letters)?.iter().filter(|(_, other)| *other == kind);
        only(names.map(|(name, _)| in_style(name, style)).collect())
    };
    only(fitting(profile)).or_else(known).or_else(elsewhere)
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};
    use docward_model::{DataValue, Severity};

    fn names(body: &str) -> Vec<String> {
        check("N013", body)
            .first()
            .and_then(|f| match f.data.get("names") {
                Some(DataValue::Map(entries)) => {
                    Some(entries.iter().map(|(name, _)| name.clone()).collect())
                }
                _ => None,
            })
            .unwrap_or_default()
    }

    #[test]
    fn dm_04_3_the_bad_sample_is_found_once() {
        let found =
            check("N013", r#"{"UN": "a", "Create_Time": 1, "oi": [], "_total": 1, "CT": 1}"#);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        assert!(found[0].todo.contains("`UN` perhaps `userName`"), "{}", found[0].todo);
        assert!(found[0].todo.contains("`oi` perhaps `orderItems`"), "{}", found[0].todo);
    }

    #[test]
    fn dm_04_3_known_short_forms_pass() {
        let body = r#"{"_id": 1, "id": 1, "qty": 2, "ip": "a", "ts": 1, "URL": "x", "SKU": "y", "size": {"h": 1, "w": 2, "uom": "cm"},
                      "loc": {"lat": 1, "lng": 2}, "tags": [{"k": "a", "v": 1}], "dob": 1}"#
            .replace('\n', " ");
        assert!(names(&body).is_empty());
    }

    #[test]
    fn dm_04_3_initials_of_another_field_are_proposed() {
        let found = check("N013", r#"{"_id": 1, "sourceWarehouse": 1, "SW": 2}"#);
        assert!(found[0].todo.contains("`sourceWarehouse`"), "{}", found[0].todo);
    }

    #[test]
    fn dm_04_3_codes_trades_and_candles_pass() {
        assert!(
            names(r#"{"title": {"en": "a", "de": "b", "oc": "c", "fr": "d", "eu": "e"}}"#)
                .is_empty()
        );
        assert!(
            names(r#"{"playerName": "x", "stats": {"PTS": 1, "STL": 2, "BLK": 3}}"#).is_empty()
        );
        assert!(names(r#"{"o": 1, "h": 2, "l": 3, "c": 4, "v": 5}"#).is_empty());
        assert!(names(r#"{"patientId": 1, "BMI": 22}"#).is_empty());
        assert!(names(r#"{"salesByState": {"CA": 1, "NY": 2, "WV": 3, "CT": 4}}"#).is_empty());
    }

    #[test]
    fn dm_04_3_a_habit_of_single_letters_shows_all_of_them() {
        let found =
            names(r#"{"a": {"b": {"c": {"d": {"e": {"value": 1}}}}}, "at": {"x": 1, "y": 2}}"#);
        assert_eq!(found, ["a", "b", "c", "d", "e"]);
    }

    #[test]
    fn dm_04_3_placeholders_are_a_note_and_named_together() {
        let found = check("N013", r#"{"_id": 1, "a": 1, "b": 2, "c": {"key": 2}}"#);
        assert_eq!(found[0].severity, Severity::Info);
        assert!(found[0].what.contains("`a`, `b` and `c`"), "{}", found[0].what);
        let found = check("N013", r#"{"_id": 1, "a": 1, "b": 2, "q": 3}"#);
        assert_eq!(found[0].severity, Severity::Warn, "a letter that stands for something");
    }

    #[test]
    fn dm_04_3_users_extend_the_list() {
        assert!(check_with("N013", "allow=oi", r#"{"oi": 1, "userName": 2}"#).is_empty());
    }

    #[test]
    fn dm_04_3_other_scripts_are_not_abbreviations() {
        assert!(names(r#"{"姓名": "a", "q1": 1, "s3": 2}"#).is_empty());
    }
}
