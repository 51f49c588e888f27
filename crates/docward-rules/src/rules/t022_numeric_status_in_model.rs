//! DM-09.5: states declared as numbers.

use docward_model::{
    BsonType, Evidence, Severity,
    code::{Code, DeclaredField},
};

use crate::{
    Cx, declare_rule,
    facts::{code, names::meaning},
};

declare_rule! {
    /// # Numeric status in a model
    ///
    /// ## What it checks
    /// Reports fields of models in source code whose name suggests a state (`status`, `state`) and whose values
    /// are limited to a list of numbers (`{type: Number, enum: [0, 1, 2]}`). It is a note if nothing uses the
    /// code.
    ///
    /// ## Why it matters
    /// A reader cannot know what a 2 means in the database, a log or a report. When the list changes, old
    /// documents change their meaning.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const mongoose = require('mongoose');
    /// const schema = new mongoose.Schema({status: {type: Number, enum: [0, 1, 2]}});
    /// module.exports = mongoose.model('Order', schema);
    /// ```
    /// ```javascript,clean
    /// const mongoose = require('mongoose');
    /// const schema = new mongoose.Schema({status: {type: String, enum: ['new', 'paid', 'sent']}, rating: {type: Number, enum: [1, 2, 3]}});
    /// module.exports = mongoose.model('Order', schema);
    /// ```
    ///
    /// ## How to fix
    /// Use words, and convert the stored values.
    ///
    /// ## When to ignore it
    /// The numbers belong to an external protocol.
    T022, "numeric-status-in-model",
    level: Recommended,
    area: Hygiene,
    severities: [Warn, Info],
    clauses: ["DM-09.5", "CK-5"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: ["path"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    for (field, _) in code::fields(evidence, is_numbered) {
        let draft = code::fields_draft(
            evidence,
            &[field],
            "is a state stored as a number",
            "the numbers are not readable, and if the list changes, stored numbers change their meaning",
            "use words, and convert the stored values",
        );
        let is_idle = code::is_never_run(evidence, &field.place);
        cx.report(if is_idle { draft.severity(Severity::Info) } else { draft });
    }
}

fn is_numbered(_: &Code, field: &DeclaredField, leaf: &str) -> bool {
    let mut values = field.allowed.iter().filter(|value| *value != "null");
    // An enumeration that the language numbers may be stored by its words.
    field.allowed.len() > 1
        && !field.types.contains(&BsonType::String)
        && values.all(|value| value.parse::<f64>().is_ok())
        && meaning::is_status(leaf)
}
