//! AP-S0.1: one spelling per collection name in a project.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{
    Collection, Draft, Evidence, FieldShape, Seen, Subject, Unit,
    code::{CodeName, NameKind},
};

use crate::{
    Cx, declare_rule,
    facts::{
        code,
        deployment::server,
        names::{self, meaning, naming::concept},
        text,
    },
    threshold,
};

declare_rule! {
    /// # Divergent collection names
    ///
    /// ## What it checks
    /// Reports collections in all databases whose names consist of the same words in different spellings:
    /// `OrderDetail`, `order_detail`, `orderdetail`. Between databases, a house prefix is not a difference.
    /// Within one database, `orders` and `t_orders` are two spellings.
    ///
    /// Also reports:
    /// - two collections of one database with nearly the same fields, and names that differ by one letter
    ///   (`orders`, `oders`) or by a plural (`user`, `users`)
    /// - with `audit --code`, names in source code that spell a collection of the deployment differently
    ///
    /// ## Why it matters
    /// Code that uses the other spelling reads an empty collection or creates a new one. It is then unclear which
    /// collection holds the real data.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_shop.OrderDetail
    /// {"_id": 1}
    /// @ db_shop.order_detail
    /// {"_id": 1}
    /// ```
    /// ```jsonl,clean,ns=db_shop.t_order_detail
    /// {"_id": 1}
    /// @ db_archive.t_order_detail
    /// {"_id": 1}
    /// ```
    ///
    /// ## How to fix
    /// Choose one spelling, merge the documents, and rename the collections.
    ///
    /// ## When to ignore it
    /// The databases belong to unrelated projects.
    N017, "divergent-collection-names",
    level: Recommended,
    area: Hygiene,
    clauses: ["AP-S0.1"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Names],
    thresholds: [PREFIX],
    data: ["collections", "sharedFields", "spellings", "stored"],
    check: Deployment(check),
}

threshold!(
    PREFIX,
    "prefix",
    Text("t_"),
    "text",
    "DM-03.1",
    "required prefix, which is not part of the concept"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let prefix = cx.text(&PREFIX);
    let bare_name = |name: &str| name.strip_prefix(&prefix).unwrap_or(name).to_owned();
    let bare = |c: &Collection| bare_name(&c.namespace.collection);
    let mut groups: Groups<'_> = BTreeMap::new();
    for collection in &evidence.collections {
        let ns = &collection.namespace;
        if collection.kind.is_business()
            && !collection.has_guessed_name
            && !server::is_system_database(&ns.database)
            && !ns.collection.starts_with("system.")
            && !server::is_tool_collection(&ns.collection)
        {
            groups.entry(concept(&bare(collection))).or_default().push(collection);
        }
    }
    report_code(evidence, &groups, &bare_name, cx);
    report_twins(evidence, &groups, &bare_name, cx);
    for members in groups.values() {
        let spellings: BTreeSet<&str> =
            members.iter().map(|c| c.namespace.collection.as_str()).collect();
        let without_prefix: BTreeSet<String> = members.iter().map(|c| bare(c)).collect();
        let one_database = members
            .iter()
            .map(|c| &c.namespace.database)
            .any(|db| members.iter().filter(|c| &c.namespace.database == db).count() > 1);
        if spellings.len() < 2 || (without_prefix.len() < 2 && !one_database) {
            continue;
        }
        let documents = |c: &Collection| c.profile.as_ref().map_or(0, |p| p.total.max(p.documents));
        let Some(main) = members.iter().max_by_key(|c| {
            (
                documents(c),
                c.namespace.collection.starts_with(&prefix),
                std::cmp::Reverse(&c.namespace),
            )
        }) else {
            continue;
        };
        // The finding is reported at a spelling that must change, not at the one to keep.
        let astray = members
            .iter()
            .find(|c| c.namespace.collection != main.namespace.collection)
            .unwrap_or(main);
        let known = members.iter().any(|c| c.profile.is_some());
        let parts: Vec<_> = members
            .iter()
            .take(6)
            .map(|c| {
                if known {
                    format!("`{}` ({})", c.namespace, text::plural(documents(c), "document"))
                } else {
                    format!("`{}`", c.namespace)
                }
            })
            .collect();
        let rest = members.len() - parts.len();
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let house = cx.settings().profile == docward_model::ProfileName::Vendor;
        let name = if house {
            names::prefixed(&main.namespace.collection, &prefix)
        } else {
            main.namespace.collection.clone()
        };
        cx.report(
            Draft::new(
                Subject::Collection(astray.namespace.clone()),
                format!(
                    "the same name has {} spellings: {}{more}",
                    spellings.len(),
                    parts.join(", ")
                ),
                "code with the wrong spelling reads an empty collection or creates a new one",
                format!("use `{name}` everywhere and merge the collections that belong together"),
                Seen::all(evidence.collections.len() as u64, Unit::Collections),
            )
            .data("spellings", spellings.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>())
            .data("collections", members.len())
            .key(concept(&bare(main))),
        );
    }
}

