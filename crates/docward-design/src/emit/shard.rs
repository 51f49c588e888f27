//! Shard keys and zones as a script (SK-9 to SK-11). It follows the documentation of `mongos` and
//! was not run on a cluster. On any other deployment it prints a message and does nothing.

use bson::{Bson, Document};
use docward_model::shell::{key, quote};

use crate::emit::js;
use crate::layout::collection::CollectionPlan;
use crate::layout::plan::Design;
use crate::layout::shard::stays_small;
use crate::layout::shard_key::{ShardPlan, is_warning};

use super::{database, heading};

pub(super) fn script(design: &Design) -> String {
    let mut text = heading(
        "Shards the collections, and assigns zones to shards (SK-11). It has no effect on a \
         deployment that is not sharded. To use another database, set `database` first.",
    );
    text.push_str(&database(design));
    let sharded: Vec<(&CollectionPlan, &ShardPlan)> = design
        .collections
        .iter()
        .filter_map(|collection| Some((collection, collection.shard.as_ref()?)))
        .collect();
    if sharded.is_empty() {
        text.push_str("\nprint(\"the design is for one shard: nothing to do\");\n");
        return text;
    }
    let zones: Vec<&String> = sharded
        .iter()
        .map(|(_, plan)| &plan.zones)
        .find(|zones| !zones.is_empty())
        .into_iter()
        .flatten()
        .collect();
    if !zones.is_empty() {
        text.push_str("\n// Names of the shards of each zone, as `sh.status()` shows them. Fill them in, or set `shardsOf` before you load this file.\n");
        let list: Vec<String> = zones.iter().map(|zone| format!("{}: []", key(zone))).collect();
        text.push_str(&format!(
            "var shardsOf = typeof shardsOf === \"object\" ? shardsOf : {{ {} }};\n",
            list.join(", ")
        ));
    }
    text.push_str("\nfunction shardAll() {\n");
    text.push_str(
        "  if (db.hello().msg !== \"isdbgrid\") {\n    print(\"this is not a sharded \
     cluster: nothing was done\");\n    return;\n  }\n",
    );
    if !zones.is_empty() {
        text.push_str("  for (const [zone, shards] of Object.entries(shardsOf)) {\n    if (shards.length === 0) throw new Error(`no shard is named for the zone ${zone}: fill in shardsOf`);\n    for (const shard of shards) sh.addShardToZone(shard, zone);\n  }\n");
    }
    text.push_str("  sh.enableSharding(database);\n");
    for (collection, plan) in sharded {
        text.push('\n');
        text.push_str(&one(collection, plan));
    }
    let small: Vec<&str> = design
        .collections
        .iter()
        .filter(|collection| collection.shard.is_none() && stays_small(collection))
        .map(|collection| collection.name.as_str())
        .collect();
    if !small.is_empty() {
        let why = format!(
            "Not sharded, because all documents fit in one chunk for years: {}.",
            docward_model::text::list(&small, small.len())
        );
        let lines = heading(&why);
        text.push('\n');
        text.extend(lines.lines().map(|line| format!("  {line}\n")));
    }
    text.push_str("}\n\nshardAll();\n");
    text
}

fn one(collection: &CollectionPlan, plan: &ShardPlan) -> String {
    let mut text = String::new();
    let space = |lines: String| lines.lines().map(|line| format!("  {line}\n")).collect::<String>();
    for (clause, holds, why) in &plan.key.checks {
        let mark = match holds {
            Some(true) => "holds",
            Some(false) if is_warning(clause) => "warning",
            Some(false) => "FAILS",
            None => "open",
        };
        text.push_str(&space(heading(&format!("{clause} {mark}: {why}"))));
    }
    for lookup in &plan.lookups {
        text.push_str(&space(heading(&format!(
            "`{}` keeps the values of `{}` unique, because this key prevents a unique index.",
            lookup.collection, lookup.field
        ))));
    }
    let keys: Document = plan
        .key
        .fields
        .iter()
        .map(|(name, hashed)| {
            (name.clone(), if *hashed { Bson::from("hashed") } else { Bson::Int32(1) })
        })
        .collect();
    let namespace = format!("`${{database}}.{}`", escaped(&collection.name));
    let call = format!("sh.shardCollection({namespace}, {});", js::object(&keys, 2));
    if !plan.key.is_possible() {
        text.push_str(&space(heading(
            "Left out, because the two conflict: drop the unique index, or shard by a prefix of it.",
        )));
        text.push_str(&space(call.lines().map(|line| format!("// {line}\n")).collect()));
        return text;
    }
    text.push_str(&format!("  {call}\n"));
    for zone in &plan.zones {
        // The zone ranges from the lowest to the highest key that begins with the zone's value.
        let bound = |end: Bson| {
            let mut made = Document::new();
            for (i, (name, _)) in plan.key.fields.iter().enumerate() {
                made.insert(name, if i == 0 { Bson::from(zone.as_str()) } else { end.clone() });
            }
            made
        };
        let parts = vec![
            namespace.clone(),
            js::object(&bound(Bson::MinKey), 4),
            js::object(&bound(Bson::MaxKey), 4),
            quote(zone),
        ];
        text.push_str(&format!("  {}\n", js::enclosed("sh.updateZoneKeyRange(", parts, ");", 2)));
    }
    text
}

/// Escapes a name for a template literal.
fn escaped(name: &str) -> String {
    name.replace('\\', "\\\\").replace('`', "\\`").replace("${", "\\${")
}
