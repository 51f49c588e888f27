//! Tests that the loop over the constraints ends, and that their order does not matter.

use std::fmt::Write as _;

use super::*;

const GALLERY: [&str; 7] = [
    include_str!("../../../../examples/models/bank.yaml"),
    include_str!("../../../../examples/models/blog.yaml"),
    include_str!("../../../../examples/models/catalogue.yaml"),
    include_str!("../../../../examples/models/chat.yaml"),
    include_str!("../../../../examples/models/iot.yaml"),
    include_str!("../../../../examples/models/shop.yaml"),
    include_str!("../../../../examples/models/social.yaml"),
];

/// Words that several posts share and that change with them.
const SHARED: &str = "entities:
  post: {count: 9k, lifecycle: {growth: 1k/year, kept: forever}, fields: {title: string}}
  tag: {count: 9k, lifecycle: {growth: 1k/year, kept: forever}, fields: {word: string}}
relationships:
  post.tags: {child: tag, children: {p50: 3, p99: 8, max: 20}, growth: bounded, parents: {p50: 3, p99: 20, max: 90}}
reads:
  page: {from: post, where: [_id], with: [post.tags], rate: 9/s}
writes:
  write: {insert: [post, tag], rate: 1/min}
  edit: {update: [post, tag], sets: [post.title, tag.word], rate: 1/h}
";

/// A model whose entities are each embedded in the one before.
fn deep() -> String {
    let mut text = "entities:\n".to_owned();
    for i in 0..9 {
        writeln!(text, "  e{i}: {{count: 1k, lifecycle: {{growth: 9/year, kept: forever}}, fields: {{code: int}}}}").unwrap();
    }
    text += "relationships:\n";
    for i in 1..9 {
        writeln!(text, "  e{}.r{i}: {{child: e{i}, children: 1}}", i - 1).unwrap();
    }
    text += "reads:\n";
    for i in 1..9 {
        writeln!(text, "  r{i}: {{from: e{0}, where: [_id], with: [e{0}.r{i}], rate: 2/s}}", i - 1)
            .unwrap();
    }
    text + "writes:\n  w: {insert: [e0, e1, e2, e3, e4, e5, e6, e7, e8], rate: 1/min}\n"
}

/// The number of generated models, and of orders of the list for each.
const GENERATED: u64 = 320;
const ORDERS: u64 = 4;

/// Pseudorandom numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// Returns a model of a few entangled entities: shared, large, short-lived, sorted and counted.
fn generated(seed: u64) -> String {
    let mut dice = Dice(seed.wrapping_mul(7919).wrapping_add(17));
    let entities = 3 + dice.below(7);
    let mut text =
        format!("name: generated\ndeployment: {{shards: {}}}\nentities:\n", 1 + 3 * dice.below(2));
    for i in 0..entities {
        let bytes = dice.pick(&[20, 200, 4000, 40_000]);
        let unique = dice.below(5) == 0;
        let kept = dice.pick(&["forever", "forever", "90 days", "3 years"]);
        let count = dice.pick(&["1k", "80k", "5M"]);
        let nested = match dice.below(4) {
            0 => "\n      more: {type: object, fields: {of: {type: object, fields: {it: int}}}}",
            _ => "",
        };
        write!(
            text,
            "  e{i}:
    count: {count}
    lifecycle: {{growth: 10k/year, kept: {kept}}}
    fields:
      code: {{type: string, bytes: 12, unique: {unique}}}
      text: {{type: string, bytes: {bytes}}}
      amount: int
      createTime: date{nested}
"
        )
        .unwrap();
    }
    let mut names: Vec<(String, u64, u64)> = Vec::new();
    text += "relationships:\n";
    for i in 0..entities + dice.below(entities) {
        let (parent, child) = (dice.below(entities), dice.below(entities));
        let name = format!("e{parent}.r{i}");
        let children = dice.pick(&[
            "1",
            "{p50: 3, p95: 8, p99: 20, max: 40}",
            "{p50: 30, p95: 90, p99: 300, max: 800}",
            "{p50: 3, p95: 10, p99: 30, max: 4k}",
            "{p50: 90, p99: 9000, max: 90k}",
        ]);
        let growth = if children == "1" {
            ""
        } else {
            dice.pick(&[", growth: bounded", ", growth: bounded", ", growth: 30/year"])
        };
        let shared = dice.pick(&["", "", "", ", parents: {p50: 3, p99: 20, max: 900}"]);
        let shared = if parent == child { "" } else { shared };
        writeln!(text, "  {name}: {{child: e{child}, children: {children}{growth}{shared}}}")
            .unwrap();
        names.push((name, parent, child));
    }
    text += "reads:\n";
    for (i, (name, parent, child)) in names.iter().enumerate() {
        let rate = dice.pick(&["1/min", "2/s", "90/s"]);
        match dice.below(4) {
            0 => writeln!(text, "  r{i}: {{from: e{parent}, where: [_id], with: [{name}], rate: {rate}}}"),
            1 => writeln!(text, "  r{i}: {{from: e{parent}, where: [_id], with: {{{name}: {{newest: 5, by: createTime, fields: [text]}}}}, count: [{name}], rate: {rate}}}"),
            2 => writeln!(text, "  r{i}: {{from: e{child}, where: [code], sort: {{createTime: -1}}, limit: 9, rate: {rate}}}"),
            _ => writeln!(text, "  r{i}: {{from: e{child}, where: [e{parent}], rate: {rate}}}"),
        }
        .unwrap();
    }
    for i in 0..entities {
        writeln!(text, "  by {i}: {{from: e{i}, where: [_id], rate: 1/s}}").unwrap();
    }
    text += "writes:\n";
    for i in 0..entities {
        writeln!(text, "  w{i}: {{insert: e{i}, rate: 1/min}}").unwrap();
        if dice.below(3) == 0 {
            writeln!(text, "  u{i}: {{update: e{i}, sets: [e{i}.text], rate: 1/h}}").unwrap();
        }
    }
    if let Some((_, parent, child)) = names.first().filter(|(_, p, c)| p != c && dice.below(2) == 0)
    {
        writeln!(
            text,
            "  both: {{update: e{parent}, insert: e{child}, rate: 1/min, atomic: true}}"
        )
        .unwrap();
    }
    text
}

