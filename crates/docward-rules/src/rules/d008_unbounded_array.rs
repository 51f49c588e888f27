//! DM-08.2, AP-S2.1, AP-S4.1, CK-4, CK-8, ALG-6: arrays that grow without bound, judged from documents alone. The
//! signals are length against age, length, dates inside, and the absence of a bound.

use docward_model::{
    Collection, Draft, Field, Namespace, NewIndex, Profile, Safety, Severity, Step, Subject,
    code::{Append, Cap},
};

use crate::facts::growth::arrays::{self, Elements, Limits, Owner, Unbounded, Verdict};
use crate::facts::growth::forecast::{self, Forecast};
use crate::facts::thresholds::d008::{
    HORIZON, MAX_ELEMENTS, MIN_CORRELATION, MIN_DAYS, MIN_DOCUMENTS,
};
use crate::facts::{code, growth::patterns, remedies::proposals, text, values::sizes};
use crate::{Cx, declare_rule};

declare_rule! {
    /// # Unbounded array
    ///
    /// ## What it checks
    /// Finds arrays that grow as long as their document exists. Signs of growth:
    /// - Older documents have longer arrays (rank correlation above 0.5, at least 50 documents over 7 days).
    /// - The longest array has 1000 elements or more.
    /// - A few arrays are far longer than the others.
    /// - The elements contain dates at least 7 days apart.
    /// - The name suggests endless growth, such as `messages` or `logs`. This counts only if the age of documents
    ///   is unknown.
    ///
    /// Several signs are an error, one is a warning. A short array that grows is reported if it will reach 1000
    /// elements within five years. The finding forecasts when the largest document reaches 1, 10 and 16 MB.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - arrays with a limit that all documents keep: `maxItems` in the validator, or a declared limit
    /// - buckets, previews, pages, coordinates and vectors
    /// - arrays whose lengths accumulate at a round number
    /// - arrays of ids, which R006 reports
    ///
    /// ## With code and with an earlier audit
    /// With `--code`, a statement that adds to the array without a limit makes the finding an error. If all such
    /// statements limit the length, it is a warning.
    ///
    /// With `--earlier`, growth of the same arrays between two dates is a sign of its own. It needs:
    /// - at least `min-documents` documents present in both audits, at least `min-days` apart
    /// - growth in at least one of twenty documents, and more than twice as many grown as shrunk documents
    ///
    /// Forecasts use documents that gained more than one element. Growth that was undone between the two dates is
    /// not visible.
    ///
    /// ## Why it matters
    /// Every append rewrites a longer document. At 16 MB the append fails, and every later append fails until the
    /// document has been split by hand.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_shop.t_user
    /// x20 {"_id": ObjectId("$oid"), "logins": $array(1200, {"ip": "10.0.0.$j"})}
    /// x20 {"_id": ObjectId("$oid"), "logins": $array(800, {"ip": "10.0.0.$j"})}
    /// x20 {"_id": ObjectId("$oid"), "logins": $array(400, {"ip": "10.0.0.$j"})}
    /// ```
    /// Every push uses `$slice`, so that only the newest ten elements stay in the document:
    /// ```jsonl,clean,ns=db_shop.t_user
    /// x50 {"_id": ObjectId("$oid"), "logins": $array(10, {"ip": "10.0.0.$j"})}
    /// x10 {"_id": ObjectId("$oid"), "logins": $array($i, {"ip": "10.0.0.$j"})}
    /// ```
    ///
    /// ## How to fix
    /// The fix depends on what is read:
    /// - only the newest elements: limit the array with `$push` and `$slice`
    /// - readings over time: use a time series collection or buckets
    /// - independent things: use a child collection
    /// - a few very long arrays among many short ones: use overflow pages
    ///
    /// ## When to ignore it
    /// The business sets a limit that the data cannot show. Declare it under `[[collections.bounded]]`, or better
    /// as `maxItems` in the validator.
    D008, "unbounded-array",
    level: Prohibited,
    area: Growth,
    severities: [Error, Warn],
    clauses: ["DM-08.2", "AP-S2.1", "AP-S4.1", "CK-4", "CK-8", "DM-08.1", "DM-05.3"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MAX_ELEMENTS, MIN_CORRELATION, MIN_DOCUMENTS, MIN_DAYS, HORIZON],
    data: [
        "bytesPerElement", "capacity", "correlation", "countedFrom", "full16MbOn", "grown", "limit",
        "longestPerDay", "max", "p99", "pattern", "perDay", "reaches10MbOn", "reaches1MbOn",
        "reachesLimitOn", "seenTwice", "verdict",
    ],
    check: Collection(check),
}

