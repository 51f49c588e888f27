//! Tests the messages and positions of mistakes in model files.

use proptest::prelude::*;

use super::read;

/// A model without mistakes, into which tests insert some.
const MODEL: &str = "name: shop
entities:
  order:
    count: 3M
    lifecycle: {growth: 1M/year, kept: forever}
    fields:
      status: string
      total: {type: decimal}
  item:
    lifecycle: {growth: 0, kept: 90 days}
    fields: {quantity: int}
relationships:
  order.items:
    child: item
    children: {p50: 3, p95: 10, p99: 20, max: 80}
    growth: bounded
reads:
  page:
    from: order
    where: [status]
    with: [order.items]
    rate: 20/s
writes:
  place:
    insert: [order, item]
    rate: 3/min
";

fn said(text: &str) -> Vec<String> {
    match read("m.yaml", text) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(ToString::to_string).collect(),
    }
}

/// Checks that replacing a piece of the model causes exactly one fault.
#[track_caller]
fn fault(from: &str, to: &str, expected: &str) {
    assert!(MODEL.contains(from), "{from:?} is not in the model");
    assert_eq!(said(&MODEL.replacen(from, to, 1)), [expected]);
}

#[test]
fn the_model_itself_is_fine() {
    assert_eq!(said(MODEL), [""; 0]);
}

#[test]
fn unknown_keys_are_named_with_what_was_meant() {
    fault(
        "    count: 3M",
        "    cuont: 3M",
        "m.yaml:4:5: entity `order` has no `cuont`; did you mean `count`?",
    );
    fault("reads:", "raeds:", "m.yaml:17:1: a model has no `raeds`; did you mean `reads`?");
    fault(
        "    growth: bounded",
        "    growht: bounded",
        "m.yaml:16:5: relationship `order.items` has no `growht`; did you mean `growth`?",
    );
    fault(
        "    rate: 20/s",
        "    rate: 20/s\n    zzz: 1",
        "m.yaml:23:5: read `page` has no `zzz`; known keys: `rate`, `from`, `where`, `sort`, `limit`, `fields`, `with`, `count`, `sum`, `may-be-stale`",
    );
}

#[test]
fn a_key_that_stands_twice() {
    fault(
        "    count: 3M",
        "    count: 3M\n    count: 4M",
        "m.yaml:5:5: `count` is repeated here; it is first in line 4; remove one of them",
    );
    fault(
        "  item:\n",
        "  order:\n    fields: {a: int}\n  item:\n",
        "m.yaml:9:3: `order` is repeated here; it is first in line 3; remove one of them",
    );
}

#[test]
fn what_yaml_can_and_models_cannot() {
    let alias = "a: &x {b: 1}\nc: *x\n";
    assert_eq!(
        said(alias),
        ["m.yaml:2:4: aliases (`*name`) are not supported; write out the \
     value"]
    );
    let second = format!("{MODEL}---\nname: other\n");
    assert_eq!(
        said(&second),
        ["m.yaml:28:1: a second YAML document begins here; keep one model in a file"]
    );
    let deep = format!("name: {}{}", "[".repeat(40), "]".repeat(40));
    assert_eq!(said(&deep), ["m.yaml:1:39: more than 32 levels deep; flatten the model"]);
    assert_eq!(
        said("? [a, b]\n: c\n"),
        ["m.yaml:1:3: a name must be plain text; write `name: value`"]
    );
}

#[test]
fn what_is_no_yaml() {
    let tab = said("entities:\n\torder:\n\t\tcount: 3\n");
    assert_eq!(tab.len(), 1, "{tab:?}");
    assert!(tab[0].starts_with("m.yaml:2:"), "{tab:?}");
    assert!(tab[0].ends_with("check indentation, colons and quotes"), "{tab:?}");
    let open = said("name: \"shop\nentities: {");
    assert!(open[0].contains("this is not valid YAML"), "{open:?}");
}

