//! Predicts what one alternative does for a declared read or write, and how much data that moves.
//! The prediction works for any number of children. `compare` uses a typical parent. `design
//! simulate` uses the parents that it generates, and executes these plans.

mod operations;
use std::collections::BTreeMap;
use std::sync::Arc;

use docward_model::{BsonType, ChildGrowth, DesignModel, DesignRead, Relationship, With};

use crate::cost::access_plan::{Link, ReadPlan};
use crate::cost::documents::{Documents, Fields};
use crate::decide::alternative::StorageAlternative;
use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::decide::preview::Preview;
use crate::decide::vote::Choice;
use crate::declared::dates::date_field;
use crate::declared::field_plan::{Origin, Planned, Rank, Ranked, TREE_DEPTH, document_bytes};
use crate::declared::naming::Naming;
use crate::declared::read_direction::{self, by_parent, names_role};
use crate::declared::{quantile, size};
use crate::layout::capacity::{KeyPart, index_bytes};
use crate::layout::fields::{Figure, Layout};
use crate::layout::plan::Design;

/// One alternative for storing a relationship, with its documents.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictor {
    /// The alternative.
    pub way: StorageAlternative,
    /// Whether it was chosen.
    pub chosen: bool,
    /// The place where ids are stored, unless children are embedded.
    pub link: Link,
    /// The fields of a parent without those that the relationship adds.
    pub parent: Fields,
    /// The fields of a child, embedded or separate.
    pub child: Fields,
    /// The field of embedded children.
    pub role: String,
    /// Whether a parent has at most one child. That child is an object and not a list.
    pub single: bool,
    /// The field of a separate child that holds the id of its parent.
    pub parent_id: String,
    /// Copies of the parent's fields in a separate child.
    pub copies: Option<Planned>,
    /// The fields of a parent that refer to its children: one id with copies next to it, or a list.
    pub held: Vec<Planned>,
    /// The fields of a junction document.
    pub pair: Vec<Planned>,
    /// The fields of the child that are copied to the parent or the junction document.
    pub copied: Vec<String>,
    /// The mean number of parents of a child. It is 1 if children are not shared.
    pub parents: f64,
    shared: bool,
    /// The newest children in the parent, each beginning with its id.
    pub preview: Option<Planned>,
    /// The content of the preview, and the only date field of a child.
    shows: Option<Shows>,
    /// The counts and sums in the parent.
    pub figures: Vec<(Figure, Planned)>,
    /// The field that determines the newest child. `None` means the id.
    pub newest_by: Option<String>,
    /// Whether reads look up embedded children without their parent. This needs an index on their
    /// ids.
    pub looked_up: bool,
    /// Whether reads look up parents by a child in their list. This needs an index on the list.
    pub found_by_child: bool,
    /// The requested sort order of a child's parents: fields, and whether each is descending.
    pub sorted_by: Vec<(String, bool)>,
    /// The maximum number of embedded children. Older ones are removed.
    pub keep: Option<u64>,
    /// Whether existing children are linked to a parent one by one, so that a new parent has none.
    pub comes_empty: bool,
    names: (String, String, String),
    /// The number of documents that each read begins with, if it follows from other relationships.
    roots: Arc<BTreeMap<String, u64>>,
    sizes: Sizes,
    /// The share of embedded children that are stored on overflow pages.
    on_pages: f64,
    /// The grouping of children, if one document holds several.
    packed: Option<Packed>,
    /// The documents that parents are embedded in.
    home: Option<Home>,
}

/// The contents of a preview.
#[derive(Clone, Debug, PartialEq)]
struct Shows {
    newest: u64,
    by: String,
    fields: Vec<String>,
    dated: Option<String>,
}

impl Shows {
    fn answers(&self, with: &With) -> bool {
        let Self { newest, by, fields, dated } = self;
        Preview { newest: *newest, by, fields }.answers(with, dated.as_deref())
    }
}

/// Children that are stored as readings in buckets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Packed {
    /// The mean number of readings in a bucket.
    pub(crate) readings: f64,
    /// The size of a bucket with the mean number of readings, in bytes.
    pub(crate) bytes: f64,
    /// Whether the server makes the buckets. They are then read as single documents.
    pub(crate) is_native: bool,
}