/// The forecast shows the dates for 1, 10 and 16 MB up to this number of years ahead.
const SIZES_YEARS: f64 = 20.0;

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = patterns::user_documents(collection) else { return };
    let limits = Limits::of(cx.settings(), &collection.namespace);
    debug_assert!(
        limits.elements == cx.count(&MAX_ELEMENTS)
            && limits.credible.correlation == cx.limit(&MIN_CORRELATION)
            && limits.credible.rows == cx.count(&MIN_DOCUMENTS)
            && limits.credible.days == cx.limit(&MIN_DAYS)
            && limits.horizon_days == cx.limit(&HORIZON) * 365.25,
        "one reading of the thresholds"
    );
    for field in &profile.fields {
        let owner =
            arrays::owner(cx.settings(), cx.evidence(), collection, profile, field, &limits);
        if let Some(Owner::Unbounded(unbounded)) = owner {
            report(collection, profile, field, &unbounded, &limits, cx);
        }
    }
}

fn report(
    collection: &Collection,
    profile: &Profile,
    field: &Field,
    unbounded: &Unbounded,
    limits: &Limits,
    cx: &mut Cx<'_>,
) {
    let Some(array) = &field.array else { return };
    let ns = &collection.namespace;
    let lengths = &array.lengths;
    let (p99, max) = (lengths.p99(), lengths.max);
    let kind = arrays::elements(cx.evidence(), collection, profile, field);
    let value = arrays::value_bytes(field);
    let room = arrays::capacity(profile, field, sizes::DOCUMENT_LIMIT);
    let rate = arrays::longest_rate(profile, field, unbounded.growth.as_ref());
    let at = |target: u64, horizon: f64| {
        if let Some(seen) = &unbounded.observed {
            return forecast::first_reach(seen, target as f64, arrays::ONE_MORE, horizon);
        }
        let growth = unbounded.growth?;
        forecast::reach(max as f64, target as f64, rate?, growth.newest_ms, horizon)
    };
    let long_at = at(limits.elements, limits.horizon_days);
    // The array is known to be unbounded, so a longer forecast of its size is useful.
    let sizes_at: Vec<(u64, Forecast)> = [sizes::CORE_LIMIT, sizes::DANGER, sizes::DOCUMENT_LIMIT]
        .into_iter()
        .filter_map(|limit| {
            let elements = arrays::capacity(profile, field, limit);
            Some((limit, at(elements, SIZES_YEARS * 365.25)?))
        })
        .collect();
    let advice = if patterns::is_open_bucket(profile, field) {
        Advice::OpenBucket
    } else {
        Advice::of(kind, lengths, limits)
    };
    let mut what = growth_text(field, unbounded, rate, limits, long_at.as_ref(), &sizes_at);
    if let Some(broken) = patterns::broken_cap(cx.settings(), collection, field) {
        what.push_str(&format!("; {broken}"));
    }
    let dominates = arrays::dominates(profile, field, limits);
    // Code and data together: one shows that the array can grow without bound, the other that it does.
    let sites: Vec<&Append> = code::appends(cx.evidence(), ns, field.path.as_str()).collect();
    let open: Vec<&&Append> = sites.iter().filter(|site| site.cap == Cap::None).collect();
    let verdict = match open.first() {
        Some(site) => {
            what.push_str(&format!("; {} appends to it without a limit", code::line(&site.place)));
            Verdict::Certain
        }
        None if !sites.is_empty() => {
            what.push_str(&format!(
                "; {} in the code that {} to it limit its length",
                text::plural(sites.len() as u64, "statement"),
                if sites.len() == 1 { "appends" } else { "append" },
            ));
            Verdict::Possible
        }
        None => unbounded.verdict,
    };
    let mut draft = Draft::new(
        Subject::Field(ns.clone(), field.path.clone()),
        what,
        "once the document reaches 16 MB, every append fails until someone splits the document by hand",
        advice.text(collection, profile, field, cx),
        arrays::seen(profile, field, limits),
    )
    .data("p99", p99)
    .data("max", max)
    .data("limit", limits.elements)
    .data("verdict", verdict.name())
    .data("bytesPerElement", sizes::element_bytes(&max.saturating_sub(1).to_string(), value))
    .data("capacity", room)
    .data("pattern", advice.name())
    .clauses(match (max >= limits.elements, dominates) {
        (true, true) => &["DM-08.2", "AP-S2.1", "AP-S4.1", "CK-4", "CK-8", "DM-08.1", "DM-05.3"],
        (true, false) => &["DM-08.2", "AP-S2.1", "AP-S4.1", "CK-4", "CK-8", "DM-08.1"],
        (false, true) => &["DM-08.2", "AP-S2.1", "AP-S4.1", "CK-4", "CK-8", "DM-05.3"],
        (false, false) => &["DM-08.2", "AP-S2.1", "AP-S4.1", "CK-4", "CK-8"],
    })
    .severity(if verdict == Verdict::Possible { Severity::Warn } else { Severity::Error });
    if let Some(site) = open.first() {
        let others = open.iter().skip(1).map(|site| site.place.location.clone());
        draft = draft.location(site.place.location.clone()).locations(others);
    }
    if let Some(seen) = &unbounded.observed {
        draft = draft
            .data("seenTwice", seen.documents)
            .data("grown", seen.grown)
            .data("perDay", seen.per_day);
    } else if let Some(growth) = unbounded.growth {
        draft = draft.data("correlation", growth.correlation).data("perDay", growth.per_day);
    }
    if let Some(when) = long_at.as_ref().or(sizes_at.first().map(|(_, when)| when)) {
        draft = draft.data("longestPerDay", when.per_day);
        let from = unbounded.observed.map(|seen| seen.to_ms);
        let from = from.or(unbounded.growth.map(|growth| growth.newest_ms)).and_then(text::date);
        draft = from.into_iter().fold(draft, |draft, day| draft.data("countedFrom", day));
    }
    if let Some(when) = long_at {
        draft = draft.data("reachesLimitOn", when.date);
    }
    if let Some((limit, when)) = sizes_at.first() {
        draft = draft.deadline(when.date.clone(), text::bytes(*limit));
    }
    for (limit, when) in sizes_at {
        let key = match limit {
            sizes::CORE_LIMIT => "reaches1MbOn",
            sizes::DANGER => "reaches10MbOn",
            _ => "full16MbOn",
        };
        draft = draft.data(key, when.date);
    }
    let child = proposals::child(cx.evidence(), cx.settings(), collection, profile, field);
    draft = match advice {
        Advice::Series => draft.plan(
            Some("RF-03"),
            Safety::Manual,
            [series(collection, profile, field, &child, cx)],
        ),
        Advice::Outlier | Advice::OpenBucket => draft,
        Advice::Child => match proposals::split(ns, profile, field, &child) {
            Some(steps) => draft.plan(Some("RF-01"), Safety::Manual, steps),
            None => draft,
        },
    };
    cx.report(draft);
}

