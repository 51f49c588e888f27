//! What a parent keeps of children that live elsewhere: the newest few, a count, sums and averages. One
//! statement changes all of it, so that readers never see a half.

use bson::{Bson, Document, doc};
use docward_model::{BsonType, Relationship};

use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::declared::field_plan::{Origin, Planned};
use crate::emit::js::{SPREAD, given, member_of};

use super::{Place, Plans, picked};

/// What is kept in a parent.
pub(crate) struct Summary<'m> {
    /// The preview: its field, its length, what it is sorted by, the name of the child's id in it, and the
    /// fields of the child that it shows.
    pub(crate) preview: Option<(String, u64, &'m str, &'m str, Vec<&'m str>)>,
    /// The field of the count.
    pub(crate) count: Option<String>,
    /// Sums.
    pub(crate) sums: Vec<Sum<'m>>,
    /// The clauses.
    pub(crate) clauses: Vec<&'static str>,
    /// Whether the preview is also brought up to date from the documents, when one of them changes or goes.
    pub(crate) follows: bool,
}

/// A sum over the children.
pub(crate) struct Sum<'m> {
    /// The field of a child.
    pub(crate) field: &'m str,
    /// The fields of the parent with the sum, and with the average.
    pub(crate) sum: String,
    pub(crate) average: String,
    /// The field with the number of children that have it, where not all do.
    pub(crate) having: Option<String>,
    /// The sum of nothing, of the type of the sum.
    pub(crate) zero: Bson,
}

impl<'m> Plans<'m> {
    /// What a parent keeps of a relationship.
    pub(crate) fn summary(
        &self,
        relationship: &'m Relationship,
        decision: &'m Decision,
        parent: &Place<'m>,
    ) -> Summary<'m> {
        let path = &parent.path;
        let mut found = Summary::nothing();
        for pattern in &decision.patterns {
            match pattern {
                Pattern::Subset { newest, by, .. } => {
                    let list: Option<&Planned> = parent
                        .fields
                        .iter()
                        .find(|field| field.origin == Origin::Preview(relationship.name.clone()));
                    let Some((id, shown)) = list.and_then(|list| list.fields.split_first()) else {
                        continue;
                    };
                    let name = format!("{path}{}", self.layout.preview(relationship));
                    let shown = shown.iter().map(|field| field.name.as_str()).collect();
                    found.preview = Some((name, *newest, by, &id.name, shown));
                    found.clauses.extend(["PT-subset.2", "SN-05", "GC-36"]);
                }
                Pattern::Computed { counts, sums } => {
                    if *counts {
                        found.count = Some(format!("{path}{}", self.layout.count(relationship)));
                    }
                    for field in sums {
                        let made = self.layout.sum(relationship, field);
                        let child = self.layout.model.entity(&relationship.child);
                        let kind = child.and_then(|child| child.field(field)).map(|f| f.kind);
                        let zero = nothing(kind.unwrap_or(BsonType::Long));
                        found.sums.push(Sum {
                            field,
                            sum: format!("{path}{}", made.sum),
                            average: format!("{path}{}", made.average),
                            having: made.having.map(|having| format!("{path}{having}")),
                            zero,
                        });
                    }
                    found.clauses.extend(["PT-computed.2", "SN-04"]);
                    if !sums.is_empty() {
                        found.clauses.push("GC-35");
                    }
                }
                _ => {}
            }
        }
        // Whoever takes one away fills the preview again, from links or documents that were written before it.
        let linked =
            matches!(decision.patterns.first(), Some(Pattern::Junction | Pattern::ParentsInChild));
        found.follows = found.preview.is_some()
            && (linked
                || self.is_changed(&relationship.child, &found)
                || self.is_deleted(&relationship.child));
        found
    }
}

/// Whether an expression has a value.
pub(super) fn is_given(value: impl Into<Bson>) -> Document {
    doc! { "$ne": [{ "$ifNull": [value.into(), Bson::Null] }, Bson::Null] }
}

/// The sum of nothing.
pub(super) fn nothing(kind: BsonType) -> Bson {
    let exact = (kind == BsonType::Decimal).then(|| "0".parse().ok());
    exact.flatten().map_or(Bson::Int32(0), Bson::Decimal128)
}

/// A figure of a parent that may not have it yet.
pub(super) fn before(name: &str, zero: Bson) -> Document {
    doc! { "$ifNull": [format!("${name}"), zero] }
}

