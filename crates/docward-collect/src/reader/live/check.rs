//! Checks a live collection against a schema. The server counts the documents that fail; only as
//! many of these are transferred as needed to see which constraints they break.

use mongodb::bson::{Document, RawDocument, doc};

use super::{
    super::Reader,
    Deployment,
    catalogue::Listed,
    documents::End,
    driver_error::{is_forbidden, words},
    privileges::Resource,
    session::{Read, ReadMethod, number},
};
use crate::trouble::{LiveTrouble, Trouble};

impl Reader<'_, '_, '_> {
    /// Counts the documents that fail the schema, and fetches some of them.
    pub(super) fn check_live_collection(
        &mut self,
        deployment: &mut Deployment<'_>,
        listed: &Listed,
    ) {
        let Some(check) = &self.request.check else { return };
        // Buckets of a time series are not user documents.
        let is_own = listed.namespace.collection.starts_with("system.");
        if !listed.has_documents || is_own || self.is_stopped() {
            return;
        }
        let file = self.live_file(deployment, &listed.namespace);
        let filter = RawDocument::from_bytes(&check.filter)
            .and_then(Document::try_from)
            .map(|validator| doc! { "$nor": [validator] });
        let Ok(filter) = filter else { return };
        let examples = check.examples;
        let count = doc! {
            "aggregate": &listed.namespace.collection,
            "pipeline": [doc! { "$match": filter.clone() }, doc! { "$count": "n" }],
            "cursor": {},
        };
        let question = (listed.namespace.database.clone(), Read::Aggregate, count);
        let answers = deployment.session.list_long(vec![question]);
        let refused = match answers.and_then(|mut answers| answers.pop()) {
            Some(Ok(rows)) => rows.first().and_then(|row| number(row, "n")).unwrap_or(0),
            Some(Err(error)) if is_forbidden(&error) => {
                deployment.missing.add(Resource::Collection(listed.namespace.clone()), "find");
                return;
            }
            Some(Err(error)) => {
                let what = "counting the documents that break the schema".to_owned();
                let rest = "this collection was not checked";
                let trouble = LiveTrouble::Failed { what, why: words(&error), rest };
                self.troubles.add(file, &Trouble::Live(trouble));
                return;
            }
            None => return,
        };
        self.table.entry(listed.slot).refused = Some(refused);
        let is_evaluated = self.request.check.as_ref().is_some_and(|c| c.validator.is_some());
        if refused == 0 || !is_evaluated {
            return;
        }
        let way =
            if examples >= refused { ReadMethod::Everything } else { ReadMethod::First(examples) };
        let end = self.read_once(deployment, listed, way, Some(filter), false, file);
        // Documents written since the count may also fail. A detail never exceeds the total.
        let taken = self.table.entry(listed.slot).taken;
        self.table.entry(listed.slot).refused = Some(refused.max(taken));
        if let End::Failed(error) = end {
            self.gave_up(deployment, listed, file, taken, &error);
        }
    }
}
