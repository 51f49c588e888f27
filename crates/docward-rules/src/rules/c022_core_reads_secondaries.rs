//! RP-1, AP-S1.2, CP-3: core services that may read stale data.

use docward_model::{Evidence, ServiceClass, UriChange};

use crate::{Cx, declare_rule, facts::deployment::clients::clients};

declare_rule! {
    /// # Core service reads secondaries
    ///
    /// ## What it checks
    /// Reports services declared as `core` whose `readPreference` is anything but `primary`. This includes
    /// `primaryPreferred`, which reads from a secondary while there is no primary.
    ///
    /// ## Why it matters
    /// Secondaries lag behind by some milliseconds, and sometimes by much more. A balance that is read right
    /// after a transfer still shows the old amount, and the transfer may be made a second time.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// service {"name": "bank", "class": "core"}
    /// uri mongodb://10.0.0.1,10.0.0.2/db_bank?appName=bank&readPreference=secondary
    /// ```
    /// ```jsonl,clean
    /// service {"name": "bank", "class": "core"}
    /// service {"name": "history", "class": "read-heavy", "stale-reads-ms": 5000}
    /// uri mongodb://10.0.0.1,10.0.0.2/db_bank?appName=bank
    /// uri mongodb://10.0.0.1,10.0.0.2/db_bank?appName=history&readPreference=secondaryPreferred
    /// ```
    ///
    /// ## How to fix
    /// Read from the primary. Give history and reports a separate client that reads from secondaries.
    ///
    /// ## When to ignore it
    /// Every read that must be current requests the primary explicitly.
    C022, "core-reads-secondaries",
    level: Mandatory,
    area: Correctness,
    clauses: ["RP-1", "CP-3", "AP-S1.2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [],
    data: ["mode"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    for client in clients(evidence, cx.settings()) {
        if client.class() != Some(ServiceClass::Core) {
            continue;
        }
        let Some(mode) =
            client.read_preference().filter(|mode| !mode.eq_ignore_ascii_case("primary"))
        else {
            continue;
        };
        let draft = client.draft(
            client.place("readPreference"),
            format!("{}, a core service, uses read preference {mode}", client.uri.owner()),
            "secondaries lag behind: a service that does not find its recent write can write it again",
            "set readPreference=primary, and use a separate client for reports and history",
        );
        cx.report(draft.data("mode", mode).uri([UriChange::set("readPreference", "primary")]));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, of_service};

    #[test]
    fn rp_1_ap_s1_2_cp_3_st_18_balances_are_read_from_the_primary() {
        let found = |class: &str, mode: &str| {
            let class = format!(", \"class\": \"{class}\"");
            check("C022", &of_service(&class, &format!("readPreference={mode}"))).len()
        };
        for mode in ["secondary", "secondaryPreferred", "nearest", "primaryPreferred"] {
            assert_eq!(found("core", mode), 1, "{mode}");
            assert_eq!(found("general", mode), 0, "{mode}");
        }
        assert_eq!(found("core", "primary"), 0);
        assert!(check("C022", "uri mongodb://a,b/?readPreference=secondary").is_empty());
    }
}
