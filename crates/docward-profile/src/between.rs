//! Growth between two dates, measured on the documents that were read on both (ALG-6).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use docward_model::{
    ConnectionsSince, Evidence, FieldPath, Observed, Profile, Server, TrackedDocument,
};

/// A value on the earlier and on the later date.
type Pair = (u64, u64);

/// Adds the growth since an earlier date to the evidence of a later date. The dates are Unix times
/// in milliseconds.
pub fn observe_growth(now: &mut Evidence, now_ms: i64, earlier: &Evidence, earlier_ms: i64) {
    if now_ms <= earlier_ms {
        return;
    }
    for collection in &mut now.collections {
        let before = earlier.collection(&collection.namespace).and_then(|c| c.profile.as_ref());
        if let (Some(profile), Some(before)) = (&mut collection.profile, before) {
            observe(profile, before, earlier_ms, now_ms);
        }
    }
    if let (Some(server), Some(before)) = (&mut now.server, &earlier.server) {
        let since = connections_since(server, before);
        if let Some(connections) = &mut server.connections {
            connections.since_earlier = since;
        }
    }
}

/// Connections since an earlier date; `None` if it is another server, or if it was restarted in
/// between and its counters were reset.
fn connections_since(now: &Server, before: &Server) -> Option<ConnectionsSince> {
    if now.host.is_none() || now.host != before.host {
        return None;
    }
    let (connections, known) = (now.connections?, before.connections?);
    let seconds = now.uptime_seconds?.checked_sub(before.uptime_seconds?)?;
    // The clock and the uptime counter must agree on the elapsed time; otherwise it was restarted.
    let by_clock = now.clock_seconds? - before.clock_seconds?;
    if by_clock.abs_diff(i64::try_from(seconds).ok()?) > 60 {
        return None;
    }
    let created = connections.total_created.checked_sub(known.total_created)?;
    let ended = (created + known.current).saturating_sub(connections.current);
    Some(ConnectionsSince { seconds, created, ended })
}

fn observe(profile: &mut Profile, before: &Profile, from_ms: i64, to_ms: i64) {
    let known: HashMap<u64, &TrackedDocument> =
        before.tracked.iter().map(|document| (document.hash, document)).collect();
    let mut sizes: Vec<Pair> = Vec::new();
    let mut lengths: BTreeMap<&FieldPath, Vec<Pair>> = BTreeMap::new();
    for document in &profile.tracked {
        let Some(then) = known.get(&document.hash) else { continue };
        sizes.push((then.bytes, document.bytes));
        for (path, length) in &document.arrays {
            if let Some((_, before)) = then.arrays.iter().find(|(other, _)| other == path) {
                lengths.entry(path).or_default().push((*before, *length));
            }
        }
    }
    profile.observed = observed(&sizes, from_ms, to_ms);
    let lengths: BTreeMap<FieldPath, Option<Observed>> = lengths
        .into_iter()
        .map(|(path, pairs)| (path.clone(), observed(&pairs, from_ms, to_ms)))
        .collect();
    for field in &mut profile.fields {
        if let Some(array) = &mut field.array {
            array.observed = lengths.get(&field.path).copied().flatten();
        }
    }
}

fn observed(pairs: &[Pair], from_ms: i64, to_ms: i64) -> Option<Observed> {
    if pairs.is_empty() {
        return None;
    }
    let days = (to_ms - from_ms) as f64 / 86_400_000.0;
    let mut growing: Vec<(u64, f64)> = pairs
        .iter()
        .filter(|(then, now)| now > then)
        .map(|&(then, now)| (now, (now - then) as f64 / days))
        .collect();
    growing.sort_by(|a, b| a.1.total_cmp(&b.1));
    let per_day = growing.get(growing.len() / 2).map_or(0.0, |(_, rate)| *rate);
    Some(Observed {
        documents: pairs.len() as u64,
        grown: growing.len() as u64,
        shrunk: pairs.iter().filter(|(then, now)| now < then).count() as u64,
        per_day,
        leaders: leaders(growing),
        largest_then: pairs.iter().map(|&(then, _)| then).max().unwrap_or(0),
        ways_to_largest: ways_to_largest(pairs),
        from_ms,
        to_ms,
    })
}

