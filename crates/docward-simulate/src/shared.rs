//! Children that several parents share: copied into each, listed by their parents, listing their
//! parents, or linked by separate documents.

use std::collections::BTreeSet;
use std::time::Instant;

use docward_design::{
    Act, Fetch, Link, OperationCost, Predictor, ReadPlan, StorageAlternative, WritePlan,
};
use docward_model::{BsonType, DesignRead, DesignWrite};
use mongodb::{
    ClientSession, Collection, Database,
    bson::{Bson, Document, RawDocumentBuf, doc, oid::ObjectId},
    error::Error,
    options::IndexOptions,
};

use crate::{
    context::RunContext,
    make::{Maker, Rng, Which, begin, end, made_id, mixed, named, raw},
    queries::{among, bytes_of, found, grouped, look_at_rest, picked_of},
    relation::Operation,
    replay::{Moved, Subject},
    store::{Batch, LARGEST, RELATION, Sizes, number as count_of, sizes},
};
use docward_refactor::{Trouble, failed};

/// The parents, children and links of one alternative.
pub(crate) struct Shared<'p, 'm> {
    way: &'p Predictor,
    maker: Maker<'p>,
    parents: Collection<RawDocumentBuf>,
    children: Collection<RawDocumentBuf>,
    pairs: Collection<RawDocumentBuf>,
    /// Children of each parent.
    links: Vec<Vec<u32>>,
    /// Parents of each child, in the order they were added.
    holders: Vec<Vec<u32>>,
    /// Existing parents.
    alive: Vec<usize>,
    /// Existing children.
    living: Vec<usize>,
    /// The number of links that were created.
    made: u64,
    /// The number of parents truncated at the maximum size.
    pub(crate) cut: u64,
    pub(crate) operations: Vec<Operation<'m>>,
}

/// The children of each parent: the given number, distinct, with equal probability.
pub(crate) fn linked(counts: &[u64], children: u64, seed: u64) -> Vec<Vec<u32>> {
    let mut rng = Rng::new(mixed(seed, 0x11));
    let each = counts.iter().map(|wanted| {
        let wanted = (*wanted).min(children);
        let mut chosen = BTreeSet::new();
        for last in children - wanted..children {
            let one = rng.below(last + 1);
            if !chosen.insert(one as u32) {
                chosen.insert(last as u32);
            }
        }
        chosen.into_iter().collect()
    });
    each.collect()
}

/// A sort order for the server; `None` if there is none.
fn ordered(sort: &[(String, bool)]) -> Option<Document> {
    let order = sort.iter().map(|(field, falls)| {
        let sign: i32 = if *falls { -1 } else { 1 };
        (field.clone(), sign.into())
    });
    (!sort.is_empty()).then(|| order.collect())
}

impl<'p, 'm> Shared<'p, 'm> {
    /// Generates and stores everything.
    pub(crate) async fn build(
        around: &RunContext<'_>,
        database: &Database,
        way: &'p Predictor,
        name: &str,
        links: Vec<Vec<u32>>,
        children: u64,
        operations: Vec<Operation<'m>>,
    ) -> Result<Self, Trouble> {
        let name = name.replace(['.', '$'], "_");
        let word = way.name().replace('-', "_");
        let collection = |what: &str| database.collection(&format!("{name}_{word}_{what}"));
        let mut store = Self {
            way,
            maker: Maker::new(way, around.seed),
            parents: collection("parent"),
            children: collection("child"),
            pairs: collection("pair"),
            holders: vec![Vec::new(); children as usize],
            alive: (0..links.len()).collect(),
            living: (0..children as usize).collect(),
            links,
            made: 0,
            cut: 0,
            operations,
        };
        let words = "storing documents in the scratch database";
        store.indexes().await.map_err(|e| failed("creating scratch collections", &e))?;
        let mut batch = Batch::default();
        for parent in 0..store.links.len() {
            let wanted = store.links[parent].len();
            let (document, held) = store.parent(parent, &store.links[parent]);
            store.links[parent].truncate(held);
            store.cut += u64::from(held < wanted);
            for child in &store.links[parent] {
                store.holders[*child as usize].push(parent as u32);
            }
            if batch.add(document) {
                around.check()?;
                batch.flush(&store.parents, around).await.map_err(|e| failed(words, &e))?;
            }
        }
        batch.flush(&store.parents, around).await.map_err(|e| failed(words, &e))?;
        if way.way != StorageAlternative::Embed {
            for child in 0..store.holders.len() {
                if batch.add(store.child(child)) {
                    around.check()?;
                    batch.flush(&store.children, around).await.map_err(|e| failed(words, &e))?;
                }
            }
            batch.flush(&store.children, around).await.map_err(|e| failed(words, &e))?;
        }
        if way.is_paired() {
            for parent in 0..store.links.len() {
                for i in 0..store.links[parent].len() {
                    let pair = store.pair(parent, store.links[parent][i]);
                    if batch.add(pair) {
                        around.check()?;
                        batch.flush(&store.pairs, around).await.map_err(|e| failed(words, &e))?;
                    }
                }
            }
            batch.flush(&store.pairs, around).await.map_err(|e| failed(words, &e))?;
        }
        around.check()?;
        Ok(store)
    }

