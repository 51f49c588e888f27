//! DM-12.4, AP-S0.4 and DM-03.5: one collection per device, tenant or day.

use docward_model::{
    BsonType, Collection, Draft, Evidence, NameFamily, Namespace, NewIndex, Profile, Safety, Seen,
    Severity, Step, Subject, TailForm, Unit,
};

use crate::{
    Cx, declare_rule,
    facts::{
        names::{
            self, Style, meaning,
            naming::{dominant_style, named},
        },
        remedies::shell,
        text,
    },
    threshold,
};

declare_rule! {
    /// # Collection per entity
    ///
    /// ## What it checks
    /// Reports families of collections whose names differ only in a number or id at the end, such as `t_device_1`
    /// to `t_device_50000`:
    /// - a warning for ten or more collections
    /// - an error for more than 5000, the limit of a whole instance
    /// - a note for 24 or more collections that differ in a time suffix
    ///
    /// If documents were read, at least 80 % of the collections must have the same fields.
    ///
    /// ## Why it matters
    /// The id belongs in the documents. As part of the name it cannot be indexed, and no query covers several
    /// collections. Every new entity costs files, memory and start-up time.
    ///
    /// ## Example
    /// ```jsonl,fires,min-members=5
    /// @ db_iot.t_device_1
    /// {"_id": 1, "timestamp": ISODate("2024-03-15T10:30:00Z"), "temp": 22}
    /// @ db_iot.t_device_2
    /// {"_id": 1, "timestamp": ISODate("2024-03-15T10:30:00Z"), "temp": 21}
    /// @ db_iot.t_device_3
    /// {"_id": 1, "timestamp": ISODate("2024-03-15T10:30:00Z"), "temp": 20}
    /// @ db_iot.t_device_4
    /// {"_id": 1, "timestamp": ISODate("2024-03-15T10:30:00Z"), "temp": 25}
    /// @ db_iot.t_device_5
    /// {"_id": 1, "timestamp": ISODate("2024-03-15T10:30:00Z"), "temp": 24}
    /// ```
    /// ```jsonl,clean
    /// @ db_iot.t_device
    /// options {"timeseries": {"timeField": "timestamp", "metaField": "deviceId"}}
    /// {"_id": 1, "deviceId": 1, "timestamp": ISODate("2024-03-15T10:30:00Z"), "temp": 22}
    /// ```
    ///
    /// ## How to fix
    /// Create one collection with the id as a field and a compound index on id and time. Or use a time series
    /// collection with the id as `metaField`. Copy the documents, compare the counts, switch the application,
    /// then drop the old collections.
    ///
    /// ## When to ignore it
    /// Each tenant must be dropped or moved as a whole, by contract or law.
    R012, "collection-per-entity",
    level: Recommended,
    area: Growth,
    severities: [Error, Warn, Info],
    clauses: ["DM-12.4", "AP-S0.4", "DM-03.5"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Names],
    thresholds: [MIN_MEMBERS, MIN_PERIODS, SAME_SHAPE, FAIL],
    data: ["collections", "index", "metaField", "saved", "stem", "target", "timeField"],
    check: Deployment(check),
}

threshold!(
    MIN_MEMBERS,
    "min-members",
    Int(10),
    "collections",
    "our default",
    "minimum number of collections with the same stem and a number"
);
threshold!(
    MIN_PERIODS,
    "min-periods",
    Int(24),
    "collections",
    "our default",
    "minimum number of collections with the same stem and a time suffix"
);
threshold!(
    SAME_SHAPE,
    "min-same-shape",
    Float(0.8),
    "share of collections",
    "our default",
    "minimum share of the collections with documents of the same shape, if documents were read"
);

threshold!(
    FAIL,
    "fail-members",
    Int(5000),
    "collections",
    "DM-12.1: the limit of a whole instance",
    "number of collections with the same stem and a number above which the finding is an error"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    for family in &evidence.families {
        let least = match family.form {
            TailForm::Number => cx.count(&MIN_MEMBERS),
            TailForm::TimeSuffix | TailForm::OddTimeSuffix => cx.count(&MIN_PERIODS),
        };
        let alike = family.same_shape.is_none_or(|share| share >= cx.limit(&SAME_SHAPE));
        if (family.members.len() as u64) < least || !alike {
            continue;
        }
        if family.form == TailForm::Number {
            report_entities(evidence, family, cx);
        } else {
            report_periods(evidence, family, cx);
        }
    }
}

