//! Reads `deployment:`, which describes where the model will run.

use docward_model::DesignDeployment;

use crate::model_file::fault::Faults;
use crate::model_file::position::At;
use crate::model_file::table::Table;
use crate::model_file::yaml::Node;

use super::count;

/// Reads the section. Also returns the position of the zone field.
pub(super) fn read(
    node: &Node,
    into: &mut DesignDeployment,
    faults: &mut Faults<'_>,
) -> Option<At> {
    let mut table = Table::of(node, "`deployment`", faults)?;
    let mut zoned = None;
    if let Some(node) = table.get("server")
        && let Some(server) = node.read("the server's version", "`6.0`", version, faults)
    {
        into.server = server;
    }
    if let Some(node) = table.get("shards")
        && let Some(shards) = node.read("the number of shards", "`3`", whole, faults)
    {
        into.shards = shards;
    }
    let mut counted = |key: &'static str, what: &str, faults: &mut Faults<'_>| {
        table.get(key).and_then(|node| count(node, what, faults)).map(|number| number as u64)
    };
    into.connection_limit = counted("connection-limit", "the connection limit", faults);
    into.clients = counted("clients", "the number of clients", faults);
    if let Some(node) = table.get("zones")
        && let Some(mut zones) = Table::of(node, "`zones`", faults)
    {
        let named = zones.get("field");
        zoned = named.map(|node| node.at);
        let field = named.and_then(|n| n.text("the field of the zones", faults));
        let values = zones.get("values").map(|n| n.words("the values of the zones", faults));
        match (field, values) {
            (Some(field), Some(values)) if !values.is_empty() => {
                let values = values.into_iter().map(|(value, _)| value).collect();
                into.zones = Some((field.to_owned(), values));
            }
            _ => faults.push(
                node.at,
                "zones need a `field` and its `values`",
                Some("write `{field: region, values: [EU, US]}`".to_owned()),
            ),
        }
        zones.finish("`zones`", faults);
    }
    table.finish("`deployment`", faults);
    zoned
}

fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('.').map(|part| part.parse::<u32>().ok());
    let major = parts.next()??;
    let minor = parts.next().unwrap_or(Some(0))?;
    (2..100).contains(&major).then_some((major, minor))
}

fn whole(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number >= 1)
}
