//! Tests what parents store about their children: nothing that is incomplete, too short, or without
//! a function that updates it.

use docward_design::{Choice, Pattern, StorageAlternative, Verdict, Vote};

use crate::common::{Case, WRITTEN, of, pair};

const ENDLESS: &str = "children: {p50: 500, p95: 900, p99: 1900, max: 12000}, growth: endless";

fn computed(case: &Case, name: &str) -> Option<(bool, Vec<String>)> {
    case.patterns(name).iter().find_map(|pattern| match pattern {
        Pattern::Computed { counts, sums } => Some((*counts, sums.clone())),
        _ => None,
    })
}

fn names<'c>(case: &'c Case, collection: &str, path: &str) -> Vec<&'c str> {
    case.field(collection, path).fields.iter().map(|field| field.name.as_str()).collect()
}

/// Returns a model of wards that show the newest of two kinds of notes.
fn kinds(shown: &str) -> Case {
    of(&format!(
        "entities:
  ward: {{count: 1k, lifecycle: {{growth: 10/year, kept: forever}}, fields: {{title: string}}}}
  note: {{count: 900k, lifecycle: {{growth: 100k/year, kept: forever}}, variants: {{vitals: {{pulse: int, by: string}}, letter: {{text: {{type: string, bytes: 500}}, by: string}}}}, fields: {{createTime: date, seen: bool}}}}
relationships:
  ward.notes: {{child: note, children: {{p50: 10, p95: 400, p99: 9000, max: 40k}}, growth: endless}}
reads:
  page: {{from: ward, where: [_id], with: {{ward.notes: {{newest: 5, by: createTime{shown}}}}}, rate: 300/s}}
writes:
  come: {{insert: note, rate: 1/min}}
  open: {{insert: ward, rate: 1/h}}
"
    ))
}

#[test]
fn pt_subset_1_pt_poly_1_a_preview_shows_fields_of_kinds_and_which_kind_it_is() {
    let all = kinds("");
    assert_eq!(
        names(&all, "ward", "recentNotes"),
        ["noteId", "type", "createTime", "seen", "pulse", "by", "text"]
    );
    // A page may show a field of one kind. The preview then includes the kind, to tell which notes
    // lack the field.
    let some = kinds(", fields: [createTime, pulse]");
    assert_eq!(names(&some, "ward", "recentNotes"), ["noteId", "type", "createTime", "pulse"]);
    assert_eq!(some.check("CK-9").0, Some(true));
    let common = kinds(", fields: [seen]");
    assert_eq!(names(&common, "ward", "recentNotes"), ["noteId", "createTime", "seen"]);
}

#[test]
fn pt_subset_1_pt_poly_1_elements_of_each_kind_are_taken() {
    let case = kinds("");
    let ward = case.collection("ward");
    let validator = docward_design::validator::validator(&case.model, ward).unwrap();
    let schema = validator.get_document("$jsonSchema").unwrap();
    let schema = docward_schema::Schema::compile(&schema.to_vec().unwrap()).unwrap();
    let sample = docward_design::example::example(&case.model, ward);
    let takes = |document: &bson::Document| schema.accepts(&document.to_vec().unwrap()).unwrap();
    assert!(takes(&sample), "{sample}");
    let mut letter = sample.get_array("recentNotes").unwrap()[0].as_document().unwrap().clone();
    assert!(!letter.contains_key("text"), "the first kind has no text: {letter}");
    letter.remove("pulse");
    letter.extend(bson::doc! { "type": "letter", "text": "a", "by": "b" });
    let mut other = sample.clone();
    other.insert("recentNotes", vec![letter.clone()]);
    assert!(takes(&other), "{other}");
    letter.insert("type", "vitals");
    other.insert("recentNotes", vec![letter]);
    assert!(!takes(&other), "{other}");
}

/// Returns a model of polls with a list of options whose votes are separate documents.
fn polls(options: &str, more: &str) -> Case {
    of(&format!(
        "entities:
  poll: {{count: 5M, lifecycle: {{growth: 2M/year, kept: forever}}, fields: {{question: string}}}}
  option: {{lifecycle: {{growth: 8M/year, kept: forever}}, fields: {{text: string}}}}
  vote: {{count: 3B, lifecycle: {{growth: 2B/year, kept: forever}}, fields: {{createTime: date, weight: int}}}}
relationships:
  poll.options: {{child: option, children: {options}, growth: bounded}}
  option.votes: {{child: vote, children: {{p50: 8, p95: 300, p99: 9k, max: 30M}}, growth: endless}}
reads:
  poll: {{from: poll, where: [_id], with: [poll.options], count: [option.votes]{more}, rate: 5000/s}}
writes:
  vote: {{insert: vote, rate: 30/s}}
  create: {{insert: [poll, option], rate: 4/min}}
"
    ))
}