    async fn indexes(&self) -> Result<(), Error> {
        let index = |keys: Document, name: &str| {
            let options = IndexOptions::builder().name(name.to_owned()).build();
            mongodb::IndexModel::builder().keys(keys).options(options).build()
        };
        let second = format!("{RELATION}_back");
        // Children of a list are found in the order of their documents.
        let sorted = ordered(&self.way.sorted_by);
        match (self.way.way, self.way.link) {
            (StorageAlternative::Embed, _) if self.way.needs_lookup() => {
                let mut keys = doc! { self.copy_path(): 1 };
                keys.extend(sorted.unwrap_or_default());
                self.parents.create_index(index(keys, RELATION)).await?;
            }
            (StorageAlternative::Embed, _) => {}
            (_, Link::ChildIds) if self.way.found_by_child => {
                let mut keys = doc! { self.maker.listed_path(): 1 };
                keys.extend(sorted.unwrap_or_default());
                self.parents.create_index(index(keys, RELATION)).await?;
            }
            (_, Link::ChildIds | Link::ParentId) => {}
            (_, Link::ParentIds) => {
                let keys = doc! { &self.way.parent_id: 1 };
                self.children.create_index(index(keys, RELATION)).await?;
            }
            (_, Link::Pairs) => {
                let (of_parent, of_child) = self.pair_fields();
                let (to, back) =
                    (doc! { of_parent: 1, of_child: 1 }, doc! { of_child: 1, of_parent: 1 });
                self.pairs.create_index(index(to, RELATION)).await?;
                self.pairs.create_index(index(back, &second)).await?;
            }
        }
        Ok(())
    }

    fn pair_fields(&self) -> (&str, &str) {
        let name = |i: usize| self.way.pair.get(i).map_or("", |field| field.name.as_str());
        (name(1), name(2))
    }

    /// The path of child ids if children are copied completely.
    fn copy_path(&self) -> String {
        format!("{}._id", self.way.role)
    }

    fn child_id(&self, child: u32) -> ObjectId {
        let child = u64::from(child);
        made_id(child * 60, child, mixed(1, child))
    }

    fn which(&self, child: u32) -> Which {
        let seed = mixed(mixed(self.maker.seed, 0xC1), u64::from(child) + 1);
        Which { id: self.child_id(child), seed, serial: u64::from(child) }
    }

    fn parent_id(&self, parent: usize) -> ObjectId {
        self.maker.parent_id(parent as u64)
    }

