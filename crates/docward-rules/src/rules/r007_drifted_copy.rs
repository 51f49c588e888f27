//! DP-4, PT-extref.*: a copied field is a snapshot or a mirror; only a mirror can drift.

use docward_model::{
    Collection, CopiedField, DataValue, Draft, FieldPath, Level, Namespace, Subject,
};

use crate::facts::{growth::patterns, relations::copies, text};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Drifted copy
    ///
    /// ## What it checks
    /// Finds fields that repeat a field of the collection they refer to, such as `customer.name` with
    /// `customerId`:
    /// - A warning: a copy declared as a mirror in `docward.toml` has values that differ from their source.
    /// - A note: copies are not declared. The finding lists them once per collection, with the share that
    ///   differs.
    ///
    /// ## Why it matters
    /// A copy saves a lookup. A snapshot, such as the price at the time of purchase, must not change. A mirror,
    /// such as the customer's name in a list, must follow its source. Data alone does not show which of the two
    /// is intended.
    ///
    /// ## Example
    /// ```jsonl,fires,min-compared=5,ns=db_shop.t_customer
    /// x6 {"_id": $i, "name": "name $i"}
    /// @ db_shop.t_order
    /// {"customerId": 0, "customerName": "name 0"}
    /// {"customerId": 1, "customerName": "name 1"}
    /// {"customerId": 2, "customerName": "name 2"}
    /// {"customerId": 3, "customerName": "name 3"}
    /// {"customerId": 4, "customerName": "name before the wedding"}
    /// {"customerId": 5, "customerName": "name 5"}
    /// ```
    /// A reference without a copy:
    /// ```jsonl,clean,min-compared=5,ns=db_shop.t_customer
    /// x6 {"_id": $i, "name": "name $i"}
    /// @ db_shop.t_order
    /// {"customerId": 0, "note": "in a hurry"}
    /// {"customerId": 1, "note": "ring twice"}
    /// ```
    ///
    /// ## How to fix
    /// Decide for each field:
    /// - mirrors: update them when the source changes, for example by a change stream, and declare them under
    ///   `[[collections.mirrors]]`
    /// - snapshots: list them in `snapshots` of this rule, under `[[namespaces]]` for the collection
    /// - fields that must always be current: do not copy them
    ///
    /// ## When to ignore it
    /// All copies of the collection are snapshots.
    R007, "drifted-copy",
    level: Recommended,
    area: Correctness,
    severities: [Warn, Info],
    clauses: ["DP-4", "PT-extref.1", "PT-extref.2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MIN_COMPARED, MAX_FIELDS, SNAPSHOTS],
    data: ["compared", "copies", "differing", "source"],
    check: Collection(check),
}

threshold!(
    MIN_COMPARED,
    "min-compared",
    Int(20),
    "pairs",
    "our default",
    "minimum number of pairs of copy and source that must be compared"
);
threshold!(
    SNAPSHOTS,
    "snapshots",
    Words(&[]),
    "paths",
    "DP-4",
    "copies that are snapshots and are not reported; set it per collection under `[[namespaces]]`"
);
threshold!(
    MAX_FIELDS,
    "max-fields",
    Int(3),
    "fields",
    "PT-extref.1",
    "maximum number of copied fields of a lightly extended reference"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = patterns::user_documents(collection) else { return };
    let ns = &collection.namespace;
    let least = cx.count(&MIN_COMPARED);
    let evidence = cx.evidence();
    let settings = cx.settings();
    let snapshots = cx.words(&SNAPSHOTS);
    let mut undeclared: Vec<&CopiedField> = Vec::new();
    for copy in evidence.copies.iter().filter(|c| c.from == *ns && c.compared >= least) {
        let snapshot = || snapshots.iter().any(|path| copies::is_named(path, copy));
        if !copies::is_mirror(settings, copy) {
            if copy.by_value && !snapshot() {
                undeclared.push(copy);
            }
        } else if copy.differing > 0 {
            // Copies are compared on a sample of the documents.
            let part = copy.compared < profile.documents;
            cx.report(drifted(ns, copy, profile.seen().estimated(part)));
        }
    }
    if !undeclared.is_empty() {
        let part = undeclared.iter().any(|c| c.compared < profile.documents);
        let seen = profile.seen().estimated(part);
        let draft = asks(ns, &undeclared, cx.count(&MAX_FIELDS), seen);
        cx.report(draft);
    }
}

