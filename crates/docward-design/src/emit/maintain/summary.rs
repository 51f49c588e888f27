//! Data that a parent stores about children in other documents: the newest few, a count, sums and
//! averages. One statement changes all of it, so that readers never see a partial update.

use bson::{Bson, Document, doc};
use docward_model::{BsonType, Relationship};

use super::plans::{Plans, picked};
use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::declared::field_plan::{Origin, Planned};
use crate::emit::expectations::Check;
use crate::emit::js::{SPREAD, given, member_of};
use crate::layout::collection::CollectionPlan;

/// The data that a parent stores.
pub(super) struct Summary<'m> {
    pub(super) preview: Option<Preview<'m>>,
    /// The field of the count.
    pub(super) count: Option<String>,
    pub(super) sums: Vec<Sum<'m>>,
    pub(super) clauses: Vec<&'static str>,
}

/// The newest children.
pub(super) struct Preview<'m> {
    /// The field of the list.
    pub(super) name: String,
    /// The number of children.
    pub(super) newest: u64,
    /// The sort field of the child.
    pub(super) by: &'m str,
    /// The name of the child's id in the list.
    pub(super) key: &'m str,
    /// The fields of the child in the preview.
    pub(super) shown: Vec<&'m str>,
}

impl Preview<'_> {
    /// Returns the sort field of an element. The id of a child has another name in the list.
    fn order(&self) -> &str {
        if self.by == "_id" { self.key } else { self.by }
    }

    /// Returns an element: the child's id and the shown fields.
    pub(super) fn element(&self, id: &str, child: &str) -> Document {
        doc! { self.key: given(id), SPREAD: given(picked(child, &self.shown)) }
    }
}

/// A sum over the children.
pub(super) struct Sum<'m> {
    /// The field of a child.
    pub(super) field: &'m str,
    /// The fields of the parent with the sum and the average.
    pub(super) sum: String,
    average: String,
    /// The field with the number of children that have the summed field, if some lack it.
    pub(super) having: Option<String>,
    /// The sum without children, in the type of the sum.
    zero: Bson,
}

impl<'m> Plans<'m> {
    /// Returns the data that a parent stores for a relationship.
    pub(super) fn summary(
        &self,
        relationship: &'m Relationship,
        decision: &'m Decision,
        parent: &'m CollectionPlan,
    ) -> Summary<'m> {
        let mut found = Summary::nothing();
        for pattern in &decision.patterns {
            match pattern {
                Pattern::Subset { newest, by, .. } => {
                    let is_it = Origin::Preview(relationship.name.clone());
                    let list: Option<&Planned> = parent.fields.iter().find(|f| f.origin == is_it);
                    let Some((id, shown)) = list.and_then(|list| list.fields.split_first()) else {
                        continue;
                    };
                    found.preview = Some(Preview {
                        name: self.layout.preview(relationship),
                        newest: *newest,
                        by,
                        key: &id.name,
                        shown: shown.iter().map(|field| field.name.as_str()).collect(),
                    });
                    found.clauses.extend(["PT-subset.2", "SN-05", "GC-36"]);
                }
                Pattern::Computed { counts, sums } => {
                    found.count = counts.then(|| self.layout.count(relationship));
                    found.sums.extend(sums.iter().map(|field| self.sum(relationship, field)));
                    found.clauses.extend(["PT-computed.2", "SN-04"]);
                    found.clauses.extend((!sums.is_empty()).then_some("GC-35"));
                }
                _ => {}
            }
        }
        found
    }

    fn sum(&self, relationship: &'m Relationship, field: &'m str) -> Sum<'m> {
        let made = self.layout.sum(relationship, field);
        let child = self.layout.model.entity(&relationship.child);
        let kind = child.and_then(|child| child.field(field)).map(|field| field.kind);
        let exact = (kind == Some(BsonType::Decimal)).then(|| "0".parse().ok());
        Sum {
            field,
            sum: made.sum,
            average: made.average,
            having: made.having,
            zero: exact.flatten().map_or(Bson::Int32(0), Bson::Decimal128),
        }
    }

    /// Whether a declared write changes the stored data. An update without declared fields may
    /// change any field.
    pub(super) fn is_changed(&self, child: &str, summary: &Summary<'_>) -> bool {
        let kept = |field: &str| {
            summary.sums.iter().any(|sum| sum.field == field)
                || summary.preview.iter().any(|preview| preview.shown.contains(&field))
        };
        self.layout.model.writes.iter().any(|write| {
            let mut sets = write.sets.iter().filter(|(entity, _)| entity == child).peekable();
            if sets.peek().is_none() {
                let needs_child = summary.preview.is_some() || !summary.sums.is_empty();
                return needs_child && write.updates.iter().any(|name| name == child);
            }
            sets.any(|(_, field)| kept(field))
        })
    }
}