/// Collections by the words of their names.
type Groups<'e> = BTreeMap<String, Vec<&'e Collection>>;

/// Reports names in code that are another spelling of a collection.
fn report_code(
    evidence: &Evidence,
    groups: &Groups<'_>,
    bare: &dyn Fn(&str) -> String,
    cx: &mut Cx<'_>,
) {
    let Some(found) = &evidence.code else { return };
    let mut first: BTreeMap<&str, &CodeName> = BTreeMap::new();
    let is_stored =
        |name: &CodeName| evidence.collections.iter().any(|c| c.namespace.collection == name.name);
    for name in &found.names {
        if name.kind != NameKind::Collection
            || !name.is_literal
            || name.in_script
            || is_stored(name)
        {
            continue;
        }
        let had = first.entry(&name.name).or_insert(name);
        if name.place.location < had.place.location {
            *had = name;
        }
    }
    for (spelling, name) in first {
        let is_there = |c: &&&Collection| {
            name.database.as_ref().is_none_or(|database| c.namespace.database == *database)
        };
        let members = groups.get(&concept(&bare(spelling)));
        let mut members = members.into_iter().flatten().filter(is_there);
        let (Some(stored), None) = (members.next(), members.next()) else { continue };
        cx.report(
            code::draft(
                evidence,
                &name.place,
                spelling,
                format!(
                    "the code uses the collection `{spelling}`, and the deployment has `{}`",
                    stored.namespace
                ),
                "code with the wrong spelling reads an empty collection or creates a new one",
                format!("write `{}` in the code", stored.namespace.collection),
            )
            .data("stored", stored.namespace.to_string()),
        );
    }
}

/// Fewer common fields may be a coincidence.
const MIN_FIELDS: usize = 3;
/// Shorter words may differ by one letter by chance.
const MIN_WORD: usize = 5;

/// Collections with nearly the same fields whose names differ by a letter or a plural.
fn report_twins(
    evidence: &Evidence,
    groups: &Groups<'_>,
    bare: &dyn Fn(&str) -> String,
    cx: &mut Cx<'_>,
) {
    let all: Vec<&Collection> = groups.values().flatten().copied().collect();
    for (at, one) in all.iter().enumerate() {
        for other in &all[at + 1..] {
            let names = [one, other].map(|c| bare(&c.namespace.collection));
            if one.namespace.database != other.namespace.database
                || !differ_by_a_slip(&names[0], &names[1])
            {
                continue;
            }
            let Some(shared) = shared_fields(one, other) else { continue };
            let documents =
                |c: &Collection| c.profile.as_ref().map_or(0, |p| p.total.max(p.documents));
            let (main, twin) =
                if documents(one) >= documents(other) { (one, other) } else { (other, one) };
            cx.report(
                Draft::new(
                    Subject::Collection(twin.namespace.clone()),
                    format!(
                        "`{}` ({}) and `{}` ({}) have {} in common, and nearly the same name",
                        twin.namespace,
                        text::plural(documents(twin), "document"),
                        main.namespace,
                        text::plural(documents(main), "document"),
                        text::plural(shared as u64, "field"),
                    ),
                    "code with a mistyped name creates a new collection, and its documents are missing from the other",
                    match documents(main) > documents(twin) {
                        true => format!("if they hold the same things, merge them into `{}` and correct the code", main.namespace.collection),
                        false => "if they hold the same things, merge them into the one with the right name, and correct the code".to_owned(),
                    },
                    Seen::all(evidence.collections.len() as u64, Unit::Collections),
                )
                .data("sharedFields", shared)
                .data("collections", 2_u64)
                .key(format!("twin of {}", main.namespace)),
            );
        }
    }
}

