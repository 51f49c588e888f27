//! Measures how a workload uses the two ends of a reference (DM-07.2, DM-07.4, ER-M.1, ER-M.2, ER-M.7, ER-T.4).
//! Programs look up the child by its parent, read it with the parent, or change it with the parent. A share is known
//! only if every interpretation of the recorded operations gives the same vote. An unknown share stays open, as without
//! a workload.

use docward_design::Bounds;
use docward_model::{
    Comparison, Evidence, Lookup, Namespace, Operation, Predicate, QueryShape, QueryStats,
    ReadSequence, Reference, Workload, WorkloadKind,
};

use crate::facts::relations::Tie;

/// Minimum number of operations for a share. If none of 60 operations does something, its true share is below 5 %
/// with 95 % confidence (the rule of three: 3 / 60). This is well below the lowest bound that votes compare with (20
/// %).
const ENOUGH: u64 = 60;

/// If at least this share of the operations took less than a millisecond, the record includes fast operations. With a
/// `slowms` there are none: such a record shows the slow queries, which are others than the frequent
/// ones. Of a complete record they are most; a tenth leaves room for unindexed collections, and not for
/// a log that was complete for a minute of its week.
const FAST: f64 = 0.1;

/// Maximum share of operations whose shape was not counted separately.
const UNTOLD: f64 = 0.05;

/// The measured shares; `None` if the workload does not show one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Access {
    /// The number of recorded reads of the child, including joins from the parent.
    pub reads: u64,
    /// The number of recorded updates of parent and child.
    pub updates: u64,
    /// The number of recorded writes of the child, including inserts and deletes.
    pub writes: u64,
    /// The share of reads of the child that do not find it by its parent.
    pub queried_alone: Option<f64>,
    /// The share of reads of the child that also read its parent.
    pub co_read: Option<Share>,
    /// The share of updates of parent or child that change only children.
    pub child_only_update: Option<f64>,
    /// The minimum share of writes of the child in transactions that also write its parent.
    pub co_update: Option<f64>,
}

/// A share of which one bound is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// It may be more.
    AtLeast(f64),
    /// It may be less.
    AtMost(f64),
}

impl Share {
    /// The figure.
    pub fn value(self) -> f64 {
        match self {
            Self::AtLeast(share) | Self::AtMost(share) => share,
        }
    }
}

impl Access {
    /// Derives the shares of the workload for a child that refers to its parent, or that its parent lists.
    pub fn of(
        evidence: &Evidence,
        reference: &Reference,
        tie: Tie,
        (parent, child): (&Namespace, &Namespace),
    ) -> Self {
        let Some(workload) = &evidence.workload else { return Self::default() };
        // In a many-to-many relationship, neither side is the parent.
        if tie == Tie::ManyToMany || is_cut(workload) {
            return Self::default();
        }
        let ends = Ends::of(evidence, reference, tie, (parent, child));
        let mut access = Self::default();
        if ends.both(|database| shows_reads(workload, database)) {
            ends.reads(workload, &mut access);
        }
        // In a one-to-one relationship, the parent may hold the id. Then all of this applies to the other side. Reads
        // by the id show this.
        let bounds = Bounds::default();
        if tie == Tie::OneToOne && access.queried_alone.is_none_or(|share| share > bounds.often) {
            return Self::default();
        }
        if ends.both(|database| shows_writes(workload, database)) {
            ends.writes(workload, &mut access);
        }
        access
    }

    /// Whether parent and child change together, as transactions show. Transactions cannot show that they need not
    /// change together.
    pub fn atomic(&self) -> Option<bool> {
        self.co_update.map(|_| true)
    }

    /// Whether most reads or writes of the child do not use its parent.
    pub fn has_its_own_life(&self) -> bool {
        let often = Bounds::default().often;
        self.queried_alone.is_some_and(|share| share > often)
            || self.child_only_update.is_some_and(|share| share > often)
    }
}

/// Whether too many operations were counted without their shape.
fn is_cut(workload: &Workload) -> bool {
    workload.other_operations as f64 > UNTOLD * workload.operations() as f64
}