/// Returns a sentence with the length of the array, its growth and the date on which it reaches a limit. Dates are
/// computed from data that may be old.
fn growth_text(
    field: &Field,
    unbounded: &Unbounded,
    rate: Option<f64>,
    limits: &Limits,
    long_at: Option<&Forecast>,
    sizes_at: &[(u64, Forecast)],
) -> String {
    let lengths = field.array.as_ref().map(|array| &array.lengths);
    let (p99, max) = lengths.map_or((0, 0), |lengths| (lengths.p99(), lengths.max));
    let path = &field.path;
    let longest = format!("longest array {}", text::plural(max, "element"));
    let dates: Vec<String> = long_at
        .map(|when| format!("{} elements on {}", text::count(limits.elements), when.date))
        .into_iter()
        .chain(sizes_at.iter().map(|(limit, w)| format!("{} on {}", text::bytes(*limit), w.date)))
        .collect();
    // The next limit and the last one: those between are in the data.
    let reaches = match dates.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first, .., last] => format!("{first} and {last}"),
    };
    let pace_of = long_at.or(sizes_at.first().map(|(_, when)| when)).map(|when| when.per_day);
    // One rate: that of the longest array if it has a date, otherwise the typical one.
    let typical =
        |per_day: f64| format!(", +{} a day in a typical document", forecast::pace(per_day));
    match (&unbounded.observed, unbounded.growth) {
        (Some(seen), _) => {
            let pace = pace_of.map_or_else(
                || typical(seen.per_day),
                |per_day| {
                    let pace = forecast::pace(per_day);
                    format!("; the fastest-growing array (+{pace} a day): {reaches}")
                },
            );
            format!("`{path}` {}: {longest}{pace}", forecast::seen(seen))
        }
        (None, Some(growth)) => {
            let pace = pace_of.or(rate).map_or_else(
                || typical(growth.per_day),
                |per_day| format!(", +{} a day", forecast::pace(per_day)),
            );
            // The text has no verb, because the days may have passed.
            let at_that_pace = match reaches.as_str() {
                "" => String::new(),
                reaches => format!("; at that pace: {reaches}"),
            };
            let newest = text::date(growth.newest_ms)
                .map_or_else(String::new, |day| format!(" (data up to {day})"));
            format!("`{path}` grows: {longest}{pace}{at_that_pace}{newest}")
        }
        (None, None) => format!(
            "`{path}` is long and has no limit: p99 {}, longest {} elements{}",
            text::count(p99),
            text::count(max),
            if unbounded.dated { ", with dates that are days apart" } else { "" },
        ),
    }
}