#[test]
fn files_without_a_model() {
    let empty =
        "m.yaml:1:1: the file holds no model; `docward design init` writes one to start from";
    for text in ["", "\n\n", "# only a comment\n"] {
        assert_eq!(said(text), [empty], "{text:?}");
    }
    assert_eq!(
        said("name: x\n"),
        ["m.yaml:1:1: the model has no entities; list them under `entities:`"]
    );
    assert_eq!(
        said("[1, 2]"),
        ["m.yaml:1:1: a model must be a table, not a list; write `name: value` lines below it"]
    );
    let long = " ".repeat(super::MAX_BYTES + 1);
    assert_eq!(said(&long), ["m.yaml:1:1: the file is longer than 8 MB; split the model"]);
}

#[test]
fn values_of_the_wrong_kind() {
    fault(
        "count: 3M",
        "count: many",
        "m.yaml:4:12: the number of documents cannot be read from `many`; write it as `1200`, `600k` or `2M`",
    );
    fault(
        "count: 3M",
        "count: -3",
        "m.yaml:4:12: the number of documents cannot be read from `-3`; write it as `1200`, `600k` or `2M`",
    );
    fault(
        "count: 3M",
        "count: [3]",
        "m.yaml:4:12: the number of documents must be text, not a list",
    );
    fault(
        "status: string",
        "status: strnig",
        "m.yaml:7:15: unknown type `strnig`; did you mean `string`?",
    );
    fault(
        "rate: 20/s",
        "rate: 20",
        "m.yaml:22:11: the rate cannot be read from `20`; write it as `20/s`, `3/min`, `1k/h` or `5000/day`",
    );
    fault(
        "entities:\n  order:\n",
        "version: 2\nentities:\n  order:\n",
        "m.yaml:2:10: the version of the format cannot be read from `2`; write it as `1`",
    );
    fault(
        "kept: 90 days",
        "kept: 90",
        "m.yaml:10:34: how long it is kept cannot be read from `90`; write it as `forever`, `30 minutes`, `90 days` or `2 years`",
    );
}

#[test]
fn a_spread_rises() {
    fault(
        "{p50: 3, p95: 10, p99: 20, max: 80}",
        "{p50: 30, p95: 10, p99: 20, max: 80}",
        "m.yaml:15:15: `children` must increase from `p50` to `max`",
    );
    fault(
        "{p50: 3, p95: 10, p99: 20, max: 80}",
        "{p50: 3}",
        "m.yaml:15:15: `children` needs at least `p99` and `max`; write `{p50: 3, p95: 10, p99: 20, max: 80}`",
    );
    // An invalid value is reported once, and not also as missing.
    fault(
        "{p50: 3, p95: 10, p99: 20, max: 80}",
        "{p50: 3, p99: 20, max: many}",
        "m.yaml:15:38: max cannot be read from `many`; write it as `1200`, `600k` or `2M`",
    );
    fault(
        "{p50: 3, p95: 10, p99: 20, max: 80}",
        "{p50: 0.3, p99: 20, max: 80}",
        "m.yaml:15:21: `0.3` of p50 is not a whole number; if one parent in three has one, `p50` is 0",
    );
    // A missing figure gets the next higher one.
    let short = MODEL.replace("{p50: 3, p95: 10, p99: 20, max: 80}", "{p99: 20, max: 80}");
    let model = read("m.yaml", &short).unwrap();
    let spread = model.relationships[0].children.unwrap();
    assert_eq!((spread.p50, spread.p95, spread.p99, spread.max), (20, 20, 20, 80));
}

#[test]
fn names_that_do_not_exist() {
    fault(
        "child: item",
        "child: itme",
        "m.yaml:13:3: `order.items` names the entity `itme`, which is not declared; did you mean `item`?",
    );
    fault(
        "where: [status]",
        "where: [statsu]",
        "m.yaml:18:3: `page` names the field of `order` `statsu`, which is not declared; did you mean `status`?",
    );
    fault(
        "with: [order.items]",
        "with: [order.itmes]",
        "m.yaml:18:3: `page` names the relationship `order.itmes`, which is not declared; did you mean `order.items`?",
    );
    fault(
        "with: [order.items]",
        "with: {order.items: [quantiyt]}",
        "m.yaml:18:3: `page` names the field of `item` `quantiyt`, which is not declared; did you mean `quantity`?",
    );
    fault(
        "insert: [order, item]",
        "insert: [order, item, x]",
        "m.yaml:24:3: `place` names the entity `x`, which is not declared; declared: `order` and `item`",
    );
}

