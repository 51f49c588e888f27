//! What checks hold the functions of links to.

use bson::doc;
use docward_model::BsonType;
use docward_model::shell::quote;

use crate::decide::pattern::Pattern;
use crate::declared::field_plan::Origin;
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::Job;

use super::super::parent_summary::Keeper;
use super::super::transaction::Act;
use super::super::{Plans, is_one_of_each, vary};
use super::{Link, now};

impl<'m> Plans<'m> {
    /// In a check: `others[0]`, which is not linked, is linked in a transaction, and not for good. `count`
    /// counts what is linked.
    pub(super) fn together_link(
        &self,
        link: &Link<'m>,
        (add, remove): (&str, &str),
        count: &str,
    ) -> Vec<String> {
        if !self.changes_both(link.relationship, link.decision) {
            return Vec::new();
        }
        let root_id = link.parent.id_in("root");
        // Where the child has to be changed as well, here nothing of it is.
        let unchanged = match self.is_set_together(link.relationship, &link.relationship.child) {
            true => ", { $unset: { nothing: 1 } }",
            false => "",
        };
        let call = |update: &str| {
            format!("{add}InTransaction(at, {root_id}, others[0]._id, {update}{unchanged})")
        };
        let mut lines = self.both_check(link.relationship, &link.parent, call, (None, count, 1));
        let unlink = format!("{remove}(at, {root_id}, others[0]._id);");
        lines.push(unlink.clone());
        let child = (&link.child, "others[0]._id");
        lines.extend(self.other_check(link.relationship, child, Act::Adds, |update, other| {
            let set = format!("{{ $set: {other} }}");
            format!("{add}InTransaction(at, {root_id}, others[0]._id, {update}, {set})")
        }));
        lines.push(unlink);
        lines
    }

    /// In a check: a child without the copied fields that not every one has is linked like others, and a link
    /// to one that is gone can be taken away.
    pub(super) fn ends_check(&self, link: &Link<'m>, add: &str, remove: &str) -> Vec<String> {
        let root_id = link.parent.id_in("root");
        let child = self.layout.model.entity(&link.relationship.child);
        let optional = |name: &&&str| {
            child.and_then(|child| child.field(name)).is_some_and(|field| !field.required)
        };
        let children = quote(&link.child.collection.name);
        let mut lines = vec![format!("const bare = {};", self.made(link.child.collection))];
        for field in link.copied.iter().filter(optional) {
            lines.push(format!("delete {};", member_of("bare", field)));
        }
        lines.push(format!("at.getCollection({children}).insertOne(bare);"));
        lines.push(format!("{add}(at, {root_id}, bare._id);"));
        if matches!(link.decision.patterns.first(), Some(Pattern::ParentsInChild)) {
            lines.push(format!("{remove}(at, {root_id}, bare._id);"));
            return lines;
        }
        if !link.copied.is_empty() {
            let refresh = self.name("refresh copies of", link.relationship, false);
            lines.push(format!(
                "expect(\"and refreshed\", {refresh}(at, bare._id).matchedCount, 1);"
            ));
        }
        // What is summed stays as it is then, so nothing may be there to sum.
        let summary = self.summary(link.relationship, link.decision, &link.parent);
        if summary.sums.is_empty() {
            lines.push(format!("at.getCollection({children}).deleteOne({{ _id: bare._id }});"));
        }
        lines.push(format!(
            "expect(\"also this link is taken away\", {remove}(at, {root_id}, bare._id), true);"
        ));
        lines
    }

    /// In a check: what has one parent is held by no second one.
    pub(super) fn of_one_check(&self, link: &Link<'m>, held: &str, add: &str) -> Vec<String> {
        if !is_one_of_each(link.parent.collection, held) {
            return Vec::new();
        }
        vec![
            format!("const second = {};", self.made(link.parent.collection)),
            format!("at.getCollection({}).insertOne(second);", quote(&link.parent.collection.name)),
            format!(
                "refused(\"it has one parent\", 11000, () => {add}(at, {}, others[0]._id));",
                link.parent.id_in("second")
            ),
        ]
    }

    /// In a check: what `root` keeps of all `others` but the first.
    pub(super) fn linked_figures(
        &self,
        link: &Link<'m>,
        keeper: &Keeper<'m>,
        change: &Option<Job>,
    ) -> Vec<String> {
        let children = quote(&link.child.collection.name);
        let ids = "others.slice(1).map((one) => one._id)";
        let all = format!("at.getCollection({children}).find({{ _id: {{ $in: {ids} }} }})");
        let call = change.as_ref().map(|change| {
            let name = change.name.clone();
            move |changes: &str| format!("{name}(at, some._id, {changes})")
        });
        self.figures_check(keeper, &all, "others[1]", call)
    }

    /// A parent called `root` and some children called `others`, the newest first, in a check.
    pub(super) fn ends(&self, link: &Link<'m>, number: usize) -> Vec<String> {
        let mut other = doc! { SPREAD: given(self.made(link.child.collection)) };
        // Which of those of one moment a preview shows first is not said.
        let summary = self.summary(link.relationship, link.decision, &link.parent);
        let by = summary.preview.as_ref().map(|(_, _, by, ..)| *by);
        let day = crate::emit::example::day(self.layout.model);
        for field in link.child.fields.iter().filter(|field| by == Some(field.name.as_str())) {
            if field.origin == Origin::Own && field.values.is_empty() {
                other.insert(&field.name, given(vary(field, false, day)));
            }
        }
        let other = js::object(&other, 0);
        vec![
            format!("const root = {};", self.made(link.parent.collection)),
            format!("at.getCollection({}).insertOne(root);", quote(&link.parent.collection.name)),
            format!(
                "const others = Array.from({{ length: {number} }}, (_, i) => ({other})).reverse();"
            ),
            format!("at.getCollection({}).insertMany(others);", quote(&link.child.collection.name)),
        ]
    }

    /// Children that a check links: one more than a preview shows, so that it can lose one.
    pub(super) fn linked_in_check(&self, link: &Link<'m>, most: u64) -> u64 {
        let summary = self.summary(link.relationship, link.decision, &link.parent);
        let shown = summary.preview.map_or(0, |(_, newest, ..)| newest);
        most.clamp(1, 3.max(shown + 1))
    }

    /// Copies in the parent stay until they are refreshed; `copy` reads one off `now`.
    pub(super) fn mirror_check(&self, link: &Link<'m>, refresh: &str, copy: &str) -> Vec<String> {
        let child = self.layout.model.entity(&link.relationship.child);
        let text = link.copied.iter().find(|name| {
            child
                .and_then(|entity| entity.field(name))
                .is_some_and(|field| field.kind == BsonType::String && field.values.is_empty())
        });
        let Some(text) = text else { return Vec::new() };
        let copied = member_of(copy, text);
        let index = if link.decision.facts.children.max <= 1 { 0 } else { 1 };
        let set = doc! { "$set": { *text: given("changed") } };
        vec![
            "const changed = \"changed \" + unique();".to_owned(),
            format!(
                "at.getCollection({}).updateOne({{ _id: others[{index}]._id }}, {});",
                quote(&link.child.collection.name),
                js::object(&set, 0)
            ),
            format!(
                "expect(\"copies stay as they were (PT-extref.2)\", {copied} === changed, false);"
            ),
            format!("{refresh}(at, others[{index}]._id);"),
            now(&link.parent.collection.name),
            format!("expect(\"a refresh mirrors the change\", {copied}, changed);"),
        ]
    }
}
