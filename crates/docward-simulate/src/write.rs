//! One execution of a declared write, prepared before the clock starts.

use std::time::Instant;

use docward_design::{
    Act, Figure, Link, OperationCost, Planned, Predictor, Rank, StorageAlternative, WritePlan,
};
use docward_model::{BsonType, DesignWrite};
use mongodb::{
    ClientSession,
    bson::{Bson, Document, RawDocumentBuf, doc},
    error::Error,
};

use crate::{
    make::{Rng, adds},
    queries::{bytes_of, targets},
    replay::Moved,
    store::{LARGEST, Store},
};

/// Executes a write once.
pub(crate) async fn write_once(
    store: &mut Store<'_>,
    write: &DesignWrite,
    plan: &WritePlan,
    rng: &mut Rng,
    session: &mut Option<ClientSession>,
) -> Result<(OperationCost, Moved), Error> {
    let mut step = Step::new(store, write, plan, rng);
    let cost = store.way.write(write, plan, step.before);
    let mut moved = Moved::default();
    let parent_id = store.maker.parent_id(step.parent as u64);
    let of_parent = doc! { "_id": parent_id };
    // The size of deleted data is queried before, that of updated data afterwards; neither counts
    // towards the time.
    if plan.parent == Some(Act::Delete) {
        moved.bytes += bytes_of(&store.parents, of_parent.clone()).await?;
    }
    if let Some(filter) = step.child_filter.as_ref().filter(|_| plan.child == Some(Act::Delete)) {
        moved.bytes += bytes_of(&store.children, filter.clone()).await?;
    }
    let mut inside = session.as_mut().filter(|_| plan.transaction);
    let began = Instant::now();
    if let Some(session) = inside.as_mut() {
        session.start_transaction().await?;
    }
    if !step.inserts.is_empty() {
        let action = store.children.insert_many(&step.inserts);
        match inside.as_mut() {
            Some(session) => action.session(&mut **session).await?,
            None => action.await?,
        };
        moved.documents += step.inserts.len() as u64;
    }
    if let Some(filter) = &step.child_filter {
        if let Some(change) = step.child_change.take() {
            let action = store.children.update_many(filter.clone(), change);
            let result = match inside.as_mut() {
                Some(session) => action.session(&mut **session).await?,
                None => action.await?,
            };
            moved.documents += result.matched_count;
        } else {
            let action = store.children.delete_many(filter.clone());
            let result = match inside.as_mut() {
                Some(session) => action.session(&mut **session).await?,
                None => action.await?,
            };
            moved.documents += result.deleted_count;
        }
    }
    match step.on_parent.take() {
        OnParent::Nothing => {}
        OnParent::Insert(document) => {
            let action = store.parents.insert_one(&document);
            match inside.as_mut() {
                Some(session) => action.session(&mut **session).await?,
                None => action.await?,
            };
            moved.documents += 1;
        }
        OnParent::Update(filter, change) => {
            let action = store.parents.update_one(filter, change);
            let result = match inside.as_mut() {
                Some(session) => action.session(&mut **session).await?,
                None => action.await?,
            };
            moved.documents += result.matched_count;
        }
        OnParent::Delete => {
            let action = store.parents.delete_one(of_parent.clone());
            let result = match inside.as_mut() {
                Some(session) => action.session(&mut **session).await?,
                None => action.await?,
            };
            moved.documents += result.deleted_count;
        }
    }
    if let Some(session) = inside.as_mut() {
        session.commit_transaction().await?;
    }
    moved.took = began.elapsed();
    moved.bytes += step.inserts.iter().map(|d| d.as_bytes().len() as u64).sum::<u64>();
    if step.weighs_parent && plan.parent != Some(Act::Delete) {
        moved.bytes += bytes_of(&store.parents, of_parent).await?;
    }
    let changed = plan.child == Some(Act::Update) || plan.refreshes;
    if let Some(filter) = step.child_filter.filter(|_| changed) {
        moved.bytes += bytes_of(&store.children, filter).await?;
    }
    Ok((cost, moved))
}

/// The change of the parent's document.
enum OnParent {
    Nothing,
    Insert(RawDocumentBuf),
    Update(Document, Document),
    Delete,
}

impl OnParent {
    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Nothing)
    }
}

/// One execution of a write, prepared before the clock starts.
struct Step {
    parent: usize,
    before: u64,
    /// Separate children to insert.
    inserts: Vec<RawDocumentBuf>,
    /// Separate children to update or delete.
    child_filter: Option<Document>,
    child_change: Option<Document>,
    on_parent: OnParent,
    weighs_parent: bool,
}

