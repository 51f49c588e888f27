//! The archive pattern: cold documents move to another collection.

use bson::{Bson, doc};
use docward_model::{Entity, text};

use crate::decide::vote::Choice;
use crate::emit::example::day;
use crate::emit::expectations::{Check, found, made, stored};
use crate::emit::js::{self, SPREAD, given};
use crate::emit::statement::{Job, Method, Script, Statement, Step};
use crate::layout::aging::cooling;
use crate::layout::collection::{CollectionPlan, Purpose};

use super::plans::{Plans, unchanged, vary};
use super::series::series_fields;

/// The number of documents that move in one batch. The shell holds a whole batch in memory.
const BATCH: i32 = 100;

/// The collection whose old documents move to an archive, and the age at which they move.
struct Moves<'m> {
    home: &'m CollectionPlan,
    archive: &'m CollectionPlan,
    /// The field with the date by which documents age.
    date: String,
    /// The age in seconds.
    age: u64,
}

impl<'m> Plans<'m> {
    pub(super) fn archive(&self, entity: &'m Entity, days: u64) -> Option<Script> {
        let home = self.home(&entity.name)?;
        let archive = self.beside(entity, &Purpose::Archive)?;
        let (date, later) = cooling(&self.layout, entity)?;
        let moves = Moves { home, archive, date, age: days * 86_400 + later };
        let name = js::function(&["archive", &entity.name]);
        let mut does = format!(
            "Moves {} more than {days} days old by `{}` to `{}`, {BATCH} at a time, and returns \
             how many. It deletes a document only if it still equals its copy: a document that \
             changes in between stays, and is copied again in the next round. It can be stopped \
             and restarted at any time.",
            match home.purpose {
                Purpose::Bucket(_) => "buckets whose readings are all",
                _ => "documents that are",
            },
            moves.date,
            archive.name
        );
        let unique = entity.fields.iter().filter(|field| field.unique);
        let unique: Vec<&str> = unique.map(|field| field.name.as_str()).collect();
        if !unique.is_empty() {
            does.push_str(&format!(
                " {} {} unique only among documents that are not archived.",
                text::list(&unique, 3),
                text::form(unique.len() as u64, "is", "are")
            ));
        }
        let linked = self.layout.linked().filter(|(r, decision)| {
            r.parent == entity.name && decision.choice == Some(Choice::Reference)
        });
        let children: Vec<&str> = linked.map(|(r, _)| r.role()).collect();
        if !children.is_empty() {
            does.push_str(&format!(
                " Its {} stay where they are, and functions that change them no longer find it, \
                 so archive only what is finished.",
                text::list(&children, 3)
            ));
        }
        Some(Script {
            about: entity.name.clone(),
            pattern: "archive",
            intro: format!(
                "`{}` is rarely read after {days} days and moves to an archive.",
                entity.name
            ),
            jobs: vec![Job::new(&name, &["today = new Date()"], does, moves.steps())],
            check: self.moved(&name, &moves),
        })
    }

    fn moved(&self, name: &str, moves: &Moves<'_>) -> Check {
        let day = day(self.layout.model);
        let aged = |days_more: i64| {
            let age = moves.age as i64 + days_more * 86_400;
            let date = given(format!("new Date({day} - {age} * 1000)"));
            let mut made = doc! { SPREAD: given(made(&moves.home.name)), &moves.date: date };
            if let Purpose::Bucket(_) = moves.home.purpose {
                // A series has at most one bucket that is not full.
                for field in series_fields(moves.home) {
                    made.insert(&field.name, given(vary(field, true, day)));
                }
            }
            js::object(&made, 0)
        };
        let (here, there) = (stored(&moves.home.name), stored(&moves.archive.name));
        let archive = |from: &str| format!("{name}({from}, new Date({day}))");
        let mut check = Check::default();
        check.run(format!("{here}.deleteMany({{}});"));
        check.run(format!("{here}.insertMany([{}, {}, {}]);", aged(2), aged(1), aged(-1)));
        check.expect("two are old", archive("at"), 2);
        check.expect("they are in the archive", format!("{there}.countDocuments({{}})"), 2);
        check.expect("one is left", format!("{here}.countDocuments({{}})"), 1);
        check.expect("nothing more to do", archive("at"), 0);
        check.set("late", aged(3));
        check.run(format!("{here}.insertOne(late);"));
        // In this test, the document changes after it was copied.
        check.run(format!(
            "const sly = {{
  getCollection: (name) => name !== {} ? at.getCollection(name) : {{
    find: (...all) => at.getCollection(name).find(...all),
    bulkWrite: (...all) => at.getCollection(name).bulkWrite(...all),
    aggregate: (...all) => {{
      const done = at.getCollection(name).aggregate(...all).toArray();
      at.getCollection(name).updateOne({{ _id: late._id }}, {{ $set: {{ meanwhile: 1 }} }});
      return {{ toArray: () => done }};
    }},
  }},
}};",
            docward_model::shell::quote(&moves.home.name)
        ));
        check.expect("what is changed meanwhile stays", archive("sly"), 0);
        check.expect("and goes with the change", archive("sly"), 1);
        let changed = format!("{}.meanwhile", found(&moves.archive.name, "late"));
        check.expect("which is in the archive", changed, 1);
        check
    }
}

impl Moves<'_> {
    fn steps(&self) -> [Step; 2] {
        let (home, archive) = (&self.home.name, &self.archive.name);
        let some = Statement::find(home, doc! { &self.date: { "$lt": given("before") } })
            .then("sort", doc! { &self.date: 1 })
            .then("limit", BATCH);
        let ids = doc! { "_id": { "$in": given("found.map((one) => one._id)") } };
        // Without `on`, `$merge` matches by `_id`, and also by the shard key if there is one.
        let merge = doc! { "$merge": { "into": archive, "whenMatched": "replace" } };
        let merge = vec![Bson::from(doc! { "$match": ids }), merge.into()];
        let each = doc! { "deleteOne": { "filter": unchanged("one._id", "one") } };
        let each = format!("found.map((one) => ({}))", js::object(&each, 6));
        let arguments = [given(each), doc! { "ordered": false }.into()];
        let round = vec![
            Step::Let("found", some),
            Step::return_if("found.length === 0", "moved"),
            Step::Run(Statement::new(home, Method::Aggregate, [merge.into()])),
            Step::Let("gone", Statement::new(home, Method::BulkWrite, arguments)),
            Step::return_if("gone.deletedCount === 0", "moved"),
            Step::code("moved += gone.deletedCount;"),
        ];
        [
            Step::code(format!(
                "const before = new Date(today.getTime() - {});\nlet moved = 0;",
                self.age * 1000
            )),
            Step::Block("for (;;) {".to_owned(), round, "}"),
        ]
    }
}
