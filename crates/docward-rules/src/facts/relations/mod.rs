//! The evidence of data and workload for embedding or referencing (ER-*, DM-07.*, LM-7): the facts for the engine
//! that `docward design` uses. Data alone only suggests a choice: only a workload can show what is read and written
//! together (ER-X.1), see [`Access`].

pub mod access;
pub mod copies;
pub mod joins;

use docward_design::{Bounds, Facts, Growth, Kind, Ruling, decide};
use docward_model::{BsonType, Collection, Evidence, Field, Namespace, Reference, Spread};

use crate::facts::relations::access::{Access, Share};
use crate::facts::values::classes::enclosing_array;
use crate::facts::{
    growth::arrays,
    names::{self, meaning},
    text,
};

/// Documents that accumulate for each customer. As a list in a document, they may be few.
const PAPERS: [&str; 6] = ["invoice", "shipment", "delivery", "receipt", "refund", "notice"];

/// Whether the reference is in the `_id` and also in a field next to it, as in copies of array elements. Queries use
/// the field next to the `_id`.
pub fn is_copy_in_id(collection: &Collection, reference: &Reference) -> bool {
    let inside = reference.path.as_str().strip_prefix("_id.");
    let beside = |name| collection.profile.as_ref()?.field(name);
    inside.and_then(beside).is_some()
}

/// The side that holds the id of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// Every parent has at most one child.
    OneToOne,
    /// Each child refers to its one parent.
    ChildHoldsParent,
    /// A parent lists its children, which no other parent lists.
    ParentHoldsChildren,
    /// Ids in arrays, each listed by several; or a collection whose documents link two others.
    ManyToMany,
}

/// A reference with the facts about its two ends.
#[derive(Clone, Debug)]
pub struct Relation<'a> {
    /// The reference.
    pub reference: &'a Reference,
    /// The side that holds the id of the other.
    pub tie: Tie,
    /// The side that would hold embedded documents.
    pub parent: &'a Collection,
    /// The side that would be embedded.
    pub child: &'a Collection,
    /// Children per parent: median, 99th percentile, maximum.
    pub children: (u64, u64, u64),
    /// The mean size of a child in bytes.
    pub child_bytes: u64,
    /// The 99th percentile of the parent's size in bytes.
    pub parent_p99: u64,
    /// Whether both collections were read completely, so that the counts are not too low.
    pub complete: bool,
    /// Whether the children of every parent were counted. Otherwise the parent with the most children may be
    /// missing from the counts.
    pub is_maximum_known: bool,
    /// Other collections that refer to the child.
    pub shared_by: Vec<&'a Namespace>,
    /// Other collections that the child refers to, each with many children: it can be embedded in only one parent.
    pub other_parents: Vec<&'a Namespace>,
    /// The shares from the workload.
    pub access: Access,
}

impl<'a> Relation<'a> {
    /// Reads a reference; `None` if one of its ends was not read.
    pub fn of(evidence: &'a Evidence, reference: &'a Reference) -> Option<Self> {
        let from = evidence.collection(&reference.from)?;
        let to = evidence.collection(&reference.to)?;
        let (from_profile, to_profile) = (from.profile.as_ref()?, to.profile.as_ref()?);
        let per_target = &reference.children_per_parent;
        let listed = reference.path.in_array();
        let tie = match (listed, per_target.max) {
            (true, 0..=1) => Tie::ParentHoldsChildren,
            (true, _) => Tie::ManyToMany,
            (false, 0..=1) => Tie::OneToOne,
            (false, _) => Tie::ChildHoldsParent,
        };
        let (parent, child) = if tie == Tie::ParentHoldsChildren { (from, to) } else { (to, from) };
        let other_parents = other_parents(evidence, &child.namespace, &parent.namespace);
        let is_junction = tie == Tie::ChildHoldsParent
            && !other_parents.is_empty()
            && links_two(evidence, child)
            && owner(child, &parent.namespace, &other_parents).is_none();
        let tie = if is_junction { Tie::ManyToMany } else { tie };
        let lengths = if tie == Tie::ParentHoldsChildren {
            let field = from_profile.field(reference.path.as_str())?;
            &enclosing_array(from_profile, field)?.array.as_ref()?.lengths
        } else {
            per_target
        };
        let shared_by = evidence
            .references
            .iter()
            .filter(|r| r.to == child.namespace && r.from != child.namespace)
            .filter(|r| r.from != parent.namespace)
            .map(|r| &r.from)
            .collect();
        Some(Self {
            reference,
            tie,
            parent,
            child,
            children: (lengths.p50(), lengths.p99(), lengths.max),
            child_bytes: child.profile.as_ref()?.sizes.mean().ceil() as u64,
            parent_p99: parent.profile.as_ref()?.sizes.p99(),
            complete: from_profile.documents >= from_profile.total
                && to_profile.documents >= to_profile.total,
            is_maximum_known: tie == Tie::ParentHoldsChildren
                || per_target.count as f64 >= reference.parents.round(),
            shared_by,
            other_parents,
            access: Access::of(evidence, reference, tie, (&parent.namespace, &child.namespace)),
        })
    }

