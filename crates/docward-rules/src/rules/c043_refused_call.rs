//! SDK-PY.1 and GC-26: calls that a driver refuses when the code runs.

use docward_model::{Applicability, Edit, EditedText, Evidence};

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Refused call
    ///
    /// ## What it checks
    /// Reports options that a driver refuses when the client is created. At present this is one case: PyMongo's
    /// `readPreference` set to an object such as `ReadPreference.SECONDARY_PREFERRED`, which raises `ValueError`.
    /// This option accepts only the name as text; the object belongs in `read_preference`.
    ///
    /// ## Why it matters
    /// The process does not start, or it fails where the client is first created.
    ///
    /// ## Example
    /// ```python,fires
    /// from pymongo import MongoClient, ReadPreference
    /// client = MongoClient("mongodb://db1,db2/?replicaSet=rs0", readPreference=ReadPreference.SECONDARY_PREFERRED)
    /// ```
    /// ```python,clean
    /// from pymongo import MongoClient, ReadPreference
    /// a = MongoClient("mongodb://db1,db2/?replicaSet=rs0", readPreference="secondaryPreferred")
    /// b = MongoClient("mongodb://db1,db2/?replicaSet=rs0", read_preference=ReadPreference.SECONDARY_PREFERRED)
    /// ```
    ///
    /// ## How to fix
    /// Write the name as text, or use `read_preference`.
    ///
    /// ## When to ignore it
    /// Never with a driver of the 4.x series.
    C043, "refused-call",
    level: Mandatory,
    area: Writes,
    clauses: ["SDK-PY.1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    for call in &found.refused_calls {
        cx.report(
            code::draft(
                evidence,
                &call.place,
                "refused",
                call.what.clone(),
                "the driver rejects this client, so the process fails before its first operation",
                format!("write {}", call.instead),
            )
            .edit(Edit {
                applicability: Applicability::Safe,
                location: call.place.location.clone(),
                old: EditedText::Exactly(call.swap.0.clone()),
                new: call.swap.1.clone(),
                needs: None,
            }),
        );
    }
}