    /// A parent with these children, and the number of them that fit.
    fn parent(&self, parent: usize, children: &[u32]) -> (RawDocumentBuf, usize) {
        let mut out = Vec::new();
        let start = begin(&mut out);
        self.maker.pen.fields(&mut out, &self.maker.parent, self.maker.which_parent(parent as u64));
        let mut held = children.len();
        if self.way.way == StorageAlternative::Embed {
            held = 0;
            named(&mut out, 0x04, &self.way.role);
            let array = begin(&mut out);
            for child in children {
                let before = out.len();
                named(&mut out, 0x03, &held.to_string());
                self.maker.pen.document(&mut out, &self.maker.child, self.which(*child));
                if out.len() > LARGEST as usize {
                    out.truncate(before);
                    break;
                }
                held += 1;
            }
            end(&mut out, array);
        } else if self.way.link == Link::ChildIds {
            let which: Vec<Which> = children.iter().map(|child| self.which(*child)).collect();
            self.maker.list(&mut out, &which);
        }
        self.maker.figures(&mut out, children.len() as u64);
        end(&mut out, start);
        (raw(out), held)
    }

    fn child(&self, child: usize) -> RawDocumentBuf {
        let mut out = Vec::new();
        let start = begin(&mut out);
        self.maker.pen.fields(&mut out, &self.maker.child, self.which(child as u32));
        if self.way.link == Link::ParentIds {
            named(&mut out, 0x04, &self.way.parent_id);
            let array = begin(&mut out);
            for (i, parent) in self.holders[child].iter().enumerate() {
                named(&mut out, 0x07, &i.to_string());
                out.extend(self.parent_id(*parent as usize).bytes());
            }
            end(&mut out, array);
        }
        end(&mut out, start);
        raw(out)
    }

    fn pair(&mut self, parent: usize, child: u32) -> RawDocumentBuf {
        let (of_parent, of_child) = self.pair_fields();
        let mut out = Vec::new();
        let start = begin(&mut out);
        named(&mut out, 0x07, "_id");
        out.extend(made_id(self.made, self.made, mixed(1, self.made)).bytes());
        for (name, id) in [(of_parent, self.parent_id(parent)), (of_child, self.child_id(child))] {
            named(&mut out, 0x07, name);
            out.extend(id.bytes());
        }
        if let Some(copies) = self.way.pair.get(3) {
            named(&mut out, 0x03, &copies.name);
            let fields = crate::make::fields(&copies.fields);
            self.maker.pen.document(&mut out, &fields, self.which(child));
        }
        end(&mut out, start);
        self.made += 1;
        raw(out)
    }

    fn count(&self, parent: usize) -> u64 {
        self.links[parent].len() as u64
    }

    /// The number of stored documents.
    pub(crate) fn documents(&self) -> u64 {
        let links: u64 = (0..self.links.len()).map(|parent| self.count(parent)).sum();
        let apart =
            if self.way.way == StorageAlternative::Embed { 0 } else { self.holders.len() as u64 };
        self.links.len() as u64 + apart + if self.way.is_paired() { links } else { 0 }
    }

    /// The sizes that the server reports, before any change.
    pub(crate) async fn sizes(&self, database: &Database) -> Result<Sizes, Trouble> {
        let counts: Vec<u64> = (0..self.links.len()).map(|parent| self.count(parent)).collect();
        let predicted = self.way.storage(&counts, self.holders.len() as u64);
        let mut names = vec![self.parents.name()];
        if self.way.way != StorageAlternative::Embed {
            names.push(self.children.name());
        }
        if self.way.is_paired() {
            names.push(self.pairs.name());
        }
        sizes(database, self.way, &self.parents, &names, &counts, predicted).await
    }

    /// Frees the space before the next relationship.
    pub(crate) async fn clear(&self) -> Result<(), Trouble> {
        for collection in [&self.parents, &self.children, &self.pairs] {
            collection.drop().await.map_err(|e| failed("dropping scratch collections", &e))?;
        }
        Ok(())
    }

    /// Returns up to `wanted` distinct elements of `of` for which `may` holds.
    fn some(of: &[usize], wanted: u64, rng: &mut Rng, may: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut chosen: Vec<usize> = Vec::new();
        let wanted = wanted.min(of.len() as u64) as usize;
        for _ in 0..wanted * 20 + 100 {
            if chosen.len() == wanted {
                break;
            }
            let one = of[rng.below(of.len() as u64) as usize];
            if !chosen.contains(&one) && may(one) {
                chosen.push(one);
            }
        }
        chosen
    }

