//! The launch checklist (CK-1..15): each item with a verdict and its evidence. CK-10 can only be
//! answered by a person, in a waiver. An item is `unknown`, with the reason, if a rule or an input
//! that it depends on is missing; some items need a workload, one needs a shard key.
//!
//! The list never contradicts the findings. Every finding that cites an item counts against it,
//! regardless of its rule, and [`verdict`] decides how much. Only the rules that an item depends on
//! can prevent it from passing.

mod keys;
mod said;

use docward_model::{
    ChecklistItem, Collection, DataValue, Evidence, Field, Finding, Level, Need, Profile, Settings,
    Severity, Verdict, Workload,
};

use docward_rules::facts::{
    deployment::business, growth::patterns, indexes::sharding, relations::joins, text,
    thresholds::w011, values::sizes::Figures,
};
use docward_rules::{Outcome, RULES, Rule};
use said::{first, left_open, places, read, seen, shortened};

/// The size limit of core documents (CK-2).
const CORE_BYTES: u64 = 1_048_576;
/// A tenth of the hard limit (CK-14, GC-25).
const P99_BYTES: u64 = 1_677_721;
/// Nesting that passes, and nesting that passes with a warning (CK-3, GC-03).
const DEPTH_EASY: u32 = 3;
const DEPTH_MOST: u32 = 5;
/// The limits of collections per instance and per database (CK-7, GC-05).
const INSTANCE: u64 = 5000;
const DATABASE: u64 = 100;

/// The outcome including suppressed findings: a suppression hides a finding from reports, but only
/// a waiver signs an item off.
pub(crate) fn with_withheld(outcome: &Outcome) -> Outcome {
    let findings = outcome.findings.iter().chain(&outcome.withheld).cloned().collect();
    Outcome { findings, skipped: outcome.skipped.clone(), ..Outcome::default() }
}

/// The verdict that findings give to the item they cite: an error fails it. A warning fails it too
/// if the rule book allows no deviation, and otherwise gives `warn`. Information has no effect.
pub(crate) fn verdict(against: &[&Finding], on_warning: Verdict) -> Option<Verdict> {
    match against.iter().map(|finding| finding.severity).max()? {
        Severity::Error => Some(Verdict::Fail),
        Severity::Warn => Some(on_warning),
        Severity::Info => None,
    }
}

/// The verdict that a warning gives to an item. Nesting and collections per database have an
/// advised limit below the failing one (GC-03, DM-12.2); a warning contradicts the requirement of
/// all other items.
fn on_warning(id: &str) -> Verdict {
    if matches!(id, "CK-3" | "CK-7") { Verdict::Warn } else { Verdict::Fail }
}

/// An item with its answer, and the waiver if it did not pass.
pub(crate) fn signed_off(
    settings: &Settings,
    id: &'static str,
    title: &'static str,
    (verdict, mut evidence): (Verdict, String),
) -> ChecklistItem {
    let today = settings.today.as_deref();
    let given = settings.waivers.iter().filter(|waiver| waiver.item == id);
    let (expired, mut valid): (Vec<_>, Vec<_>) = given.partition(|waiver| waiver.is_expired(today));
    if matches!(verdict, Verdict::Pass | Verdict::NotApplicable) {
        if !expired.is_empty() || !valid.is_empty() {
            evidence.push_str("; its waiver in docward.toml is no longer needed: remove it");
        }
        valid.clear();
    } else if let (Some(waiver), []) = (expired.last(), valid.as_slice()) {
        let day = waiver.expires.as_deref().unwrap_or_default();
        evidence.push_str(&format!("; its waiver expired on {day}"));
    }
    let waiver = valid.first().map(|waiver| (*waiver).clone());
    ChecklistItem { id: id.into(), title: title.into(), verdict, evidence, waiver }
}

