//! Derives the facts that decide a relationship from the declared reads and writes (DP-1). A
//! missing declaration becomes a question and is never guessed (DP-2).

use std::collections::BTreeSet;

use docward_model::{
    ChildGrowth, DesignModel, DesignRead, DesignWrite, Entity, Relationship, Spread, With,
};

use crate::decide::facts::{Bounds, Facts, Growth, Kind};
use crate::declared::quantile;
use crate::declared::read_direction::{self, changes_part, followed, total};

/// The known facts of a relationship, and its open questions.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// The declared facts.
    pub facts: Facts,
    /// Questions that must be answered before a decision.
    pub questions: Vec<Question>,
}

/// A question about a fact that the file does not state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Question {
    /// The entity or relationship it is about.
    pub about: String,
    /// The question.
    pub ask: String,
    /// The text to add to the file.
    pub write: String,
}

/// Returns those of the three questions about an entity that are still open (DP-2).
pub fn questions(model: &DesignModel, entity: &Entity) -> Vec<Question> {
    let name = &entity.name;
    let mut open = Vec::new();
    let mut ask = |ask: String, write: String| {
        open.push(Question { about: name.clone(), ask, write });
    };
    if !entity.never_written && !model.writes.iter().any(|write| write.touches(name)) {
        ask(
            format!("how is `{name}` written: how often is it inserted, how often updated?"),
            format!("add writes that name it, or `written: never` to entity `{name}`"),
        );
    }
    let along = |r: &&Relationship| r.parent == *name || r.child == *name;
    let along: Vec<&str> =
        model.relationships.iter().filter(along).map(|r| r.name.as_str()).collect();
    let is_read = |read: &DesignRead| {
        read.from == *name || followed(read).any(|followed| along.contains(&followed))
    };
    if !entity.never_read && !model.reads.iter().any(is_read) {
        ask(
            format!("how is `{name}` read: which fields together, how often, by what?"),
            format!("add reads that name it, or `read: never` to entity `{name}`"),
        );
    }
    let Some(life) = entity.lifecycle else {
        ask(
            format!(
                "what is the lifecycle of `{name}`: how many are added, are they ever \
             deleted?"
            ),
            format!("add `lifecycle: {{growth: 600k/month, kept: forever}}` to entity `{name}`"),
        );
        return open;
    };
    if life.growth_open {
        ask(
            format!("how many new `{name}` are there?"),
            format!("add `growth: 600k/month`, or `growth: 0`, to `lifecycle` of entity `{name}`"),
        );
    }
    if life.kept_open {
        ask(
            format!("how long is `{name}` kept: are documents ever deleted?"),
            format!("add `kept: forever`, or `kept: 90 days`, to `lifecycle` of entity `{name}`"),
        );
    }
    open
}

/// Returns the facts of a relationship without sizes. Sizes depend on the decisions about
/// relationships below it.
pub fn known(model: &DesignModel, relationship: &Relationship, bounds: &Bounds) -> Known {
    let mut questions: Vec<Question> = [&relationship.parent, &relationship.child]
        .into_iter()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .filter_map(|name| model.entity(name))
        .flat_map(|entity| questions(model, entity))
        .collect();
    let name = &relationship.name;
    let mut ask = |ask: String, write: &str| {
        questions.push(Question { about: name.clone(), ask, write: write.to_owned() });
    };
    if relationship.children.is_none() {
        ask(
            format!("how many `{}` does one `{}` have?", relationship.role(), relationship.parent),
            "add `children: {p50: 3, p95: 10, p99: 20, max: 80}`, or `children: 1`",
        );
    }
    let mut children = relationship.children.unwrap_or(Spread::always(1));
    let single = children.max <= 1;
    let mut growth = match relationship.growth {
        Some(ChildGrowth::Bounded) => Growth::Bounded,
        Some(ChildGrowth::Endless { .. }) => Growth::Endless,
        None if single => Growth::Bounded,
        None => {
            ask(
                format!(
                    "is the number of `{}` per `{}` bounded?",
                    relationship.role(),
                    relationship.parent
                ),
                "add `growth: bounded`, `growth: endless` or `growth: 30/year`",
            );
            Growth::Unknown
        }
    };
    // A list that is truncated at every write is bounded, regardless of how many children are added
    // (PT-slice.1).
    if let Some(newest) = relationship.keep_newest {
        let reached = growth == Growth::Endless || children.max >= bounds.many;
        let late = newest >= bounds.many && reached;
        growth = if late { Growth::CutLate(newest) } else { Growth::Bounded };
        let cap = |number: u64| number.min(newest);
        children = Spread {
            p50: cap(children.p50),
            p95: cap(children.p95),
            p99: cap(children.p99),
            max: cap(children.max),
        };
    }
    let shared = relationship.is_shared();
    let access = access(model, relationship, children);
    let written = written(model.writes.iter(), relationship, &BTreeSet::new());
    let is_series = model.entity(&relationship.child).is_some_and(|child| child.series.is_some());
    // A unique index on elements does not compare a list with its pages.
    let is_unique = model
        .entity(&relationship.child)
        .is_some_and(|child| child.fields.iter().any(|field| field.unique));
    let can_page = !shared && !is_series && !is_unique && relationship.parent != relationship.child;
    let facts = Facts {
        kind: match (single, shared) {
            (true, false) => Kind::OneToOne,
            (false, false) => Kind::OneToMany,
            (true, true) => Kind::ManyToOne,
            (false, true) => Kind::ManyToMany,
        },
        children,
        growth,
        paged_per_year: gained_per_year(model, relationship, children).filter(|_| can_page),
        parent_bytes: 0,
        child_bytes: 0,
        child_p99: 0,
        co_read: access.co_read,
        co_update: written.co_update,
        child_only_update: Some(written.child_only_update),
        queried_alone: Some(access.queried_alone),
        atomic: Some(written.atomic || relationship.invariant.is_some()),
        must_be_current: Some(relationship.current.is_some()),
        shared: shared.then(|| {
            let most = relationship.parents_max.max(relationship.parents) as u64;
            format!(
                "up to {} `{}` documents share it",
                docward_model::text::count(most),
                relationship.parent
            )
        }),
        lists_ids: false,
    };
    Known { facts, questions }
}

