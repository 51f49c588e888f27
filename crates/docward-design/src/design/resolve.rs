//! Decisions made together: each relationship by its own figures, from the leaves up, and again where documents would
//! become too large, too deep or too tangled.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{BsonType, DesignModel, DesignWrite, Entity, EntityField, Relationship, text};

use crate::decide::decision::{Decision, Verdict};
use crate::decide::derive::{self, Known};
use crate::decide::facts::{Bounds, Facts};
use crate::decide::flip_points::Around;
use crate::decide::pattern::Pattern;
use crate::decide::relationship_patterns;
use crate::decide::vote::{Choice, Row, Vote, decide};
use crate::declared::field_plan::{Rank, declared, document_bytes, own};
use crate::declared::naming::Naming;
use crate::declared::{access, quantile, size};
use crate::layout::fields::has_part_id;

/// Every relationship decided, round by round, and what bears on those that their own figures could turn.
pub(crate) fn settled<'m>(
    model: &'m DesignModel,
    bounds: &'m Bounds,
    naming: Naming,
    stored: &'m BTreeMap<String, Pattern>,
) -> (Vec<Decision>, BTreeMap<String, Around>) {
    let known =
        model.relationships.iter().map(|r| (r.name.as_str(), derive::known(model, r, bounds)));
    let mut deciding = Deciding {
        model,
        bounds,
        naming,
        stored,
        known: known.collect(),
        of: BTreeMap::new(),
        writes: BTreeMap::new(),
        made: BTreeMap::new(),
        first: BTreeMap::new(),
        vetoed: readings_apart(model),
    };
    let refers: (&'static [&'static str], String) = (&["DP-2"], "the data still refers".to_owned());
    let referred = stored.iter().filter(|(_, pattern)| **pattern != Pattern::Embedded);
    deciding.vetoed.extend(referred.map(|(name, _)| (name.clone(), refers.clone())));
    for relationship in &model.relationships {
        deciding.of.entry(&relationship.parent).or_default().push(relationship);
        if relationship.child != relationship.parent {
            deciding.of.entry(&relationship.child).or_default().push(relationship);
        }
    }
    for write in &model.writes {
        for entity in write.entities() {
            deciding.writes.entry(entity).or_default().push(write);
        }
    }
    deciding.all();
    // Ids and copies that the first round put beside the declared fields have a size too.
    deciding.first = std::mem::take(&mut deciding.made);
    deciding.all();
    deciding.part();
    deciding.untangle();
    deciding.flatten();
    deciding.fit();
    deciding.part();
    // What became smaller may have moved together again.
    deciding.untangle();
    deciding.unpage();
    deciding.untangle();
    deciding.settle();
    deciding.part();
    deciding.untangle();
    deciding.remark_depth();
    let around = deciding.around();
    let decisions = model
        .relationships
        .iter()
        .filter_map(|relationship| deciding.made.remove(&relationship.name))
        .collect();
    (decisions, around)
}

struct Deciding<'m> {
    model: &'m DesignModel,
    bounds: &'m Bounds,
    naming: Naming,
    /// Relationships that data stores otherwise than was decided, and how.
    stored: &'m BTreeMap<String, Pattern>,
    /// What the file says of each relationship: the same in every round.
    known: BTreeMap<&'m str, Known>,
    /// The relationships that each entity has a part in.
    of: BTreeMap<&'m str, Vec<&'m Relationship>>,
    /// The writes of each entity.
    writes: BTreeMap<&'m str, Vec<&'m DesignWrite>>,
    made: BTreeMap<String, Decision>,
    /// What a first round decided, by declared fields alone.
    first: BTreeMap<String, Decision>,
    /// Relationships that are not embedded for what is beside, above or below them: by which rows, and why.
    vetoed: BTreeMap<String, (&'static [&'static str], String)>,
}

/// Levels below a document from which on it is too deep, and up to which nothing is said (DM-06.1).
const DEEPEST: usize = 5;
const SHALLOW: usize = 3;