/// The items that data, a workload and declared keys can answer.
pub fn checklist(
    evidence: &Evidence,
    settings: &Settings,
    outcome: &Outcome,
) -> Vec<ChecklistItem> {
    let outcome = &with_withheld(outcome);
    let view = View { evidence, settings, outcome };
    let item = |id, title, answer| signed_off(settings, id, title, view.in_line(id, answer));
    let arrays = view.arrays();
    vec![
        item("CK-1", "Names follow the naming rules", view.names()),
        item("CK-2", "Core documents stay within 1 MB", view.sizes()),
        item("CK-3", "Documents nest no deeper than 5 layers", view.depth()),
        item("CK-4", "No array grows without bound", arrays.clone()),
        item("CK-5", "Dates are dates and money is decimal", view.types()),
        item("CK-6", "Core collections have a validator with constraints", view.validation()),
        item("CK-7", "The number of collections stays within bounds", view.collections()),
        item("CK-8", "Every array is bounded, or stored in its own collection", arrays),
        item("CK-9", "One document answers each hot read", view.single_reads()),
        item(
            "CK-10",
            "Values that must change together are in one document or in a transaction",
            people(),
        ),
        item("CK-11", "Frequently read totals are stored", view.figures()),
        item("CK-12", "Every query pattern has an index", view.indexed()),
        item(
            "CK-13",
            "Shard keys have many values and do not increase \
         monotonically",
            view.shard_keys(),
        ),
        item("CK-14", "Documents stay well below 16 MB at the 99th percentile", view.headroom()),
        item("CK-15", "Read-modify-write uses one atomic operation", view.one_step()),
    ]
}

/// The answer to an item that neither data nor a workload can answer.
fn people() -> Answer {
    let evidence = "Docward cannot know which values must agree: sign this item off under \
     `[[waive]]` in docward.toml, and name where each value is stored";
    (Verdict::Unknown, evidence.to_owned())
}

/// The reason why this number of recorded operations proves nothing, if there is one: only
/// connections, only unfinished operations, or too few for the rules to find anything.
fn too_few(recorded: u64) -> Option<String> {
    let enough = w011::MIN_COUNT.default_number() as u64;
    match recorded {
        0 => Some("the workload shows no completed operation".to_owned()),
        few if few < enough => Some(format!(
            "the workload shows {}, too few to judge (minimum: {enough})",
            text::plural(few, "operation")
        )),
        _ => None,
    }
}

/// The inputs of a checklist.
pub(crate) struct View<'a> {
    pub(crate) evidence: &'a Evidence,
    pub(crate) settings: &'a Settings,
    pub(crate) outcome: &'a Outcome,
}

/// A verdict and the evidence for it.
pub(crate) type Answer = (Verdict, String);

impl<'a> View<'a> {
    /// CK-1: every rule about DM-01..04 is clean. Connection strings are not required for a review
    /// of data.
    fn names(&self) -> Answer {
        let naming = |rule: &&&Rule| {
            rule.meta.level != Level::Information
                && !rule.meta.needs.contains(&Need::Uris)
                && rule.meta.clauses.iter().any(|c| {
                    ["DM-01", "DM-02", "DM-03", "DM-04"].iter().any(|spec| c.starts_with(spec))
                })
        };
        let codes: Vec<&str> = RULES.iter().filter(naming).map(|r| r.meta.code).collect();
        self.clean(
            "CK-1",
            &codes,
            "finding about names",
            "findings about names",
            "no name breaks a naming rule",
        )
    }

    /// CK-2: the largest document of each core collection.
    fn sizes(&self) -> Answer {
        let core = self.sized(|c| business::is_core(self.settings, c));
        let Some((collection, worst)) = core.iter().max_by_key(|(_, f)| f.sizes.max) else {
            return (Verdict::Unknown, "no documents of core collections were read".to_owned());
        };
        let over: Vec<String> = core
            .iter()
            .filter(|(_, figures)| figures.sizes.max > CORE_BYTES)
            .map(|(c, figures)| {
                format!(
                    "`{}` ({} above, largest {})",
                    c.namespace,
                    text::plural(figures.larger_than(CORE_BYTES).max(1), "document"),
                    text::bytes_beyond(figures.sizes.max, CORE_BYTES)
                )
            })
            .collect();
        if over.is_empty() {
            let p99 = core.iter().map(|(_, figures)| figures.sizes.p99()).max().unwrap_or(0);
            (
                Verdict::Pass,
                format!(
                    "largest {} in `{}`, p99 at most {}, {}",
                    text::bytes(worst.sizes.max),
                    collection.namespace,
                    text::bytes(p99),
                    seen(&core, left_open)
                ),
            )
        } else {
            (Verdict::Fail, format!("larger than 1 MB: {}", first(&over)))
        }
    }

