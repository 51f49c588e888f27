//! RP-6: a tag set that sends all reads to one member.

use docward_model::{
    ClientUri, Draft, Evidence, Level, Member, Purpose, Seen, Severity, Subject, Unit,
    client_uri::with_port,
};

use crate::{Cx, declare_rule};

declare_rule! {
    /// # Single tagged reader
    ///
    /// ## What it checks
    /// Finds the members of the replica set that serve the reads of a connection string. Drivers read from the
    /// members of the first tag set in `readPreferenceTags` that any member matches. Docward reports a string
    /// whose reads all go to one member, and a string whose tags no member has.
    ///
    /// - Hidden members and arbiters do not count.
    /// - With `secondary` and `secondaryPreferred`, the current primary does not count.
    ///
    /// Strings without tags, with another read preference, or of another replica set are not checked.
    ///
    /// ## Why it matters
    /// One member takes all these reads, and no other member can share the load. When it is down, the reads fail;
    /// with `secondaryPreferred` they all go to the primary.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// server {"authorization": true, "set": "rs0", "members": [{"host": "db1:27017", "state": "PRIMARY"}, {"host": "db2:27017", "state": "SECONDARY"}, {"host": "db3:27017", "state": "SECONDARY", "priority": 0, "tags": {"use": "read"}}]}
    /// uri mongodb://db1,db2,db3/?replicaSet=rs0&readPreference=secondary&readPreferenceTags=use:read
    /// ```
    /// ```jsonl,clean
    /// server {"authorization": true, "set": "rs0", "members": [{"host": "db1:27017", "state": "PRIMARY"}, {"host": "db2:27017", "state": "SECONDARY", "tags": {"use": "read"}}, {"host": "db3:27017", "state": "SECONDARY", "priority": 0, "tags": {"use": "read"}}]}
    /// uri mongodb://db1,db2,db3/?replicaSet=rs0&readPreference=secondary&readPreferenceTags=use:read
    /// ```
    ///
    /// ## How to fix
    /// Add a second member with these tags, or use tags that several members have.
    ///
    /// ## When to ignore it
    /// An occasional report or backup is meant to read from this one member.
    C004, "single-tagged-reader",
    level: Recommended,
    area: Writes,
    clauses: ["RP-6"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris, Server],
    thresholds: [],
    data: ["member", "mode", "tags"],
    check: Deployment(check),
}

/// Pairs that a member must have, all of them.
type TagSet = [(String, String)];

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(server) = &evidence.server else { return };
    let Some(members) = server.members.as_deref() else { return };
    // An account without access to the configuration sees no tags.
    if members.is_empty() || members.iter().any(|member| member.tags.is_none()) {
        return;
    }
    let tagged =
        |uri: &&ClientUri| !uri.read_tags.is_empty() && belongs(uri, members, server.replica_set());
    for uri in evidence.uris.iter().filter(tagged) {
        let Some((mode, with_primary)) = mode(uri) else { continue };
        let Some((tags, matching)) = first_match(uri, members) else {
            cx.report(nobody(uri, mode, evidence.uris.len() as u64));
            continue;
        };
        if tags.is_empty() {
            continue;
        }
        let readers: Vec<&Member> =
            matching.iter().copied().filter(|m| with_primary || !is_primary(m)).collect();
        if let [reader] = readers.as_slice() {
            let primary = matching.iter().find(|m| !with_primary && is_primary(m)).copied();
            let total = evidence.uris.len() as u64;
            cx.report(one(uri, mode, tags, reader, primary, total));
        }
    }
}

/// Whether a connection string leads to this set.
fn belongs(uri: &ClientUri, members: &[Member], set: Option<&str>) -> bool {
    if let (Some(named), Some(set)) = (&uri.replica_set, set) {
        return named == set;
    }
    uri.purpose == Purpose::Source
        || uri
            .hosts
            .iter()
            .any(|host| members.iter().any(|member| with_port(&member.host) == with_port(host)))
}

/// The read preference, if it uses tags, and whether the primary may answer. `primaryPreferred` uses tags only while
/// there is no primary.
fn mode(uri: &ClientUri) -> Option<(&'static str, bool)> {
    match uri.read_preference.as_deref()? {
        mode if mode.eq_ignore_ascii_case("secondary") => Some(("secondary", false)),
        mode if mode.eq_ignore_ascii_case("secondaryPreferred") => {
            Some(("secondaryPreferred", false))
        }
        mode if mode.eq_ignore_ascii_case("nearest") => Some(("nearest", true)),
        _ => None,
    }
}

fn is_primary(member: &Member) -> bool {
    member.state.as_deref() == Some("PRIMARY")
}

/// The first tag set that matches any readable member, with those members.
fn first_match<'a>(
    uri: &'a ClientUri,
    members: &'a [Member],
) -> Option<(&'a TagSet, Vec<&'a Member>)> {
    let visible =
        |member: &&Member| member.is_visible() && member.state.as_deref() != Some("ARBITER");
    uri.read_tags.iter().find_map(|tags| {
        let has = |member: &&Member| {
            tags.iter().all(|tag| member.tags.as_ref().is_some_and(|own| own.contains(tag)))
        };
        let matching: Vec<&Member> = members.iter().filter(visible).filter(has).collect();
        (!matching.is_empty()).then_some((tags.as_slice(), matching))
    })
}

fn tag_text(tags: &TagSet) -> String {
    tags.iter().map(|(key, value)| format!("{key}:{value}")).collect::<Vec<_>>().join(",")
}

