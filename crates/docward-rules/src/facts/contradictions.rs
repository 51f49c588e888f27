//! Schemas that contradict themselves (DM-11.6): places where no value can pass, branches that can never
//! hold, keywords that never apply. Nothing but the schema is looked at. What is not certain is taken to
//! be possible: an answer of this file is a proof, silence is not.

use std::collections::BTreeSet;

use docward_bson::value::to_bytes;
use docward_model::{BsonType, Value};
use docward_schema::Schema;

use super::{
    schema::{admitted_types, is_closed},
    shell, text,
};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gravity {
    /// Nothing can pass here.
    Impossible,
    /// A part of it can never hold, or lets everything through.
    Unreachable,
    /// Words without effect.
    Idle,
}

/// One contradiction.
#[derive(Clone, Debug)]
pub struct Contradiction {
    /// Where, written as field paths are: `items[].price`; empty for the document.
    pub path: String,
    /// How bad.
    pub gravity: Gravity,
    /// In words.
    pub what: String,
    /// What to do about it.
    pub todo: String,
}

/// What contradicts itself in schemas that every document of a collection must meet.
pub fn contradictions(schemas: &[&Value]) -> Vec<Contradiction> {
    // What the server does not take is not judged.
    if schemas.is_empty() || !schemas.iter().all(|schema| is_taken(schema)) {
        return Vec::new();
    }
    let mut finder = Finder { steps: 0, told: BTreeSet::new(), out: Vec::new() };
    finder.walk(&Place::of(schemas.iter().copied()), "", "", true);
    finder.out
}

/// Beyond this many places looked at, a schema is left alone: alternatives inside alternatives multiply.
const MOST_STEPS: u32 = 20_000;

/// Why nothing can pass.
#[derive(Clone, Debug)]
struct Why {
    path: String,
    /// The cause alone.
    cause: String,
    /// The cause, and how it comes to matter.
    words: String,
    todo: String,
}

impl Why {
    fn new(path: &str, words: String, todo: &str) -> Self {
        Self { path: path.to_owned(), cause: words.clone(), words, todo: todo.to_owned() }
    }
}

/// Kinds of values that keywords are about.
const KINDS: [Kind; 4] = [
    Kind {
        noun: "string",
        types: &[BsonType::String, BsonType::Symbol],
        keywords: &["minLength", "maxLength", "pattern"],
    },
    Kind {
        noun: "number",
        types: &[BsonType::Int, BsonType::Long, BsonType::Double, BsonType::Decimal],
        keywords: &["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"],
    },
    Kind {
        noun: "array",
        types: &[BsonType::Array],
        keywords: &["items", "additionalItems", "minItems", "maxItems", "uniqueItems"],
    },
    Kind {
        noun: "object",
        types: &[BsonType::Object],
        keywords: &[
            "required",
            "properties",
            "patternProperties",
            "additionalProperties",
            "minProperties",
            "maxProperties",
            "dependencies",
        ],
    },
];

struct Kind {
    noun: &'static str,
    types: &'static [BsonType],
    keywords: &'static [&'static str],
}

/// Everything that has to hold of one value: a schema with the parts of its `allOf`, or a branch with
/// what surrounds it.
struct Place<'s> {
    parts: Vec<&'s Value>,
    /// Parts from here on are looked at for their own sake; those before are surroundings.
    own: usize,
    /// `anyOf` and `oneOf` of the own parts.
    groups: Vec<(&'static str, &'s [Value])>,
}

impl<'s> Place<'s> {
    fn of(nodes: impl Iterator<Item = &'s Value>) -> Self {
        Self::within(Vec::new(), nodes)
    }

    fn within(mut parts: Vec<&'s Value>, nodes: impl Iterator<Item = &'s Value>) -> Self {
        let own = parts.len();
        for node in nodes {
            flatten(node, &mut parts);
        }
        let groups = groups(&parts[own..]);
        Self { parts, own, groups }
    }

