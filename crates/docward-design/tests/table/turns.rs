//! Tests turns by deciding again, and sizes by encoding documents.

use docward_design::{
    Bounds, Choice, Decision, Facts, Planned, Rank, Turn, Verdict, decide, design, document_bytes,
};
use docward_model::{BsonType, ChildGrowth, DesignModel, EntityField, ProfileName};

use crate::common::{Case, GALLERY, WRITTEN, gallery, of, pair};

/// Returns the facts with the fact of a turn set to a value.
fn moved(facts: &Facts, turn: &Turn, value: f64) -> Facts {
    let mut facts = facts.clone();
    let when = turn.when.as_str();
    if when.starts_with("a parent has") {
        let (number, before) = (value as u64, facts.children.p99);
        let children = &mut facts.children;
        children.p99 = number;
        children.p50 = children.p50.min(number);
        children.p95 = children.p95.min(number);
        children.max = if number < before { number } else { children.max.max(number) };
    } else if when.starts_with("a child has") {
        let longer = facts.child_p99.saturating_sub(facts.child_bytes);
        (facts.child_bytes, facts.child_p99) = (value as u64, value as u64 + longer);
    } else if when.contains("reads that fetch both") {
        facts.co_read = Some(value);
        facts.queried_alone = facts.queried_alone.map(|alone| alone.min(1.0 - value));
    } else if when.contains("reads that need only the child") {
        facts.queried_alone = Some(value);
        facts.co_read = facts.co_read.map(|both| both.min(1.0 - value));
    } else if when.contains("updates that change only the child") {
        facts.child_only_update = Some(value);
    } else {
        panic!("{when}");
    }
    facts
}

#[test]
fn er_x_1_shares_turn_a_decision_there_and_not_a_step_before() {
    let bounds = Bounds::default();
    let mut seen = 0;
    for name in GALLERY {
        for decision in &gallery(name).design.decisions {
            for turn in &decision.turns {
                let Some(from) = turn.from.filter(|_| turn.when.contains('%')) else { continue };
                seen += 1;
                let at = |value: f64| decide(&moved(&decision.facts, turn, value), &bounds).choice;
                let what = format!("{name} {}: {}", decision.relationship, turn.when);
                assert_eq!(at(from), turn.choice, "{what}");
                let before = if turn.when.contains("or less") { from + 0.01 } else { from - 0.01 };
                assert_eq!(at(before), turn.choice.other(), "{what}, a step before");
            }
        }
    }
    assert!(seen > 3, "{seen}");
}

/// Returns a model in which the fact of a turn has a value. Returns `None` if a model cannot
/// express it.
fn written(
    model: &DesignModel,
    decision: &Decision,
    turn: &Turn,
    value: u64,
) -> Option<DesignModel> {
    let mut model = model.clone();
    let when = turn.when.as_str();
    if when.starts_with("a parent has") {
        let found = model.relationships.iter_mut().find(|r| r.name == decision.relationship)?;
        let children = found.children.as_mut()?;
        let before = children.p99;
        children.p99 = value;
        children.p50 = children.p50.min(value);
        children.p95 = children.p95.min(value);
        children.max = if value < before { value } else { children.max.max(value) };
    } else if when.starts_with("a child has") {
        let around = "padding".len() as u64 + 2 + 5;
        let bytes = value.checked_sub(decision.facts.child_bytes + around)?;
        // Large children keep their ratio to the mean.
        let times = decision.facts.child_p99 as f64 / decision.facts.child_bytes as f64;
        let large = (value as f64 * times).round() as u64;
        let large = large.checked_sub(decision.facts.child_p99 + around)?;
        let padded = |typical: u64| {
            let mut model = model.clone();
            let child = model.entities.iter_mut().find(|entity| entity.name == decision.child)?;
            let padding = EntityField {
                name: "padding".to_owned(),
                kind: BsonType::BinData,
                bytes: Some((typical, large.max(typical))),
                values: Vec::new(),
                fields: Vec::new(),
                items: None,
                element: None,
                required: true,
                nullable: false,
                unique: false,
                ..child.fields.first()?.clone()
            };
            child.fields.push(padding);
            Some(model)
        };
        // Long values raise the mean, so search for the typical size that gives the wanted mean.
        let mean = |typical: u64| {
            let made = design(&padded(typical)?, ProfileName::Neutral, &Bounds::default());
            let mut all = made.decisions.into_iter();
            all.find(|d| d.relationship == decision.relationship).map(|d| d.facts.child_bytes)
        };
        let (mut low, mut high) = (0, bytes);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if mean(middle)? <= value { low = middle } else { high = middle - 1 }
        }
        return padded(low);
    } else if when.starts_with("the number of children") {
        let found = model.relationships.iter_mut().find(|r| r.name == decision.relationship)?;
        found.growth = Some(match when.contains("unbounded") {
            true => ChildGrowth::Endless { typical: 0.0, p99: 0.0 },
            false => ChildGrowth::Bounded,
        });
    } else {
        return None;
    }
    Some(model)
}

