//! SDK-ALL.1: options that drivers ignore: unknown, misspelled, given twice, given up, of the wrong type.

use docward_model::{Edit, EditedText, Evidence, Level, NoteKind, UriNote};
use docward_uri::nearest_option;

use crate::{
    Cx, declare_rule,
    facts::clients::{Client, Correction, clients},
};

declare_rule! {
    /// # Mistaken option
    ///
    /// ## What it checks
    /// Reads options as drivers do, and tells what they ignore: names that no driver knows, with the one
    /// that was probably meant; values of the wrong type or outside of what the option takes; options that
    /// are given several times. Deprecated options, old names, and options that say nothing beside another
    /// are information.
    ///
    /// ## Why it matters
    /// Most drivers write a line to their log and go on. Whoever wrote `maxPolSize=20` has a pool of 100.
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
    /// Write the name and the value as proposed.
    ///
    /// ## When to ignore it
    /// A proxy or a driver of your own reads the option.
    C028, "mistaken-option",
    level: Recommended,
    area: Correctness,
    clauses: ["SDK-ALL.1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    for client in clients(evidence, cx.settings()) {
        for note in &client.uri.notes {
            let (level, why) = match note.kind {
                // What drivers of the time took does no harm on the own machine.
                NoteKind::Unknown
                    if docward_uri::gone(&note.option).is_some() && client.is_local() =>
                {
                    (Level::Information, "newer drivers take it no more, or warn about it")
                }
                NoteKind::Unknown => {
                    (Level::Recommended, "drivers write a line to their log and go on without it")
                }
                NoteKind::WrongValue => {
                    (Level::Recommended, "drivers leave the option out and take their default")
                }
                NoteKind::Repeated => (
                    Level::Recommended,
                    "what counts depends on the driver and may change with its version",
                ),
                NoteKind::Deprecated => {
                    (Level::Information, "newer drivers take it no more, or warn about it")
                }
                NoteKind::NoEffect => (Level::Information, "it looks as if it did something"),
                NoteKind::Refused | NoteKind::Contradiction => continue,
            };
            let key = format!("{} {:?} {}", client.uri.key(), note.kind, note.option);
            let draft = client.note_draft(note, level, why).key(key);
            let draft = match renamed(&client, note) {
                Some(edit) => draft.edit(edit),
                None => draft,
            };
            cx.report(match correction(&client, note.kind, &note.option) {
                Some(change) => draft.data("change", change),
                None => draft,
            });
        }
    }
}

/// An old name of an option in code, where the new one means the same.
fn renamed(client: &Client<'_>, note: &UriNote) -> Option<Edit> {
    let location = note.location.as_ref().filter(|_| client.uri.site.is_some())?;
    let option =
        client.uri.options.iter().find(|option| option.location.as_ref() == Some(location))?;
    let is_alias = note.kind == NoteKind::Deprecated
        && !option.written.eq_ignore_ascii_case(&option.name)
        && !note.what.ends_with("deprecated itself");
    is_alias.then(|| Edit {
        location: location.clone(),
        old: EditedText::Exactly(format!("{}=", option.written)),
        new: format!("{}=", option.name),
        needs: None,
    })
}

fn correction(client: &Client<'_>, kind: NoteKind, option: &str) -> Option<Correction> {
    match kind {
        NoteKind::Unknown => Some(match nearest_option(option) {
            Some(name) if client.uri.option(name).is_none() => Correction::rename(option, name),
            _ => Correction::remove(option),
        }),
        NoteKind::NoEffect if option != "readPreferenceTags" => Some(Correction::remove(option)),
        NoteKind::Deprecated => {
            let given = client.uri.option(option)?;
            let is_old_name = !given.written.eq_ignore_ascii_case(option);
            is_old_name.then(|| Correction::rename(&given.written, option))
        }
        _ => None,
    }
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
            found[0].what.split(", in").next(),
            Some("`auto_reconnect` is an option that drivers gave up")
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
