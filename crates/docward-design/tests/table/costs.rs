//! Tests the cost of alternatives for a relationship (ER-X.1): documents, bytes and index entries.

use docward_design::{Alternative, OperationCost, Rank, StorageAlternative, document_bytes};

use crate::common::{Case, of};

#[track_caller]
fn way<'c>(case: &'c Case, relationship: &str, way: StorageAlternative) -> &'c Alternative {
    let all = &case.decision(relationship).alternatives;
    all.iter().find(|one| one.way == way).unwrap()
}

#[track_caller]
fn cost<'c>(alternative: &'c Alternative, name: &str) -> &'c OperationCost {
    alternative.operations.iter().find(|cost| cost.name == name).unwrap()
}

#[track_caller]
fn chosen<'c>(case: &'c Case, relationship: &str, name: &str) -> &'c OperationCost {
    cost(&case.decision(relationship).alternatives[0], name)
}

#[test]
fn er_x_1_parents_that_are_embedded_are_read_with_their_document() {
    let case = of("entities:
  course: {count: 30k, lifecycle: {growth: 6k/year, kept: forever}, fields: {slug: {type: string, bytes: 20, unique: true}}}
  module: {lifecycle: {growth: 60k/year, kept: forever}, fields: {heading: {type: string, bytes: 40}}}
  lesson: {count: 2.4M, lifecycle: {growth: 400k/year, kept: forever}, fields: {title: {type: string, bytes: 40}, html: {type: string, bytes: 3 KB}}}
relationships:
  course.modules: {child: module, children: 8, growth: bounded}
  module.lessons: {child: lesson, children: 10, growth: bounded}
reads:
  course page: {from: course, where: [slug], with: {course.modules: all, module.lessons: all}, rate: 500/s}
  lesson: {from: lesson, where: [_id], rate: 900/s}
writes:
  author: {insert: [course, module, lesson], rate: 30/h}
  rename: {update: module, sets: [module.heading], rate: 30/h}
");
    let lessons = way(&case, "module.lessons", StorageAlternative::Reference);
    let page = cost(lessons, "course page");
    assert_eq!(page.documents, 81.0);
    assert!((250_000.0..260_000.0).contains(&page.bytes), "{}", page.bytes);
    assert_eq!(cost(lessons, "author").documents, 81.0);
    // The document is the same as in the table of the relationship that embeds it.
    let renamed = chosen(&case, "course.modules", "rename");
    let bytes = cost(lessons, "rename").bytes;
    assert!((bytes / renamed.bytes - 1.0).abs() < 0.1, "{bytes} {}", renamed.bytes);
    // The course would embed all lessons.
    let embedded = cost(way(&case, "module.lessons", StorageAlternative::Embed), "course page");
    assert_eq!(embedded.documents, 1.0);
    assert!(embedded.bytes > 240_000.0, "{}", embedded.bytes);
}

#[test]
fn er_x_1_ck_12_an_order_behind_ids_is_made_of_all_of_them() {
    let case = |parents: &str, read: &str| {
        of(&format!("entities:
  event: {{count: 100k, lifecycle: {{growth: 100k/year, kept: forever}}, fields: {{endTime: date, title: string}}}}
  user: {{count: 100k, lifecycle: {{growth: 0, kept: forever}}, fields: {{name: string}}}}
relationships:
  event.guests: {{child: user, children: {{p50: 50, p95: 90, p99: 1500, max: 3000}}, growth: bounded, parents: {parents}}}
reads:
  event: {{from: event, where: [_id], rate: 5/s}}
  mine: {{from: event, where: [guests]{read}, rate: 5/s}}
  user: {{from: user, where: [_id], rate: 5/s}}
writes:
  w: {{insert: event, rate: 5/h}}
  u: {{insert: user, update: user, rate: 5/h}}
"))
    };
    let many = "{p50: 30, p95: 900, p99: 2000, max: 20k}";
    let newest = ", sort: {endTime: -1}, limit: 10";
    let sorted = case(many, newest);
    let mine = |case: &Case, way: &str| {
        let all = &case.decision("event.guests").alternatives;
        cost(all.iter().find(|one| one.name == way).unwrap(), "mine").documents
    };
    // The read needs all pairs of a user and all events to find the ten newest.
    let pairs = mine(&sorted, "junction");
    assert!(pairs > 80.0, "{pairs}");
    assert!(mine(&sorted, "parent-ids-in-child") > 40.0);
    // The index on a list in the event also contains the sort field.
    assert_eq!(mine(&sorted, "child-ids-in-parent"), 10.0);
    assert_eq!(sorted.check("CK-12").0, Some(false));
    assert!(sorted.check("CK-12").1.contains("have another order"), "{:?}", sorted.check("CK-12"));
    // Without a sort order, or sorted by id, the first ten are enough.
    for read in [", limit: 10", ", sort: {_id: -1}, limit: 10"] {
        let plain = case(many, read);
        assert_eq!(mine(&plain, "junction"), 20.0, "{read}");
        assert_eq!(plain.check("CK-12").0, Some(true), "{read}");
    }
    // A few documents can be sorted quickly.
    assert_eq!(case("{p50: 3, p95: 9, p99: 20, max: 2k}", newest).check("CK-12").0, Some(true));
}

#[test]
fn er_x_1_reads_that_do_not_say_how_many_they_find_are_named() {
    let said = |read: &str| {
        let case = of(&format!("entities:
  doctor: {{count: 1k, lifecycle: {{growth: 0, kept: forever}}, fields: {{no: {{type: string, unique: true}}, ward: string}}}}
  visit: {{count: 4M, lifecycle: {{growth: 1M/year, kept: forever}}, fields: {{at: date, room: string}}}}
relationships:
  doctor.visits: {{child: visit, children: {{p50: 4k, p99: 20k, max: 30k}}, growth: 900/year}}
reads:
  asked: {{{read}, rate: 5/s}}
  visit: {{from: visit, where: [_id], rate: 5/s}}
  doctor: {{from: doctor, where: [_id], rate: 5/s}}
writes:
  w: {{insert: [doctor, visit], rate: 5/h}}
"));
        let of = |entity: &str| case.advice(entity).remarks.join(" ");
        format!("{} {}", of("doctor"), of("visit")).contains("`asked` has no `limit`")
    };
    for read in ["from: doctor, where: [ward]", "from: visit, where: {doctor: equal, at: range}"] {
        assert!(said(read), "{read}");
        assert!(!said(&format!("{read}, limit: 20")), "{read}");
    }
    assert!(!said("from: doctor, where: [no]"));
    // A read of one parent's children finds as many as the parent has.
    assert!(!said("from: visit, where: [doctor]"));
}

#[test]
fn er_x_1_an_update_in_a_tree_is_one_document() {
    let case = of("entities:
  emp: {count: 400k, lifecycle: {growth: 10k/year, kept: forever}, fields: {no: {type: string, bytes: 9, unique: true}, salary: decimal}}
relationships:
  emp.reports: {child: emp, children: {p50: 0, p95: 8, p99: 20, max: 120}, growth: bounded}
reads:
  r: {from: emp, where: [no], with: {emp.reports: [no]}, rate: 300/s}
writes:
  raise: {update: emp, sets: [emp.salary], rate: 20/s}
  hire: {insert: emp, rate: 1/s}
");
    for way in &case.decision("emp.reports").alternatives {
        assert_eq!(cost(way, "raise").documents, 1.0, "{:?}", way.way);
    }
    assert_eq!(chosen(&case, "emp.reports", "hire").documents, 1.0);
}

#[test]
fn er_x_1_a_write_that_inserts_or_updates_has_index_entries_of_half() {
    let text = |writes: &str| {
        format!(
            "entities:
  item: {{count: 1k, lifecycle: {{growth: 10/year, kept: forever}}, fields: {{code: {{type: string, bytes: 8, unique: true}}}}}}
  offer: {{count: 900k, lifecycle: {{growth: 100k/year, kept: forever}}, fields: {{price: decimal, left: int, createTime: date}}}}
relationships:
  item.offers: {{child: offer, children: {{p50: 800, p95: 900, p99: 9000, max: 40k}}, growth: endless}}
reads:
  r: {{from: offer, where: [item], sort: {{createTime: -1}}, limit: 3, rate: 300/s}}
  r2: {{from: item, where: [code], rate: 300/s}}
writes:
{writes}  h: {{insert: item, rate: 1/h}}
"
        )
    };
    let entries = |writes: &str| {
        let case = of(&text(writes));
        case.decision("item.offers").alternatives[0].per_second(true, |cost| cost.entries)
    };
    let both = entries("  a: {insert: offer, update: offer, sets: [offer.left], rate: 900/s}\n");
    let apart = entries(
        "  a: {insert: offer, rate: 450/s}\n  b: {update: offer, sets: [offer.left], rate: 450/s}\n",
    );
    assert!(both > 899.0 && (both - apart).abs() < 1e-6, "{both} {apart}");
}

#[test]
fn er_x_1_a_parent_that_is_reached_by_its_child_has_one() {
    let case = of("entities:
  cook: {count: 6M, lifecycle: {growth: 1M/year, kept: forever}, fields: {nick: {type: string, bytes: 12, unique: true}}}
  recipe: {count: 800k, lifecycle: {growth: 100k/year, kept: forever}, fields: {slug: {type: string, bytes: 24, unique: true}, text: {type: string, bytes: 4 KB}}}
relationships:
  cook.recipes: {child: recipe, children: {p50: 0, p95: 3, p99: 20, max: 40}, growth: bounded}
reads:
  recipe: {from: recipe, where: [slug], rate: 1500/s}
  cook: {from: cook, where: [nick], rate: 5/s}
writes:
  w: {insert: [cook, recipe], rate: 1/min}
  edit: {update: recipe, rate: 1/min}
");
    let embed = way(&case, "cook.recipes", StorageAlternative::Embed);
    for name in ["recipe", "edit"] {
        assert!(cost(embed, name).bytes > 4096.0, "{name}: {}", cost(embed, name).bytes);
    }
    assert!(cost(embed, "cook").bytes < 100.0, "a typical cook has none");
}

#[test]
fn pt_ts_1_a_time_series_costs_what_its_collection_takes() {
    let case = of("deployment: {server: \"6.0\"}
entities:
  station: {count: 10k, lifecycle: {growth: 0, kept: forever}, fields: {name: string}}
  sample:
    count: 900M
    lifecycle: {growth: 900M/year, kept: 1 year}
    needs-change-streams-or-updates: false
    series: {id: station, time: at, rate: 1/min, series: 10k}
    fields: {at: date, heat: double, wet: double}
relationships:
  station.samples: {child: sample, children: {p50: 90k, p99: 100k, max: 120k}, growth: endless}
reads:
  day: {from: sample, where: {station: equal, at: range}, sort: {at: 1}, limit: 1440, rate: 9/s}
  station: {from: station, where: [_id], rate: 1/s}
writes:
  w: {insert: sample, rate: 160/s}
  build: {insert: station, rate: 1/day}
");
    let table = &case.decision("station.samples").alternatives[0];
    let sizes = case.design.capacity.iter().find(|c| c.collection.contains("sample")).unwrap();
    let stored = sizes.years[0].1.unwrap().1 as f64;
    let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 0.1, "{a} {b}");
    near(table.storage.unwrap() as f64, stored);
    near(table.index_bytes.unwrap() as f64, sizes.index_bytes.unwrap() as f64);
    assert!(cost(table, "w").entries < 0.1, "one for each bucket");
    assert_eq!(cost(table, "day").documents, 1440.0);
}

#[test]
fn er_x_1_copies_and_links_are_those_of_the_collections() {
    let shared = of("entities:
  list: {count: 9000, lifecycle: {growth: 400/year, kept: forever}, fields: {title: {type: string, bytes: 30}}}
  person: {lifecycle: {growth: 3k/year, kept: forever}, fields: {name: {type: string, bytes: 24}, birth: date}}
relationships:
  list.candidates: {child: person, children: {p50: 20, p95: 60, p99: 120, max: 300}, growth: bounded, parents: {p50: 1, p95: 3, p99: 6, max: 14}}
reads:
  ballot: {from: list, where: [_id], with: {list.candidates: all}, rate: 90/s}
writes:
  prepare: {insert: [list, person], rate: 3/h}
");
    let chosen = &shared.decision("list.candidates").alternatives[0];
    if chosen.way == StorageAlternative::Embed {
        let sizes = shared.design.capacity.iter().find(|c| c.collection == "list").unwrap();
        assert_eq!(chosen.parent[0].1, sizes.document.0);
        let (table, stored) = (chosen.storage.unwrap(), sizes.years[0].1.unwrap().1);
        assert!((table as f64 / stored as f64 - 1.0).abs() < 0.02, "{table} {stored}");
    }
    // A few very large parents do not increase the number of links beyond the number of children.
    let many = of("entities:
  club: {count: 1M, lifecycle: {growth: 0, kept: forever}, fields: {name: {type: string, bytes: 20, unique: true}}}
  fan: {count: 20M, lifecycle: {growth: 0, kept: forever}, fields: {nick: {type: string, bytes: 12, unique: true}}}
relationships:
  club.fans: {child: fan, children: {p50: 0, p95: 40, p99: 2k, max: 5M}, growth: endless, parents: {p50: 2, p95: 9, p99: 30, max: 500}}
reads:
  club: {from: club, where: [name], count: [club.fans], rate: 50/s}
  fan: {from: fan, where: [nick], with: {club.fans: [name]}, rate: 90/s}
writes:
  w: {insert: [club, fan], rate: 1/min}
");
    let table = many.decision("club.fans").alternatives[0].index_bytes.unwrap();
    let sizes = many.design.capacity.iter().find(|c| c.collection == "fan").unwrap();
    assert!(table < sizes.index_bytes.unwrap(), "{table} {:?}", sizes.index_bytes);
}

#[test]
fn er_x_1_pt_bucket_3_what_is_put_together_is_counted_in_its_documents() {
    let case = |server: &str| {
        of(&format!(
            "deployment: {{server: \"{server}\"}}
entities:
  robot: {{count: 500, lifecycle: {{growth: 50/year, kept: forever}}, fields: {{name: string}}}}
  reading: {{count: 90M, lifecycle: {{growth: 90M/year, kept: 1 year}}, series: {{time: at, id: robot, rate: 1/min, series: 500}}, needs-change-streams-or-updates: false, fields: {{at: date, metres: double}}}}
relationships:
  robot.readings: {{child: reading, children: {{p50: 180k, p99: 200k, max: 300k}}, growth: endless}}
reads:
  distance: {{from: robot, where: [_id], count: [robot.readings], rate: 1/min}}
writes:
  r: {{insert: reading, rate: 9/s}}
  b: {{insert: robot, rate: 1/day}}
"
        ))
    };
    // With buckets, the read uses the stored counts. With a time series, it reads single readings.
    let buckets = case("4.4");
    let distance = chosen(&buckets, "robot.readings", "distance").clone();
    assert!(distance.documents > 100.0 && distance.entries == 0.0, "{distance:?}");
    assert!(distance.bytes > 1_000_000.0, "{distance:?}");
    let series = case("6.0");
    let distance = chosen(&series, "robot.readings", "distance");
    assert!(distance.documents > 180_000.0 && distance.entries == 0.0, "{distance:?}");
}

#[test]
fn pt_poly_1_alg_2_a_preview_may_be_of_the_largest_kind_alone() {
    let case = of("entities:
  ward: {count: 1k, lifecycle: {growth: 10/year, kept: forever}, fields: {title: string}}
  obs: {count: 900k, lifecycle: {growth: 100k/year, kept: forever}, variants: {vitals: {pulse: int}, note: {text: {type: string, bytes: 500}}}, fields: {createTime: date}}
relationships:
  ward.obs: {child: obs, children: {p50: 10, p95: 400, p99: 9000, max: 40k}, growth: endless}
reads:
  r: {from: ward, where: [_id], with: {ward.obs: {newest: 5, by: createTime}}, rate: 300/s}
writes:
  a: {insert: obs, rate: 1/min}
  h: {insert: ward, rate: 1/h}
");
    // One in 32 wards shows five notes.
    let (_, typical, p99, max) = way(&case, "ward.obs", StorageAlternative::Hybrid).parent[0];
    assert!(typical < 2000 && (2700..3100).contains(&p99) && max >= p99, "{typical} {p99} {max}");
    assert!(case.design.capacity.iter().any(|c| c.collection == "ward" && c.document.1 == p99));
}

#[test]
fn er_m_6_row_and_table_name_the_same_size() {
    for name in crate::common::GALLERY {
        let case = crate::common::gallery(name);
        for decision in case.design.decisions.iter().filter(|d| d.choice.is_some()) {
            let embedded = decision
                .alternatives
                .iter()
                .find(|one| one.way == StorageAlternative::Embed)
                .unwrap();
            let shown = docward_model::text::bytes(embedded.parent[0].2);
            let mut rows = decision.ruling.rows.iter().filter(|row| row.rows.contains(&"ER-M.6"));
            let row = rows.find(|row| row.because.contains("the parent would have"));
            let said = row.is_none_or(|row| row.because.contains(&shown));
            assert!(said, "{name}: {}: {row:?} {shown}", decision.relationship);
            // A smaller size must not be described as an addition.
            let is_smaller = embedded.parent[0].2 < decision.facts.projected();
            let on_top = row.is_some_and(|row| row.because.contains("with everything"));
            assert!(!(is_smaller && on_top), "{name}: {row:?}");
        }
    }
}

/// A read must have the same figures in the table of every relationship that it touches.
#[track_caller]
fn agrees(case: &Case) {
    for read in &case.model.reads {
        let costs = case.design.decisions.iter().filter_map(|decision| {
            let all = &decision.alternatives.first()?.operations;
            let cost = all.iter().find(|cost| !cost.writes && cost.name == read.name)?;
            Some((decision.relationship.as_str(), cost))
        });
        let costs: Vec<_> = costs.collect();
        for (relationship, cost) in &costs {
            let (first, same) = &costs[0];
            assert!(
                (cost.documents - same.documents).abs() < 1e-6
                    && (cost.bytes - same.bytes).abs() < 1e-3
                    && (cost.entries - same.entries).abs() < 1e-6,
                "{}: {} docs, {} B in {relationship}, {} docs, {} B in {first}",
                read.name,
                cost.documents,
                cost.bytes,
                same.documents,
                same.bytes
            );
        }
    }
}

#[test]
fn er_x_1_alg_2_every_way_of_a_read_moves_something() {
    // The count uses an index and does not read the visits with findings.
    let text = include_str!("../models/nested.yaml")
        .replace("  sensor: {from: sensor, where: [code],", "  sensor: {from: sensor, where: [code], count: [sensor.readings],")
        .replace("  topic: {from: topic, where: [_id], with", "  topics: {from: topic, where: [_id], count: [topic.posts], rate: 1/s}\n  topic: {from: topic, where: [_id], with");
    let case = of(&text);
    for decision in &case.design.decisions {
        for way in &decision.alternatives {
            for cost in way.operations.iter().filter(|cost| !cost.writes) {
                let (name, relationship) = (&cost.name, &decision.relationship);
                let fine = cost.documents > 0.9 && cost.bytes > 20.0 && cost.entries >= 0.0;
                assert!(fine, "{name} of {relationship}, {:?}: {cost:?}", way.way);
            }
        }
    }
}

#[test]
fn er_x_1_ck_9_a_read_has_one_figure_in_all_tables() {
    for name in crate::common::GALLERY {
        agrees(&crate::common::gallery(name));
    }
    for text in [
        include_str!("../models/all.yaml"),
        include_str!("../models/elements.yaml"),
        include_str!("../models/kept.yaml"),
        include_str!("../models/lists.yaml"),
        include_str!("../models/more.yaml"),
        include_str!("../models/nested.yaml"),
        include_str!("../models/referenced.yaml"),
    ] {
        agrees(&of(text));
    }
}

#[test]
fn er_x_1_ck_9_a_read_moves_the_documents_of_all_that_it_asks_for() {
    let case = of("entities:
  author: {count: 1k, lifecycle: {growth: 10/year, kept: forever}, fields: {name: {type: string, bytes: 20}}}
  post: {count: 90k, lifecycle: {growth: 9k/year, kept: forever}, fields: {title: {type: string, bytes: 40}, createTime: date}}
  comment: {count: 9M, lifecycle: {growth: 900k/year, kept: forever}, fields: {text: {type: string, bytes: 90}, createTime: date}}
relationships:
  author.posts: {child: post, children: {p50: 10, p95: 300, p99: 900, max: 4k}, growth: endless}
  post.comments: {child: comment, children: {p50: 20, p95: 300, p99: 900, max: 4k}, growth: endless}
reads:
  everything: {from: author, where: [_id], with: [author.posts, post.comments], rate: 1/h}
  author: {from: author, where: [_id], rate: 9/s}
  post: {from: post, where: [_id], rate: 9/s}
  comment: {from: comment, where: [_id], rate: 9/s}
writes:
  w: {insert: [author, post, comment], rate: 1/min}
");
    agrees(&case);
    // The author, ten posts, and twenty comments for each post.
    for relationship in ["author.posts", "post.comments"] {
        assert_eq!(chosen(&case, relationship, "everything").documents, 211.0, "{relationship}");
    }
    let embedded = way(&case, "post.comments", StorageAlternative::Embed);
    assert_eq!(cost(embedded, "everything").documents, 11.0);
}

#[test]
fn er_t_6_pt_junction_1_nobody_links_a_new_parent_to_as_many_as_others_have() {
    let text = |growth: &str| {
        format!(
            "entities:
  user: {{count: 1M, lifecycle: {{growth: 100k/year, kept: forever}}, fields: {{name: {{type: string, bytes: 20}}}}}}
  page: {{count: 1M, lifecycle: {{growth: 100k/year, kept: forever}}, fields: {{title: {{type: string, bytes: 20}}}}}}
relationships:
  user.pages: {{child: page, children: {{p50: 120, p95: 900, p99: 2500, max: 7500}}, growth: {growth}, parents: {{p50: 40, p95: 800, p99: 9000, max: 500k}}}}
reads:
  u: {{from: user, where: [_id], with: [user.pages], rate: 9/s}}
  p: {{from: page, where: [_id], rate: 90/s}}
writes:
  sign up: {{insert: user, rate: 1/s}}
  leave: {{delete: user, rate: 1/s}}
  make: {{insert: page, rate: 1/s}}
"
        )
    };
    let case = of(&text("endless"));
    assert_eq!(case.named("user.pages")[0], "junction");
    let new = chosen(&case, "user.pages", "sign up");
    assert_eq!((new.documents, new.entries), (1.0, 1.0));
    // Deleting a user also deletes its junction documents.
    assert_eq!(chosen(&case, "user.pages", "leave").documents, 121.0);
    // In a bounded relationship, a new parent gets all its links when it is inserted.
    assert_eq!(chosen(&of(&text("bounded")), "user.pages", "sign up").documents, 121.0);
}

#[test]
fn gc_47_pt_outlier_1_a_list_with_pages_is_counted_by_the_write_that_adds() {
    let text = |rate: &str| {
        format!(
            "entities:
  book: {{count: 100k, lifecycle: {{growth: 1k/year, kept: forever}}, fields: {{title: string}}}}
  buyer: {{lifecycle: {{growth: 10k/year, kept: forever}}, fields: {{name: string}}}}
relationships:
  book.buyers: {{child: buyer, children: {{p50: 6, p95: 20, p99: 40, max: 2500}}, growth: bounded}}
reads:
  r: {{from: book, where: [_id], with: [book.buyers], count: [book.buyers], rate: {rate}}}
writes:
  w: {{insert: book, rate: 1/h}}
  buy: {{insert: buyer, rate: 10/s}}
"
        )
    };
    // Nine in ten buyers fit into the list in the parent, where counting needs no extra write.
    assert_eq!(of(&text("50/s")).named("book.buyers"), ["embedded", "outlier", "computed"]);
    assert_eq!(of(&text("1/min")).named("book.buyers"), ["embedded", "outlier"]);
}

/// Scores are embedded in matches, so a read of a player's scores reads matches.
#[test]
fn er_x_1_ck_9_what_lives_in_a_third_entity_is_read_with_all_around_it() {
    let case = of("entities:
  player: {count: 20k, lifecycle: {growth: 5k/year, kept: forever}, fields: {nick: {type: string, bytes: 10}}}
  match: {count: 300k, lifecycle: {growth: 0, kept: forever}, fields: {startTime: date}}
  score: {count: 2M, lifecycle: {growth: 0, kept: forever}, fields: {points: long, kills: int, achievedAt: date}}
relationships:
  player.scores: {child: score, children: {p50: 60, p95: 400, p99: 900, max: 9000}, growth: {typical: 150/year, p99: 2000/year}}
  match.scores: {child: score, children: {p50: 8, p95: 60, p99: 100, max: 100}, growth: bounded}
reads:
  profile: {from: player, where: [nick], with: {player.scores: all}, rate: 100/s}
  match: {from: match, where: [_id], with: {match.scores: all}, rate: 15/s}
writes:
  finish: {insert: [match, score], rate: 2/min, atomic: true}
  sign up: {insert: player, rate: 14/day}
");
    assert_eq!(case.verdict("match.scores"), docward_design::Verdict::Embed);
    agrees(&case);
    let documents = document_bytes(&case.collection("match").fields, Rank::Typical) as f64;
    let profile = chosen(&case, "player.scores", "profile");
    assert_eq!(profile.documents, 61.0);
    assert!((profile.bytes / (60.0 * documents) - 1.0).abs() < 0.1, "{profile:?}, {documents}");
    // In a separate collection, they would be read without matches.
    let apart = cost(way(&case, "match.scores", StorageAlternative::Reference), "profile");
    assert!(apart.bytes < profile.bytes / 4.0 && apart.bytes > 60.0 * 40.0, "{apart:?}");
}

/// ALG-2: all tables of relationships in a collection and the table of sizes must show the same
/// storage.
#[test]
fn alg_2_er_x_1_a_collection_has_one_size_in_all_tables() {
    let case = of("entities:
  invoice: {count: 1M, lifecycle: {growth: 0, kept: forever}, fields: {no: {type: string, bytes: 12}}}
  line: {count: 6M, lifecycle: {growth: 0, kept: forever}, fields: {text: {type: string, bytes: {typical: 30, p99: 300}}, price: decimal}}
  payment: {count: 1.1M, lifecycle: {growth: 0, kept: forever}, fields: {amount: decimal, payTime: date}}
  note: {count: 100k, lifecycle: {growth: 0, kept: forever}, fields: {text: {type: string, bytes: 900}}}
  topic: {count: 2000, lifecycle: {growth: 0, kept: forever}, fields: {name: {type: string, bytes: 20}}}
relationships:
  invoice.lines: {child: line, children: {p50: 4, p95: 15, p99: 40, max: 300}, growth: bounded}
  invoice.payments: {child: payment, children: {p50: 1, p95: 2, p99: 3, max: 9}, growth: bounded}
  invoice.note: {child: note, children: {p50: 0, p95: 1, p99: 1, max: 1}}
  topic.subtopics: {child: topic, children: {p50: 3, p95: 20, p99: 40, max: 90}, growth: bounded}
reads:
  invoice: {from: invoice, where: [_id], with: [invoice.lines, invoice.payments, invoice.note], rate: 9/s}
  topic: {from: topic, where: [_id], with: {topic.subtopics: [name]}, rate: 1/s}
writes:
  w: {insert: [invoice, line, payment, note], rate: 1/s}
  t: {insert: topic, update: topic, rate: 1/h}
");
    let size = |name: &str| {
        let capacity = &case.design.capacity;
        let found = capacity.iter().find(|c| c.collection == case.collection(name).name).unwrap();
        (found.years[0].1.unwrap().1, found.document.0)
    };
    let stored = |name: &str| case.decision(name).alternatives[0].storage.unwrap();
    for name in ["invoice.lines", "invoice.payments", "invoice.note"] {
        assert_eq!(case.verdict(name), docward_design::Verdict::Embed, "{name}");
        assert_eq!(stored(name), size("invoice").0, "{name}");
    }
    // Both ends of a tree are the same collection.
    assert_eq!(stored("topic.subtopics"), size("topic").0);
    // One invoice in ten has a note, so a typical one has none.
    let note = document_bytes(&case.field("invoice", "note").fields, Rank::Typical);
    let whole = document_bytes(&case.collection("invoice").fields, Rank::Typical);
    assert!(note > 900 && whole < note, "{note} {whole}");
    assert_eq!(size("invoice").1, whole);
}
