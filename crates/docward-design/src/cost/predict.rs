//! What one way of storing a relationship does for a declared read or write, and what that moves: for a
//! parent with any number of children. `compare` asks for a typical parent, `design simulate` for the
//! parents that it made, and does what is planned here.

mod operations;
use std::collections::BTreeMap;
use std::sync::Arc;

use docward_model::{BsonType, ChildGrowth, DesignModel, DesignRead, Relationship, With};

use crate::cost::access_plan::{Link, ReadPlan};
use crate::cost::documents::{Documents, Fields};
use crate::decide::alternative::Way;
use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::decide::preview::Preview;
use crate::decide::vote::Choice;
use crate::declared::access::{self, by_parent, names_role};
use crate::declared::dates::date_field;
use crate::declared::field_plan::{Origin, Planned, Rank, Ranked, TREE_DEPTH, document_bytes};
use crate::declared::naming::Naming;
use crate::declared::{quantile, size};
use crate::layout::capacity::{KeyPart, index_bytes};
use crate::layout::fields::{Figure, Layout};
use crate::layout::plan::Design;

/// One way of storing a relationship, with the documents it makes.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictor {
    /// The way.
    pub way: Way,
    /// Whether it was chosen.
    pub chosen: bool,
    /// Where ids live, unless children are embedded.
    pub link: Link,
    /// Fields of a parent, without what the relationship adds.
    pub parent: Fields,
    /// Fields of a child, as it is inside a parent or by itself.
    pub child: Fields,
    /// The field of embedded children.
    pub role: String,
    /// Whether a parent has at most one child, which is then an object and no list.
    pub single: bool,
    /// The field of a child by itself that names its parent.
    pub parent_id: String,
    /// Copies of the parent's fields in a child by itself.
    pub copies: Option<Planned>,
    /// What a parent holds of its children when it lists them: the id or list, and copies beside one id.
    pub held: Vec<Planned>,
    /// The fields of a pair.
    pub pair: Vec<Planned>,
    /// Fields of the child that the parent or the pair has copies of.
    pub copied: Vec<String>,
    /// Parents of a child, at the mean; 1 when it belongs to one.
    pub parents: f64,
    shared: bool,
    /// The newest children in the parent, each with its id in front.
    pub preview: Option<Planned>,
    /// What the preview shows of the newest, and the one date of a child.
    shows: Option<Shows>,
    /// What the parent counts and sums.
    pub figures: Vec<(Figure, Planned)>,
    /// The field of a child that says which is newest; the id when there is none.
    pub newest_by: Option<String>,
    /// Whether embedded children are looked for without their parent, which needs an index on their ids.
    pub looked_up: bool,
    /// Whether parents are looked for by a child that they list, which needs an index on the list.
    pub found_by_child: bool,
    /// The order that parents of a child are wanted in, and whether it falls.
    pub sorted_by: Vec<(String, bool)>,
    /// Embedded children beyond so many are cut off.
    pub keep: Option<u64>,
    /// Whether children that are there already come to a parent one by one, so that a new parent has none.
    pub comes_empty: bool,
    names: (String, String, String),
    /// Documents that reads begin with, where that follows from other relationships.
    roots: Arc<BTreeMap<String, u64>>,
    sizes: Sizes,
    /// Share of the embedded children that are on pages beside their parents.
    on_pages: f64,
    /// How children are put together, where several are one document.
    packed: Option<Packed>,
    /// The documents that parents are part of.
    home: Option<Home>,
}

/// A preview, apart from its decision.
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

/// Children that are readings of a bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Packed {
    /// Readings of a bucket, at the mean.
    pub(crate) readings: f64,
    /// Bytes of a bucket with so many.
    pub(crate) bytes: f64,
    /// Whether the server makes the buckets, which are then read as single documents.
    pub(crate) is_native: bool,
}