/// Whether the recorded reads of a database include more than the slow ones.
fn shows_reads(workload: &Workload, database: &str) -> bool {
    let mut told = workload.coverage.iter().filter(|c| c.database == database).peekable();
    if told.peek().is_none() {
        // Query statistics include every read, regardless of its duration.
        return workload.sources.iter().all(|source| {
            source.operations == 0
                || matches!(source.kind, WorkloadKind::Totals | WorkloadKind::Running)
        });
    }
    told.all(|c| c.instant as f64 >= FAST * c.operations as f64)
}

/// Whether the recorded writes of a database include more than the slow ones. Query statistics do not contain writes.
fn shows_writes(workload: &Workload, database: &str) -> bool {
    workload.coverage.iter().any(|c| c.database == database) && shows_reads(workload, database)
}

/// The condition by which a read found the child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    /// By its parent's key.
    ByParent,
    /// By its own id, which the parent lists.
    ById,
    /// By another condition.
    Alone,
    /// By a condition that the shape does not show.
    Unclear,
}

/// The two collections and the fields that join them.
struct Ends<'a> {
    parent: &'a Namespace,
    child: &'a Namespace,
    /// Fields of the child that hold the parent's id.
    keys: Vec<String>,
    /// The field of the child that the parent lists.
    listed: Option<String>,
    /// The field of the parent that the child refers to.
    named: Option<String>,
}

impl<'a> Ends<'a> {
    fn of(
        evidence: &Evidence,
        reference: &Reference,
        tie: Tie,
        (parent, child): (&'a Namespace, &'a Namespace),
    ) -> Self {
        if tie != Tie::ParentHoldsChildren {
            let keys = vec![reference.path.dotted()];
            return Self {
                parent,
                child,
                keys,
                listed: None,
                named: Some(reference.to_path.dotted()),
            };
        }
        // A child whose parent lists it may also refer to its parent.
        let back = evidence.references.iter().filter(|r| r.from == *child && r.to == *parent);
        Self {
            parent,
            child,
            keys: back.map(|r| r.path.dotted()).collect(),
            listed: Some(reference.to_path.dotted()),
            named: None,
        }
    }

    fn both(&self, shows: impl Fn(&str) -> bool) -> bool {
        shows(&self.parent.database) && shows(&self.child.database)
    }

    fn came(&self, filter: &[Predicate]) -> Came {
        let by_value = |path: &String| {
            filter.iter().any(|asked| asked.path == *path && fixes_value(asked.comparison))
        };
        if self.keys.iter().any(by_value) {
            Came::ByParent
        } else if self.listed.iter().any(by_value) {
            Came::ById
        } else if filter.iter().any(compares_anything) {
            Came::Unclear
        } else {
            Came::Alone
        }
    }

    fn came_by(&self, shape: &QueryShape) -> Came {
        match self.came(&shape.filter) {
            Came::Alone if shape.filters_late => Came::Unclear,
            Came::Alone if shape.branches && shape.alternatives.is_empty() => Came::Unclear,
            Came::Alone if shape.branches => {
                let each: Vec<Came> = shape.alternatives.iter().map(|b| self.came(b)).collect();
                match each.as_slice() {
                    [first, rest @ ..] if rest.iter().all(|came| came == first) => *first,
                    branches if branches.contains(&Came::Alone) => Came::Alone,
                    _ => Came::Unclear,
                }
            }
            came => came,
        }
    }