    /// The parent that the child belongs to by its name.
    fn owner(&self) -> Option<&'a Namespace> {
        owner(self.child, &self.parent.namespace, &self.other_parents)
    }

    /// The other parents that could equally hold the child.
    pub fn rivals(&self) -> &[&'a Namespace] {
        if self.owner() == Some(&self.parent.namespace) { &[] } else { &self.other_parents }
    }

    /// Whether a parent continuously receives new children, by their name: orders, comments, messages. Lines of orders
    /// do for a product, but not for the order.
    pub fn keeps_coming(&self) -> bool {
        let parent = names::words(&self.parent.namespace.collection);
        let is_new = |word: &String| {
            arrays::names_what_keeps_coming(word)
                || PAPERS.contains(&meaning::singular(word).as_str())
        };
        matches!(self.tie, Tie::ChildHoldsParent | Tie::ParentHoldsChildren)
            && names::words(&self.child.namespace.collection)
                .iter()
                .any(|word| is_new(word) && !parent.contains(word))
    }

    /// The facts that decide, as far as data and workload show them.
    pub fn facts(&self) -> Facts {
        let (p50, p99, max) = self.children;
        let owner = self.owner().filter(|owner| **owner != self.parent.namespace);
        let shared = match (self.shared_by.first(), owner, self.tie) {
            (Some(by), ..) => Some(format!("also referred to by `{by}`")),
            (None, Some(owner), _) => Some(format!("part of `{owner}` by its name")),
            (None, None, Tie::ManyToMany) => Some("shared by many".to_owned()),
            (None, None, _) => None,
        };
        Facts {
            kind: match self.tie {
                Tie::OneToOne => Kind::OneToOne,
                Tie::ChildHoldsParent | Tie::ParentHoldsChildren => Kind::OneToMany,
                Tie::ManyToMany => Kind::ManyToMany,
            },
            children: Spread { p50, p95: p99, p99, max },
            growth: if self.keeps_coming() {
                let name = &self.child.namespace.collection;
                Growth::LooksEndless(format!(
                    "documents are added to `{name}` continuously, so the list is unbounded"
                ))
            } else {
                Growth::Unknown
            },
            paged_per_year: None,
            child_bytes: self.child_bytes,
            child_p99: self.child_bytes,
            parent_bytes: self.parent_p99,
            co_read: self.access.co_read.map(Share::value),
            co_update: self.access.co_update,
            child_only_update: self.access.child_only_update,
            queried_alone: self.access.queried_alone,
            atomic: self.access.atomic(),
            must_be_current: None,
            shared,
            lists_ids: self.tie == Tie::ParentHoldsChildren,
        }
    }

    /// The maximum number of children of a parent, in words.
    pub fn maximum(&self) -> String {
        let most = text::count(self.children.2);
        match self.complete && self.is_maximum_known {
            true => format!("{most} at most"),
            false => format!("at least {most} for the largest"),
        }
    }

    /// Bytes of a parent at the 99th percentile with its children embedded.
    pub fn projected(&self) -> u64 {
        self.facts().projected()
    }
}