fn share(copy: &CopiedField) -> f64 {
    copy.differing as f64 / copy.compared.max(1) as f64
}

fn drifted(ns: &Namespace, copy: &CopiedField, seen: docward_model::Seen) -> Draft {
    Draft::new(
        Subject::Field(ns.clone(), copy.path.clone()),
        format!(
            "{} of {} compared in `{}`, which is declared as a mirror, {} from `{}` of `{}`",
            text::count(copy.differing),
            text::verb(copy.compared, "copy", "copies"),
            copy.path,
            text::form(copy.differing, "differs", "differ"),
            copy.source,
            copy.to
        ),
        "readers of an outdated copy see wrong values",
        format!(
            "copy `{}` again from `{}` where `{}` matches (about {} of all copies differ), and keep it up to date with a change stream on `{}`",
            copy.path.dotted(),
            copy.source.dotted(),
            copy.reference.dotted(),
            text::percent(share(copy)),
            copy.to
        ),
        seen,
    )
    .data("source", format!("{}:{}", copy.to, copy.source))
    .data("compared", copy.compared)
    .data("differing", copy.differing)
    .key("mirror")
}

fn asks(ns: &Namespace, copies: &[&CopiedField], most: u64, seen: docward_model::Seen) -> Draft {
    let listed: Vec<String> = copies
        .iter()
        .take(4)
        .map(|c| format!("`{}` from `{}` ({} differ)", c.path, c.to, text::percent(share(c))))
        .collect();
    let more = match copies.len().saturating_sub(4) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    // Copies next to one reference count together.
    let mut references: Vec<(&FieldPath, u64)> = Vec::new();
    for copy in copies {
        match references.iter_mut().find(|(path, _)| *path == &copy.reference) {
            Some(entry) => entry.1 += 1,
            None => references.push((&copy.reference, 1)),
        }
    }
    let wide = references.iter().find(|(_, n)| *n > most).map_or_else(String::new, |(path, n)| {
        format!("; {n} fields are copied next to `{path}` (limit {most}): embed the whole document or copy fewer fields")
    });
    Draft::new(
        Subject::Collection(ns.clone()),
        format!(
            "{} of other collections: {}{more}",
            if copies.len() == 1 { "1 field repeats a field".to_owned() } else { format!("{} fields repeat fields", copies.len()) },
            listed.join(", ")
        ),
        "a snapshot must not change, but a mirror must follow its source; the data does not show which is intended",
        format!("decide for each copy: list mirrors under `[[collections.mirrors]]` in docward.toml, so that Docward reports drift, and snapshots in `snapshots` of this rule{wide}"),
        seen,
    )
    .data(
        "copies",
        copies
            .iter()
            .map(|c| {
                DataValue::Map(vec![
                    ("path".to_owned(), c.path.as_str().into()),
                    ("source".to_owned(), format!("{}:{}", c.to, c.source).into()),
                    ("compared".to_owned(), c.compared.into()),
                    ("differing".to_owned(), c.differing.into()),
                ])
            })
            .collect::<Vec<_>>(),
    )
    .level(Level::Information)
    .key("undeclared")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check;
    use crate::testing::check_with;
    use docward_model::{
        Evidence, NamespacePattern, Profile, Settings, Severity, ThresholdSetting,
    };

    fn evidence(differing: u64) -> Evidence {
        let ns = Namespace::new("db_shop", "t_order");
        let mut orders = Collection::named(ns.clone());
        orders.profile = Some(Profile { documents: 100, total: 100, ..Profile::default() });
        Evidence {
            collections: vec![orders],
            copies: vec![CopiedField {
                from: ns,
                path: FieldPath::new("customer.name"),
                reference: FieldPath::new("customerId"),
                to: Namespace::new("db_shop", "t_customer"),
                source: FieldPath::new("name"),
                compared: 100,
                differing,
                by_value: true,
            }],
            ..Evidence::default()
        }
    }

    fn judged(evidence: &Evidence, settings: &Settings) -> Vec<docward_model::Finding> {
        let mut out = crate::Outcome::default();
        crate::engine::run(&R007, evidence, settings, &mut out);
        out.findings
    }

    #[test]
    fn dp_4_a_declared_mirror_is_compared_however_far_it_has_drifted() {
        let mut body = String::from("@ db_shop.t_customer\n");
        for i in 0..100 {
            body += &format!("{{\"_id\": {i}, \"name\": \"Customer {i}\"}}\n");
        }
        body += "@ db_shop.t_order\n";
        for i in 0..100 {
            let name = if i % 10 == 0 { format!("Customer {i}") } else { format!("Old name {i}") };
            body += &format!(
                "{{\"_id\": {i}, \"customerId\": {i}, \"customer\": {{\"name\": \"{name}\"}}}}\n"
            );
        }
        let found = check_with("R007", "mirror=db_shop.t_order:customer.name", &body);
        assert_eq!(found.len(), 1);
        assert!(found[0].what.starts_with("90 of 100"), "{}", found[0].what);
        assert!(check_with("R007", "", &body).is_empty(), "names alone prove nothing");
    }

    #[test]
    fn dp_4_drift_is_reported_only_of_mirrors() {
        let mirrors = Settings {
            mirrors: vec![(
                NamespacePattern::new("db_shop.*").unwrap(),
                "customer.name".to_owned(),
            )],
            ..Settings::default()
        };
        let found = judged(&evidence(7), &mirrors);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        assert!(found[0].what.starts_with("7 of 100"), "{}", found[0].what);
        assert!(judged(&evidence(0), &mirrors).is_empty());
        let found = judged(&evidence(7), &Settings::default());
        assert_eq!(found[0].severity, Severity::Info);
        assert!(found[0].what.contains("7.0 % differ"), "{}", found[0].what);
    }

    #[test]
    fn dp_4_a_snapshot_is_not_asked_about() {
        let set = |namespace: &str| Settings {
            overrides: vec![crate::testing::override_at(
                namespace,
                "R007",
                "snapshots",
                ThresholdSetting::Words(vec!["customer.name".to_owned()]),
            )],
            ..Settings::default()
        };
        assert!(judged(&evidence(7), &set("db_shop.*")).is_empty());
        assert_eq!(judged(&evidence(7), &set("db_other.*")).len(), 1);
    }

    #[test]
    fn pt_extref_1_copied_fields_are_found_beside_their_reference() {
        let orders: String = (0..40)
            .map(|i| format!("{{\"customerId\": {i}, \"customerName\": \"name {i}\"}}\n"))
            .collect();
        let customers = "x40 {\"_id\": $i, \"name\": \"name $i\"}";
        let body = format!("@ db_shop.t_customer\n{customers}\n@ db_shop.t_order\n{orders}");
        assert_eq!(check("R007", &body).len(), 1);
    }

    #[test]
    fn pt_extref_1_more_than_three_copied_fields_ask_for_another_shape() {
        let mut evidence = evidence(0);
        let first = evidence.copies[0].clone();
        for name in ["email", "phone", "city"] {
            let mut copy = first.clone();
            copy.path = FieldPath::new(format!("customer.{name}"));
            evidence.copies.push(copy);
        }
        let found = judged(&evidence, &Settings::default());
        assert_eq!(found.len(), 1);
        assert!(found[0].todo.contains("4 fields are copied"), "{}", found[0].todo);
    }

    #[test]
    fn pt_extref_2_a_field_that_must_be_current_is_reported_when_it_drifts() {
        let mirrors = Settings {
            mirrors: vec![(NamespacePattern::new("*").unwrap(), "customer.name".to_owned())],
            ..Settings::default()
        };
        assert_eq!(judged(&evidence(1), &mirrors).len(), 1);
    }
}