    fn reads(&self, workload: &Workload, access: &mut Access) {
        let bounds = Bounds::default();
        let (mut by_parent, mut by_id, mut alone, mut unclear) = (0, 0, 0, 0);
        let pair = self.following(workload);
        // Reads by other fields that may be among those that followed a read of the parent.
        let mut others = 0;
        for stats in workload.of(self.child).filter(|stats| asks(&stats.shape)) {
            let (came, times) = (self.came_by(&stats.shape), times(stats));
            match came {
                Came::ByParent => by_parent += times,
                Came::ById => by_id += times,
                Came::Alone => alone += times,
                Came::Unclear => unclear += times,
            }
            let is_other = matches!(came, Came::Alone | Came::Unclear);
            if is_other && pair.is_some_and(|pair| may_be_in(pair, &stats.shape)) {
                others += stats.count;
            }
        }
        let asked = workload.of(self.parent).filter(|stats| asks(&stats.shape));
        let parents: u64 = asked.map(|stats| stats.count).sum();
        if parents == 0 {
            // The lists of ids were never read.
            alone += std::mem::take(&mut by_id);
        }
        let plain = by_parent + by_id + alone + unclear;
        let joins = Joins::of(workload, self);
        let seen = plain + joins.from_parent + joins.by_key + joins.from_others;
        access.reads = seen;
        if seen < ENOUGH {
            return;
        }
        let share = |part: u64| part.min(seen) as f64 / seen as f64;
        // Lower bounds for the reads after a read of the parent: the number by ids, and the number by ids or the
        // parent's key. They assume that every other read is among those that followed.
        let following = pair.map_or(0, |pair| pair.following);
        let ids = following.saturating_sub(by_parent + others).min(by_id);
        let by_either = following.saturating_sub(others).min(by_parent + by_id);

        let least = share(alone + joins.from_others);
        let most = share(alone + joins.from_others + (by_id - ids) + unclear);
        let class = |share: f64| (share > 0.0, share > bounds.often);
        if class(least) == class(most) {
            access.queried_alone = Some(least);
        }

        // A busy session has no pause that shows where a request begins: it may begin with the child.
        let followed = by_either + self.followed(workload);
        let followed = followed.min(plain.saturating_sub(joins.of_parent));
        let least = share(joins.from_parent + joins.of_parent + followed);
        // A request can use several sessions, so any read of the child can belong to any read of the parent.
        // A read of the child by other fields belongs to at most one read of the parent.
        let possible = if parents == 0 { 0 } else { by_parent + by_id + unclear };
        let most = share(joins.from_parent + joins.of_parent + possible + alone.min(parents));
        if least >= bounds.mostly {
            access.co_read = Some(Share::AtLeast(least));
        } else if most <= bounds.often {
            access.co_read = Some(Share::AtMost(most));
        }
    }

    fn writes(&self, workload: &Workload, access: &mut Access) {
        let bounds = Bounds::default();
        let count = |of: &Namespace, keep: fn(&QueryShape) -> bool| -> u64 {
            workload.of(of).filter(|stats| keep(&stats.shape)).map(|stats| stats.count).sum()
        };
        let (own, parents) =
            (count(self.child, QueryShape::is_update), count(self.parent, QueryShape::is_update));
        access.updates = own + parents;
        let together = workload.together(self.child, self.parent);
        if access.updates >= ENOUGH {
            // Updates within a second may be one change of both collections or two changes.
            let near = match (&workload.written_together, parents) {
                (_, 0) => 0,
                (None, _) => own,
                (Some(_), _) => together.map_or(0, |t| t.near.min(own)),
            };
            let share = |part: u64| part as f64 / access.updates as f64;
            let (least, most) = (share(own - near), share(own));
            if least >= bounds.often {
                access.child_only_update = Some(least);
            } else if most <= bounds.rarely || (least > bounds.rarely && most < bounds.often) {
                access.child_only_update = Some(most);
            }
        }
        access.writes = count(self.child, |shape| shape.operation.is_write());
        if access.writes >= ENOUGH {
            let joint = together.map_or(0, |t| t.in_transactions).min(access.writes);
            let share = joint as f64 / access.writes as f64;
            access.co_update = (share >= bounds.mostly).then_some(share);
        }
    }

    /// Reads of the child that followed a read of its parent in a session.
    fn following<'w>(&self, workload: &'w Workload) -> Option<&'w ReadSequence> {
        let mut pairs = workload.sequences.iter();
        pairs.find(|pair| pair.first == *self.parent && pair.then == *self.child)
    }

    /// Reads of the child that followed a read of the parent by its id in a session.
    fn followed(&self, workload: &Workload) -> u64 {
        let mut pairs = workload.sequences.iter();
        let pair = pairs.find(|s| s.first == *self.child && s.then == *self.parent);
        pair.filter(|pair| self.named.as_ref().is_some_and(|id| pair.by.contains(id)))
            .map_or(0, |pair| pair.count)
    }
}

/// Maximum number of stored fields of a sequence; a list of this length may be incomplete.
const FIELDS: usize = 8;

