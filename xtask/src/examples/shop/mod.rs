//! The faulty shop: each collection has the problems of one story of the rule book and is otherwise
//! clean, so that tests can require exactly the expected findings.

mod arrays;
mod catalogue;
mod control;
mod devices;
mod naming;
mod relations;
mod samples;
mod sharding;
mod social;
mod types;

use super::dump::{Case, Dump};

pub(super) const SHOP: &str = "db_shop";

/// The dump of the faulty shop.
pub(super) fn dump() -> Dump {
    let mut collections = Vec::new();
    collections.extend(control::collections());
    collections.extend(naming::collections());
    collections.extend(arrays::collections());
    collections.extend(types::collections());
    collections.extend(relations::collections());
    collections.extend(catalogue::collections());
    collections.extend(sharding::collections());
    collections.extend(devices::collections());
    collections.extend(social::collections());
    collections.extend(samples::collections());
    let database = |story, namespace: &str, rules: &[&'static str], wrong| Case {
        story,
        namespace: namespace.to_owned(),
        uri: None,
        rules: rules.to_vec(),
        wrong,
    };
    Dump {
        name: "shop",
        collections,
        cases: vec![
            database("ST-02", "UserCenter", &["N002"], "the database has capitals and no prefix"),
            Case {
                uri: Some(
                    "mongodb://app@app.example.com/usercenter?authSource=admin&maxPoolSize=100&minPoolSize=10",
                ),
                ..database(
                    "ST-02",
                    "UserCenter",
                    &["N002", "N005"],
                    "a service connects to `usercenter`, which is another name",
                )
            },
            database(
                "ST-12",
                devices::TELEMETRY,
                &["L002", "R012"],
                "one collection per device, more than a hundred in one database",
            ),
            database(
                "DM-02.2",
                "db-payment",
                &["N002", "N003"],
                "the database name has a hyphen and no prefix",
            ),
        ],
        extras: vec![("docward.toml", CONFIG.to_owned())],
    }
}

/// The configuration of this shop.
const CONFIG: &str = r#"# The names of this shop follow a house style: db_ and t_.
profile = "vendor"

# What data alone cannot tell about this shop.

# Keys four collections are to be sharded by. The first three are bad choices, the fourth is good.
[[collections.shard-keys]]
namespace = "db_shop.t_subscription"
key = { status = 1 }

[[collections.shard-keys]]
namespace = "db_shop.t_visitor"
key = { country = 1 }

[[collections.shard-keys]]
namespace = "db_shop.t_delivery"
key = { createTime = 1 }

[[collections.shard-keys]]
namespace = "db_shop.t_order"
key = { customerId = 1, createTime = 1 }

# A copy that must follow its source. Those of t_order_notice are snapshots and stay as they were.
[[collections.mirrors]]
match = "db_shop.t_shipment"
path = "customerName"
"#;
