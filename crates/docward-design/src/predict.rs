//! What one way of storing a relationship does for a declared read or write, and what that moves: for a
//! parent with any number of children. `compare` asks for a typical parent, `design simulate` for the
//! parents that it made, and does what is planned here.

use docward_model::{BsonType, DesignModel, DesignRead, DesignWrite, Relationship, With};

use crate::capacity::ENTRY;
use crate::compare::{OperationCost, Way};
use crate::layout::{Layout, Planned, Rank, document_bytes};
use crate::pattern::Pattern;
use crate::plan::{Decision, Design};
use crate::{Naming, size};

/// How a read is done.
#[derive(Clone, Debug, PartialEq)]
pub enum ReadPlan {
    /// It begins with parents.
    Parents {
        /// How many.
        roots: u64,
        /// Children that are fetched from elsewhere.
        fetch: Fetch,
        /// Whether children that are elsewhere are counted.
        count: bool,
        /// The field of children that are elsewhere which is summed.
        sums: Option<String>,
    },
    /// It begins with children of one parent.
    ChildrenOf {
        /// How many; `None` means all.
        limit: Option<u64>,
        /// Whether the parent is read too.
        parent: bool,
    },
    /// It begins with children of any parent.
    Children {
        /// How many, each of another parent.
        roots: u64,
        /// Whether their parents are read too.
        parent: bool,
    },
}

impl ReadPlan {
    /// Parents that one execution is about.
    pub fn targets(&self) -> u64 {
        match self {
            Self::Parents { roots, .. } | Self::Children { roots, .. } => *roots,
            Self::ChildrenOf { .. } => 1,
        }
    }
}

/// Children that are fetched from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetch {
    /// None: they are not wanted, or are in the parent.
    Nothing,
    /// The newest so many.
    Newest(u64),
    /// All.
    All,
}

/// What a write does to documents of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Act {
    Insert,
    Update,
    Delete,
}

/// How a write is done.
#[derive(Clone, Debug, PartialEq)]
pub struct WritePlan {
    /// What is declared to happen to the parent.
    pub parent: Option<Act>,
    /// What is declared to happen to children.
    pub child: Option<Act>,
    /// Whether it is about all children of the parent, not one.
    pub whole: bool,
    /// Whether the parent is changed only because it keeps a preview, a count or a sum.
    pub follows: bool,
    /// Whether it is all or nothing and needs a transaction.
    pub transaction: bool,
}

/// One way of storing a relationship, with the documents it makes.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictor {
    /// The way.
    pub way: Way,
    /// Whether it was chosen.
    pub chosen: bool,
    /// Fields of a parent, without what the relationship adds.
    pub parent: Vec<Planned>,
    /// Fields of a child, as it is inside a parent.
    pub child: Vec<Planned>,
    /// The field of embedded children.
    pub role: String,
    /// The field of a child by itself that names its parent.
    pub parent_id: String,
    /// Copies of the parent's fields in a child by itself.
    pub copies: Option<Planned>,
    /// The newest children in the parent: the field, how many, and what is kept of each.
    pub preview: Option<(String, u64, Vec<Planned>)>,
    /// The field that counts children in the parent.
    pub count: Option<String>,
    /// Fields of the child that are summed, the field of the parent with the sum, and its type.
    pub sums: Vec<(String, String, BsonType)>,
    /// The field of a child that says which is newest; the id when there is none.
    pub newest_by: Option<String>,
    /// Whether embedded children are looked for without their parent, which needs an index on their ids.
    pub looked_up: bool,
    /// Embedded children beyond so many are cut off.
    pub keep: Option<u64>,
    names: (String, String, String),
    sizes: Sizes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sizes {
    /// Typical, mean, 99th percentile.
    parent: (u64, u64, u64),
    child: u64,
    own_child: u64,
    preview: u64,
}

/// The ways a relationship can be stored, the chosen one first; nothing while it is undecided.
pub fn predictors(
    model: &DesignModel,
    design: &Design,
    naming: Naming,
    relationship: &Relationship,
) -> Vec<Predictor> {
    let Some(decision) = design.decisions.iter().find(|d| d.relationship == relationship.name)
    else {
        return Vec::new();
    };
    if decision.choice.is_none() {
        return Vec::new();
    }
    let layout = Layout { model, decisions: &design.decisions, advice: &design.entities, naming };
    all(&layout, relationship, decision)
}