/// Whether reads of a shape may be among those of a sequence: the sequence names every field that they fix.
fn may_be_in(pair: &ReadSequence, shape: &QueryShape) -> bool {
    let mut fixed = shape.filter.iter().filter(|asked| fixes_value(asked.comparison));
    pair.by.len() >= FIELDS || fixed.all(|asked| pair.by.contains(&asked.path))
}

/// `$lookup`s between the two, and `$lookup`s of the child by other collections.
struct Joins {
    /// Reads of the parent that fetch children.
    from_parent: u64,
    /// Reads of other collections that fetch children by the parent's key.
    by_key: u64,
    /// Reads of other collections that fetch children by another field.
    from_others: u64,
    /// Reads of the child that fetch its parent.
    of_parent: u64,
}

impl Joins {
    fn of(workload: &Workload, ends: &Ends<'_>) -> Self {
        let mut found = Self { from_parent: 0, by_key: 0, from_others: 0, of_parent: 0 };
        for stats in workload.shapes.iter().filter(|stats| !stats.shape.lookups.is_empty()) {
            let (from, times) = (&stats.shape.namespace, times(stats));
            let fetches = |to: &Namespace, lookup: &&Lookup| {
                from.database == to.database && lookup.from == to.collection
            };
            let mut lookups = stats.shape.lookups.iter();
            if from == ends.child {
                let fetched = lookups.any(|lookup| fetches(ends.parent, &lookup));
                found.of_parent += if fetched { times } else { 0 };
                continue;
            }
            let Some(lookup) = lookups.find(|lookup| fetches(ends.child, lookup)) else { continue };
            let foreign = lookup.fields.as_ref().map(|(_, foreign)| foreign);
            if from == ends.parent {
                found.from_parent += times;
            } else if foreign.is_some_and(|field| ends.keys.contains(field)) {
                found.by_key += times;
            } else {
                found.from_others += times;
            }
        }
        found
    }
}

/// Whether a shape reads documents or figures computed from them. The server stores the count of all documents.
fn asks(shape: &QueryShape) -> bool {
    let is_total =
        shape.operation == Operation::Count && shape.filter.is_empty() && !shape.branches;
    shape.operation.is_read() && !is_total
}

/// Programs that read everything for people and copies, not for an application.
const TOOLS: [&str; 5] =
    ["mongodump", "mongoexport", "mongomirror", "mongosync", "MongoDB Compass"];

/// The number of operations of a shape that applications ran.
fn times(stats: &QueryStats) -> u64 {
    let is_tool = |name: &str| TOOLS.iter().any(|tool| name.starts_with(tool));
    let by_tools = stats.applications.iter().filter(|(name, _)| is_tool(name));
    stats.count.saturating_sub(by_tools.map(|(_, count)| count).sum())
}

/// `$expr`, `$where`, `$nor`: the shape does not show which fields they use.
fn compares_anything(asked: &Predicate) -> bool {
    asked.path.starts_with('$') && asked.comparison == Comparison::Expression
}

