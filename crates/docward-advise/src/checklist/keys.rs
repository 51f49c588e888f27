//! CK-13: the limits of shard key checks without the order of inserts.

use super::{Answer, Verdict, View};
use docward_rules::facts::{indexes::sharding, values::monotonic};

impl View<'_> {
    /// Adjusts an answer about shard keys if the documents were not in insertion order: drawn at
    /// random, or read from a secondary (SK-3). A key whose first field may increase then does not
    /// pass.
    pub(super) fn as_far_as_order_tells(&self, answer: Answer) -> Answer {
        if answer.0 != Verdict::Pass {
            return answer;
        }
        let open = self.evidence.collections.iter().find_map(|collection| {
            let profile = collection.profile.as_ref()?;
            let key = sharding::key_of(self.evidence, self.settings, &collection.namespace)?;
            let (path, hashed) = key.fields.first()?;
            let is_open = !hashed
                && (profile.copied || profile.shuffled)
                && profile.field(path).is_some_and(|field| {
                    monotonic::may_rise(field) && !monotonic::is_random(field)
                });
            is_open.then(|| format!("`{path}` of `{}`", collection.namespace))
        });
        open.map_or(answer, |place| {
            let evidence = format!(
                "the shard keys have enough values and none dominates, but documents were not \
                 read in insertion order, so it is unknown whether {place} increases monotonically"
            );
            (Verdict::Unknown, evidence)
        })
    }
}