    fn branch(&self, node: &'s Value) -> Self {
        Self::within(self.parts.clone(), std::iter::once(node))
    }

    /// What has to hold of something inside.
    fn inside(&self, find: impl Fn(&'s Value) -> Option<&'s Value>) -> Self {
        let (around, own) = self.parts.split_at(self.own);
        let mut surroundings = Vec::new();
        around.iter().filter_map(|part| find(part)).for_each(|n| flatten(n, &mut surroundings));
        Self::within(surroundings, own.iter().filter_map(|part| find(part)))
    }

    fn property(&self, name: &str) -> Self {
        self.inside(|part| part.get("properties").and_then(|p| p.get(name)))
    }

    fn items(&self) -> Self {
        self.inside(|part| part.get("items").filter(|items| matches!(items, Value::Map(_))))
    }

    fn own(&self) -> &[&'s Value] {
        &self.parts[self.own..]
    }

    /// The same place with all alternatives of all its parts, as a question of its own.
    fn whole(&self) -> Self {
        Self { parts: self.parts.clone(), own: 0, groups: groups(&self.parts) }
    }

    /// Types that all parts admit; `None` when no part says.
    fn types(&self) -> Option<BTreeSet<BsonType>> {
        let stated = self.parts.iter().filter_map(|part| admitted_types(part));
        stated.reduce(|a, b| a.intersection(&b).copied().collect())
    }

    fn required(&self) -> BTreeSet<&'s str> {
        let lists = self.parts.iter().filter_map(|part| part.get("required"));
        lists.flat_map(Value::items).filter_map(Value::as_text).collect()
    }

    /// Of a keyword with a number, the strictest: the greatest when `most`, else the smallest.
    fn count(&self, keyword: &str, most: bool) -> Option<i64> {
        let found = self.parts.iter().filter_map(|part| whole(part.get(keyword)?));
        if most { found.max() } else { found.min() }
    }
}

fn groups<'s>(parts: &[&'s Value]) -> Vec<(&'static str, &'s [Value])> {
    let mut out = Vec::new();
    for part in parts {
        for keyword in ["anyOf", "oneOf"] {
            if let Some(branches) = part.get(keyword) {
                out.push((keyword, branches.items()));
            }
        }
    }
    out
}

fn flatten<'s>(node: &'s Value, out: &mut Vec<&'s Value>) {
    out.push(node);
    for part in node.get("allOf").map(Value::items).unwrap_or_default() {
        flatten(part, out);
    }
}

fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Int(n) => Some(*n),
        Value::Double(n) if n.fract() == 0.0 && n.abs() < 1e15 => Some(*n as i64),
        _ => None,
    }
}

