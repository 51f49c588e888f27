//! What embedding, referencing and a hybrid would cost, operation by operation. `design simulate`
//! measures the same figures on a server.

use std::collections::BTreeSet;

use docward_model::{ChildGrowth, DesignModel, DesignRead, DesignWrite, Relationship};

use crate::capacity::{Crossing, ENTRY, YEARS, crossings};
use crate::decide::Choice;
use crate::pattern::Pattern;
use crate::plan::Decision;
use crate::size;

/// A way to store a relationship.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// All children in the parent.
    Embed,
    /// All children by themselves.
    Reference,
    /// All by themselves, the newest few and a count in the parent as well.
    Hybrid,
}

impl Way {
    /// The word in JSON and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Embed => "embed",
            Self::Reference => "reference",
            Self::Hybrid => "hybrid",
        }
    }
}

/// What one way costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    /// The way.
    pub way: Way,
    /// Whether it was chosen.
    pub chosen: bool,
    /// Each operation that touches parent or child.
    pub operations: Vec<OperationCost>,
    /// Bytes of a parent: years from now, typical, 99th percentile, most.
    pub parent: Vec<(u32, u64, u64, u64)>,
    /// When the parent crosses the tiers, at the 99th percentile.
    pub crossings: Vec<Crossing>,
    /// Bytes of parents and children now.
    pub storage: Option<u64>,
    /// Bytes of the indexes that the relationship needs, beside those on `_id`.
    pub index_bytes: Option<u64>,
}

/// What an operation costs.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationCost {
    /// Its name in the model.
    pub name: String,
    /// Whether it writes.
    pub writes: bool,
    /// Times a second.
    pub per_second: f64,
    /// Documents read or written, one time.
    pub documents: f64,
    /// Bytes read from, or written to, storage, one time.
    pub bytes: f64,
    /// Index entries that are written, one time.
    pub entries: f64,
    /// Whether it is all or nothing and needs a transaction.
    pub transaction: bool,
}

impl Alternative {
    /// A sum over operations, a second.
    pub fn per_second(&self, writes: bool, of: impl Fn(&OperationCost) -> f64) -> f64 {
        let kept = self.operations.iter().filter(|cost| cost.writes == writes);
        kept.map(|cost| cost.per_second * of(cost)).sum()
    }
}

pub(crate) fn alternatives(
    model: &DesignModel,
    relationship: &Relationship,
    decision: &Decision,
    touched: &[BTreeSet<&str>],
) -> Vec<Alternative> {
    let preview = decision.patterns.iter().find_map(|pattern| match pattern {
        Pattern::Subset { newest, .. } => Some(*newest),
        _ => None,
    });
    let chosen = match (decision.choice, preview) {
        (Some(Choice::Embed), _) => Way::Embed,
        (_, Some(_)) => Way::Hybrid,
        _ => Way::Reference,
    };
    let mut ways = vec![Way::Embed, Way::Reference];
    if preview.is_some() {
        ways.push(Way::Hybrid);
    }
    ways.sort_by_key(|way| *way != chosen);
    ways.into_iter()
        .map(|way| {
            let cost =
                Cost { model, relationship, decision, touched, way, preview: preview.unwrap_or(0) };
            cost.alternative(way == chosen)
        })
        .collect()
}

struct Cost<'m> {
    model: &'m DesignModel,
    relationship: &'m Relationship,
    decision: &'m Decision,
    /// The entities of each read.
    touched: &'m [BTreeSet<&'m str>],
    way: Way,
    preview: u64,
}