/// Checks that each turn changes the decision in the whole model, and that one step before it does
/// not.
fn turns_hold(name: &str, case: &Case) -> usize {
    let mut seen = 0;
    for decision in &case.design.decisions {
        for turn in &decision.turns {
            let choice = |value: u64| {
                let model = written(&case.model, decision, turn, value)?;
                let made = design(&model, ProfileName::Neutral, &Bounds::default());
                made.decisions.into_iter().find(|d| d.relationship == decision.relationship)?.choice
            };
            let what = format!("{name} {}: {}", decision.relationship, turn.when);
            let from = turn.from.unwrap_or(0.0) as u64;
            // With padding of two lengths, the mean is only approximate.
            let near = if turn.when.starts_with("a child has") { from / 50 } else { 0 };
            let is_more = turn.when.contains("or more");
            let beyond = if is_more { from + near } else { from - near };
            let Some(there) = choice(beyond) else { continue };
            assert_eq!(there, turn.choice, "{what}");
            seen += 1;
            if turn.from.is_some() {
                let step = near.max(1);
                let before = if is_more { from - step } else { from + step };
                assert_eq!(choice(before), Some(turn.choice.other()), "{what}, a step before");
            }
        }
    }
    seen
}

#[test]
fn er_x_1_what_is_said_to_turn_a_decision_turns_the_model() {
    let mut seen = 0;
    for name in GALLERY {
        seen += turns_hold(name, &gallery(name));
    }
    assert!(seen > 10, "{seen}");
}

/// If the lists of a parent are too large together, the largest is referenced.
#[test]
fn er_x_1_ck_14_turns_know_of_other_lists() {
    let list = |name: &str, p99: u64, bytes: u64| {
        (
            format!(
                "  {name}: {{lifecycle: {{growth: 1/day, kept: forever}}, fields: {{text: {{type: string, bytes: {bytes}}}}}}}\n"
            ),
            format!(
                "  claim.{name}s: {{child: {name}, children: {{p50: 9, p99: {p99}, max: 999}}, growth: bounded}}\n"
            ),
        )
    };
    let mut text = String::from(
        "entities:\n  claim: {lifecycle: {growth: 1/day, kept: forever}, fields: {no: string}}\n",
    );
    let lists = [list("line", 400, 1700), list("note", 300, 1500), list("scan", 20, 20_000)];
    text += &lists.each_ref().map(|(entity, _)| entity.as_str()).concat();
    text += "relationships:\n";
    text += &lists.each_ref().map(|(_, relationship)| relationship.as_str()).concat();
    text += "reads:\n  page: {rate: 9/s, from: claim, where: [_id], with: [claim.lines, claim.notes, claim.scans]}\n";
    text += "writes:\n  file: {rate: 1/s, atomic: true, insert: [claim, line, note, scan]}\n";
    assert!(turns_hold("lists", &of(&text)) >= 6);
}

#[test]
fn er_x_1_pt_slice_1_more_than_are_kept_turn_nothing() {
    let shop = gallery("shop");
    let log = shop.decision("order.auditLog");
    assert!(!log.turns.is_empty());
    for turn in &log.turns {
        assert!(!turn.when.contains("unbounded") && !turn.when.contains("at p99"), "{}", turn.when);
    }
}