/// Lists that are too large together.
const TOGETHER: &[&str] = &["ER-M.6", "ER-F.7"];

/// Readings over time have a place of their own, whoever they belong to.
fn readings_apart(model: &DesignModel) -> BTreeMap<String, (&'static [&'static str], String)> {
    let is_series =
        |r: &&Relationship| model.entity(&r.child).is_some_and(|child| child.series.is_some());
    let rows: &[&str] = &["DM-08.5", "PT-bucket.1"];
    let found = model.relationships.iter().filter(is_series);
    found
        .map(|r| (r.name.clone(), (rows, format!("`{}` is a series over time", r.child))))
        .collect()
}

/// Levels of a declared field below its document; an array and its objects are one.
fn levels(fields: &[EntityField]) -> usize {
    let below = |field: &EntityField| match field.kind {
        BsonType::Object | BsonType::Array => 1 + levels(&field.fields),
        _ => 0,
    };
    fields.iter().map(below).max().unwrap_or(0)
}

impl<'m> Deciding<'m> {
    /// What bears on each relationship that its own figures could turn: a tree, a series over time and
    /// what was cut apart stay what they are.
    fn around(&self) -> BTreeMap<String, Around> {
        let mut found = BTreeMap::new();
        let held = self.held_by_id();
        for relationship in &self.model.relationships {
            let name = &relationship.name;
            let cut = self.vetoed.get(name).is_some_and(|(rows, _)| *rows != TOGETHER);
            // What others hold the id of is embedded nowhere.
            let holders = held.get(relationship.child.as_str());
            let held = holders.is_some_and(|all| all.iter().any(|other| other != name));
            // What is shared and changes stays apart, whatever its figures.
            if access::is_tree(relationship) || cut || held || self.changed(relationship).is_some()
            {
                continue;
            }
            let others = self.inside(&relationship.parent).filter(|(r, _)| r.name != *name);
            let (lists, names): (Vec<u64>, Vec<u64>) = others
                .map(|(r, made)| (made.facts.children_bytes(), size::element(r.role(), 0)))
                .unzip();
            let names = names.iter().sum::<u64>();
            let keep_newest = relationship.keep_newest;
            found.insert(name.clone(), Around { keep_newest, lists, names });
        }
        found
    }

    /// What is embedded in itself by way of others has no end: circles are cut where they are read together
    /// least.
    fn untangle(&mut self) {
        for _ in 0..self.model.relationships.len() {
            let Some((name, because)) = self.circle() else { return };
            self.vetoed.insert(name, (&["DM-06.1"], because));
            self.all();
        }
    }

    /// Where a circle of what is embedded is cut, if there is one.
    fn circle(&self) -> Option<(String, String)> {
        let mut done = BTreeSet::new();
        for entity in &self.model.entities {
            let mut way = Vec::new();
            if self.leads_back(&entity.name, &mut way, &mut done) {
                // The way may have begun outside of the circle.
                let last = way.last().map_or("", |r: &&Relationship| r.child.as_str());
                let begin = way.iter().position(|r| r.parent == last).unwrap_or(0);
                let together = |r: &Relationship| {
                    self.made.get(&r.name).and_then(|made| made.facts.co_read).unwrap_or(0.0)
                };
                // What reads begin with stays at the top.
                let begun = |r: &Relationship| {
                    let reads = self.model.reads.iter().filter(|read| read.from == r.child);
                    reads.map(|read| read.per_second).fold(0.0, |sum, rate| sum + rate)
                };
                let weakest = way[begin..].iter().min_by(|a, b| {
                    let apart = together(a).total_cmp(&together(b));
                    apart.then(begun(b).total_cmp(&begun(a))).then(a.name.cmp(&b.name))
                })?;
                let through: Vec<&str> = way[begin..].iter().map(|r| r.name.as_str()).collect();
                let because = format!(
                    "`{}` would be inside itself, by way of {}",
                    weakest.child,
                    text::list(&through, 5)
                );
                return Some((weakest.name.clone(), because));
            }
        }
        None
    }