/// The minimum share of the values that must exist on the other side, for a reference to identify a parent.
pub const SURE: f64 = 0.9;
/// Maximum number of other values in a document that only links two others: a grade, a role, two days.
const LINK_VALUES: usize = 3;

/// Collections other than `parent` to which documents of `child` refer, one each, many of them to the same document.
fn other_parents<'a>(
    evidence: &'a Evidence,
    child: &Namespace,
    parent: &Namespace,
) -> Vec<&'a Namespace> {
    let mut parents: Vec<&Namespace> = evidence
        .references
        .iter()
        .filter(|r| r.from == *child && r.to != *child && r.to != *parent)
        .filter(|r| !r.path.in_array() && r.children_per_parent.max > 1 && r.agreement() >= SURE)
        .map(|r| &r.to)
        .collect();
    parents.sort();
    parents.dedup();
    parents
}

/// Whether a document contains two references and few other fields: numbers, switches and days, no text.
fn links_two(evidence: &Evidence, child: &Collection) -> bool {
    let Some(profile) = &child.profile else { return false };
    let is_reference = |field: &&Field| {
        evidence.references.iter().any(|r| r.from == child.namespace && r.path == field.path)
    };
    let values: Vec<&Field> =
        profile.top_level().filter(|f| f.name != "_id" && !is_reference(f)).collect();
    let is_value = |field: &&Field| {
        field.array.is_none()
            && field.types.of(BsonType::Object) == 0
            && (field.types.of(BsonType::String) == 0 || meaning::is_status(&field.name))
    };
    values.len() <= LINK_VALUES && values.iter().all(is_value)
}

/// Returns the one parent whose name the child's name begins with or contains: `t_order_item` and `t_order_line` are
/// parts of `t_order` and `t_order_head`, regardless of other references. A name that consists of two parents
/// (`user_group`) names no owner.
fn owner<'a>(
    child: &Collection,
    parent: &'a Namespace,
    others: &[&'a Namespace],
) -> Option<&'a Namespace> {
    let nouns = |name: &str| -> Vec<String> {
        let words = names::words(name).into_iter().filter(|word| word.len() > 1);
        words.map(|word| meaning::singular(&word)).collect()
    };
    let own = nouns(&child.namespace.collection);
    let is_named =
        |parent: &&&'a Namespace| nouns(&parent.collection).iter().any(|noun| own.contains(noun));
    let all: Vec<&'a Namespace> = std::iter::once(parent).chain(others.iter().copied()).collect();
    let mut named = all.iter().filter(is_named);
    let first = named.next().copied();
    first.filter(|_| named.next().is_none())
}