impl Step {
    fn new(store: &mut Store<'_>, write: &DesignWrite, plan: &WritePlan, rng: &mut Rng) -> Self {
        let embedded = store.way.way == StorageAlternative::Embed;
        if plan.parent == Some(Act::Insert) {
            return Self::new_parent(store, plan, rng);
        }
        let needs = plan.child.is_some_and(|act| act != Act::Insert);
        let mut parent = targets(store, 1, needs, rng).first().copied().unwrap_or(0);
        for _ in 0..100 {
            // A full document cannot store another child.
            if !(embedded && plan.child == Some(Act::Insert) && store.full[parent]) {
                break;
            }
            parent = targets(store, 1, false, rng).first().copied().unwrap_or(0);
        }
        let (from, to) = store.held[parent];
        let number = parent as u64;
        let mut step = Self {
            parent,
            before: to - from,
            inserts: Vec::new(),
            child_filter: None,
            child_change: None,
            on_parent: OnParent::Nothing,
            weighs_parent: embedded || plan.parent.is_some() || plan.follows,
        };
        let way = store.way;
        let parent_id = store.maker.parent_id(number);
        let fields = |of: &str| -> Vec<&str> {
            let sets = write.sets.iter().filter(|(entity, _)| entity == of);
            sets.map(|(_, field)| field.as_str()).collect()
        };
        if plan.parent == Some(Act::Delete) {
            store.alive.retain(|other| *other != parent);
            step.on_parent = OnParent::Delete;
            if plan.child == Some(Act::Delete) && !embedded {
                let ids = (from..to).map(|child| store.maker.child_id(number, child));
                step.child_filter = Some(match way.link {
                    Link::ChildIds => doc! { "_id": { "$in": ids.collect::<Vec<_>>() } },
                    _ => doc! { &way.parent_id: parent_id },
                });
            }
            return step;
        }
        let mut filter = doc! { "_id": parent_id };
        let [mut set, mut unset, mut push, mut pull, mut add] = [(); 5].map(|()| Document::new());
        let seed = rng.next();
        if plan.parent == Some(Act::Update) {
            let mut names: Vec<&str> =
                write.updates.iter().flat_map(|entity| fields(entity)).collect();
            let copied = |name: &str| {
                way.copies.as_ref().is_some_and(|c| c.fields.iter().any(|f| f.name == name))
            };
            if plan.refreshes {
                names.retain(|name| copied(name));
            }
            let change = store.maker.change(true, &names, seed);
            if let (Some((field, value)), Some(copies)) =
                (&change, way.copies.as_ref().filter(|_| plan.refreshes))
            {
                let path = format!("{}.{field}", copies.name);
                step.child_filter = Some(doc! { &way.parent_id: parent_id });
                step.child_change = Some(doc! { "$set": { path: value.clone() } });
            }
            set.extend(change);
        }
        match plan.child {
            None => {}
            Some(Act::Insert) => {
                let kept = way.keep.filter(|_| embedded);
                let dropped = u64::from(kept.is_some_and(|keep| to - from >= keep));
                store.held[parent] = (from + dropped, to + 1);
                let element = |store: &Store<'_>| store.maker.element(number, to);
                if embedded && way.single {
                    set.insert(&way.role, pushed(element(store), None));
                } else if embedded {
                    push.insert(&way.role, pushed(element(store), kept));
                } else {
                    step.inserts.push(store.maker.child(number, to));
                    if let Some(list) = &way.preview {
                        let shown = store.maker.shown(number, to);
                        push.insert(&list.name, pushed(shown, Some(way.shown())));
                    }
                    if way.link == Link::ChildIds {
                        for (name, value) in
                            store.maker.listing(store.maker.which_child(number, to))
                        {
                            let single =
                                way.held.first().is_some_and(|f| f.kind != BsonType::Array);
                            let into = if single { &mut set } else { &mut push };
                            into.insert(name, value);
                        }
                    }
                }
                add = kept_figures(way, 1);
            }
            Some(Act::Update) => {
                let child = store.maker.child_id(number, from + rng.below(to - from));
                let mut names: Vec<&str> =
                    write.updates.iter().flat_map(|entity| fields(entity)).collect();
                // If the write may update any field, it updates one that the parent copies.
                if names.is_empty() && plan.follows {
                    let shown = way.preview.iter().flat_map(|list| &list.fields);
                    names.extend(shown.map(|field| field.name.as_str()));
                }
                if let Some((field, value)) = store.maker.change(false, &names, seed) {
                    if embedded {
                        let mut at = format!("{}.", way.role);
                        if !way.single {
                            filter.insert(format!("{at}_id"), child);
                            at.push_str("$.");
                        }
                        set.insert(format!("{at}{field}"), value);
                    } else {
                        // Fields that the parent copies or sums are also updated there.
                        let is_shown =
                            |list: &&Planned| list.fields.iter().any(|f| f.name == field);
                        match way.preview.as_ref().filter(is_shown) {
                            _ if !plan.follows => {}
                            Some(list) => {
                                set.insert(format!("{}.$[].{field}", list.name), value.clone());
                            }
                            None => add = moved_sums(way),
                        }
                        step.child_change = Some(doc! { "$set": { field: value } });
                        step.child_filter = Some(doc! { "_id": child });
                    }
                }
            }
            Some(Act::Delete) => {
                // Removes the oldest one.
                store.held[parent].0 += 1;
                let child = store.maker.child_id(number, from);
                if embedded && way.single {
                    unset.insert(&way.role, "");
                } else if embedded {
                    pull.insert(&way.role, doc! { "_id": child });
                } else {
                    step.child_filter = Some(doc! { "_id": child });
                    let held = way.held.first().filter(|f| f.kind == BsonType::Array);
                    for list in way.preview.iter().chain(held) {
                        let what = match list.fields.first() {
                            Some(id) => Bson::Document(doc! { &id.name: child }),
                            None => Bson::ObjectId(child),
                        };
                        pull.insert(&list.name, what);
                    }
                    if held.is_none() {
                        unset.extend(way.held.iter().map(|f| (f.name.clone(), Bson::from(""))));
                    }
                }
                add = kept_figures(way, -1);
            }
        }
        if embedded && way.parent_bytes(store.count(parent), Rank::Max) > LARGEST {
            store.full[parent] = true;
        }
        let mut change = Document::new();
        let operators =
            [("$set", set), ("$unset", unset), ("$push", push), ("$pull", pull), ("$inc", add)];
        for (operator, what) in operators {
            if !what.is_empty() {
                change.insert(operator, what);
            }
        }
        if !change.is_empty() {
            step.on_parent = OnParent::Update(filter, change);
        }
        step
    }