/// The first of the rule book's fixes that applies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Advice {
    OpenBucket,
    Series,
    Outlier,
    Child,
}

impl Advice {
    fn of(kind: Elements, lengths: &docward_model::Distribution, limits: &Limits) -> Self {
        if kind == Elements::Series {
            Self::Series
        } else if arrays::has_outliers(lengths, limits) {
            Self::Outlier
        } else {
            Self::Child
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::OpenBucket | Self::Series => "bucket",
            Self::Outlier => "outlier",
            Self::Child => "child",
        }
    }

    fn text(
        self,
        collection: &Collection,
        profile: &Profile,
        field: &Field,
        cx: &Cx<'_>,
    ) -> String {
        let ns = &collection.namespace;
        let child = proposals::child(cx.evidence(), cx.settings(), collection, profile, field);
        let all = field.array.as_ref().map_or(0, |a| a.lengths.sum);
        let split = format!(
            "`{}` with `{}` and the index {} ({} of about {} each); keep `{}` in `{}`",
            child.collection,
            child.parent_id,
            child.index,
            text::in_all(profile, all, |n| text::plural(n, "document")),
            text::bytes(child.document_bytes(profile, field)),
            child.counter,
            ns.collection,
        );
        let slice = format!(
            "if only the newest elements are read, limit every push instead: {{$push: {{\"{}\": {{$each: [x], $slice: -100}}}}}}",
            field.path.dotted()
        );
        match self {
            Self::OpenBucket => proposals::close_bucket(field),
            Self::Series if native_series(cx) => format!(
                "store the elements in a time series collection `{}` with metaField `{}` (before MongoDB 5.0: hourly buckets with a counter); {slice}; for a few very long arrays, use overflow pages of 1000 elements",
                child.collection, child.parent_id
            ),
            Self::Series => format!(
                "before MongoDB 5.0, which adds time series collections, store the elements in buckets per `{}` and hour with `count` below 1000; {slice}; for a few very long arrays, use overflow pages of 1000 elements",
                child.parent_id
            ),
            Self::Outlier => format!(
                "for the few very long arrays, keep the first 1000 elements and `{}` in the document and the rest in overflow pages of 1000; if all arrays keep growing, store one document per element in {split}, or buckets by day; {slice}",
                proposals::field_name(
                    &["has".to_owned()],
                    "overflow",
                    proposals::field_style(profile)
                ),
            ),
            Self::Child => format!(
                "store one document per element in {split}; {}; {slice}; if elements are read by time, use buckets; for a few very long arrays, use overflow pages of 1000 elements",
                child.ids()
            ),
        }
    }
}

/// Whether the server has time series collections; unknown counts as yes.
fn native_series(cx: &Cx<'_>) -> bool {
    cx.settings()
        .server_version
        .or(cx.evidence().deployment.server_version)
        .is_none_or(|v| v >= (5, 0))
}

fn series(
    collection: &Collection,
    profile: &Profile,
    field: &Field,
    child: &proposals::Child,
    cx: &Cx<'_>,
) -> Step {
    let time = arrays::time_child(profile, field).map_or("ts", |f| f.name.as_str());
    let database = collection.namespace.database.as_str();
    let namespace = Namespace::new(database, child.collection.as_str());
    if native_series(cx) {
        Step::CreateTimeSeries {
            namespace,
            time_field: time.to_owned(),
            meta_field: child.parent_id.clone(),
            granularity: None,
        }
    } else {
        Step::CreateIndex {
            namespace,
            index: NewIndex::ascending([child.parent_id.as_str(), "hour", "count"]),
        }
    }
}

#[cfg(test)]
mod tests {
    use docward_model::code::{Append, AppendKind, Cap, Code, Place};

    use docward_model::{DataValue, Finding, Observed, Severity};

    use crate::testing::{check, check_changed, check_sampled, check_with};

    /// `n` documents a day apart whose arrays lose `step` elements from each to the next, so that older ones are
    /// longer.
    fn growing(n: u64, step: u64, element: &str) -> String {
        (0..n).fold(String::new(), |mut body, i| {
            body.push_str(&format!(
                "{{\"_id\": ObjectId(\"{:08x}0000000000000000\"), \"posts\": $array({}, {element})}}\n",
                1_704_067_200 + i * 86_400,
                (n - i) * step
            ));
            body
        })
    }

