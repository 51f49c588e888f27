//! Predicts how an alternative executes each declared operation, and how much data that moves.

use docward_model::{DesignRead, DesignWrite, With};

use crate::cost::access_plan::{Act, Fetch, Link, ReadPlan, WritePlan};
use crate::cost::predict::{Predictor, View};
use crate::decide::alternative::{OperationCost, StorageAlternative};
use crate::declared::field_plan::Planned;
use crate::declared::read_direction::{is_by, is_ordered_by, is_picked, names_role};
use crate::layout::fields::Figure;

impl Predictor {
    /// Returns how a read is executed, or `None` if it begins with another entity.
    pub fn plan_read(&self, read: &DesignRead) -> Option<ReadPlan> {
        let (name, parent, child) = &self.names;
        let with = read.with.iter().find(|with| with.relationship == *name);
        let roots = self.roots_of(read);
        if read.from == *parent {
            let asked = with.is_some()
                || read.counts.contains(name)
                || read.sums.iter().any(|(of, _)| of == name);
            if self.is_shared() && !asked && names_role(read, &self.role) {
                let by_ids = matches!(self.link, Link::Pairs | Link::ParentIds);
                let all = by_ids && self.way != StorageAlternative::Embed && is_picked(read);
                return Some(ReadPlan::ParentsOf { limit: read.limit, all });
            }
            return Some(self.plan_from_parents(read));
        }
        if read.from != *child {
            return None;
        }
        let wanted = with.is_some_and(|with| self.wants_parent(with));
        let parent = wanted && (self.way != StorageAlternative::Embed || self.is_shared());
        Some(if is_by(read, name, &self.names.1) {
            // A read with only this filter and no limit returns all children. Additional conditions
            // reduce the number by an unknown amount.
            let limit = match read.filter.len() {
                1 => read.limit,
                _ => Some(read.limit.unwrap_or(1)),
            };
            let all = self.is_found_by_ids() && is_picked(read) && !self.has_order(read);
            ReadPlan::ChildrenOf { limit, all, parent }
        } else {
            ReadPlan::Children { roots, parent }
        })
    }

    /// Whether the children of a parent are found through a list of ids, which has no useful order.
    fn is_found_by_ids(&self) -> bool {
        self.way != StorageAlternative::Embed && matches!(self.link, Link::Pairs | Link::ChildIds)
    }

    /// Whether junction documents have copies of the sort fields of a read, with an index on them.
    fn has_order(&self, read: &DesignRead) -> bool {
        self.link == Link::Pairs && is_ordered_by(read, &self.copied)
    }

    /// Whether all children of a parent are read to find its newest.
    pub fn reads_all_for_newest(&self) -> bool {
        let is_copied = |by: &String| self.link == Link::Pairs && self.copied.contains(by);
        self.is_found_by_ids()
            && self.newest_by.as_ref().is_some_and(|by| by != "_id" && !is_copied(by))
    }

    /// Returns how a read that has parents gets their children.
    fn plan_from_parents(&self, read: &DesignRead) -> ReadPlan {
        let name = &self.names.0;
        let elsewhere = self.way != StorageAlternative::Embed;
        let with = read.with.iter().find(|with| with.relationship == *name);
        let fetch = match with {
            Some(with) if elsewhere => self.fetch(with),
            _ => Fetch::Nothing,
        };
        let listed = self.link == Link::ChildIds;
        let count = elsewhere && !listed && !self.counts() && read.counts.contains(name);
        let summed = read.sums.iter().find(|(of, field)| {
            let kept =
                |(figure, _): &(Figure, Planned)| matches!(figure, Figure::Sum(of) if of == field);
            of == name && elsewhere && !self.figures.iter().any(kept)
        });
        let sums = summed.map(|(_, field)| field.clone());
        ReadPlan::Parents { roots: self.roots_of(read), fetch, count, sums }
    }

    /// Whether a child lacks some of the parent's fields that a read needs.
    fn wants_parent(&self, with: &With) -> bool {
        let copied = |field: &String| {
            self.copies.as_ref().is_some_and(|c| c.fields.iter().any(|f| f.name == *field))
        };
        with.fields.is_empty() || !with.fields.iter().all(copied)
    }

