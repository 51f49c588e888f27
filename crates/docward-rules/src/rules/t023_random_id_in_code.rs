//! DM-10.3: random ids.

use std::collections::BTreeSet;

use docward_model::{Evidence, Severity, code::DeclaredField};

use crate::{
    Cx, declare_rule,
    facts::{
        code,
        names::{self, meaning},
        text,
    },
};

declare_rule! {
    /// # Random id in code
    ///
    /// ## What it checks
    /// Reports documents and models in source code whose `_id` is a random UUID or similar (`uuid4()`,
    /// `uuidv4()`, `UUID.randomUUID()`, `nanoid()`). Three or more such models or collections are one finding.
    ///
    /// It is a note for small lookup collections (`brand`, `category`, `country`), and in code that nothing uses.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - the `_id` of an array element or of an object within a document
    /// - ids that migrations, scripts and programs that end by themselves create
    /// - ids that are only part of a response and not stored
    /// - ids with a chosen length (`nanoid(7)`), which people read and type
    ///
    /// ## Why it matters
    /// New keys are inserted all over the index. Pages split, more of the index must be in memory, and writes
    /// slow down as the data grows. As text, each key takes 36 bytes in every index entry and reference.
    ///
    /// ## Example
    /// ```python,fires
    /// import uuid
    /// from pymongo import MongoClient
    /// def save(db, name):
    ///     db.t_user.insert_one({"_id": str(uuid.uuid4()), "name": name})
    /// ```
    /// ```python,clean
    /// import uuid
    /// from pymongo import MongoClient
    /// def save(db, name):
    ///     db.t_user.insert_one({"name": name, "publicId": str(uuid.uuid4())})
    /// ```
    ///
    /// ## How to fix
    /// Let the driver create `_id` (ObjectId), or use an increasing id (UUIDv7, ULID) stored as binary. Expose
    /// the random id in a separate field.
    ///
    /// ## When to ignore it
    /// Offline clients create the ids, which must not collide, and the collection stays small.
    T023, "random-id-in-code",
    level: Recommended,
    area: Speed,
    severities: [Warn, Info],
    clauses: ["DM-10.3", "DM-10.1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

/// The number of models with random keys from which one finding covers the project.
const HABIT: usize = 3;

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    let random = || {
        let fields = found
            .fields
            .iter()
            .filter(|field| field.path == "_id" && !found.is_hand_run(&field.place.location.file));
        fields.filter_map(|field| Some((field, field.made_by.as_deref()?)))
    };
    let growing: Vec<&DeclaredField> =
        random().map(|(field, _)| field).filter(|f| !stays_small(f)).collect();
    // A collection that several places insert into counts once.
    let kinds: BTreeSet<(&str, Option<&str>, &str)> = growing.iter().map(|f| kind(f)).collect();
    let told_for_all = growing.first().filter(|_| kinds.len() >= HABIT);
    for (field, made_by) in random() {
        let others = match told_for_all {
            Some(first) if std::ptr::eq(*first, field) => {
                let more = text::plural(kinds.len() as u64 - 1, "more model or collection");
                format!("; the same holds for {more}")
            }
            Some(_) => continue,
            None => String::new(),
        };
        let of =
            if field.model.is_empty() { String::new() } else { format!(" of `{}`", field.model) };
        let is_quiet = stays_small(field) || code::is_never_run(evidence, &field.place);
        let severity = if is_quiet { Severity::Info } else { Severity::Warn };
        let draft = code::draft(
            evidence,
            &field.place,
            &field.model,
            format!("the `_id`{of} is random (`{made_by}`){others}"),
            "new keys go to random places of the index: pages split, and writes get slower as data grows",
            "let the driver create `_id`, or use an increasing id (UUIDv7, ULID) stored as binary; move the random id to a separate field",
        );
        cx.report(draft.severity(severity));
    }
}

/// The owner of a key: a model, a collection, or a file.
fn kind(field: &DeclaredField) -> (&str, Option<&str>, &str) {
    let is_named = !field.model.is_empty() || field.collection.is_some();
    let file = if is_named { "" } else { field.place.location.file.as_str() };
    (&field.model, field.collection.as_deref(), file)
}

/// Whether a model or collection is a lookup table, by its name: a few hundred documents have no index that keys could
/// spread over.
fn stays_small(field: &DeclaredField) -> bool {
    const LOOKED_UP: [&str; 22] = [
        "brand",
        "category",
        "subcategory",
        "country",
        "nationality",
        "language",
        "currency",
        "league",
        "region",
        "state",
        "city",
        "genre",
        "role",
        "permission",
        "department",
        "unit",
        "color",
        "size",
        "setting",
        "config",
        "plan",
        "faq",
    ];
    // If the code does not name a collection, the file name does: `brand.service.ts`.
    let file = field.place.location.file.rsplit('/').next().unwrap_or_default();
    let name = match (field.model.as_str(), &field.collection) {
        ("", Some(collection)) => collection.as_str(),
        ("", None) => file.split('.').next().unwrap_or(file),
        (model, _) => model,
    };
    let all = names::words(name);
    // `Brand`, `brandModel`, `t_brand`: one word that counts.
    let mut said = all.iter().filter(|word| !matches!(word.as_str(), "t" | "model" | "schema"));
    let first = said.next().map(|word| meaning::singular(word));
    said.next().is_none() && first.is_some_and(|word| LOOKED_UP.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn dm_10_3_what_is_only_answered_is_not_stored() {
        let count = |body: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nconst {{ v4: uuidv4 }} = require('uuid');\nconst Post = mongoose.model('Post', s);\nrouter.get('/a', async (req, res) => {{ {body} }});\n"
            );
            check("T023", &text).len()
        };
        assert_eq!(count("const made = {_id: uuidv4(), a: 1}; res.status(200).json(made);"), 0);
        assert_eq!(count("res.json({_id: uuidv4(), a: 1});"), 0);
        assert_eq!(
            count("const made = {_id: uuidv4()}; await Post.create(made); res.json(made);"),
            1
        );
        assert_eq!(count("await Post.create({_id: uuidv4(), a: 1});"), 1);
    }

    #[test]
    fn dm_10_3_models_and_documents() {
        let count = |text: &str| check("T023", text).len();
        assert_eq!(
            count(
                "source a.js\nconst { v4: uuidv4 } = require('uuid');\nconst mongoose = require('mongoose');\nconst s = new mongoose.Schema({_id: {type: String, default: uuidv4}});"
            ),
            1
        );
        assert_eq!(
            count(
                "source a.py\nfrom beanie import Document\nfrom uuid import UUID, uuid4\nclass A(Document):\n    id: UUID = Field(default_factory=uuid4)\n"
            ),
            1
        );
        assert_eq!(count("source a.js\nconst s = {_id: new ObjectId()};"), 0);
    }

    #[test]
    fn dm_10_3_what_others_look_up_stays_small() {
        let severity = |name: &str| {
            let text = format!(
                "source a.py\nfrom beanie import Document\nfrom uuid import UUID, uuid4\nclass {name}(Document):\n    id: UUID = Field(default_factory=uuid4)\n"
            );
            check("T023", &text)[0].severity
        };
        use docward_model::Severity::{Info, Warn};
        assert_eq!(["Brand", "Categories", "Country"].map(severity), [Info; 3]);
        assert_eq!(["Product", "CountryVisit", "Player"].map(severity), [Warn; 3]);
    }

    #[test]
    fn dm_10_3_a_habit_is_told_once() {
        let model = |name: &str| {
            format!("class {name}(Document):\n    id: UUID = Field(default_factory=uuid4)\n")
        };
        let found = |names: &[&str]| {
            let models: String = names.iter().map(|name| model(name)).collect();
            let head = "source a.py\nfrom beanie import Document\nfrom uuid import UUID, uuid4\n";
            check("T023", &format!("{head}{models}"))
        };
        assert_eq!(found(&["Order", "Player"]).len(), 2);
        let habit = found(&["Brand", "Order", "Player", "Visit"]);
        assert_eq!(habit.len(), 1);
        assert!(habit[0].what.contains("`Order`") && habit[0].what.contains("for 2 more"));
    }

    #[test]
    fn dm_10_3_elements_of_arrays_have_no_key() {
        let js = |file: &str, body: &str| {
            let head = "const { v4: uuidv4 } = require('uuid');\nconst {MongoClient} = require('mongodb');\n";
            check("T023", &format!("source {file}\n{head}{body}")).len()
        };
        for document in [
            "db.collection('t').insertOne({_id: uuidv4(), items: []});",
            "db.collection('t').insertMany([{_id: uuidv4()}]);",
            "const one = {_id: uuidv4()};\ndb.collection('t').insertOne(one);",
            "db.collection('t').updateOne({a: 1}, {$setOnInsert: {_id: uuidv4()}}, {upsert: true});",
            "db.collection('t').bulkWrite([{insertOne: {document: {_id: uuidv4()}}}]);",
        ] {
            assert_eq!(js("app/a.js", document), 1, "{document}");
            assert_eq!(js("migrations/2020/a.js", document), 0, "{document}");
        }
        for element in [
            "db.collection('t').updateOne({a: 1}, {$push: {items: {_id: uuidv4(), text: 'x'}}});",
            "db.collection('t').updateOne({a: 1}, {$push: {items: {$each: [{_id: uuidv4()}]}}});",
            "db.collection('t').insertOne({name: 'a', items: [{_id: uuidv4()}], first: {_id: uuidv4()}});",
            "user.items.push({_id: uuidv4()});",
            "user.items = [{_id: uuidv4()}];",
            "const item = {_id: uuidv4(), ...more};\ndb.collection('t').updateOne({a: 1}, {$push: {items: item}});",
            "const item = {_id: uuidv4()};\ndb.collection('t').updateOne({a: 1}, {$push: {items: {$each: [item]}}});",
            "const shared = {_id: nanoid(7)};\ndb.collection('t').insertOne(shared);",
        ] {
            assert_eq!(js("app/a.js", element), 0, "{element}");
        }
    }

    #[test]
    fn dm_10_3_programs_that_end_make_ids_once() {
        let text = "source src/commands/fill.js\nconst {MongoClient} = require('mongodb');\nconst client = new MongoClient(process.env.URL);\nconst command = async () => {\n  await client.db('a').collection('t').insertOne({_id: nanoid()});\n  await client.close();\n};\ncommand().catch(async () => { process.exit(1); });\n";
        assert_eq!(check("T023", text).len(), 0);
        assert_eq!(
            check("T023", &text.replace("command().catch", "module.exports = command;\nlog.catch"))
                .len(),
            1
        );
    }
}