    /// A new parent, with children if they are inserted together.
    fn new_parent(store: &mut Store<'_>, plan: &WritePlan, rng: &mut Rng) -> Self {
        let parent = store.held.len();
        let like = targets(store, 1, false, rng).first().copied().unwrap_or(0);
        let wanted = match (plan.whole, plan.child) {
            (true, _) => store.count(like),
            (_, Some(_)) => 1,
            _ => 0,
        };
        let number = parent as u64;
        let (document, held) = store.maker.parent(number, 0, wanted, LARGEST as usize);
        store.held.push((0, held));
        store.full.push(false);
        store.alive.push(parent);
        let apart = if store.way.way == StorageAlternative::Embed { 0 } else { wanted };
        Self {
            parent,
            before: held,
            inserts: (0..apart).map(|child| store.maker.child(number, child)).collect(),
            child_filter: None,
            child_change: None,
            on_parent: OnParent::Insert(document),
            weighs_parent: true,
        }
    }
}

/// Pushes one element, and removes the oldest ones beyond a number.
fn pushed(element: RawDocumentBuf, keep: Option<u64>) -> Bson {
    let element = Document::try_from(element.as_ref()).unwrap_or_default();
    match keep {
        Some(keep) => Bson::Document(doc! { "$each": [element], "$slice": -(keep as i64) }),
        None => Bson::Document(element),
    }
}

/// The increments of the counts and sums in the parent. Every child contributes the same, so the
/// mean stays unchanged.
fn kept_figures(way: &Predictor, by: i64) -> Document {
    let moving = way.figures.iter().filter(|(figure, _)| *figure != Figure::Average);
    moving
        .map(|(figure, field)| (field.name.clone(), Bson::Int64(by * adds(figure) as i64)))
        .collect()
}

/// The increments of the parent's sums when a child is updated; without a sum the parent is only
/// matched.
fn moved_sums(way: &Predictor) -> Document {
    let is_sum = |figure: &Figure| matches!(figure, Figure::Sum(_));
    let by = |figure: &Figure| Bson::Int64(i64::from(is_sum(figure)));
    let kept = way.figures.iter().filter(|(figure, _)| *figure != Figure::Average);
    kept.map(|(figure, field)| (field.name.clone(), by(figure))).collect()
}