    /// Returns how a read that begins with another entity reaches the two entities. The flags say
    /// whether it reaches the parent, whether it reaches the child, and whether it arrives at the
    /// parent.
    pub(crate) fn plan_from_elsewhere(
        &self,
        read: &DesignRead,
        (parent, child, by_parent): (bool, bool, bool),
    ) -> Option<ReadPlan> {
        let roots = self.roots_of(read);
        let with = read.with.iter().find(|with| with.relationship == self.names.0);
        match (parent, child) {
            (true, _) if by_parent || !child => Some(self.plan_from_parents(read)),
            (parent, true) => {
                let wanted = with.is_none_or(|with| self.wants_parent(with));
                Some(ReadPlan::Children { roots, parent: parent && wanted })
            }
            _ => None,
        }
    }

    /// Returns the number of documents that a read begins with.
    fn roots_of(&self, read: &DesignRead) -> u64 {
        self.roots.get(&read.name).copied().unwrap_or(read.limit.unwrap_or(1).max(1))
    }

    fn fetch(&self, with: &With) -> Fetch {
        // A read of copied fields needs no child document. The newest children are found by a field
        // that may not be copied.
        let covered = !with.fields.is_empty()
            && with.newest.is_none()
            && with.fields.iter().all(|field| self.copied.contains(field));
        match &with.newest {
            _ if covered && self.link == Link::ChildIds => Fetch::Nothing,
            _ if covered && self.link == Link::Pairs => Fetch::Pairs,
            Some(_) if self.shows.as_ref().is_some_and(|shows| shows.answers(with)) => {
                Fetch::Nothing
            }
            Some((newest, _)) => Fetch::Newest(*newest),
            None => Fetch::All,
        }
    }

    /// Returns the cost of a read if its parents have these numbers of children.
    pub fn read(
        &self,
        read: &DesignRead,
        plan: Option<&ReadPlan>,
        children: &[u64],
    ) -> OperationCost {
        self.view(read, plan, children).0
    }

    /// Returns the cost of a read, and its view.
    pub(crate) fn view(
        &self,
        read: &DesignRead,
        plan: Option<&ReadPlan>,
        children: &[u64],
    ) -> (OperationCost, View) {
        // The parents of one shared child are assumed to be alike.
        let typical = children.first().copied().unwrap_or(0);
        let others = match plan {
            Some(ReadPlan::ParentsOf { limit, all: false }) => limit.unwrap_or(u64::MAX),
            Some(ReadPlan::ParentsOf { all: true, .. }) => u64::MAX,
            Some(ReadPlan::Children { parent: true, .. }) => u64::MAX,
            _ => 0,
        };
        let others = others.min(self.parents.round() as u64).min(100_000) as usize;
        self.view_of(read, plan, children, &vec![typical; others], None)
    }

    /// Returns the cost of a read. `children` has the number of children of each parent that the
    /// read is about. `others` has the same for each parent of the child that it is about.
    /// `different` is the number of distinct children, if parents share some.
    pub fn read_of(
        &self,
        read: &DesignRead,
        plan: Option<&ReadPlan>,
        children: &[u64],
        others: &[u64],
        different: Option<u64>,
    ) -> OperationCost {
        self.view_of(read, plan, children, others, different).0
    }