    /// The children of these parents, each once.
    fn different(&self, parents: &[usize]) -> Vec<ObjectId> {
        let all = parents.iter().flat_map(|parent| &self.links[*parent]);
        let all: BTreeSet<u32> = all.copied().collect();
        all.into_iter().map(|child| self.child_id(child)).collect()
    }

    /// The filter for the children, after their parents, and the links between them, were read.
    fn children_of(&self, parents: &[usize]) -> Document {
        match self.way.link {
            Link::ParentIds => {
                let ids: Vec<_> = parents.iter().map(|p| self.parent_id(*p)).collect();
                among(&self.way.parent_id, &ids)
            }
            _ => among("_id", &self.different(parents)),
        }
    }

    async fn read_once(
        &self,
        read: &DesignRead,
        plan: &ReadPlan,
        rng: &mut Rng,
    ) -> Result<(OperationCost, Moved), Error> {
        let way = self.way;
        let mut moved = Moved::default();
        let newest = match &way.newest_by {
            Some(by) => doc! { by: -1 },
            None => doc! { "_id": -1 },
        };
        let counts = |of: &[usize]| of.iter().map(|p| self.count(*p)).collect::<Vec<u64>>();
        let (of_parent, _) = self.pair_fields();
        let paired = way.is_paired();
        let sorted = ordered(&read.sort);
        let mut picked = Vec::new();
        let cost;
        let began;
        match plan {
            ReadPlan::Parents { roots, fetch, count, sums } => {
                let parents = Self::some(&self.alive, *roots, rng, |_| true);
                let ids: Vec<_> = parents.iter().map(|p| self.parent_id(*p)).collect();
                let different = self.different(&parents).len() as u64;
                cost = way.read_of(read, Some(plan), &counts(&parents), &[], Some(different));
                began = Instant::now();
                found(&self.parents, among("_id", &ids), None, 0, &mut moved).await?;
                let has = different > 0;
                if paired && *fetch != Fetch::Nothing {
                    found(&self.pairs, among(of_parent, &ids), None, 0, &mut moved).await?;
                }
                match fetch {
                    Fetch::Nothing | Fetch::Pairs => {}
                    Fetch::All if has => {
                        found(&self.children, self.children_of(&parents), None, 0, &mut moved)
                            .await?;
                    }
                    Fetch::Newest(n) => {
                        for parent in parents.iter().filter(|p| self.count(**p) > 0) {
                            let (filter, shown) =
                                (self.children_of(&[*parent]), (Some(&newest), *n));
                            picked
                                .push(picked_of(&self.children, filter, shown, &mut moved).await?);
                        }
                    }
                    Fetch::All => {}
                }
                if *count {
                    for id in &ids {
                        if paired {
                            self.pairs.count_documents(doc! { of_parent: *id }).await?;
                        } else {
                            self.children.count_documents(doc! { &way.parent_id: *id }).await?;
                        }
                    }
                }
                if let Some(field) = sums {
                    if paired {
                        found(&self.pairs, among(of_parent, &ids), None, 0, &mut moved).await?;
                    }
                    let group = doc! { "_id": null, "n": { "$sum": 1 }, "sum": { "$sum": format!("${field}") } };
                    if has {
                        let filter = self.children_of(&parents);
                        let rows = grouped(&self.children, filter, group).await?;
                        moved.documents +=
                            rows.first().and_then(|row| count_of(row.get("n")?)).unwrap_or(0);
                    }
                }
                moved.took = began.elapsed();
                for (filter, shown) in picked.into_iter().filter(|_| way.reads_all_for_newest()) {
                    look_at_rest(&self.children, filter, shown, &mut moved).await?;
                }
                if sums.is_some() && has {
                    moved.bytes += bytes_of(&self.children, self.children_of(&parents)).await?;
                }
            }
            ReadPlan::ParentsOf { limit, all } => {
                let child = Self::some(&self.living, 1, rng, |c| !self.holders[c].is_empty());
                let child = child.first().copied().unwrap_or(0);
                let limit = limit.unwrap_or(0);
                let mut holders: Vec<usize> =
                    self.holders[child].iter().map(|p| *p as usize).collect();
                if limit > 0 && !all {
                    holders.truncate(limit as usize);
                }
                let ids: Vec<_> = holders.iter().map(|p| self.parent_id(*p)).collect();
                cost = way.read_of(read, Some(plan), &[], &counts(&holders), None);
                let id = self.child_id(child as u32);
                began = Instant::now();
                let (filter, shown) =
                    self.parents_of(id, &ids, (sorted.as_ref(), limit, *all), &mut moved).await?;
                moved.took = began.elapsed();
                if *all {
                    look_at_rest(&self.parents, filter, shown, &mut moved).await?;
                }
            }
            ReadPlan::ChildrenOf { limit, all, parent } => {
                let parents = Self::some(&self.alive, 1, rng, |p| self.count(p) > 0);
                let ids: Vec<_> = parents.iter().map(|p| self.parent_id(*p)).collect();
                cost = way.read_of(read, Some(plan), &counts(&parents), &[], None);
                began = Instant::now();
                if way.way == StorageAlternative::Embed || *parent || way.link == Link::ChildIds {
                    found(&self.parents, among("_id", &ids), None, 0, &mut moved).await?;
                }
                if paired {
                    let most = if *all { 0 } else { limit.unwrap_or(0) };
                    found(&self.pairs, among(of_parent, &ids), None, most, &mut moved).await?;
                }
                if way.way != StorageAlternative::Embed {
                    let (filter, most) = (self.children_of(&parents), limit.unwrap_or(0));
                    let shown = (Some(&newest), most);
                    picked.push(picked_of(&self.children, filter, shown, &mut moved).await?);
                }
                moved.took = began.elapsed();
                for (filter, shown) in picked.into_iter().filter(|_| *all) {
                    look_at_rest(&self.children, filter, shown, &mut moved).await?;
                }
            }
            ReadPlan::Children { roots, parent } => {
                let children =
                    Self::some(&self.living, *roots, rng, |c| !self.holders[c].is_empty());
                let of = |child: &usize| self.holders[*child].iter().map(|p| *p as usize);
                let first: Vec<usize> = children.iter().filter_map(|c| of(c).next()).collect();
                let all: Vec<usize> = children.iter().flat_map(of).collect();
                cost = way.read_of(read, Some(plan), &counts(&first), &counts(&all), None);
                let ids: Vec<_> = children.iter().map(|c| self.child_id(*c as u32)).collect();
                began = Instant::now();
                if way.way != StorageAlternative::Embed && !(*parent && way.link == Link::ParentIds)
                {
                    found(&self.children, among("_id", &ids), None, 0, &mut moved).await?;
                }
                if *parent {
                    for child in &children {
                        let holders: Vec<_> = of(child).map(|p| self.parent_id(p)).collect();
                        let child = self.child_id(*child as u32);
                        self.parents_of(child, &holders, (None, 0, false), &mut moved).await?;
                    }
                } else if way.way == StorageAlternative::Embed {
                    for id in &ids {
                        found(&self.parents, doc! { self.copy_path(): *id }, None, 1, &mut moved)
                            .await?;
                    }
                }
                moved.took = began.elapsed();
            }
        }
        Ok((cost, moved))
    }