    fn verdict(found: &[Finding]) -> Option<&DataValue> {
        found.first()?.data.get("verdict")
    }

    #[test]
    fn dm_08_2_growing_and_long_is_an_error() {
        let found =
            check_with("D008", "ns=db_shop.t_user", &growing(60, 20, "{\"text\": \"hello\"}"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].severity, Severity::Error);
        assert_eq!(found[0].level.name(), "prohibited");
        assert_eq!(verdict(&found), Some(&DataValue::Text("likely".into())));
        assert_eq!(found[0].data.get("max"), Some(&DataValue::Int(1200)));
        assert_eq!(found[0].data.get("limit"), Some(&DataValue::Int(1000)));
        assert!(found[0].todo.contains("`t_post` with `userId`"), "{}", found[0].todo);
        assert!(found[0].todo.contains("$slice"), "{}", found[0].todo);
    }

    #[test]
    fn dm_08_2_a_sample_says_in_how_many_documents_it_is_long() {
        let found = check_sampled("D008", &growing(60, 20, "{\"text\": \"hello\"}"), 9_000);
        assert_eq!(found[0].seen.showing, Some(11), "1,000 to 1,200 elements by 20");
        // 20 × (1 + … + 60) elements in 60 of 9,000 documents.
        assert!(found[0].todo.contains("about 5,490,000 documents of"), "{}", found[0].todo);
    }

    /// Findings where an array was seen on two dates.
    fn check_observed(
        rule: &str,
        body: &str,
        path: &str,
        observed: Option<Observed>,
    ) -> Vec<Finding> {
        check_changed(rule, body, |collection| {
            let profile = collection.profile.as_mut().expect("documents");
            let list = profile.fields.iter_mut().find(|field| field.path.as_str() == path);
            list.and_then(|field| field.array.as_mut()).expect("an array").observed = observed;
        })
    }

    #[test]
    fn alg_6_growth_between_two_dates_beats_lengths_that_are_even() {
        let grown = |element: &str, observed: Option<Observed>| {
            let body = format!("x100 {{\"_id\": $i, \"list\": $array(205, {element})}}");
            check_observed("D008", &body, "list", observed)
        };
        let day = 86_400_000;
        let observed = Observed {
            documents: 100,
            grown: 100,
            shrunk: 0,
            per_day: 5.4,
            leaders: [(205, 5.4); 4],
            largest_then: 5,
            ways_to_largest: 1,
            from_ms: 20_000 * day,
            to_ms: 20_037 * day,
        };
        for element in ["\"line $j\"", "$j.5"] {
            assert_eq!(grown(element, None), [], "{element}");
            let found = grown(element, Some(observed));
            assert_eq!(found.len(), 1, "{element}");
            assert!(found[0].what.starts_with("`list` grew in"), "{}", found[0].what);
            let shrinks = Observed { grown: 2, shrunk: 98, ..observed };
            assert_eq!(grown(element, Some(shrinks)), [], "{element}");
        }
    }

    /// PT-slice.1: while some lists fill up to a cap that others have reached, both rules see the cap. If none was that
    /// long before, neither rule does, unless different gains end there.
    #[test]
    fn alg_6_a_cap_was_reached_on_the_earlier_date_too() {
        let body = "x40 {\"_id\": $i, \"logins\": $array(100, {\"ip\": \"a\"})}\nx60 {\"_id\": $i, \"logins\": $array($i, {\"ip\": \"a\"})}";
        let told_of = |rule: &str, largest_then: u64, ways_to_largest: u64| {
            let day = 86_400_000;
            let observed = Observed {
                documents: 100,
                grown: 30,
                shrunk: 0,
                per_day: 2.0,
                leaders: [(100, 2.0); 4],
                largest_then,
                ways_to_largest,
                from_ms: 20_000 * day,
                to_ms: 20_030 * day,
            };
            check_observed(rule, body, "logins", Some(observed)).len()
        };
        let told = |rule: &str, largest_then: u64| told_of(rule, largest_then, 1);
        assert_eq!((told("D008", 100), told("R020", 100)), (0, 1), "a cap");
        assert_eq!((told("D008", 40), told("R020", 40)), (1, 0), "a length by chance");
        // Arrays filled up to it between the dates, each by a different amount.
        assert_eq!((told_of("D008", 99, 30), told_of("R020", 99, 30)), (0, 1), "cut there");
    }