    /// Lowers an answer to the verdict of the findings that cite the item.
    fn in_line(&self, id: &str, (said, evidence): Answer) -> Answer {
        let against = self.against(id, &[]);
        let worse = match (verdict(&against, on_warning(id)), said) {
            (Some(Verdict::Fail), said) if said != Verdict::Fail => Verdict::Fail,
            (Some(Verdict::Warn), said) if !matches!(said, Verdict::Fail | Verdict::Warn) => {
                Verdict::Warn
            }
            _ => return (said, evidence),
        };
        let loudest = against.iter().map(|finding| finding.severity).max();
        let loudest: Vec<&Finding> =
            against.into_iter().filter(|finding| Some(finding.severity) == loudest).collect();
        let mut codes: Vec<&str> = loudest.iter().map(|finding| &*finding.rule).collect();
        codes.dedup();
        let found = first(&places(&loudest));
        (worse, format!("{} in {found}; {evidence}", codes.join(", ")))
    }

    /// CK-3: the deepest path of each core collection; 4 and 5 levels give a warning.
    fn depth(&self) -> Answer {
        let core = self.core();
        let Some((collection, profile)) = core.iter().max_by_key(|(_, p)| p.max_depth) else {
            return (Verdict::Unknown, "no documents of core collections were read".to_owned());
        };
        let depth = profile.max_depth;
        let at = profile
            .deepest
            .as_ref()
            .map_or_else(String::new, |p| format!(" at `{}`", shortened(p.as_str())));
        let place = format!(
            "{} in `{}`{at}",
            text::plural(u64::from(depth), "layer"),
            collection.namespace
        );
        let seen = format!("{}{}", read(&core), left_open(&core));
        match depth {
            0 => (Verdict::Pass, format!("nothing is nested, {seen}")),
            _ if depth <= DEPTH_EASY => (Verdict::Pass, format!("deepest {place}, {seen}")),
            _ if depth <= DEPTH_MOST => (
                Verdict::Warn,
                format!("{place} (recommended: {DEPTH_EASY}, limit: {DEPTH_MOST}); {seen}"),
            ),
            _ => (Verdict::Fail, format!("{place} (limit: {DEPTH_MOST})")),
        }
    }

    /// CK-4 and CK-8: arrays that grow fail; arrays with a visible bound pass; only the writing
    /// programs can answer for the rest.
    fn arrays(&self) -> Answer {
        let growing = places(&self.against("CK-4", &["D008"]));
        if !growing.is_empty() {
            let what = match growing.len() {
                1 => "1 array grows or is appended to".to_owned(),
                n => format!("{n} arrays grow or are appended to"),
            };
            return (Verdict::Fail, format!("{what} without bound: {}", first(&growing)));
        }
        let read = self.documents();
        if read.is_empty() {
            return (Verdict::Unknown, "no documents were read".to_owned());
        }
        let gaps = self.gaps(&["D008"]);
        if !gaps.is_empty() {
            return (Verdict::Unknown, gaps.join("; "));
        }
        let mut arrays = 0u64;
        let mut open = Vec::new();
        for (collection, profile) in &read {
            for field in profile.fields.iter().filter(|f| f.array.is_some()) {
                arrays += 1;
                if !self.has_cap(collection, profile, field) {
                    open.push(format!("`{}` of `{}`", field.path, collection.namespace));
                }
            }
        }
        if open.is_empty() {
            let said = match arrays {
                0 => format!("no arrays, {}", self::read(&read)),
                n => format!(
                    "every array has a cap (declared, in the validator, or by its pattern): {}",
                    text::plural(n, "array")
                ),
            };
            return (Verdict::Pass, said);
        }
        let seen = if self.evidence.code.is_some() {
            "no array is seen to grow and the code has no uncapped append, but some arrays \
             have no visible cap"
        } else {
            "no array grows visibly, but no code was checked, and some arrays have no visible cap"
        };
        (
            Verdict::Unknown,
            format!(
                "{seen} ({} of {}): {}",
                text::count(open.len() as u64),
                text::plural(arrays, "array"),
                first(&open)
            ),
        )
    }