/// Returns an expression that is true if another one has a value.
fn is_given(value: impl Into<Bson>) -> Document {
    doc! { "$ne": [{ "$ifNull": [value.into(), Bson::Null] }, Bson::Null] }
}

/// Returns the stored figure of a parent, or the default if it is missing.
fn before(name: &str, zero: Bson) -> Document {
    doc! { "$ifNull": [format!("${name}"), zero] }
}

impl Sum<'_> {
    /// Returns a total that the server computes, in the type of the sum. An empty total would be an
    /// int even if the sum is a decimal.
    pub(super) fn typed(&self, total: impl Into<Bson>) -> Bson {
        match &self.zero {
            zero @ Bson::Decimal128(_) => doc! { "$add": [zero.clone(), total.into()] }.into(),
            _ => total.into(),
        }
    }

    /// Adds to a check that sum and average are those of the list `children`. `read` reads a field
    /// of the parent.
    pub(super) fn holds(&self, check: &mut Check, read: impl Fn(&str) -> String) {
        let value = member_of("one", self.field);
        let total = format!("children.reduce((sum, one) => sum + Number({value} ?? 0), 0)");
        let number = match self.having {
            Some(_) => format!("children.filter((one) => ({value} ?? null) !== null).length"),
            None => "children.length".to_owned(),
        };
        for (what, name, wanted) in [
            ("the sum is right", &self.sum, total.clone()),
            ("the average is exact (GC-35)", &self.average, format!("{total} / {number}")),
        ] {
            check.expect(what, format!("near(Number({}), {wanted})", read(name)), true);
        }
    }
}