    #[test]
    fn alg_6_dates_inside_make_it_certain() {
        let mut body =
            growing(59, 18, "{\"date\": ISODate(\"2024-02-01T00:00:00Z\"), \"text\": \"a\"}");
        body.push_str("{\"_id\": ObjectId(\"659100000000000000000000\"), \"posts\": $array(1300, {\"date\": ISODate(\"2024-01-01T00:00:00Z\"), \"text\": \"a\"})}");
        let found = check("D008", &body);
        assert_eq!(verdict(&found), Some(&DataValue::Text("certain".into())));
    }

    #[test]
    fn ck_4_a_cap_that_the_data_breaks_is_no_cap() {
        let validator = |cap: u32| {
            format!(
                "options {{\"validator\": {{\"$jsonSchema\": {{\"properties\": {{\"posts\": {{\"maxItems\": {cap}}}}}}}}}}}\n{}",
                growing(60, 20, "{\"text\": \"hello\"}")
            )
        };
        assert_eq!(check("D008", &validator(1200)), []);
        let found = check("D008", &validator(200));
        assert_eq!(found[0].severity, Severity::Error);
        assert!(
            found[0].what.ends_with("arrays break the limit of 200 in the validator"),
            "{}",
            found[0].what
        );
        assert_eq!(check("D009", &validator(200)), []);
        let body = growing(60, 20, "{\"text\": \"hello\"}");
        let found = check_with("D008", "cap=db_shop.*:posts:200", &body);
        assert!(found[0].what.contains("the limit of 200 declared under"), "{}", found[0].what);
    }

    #[test]
    fn alg_6_growth_alone_is_possible_and_forecast() {
        let found = check("D008", &growing(60, 5, "{\"text\": \"hello\"}"));
        assert_eq!(verdict(&found), Some(&DataValue::Text("possible".into())));
        assert_eq!(found[0].severity, Severity::Warn);
        // 300 elements after 59 days: 1000 after about 138 more, counted from 2024-02-29.
        assert_eq!(
            found[0].data.get("reachesLimitOn"),
            Some(&DataValue::Text("2024-07-15".into()))
        );
    }

    #[test]
    fn alg_6_slow_growth_that_stays_short_is_silent() {
        let tags = (0..60).fold(String::new(), |mut body, i| {
            body.push_str(&format!(
                "{{\"_id\": ObjectId(\"{:08x}0000000000000000\"), \"tags\": $array({}, \"t$j\")}}\n",
                1_500_000_000 + i * 2_000_000,
                (60 - i) / 6
            ));
            body
        });
        assert_eq!(check("D008", &tags), []);
    }

    #[test]
    fn dm_08_2_fifty_documents_and_seven_days_are_needed() {
        assert_eq!(check("D008", &growing(49, 20, "{\"a\": 1}")), []);
        assert_eq!(check_with("D008", "min-days=90", &growing(60, 15, "{\"a\": 1}")), []);
    }

    #[test]
    fn ck_4_a_cap_is_proof() {
        let body = growing(60, 20, "{\"text\": \"hello\"}");
        let capped = format!(
            "options {{\"validator\": {{\"$jsonSchema\": {{\"properties\": {{\"posts\": {{\"bsonType\": \"array\", \"maxItems\": 2000}}}}}}}}}}\n{body}"
        );
        assert_eq!(check("D008", &capped), []);
        let off = capped.replace("options {", "options {\"validationLevel\": \"off\", ");
        assert_eq!(check("D008", &off).len(), 1);
    }

    #[test]
    fn dm_08_2_a_long_list_of_events_without_ages_is_possible() {
        let body = "x5 {\"_id\": $i, \"messages\": $array(5000, {\"text\": \"hi\"})}";
        let found = check("D008", body);
        assert_eq!(verdict(&found), Some(&DataValue::Text("possible".into())));
        assert_eq!(found[0].severity, Severity::Warn);
        // The same length under a neutral name is only long (D009).
        assert_eq!(check("D008", &body.replace("messages", "cells")), []);
    }

    #[test]
    fn pt_bucket_3_full_buckets_are_bounded() {
        let body = "x60 {\"_id\": ObjectId(\"$oid\"), \"sensorId\": \"S1\", \"hour\": ISODate(\"2024-03-01T10:00:00Z\"), \"count\": 60, \"readings\": $array(60, {\"minute\": $j, \"temp\": 22.5})}";
        assert_eq!(check("D008", body), []);
    }