#[test]
fn er_m_5_what_lives_elsewhere_is_not_said_to_come_by_its_figures() {
    let mut text = String::from("entities:\n");
    for name in ["teacher", "pupil", "mark"] {
        text += &format!(
            "  {name}: {{lifecycle: {{growth: 1/day, kept: forever}}, fields: {{n{name}: int}}}}\n"
        );
    }
    text += "relationships:\n";
    for parent in ["teacher", "pupil"] {
        text += &format!(
            "  {parent}.marks: {{child: mark, children: {{p50: 3, p99: 9, max: 20}}, growth: bounded}}\n"
        );
    }
    text += "reads:\n  a: {rate: 9/s, from: pupil, where: [_id], with: [pupil.marks]}\n  b: {rate: 9/s, from: teacher, where: [_id], with: [teacher.marks]}\n";
    text += "writes:\n  w: {rate: 1/s, insert: [teacher, pupil, mark]}\n";
    let made = of(&text);
    let (home, other) = (made.decision("teacher.marks"), made.decision("pupil.marks"));
    assert_eq!((home.choice, other.choice), (Some(Choice::Embed), Some(Choice::Reference)));
    assert_eq!(other.ruling.how, "`mark` is stored once, in `teacher.marks`");
    assert!(other.turns.is_empty(), "{:?}", other.turns);
    assert!(other.ruling.dissent().all(|row| row.vote == docward_design::Vote::Embed));
}

/// A turn that a veto would prevent is not listed. A shared child that changes stays referenced.
#[test]
fn er_x_1_dm_07_7_what_a_veto_would_hold_back_is_not_said() {
    let related = |writes: &str, with: &str| {
        of(&format!(
            "entities:
  article: {{count: 100k, lifecycle: {{growth: 10k/year, kept: forever}}, fields: {{title: string}}}}
  story: {{count: 50k, lifecycle: {{growth: 5k/year, kept: forever}}, fields: {{line: string}}}}
relationships:
  article.related: {{child: story, children: {{p50: 3, p95: 5, p99: 8, max: 10}}, growth: bounded, parents: {{p50: 2, p95: 9, p99: 20, max: 90}}}}
reads:
  page: {{from: article, where: [_id], with: [article.related], rate: 50/s}}
  story: {{from: story, where: [_id]{with}, rate: 50/s}}
writes:
  write: {{insert: [article, story], rate: 1/min}}
{writes}"
        ))
    };
    let free = related("", "");
    assert_eq!(free.verdict("article.related"), Verdict::Hybrid);
    assert!(!free.decision("article.related").turns.is_empty(), "nothing holds it back");
    let publish = "  publish: {update: [article, story], sets: [story.line], rate: 1/min}\n";
    let held = related(publish, "");
    assert_eq!(held.verdict("article.related"), Verdict::Hybrid);
    assert_eq!(held.decision("article.related").turns, []);
    // It stays referenced even if all reads want both.
    let both = related(publish, ", with: [article.related]");
    assert_eq!(both.decision("article.related").facts.co_read, Some(1.0));
    assert_eq!(both.verdict("article.related"), Verdict::Hybrid);
    // Without writes, a read that begins with a story still needs its index (CK-12).
    let free = related("", ", with: [article.related]");
    let decision = free.decision("article.related");
    assert_eq!(decision.verdict, Verdict::Hybrid);
    assert!(decision.ruling.how.contains("CK-12 for `story`"), "{}", decision.ruling.how);
}

#[test]
fn er_t_4_gc_06_what_changes_together_is_embedded_up_to_999() {
    let reads = [
        "from: parent, where: [_id], with: [parent.children], rate: 10/s",
        "from: child, where: [a], rate: 50/s",
    ];
    let writes = [
        "insert: [parent], rate: 1/s",
        "insert: [child], update: [child], rate: 1/s",
        "insert: [child], update: [parent], atomic: true, rate: 1/s",
    ];
    let with = |p99: u64| {
        let figures =
            format!("children: {{p50: 3, p95: {p99}, p99: {p99}, max: {p99}}}, growth: bounded");
        let case = of(&pair(&figures, &reads, &writes));
        let decision = case.decision("parent.children");
        let turns: Vec<_> =
            decision.turns.iter().filter(|turn| turn.when.contains("parent")).collect();
        let when = turns.iter().map(|turn| (turn.when.clone(), turn.from)).collect::<Vec<_>>();
        (decision.choice, when)
    };
    let (choice, turns) = with(1000);
    assert_eq!(choice, Some(Choice::Reference));
    assert!(
        turns.contains(&("no parent has more than 999 children".to_owned(), Some(999.0))),
        "{turns:?}"
    );
    // With few or many children, the document is changed atomically, although most reads want
    // children alone.
    for p99 in [999, 50, 49, 3] {
        let (choice, turns) = with(p99);
        assert_eq!(choice, Some(Choice::Embed), "{p99}");
        let more = "a parent has 1,000 or more children at p99".to_owned();
        assert!(turns.contains(&(more, Some(1000.0))), "{turns:?}");
    }
}

