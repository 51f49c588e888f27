//! A table of the model file, which callers read key by key. An unused key is a mistake, reported
//! with the key that was probably meant.

use crate::model_file::fault::Faults;
use crate::model_file::position::At;
use crate::model_file::yaml::{Node, Value};

pub(crate) struct Table<'n> {
    pub(crate) at: At,
    entries: &'n [(String, At, Node)],
    known: Vec<&'static str>,
}

impl<'n> Table<'n> {
    /// Returns the node as a table. Any other node is a fault.
    pub(crate) fn of(node: &'n Node, what: &str, faults: &mut Faults<'_>) -> Option<Self> {
        match &node.value {
            Value::Map(entries) => Some(Self { at: node.at, entries, known: Vec::new() }),
            _ => {
                let message = format!("{what} must be a table, not {}", node.noun());
                faults.push(node.at, message, Some("write `name: value` lines below it".into()));
                None
            }
        }
    }

    /// Returns the value of a key.
    pub(crate) fn get(&mut self, key: &'static str) -> Option<&'n Node> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        self.entries
            .iter()
            .find(|(name, _, _)| name == key)
            .map(|(_, _, node)| node)
            .filter(|node| !node.is_nothing())
    }

    /// Returns every entry of a table whose keys are names.
    pub(crate) fn entries(&self) -> &'n [(String, At, Node)] {
        self.entries
    }

    /// Reports unused keys.
    pub(crate) fn finish(self, what: &str, faults: &mut Faults<'_>) {
        for (key, at, _) in self.entries {
            if !self.known.contains(&key.as_str()) {
                let hint = match nearest(key, self.known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("known keys: {}", listed(&self.known)),
                };
                faults.push(*at, format!("{what} has no `{key}`"), Some(hint));
            }
        }
    }
}

/// Returns the known name that was probably meant.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|name| (strsim::jaro_winkler(&word.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(alike, _)| *alike >= 0.84)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

pub(crate) fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Reads single values. Each method reports a fault for an unsuitable value.
impl Node {
    pub(crate) fn text(&self, what: &str, faults: &mut Faults<'_>) -> Option<&str> {
        match &self.value {
            Value::Scalar(text, _) if !text.is_empty() => Some(text),
            _ => {
                faults.push(self.at, format!("{what} must be text, not {}", self.noun()), None);
                None
            }
        }
    }

    /// Reads a value with a function. `example` shows the notation.
    pub(crate) fn read<T>(
        &self,
        what: &str,
        example: &str,
        reader: impl Fn(&str) -> Option<T>,
        faults: &mut Faults<'_>,
    ) -> Option<T> {
        let text = self.text(what, faults)?;
        let value = reader(text.trim());
        if value.is_none() {
            let hint = Some(format!("write it as {example}"));
            faults.push(self.at, format!("{what} cannot be read from `{}`", shortened(text)), hint);
        }
        value
    }

    pub(crate) fn flag(&self, what: &str, faults: &mut Faults<'_>) -> Option<bool> {
        self.read(what, "`true` or `false`", boolean, faults)
    }

    /// Reads a list of words. A single word is a list of one.
    pub(crate) fn words(&self, what: &str, faults: &mut Faults<'_>) -> Vec<(String, At)> {
        match &self.value {
            Value::List(items) => items
                .iter()
                .filter_map(|item| Some((item.text(what, faults)?.to_owned(), item.at)))
                .collect(),
            _ => self.text(what, faults).map(|t| (t.to_owned(), self.at)).into_iter().collect(),
        }
    }
}

pub(crate) fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "yes" => Some(true),
        "false" | "no" => Some(false),
        _ => None,
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= 40 {
        return text.to_owned();
    }
    text.chars().take(40).chain(['…']).collect()
}
