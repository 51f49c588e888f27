//! Finds the positions of the members of a JSON text. The parser that validated the text does not
//! record positions, so this pass can assume valid input.

use std::collections::HashMap;

use crate::Place;
use docward_source::place::Places;

use super::refs::escaped;

/// Positions by JSON pointer.
pub(super) struct Positions {
    places: HashMap<String, Place>,
}

impl Positions {
    pub(super) fn of(text: &str) -> Self {
        let mut scanner = Scanner { text, at: 0, marks: Places::new(text), places: HashMap::new() };
        scanner.value("");
        Self { places: scanner.places }
    }

    /// Returns the position of a member's name or of an element. Returns the start of the text if
    /// it is not known.
    pub(super) fn at(&self, pointer: &str) -> Place {
        self.places.get(pointer).copied().unwrap_or(Place { line: 1, column: 1 })
    }
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
    marks: Places<'t>,
    places: HashMap<String, Place>,
}

impl Scanner<'_> {
    fn space(&mut self) {
        let rest = self.text[self.at..].trim_start_matches([' ', '\t', '\r', '\n']);
        self.at = self.text.len() - rest.len();
    }

    fn peek(&mut self) -> Option<u8> {
        self.space();
        self.text.as_bytes().get(self.at).copied()
    }

    fn note(&mut self, pointer: &str) {
        self.space();
        self.places.entry(pointer.to_owned()).or_insert(self.marks.at(self.at));
    }

    fn value(&mut self, pointer: &str) {
        self.note(pointer);
        match self.peek() {
            Some(b'{') => {
                self.at += 1;
                while let Some(byte) = self.peek() {
                    match byte {
                        b'}' => break,
                        b'"' => {
                            let start = self.at;
                            self.string();
                            let name: String = serde_json::from_str(&self.text[start..self.at])
                                .unwrap_or_default();
                            let inner = format!("{pointer}/{}", escaped(&name));
                            // If several members have the same name, the last one counts.
                            self.places.insert(inner.clone(), self.marks.at(start));
                            if self.peek() == Some(b':') {
                                self.at += 1;
                            }
                            self.value(&inner);
                        }
                        _ => self.at += 1,
                    }
                }
                self.at += 1;
            }
            Some(b'[') => {
                self.at += 1;
                let mut index = 0;
                while let Some(byte) = self.peek() {
                    match byte {
                        b']' => break,
                        b',' => self.at += 1,
                        _ => {
                            self.value(&format!("{pointer}/{index}"));
                            index += 1;
                        }
                    }
                }
                self.at += 1;
            }
            Some(b'"') => self.string(),
            Some(_) => {
                let rest = &self.text[self.at..];
                let end = rest.find([',', '}', ']', ' ', '\t', '\r', '\n']).unwrap_or(rest.len());
                self.at += end.max(1);
            }
            None => {}
        }
    }

    fn string(&mut self) {
        let bytes = self.text.as_bytes();
        self.at += 1;
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'\\' => self.at += 2,
                b'"' => {
                    self.at += 1;
                    return;
                }
                _ => self.at += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_elements_have_places() {
        let text = "{\n  \"a\\\"/b\": [1, {\"c\": null}],\n  \"d\": \"x\"\n}";
        let positions = Positions::of(text);
        for (pointer, line, column) in [
            ("", 1, 1),
            ("/a\"~1b", 2, 3),
            ("/a\"~1b/0", 2, 13),
            ("/a\"~1b/1/c", 2, 17),
            ("/d", 3, 3),
        ] {
            assert_eq!(positions.at(pointer), Place { line, column }, "{pointer}");
        }
    }
}
