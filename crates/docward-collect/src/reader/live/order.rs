//! Determines which members return documents in the order of insertion (SK-3).
//!
//! A secondary applies writes with several threads and stores them in runs, so the last stored
//! document need not be the newest. The primary stores documents in the order of insertion.

use mongodb::bson::Document;

use super::{super::Reader, Deployment, session::ReadMethod};

/// Facts about the responding member, from its first response.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answering {
    /// It is a member of a replica set.
    is_member: bool,
    /// It takes writes.
    is_primary: bool,
    /// There is no other member to read from.
    is_alone: bool,
}

impl Answering {
    pub(super) fn of(hello: &Document) -> Self {
        let readable = ["hosts", "passives"]
            .iter()
            .filter_map(|list| hello.get_array(list).ok())
            .map(Vec::len)
            .sum::<usize>();
        let is = |name| hello.get_bool(name).unwrap_or(false);
        Self {
            is_member: hello.contains_key("setName"),
            // Before 4.4.2 the response contains only the old name.
            is_primary: is("isWritablePrimary") || is("ismaster"),
            is_alone: readable < 2,
        }
    }

    /// Returns whether documents may come from a secondary. Any member of a set may respond, unless
    /// the connection is direct.
    fn may_copy(self, direct: bool, read_preference: &str) -> bool {
        let is_this_one = direct || self.is_alone;
        let is_primary =
            (is_this_one && self.is_primary) || (!direct && read_preference == "primary");
        self.is_member && !is_primary
    }
}

impl Deployment<'_> {
    /// Returns whether documents may come in the storage order of a secondary.
    pub(super) fn may_be_copied(&self) -> bool {
        self.answering.may_copy(self.session.direct, self.session.read_preference)
    }
}

impl Reader<'_, '_, '_> {
    /// Returns whether to read a collection from the primary. Three conditions must hold:
    ///
    /// - Shard keys are checked by the order of inserts.
    /// - The documents are read in natural order.
    /// - The connection string does not set a read preference.
    ///
    /// Only parts and small collections are read in order; large ones are read in ranges or by a
    /// random walk.
    pub(super) fn asks_primary(
        &self,
        deployment: &Deployment<'_>,
        way: ReadMethod,
        in_ranges: bool,
    ) -> bool {
        self.request.analyze_keys.is_some()
            && !deployment.session.direct
            && !deployment.session.prefers
            && !in_ranges
            && !matches!(way, ReadMethod::Random(_))
            && deployment.may_be_copied()
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::doc;

    use super::*;

    #[test]
    fn sk_3_the_order_of_inserts_is_told_by_primaries_and_single_servers() {
        let may_copy = |hello: Document, direct: bool, preference: &str| {
            Answering::of(&hello).may_copy(direct, preference)
        };
        let member = |is_primary: bool, hosts: &[&str]| {
            doc! { "setName": "rs0", "isWritablePrimary": is_primary, "hosts": hosts }
        };
        let three = ["a:1", "b:1", "c:1"];
        assert!(!may_copy(doc! { "isWritablePrimary": true }, false, "secondaryPreferred"));
        assert!(may_copy(member(false, &three), false, "secondaryPreferred"));
        // Another member than the one that responded first may be read from.
        assert!(may_copy(member(true, &three), false, "nearest"));
        assert!(!may_copy(member(true, &three), false, "primary"));
        assert!(!may_copy(member(true, &["a:1"]), false, "secondaryPreferred"));
        assert!(!may_copy(member(true, &three), true, "secondaryPreferred"));
        // The driver connects to the named member, regardless of the read preference.
        assert!(may_copy(member(false, &three), true, "primary"));
        assert!(!may_copy(doc! { "setName": "rs0", "ismaster": true }, true, "primary"));
    }
}
