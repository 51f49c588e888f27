//! Shard keys that were weighed.

/// A key that was weighed.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyCandidate {
    /// Fields and whether each is hashed.
    pub fields: Vec<(String, bool)>,
    /// Checks: clause, whether it holds (`None`: not declared), why.
    pub checks: Vec<(&'static str, Option<bool>, String)>,
    /// Share of the reads a second that name the key.
    pub targeted: f64,
}

impl KeyCandidate {
    /// Whether nothing speaks against it.
    pub fn is_sound(&self) -> bool {
        self.checks.iter().all(|(_, holds, _)| *holds != Some(false))
    }

    /// Whether documents spread over the shards (SK-1 to SK-3).
    pub(crate) fn spreads(&self) -> bool {
        let of_data = ["SK-1", "SK-2", "SK-3"];
        !self.checks.iter().any(|(id, holds, _)| of_data.contains(id) && *holds == Some(false))
    }

    /// Whether the server takes it: beside a unique index that it does not lead it would not.
    pub fn is_possible(&self) -> bool {
        !self.checks.iter().any(|(clause, holds, _)| *clause == "CK-13" && *holds == Some(false))
    }

    /// As people write it: `{customerId: 1, createTime: 1}`.
    pub fn text(&self) -> String {
        docward_model::key_text(&self.fields)
    }
}

/// The shard key of a collection.
#[derive(Clone, Debug, PartialEq)]
pub struct ShardPlan {
    /// The best one.
    pub key: KeyCandidate,
    /// The others, best first.
    pub others: Vec<KeyCandidate>,
    /// Zones: values of the first field, each on shards of its own (SK-11).
    pub zones: Vec<String>,
    /// What can be done about the key once there are documents, on this server (SK-12).
    pub change: &'static str,
}