    #[test]
    fn dm_08_2_readings_become_a_time_series_or_buckets_by_version() {
        let readings =
            growing(60, 20, "{\"ts\": ISODate(\"2024-01-01T00:00:00Z\"), \"temp\": 21.5}")
                .replace("posts", "readings");
        let new = check_with("D008", "ns=db_iot.t_device,version=5.0", &readings);
        assert!(new[0].todo.contains("time series collection `t_reading`"), "{}", new[0].todo);
        let old = check_with("D008", "ns=db_iot.t_device,version=4.4", &readings);
        assert!(old[0].todo.starts_with("before MongoDB 5.0"), "{}", old[0].todo);
        assert!(old[0].todo.contains("buckets"), "{}", old[0].todo);
    }

    /// Records that people write one at a time are separate documents, regardless of their numbers.
    #[test]
    fn dm_08_2_reviews_become_a_child_collection() {
        let reviews = growing(
            60,
            20,
            "{\"ts\": ISODate(\"2024-01-01T00:00:00Z\"), \"rating\": 4, \"text\": \"good\"}",
        )
        .replace("posts", "reviews");
        let found = check_with("D008", "ns=db_shop.t_product,version=6.0", &reviews);
        assert!(found[0].todo.contains("`t_review`"), "{}", found[0].todo);
        assert!(!found[0].todo.contains("time series"), "{}", found[0].todo);
    }

    #[test]
    fn id_arrays_have_their_own_rule() {
        assert_eq!(check("D008", &growing(60, 20, "ObjectId(\"65f3a2b8c1d2e3f4a5b6c7d8\")")), []);
    }

    #[test]
    fn ap_s4_1_advice_names_bucket_and_outlier() {
        let found = check("D008", &growing(60, 20, "{\"text\": \"hello\"}"));
        assert!(found[0].todo.contains("bucket") && found[0].todo.contains("overflow pages"));
    }

    #[test]
    fn geometries_and_vectors_are_bounded() {
        let track = "x60 {\"_id\": ObjectId(\"$oid\"), \"route\": {\"type\": \"LineString\", \"coordinates\": $array(2000, [1.5, 2.5])}}";
        assert_eq!(check("D008", track), []);
        let vectors = "x60 {\"_id\": ObjectId(\"$oid\"), \"embedding\": $array(1536, 0.25)}";
        assert_eq!(check("D008", vectors), []);
    }

    /// `{_id: {userId, no}, userId, value}`: 5 for the document, and 42, 20 and 11.
    #[test]
    fn rf_01_the_size_of_a_plain_element_counts_its_document() {
        let found = check_with("D008", "ns=db_shop.t_user", &growing(60, 20, "1"));
        assert!(found[0].todo.contains("of about 78 B each"), "{}", found[0].todo);
    }

    #[test]
    fn ap_s2_1_three_fixes_are_ranked() {
        let found = check("D008", &growing(60, 20, "{\"text\": \"hello\"}"));
        let at = |word: &str| found[0].todo.find(word).expect(word);
        assert!(at("one document per element") < at("$slice") && at("$slice") < at("buckets"));
    }

    #[test]
    fn lm_5_the_days_of_1_10_and_16_mb_are_told() {
        let element = format!("{{\"text\": \"{}\"}}", "x".repeat(300));
        let found = check("D008", &growing(60, 20, &element));
        let day = |key: &str| match found[0].data.get(key) {
            Some(DataValue::Text(day)) => day.clone(),
            other => panic!("{key}: {other:?}"),
        };
        let (one, ten, full) = (day("reaches1MbOn"), day("reaches10MbOn"), day("full16MbOn"));
        assert!(one < ten && ten < full, "{one} {ten} {full}");
        let what = &found[0].what;
        assert!(what.contains(&format!(" a day; at that pace: 1 MB on {one}")), "{what}");
        assert!(what.ends_with(&format!(" and 16 MB on {full} (data up to 2024-02-29)")), "{what}");
        assert_eq!(what.matches(" a day").count(), 1, "one rate: {what}");
        // Slow growth: only the nearer sizes lie within twenty years.
        let slow = check("D008", &growing(60, 20, "{\"n\": 1}"));
        assert_eq!(slow[0].data.get("full16MbOn"), None, "{}", slow[0].what);
    }

    #[test]
    fn ck_8_each_growing_array_is_named_once() {
        let body = growing(60, 20, "{\"text\": \"hello\"}");
        let two = body.replace("\"posts\": $array(", "\"fixed\": [1, 2], \"posts\": $array(");
        let found = check("D008", &two);
        assert_eq!(found.len(), 1, "{found:?}");
        for other in ["D002", "D003", "D009", "R006", "R008"] {
            assert_eq!(check(other, &two), [], "{other}");
        }
    }

