//! SDK-ALL.1: options that exclude each other; drivers refuse most such strings.

use docward_model::{Evidence, Level, NoteKind};

use crate::{Cx, declare_rule, facts::deployment::clients::clients};

declare_rule! {
    /// # Contradictory options
    ///
    /// ## What it checks
    /// Reports options that exclude each other. These are errors:
    /// - hosts: `directConnection` or `loadBalanced` with several hosts or with each other, `loadBalanced` with
    ///   `replicaSet`
    /// - `srvMaxHosts` or `srvServiceName` without `mongodb+srv://`, `srvMaxHosts` with `replicaSet` or
    ///   `loadBalanced`
    /// - TLS: `tls` and `ssl` that differ, `tlsInsecure` with an option that it includes
    /// - reads: `maxStalenessSeconds` below 90, or it or tags with `readPreference=primary`
    /// - writes: a negative `w`, `w=0` with `journal=true`
    /// - logins: an empty or wrong `authSource`, a password where the mechanism uses none, a missing user or
    ///   secret
    /// - proxies: proxy options without `proxyHost`, a user or password alone
    /// - a path that is not a database name
    ///
    /// Contradictions that drivers accept, such as a certificate with `tls=false`, are a warning. For local
    /// addresses they are a note.
    ///
    /// ## Why it matters
    /// The client does not start, or it starts with one driver and not with another.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?directConnection=true
    /// ```
    /// ```jsonl,clean
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?readPreference=secondary&maxStalenessSeconds=90
    /// ```
    ///
    /// ## How to fix
    /// Remove one of the contradictory options, or write the value that the finding proposes.
    ///
    /// ## When to ignore it
    /// Never. A string that one driver accepts today is refused by another.
    C029, "contradictory-options",
    level: Mandatory,
    area: Correctness,
    severities: [Error, Warn, Info],
    clauses: ["SDK-ALL.1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [],
    data: ["option"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    for client in clients(evidence, cx.settings()) {
        for note in &client.uri.notes {
            let (level, why) = match note.kind {
                NoteKind::Refused => {
                    (Level::Mandatory, "drivers reject the string, so the client does not start")
                }
                NoteKind::Contradiction => (
                    if client.is_local() { Level::Information } else { Level::Recommended },
                    "drivers honour only one of the two options; the other silently has no effect",
                ),
                _ => continue,
            };
            let key = format!("{} {}", client.uri.key(), note.option);
            let draft = client.note_draft(note, level, why).key(key);
            cx.report(draft);
        }
    }
}

#[cfg(test)]
mod tests {
    use docward_model::Severity::{self, Error, Info, Warn};

    use crate::testing::severities;

    #[test]
    fn sdk_all_1_what_drivers_refuse_is_an_error() {
        let found = |rest: &str| -> Vec<Severity> {
            severities("C029", "", &format!("uri mongodb://{rest}"))
        };
        for rest in [
            "a,b/?directConnection=true",
            "a,b/?loadBalanced=true",
            "a/?loadBalanced=true&replicaSet=x",
            "a/?srvMaxHosts=2",
            "a/?tls=true&ssl=false",
            "a/?tls=true&tlsInsecure=true&tlsAllowInvalidCertificates=true",
            "a/?readPreference=secondary&maxStalenessSeconds=10",
            "a/?readPreference=primary&readPreferenceTags=dc:ny",
            "a/?w=0&journal=true",
            "u@a/?authSource=",
            "u:p@a/?authMechanism=MONGODB-X509&tls=true",
        ] {
            assert_eq!(found(rest), [Error], "{rest}");
        }
        assert_eq!(found("a/?tls=false&tlsCAFile=ca.pem"), [Warn]);
        assert_eq!(found("localhost/?tls=false&tlsCAFile=ca.pem"), [Info]);
        assert!(
            found("a,b/?replicaSet=x&readPreference=nearest&maxStalenessSeconds=120").is_empty()
        );
    }
}
