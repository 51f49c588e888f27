//! ER-T.5, PT-junction.1, DM-07.5: ids of a growing number of documents belong in those documents, or in a collection
//! of pairs; with the exact arithmetic of ALG-2 (LM-6).

use docward_model::{
    Collection, Draft, Field, Level, Namespace, NewIndex, Profile, Reference, Safety, Severity,
    Step, Subject,
};

use crate::facts::growth::arrays::{self, Limits, Owner, Unbounded, Verdict};
use crate::facts::{
    growth::{forecast, patterns},
    names,
    remedies::proposals,
    text,
    values::sizes,
};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Growing id array
    ///
    /// ## What it checks
    /// Reports arrays of ids:
    /// - an error if they grow with the age of their document and have several signs of growth (see D008)
    /// - a warning if they have one sign of growth, or 1000 elements or more
    ///
    /// Ids are ObjectIds, UUIDs, or values that are the `_id` of another collection.
    ///
    /// With `--earlier`, arrays that got longer between two dates count as growing, under the conditions of D008.
    /// The date on which a document is full is calculated from documents that gained more than one id.
    ///
    /// ## Why it matters
    /// The array stores a relationship on the wrong side. Each ObjectId needs more than its 12 bytes, because its
    /// position is stored as text. An array of 500,000 ObjectIds takes 9,888,895 bytes, and at about 844,000 the
    /// document is full.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_social.t_user
    /// {"_id": 1, "followers": $array(1200, ObjectId("65f3a2b8c1d2e3f4a5b6c7d8"))}
    /// ```
    /// One document per relationship; the user document keeps a counter:
    /// ```jsonl,clean,ns=db_social.t_user
    /// {"_id": 1, "followerCount": 1200}
    /// @ db_social.t_user_follower
    /// x20 {"_id": $i, "userId": 1, "followerId": ObjectId("$oid")}
    /// ```
    ///
    /// ## How to fix
    /// If each element belongs to one parent, store the parent's id in the element's own document and index it.
    /// If elements have several parents, create a collection of pairs. It needs a unique index on both ids and an
    /// index on the second id.
    ///
    /// ## When to ignore it
    /// The list has a natural limit below 1000, such as the members of a team. Declare it under
    /// `[[collections.bounded]]`.
    R006, "growing-id-array",
    level: Mandatory,
    area: Growth,
    severities: [Error, Warn],
    clauses: ["ER-T.5", "PT-junction.1", "DM-07.5", "DM-08.1", "DM-08.2", "LM-6", "CK-4", "CK-8"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MAX_IDS],
    data: ["bytes", "capacity", "countedFrom", "full16MbOn", "limit", "longestPerDay", "max", "p99", "verdict"],
    check: Collection(check),
}

threshold!(
    MAX_IDS,
    "max-ids",
    Int(1000),
    "ids",
    "ER-T.5, DM-08.1, GC-07",
    "minimum length of an array of ids that is reported even if it does not grow"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = patterns::user_documents(collection) else { return };
    let limits =
        Limits { elements: cx.count(&MAX_IDS), ..Limits::of(cx.settings(), &collection.namespace) };
    for field in &profile.fields {
        let owner =
            arrays::owner(cx.settings(), cx.evidence(), collection, profile, field, &limits);
        if let Some(Owner::Ids(unbounded)) = owner {
            report(collection, profile, field, unbounded, &limits, cx);
        }
    }
}