/// Documents that parents are embedded in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Home {
    /// Their entity.
    pub(crate) entity: String,
    /// Their bytes, without what the relationship adds.
    pub(crate) bytes: Ranked,
    /// Parents in one, at the mean.
    pub(crate) parents: f64,
    /// Entities on the way down to the parent, and how many parents one of each has typically.
    pub(crate) above: Vec<(String, u64)>,
    /// Whether parents have ids there without the relationship.
    pub(crate) has_ids: bool,
    /// Children of a typical parent.
    pub(crate) children: u64,
    /// Whether parents are elements of a list there, or of one in a list.
    pub(crate) in_list: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Sizes {
    parent: Ranked,
    /// A child inside its parent.
    child: Ranked,
    /// A child by itself, at the mean.
    own_child: u64,
    preview: Ranked,
    /// What a parent holds of one child.
    held: Ranked,
    /// At the mean.
    pair: u64,
    /// A full page of children.
    page: u64,
}

/// The ways a relationship can be stored, the chosen one first; nothing while it is undecided. Children
/// that several parents share can be referenced in three ways.
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

/// The ways of a relationship for a table, or to be measured. Ids of children that parents share can be in three
/// places; where a parent has one child its id is in the parent, and only a measurement tries the others.
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
    // Previews of what is shared are not measured.
    let preview = Preview::of(&decision.patterns).is_some() && !(shared && measured);
    let chosen = match chosen(decision) {
        Way::Hybrid if !preview => Way::Reference,
        way => way,
    };
    let mut ways = vec![(Way::Embed, base.link)];
    ways.extend(references.into_iter().map(|link| (Way::Reference, link)));
    if preview {
        ways.push((Way::Hybrid, base.link));
    }
    let is_chosen = |way: Way, link: Link| way == chosen && link == base.link;
    ways.sort_by_key(|(way, link)| !is_chosen(*way, *link));
    let made = ways
        .into_iter()
        .map(|(way, link)| Predictor { chosen: is_chosen(way, link), ..base.predictor(way, link) });
    made.collect()
}

/// What all ways of a relationship share.
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
    /// Whether it is for a measurement, which finds and changes each embedded child by its id; in a design only
    /// those have one that are asked for by it.
    measured: bool,
    roots: Arc<BTreeMap<String, u64>>,
    /// Bytes of a parent, and of a child.
    bytes: (Ranked, Ranked),
}

impl<'a, 'm> Base<'a, 'm> {
    /// The order of the first read that wants parents of a child in one.
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
        // What every other relationship adds to the two is the same in all ways.
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
                || wanted && !access::comes_by_parent(model, read, relationship)
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