/// Returns the ruling from data and workload. Questions that only a missing workload could answer stay open.
pub fn ruling(relation: &Relation<'_>, bounds: &Bounds) -> Ruling {
    decide(&relation.facts(), bounds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use docward_design::{Choice, Vote};
    use docward_model::{BsonType, Distribution, FieldPath, Profile};

    pub(crate) fn distribution(value: u64, count: u64) -> Distribution {
        Distribution {
            count,
            min: value,
            max: value,
            sum: value * count,
            buckets: vec![(value, value, count)],
            exact: None,
        }
    }

    fn evidence(children: u64, child_bytes: u64) -> Evidence {
        let of = |name: &str, documents: u64, bytes: u64| {
            let mut c = Collection::named(Namespace::new("db_shop", name));
            c.profile = Some(Profile {
                documents,
                total: documents,
                sizes: distribution(bytes, documents),
                ..Profile::default()
            });
            c
        };
        Evidence {
            collections: vec![
                of("t_picture", 100 * children, child_bytes),
                of("t_post", 100, 1000),
            ],
            references: vec![Reference {
                from: Namespace::new("db_shop", "t_picture"),
                path: FieldPath::new("postId"),
                to: Namespace::new("db_shop", "t_post"),
                to_path: FieldPath::new("_id"),
                contained: 1.0,
                references_contained: 1.0,
                checked_values: 100,
                from_type: BsonType::ObjectId,
                to_type: BsonType::ObjectId,
                needs_conversion: false,
                children_per_parent: distribution(children, 100),
                parents: 100.0,
                parents_per_child: 1.0,
                looked_up: false,
            }],
            ..Evidence::default()
        }
    }

    fn vote_of(children: u64, child_bytes: u64, row: &str) -> Vote {
        let evidence = evidence(children, child_bytes);
        let relation = Relation::of(&evidence, &evidence.references[0]).unwrap();
        let rows = ruling(&relation, &Bounds::default()).rows;
        rows.iter().find(|r| r.rows.contains(&row)).unwrap_or_else(|| panic!("{row}")).vote
    }

    fn lean_of(children: u64, child_bytes: u64) -> Choice {
        let evidence = evidence(children, child_bytes);
        let relation = Relation::of(&evidence, &evidence.references[0]).unwrap();
        ruling(&relation, &Bounds::default()).choice
    }

    #[test]
    fn lm_7_49_and_50_and_999_and_1000_change_the_vote() {
        assert_eq!(vote_of(49, 100, "LM-7"), Vote::Embed);
        assert_eq!(vote_of(50, 100, "LM-7"), Vote::Open);
        assert_eq!(vote_of(999, 100, "LM-7"), Vote::Open);
        assert_eq!(vote_of(1000, 100, "LM-7"), Vote::Veto);
    }

    #[test]
    fn er_t_1_few_children_vote_to_embed() {
        assert_eq!(vote_of(49, 200, "ER-T.1"), Vote::Embed);
        assert_eq!(lean_of(49, 200), Choice::Embed);
        assert_eq!(vote_of(50, 200, "ER-T.2"), Vote::Open);
        assert_eq!(vote_of(50, 200, "ER-T.3"), Vote::Open);
    }

    #[test]
    fn er_f_6_few_embed_and_many_refer() {
        assert_eq!(vote_of(4, 200, "ER-F.6"), Vote::Embed);
        assert_eq!(vote_of(400, 200, "ER-F.6"), Vote::Reference);
    }

    #[test]
    fn dm_07_3_four_small_children_vote_to_embed() {
        for row in ["DM-07.3", "ER-M.4", "ER-F.3"] {
            assert_eq!(vote_of(4, 200, row), Vote::Embed);
            assert_eq!(vote_of(40, 20_000, row), Vote::Reference);
        }
    }

    #[test]
    fn er_m_6_a_projected_12_mb_vetoes_whatever_else_votes() {
        assert_eq!(vote_of(12, 1_048_576, "ER-M.6"), Vote::Veto);
        assert_eq!(lean_of(12, 1_048_576), Choice::Reference);
    }

    #[test]
    fn er_f_7_one_megabyte_is_no_veto() {
        assert_eq!(vote_of(10, 104_000, "ER-F.7"), Vote::Embed);
        assert_eq!(vote_of(12, 1_048_576, "ER-F.7"), Vote::Veto);
    }

    #[test]
    fn dm_07_5_many_to_many_refers() {
        let mut evidence = evidence(30, 100);
        evidence.references[0].path = FieldPath::new("courseIds[]");
        let relation = Relation::of(&evidence, &evidence.references[0]).unwrap();
        assert_eq!(relation.tie, Tie::ManyToMany);
        let Ruling { rows, choice, .. } = ruling(&relation, &Bounds::default());
        assert_eq!(choice, Choice::Reference);
        for row in ["DM-07.5", "ER-M.3", "DM-07.6", "ER-M.5"] {
            let said = rows.iter().find(|r| r.rows.contains(&row)).unwrap();
            assert_eq!(said.vote, Vote::Reference, "{row}");
        }
    }
}
