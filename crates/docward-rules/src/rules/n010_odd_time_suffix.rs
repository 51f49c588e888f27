//! DM-03.5: collections split by time end in `_YYYYMM`.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{
    CollectionKind, Draft, Evidence, Namespace, ProfileName, Safety, Seen, Step, Subject, TailForm,
    Unit,
};

use crate::{
    Cx, declare_rule,
    facts::{
        deployment::server,
        names::{
            renames,
            suffix::{OddTail, Tail, time_tail, time_tail_in_family},
        },
        text,
    },
};

declare_rule! {
    /// # Odd time suffix
    ///
    /// ## What it checks
    /// Reports collections that are split by time but whose suffix is not `_YYYYMM`, `_YYYY` or `_YYYYMMDD`.
    /// Examples are written months, other separators, and months that do not exist. Collections with one stem are
    /// one finding. Plain numbers such as `t_device_17` are not time suffixes.
    ///
    /// ## Why it matters
    /// Suffixes in one form sort by age and can be computed. Jobs that create, query and delete collections then
    /// need no list of exceptions.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_shop.t_log_mar24
    /// {"_id": 1}
    /// ```
    /// ```jsonl,fires,ns=db_shop.t_log_202413
    /// {"_id": 1}
    /// ```
    /// ```jsonl,clean,ns=db_shop.t_log_202403
    /// {"_id": 1}
    /// @ db_shop.t_device_17
    /// {"_id": 1}
    /// ```
    ///
    /// ## How to fix
    /// Rename the collections to the house form. Or merge them into one collection with a TTL index, or into a
    /// time series collection, which needs no suffix.
    ///
    /// ## When to ignore it
    /// Another system creates these names. The `neutral` profile reports only dates that do not exist.
    N010, "odd-time-suffix",
    level: Recommended,
    area: Hygiene,
    clauses: ["DM-03.5"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Names],
    thresholds: [],
    data: ["collections", "stem"],
    check: Deployment(check),
}