/// The documents that parents are embedded in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Home {
    /// The entity of the outermost document.
    pub(crate) entity: String,
    /// Its size in bytes, without the fields that the relationship adds.
    pub(crate) bytes: Ranked,
    /// The mean number of parents in one document.
    pub(crate) parents: f64,
    /// The entities from the outermost one down to the parent, with the typical number of parents
    /// in each.
    pub(crate) above: Vec<(String, u64)>,
    /// Whether parents have ids there even without the relationship.
    pub(crate) has_ids: bool,
    /// The number of children of a typical parent.
    pub(crate) children: u64,
    /// Whether parents are elements of a list, or are nested in such elements.
    pub(crate) in_list: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Sizes {
    parent: Ranked,
    /// An embedded child.
    child: Ranked,
    /// The mean size of a separate child.
    own_child: u64,
    preview: Ranked,
    /// The reference to one child in its parent.
    held: Ranked,
    /// The mean size of a junction document.
    pair: u64,
    /// The size of a full overflow page.
    page: u64,
}

/// Returns the alternatives for storing a relationship, the chosen one first. Returns none while it
/// is undecided. Shared children can be referenced in three forms.
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
    let documents = Documents::new(&layout);
    all(&documents, relationship, decision, true)
}

/// Returns the alternatives of a relationship, for a table or a measurement. The ids of shared
/// children can be stored in three places. If a parent has one child, the id is in the parent; only
/// a measurement tries the other places.
pub(crate) fn all(
    documents: &Documents<'_>,
    relationship: &Relationship,
    decision: &Decision,
    measured: bool,
) -> Vec<Predictor> {
    let base = Base { measured, ..Base::new(documents, relationship, decision) };
    let shared = relationship.is_shared() && (decision.has_many_parents() || measured);
    let references = match shared {
        true => vec![Link::ChildIds, Link::ParentIds, Link::Pairs],
        false => vec![base.link],
    };
    // Previews of shared children are not measured.
    let preview = Preview::of(&decision.patterns).is_some() && !(shared && measured);
    let chosen = match chosen(decision) {
        StorageAlternative::Hybrid if !preview => StorageAlternative::Reference,
        way => way,
    };
    let mut ways = vec![(StorageAlternative::Embed, base.link)];
    ways.extend(references.into_iter().map(|link| (StorageAlternative::Reference, link)));
    if preview {
        ways.push((StorageAlternative::Hybrid, base.link));
    }
    let is_chosen = |way: StorageAlternative, link: Link| way == chosen && link == base.link;
    ways.sort_by_key(|(way, link)| !is_chosen(*way, *link));
    let made = ways
        .into_iter()
        .map(|(way, link)| Predictor { chosen: is_chosen(way, link), ..base.predictor(way, link) });
    made.collect()
}

/// The properties that all alternatives of a relationship share.
struct Base<'a, 'm> {
    layout: &'a Layout<'m>,
    relationship: &'a Relationship,
    decision: &'a Decision,
    link: Link,
    parent: Fields,
    child: Fields,
    newest_by: Option<String>,
    looked_up: bool,
    found_by_child: bool,
    /// Whether the predictor is for a measurement. A measurement finds and changes each embedded
    /// child by its id. In a design, embedded children have ids only if reads look them up by id.
    measured: bool,
    roots: Arc<BTreeMap<String, u64>>,
    /// The sizes of a parent and a child.
    bytes: (Ranked, Ranked),
}

impl<'a, 'm> Base<'a, 'm> {
    /// Returns the sort order of the first read that sorts the parents of a child.
    fn sorted_by(&self) -> Vec<(String, bool)> {
        let r = self.relationship;
        let mut reads = self.layout.model.reads.iter().filter(|read| {
            r.is_shared()
                && read.from == r.parent
                && !read.sort.is_empty()
                && names_role(read, r.role())
                && !read.with.iter().any(|with| with.relationship == r.name)
        });
        reads.next().map(|read| read.sort.clone()).unwrap_or_default()
    }