/// Members that were read, in order of their names.
fn members<'a>(evidence: &'a Evidence, family: &NameFamily) -> Vec<&'a Collection> {
    family
        .members
        .iter()
        .filter_map(|name| {
            evidence.collection(&Namespace::new(family.database.as_str(), name.as_str()))
        })
        .collect()
}

fn documents(members: &[&Collection]) -> u64 {
    members.iter().filter_map(|c| c.profile.as_ref()).map(|p| p.total.max(p.documents)).sum()
}

/// A date that every document of the members has: the time of a series.
fn time_field(members: &[&Collection]) -> Option<String> {
    let profiles: Vec<&Profile> = members.iter().filter_map(|c| c.profile.as_ref()).collect();
    let first = profiles.first()?;
    let everywhere = |name: &str| {
        profiles.iter().all(|p| {
            p.field(name).is_some_and(|f| f.is_only(BsonType::Date) && f.presence() >= 0.99)
        })
    };
    let mut dates: Vec<_> = first
        .top_level()
        .filter(|f| f.is_only(BsonType::Date) && everywhere(&f.name))
        .map(|f| f.name.clone())
        .collect();
    dates.sort_by_key(|name| {
        let creation = meaning::is_creation_time(name);
        let plain = matches!(name.as_str(), "ts" | "time" | "timestamp" | "date");
        (!plain, !creation, name.clone())
    });
    dates.into_iter().next()
}

/// `t_device_` to `deviceId`, in the style of the members' own fields.
fn id_field(stem: &str, members: &[&Collection]) -> String {
    let entity = names::words(stem).into_iter().rfind(|w| w != "t");
    let entity = meaning::singular(&entity.unwrap_or_else(|| "entity".to_owned()));
    let style = members
        .iter()
        .find_map(|c| c.profile.as_ref())
        .and_then(|p| dominant_style(&named(p), Style::Camel));
    names::in_style(&format!("{entity}_id"), style.unwrap_or(Style::Camel))
}

fn report_entities(evidence: &Evidence, family: &NameFamily, cx: &mut Cx<'_>) {
    let members = members(evidence, family);
    let n = family.members.len() as u64;
    let stem = family.stem.trim_end_matches(['_', '-', '.', '$']);
    let target = names::prefixed(stem, "t_");
    let target = if stem.starts_with("t_") { target } else { stem.to_owned() };
    let id = id_field(&family.stem, &members);
    let time = time_field(&members);
    let total = documents(&members);
    let held = if total > 0 {
        format!(" with {} in total", text::plural(total, "document"))
    } else {
        String::new()
    };
    let index = match &time {
        Some(time) => format!("{{ {}: 1, {}: 1 }}", shell::key(&id), shell::key(time)),
        None => format!("{{ {}: 1 }}", shell::key(&id)),
    };
    let version = cx.settings().server_version.or(evidence.deployment.server_version);
    let series = version.is_none_or(|v| v >= (5, 0));
    let namespace = || Namespace::new(family.database.as_str(), target.as_str());
    let (shape, step) = match &time {
        Some(time) if series => (
            format!(
                "a time series collection `{target}` with metaField `{id}` and timeField `{time}`"
            ),
            Step::CreateTimeSeries {
                namespace: namespace(),
                time_field: time.clone(),
                meta_field: id.clone(),
                granularity: None,
            },
        ),
        _ => (
            format!("one collection `{target}` with a field `{id}`"),
            Step::CreateIndex {
                namespace: namespace(),
                index: NewIndex::ascending(std::iter::once(&id).chain(&time)),
            },
        ),
    };
    let shown: Vec<_> = family.members.iter().take(2).map(String::as_str).collect();
    let severity = if n > cx.count(&FAIL) { Severity::Error } else { Severity::Warn };
    cx.report(
        Draft::new(
            Subject::Database(family.database.clone()),
            format!(
                "{} collections `{}…`{held}, one for each entity, such as {}",
                text::count(n),
                family.stem,
                text::list(&shown, 2)
            ),
            "no query or index covers several such collections, and each new one costs files, memory and start-up time",
            format!(
                "merge them into {shape} with the index {index}: this removes {} collections",
                text::count(n - 1)
            ),
            Seen::all(n, Unit::Collections),
        )
        .data("stem", family.stem.as_str())
        .data("collections", n)
        .data("saved", n - 1)
        .data("target", target.as_str())
        .data("metaField", id.as_str())
        .data("timeField", time.as_deref().unwrap_or(""))
        .data("index", index.as_str())
        .key(family.stem.as_str())
        .clauses(&["DM-12.4", "AP-S0.4"])
        .severity(severity)
        .plan(Some("RF-12"), Safety::Manual, [step]),
    );
}

