//! The launch checklist (CK-1..15): each item with a verdict and the evidence for it. CK-10 only a person
//! can answer, in a waiver. An item is `unknown`, and says why, when something it
//! rests on was switched off or could not be seen; some need a workload, one a shard key.
//!
//! An item that is answered by rules fails by every finding that cites it, whichever rule it is of, so that
//! the list never contradicts the findings beside it. Only the rules it rests on can keep it from passing.

use docward_model::{
    ChecklistItem, Collection, DataValue, Evidence, Field, Finding, Level, Need, Profile, Settings,
    Severity, Subject, Verdict,
};

use crate::facts::{business, patterns, sharding, text};
use crate::{Outcome, RULES, Rule};

/// Core documents stay within this (CK-2).
const CORE_BYTES: u64 = 1_048_576;
/// A tenth of the hard limit (CK-14, GC-25).
const P99_BYTES: u64 = 1_677_721;
/// Nesting that passes without a word, and nesting that still passes (CK-3, GC-03).
const DEPTH_EASY: u32 = 3;
const DEPTH_MOST: u32 = 5;
/// Collections of an instance and of a database (CK-7, GC-05).
const INSTANCE: u64 = 5000;
const DATABASE: u64 = 100;
/// Places an item names before it only counts.
const NAMED: usize = 3;

/// The outcome with what is suppressed: a suppression keeps a finding out of reports, only a waiver signs
/// an item off.
pub(crate) fn with_withheld(outcome: &Outcome) -> Outcome {
    let findings = outcome.findings.iter().chain(&outcome.withheld).cloned().collect();
    Outcome { findings, skipped: outcome.skipped.clone(), ..Outcome::default() }
}