    /// Reads the parents of a child.
    async fn parents_of(
        &self,
        child: ObjectId,
        parents: &[ObjectId],
        (sort, limit, all): (Option<&Document>, u64, bool),
        moved: &mut Moved,
    ) -> Result<(Document, (u64, u64)), Error> {
        let (_, of_child) = self.pair_fields();
        let filter = match self.way.link {
            _ if self.way.way == StorageAlternative::Embed => doc! { self.copy_path(): child },
            Link::ChildIds | Link::ParentId => doc! { self.maker.listed_path(): child },
            Link::ParentIds => {
                found(&self.children, doc! { "_id": child }, None, 1, moved).await?;
                among("_id", parents)
            }
            Link::Pairs => {
                let pairs = if all { 0 } else { limit };
                found(&self.pairs, doc! { of_child: child }, None, pairs, moved).await?;
                among("_id", parents)
            }
        };
        picked_of(&self.parents, filter, (sort, limit), moved).await
    }

    async fn write_once(
        &mut self,
        write: &DesignWrite,
        plan: &WritePlan,
        rng: &mut Rng,
    ) -> Result<(OperationCost, Moved), Error> {
        let embedded = self.way.way == StorageAlternative::Embed;
        let child = Self::some(&self.living, 1, rng, |c| !self.holders[c].is_empty());
        let child = child.first().copied().unwrap_or(0) as u32;
        let parent = Self::some(&self.alive, 1, rng, |_| true).first().copied().unwrap_or(0);
        let holders: Vec<usize> =
            self.holders[child as usize].iter().map(|p| *p as usize).collect();
        let others: Vec<u64> = holders.iter().map(|p| self.count(*p)).collect();
        let cost = self.way.write_of(write, plan, self.count(parent), &others);
        let seed = rng.next();
        let mut moved = Moved::default();
        if let Some(act) = plan.parent {
            // It gets the children of another parent, unless they are added one by one.
            let comes_empty = self.way.comes_empty && plan.child.is_none();
            let links = if comes_empty { Vec::new() } else { self.links[parent].clone() };
            self.write_parent(act, (parent, links), write, seed, &mut moved).await?;
        }
        match plan.child {
            None => {}
            Some(Act::Insert) if embedded && plan.parent == Some(Act::Insert) => {}
            Some(Act::Insert) => self.insert_child(parent, &mut moved).await?,
            Some(act) => self.write_child(act, child, &holders, write, seed, &mut moved).await?,
        }
        Ok((cost, moved))
    }