fn report(
    collection: &Collection,
    profile: &Profile,
    field: &Field,
    unbounded: Option<Unbounded>,
    limits: &Limits,
    cx: &mut Cx<'_>,
) {
    let Some(array) = &field.array else { return };
    let ns = &collection.namespace;
    let (p99, max) = (array.lengths.p99(), array.lengths.max);
    let value = arrays::value_bytes(field);
    let bytes = sizes::array_bytes(max, value);
    let room = arrays::capacity(profile, field, sizes::DOCUMENT_LIMIT);
    let growth = unbounded.and_then(|u| u.growth);
    let observed = unbounded.and_then(|u| u.observed);
    let seen_full = observed.as_ref().and_then(|seen| {
        forecast::first_reach(seen, room as f64, arrays::ONE_MORE, limits.horizon_days)
    });
    // If the two dates give no forecast, ages may. Days then count from the newest document.
    let aged = growth.filter(|_| seen_full.is_none());
    let full = seen_full.or_else(|| {
        let g = aged?;
        let rate = arrays::longest_rate(profile, field, Some(&g))?;
        forecast::reach(max as f64, room as f64, rate, g.newest_ms, limits.horizon_days)
    });
    let grows = unbounded.is_some_and(|u| u.verdict > Verdict::Possible);
    let mut what = format!(
        "`{}` holds ids of other documents: p99 {}, longest {} ids in {}",
        field.path,
        text::count(p99),
        text::count(max),
        text::bytes(bytes),
    );
    if let Some(seen) = &observed {
        what.push_str(&format!(", which {}", forecast::seen(seen)));
    } else if let Some(g) = growth {
        what.push_str(&format!("; older documents have more (correlation {:.2})", g.correlation));
    }
    what.push_str(&format!("; a document has room for about {} ids", text::count(room)));
    if let Some(when) = &full {
        let pace = forecast::pace(when.per_day);
        what.push_str(&format!(", reached on {} by {pace} a day", when.date));
        what.push_str(&aged.as_ref().map_or_else(String::new, forecast::counted_from));
    }
    if let Some(broken) = patterns::broken_cap(cx.settings(), collection, field) {
        what.push_str(&format!("; {broken}"));
    }
    let relation = Relation::of(collection, profile, field, cx);
    let mut draft = Draft::new(
        Subject::Field(ns.clone(), field.path.clone()),
        what,
        "MongoDB rewrites the array for every added id until it reaches 16 MB; storing the relation in the other collection has no limit",
        relation.advice(&text::in_all(profile, array.lengths.sum, |n| text::plural(n, "document"))),
        arrays::seen(profile, field, limits),
    )
    .data("p99", p99)
    .data("max", max)
    .data("limit", limits.elements)
    .data("bytes", bytes)
    .data("capacity", room)
    .data("verdict", unbounded.map_or("large", |u| u.verdict.name()))
    .clauses(if unbounded.is_some() {
        &["ER-T.5", "PT-junction.1", "DM-07.5", "DM-08.2", "LM-6", "CK-4", "CK-8"]
    } else {
        &["ER-T.5", "PT-junction.1", "DM-07.5", "DM-08.1", "LM-6"]
    })
    // A long array without growth violates the recommendation, not the prohibition.
    .level(if grows { Level::Mandatory } else { Level::Recommended })
    .severity(if grows { Severity::Error } else { Severity::Warn });
    if let Some(when) = full {
        let from = aged.map(|g| g.newest_ms).or(observed.map(|seen| seen.to_ms));
        draft = draft.deadline(when.date.clone(), text::bytes(sizes::DOCUMENT_LIMIT));
        draft = draft.data("full16MbOn", when.date).data("longestPerDay", when.per_day);
        let from = from.and_then(text::date);
        draft = from.into_iter().fold(draft, |draft, day| draft.data("countedFrom", day));
    }
    if let Some(step) = relation.index(collection) {
        draft = draft.plan(Some("RF-01"), Safety::Safe, [step]);
    }
    cx.report(draft);
}

/// The names of a relation that is stored outside the array.
struct Relation {
    /// The id of this collection's documents, on the other side.
    here: String,
    /// The id of the elements, in a pair.
    there: String,
    /// The collection of the ids if known, otherwise the name that it would have.
    target: String,
    /// The collection of pairs.
    pairs: String,
    /// Whether each element is known to have one parent; `None` if the target was not read.
    one_parent: Option<bool>,
    /// The array of the target that contains the same relation.
    opposite: Option<String>,
}

impl Relation {
    fn of(collection: &Collection, profile: &Profile, field: &Field, cx: &Cx<'_>) -> Self {
        let style = proposals::field_style(profile);
        let parent = proposals::entity(&collection.namespace.collection);
        let noun = proposals::noun(field.path.leaf());
        let reference: Option<&Reference> = profile.element(field).and_then(|element| {
            cx.evidence()
                .references
                .iter()
                .find(|r| r.from == collection.namespace && r.path == element.path)
        });
        let mut there = names::in_style(&format!("{noun}_id"), style);
        let here = proposals::field_name(&parent, "id", style);
        if there == here {
            there = names::in_style(&format!("other_{there}"), style);
        }
        Self {
            here,
            there,
            target: reference.map_or_else(
                || proposals::collection_name(cx.settings(), collection, &noun),
                |r| r.to.collection.clone(),
            ),
            pairs: proposals::collection_name(
                cx.settings(),
                collection,
                &format!("{}_{noun}", parent.join("_")),
            ),
            // A few shared elements are enough to need pairs.
            one_parent: reference.map(|r| r.children_per_parent.max <= 1),
            opposite: reference.and_then(|r| {
                cx.evidence()
                    .references
                    .iter()
                    .find(|o| {
                        o.from == r.to && o.to == r.from && o.from != o.to && o.path.in_array()
                    })
                    .map(|o| o.path.dotted())
            }),
        }
    }

    fn advice(&self, documents: &str) -> String {
        let child = format!(
            "store `{}` in `{}` with an index {{ {}: 1 }}",
            self.here, self.target, self.here
        );
        let pairs = format!(
            "create `{}` with {} of `{}` and `{}`, a unique index {{ {}: 1, {}: 1 }} and an index {{ {}: 1 }}",
            self.pairs, documents, self.here, self.there, self.here, self.there, self.there,
        );
        if let Some(opposite) = &self.opposite {
            return format!(
                "`{}` holds the same relation in `{opposite}`: remove this array and index the other; if both keep growing, {pairs}",
                self.target
            );
        }
        match self.one_parent {
            Some(true) => format!("each element has one parent: {child}"),
            Some(false) => format!("elements have several parents: {pairs}"),
            None => {
                format!("if each element has one parent, {child}; if it can have several, {pairs}")
            }
        }
    }

