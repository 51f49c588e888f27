//! What checks hold the functions of lists with pages to.

use bson::{Bson, doc};
use docward_model::shell::quote;

use crate::declared::field_plan::Origin;
use crate::emit::js::{self, SPREAD, given, member_of};

use super::super::Plans;
use super::super::embedded::{now, read};
use super::Pages;

/// Lines of the check.
impl Pages<'_, '_> {
    /// What the parent keeps is that of a list.
    fn totals(&self, list: &str) -> Vec<String> {
        if self.summary.is_empty() {
            return Vec::new();
        }
        let mut lines = vec!["{".to_owned(), now(self.parents())];
        if let Some(count) = &self.summary.count {
            lines.push(format!(
                "expect(\"the count is right\", Number({}), {list}.length);",
                read(count)
            ));
        }
        lines.extend(self.summary.sums.iter().flat_map(|sum| sum.holds(list, read)));
        lines.push("}".to_owned());
        lines
    }

    fn pages_of(&self, parent: &str) -> String {
        format!(
            "at.getCollection({}).find({}).sort({{ page: 1 }}).toArray()",
            quote(&self.pages.name),
            js::object(&doc! { &self.held: given(format!("{parent}._id")) }, 0)
        )
    }

    /// A second parent.
    fn another(&self, plans: &Plans<'_>, name: &str) -> [String; 2] {
        [
            format!("const {name} = {};", plans.made(self.inside.parent.collection)),
            format!("at.getCollection({}).insertOne({name});", quote(self.parents())),
        ]
    }

    pub(super) fn filled(&self, plans: &Plans<'_>, add: &str, list: &str) -> Vec<String> {
        let second_id = self.inside.parent.id_in("second");
        let root_id = self.inside.parent.id_in("root");
        let (most, many) = (self.most, self.many);
        let pages: Vec<String> = (2..)
            .zip((most..many).step_by(most as usize))
            .map(|(page, from)| format!("[{page}, {}]", (many - from).min(most)))
            .collect();
        let mut check = vec![
            "const sent = [];".to_owned(),
            format!(
                "for (let i = 0; i < {many}; i++) {{\n  sent.push({});\n  {add}(at, {root_id}, sent[i]);\n}}",
                self.inside.sent()
            ),
            now(self.parents()),
            format!(
                "expect(\"the parent holds {most} (PT-outlier.1)\", {}.length, {most});",
                read(&self.inside.list)
            ),
            format!("expect(\"and says that there are more\", {}, true);", read(&self.flag)),
            format!(
                "expect(\"pages from 2 on\", {}.map((page) => [page.page, {}.length]), [{}]);",
                self.pages_of("root"),
                member_of("page", self.role()),
                pages.join(", ")
            ),
            format!(
                "expect(\"the reader has {many}, in order\", plain({list}(at, {root_id})), plain(sent));"
            ),
        ];
        check.extend(self.totals("sent"));
        check.extend(self.another(plans, "second"));
        let bad = self.inside.field.fields.iter().find(|f| f.origin == Origin::Own);
        if let Some(bad) = bad {
            let bad = js::object(&doc! { SPREAD: given("one(0)"), &bad.name: Bson::MinKey }, 0);
            for (parent, what) in [("second", "in the parent"), ("root", "on a page")] {
                check.push(format!(
                    "refused(\"a bad one {what}\", null, () => {add}(at, {parent}._id, {bad}));"
                ));
            }
        }
        if !self.unique.is_empty() {
            for (which, from) in [("sent[0]", "the parent"), ("sent[sent.length - 1]", "a page")] {
                for (parent, what) in [("root", "twice in one"), ("second", "in two")] {
                    check.push(format!(
                        "refused(\"not {what}, from {from}\", null, () => {add}(at, {parent}._id, {which}));"
                    ));
                }
            }
        }
        check.push(format!(
            "expect(\"what is refused leaves nothing\", [{list}(at, {root_id}).length, {list}(at, {second_id}).length], [{many}, 0]);"
        ));
        check.extend(self.totals("sent"));
        check.push(format!(
            "await together(Array.from({{ length: 8 }}, async (_, writer) => {{\n  for (let i = 0; i < 3; i++) {add}(at, {root_id}, one({many} + writer * 3 + i));\n}}));"
        ));
        check.push(format!("let all = {list}(at, {root_id});"));
        check.push(format!("expect(\"8 writers lose nothing\", all.length, {});", many + 24));
        check.extend(self.totals("all"));
        check
    }

