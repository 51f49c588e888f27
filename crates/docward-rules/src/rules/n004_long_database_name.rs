//! DM-02.3: the length of database names in bytes (GC-20).

use docward_model::{Draft, Evidence, Seen, Subject, Unit};

use crate::{Cx, declare_rule, facts::text, threshold};

declare_rule! {
    /// # Long database name
    ///
    /// ## What it checks
    /// Reports database names longer than 63 bytes. Docward counts bytes, not characters: a Chinese character has
    /// three bytes.
    ///
    /// ## Why it matters
    /// Servers allow fewer than 64 bytes and refuse to create or restore a longer name. The rule book allows 64,
    /// which is one too many.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_a_name_that_goes_on_and_on_until_it_is_longer_than_any_server_takes.t_a
    /// {"_id": 1}
    /// ```
    /// ```jsonl,clean,ns=db_short.t_a
    /// {"_id": 1}
    /// ```
    ///
    /// ## How to fix
    /// Choose a shorter name and copy the collections.
    ///
    /// ## When to ignore it
    /// Never. No server accepts the name.
    N004, "long-database-name",
    level: Mandatory,
    area: Hygiene,
    clauses: ["DM-02.3"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Names],
    thresholds: [MAX_BYTES],
    data: ["bytes", "limit"],
    check: Deployment(check),
}

threshold!(
    MAX_BYTES,
    "max-bytes",
    Int(63),
    "bytes",
    "DM-02.3, GC-20",
    "maximum length of a database name in bytes"
);

/// Maximum length of database names in bytes: no rule may propose a longer one.
pub(super) const LONGEST: usize = 63;

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let max = cx.count(&MAX_BYTES);
    for database in &evidence.databases {
        let bytes = database.len() as u64;
        if bytes <= max {
            continue;
        }
        let note = if bytes == 64 && max == 63 {
            "; the rule book allows 64, but servers reject it"
        } else {
            ""
        };
        let characters = database.chars().count() as u64;
        let counted = if characters == bytes {
            String::new()
        } else {
            format!(" ({} in UTF-8)", text::plural(characters, "character"))
        };
        cx.report(
            Draft::new(
                Subject::Database(database.clone()),
                format!(
                    "database name `{database}` has {bytes} bytes{counted} (limit {max}{note})"
                ),
                "servers refuse to create or restore databases with names of 64 bytes or more",
                format!("shorten the name by {} or more", text::plural(bytes - max, "byte")),
                Seen::all(evidence.databases.len() as u64, Unit::Databases),
            )
            .data("bytes", bytes)
            .data("limit", max),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    fn with_name(name: &str) -> Vec<docward_model::Finding> {
        check("N004", &format!("@ {name}.t_a\n{{\"_id\": 1}}"))
    }

    #[test]
    fn dm_02_3_63_bytes_pass_64_fail_with_a_note() {
        assert!(with_name(&"a".repeat(63)).is_empty());
        let found = with_name(&"a".repeat(64));
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("allows 64, but servers reject"), "{}", found[0].what);
    }

    #[test]
    fn dm_02_3_bytes_count_not_characters() {
        let found = with_name(&"库".repeat(22));
        assert!(found[0].what.contains("66 bytes (22 characters"), "{}", found[0].what);
        assert!(with_name(&"库".repeat(21)).is_empty());
    }
}