fn report_periods(evidence: &Evidence, family: &NameFamily, cx: &mut Cx<'_>) {
    let members = members(evidence, family);
    let n = family.members.len() as u64;
    let time = time_field(&members);
    let keep = match &time {
        Some(time) => format!(
            "with a TTL index on `{time}`, or a time series collection with `expireAfterSeconds`"
        ),
        None => "with a date field and a TTL index on it".to_owned(),
    };
    let first = family.members.first().map_or("", String::as_str);
    let last = family.members.last().map_or("", String::as_str);
    cx.report(
        Draft::new(
            Subject::Database(family.database.clone()),
            format!(
                "{} collections `{}…`, one for each period, from `{first}` to `{last}`",
                text::count(n),
                family.stem
            ),
            "a query over several periods needs one request for each, and each collection costs files and memory",
            format!(
                "consider one collection {keep}: this removes {} collections, and old documents expire automatically",
                text::count(n - 1)
            ),
            Seen::all(n, Unit::Collections),
        )
        .data("stem", family.stem.as_str())
        .data("collections", n)
        .data("saved", n - 1)
        .data("timeField", time.as_deref().unwrap_or(""))
        .key(family.stem.as_str())
        .clauses(&["DM-12.4", "DM-03.5"])
        .severity(Severity::Info),
    );
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};
    use docward_model::{DataValue, Severity};

    fn devices(n: usize, document: &str) -> String {
        (1..=n).map(|i| format!("@ db_iot.t_device_{i}\n{document}\n")).collect()
    }

    const READING: &str = r#"{"_id": 1, "timestamp": ISODate("2024-03-15T10:30:00Z"), "temp": 22}"#;

    #[test]
    fn dm_12_4_more_than_an_instance_should_have_is_an_error() {
        let severity = |most: &str| check_with("R012", most, &devices(12, READING))[0].severity;
        assert_eq!(severity("fail-members=12"), Severity::Warn);
        assert_eq!(severity("fail-members=11"), Severity::Error);
    }

    #[test]
    fn dm_12_4_devices_merge_into_one_series() {
        let found = check("R012", &devices(50, READING));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        assert_eq!(
            found[0].data.get("index"),
            Some(&DataValue::from("{ deviceId: 1, timestamp: 1 }"))
        );
        assert!(
            found[0].todo.contains("metaField `deviceId` and timeField `timestamp`"),
            "{}",
            found[0].todo
        );
        assert!(found[0].todo.contains("removes 49 collections"), "{}", found[0].todo);
        let old = check_with("R012", "version=4.4", &devices(50, READING));
        assert!(
            old[0].todo.contains("one collection `t_device` with a field `deviceId`"),
            "{}",
            old[0].todo
        );
    }

    #[test]
    fn dm_12_4_nine_pass_ten_warn() {
        assert!(check("R012", &devices(9, READING)).is_empty());
        assert_eq!(check("R012", &devices(10, READING)).len(), 1);
    }

    #[test]
    fn ap_s0_4_unlike_documents_are_no_family() {
        let body: String = (1..=12)
            .map(|i| {
                format!("@ db_iot.t_step_{i}\n{{\"_id\": 1, \"field{i}\": 1, \"other{i}\": 2}}\n")
            })
            .collect();
        assert!(check("R012", &body).is_empty());
    }

    #[test]
    fn dm_03_5_many_periods_are_information() {
        let months = |n: usize| -> String {
            (0..n)
                .map(|i| format!("@ db_iot.t_log_{}{:02}\n{READING}\n", 2020 + i / 12, i % 12 + 1))
                .collect()
        };
        assert!(check("R012", &months(23)).is_empty());
        let found = check("R012", &months(24));
        assert_eq!(found[0].severity, Severity::Info);
        assert!(found[0].todo.contains("TTL index on `timestamp`"), "{}", found[0].todo);
    }

    #[test]
    fn dm_12_4_numbers_that_look_like_years_stay_in_their_run() {
        let run = |numbers: std::ops::Range<u32>| -> String {
            numbers.map(|n| format!("@ db_iot.t_coll_{n}\n{{\"_id\": 1}}\n")).collect()
        };
        let found = check("R012", &run(1900..2010));
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("110 collections"), "{}", found[0].what);
    }
}
