//! DM-09.1: dates declared or written as text.

use docward_model::{
    BsonType, Draft, Evidence,
    code::{Annotation, DeclaredField, TextForm, ValueKind},
};

use crate::{
    Cx, declare_rule,
    facts::{
        code, names,
        schema::model_fields::{self, Certainty, Exception, ModelField},
        values::{dates, moments},
    },
};

declare_rule! {
    /// # String date in a model
    ///
    /// ## What it checks
    /// Reports string fields of stored models that hold a date with a time. One of these must show it: code
    /// assigns one (`new Date().toISOString()`, `strftime`, `time.Now().Format(…)`); the declaration has such a
    /// default, pattern or comment (`// ISO 8601`); or the data contain one. Documents without a model are
    /// reported as well. Add `--select pedantic` for fields that only the name suggests (`createdAt`).
    ///
    /// Exceptions:
    /// - days and months: `YYYY-MM-DD`, `MM/YY`
    /// - times of day and lengths of time: `"09:00"`
    /// - text copies of a date field: `createdAtText` of `createdAt`
    /// - pedantic: objects that keep an answer of another system (`rawResponse.paidAt`)
    ///
    /// ## Why it matters
    /// Dates as text sort and compare correctly only while all programs write the same form. Date operators, TTL
    /// indexes and time series do not work on them.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const mongoose = require('mongoose');
    ///
    /// const Post = mongoose.model('Post', new mongoose.Schema({
    ///   title: String,
    ///   createdAt: String,
    /// }));
    ///
    /// exports.publish = (title) => Post.create({ title, createdAt: new Date().toISOString() });
    /// ```
    /// ```javascript,clean
    /// const mongoose = require('mongoose');
    ///
    /// const Post = mongoose.model('Post', new mongoose.Schema({
    ///   title: String,
    ///   createdAt: Date,
    ///   birthday: { type: String, match: /^\d{4}-\d{2}-\d{2}$/ },
    /// }));
    ///
    /// exports.publish = (title) => Post.create({ title, createdAt: new Date() });
    /// ```
    ///
    /// ## How to fix
    /// Declare a date, and convert the stored values with `$toDate`.
    ///
    /// ## When to ignore it
    /// The text is a label of a period (`2024-03`), or a local time whose time zone is part of its meaning.
    T021, "string-date-in-model",
    level: Recommended,
    area: Correctness,
    severities: [Warn],
    clauses: ["DM-09.1", "CK-5"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: ["path"],
    check: Deployment(check),
}

const WHY: &str = "text sorts correctly only if all writers use one form; date operators and TTL indexes do not work on it";

const EXCEPTIONS: &[Exception] = &[
    Exception {
        page: "days and months: `YYYY-MM-DD`, `MM/YY`",
        applies: |field| has_form(field, TextForm::Day) && !has_instants(field),
        is_pedantic: false,
    },
    Exception {
        page: "times of day and lengths of time: `\"09:00\"`",
        applies: |field| has_form(field, TextForm::TimeOfDay) && !has_instants(field),
        is_pedantic: false,
    },
    Exception {
        page: "text copies of a date field: `createdAtText` of `createdAt`",
        applies: |field| {
            let own = names::normalised(field.leaf);
            field.siblings().any(|(other, name)| {
                let name = names::normalised(name);
                other.types.contains(&BsonType::Date)
                    && (own.starts_with(&name) || name.starts_with(&own))
            })
        },
        is_pedantic: false,
    },
    Exception {
        page: "pedantic: objects that keep an answer of another system (`rawResponse.paidAt`)",
        applies: |field| {
            let is_answer = |word: &String| {
                matches!(word.as_str(), "raw" | "response" | "webhook" | "payload" | "result")
            };
            let mut around = field.owners().filter(|name| *name != field.declared.model);
            around.any(|name| names::words(name).iter().any(is_answer))
        },
        is_pedantic: true,
    },
];

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let mut reported = Vec::new();
    for fault in model_fields::faults(evidence, certainty) {
        // Accepting a field does not accept other fields of its model.
        let alone = draft(evidence, &[fault.field], fault.certainty);
        match cx.is_accepted(&alone) {
            true => cx.report(alone),
            false => reported.push((fault.field, (fault.certainty, fault.copies))),
        }
    }
    for (fields, (certainty, copies)) in code::by_model(evidence, reported) {
        cx.report(draft(evidence, &fields, certainty).locations(copies));
    }
    let texts = model_fields::unmodelled(evidence, |value| {
        value.kind == ValueKind::Text(TextForm::Instant) && value.path != "_id"
    });
    for ((of, path), values) in texts {
        let Some(first) = values.first() else { continue };
        let what = format!("`{path}` of `{of}` is a point in time stored as text");
        let todo = "write a date, and convert stored values with $toDate";
        let others = values.iter().skip(1).map(|value| value.place.location.clone());
        let draft = code::draft(evidence, &first.place, &format!("{of} {path}"), what, WHY, todo);
        cx.report(draft.data("path", path).locations(others));
    }
}

fn draft(evidence: &Evidence, fields: &[&DeclaredField], certainty: Certainty) -> Draft {
    let what = match fields.len() {
        1 => "is a point in time stored as text",
        _ => "are points in time stored as text",
    };
    let todo = "declare a date, and convert stored values with $toDate";
    let draft = code::fields_draft(evidence, fields, what, WHY, todo);
    if certainty == Certainty::Likely { draft.pedantic() } else { draft }
}

/// The certainty that a field is a point in time in a string, if it is.
fn certainty(field: &ModelField<'_>) -> Option<Certainty> {
    let declared = field.declared;
    let is_text = declared.types.contains(&BsonType::String)
        && declared.types.iter().all(|kind| matches!(kind, BsonType::String | BsonType::Null));
    let is_proven = has_instants(field);
    if !is_text
        || !declared.allowed.is_empty()
        || field.leaf == "_id"
        || !(is_proven || moments::says_time(field.leaf))
    {
        return None;
    }
    match model_fields::exception(EXCEPTIONS, field) {
        Some(exception) => exception.is_pedantic.then_some(Certainty::Likely),
        None if is_proven && field.is_stored() => Some(Certainty::Proven),
        None => Some(Certainty::Likely),
    }
}

/// Whether code, the declaration or data show that the field contains dates with times.
fn has_instants(field: &ModelField<'_>) -> bool {
    let in_data =
        || field.in_data().filter_map(dates::DateText::of).any(|text| text.offset + text.local > 0);
    field.says(|said| *said == Annotation::TextForm(TextForm::Instant))
        || field.is_given(ValueKind::Text(TextForm::Instant))
        || in_data()
}

fn has_form(field: &ModelField<'_>, form: TextForm) -> bool {
    field.says(|said| *said == Annotation::TextForm(form)) || field.is_given(ValueKind::Text(form))
}

#[cfg(test)]
mod tests {
    #[test]
    fn dm_09_1_exceptions_are_on_the_page() {
        crate::facts::schema::model_fields::tests::are_on_the_page("T021", super::EXCEPTIONS);
    }
}