/// Whether one word of two names differs by one letter, two swapped letters, or a plural.
fn differ_by_a_slip(a: &str, b: &str) -> bool {
    let (a, b) = (names::words(a), names::words(b));
    let mut different = a.iter().zip(&b).filter(|(a, b)| a != b);
    let (Some((one, other)), None) = (different.next(), different.next()) else { return false };
    let is_word =
        |word: &String| word.len() >= MIN_WORD && !word.contains(|c: char| c.is_ascii_digit());
    a.len() == b.len()
        && (meaning::singular(one) == meaning::singular(other)
            || is_word(one) && is_word(other) && strsim::damerau_levenshtein(one, other) == 1)
}

/// The number of fields that two collections have in common, if it is at least four of five.
fn shared_fields(one: &Collection, other: &Collection) -> Option<usize> {
    let fields = |c: &Collection| -> Option<BTreeSet<String>> {
        let named = c.profile.as_ref()?.top_level();
        let named = named.filter(|f| f.shape == FieldShape::Named && !f.name.starts_with('_'));
        Some(named.map(|f| f.name.clone()).collect())
    };
    let (one, other) = (fields(one)?, fields(other)?);
    let shared = one.intersection(&other).count();
    (shared >= MIN_FIELDS && shared * 5 >= one.len().max(other.len()) * 4).then_some(shared)
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};

    fn named(names: &[&str]) -> Vec<docward_model::Finding> {
        let body: String = names.iter().map(|n| format!("@ {n}\n{{\"_id\": 1}}\n")).collect();
        check("N017", &body)
    }

    #[test]
    fn ap_s0_1_three_spellings_are_one_finding() {
        let found = named(&["db_a.OrderDetail", "db_a.order_detail", "db_b.orderdetail"]);
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("3 spellings"), "{}", found[0].what);
        assert!(found[0].todo.contains("`t_order_detail`"), "{}", found[0].todo);
    }

    #[test]
    fn ap_s0_1_equal_names_and_other_words_pass() {
        assert!(
            named(&[
                "db_a.t_order",
                "db_b.t_order",
                "db_a.t_orders",
                "db_a.t_log_1_12",
                "db_a.t_log_11_2"
            ])
            .is_empty()
        );
        assert!(named(&["db_a.t_order", "db_b.order"]).is_empty());
    }

    #[test]
    fn ap_s0_1_half_prefixed_in_one_database_is_found() {
        assert_eq!(named(&["db_a.t_order", "db_a.order"]).len(), 1);
    }

    #[test]
    fn ap_s0_1_twins_by_a_slip_have_the_same_fields() {
        let fields = r#"{"sku": 1, "price": 2, "buyer": 3}"#;
        for (a, b) in [("orders", "oders"), ("user", "users"), ("t_oders_items", "t_orders_items")]
        {
            let found = check_with(
                "N017",
                &format!("ns=db_shop.{a}"),
                &format!("{fields}\n@ db_shop.{b}\n{fields}"),
            );
            assert_eq!(found.len(), 1, "{a} {b}: {found:?}");
        }
        let others = r#"{"sku": 1, "carrier": 2, "sentAt": 3}"#;
        for (a, b, second) in [
            ("orders", "oders", others),
            ("orders1", "orders2", fields),
            ("log_a", "log_b", fields),
            ("forms", "orders", fields),
        ] {
            let found = check_with(
                "N017",
                &format!("ns=db_shop.{a}"),
                &format!("{fields}\n@ db_shop.{b}\n{second}"),
            );
            assert!(found.is_empty(), "{a} {b}: {found:?}");
        }
    }
}