    /// Returns whether a deliberate bound exists: in the validator, in docward.toml, or by a
    /// pattern (bucket, page, preview, geometry). Lengths that happen to stay below a value prove
    /// nothing.
    fn has_cap(&self, collection: &Collection, profile: &Profile, field: &Field) -> bool {
        patterns::bound(self.settings, collection, profile, field)
            .is_some_and(|bound| bound.is_by_design())
    }

    /// CK-5.
    fn types(&self) -> Answer {
        self.clean(
            "CK-5",
            &["T001", "T002"],
            "field stores dates as text, money as doubles or states as numbers",
            "fields store dates as text, money as doubles or states as numbers",
            &format!(
                "no dates are stored as text and no money as doubles{}",
                left_open(&self.documents())
            ),
        )
    }

    /// CK-6.
    fn validation(&self) -> Answer {
        let core = self
            .evidence
            .collections
            .iter()
            .filter(|c| c.options.is_some() && business::is_core(self.settings, c))
            .count() as u64;
        let has_options = self.evidence.collections.iter().any(|c| c.options.is_some());
        let is_read = self.evidence.collections.iter().any(|c| c.profile.is_some());
        if core == 0 && has_options && !is_read && self.findings(&["V001", "V004"]).is_empty() {
            let evidence = "the core collections are unknown, because no documents were read: \
             declare them under `core` in docward.toml, or read documents";
            return (Verdict::Unknown, evidence.to_owned());
        }
        self.clean(
            "CK-6",
            &["V001", "V004"],
            "collection has no effective validator",
            "collections have no effective validator",
            &format!("{} checked", text::plural(core, "core collection")),
        )
    }

    /// CK-7: too many on the instance fail, too many in a database give a warning.
    fn collections(&self) -> Answer {
        let gaps = self.gaps(&["L001", "L002"]);
        let all = self.evidence.collections.iter().filter(|c| c.kind.is_business());
        let total = all.clone().count() as u64;
        let fullest = self
            .evidence
            .databases
            .iter()
            .map(|db| {
                let n = all.clone().filter(|c| c.namespace.database == *db).count() as u64;
                (n, std::cmp::Reverse(db))
            })
            .max();
        let numbers = match fullest {
            Some((n, std::cmp::Reverse(db))) => format!(
                "{} in total (limit {}), {} in `{db}` (recommended: at most {DATABASE})",
                text::plural(total, "collection"),
                text::count(INSTANCE),
                text::count(n)
            ),
            None => format!("{} in total", text::plural(total, "collection")),
        };
        let instance = self.findings(&["L001"]);
        // At the limit itself, L001 and the item give a warning (DM-12.1).
        let over = |f: &&&Finding| match (f.data.get("collections"), f.data.get("limit")) {
            (Some(DataValue::Int(n)), Some(DataValue::Int(limit))) => n > limit,
            _ => true,
        };
        if instance.iter().any(|f| over(&f)) {
            return (Verdict::Fail, numbers);
        }
        if let Some(finding) = instance.first()
            && gaps.is_empty()
        {
            let reached = finding.data.get("collections") == finding.data.get("limit");
            let what = if reached {
                "the limit is reached"
            } else {
                "more data files than the server can open"
            };
            return (Verdict::Warn, format!("{what}; {numbers}"));
        }
        if !gaps.is_empty() {
            return (Verdict::Unknown, gaps.join("; "));
        }
        match self.findings(&["L002"]).len() {
            0 => (Verdict::Pass, numbers),
            1 => (Verdict::Warn, format!("1 database has too many collections; {numbers}")),
            n => (Verdict::Warn, format!("{n} databases have too many collections; {numbers}")),
        }
    }

    /// CK-9.
    fn single_reads(&self) -> Answer {
        // A joining path needs the other collection on every execution, whatever its frequency.
        let rare = joins::reads(self.evidence);
        let rare: Vec<_> = rare.values().flat_map(|reads| reads.paths.iter()).collect();
        let seldom = match rare.len() as u64 {
            0 => String::new(),
            paths => format!(
                "; {} that {} rarely {} a second collection every time, in {}",
                text::plural(paths, "read path"),
                text::form(paths, "comes", "come"),
                text::form(paths, "needs", "need"),
                text::plural(rare.iter().map(|path| path.count).sum(), "operation")
            ),
        };
        self.clean(
            "CK-9",
            &["W004", "W006"],
            "collection has a hot read path that almost always needs a second collection",
            "collections have a hot read path that almost always needs a second collection",
            &format!(
                "no hot read path in the workload needs a second collection every time{seldom}"
            ),
        )
    }

