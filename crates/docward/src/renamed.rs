//! Renamed options. The old names still work and print a note.

use std::ffi::OsString;

use crate::terminal::complain;

/// The old and new names, by command.
const RENAMED: [(&str, &str, &str); 11] = [
    ("audit", "--uri", "--client-uri"),
    ("audit", "--model", "--design"),
    ("audit", "--namespace", "--as"),
    ("audit", "--expand", "--verbose or --show"),
    ("checklist", "--uri", "--client-uri"),
    ("checklist", "--model", "--design"),
    ("checklist", "--namespace", "--as"),
    ("shardkey", "--workload", "--log"),
    ("connect plan", "--uri", "--server"),
    ("connect choose", "--uri", "--server"),
    ("design simulate", "--uri", "--server"),
];

/// Prints a note on standard error for each renamed option.
pub(crate) fn note_old_names(words: impl Iterator<Item = OsString>) {
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    for (old, new) in old_names(&words) {
        complain(&format!("note: {old} is now called {new}"));
    }
}

fn old_names(words: &[String]) -> Vec<(&'static str, &'static str)> {
    let is_option = |word: &&String| word.starts_with('-');
    let command = words.iter().take_while(|word| !is_option(word)).map(String::as_str);
    let command = command.collect::<Vec<_>>().join(" ");
    let rest = words;
    let is_given = |name: &str| {
        rest.iter().take_while(|word| *word != "--").any(|word| {
            word == name || word.strip_prefix(name).is_some_and(|rest| rest.starts_with('='))
        })
    };
    let of_command = RENAMED.iter().filter(|(of, ..)| is_command(&command, of));
    of_command.filter(|(_, old, _)| is_given(old)).map(|(_, old, new)| (*old, *new)).collect()
}

/// Whether the words before the first option begin with this command.
fn is_command(words: &str, command: &str) -> bool {
    words.strip_prefix(command).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

#[cfg(test)]
mod tests {
    #[test]
    fn old_names_are_found_where_they_were_options() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let found = |line: &str| super::old_names(&words(line));
        assert_eq!(found("audit dump --uri=mongodb://h"), [("--uri", "--client-uri")]);
        assert_eq!(found("shardkey dump --workload a.log"), [("--workload", "--log")]);
        assert_eq!(found("audit dump --client-uri mongodb://h -- --uri"), []);
        assert_eq!(found("connect plan --uri mongodb://h"), [("--uri", "--server")]);
        assert_eq!(found("design simulate a.yaml --uri mongodb://h"), [("--uri", "--server")]);
        assert_eq!(found("connect check --uri mongodb://h"), []);
    }
}