fn one(
    uri: &ClientUri,
    mode: &str,
    tags: &TagSet,
    reader: &Member,
    primary: Option<&Member>,
    uris: u64,
) -> Draft {
    let tags = tag_text(tags);
    let but = primary.map_or(String::new(), |primary| {
        format!("; {}, which also has these tags, is currently the primary", primary.host)
    });
    Draft::new(
        Subject::Deployment,
        format!("reads of {} ({mode}, tags {tags}) all go to {}{but}", uri.owner(), reader.host),
        "one member serves all these reads; if it is down, they fail or go to the primary",
        format!("add a second member with the tags {tags}, or use tags that several members have"),
        Seen::all(uris, Unit::ConnectionStrings),
    )
    .data("mode", mode)
    .data("tags", tags.as_str())
    .data("member", reader.host.as_str())
    .severity(Severity::Warn)
    .key(uri.key())
}

fn nobody(uri: &ClientUri, mode: &str, uris: u64) -> Draft {
    let sets: Vec<String> = uri.read_tags.iter().map(|tags| tag_text(tags)).collect();
    let sets = sets.join(" or ");
    let preferred = mode == "secondaryPreferred";
    Draft::new(
        Subject::Deployment,
        format!("no member has the tags {sets}, which reads of {} ({mode}) require", uri.owner()),
        if preferred {
            "all these reads go to the primary"
        } else {
            "drivers find no server for these reads, which fail after serverSelectionTimeoutMS"
        },
        format!("give two members the tags {sets}, or correct the connection string"),
        Seen::all(uris, Unit::ConnectionStrings),
    )
    .data("mode", mode)
    .data("tags", sets.as_str())
    .level(Level::Recommended)
    .severity(Severity::Warn)
    .key(uri.key())
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    /// Findings for a string with these options. The set has the members `a` (primary), `b`, `c` and `d`; some have the
    /// tag `use:read` and others.
    fn with(b: &str, c: &str, d: &str, options: &str) -> Vec<String> {
        let member = |host: &str, state: &str, more: &str| {
            format!(r#"{{"host": "{host}:27017", "state": "{state}"{more}}}"#)
        };
        let members = [
            member("a", "PRIMARY", r#", "tags": {"dc": "ny"}"#),
            member("b", "SECONDARY", b),
            member("c", "SECONDARY", c),
            member("d", "SECONDARY", d),
        ];
        let facts = format!(
            "server {{\"authorization\": true, \"set\": \"rs0\", \"members\": [{}]}}\nuri mongodb://a,b,c/?{options}",
            members.join(", ")
        );
        check("C004", &facts).into_iter().map(|finding| finding.what).collect()
    }

    const READ: &str = r#", "tags": {"use": "read"}"#;
    const TAGS: &str = "readPreference=secondary&readPreferenceTags=use:read";

    #[test]
    fn rp_6_one_member_warns_and_two_pass() {
        let one = with(READ, "", "", TAGS);
        assert!(one[0].contains("all go to b:27017"), "{}", one[0]);
        assert!(with(READ, READ, "", TAGS).is_empty());
        // Without tags, or with those of all members, the choice is not restricted.
        assert!(with(READ, "", "", "readPreference=secondary").is_empty());
        assert!(with(READ, "", "", "readPreference=secondary&readPreferenceTags=").is_empty());
        assert!(
            with(READ, "", "", "readPreference=primaryPreferred&readPreferenceTags=use:read")
                .is_empty()
        );
    }

    #[test]
    fn rp_6_members_that_clients_do_not_see_do_not_count() {
        let hidden = r#", "hidden": true, "priority": 0, "tags": {"use": "read"}"#;
        let arbiter = r#", "arbiter": true, "tags": {"use": "read"}"#;
        assert_eq!(with(READ, hidden, arbiter, TAGS).len(), 1);
        // Clients read from a member that cannot be elected like from any other.
        let no_priority = r#", "priority": 0, "tags": {"use": "read"}"#;
        assert!(with(READ, no_priority, "", TAGS).is_empty());
    }

    #[test]
    fn rp_6_the_primary_answers_only_where_it_may() {
        let ny = r#", "tags": {"dc": "ny"}"#;
        let found = with(ny, "", "", "readPreference=secondaryPreferred&readPreferenceTags=dc:ny");
        assert!(
            found[0].contains("a:27017, which also has these tags, is currently the primary"),
            "{}",
            found[0]
        );
        assert!(with(ny, "", "", "readPreference=nearest&readPreferenceTags=dc:ny").is_empty());
    }

    #[test]
    fn rp_6_the_first_tag_set_that_matches_counts() {
        let both = "readPreference=secondary&readPreferenceTags=dc:la&readPreferenceTags=use:read";
        assert_eq!(with(READ, "", "", both).len(), 1);
        assert!(with(READ, READ, "", both).is_empty());
        let nobody = with("", "", "", TAGS);
        assert!(nobody[0].starts_with("no member has the tags use:read"), "{}", nobody[0]);
        // The last tag set accepts any member.
        assert!(with("", "", "", &format!("{TAGS}&readPreferenceTags=")).is_empty());
    }

    #[test]
    fn rp_6_other_sets_and_unknown_tags_are_not_judged() {
        assert!(with(READ, "", "", &format!("{TAGS}&replicaSet=other")).is_empty());
        let unknown = r#"server {"authorization": true, "set": "rs0", "members": [{"host": "a:27017", "state": "PRIMARY", "tags": null}]}
            uri mongodb://a/?readPreference=secondary&readPreferenceTags=use:read"#;
        assert!(check("C004", unknown).is_empty());
    }
}