    /// CK-11.
    fn figures(&self) -> Answer {
        self.clean(
            "CK-11",
            &["W005"],
            "total is computed repeatedly",
            "totals are computed repeatedly",
            "no total in the workload is computed repeatedly",
        )
    }

    /// CK-12.
    fn indexed(&self) -> Answer {
        const CODES: [&str; 3] = ["W001", "W002", "W003"];
        // Rare events are mentioned, but do not fail the item.
        let told = self.outcome.findings.iter().filter(|f| CODES.contains(&&*f.rule)).count();
        let none = match told {
            0 => "no query pattern in the workload scans its collection, reads far more than it returns or sorts in memory".to_owned(),
            1 => "no frequent query pattern lacks an index; one rare pattern does".to_owned(),
            n => format!(
                "no frequent query pattern lacks an index; {n} rare patterns do"
            ),
        };
        self.clean(
            "CK-12",
            &CODES,
            "query pattern has no suitable index",
            "query patterns have no suitable index",
            &none,
        )
    }

    /// CK-13.
    fn shard_keys(&self) -> Answer {
        if self.settings.shard_keys.is_empty()
            && sharding::is_unsharded(self.evidence, self.settings)
        {
            let evidence = "the deployment is not sharded, and no shard key is declared";
            return (Verdict::NotApplicable, evidence.to_owned());
        }
        let mut codes = vec!["K001", "K002", "K003"];
        // The state of a key is only known in a cluster.
        if sharding::cluster(self.evidence).is_some() {
            codes.push("K005");
        }
        self.as_far_as_order_tells(self.clean(
            "CK-13",
            &codes,
            "shard key breaks a requirement",
            "shard keys break a requirement",
            "the shard keys have enough values, none dominates, and none increases monotonically",
        ))
    }

    /// CK-15.
    fn one_step(&self) -> Answer {
        self.clean(
            "CK-15",
            &["W010"],
            "collection is read and then updated in a second step",
            "collections are read and then updated in a second step",
            "no document in the workload is read and then overwritten in a second step",
        )
    }

    /// CK-14.
    fn headroom(&self) -> Answer {
        let all = self.sized(|_| true);
        let Some((collection, figures)) = all.iter().max_by_key(|(_, f)| f.sizes.p99()) else {
            return (Verdict::Unknown, "no documents were read".to_owned());
        };
        let p99 = figures.sizes.p99();
        let said = format!(
            "p99 at most {} (`{}`), {} allowed, {}",
            text::bytes(p99),
            collection.namespace,
            text::bytes(P99_BYTES),
            seen(&all, |_| String::new())
        );
        (if p99 <= P99_BYTES { Verdict::Pass } else { Verdict::Fail }, said)
    }

    /// Passes if the rules it depends on, and others that cite the item, found nothing at warning
    /// or above. Missing source code does not prevent a pass, because the data shows the result.
    fn clean(&self, id: &str, codes: &[&'static str], one: &str, many: &str, none: &str) -> Answer {
        let against = self.against(id, codes);
        let found = places(&against);
        if let Some(verdict) = verdict(&against, on_warning(id)) {
            // Query patterns have no place: several belong to one collection.
            let count = if id == "CK-12" { against.len() } else { found.len() };
            let noun = if count == 1 { one } else { many };
            return (verdict, format!("{} {noun}: {}", text::count(count as u64), first(&found)));
        }
        let asks_for_code = |code: &str| {
            RULES.iter().any(|r| r.meta.code == code && r.meta.needs.contains(&Need::Code))
        };
        let vouching: Vec<&str> = codes
            .iter()
            .copied()
            .filter(|code| self.evidence.code.is_some() || !asks_for_code(code))
            .collect();
        let codes = vouching.as_slice();
        let mut gaps = self.gaps(codes);
        let recorded = self.evidence.workload.as_ref().map(Workload::operations);
        let mut said = none.to_owned();
        if let (Some(recorded), true) = (recorded, codes.iter().all(|code| code.starts_with('W'))) {
            gaps.extend(too_few(recorded));
            said.push_str(&format!(" ({} recorded)", text::plural(recorded, "operation")));
        }
        if gaps.is_empty() { (Verdict::Pass, said) } else { (Verdict::Unknown, gaps.join("; ")) }
    }

    /// The findings against an item: those of these rules, and those that cite it.
    fn against(&self, id: &str, codes: &[&str]) -> Vec<&'a Finding> {
        let speaks = |f: &&Finding| codes.contains(&&*f.rule) || f.cites(id);
        let found = self.outcome.findings.iter();
        found.filter(|f| f.severity >= Severity::Warn).filter(speaks).collect()
    }