struct Finder {
    steps: u32,
    /// What was said, by place and words: a cause is told once, where it is met first.
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
        if self.steps > MOST_STEPS {
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
                // `{not: {}}` is how a field is forbidden.
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

    /// Alternatives that never matter, and what is inside the others.
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
                told(self, Gravity::Unreachable, words, "drop one of the two, or tell them apart");
            } else {
                told(self, Gravity::Idle, format!("{both} are the same"), "drop one of the two");
            }
        }
        let types = possible_types(place, is_document);
        let open = branches.iter().position(|b| accepts_all(b, &types, place));
        if let Some(open) = open.filter(|_| keyword == "anyOf" && branches.len() > 1) {
            let words = format!(
                "branch {} of `anyOf`{at} accepts everything: the other branches never matter",
                open + 1
            );
            told(
                self,
                Gravity::Unreachable,
                words,
                "say in that branch what it is for, or drop it",
            );
        }
        let judged: Vec<_> = branches
            .iter()
            .map(|node| {
                let branch = place.branch(node);
                let why = self.dead(&branch, path, is_document);
                (branch, why)
            })
            .collect();
        // Where none can hold, the place as a whole was reported.
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

    /// Why no value can pass; `None` when one may.
    fn dead(&mut self, place: &Place<'_>, path: &str, is_document: bool) -> Option<Why> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return None;
        }
        let fault = |words: String, todo: &str| Some(Why::new(path, words, todo));
        let mut left = possible_types(place, is_document);
        if left.is_empty() {
            let stated: Vec<String> = place
                .parts
                .iter()
                .filter_map(|part| admitted_types(part))
                .map(|types| names(&types))
                .collect();
            return if is_document && place.types().is_some_and(|types| !types.is_empty()) {
                fault(
                    format!("a document is an object, and only {} is admitted", stated[0]),
                    "admit the type `object`",
                )
            } else {
                fault(
                    format!(
                        "the types it must have all at once have none in common ({})",
                        stated.join("; ")
                    ),
                    "name the types that are meant in one place",
                )
            };
        }
        let mut last = None;
        for (kind, why) in self.dead_kinds(place, path, is_document) {
            left.retain(|t| !kind.types.contains(t));
            last = Some(why);
        }
        if left.is_empty() {
            return last;
        }
        if !is_document && let Some(words) = no_listed_value(place, &left) {
            return fault(words, "correct the `enum`, or what is said beside it");
        }
        for not in place.parts.iter().filter_map(|part| part.get("not")) {
            if accepts_all(not, &left, place) {
                let todo = "say in `not` what must not be, or drop it";
                return fault("its `not` excludes every value".to_owned(), todo);
            }
        }
        for (keyword, branches) in place.groups.clone() {
            let twins: BTreeSet<usize> =
                twins(branches).into_iter().flat_map(|(a, b)| [a, b]).collect();
            let mut first = None;
            let is_open = branches.iter().enumerate().any(|(i, node)| {
                if keyword == "oneOf" && twins.contains(&i) {
                    return false;
                }
                match self.dead(&place.branch(node), path, is_document) {
                    None => true,
                    Some(why) => {
                        first.get_or_insert(why);
                        false
                    }
                }
            });
            if !is_open {
                let (why, todo) = first.map_or_else(
                    || ("they are the same".to_owned(), "tell the branches apart".to_owned()),
                    |why| (why.words, why.todo),
                );
                return fault(format!("no branch of `{keyword}` can hold: {why}"), &todo);
            }
        }
        None
    }

    /// Kinds of values none of which can pass.
    fn dead_kinds(
        &mut self,
        place: &Place<'_>,
        path: &str,
        is_document: bool,
    ) -> Vec<(&'static Kind, Why)> {
        let types = possible_types(place, is_document);
        let mut out = Vec::new();
        for kind in KINDS.iter().filter(|kind| kind.types.iter().any(|t| types.contains(t))) {
            let limits = match kind.noun {
                "string" => over(place, "minLength", "maxLength"),
                "number" => range(place),
                "array" => over(place, "minItems", "maxItems"),
                _ => over(place, "minProperties", "maxProperties"),
            };
            let why = match limits {
                Some(words) => Some(Why::new(path, words, "correct the limits")),
                None if kind.noun == "array" => self.dead_element(place, path),
                None if kind.noun == "object" => self.dead_object(place, path, is_document),
                None => None,
            };
            out.extend(why.map(|why| (kind, why)));
        }
        out
    }

    fn dead_element(&mut self, place: &Place<'_>, path: &str) -> Option<Why> {
        if place.count("minItems", true)? < 1 {
            return None;
        }
        let items = place.items();
        if items.parts.is_empty() {
            return None;
        }
        let at = format!("{path}[]");
        let why = self.dead(&items.whole(), &at, false)?;
        Some(told_from(why, &at))
    }

    fn dead_object(&mut self, place: &Place<'_>, path: &str, is_document: bool) -> Option<Why> {
        let mut required = place.required();
        if is_document {
            required.insert("_id");
        }
        required.retain(|name| !is_odd(name));
        for part in place.parts.iter().filter(|part| is_closed(part)) {
            let mut missing = required.iter().filter(|name| !names_it(part, name));
            if let Some(name) = missing.next() {
                let at = join(path, name);
                return Some(if is_document && *name == "_id" {
                    let words = "the schema is closed (`additionalProperties: false`) and does not list `_id`, which every document has";
                    Why::new("", words.to_owned(), "list `_id` in the properties")
                } else {
                    let words = format!(
                        "`{at}` is required, but `additionalProperties: false` stands beside properties that do not list it"
                    );
                    let todo = format!(
                        "list `{name}` in the properties there, or take it out of `required`"
                    );
                    Why::new(&at, words, &todo)
                });
            }
        }
        let here = |words: String| Some(Why::new(path, words, "correct the limits"));
        if let Some(most) = place.count("maxProperties", false)
            && (required.len() as i64) > most
        {
            let fields = text::plural(required.len() as u64, "field");
            return here(format!("{fields} must be there and `maxProperties` is {most}"));
        }
        if let Some(least) = place.count("minProperties", true)
            && let Some(names) = place.parts.iter().filter_map(|part| closed_names(part)).min()
            && (names as i64) < least
        {
            let fields = text::plural(names as u64, "field");
            return here(format!("`minProperties` is {least} and {fields} may be there"));
        }
        for name in required {
            let child = place.property(name);
            if child.parts.is_empty() {
                continue;
            }
            let at = join(path, name);
            if let Some(why) = self.dead(&child.whole(), &at, false) {
                return Some(told_from(why, &at));
            }
        }
        None
    }

    /// Keywords about values that the types leave out.
    fn idle_keywords(&mut self, place: &Place<'_>, path: &str, is_document: bool) {
        let types = possible_types(place, is_document);
        // Only what is stated counts.
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
            // The usual slip: what elements must look like, written beside `items` instead of in it.
            let elements = types.contains(&BsonType::Array)
                && found.iter().any(|keyword| matches!(*keyword, "properties" | "required"));
            let (gravity, todo) = if elements {
                (Gravity::Unreachable, "move what is said of the elements into `items`".to_owned())
            } else {
                let verb = text::form(found.len() as u64, "it", "them");
                (Gravity::Idle, format!("drop {verb}, or admit the type that is meant"))
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

    /// Values of an enumeration that what stands beside it keeps out, while others pass.
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
                "{} of the `enum` of `{path}` can never pass, for what is said beside it",
                text::list(&shown, 3)
            );
            let only_null = lost.iter().all(|value| matches!(value, Value::Null));
            let todo = if only_null && part.get("bsonType").or(part.get("type")).is_some() {
                "add \"null\" to the types, or drop null from the `enum`"
            } else {
                "correct the `enum`, or what is said beside it"
            };
            let why = Why::new(path, words.clone(), todo);
            self.tell(Gravity::Unreachable, words, why);
        }
    }
}