fn fixes_value(comparison: Comparison) -> bool {
    matches!(comparison, Comparison::Equality | Comparison::OneOf | Comparison::OneOfMany)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::facts::relations::Relation;
    use crate::testing::Example;

    /// Five posts with four pictures each, and the operations of clients.
    #[derive(Clone)]
    struct Clients {
        documents: String,
        ran: String,
        number: u64,
    }

    impl Clients {
        fn new() -> Self {
            let mut documents =
                String::from("@ db_blog.t_post\nx5 {\"_id\": $i}\n@ db_blog.t_picture\n");
            for post in 0..5 {
                writeln!(documents, "x4 {{\"postId\": {post}}}").expect("a text");
            }
            Self { documents, ran: String::new(), number: 0 }
        }

        /// One request: commands of one client, half a minute after the one before.
        fn request(mut self, times: u64, commands: &[(&str, &str)]) -> Self {
            for _ in 0..times {
                self.number += 1;
                let at = 1_710_000_000_000 + self.number * 30_000;
                for (collection, command) in commands {
                    writeln!(
                        self.ran,
                        "ran {{\"ns\": \"db_blog.{collection}\", \"ts\": {{\"$date\": {{\"$numberLong\": \"{at}\"}}}}, \"client\": \"c{}\", \"millis\": 0, \"command\": {command}}}",
                        self.number
                    )
                    .expect("a text");
                }
            }
            self
        }

        fn pictures(self, times: u64, filter: &str) -> Self {
            let find = format!("{{\"find\": \"t_picture\", \"filter\": {filter}}}");
            self.request(times, &[("t_picture", &find)])
        }

        fn access(&self) -> Access {
            self.access_of("postId")
        }

        fn access_of(&self, path: &str) -> Access {
            let body = format!("{}{}", self.documents, self.ran);
            let evidence = Example::new("R013", "", &body).evidence;
            let found = evidence.references.iter().find(|r| r.path.dotted() == path);
            let reference = found.unwrap_or_else(|| panic!("{path} in {:?}", evidence.references));
            Relation::of(&evidence, reference).expect("both were read").access
        }
    }

    const POST: (&str, &str) = ("t_post", r#"{"find": "t_post", "filter": {"_id": 1}}"#);
    const PICTURES: (&str, &str) =
        ("t_picture", r#"{"find": "t_picture", "filter": {"postId": 1}}"#);
    const SET_POST: (&str, &str) = ("t_post", r#"{"q": {"_id": 1}, "u": {"$set": {"n": 1}}}"#);
    const SET_PICTURE: (&str, &str) =
        ("t_picture", r#"{"q": {"_id": 1}, "u": {"$set": {"n": 1}}}"#);

    #[test]
    fn er_m_7_reads_without_the_key_of_the_parent_are_alone() {
        for (filter, alone) in [
            (r#"{"postId": 1}"#, Some(0.0)),
            (r#"{"postId": {"$in": [1, 2]}, "kind": "a"}"#, Some(0.0)),
            (r#"{"$or": [{"postId": 1}, {"postId": 2, "kind": "a"}]}"#, Some(0.0)),
            (r#"{"_id": 1}"#, Some(1.0)),
            (r#"{"author": "a"}"#, Some(1.0)),
            (r#"{}"#, Some(1.0)),
            (r#"{"postId": {"$gt": 1}}"#, Some(1.0)),
            (r#"{"$or": [{"postId": 1}, {"author": "a"}]}"#, Some(1.0)),
            // The compared value does not matter.
            (r#"{"$expr": {"$eq": ["$postId", 1]}}"#, None),
            (r#"{"$text": {"$search": "a"}}"#, Some(1.0)),
        ] {
            assert_eq!(
                Clients::new().pictures(60, filter).access().queried_alone,
                alone,
                "{filter}"
            );
        }
        let both =
            Clients::new().pictures(75, r#"{"postId": 1}"#).pictures(25, r#"{"author": "a"}"#);
        assert_eq!((both.access().queried_alone, both.access().reads), (Some(0.25), 100));
    }

    #[test]
    fn er_m_7_joins_come_by_what_they_start_from() {
        let join = r#"{"aggregate": "COLLECTION", "pipeline": [{"$lookup": {"from": "t_picture", "localField": "LOCAL", "foreignField": "FOREIGN", "as": "all"}}]}"#;
        let from = |collection: &str, local: &str, foreign: &str| {
            let join = join.replace("COLLECTION", collection);
            let join = join.replace("LOCAL", local).replace("FOREIGN", foreign);
            Clients::new().request(60, &[(collection, &join)]).access()
        };
        let parent = from("t_post", "_id", "postId");
        assert_eq!(parent.queried_alone, Some(0.0));
        assert_eq!(parent.co_read, Some(Share::AtLeast(1.0)));
        let by_key = from("t_like", "postId", "postId");
        assert_eq!((by_key.queried_alone, by_key.co_read), (Some(0.0), Some(Share::AtMost(0.0))));
        assert_eq!(from("t_album", "pictureIds", "_id").queried_alone, Some(1.0));
    }

    #[test]
    fn er_m_7_counts_that_the_server_keeps_and_copies_are_no_reads() {
        let count = ("t_picture", r#"{"count": "t_picture"}"#);
        assert_eq!(Clients::new().request(100, &[count]).access(), Access::default());
        let dumped = Clients::new().pictures(100, "{}");
        let ran = dumped.ran.replace("\"millis\"", "\"appName\": \"mongodump\", \"millis\"");
        assert_eq!(Clients { ran, ..dumped }.access().reads, 0);
        let join = r#"{"aggregate": "t_picture", "pipeline": [{"$lookup": {"from": "t_post", "localField": "postId", "foreignField": "_id", "as": "post"}}]}"#;
        let looked = Clients::new().request(9, &[("t_picture", join)]);
        let ran = looked.ran.replace("\"millis\"", "\"appName\": \"MongoDB Compass\", \"millis\"");
        let looked = Clients { ran, ..looked }.pictures(80, r#"{"postId": 1}"#).access();
        assert_eq!((looked.reads, looked.queried_alone), (80, Some(0.0)));
    }

    #[test]
    fn er_x_1_small_samples_say_nothing() {
        let reads =
            |times| Clients::new().pictures(times, r#"{"postId": 1}"#).access().queried_alone;
        assert_eq!((reads(59), reads(60)), (None, Some(0.0)));
        let updates = |times| Clients::new().request(times, &[SET_PICTURE]).access();
        assert_eq!(updates(59).child_only_update, None);
        assert_eq!(updates(60).child_only_update, Some(1.0));
    }

    #[test]
    fn er_x_1_slow_operations_say_nothing_about_the_others() {
        let clients = Clients::new().pictures(200, r#"{"postId": 1}"#).request(90, &[SET_PICTURE]);
        assert_ne!(clients.access(), Access::default());
        let slow =
            Clients { ran: clients.ran.replace("\"millis\": 0", "\"millis\": 1"), ..clients };
        assert_eq!(slow.access(), Access::default());
        // A few fast operations from a period of complete recording change nothing.
        assert_eq!(slow.clone().pictures(20, "{}").access(), Access::default());
        assert_ne!(slow.pictures(40, "{}").access(), Access::default());
    }

    #[test]
    fn dm_07_2_er_m_1_er_f_1_read_together_or_apart_is_measured() {
        let together = Clients::new().request(80, &[POST, PICTURES]);
        assert_eq!(together.access().co_read, Some(Share::AtLeast(1.0)));
        let mostly = together.clone().pictures(20, r#"{"author": "a"}"#);
        assert_eq!(mostly.access().co_read, Some(Share::AtLeast(0.8)));
        // The records do not show which of them followed a post.
        let mixed = together.clone().pictures(20, r#"{"n": {"$gt": 1}}"#);
        assert_eq!(mixed.access().co_read, None);
        // One in five, or two if each of the others goes with a read of a post on another session.
        let rarely = together.pictures(320, r#"{"author": "a"}"#);
        assert_eq!(rarely.access().co_read, Some(Share::AtMost(0.4)));
    }

    #[test]
    fn dm_07_2_reads_of_the_parent_elsewhere_leave_it_open() {
        let apart = Clients::new().request(100, &[POST]).request(100, &[PICTURES]);
        assert_eq!(apart.access().co_read, None);
        let nobody = Clients::new().request(100, &[PICTURES]);
        assert_eq!(nobody.access().co_read, Some(Share::AtMost(0.0)));
    }

    #[test]
    fn er_m_1_a_child_that_is_read_before_its_parent_is_read_with_it() {
        let picture = ("t_picture", r#"{"find": "t_picture", "filter": {"author": "a"}}"#);
        let access = Clients::new().request(90, &[picture, POST]).access();
        assert_eq!(access.co_read, Some(Share::AtLeast(1.0)));
        assert_eq!(access.queried_alone, Some(1.0));
        // A session without pauses, seen from the middle of its first request on.
        let busy = [PICTURES, POST].repeat(80);
        let access = Clients::new().request(1, &busy).access();
        assert_eq!(access.co_read, Some(Share::AtLeast(1.0)));
    }

    #[test]
    fn dm_07_4_er_f_2_er_m_2_updates_of_children_alone_are_measured() {
        let mostly = Clients::new().request(90, &[SET_PICTURE]).request(10, &[SET_POST]);
        assert_eq!(mostly.access().child_only_update, Some(0.9));
        let rarely = Clients::new().request(10, &[SET_PICTURE]).request(90, &[SET_POST]);
        assert_eq!(rarely.access().child_only_update, Some(0.1));
        // Within a second it may be one change of both.
        let together = Clients::new().request(90, &[SET_PICTURE, SET_POST]);
        assert_eq!(together.access().child_only_update, None);
        let one_with_many = [[SET_PICTURE; 9].as_slice(), &[SET_POST]].concat();
        assert_eq!(Clients::new().request(20, &one_with_many).access().child_only_update, None);
    }

    #[test]
    fn er_t_4_er_f_4_transactions_of_both_are_measured() {
        let insert = |collection: &str, number: u64| {
            format!(
                "{{\"insert\": \"{collection}\", \"lsid\": {{\"id\": {{\"$uuid\": \"9a5b515d-d2bb-4036-bac8-8e854c53968f\"}}}}, \"txnNumber\": {{\"$numberLong\": \"{number}\"}}, \"autocommit\": false}}"
            )
        };
        let mut clients = Clients::new();
        for number in 0..80 {
            let (post, picture) = (insert("t_post", number), insert("t_picture", number));
            clients = clients.request(1, &[("t_post", &post), ("t_picture", &picture)]);
        }
        let access = clients.access();
        assert_eq!((access.co_update, access.atomic()), (Some(1.0), Some(true)));
        let often = clients.clone().request(20, &[SET_PICTURE]).access();
        assert_eq!(often.co_update, Some(0.8));
        // Updates without a transaction may still have to change both.
        let seldom = clients.request(30, &[SET_PICTURE]).access();
        assert_eq!((seldom.co_update, seldom.atomic()), (None, None));
    }

    /// Pictures that their posts list.
    fn listed() -> Clients {
        let mut documents =
            String::from("@ db_blog.t_picture\nx20 {\"_id\": $i}\n@ db_blog.t_post\n");
        for post in 0..5 {
            let ids: Vec<String> = (0..4).map(|n| (post * 4 + n).to_string()).collect();
            writeln!(documents, "{{\"pictureIds\": [{}]}}", ids.join(", ")).expect("a text");
        }
        Clients { documents, ..Clients::new() }
    }

    #[test]
    fn er_m_7_ids_that_the_parent_lists_come_by_it_when_it_was_read_before() {
        let ids = ("t_picture", r#"{"find": "t_picture", "filter": {"_id": {"$in": [1, 2]}}}"#);
        let after = listed().request(80, &[POST, ids]).access_of("pictureIds");
        assert_eq!(after.queried_alone, Some(0.0));
        assert_eq!(after.co_read, Some(Share::AtLeast(1.0)));
        // Another session read the lists.
        let apart = listed().request(80, &[POST]).request(80, &[ids]).access_of("pictureIds");
        assert_eq!((apart.queried_alone, apart.co_read), (None, None));
        // No request read the lists of ids.
        let alone = listed().request(80, &[ids]).access_of("pictureIds");
        assert_eq!(alone.queried_alone, Some(1.0));
    }

    #[test]
    fn er_x_1_one_to_one_is_told_only_of_the_side_that_is_read_by_the_id() {
        let mut documents =
            String::from("@ db_blog.t_post\nx40 {\"_id\": $i}\n@ db_blog.t_picture\n");
        for post in 0..40 {
            writeln!(documents, "{{\"postId\": {post}}}").expect("a text");
        }
        let clients = Clients { documents, ..Clients::new() };
        let by_id = clients.clone().pictures(80, r#"{"postId": 1}"#).access();
        assert_eq!(by_id.queried_alone, Some(0.0));
        assert_eq!(clients.pictures(80, r#"{"author": 1}"#).access(), Access::default());
    }

    #[test]
    fn dm_07_5_many_to_many_stays_open() {
        let documents = "@ db_blog.t_post\nx5 {\"_id\": $i}\n@ db_blog.t_picture\nx20 {\"postIds\": [0, 1, 2]}\n";
        let clients = Clients { documents: documents.to_owned(), ..Clients::new() };
        let access = clients.pictures(80, r#"{"postIds": 1}"#).access_of("postIds");
        assert_eq!(access, Access::default());
    }
}