/// The number of different amounts by which values grew to the largest one.
fn ways_to_largest(pairs: &[Pair]) -> u64 {
    let largest = pairs.iter().map(|&(_, now)| now).max().unwrap_or(0);
    let grown = pairs.iter().filter(|&&(then, now)| now == largest && then < now);
    grown.map(|&(then, _)| then).collect::<BTreeSet<u64>>().len() as u64
}

/// The values that no other exceeds in both current value and growth rate. If there are many: the
/// largest, the fastest, and some between.
fn leaders(mut growing: Vec<(u64, f64)>) -> [(u64, f64); 4] {
    growing.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)));
    let mut front: Vec<(u64, f64)> = Vec::new();
    for one in growing {
        if front.last().is_none_or(|last| one.1 > last.1) {
            front.push(one);
        }
    }
    let last = front.len().saturating_sub(1);
    let mut chosen = [(0, 0.0); 4];
    for (at, slot) in chosen.iter_mut().enumerate().take(front.len()) {
        *slot = front[if front.len() > 4 { at * last / 3 } else { at }];
    }
    chosen
}

#[cfg(test)]
mod tests {
    use bson::{Bson, doc};
    use docward_model::{Collection, Namespace};

    use super::*;
    use crate::Profiler;

    const DAY: i64 = 86_400_000;

    /// Devices with the given numbers of events.
    fn evidence(lengths: &[(i32, usize)]) -> Evidence {
        let mut profiler = Profiler::new();
        for &(id, length) in lengths {
            let events = vec![Bson::Int32(7); length];
            profiler.add_block(&doc! { "_id": id, "events": events }.to_vec().unwrap(), 0);
        }
        let mut collection = Collection::named(Namespace::new("db", "t_device"));
        collection.profile = Some(profiler.finish().profile);
        Evidence { collections: vec![collection], ..Evidence::default() }
    }

    fn of_events(evidence: &Evidence) -> Observed {
        let profile = evidence.collections[0].profile.as_ref().unwrap();
        profile.field("events").unwrap().array.as_ref().unwrap().observed.unwrap()
    }

    #[test]
    fn alg_6_growth_is_seen_on_the_same_documents_only() {
        let earlier = evidence(&[(1, 10), (2, 20), (3, 30), (9, 5)]);
        let mut now = evidence(&[(1, 14), (2, 20), (3, 29), (4, 1000)]);
        observe_growth(&mut now, 2 * DAY, &earlier, 0);
        let array = of_events(&now);
        assert_eq!((array.documents, array.grown, array.shrunk), (3, 1, 1));
        assert_eq!((array.per_day, array.days()), (2.0, 2.0));
        assert_eq!(array.days_until(24.0), Some(5.0));
        assert_eq!(array.days_until(14.0), None, "it is there");
        let size = now.collections[0].profile.as_ref().unwrap().observed.unwrap();
        // An element with a two-digit key takes eight bytes: type, name with NUL, value.
        assert_eq!((size.documents, size.grown, size.per_day), (3, 1, 16.0));
    }

    #[test]
    fn the_first_to_reach_a_limit_is_found_whatever_the_limit() {
        let earlier = evidence(&[(1, 900), (2, 0), (3, 400), (4, 100)]);
        let mut now = evidence(&[(1, 901), (2, 50), (3, 410), (4, 105)]);
        observe_growth(&mut now, DAY, &earlier, 0);
        let array = of_events(&now);
        assert_eq!(array.days_until(910.0), Some(9.0), "the longest");
        assert_eq!(array.days_until(2050.0), Some(40.0), "the fastest");
    }

    #[test]
    fn pt_slice_1_different_gains_that_end_at_one_length_are_counted() {
        let earlier = evidence(&[(1, 70), (2, 99), (3, 99), (4, 10), (5, 85)]);
        let mut now = evidence(&[(1, 100), (2, 100), (3, 100), (4, 40), (5, 100), (6, 100)]);
        observe_growth(&mut now, DAY, &earlier, 0);
        assert_eq!(of_events(&now).ways_to_largest, 3, "by 30, 1 and 15");
    }

    #[test]
    fn dates_in_the_wrong_order_say_nothing() {
        let earlier = evidence(&[(1, 1)]);
        let mut now = evidence(&[(1, 2)]);
        observe_growth(&mut now, 5, &earlier, 5);
        assert_eq!(now.collections[0].profile.as_ref().unwrap().observed, None);
    }
}