fn models() -> Vec<DesignModel> {
    let generated: Vec<String> =
        std::iter::once(deep()).chain((0..GENERATED).map(generated)).collect();
    let texts = GALLERY.iter().copied().chain([SHARED]).chain(generated.iter().map(String::as_str));
    let models: Vec<DesignModel> =
        texts.filter_map(|text| crate::read("m.yaml", text).ok()).collect();
    assert!(models.len() > 240, "{} models can be read", models.len());
    models
}

fn resolved<'m>(
    model: &'m DesignModel,
    bounds: &'m Bounds,
    stored: &'m BTreeMap<String, Pattern>,
    constraints: &'m [resolve::Constraint],
) -> (usize, State<'m>) {
    let naming = Naming::of(model, ProfileName::Neutral);
    let mut state = State::new(model, bounds, naming, stored, constraints);
    let rounds = state.resolve(Stage::Reviewed);
    (rounds, state)
}

#[test]
fn every_round_rules_something_out_so_the_loop_ends() {
    let (bounds, stored) = (Bounds::default(), BTreeMap::new());
    let mut most = 0;
    for model in models() {
        let (rounds, state) = resolved(&model, &bounds, &stored, &CONSTRAINTS);
        // Each relationship has at most a veto, a lost summary, two shorter previews and a remark.
        assert!(rounds <= 5 * model.relationships.len(), "{rounds} rounds: {model:#?}");
        most = most.max(rounds);
        // No constraint applies any more.
        for constraint in &CONSTRAINTS {
            assert!(state.is_satisfied(constraint), "{}", constraint.name);
        }
    }
    assert!(most > 2, "the models do not tangle: {most}");
}

#[test]
fn the_order_of_the_constraints_does_not_matter() {
    let (bounds, stored) = (Bounds::default(), BTreeMap::new());
    for (number, model) in models().into_iter().enumerate() {
        let (_, state) = resolved(&model, &bounds, &stored, &CONSTRAINTS);
        let expected = state.into_draft().decisions;
        for order in 0..ORDERS {
            let mut list = CONSTRAINTS;
            let mut dice = Dice(number as u64 * ORDERS + order);
            for i in (1..list.len()).rev() {
                list.swap(i, dice.below(i as u64 + 1) as usize);
            }
            let (_, state) = resolved(&model, &bounds, &stored, &list);
            let found = state.into_draft().decisions;
            for (a, b) in expected.iter().zip(&found) {
                let names: Vec<&str> = list.iter().map(|constraint| constraint.name).collect();
                assert_eq!(a, b, "{names:?}");
            }
        }
    }
}