/// Returns how many children a parent gains per year at the 99th percentile. Without a declared
/// figure, the growth of the child entity is divided among the parents.
fn gained_per_year(
    model: &DesignModel,
    relationship: &Relationship,
    children: Spread,
) -> Option<f64> {
    if let Some(ChildGrowth::Endless { p99, .. }) = relationship.growth
        && p99 > 0.0
    {
        return Some(p99);
    }
    let parents = model.entity(&relationship.parent)?.count.filter(|count| *count > 0.0)?;
    let yearly = model.entity(&relationship.child)?.lifecycle?.per_year;
    let skew = children.p99 as f64 / quantile::mean(children).max(1.0);
    Some(yearly / parents * skew.max(1.0))
}

struct Access {
    co_read: Option<f64>,
    queried_alone: f64,
}

/// Returns the share of a list that a read of the newest children needs. A page that shows 10 of
/// 1,000 children does not need the whole list (PT-subset.1). A page with fields that must be
/// current reads the children themselves.
fn wanted(with: &With, relationship: &Relationship, children: Spread) -> f64 {
    match &with.newest {
        Some((newest, _))
            if *newest < children.p50 && !read_direction::shows_current(relationship, with) =>
        {
            *newest as f64 / children.p50 as f64
        }
        _ => 1.0,
    }
}

fn access(model: &DesignModel, relationship: &Relationship, children: Spread) -> Access {
    let (parent, child) = (relationship.parent.as_str(), relationship.child.as_str());
    let others: Vec<&str> = model
        .relationships
        .iter()
        .filter(|other| other.name != relationship.name)
        .filter(|other| other.child == child || other.parent == child)
        .map(|other| other.name.as_str())
        .collect();
    let (mut all, mut together, mut alone) = (0.0, 0.0, 0.0);
    for read in &model.reads {
        let fetched = read.with.iter().filter(|with| with.relationship == relationship.name);
        let along = fetched.clone().next().is_some();
        let elsewhere = read.with.iter().any(|with| others.contains(&with.relationship.as_str()));
        let begins = read.from == child;
        if !(along || begins || elsewhere) {
            continue;
        }
        all += read.per_second;
        // A read by the parent's id does not count as a read of the child alone, even if it does
        // not read the parent.
        let by_parent = read
            .filter
            .iter()
            .any(|(field, _)| field == parent || relationship.field.as_ref() == Some(field));
        if along {
            let share =
                fetched.map(|with| wanted(with, relationship, children)).fold(0.0, f64::max);
            together += share * read.per_second;
        } else if !(begins && by_parent) {
            alone += read.per_second;
        }
    }
    let of = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    Access { co_read: of(together, all), queried_alone: of(alone, all).unwrap_or(0.0) }
}

/// The writes on both ends of a relationship.
pub(crate) struct Written {
    pub(crate) co_update: Option<f64>,
    pub(crate) child_only_update: f64,
    pub(crate) atomic: bool,
}

/// Summarizes the writes of a relationship. A write of an entity that is embedded in the child
/// counts as an update of the child.
pub(crate) fn written<'w>(
    writes: impl Iterator<Item = &'w DesignWrite> + Clone,
    relationship: &Relationship,
    parts: &BTreeSet<&str>,
) -> Written {
    let (parent, child) = (relationship.parent.as_str(), relationship.child.as_str());
    let of = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    let sum =
        |keep: &dyn Fn(&DesignWrite) -> bool| -> f64 { total(writes.clone().filter(|w| keep(w))) };
    let inside = |write: &DesignWrite| changes_part(write, child, parts);
    let updates_parent = |write: &DesignWrite| write.updates.iter().any(|entity| entity == parent);
    let updates_child =
        |write: &DesignWrite| write.updates.iter().any(|entity| entity == child) || inside(write);
    let touches_child = |write: &DesignWrite| write.touches(child) || inside(write);
    // If both ends are the same entity, only a write with two actions touches two documents.
    let touches_both = |write: &DesignWrite| {
        let does = [&write.inserts, &write.updates, &write.deletes];
        let times = does.iter().filter(|all| all.iter().any(|entity| entity == child)).count();
        touches_child(write) && write.touches(parent) && (child != parent || times > 1)
    };
    let changed = sum(&|w| updates_child(w) || updates_parent(w));
    let child_alone = sum(&|w| updates_child(w) && !w.touches(parent));
    Written {
        co_update: of(sum(&|w| touches_child(w) && w.touches(parent)), sum(&touches_child)),
        child_only_update: of(child_alone, changed).unwrap_or(0.0),
        atomic: writes.clone().any(|w| w.atomic && touches_both(w)),
    }
}