    fn findings(&self, codes: &[&str]) -> Vec<&'a Finding> {
        self.outcome
            .findings
            .iter()
            .filter(|f| codes.contains(&&*f.rule) && f.severity >= Severity::Warn)
            .collect()
    }

    /// The rules among these that are turned off.
    pub(crate) fn switched_off<'c>(&self, codes: &[&'c str]) -> Vec<&'c str> {
        let is_off = |code: &&&str| {
            RULES.iter().any(|r| r.meta.code == **code && !self.settings.is_on(&r.meta))
        };
        codes.iter().filter(is_off).copied().collect()
    }

    /// The reasons why the rules of an item prove nothing.
    fn gaps(&self, codes: &[&str]) -> Vec<String> {
        let off = self.switched_off(codes);
        let mut blind: Vec<(&str, &str)> = Vec::new();
        let mut ignored = Vec::new();
        let mut absent = Vec::new();
        for &code in codes {
            let Some(rule) = RULES.iter().find(|r| r.meta.code == code) else {
                absent.push(code);
                continue;
            };
            if off.contains(&code) {
                continue;
            }
            if let Some(skip) = self.outcome.skipped.iter().find(|s| s.rule == code) {
                blind.push((code, &skip.needs));
            } else if let Some(at) = self
                .evidence
                .collections
                .iter()
                .map(|c| c.namespace.to_string())
                .find(|ns| self.settings.is_ignored_at(&rule.meta, ns))
            {
                ignored.push(format!("{code} is ignored at `{at}`"));
            }
        }
        if codes.is_empty() {
            return vec!["no rule checks it".to_owned()];
        }
        let mut gaps = Vec::new();
        if !off.is_empty() {
            gaps.push(format!("turned off: {}", off.join(", ")));
        }
        if let Some((_, needs)) = blind.first() {
            let codes: Vec<&str> = blind.iter().map(|(code, _)| *code).collect();
            gaps.push(format!("not checked, needs {needs}: {}", codes.join(", ")));
        }
        gaps.extend(ignored);
        if !absent.is_empty() {
            gaps.push(format!("not part of this version: {}", absent.join(", ")));
        }
        gaps
    }

    /// Core collections whose documents were read.
    fn core(&self) -> Vec<(&'a Collection, &'a Profile)> {
        self.documents().into_iter().filter(|(c, _)| business::is_core(self.settings, c)).collect()
    }

    /// Business collections whose documents the server counted or Docward read, with their sizes.
    fn sized(&self, wanted: impl Fn(&Collection) -> bool) -> Vec<(&'a Collection, Figures<'a>)> {
        let business = self.evidence.collections.iter().filter(|c| c.kind.is_business());
        business
            .filter(|c| wanted(c))
            .filter_map(|c| {
                let read = c.profile.as_ref().filter(|p| p.documents > 0);
                Some((c, Figures::of(c, read).filter(|figures| figures.documents > 0)?))
            })
            .collect()
    }

    /// Business collections whose documents were read.
    fn documents(&self) -> Vec<(&'a Collection, &'a Profile)> {
        self.evidence
            .collections
            .iter()
            .filter(|c| c.kind.is_business())
            .filter_map(|c| Some((c, c.profile.as_ref().filter(|p| p.documents > 0)?)))
            .collect()
    }
}

#[cfg(test)]
mod tests;