/// A cause inside, with its place in words unless they name it.
fn told_from(why: Why, at: &str) -> Why {
    if why.words.contains(&format!("`{}`", why.path)) || why.path != at {
        return why;
    }
    Why {
        words: format!("`{at}` must be there and no value of it can pass, because {}", why.words),
        ..why
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Names that the server takes for paths, or for the object itself.
fn is_odd(name: &str) -> bool {
    name.is_empty() || name.contains('.')
}

fn names(types: &BTreeSet<BsonType>) -> String {
    types.iter().map(|t| t.name()).collect::<Vec<_>>().join("/")
}

fn is_note(key: &str) -> bool {
    matches!(key, "title" | "description")
}

/// `{not: {}}` and nothing else.
fn is_ban(node: &Value) -> bool {
    let mut said = node.entries().iter().filter(|(key, _)| !is_note(key));
    let bans = |(key, value): &(String, Value)| {
        key == "not" && value.entries().iter().all(|(key, _)| is_note(key))
    };
    said.next().is_some_and(bans) && said.next().is_none()
}

fn possible_types(place: &Place<'_>, is_document: bool) -> BTreeSet<BsonType> {
    let mut types = place.types().unwrap_or_else(|| BsonType::ALL.into_iter().collect());
    if is_document {
        types.retain(|t| *t == BsonType::Object);
    }
    types
}

/// Whether a schema lets everything through that its surroundings do.
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

/// Pairs of branches that say the same, each with the first of its kind.
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

/// Whether a closed schema lists a name; a pattern over names that cannot be run here may.
fn names_it(part: &Value, name: &str) -> bool {
    let listed = |key: &str| part.get(key).map(Value::entries).unwrap_or_default().iter();
    listed("properties").any(|(known, _)| known == name)
        || listed("patternProperties")
            .any(|(pattern, _)| regex::Regex::new(pattern).map_or(true, |p| p.is_match(name)))
}

/// How many names a closed schema without patterns lists.
fn closed_names(part: &Value) -> Option<usize> {
    let patterns = part.get("patternProperties").is_some_and(|p| !p.entries().is_empty());
    (is_closed(part) && !patterns)
        .then(|| part.get("properties").map(Value::entries).unwrap_or_default().len())
}

/// A lower limit above an upper one.
fn over(place: &Place<'_>, least: &str, most: &str) -> Option<String> {
    let (low, high) = (place.count(least, true)?, place.count(most, false)?);
    (low > high).then(|| format!("`{least}` {low} is above `{most}` {high}"))
}

/// A limit of numbers: its value, whether that is exact, whether the limit itself is out.
type Bound<'s> = (f64, bool, bool, &'s Value);

fn bounds<'s>(place: &Place<'s>, keyword: &str, exclusive: &str) -> Vec<Bound<'s>> {
    let of = |part: &&'s Value| {
        let value = part.get(keyword)?;
        let out = matches!(part.get(exclusive), Some(Value::Bool(true)));
        match value {
            Value::Int(n) => Some((*n as f64, n.unsigned_abs() < 1 << 53, out, value)),
            Value::Double(n) if !n.is_nan() => Some((*n, true, out, value)),
            Value::Other(_) => Some((decimal(value)?, false, out, value)),
            _ => None,
        }
    };
    place.parts.iter().filter_map(of).collect()
}