    /// Whether what an entity embeds leads back to something on the way.
    fn leads_back<'d>(
        &'d self,
        entity: &'d str,
        way: &mut Vec<&'d Relationship>,
        done: &mut BTreeSet<&'d str>,
    ) -> bool {
        if way.iter().any(|r| r.parent == entity) {
            return true;
        }
        if !done.insert(entity) {
            return false;
        }
        for (relationship, _) in self.inside(entity) {
            way.push(relationship);
            if self.leads_back(&relationship.child, way, done) {
                return true;
            }
            way.pop();
        }
        false
    }

    fn all(&mut self) {
        self.made.clear();
        for relationship in &self.model.relationships {
            self.decide(relationship, &mut Vec::new());
        }
    }

    /// The relationships that an entity has a part in.
    fn of(&self, entity: &str) -> impl Iterator<Item = &'m Relationship> + use<'m> {
        self.of.get(entity).cloned().unwrap_or_default().into_iter()
    }

    /// Decides a relationship after those below it, which make its children larger.
    fn decide(&mut self, relationship: &'m Relationship, above: &mut Vec<String>) {
        if self.made.contains_key(&relationship.name) || above.contains(&relationship.name) {
            return;
        }
        above.push(relationship.name.clone());
        for below in self.of(&relationship.child) {
            if below.parent == relationship.child && below.parent != below.child {
                self.decide(below, above);
            }
        }
        above.pop();
        let child =
            (self.part_bytes(relationship, Rank::Mean), self.part_bytes(relationship, Rank::P99));
        // Other lists of the parent are weighed against this one afterwards, when all are known.
        let parent = self
            .own_bytes(&relationship.parent, Rank::P99, &relationship.name)
            .saturating_add(size::element(relationship.role(), 0));
        let Some(Known { facts, mut questions }) =
            self.known.get(relationship.name.as_str()).cloned()
        else {
            return;
        };
        let mut facts =
            Facts { parent_bytes: parent, child_bytes: child.0, child_p99: child.1, ..facts };
        self.see_parts(relationship, &mut facts);
        let mut ruling = decide(&facts, self.bounds);
        if let Some((rows, because)) = self.vetoed.get(&relationship.name) {
            ruling.rows.push(Row { rows, vote: Vote::Veto, because: because.clone() });
            ruling.choice = Choice::Reference;
            ruling.decided_by = rows;
            ruling.how = format!("vetoed: {because}");
        }
        let stored = self.stored.get(&relationship.name);
        if stored == Some(&Pattern::Embedded) {
            ruling.choice = Choice::Embed;
            ruling.decided_by = &["DP-2"];
            ruling.how = "the data still embeds".to_owned();
        }
        let tree = access::is_tree(relationship);
        if tree {
            ruling.choice = Choice::Reference;
            ruling.decided_by = &["PT-ref.1"];
            ruling.how =
                "an entity above and below itself is a tree, which has no bound".to_owned();
        }
        let mut made = relationship_patterns::of_relationship(
            self.model,
            relationship,
            &facts,
            &ruling,
            self.bounds,
        );
        if let Some(pattern) = stored {
            made.patterns = vec![pattern.clone()];
        }
        let open = !questions.is_empty() && stored.is_none();
        questions.extend(made.questions);
        let hybrid = made.patterns.iter().any(|p| matches!(p, Pattern::Subset { .. }));
        let verdict = match (open, ruling.choice, hybrid) {
            (true, _, _) => Verdict::Undecided,
            (_, Choice::Embed, _) => Verdict::Embed,
            (_, Choice::Reference, true) => Verdict::Hybrid,
            (_, Choice::Reference, false) => Verdict::Reference,
        };
        let decision = Decision {
            relationship: relationship.name.clone(),
            parent: relationship.parent.clone(),
            child: relationship.child.clone(),
            verdict,
            choice: (!open).then_some(ruling.choice),
            turns: Vec::new(),
            facts,
            ruling,
            patterns: if open { Vec::new() } else { made.patterns },
            remarks: if open { Vec::new() } else { made.remarks },
            questions,
            alternatives: Vec::new(),
            needs_transaction: false,
        };
        self.made.insert(relationship.name.clone(), decision);
    }

    /// Bytes of an entity's declared fields, its id, and the ids and copies it holds for other relationships
    /// than one.
    fn own_bytes(&self, entity: &str, rank: Rank, without: &str) -> u64 {
        let Some(entity) = self.model.entity(entity) else { return size::AROUND };
        let fields = declared(entity);
        let held: u64 = self
            .of(&entity.name)
            .filter(|r| r.name != without)
            .filter_map(|r| Some((r, self.first.get(&r.name)?)))
            .map(|(r, decision)| self.held(&entity.name, r, decision, rank))
            .fold(0, u64::saturating_add);
        let own = document_bytes(&fields, rank).saturating_add(size::element("_id", 12));
        own.saturating_add(held)
    }

    /// Bytes of what an entity holds for a relationship that is not embedded: an id or a list of them, with
    /// the copies beside it.
    fn held(&self, entity: &str, r: &Relationship, decision: &Decision, rank: Rank) -> u64 {
        if decision.choice != Some(Choice::Reference) {
            return 0;
        }
        let copied = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::ExtendedReference { fields, in_parent, .. } => Some((fields, *in_parent)),
            _ => None,
        });
        let copies = |source: &str, here: bool| {
            let Some((fields, _)) = copied.filter(|(_, in_parent)| *in_parent == here) else {
                return 0;
            };
            let source = self.model.entity(source);
            let fields = fields.iter().filter_map(|field| source?.field(field)).map(own);
            document_bytes(&fields.collect::<Vec<_>>(), rank)
        };
        let name = self.naming.id_of(&r.parent);
        match decision.patterns.first() {
            Some(Pattern::ParentInChild) if r.child == entity => {
                let copies = copies(&r.parent, false);
                let beside = if copies > 0 { size::element(&r.parent, copies) } else { 0 };
                beside.saturating_add(size::element(&name, 12))
            }
            Some(Pattern::ChildrenInParent) if r.parent == entity => {
                let children = decision.facts.children;
                let number = match rank {
                    Rank::Typical => children.p50,
                    Rank::Mean => quantile::mean(children).round() as u64,
                    Rank::P99 | Rank::Max => children.p99,
                };
                let one = match copies(&r.child, true) {
                    0 => 12,
                    copies => copies.saturating_add(size::element(&name, 12)),
                };
                if children.max <= 1 {
                    size::element(&name, one)
                } else {
                    size::element(r.role(), size::array(number, one))
                }
            }
            _ => 0,
        }
    }

    /// Bytes of an entity's document with what has been decided to be embedded in it.
    fn bytes(&self, entity: &str, rank: Rank, without: &str) -> u64 {
        let embedded = self
            .inside(entity)
            .map(|(r, decision)| {
                let facts = &decision.facts;
                let list = match rank {
                    Rank::Typical => size::array(facts.children.p50, facts.child_bytes),
                    Rank::Mean => {
                        let count = quantile::mean(facts.children);
                        size::mean_array(count, facts.child_bytes) as u64
                    }
                    Rank::P99 | Rank::Max => facts.children_bytes(),
                };
                size::element(r.role(), list)
            })
            .fold(0, u64::saturating_add);
        self.own_bytes(entity, rank, without).saturating_add(embedded)
    }

    /// Bytes of a child as a part of its parent.
    fn part_bytes(&self, relationship: &Relationship, rank: Rank) -> u64 {
        let bytes = self.bytes(&relationship.child, rank, &relationship.name);
        let holders = self.of(&relationship.child).filter(|r| r.parent == relationship.child);
        let referred = holders.into_iter().any(|r| {
            self.made
                .get(&r.name)
                .is_some_and(|made| made.patterns.contains(&Pattern::ParentInChild))
        });
        let has_id = has_part_id(self.model, relationship, referred);
        bytes.saturating_sub(if has_id { 0 } else { size::element("_id", 12) })
    }

    /// What has been decided to be embedded in an entity.
    fn inside<'d>(
        &'d self,
        entity: &'d str,
    ) -> impl Iterator<Item = (&'d Relationship, &'d Decision)> {
        let of_it = self.of(entity).filter(move |r| r.parent == entity);
        of_it
            .filter_map(|r| self.made.get(&r.name).map(|decision| (r, decision)))
            .filter(|(_, decision)| decision.choice == Some(Choice::Embed))
    }

    /// Entities that are part of an entity's documents, also by way of others, but for one.
    fn parts(&self, entity: &str, without: &str) -> BTreeSet<&'m str> {
        let embedded = |r: &&Relationship| {
            self.made.get(&r.name).is_some_and(|made| made.choice == Some(Choice::Embed))
        };
        access::parts(entity, without, |at| {
            let below = self.of(at).filter(|r| r.parent == at).filter(embedded);
            below.map(|r| r.child.as_str()).collect()
        })
    }

    /// Writes of what is part of a child are writes of the child.
    fn see_parts(&self, relationship: &Relationship, facts: &mut Facts) {
        let parts = self.parts(&relationship.child, &relationship.parent);
        if !parts.iter().any(|part| self.writes.contains_key(part)) {
            return;
        }
        let ends = [relationship.parent.as_str(), relationship.child.as_str()];
        let of = |entity: &&str| self.writes.get(*entity).into_iter().flatten().copied();
        let mut writes: Vec<&DesignWrite> = ends.iter().chain(&parts).flat_map(of).collect();
        // One write may be of several of them.
        writes.sort_by(|a, b| a.name.cmp(&b.name).then(a.place.cmp(&b.place)));
        writes.dedup_by(|a, b| std::ptr::eq(*a, *b));
        let written = derive::written(writes.iter().copied(), relationship, &parts);
        facts.co_update = written.co_update;
        facts.child_only_update = Some(written.child_only_update);
        facts.atomic = Some(written.atomic || relationship.invariant.is_some());
    }

    /// What is shared and changes has one place: of copies inside of several parents nobody knows which are of
    /// the same one, so no statement changes them all (DM-07.6, DM-07.7).
    fn part(&mut self) {
        let rows: &[&str] = &["ER-M.5", "DM-07.6", "DM-07.7"];
        let mut found = BTreeMap::new();
        for relationship in &self.model.relationships {
            let made = self.made.get(&relationship.name);
            if made.is_none_or(|made| made.choice != Some(Choice::Embed)) {
                continue;
            }
            if let Some(because) = self.changed(relationship) {
                found.insert(relationship.name.clone(), (rows, because));
            }
        }
        if !found.is_empty() {
            self.vetoed.extend(found);
            self.all();
        }
    }

    /// Which write changes a child that is shared, and why it is not embedded then.
    fn changed(&self, relationship: &Relationship) -> Option<String> {
        if !relationship.is_shared() {
            return None;
        }
        let (parent, child) = (&relationship.parent, &relationship.child);
        let mut writes = self.model.writes.iter();
        let whole = writes.clone().find(|write| changes(write, relationship));
        let parts = self.parts(child, parent);
        let part = || writes.find(|write| access::changes_part(write, child, &parts));
        let write = whole.or_else(part)?;
        let part = write.entities().find(|entity| whole.is_none() && parts.contains(entity));
        let what = part.map_or_else(
            || format!("`{child}`"),
            |part| format!("`{part}`, which is part of `{child}`"),
        );
        Some(format!(
            "`{}` changes {what}, and copies in several of `{parent}` would not follow",
            write.name
        ))
    }

    /// Whether an entity is an element of a list, or part of one.
    fn is_in_list(&self, entity: &str, depth: usize) -> bool {
        depth < self.made.len()
            && self.made.values().any(|made| {
                made.choice == Some(Choice::Embed)
                    && made.child == entity
                    && (made.facts.children.max > 1 || self.is_in_list(&made.parent, depth + 1))
            })
    }

    /// A list in a list has no pages: a page names the document it continues, and no function writes one for
    /// a part of it (PT-outlier.1).
    fn unpage(&mut self) {
        let rows: &[&str] = &["PT-outlier.1", "GC-04"];
        let is_paged = |pattern: &Pattern| matches!(pattern, Pattern::Outlier { .. });
        let paged = self.made.values().filter(|made| made.patterns.iter().any(is_paged));
        let found: Vec<_> = paged
            .filter(|made| self.is_in_list(&made.parent, 0))
            .map(|made| {
                let because = format!(
                    "up to {} of `{}` need pages, and one of a list of `{}` has none",
                    text::count(made.facts.children.max),
                    made.child,
                    made.parent
                );
                (made.relationship.clone(), (rows, because))
            })
            .collect();
        if !found.is_empty() {
            self.vetoed.extend(found);
            self.all();
        }
    }

    /// What others hold ids of has a collection of its own, and is part of nobody's documents: two places
    /// would be two copies, and nothing keeps them alike (ER-M.5, DM-07.6).
    fn settle(&mut self) {
        for _ in 0..self.model.relationships.len() {
            let held = self.held_by_id();
            let rows: &[&str] = &["ER-M.5", "DM-07.6"];
            let embedded = self.made.values().filter(|made| made.choice == Some(Choice::Embed));
            let twice: Vec<_> = embedded
                .filter_map(|made| {
                    let holder = held.get(made.child.as_str())?.first()?;
                    let because = format!(
                        "`{}` is held by its id in `{holder}`, so it has one place, which is its own",
                        made.child
                    );
                    Some((made.relationship.clone(), (rows, because)))
                })
                .collect();
            if twice.is_empty() {
                return;
            }
            self.vetoed.extend(twice);
            self.all();
        }
    }

    /// Entities that others hold ids of, with the relationships that do.
    fn held_by_id(&self) -> BTreeMap<&str, Vec<&str>> {
        let by_id = |pattern: &Pattern| {
            matches!(
                pattern,
                Pattern::ChildrenInParent
                    | Pattern::ParentsInChild
                    | Pattern::Junction
                    | Pattern::Tree
            )
        };
        let mut held: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for made in self.made.values().filter(|made| made.patterns.iter().any(by_id)) {
            held.entry(&made.child).or_default().push(&made.relationship);
        }
        held
    }

    /// For every entity the levels below its document, and the relationship that leads to the deepest.
    fn depths(&self) -> BTreeMap<&str, (usize, Option<&Relationship>)> {
        let mut found = BTreeMap::new();
        for entity in &self.model.entities {
            self.depth(entity, &mut found);
        }
        found
    }

    fn depth<'d>(
        &'d self,
        entity: &'d Entity,
        found: &mut BTreeMap<&'d str, (usize, Option<&'d Relationship>)>,
    ) -> usize {
        if let Some((depth, _)) = found.get(entity.name.as_str()) {
            return *depth;
        }
        // Stands while those below are looked at, so that a circle comes to an end.
        let own = levels(&entity.fields);
        found.insert(&entity.name, (own, None));
        let mut most = (own, None);
        for (relationship, _) in self.inside(&entity.name) {
            let Some(child) = self.model.entity(&relationship.child) else { continue };
            let below = self.depth(child, found) + 1;
            if below > most.0 {
                most = (below, Some(relationship));
            }
        }
        found.insert(&entity.name, most);
        most.0
    }

    /// Entities embedded in each other are cut apart where a document would be too deep (DM-06.1): at the
    /// place that is read together least.
    fn flatten(&mut self) {
        for _ in 0..self.model.relationships.len() {
            let Some(cut) = self.too_deep() else { return };
            self.vetoed.extend(cut);
            self.all();
        }
    }

    /// Where documents that are too deep are cut apart.
    fn too_deep(&self) -> Option<BTreeMap<String, (&'static [&'static str], String)>> {
        let depths = self.depths();
        let embedded = self.embedded();
        let mut cut = BTreeMap::new();
        for (root, (depth, _)) in &depths {
            if *depth <= DEEPEST || embedded.contains(root) {
                continue;
            }
            let mut way: Vec<&Relationship> = Vec::new();
            let mut at = *root;
            while let Some((_, Some(next))) = depths.get(at) {
                if way.len() > depths.len() {
                    break;
                }
                way.push(next);
                at = &next.child;
            }
            let (mut way, mut left) = (way.as_slice(), *depth);
            while left > DEEPEST && !way.is_empty() {
                let together = |r: &Relationship| {
                    self.made.get(&r.name).and_then(|made| made.facts.co_read).unwrap_or(0.0)
                };
                let reach = &way[..way.len().min(DEEPEST + 1)];
                let weakest = (0..reach.len())
                    .rev()
                    .min_by(|a, b| together(reach[*a]).total_cmp(&together(reach[*b])))?;
                let because = format!(
                    "documents of `{root}` would be {depth} levels deep, and {DEEPEST} are the most"
                );
                let rows: &[&str] = &["DM-06.1"];
                cut.insert(way[weakest].name.clone(), (rows, because));
                left = left.saturating_sub(weakest + 1);
                way = &way[weakest + 1..];
            }
        }
        (!cut.is_empty()).then_some(cut)
    }

    /// Entities that are part of another's documents.
    fn embedded(&self) -> BTreeSet<&str> {
        let made = self.made.values();
        let parts = made.filter(|decision| decision.choice == Some(Choice::Embed));
        parts.map(|decision| decision.child.as_str()).collect()
    }

    /// Says where documents are deeper than they should be, at the outermost relationship.
    fn remark_depth(&mut self) {
        let embedded = self.embedded();
        let mut deep = Vec::new();
        for (entity, (depth, first)) in self.depths() {
            if let Some(outermost) = first.filter(|_| depth > SHALLOW && !embedded.contains(entity))
            {
                let said = format!(
                    "documents of `{entity}` are {depth} levels deep; up to {SHALLOW} are easy to work with (DM-06.1)"
                );
                deep.push((outermost.name.clone(), said));
            }
        }
        for (name, said) in deep {
            if let Some(decision) = self.made.get_mut(&name) {
                decision.remarks.push(said);
            }
        }
    }

    /// Several lists that are each small enough may be too large together: the largest one goes until
    /// the document is safe (CK-14).
    fn fit(&mut self) {
        for _ in 0..self.model.relationships.len() {
            let mut worst: Option<(String, String)> = None;
            for entity in &self.model.entities {
                let bytes = self.bytes(&entity.name, Rank::P99, "");
                if bytes <= self.bounds.safe_bytes {
                    continue;
                }
                let largest = self
                    .inside(&entity.name)
                    .map(|(_, decision)| decision)
                    .max_by_key(|decision| decision.facts.children_bytes());
                if let Some(decision) = largest {
                    let because = format!(
                        "{} projected at p99 together with other lists",
                        text::bytes(bytes)
                    );
                    worst = Some((decision.relationship.clone(), because));
                    break;
                }
            }
            let Some((name, because)) = worst else { return };
            self.vetoed.insert(name, (TOGETHER, because));
            self.all();
        }
    }
}

/// Whether a write changes children: it sets fields of theirs, or says of no field that it sets it, or takes
/// one away from parents that stay.
fn changes(write: &DesignWrite, relationship: &Relationship) -> bool {
    let (parent, child) = (&relationship.parent, &relationship.child);
    let sets = write.sets.is_empty() || write.sets.iter().any(|(entity, _)| entity == child);
    write.updates.contains(child) && sets
        || write.deletes.contains(child) && !write.deletes.contains(parent)
}