impl Summary<'_> {
    pub(super) fn nothing() -> Self {
        Self { preview: None, count: None, sums: Vec::new(), clauses: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.preview.is_none() && self.count.is_none() && self.sums.is_empty()
    }

    /// Returns the update of the parent when a child is added. `child` and `id` are expressions.
    pub(super) fn arrival(&self, child: &str, id: &str) -> Bson {
        if self.sums.is_empty() {
            let mut update = Document::new();
            if let Some(preview) = &self.preview {
                // If two children have the same time, the newer id comes first.
                let mut order = doc! { preview.order(): -1 };
                order.insert(preview.key, -1);
                let push = doc! {
                    "$each": [preview.element(id, child)],
                    "$sort": order,
                    "$slice": preview.newest as i32,
                };
                update.insert("$push", doc! { &preview.name: push });
            }
            if let Some(count) = &self.count {
                update.insert("$inc", doc! { count: 1 });
            }
            return update.into();
        }
        let mut set = self.added(child, 1);
        if let Some(preview) = &self.preview {
            let Preview { name, newest, by, key, .. } = preview;
            // The list is sorted, so the new child is placed after newer ones.
            let list = doc! { "$ifNull": [format!("${name}"), []] };
            let value = if *by == "_id" { id.to_owned() } else { member_of(child, by) };
            let time = doc! { "$literal": given(value) };
            let this = format!("$$this.{}", preview.order());
            let mut newer = doc! { "$gt": [&this, time.clone()] };
            if preview.order() != *key {
                let ids = doc! { "$gt": [format!("$$this.{key}"), { "$literal": given(id) }] };
                let of_one_moment = doc! { "$and": [{ "$eq": [&this, time] }, ids] };
                newer = doc! { "$or": [newer, of_one_moment] };
            }
            let part = |test: Document| {
                Bson::from(doc! { "$filter": { "input": list.clone(), "cond": test } })
            };
            let older = doc! { "$not": [newer.clone()] };
            let new = doc! { "$literal": preview.element(id, child) };
            let all = doc! { "$concatArrays": [part(newer), [new], part(older)] };
            set.insert(name, doc! { "$slice": [all, *newest as i32] });
        }
        self.stages(set)
    }

    /// Returns the update of the parent when a child is removed.
    pub(super) fn departure(&self, child: &str, id: &str) -> Bson {
        if self.sums.is_empty() {
            let mut update = Document::new();
            if let Some(Preview { name, key, .. }) = &self.preview {
                update.insert("$pull", doc! { name: { *key: given(id) } });
            }
            if let Some(count) = &self.count {
                update.insert("$inc", doc! { count: -1 });
            }
            return update.into();
        }
        let mut set = self.added(child, -1);
        if let Some(Preview { name, key, .. }) = &self.preview {
            let test = doc! { "$ne": [format!("$$this.{key}"), { "$literal": given(id) }] };
            let input = doc! { "$ifNull": [format!("${name}"), []] };
            set.insert(name, doc! { "$filter": { "input": input, "cond": test } });
        }
        self.stages(set)
    }

    /// Returns a pipeline that sets fields and then computes the averages.
    pub(super) fn stages(&self, set: Document) -> Bson {
        let all = [set, self.averages()].into_iter().filter(|set| !set.is_empty());
        all.map(|set| Bson::from(doc! { "$set": set })).collect::<Vec<_>>().into()
    }

    /// Returns the fields of a `$group` stage over children: `sum price`, `having price`.
    pub(super) fn grouped(&self) -> Document {
        let mut group = Document::new();
        for Sum { field, having, .. } in &self.sums {
            let value = format!("${field}");
            if having.is_some() {
                let one = doc! { "$cond": [is_given(&value), 1, 0] };
                group.insert(format!("having {field}"), doc! { "$sum": one });
            }
            group.insert(format!("sum {field}"), doc! { "$sum": value });
        }
        group
    }

    /// Returns count and sums after adding or removing a child.
    fn added(&self, child: &str, sign: i32) -> Document {
        let mut set = Document::new();
        if let Some(count) = &self.count {
            set.insert(count, doc! { "$add": [before(count, 0.into()), sign] });
        }
        for Sum { field, sum, having, zero, .. } in &self.sums {
            // A string from the application is a value, even if it looks like a field path. A child
            // without the field must add nothing, because adding null would make the whole sum
            // null.
            let literal = doc! { "$literal": given(member_of(child, field)) };
            let value = doc! { "$ifNull": [literal.clone(), 0] };
            let operator = if sign > 0 { "$add" } else { "$subtract" };
            set.insert(sum, doc! { operator: [before(sum, zero.clone()), value] });
            if let Some(having) = having {
                let more = doc! { "$cond": [is_given(literal), sign, 0] };
                set.insert(having, doc! { "$add": [before(having, 0.into()), more] });
            }
        }
        set
    }

    /// Returns the averages of sums. They are missing for a parent without children.
    fn averages(&self) -> Document {
        let mut set = Document::new();
        for Sum { sum, average, having, .. } in &self.sums {
            let Some(count) = having.as_ref().or(self.count.as_ref()) else { continue };
            let some = doc! { "$gt": [format!("${count}"), 0] };
            let mean = doc! { "$divide": [format!("${sum}"), format!("${count}")] };
            set.insert(average, doc! { "$cond": [some, mean, "$$REMOVE"] });
        }
        set
    }

    /// Returns a note about the stored data.
    pub(super) fn words(&self) -> String {
        let mut said = Vec::new();
        if let Some(preview) = &self.preview {
            let (name, newest, by) = (&preview.name, preview.newest, preview.order());
            said.push(format!(
                "`{name}` keeps at most {newest}, the newest by `{by}` first, so elements need \
                 that field"
            ));
        }
        if let Some(count) = &self.count {
            said.push(format!("`{count}` counts them"));
        }
        for Sum { field, sum, average, having, .. } in &self.sums {
            let by = having.as_ref().map_or("the count".to_owned(), |having| format!("`{having}`"));
            said.push(format!(
                "`{average}` is `{sum}` divided by {by}; the server computes it, so concurrent \
                 writers of `{field}` lose nothing"
            ));
        }
        said.join("; ")
    }
}