impl Sum<'_> {
    /// A total that the server works out. Of nothing it makes an int, which is no decimal.
    pub(super) fn typed(&self, total: impl Into<Bson>) -> Bson {
        match &self.zero {
            zero @ Bson::Decimal128(_) => doc! { "$add": [zero.clone(), total.into()] }.into(),
            _ => total.into(),
        }
    }

    /// Lines of a check: sum and average are those of a list; `read` reads a field of the parent.
    pub(crate) fn holds(&self, list: &str, read: impl Fn(&str) -> String) -> [String; 2] {
        let value = member_of("one", self.field);
        let total = format!("{list}.reduce((sum, one) => sum + Number({value} ?? 0), 0)");
        let number = match self.having {
            Some(_) => format!("{list}.filter((one) => ({value} ?? null) !== null).length"),
            None => format!("{list}.length"),
        };
        [
            format!(
                "expect(\"the sum is right\", near(Number({}), {total}), true);",
                read(&self.sum)
            ),
            format!(
                "expect(\"the average is exact (GC-35)\", near(Number({}), {total} / {number}), true);",
                read(&self.average)
            ),
        ]
    }
}

impl Summary<'_> {
    pub(crate) fn nothing() -> Self {
        Self { preview: None, count: None, sums: Vec::new(), clauses: Vec::new(), follows: false }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.preview.is_none() && self.count.is_none() && self.sums.is_empty()
    }

    /// Whether a child's fields are needed, not its id alone.
    pub(crate) fn needs_child(&self) -> bool {
        self.preview.is_some() || !self.sums.is_empty()
    }

    /// The update of the parent when a child comes; `child` and `id` are expressions.
    pub(crate) fn arrival(&self, child: &str, id: &str) -> Bson {
        if self.sums.is_empty() && !self.follows {
            let mut update = Document::new();
            if let Some((name, newest, by, key, shown)) = &self.preview {
                let push = doc! {
                    "$each": [element(key, id, child, shown)],
                    "$sort": sorted(by, key),
                    "$slice": *newest as i32,
                };
                update.insert("$push", doc! { name: push });
            }
            if let Some(count) = &self.count {
                update.insert("$inc", doc! { count: 1 });
            }
            return update.into();
        }
        let mut set = self.added(child, 1);
        if let Some((name, newest, by, key, shown)) = &self.preview {
            // The list is sorted, so the new one goes behind those that are newer. It may be there already,
            // where somebody else has brought the preview up to date.
            let list = doc! { "$ifNull": [format!("${name}"), []] };
            let other = doc! { "$ne": [format!("$$this.{key}"), { "$literal": given(id) }] };
            let value = if *by == "_id" { id.to_owned() } else { member_of(child, by) };
            let time = doc! { "$literal": given(value) };
            let this = format!("$$this.{}", inside(by, key));
            let mut newer = doc! { "$gt": [&this, time.clone()] };
            if inside(by, key) != *key {
                let ids = doc! { "$gt": [format!("$$this.{key}"), { "$literal": given(id) }] };
                let of_one_moment = doc! { "$and": [{ "$eq": [&this, time] }, ids] };
                newer = doc! { "$or": [newer, of_one_moment] };
            }
            let part = |mut test: Document| {
                if self.follows {
                    test = doc! { "$and": [other.clone(), test] };
                }
                Bson::from(doc! { "$filter": { "input": list.clone(), "cond": test } })
            };
            let older = doc! { "$not": [newer.clone()] };
            let new = doc! { "$literal": element(key, id, child, shown) };
            let all = doc! { "$concatArrays": [part(newer), [new], part(older)] };
            set.insert(name, doc! { "$slice": [all, *newest as i32] });
        }
        self.stages([set])
    }

    /// The update of the parent when a child goes.
    pub(crate) fn departure(&self, child: &str, id: &str) -> Bson {
        if self.sums.is_empty() {
            let mut update = Document::new();
            if let Some((name, _, _, key, _)) = &self.preview {
                update.insert("$pull", doc! { name: { *key: given(id) } });
            }
            if let Some(count) = &self.count {
                update.insert("$inc", doc! { count: -1 });
            }
            return update.into();
        }
        let mut set = self.added(child, -1);
        if let Some((name, _, _, key, _)) = &self.preview {
            let test = doc! { "$ne": [format!("$$this.{key}"), { "$literal": given(id) }] };
            let input = doc! { "$ifNull": [format!("${name}"), []] };
            set.insert(name, doc! { "$filter": { "input": input, "cond": test } });
        }
        self.stages([set])
    }

    /// The update of the sums in the parent when a child becomes another.
    pub(crate) fn exchange(&self, old: &str, new: &str) -> Bson {
        let mut set = Document::new();
        for Sum { field, sum, having, zero, .. } in &self.sums {
            let literal = |of: &str| doc! { "$literal": given(member_of(of, field)) };
            let value = |of: &str| doc! { "$ifNull": [literal(of), 0] };
            let more = doc! { "$subtract": [value(new), value(old)] };
            set.insert(sum, doc! { "$add": [before(sum, zero.clone()), more] });
            if let Some(having) = having {
                let one = |of: &str| doc! { "$cond": [is_given(literal(of)), 1, 0] };
                let more = doc! { "$subtract": [one(new), one(old)] };
                set.insert(having, doc! { "$add": [before(having, 0.into()), more] });
            }
        }
        self.stages([set])
    }

    /// A pipeline that sets all of this, one after the other, and then the averages.
    pub(super) fn stages(&self, sets: impl IntoIterator<Item = Document>) -> Bson {
        let all = sets.into_iter().chain([self.averages()]).filter(|set| !set.is_empty());
        all.map(|set| Bson::from(doc! { "$set": set })).collect::<Vec<_>>().into()
    }

    /// What a `$group` works out of children, or of elements at a path: `sum price`, `having price`.
    pub(super) fn grouped(&self, path: &str) -> Document {
        let mut group = Document::new();
        for Sum { field, having, .. } in &self.sums {
            let value = format!("${path}{field}");
            if having.is_some() {
                let one = doc! { "$cond": [is_given(&value), 1, 0] };
                group.insert(format!("having {field}"), doc! { "$sum": one });
            }
            group.insert(format!("sum {field}"), doc! { "$sum": value });
        }
        group
    }

    /// Count and sums with one child more or less.
    pub(crate) fn added(&self, child: &str, sign: i32) -> Document {
        let mut set = Document::new();
        if let Some(count) = &self.count {
            set.insert(count, doc! { "$add": [before(count, 0.into()), sign] });
        }
        for Sum { field, sum, having, zero, .. } in &self.sums {
            // What an application sends is a value, even when it looks like the path of a field.
            // One without the field adds nothing; added as it is, it would make the whole sum null.
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

    /// A list in the same document is changed, and count and sums are worked out again from it.
    pub(crate) fn again(&self, list: &str, changed: Document) -> Bson {
        let mut set = Document::new();
        if let Some(count) = &self.count {
            set.insert(count, doc! { "$size": format!("${list}") });
        }
        for kept in &self.sums {
            let values = format!("${list}.{}", kept.field);
            set.insert(&kept.sum, kept.typed(doc! { "$sum": &values }));
            if let Some(having) = &kept.having {
                // Elements without the field have no part in the list of its values; null has, and is none.
                let given = doc! { "$filter": { "input": values, "cond": is_given("$$this") } };
                set.insert(having, doc! { "$size": given });
            }
        }
        self.stages([doc! { list: changed }, set])
    }

    /// Averages out of sums and the count; of nothing there is none.
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

    /// What is said about it.
    pub(crate) fn words(&self) -> String {
        let mut said = Vec::new();
        if let Some((name, newest, by, key, _)) = &self.preview {
            let by = inside(by, key);
            said.push(format!(
                "`{name}` keeps at most {newest}, the newest by `{by}` first: elements carry that field, or they could not be sorted"
            ));
        }
        if let Some(count) = &self.count {
            said.push(format!("`{count}` counts them"));
        }
        for Sum { field, sum, average, having, .. } in &self.sums {
            let by = having.as_ref().map_or("the count".to_owned(), |having| format!("`{having}`"));
            said.push(format!(
                "`{average}` is `{sum}` by {by}, worked out in the server, so that two writers of `{field}` at the same time lose nothing"
            ));
        }
        said.join("; ")
    }
}

/// The field of an element that a preview is sorted by: the id of a child has a name of its own there.
fn inside<'b>(by: &'b str, key: &'b str) -> &'b str {
    if by == "_id" { key } else { by }
}

/// The order of a preview: of those of one moment the newer id stands first.
fn sorted(by: &str, key: &str) -> Document {
    let mut order = doc! { inside(by, key): -1 };
    order.insert(key, -1);
    order
}

/// An element of a preview: the child's id, and the fields that are shown.
fn element(key: &str, id: &str, child: &str, shown: &[&str]) -> Document {
    doc! { key: given(id), SPREAD: given(picked(child, shown)) }
}
