//! Schemas that contradict themselves (DM-11.6): places where no value can pass, branches that can never
//! hold, keywords that never apply. This module reads only the schema. It treats uncertain cases as
//! possible: each reported contradiction is proven, but some contradictions are not found.

mod dead;
mod judge;
mod place;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use docward_model::{BsonType, Value};

use judge::{Judge, is_taken};
use place::{KINDS, Place, possible_types};

use crate::facts::{remedies::shell, schema::admitted_types, text};

/// The effect of a contradiction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gravity {
    /// No value can pass here.
    Impossible,
    /// A part of the schema can never hold, or accepts everything.
    Unreachable,
    /// Keywords without effect.
    Idle,
}

/// One contradiction.
#[derive(Clone, Debug)]
pub struct Contradiction {
    /// The path of the contradiction, in the form of field paths: `items[].price`; empty for the document.
    pub path: String,
    /// The effect of the contradiction.
    pub gravity: Gravity,
    /// The contradiction in words.
    pub what: String,
    /// The text of the fix.
    pub todo: String,
}

/// Returns the contradictions in schemas that every document of a collection must meet.
pub fn contradictions(schemas: &[&Value]) -> Vec<Contradiction> {
    // Schemas that the server rejects are not checked.
    if schemas.is_empty() || !schemas.iter().all(|schema| is_taken(schema)) {
        return Vec::new();
    }
    let mut finder = Finder { steps: 0, told: BTreeSet::new(), out: Vec::new() };
    finder.walk(&Place::of(schemas.iter().copied()), "", "", true);
    finder.out
}

/// Maximum number of places to examine. Nested alternatives multiply, so larger schemas are not checked.
const MAX_STEPS: u32 = 20_000;

/// The reason why no value can pass.
#[derive(Clone, Debug)]
struct Why {
    path: String,
    /// The cause alone.
    cause: String,
    /// The cause, and its consequence.
    words: String,
    todo: String,
}

impl Why {
    fn new(path: &str, words: String, todo: &str) -> Self {
        Self { path: path.to_owned(), cause: words.clone(), words, todo: todo.to_owned() }
    }
}

struct Finder {
    steps: u32,
    /// Reported causes, by place and text: each is reported once, where it occurs first.
    told: BTreeSet<(String, String)>,
    out: Vec<Contradiction>,
}

impl Finder {
    fn tell(&mut self, gravity: Gravity, what: String, why: Why) {
        if self.told.insert((why.path.clone(), why.cause)) {
            self.out.push(Contradiction { path: why.path, gravity, what, todo: why.todo });
        }
    }