    fn index(&self, collection: &Collection) -> Option<Step> {
        if self.opposite.is_some() {
            return None;
        }
        let (name, index) = match self.one_parent? {
            true => (&self.target, NewIndex::ascending([&self.here])),
            false => (&self.pairs, NewIndex::ascending([&self.here, &self.there]).unique()),
        };
        let namespace = Namespace::new(collection.namespace.database.as_str(), name.as_str());
        Some(Step::CreateIndex { namespace, index })
    }
}

#[cfg(test)]
mod tests {
    use docward_model::{DataValue, Severity};

    use crate::testing::{check, check_sampled, check_with};

    const OID: &str = "ObjectId(\"65f3a2b8c1d2e3f4a5b6c7d8\")";

    #[test]
    fn pt_junction_1_a_thousand_ids_are_reported_999_are_not() {
        let body = |n: u64| format!("{{\"_id\": 1, \"followers\": $array({n}, {OID})}}");
        assert_eq!(check("R006", &body(999)), []);
        let found = check_with("R006", "ns=db_social.t_user", &body(1000));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        assert!(
            found[0].todo.contains("unique index { userId: 1, followerId: 1 }"),
            "{}",
            found[0].todo
        );
    }

    #[test]
    fn pt_junction_1_a_sample_says_in_how_many_documents_it_is_long() {
        let body = format!(
            "x3 {{\"_id\": $i, \"followers\": $array(1001, {OID})}}\nx20 {{\"_id\": 9$i, \"followers\": $array(990, {OID})}}"
        );
        assert_eq!(check_sampled("R006", &body, 5_000)[0].seen.showing, Some(3));
    }

    #[test]
    fn er_t_5_ids_of_log_entries_belong_in_the_log_entries() {
        let body = (0..60).fold(String::new(), |mut body, i| {
            body.push_str(&format!(
                "{{\"_id\": ObjectId(\"{:08x}0000000000000000\"), \"host_name\": \"h\", \"log_entry_ids\": $array({}, {OID})}}\n",
                1_704_067_200 + i * 86_400,
                (60 - i) * 20
            ));
            body
        });
        let found = check_with("R006", "ns=db_ops.host,profile=neutral", &body);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].severity, Severity::Error);
        assert_eq!(found[0].level.name(), "mandatory");
        assert!(found[0].todo.contains("store `host_id` in `log_entry`"), "{}", found[0].todo);
    }

    #[test]
    fn lm_6_sizes_are_exact() {
        let found = check("R006", &format!("{{\"_id\": 1, \"followers\": $array(1000, {OID})}}"));
        // 1000 x (1 + 1 + 12) + 2890 digits + 5.
        assert_eq!(found[0].data.get("bytes"), Some(&DataValue::Int(16_895)));
        let Some(DataValue::Int(capacity)) = found[0].data.get("capacity") else {
            panic!("capacity")
        };
        assert!((843_000..845_000).contains(capacity), "{capacity}");
    }

    #[test]
    fn dm_07_5_shared_elements_get_pairs_exclusive_ones_a_field() {
        let courses = "x300 {\"_id\": $i, \"title\": \"c\"}";
        let shared = format!(
            "@ db_uni.t_course\n{courses}\n@ db_uni.t_student\nx4 {{\"_id\": \"s$i\", \"courseIds\": $array(300, $j)}}"
        );
        let found = check_with("R006", "max-ids=300", &shared);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].todo.starts_with("elements have several parents: create `t_student_course`"),
            "{}",
            found[0].todo
        );
        let alone = format!(
            "@ db_uni.t_course\n{courses}\n@ db_uni.t_student\n{{\"_id\": \"s\", \"courseIds\": $array(300, $j)}}"
        );
        let found = check_with("R006", "max-ids=300", &alone);
        assert!(found[0].todo.contains("store `studentId` in `t_course`"), "{}", found[0].todo);
    }

    #[test]
    fn a_declared_cap_silences() {
        let body = format!("{{\"_id\": 1, \"followers\": $array(1500, {OID})}}");
        assert_eq!(check_with("R006", "cap=db_shop.*:followers:2000", &body), []);
    }

    #[test]
    fn arrays_on_both_sides_have_their_own_rule() {
        let mut body = String::from("@ db_uni.t_course\n");
        for course in 9000..9030 {
            body.push_str(&format!("{{\"_id\": {course}, \"studentIds\": $array(300, $j)}}\n"));
        }
        body.push_str("@ db_uni.t_student\n");
        for i in 0..300 {
            body.push_str(&format!("{{\"_id\": {i}, \"courseIds\": [9000, {}]}}\n", 9000 + i % 30));
        }
        assert_eq!(check_with("R006", "max-ids=300", &body), []);
        assert_eq!(check_with("R011", "max-elements=300", &body).len(), 1);
    }
}