    #[test]
    fn the_date_of_16_mb_follows_from_the_exact_size() {
        // 60 elements in 59 days, each 1 + 4 + 1 + 10,016 bytes: 1,674 fill the document.
        let element = format!("{{\"text\": \"{}\"}}", "x".repeat(10_000));
        let found = check("D008", &growing(60, 1, &element));
        assert_eq!(found[0].data.get("capacity"), Some(&DataValue::Int(1_674)));
        // (1,674 - 60) / (60 / 59) = 1,587 days after 2024-02-29.
        assert_eq!(found[0].data.get("full16MbOn"), Some(&DataValue::Text("2028-07-04".into())));
    }

    #[test]
    fn rf_01_the_copy_keeps_elements_of_different_parents_apart() {
        let found = check_with(
            "D008",
            "ns=db_shop.t_user",
            &growing(60, 20, "{\"_id\": $j, \"userId\": 7, \"text\": \"hello\"}"),
        );
        let command = &found[0].fix.as_ref().expect("a command").command();
        assert!(
            command.contains(
                r#".aggregate([{$unwind: {path: "$posts", includeArrayIndex: "elementNo"}}, {$replaceWith: {$mergeObjects: ["$posts", {_id: {parentUserId: "$_id", no: "$elementNo"}, parentUserId: "$_id", postId: "$posts._id"}]}}, {$merge: {into: "t_post", whenMatched: "keepExisting"}}])"#
            ),
            "{command}"
        );
        let index =
            r#"; db.getSiblingDB("db_shop").getCollection("t_post").createIndex({parentUserId: 1"#;
        assert!(command.contains(index), "{command}");
        assert!(
            found[0].todo.contains("keep their present `_id` as `postId`"),
            "{}",
            found[0].todo
        );
    }

    #[test]
    fn rf_01_two_parents_do_not_share_a_child_collection() {
        let posts = growing(60, 20, "{\"text\": \"hello\"}");
        let body = format!("@ db_shop.t_user\n{posts}@ db_shop.t_group\n{posts}");
        let todos: Vec<String> = check("D008", &body).into_iter().map(|f| f.todo).collect();
        assert_eq!(todos.len(), 2);
        assert!(todos.iter().any(|t| t.contains("`t_user_post`")), "{todos:?}");
        assert!(todos.iter().any(|t| t.contains("`t_group_post`")), "{todos:?}");
        let body = format!("@ db_shop.t_user\n{posts}@ db_shop.t_post\n{{\"_id\": 1}}");
        let found = check("D008", &body);
        assert!(found[0].todo.contains("`t_user_post`"), "{}", found[0].todo);
    }

    /// ALG-6: code that appends without a bound and data that grows are certain together.
    #[test]
    fn dm_08_2_alg_6_code_and_data_together_are_certain() {
        let mut body = String::new();
        for day in 0..120 {
            body.push_str(&format!(
                "{{\"_id\": ObjectId(\"{:08x}0000000000000000\"), \"events\": $array({}, {{\"n\": 1}})}}\n",
                0x6500_0000_u32 + day * 86_400,
                1 + (120 - day) * 5,
            ));
        }
        let judged = |cap: Option<Cap>| {
            let mut example = crate::testing::Example::new("D008", "", &body);
            example.evidence.code = cap.map(|cap| {
                let location =
                    docward_model::Location { file: "app.js".to_owned(), line: 7, column: 3 };
                let place = Place { location, function: None };
                let append = Append {
                    collection: Some("t_order_item".to_owned()),
                    // Without the data the code alone would be a finding.
                    in_loop: true,
                    value: [docward_model::code::Origin::Time].into(),
                    ..Append::plain(place, AppendKind::Push, "events".to_owned(), cap)
                };
                Code { appends: vec![append], files: 1, ..Code::default() }
            });
            let outcome = crate::judge(&example.evidence, &example.settings);
            let found = |rule: &str| {
                outcome
                    .findings
                    .iter()
                    .find(|f| f.rule == rule)
                    .map(|f| (f.severity, f.what.clone()))
            };
            (found("D008"), found("D020"))
        };
        let (data, _) = judged(None);
        assert_eq!(data.expect("it grows").0, Severity::Warn);
        let (both, alone) = judged(Some(Cap::None));
        let (severity, what) = both.expect("it grows");
        assert_eq!(severity, Severity::Error);
        assert!(what.contains("app.js:7 appends to it without a limit"), "{what}");
        assert!(alone.is_none(), "one finding, not two");
        let (kept, _) = judged(Some(Cap::Slice(-10)));
        assert_eq!(kept.expect("the data say so").0, Severity::Warn);
    }
}