#[test]
fn pt_computed_1_ck_11_nothing_is_kept_that_no_function_writes() {
    // Some options are on overflow pages.
    let listed = polls("{p50: 4, p95: 6, p99: 10, max: 5k}", "");
    assert_eq!(listed.decision("poll.options").choice, Some(Choice::Embed));
    assert_eq!(computed(&listed, "option.votes"), None);
    assert!(listed.find("poll", "options.voteCount").is_none());
    let remarks = &listed.decision("option.votes").remarks;
    assert!(remarks.iter().any(|said| said.ends_with("(PT-computed.1)")), "{remarks:?}");
    assert_eq!(listed.check("CK-11"), (Some(false), "counted at every read: `poll`"));
    // An embedded object has a fixed path.
    let one = polls("1", ", sum: {option.votes: weight}");
    assert_eq!(one.decision("poll.options").choice, Some(Choice::Embed));
    assert_eq!(computed(&one, "option.votes"), Some((true, vec!["weight".to_owned()])));
    assert_eq!(one.check("CK-11").0, Some(true));
}

#[test]
fn pt_computed_2_a_rough_count_is_no_sum() {
    let case = |reads: &[&str]| {
        let writes = [WRITTEN[0], "insert: [child], rate: 1000/s"];
        of(&pair(ENDLESS, reads, &writes))
    };
    let both = "from: parent, where: [_id], count: [parent.children], sum: {parent.children: amount}, may-be-stale: true, rate: 90/s";
    let sum = "from: parent, where: [_id], sum: {parent.children: amount}, may-be-stale: true, rate: 90/s";
    let count =
        "from: parent, where: [_id], count: [parent.children], may-be-stale: true, rate: 9/s";
    for reads in [&[both][..], &[sum]] {
        let summed = case(reads);
        assert_eq!(summed.named("parent.children"), ["parent-id-in-child"]);
        assert_eq!(summed.check("CK-9"), (Some(false), "more than one document: `op0`"));
        assert_eq!(summed.check("CK-11").0, Some(false));
        let remarks = &summed.decision("parent.children").remarks;
        assert!(remarks.iter().any(|said| said.ends_with("(PT-computed.2)")), "{remarks:?}");
    }
    // Counts can be approximate, but sums still read the children.
    let counted = case(&[sum, count]);
    assert_eq!(counted.named("parent.children"), ["parent-id-in-child", "approximation"]);
    assert_eq!(counted.check("CK-11"), (Some(false), "summed at every read: `op0`"));
    let alone = case(&[count]);
    assert_eq!(alone.named("parent.children"), ["parent-id-in-child", "approximation"]);
    assert_eq!(alone.check("CK-11").0, Some(true));
}

#[test]
fn pt_subset_2_pt_hybrid_1_the_update_of_a_preview_counts_along() {
    let read = "from: parent, where: [_id], with: {parent.children: {newest: 5, by: createTime, fields: [a]}}, count: [parent.children], rate: 300/s";
    let summing = read.replace("count:", "sum: {parent.children: amount}, count:");
    let insert = "insert: [child], rate: 40/s";
    let hybrid = of(&pair(ENDLESS, &[read], &[WRITTEN[0], insert]));
    assert_eq!(hybrid.verdict("parent.children"), Verdict::Hybrid);
    assert_eq!(computed(&hybrid, "parent.children"), Some((true, Vec::new())));
    assert_eq!(hybrid.check("CK-9").0, Some(true));
    assert_eq!(hybrid.check("CK-11").0, Some(true));
    let mean = of(&pair(ENDLESS, &[&summing], &[WRITTEN[0], insert]));
    assert_eq!(computed(&mean, "parent.children"), Some((true, vec!["amount".to_owned()])));
    // A change of a summed field needs an extra write, because the preview is not written then.
    let change = "update: [child], sets: [child.amount], rate: 200/s";
    let changing = of(&pair(ENDLESS, &[&summing], &[WRITTEN[0], insert, change]));
    assert_eq!(computed(&changing, "parent.children"), Some((true, Vec::new())));
    assert_eq!(changing.check("CK-11"), (Some(false), "summed at every read: `op0`"));
    // Without a preview, a stored count must be worth its writes.
    let plain = "from: parent, where: [_id], count: [parent.children], rate: 60/s";
    let plain = of(&pair(ENDLESS, &[plain], &[WRITTEN[0], insert]));
    assert_eq!(computed(&plain, "parent.children"), None);
}

#[test]
fn pt_subset_1_no_preview_that_is_too_short_for_its_pages() {
    let page = |newest: u64| {
        format!(
            "from: parent, where: [_id], with: {{parent.children: {{newest: {newest}, by: createTime}}}}, rate: 30/s"
        )
    };
    let newest = |reads: &[&str]| {
        let case = of(&pair(ENDLESS, reads, WRITTEN));
        let shown = case.patterns("parent.children").iter().find_map(|pattern| match pattern {
            Pattern::Subset { newest, .. } => Some(*newest),
            _ => None,
        });
        (shown, case.verdict("parent.children"))
    };
    let (few, most, many) = (page(3), page(200), page(300));
    assert_eq!(newest(&[&most]), (Some(200), Verdict::Hybrid));
    assert_eq!(newest(&[&many]), (None, Verdict::Reference));
    assert_eq!(newest(&[&few, &many]), (Some(3), Verdict::Hybrid));
}