type Member<'a> = (&'a Namespace, CollectionKind, OddTail);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let house = cx.settings().profile == ProfileName::Vendor;
    let of = |form: TailForm| evidence.families.iter().filter(move |f| f.form == form);
    let odd_members: BTreeSet<(&str, &str)> = of(TailForm::OddTimeSuffix)
        .flat_map(|f| f.members.iter().map(|m| (f.database.as_str(), m.as_str())))
        .collect();
    // R012 reports a run of numbers, even if some of them look like dates.
    let number_stems: BTreeSet<(&str, &str)> =
        of(TailForm::Number).map(|f| (f.database.as_str(), f.stem.as_str())).collect();
    let in_number_family = |ns: &Namespace| {
        let stem = ns.collection.trim_end_matches(|c: char| c.is_ascii_digit());
        number_stems.contains(&(ns.database.as_str(), stem))
    };
    let mut groups: BTreeMap<(&str, String), Vec<Member<'_>>> = BTreeMap::new();
    for collection in &evidence.collections {
        let ns = &collection.namespace;
        if server::is_system_database(&ns.database)
            || ns.collection.starts_with("system.")
            || !(collection.kind.is_business() || collection.kind == CollectionKind::View)
            || in_number_family(ns)
        {
            continue;
        }
        let tail = if odd_members.contains(&(ns.database.as_str(), ns.collection.as_str())) {
            time_tail_in_family(&ns.collection)
        } else {
            time_tail(&ns.collection)
        };
        if let Tail::Odd(odd) = tail
            && (house || odd.impossible)
        {
            groups.entry((&ns.database, odd.stem.clone())).or_default().push((
                ns,
                collection.kind,
                odd,
            ));
        }
    }
    for ((_, stem), members) in groups {
        let Some((first, _, odd)) = members.first() else { continue };
        let names: Vec<_> = members.iter().map(|(ns, ..)| ns.collection.as_str()).collect();
        let what = if members.len() == 1 {
            format!("the time suffix of `{}` {}", first.collection, odd.fault)
        } else {
            format!(
                "{} collections `{stem}…` have an irregular time suffix: {}; the first {}",
                text::count(members.len() as u64),
                text::list(&names, 3),
                odd.fault
            )
        };
        let obstacle = odd.proposal.as_ref().and_then(|proposal| {
            let same = members[1..].iter().filter(|(.., o)| o.proposal.as_ref() == Some(proposal));
            let rivals: Vec<&str> = same.map(|(ns, ..)| ns.collection.as_str()).collect();
            renames::obstacle(evidence, first, proposal, &rivals)
        });
        let todo = match (&odd.proposal, obstacle) {
            (_, Some(obstacle)) => obstacle,
            (Some(proposal), None) if members.len() == 1 => {
                format!(
                    "rename it to `{proposal}`, or merge the periods into one collection with a TTL index"
                )
            }
            (Some(proposal), None) => format!(
                "rename them (such as `{}` to `{proposal}`), or merge the periods into one collection with a TTL index",
                first.collection
            ),
            (None, None) => {
                format!("find out which month it holds, and rename it to `{stem}_YYYYMM`")
            }
        };
        let renames = members.iter().filter_map(|(namespace, kind, odd)| {
            let plain = matches!(kind, CollectionKind::Plain | CollectionKind::Capped);
            let to = odd.proposal.clone().filter(|_| plain)?;
            let alike = members.iter().filter(|(.., other)| other.proposal.as_ref() == Some(&to));
            let is_free =
                alike.count() == 1 && renames::obstacle(evidence, namespace, &to, &[]).is_none();
            is_free.then(|| Step::RenameCollection { namespace: (*namespace).clone(), to })
        });
        let renames: Vec<Step> = renames.collect();
        let mut draft = Draft::new(
            Subject::Collection((*first).clone()),
            what,
            "code can sort and compute suffixes only if all have one form; each other form needs special code",
            todo,
            Seen::all(evidence.collections.len() as u64, Unit::Collections),
        )
        .data("stem", stem.as_str())
        .data("collections", names)
        .key(stem.as_str());
        if !renames.is_empty() {
            draft = draft.plan(Some("RF-11"), Safety::Manual, renames);
        }
        cx.report(draft);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};

    fn named(names: &[&str]) -> Vec<docward_model::Finding> {
        let body: String =
            names.iter().map(|n| format!("@ db_shop.{n}\n{{\"_id\": 1}}\n")).collect();
        check("N010", &body)
    }

    #[test]
    fn dm_03_5_every_collection_of_the_family_is_renamed() {
        let found = named(&["t_log_mar24", "t_log_apr24"]);
        assert_eq!(found[0].fix.as_ref().expect("a fix").steps().len(), 2);
        assert_eq!(named(&["t_log_mar24", "t_log_mar2024"])[0].fix, None);
    }

    #[test]
    fn dm_03_5_spelled_month_and_month_13_are_found() {
        assert!(named(&["t_log_mar24"])[0].todo.contains("`t_log_202403`"));
        assert!(named(&["t_log_202413"])[0].what.contains("month 13"));
        assert!(named(&["t_log$202403"])[0].todo.contains("`t_log_202403`"));
    }

    #[test]
    fn dm_03_5_good_suffixes_and_numbers_pass() {
        assert!(
            named(&["t_log_202403", "t_device_17", "t_covid_19", "t_log_2024", "t_log_20240315"])
                .is_empty()
        );
    }

    #[test]
    fn dm_03_5_a_run_of_numbers_is_not_time() {
        let mut names: Vec<String> =
            (0..8).map(|n| format!("t_device_{}", 202_408 + 100 * n)).collect();
        names.push("t_device_7".to_owned());
        names.extend((0..5).map(|n| format!("t_device_99{n}")));
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        assert!(named(&names).is_empty());
    }

    #[test]
    fn dm_03_5_one_finding_per_stem() {
        let found = named(&["t_log_jan24", "t_log_feb24", "t_log_mar24", "t_bill_2024_01"]);
        assert_eq!(found.len(), 2);
        assert!(found.iter().any(|f| f.what.starts_with("3 collections `t_log…`")));
    }

    #[test]
    fn dm_03_5_neutral_reports_impossible_dates_only() {
        let body = "@ shop.log_2024_03\n{\"_id\": 1}\n@ shop.log_202413\n{\"_id\": 1}";
        let found = check_with("N010", "profile=neutral", body);
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("month 13"));
    }

    #[test]
    fn dm_03_5_a_taken_month_is_not_renamed_over() {
        let free = named(&["t_log-2024-03"]);
        assert!(free[0].fix.is_some(), "{free:?}");
        let taken = named(&["t_log-2024-03", "t_log_202403"]);
        assert!(taken[0].fix.is_none() && taken[0].todo.contains("exists already"), "{taken:?}");
        let twice = named(&["t_log-2024-03", "t_log_2024-03"]);
        assert!(!twice.is_empty() && twice.iter().all(|f| f.fix.is_none()), "{twice:?}");
    }
}