    fn new(
        documents: &'a Documents<'m>,
        relationship: &'a Relationship,
        decision: &'a Decision,
    ) -> Self {
        let layout = documents.layout();
        let model = layout.model;
        // The fields that other relationships add are the same in all alternatives.
        let (parent, child) = documents.without(relationship);
        let bytes = (parent.bytes, child.bytes);
        let (parent, child) = (parent.fields, child.fields);
        let of_child = |read: &&DesignRead| read.from == relationship.child;
        let looked_up =
            model.reads.iter().filter(of_child).any(|read| !by_parent(read, relationship))
                || layout.is_named(&relationship.child);
        let newest_by = crate::layout::index::sorted::orders(model, relationship, decision)
            .into_iter()
            .next()
            .or_else(|| {
                let reads = model.reads.iter().filter(of_child);
                let mut of_parent = reads.filter(|read| by_parent(read, relationship));
                of_parent.find_map(|read| read.sort.first().map(|(field, _)| field.clone()))
            })
            .filter(|by| child.iter().any(|field| field.name == *by));
        let found_by_child = model.reads.iter().any(|read| {
            let wanted = read.with.iter().any(|with| with.relationship == relationship.name);
            read.from == relationship.parent && names_role(read, relationship.role())
                || wanted && !read_direction::comes_by_parent(model, read, relationship)
        });
        let found_by_child = found_by_child || decision.refreshes_copies();
        let link = Link::of(relationship, decision);
        Self {
            layout,
            relationship,
            decision,
            link,
            parent,
            child,
            newest_by,
            looked_up,
            found_by_child,
            measured: true,
            roots: documents.roots(),
            bytes,
        }
    }

    fn predictor(&self, way: StorageAlternative, link: Link) -> Predictor {
        let Self { layout, relationship, decision, .. } = self;
        let subset = Preview::of(&decision.patterns);
        let entity = layout.model.entity(&relationship.child);
        let children = decision.facts.children;
        let preview = subset.filter(|_| way == StorageAlternative::Hybrid).zip(entity);
        let preview =
            preview.map(|(shown, child)| layout.newest(relationship, child, shown, children));
        // A design that stores counts but no newest children is a reference with counts.
        let keeps = match way {
            StorageAlternative::Embed => decision.choice == Some(Choice::Embed),
            StorageAlternative::Reference => subset.is_none(),
            StorageAlternative::Hybrid => true,
        };
        let computed = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::Computed { counts, sums } if keeps => Some((*counts, sums)),
            _ => None,
        });
        let counts = computed.is_some_and(|(counts, _)| counts);
        let sums = computed.map(|(_, sums)| sums.as_slice()).unwrap_or_default();
        let figures = entity
            .map(|child| layout.figures(relationship, child, counts, sums))
            .unwrap_or_default();
        let copies = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::ExtendedReference { fields, in_parent: false, .. }
                if way != StorageAlternative::Embed && link == Link::ParentId =>
            {
                let name = layout.naming.parent_copy(relationship);
                layout.copies(name, &relationship.parent, fields)
            }
            _ => None,
        });
        let in_parent = decision.copied(true).filter(|_| way != StorageAlternative::Embed);
        let (held, pair) = match link {
            _ if way == StorageAlternative::Embed => (Vec::new(), Vec::new()),
            Link::ChildIds => (layout.held(relationship, children, in_parent), Vec::new()),
            Link::Pairs => (Vec::new(), layout.pair(relationship, in_parent)),
            Link::ParentId | Link::ParentIds => (Vec::new(), Vec::new()),
        };
        let copied = in_parent.filter(|_| !held.is_empty() || !pair.is_empty());
        let parent_id = match link {
            Link::ParentIds => layout.naming.parents_field(relationship),
            _ => layout.naming.parent_field(relationship),
        };
        let parents = match relationship.is_shared() {
            true => quantile::mean(relationship.parents_spread).max(1.0),
            false => 1.0,
        };
        let mean = |fields: &[Planned]| document_bytes(fields, Rank::Mean);
        let beside =
            |planned: &Planned| size::element(&planned.name, planned.value_bytes(Rank::Mean));
        let named = match link {
            Link::ParentId => size::element(&parent_id, 12),
            Link::ParentIds => size::element(&parent_id, size::array(parents.round() as u64, 12)),
            Link::ChildIds | Link::Pairs => 0,
        };
        // Embedded children have no id if nothing looks them up by id.
        let nameless = way == StorageAlternative::Embed
            && !(self.measured && (relationship.is_shared() || self.looked_up))
            && !(relationship.is_shared() && self.found_by_child)
            && !layout.has_part_id(relationship);
        let (child, child_bytes) = if nameless {
            let rest = self.child.iter().filter(|field| field.origin != Origin::Id);
            let id = size::element("_id", 12);
            let bytes = self.bytes.1.map(|bytes| bytes.saturating_sub(id));
            (Fields::new(rest.cloned().collect()), bytes)
        } else {
            (self.child.clone(), self.bytes.1)
        };
        let page = decision.patterns.iter().find_map(|pattern| match pattern {
            // A measurement stores all children in the parent.
            Pattern::Outlier { page } if way == StorageAlternative::Embed && !self.measured => {
                Some(*page)
            }
            _ => None,
        });
        let on_pages = page.map_or(0.0, |page| quantile::beyond(children, page));
        let sizes = Sizes {
            parent: self.bytes.0,
            child: child_bytes,
            own_child: self
                .bytes
                .1
                .at(Rank::Mean)
                .saturating_add(named)
                .saturating_add(copies.as_ref().map_or(0, beside)),
            preview: preview.as_ref().map(|list| Ranked::of(&list.fields)).unwrap_or_default(),
            held: match held.as_slice() {
                [list] if list.kind == BsonType::Array => match list.element {
                    Some(_) => Ranked::default().map(|_| 12),
                    None => Ranked::of(&list.fields),
                },
                // These fields belong to the parent itself, so they have no document overhead.
                single => Ranked::of(single).map(|bytes| bytes - size::DOCUMENT_OVERHEAD),
            },
            pair: mean(&pair),
            page: page.map_or(0, |page| size::array(page, child_bytes.at(Rank::Mean))),
        };
        Predictor {
            way,
            chosen: false,
            link,
            role: relationship.role().to_owned(),
            single: children.max <= 1,
            parent_id,
            copies,
            held,
            pair,
            copied: copied.unwrap_or_default().to_vec(),
            parents,
            shared: relationship.is_shared(),
            preview,
            shows: subset.filter(|_| way == StorageAlternative::Hybrid).map(|subset| Shows {
                newest: subset.newest,
                by: subset.by.to_owned(),
                fields: subset.fields.to_vec(),
                dated: entity.and_then(date_field),
            }),
            figures,
            newest_by: self.newest_by.clone(),
            looked_up: self.looked_up,
            found_by_child: self.found_by_child,
            sorted_by: self.sorted_by(),
            keep: relationship.keep_newest,
            comes_empty: relationship.is_shared()
                && matches!(relationship.growth, Some(ChildGrowth::Endless { .. })),
            names: (
                relationship.name.clone(),
                relationship.parent.clone(),
                relationship.child.clone(),
            ),
            roots: self.roots.clone(),
            sizes,
            on_pages,
            packed: None,
            home: None,
            parent: self.parent.clone(),
            child,
        }
    }
}