    fn view_of(
        &self,
        read: &DesignRead,
        plan: Option<&ReadPlan>,
        children: &[u64],
        others: &[u64],
        different: Option<u64>,
    ) -> (OperationCost, View) {
        // One document may embed several parents.
        let in_one = self.per_root(read, plan) as f64;
        let held = |counts: &[u64]| -> f64 {
            counts.iter().map(|n| self.document_bytes(*n)).sum::<f64>() / in_one
        };
        let sum = |of: &dyn Fn(u64) -> u64| children.iter().map(|n| of(*n) as f64).sum::<f64>();
        let links = sum(&|n| n);
        let all = different.map_or(links, |different| different as f64);
        let embedded = self.way == StorageAlternative::Embed;
        let paired = !embedded && self.link == Link::Pairs;
        let (mut apart, mut pairs, mut entries) = (0.0, 0.0, 0.0);
        let (mut paged, mut in_parents) = (0.0, 1.0);
        let parents: &[u64] = match plan {
            Some(ReadPlan::Parents { fetch, count, sums, .. }) => {
                // Separate children are counted in an index. Buckets and pages store their number
                // of elements, so their documents are read.
                let counted = *count && self.packed.is_none();
                entries += if counted { links } else { 0.0 };
                apart += match fetch {
                    Fetch::Nothing | Fetch::Pairs => 0.0,
                    Fetch::Newest(_) if self.reads_all_for_newest() => links,
                    Fetch::Newest(newest) => sum(&|n| n.min(*newest)),
                    Fetch::All => all,
                };
                pairs += if paired && *fetch != Fetch::Nothing { links } else { 0.0 };
                if sums.is_some() || *count && !counted {
                    apart += all;
                    pairs += if paired { links } else { 0.0 };
                }
                children
            }
            Some(ReadPlan::ParentsOf { .. }) => {
                match self.link {
                    _ if embedded => {}
                    Link::ParentIds => apart += 1.0,
                    Link::Pairs => pairs += others.len() as f64,
                    Link::ChildIds | Link::ParentId => {}
                }
                others
            }
            Some(ReadPlan::Children { parent: true, .. }) if embedded && self.is_shared() => others,
            // The whole parent is read to get one child. If the child is on an overflow page, the
            // page is read instead.
            Some(ReadPlan::Children { .. }) if embedded => {
                let both = read.with.iter().any(|with| with.relationship == self.names.0);
                paged = children.len() as f64 * self.on_pages;
                in_parents = if both { 1.0 } else { 1.0 - self.on_pages };
                children
            }
            Some(_) if embedded => children,
            Some(ReadPlan::ChildrenOf { limit, all, parent }) => {
                let limit = limit.filter(|_| !all);
                let some = sum(&|n| limit.unwrap_or(n).min(n));
                apart += some;
                pairs += if paired { some } else { 0.0 };
                if *parent || self.link == Link::ChildIds { children } else { &[] }
            }
            Some(ReadPlan::Children { parent, .. }) => {
                apart += children.len() as f64;
                match (*parent, self.is_shared()) {
                    (false, _) => &[],
                    (true, false) => children,
                    (true, true) => {
                        pairs += if paired { others.len() as f64 } else { 0.0 };
                        others
                    }
                }
            }
            // The read begins with another entity. It reads a document of each end that is not
            // embedded.
            None => {
                apart += if embedded { 0.0 } else { children.len() as f64 };
                children
            }
        };
        let own = (
            in_parents * parents.len() as f64 / in_one + paged,
            in_parents * held(parents) + paged * self.sizes.page as f64,
        );
        let (apart, apart_bytes) = self.apart(apart);
        let by_parent =
            !matches!(plan, Some(ReadPlan::Children { .. } | ReadPlan::ChildrenOf { .. }));
        // Embedded children are read together with the document around them.
        let (begin, fetched) = match by_parent || embedded {
            true => (own, apart),
            false => ((apart, apart_bytes), own.0),
        };
        let cost = OperationCost {
            name: read.name.clone(),
            writes: false,
            per_second: read.per_second,
            documents: own.0 + apart + pairs,
            bytes: own.1 + apart_bytes + pairs * self.sizes.pair as f64,
            entries,
            transaction: false,
        };
        let is_by_it =
            matches!(plan, Some(ReadPlan::ParentsOf { .. } | ReadPlan::ChildrenOf { .. }));
        let is_packed = paged > 0.0 || self.packed.is_some() && !by_parent;
        (cost, View { begin, fetched, by_parent, is_by_it, is_packed })
    }

    /// Returns how a write is executed. A write that inserts or updates is assumed to do each half
    /// of the time, because the model does not say.
    pub fn plan_writes(&self, write: &DesignWrite) -> Vec<(DesignWrite, WritePlan)> {
        let without = |names: &[String], others: &[String]| -> Vec<String> {
            names.iter().filter(|name| !others.contains(name)).cloned().collect()
        };
        let (inserts, updates) = (&write.inserts, &write.updates);
        let updating = DesignWrite { inserts: without(inserts, updates), ..write.clone() };
        let halves = if updating.inserts.len() == inserts.len() {
            vec![write.clone()]
        } else {
            let inserting = DesignWrite { updates: without(updates, inserts), ..write.clone() };
            vec![inserting, updating]
        };
        halves.into_iter().map(|half| (half.clone(), self.plan_write(&half))).collect()
    }

