//! Tests every row and every branch of the decision tables, by its id.

use docward_model::Spread;

use super::*;

/// Returns facts about four small children of one parent, which are read and written with it.
/// Nothing argues against embedding.
fn facts() -> Facts {
    Facts {
        kind: Kind::OneToMany,
        children: Spread::always(4),
        growth: Growth::Bounded,
        paged_per_year: None,
        child_bytes: 200,
        child_p99: 200,
        parent_bytes: 500,
        co_read: Some(1.0),
        co_update: Some(1.0),
        child_only_update: Some(0.0),
        queried_alone: Some(0.0),
        atomic: Some(false),
        must_be_current: Some(false),
        shared: None,
        lists_ids: false,
    }
}

fn with(change: impl FnOnce(&mut Facts)) -> Facts {
    let mut facts = facts();
    change(&mut facts);
    facts
}

#[track_caller]
fn check(id: &str, facts: &Facts, row: Vote, choice: Choice) {
    let ruling = decide(facts, &Bounds::default());
    let said: Vec<Vote> =
        ruling.rows.iter().filter(|r| r.rows.contains(&id)).map(|r| r.vote).collect();
    assert!(said.contains(&row), "{id} said {said:?}: {ruling:#?}");
    assert_eq!(ruling.choice, choice, "{id}: {}", ruling.how);
}

use Choice::{Embed as E, Reference as R};

#[test]
fn dm_07_1_no_evidence_against_means_embed() {
    assert_eq!(decide(&facts(), &Bounds::default()).choice, E);
}

#[test]
fn dm_07_1_a_tie_means_embed() {
    // Shared values that are never read alone: the rows are counted.
    let mut tie = with(|f| {
        f.kind = Kind::ManyToMany;
        f.shared = Some("shared by many".to_owned());
        f.co_read = Some(0.6);
        f.co_update = Some(0.5);
        f.child_only_update = Some(0.0);
    });
    let bounds = Bounds::default();
    let count = |facts: &Facts| {
        let ruling = decide(facts, &bounds);
        (ruling.votes(Vote::Embed), ruling.votes(Vote::Reference), ruling)
    };
    let (embed, reference, ruling) = count(&tie);
    assert!(embed > reference, "{ruling:#?}");
    // With large children, three rows change sides.
    tie.child_bytes = 60_000;
    let (embed, reference, ruling) = count(&tie);
    assert_eq!((embed, reference), (5, 8), "{ruling:#?}");
    assert_eq!(ruling.choice, R);
    tie.co_read = Some(1.0);
    let (embed, reference, ruling) = count(&tie);
    assert_eq!((embed, reference), (8, 8), "{ruling:#?}");
    assert_eq!((ruling.choice, ruling.decided_by), (E, &["DM-07.1"][..]));
}

#[test]
fn dm_07_2_er_m_1_er_f_1_read_together_or_apart() {
    for id in ["DM-07.2", "ER-M.1", "ER-F.1"] {
        check(id, &facts(), Vote::Embed, E);
        let apart = with(|f| {
            f.co_read = Some(0.2);
            f.queried_alone = Some(0.8);
        });
        check(id, &apart, Vote::Reference, R);
        check(id, &with(|f| f.co_read = Some(0.65)), Vote::Abstain, E);
        check(id, &with(|f| f.co_read = None), Vote::Open, E);
    }
}

#[test]
fn dm_07_3_er_m_4_er_f_3_small_and_bounded_or_not() {
    for id in ["DM-07.3", "ER-M.4", "ER-F.3"] {
        check(id, &facts(), Vote::Embed, E);
        check(id, &with(|f| f.child_bytes = 30_000), Vote::Reference, E);
        check(id, &with(|f| f.growth = Growth::Endless), Vote::Reference, R);
    }
}

#[test]
fn dm_07_4_er_f_2_children_updated_alone() {
    for id in ["DM-07.4", "ER-F.2"] {
        check(id, &facts(), Vote::Embed, E);
        check(id, &with(|f| f.child_only_update = Some(0.9)), Vote::Reference, E);
        check(id, &with(|f| f.child_only_update = Some(0.3)), Vote::Abstain, E);
    }
    // From 50 children on the vote can turn the decision.
    let many = with(|f| {
        f.children = Spread::always(200);
        f.child_only_update = Some(0.9);
        f.co_update = Some(0.1);
        f.queried_alone = Some(0.1);
        f.child_bytes = 2000;
    });
    check("DM-07.4", &many, Vote::Reference, R);
}