fn decimal(value: &Value) -> Option<f64> {
    let Value::Other(text) = value else { return None };
    let digits = text.strip_prefix("NumberDecimal(\"")?.strip_suffix("\")")?;
    digits.parse::<f64>().ok().filter(|n| !n.is_nan())
}

fn range(place: &Place<'_>) -> Option<String> {
    let lows = bounds(place, "minimum", "exclusiveMinimum");
    let highs = bounds(place, "maximum", "exclusiveMaximum");
    let shown = |value: &Value| match value {
        Value::Other(_) => decimal(value).unwrap_or_default().to_string(),
        other => shell::value(other),
    };
    for (low, low_exact, low_out, low_value) in &lows {
        for (high, high_exact, high_out, high_value) in &highs {
            let exact = *low_exact && *high_exact;
            // What is rounded must be apart by more than that.
            let margin = if exact { 0.0 } else { 1e-9 * low.abs().max(high.abs()) };
            let (low_text, high_text) = (shown(low_value), shown(high_value));
            if *low > *high + margin {
                return Some(format!("`minimum` {low_text} is above `maximum` {high_text}"));
            }
            if exact && low == high && (*low_out || *high_out) {
                return Some(format!(
                    "`minimum` and `maximum` are both {low_text}, which is itself excluded"
                ));
            }
        }
    }
    None
}

/// Why none of the values that an enumeration lists can pass.
fn no_listed_value(place: &Place<'_>, left: &BTreeSet<BsonType>) -> Option<String> {
    let lists = place.parts.iter().filter_map(|part| part.get("enum"));
    let shortest = lists.map(Value::items).min_by_key(|list| list.len())?;
    let judge = Judge::new(&place.parts)?;
    if shortest.iter().any(|value| judge.may_pass(value)) {
        return None;
    }
    let typed = place.types().is_some()
        && shortest.iter().all(|value| !left.iter().any(|t| kind_of(value).contains(t)));
    Some(if typed {
        format!("none of the values of its `enum` is {}", names(left))
    } else if place.parts.iter().filter(|part| part.get("enum").is_some()).count() > 1 {
        "no value of one `enum` is in the other, or meets what is said beside it".to_owned()
    } else {
        "none of the values of its `enum` meets what is said beside it".to_owned()
    })
}