impl Cost<'_> {
    fn alternative(&self, chosen: bool) -> Alternative {
        let (parent, child) = (&self.relationship.parent, &self.relationship.child);
        let mut operations = Vec::new();
        for (read, touched) in self.model.reads.iter().zip(self.touched) {
            if touched.contains(parent.as_str()) || touched.contains(child.as_str()) {
                operations.push(self.read(read));
            }
        }
        for write in &self.model.writes {
            if write.touches(parent) || write.touches(child) {
                operations.push(self.write(write));
            }
        }
        let spread = self.decision.facts.children;
        let (typical, p99) = match self.relationship.growth {
            Some(ChildGrowth::Endless { typical, p99 })
                if self.relationship.keep_newest.is_none() =>
            {
                (typical, p99)
            }
            _ => (0.0, 0.0),
        };
        let sizes = YEARS
            .map(|years| {
                let more = |yearly: f64| (yearly * f64::from(years)) as u64;
                let sized = |count: u64| self.parent_bytes(count);
                (
                    years,
                    sized(spread.p50.saturating_add(more(typical))),
                    sized(spread.p99.saturating_add(more(p99))),
                    sized(spread.max.saturating_add(more(p99))),
                )
            })
            .to_vec();
        let crossings = if self.way == Way::Embed {
            let base = size::element(self.relationship.role(), self.decision.facts.parent_bytes);
            crossings(base, self.child(), spread.p99, p99, self.model.as_of)
        } else {
            Vec::new()
        };
        let parents = self.model.entity(parent).and_then(|entity| entity.count);
        let children = match self.model.entity(child).and_then(|entity| entity.count) {
            Some(count) => Some(count),
            None => parents.map(|parents| parents * spread.p50 as f64),
        };
        let mean =
            |parents: f64, children: f64| if parents > 0.0 { children / parents } else { 0.0 };
        let storage = parents.zip(children).map(|(parents, children)| {
            let held = self.parent_bytes(mean(parents, children).round() as u64) as f64;
            let apart = match self.way {
                Way::Embed => 0.0,
                _ => children * self.own_child() as f64,
            };
            (parents * held + apart) as u64
        });
        let index_bytes = match self.way {
            Way::Embed => Some(0),
            _ => children.map(|children| (children * ENTRY as f64) as u64),
        };
        Alternative {
            way: self.way,
            chosen,
            operations,
            parent: sizes,
            crossings,
            storage,
            index_bytes,
        }
    }

    /// Bytes of a child inside its parent.
    fn child(&self) -> u64 {
        self.decision.facts.child_bytes
    }

    /// Bytes of a child by itself: with the id of its parent.
    fn own_child(&self) -> u64 {
        self.child().saturating_add(size::element("parentId", 12))
    }

    /// Bytes of a parent that has so many children.
    fn parent_bytes(&self, children: u64) -> u64 {
        let own = self.decision.facts.parent_bytes;
        let held = match self.way {
            Way::Embed => children,
            Way::Reference => return own,
            Way::Hybrid => children.min(self.preview),
        };
        size::element(self.relationship.role(), size::array(held, self.child())).saturating_add(own)
    }

    /// Children of a typical parent.
    fn typical(&self) -> u64 {
        self.decision.facts.children.p50
    }

    fn read(&self, read: &DesignRead) -> OperationCost {
        let (parent, child) = (&self.relationship.parent, &self.relationship.child);
        let roots = read.limit.unwrap_or(1).max(1) as f64;
        let with = read.with.iter().find(|with| with.relationship == self.relationship.name);
        let held = self.parent_bytes(self.typical()) as f64;
        let apart = self.own_child() as f64;
        let (documents, bytes) = if read.from == *parent {
            match (self.way, with) {
                (Way::Embed, _) => (1.0, held),
                (_, None) => {
                    // A count or a sum over children that are elsewhere reads their index or them.
                    let repeated = read.counts.contains(&self.relationship.name)
                        || read.sums.iter().any(|(of, _)| *of == self.relationship.name);
                    let summed = read.sums.iter().any(|(of, _)| *of == self.relationship.name);
                    match (self.way, repeated) {
                        (Way::Reference, true) if summed => {
                            let all = self.typical() as f64;
                            (1.0 + all, held + all * apart)
                        }
                        (Way::Reference, true) => {
                            (1.0, held + self.typical() as f64 * ENTRY as f64)
                        }
                        _ => (1.0, held),
                    }
                }
                (way, Some(with)) => {
                    let wanted = with
                        .newest
                        .as_ref()
                        .map_or(self.typical(), |(n, _)| (*n).min(self.typical()));
                    if way == Way::Hybrid && with.newest.is_some() && wanted <= self.preview {
                        (1.0, held)
                    } else {
                        (1.0 + wanted as f64, held + wanted as f64 * apart)
                    }
                }
            }
        } else if read.from == *child {
            match (self.way, with) {
                // The parent is read as a whole to get at one child.
                (Way::Embed, _) => (1.0, held),
                (_, Some(_)) => (2.0, apart + held),
                (_, None) => (1.0, apart),
            }
        } else {
            // Reached from elsewhere: a document of each that is not part of the other.
            match self.way {
                Way::Embed => (1.0, held),
                _ => (2.0, held + apart),
            }
        };
        OperationCost {
            name: read.name.clone(),
            writes: false,
            per_second: read.per_second,
            documents: documents * roots,
            bytes: bytes * roots,
            entries: 0.0,
            transaction: false,
        }
    }

    fn write(&self, write: &DesignWrite) -> OperationCost {
        let (parent, child) = (&self.relationship.parent, &self.relationship.child);
        let names = |list: &Vec<String>, name: &String| list.contains(name);
        let held = self.parent_bytes(self.typical()) as f64;
        let apart = self.own_child() as f64;
        let on_parent = write.touches(parent);
        let on_child = write.touches(child);
        // A parent that is inserted with its children comes with all of them.
        let children = if names(&write.inserts, child) && names(&write.inserts, parent) {
            self.typical() as f64
        } else {
            1.0
        };
        let inserted = names(&write.inserts, child) || names(&write.deletes, child);
        let (documents, bytes, entries) = match self.way {
            Way::Embed => {
                let entries = if names(&write.inserts, parent) || names(&write.deletes, parent) {
                    1.0
                } else {
                    0.0
                };
                (1.0, held, entries)
            }
            way => {
                let follows = way == Way::Hybrid && on_child && inserted;
                let parents = if on_parent || follows { 1.0 } else { 0.0 };
                let own = if on_child { children } else { 0.0 };
                // The index on `_id` and the one on the parent's id.
                let entries = if inserted { 2.0 * own } else { 0.0 };
                let parent_entries =
                    if names(&write.inserts, parent) || names(&write.deletes, parent) {
                        1.0
                    } else {
                        0.0
                    };
                (parents + own, parents * held + own * apart, entries + parent_entries)
            }
        };
        OperationCost {
            name: write.name.clone(),
            writes: true,
            per_second: write.per_second,
            documents,
            bytes,
            entries,
            transaction: write.atomic && on_parent && on_child && self.way != Way::Embed,
        }
    }
}