#[test]
fn dm_07_5_er_m_3_kinds_of_relationships() {
    for id in ["DM-07.5", "ER-M.3"] {
        check(id, &with(|f| f.kind = Kind::OneToOne), Vote::Embed, E);
        check(id, &facts(), Vote::Embed, E);
        check(id, &with(|f| f.children = Spread::always(200)), Vote::Reference, E);
        let students = with(|f| {
            f.kind = Kind::ManyToMany;
            f.shared = Some("shared by up to 30 of `student`".to_owned());
            f.queried_alone = Some(0.5);
        });
        check(id, &students, Vote::Reference, R);
    }
}

#[test]
fn dm_07_6_er_m_5_what_is_shared_is_referenced() {
    for id in ["DM-07.6", "ER-M.5"] {
        check(id, &facts(), Vote::Embed, E);
        let product = with(|f| {
            f.kind = Kind::ManyToOne;
            f.children = Spread::always(1);
            f.shared = Some("shared by many".to_owned());
            f.queried_alone = Some(0.3);
        });
        check(id, &product, Vote::Reference, R);
    }
}

#[test]
fn er_m_2_written_together_or_alone() {
    check("ER-M.2", &facts(), Vote::Embed, E);
    let alone = with(|f| {
        f.co_update = Some(0.0);
        f.child_only_update = Some(0.9);
    });
    check("ER-M.2", &alone, Vote::Reference, E);
    check("ER-M.2", &with(|f| f.co_update = Some(0.5)), Vote::Abstain, E);
}

#[test]
fn er_m_6_er_f_7_a_breach_is_a_veto_whatever_else_votes() {
    for id in ["ER-M.6", "ER-F.7"] {
        check(id, &with(|f| f.parent_bytes = 1_048_576), Vote::Embed, E);
        check(id, &with(|f| f.parent_bytes = 12 * 1_048_576), Vote::Veto, R);
    }
}

#[test]
fn er_m_7_asked_for_alone() {
    check("ER-M.7", &facts(), Vote::Embed, E);
    let by_author = with(|f| {
        f.queried_alone = Some(0.6);
        f.co_read = Some(0.4);
    });
    check("ER-M.7", &by_author, Vote::Reference, R);
    // An occasional read of the child alone is a vote, not a decision.
    check("ER-M.7", &with(|f| f.queried_alone = Some(0.1)), Vote::Reference, E);
}

#[test]
fn er_t_1_lm_7_fewer_than_fifty_are_embedded() {
    check("ER-T.1", &with(|f| f.children = Spread::always(49)), Vote::Embed, E);
    let fifty = with(|f| {
        f.children = Spread::always(50);
        f.co_read = Some(0.6);
    });
    check("LM-7", &fifty, Vote::Reference, R);
}

#[test]
fn er_t_2_two_hundred_items_always_read_with_the_parent() {
    let items = with(|f| f.children = Spread::always(200));
    assert!((40_000..45_000).contains(&items.children_bytes()));
    check("ER-T.2", &items, Vote::Embed, E);
    let thousands = with(|f| f.children = Spread::always(5000));
    check("ER-F.6", &thousands, Vote::Veto, R);
}

#[test]
fn er_t_3_read_independently_means_reference() {
    let apart = with(|f| {
        f.children = Spread::always(300);
        f.co_read = Some(0.3);
        f.queried_alone = Some(0.7);
    });
    check("ER-T.3", &apart, Vote::Reference, R);
}

#[test]
fn er_t_4_er_f_4_dp_3_what_changes_together_is_embedded() {
    let together = with(|f| {
        f.children = Spread::always(300);
        f.co_read = Some(0.3);
        f.atomic = Some(true);
    });
    check("ER-T.4", &together, Vote::Embed, E);
    check("ER-F.4", &together, Vote::Embed, E);
    check("DP-3", &together, Vote::Embed, E);
    check("ER-F.4", &facts(), Vote::Abstain, E);
    // Atomicity does not override a veto.
    let large = with(|f| {
        f.children = Spread::always(300);
        f.atomic = Some(true);
        f.child_bytes = 60_000;
    });
    check("ER-T.4", &large, Vote::Embed, R);
}