#[test]
fn dm_07_6_dm_07_7_what_is_shared_and_changes_has_one_place() {
    let lists = |marry: &str| {
        of(&format!(
            "entities:
  list: {{count: 9000, lifecycle: {{growth: 400/year, kept: forever}}, fields: {{title: string}}}}
  person: {{count: 40k, lifecycle: {{growth: 3k/year, kept: forever}}, fields: {{name: string, birth: date}}}}
relationships:
  list.candidates: {{child: person, children: {{p50: 20, p95: 60, p99: 120, max: 300}}, growth: bounded, parents: {{p50: 1, p95: 3, p99: 6, max: 14}}}}
reads:
  ballot: {{from: list, where: [_id], with: {{list.candidates: all}}, rate: 90/s}}
writes:
  prepare: {{insert: [list, person], rate: 3/h}}
  marry: {{{marry}, rate: 30/h}}
"
        ))
    };
    for marry in [
        "update: [list, person], sets: [person.name]",
        "update: [list, person]",
        "update: person",
        "update: list, delete: person",
    ] {
        let case = lists(marry);
        assert_eq!(case.verdict("list.candidates"), Verdict::Reference, "{marry}");
        assert!(case.has_collection("person"), "{marry}");
    }
    let why = lists("update: [list, person]").decision("list.candidates").ruling.clone();
    assert_eq!(why.decided_by, ["ER-M.5", "DM-07.6", "DM-07.7"]);
    assert_eq!(
        why.how,
        "vetoed: `marry` changes `person`, and its copies in several of `list` would become out of date"
    );
    // Values that never change may be duplicated.
    for marry in ["update: [list, person], sets: [list.title]", "delete: [list, person]"] {
        assert_eq!(lists(marry).verdict("list.candidates"), Verdict::Embed, "{marry}");
    }
}

/// Returns a model of songs on playlists, with remarks, embedded credits, and people in these.
fn radio(write: &str) -> Case {
    of(&format!(
        "entities:
  playlist: {{count: 100k, lifecycle: {{growth: 10k/year, kept: forever}}, fields: {{title: string}}}}
  song: {{count: 50k, lifecycle: {{growth: 5k/year, kept: forever}}, fields: {{name: string, seconds: int}}}}
  credit: {{lifecycle: {{growth: 20k/year, kept: forever}}, fields: {{role: string}}}}
  alias: {{lifecycle: {{growth: 20k/year, kept: forever}}, fields: {{name: string}}}}
relationships:
  playlist.songs: {{child: song, children: {{p50: 12, p95: 30, p99: 40, max: 45}}, growth: bounded, parents: {{p50: 20, p95: 300, p99: 2000, max: 9000}}}}
  song.credits: {{child: credit, children: {{p50: 3, p95: 6, p99: 10, max: 20}}, growth: bounded}}
  credit.aliases: {{child: alias, children: {{p50: 1, p95: 2, p99: 3, max: 5}}, growth: bounded}}
reads:
  play: {{from: playlist, where: [_id], with: [playlist.songs, song.credits, credit.aliases], rate: 100/s}}
writes:
  make: {{insert: playlist, rate: 1/min}}
  record: {{insert: [song, credit, alias], rate: 1/h}}
  write: {{{write}, rate: 5/min}}
"
    ))
}

#[test]
fn dm_07_6_dm_07_7_what_is_part_of_a_shared_child_changes_it() {
    for write in [
        "insert: credit",
        "update: credit",
        "update: credit, sets: [credit.role]",
        "delete: credit",
        "insert: alias",
        "update: [playlist, alias]",
    ] {
        let case = radio(write);
        assert_eq!(case.verdict("playlist.songs"), Verdict::Reference, "{write}");
        assert_eq!(case.verdict("song.credits"), Verdict::Embed, "{write}");
    }
    let case = radio("update: credit, sets: [credit.role]");
    assert_eq!(case.decision("playlist.songs").facts.child_only_update, Some(1.0));
    assert_eq!(case.votes("playlist.songs", "DM-07.4"), [Vote::Reference]);
    // If songs were embedded, each change would write every playlist with the song.
    let embed = case
        .decision("playlist.songs")
        .alternatives
        .iter()
        .find(|a| a.way == StorageAlternative::Embed);
    let cost = embed.unwrap().operations.iter().find(|cost| cost.name == "write").unwrap();
    assert!(cost.documents >= 20.0, "{cost:?}");
    let why = radio("update: [playlist, alias]").decision("playlist.songs").ruling.clone();
    assert_eq!(why.decided_by, ["ER-M.5", "DM-07.6", "DM-07.7"]);
    assert_eq!(
        why.how,
        "vetoed: `write` changes `alias`, which is part of `song`, and its copies in several of `playlist` would become out of date"
    );
    // These writes do not change existing songs: they insert or delete songs as a whole, or set
    // other fields.
    for write in [
        "insert: [song, credit]",
        "delete: [playlist, song, credit]",
        "update: [playlist, credit], sets: [playlist.title]",
    ] {
        assert_eq!(radio(write).verdict("playlist.songs"), Verdict::Embed, "{write}");
    }
}