    /// Returns how a write with a single action per entity is executed.
    fn plan_write(&self, write: &DesignWrite) -> WritePlan {
        let (_, parent, child) = &self.names;
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
        // If both ends are the same entity, the write is about one document, which is a child of
        // another.
        let on_parent = if parent == child { None } else { act(parent) };
        let on_child = act(child);
        let lists = self.way != StorageAlternative::Embed
            && self.link == Link::ChildIds
            && !self.is_shared();
        let keeps = self.preview.is_some() || !self.figures.is_empty() || lists;
        WritePlan {
            parent: on_parent,
            child: on_child,
            whole: on_parent == on_child && matches!(on_parent, Some(Act::Insert | Act::Delete)),
            refreshes: on_parent == Some(Act::Update) && on_child.is_none() && {
                let copied = |field: &String| {
                    self.copies.as_ref().is_some_and(|c| c.fields.iter().any(|f| f.name == *field))
                };
                write.sets.iter().any(|(entity, field)| entity == parent && copied(field))
            },
            follows: keeps
                && on_parent.is_none()
                && match on_child {
                    Some(Act::Insert | Act::Delete) => true,
                    Some(Act::Update) => self.changes_kept(write),
                    None => false,
                },
            transaction: write.atomic
                && on_parent.is_some()
                && on_child.is_some()
                && self.home.as_ref().is_none_or(|home| home.entity != *child)
                && (self.way != StorageAlternative::Embed || self.on_pages > 0.0),
        }
    }

    /// Returns the number of parents that a write is about. If the document around them is inserted
    /// or deleted, the write is about all of them.
    fn together_with_home(&self, write: &DesignWrite) -> u64 {
        let home = self.home.as_ref().filter(|home| comes_or_goes(write, &home.entity) > 0.0);
        home.and_then(|home| home.above.first()).map_or(1, |(_, parents)| *parents)
    }

    /// Whether an update of a child changes its parent's preview or sums. An update without
    /// declared fields may change any field.
    fn changes_kept(&self, write: &DesignWrite) -> bool {
        if self.way == StorageAlternative::Embed {
            return false;
        }
        let shown = self.preview.iter().flat_map(|list| &list.fields).map(|field| &field.name);
        let summed = self.figures.iter().filter_map(|(figure, _)| match figure {
            Figure::Sum(field) => Some(field),
            _ => None,
        });
        let mut kept = shown.chain(summed).peekable();
        let of_child = || write.sets.iter().filter(|(entity, _)| *entity == self.names.2);
        kept.peek().is_some()
            && (of_child().next().is_none()
                || kept.any(|name| of_child().any(|(_, field)| field == name)))
    }