    fn walk(&mut self, place: &Place<'_>, path: &str, within: &str, is_document: bool) {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return;
        }
        let gravity = if within.is_empty() { Gravity::Impossible } else { Gravity::Unreachable };
        let types = place.types();
        if let Some(why) = self.dead(place, path, is_document) {
            let subject = if is_document {
                "no document can pass".to_owned()
            } else {
                format!("no value of `{path}` can pass{within}")
            };
            self.tell(gravity, format!("{subject}: {}", why.words), why);
        } else {
            for (kind, why) in self.dead_kinds(place, path, is_document) {
                let others = types.iter().flatten().any(|t| !kind.types.contains(t));
                let gravity = if others { Gravity::Unreachable } else { gravity };
                let what = format!("no {} in `{path}` can pass{within}: {}", kind.noun, why.words);
                self.tell(gravity, what, why);
            }
        }
        self.idle_keywords(place, path, is_document);
        self.lost_values(place, path);
        let admits = |kind: BsonType| {
            types.as_ref().is_none_or(|types| types.contains(&kind)) || is_document
        };
        for (keyword, branches) in place.groups.clone() {
            self.branches(place, keyword, branches, path, is_document);
        }
        if admits(BsonType::Object) {
            let names: BTreeSet<&str> = place
                .own()
                .iter()
                .flat_map(|part| part.get("properties").map(Value::entries).unwrap_or_default())
                .map(|(name, _)| name.as_str())
                .collect();
            for name in names.into_iter().filter(|name| !is_odd(name)) {
                let child = place.property(name);
                // `{not: {}}` is the usual way to forbid a field.
                if !child.parts.iter().any(|part| is_ban(part)) {
                    self.walk(&child, &join(path, name), within, false);
                }
            }
            for part in place.own() {
                let patterns = part.get("patternProperties").map(Value::entries);
                let rest = part.get("additionalProperties").filter(|r| matches!(r, Value::Map(_)));
                for node in patterns.unwrap_or_default().iter().map(|(_, node)| node).chain(rest) {
                    if !is_ban(node) {
                        let child = Place::of(std::iter::once(node));
                        self.walk(&child, &join(path, "*"), within, false);
                    }
                }
            }
        }
        if admits(BsonType::Array) {
            let items = place.items();
            if !items.own().is_empty() && !items.parts.iter().any(|part| is_ban(part)) {
                self.walk(&items, &format!("{path}[]"), within, false);
            }
        }
    }

    /// Reports alternatives without effect, and examines the others.
    fn branches<'s>(
        &mut self,
        place: &Place<'s>,
        keyword: &'static str,
        branches: &'s [Value],
        path: &str,
        is_document: bool,
    ) {
        let at = if path.is_empty() { String::new() } else { format!(" of `{path}`") };
        let told = |finder: &mut Self, gravity, words: String, todo: &str| {
            let why = Why::new(path, words.clone(), todo);
            finder.tell(gravity, words, why);
        };
        for (first, second) in twins(branches) {
            let both = format!("branches {} and {} of `{keyword}`{at}", first + 1, second + 1);
            if keyword == "oneOf" {
                let words = format!("{both} are the same: neither can be the only one that holds");
                told(
                    self,
                    Gravity::Unreachable,
                    words,
                    "remove one of the two, or make them different",
                );
            } else {
                told(self, Gravity::Idle, format!("{both} are the same"), "remove one of the two");
            }
        }
        let types = possible_types(place, is_document);
        let open = branches.iter().position(|b| accepts_all(b, &types, place));
        if let Some(open) = open.filter(|_| keyword == "anyOf" && branches.len() > 1) {
            let words = format!(
                "branch {} of `anyOf`{at} accepts everything: the other branches never matter",
                open + 1
            );
            told(self, Gravity::Unreachable, words, "add constraints to this branch, or remove it");
        }
        let judged: Vec<_> = branches
            .iter()
            .map(|node| {
                let branch = place.branch(node);
                let why = self.dead(&branch, path, is_document);
                (branch, why)
            })
            .collect();
        // If no branch can hold, the place as a whole was reported.
        let none = judged.iter().all(|(_, why)| why.is_some());
        for (i, (branch, why)) in judged.into_iter().enumerate() {
            let name = format!("branch {} of `{keyword}`{at}", i + 1);
            match why {
                Some(_) if none => {}
                Some(why) => {
                    let words = format!("{name} can never hold: {}", why.words);
                    told(self, Gravity::Unreachable, words, &why.todo);
                }
                None => self.walk(&branch, path, &format!(" in {name}"), is_document),
            }
        }
    }

    /// Reports keywords for types that the schema excludes.
    fn idle_keywords(&mut self, place: &Place<'_>, path: &str, is_document: bool) {
        let types = possible_types(place, is_document);
        // Only explicit types count.
        if types.is_empty() || (place.types().is_none() && !is_document) {
            return;
        }
        for kind in KINDS.iter().filter(|kind| !kind.types.iter().any(|t| types.contains(t))) {
            let found: Vec<&str> = kind
                .keywords
                .iter()
                .copied()
                .filter(|keyword| place.own().iter().any(|part| part.get(keyword).is_some()))
                .collect();
            if found.is_empty() {
                continue;
            }
            // A common mistake: the constraints of elements are next to `items` instead of inside it.
            let elements = types.contains(&BsonType::Array)
                && found.iter().any(|keyword| matches!(*keyword, "properties" | "required"));
            let (gravity, todo) = if elements {
                (
                    Gravity::Unreachable,
                    "move the constraints of the elements into `items`".to_owned(),
                )
            } else {
                let verb = text::form(found.len() as u64, "it", "them");
                (Gravity::Idle, format!("remove {verb}, or admit the intended type"))
            };
            let at = if path.is_empty() { String::new() } else { format!(" of `{path}`") };
            let because = if is_document {
                "a document is an object".to_owned()
            } else {
                format!("only {} is admitted", names(&types))
            };
            let words = format!(
                "{}{at} {} no effect: {because}",
                text::list(&found, 5),
                text::form(found.len() as u64, "has", "have")
            );
            let why = Why::new(path, words.clone(), &todo);
            self.tell(gravity, words, why);
        }
    }

    /// Reports values of an enumeration that other keywords exclude, while they accept others.
    fn lost_values(&mut self, place: &Place<'_>, path: &str) {
        if path.is_empty() {
            return;
        }
        for part in place.own() {
            let listed = part.get("enum").map(Value::items).unwrap_or_default();
            let Some(rest) = Judge::new(&[part]) else { continue };
            let lost: Vec<&Value> = listed.iter().filter(|v| !rest.may_pass(v)).collect();
            if lost.is_empty() || lost.len() == listed.len() {
                continue;
            }
            let shown: Vec<String> = lost.iter().map(|value| shell::value(value)).collect();
            let words = format!(
                "{} of the `enum` of `{path}` can never pass, because of other keywords",
                text::list(&shown, 3)
            );
            let only_null = lost.iter().all(|value| matches!(value, Value::Null));
            let todo = if only_null && part.get("bsonType").or(part.get("type")).is_some() {
                "add \"null\" to the types, or remove null from the `enum`"
            } else {
                "correct the `enum`, or the other constraints of the field"
            };
            let why = Why::new(path, words.clone(), todo);
            self.tell(Gravity::Unreachable, words, why);
        }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Names that the server treats as paths, or as the object itself.
fn is_odd(name: &str) -> bool {
    name.is_empty() || name.contains('.')
}

fn names(types: &BTreeSet<BsonType>) -> String {
    types.iter().map(|t| t.name()).collect::<Vec<_>>().join("/")
}

fn is_note(key: &str) -> bool {
    matches!(key, "title" | "description")
}

/// `{not: {}}` without other keywords.
fn is_ban(node: &Value) -> bool {
    let mut said = node.entries().iter().filter(|(key, _)| !is_note(key));
    let bans = |(key, value): &(String, Value)| {
        key == "not" && value.entries().iter().all(|(key, _)| is_note(key))
    };
    said.next().is_some_and(bans) && said.next().is_none()
}

/// Whether a schema accepts everything that its surroundings accept.
fn accepts_all(node: &Value, types: &BTreeSet<BsonType>, around: &Place<'_>) -> bool {
    let objects_only = types.iter().all(|t| *t == BsonType::Object);
    node.entries().iter().all(|(key, value)| match key.as_str() {
        "bsonType" | "type" => admitted_types(node).is_some_and(|own| types.is_subset(&own)),
        "required" if objects_only => {
            let required = around.required();
            value.items().iter().all(|v| v.as_text().is_some_and(|name| required.contains(name)))
        }
        key => is_note(key),
    })
}

/// Pairs of equivalent branches, each with the first of its kind.
fn twins(branches: &[Value]) -> Vec<(usize, usize)> {
    let plain: Vec<Value> = branches.iter().map(without_notes).collect();
    let first = |i: usize| plain[..i].iter().position(|other| *other == plain[i]);
    (0..plain.len()).filter_map(|i| Some((first(i)?, i))).collect()
}

/// The schema without titles and descriptions, its keywords in one order.
fn without_notes(node: &Value) -> Value {
    match node {
        Value::Map(entries) => {
            let said = |(key, value): &&(String, Value)| {
                !(is_note(key) && matches!(value, Value::Text(_)))
            };
            let mut out: Vec<_> = entries
                .iter()
                .filter(said)
                .map(|(key, value)| (key.clone(), without_notes(value)))
                .collect();
            out.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Map(out)
        }
        Value::List(items) => Value::List(items.iter().map(without_notes).collect()),
        other => other.clone(),
    }
}
