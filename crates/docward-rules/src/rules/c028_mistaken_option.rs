//! SDK-ALL.1: options that drivers ignore: unknown, misspelled, repeated, removed, of the wrong
//! type.

use docward_model::{Applicability, Edit, EditedText, Evidence, Level, NoteKind, UriNote};

use crate::{
    Cx, declare_rule,
    facts::deployment::clients::{Client, clients},
};

declare_rule! {
    /// # Mistaken option
    ///
    /// ## What it checks
    /// Parses options as drivers do. Warnings:
    /// - names that no driver knows, with the most similar known name
    /// - values of the wrong type or outside the range of the option
    /// - options that are given several times
    ///
    /// Notes:
    /// - deprecated options and old names
    /// - options that have no effect because of another option
    ///
    /// ## Why it matters
    /// Drivers differ. Node.js refuses such a string. PyMongo and Java log a warning and ignore the option, so
    /// `maxPolSize=20` leaves a pool of 100 connections.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?maxPolSize=20
    /// ```
    /// ```jsonl,clean
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?maxPoolSize=100&ssl=true
    /// ```
    ///
    /// ## How to fix
    /// Use the name and the value that the finding proposes.
    ///
    /// ## When to ignore it
    /// A proxy or a driver of your own reads the option.
    C028, "mistaken-option",
    level: Recommended,
    area: Correctness,
    severities: [Warn, Info],
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
                // Drivers of the time accepted it, and on the developer's own machine it does no
                // harm.
                NoteKind::Unknown if docward_uri::is_gone(&note.option) && client.is_local() => {
                    (Level::Information, OLD)
                }
                NoteKind::Unknown => (
                    Level::Recommended,
                    "drivers differ: Node.js rejects the string, PyMongo and Java log a warning and ignore the option, and others ignore it silently",
                ),
                NoteKind::WrongValue => (
                    Level::Recommended,
                    "drivers differ: PyMongo logs a warning and uses its default, others do not connect",
                ),
                NoteKind::Repeated => (
                    Level::Recommended,
                    "the effective value depends on the driver and its version",
                ),
                NoteKind::Deprecated => (Level::Information, OLD),
                NoteKind::NeedsSecondaries => (
                    Level::Recommended,
                    "PyMongo rejects the string unless the program sets such a read preference; other drivers ignore the option",
                ),
                NoteKind::NoEffect => (
                    Level::Information,
                    "people who read the string expect an effect that the option does not have",
                ),
                NoteKind::Refused | NoteKind::Contradiction => continue,
            };
            let key = format!("{} {:?} {}", client.uri.key(), note.kind, note.option);
            let draft = client.note_draft(note, level, why).key(key);
            cx.report(match renamed(&client, note) {
                Some(edit) => draft.edit(edit),
                None => draft,
            });
        }
    }
}

const OLD: &str = "newer drivers reject it or warn about it";

/// An old name of an option in code, if the new one has the same meaning.
fn renamed(client: &Client<'_>, note: &UriNote) -> Option<Edit> {
    let location = note.location.as_ref().filter(|_| client.uri.site.is_some())?;
    let option =
        client.uri.options.iter().find(|option| option.location.as_ref() == Some(location))?;
    let is_alias = note.kind == NoteKind::Deprecated
        && !option.written.eq_ignore_ascii_case(&option.name)
        && !note.what.ends_with("deprecated itself");
    is_alias.then(|| Edit {
        applicability: Applicability::Unsafe,
        location: location.clone(),
        old: EditedText::Exactly(format!("{}=", option.written)),
        new: format!("{}=", option.name),
        needs: None,
    })
}

#[cfg(test)]
mod tests {
    use docward_model::Severity::{Info, Warn};

    use crate::testing::check;

    #[test]
    fn sdk_all_1_misspelled_options_are_told_with_what_was_meant() {
        let one = |options: &str| {
            let found = check("C028", &format!("uri mongodb://a,b/?{options}"));
            assert_eq!(found.len(), 1, "{options}: {found:?}");
            (found[0].severity, found[0].todo.clone())
        };
        assert_eq!(one("maxPolSize=20"), (Warn, "write maxPoolSize".to_owned()));
        assert_eq!(one("maxPoolSize=many").0, Warn);
        assert_eq!(one("retryWrites=yes").0, Warn);
        assert_eq!(one("replicaSet=a&replicaSet=a").0, Warn);
        assert_eq!(one("maxStalenessSeconds=120").0, Warn);
        assert_eq!(one("wTimeoutMS=5000").0, Info);
        assert_eq!(one("zlibCompressionLevel=5").0, Info);
        assert_eq!(one("useNewUrlParser=true").0, Warn);
        assert!(
            check("C028", "uri mongodb://a,b/?w=majority&ssl=true&uuidRepresentation=standard")
                .is_empty()
        );
        assert!(check("C028", "template mongodb://a,b/?{}=1&w={}").is_empty());
    }

    #[test]
    fn sdk_all_1_options_of_old_drivers_are_told_as_such_and_once() {
        let found = check("C028", "uri mongodb://a,b/?auto_reconnect=true");
        assert_eq!(
            found[0].what.split("`: ").nth(1),
            Some("`auto_reconnect` is an option that drivers no longer support")
        );
        let code = "source a.js\nconst monk = require('monk');\nconst uri = 'mongodb://10.0.0.1/shop?auto_reconnect=true';\nconst a = monk(uri).get('a');\nconst b = monk(uri).get('b');";
        let found = crate::testing::judged("C028", code);
        assert_eq!(found.len(), 1, "one text, one finding: {found:?}");
        let local = check("C028", &code.replace("10.0.0.1", "localhost"));
        assert_eq!(local[0].severity, Info);
    }

    #[test]
    fn sdk_all_1_paths_in_templates_are_no_options() {
        let text =
            "expose-uri: mongodb://{.spec.clusterIP}:{.spec.ports[?(.name==\"mongo\")].port}\n";
        assert!(check("C028", &format!("source a.yml\n{text}")).is_empty());
        let text = "uri: mongodb://h.shop.io/${NAME:-\"shop\"}?maxPolSize=5\n";
        assert_eq!(check("C028", &format!("source a.yml\n{text}")).len(), 1);
    }
}