/// Types a listed value can have.
fn kind_of(value: &Value) -> Vec<BsonType> {
    match value {
        Value::Null => vec![BsonType::Null, BsonType::Undefined],
        Value::Bool(_) => vec![BsonType::Bool],
        Value::Int(_) | Value::Double(_) => {
            vec![BsonType::Int, BsonType::Long, BsonType::Double, BsonType::Decimal]
        }
        Value::Text(_) => vec![BsonType::String, BsonType::Symbol, BsonType::Javascript],
        Value::Date(_) => vec![BsonType::Date],
        Value::List(_) => vec![BsonType::Array],
        Value::Map(_) => vec![BsonType::Object],
        Value::Other(_) => BsonType::ALL.to_vec(),
    }
}

/// Asks the evaluator whether values meet schemas.
struct Judge {
    schema: Schema,
    /// Whether decimals are admitted by name: those with a fraction are not made here.
    decimals: bool,
}

impl Judge {
    /// `None` when a schema holds something that a tree of values does not keep.
    fn new(parts: &[&Value]) -> Option<Self> {
        if parts.iter().any(|part| is_lossy(part, false)) {
            return None;
        }
        let all = Value::List(parts.iter().map(|part| (*part).clone()).collect());
        let value = Value::Map(vec![("allOf".to_owned(), all)]);
        let schema = vec![("properties".to_owned(), Value::Map(vec![("v".to_owned(), value)]))];
        let schema = Schema::compile(&to_bytes(&schema)).ok()?;
        let types: Vec<_> = parts.iter().filter_map(|part| admitted_types(part)).collect();
        let decimals = !types.is_empty() && types.iter().all(|t| t.contains(&BsonType::Decimal));
        Some(Self { schema, decimals })
    }

    /// Whether the value, in one of the types it equals, may meet them.
    fn may_pass(&self, value: &Value) -> bool {
        let asks = |document: &[u8]| self.schema.accepts(document).unwrap_or(true);
        match value {
            Value::Double(n) if n.fract() != 0.0 && self.decimals => true,
            Value::Int(_) | Value::Double(_) => {
                numbers(value).iter().any(|document| asks(document))
            }
            value if is_lossy(value, true) => true,
            value => asks(&to_bytes(&[("v".to_owned(), value.clone())])),
        }
    }
}

/// Whether a tree holds something whose type is not certain; with `numbers`, whole numbers count.
fn is_lossy(value: &Value, numbers: bool) -> bool {
    match value {
        Value::Other(_) => true,
        Value::Int(_) | Value::Double(_) => numbers,
        Value::List(items) => items.iter().any(|item| is_lossy(item, numbers)),
        Value::Map(entries) => entries.iter().any(|(_, value)| is_lossy(value, numbers)),
        _ => false,
    }
}

/// `{v: number}` in every type that equals it; decimals of whole numbers only.
fn numbers(value: &Value) -> Vec<Vec<u8>> {
    let document = |tag: u8, bytes: &[u8]| {
        let length = 4 + 1 + 2 + bytes.len() as i32 + 1;
        [&length.to_le_bytes()[..], &[tag], b"v\0", bytes, &[0]].concat()
    };
    let whole = match value {
        Value::Int(n) => Some(*n),
        Value::Double(n) if n.fract() == 0.0 && n.abs() < 9e15 => Some(*n as i64),
        _ => None,
    };
    let float = match value {
        Value::Int(n) => *n as f64,
        Value::Double(n) => *n,
        _ => return Vec::new(),
    };
    let mut out = vec![document(0x01, &float.to_le_bytes())];
    if let Some(n) = whole {
        out.push(document(0x12, &n.to_le_bytes()));
        // The number as it is, with the exponent 0.
        let sign = if n < 0 { 1 << 63 } else { 0 };
        let high: u64 = sign | 0x3040 << 48;
        let decimal = [n.unsigned_abs().to_le_bytes(), high.to_le_bytes()].concat();
        out.push(document(0x13, &decimal));
        out.extend(i32::try_from(n).ok().map(|n| document(0x10, &n.to_le_bytes())));
    }
    out
}