    /// Returns the cost of a write. `children` is the number of children of the parent before the
    /// write.
    pub fn write(&self, write: &DesignWrite, plan: &WritePlan, children: u64) -> OperationCost {
        if self.is_shared() {
            let others = (self.parents.round() as usize).clamp(1, 100_000);
            return self.write_of(write, plan, children, &vec![children; others]);
        }
        let after = match plan.child {
            _ if plan.whole => children,
            _ if plan.parent == Some(Act::Insert) => u64::from(plan.child.is_some()),
            Some(Act::Insert) if self.way == StorageAlternative::Embed => {
                (children + 1).min(self.keep.unwrap_or(u64::MAX))
            }
            Some(Act::Insert) => children + 1,
            Some(Act::Delete) => children.saturating_sub(1),
            _ => children,
        };
        let held = self.document_bytes(after);
        let (_, parent, child) = &self.names;
        let home = self.home.as_ref();
        let in_one = self.together_with_home(write);
        let own = match (plan.child, plan.whole) {
            (None, _) => 0.0,
            // The child's document already embeds the parent and is counted as such.
            _ if plan.parent.is_some() && home.is_some_and(|home| home.entity == *child) => 0.0,
            (_, true) => (children * in_one) as f64,
            _ => 1.0,
        };
        let mut entries = match home {
            Some(home) => comes_or_goes(write, &home.entity),
            None if plan.parent.is_some() => comes_or_goes(write, parent),
            None => 0.0,
        };
        let (documents, bytes) = if self.way == StorageAlternative::Embed {
            if self.looked_up {
                entries += comes_or_goes(write, child) * own;
            }
            (1.0, held)
        } else {
            entries += comes_or_goes(write, child) * self.own_indexes() * own / self.together();
            let parents = f64::from(plan.parent.is_some() || plan.follows);
            let changed = if plan.refreshes { children as f64 } else { own };
            let (changed, bytes) = self.apart(changed);
            (parents + changed, parents * held + bytes)
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

/// The cost of writes if several parents share children.
impl Predictor {
    /// Whether a write changes copied fields of a child.
    pub fn changes_copies(&self, write: &DesignWrite) -> bool {
        let of_child = write.sets.iter().filter(|(entity, _)| *entity == self.names.2);
        of_child.into_iter().any(|(_, field)| self.copied.contains(field))
    }

    /// Returns the cost of a write. `children` is the number of children of the parent that the
    /// write is about. `others` has the same for each parent of the child that it is about.
    pub fn write_of(
        &self,
        write: &DesignWrite,
        plan: &WritePlan,
        children: u64,
        others: &[u64],
    ) -> OperationCost {
        let embedded = self.way == StorageAlternative::Embed;
        let (mut parents, mut apart, mut pairs, mut entries) = (Vec::new(), 0.0, 0.0, 0.0);
        let (_, parent, child) = &self.names;
        if let Some(act) = plan.parent {
            // A new parent has no links yet if links are added one by one.
            let is_new = act == Act::Insert && self.comes_empty && plan.child.is_none();
            let children = if is_new { 0 } else { children };
            parents.push(children);
            // A write that may be an update is costed as one, because an update does not change
            // links.
            let share = if act == Act::Update { 0.0 } else { comes_or_goes(write, parent) };
            if share > 0.0 {
                let (listed, paired) = match self.link {
                    _ if embedded => (0.0, 0.0),
                    Link::ParentIds => (children as f64, 0.0),
                    Link::Pairs => (0.0, children as f64),
                    Link::ParentId | Link::ChildIds => (0.0, 0.0),
                };
                apart += share * listed;
                pairs += share * paired;
                entries += share * (listed + 3.0 * paired);
                if !embedded && self.link == Link::ChildIds && self.indexes_list() {
                    entries += share * (children * self.together_with_home(write)) as f64;
                }
            }
            let home = self.home.as_ref().map_or(parent, |home| &home.entity);
            entries += comes_or_goes(write, home);
        }
        // The child's document may embed the parent.
        let is_home =
            plan.parent.is_some() && self.home.as_ref().is_some_and(|home| home.entity == *child);
        let own = f64::from(!embedded && !is_home);
        match plan.child {
            None => {}
            // Only the new parent embeds the child.
            Some(Act::Insert) if embedded && plan.parent == Some(Act::Insert) => {}
            Some(Act::Insert) if embedded => parents.push(children + 1),
            Some(Act::Insert) => apart += own,
            Some(Act::Update) => {
                apart += own;
                let copied = self.changes_copies(write);
                if embedded || copied && self.link == Link::ChildIds {
                    parents.extend(others);
                } else if copied && self.link == Link::Pairs {
                    pairs += others.len() as f64;
                }
            }
            Some(Act::Delete) => {
                apart += own;
                if embedded || self.link == Link::ChildIds {
                    parents.extend(others.iter().map(|n| n.saturating_sub(1)));
                } else if self.link == Link::Pairs {
                    pairs += others.len() as f64;
                }
            }
        }
        if plan.child.is_some() {
            entries += comes_or_goes(write, child) * own;
        }
        let held: f64 = parents.iter().map(|n| self.document_bytes(*n)).sum();
        // If both ends are the same entity, the child also has a separate list.
        let is_parent = parent == child && !embedded && self.link == Link::ChildIds;
        let own_child = match is_parent && plan.child == Some(Act::Update) {
            true => self.document_bytes(children),
            false => self.sizes.own_child as f64,
        };
        OperationCost {
            name: write.name.clone(),
            writes: true,
            per_second: write.per_second,
            documents: parents.len() as f64 + apart + pairs,
            bytes: held + apart * own_child + pairs * self.sizes.pair as f64,
            entries,
            transaction: plan.transaction,
        }
    }
}

/// Returns the share of a write's executions that insert or delete documents of an entity. A write
/// that inserts or updates is assumed to do each half of the time, because the model does not say.
fn comes_or_goes(write: &DesignWrite, entity: &str) -> f64 {
    let is_in = |names: &[String]| names.iter().any(|name| name == entity);
    match (is_in(&write.updates), is_in(&write.inserts) || is_in(&write.deletes)) {
        (_, false) => 0.0,
        (true, true) => 0.5,
        (false, true) => 1.0,
    }
}
