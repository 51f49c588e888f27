//! The archive pattern: cold documents move to another collection.

use bson::{Bson, doc};
use docward_model::shell::quote;
use docward_model::{Entity, text};

use crate::decide::vote::Choice;
use crate::emit::example::day;
use crate::emit::js::{self, SPREAD, given};
use crate::emit::statement::{Job, Method, Script, Statement, Step};
use crate::layout::aging::cooling;
use crate::layout::collection::{CollectionPlan, Purpose};

use super::bucket_corrections::series_fields;
use super::plans::{Plans, unchanged, vary};

/// The number of documents that move in one batch. The shell holds a whole batch in memory.
const BATCH: i32 = 100;

impl<'m> Plans<'m> {
    pub(super) fn archive(&self, entity: &'m Entity, days: u64) -> Option<Script> {
        let home = self.home(&entity.name)?;
        let archive = self.beside(entity, &Purpose::Archive)?;
        let (date, later) = cooling(&self.layout, entity)?;
        let name = js::function(&["archive", &entity.name]);
        let job = self.moving(&name, entity, (home, archive), (&date, days, later));
        Some(Script {
            about: entity.name.clone(),
            pattern: "archive",
            intro: format!(
                "`{}` is rarely read after {days} days and moves to an archive.",
                entity.name
            ),
            jobs: vec![job],
            check: self.moved(&name, (home, archive), (&date, days, later)),
        })
    }

    fn moving(
        &self,
        name: &str,
        entity: &'m Entity,
        (home, archive): (&CollectionPlan, &CollectionPlan),
        (date, days, later): (&str, u64, u64),
    ) -> Job {
        let some = Statement::find(&home.name, doc! { date: { "$lt": given("before") } })
            .then("sort", doc! { date: 1 })
            .then("limit", BATCH);
        let merge = vec![
            Bson::from(
                doc! { "$match": { "_id": { "$in": given("found.map((one) => one._id)") } } },
            ),
            // Without `on`, `$merge` matches by `_id`, and also by the shard key if there is one.
            doc! { "$merge": { "into": &archive.name, "whenMatched": "replace" } }.into(),
        ];
        let copied = Statement::new(&home.name, Method::Aggregate, [merge.into()]);
        let each = doc! { "deleteOne": { "filter": unchanged("one._id", "one") } };
        let each = js::object(&each, 4);
        let gone = Statement::new(
            &home.name,
            Method::BulkWrite,
            [given(format!("found.map((one) => ({each}))")), doc! { "ordered": false }.into()],
        );
        let what = match home.purpose {
            Purpose::Bucket(_) => "buckets whose readings are all",
            _ => "documents that are",
        };
        let mut does = format!(
            "Moves {what} more than {days} days old by `{date}` to `{}`, {BATCH} at a time, and \
             returns how many. It deletes a document only if it still equals its copy: a document \
             that changes in between stays, and is copied again in the next round. It can be \
             stopped and restarted at any time.",
            archive.name
        );
        let unique: Vec<&str> =
            entity.fields.iter().filter(|f| f.unique).map(|f| f.name.as_str()).collect();
        if !unique.is_empty() {
            does.push_str(&format!(
                " {} {} unique only among documents that are not archived.",
                text::list(&unique, 3),
                text::form(unique.len() as u64, "is", "are")
            ));
        }
        let children: Vec<&str> = self
            .layout
            .linked()
            .filter(|(r, decision)| {
                r.parent == entity.name && decision.choice == Some(Choice::Reference)
            })
            .map(|(r, _)| r.role())
            .collect();
        if !children.is_empty() {
            does.push_str(&format!(
                " Its {} stay where they are, and functions that change them no longer find it, \
                 so archive only what is finished.",
                text::list(&children, 3)
            ));
        }
        let age = days * 86_400_000 + later * 1000;
        Job {
            name: name.to_owned(),
            parameters: vec!["today = new Date()".to_owned()],
            does,
            clauses: Vec::new(),
            steps: vec![
                Step::Code(format!("const before = new Date(today.getTime() - {age});\nlet moved = 0;")),
                Step::Code("for (;;) {".to_owned()),
                Step::Code(format!("  const found = {};", some.shell(2))),
                Step::Code("  if (found.length === 0) return moved;".to_owned()),
                Step::Code(format!("  {};", copied.shell(2))),
                Step::Code(format!("  const gone = {};", gone.shell(2))),
                Step::Code("  if (gone.deletedCount === 0) return moved;\n  moved += gone.deletedCount;\n}".to_owned()),
            ],
        }
    }

    /// Returns the lines of the check.
    fn moved(
        &self,
        name: &str,
        (home, archive): (&CollectionPlan, &CollectionPlan),
        (date, days, later): (&str, u64, u64),
    ) -> Vec<String> {
        let day = day(self.layout.model);
        let aged = |days: u64| {
            let at = format!("new Date({day} - {} * 1000)", days * 86_400 + later);
            let mut made = doc! { SPREAD: given(self.made(home)), date: given(at) };
            if let Purpose::Bucket(_) = home.purpose {
                // A series has at most one bucket that is not full.
                for field in series_fields(home) {
                    made.insert(&field.name, given(vary(field, true, day)));
                }
            }
            js::object(&made, 0)
        };
        let (here, there) = (quote(&home.name), quote(&archive.name));
        let today = format!("new Date({day})");
        // In this test, the document changes after it was copied.
        let sly = format!(
            "const sly = {{\n  getCollection: (name) => name !== {here} ? at.getCollection(name) : {{\n    find: (...all) => at.getCollection(name).find(...all),\n    bulkWrite: (...all) => at.getCollection(name).bulkWrite(...all),\n    aggregate: (...all) => {{\n      const done = at.getCollection(name).aggregate(...all).toArray();\n      at.getCollection(name).updateOne({{ _id: late._id }}, {{ $set: {{ meanwhile: 1 }} }});\n      return {{ toArray: () => done }};\n    }},\n  }},\n}};"
        );
        vec![
            format!("at.getCollection({here}).deleteMany({{}});"),
            format!(
                "at.getCollection({here}).insertMany([{}, {}, {}]);",
                aged(days + 2),
                aged(days + 1),
                aged(days.saturating_sub(1))
            ),
            format!("expect(\"two are old\", {name}(at, {today}), 2);"),
            format!(
                "expect(\"they are in the archive\", at.getCollection({there}).countDocuments({{}}), 2);"
            ),
            format!("expect(\"one is left\", at.getCollection({here}).countDocuments({{}}), 1);"),
            format!("expect(\"nothing more to do\", {name}(at, {today}), 0);"),
            format!("const late = {};", aged(days + 3)),
            format!("at.getCollection({here}).insertOne(late);"),
            sly,
            format!("expect(\"what is changed meanwhile stays\", {name}(sly, {today}), 0);"),
            format!("expect(\"and goes with the change\", {name}(sly, {today}), 1);"),
            format!(
                "expect(\"which is in the archive\", at.getCollection({there}).findOne({{ _id: late._id }}).meanwhile, 1);"
            ),
        ]
    }
}