    fn predictor(&self, way: Way, link: Link) -> Predictor {
        let Self { layout, relationship, decision, .. } = self;
        let subset = Preview::of(&decision.patterns);
        let entity = layout.model.entity(&relationship.child);
        let children = decision.facts.children;
        let preview = subset.filter(|_| way == Way::Hybrid).zip(entity).map(
            |(Preview { newest, by, fields }, child)| {
                layout.newest(relationship, child, (newest, by, fields), children)
            },
        );
        // A design that keeps counts but shows no newest children is a reference with counts.
        let keeps = match way {
            Way::Embed => decision.choice == Some(Choice::Embed),
            Way::Reference => subset.is_none(),
            Way::Hybrid => true,
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
                if way != Way::Embed && link == Link::ParentId =>
            {
                let name = layout.naming.parent_copy(relationship);
                layout.copies(name, &relationship.parent, fields)
            }
            _ => None,
        });
        let in_parent = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::ExtendedReference { fields, in_parent: true, .. } if way != Way::Embed => {
                Some(fields)
            }
            _ => None,
        });
        let (held, pair) = match link {
            _ if way == Way::Embed => (Vec::new(), Vec::new()),
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
        // Embedded children that nobody asks for by an id have none.
        let nameless = way == Way::Embed
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
            // A measurement has all of them in the parent.
            Pattern::Outlier { page } if way == Way::Embed && !self.measured => Some(*page),
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
                // Fields of the parent itself, without a document around them.
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
            copied: copied.cloned().unwrap_or_default(),
            parents,
            shared: relationship.is_shared(),
            preview,
            shows: subset.filter(|_| way == Way::Hybrid).map(|subset| Shows {
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
    /// The word for the way; where ids live when that is what sets ways apart.
    pub fn name(&self) -> &'static str {
        match self.way {
            Way::Reference if self.is_shared() => self.link.name(),
            way => way.name(),
        }
    }

    /// Whether there is a document for each pair.
    pub fn is_paired(&self) -> bool {
        self.way != Way::Embed && self.link == Link::Pairs
    }

    /// Whether a child has several parents.
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// The same with another number of parents of a child.
    #[must_use]
    pub fn shared_by(mut self, parents: f64) -> Self {
        let list = |parents: f64| size::array(parents.round() as u64, 12);
        if self.way != Way::Embed && self.link == Link::ParentIds {
            self.sizes.own_child = self.sizes.own_child - list(self.parents) + list(parents);
        }
        self.parents = parents;
        self
    }

    /// Bytes of a parent at the mean of many, which have so many children on average.
    pub fn mean_parent_bytes(&self, children: f64) -> f64 {
        let few = children.max(0.0).floor();
        let bytes = |children: f64| self.parent_bytes(children as u64, Rank::Mean) as f64;
        bytes(few) + (children - few) * (bytes(few + 1.0) - bytes(few))
    }

    /// Bytes of a parent that has so many children; its own fields at a rank.
    pub fn parent_bytes(&self, children: u64, rank: Rank) -> u64 {
        let own = self.sizes.parent.at(rank);
        let list =
            |name: &str, count: u64, bytes: Ranked| size::element(name, bytes.array(rank, count));
        let held = match (self.way, self.held.as_slice()) {
            (Way::Embed, _) if !self.single => list(&self.role, children, self.sizes.child),
            (Way::Embed, _) => {
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

    /// The same with children in buckets.
    #[must_use]
    pub(crate) fn in_buckets(self, packed: Packed) -> Self {
        Self { packed: Some(packed), ..self }
    }

    /// The same with parents that are part of other documents.
    #[must_use]
    pub(crate) fn inside(self, home: Home) -> Self {
        Self { home: Some(home), ..self }
    }

    pub(crate) fn home(&self) -> Option<&Home> {
        self.home.as_ref()
    }

    /// Bytes of the document that has a parent with so many children each: the parent itself, or what it is
    /// embedded in.
    fn document_bytes(&self, children: u64) -> f64 {
        let parent = self.parent_bytes(children, Rank::Mean) as f64;
        let Some(home) = &self.home else { return parent };
        // Those beside it are as parents are.
        let typical = self.parent_bytes(home.children, Rank::Mean) as f64;
        self.around_parent(typical) + parent - typical
    }

    /// Bytes of the document around parents of so many bytes.
    pub(crate) fn around_parent(&self, parent: f64) -> f64 {
        let own = self.sizes.parent.at(Rank::Mean) as f64;
        let Some(home) = &self.home else { return parent };
        // Children that name their parent give it an id.
        let is_named = self.way != Way::Embed && self.link == Link::ParentId && !home.has_ids;
        let id = if is_named { size::element("_id", 12) as f64 } else { 0.0 };
        home.bytes.at(Rank::Mean) as f64 + home.parents * (parent - own + id)
    }

    /// Parents that are reached by one document that a read begins with.
    pub(crate) fn per_root(&self, read: &DesignRead, plan: Option<&ReadPlan>) -> u64 {
        let above = self.home.iter().flat_map(|home| &home.above);
        let mut above = above.filter(|_| matches!(plan, Some(ReadPlan::Parents { .. })));
        above.find(|(entity, _)| *entity == read.from).map_or(1, |(_, parents)| *parents)
    }

    /// Documents of so many children by themselves, and their bytes.
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

    /// Indexes that an own child has an entry in: the one on `_id`, which a time series does not have, and
    /// the one on the parent's id, or on the list of its own in the parent. A child in a tree has an entry for each
    /// of those above it.
    fn own_indexes(&self) -> f64 {
        let own = f64::from(!self.packed.is_some_and(|packed| packed.is_native));
        let above = if self.is_tree() { TREE_DEPTH.p50 as f64 } else { 0.0 };
        own + f64::from(self.link != Link::ChildIds || self.indexes_list()) + above
    }

    /// Whether entities lie above and below each other: each lists all above it.
    fn is_tree(&self) -> bool {
        self.names.1 == self.names.2 && !self.shared
    }

    /// Whether ids that parents list have an index: parents are found by them, or no child is in two.
    pub fn indexes_list(&self) -> bool {
        self.found_by_child || !self.shared && self.home.as_ref().is_none_or(|home| !home.in_list)
    }

    /// Children that have an index entry together.
    pub(crate) fn together(&self) -> f64 {
        self.packed.map_or(1.0, |packed| packed.readings)
    }

    /// How many of the newest children a parent shows.
    pub fn shown(&self) -> u64 {
        self.preview.as_ref().and_then(|list| list.items).map_or(0, |items| items.max)
    }

    /// Whether the parent counts its children.
    pub fn counts(&self) -> bool {
        self.figures.iter().any(|(figure, _)| *figure == Figure::Count)
    }

    /// Bytes of a child by itself, at the mean.
    pub fn own_child(&self) -> u64 {
        self.sizes.own_child
    }

    /// The most children that fit into a parent below a size.
    pub fn fitting(&self, bytes: u64) -> u64 {
        let room = bytes.saturating_sub(self.sizes.parent.at(Rank::P99));
        size::fitting(room, self.sizes.child.at(Rank::Mean))
    }

    /// Bytes of a pair, at the mean.
    pub fn pair_bytes(&self) -> u64 {
        self.sizes.pair
    }

    /// Bytes of all documents of parents that have so many children each, and of the indexes that the way
    /// needs beside those on `_id`. Children that parents share are fewer than their links.
    pub fn storage(&self, counts: &[u64], children: u64) -> (u64, u64) {
        let held: u64 = counts.iter().map(|n| self.parent_bytes(*n, Rank::Mean)).sum();
        let links: u64 = counts.iter().sum();
        let parents = counts.iter().filter(|n| **n > 0).count() as f64;
        let apart = match (self.way, self.link) {
            (Way::Embed, _) => 0,
            (_, Link::Pairs) => children * self.sizes.own_child + links * self.sizes.pair,
            _ => children * self.sizes.own_child,
        };
        (held + apart, self.index(parents, links as f64, children as f64) as u64)
    }

    /// Bytes of the indexes that the way needs beside those on `_id`.
    pub(crate) fn index(&self, parents: f64, links: f64, children: f64) -> f64 {
        let id = |distinct: f64| KeyPart::of(BsonType::ObjectId, 0, distinct);
        // What a list leads to is found in the order of its documents.
        let listed = || -> Vec<KeyPart> {
            let fields = self
                .sorted_by
                .iter()
                .filter_map(|(name, _)| self.parent.iter().find(|field| field.name == *name));
            let order = fields.map(|field| KeyPart::of(field.kind, field.bytes.0, links));
            std::iter::once(id(children)).chain(order).collect()
        };
        match (self.way, self.link) {
            (Way::Embed, _) if self.needs_lookup() => index_bytes(&listed(), links),
            (Way::Embed, _) => 0.0,
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
            // No pair twice, and from the other side.
            (_, Link::Pairs) => {
                index_bytes(&[id(parents), id(links)], links)
                    + index_bytes(&[id(children), id(links)], links)
            }
        }
    }

    /// Whether embedded children are looked for, which needs an index on their ids.
    pub fn needs_lookup(&self) -> bool {
        self.looked_up || self.is_shared() && self.found_by_child
    }
}

/// A read as one relationship sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    /// Documents, and their bytes, that are there already when it follows the relationship.
    pub(crate) begin: (f64, f64),
    /// Documents that it fetches of the other side.
    pub(crate) fetched: f64,
    /// Whether it comes by the parent.
    pub(crate) by_parent: bool,
    /// Whether it asks by the relationship: how many documents it begins with follows from that.
    pub(crate) is_by_it: bool,
    /// Whether what it begins with are buckets or pages.
    pub(crate) is_packed: bool,
}

/// The way that was decided.
pub(crate) fn chosen(decision: &Decision) -> Way {
    let subset = decision.patterns.iter().any(|p| matches!(p, Pattern::Subset { .. }));
    match (decision.choice, subset) {
        (Some(Choice::Embed), _) => Way::Embed,
        (_, true) => Way::Hybrid,
        _ => Way::Reference,
    }
}