/// Whether the server takes a schema. Decimals are read as doubles, which changes nothing of that.
fn is_taken(schema: &Value) -> bool {
    fn plain(value: &Value) -> Value {
        match value {
            Value::Other(_) => decimal(value).map_or_else(|| value.clone(), Value::Double),
            Value::List(items) => Value::List(items.iter().map(plain).collect()),
            Value::Map(entries) => {
                Value::Map(entries.iter().map(|(key, value)| (key.clone(), plain(value))).collect())
            }
            other => other.clone(),
        }
    }
    Schema::compile(&to_bytes(plain(schema).entries())).is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Small choices out of one number.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: u64) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % sides
        }

        fn small(&mut self) -> Value {
            Value::Int(self.roll(4) as i64)
        }

        fn name(&mut self) -> String {
            ["a", "b", "c"][self.roll(3) as usize].to_owned()
        }

        fn value(&mut self, depth: u32) -> Value {
            match self.roll(if depth > 2 { 5 } else { 8 }) {
                0 => Value::Null,
                1 | 2 => self.small(),
                3 => Value::Double(1.5),
                4 => Value::Text("abc"[..self.roll(4) as usize].to_owned()),
                5 => Value::List((0..self.roll(3)).map(|_| self.value(depth + 1)).collect()),
                _ => self.object(depth + 1),
            }
        }

        fn object(&mut self, depth: u32) -> Value {
            let mut out: Vec<(String, Value)> = Vec::new();
            for _ in 0..self.roll(4) {
                let name = self.name();
                if !out.iter().any(|(known, _)| *known == name) {
                    out.push((name, self.value(depth)));
                }
            }
            Value::Map(out)
        }

        fn types(&mut self) -> Value {
            let words = ["int", "string", "object", "array", "null", "number"];
            let mut out: Vec<Value> = Vec::new();
            for _ in 0..=self.roll(2) {
                let word = Value::Text(words[self.roll(6) as usize].to_owned());
                if !out.contains(&word) {
                    out.push(word);
                }
            }
            Value::List(out)
        }

        fn schemas(&mut self, depth: u32) -> Value {
            Value::List((0..=self.roll(2)).map(|_| self.schema(depth + 1)).collect())
        }

        fn schema(&mut self, depth: u32) -> Value {
            let mut out: Vec<(String, Value)> = Vec::new();
            for _ in 0..self.roll(if depth == 0 { 5 } else { 4 }) {
                let (key, value) = match self.roll(if depth > 3 { 8 } else { 16 }) {
                    0 | 1 => ("bsonType", self.types()),
                    2 => ("minimum", self.small()),
                    3 => ("maximum", self.small()),
                    4 => ("minLength", self.small()),
                    5 => ("maxItems", self.small()),
                    6 => {
                        let mut listed: Vec<Value> = Vec::new();
                        for _ in 0..=self.roll(2) {
                            let value = self.value(3);
                            if !listed.contains(&value) {
                                listed.push(value);
                            }
                        }
                        ("enum", Value::List(listed))
                    }
                    7 => ("required", Value::List(vec![Value::Text(self.name())])),
                    8 | 9 => {
                        let name = self.name();
                        ("properties", Value::Map(vec![(name, self.schema(depth + 1))]))
                    }
                    10 => ("additionalProperties", Value::Bool(false)),
                    11 => ("items", self.schema(depth + 1)),
                    12 => ("allOf", self.schemas(depth)),
                    13 => ("anyOf", self.schemas(depth)),
                    14 => ("oneOf", self.schemas(depth)),
                    _ => ("not", self.schema(depth + 1)),
                };
                if !out.iter().any(|(known, _)| known == key) {
                    out.push((key.to_owned(), value));
                }
            }
            if self.roll(3) == 0 && !out.iter().any(|(known, _)| known == "minItems") {
                out.push(("minItems".to_owned(), self.small()));
            }
            Value::Map(out)
        }
    }

    /// The values at a path.
    fn at<'v>(value: &'v Value, path: &str) -> Vec<&'v Value> {
        let mut found = vec![value];
        for step in path.replace("[]", ".[]").split('.').filter(|step| !step.is_empty()) {
            found = found
                .into_iter()
                .flat_map(|value| match step {
                    "[]" => value.items().iter().collect(),
                    name => value.get(name).into_iter().collect::<Vec<_>>(),
                })
                .collect();
        }
        found
    }

    /// Whether a branch that is told to be dead holds of a document: of alternatives at the top alone.
    fn holds(schema: &Value, what: &str, document: &[u8]) -> bool {
        let Some(rest) = what.strip_prefix("branch ") else { return false };
        let Some((number, rest)) = rest.split_once(" of `") else { return false };
        let Some((keyword, rest)) = rest.split_once('`') else { return false };
        if !rest.starts_with(" can never hold") {
            return false;
        }
        let Some(branches) = schema.get(keyword) else { return false };
        // Alternatives of parts are told the same way.
        if schema.get("allOf").is_some()
            || ["anyOf", "oneOf"].iter().all(|k| schema.get(k).is_some())
        {
            return false;
        }
        let nested =
            |node: &Value| ["anyOf", "oneOf", "allOf"].iter().any(|k| node.get(k).is_some());
        if branches.items().iter().any(nested) {
            return false;
        }
        let branch = number.parse::<usize>().ok().and_then(|n| branches.items().get(n - 1));
        branch.is_some_and(|branch| {
            Schema::compile(&to_bytes(branch.entries()))
                .is_ok_and(|schema| schema.accepts(document).unwrap_or(false))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        /// What a document shows to be possible is not called impossible.
        #[test]
        fn dm_11_6_no_document_disproves_a_contradiction(seed in any::<u64>()) {
            let mut dice = Dice(seed);
            let schema = dice.schema(0);
            let Ok(compiled) = Schema::compile(&to_bytes(schema.entries())) else { return Ok(()) };
            let told = contradictions(&[&schema]);
            if told.is_empty() {
                return Ok(());
            }
            for _ in 0..200 {
                let Value::Map(mut fields) = dice.object(0) else { return Ok(()) };
                fields.insert(0, ("_id".to_owned(), Value::Int(1)));
                let bytes = to_bytes(&fields);
                if !compiled.accepts(&bytes).unwrap() {
                    continue;
                }
                let document = Value::Map(fields);
                for found in &told {
                    let what = found.what.as_str();
                    prop_assert!(!what.starts_with("no document can pass"), "{}\n{schema:?}\n{document:?}", what);
                    prop_assert!(!holds(&schema, what, &bytes), "{}\n{schema:?}\n{document:?}", what);
                    let subject = what.split(':').next().unwrap();
                    if subject.contains(" in branch ") {
                        continue;
                    }
                    if let Some(path) = subject.strip_prefix("no value of `").and_then(|s| s.strip_suffix("` can pass")) {
                        prop_assert!(at(&document, path).is_empty(), "{}\n{schema:?}\n{document:?}", what);
                    }
                    for kind in &KINDS {
                        let head = format!("no {} in `", kind.noun);
                        if let Some(path) = subject.strip_prefix(&head).and_then(|s| s.strip_suffix("` can pass")) {
                            let none = at(&document, path).iter().all(|v| !kind_of(v).iter().any(|t| kind.types.contains(t)));
                            prop_assert!(none, "{}\n{schema:?}\n{document:?}", what);
                        }
                    }
                }
            }
        }
    }
}
