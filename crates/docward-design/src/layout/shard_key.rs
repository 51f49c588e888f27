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
    /// Whether no check fails. Reads that go to every shard are slow, but the key works (SK-4).
    pub fn is_sound(&self) -> bool {
        self.checks.iter().all(|(clause, holds, _)| *holds != Some(false) || is_warning(clause))
    }

    /// Whether no check fails or warns.
    pub(crate) fn is_good(&self) -> bool {
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

/// Whether a failing check of a shard key is a warning.
pub fn is_warning(clause: &str) -> bool {
    clause == "SK-4"
}

/// A collection that keeps the values of a field unique if the shard key prevents a unique index.
/// The `_id` of its documents is the value.
#[derive(Clone, Debug, PartialEq)]
pub struct UniqueLookup {
    /// The name of the collection.
    pub collection: String,
    /// The path of the field.
    pub field: String,
    /// The field with the id of the document that has the value.
    pub holder: String,
}

/// The shard key of a collection.
#[derive(Clone, Debug, PartialEq)]
pub struct ShardPlan {
    /// The best candidate.
    pub key: KeyCandidate,
    /// The other candidates, the best first.
    pub others: Vec<KeyCandidate>,
    /// The collections that keep values unique instead of unique indexes.
    pub lookups: Vec<UniqueLookup>,
    /// The zones: values of the first field, each with its own shards (SK-11).
    pub zones: Vec<String>,
    /// The method for changing the key later on this server version (SK-12).
    pub change: &'static str,
}