impl Predictor {
    /// Returns the word for the alternative, or for the link if alternatives differ only in that.
    pub fn name(&self) -> &'static str {
        match self.way {
            StorageAlternative::Reference if self.is_shared() => self.link.name(),
            way => way.name(),
        }
    }

    /// Whether there is a junction document for each pair.
    pub fn is_paired(&self) -> bool {
        self.way != StorageAlternative::Embed && self.link == Link::Pairs
    }

    /// Whether a child has several parents.
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// Returns the predictor with another number of parents of a child.
    #[must_use]
    pub fn shared_by(mut self, parents: f64) -> Self {
        let list = |parents: f64| size::array(parents.round() as u64, 12);
        if self.way != StorageAlternative::Embed && self.link == Link::ParentIds {
            self.sizes.own_child = self.sizes.own_child - list(self.parents) + list(parents);
        }
        self.parents = parents;
        self
    }

    /// Returns the mean size of parents in bytes, for a mean number of children.
    pub fn mean_parent_bytes(&self, children: f64) -> f64 {
        let few = children.max(0.0).floor();
        let bytes = |children: f64| self.parent_bytes(children as u64, Rank::Mean) as f64;
        bytes(few) + (children - few) * (bytes(few + 1.0) - bytes(few))
    }

    /// Returns the size in bytes of a parent with this many children. `rank` applies to the
    /// parent's own fields.
    pub fn parent_bytes(&self, children: u64, rank: Rank) -> u64 {
        let own = self.sizes.parent.at(rank);
        let list =
            |name: &str, count: u64, bytes: Ranked| size::element(name, bytes.array(rank, count));
        let held = match (self.way, self.held.as_slice()) {
            (StorageAlternative::Embed, _) if !self.single => {
                list(&self.role, children, self.sizes.child)
            }
            (StorageAlternative::Embed, _) => {
                children.min(1) * size::element(&self.role, self.sizes.child.at(rank))
            }
            (_, []) => 0,
            (_, [held]) if held.kind == BsonType::Array => {
                list(&held.name, children, self.sizes.held)
            }
            _ => children.min(1) * self.sizes.held.at(rank),
        };
        let preview = self.preview.as_ref().map_or(0, |preview| {
            list(&preview.name, children.min(self.shown()), self.sizes.preview)
        });
        let figures = self.figures.iter().filter(|(figure, _)| figure.is_there(children));
        let figures = figures
            .map(|(_, field)| size::element(&field.name, field.value_bytes(Rank::Mean)))
            .sum::<u64>();
        own.saturating_add(held).saturating_add(preview).saturating_add(figures)
    }

    /// Returns the predictor with children in buckets.
    #[must_use]
    pub(crate) fn in_buckets(self, packed: Packed) -> Self {
        Self { packed: Some(packed), ..self }
    }

    /// Returns the predictor with parents that are embedded in other documents.
    #[must_use]
    pub(crate) fn inside(self, home: Home) -> Self {
        Self { home: Some(home), ..self }
    }

    pub(crate) fn home(&self) -> Option<&Home> {
        self.home.as_ref()
    }

    /// Returns the size of the document that holds a parent with this many children: the parent
    /// itself, or the document it is embedded in.
    fn document_bytes(&self, children: u64) -> f64 {
        let parent = self.parent_bytes(children, Rank::Mean) as f64;
        let Some(home) = &self.home else { return parent };
        // The other parents in the same document are assumed to be typical.
        let typical = self.parent_bytes(home.children, Rank::Mean) as f64;
        self.around_parent(typical) + parent - typical
    }

    /// Returns the size of the document around parents of this size.
    pub(crate) fn around_parent(&self, parent: f64) -> f64 {
        let own = self.sizes.parent.at(Rank::Mean) as f64;
        let Some(home) = &self.home else { return parent };
        // If children store the id of their parent, the embedded parent needs an id.
        let is_named =
            self.way != StorageAlternative::Embed && self.link == Link::ParentId && !home.has_ids;
        let id = if is_named { size::element("_id", 12) as f64 } else { 0.0 };
        home.bytes.at(Rank::Mean) as f64 + home.parents * (parent - own + id)
    }

    /// Returns the number of parents in one document that a read begins with.
    pub(crate) fn per_root(&self, read: &DesignRead, plan: Option<&ReadPlan>) -> u64 {
        let above = self.home.iter().flat_map(|home| &home.above);
        let mut above = above.filter(|_| matches!(plan, Some(ReadPlan::Parents { .. })));
        above.find(|(entity, _)| *entity == read.from).map_or(1, |(_, parents)| *parents)
    }

    /// Returns the number of documents for this many separate children, and their size in bytes.
    pub(crate) fn apart(&self, children: f64) -> (f64, f64) {
        match self.packed {
            None => (children, children * self.sizes.own_child as f64),
            Some(packed) if packed.is_native => {
                (children, children * packed.bytes / packed.readings)
            }
            Some(packed) => {
                let buckets = (children / packed.readings).ceil();
                (buckets, buckets * packed.bytes)
            }
        }
    }

    /// Returns the number of index entries of a separate child:
    ///
    /// - one on `_id`, except in a time series
    /// - one on the parent's id, or on its own list in the parent
    /// - one for each ancestor, in a tree
    fn own_indexes(&self) -> f64 {
        let own = f64::from(!self.packed.is_some_and(|packed| packed.is_native));
        let above = if self.is_tree() { TREE_DEPTH.p50 as f64 } else { 0.0 };
        own + f64::from(self.link != Link::ChildIds || self.indexes_list()) + above
    }

    /// Whether the entities form a tree. Each then lists all its ancestors.
    fn is_tree(&self) -> bool {
        self.names.1 == self.names.2 && !self.shared
    }

    /// Whether the list of ids in the parent has an index. It needs one if reads find parents by
    /// it, or if it must prevent a child from having two parents.
    pub fn indexes_list(&self) -> bool {
        self.found_by_child || !self.shared && self.home.as_ref().is_none_or(|home| !home.in_list)
    }

    /// Returns the number of children that share an index entry.
    pub(crate) fn together(&self) -> f64 {
        self.packed.map_or(1.0, |packed| packed.readings)
    }

    /// Returns how many of the newest children a parent shows.
    pub fn shown(&self) -> u64 {
        self.preview.as_ref().and_then(|list| list.items).map_or(0, |items| items.max)
    }

    /// Whether the parent stores the number of its children.
    pub fn counts(&self) -> bool {
        self.figures.iter().any(|(figure, _)| *figure == Figure::Count)
    }

    /// Returns the mean size of a separate child in bytes.
    pub fn own_child(&self) -> u64 {
        self.sizes.own_child
    }

    /// Returns the maximum number of children that a parent below a size can embed.
    pub fn fitting(&self, bytes: u64) -> u64 {
        let room = bytes.saturating_sub(self.sizes.parent.at(Rank::P99));
        size::fitting(room, self.sizes.child.at(Rank::Mean))
    }

    /// Returns the mean size of a junction document in bytes.
    pub fn pair_bytes(&self) -> u64 {
        self.sizes.pair
    }

    /// Returns the size of all documents in bytes, for parents with these numbers of children. Also
    /// returns the size of the indexes in addition to those on `_id`. `children` counts each shared
    /// child once.
    pub fn storage(&self, counts: &[u64], children: u64) -> (u64, u64) {
        let held: u64 = counts.iter().map(|n| self.parent_bytes(*n, Rank::Mean)).sum();
        let links: u64 = counts.iter().sum();
        let parents = counts.iter().filter(|n| **n > 0).count() as f64;
        let apart = match (self.way, self.link) {
            (StorageAlternative::Embed, _) => 0,
            (_, Link::Pairs) => children * self.sizes.own_child + links * self.sizes.pair,
            _ => children * self.sizes.own_child,
        };
        (held + apart, self.index(parents, links as f64, children as f64) as u64)
    }

    /// Returns the size in bytes of the indexes in addition to those on `_id`.
    pub(crate) fn index(&self, parents: f64, links: f64, children: f64) -> f64 {
        let id = |distinct: f64| KeyPart::of(BsonType::ObjectId, 0, distinct);
        // The index on a list also contains the sort fields.
        let listed = || -> Vec<KeyPart> {
            let fields = self
                .sorted_by
                .iter()
                .filter_map(|(name, _)| self.parent.iter().find(|field| field.name == *name));
            let order = fields.map(|field| KeyPart::of(field.kind, field.bytes.0, links));
            std::iter::once(id(children)).chain(order).collect()
        };
        match (self.way, self.link) {
            (StorageAlternative::Embed, _) if self.needs_lookup() => index_bytes(&listed(), links),
            (StorageAlternative::Embed, _) => 0.0,
            (_, Link::ParentId) => {
                let by = self.newest_by.as_ref();
                let by = by.and_then(|by| self.child.iter().find(|field| field.name == *by));
                let by = by.map(|by| KeyPart::of(by.kind, by.bytes.0, links));
                let parts: Vec<KeyPart> = std::iter::once(id(parents)).chain(by).collect();
                let above = if self.is_tree() { links * TREE_DEPTH.p50 as f64 } else { 0.0 };
                index_bytes(&parts, links) + index_bytes(&[id(parents)], above)
            }
            (_, Link::ChildIds) if self.indexes_list() => index_bytes(&listed(), links),
            (_, Link::ChildIds) => 0.0,
            (_, Link::ParentIds) => index_bytes(&[id(parents)], links),
            // One unique index prevents duplicate pairs; the other serves lookups from the other
            // side.
            (_, Link::Pairs) => {
                index_bytes(&[id(parents), id(links)], links)
                    + index_bytes(&[id(children), id(links)], links)
            }
        }
    }

    /// Whether reads look up embedded children, which needs an index on their ids.
    pub fn needs_lookup(&self) -> bool {
        self.looked_up || self.is_shared() && self.found_by_child
    }
}

/// A read from the point of view of one relationship.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    /// The documents, and their bytes, that the read has when it follows the relationship.
    pub(crate) begin: (f64, f64),
    /// The number of documents that it fetches from the other side.
    pub(crate) fetched: f64,
    /// Whether it arrives at the parent.
    pub(crate) by_parent: bool,
    /// Whether the read filters by the relationship. The relationship then determines how many
    /// documents the read begins with.
    pub(crate) is_by_it: bool,
    /// Whether the read begins with buckets or pages.
    pub(crate) is_packed: bool,
}

/// Returns the alternative that was chosen.
pub(crate) fn chosen(decision: &Decision) -> StorageAlternative {
    let subset = decision.patterns.iter().any(|p| matches!(p, Pattern::Subset { .. }));
    match (decision.choice, subset) {
        (Some(Choice::Embed), _) => StorageAlternative::Embed,
        (_, true) => StorageAlternative::Hybrid,
        _ => StorageAlternative::Reference,
    }
}
