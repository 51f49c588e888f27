//! Which members tell the order in which documents were inserted (SK-3).
//!
//! A member that copies applies what it copies by several threads, and stores it in runs: what lies last
//! there need not be what came last. The primary has it as it came.

use mongodb::bson::Document;

use super::{super::Reader, Deployment, session::Way};

/// What the first answer tells about who answers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answering {
    /// It belongs to a replica set.
    is_member: bool,
    /// It takes writes.
    is_primary: bool,
    /// No other member can be read from.
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
            // Before 4.4.2 the answer has the old name only.
            is_primary: is("isWritablePrimary") || is("ismaster"),
            is_alone: readable < 2,
        }
    }

    /// Whether it may be a member that copies who is read from. Of a set any member may answer, unless
    /// one is named.
    fn may_copy(self, direct: bool, read_preference: &str) -> bool {
        let is_this_one = direct || self.is_alone;
        let is_primary =
            (is_this_one && self.is_primary) || (!direct && read_preference == "primary");
        self.is_member && !is_primary
    }
}

impl Deployment<'_> {
    /// Whether the order of what is read may be that of a member that copies.
    pub(super) fn may_be_copied(&self) -> bool {
        self.answering.may_copy(self.session.direct, self.session.read_preference)
    }
}

impl Reader<'_, '_, '_> {
    /// Whether to read a collection from the primary: shard keys are judged by the order of inserts, the
    /// documents come in their order, and the connection string leaves open whom to ask. What is read in
    /// order is a part or small: what is large is read in ranges, or by a random walk.
    pub(super) fn asks_primary(
        &self,
        deployment: &Deployment<'_>,
        way: Way,
        in_ranges: bool,
    ) -> bool {
        self.request.analyze_keys.is_some()
            && !deployment.session.direct
            && !deployment.session.prefers
            && !in_ranges
            && !matches!(way, Way::Random(_))
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
        // Whoever answered first, another one may be read from.
        assert!(may_copy(member(true, &three), false, "nearest"));
        assert!(!may_copy(member(true, &three), false, "primary"));
        assert!(!may_copy(member(true, &["a:1"]), false, "secondaryPreferred"));
        assert!(!may_copy(member(true, &three), true, "secondaryPreferred"));
        // The driver talks to the member that is named, whatever is preferred.
        assert!(may_copy(member(false, &three), true, "primary"));
        assert!(!may_copy(doc! { "setName": "rs0", "ismaster": true }, true, "primary"));
    }
}