#[test]
fn er_t_5_dm_08_2_ck_8_no_end_is_a_veto() {
    let log = with(|f| f.growth = Growth::Endless);
    for id in ["ER-T.5", "DM-08.2", "CK-8"] {
        check(id, &log, Vote::Veto, R);
    }
    let by_name = with(|f| f.growth = Growth::LooksEndless("`messages` keep coming".to_owned()));
    check("DM-08.2", &by_name, Vote::Reference, R);
    // A low current number does not bound an unbounded list.
    for endless in [&log, &by_name] {
        check("ER-F.6", endless, Vote::Reference, R);
        assert!(!rows(endless, &Bounds::default()).iter().any(|row| row.rows.contains(&"ER-T.1")));
    }
}

#[test]
fn er_t_6_many_to_many_refers() {
    let courses = with(|f| {
        f.kind = Kind::ManyToMany;
        f.shared = Some("shared".to_owned());
        f.queried_alone = Some(0.2);
    });
    check("ER-T.6", &courses, Vote::Reference, R);
    let followers = with(|f| {
        f.kind = Kind::ManyToMany;
        f.shared = Some("shared".to_owned());
        f.growth = Growth::Endless;
    });
    check("ER-T.6", &followers, Vote::Veto, R);
}

#[test]
fn er_x_1_the_same_rows_give_tags_and_comments_different_verdicts() {
    // Tags are shared words that are never read alone.
    let tags = with(|f| {
        f.kind = Kind::ManyToMany;
        f.children = Spread { p50: 3, p95: 6, p99: 8, max: 20 };
        f.child_bytes = 30;
        f.shared = Some("shared by many".to_owned());
    });
    check("ER-M.5", &tags, Vote::Reference, E);
    let ruling = decide(&tags, &Bounds::default());
    assert!(ruling.dissent().count() >= 2, "{ruling:#?}");
    let comments = with(|f| {
        f.children = Spread { p50: 20, p95: 400, p99: 3000, max: 90_000 };
        f.growth = Growth::Endless;
        f.queried_alone = Some(0.1);
    });
    check("ER-M.4", &comments, Vote::Reference, R);
}

#[test]
fn er_f_5_what_must_be_current_is_not_copied() {
    let balance = with(|f| {
        f.kind = Kind::ManyToOne;
        f.children = Spread::always(1);
        f.shared = Some("shared by many".to_owned());
        f.must_be_current = Some(true);
    });
    check("ER-F.5", &balance, Vote::Veto, R);
    // A single copy is always current.
    check("ER-F.5", &with(|f| f.must_be_current = Some(true)), Vote::Abstain, E);
}

#[test]
fn er_f_6_few_or_without_end() {
    check("ER-F.6", &facts(), Vote::Embed, E);
    check("ER-F.6", &with(|f| f.children = Spread::always(1000)), Vote::Veto, R);
}

#[test]
fn lm_7_gc_06_the_bounds_are_49_50_999_1000() {
    let choice = |number: u64, co_read: f64| {
        let facts = with(|f| {
            f.children = Spread::always(number);
            f.child_bytes = 50;
            f.co_read = Some(co_read);
        });
        decide(&facts, &Bounds::default()).choice
    };
    assert_eq!([choice(49, 0.6), choice(50, 0.6)], [E, R]);
    assert_eq!([choice(999, 1.0), choice(1000, 1.0)], [E, R]);
}

#[test]
fn pt_outlier_1_a_few_giants_do_not_decide_for_all() {
    let books = with(|f| f.children = Spread { p50: 8, p95: 20, p99: 40, max: 2500 });
    assert_eq!(decide(&books, &Bounds::default()).choice, E);
    // Many large parents do decide.
    let broad = with(|f| f.children = Spread { p50: 8, p95: 300, p99: 700, max: 2500 });
    assert_eq!(decide(&broad, &Bounds::default()).choice, R);
}
