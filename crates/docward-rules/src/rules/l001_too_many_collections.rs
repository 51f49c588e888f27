//! DM-12.1, DM-12.3 and AP-S0.4: the number of collections of an instance.

use docward_model::{
    CollectionKind, Draft, Evidence, Level, Seen, Severity, Subject, TailForm, Unit,
};

use crate::{
    Cx, declare_rule,
    facts::{deployment::server, text},
    threshold,
};

declare_rule! {
    /// # Too many collections
    ///
    /// ## What it checks
    /// Counts the collections of all databases, without views and the server's own collections:
    /// - 5000 collections: a warning
    /// - more than 5000 collections: an error
    /// - more data files than a running server may open: a warning, whatever the number of collections
    ///
    /// Docward estimates the number of data files as collections plus indexes. A running server reports how many
    /// files are open and how many its process may open.
    ///
    /// ## Why it matters
    /// - The server reads the metadata of each collection when it starts, and keeps it in memory.
    /// - Every file needs a file handle.
    /// - Monitoring, migration and upgrades process each collection.
    /// - Physical backups copy each file and may run out of time.
    ///
    /// ## Example
    /// ```jsonl,fires,max-collections=2
    /// @ db_iot.t_device_1
    /// {"_id": 1}
    /// @ db_iot.t_device_2
    /// {"_id": 1}
    /// @ db_iot.t_device_3
    /// {"_id": 1}
    /// ```
    /// ```jsonl,clean
    /// @ db_iot.t_device
    /// {"_id": 1, "deviceId": 1}
    /// ```
    ///
    /// More files than the server may open:
    /// ```jsonl,fires
    /// server {"authorization": true, "handles": 3, "open-files": 3}
    /// index {"key": {"a": 1}}
    /// index {"key": {"b": 1}}
    /// {"_id": 1}
    /// ```
    ///
    /// ## How to fix
    /// Merge families of similar collections (one per device, day or tenant) into one collection. The part that
    /// was in the name becomes a field with a compound index. R012 lists the families.
    ///
    /// ## When to ignore it
    /// The instance is sized for it. The vendor of a managed service may state another maximum for your tier,
    /// often for collections and indexes together.
    L001, "too-many-collections",
    level: Recommended,
    area: Growth,
    severities: [Error, Warn],
    clauses: ["DM-12.1", "DM-12.3", "AP-S0.4"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Names],
    thresholds: [MAX_COLLECTIONS],
    data: [
        "collections", "files", "impacts", "limit", "maxOpenFiles", "openFiles",
        "systemCollections",
    ],
    check: Deployment(check),
}

threshold!(
    MAX_COLLECTIONS,
    "max-collections",
    Int(5000),
    "collections",
    "DM-12.1",
    "number of collections on a server that Docward reports as a warning; a larger number is an error"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let max = cx.count(&MAX_COLLECTIONS);
    let stored: Vec<_> =
        evidence.collections.iter().filter(|c| c.kind != CollectionKind::View).collect();
    let own = stored.iter().filter(|c| {
        c.kind == CollectionKind::System
            || server::is_own_collection(&c.namespace.database, &c.namespace.collection)
    });
    let listed = own.count() as u64;
    let total = stored.len() as u64 - listed;
    let files: u64 =
        stored.iter().map(|c| 1 + c.indexes.as_ref().map_or(1, |i| i.len().max(1)) as u64).sum();
    let told = evidence.server.as_ref();
    // The collections of a running server are counted, not listed; each has its `_id` index.
    let counted = told.and_then(|server| server.own_collections).unwrap_or(0);
    let (system, files) = (listed + counted, files + 2 * counted);
    let may_open = told.and_then(|server| server.max_open_files);
    let open = told.and_then(|server| server.open_data_handles);
    let crowded = may_open.is_some_and(|most| files > most);
    if total < max && !crowded {
        return;
    }
    let mut families: Vec<_> = evidence
        .families
        .iter()
        .filter(|f| f.form == TailForm::Number || f.members.len() >= 24)
        .collect();
    families.sort_by_key(|f| (std::cmp::Reverse(f.members.len()), &f.database, &f.stem));
    let merges: Vec<_> = families
        .iter()
        .take(3)
        .map(|f| format!("{} `{}.{}…`", text::count(f.members.len() as u64), f.database, f.stem))
        .collect();
    let saved: u64 = families.iter().map(|f| f.members.len() as u64 - 1).sum();
    let todo = if merges.is_empty() {
        "merge collections of similar documents into one, and store the part of the name that differs as an indexed field".to_owned()
    } else {
        format!(
            "merge each of the families {} into one collection: {} would remain",
            merges.join(", "),
            text::plural(total.saturating_sub(saved), "collection")
        )
    };
    let todo = if crowded {
        format!(
            "{todo}; until then, allow the server to open more files (`ulimit -n`, usually 64,000)"
        )
    } else {
        todo
    };
    let over = total > max;
    let draft = Draft::new(
            Subject::Deployment,
            what(total, max, files, (open, may_open)),
            format!(
                "the server loads the metadata of {0} at start and keeps it in memory; about {1} files need handles; monitoring, migrations and upgrades take longer with each collection; physical backups copy {1} files and can time out",
                text::plural(total, "collection"),
                text::count(files)
            ),
            todo,
            Seen::all(evidence.collections.len() as u64, Unit::Collections),
        )
        .data("collections", total)
        .data("systemCollections", system)
        .data("files", files)
        .data("limit", max)
        .data(
            "impacts",
            vec![
                format!("start: the server loads the metadata of {} one by one", text::plural(total, "collection")),
                format!("memory: the server caches the metadata of {} files", text::count(files)),
                handles(files, open, may_open),
                format!("operations: monitoring, migrations and upgrades process {}", text::plural(total, "collection")),
                format!("backup: physical copies of {} files can time out or fail", text::count(files)),
            ],
        )
        .severity(if over { Severity::Error } else { Severity::Warn })
        .level(Level::Recommended)
        .clauses(if total < max { &["DM-12.3"] } else { &["DM-12.1", "DM-12.3", "AP-S0.4"] });
    let told = [("openFiles", open), ("maxOpenFiles", may_open)];
    let told = told.into_iter().filter_map(|(key, n)| Some((key, n?)));
    cx.report(told.fold(draft, |draft, (key, n)| draft.data(key, n)));
}