pub(crate) fn all(
    layout: &Layout<'_>,
    relationship: &Relationship,
    decision: &Decision,
) -> Vec<Predictor> {
    let chosen = crate::compare::chosen(decision);
    let subset = decision.patterns.iter().any(|p| matches!(p, Pattern::Subset { .. }));
    let mut ways = vec![Way::Embed, Way::Reference];
    if subset {
        ways.push(Way::Hybrid);
    }
    ways.sort_by_key(|way| *way != chosen);
    let made = ways.into_iter().map(|way| Predictor::new(layout, relationship, decision, way));
    made.map(|made| Predictor { chosen: made.way == chosen, ..made }).collect()
}

impl Predictor {
    fn new(
        layout: &Layout<'_>,
        relationship: &Relationship,
        decision: &Decision,
        way: Way,
    ) -> Self {
        let model = layout.model;
        // What every other relationship adds to the two is the same in all ways.
        let others: Vec<Decision> = layout
            .decisions
            .iter()
            .filter(|other| other.relationship != decision.relationship)
            .cloned()
            .collect();
        let around = Layout { decisions: &others, ..*layout };
        let document =
            |name: &str| model.entity(name).map(|e| around.document(e)).unwrap_or_default();
        let (parent, child) = (document(&relationship.parent), document(&relationship.child));
        let subset = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::Subset { newest, by, fields } => Some((*newest, by, fields)),
            _ => None,
        });
        let preview = subset.filter(|_| way == Way::Hybrid).map(|(newest, by, fields)| {
            let shown = |field: &&Planned| {
                let name = &field.name;
                name == "_id" || fields.is_empty() || fields.contains(name) || name == by
            };
            let kept: Vec<Planned> = child.iter().filter(shown).cloned().collect();
            (layout.preview(relationship), newest, kept)
        });
        // A design that keeps counts but shows no newest children is a reference with counts.
        let keeps = way == Way::Hybrid || way == Way::Reference && subset.is_none();
        let computed = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::Computed { counts, sums } if keeps => Some((*counts, sums)),
            _ => None,
        });
        let counts = computed.is_some_and(|(counts, _)| counts) || way == Way::Hybrid;
        let sums = computed.map(|(_, sums)| sums.as_slice()).unwrap_or_default();
        let kind = |field: &str| match child.iter().find(|f| f.name == field).map(|f| f.kind) {
            Some(kind @ (BsonType::Decimal | BsonType::Double)) => kind,
            _ => BsonType::Long,
        };
        let copies = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::ExtendedReference { fields, in_parent: false, .. } if way != Way::Embed => {
                let name = layout.naming.field(&[&layout.naming.singular(&relationship.parent)]);
                layout.copies(name, &relationship.parent, fields)
            }
            _ => None,
        });
        let looked_up = model
            .reads
            .iter()
            .any(|read| read.from == relationship.child && !by_parent(read, relationship));
        let along = |read: &DesignRead| {
            let with = read.with.iter().find(|with| with.relationship == relationship.name);
            with.and_then(|with| with.newest.clone()?.1)
        };
        let newest_by = subset
            .map(|(_, by, _)| by.clone())
            .or_else(|| model.reads.iter().find_map(along))
            .or_else(|| {
                let mut of_parent = model
                    .reads
                    .iter()
                    .filter(|r| r.from == relationship.child && by_parent(r, relationship));
                of_parent.find_map(|read| read.sort.first().map(|(field, _)| field.clone()))
            })
            .filter(|by| child.iter().any(|field| field.name == *by));
        let parent_id = layout.naming.id_of(&relationship.parent);
        let mean = |fields: &[Planned]| document_bytes(fields, Rank::Mean);
        let copied =
            copies.as_ref().map_or(0, |c| size::element(&c.name, c.value_bytes(Rank::Mean)));
        let sizes = Sizes {
            parent: (
                document_bytes(&parent, Rank::Typical),
                mean(&parent),
                document_bytes(&parent, Rank::P99),
            ),
            child: mean(&child),
            own_child: mean(&child) + size::element(&parent_id, 12) + copied,
            preview: preview.as_ref().map_or(0, |(_, _, kept)| mean(kept)),
        };
        Self {
            way,
            chosen: false,
            role: relationship.role().to_owned(),
            parent_id,
            copies,
            preview,
            count: counts.then(|| layout.count(relationship)),
            sums: sums
                .iter()
                .map(|of| (of.clone(), layout.sum(relationship, of).sum, kind(of)))
                .collect(),
            newest_by,
            looked_up,
            keep: relationship.keep_newest,
            names: (
                relationship.name.clone(),
                relationship.parent.clone(),
                relationship.child.clone(),
            ),
            sizes,
            parent,
            child,
        }
    }

    /// Bytes of a parent that has so many children; its own fields at a rank.
    pub fn parent_bytes(&self, children: u64, rank: Rank) -> u64 {
        let (typical, mean, p99) = self.sizes.parent;
        let own = match rank {
            Rank::Typical => typical,
            Rank::Mean => mean,
            Rank::P99 | Rank::Max => p99,
        };
        if self.way == Way::Embed {
            let held = size::element(&self.role, size::array(children, self.sizes.child));
            return own.saturating_add(held);
        }
        let preview = self.preview.as_ref().map_or(0, |(name, newest, _)| {
            size::element(name, size::array(children.min(*newest), self.sizes.preview))
        });
        let count = self.count.as_ref().map_or(0, |name| size::element(name, 8));
        let sums = self.sums.iter().map(|(_, name, kind)| {
            size::element(name, if *kind == BsonType::Decimal { 16 } else { 8 })
        });
        own.saturating_add(preview).saturating_add(count + sums.sum::<u64>())
    }

    /// Bytes of a child by itself, at the mean.
    pub fn own_child(&self) -> u64 {
        self.sizes.own_child
    }

    /// The most children that fit into a parent below a size.
    pub fn fitting(&self, bytes: u64) -> u64 {
        size::fitting(bytes.saturating_sub(self.sizes.parent.2), self.sizes.child)
    }

    /// Bytes of all documents of parents that have so many children each, and of the index that the way
    /// needs beside those on `_id`.
    pub fn storage(&self, children: &[u64]) -> (u64, u64) {
        let held: u64 = children.iter().map(|n| self.parent_bytes(*n, Rank::Mean)).sum();
        let all: u64 = children.iter().sum();
        match self.way {
            Way::Embed => (held, if self.looked_up { all * ENTRY } else { 0 }),
            _ => (held + all * self.sizes.own_child, all * ENTRY),
        }
    }

    /// How a read is done; `None` when it reaches the two from elsewhere.
    pub fn plan_read(&self, read: &DesignRead) -> Option<ReadPlan> {
        let (name, parent, child) = &self.names;
        let with = read.with.iter().find(|with| with.relationship == *name);
        let roots = read.limit.unwrap_or(1).max(1);
        if read.from == *parent {
            let elsewhere = self.way != Way::Embed;
            let fetch = match with {
                Some(with) if elsewhere => self.fetch(with),
                _ => Fetch::Nothing,
            };
            let count = elsewhere && self.count.is_none() && read.counts.contains(name);
            let summed = read.sums.iter().find(|(of, field)| {
                of == name && elsewhere && !self.sums.iter().any(|(kept, _, _)| kept == field)
            });
            let sums = summed.map(|(_, field)| field.clone());
            return Some(ReadPlan::Parents { roots, fetch, count, sums });
        }
        if read.from != *child {
            return None;
        }
        // What is copied into the child needs no parent.
        let wanted = with.is_some_and(|with| {
            let copied = |field: &String| {
                self.copies.as_ref().is_some_and(|c| c.fields.iter().any(|f| f.name == *field))
            };
            with.fields.is_empty() || !with.fields.iter().all(copied)
        });
        let parent = wanted && self.way != Way::Embed;
        Some(if is_by(read, name, &self.names.1) {
            // Without more conditions and without a limit it is all of them.
            let all = read.limit.is_none() && read.filter.len() == 1;
            ReadPlan::ChildrenOf { limit: (!all).then_some(roots), parent }
        } else {
            ReadPlan::Children { roots, parent }
        })
    }

    fn fetch(&self, with: &With) -> Fetch {
        let kept = self.preview.as_ref();
        match &with.newest {
            Some((newest, _)) if kept.is_some_and(|(_, kept, _)| newest <= kept) => Fetch::Nothing,
            Some((newest, _)) => Fetch::Newest(*newest),
            None => Fetch::All,
        }
    }

    /// What a read costs when the parents it is about have so many children each.
    pub fn read(
        &self,
        read: &DesignRead,
        plan: Option<&ReadPlan>,
        children: &[u64],
    ) -> OperationCost {
        let held = |n: u64| self.parent_bytes(n, Rank::Mean) as f64;
        let apart = self.sizes.own_child as f64;
        let embedded = self.way == Way::Embed;
        let (mut documents, mut bytes, mut entries) = (0.0, 0.0, 0.0);
        for n in children {
            let some = *n as f64;
            let (parents, fetched) = match plan {
                Some(ReadPlan::Parents { fetch, count, sums, .. }) => {
                    entries += if *count { some } else { 0.0 };
                    let fetched = match fetch {
                        Fetch::Nothing => 0.0,
                        Fetch::Newest(newest) => (*newest).min(*n) as f64,
                        Fetch::All => some,
                    };
                    (1.0, fetched + if sums.is_some() { some } else { 0.0 })
                }
                // The parent is read as a whole to get at one child.
                Some(_) if embedded => (1.0, 0.0),
                Some(ReadPlan::ChildrenOf { limit, parent }) => {
                    (f64::from(*parent), limit.map_or(some, |limit| limit.min(*n) as f64))
                }
                Some(ReadPlan::Children { parent, .. }) => (f64::from(*parent), 1.0),
                // Reached from elsewhere: a document of each that is not part of the other.
                None => (1.0, if embedded { 0.0 } else { 1.0 }),
            };
            documents += parents + fetched;
            bytes += parents * held(*n) + fetched * apart;
        }
        OperationCost {
            name: read.name.clone(),
            writes: false,
            per_second: read.per_second,
            documents,
            bytes,
            entries,
            transaction: false,
        }
    }

    /// How a write is done.
    pub fn plan_write(&self, write: &DesignWrite) -> WritePlan {
        let (_, parent, child) = &self.names;
        // What is inserted or updated is updated most of the time.
        let act = |name: &String| {
            if write.updates.contains(name) {
                Some(Act::Update)
            } else if write.inserts.contains(name) {
                Some(Act::Insert)
            } else if write.deletes.contains(name) {
                Some(Act::Delete)
            } else {
                None
            }
        };
        let (on_parent, on_child) = (act(parent), act(child));
        let keeps = self.count.is_some() || self.preview.is_some() || !self.sums.is_empty();
        WritePlan {
            parent: on_parent,
            child: on_child,
            whole: on_parent == on_child && matches!(on_parent, Some(Act::Insert | Act::Delete)),
            follows: keeps
                && on_parent.is_none()
                && matches!(on_child, Some(Act::Insert | Act::Delete)),
            transaction: write.atomic
                && on_parent.is_some()
                && on_child.is_some()
                && self.way != Way::Embed,
        }
    }

    /// What a write costs when its parent has so many children before it.
    pub fn write(&self, write: &DesignWrite, plan: &WritePlan, children: u64) -> OperationCost {
        let after = match plan.child {
            _ if plan.whole => children,
            _ if plan.parent == Some(Act::Insert) => u64::from(plan.child.is_some()),
            Some(Act::Insert) if self.way == Way::Embed => {
                (children + 1).min(self.keep.unwrap_or(u64::MAX))
            }
            Some(Act::Insert) => children + 1,
            Some(Act::Delete) => children.saturating_sub(1),
            _ => children,
        };
        let held = self.parent_bytes(after, Rank::Mean) as f64;
        let moved = |act: Option<Act>| matches!(act, Some(Act::Insert | Act::Delete));
        let own = match (plan.child, plan.whole) {
            (None, _) => 0.0,
            (_, true) => children as f64,
            _ => 1.0,
        };
        let mut entries = f64::from(moved(plan.parent));
        let (documents, bytes) = if self.way == Way::Embed {
            if self.looked_up && moved(plan.child) {
                entries += own;
            }
            (1.0, held)
        } else {
            // The index on `_id` and the one on the parent's id.
            entries += if moved(plan.child) { 2.0 * own } else { 0.0 };
            let parents = f64::from(plan.parent.is_some() || plan.follows);
            (parents + own, parents * held + own * self.sizes.own_child as f64)
        };
        OperationCost {
            name: write.name.clone(),
            writes: true,
            per_second: write.per_second,
            documents,
            bytes,
            entries,
            transaction: plan.transaction,
        }
    }
}

/// Whether a read asks for children by the id of their parent.
fn by_parent(read: &DesignRead, relationship: &Relationship) -> bool {
    is_by(read, &relationship.name, &relationship.parent)
}

fn is_by(read: &DesignRead, relationship: &str, parent: &str) -> bool {
    read.filter.iter().any(|(field, _)| field == parent || field == relationship)
}
