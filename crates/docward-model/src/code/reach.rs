//! Which code runs: by itself, for requests, by hand, or never.

use std::collections::BTreeSet;

use super::{Code, Method, Place};

impl Code {
    /// Whether users start a file by hand. It must be in a directory for scripts, and only scripts
    /// of that kind may import it.
    pub fn is_hand_run(&self, file: &str) -> bool {
        let mut seen = BTreeSet::from([file]);
        let mut next = vec![file];
        while let Some(file) = next.pop() {
            if !self.scripts.contains(file) {
                return false;
            }
            let importers = self.imported_by.get(file).into_iter().flatten();
            next.extend(importers.map(String::as_str).filter(|by| seen.insert(by)));
        }
        true
    }

    /// Whether a file is unreachable by imports.
    pub fn is_idle(&self, file: &str) -> bool {
        self.mentions.as_ref().is_some_and(|mentions| mentions.unreached.contains(file))
    }

    /// Whether code is unreachable, judging by all files of the project. Its file is not imported,
    /// or it is in a method that only unreachable methods call.
    pub fn is_never_run(&self, place: &Place) -> bool {
        let Some(mentions) = &self.mentions else { return false };
        let file = &place.location.file;
        if self.is_idle(file) {
            return true;
        }
        let Some(name) = &place.function else { return false };
        let first = Method { file: file.clone(), name: name.clone(), lines: (0, 0) };
        let method = self.methods.range(first..).next();
        if !method.is_some_and(|method| method.file == *file && method.name == *name) {
            return false;
        }
        // Follow the callers of the method until one of them is reachable.
        let mut known = BTreeSet::from([name]);
        let mut ways = vec![name];
        while let Some(name) = ways.pop() {
            for caller in mentions.methods.get(name).into_iter().flatten() {
                match caller {
                    None => return false,
                    Some(caller) if known.insert(caller) => ways.push(caller),
                    Some(_) => {}
                }
            }
        }
        true
    }

    /// Whether request handlers run a function, themselves or through functions of the project. Only
    /// names that one function has, and that are no everyday words, are followed.
    pub fn is_requested(&self, place: &Place) -> bool {
        /// Shorter names are `find` and `getOne`.
        const TELLING: usize = 8;
        let is_telling = |name: &str| {
            name.len() >= TELLING
                && name[1..].contains(|c: char| c == '_' || c.is_ascii_uppercase())
                && self.methods.iter().filter(|method| method.name == name).nth(1).is_none()
        };
        let mut ways: Vec<&String> = place.function.iter().collect();
        let mut known: BTreeSet<&String> = ways.iter().copied().collect();
        while let Some(name) = ways.pop().filter(|_| known.len() < 100) {
            if !is_telling(name) {
                continue;
            }
            if self.queries.requested.contains(name) {
                return true;
            }
            let callers = self.mentions.iter().filter_map(|mentions| mentions.methods.get(name));
            ways.extend(callers.flatten().flatten().filter(|caller| known.insert(caller)));
        }
        false
    }

    /// Whether the project is a program that one person uses in a terminal.
    pub fn is_for_one_person(&self) -> bool {
        self.serving.is_empty()
            && self
                .mentions
                .as_ref()
                .is_some_and(|mentions| mentions.asks_in_terminal && !mentions.serves)
    }
}