#[test]
fn dm_08_2_one_child_has_an_end() {
    for kind in ["children: 1", "children: 1, parents: 1"] {
        let reads = ["from: parent, where: [_id], with: [parent.children], rate: 10/s"];
        let case = of(&pair(kind, &reads, WRITTEN));
        let turns = &case.decision("parent.children").turns;
        assert!(!turns.iter().any(|turn| turn.when.contains("unbounded")), "{turns:?}");
    }
}

#[test]
fn the_turn_of_a_model_is_where_the_model_turns() {
    let read = [
        "from: parent, where: [_id], with: [parent.children], rate: 6/s",
        "from: child, where: [parent], rate: 4/s",
    ];
    let with = |p99: u64| {
        let figures = format!("children: {{p50: 3, p99: {p99}, max: {p99}}}, growth: bounded");
        of(&pair(&figures, &read, WRITTEN))
    };
    let few = with(9);
    let turn = few.decision("parent.children").turns.iter().find(|t| t.when.contains("at p99"));
    let from = turn.unwrap().from.unwrap() as u64;
    assert_eq!(from, 50, "GC-06: from 50 on only what is mostly read together is embedded");
    assert_eq!(with(from - 1).decision("parent.children").choice, Some(Choice::Embed));
    assert_eq!(with(from).decision("parent.children").choice, Some(Choice::Reference));
}

/// Returns a document of the planned shape at its typical size, with the first kind.
fn built(fields: &[Planned]) -> bson::Document {
    of_kind(fields, 0)
}

fn of_kind(fields: &[Planned], kind: usize) -> bson::Document {
    let has = |field: &&Planned| field.kinds.as_ref().is_none_or(|kinds| kinds.of.contains(&kind));
    fields.iter().filter(has).map(|field| (field.name.clone(), value(field))).collect()
}

/// Returns the encoded size of a document, as the mean of its kinds.
fn encoded(fields: &[Planned]) -> u64 {
    let kinds = fields.iter().filter_map(|field| field.kinds.as_ref()).map(|kinds| kinds.all);
    let all = kinds.max().unwrap_or(1);
    let bytes = (0..all).map(|kind| of_kind(fields, kind).to_vec().unwrap().len());
    (bytes.sum::<usize>() as f64 / all as f64).round() as u64
}

fn value(field: &Planned) -> bson::Bson {
    match field.kind {
        BsonType::Object => bson::Bson::Document(built(&field.fields)),
        BsonType::Array => {
            let one = || match field.element {
                Some(kind) => scalar(kind, field.bytes.0),
                None => bson::Bson::Document(built(&field.fields)),
            };
            (0..field.items.map_or(0, |items| items.p50)).map(|_| one()).collect()
        }
        kind => scalar(kind, field.bytes.0),
    }
}

fn scalar(kind: BsonType, bytes: u64) -> bson::Bson {
    match kind {
        BsonType::String => bson::Bson::String("x".repeat(bytes as usize)),
        BsonType::BinData => bson::Bson::Binary(bson::Binary {
            subtype: bson::spec::BinarySubtype::Generic,
            bytes: vec![0; bytes as usize],
        }),
        BsonType::Int => bson::Bson::Int32(1),
        BsonType::Long => bson::Bson::Int64(1),
        BsonType::Double => bson::Bson::Double(1.0),
        BsonType::Decimal => bson::Bson::Decimal128("1.00".parse().unwrap()),
        BsonType::Bool => bson::Bson::Boolean(true),
        BsonType::Date => bson::Bson::DateTime(bson::DateTime::from_millis(0)),
        BsonType::ObjectId => bson::Bson::ObjectId(bson::oid::ObjectId::new()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn alg_2_planned_sizes_are_those_of_the_encoder() {
    let mut seen = 0;
    for name in GALLERY {
        for collection in &gallery(name).design.collections {
            let planned = document_bytes(&collection.fields, Rank::Typical);
            assert_eq!(planned, encoded(&collection.fields), "{name} {}", collection.name);
            seen += 1;
        }
    }
    assert!(seen > 20);
}