    pub(super) fn taken_out(
        &self,
        plans: &Plans<'_>,
        (add, change, remove, list): (&str, &str, &str, &str),
    ) -> Vec<String> {
        let second_id = self.inside.parent.id_in("second");
        let root_id = self.inside.parent.id_in("root");
        let mut check = Vec::new();
        let again = |check: &mut Vec<String>| {
            check.push(format!("all = {list}(at, {root_id});"));
            check.extend(self.totals("all"));
        };
        if let Some((name, value)) = plans.changeable(self.inside.relationship) {
            let changes = js::object(&doc! { name: given(value) }, 2);
            check.push(format!(
                "for (const one of [sent[0], sent[sent.length - 1]]) {{\n  const i = 3;\n  const changes = {changes};\n  expect(\"it is changed\", {change}(at, {root_id}, one._id, changes), true);\n  const found = {list}(at, {root_id}).find((other) => String(other._id) === String(one._id));\n  expect(\"where it is\", plain(found), plain({{ ...one, ...changes }}));\n}}"
            ));
            again(&mut check);
        }
        check.push(format!(
            "for (const one of [sent[0], sent[sent.length - 1]]) {{\n  expect(\"it is removed\", {remove}(at, {root_id}, one._id), true);\n  expect(\"and not twice\", {remove}(at, {root_id}, one._id), false);\n}}"
        ));
        check.push(format!(
            "expect(\"the others stay, in order\", {list}(at, {root_id}).slice(0, {n}).map((one) => String(one._id)), sent.slice(1, -1).map((one) => String(one._id)));",
            n = self.many - 2
        ));
        again(&mut check);
        check.push(format!("const next = {add}(at, {root_id}, one(0));"));
        check.push(format!(
            "expect(\"the next one is the last\", String({list}(at, {root_id}).pop()._id), String(next));"
        ));
        let marked = js::object(&doc! { "$set": { &self.flag: true } }, 0);
        check.extend([
            format!(
                "at.getCollection({}).updateOne({{ _id: second._id }}, {marked});",
                quote(self.parents())
            ),
            format!("const alone = {add}(at, {second_id}, one(0));"),
            format!("expect(\"it has a page\", {}.length, 1);", self.pages_of("second")),
            format!("{remove}(at, {second_id}, alone);"),
            format!("expect(\"an empty page goes\", {}.length, 0);", self.pages_of("second")),
        ]);
        check
    }

    pub(super) fn aged(
        &self,
        plans: &Plans<'_>,
        add: &str,
        expire: &str,
        list: &str,
        (days, date): (f64, &str),
    ) -> Vec<String> {
        let aged_id = self.inside.parent.id_in("aged");
        let day = crate::emit::example::day(plans.layout.model);
        let old = |ago: u64| {
            let when = format!("new Date({day} - {ago} * 86400000)");
            js::object(&doc! { SPREAD: given("one(0)"), date: given(when) }, 0)
        };
        let marked = js::object(&doc! { "$set": { &self.flag: true } }, 0);
        let mut check = self.another(plans, "aged").to_vec();
        for place in ["the parent", "a page"] {
            for ago in [days.ceil() as u64 + 1, 0] {
                check.push(format!("{add}(at, {aged_id}, {});", old(ago)));
            }
            if place == "the parent" {
                check.push(format!(
                    "at.getCollection({}).updateOne({{ _id: aged._id }}, {marked});",
                    quote(self.parents())
                ));
            }
        }
        check.push(format!("{expire}(at, new Date({day}));"));
        check.push(format!("expect(\"what is old is gone\", {list}(at, {aged_id}).length, 2);"));
        if let Some(count) = &self.summary.count {
            check.push(format!(
                "{{\n  const now = at.getCollection({}).findOne({{ _id: aged._id }});\n  expect(\"and not counted\", Number({}), 2);\n}}",
                quote(self.parents()),
                read(count)
            ));
        }
        check
    }

    pub(super) fn rebuilt(&self, plans: &Plans<'_>, add: &str, rebuild: &str) -> Vec<String> {
        let empty_id = self.inside.parent.id_in("empty");
        let root_id = self.inside.parent.id_in("root");
        let list = plans.name("list", self.inside.relationship, true);
        let mut check = Vec::new();
        if let Some(count) = &self.summary.count {
            let wrong = js::object(&doc! { "$set": { count: 0 } }, 0);
            check.push(format!(
                "at.getCollection({}).updateOne({{ _id: root._id }}, {wrong});",
                quote(self.parents())
            ));
        }
        check.push(format!("{rebuild}(at, {root_id});"));
        check.push(format!("all = {list}(at, {root_id});"));
        check.extend(self.totals("all"));
        check.extend(self.another(plans, "empty"));
        let marked = js::object(&doc! { "$set": { &self.flag: true } }, 0);
        let place = read(&self.inside.list);
        check.extend([
            format!(
                "at.getCollection({}).updateOne({{ _id: empty._id }}, {marked});",
                quote(self.parents())
            ),
            format!("{rebuild}(at, {empty_id});"),
            format!("{add}(at, {empty_id}, one(0));"),
            format!(
                "{{\n  const now = at.getCollection({}).findOne({{ _id: empty._id }});\n  expect(\"a parent without pages is filled again\", {place}.length, 1);\n}}",
                quote(self.parents())
            ),
        ]);
        check
    }
}