    async fn write_parent(
        &mut self,
        act: Act,
        (parent, links): (usize, Vec<u32>),
        write: &DesignWrite,
        seed: u64,
        moved: &mut Moved,
    ) -> Result<(), Error> {
        let id = self.parent_id(parent);
        let paired = self.way.is_paired();
        let in_child =
            self.way.way != StorageAlternative::Embed && self.way.link == Link::ParentIds;
        let (of_parent, _) = self.pair_fields();
        let of_parent = of_parent.to_owned();
        match act {
            Act::Insert => {
                let new = self.links.len();
                let (document, _) = self.parent(new, &links);
                let pairs: Vec<RawDocumentBuf> = if paired {
                    links.iter().map(|child| self.pair(new, *child)).collect()
                } else {
                    Vec::new()
                };
                let ids: Vec<_> = links.iter().map(|child| self.child_id(*child)).collect();
                let id = self.parent_id(new);
                let began = Instant::now();
                self.parents.insert_one(&document).await?;
                moved.documents += 1 + pairs.len() as u64;
                if !pairs.is_empty() {
                    self.pairs.insert_many(&pairs).await?;
                }
                if in_child && !ids.is_empty() {
                    let push = doc! { "$push": { &self.way.parent_id: id } };
                    let result = self.children.update_many(among("_id", &ids), push).await?;
                    moved.documents += result.matched_count;
                }
                moved.took += began.elapsed();
                moved.bytes += document.as_bytes().len() as u64;
                moved.bytes += pairs.iter().map(|pair| pair.as_bytes().len() as u64).sum::<u64>();
                if in_child && !ids.is_empty() {
                    moved.bytes += bytes_of(&self.children, among("_id", &ids)).await?;
                }
                for child in &links {
                    self.holders[*child as usize].push(new as u32);
                }
                self.links.push(links);
                self.alive.push(new);
            }
            Act::Update => {
                let wanted: Vec<&str> =
                    write.sets.iter().map(|(_, field)| field.as_str()).collect();
                let set: Document = self.maker.change(true, &wanted, seed).into_iter().collect();
                let change = if set.is_empty() {
                    doc! { "$set": { "_docward": seed as i64 } }
                } else {
                    doc! { "$set": set }
                };
                let began = Instant::now();
                let result = self.parents.update_one(doc! { "_id": id }, change).await?;
                moved.took += began.elapsed();
                moved.documents += result.matched_count;
                moved.bytes += bytes_of(&self.parents, doc! { "_id": id }).await?;
            }
            Act::Delete => {
                let links = std::mem::take(&mut self.links[parent]);
                let ids: Vec<_> = links.iter().map(|child| self.child_id(*child)).collect();
                moved.bytes += bytes_of(&self.parents, doc! { "_id": id }).await?;
                if paired {
                    moved.bytes += bytes_of(&self.pairs, doc! { &of_parent: id }).await?;
                }
                let began = Instant::now();
                moved.documents += self.parents.delete_one(doc! { "_id": id }).await?.deleted_count;
                if paired {
                    let result = self.pairs.delete_many(doc! { &of_parent: id }).await?;
                    moved.documents += result.deleted_count;
                }
                if in_child && !ids.is_empty() {
                    let pull = doc! { "$pull": { &self.way.parent_id: id } };
                    let result = self.children.update_many(among("_id", &ids), pull).await?;
                    moved.documents += result.matched_count;
                }
                moved.took += began.elapsed();
                if in_child && !ids.is_empty() {
                    moved.bytes += bytes_of(&self.children, among("_id", &ids)).await?;
                }
                for child in links {
                    self.holders[child as usize].retain(|p| *p as usize != parent);
                }
                self.alive.retain(|other| *other != parent);
            }
        }
        Ok(())
    }

