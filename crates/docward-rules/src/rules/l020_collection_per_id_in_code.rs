//! DM-12.4: names of collections that are built from an id.

use std::collections::BTreeMap;

use docward_model::{
    Evidence,
    code::{ComputedName, Origin},
};

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Collection per id in code
    ///
    /// ## What it checks
    /// Reports collection names that code builds from an id: `db.collection("chat_" + userId)`. Each value creates
    /// another collection. A variable alone counts if its name ends in `id`. An id is one of these:
    /// - the id of a user, or a new id
    /// - a value of the request or of a stored document
    /// - a parameter whose name ends in `id`
    ///
    /// With `--select pedantic`, Docward also reports:
    /// - names with other computed parts, such as a tenant, a period or a setting
    /// - names in scripts that are started by hand, and in code that nothing calls
    /// - GridFS buckets
    ///
    /// ## Why it matters
    /// A collection costs at least two files and memory on the server. Thousands of them slow down start-up,
    /// backups and elections. No query or index covers several of them.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const {MongoClient} = require('mongodb');
    /// app.post('/chat', async (req, res) => {
    ///   const messages = db.collection(`chat_${req.user.id}`);
    ///   await messages.insertOne({text: req.body.text, at: new Date()});
    ///   res.sendStatus(201);
    /// });
    /// ```
    /// ```javascript,clean
    /// const {MongoClient} = require('mongodb');
    /// app.post('/chat', async (req, res) => {
    ///   const messages = db.collection('chat_message');
    ///   await messages.insertOne({user: req.user.id, text: req.body.text, at: new Date()});
    ///   res.sendStatus(201);
    /// });
    /// ```
    ///
    /// ## How to fix
    /// Use one collection with the id as a field, and an index that begins with that field.
    ///
    /// ## When to ignore it
    /// Each tenant must be dropped or moved as a whole, by contract or law, and there are few tenants.
    L020, "collection-per-id-in-code",
    level: Recommended,
    area: Growth,
    severities: [Warn],
    clauses: ["DM-12.4", "AP-S0.4"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: ["path"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    // One pattern of names needs one change.
    let mut patterns: BTreeMap<(bool, &str), Vec<&ComputedName>> = BTreeMap::new();
    for name in &found.computed_names {
        let is_aside =
            found.is_hand_run(&name.place.location.file) || found.is_never_run(&name.place);
        // Buckets of GridFS have two collections each.
        let is_bucket = [".files", ".chunks"].iter().any(|end| name.shown.ends_with(end));
        let is_proven = !is_aside && !is_bucket && name.parts.iter().any(is_id);
        patterns.entry((!is_proven, &name.shown)).or_default().push(name);
    }
    for ((is_pedantic, shown), mut names) in patterns {
        names.sort_by(|a, b| a.place.location.cmp(&b.place.location));
        let Some((first, others)) = names.split_first() else { continue };
        let draft = code::draft(
            evidence,
            &first.place,
            shown,
            format!("the name of collection `{shown}` contains an id: each value creates another collection"),
            "thousands of collections slow down the server, and no query or index covers more than one of them",
            "use one collection with the id as a field, and an index that begins with this field",
        )
        .locations(others.iter().map(|other| other.place.location.clone()));
        cx.report(if is_pedantic { draft.pedantic() } else { draft });
    }
}

/// Whether a part of a name is different for each user, request or entity.
fn is_id(part: &Origin) -> bool {
    match part {
        Origin::User(_) | Origin::Request | Origin::Stored | Origin::NewId => true,
        Origin::Parameter { name, .. } => {
            docward_model::words::split(name).last().is_some_and(|word| word == "id")
        }
        _ => false,
    }
}
