//! Candidates for shard keys.

/// A candidate for a shard key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyCandidate {
    /// The fields, and whether each is hashed.
    pub fields: Vec<(String, bool)>,
    /// The checks: clause, whether it passes (`None`: not declared), and the reason.
    pub checks: Vec<(&'static str, Option<bool>, String)>,
    /// The share of reads per second that contain the key.
    pub targeted: f64,
}

impl KeyCandidate {
    /// Whether no check fails.
    pub fn is_sound(&self) -> bool {
        self.checks.iter().all(|(_, holds, _)| *holds != Some(false))
    }

    /// Whether documents are distributed over the shards (SK-1 to SK-3).
    pub(crate) fn spreads(&self) -> bool {
        let of_data = ["SK-1", "SK-2", "SK-3"];
        !self.checks.iter().any(|(id, holds, _)| of_data.contains(id) && *holds == Some(false))
    }

    /// Whether the server accepts the key. It refuses one that is not a prefix of each unique
    /// index.
    pub fn is_possible(&self) -> bool {
        !self.checks.iter().any(|(clause, holds, _)| *clause == "CK-13" && *holds == Some(false))
    }

    /// Returns the key in shell notation: `{customerId: 1, createTime: 1}`.
    pub fn text(&self) -> String {
        docward_model::key_text(&self.fields)
    }
}

/// The shard key of a collection.
#[derive(Clone, Debug, PartialEq)]
pub struct ShardPlan {
    /// The best candidate.
    pub key: KeyCandidate,
    /// The other candidates, the best first.
    pub others: Vec<KeyCandidate>,
    /// The zones: values of the first field, each with its own shards (SK-11).
    pub zones: Vec<String>,
    /// How the key can be changed later on this server version (SK-12).
    pub change: &'static str,
}