    /// Inserts a new child: as a separate document, or in a parent if no other place can store it.
    async fn insert_child(&mut self, parent: usize, moved: &mut Moved) -> Result<(), Error> {
        let new = self.holders.len();
        self.holders.push(Vec::new());
        self.living.push(new);
        if self.way.way != StorageAlternative::Embed {
            let document = self.child(new);
            let began = Instant::now();
            self.children.insert_one(&document).await?;
            moved.took += began.elapsed();
            moved.documents += 1;
            moved.bytes += document.as_bytes().len() as u64;
            return Ok(());
        }
        let element = self.maker.pen.made(&self.maker.child, self.which(new as u32));
        let element = Document::try_from(element.as_ref()).unwrap_or_default();
        let id = self.parent_id(parent);
        let push = doc! { "$push": { &self.way.role: element } };
        let began = Instant::now();
        moved.documents += self.parents.update_one(doc! { "_id": id }, push).await?.matched_count;
        moved.took += began.elapsed();
        moved.bytes += bytes_of(&self.parents, doc! { "_id": id }).await?;
        self.links[parent].push(new as u32);
        self.holders[new].push(parent as u32);
        Ok(())
    }

    async fn write_child(
        &mut self,
        act: Act,
        child: u32,
        holders: &[usize],
        write: &DesignWrite,
        seed: u64,
        moved: &mut Moved,
    ) -> Result<(), Error> {
        let embedded = self.way.way == StorageAlternative::Embed;
        let id = self.child_id(child);
        let (_, of_child) = self.pair_fields();
        let of_child = of_child.to_owned();
        let parents = among("_id", &holders.iter().map(|p| self.parent_id(*p)).collect::<Vec<_>>());
        let wanted: Vec<&str> = write.sets.iter().map(|(_, field)| field.as_str()).collect();
        let copied = self.way.changes_copies(write);
        let changed = self.maker.change(false, &wanted, seed);
        let single = self.way.held.first().is_some_and(|held| held.kind != BsonType::Array);
        // The update of the parents that copy or list the child.
        let (path, in_parents) = match (act, &changed) {
            (Act::Update, Some((field, value))) if embedded => (
                self.copy_path(),
                Some(doc! { "$set": { format!("{}.$.{field}", self.way.role): value.clone() } }),
            ),
            (Act::Update, Some((field, value))) if copied && self.way.link == Link::ChildIds => {
                let place = match (single, self.way.held.as_slice()) {
                    (true, [_, copies, ..]) => format!("{}.{field}", copies.name),
                    (_, [list, ..]) => format!("{}.$.{field}", list.name),
                    _ => field.clone(),
                };
                (self.maker.listed_path(), Some(doc! { "$set": { place: value.clone() } }))
            }
            (Act::Delete, _) if embedded => {
                (self.copy_path(), Some(doc! { "$pull": { &self.way.role: { "_id": id } } }))
            }
            (Act::Delete, _) if self.way.link == Link::ChildIds => {
                let list = self.way.held.first();
                let change = match list {
                    Some(list) if !single => {
                        let what = match list.fields.first() {
                            Some(field) => Bson::Document(doc! { &field.name: id }),
                            None => Bson::ObjectId(id),
                        };
                        doc! { "$pull": { &list.name: what } }
                    }
                    _ => {
                        let unset = self.way.held.iter().map(|f| (f.name.clone(), Bson::from("")));
                        doc! { "$unset": unset.collect::<Document>() }
                    }
                };
                (self.maker.listed_path(), Some(change))
            }
            _ => (String::new(), None),
        };
        let in_pairs = self.way.is_paired() && (act == Act::Delete || copied);
        if act == Act::Delete {
            if !embedded {
                moved.bytes += bytes_of(&self.children, doc! { "_id": id }).await?;
            }
            if in_pairs {
                moved.bytes += bytes_of(&self.pairs, doc! { &of_child: id }).await?;
            }
        }
        let began = Instant::now();
        if !embedded {
            moved.documents += if act == Act::Delete {
                self.children.delete_one(doc! { "_id": id }).await?.deleted_count
            } else {
                let set: Document = changed.clone().into_iter().collect();
                let change = doc! { "$set": set };
                self.children.update_one(doc! { "_id": id }, change).await?.matched_count
            };
        }
        let wrote_parents = in_parents.is_some();
        if let Some(change) = in_parents {
            let result = self.parents.update_many(doc! { path: id }, change).await?;
            moved.documents += result.matched_count;
        }
        if in_pairs {
            moved.documents += match (act, &changed, self.way.pair.get(3)) {
                (Act::Update, Some((field, value)), Some(copies)) => {
                    let set =
                        doc! { "$set": { format!("{}.{field}", copies.name): value.clone() } };
                    self.pairs.update_many(doc! { &of_child: id }, set).await?.matched_count
                }
                _ => self.pairs.delete_many(doc! { &of_child: id }).await?.deleted_count,
            };
        }
        moved.took += began.elapsed();
        if wrote_parents && !holders.is_empty() {
            moved.bytes += bytes_of(&self.parents, parents).await?;
        }
        if act == Act::Update {
            if !embedded {
                moved.bytes += bytes_of(&self.children, doc! { "_id": id }).await?;
            }
            if in_pairs {
                moved.bytes += bytes_of(&self.pairs, doc! { &of_child: id }).await?;
            }
        } else {
            for parent in holders {
                self.links[*parent].retain(|other| *other != child);
            }
            self.holders[child as usize].clear();
            self.living.retain(|other| *other != child as usize);
        }
        Ok(())
    }
}

impl Subject for Shared<'_, '_> {
    fn operations(&self) -> Vec<(String, bool, f64)> {
        self.operations.iter().map(Operation::told).collect()
    }

    async fn run(
        &mut self,
        operation: usize,
        rng: &mut Rng,
        _: &mut Option<ClientSession>,
    ) -> Result<(OperationCost, Moved), Error> {
        let operation = self.operations[operation].clone();
        let (mut cost, moved) = match operation {
            Operation::Read(read, plan) => self.read_once(read, &plan, rng).await?,
            Operation::Write(_, _, plans) => {
                // If a write inserts or updates, the update is executed. A new child would be
                // linked to parents that already have their children.
                let (write, plan) = &plans[plans.len() - 1];
                self.write_once(write, plan, rng).await?
            }
        };
        cost.transaction = false;
        Ok((cost, moved))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parent_gets_different_children() {
        let links = linked(&[0, 1, 5, 10, 99], 10, 7);
        let lengths: Vec<usize> = links.iter().map(Vec::len).collect();
        assert_eq!(lengths, [0, 1, 5, 10, 10]);
        for list in &links {
            assert!(list.windows(2).all(|pair| pair[0] < pair[1]) && list.iter().all(|c| *c < 10));
        }
    }
}