#[test]
fn dp_1_a_rate_of_nothing_is_told_as_such() {
    fault(
        "rate: 20/s",
        "rate: 0/s",
        "m.yaml:22:11: the rate is `0/s`, but a rate must be above zero; remove operations that never \
         happen",
    );
}

#[test]
fn lm_10_names_of_fields_are_refused_for_what_is_wrong_with_them() {
    fault(
        "total: {type: decimal}",
        "$total: {type: decimal}",
        "m.yaml:8:7: `$total` cannot name a field; names cannot begin with `$`, which is reserved \
         for the server",
    );
    fault(
        "total: {type: decimal}",
        "\"\": {type: decimal}",
        "m.yaml:8:7: a field without a name; give it one",
    );
    fault(
        "total: {type: decimal}",
        "a.b: {type: decimal}",
        "m.yaml:8:7: `a.b` cannot name a field; nest objects with `type: object` and `fields:`",
    );
}

#[test]
fn dp_1_a_role_seen_from_the_child_is_answered_with_the_names_it_has_there() {
    let text = |with: &str, more: &str| {
        format!(
            "entities:
  agent: {{lifecycle: {{growth: 0, kept: forever}}, fields: {{name: string}}}}
  ticket: {{lifecycle: {{growth: 0, kept: forever}}, fields: {{no: string}}}}
relationships:
  agent.assigned: {{child: ticket, children: {{p50: 1, p99: 2, max: 9}}, growth: bounded{with}}}
{more}reads:
  mine: {{from: ticket, where: {{assigned: equal}}, rate: 1/s}}
"
        )
    };
    let told = |text: &str| read("m.yaml", text).unwrap_err()[0].to_string();
    let of_parent =
        "`assigned` is the name of `agent.assigned` in `agent`; for reads from `ticket`, write";
    let said = told(&text(", field: assigneeId", ""));
    assert!(
        said.ends_with(&format!("{of_parent} `agent` or `assigneeId`, the id of its `agent`")),
        "{said}"
    );
    let said = told(&text("", ""));
    assert!(said.ends_with(&format!("{of_parent} `agent`, the id of its `agent`")), "{said}");
    let other = "  agent.opened: {child: ticket, children: 1, field: openerId}\n";
    let said = told(&text(", field: assigneeId", other));
    assert!(said.ends_with(&format!("{of_parent} `assigneeId`, the id of its `agent`")), "{said}");
}

#[test]
fn answers_that_are_half_given() {
    fault(
        "total: {type: decimal}",
        "total: {required: false}",
        "m.yaml:8:14: field `total` has no type; add `type:`, one of `string`, `int`, `long`, `double`, `decimal`, `bool`, `date`, `objectId`, `binData`, `object`, `array`, `timestamp`",
    );
    fault(
        "total: {type: decimal}",
        "total: {type: array}",
        "m.yaml:8:14: field `total` is an array without a declared length; add `items: {p50: 3, p99: 10, max: 50}`",
    );
}

#[test]
fn all_mistakes_are_found_at_once_in_the_order_of_the_file() {
    let text = MODEL.replace("count: 3M", "count: many").replace("rate: 3/min", "rate: often");
    let places: Vec<u32> =
        read("m.yaml", &text).unwrap_err().iter().map(|f| f.location.line).collect();
    assert_eq!(places.first(), Some(&4));
    assert!(places.len() >= 2 && places.is_sorted(), "{places:?}");
}

#[test]
fn huge_numbers_are_read_or_refused() {
    for number in ["99999999999999999999999", "9e999", "1_000_000_000_000B"] {
        let text = MODEL.replace("max: 80", &format!("max: {number}"));
        if let Ok(model) = read("m.yaml", &text) {
            let bounds = crate::Bounds::default();
            crate::design(&model, docward_model::ProfileName::Neutral, &bounds);
        }
    }
    let huge = MODEL.replace("count: 3M", "count: 99999999999999999999B");
    assert!(read("m.yaml", &huge).is_err());
}

