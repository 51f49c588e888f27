//! Clients that keep sending to a server that is not the primary. Refusals without a long pause
//! form one period; rules decide whether it is longer than an election takes.

use std::collections::BTreeMap;

use docward_model::{NotPrimary, Value};

use crate::entry::Ran;

/// Refusals with a longer pause belong to two periods.
const PAUSE_MS: i64 = 30_000;
/// The maximum number of periods.
const STRETCHES: usize = 500;
/// The maximum number of applications, hosts and errors per period.
const NAMES: usize = 16;

/// The server's own databases, where members and routers send requests themselves.
const SERVERS_OWN: [&str; 3] = ["admin", "config", "local"];

#[derive(Debug, Default)]
struct Stretch {
    source: usize,
    span: (i64, i64),
    count: u64,
    writes: u64,
    errors: BTreeMap<String, u64>,
    applications: BTreeMap<String, u64>,
    hosts: BTreeMap<String, u64>,
}

/// The refusals recorded so far.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    stretches: Vec<Stretch>,
}

impl Refusals {
    /// Records an operation if it was refused because the server was not the primary; returns
    /// whether it was.
    pub(crate) fn note(&mut self, source: usize, ran: &Ran) -> bool {
        let Some(error) = ran.error.as_ref().filter(|error| error.is_not_primary()) else {
            return false;
        };
        let is_clients =
            ran.namespace.as_ref().is_some_and(|ns| !SERVERS_OWN.contains(&ns.database.as_str()));
        // Operations without a session or connection are internal to the server.
        if !is_clients || ran.session.is_none() {
            return false;
        }
        let goes_on = self
            .stretches
            .last()
            .is_some_and(|last| last.source == source && (ran.at - last.span.1).abs() <= PAUSE_MS);
        if !goes_on {
            if self.stretches.len() >= STRETCHES {
                return true;
            }
            let span = (ran.at, ran.at);
            self.stretches.push(Stretch { source, span, ..Stretch::default() });
        }
        let Some(stretch) = self.stretches.last_mut() else { return true };
        stretch.span = (stretch.span.0.min(ran.at), stretch.span.1.max(ran.at));
        stretch.count += 1;
        stretch.writes += u64::from(ran.command.as_ref().is_some_and(is_write));
        count(&mut stretch.errors, Some(&error.name));
        count(&mut stretch.applications, ran.application.as_ref());
        count(&mut stretch.hosts, ran.host.as_ref());
        true
    }

    pub(crate) fn finish(self) -> Vec<NotPrimary> {
        let stretches = self.stretches.into_iter();
        stretches
            .map(|stretch| NotPrimary {
                source: stretch.source,
                span: stretch.span,
                count: stretch.count,
                writes: stretch.writes,
                errors: by_count(stretch.errors),
                applications: by_count(stretch.applications),
                hosts: by_count(stretch.hosts),
            })
            .collect()
    }
}

fn is_write(command: &Value) -> bool {
    let first = command.entries().first().map(|(name, _)| name.as_str());
    matches!(
        first,
        Some("insert" | "update" | "delete" | "findAndModify" | "findandmodify" | "q" | "u")
    )
}

fn count(names: &mut BTreeMap<String, u64>, name: Option<&String>) {
    if let Some(name) = name
        && (names.len() < NAMES || names.contains_key(name))
    {
        *names.entry(name.clone()).or_default() += 1;
    }
}

/// Most frequent first.
pub(crate) fn by_count(names: BTreeMap<String, u64>) -> Vec<(String, u64)> {
    let mut names: Vec<_> = names.into_iter().collect();
    names.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
    names
}

#[cfg(test)]
mod tests {
    use docward_model::Namespace;

    use super::*;
    use crate::entry::Error;

    fn refused(at: i64, database: &str, code: i64) -> Ran {
        let insert = ("insert".to_owned(), Value::Text("t".into()));
        Ran {
            at,
            namespace: Some(Namespace::new(database, "t")),
            command: Some(Value::Map(vec![insert])),
            session: Some("conn1".into()),
            application: Some("api".into()),
            host: Some("10.0.0.7".into()),
            error: Some(Error {
                code,
                name: "NotWritablePrimary".into(),
                bytes: None,
                too_large: false,
            }),
            ..Ran::default()
        }
    }

    #[test]
    fn ap_s1_6_a_pause_divides_two_occasions() {
        let mut refusals = Refusals::default();
        for at in [0, 20_000, 45_000, 200_000, 201_000] {
            refusals.note(0, &refused(at, "shop", 10_107));
        }
        let found = refusals.finish();
        let spans: Vec<_> = found.iter().map(|s| (s.span, s.count, s.writes)).collect();
        assert_eq!(spans, [((0, 45_000), 3, 3), ((200_000, 201_000), 2, 2)]);
        assert_eq!(found[0].hosts, [("10.0.0.7".to_owned(), 3)]);
        assert_eq!(found[0].applications, [("api".to_owned(), 3)]);
    }

    #[test]
    fn ap_s1_6_servers_among_themselves_and_other_errors_do_not_count() {
        let mut refusals = Refusals::default();
        refusals.note(0, &refused(0, "config", 10_107));
        refusals.note(0, &refused(0, "shop", 11_000));
        refusals.note(0, &Ran { session: None, ..refused(0, "shop", 10_107) });
        assert_eq!(refusals.finish(), []);
    }
}
