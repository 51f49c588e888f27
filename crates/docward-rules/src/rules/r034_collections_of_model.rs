//! DP-2: data and the declared model have the same collections.

use docward_design::Purpose;
use docward_model::{CollectionKind, Draft, Evidence, Seen, Severity, Subject, Unit};

use crate::facts::{schema::declared, text};
use crate::{Cx, declare_rule};

declare_rule! {
    /// # Collections of the model
    ///
    /// ## What it checks
    /// Compares the collections in the data with those of a model (`docward design check MODEL.yaml SOURCE`, or
    /// `audit --model`):
    /// - A note: a collection exists only in the model, or only in the data.
    /// - A note: the model embeds a child, but the data stores it in its own collection, or the other way round.
    ///   Fields, sizes and numbers of children are then compared as they are stored.
    /// - A warning: the data contains no collection of the model, so nothing else could be compared.
    ///
    /// Docward does not report databases without any collection of the model. Overflow pages, archives and old versions
    /// may be missing.
    ///
    /// ## Why it matters
    /// A comparison without common collections finds nothing. An undeclared collection has no size, index or
    /// lifecycle in the design.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_shop.t_basket
    /// model
    /// name: shop
    /// entities:
    ///   order:
    ///     fields: {orderNo: string}
    /// ...
    /// x20 {"total": 1}
    /// ```
    /// ```jsonl,clean,ns=db_shop.t_order
    /// model
    /// name: shop
    /// entities:
    ///   order:
    ///     fields: {orderNo: string}
    /// ...
    /// x20 {"orderNo": "A-1"}
    /// ```
    ///
    /// ## How to fix
    /// Check the source (`--db`), the profile (`--profile neutral` has no prefixes), and the collection name of
    /// an entity (`collection:` in the model). Declare the other collections.
    ///
    /// ## When to ignore it
    /// The source holds a part of the data on purpose.
    R034, "collections-of-model",
    level: Recommended,
    area: Hygiene,
    severities: [Warn, Info],
    clauses: ["DP-2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Names, Design],
    thresholds: [],
    data: ["embeds", "missing", "refers", "undeclared"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(declared) = declared::of(cx) else { return };
    let plans = &declared.design.collections;
    let stored: Vec<_> = evidence
        .collections
        .iter()
        .filter(|c| {
            matches!(
                c.kind,
                CollectionKind::Plain | CollectionKind::TimeSeries | CollectionKind::Capped
            )
        })
        .filter(|c| !["admin", "local", "config"].contains(&c.namespace.database.as_str()))
        .collect();
    if stored.is_empty() || plans.is_empty() {
        return;
    }
    let is_stored = |name: &str| stored.iter().any(|c| c.namespace.collection == name);
    // An entity that may become part of other documents is not reported as missing.
    let open = |entity: &str| {
        let mut decisions = declared.design.decisions.iter();
        decisions.any(|decision| decision.child == entity && decision.choice.is_none())
    };
    let always = plans.iter().filter(|plan| {
        !matches!(plan.purpose, Purpose::Overflow(_) | Purpose::Archive | Purpose::Versions)
            && !open(&plan.entity)
    });
    let missing: Vec<&str> =
        always.map(|plan| plan.name.as_str()).filter(|name| !is_stored(name)).collect();
    let known = |name: &str| plans.iter().any(|plan| plan.name == name);
    let none = !plans.iter().any(|plan| is_stored(&plan.name));
    // Databases without collections of the model belong to other applications.
    let of_model = |database: &str| {
        stored.iter().any(|c| c.namespace.database == database && known(&c.namespace.collection))
    };
    let other: Vec<&str> = stored
        .iter()
        .filter(|c| none || of_model(&c.namespace.database))
        // A dump contains the server's bucket collection of a time series; models do not declare it.
        .filter(|c| c.kind != CollectionKind::TimeSeries || c.profile.is_some())
        .map(|c| c.namespace.collection.as_str())
        .filter(|name| !known(name))
        .collect();
    // The model already lists open relationships.
    let is_embedded = |name: &&String| declared.decision(name).is_some_and(|d| d.choice.is_some());
    let refers: Vec<&String> = declared.refers.keys().filter(is_embedded).collect();
    let embeds: Vec<&String> = declared.embeds.keys().collect();
    if missing.is_empty() && other.is_empty() && refers.is_empty() && embeds.is_empty() {
        return;
    }
    let mut said = Vec::new();
    let mut still = |does: &str, what: Vec<String>| {
        if what.is_empty() {
            return;
        }
        let shown = what.iter().take(5).cloned().collect::<Vec<_>>().join("; ");
        let more = what.len().saturating_sub(5);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        said.push(format!("the data still {does}: {shown}{more}"));
    };
    let referring = refers.iter().map(|name| {
        let collection = &declared.refers[*name];
        match declared.moving(name) {
            Some(_) => format!("`{name}` is embedded, but `{collection}` also exists"),
            None => format!("`{name}` is embedded in the model, but stored in `{collection}`"),
        }
    });
    still("refers", referring.collect());
    let embedding = embeds.iter().map(|name| {
        let collection = &declared.embeds[*name];
        match declared.moving(name) {
            Some(_) => format!("`{name}` is a reference, but `{collection}` also embeds children"),
            None => format!("`{name}` is a reference in the model, but embedded in `{collection}`"),
        }
    });
    still("embeds", embedding.collect());
    if none {
        said.push(format!("no collection of the model exists: {}", text::list(&missing, 5)));
    } else if !missing.is_empty() {
        let many = text::plural(missing.len() as u64, "collection");
        said.push(format!("{many} of the model missing in the data: {}", text::list(&missing, 5)));
    }
    if !other.is_empty() {
        let many = text::plural(other.len() as u64, "collection");
        said.push(format!("{many} in the data but not in the model: {}", text::list(&other, 5)));
    }
    let todo = if none {
        "use the right source, database (--db) or profile (--profile neutral adds no prefixes), or set `collection:` of the entities"
    } else if missing.is_empty() && other.is_empty() {
        "move the documents when the model is final; until then, Docward compares them as they are stored"
    } else {
        "declare the existing collections; `collection:` of an entity sets the collection's name"
    };
    cx.report(
        Draft::new(
            Subject::Deployment,
            said.join("; "),
            match missing.is_empty() && other.is_empty() {
                true => "until the data is stored as in the model, the model's costs of reads and writes do not apply",
                false => "a comparison is possible only for collections that are in both the data and the model",
            },
            todo,
            Seen::all(stored.len() as u64, Unit::Collections),
        )
        .severity(if none { Severity::Warn } else { Severity::Info })
        .data("missing", missing.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>())
        .data("refers", refers.into_iter().cloned().collect::<Vec<String>>())
        .data("embeds", embeds.into_iter().cloned().collect::<Vec<String>>())
        .data("undeclared", other.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>()),
    );
}

#[cfg(test)]
mod tests {
    use docward_model::Severity;

    use crate::testing::check;

    const MODEL: &str = "model\nname: shop\nentities:\n  order: {fields: {no: int}}\n  user: {fields: {name: string}}\n...\n";

    /// Lines are embedded in their order.
    const EMBEDDED: &str = "model\nname: shop\nentities:\n  \
         order: {fields: {no: string}, lifecycle: {growth: 1/s, kept: forever}}\n  \
         item: {collection: lines, fields: {sku: string}, lifecycle: {growth: 3/s, kept: forever}}\n\
         relationships:\n  order.items: {child: item, children: {p99: 5, max: 10}, growth: bounded}\n\
         reads:\n  page: {rate: 9/s, from: order, where: [no], with: [order.items]}\n\
         writes:\n  place: {rate: 1/s, insert: [order, item]}\n...\n";

    fn said(documents: &str) -> Vec<(Severity, String)> {
        let found = check("R034", &format!("{MODEL}{documents}"));
        found.into_iter().map(|f| (f.severity, f.what)).collect()
    }

    #[test]
    fn dp_2_data_of_something_else_is_a_warning() {
        let found = said("@ db_blog.t_post\nx3 {\"title\": \"a\"}");
        assert_eq!(
            found,
            [(
                Severity::Warn,
                "no collection of the model exists: `t_order` and `t_user`; 1 collection in the data but not in the model: `t_post`".to_owned()
            )]
        );
    }

    #[test]
    fn dp_2_a_part_is_a_note() {
        let found = said("@ db_shop.t_order\nx3 {\"no\": 1}\n@ db_shop.t_basket\nx3 {\"no\": 1}");
        assert_eq!(
            found,
            [(
                Severity::Info,
                "1 collection of the model missing in the data: `t_user`; 1 collection in the data but not in the model: `t_basket`".to_owned()
            )]
        );
    }

    #[test]
    fn dp_2_data_that_still_refers_is_said_to() {
        let model = EMBEDDED;
        let orders = "@ db_shop.t_order\nx3 {\"no\": \"1\"}\n";
        let said = |model: &str, items: &str| {
            let found = check("R034", &format!("{model}{orders}@ db_shop.lines\nx3 {items}"));
            found.into_iter().map(|f| (f.severity, f.what)).collect::<Vec<_>>()
        };
        let refers = "{\"sku\": \"1\", \"orderId\": ObjectId(\"$oid\")}";
        assert_eq!(
            said(model, refers),
            [(
                Severity::Info,
                "the data still refers: `order.items` is embedded in the model, but stored in `lines`"
                    .to_owned()
            )]
        );
        let open = model.replace(", growth: bounded", "");
        assert_eq!(said(&open, refers), []);
        // Without an id of the other entity, it is a different collection of the same name.
        assert_eq!(
            said(model, "{\"sku\": \"1\"}"),
            [(Severity::Info, "1 collection in the data but not in the model: `lines`".to_owned())]
        );
        // Stored fields and their types are compared.
        let other = "{\"sku\": 1, \"orderId\": ObjectId(\"$oid\"), \"more\": 2}";
        for model in [model, &open] {
            let found = check("R030", &format!("{model}{orders}@ db_shop.lines\nx30 {other}"));
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(
                found[0].what,
                "`lines` has 1 field that the model of `item` does not declare: `more (100 %)`, and has 1 field of another type: `sku (int, declared as string)`"
            );
        }
        let large = "{\"sku\": \"$pad(2000)\", \"orderId\": ObjectId(\"$oid\")}";
        let found = check("R032", &format!("{model}{orders}@ db_shop.lines\nx30 {large}"));
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn dp_2_dm_07_3_children_on_their_way_into_their_parents_are_compared_in_both_places() {
        let model = EMBEDDED;
        let stored = |inside: &str, beside: &str| {
            let mut text = format!("{model}@ db_shop.t_order\n");
            for order in 0..40 {
                let items =
                    if order < 15 { format!(", \"items\": {inside}") } else { String::new() };
                text.push_str(&format!("{{\"_id\": {order}, \"no\": \"A\"{items}}}\n"));
            }
            text.push_str("@ db_shop.lines\n");
            for item in 0..75 {
                let order = 15 + item / 3;
                text.push_str(&format!("{{\"_id\": {item}, \"orderId\": {order}, {beside}}}\n"));
            }
            text
        };
        let said = |rule: &str, text: &str| {
            check(rule, text).into_iter().map(|f| f.what).collect::<Vec<_>>()
        };
        let good = stored("$array(3, {\"sku\": \"B\"})", "\"sku\": \"B\"");
        assert_eq!(
            said("R034", &good),
            ["the data still refers: `order.items` is embedded, but `lines` also exists"]
        );
        for rule in ["R030", "R031", "R032"] {
            assert_eq!(said(rule, &good), Vec::<String>::new(), "{rule}");
        }
        let odd = stored("$array(60, {\"sku\": \"B\", \"gift\": 1})", "\"sku\": 1");
        assert_eq!(
            said("R030", &odd),
            [
                "`lines` has 1 field of another type: `sku (int, declared as string)`",
                "`t_order` has 1 field that the model of `order` does not declare: `items[].gift (100 %)`"
            ]
        );
        assert_eq!(
            said("R031", &odd),
            [
                "`order.items` has 60 children per parent at p99 and 60 at most; the model declares 5 and 10"
            ]
        );
    }

    /// Items are mostly read alone, so they have a collection.
    const APART: &str = "model\nname: shop\nentities:\n  \
         order: {fields: {no: string}, lifecycle: {growth: 1/s, kept: forever}}\n  \
         item: {collection: lines, fields: {sku: string}, lifecycle: {growth: 3/s, kept: forever}}\n\
         relationships:\n  order.items: {child: item, children: {p99: 5, max: 10}, growth: bounded}\n\
         reads:\n  page: {rate: 1/s, from: order, where: [no]}\n  \
         items: {rate: 9/s, from: item, where: [sku], limit: 3}\n\
         writes:\n  place: {rate: 1/s, insert: [order, item]}\n...\n";

    #[test]
    fn dp_2_dm_07_3_data_that_still_embeds_is_said_to_and_compared_as_it_is() {
        let said = |rule: &str, orders: &str, items: &str| {
            let text = format!("{APART}@ db_shop.t_order\n{orders}\n{items}");
            check(rule, &text).into_iter().map(|f| f.what).collect::<Vec<_>>()
        };
        let nothing = Vec::<String>::new();
        let inside = |items: &str| format!("x30 {{\"no\": \"A\", \"items\": {items}}}");
        let good = inside("$array(3, {\"sku\": \"B\"})");
        assert_eq!(
            said("R034", &good, ""),
            [
                "the data still embeds: `order.items` is a reference in the model, but embedded in `t_order`"
            ]
        );
        for rule in ["R030", "R031", "R032"] {
            assert_eq!(said(rule, &good, ""), nothing, "{rule}");
        }
        let odd = inside("$array(60, {\"sku\": 1, \"gift\": 1})");
        assert_eq!(
            said("R031", &odd, ""),
            [
                "`order.items` has 60 children per parent at p99 and 60 at most (the data is still embedded); the model declares 5 and 10"
            ]
        );
        assert_eq!(
            said("R030", &odd, ""),
            [
                "`t_order` has 1 field that the model of `order` does not declare: `items[].gift (100 %)`, and has 1 field of another type: `items[].sku (int, declared as string)`"
            ]
        );
        // In migration: some parents contain their items, those of others are documents.
        let half = format!("x15 {{\"no\": \"A\"}}\n{}", good.replace("x30", "x15"));
        let beside = "@ db_shop.lines\nx45 {\"sku\": \"B\", \"orderId\": ObjectId(\"$oid\")}";
        assert_eq!(
            said("R034", &half, beside),
            [
                "the data still embeds: `order.items` is a reference, but `t_order` also embeds children"
            ]
        );
        for rule in ["R030", "R031", "R032"] {
            assert_eq!(said(rule, &half, beside), nothing, "{rule}");
        }
        let half = format!("x15 {{\"no\": \"A\"}}\n{}", odd.replace("x30", "x15"));
        assert_eq!(said("R031", &half, beside).len(), 1);
        assert_eq!(said("R030", &half, beside).len(), 1);
        // A field with the same name and no fields of the child is an undeclared field.
        let other = inside("$array(3, {\"colour\": \"B\"})");
        assert_eq!(
            said("R034", &other, ""),
            ["1 collection of the model missing in the data: `lines`"]
        );
        assert_eq!(said("R030", &other, "").len(), 1);
    }

    #[test]
    fn dp_2_all_of_it_is_fine() {
        assert!(
            said("@ db_shop.t_order\nx3 {\"no\": 1}\n@ db_shop.t_user\nx3 {\"name\": \"a\"}")
                .is_empty()
        );
        assert!(check("R034", "@ db_shop.t_order\nx3 {\"no\": 1}").is_empty());
    }
}
