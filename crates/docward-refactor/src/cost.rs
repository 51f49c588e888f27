//! Measures the cost of validation for writes (DM-11.4): the same documents are inserted with and
//! without it, alternately, into scratch collections that are dropped afterwards.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use docward_model::Namespace;
use futures_util::TryStreamExt as _;
use mongodb::bson::{Document, RawDocumentBuf, doc, oid::ObjectId};

use crate::operator::{Operator, Trouble, failed};

/// The number of documents written in each round.
const DOCUMENTS: usize = 1000;

/// The result of the measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// The number of documents in each round.
    pub documents: u64,
    /// The time of each round without the validator, and with it.
    pub turns: Vec<(Duration, Duration)>,
}

impl Cost {
    /// The relative increase of write time with the validator: the median of the rounds.
    pub fn share(&self) -> f64 {
        let mut shares = self.shares();
        shares.sort_by(f64::total_cmp);
        match shares.len() {
            0 => 0.0,
            n if n % 2 == 1 => shares[n / 2],
            n => f64::midpoint(shares[n / 2 - 1], shares[n / 2]),
        }
    }

    /// The relative increase in each round.
    pub fn shares(&self) -> Vec<f64> {
        self.turns
            .iter()
            .map(|(without, with)| with.as_secs_f64() / without.as_secs_f64().max(1e-9) - 1.0)
            .collect()
    }
}

impl Operator {
    /// Measures the cost of a validator for inserts of valid documents of this collection; `None`
    /// if no document is valid.
    pub fn measure_cost(
        &self,
        namespace: &Namespace,
        validator: &RawDocumentBuf,
        turns: usize,
        stop: &AtomicBool,
    ) -> Result<Option<Cost>, Trouble> {
        let documents = self.valid_documents(namespace, validator)?;
        if documents.is_empty() {
            return Ok(None);
        }
        let scratch = format!("docward_cost_{}", ObjectId::new().to_hex());
        let (plain, validated) = (format!("{scratch}_plain"), format!("{scratch}_validated"));
        let names = (plain.as_str(), validated.as_str());
        let outcome = self.turns(namespace, &documents, names, validator, turns, stop);
        // Whatever happened, the scratch collections are dropped.
        let mut left = Vec::new();
        for name in [plain, validated] {
            let dropped = self.run(&namespace.database, doc! { "drop": &name });
            // A collection that was never created cannot be dropped.
            let is_gone = dropped.as_ref().err().is_some_and(|error| {
                matches!(&*error.kind, mongodb::error::ErrorKind::Command(c) if c.code == 26)
            });
            if dropped.is_err() && !is_gone {
                left.push(format!("{}.{name}", namespace.database));
            }
        }
        if !left.is_empty() {
            let why = format!("drop them by hand: {}", left.join(", "));
            return Err(Trouble::Failed { what: "dropping scratch collections", code: None, why });
        }
        outcome.map(Some)
    }

    fn turns(
        &self,
        namespace: &Namespace,
        documents: &[RawDocumentBuf],
        (plain, validated): (&str, &str),
        validator: &RawDocumentBuf,
        turns: usize,
        stop: &AtomicBool,
    ) -> Result<Cost, Trouble> {
        let create = |command: Document| {
            self.run(&namespace.database, command)
                .map_err(|error| failed("creating a scratch collection", &error))
        };
        let schema = Document::try_from(validator.as_ref()).map_err(|error| Trouble::Failed {
            what: "reading the validator",
            code: None,
            why: error.to_string(),
        })?;
        create(doc! { "create": plain })?;
        create(doc! { "create": validated, "validator": schema })?;
        let mut cost = Cost { documents: documents.len() as u64, turns: Vec::new() };
        // The first round warms up the caches and does not count.
        for turn in 0..=turns {
            if stop.load(Ordering::Relaxed) {
                return Err(Trouble::Stopped);
            }
            // The order alternates, so that neither has an advantage.
            let (first, second) =
                if turn % 2 == 0 { (plain, validated) } else { (validated, plain) };
            let one = self.insert(namespace, first, documents)?;
            let other = self.insert(namespace, second, documents)?;
            if turn > 0 {
                cost.turns.push(if turn % 2 == 0 { (one, other) } else { (other, one) });
            }
        }
        Ok(cost)
    }

    fn insert(
        &self,
        namespace: &Namespace,
        into: &str,
        documents: &[RawDocumentBuf],
    ) -> Result<Duration, Trouble> {
        let collection =
            self.client.database(&namespace.database).collection::<RawDocumentBuf>(into);
        self.runtime
            .block_on(async {
                collection.delete_many(doc! {}).await?;
                let began = Instant::now();
                for some in documents.chunks(100) {
                    collection.insert_many(some).await?;
                }
                Ok(began.elapsed())
            })
            .map_err(|error| failed("writing to a scratch collection", &error))
    }

    fn valid_documents(
        &self,
        namespace: &Namespace,
        validator: &RawDocumentBuf,
    ) -> Result<Vec<RawDocumentBuf>, Trouble> {
        let filter = Document::try_from(validator.as_ref()).unwrap_or_default();
        let collection = self
            .client
            .database(&namespace.database)
            .collection::<RawDocumentBuf>(&namespace.collection);
        self.runtime
            .block_on(async {
                let found = collection.find(filter).limit(DOCUMENTS as i64).await?;
                found.try_collect().await
            })
            .map_err(|error| failed("reading documents to write", &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dm_11_4_the_cost_is_the_median_of_the_turns() {
        let ms = Duration::from_millis;
        let turns = vec![(ms(100), ms(104)), (ms(100), ms(150)), (ms(100), ms(102))];
        let cost = Cost { documents: 10, turns };
        assert!((cost.share() - 0.04).abs() < 1e-9);
    }
}