fn what(total: u64, max: u64, files: u64, (open, may_open): (Option<u64>, Option<u64>)) -> String {
    let counted = text::plural(total, "collection");
    let files = format!("about {} data files with their indexes", text::count(files));
    let limit = if total < max {
        format!("{counted} on one instance")
    } else {
        format!("{counted} on one instance (limit {})", text::count(max))
    };
    match (open, may_open) {
        (Some(open), Some(most)) => format!(
            "{limit}; {files}, of which {} are open; the server may open {}",
            text::count(open),
            text::count(most)
        ),
        (Some(open), None) => format!("{limit}; {files}, of which {} are open", text::count(open)),
        (None, Some(most)) => {
            format!("{limit}; {files}; the server may open {}", text::count(most))
        }
        _ => format!("{limit}; {files}"),
    }
}

fn handles(files: u64, open: Option<u64>, may_open: Option<u64>) -> String {
    let files = text::count(files);
    match may_open {
        Some(most) => format!(
            "file handles: about {files}, {} open now (limit {})",
            open.map_or_else(|| "an unknown number".to_owned(), text::count),
            text::count(most)
        ),
        None => format!("file handles: about {files} count towards the operating system's limit"),
    }
}

#[cfg(test)]
mod tests {
    use docward_model::{
        Collection, DataValue, Deployment, Evidence, Finding, Index, Namespace, Settings, Severity,
    };

    fn with(collections: usize, indexes: usize) -> Vec<Finding> {
        let evidence = Evidence {
            deployment: Deployment { server_version: None, names_are_real: true },
            databases: vec!["db_iot".to_owned()],
            collections: (0..collections)
                .map(|n| Collection {
                    indexes: Some(vec![Index::default(); indexes]),
                    ..Collection::named(Namespace::new("db_iot", format!("t_{n:06}")))
                })
                .collect(),
            ..Evidence::default()
        };
        let settings = Settings { select: vec!["L001".to_owned()], ..Settings::default() };
        crate::judge(&evidence, &settings).findings
    }

    #[test]
    fn dm_12_1_4999_pass_5000_warn_5001_fail() {
        assert!(with(4999, 1).is_empty());
        assert_eq!(with(5000, 1)[0].severity, Severity::Warn);
        assert_eq!(with(5001, 1)[0].severity, Severity::Error);
    }

    #[test]
    fn dm_12_3_files_are_collections_and_indexes() {
        let found = with(5000, 4);
        assert_eq!(found[0].data.get("files"), Some(&DataValue::Int(25_000)));
        let Some(DataValue::List(impacts)) = found[0].data.get("impacts") else { panic!() };
        assert_eq!(impacts.len(), 5);
    }

    #[test]
    fn dm_12_3_files_are_compared_with_what_the_server_may_open() {
        let found = |most: u64| {
            let body = format!(
                "server {{\"authorization\": true, \"handles\": 2, \"open-files\": {most}}}\nindex {{\"key\": {{\"a\": 1}}}}\n{{\"_id\": 1}}"
            );
            crate::testing::check("L001", &body)
        };
        assert!(found(3).is_empty(), "a collection and two indexes");
        let own = "server {\"authorization\": true, \"own-collections\": 4, \"open-files\": 9}\n{\"_id\": 1}";
        let own = crate::testing::check("L001", own);
        assert_eq!(own[0].data.get("systemCollections"), Some(&DataValue::Int(4)));
        assert_eq!(own[0].data.get("files"), Some(&DataValue::Int(10)));
        let over = found(2);
        assert_eq!(over[0].severity, Severity::Warn);
        assert!(
            over[0].what.ends_with(
                "about 3 data files with their indexes, of which 2 are open; the server may open 2"
            ),
            "{}",
            over[0].what
        );
    }

    #[test]
    fn ap_s0_4_5001_collections_are_a_finding() {
        assert!(with(5001, 1)[0].cites("AP-S0.4"));
    }

    #[test]
    fn dm_12_1_views_and_server_collections_do_not_count() {
        let body = "@ db_a.t_a\n{\"_id\": 1}\n@ db_a.v_a\noptions {\"viewOn\": \"t_a\", \"pipeline\": []}\n@ admin.system.users\n{\"_id\": 1}\n@ config.chunks\n{\"_id\": 1}";
        assert!(crate::testing::check_with("L001", "max-collections=2", body).is_empty());
    }
}