/// An item with its answer, and the waiver for one that did not pass.
pub(crate) fn signed_off(
    settings: &Settings,
    id: &'static str,
    title: &'static str,
    (verdict, mut evidence): (Verdict, String),
) -> ChecklistItem {
    let today = settings.today.as_deref();
    let given = settings.waivers.iter().filter(|waiver| waiver.item == id);
    let (expired, mut valid): (Vec<_>, Vec<_>) = given.partition(|waiver| waiver.is_expired(today));
    if verdict == Verdict::Pass {
        if !expired.is_empty() || !valid.is_empty() {
            evidence.push_str("; its waiver in docward.toml is not needed any more: remove it");
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
    let item = |id, title, answer| signed_off(settings, id, title, answer);
    let arrays = view.arrays();
    vec![
        item("CK-1", "Names follow the naming rules", view.names()),
        item("CK-2", "Core documents stay within 1 MB", view.sizes()),
        item("CK-3", "Documents nest no deeper than 5 layers", view.depth()),
        item("CK-4", "No array grows without bound", arrays.clone()),
        item("CK-5", "Dates are dates and money is decimal", view.types()),
        item(
            "CK-6",
            "Core collections have a validator that asks for something",
            view.validation(),
        ),
        item("CK-7", "The number of collections stays within bounds", view.collections()),
        item("CK-8", "Every array is bounded or has a collection of its own", arrays),
        item("CK-9", "Hot reads are answered by one document", view.single_reads()),
        item(
            "CK-10",
            "What must change together is in one document, or in a transaction",
            people(),
        ),
        item("CK-11", "Figures that are read often are stored", view.figures()),
        item("CK-12", "Every query pattern has an index", view.indexed()),
        item("CK-13", "Shard keys have many values and do not rise", view.shard_keys()),
        item("CK-14", "Documents stay well below 16 MB at the 99th percentile", view.headroom()),
        item("CK-15", "What is read to be changed is changed in one operation", view.one_step()),
    ]
}

/// What neither data nor a workload can answer.
fn people() -> Answer {
    let evidence = "which figures have to agree is for people to say: sign it off under `[[waive]]` in \
                    docward.toml, with where each is kept";
    (Verdict::Unknown, evidence.to_owned())
}

/// What a list is answered from.
pub(crate) struct View<'a> {
    pub(crate) evidence: &'a Evidence,
    pub(crate) settings: &'a Settings,
    pub(crate) outcome: &'a Outcome,
}

/// A verdict and the evidence for it.
pub(crate) type Answer = (Verdict, String);

impl<'a> View<'a> {
    /// CK-1: every rule about DM-01..04 is clean. A review of data does not wait for connection strings.
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
            "name breaks a naming rule",
            "names break a naming rule",
            "no name breaks a naming rule",
        )
    }

    /// CK-2: the largest document of each core collection.
    fn sizes(&self) -> Answer {
        let core = self.core();
        let Some(worst) = core.iter().max_by_key(|(_, p)| p.sizes.max) else {
            return (Verdict::Unknown, "no documents of core collections were read".to_owned());
        };
        let over: Vec<String> = core
            .iter()
            .filter(|(_, p)| p.sizes.max > CORE_BYTES)
            .map(|(c, p)| {
                format!(
                    "`{}` ({} above, largest {})",
                    c.namespace,
                    text::plural(p.documents_larger_than(CORE_BYTES).max(1), "document"),
                    text::bytes_beyond(p.sizes.max, CORE_BYTES)
                )
            })
            .collect();
        if over.is_empty() {
            let p99 = core.iter().map(|(_, p)| p.sizes.p99()).max().unwrap_or(0);
            (
                Verdict::Pass,
                format!(
                    "largest {} in `{}`, p99 at most {}, {}{}",
                    text::bytes(worst.1.sizes.max),
                    worst.0.namespace,
                    text::bytes(p99),
                    read(&core),
                    left_open(&core)
                ),
            )
        } else {
            (Verdict::Fail, format!("larger than 1 MB: {}", first(&over)))
        }
    }

    /// CK-3: the deepest path of each core collection; 4 and 5 pass with a warning.
    fn depth(&self) -> Answer {
        let core = self.core();
        let Some((collection, profile)) = core.iter().max_by_key(|(_, p)| p.max_depth) else {
            return (Verdict::Unknown, "no documents of core collections were read".to_owned());
        };
        let depth = profile.max_depth;
        let at = profile.deepest.as_ref().map_or_else(String::new, |p| format!(" at `{p}`"));
        let place = format!(
            "{} in `{}`{at}",
            text::plural(u64::from(depth), "layer"),
            collection.namespace
        );
        let seen = format!("{}{}", read(&core), left_open(&core));
        match depth {
            0 => (Verdict::Pass, format!("nothing is nested, {seen}")),
            _ if depth <= DEPTH_EASY => (Verdict::Pass, format!("deepest {place}, {seen}")),
            _ if depth <= DEPTH_MOST => {
                (Verdict::Pass, format!("warning: {place}, more than {DEPTH_EASY}, {seen}"))
            }
            _ => (Verdict::Fail, format!("{place}, more than {DEPTH_MOST}")),
        }
    }

    /// CK-4 and CK-8: what grows fails; what has a cap that can be seen passes; the rest only the
    /// programs that write can answer.
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
                    "each of {} has a cap: declared, in the validator, or by its pattern",
                    text::plural(n, "array")
                ),
            };
            return (Verdict::Pass, said);
        }
        let seen = if self.evidence.code.is_some() {
            "nothing grows visibly and no append without a cap was found in the code, but not every cap can be seen"
        } else {
            "nothing grows visibly, but the programs that write were not seen"
        };
        (
            Verdict::Unknown,
            format!(
                "{seen}: {} of {} without a visible cap: {}",
                text::count(open.len() as u64),
                text::plural(arrays, "array"),
                first(&open)
            ),
        )
    }

    /// A cap somebody decided on: in the validator, in docward.toml, or by a pattern (bucket, page,
    /// preview, geometry). Lengths that merely happen to stop somewhere are no proof.
    fn has_cap(&self, collection: &Collection, profile: &Profile, field: &Field) -> bool {
        patterns::bound(self.settings, collection, profile, field)
            .is_some_and(|bound| bound.is_by_design())
    }

    /// CK-5.
    fn types(&self) -> Answer {
        self.clean(
            "CK-5",
            &["T001", "T002"],
            "field holds dates as text, money as doubles or states as numbers",
            "fields hold dates as text, money as doubles or states as numbers",
            &format!("no dates as text, no money as doubles{}", left_open(&self.documents())),
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
        self.clean(
            "CK-6",
            &["V001", "V004"],
            "collection lacks a validator worth the name",
            "collections lack a validator worth the name",
            &format!("{} looked at", text::plural(core, "core collection")),
        )
    }

    /// CK-7: the instance passes or fails, a database only warns.
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
                "{} in all (at most {}), {} in `{db}` (at most {DATABASE} advised)",
                text::plural(total, "collection"),
                text::count(INSTANCE),
                text::count(n)
            ),
            None => format!("{} in all", text::plural(total, "collection")),
        };
        let instance = self.findings(&["L001"]);
        // At the limit itself L001 warns and the item passes (DM-12.1).
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
                "more data files than the server may open"
            };
            return (Verdict::Pass, format!("warning: {what}; {numbers}"));
        }
        if !gaps.is_empty() {
            return (Verdict::Unknown, gaps.join("; "));
        }
        match self.findings(&["L002"]).len() {
            0 => (Verdict::Pass, numbers),
            1 => (Verdict::Pass, format!("warning: 1 database holds too many; {numbers}")),
            n => (Verdict::Pass, format!("warning: {n} databases hold too many; {numbers}")),
        }
    }

    /// CK-9.
    fn single_reads(&self) -> Answer {
        self.clean(
            "CK-9",
            &["W004", "W006"],
            "read path needs a second collection nearly every time",
            "read paths need a second collection nearly every time",
            "no read path in the workload needs a second collection every time",
        )
    }

    /// CK-11.
    fn figures(&self) -> Answer {
        self.clean(
            "CK-11",
            &["W005"],
            "figure is computed again and again",
            "figures are computed again and again",
            "no figure in the workload is computed again and again",
        )
    }

    /// CK-12.
    fn indexed(&self) -> Answer {
        self.clean(
            "CK-12",
            &["W001", "W002", "W003"],
            "query pattern has no index that fits",
            "query patterns have no index that fits",
            "no query pattern in the workload scans its collection, reads far more than it returns or sorts in memory",
        )
    }

    /// CK-13.
    fn shard_keys(&self) -> Answer {
        let mut codes = vec!["K001", "K002", "K003"];
        // What became of a key shows in a cluster only.
        if sharding::cluster(self.evidence).is_some() {
            codes.push("K005");
        }
        self.clean(
            "CK-13",
            &codes,
            "shard key breaks a requirement",
            "shard keys break a requirement",
            "the shard keys have enough values, none dominates, none rises",
        )
    }

    /// CK-15.
    fn one_step(&self) -> Answer {
        self.clean(
            "CK-15",
            &["W010"],
            "collection is read and then updated in a second step",
            "collections are read and then updated in a second step",
            "no document in the workload is read and then updated in a second step",
        )
    }

    /// CK-14.
    fn headroom(&self) -> Answer {
        let read_all = self.documents();
        let Some((collection, profile)) = read_all.iter().max_by_key(|(_, p)| p.sizes.p99()) else {
            return (Verdict::Unknown, "no documents were read".to_owned());
        };
        let p99 = profile.sizes.p99();
        let said = format!(
            "p99 at most {} (`{}`), {} allowed, {}",
            text::bytes(p99),
            collection.namespace,
            text::bytes(P99_BYTES),
            read(&read_all)
        );
        (if p99 <= P99_BYTES { Verdict::Pass } else { Verdict::Fail }, said)
    }

    /// Passes when nothing was found at warning or above, by the rules it rests on or by others that
    /// cite the item. Code that was not given keeps nothing from passing: the data says what it came to.
    fn clean(&self, id: &str, codes: &[&'static str], one: &str, many: &str, none: &str) -> Answer {
        let found = places(&self.against(id, codes));
        if !found.is_empty() {
            let noun = if found.len() == 1 { one } else { many };
            return (
                Verdict::Fail,
                format!("{} {noun}: {}", text::count(found.len() as u64), first(&found)),
            );
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
        // A workload of connections, or of operations that have not ended, vouches for nothing.
        let workload = self.evidence.workload.as_ref();
        if codes.iter().all(|code| code.starts_with('W'))
            && workload.is_some_and(|w| w.operations() == 0)
        {
            gaps.push("the workload shows no operation that has ended".to_owned());
        }
        if gaps.is_empty() {
            (Verdict::Pass, none.to_owned())
        } else {
            (Verdict::Unknown, gaps.join("; "))
        }
    }

    /// What speaks against an item: findings of these rules, and those that cite it.
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

    /// Those of the rules that do not run.
    pub(crate) fn switched_off<'c>(&self, codes: &[&'c str]) -> Vec<&'c str> {
        let is_off = |code: &&&str| {
            RULES.iter().any(|r| r.meta.code == **code && !self.settings.is_on(&r.meta))
        };
        codes.iter().filter(is_off).copied().collect()
    }

    /// Why the rules an item rests on cannot vouch for it.
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
            return vec!["no rule looks at it".to_owned()];
        }
        let mut gaps = Vec::new();
        if !off.is_empty() {
            gaps.push(format!("switched off: {}", off.join(", ")));
        }
        if let Some((_, needs)) = blind.first() {
            let codes: Vec<&str> = blind.iter().map(|(code, _)| *code).collect();
            gaps.push(format!("could not look for want of {needs}: {}", codes.join(", ")));
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

/// What a sample that shows nothing wrong leaves open, in the collection of which it says least: none of n
/// means, with 95 % confidence, fewer than 3 in n (rule of three). Empty where all was read.
fn left_open(of: &[(&Collection, &Profile)]) -> String {
    let least = of.iter().filter(|(_, p)| p.documents < p.total).min_by_key(|(_, p)| p.documents);
    least.map_or_else(String::new, |(collection, profile)| {
        format!(
            "; 0 of {} sampled in `{}`: fewer than {} % of its documents at 95 %",
            text::count(profile.documents),
            collection.namespace,
            small(300.0 / profile.documents.max(3) as f64)
        )
    })
}

/// A number with two digits that say something: `1`, `0.03`, `0.015`.
fn small(number: f64) -> String {
    if number >= 1.0 {
        return format!("{number:.0}");
    }
    let digits = (1.0 - number.log10().floor()) as usize;
    format!("{number:.digits$}").trim_end_matches('0').to_owned()
}

/// `1,200 documents read`, or how much of them.
fn read(of: &[(&Collection, &Profile)]) -> String {
    let documents: u64 = of.iter().map(|(_, p)| p.documents).sum();
    let total: u64 = of.iter().map(|(_, p)| p.total.max(p.documents)).sum();
    if documents < total {
        format!("{} of {} read", text::count(documents), text::plural(total, "document"))
    } else {
        format!("{} read", text::plural(documents, "document"))
    }
}

fn place(finding: &Finding) -> String {
    match &finding.at {
        Subject::Deployment => finding.what.clone(),
        Subject::Database(db) => format!("`{db}`"),
        Subject::Collection(ns) => format!("`{ns}`"),
        Subject::Field(ns, path) => format!("`{path}` of `{ns}`"),
        Subject::Index(ns, name) => format!("index `{name}` of `{ns}`"),
    }
}

/// The places of findings, each once: several rules may speak of one. Code is named by file and line.
fn places(found: &[&Finding]) -> Vec<String> {
    let mut places: Vec<(String, Option<String>)> = Vec::new();
    for finding in found {
        let site = finding.location.as_ref().map(|at| format!("{}:{}", at.file, at.line));
        let at = match (&finding.at, &site) {
            (Subject::Deployment, Some(site)) => site.clone(),
            _ => place(finding),
        };
        match places.iter_mut().find(|(known, _)| *known == at) {
            Some((_, known)) => *known = known.take().or(site),
            None => places.push((at, site)),
        }
    }
    let text = |(at, site): (String, Option<String>)| match site {
        Some(site) if site != at => format!("{at} ({site})"),
        _ => at,
    };
    places.into_iter().map(text).collect()
}

fn first(places: &[String]) -> String {
    text::phrases(places, NAMED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Example;

    /// The item on an example, all rules applied.
    fn item(id: &str, settings: &str, body: &str) -> ChecklistItem {
        let example = Example::new("T002", settings, body);
        let outcome = crate::judge(&example.evidence, &example.settings);
        of(id, &example.evidence, &example.settings, &outcome)
    }

    fn of(id: &str, evidence: &Evidence, settings: &Settings, outcome: &Outcome) -> ChecklistItem {
        checklist(evidence, settings, outcome).into_iter().find(|i| i.id == id).unwrap()
    }

    fn finding(rule: &'static str, severity: Severity, at: Subject) -> Finding {
        Finding {
            rule: rule.into(),
            name: "x".into(),
            severity,
            level: Level::Recommended,
            clauses: Vec::new(),
            at,
            location: None,
            what: "what".into(),
            why: "why".into(),
            todo: "todo".into(),
            seen: docward_model::Seen::all(1, docward_model::Unit::Documents),
            data: docward_model::Data::new(),
            examples: Vec::new(),
            fix: None,
            edits: Vec::new(),
            fingerprint: String::new(),
        }
    }

    #[test]
    fn ck_1_one_bad_name_fails_the_item_and_is_named() {
        let naming = RULES.iter().find(|r| {
            r.meta.level != Level::Information
                && r.meta.clauses.iter().any(|c| c.starts_with("DM-04"))
        });
        let rule = naming.expect("a rule about field names");
        let example = Example::new("T002", "", "{\"price\": NumberDecimal(\"1\")}");
        let ns = example.evidence.collections[0].namespace.clone();
        let path = docward_model::FieldPath::new("Create_Time");
        let outcome = Outcome {
            findings: vec![finding(rule.meta.code, Severity::Warn, Subject::Field(ns, path))],
            ..Outcome::default()
        };
        let item = of("CK-1", &example.evidence, &example.settings, &outcome);
        assert_eq!(item.verdict, Verdict::Fail);
        assert!(item.evidence.contains("`Create_Time`"), "{}", item.evidence);
    }

    #[test]
    fn ck_9_ck_11_ck_12_ck_15_need_a_workload() {
        let judged = |id: &str, body: &str| {
            let example = Example::new("W001", "", body);
            let outcome = crate::judge(&example.evidence, &example.settings);
            of(id, &example.evidence, &example.settings, &outcome).verdict
        };
        let scan = r#"{"_id": 1, "a": 2}
            ran x30 {"command": {"find": "t_order_item", "filter": {"a": 1}}, "planSummary": "COLLSCAN", "docsExamined": 5000, "nreturned": 1}"#;
        for id in ["CK-9", "CK-11", "CK-12", "CK-15"] {
            assert_eq!(judged(id, r#"{"_id": 1, "a": 2}"#), Verdict::Unknown, "{id}");
            let expect = if id == "CK-12" { Verdict::Fail } else { Verdict::Pass };
            assert_eq!(judged(id, scan), expect, "{id}");
        }
        let running = r#"running {"secs_running": 9, "planSummary": "IXSCAN { a: 1 }", "command": {"find": "t_order_item", "filter": {"a": 1}}}"#;
        assert_eq!(judged("CK-12", running), Verdict::Unknown, "it has not ended");
        let joined = r#"ran x30 {"command": {"aggregate": "t_order_item", "pipeline": [{"$lookup": {"from": "p", "localField": "p", "foreignField": "_id", "as": "x"}}]}}"#;
        assert_eq!(judged("CK-9", joined), Verdict::Fail);
        let counted = r#"ran x30 {"command": {"count": "t_order_item", "query": {"p": 1}}, "keysExamined": 900}"#;
        assert_eq!(judged("CK-11", counted), Verdict::Fail);
    }

    #[test]
    fn ck_13_a_rising_key_fails() {
        let judged = |key: &str| {
            let example = Example::new(
                "K003",
                &format!("shard-key=db_shop.t_order_item:{key}"),
                "x1200 {\"_id\": ObjectId(\"$oid\"), \"createdAt\": 1}",
            );
            let outcome = crate::judge(&example.evidence, &example.settings);
            of("CK-13", &example.evidence, &example.settings, &outcome).verdict
        };
        assert_eq!(judged(r#"{"_id":1}"#), Verdict::Fail);
        assert_eq!(judged(r#"{"_id":"hashed"}"#), Verdict::Pass);
    }

    #[test]
    fn ck_2_900_kb_pass_and_more_than_1_mb_fails() {
        let pass = item("CK-2", "", "x3 {\"text\": \"$pad(900000)\"}");
        assert_eq!(pass.verdict, Verdict::Pass, "{}", pass.evidence);
        let fail = item("CK-2", "", "x3 {\"text\": \"$pad(1100000)\"}");
        assert_eq!(fail.verdict, Verdict::Fail, "{}", fail.evidence);
        let other = item("CK-2", "core=db_x.*", "x3 {\"text\": \"$pad(1100000)\"}");
        assert_eq!(other.verdict, Verdict::Unknown, "not a core collection");
    }

    #[test]
    fn ck_2_ck_3_ck_5_a_sample_says_what_it_leaves_open() {
        let mut example = Example::new("T002", "", "x300 {\"_id\": $i, \"name\": \"a\"}");
        let mut said = |total: u64| {
            example.evidence.collections[0].profile.as_mut().unwrap().total = total;
            let outcome = crate::judge(&example.evidence, &example.settings);
            ["CK-2", "CK-3", "CK-5"].map(|id| {
                let item = of(id, &example.evidence, &example.settings, &outcome);
                assert_eq!(item.verdict, Verdict::Pass, "{}", item.evidence);
                item.evidence
            })
        };
        for evidence in said(20_000) {
            assert!(evidence.contains("0 of 300 sampled in `"), "{evidence}");
            assert!(evidence.contains("fewer than 1 % of its documents at 95 %"), "{evidence}");
        }
        assert_eq!([1.0, 0.03, 0.015, 0.3].map(small), ["1", "0.03", "0.015", "0.3"]);
        for evidence in said(300) {
            assert!(!evidence.contains("sampled"), "{evidence}");
        }
    }

    #[test]
    fn ck_3_five_layers_pass_with_a_warning_and_six_fail() {
        let nested = |n: usize| format!("{}1{}", "{\"a\": ".repeat(n + 1), "}".repeat(n + 1));
        assert_eq!(item("CK-3", "", &nested(3)).verdict, Verdict::Pass);
        let five = item("CK-3", "", &nested(5));
        assert_eq!(five.verdict, Verdict::Pass);
        assert!(five.evidence.starts_with("warning"), "{}", five.evidence);
        assert_eq!(item("CK-3", "", &nested(6)).verdict, Verdict::Fail);
    }

    #[test]
    fn ck_4_a_cap_in_the_validator_passes_and_no_cap_is_unknown() {
        let schema = "options {\"validator\": {\"$jsonSchema\": {\"properties\": {\"tags\": {\"bsonType\": \"array\", \"maxItems\": 50}}}}}\n";
        let body = "x30 {\"_id\": $i, \"tags\": [\"a\", \"b\"]}";
        let capped = item("CK-4", "", &format!("{schema}{body}"));
        assert_eq!(capped.verdict, Verdict::Pass, "{}", capped.evidence);
        let open = item("CK-4", "", body);
        assert_eq!(open.verdict, Verdict::Unknown, "{}", open.evidence);
        assert!(open.evidence.contains("`tags`"), "{}", open.evidence);
        let declared = item("CK-4", "cap=db_shop.*:tags:50", body);
        assert_eq!(declared.verdict, Verdict::Pass, "{}", declared.evidence);
    }

    #[test]
    fn ck_8_a_growing_array_fails_once_and_is_named() {
        let example = Example::new("T002", "", "x30 {\"_id\": $i, \"log\": [1, 2]}");
        let ns = example.evidence.collections[0].namespace.clone();
        let at = Subject::Field(ns, docward_model::FieldPath::new("log"));
        let outcome =
            Outcome { findings: vec![finding("D008", Severity::Error, at)], ..Outcome::default() };
        let item = of("CK-8", &example.evidence, &example.settings, &outcome);
        assert_eq!(item.verdict, Verdict::Fail);
        assert_eq!(item.evidence.matches("`log`").count(), 1, "{}", item.evidence);
    }

    #[test]
    fn ck_4_ck_5_ck_8_ck_9_ck_11_ck_12_ck_15_no_finding_that_cites_an_item_stands_beside_a_pass() {
        let example = Example::new("T002", "", "x30 {\"_id\": $i, \"log\": [1, 2]}");
        let ns = example.evidence.collections[0].namespace.clone();
        for id in ["CK-4", "CK-5", "CK-8", "CK-9", "CK-11", "CK-12", "CK-15"] {
            let citing = RULES.iter().filter(|r| r.meta.clauses.contains(&id));
            for rule in citing {
                let at = Subject::Field(ns.clone(), docward_model::FieldPath::new("log"));
                let found = Finding {
                    clauses: rule.meta.clauses.iter().map(|&c| c.into()).collect(),
                    location: Some(docward_model::Location {
                        file: "app.js".to_owned(),
                        line: 7,
                        column: 3,
                    }),
                    ..finding(rule.meta.code, Severity::Warn, at)
                };
                let outcome = Outcome { findings: vec![found.clone()], ..Outcome::default() };
                let item = of(id, &example.evidence, &example.settings, &outcome);
                assert_eq!(item.verdict, Verdict::Fail, "{id} {}", rule.meta.code);
                assert!(item.evidence.contains("`log` of `"), "{}", item.evidence);
                assert!(item.evidence.contains("(app.js:7)"), "{}", item.evidence);
                let info = Finding { severity: Severity::Info, ..found };
                let outcome = Outcome { findings: vec![info], ..Outcome::default() };
                let item = of(id, &example.evidence, &example.settings, &outcome);
                assert_ne!(item.verdict, Verdict::Fail, "{id} {}: only told", rule.meta.code);
            }
        }
        let cites = |code: &str, id: &str| {
            RULES.iter().any(|r| r.meta.code == code && r.meta.clauses.contains(&id))
        };
        for (id, codes) in [
            ("CK-4", &["D008", "D020", "R006", "W007"][..]),
            ("CK-8", &["D008", "D020", "R006", "W007"]),
            ("CK-5", &["T020", "T021"]),
            ("CK-11", &["W005", "W021"]),
            ("CK-12", &["W001", "W002", "W003"]),
            ("CK-15", &["W010", "W020"]),
        ] {
            codes.iter().for_each(|code| assert!(cites(code, id), "{code} {id}"));
        }
    }

    #[test]
    fn ck_4_ck_8_one_array_is_named_once_whoever_tells() {
        let example = Example::new("T002", "", "x30 {\"_id\": $i, \"log\": [1, 2]}");
        let ns = example.evidence.collections[0].namespace.clone();
        let at = Subject::Field(ns, docward_model::FieldPath::new("log"));
        let found = |rule| Finding {
            clauses: vec!["CK-4".into()],
            ..finding(rule, Severity::Error, at.clone())
        };
        let findings = vec![found("D008"), found("W007"), found("R006")];
        let outcome = Outcome { findings, ..Outcome::default() };
        let item = of("CK-8", &example.evidence, &example.settings, &outcome);
        assert!(item.evidence.starts_with("1 array grows"), "{}", item.evidence);
    }

    #[test]
    fn ck_1_passes_without_source_code() {
        let item =
            item("CK-1", "ns=db_shop.t_order_item", "x30 {\"_id\": $i, \"userName\": \"a\"}");
        assert_eq!(item.verdict, Verdict::Pass, "{}", item.evidence);
    }

    #[test]
    fn ck_5_money_in_doubles_fails_and_a_switched_off_rule_is_unknown() {
        let fail = item("CK-5", "", "{\"amount\": 199.99}");
        assert_eq!(fail.verdict, Verdict::Fail);
        assert!(fail.evidence.contains("`amount`"), "{}", fail.evidence);
        let pass = item("CK-5", "", "{\"amount\": NumberDecimal(\"199.99\")}");
        assert_eq!(pass.verdict, Verdict::Pass, "{}", pass.evidence);
        let mut example = Example::new("T002", "", "{\"amount\": 199.99}");
        example.settings.ignore.push("T002".into());
        let outcome = crate::judge(&example.evidence, &example.settings);
        let off = of("CK-5", &example.evidence, &example.settings, &outcome);
        assert_eq!(off.verdict, Verdict::Unknown);
        assert!(off.evidence.contains("T002"), "{}", off.evidence);
    }

    #[test]
    fn ck_6_a_missing_validator_fails_and_unseen_options_are_unknown() {
        let mut example = Example::new("T002", "", "x30 {\"name\": \"a\"}");
        let ns = example.evidence.collections[0].namespace.clone();
        let outcome = Outcome {
            findings: vec![finding("V001", Severity::Error, Subject::Collection(ns))],
            ..Outcome::default()
        };
        assert_eq!(
            of("CK-6", &example.evidence, &example.settings, &outcome).verdict,
            Verdict::Fail
        );
        example.evidence.collections[0].options = None;
        let outcome = crate::judge(&example.evidence, &example.settings);
        assert_eq!(
            of("CK-6", &example.evidence, &example.settings, &outcome).verdict,
            Verdict::Unknown
        );
    }

    #[test]
    fn ck_7_a_full_database_warns_and_the_instance_decides() {
        let example = Example::new("T002", "", "{\"a\": 1}");
        let one = |rule, severity, at| Outcome {
            findings: vec![finding(rule, severity, at)],
            ..Outcome::default()
        };
        let outcome = one("L001", Severity::Error, Subject::Deployment);
        assert_eq!(
            of("CK-7", &example.evidence, &example.settings, &outcome).verdict,
            Verdict::Fail
        );
        let outcome = one("L002", Severity::Warn, Subject::Database("db_shop".into()));
        let warned = of("CK-7", &example.evidence, &example.settings, &outcome);
        assert_eq!(warned.verdict, Verdict::Pass);
        assert!(warned.evidence.starts_with("warning"), "{}", warned.evidence);
    }

    #[test]
    fn ck_7_5000_pass_with_a_warning_and_5001_fail() {
        let mut example = Example::new("L001", "", "{\"a\": 1}");
        for (n, verdict) in [(4999, Verdict::Pass), (5000, Verdict::Pass), (5001, Verdict::Fail)] {
            example.evidence.databases = (0..51).map(|db| format!("db_{db}")).collect();
            example.evidence.collections = (0..n)
                .map(|i| {
                    let db = format!("db_{}", i % 51);
                    Collection::named(docward_model::Namespace::new(db, format!("t_{i}")))
                })
                .collect();
            example.settings.select = vec!["L001".to_owned(), "L002".to_owned()];
            let outcome = crate::judge(&example.evidence, &example.settings);
            let item = of("CK-7", &example.evidence, &example.settings, &outcome);
            assert_eq!(item.verdict, verdict, "{n}: {}", item.evidence);
            assert_eq!(item.evidence.starts_with("warning"), n == 5000, "{n}: {}", item.evidence);
        }
    }

    #[test]
    fn ck_14_a_p99_of_12_mb_fails() {
        assert_eq!(item("CK-14", "", "x3 {\"text\": \"$pad(1000000)\"}").verdict, Verdict::Pass);
        let fail = item("CK-14", "", "x3 {\"text\": \"$pad(12000000)\"}");
        assert_eq!(fail.verdict, Verdict::Fail, "{}", fail.evidence);
    }
}