fn survives(text: &str) {
    if let Ok(model) = read("m.yaml", text) {
        crate::design(&model, docward_model::ProfileName::Vendor, &crate::Bounds::default());
    }
}

#[test]
fn binary_garbage_and_every_beginning_of_a_model_are_survived() {
    survives("\u{0}\u{1}\u{7f}\u{fffd}\u{feff}%\u{85}");
    for end in (0..MODEL.len()).filter(|end| MODEL.is_char_boundary(*end)) {
        survives(&MODEL[..end]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn mutations_of_a_model_are_survived(
        cuts in prop::collection::vec((0..MODEL.len(), 0_usize..12, "[-{}\\[\\]:,*&!|>'\"#0-9a-z./ \n\t%é]{0,6}"), 1..4),
    ) {
        let mut text = MODEL.to_owned();
        for (at, length, put) in cuts {
            let at = at.min(text.len());
            let end = (at + length).min(text.len());
            if text.is_char_boundary(at) && text.is_char_boundary(end) {
                text.replace_range(at..end, &put);
            }
        }
        survives(&text);
    }

    #[test]
    fn any_text_is_survived(text in "\\PC{0,200}") {
        survives(&text);
    }
}

#[test]
fn dm_09_6_dm_10_1_names_and_types_that_cannot_be() {
    fault(
        "      status: string",
        "      _id: string\n      status: string",
        "m.yaml:7:7: `_id` cannot be declared; the design uses an ObjectId; declare a number or \
         code as a field with `unique: true`",
    );
    fault(
        "    fields: {quantity: int}",
        "    fields: {quantity: int}\n    variants: {a: {quantity: string}, b: {size: int}, c: {size: int}}",
        "m.yaml:12:20: `quantity` is a string here and an int in line 11; use the same type in \
         all kinds, or rename the field",
    );
    fault(
        "  item:\n",
        "  \"it\\u001bem\": {lifecycle: {growth: 0, kept: forever}}\n  item:\n",
        "m.yaml:9:3: `it\\u{1b}em` cannot name an entity; use letters, digits, `_` and `-`",
    );
    fault(
        "      status: string",
        "      \"st\\0us\": string\n      status: string",
        "m.yaml:7:7: `st\\0us` cannot name a field: it has control characters",
    );
}

#[test]
fn pt_ts_1_the_time_of_a_series_is_a_date() {
    let text = "entities:\n  reading:\n    series: {time: ts, id: sensor, rate: 1/min}\n    fields: {ts: timestamp, sensor: int}\n";
    assert_eq!(
        said(text),
        ["m.yaml:4:14: `ts` is the time of a series and a timestamp; make it a `date`"]
    );
}

#[test]
fn pt_ts_1_pt_bucket_1_every_reading_has_its_time_and_its_series() {
    let text = |ts: &str, sensor: &str| {
        said(&format!(
            "entities:\n  reading:\n    series: {{time: ts, id: sensor, rate: 1/min}}\n    fields:\n      ts: {{type: date{ts}}}\n      sensor: {{type: int{sensor}}}\n"
        ))
    };
    assert_eq!(text("", ""), [""; 0]);
    assert_eq!(
        text(", nullable: true", ""),
        [
            "m.yaml:5:7: `ts` is the time of a series and can be null; remove `nullable`, because a reading has a time"
        ]
    );
    assert_eq!(
        text(", required: false", ", nullable: true"),
        [
            "m.yaml:5:7: `ts` is the time of a series and can be missing; remove `required: false`, because a reading has a time",
            "m.yaml:6:7: `sensor` distinguishes series and can be null; remove `nullable`, and give readings without one their own value"
        ]
    );
}

#[test]
fn unique_is_said_of_fields_that_an_index_can_hold() {
    fault(
        "      status: string",
        "      place: {type: object, fields: {code: {type: string, unique: true}}}\n      status: string",
        "m.yaml:7:38: `code` is unique inside of field `place`; make it a field of the entity, \
         where an index can enforce it",
    );
}

#[test]
fn lm_10_dm_02_2_names_that_servers_refuse() {
    let entity = "entities:\n  a: {fields: {x: string}, lifecycle: {growth: 0, kept: forever}, read: never, written: never";
    let long = "x".repeat(192);
    for name in ["system.users", "a$b", ".a", &long] {
        let text = format!("{entity}, collection: \"{name}\"}}\n");
        let found = said(&text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(&format!("`{name}` cannot name a collection")), "{found:?}");
    }
    let long = "x".repeat(64);
    for name in ["a b", "c.d", "a/b", "admin", &long] {
        let found = said(&format!("database: \"{name}\"\n{entity}}}\n"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(&format!("`{name}` cannot name the database")), "{found:?}");
    }
}

#[test]
fn dp_2_what_contradicts_itself() {
    let text = "\
entities:
  a: {fields: {x: string}, lifecycle: {growth: 0, kept: forever}, read: never, written: never}
  b: {fields: {y: string}, lifecycle: {growth: 0, kept: forever}}
relationships:
  a.bs: {child: b, children: 0, growth: bounded, keep-newest: 0}
reads:
  r: {from: a, where: [x], limit: 0, rate: 1/s}
  never: {from: b, where: [z], sort: [z], rate: 0/s}
writes:
  w: {insert: [a, b], rate: 1/s}
";
    let found = said(text);
    let expected = [
        "no parent would have a child",
        "how many are kept",
        "`r` reads `a`, which says `read: never`; remove `read: never`, or the operation",
        "the limit",
        "`never` names the field of `b` `z`, which is not declared; declared: `y`",
        "the rate",
        "`w` writes `a`, which says `written: never`",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.contains(expected), "{found}: {expected}");
    }
}

#[test]
fn ck_11_what_is_counted_are_children_of_a_parent() {
    let from_child = MODEL.replace(
        "reads:\n",
        "reads:\n  tally: {from: item, where: [quantity], count: [order.items], rate: 1/s}\n",
    );
    let found = said(&from_child);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("`tally` counts or sums `order.items` from `item`"), "{}", found[0]);
    assert!(found[0].contains("read from `order`"), "{}", found[0]);
}

#[test]
fn more_entities_than_anybody_designs_are_refused() {
    let mut text = "entities:\n".to_owned();
    for n in 0..2001 {
        text += &format!("  e{n}: {{fields: {{a: int}}}}\n");
    }
    assert_eq!(
        said(&text),
        ["m.yaml:1:1: the model has more than 2000 entities; split it into several models"]
    );
}

#[test]
fn sk_11_zones_are_by_a_field_that_is_there() {
    let model = |field: &str| {
        said(&format!(
            "deployment: {{shards: 2, zones: {{field: {field}, values: [EU, US]}}}}
entities:
  user: {{fields: {{region: string}}}}
  order: {{fields: {{total: int}}}}
relationships:
  user.orders: {{child: order, field: buyer}}
"
        ))
    };
    let [only] = &model("regoin")[..] else { panic!("{:?}", model("regoin")) };
    assert!(only.contains(":1:40: zones use `regoin`, which no entity has"), "{only}");
    assert!(only.contains("did you mean `region`?"), "{only}");
    for held in ["region", "userId", "buyer"] {
        assert!(model(held).is_empty(), "{held}: {:?}", model(held));
    }
}

#[test]
fn numbers_that_cannot_be_meant_are_told() {
    let model = |count: &str, parents: &str| {
        said(&format!(
            "entities:
  a: {{count: {count}, fields: {{x: int}}}}
  b: {{fields: {{y: int}}}}
relationships:
  a.bs: {{child: b, parents: {parents}}}
"
        ))
    };
    assert_eq!(model("9B", "1").len(), 0);
    assert_eq!(model("99999999999999999999", "1").len(), 1);
    let none = model("9", "0");
    assert!(none[0].contains("no child would have a parent"), "{none:?}");
}
