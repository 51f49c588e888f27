//! LM-5, DM-05.2: when documents that grow with age reach the limits.

use docward_model::{Collection, Draft, Observed, Profile, Severity, Subject};

use crate::facts::growth::arrays::{self, Limits, Owner};
use crate::facts::growth::forecast::{self, Credible, Forecast, dates};
use crate::facts::{growth::patterns, text, values::sizes};
use crate::{Cx, RULES, declare_rule, threshold};

declare_rule! {
    /// # Growing document
    ///
    /// ## What it checks
    /// Compares the size of documents with their age. If older documents are clearly larger, Docward forecasts
    /// when the largest and the typical document reach 10 MB and 16 MB; in core collections also 1 MB.
    /// - The forecast needs at least 50 documents over 7 days and a rank correlation above 0.5.
    /// - It assumes constant growth, starts at the newest document that was read, and covers five years.
    /// - It is a note if only 1 MB is reached, and a warning otherwise.
    ///
    /// If the growth comes from one array that D008 or R006 reports, only that rule reports it.
    ///
    /// ## With an earlier audit
    /// With `--earlier`, Docward compares the sizes of the same documents on two dates. The forecast is then for
    /// the first document to reach a limit. It needs:
    /// - at least `min-documents` documents present in both audits, at least `min-days` apart
    /// - growth in at least one of twenty documents, and more than twice as many grown as shrunk documents
    ///
    /// Growth that was undone between the two dates is not visible.
    ///
    /// ## Why it matters
    /// The server gives no warning before 16 MB. The write that crosses the limit fails, and so does every later
    /// write that adds to the document. With a forecast date the fix can be planned.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// x20 {"_id": ObjectId("$oid"), "notes": "$pad(900000)"}
    /// x20 {"_id": ObjectId("$oid"), "notes": "$pad(600000)"}
    /// x20 {"_id": ObjectId("$oid"), "notes": "$pad(300000)"}
    /// ```
    /// Documents of all ages have about the same size:
    /// ```jsonl,clean
    /// x60 {"_id": ObjectId("$oid"), "notes": "$pad(300)"}
    /// ```
    ///
    /// ## How to fix
    /// Find the field that grows. Move what is added over time to separate documents, or limit its length with
    /// each write.
    ///
    /// ## When to ignore it
    /// Old documents are larger for another reason: they were imported, or the format was reduced later.
    D002, "growing-document",
    level: Recommended,
    area: Growth,
    severities: [Warn, Info],
    clauses: ["LM-5", "DM-05.2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MIN_CORRELATION, MIN_DOCUMENTS, MIN_DAYS, HORIZON],
    data: [
        "correlation", "countedFrom", "grown", "largestPerDay", "largestReaches*", "max", "p50",
        "perDay", "rows", "seenTwice", "typicalReaches*",
    ],
    check: Collection(check),
}

threshold!(
    MIN_CORRELATION,
    "min-correlation",
    Float(0.5),
    "rank correlation",
    "ALG-6",
    "minimum correlation between size and age"
);
threshold!(
    MIN_DOCUMENTS,
    "min-documents",
    Int(50),
    "documents",
    "our default",
    "minimum number of documents of known age, or seen on two dates, for a forecast"
);
threshold!(
    MIN_DAYS,
    "min-days",
    Int(7),
    "days",
    "our default",
    "minimum number of days that these documents span, or between the two dates"
);
threshold!(
    HORIZON,
    "horizon-years",
    Int(5),
    "years",
    "our default",
    "maximum time until a limit is reached"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = patterns::user_documents(collection) else { return };
    let credible = Credible {
        correlation: cx.limit(&MIN_CORRELATION),
        rows: cx.count(&MIN_DOCUMENTS),
        days: cx.limit(&MIN_DAYS),
    };
    if let Some(seen) = profile.observed.filter(|seen| credible.is_seen(seen)) {
        report_seen(collection, profile, &seen, cx);
        return;
    }
    let Some(growth) = profile.growth else { return };
    if !credible.holds(&growth) || is_one_array(collection, profile, cx) {
        return;
    }
    let horizon = cx.limit(&HORIZON) * 365.25;
    let largest = profile.largest.first();
    let max = profile.sizes.max as f64;
    // The largest document has its own rate: its growth over its own life.
    let own_rate = largest
        .and_then(|d| d.age_days.filter(|&days| days >= 1.0))
        .map_or(growth.per_day, |days| (max / days).max(growth.per_day));
    let p50 = profile.sizes.p50() as f64;
    let at = |now: f64, rate: f64, limit: u64| {
        forecast::reach(now, limit as f64, rate, growth.newest_ms, horizon)
    };
    let mut limits = vec![sizes::DANGER, sizes::DOCUMENT_LIMIT];
    if cx.is_core(collection) {
        limits.insert(0, sizes::CORE_LIMIT);
    }
    let for_largest: Vec<(u64, Forecast)> =
        limits.iter().filter_map(|&l| Some((l, at(max, own_rate, l)?))).collect();
    let for_typical: Vec<(u64, Forecast)> =
        limits.iter().filter_map(|&l| Some((l, at(p50, growth.per_day, l)?))).collect();
    let Some((first_limit, first)) = for_largest.first() else { return };
    let severe = for_largest.iter().any(|(limit, _)| *limit >= sizes::DANGER);
    let owner = largest.filter(|d| !d.owner.is_empty());
    let mut draft = Draft::new(
        Subject::Collection(collection.namespace.clone()),
        format!(
            "older documents are larger; the largest ({}) gains {} a day: {}{}",
            text::bytes(profile.sizes.max),
            text::bytes(first.per_day.round() as u64),
            dates(&for_largest),
            forecast::counted_from(&growth),
        ),
        "once a document reaches 16 MB, MongoDB refuses every write that adds to it, without prior warning",
        format!(
            "{}; {}",
            owner.map_or_else(
                || "find the field that grows and store each addition as a separate document".to_owned(),
                |d| format!("store each addition to `{}` as a separate document, or limit the field's length in each write", d.owner)
            ),
            if for_typical.is_empty() {
                "the typical document stays below that size".to_owned()
            } else {
                format!("forecast for the typical document ({}): {}", text::bytes(p50 as u64), dates(&for_typical))
            }
        ),
        profile.seen(),
    )
    .deadline(first.date.clone(), text::bytes(*first_limit))
    .data("perDay", growth.per_day)
    .data("correlation", growth.correlation)
    .data("rows", growth.rows)
    .data("p50", p50 as u64)
    .data("max", profile.sizes.max)
    .data("largestPerDay", first.per_day)
    .data("countedFrom", text::date(growth.newest_ms).unwrap_or_default())
    .severity(if severe { Severity::Warn } else { Severity::Info });
    for (who, list) in [("largest", &for_largest), ("typical", &for_typical)] {
        for (limit, when) in list {
            draft = draft.data(&format!("{who}Reaches{limit}"), when.date.clone());
        }
    }
    cx.report(draft);
}

/// Growth that was observed between two dates needs no inference from ages.
fn report_seen(collection: &Collection, profile: &Profile, seen: &Observed, cx: &mut Cx<'_>) {
    if is_one_array(collection, profile, cx) {
        return;
    }
    let horizon = cx.limit(&HORIZON) * 365.25;
    let mut limits = vec![sizes::DANGER, sizes::DOCUMENT_LIMIT];
    if cx.is_core(collection) {
        limits.insert(0, sizes::CORE_LIMIT);
    }
    let first: Vec<(u64, Forecast)> = limits
        .iter()
        .filter_map(|&limit| {
            Some((limit, forecast::first_reach(seen, limit as f64, 0.0, horizon)?))
        })
        .collect();
    let Some((limit, when)) = first.first() else { return };
    let severe = first.iter().any(|(limit, _)| *limit >= sizes::DANGER);
    let mut draft = Draft::new(
        Subject::Collection(collection.namespace.clone()),
        format!(
            "document size {}; the fastest-growing document (+{} a day): {}",
            forecast::seen(seen),
            text::bytes(when.per_day.round() as u64),
            dates(&first),
        ),
        "once a document reaches 16 MB, MongoDB refuses every write that adds to it, without prior warning",
        "find the field that grows; store each addition as a separate document, or limit the field's length",
        profile.seen(),
    )
    .deadline(when.date.clone(), text::bytes(*limit))
    .data("perDay", seen.per_day)
    .data("seenTwice", seen.documents)
    .data("grown", seen.grown)
    .data("max", profile.sizes.max)
    .data("largestPerDay", when.per_day)
    .data("countedFrom", text::date(seen.to_ms).unwrap_or_default())
    .severity(if severe { Severity::Warn } else { Severity::Info });
    for (limit, when) in &first {
        draft = draft.data(&format!("largestReaches{limit}"), when.date.clone());
    }
    cx.report(draft);
}

/// Whether the growth is that of an array that another rule reports with a separate forecast. A rule that is turned off
/// reports nothing.
fn is_one_array(collection: &Collection, profile: &Profile, cx: &Cx<'_>) -> bool {
    let settings = cx.settings();
    let ns = collection.namespace.to_string();
    let speaks = |code: &str| {
        RULES.iter().map(|r| &r.meta).any(|rule| {
            rule.code == code && settings.is_on(rule) && !settings.is_ignored_at(rule, &ns)
        })
    };
    let (arrays_on, ids_on) = (speaks("D008"), speaks("R006"));
    let limits = Limits::of(cx.settings(), &collection.namespace);
    profile.fields.iter().filter(|f| f.array.is_some() && f.bytes * 2 > profile.sizes.sum).any(
        |f| match arrays::owner(cx.settings(), cx.evidence(), collection, profile, f, &limits) {
            Some(Owner::Unbounded(_)) => arrays_on,
            Some(Owner::Ids(Some(_))) => ids_on,
            _ => false,
        },
    )
}

#[cfg(test)]
mod tests {
    use docward_model::Severity;

    use crate::testing::{Example, check, check_with};

    /// Sixty documents a day apart; older ones are larger, by `step` bytes a day.
    fn growing(step: u64) -> String {
        (0..60).fold(String::new(), |mut body, i| {
            body.push_str(&format!(
                "{{\"_id\": ObjectId(\"{:08x}0000000000000000\"), \"s\": \"$pad({})\"}}\n",
                1_704_067_200 + i * 86_400,
                1000 + (60 - i) * step
            ));
            body
        })
    }

    #[test]
    fn lm_5_dates_follow_from_the_slope() {
        let found = check("D002", &growing(20_000));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].severity, Severity::Warn);
        // 1.2 MB after 59 days, 20,350 bytes a day: 16 MB after 765 more, counted from 2024-02-29.
        assert!(found[0].what.contains("and 16 MB on 2026-04-0"), "{}", found[0].what);
        // A day in the past is not a deadline.
        assert!(!found[0].todo.contains("before"), "{}", found[0].todo);
    }

    #[test]
    fn lm_5_slow_growth_is_not_reported() {
        assert_eq!(check("D002", &growing(10)), []);
    }

    #[test]
    fn few_documents_prove_nothing() {
        let body = growing(5_000);
        assert_eq!(check("D002", &body)[0].severity, Severity::Info);
        assert_eq!(check_with("D002", "min-documents=61", &body), []);
        assert_eq!(check_with("D002", "min-days=70", &body), []);
    }

    #[test]
    fn a_growing_array_is_left_to_its_own_rule() {
        let days = |n: u64| {
            format!(
                "x20 {{\"_id\": ObjectId(\"$oid\"), \"events\": $array({n}, {{\"n\": \"{}\"}})}}\n",
                "x".repeat(90)
            )
        };
        let body = [days(3000), days(2000), days(1000)].concat();
        let mut example = Example::new("D002", "", &body);
        let mut found = |select: &[&str], ignore: &[&str]| -> Vec<std::borrow::Cow<'static, str>> {
            let list = |codes: &[&str]| codes.iter().map(|c| (*c).to_owned()).collect();
            example.settings.select = list(select);
            example.settings.ignore = list(ignore);
            let outcome = crate::judge(&example.evidence, &example.settings);
            outcome.findings.iter().map(|f| f.rule.clone()).collect()
        };
        assert_eq!(found(&["D002", "D008"], &[]), ["D008"]);
        // If that rule is turned off, this one reports the document.
        assert_eq!(found(&["D002", "D008"], &["D008"]), ["D002"]);
        assert_eq!(found(&["D002"], &[]), ["D002"]);
    }
}
