//! The pages of `conformance/` hold: for each clause, the binary reports the violating input,
//! says nothing about the compliant one, or prints the advice.
//!
//! `CONFORMANCE=DM-08,CK` runs only the clauses whose ids begin with these words.

#[path = "conformance/page.rs"]
mod page;
#[path = "../../docward-rules/src/testing/placeholders.rs"]
mod placeholders;
#[path = "conformance/run.rs"]
mod run;

use std::collections::{BTreeMap, BTreeSet};

use page::{Clause, Kind};
use run::{chosen, clauses, rules};

#[test]
fn every_clause_does_what_its_page_says() {
    let clauses = clauses();
    let cases = chosen(&clauses, false);
    let faults = run::run(&cases, &rules(), |_| None::<((), String)>);
    assert!(faults.is_empty(), "{} of {} cases\n{}", faults.len(), cases.len(), faults.concat());
}

/// Every clause has a page entry with a violating and a compliant case, or with advice.
#[test]
fn every_clause_has_its_cases() {
    let (clauses, rules) = (clauses(), rules());
    let mut faults = Vec::new();
    let by_id: BTreeMap<&str, &Clause> =
        clauses.iter().map(|clause| (clause.id.as_str(), clause)).collect();
    let mut seen = BTreeSet::new();
    for clause in &clauses {
        let id = &clause.id;
        if !seen.insert(id) {
            faults.push(format!("{id} has a second entry"));
        }
        if !rules.contains_key(id) {
            faults.push(format!("docs/clauses.toml has no {id}"));
        }
        let mut kinds: Vec<Kind> = clause.cases.iter().map(|case| case.kind).collect();
        for other in &clause.same_as {
            let Some(other) = by_id.get(other.as_str()) else {
                faults.push(format!("{id}: no clause {other}"));
                continue;
            };
            kinds.extend(other.cases.iter().map(|case| case.kind));
            let expects = |rule: &String| {
                let runs = other.cases.iter().flat_map(|case| &case.runs);
                runs.flat_map(|run| &run.expected).any(|line| line.starts_with(rule.as_str()))
            };
            let is_advice = other.cases.iter().any(|case| case.kind == Kind::Advice);
            if !is_advice && !rules.get(id).is_some_and(|own| own.iter().any(expects)) {
                faults.push(format!("no rule of {id} is in the cases of {}", other.id));
            }
        }
        let is_shown = kinds.contains(&Kind::Advice)
            || (kinds.contains(&Kind::Violating) && kinds.contains(&Kind::Compliant));
        if !is_shown {
            faults.push(format!("{id} needs a violating and a compliant case, or advice"));
        }
        for case in &clause.cases {
            if case.runs.is_empty() {
                faults.push(format!("{}: {id} runs nothing", case.place));
            }
        }
    }
    faults.extend(
        rules
            .keys()
            .filter(|id| !by_id.contains_key(id.as_str()))
            .map(|id| format!("conformance/ has no clause {id}")),
    );
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
