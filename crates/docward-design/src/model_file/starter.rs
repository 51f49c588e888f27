//! Model files to start from: a commented one, and one that is filled in from data and a workload.
//! Missing facts become questions in comments and are never guessed (DP-2).

pub(crate) mod declared;
mod recorded;

use std::collections::BTreeMap;
use std::fmt::Write;

use docward_model::{
    BsonType, Collection, CollectionKind, Distribution, Evidence, Field, FieldShape, Namespace,
    Profile, Reference, TypeCounts, text, words,
};
use recorded::Operations;

use crate::declared::dates;
use crate::model_file::quantity;

/// A commented model to start from.
pub const STARTER: &str = include_str!("starter.yaml");

/// The maximum number of fields per entity. Further fields are replaced by a comment.
const MAX_FIELDS: usize = 60;

/// The maximum nesting depth of objects. Models need no more (DM-06.1).
const DEEPEST: usize = 8;

/// A collection that looks like readings over time (ALG-8).
#[derive(Clone, Debug, PartialEq)]
pub struct LooksLikeSeries {
    /// The time field.
    pub time: String,
    /// The field that identifies the series.
    pub id: String,
    /// The readings of one series per second.
    pub per_second: f64,
    /// The number of distinct series.
    pub series: u64,
}

/// Returns a model that is filled in from evidence. `as_of` is the date of the data, such as
/// `2026-01-31`. `series` lists collections that look like readings over time.
pub fn starter_from(
    evidence: &Evidence,
    as_of: Option<&str>,
    series: &BTreeMap<Namespace, LooksLikeSeries>,
) -> String {
    let mut out = String::new();
    let kept: Vec<&Collection> = evidence
        .collections
        .iter()
        .filter(|c| matches!(c.kind, CollectionKind::Plain | CollectionKind::TimeSeries))
        // Collections of the server are not part of a model.
        .filter(|c| !c.namespace.collection.starts_with("system."))
        .filter(|c| c.profile.as_ref().is_some_and(|p| p.documents > 0))
        .collect();
    let names = Names::of(&kept);
    let database = kept.first().map(|c| c.namespace.database.as_str()).unwrap_or("model");
    let _ = writeln!(
        out,
        "# Derived from data. Lines with `?` are questions that the data cannot answer."
    );
    if kept.iter().any(|c| c.namespace.database != database) {
        let _ = writeln!(out, "# The source has several databases; `--db` selects one.");
    }
    let _ = writeln!(out, "version: 1");
    let _ = writeln!(out, "name: {}", scalar(database.trim_start_matches("db_")));
    let _ = writeln!(out, "database: {}", scalar(database));
    if let Some(day) = as_of {
        let _ = writeln!(out, "as-of: {day}");
    }
    if let Some((major, minor)) = evidence.deployment.server_version {
        let _ = writeln!(out, "deployment:\n  server: \"{major}.{minor}\"");
    }
    let relations = relations(evidence, &kept, &names);
    let operations = Operations::of(evidence, &kept, &names, &relations);
    let _ = writeln!(out, "\nentities:");
    for collection in &kept {
        entity(&mut out, evidence, collection, &names, &operations);
        if let Some(found) = series.get(&collection.namespace) {
            readings(&mut out, evidence, collection, &names, found);
        }
    }
    for relation in &relations {
        if let Some((name, fields, profile)) = &relation.embedded {
            embedded_entity(&mut out, name, fields, profile);
        }
    }
    if !relations.is_empty() {
        let _ = writeln!(out, "\nrelationships:");
        for relation in &relations {
            relation.write(&mut out);
        }
    }
    operations.write(&mut out);
    out
}

/// Unique names of entities, by collection.
struct Names(BTreeMap<Namespace, String>);

impl Names {
    fn of(collections: &[&Collection]) -> Self {
        let mut names: BTreeMap<Namespace, String> = BTreeMap::new();
        for collection in collections {
            let bare = collection.namespace.collection.trim_start_matches("t_");
            let mut parts = words::split(bare);
            if let Some(last) = parts.last_mut() {
                *last = words::singular(last);
            }
            let name = if parts.is_empty() { "entity".to_owned() } else { parts.join("_") };
            let name = free(name, |name| names.values().any(|have| have == name));
            names.insert(collection.namespace.clone(), name);
        }
        Self(names)
    }

    fn has(&self, name: &str) -> bool {
        self.0.values().any(|have| have == name)
    }

    fn get(&self, namespace: &Namespace) -> Option<&str> {
        self.0.get(namespace).map(String::as_str)
    }
}

/// Returns a name that is not in use, with a number if necessary.
fn free(name: String, taken: impl Fn(&str) -> bool) -> String {
    let mut numbered = (2..).map(|n| format!("{name}_{n}"));
    if taken(&name) { numbered.find(|name| !taken(name)).unwrap_or_default() } else { name }
}

/// Returns an entity's own fields: no references, no lists of objects.
fn own_fields<'e>(
    evidence: &Evidence,
    collection: &Collection,
    profile: &'e Profile,
) -> Vec<&'e Field> {
    let held = |field: &Field| {
        let here = evidence.references.iter().filter(|r| r.from == collection.namespace);
        // A list of ids is a relationship if the reference is certain.
        let is_list = |r: &Reference| {
            is_sure(r) && r.path.as_str().strip_suffix("[]") == Some(field.path.as_str())
        };
        here.into_iter().any(|r| r.path == field.path || is_list(r))
    };
    let top = profile.fields.iter().filter(|f| f.parent.is_none() && f.shape == FieldShape::Named);
    top.filter(|field| field.name != "_id" && !held(field) && is_plain(&field.name))
        .filter(|field| !is_list_of_objects(profile, field))
        .collect()
}

fn entity(
    out: &mut String,
    evidence: &Evidence,
    collection: &Collection,
    names: &Names,
    operations: &Operations,
) {
    let (Some(name), Some(profile)) = (names.get(&collection.namespace), &collection.profile)
    else {
        return;
    };
    let _ = writeln!(out, "  {}:", scalar(name));
    let _ = writeln!(out, "    collection: {}", scalar(&collection.namespace.collection));
    let _ = writeln!(out, "    count: {}", profile.total.max(profile.documents));
    let own = profile.fields.iter().find(|field| field.parent.is_none() && field.name == "_id");
    if let Some(kind) = own.map(kind_of).filter(|kind| *kind != BsonType::ObjectId) {
        let _ = writeln!(
            out,
            "    # `_id` is {} today, but an ObjectId in the design: declare the current value as \
             a field with `unique: true`",
            text::a(kind.name())
        );
    }
    let top = own_fields(evidence, collection, profile);
    let _ = writeln!(out, "    fields:{}", if top.is_empty() { " {}" } else { "" });
    for field in top.iter().take(MAX_FIELDS) {
        let unique = collection.indexes.iter().flatten().any(|index| {
            index.unique && matches!(index.keys.as_slice(), [key] if key.path == field.name)
        });
        write_field(out, profile, field, unique);
    }
    if top.len() > MAX_FIELDS {
        let _ = writeln!(out, "      # {} more fields are left out", top.len() - MAX_FIELDS);
    }
    lifecycle(out, collection, profile);
    if !operations.names(name, false) {
        let _ = writeln!(out, "    # ? read: never   (or add reads below)");
    }
    if !operations.names(name, true) {
        let _ = writeln!(out, "    # ? written: never   (or add writes below)");
    }
}

/// Adds commented-out lines for a collection that looks like readings over time. Users who know
/// that it is a series remove the comment sign.
fn readings(
    out: &mut String,
    evidence: &Evidence,
    collection: &Collection,
    names: &Names,
    found: &LooksLikeSeries,
) {
    let mut here = evidence.references.iter().filter(|r| r.from == collection.namespace);
    let owner = here.find(|r| r.path.as_str() == found.id && is_sure(r));
    let owner = owner.and_then(|reference| names.get(&reference.to));
    let (time, id) = (scalar(&found.time), scalar(owner.unwrap_or(&found.id)));
    let rate = quantity::written(found.per_second);
    let _ = writeln!(
        out,
        "    # ? series: {{time: {time}, id: {id}, rate: {rate}, series: {}}}   (if these are \
         readings over time, uncomment this line)",
        found.series
    );
}

/// Writes the lifecycle as far as data shows it (DP-2): the growth, and the expiry of an index.
/// Without such an index, documents may still be deleted in another way.
fn lifecycle(out: &mut String, collection: &Collection, profile: &Profile) {
    let indexes = collection.indexes.iter().flatten();
    // A partial index deletes only some documents.
    let expiry = indexes
        .filter(|index| index.partial_filter.is_none())
        .find_map(|index| Some((index, index.ttl_seconds.filter(|seconds| *seconds > 0)?)));
    let by = expiry.and_then(|(index, _)| match index.keys.as_slice() {
        [key] => {
            let is_date = kind_of(profile.field(&key.path)?) == BsonType::Date;
            (is_date && !key.path.contains('.')).then_some(key.path.as_str())
        }
        _ => None,
    });
    let kept = expiry.map(|(_, seconds)| {
        let by = by.map_or_else(String::new, |by| format!(", by: {}", scalar(by)));
        format!("kept: {}{by}", quantity::time(seconds.unsigned_abs()))
    });
    let growth = yearly(profile).map(|growth| format!("growth: {growth:.0}/year"));
    let open = match (&growth, &kept) {
        (Some(_), Some(_)) => None,
        (Some(_), None) => Some("kept: forever | 90 days   (add it to `lifecycle`)"),
        (None, Some(_)) => Some("growth: 0 | 1000/day   (add it to `lifecycle`)"),
        (None, None) => Some("lifecycle: {growth: 1000/day, kept: forever | 90 days}"),
    };
    if let Some(open) = open {
        let _ = writeln!(out, "    # ? {open}");
    }
    let known: Vec<String> = growth.into_iter().chain(kept).collect();
    if !known.is_empty() {
        let _ = writeln!(out, "    lifecycle: {{{}}}", known.join(", "));
    }
}

/// Returns the new documents per year, from the time between the first and the last.
fn yearly(profile: &Profile) -> Option<f64> {
    let top = || profile.fields.iter().filter(|field| field.parent.is_none());
    let dates = |name: &str| top().find(|field| field.name == name).and_then(|f| f.dates);
    // Birthdays and terms do not tell when documents were created.
    let named: Vec<&str> =
        top().filter(|f| f.dates.is_some()).map(|field| field.name.as_str()).collect();
    let (from, to) = dates("_id").or_else(|| dates(dates::coming_among(&named)?))?;
    let years = (to - from) as f64 / 1000.0 / quantity::YEAR;
    // Less than a day of data does not allow an estimate for a year.
    (years > 1.0 / 365.0).then(|| profile.total.max(profile.documents) as f64 / years)
}

fn embedded_entity(out: &mut String, name: &str, fields: &[&Field], profile: &Profile) {
    let _ = writeln!(out, "  {}:", scalar(name));
    let _ = writeln!(out, "    # embedded today");
    let _ = writeln!(out, "    fields:{}", if fields.is_empty() { " {}" } else { "" });
    for field in fields.iter().take(MAX_FIELDS) {
        write_field(out, profile, field, false);
    }
    let _ = writeln!(out, "    # ? lifecycle: {{growth: 1000/day, kept: forever}}");
}

/// Writes a field and its open questions.
fn write_field(out: &mut String, profile: &Profile, field: &Field, unique: bool) {
    let mut open = other_types(&field.types, kind_of(field));
    open_in(profile, field, &field.name, 0, &mut open);
    let line = field_line(profile, field, unique, 0);
    let _ = match open.is_empty() {
        true => writeln!(out, "      {line}"),
        false => writeln!(out, "      {line}   # ? {}", open.join("; ")),
    };
}

/// Whether all observed values are null.
fn is_never_there(field: &Field) -> bool {
    field.types.total() > 0 && field.types.non_null() == 0
}

/// Collects fields whose type is unknown from the data: fields that are always null, and elements
/// of empty lists. A list must not be null.
fn open_in(profile: &Profile, field: &Field, path: &str, depth: usize, open: &mut Vec<String>) {
    if is_never_there(field) {
        open.push(format!("`{path}` is always null: what is its type?"));
    }
    if kind_of(field) == BsonType::Array {
        let element = children(profile, field).find(|f| f.shape == FieldShape::Element);
        match element {
            Some(element) if is_never_there(element) => {
                open.push(format!("elements of `{path}` are always null: what is their type?"));
            }
            Some(element) if element.types.of(BsonType::Null) > 0 => {
                open.push(format!(
                    "some elements of `{path}` are null, which a list in a model cannot have"
                ));
            }
            Some(_) => {}
            None => open.push(format!(
                "`{path}` is always empty: what is the type of its \
             elements?"
            )),
        }
    }
    if kind_of(field) == BsonType::Object && depth < DEEPEST {
        let inside = children(profile, field).filter(|f| f.shape == FieldShape::Named);
        for below in inside.filter(|f| is_plain(&f.name)).take(MAX_FIELDS) {
            open_in(profile, below, &format!("{path}.{}", below.name), depth + 1, open);
        }
    }
}

/// Returns a line such as `status: {type: string, bytes: {typical: 4 B, p99: 9 B}}`.
fn field_line(profile: &Profile, field: &Field, unique: bool, depth: usize) -> String {
    let kind = kind_of(field);
    let mut more = Vec::new();
    if let Some(text) = field.text.as_ref().filter(|_| kind == BsonType::String) {
        more.push(format!("bytes: {}", sizes(&text.lengths)));
    }
    if let Some(array) = field.array.as_ref().filter(|_| kind == BsonType::Array) {
        let element = children(profile, field).find(|f| f.shape == FieldShape::Element);
        let element = element.filter(|element| !is_never_there(element)).map(kind_of);
        let element = element.filter(|k| *k != BsonType::Object && *k != BsonType::Array);
        more.extend(element.map(|kind| format!("of: {}", kind.name())));
        more.push(format!("items: {}", spread(&array.lengths)));
    }
    if kind == BsonType::Object && depth < DEEPEST {
        let inside: Vec<String> = children(profile, field)
            .filter(|f| f.shape == FieldShape::Named && is_plain(&f.name))
            .take(MAX_FIELDS)
            .map(|f| field_line(profile, f, false, depth + 1))
            .collect();
        if !inside.is_empty() {
            more.push(format!("fields: {{{}}}", inside.join(", ")));
        }
    }
    if field.presence() < 1.0 {
        more.push("required: false".to_owned());
    }
    let is_null = field.types.of(BsonType::Null) > 0;
    if is_null {
        more.push("nullable: true".to_owned());
    }
    // If null occurs twice, the index does not cover all documents.
    if unique && !is_null {
        more.push("unique: true".to_owned());
    }
    let name = scalar(&field.name);
    if more.is_empty() {
        return format!("{name}: {}", kind.name());
    }
    format!("{name}: {{type: {}, {}}}", kind.name(), more.join(", "))
}

/// Returns a question about a field with values of several types (DM-09.6), because a model allows
/// only one.
fn other_types(types: &TypeCounts, kind: BsonType) -> Vec<String> {
    let values = types.values();
    let all: u64 = values.iter().map(|(_, n)| n).sum();
    let others: Vec<String> = values
        .into_iter()
        .filter(|(other, _)| *other != kind)
        .map(|(other, n)| format!("{} in {}", other.name(), text::percent(n as f64 / all as f64)))
        .collect();
    if others.is_empty() { Vec::new() } else { vec![format!("also {}", others.join(", "))] }
}

fn children<'p>(profile: &'p Profile, field: &'p Field) -> impl Iterator<Item = &'p Field> {
    field.children.iter().map(|at| &profile.fields[*at])
}

/// Whether a model can contain a name: it is no operator and has no dots.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('$') && !name.contains('.')
}

fn is_list_of_objects(profile: &Profile, field: &Field) -> bool {
    field.array.is_some()
        && children(profile, field)
            .any(|f| f.shape == FieldShape::Element && kind_of(f) == BsonType::Object)
}

/// Returns the most frequent type, because a model allows only one.
fn kind_of(field: &Field) -> BsonType {
    const KNOWN: [BsonType; 12] = [
        BsonType::String,
        BsonType::Int,
        BsonType::Long,
        BsonType::Double,
        BsonType::Decimal,
        BsonType::Bool,
        BsonType::Date,
        BsonType::ObjectId,
        BsonType::BinData,
        BsonType::Object,
        BsonType::Array,
        BsonType::Timestamp,
    ];
    let most =
        KNOWN.into_iter().max_by_key(|kind| (field.types.of(*kind), *kind == BsonType::String));
    most.unwrap_or(BsonType::String)
}

fn sizes(lengths: &Distribution) -> String {
    let (typical, p99) = (lengths.p50().max(1), lengths.p99().max(1));
    if typical == p99 {
        format!("{typical} B")
    } else {
        format!("{{typical: {typical} B, p99: {p99} B}}")
    }
}

fn spread(lengths: &Distribution) -> String {
    let (p50, p95) = (lengths.p50(), lengths.quantile(0.95));
    let (p99, max) = (lengths.p99(), lengths.max);
    // Sketches are approximate, but the figures in the file must not decrease.
    let p99 = p99.min(max);
    let p95 = p95.min(p99);
    format!("{{p50: {}, p95: {p95}, p99: {p99}, max: {max}}}", p50.min(p95))
}

struct Relation<'e> {
    name: String,
    child: String,
    children: String,
    /// Describes the parents of a shared child.
    shared: Option<String>,
    /// The field that currently stores ids.
    field: Option<String>,
    single: bool,
    /// Whether some elements are currently null. A child is never null.
    has_null: bool,
    /// The child's fields that are currently stored next to its id.
    copies: Vec<&'e str>,
    /// The name, fields and profile of an entity without its own collection.
    embedded: Option<(String, Vec<&'e Field>, &'e Profile)>,
}

impl Relation<'_> {
    /// Returns the parent entity of the children.
    fn parent(&self) -> &str {
        self.name.rsplit_once('.').map_or("", |(parent, _)| parent)
    }

    fn write(&self, out: &mut String) {
        let _ = writeln!(out, "  {}:", scalar(&self.name));
        let _ = writeln!(out, "    child: {}", scalar(&self.child));
        if let Some(field) = &self.field {
            let _ = writeln!(out, "    field: {}", scalar(field));
        }
        let _ = writeln!(out, "    children: {}", self.children);
        if let Some(parents) = &self.shared {
            let _ = writeln!(out, "    parents: {parents}");
        }
        if !self.copies.is_empty() {
            let _ = writeln!(
                out,
                "    # fields copied from `{}` in the data: {} (the design creates copies from the model)",
                self.child,
                self.copies.join(", ")
            );
        }
        if self.has_null {
            let _ = writeln!(out, "    # ? some elements are null today: a child is an object");
        }
        if !self.single {
            let _ = writeln!(out, "    # ? growth: bounded | endless | 30/year");
        }
    }
}

fn relations<'e>(
    evidence: &'e Evidence,
    kept: &[&'e Collection],
    names: &Names,
) -> Vec<Relation<'e>> {
    let mut found: Vec<Relation<'e>> = Vec::new();
    // Two paths from one entity to another are two relationships. The second is named after its
    // field.
    let push = |mut relation: Relation<'e>, found: &mut Vec<Relation<'e>>| {
        let taken = |name: &str| found.iter().any(|have| have.name == name);
        if taken(&relation.name)
            && let Some(field) = &relation.field
        {
            relation.name = format!("{}_by_{}", relation.name, field.replace(['.', '$'], "_"));
        }
        if !taken(&relation.name) {
            found.push(relation);
        }
    };
    let lists = || {
        kept.iter().flat_map(|collection| {
            let profile = collection.profile.as_ref();
            let top = profile.into_iter().flat_map(|profile| &profile.fields);
            top.filter(|f| f.parent.is_none()).map(move |field| (*collection, field))
        })
    };
    let mut elements: Vec<Elements<'e>> = Vec::new();
    for (collection, list) in lists() {
        let taken = |name: &str| elements.iter().any(|have| have.child == name);
        elements.extend(Elements::of(evidence, collection, list, names, &taken));
    }
    let sure = evidence.references.iter().filter(|r| is_sure(r) && !is_way_up(evidence, r));
    for reference in sure.filter(|r| !elements.iter().any(|list| list.has_own_entity(r))) {
        if let Some(relation) = referenced(evidence, reference, names) {
            push(relation, &mut found);
        }
    }
    for list in elements.iter().filter(|list| list.references.is_empty() || list.says_more()) {
        for relation in list.relations(evidence, names) {
            push(relation, &mut found);
        }
    }
    found
}

/// Whether a list contains all ancestors of a document in a tree, in addition to the parent. The
/// design adds such a list itself.
fn is_way_up(evidence: &Evidence, reference: &Reference) -> bool {
    let is_tree = |r: &Reference| r.from == reference.from && r.to == reference.from;
    let names = ["ancestors", "ancestorIds", "ancestor_ids"];
    let list = reference.path.as_str().strip_suffix("[]");
    list.is_some_and(|list| names.contains(&list))
        && is_tree(reference)
        && evidence.references.iter().any(|r| is_tree(r) && is_sure(r) && !r.path.in_array())
}

/// Whether a field certainly refers to another collection.
fn is_sure(reference: &Reference) -> bool {
    reference.agreement() >= 0.9
}

/// Returns fields next to a reference with the same names and values as fields of the referenced
/// documents.
fn copies_beside<'e>(evidence: &'e Evidence, reference: &Reference) -> Vec<&'e str> {
    let beside = evidence.copies.iter().filter(|copy| {
        copy.from == reference.from && copy.reference == reference.path && copy.by_value
    });
    beside.filter(|copy| copy.path.leaf() == copy.source.leaf()).map(|c| c.path.leaf()).collect()
}

/// A top-level list of objects.
struct Elements<'e> {
    /// The entity whose documents have the list, and the name of an element.
    parent: String,
    child: String,
    collection: &'e Collection,
    profile: &'e Profile,
    list: &'e Field,
    element: &'e Field,
    /// The references in its elements.
    references: Vec<&'e Reference>,
    /// The fields of its elements that are neither references nor copies.
    own: Vec<&'e Field>,
}

impl<'e> Elements<'e> {
    fn of(
        evidence: &'e Evidence,
        collection: &'e Collection,
        list: &'e Field,
        names: &Names,
        taken: &dyn Fn(&str) -> bool,
    ) -> Option<Self> {
        let profile = collection.profile.as_ref()?;
        if !is_list_of_objects(profile, list) || !is_plain(&list.name) {
            return None;
        }
        let parent = names.get(&collection.namespace)?.to_owned();
        let element = children(profile, list).find(|f| f.shape == FieldShape::Element)?;
        let inside = format!("{}.", element.path);
        let references: Vec<&Reference> = evidence
            .references
            .iter()
            .filter(|r| is_sure(r) && r.from == collection.namespace)
            .filter(|r| {
                // References in a nested list do not belong to the element.
                let below = r.path.as_str().strip_prefix(&inside);
                below.is_some_and(|below| !below.contains("[]")) && names.get(&r.to).is_some()
            })
            .collect();
        let is_held = |field: &Field| {
            references.iter().any(|reference| {
                reference.path == field.path
                    || field.path.parts() == reference.path.parts()
                        && copies_beside(evidence, reference).contains(&field.name.as_str())
            })
        };
        let own = children(profile, element)
            // The design creates ids.
            .filter(|f| f.shape == FieldShape::Named && is_plain(&f.name) && f.name != "_id")
            .filter(|field| !is_held(field) && !is_made_of(profile, field, &is_held))
            .collect();
        let child = format!("{parent}_{}", words::singular(&list.name.to_lowercase()));
        let child = free(child, |name| names.has(name) || taken(name));
        Some(Self { parent, child, collection, profile, list, element, references, own })
    }

    /// Whether elements have more fields than a reference and copies. Otherwise the list is a list
    /// of ids.
    fn says_more(&self) -> bool {
        let first = self.references.first();
        let several = self.references.iter().any(|r| first.is_some_and(|one| one.path != r.path));
        !self.own.is_empty() || several
    }

    /// Whether a reference belongs to an entity that the elements represent.
    fn has_own_entity(&self, reference: &Reference) -> bool {
        self.says_more()
            && reference.from == self.collection.namespace
            && self.references.iter().any(|own| own.path == reference.path)
    }

    /// Returns the relationships of the list and of the references in its elements.
    fn relations(&self, evidence: &'e Evidence, names: &Names) -> Vec<Relation<'e>> {
        let Some(array) = &self.list.array else { return Vec::new() };
        let mut all = vec![Relation {
            name: format!("{}.{}", self.parent, self.list.name),
            child: self.child.clone(),
            children: spread(&array.lengths),
            shared: None,
            field: None,
            single: false,
            has_null: self.element.types.of(BsonType::Null) > 0,
            copies: Vec::new(),
            embedded: Some((self.child.clone(), self.own.clone(), self.profile)),
        }];
        for reference in &self.references {
            let Some(to) = names.get(&reference.to) else { continue };
            let inside = format!("{}.", self.element.path);
            let path = reference.path.as_str().strip_prefix(&inside).unwrap_or_default();
            let field = (is_plain(path) && path != "_id").then_some(path);
            let held = self.profile.field(reference.path.as_str());
            let there = held.map_or(0, |f| f.types.non_null());
            let seldom = there * 2 < self.element.types.of(BsonType::Object);
            let many = &reference.children_per_parent;
            all.push(Relation {
                name: format!("{}.{}", self.child, self.role(field, to)),
                child: to.to_owned(),
                children: if seldom { "{p50: 0, p99: 1, max: 1}" } else { "1" }.to_owned(),
                shared: (many.max > 1).then(|| spread(many)),
                field: field.map(str::to_owned),
                single: true,
                has_null: false,
                copies: copies_beside(evidence, reference),
                embedded: None,
            });
        }
        all
    }

    /// Returns the role of a reference: `product` for `productId`.
    fn role(&self, field: Option<&str>, to: &str) -> String {
        let stem = field.and_then(|name| {
            let stem = ["_id", "Id", "ID"].iter().find_map(|end| name.strip_suffix(end))?;
            let is_free = !stem.is_empty() && !self.own.iter().any(|own| own.name == stem);
            is_free.then(|| stem.to_owned())
        });
        stem.unwrap_or_else(|| to.to_owned())
    }
}

/// Whether an object contains only fields that are stored elsewhere.
fn is_made_of(profile: &Profile, field: &Field, is_held: &dyn Fn(&Field) -> bool) -> bool {
    let mut inside = children(profile, field).peekable();
    kind_of(field) == BsonType::Object && inside.peek().is_some() && inside.all(is_held)
}

/// Returns a reference as a relationship. If each child has one, the referenced entity is the
/// parent.
fn referenced<'e>(
    evidence: &'e Evidence,
    reference: &'e Reference,
    names: &Names,
) -> Option<Relation<'e>> {
    let (from, to) = (names.get(&reference.from)?, names.get(&reference.to)?);
    let listed = reference.path.in_array();
    let role = |name: &str| name.replace('.', "_");
    if listed {
        let list = reference.path.as_str().rsplit_once("[]").map_or("", |(list, _)| list);
        let field = list.rsplit(['.', ']']).next().unwrap_or("items");
        let profile = evidence.collection(&reference.from)?.profile.as_ref()?;
        let lengths = &profile.field(list)?.array.as_ref()?.lengths;
        let most = reference.children_per_parent.max.max(1);
        return Some(Relation {
            name: format!("{from}.{}", role(field)),
            child: to.to_owned(),
            children: spread(lengths),
            shared: (most > 1).then(|| most.to_string()),
            field: is_plain(list).then(|| list.to_owned()),
            single: false,
            has_null: false,
            copies: copies_beside(evidence, reference),
            embedded: None,
        });
    }
    let single = reference.children_per_parent.max <= 1;
    let all = evidence.collection(&reference.to).and_then(|to| to.profile.as_ref());
    let all = all.map_or(0, |profile| profile.total.max(profile.documents));
    Some(Relation {
        name: format!("{to}.{}", if single { role(from) } else { words::plural(&role(from)) }),
        child: from.to_owned(),
        children: spread(&with_childless(reference, all)),
        shared: None,
        field: is_plain(reference.path.as_str()).then(|| reference.path.as_str().to_owned()),
        single,
        has_null: false,
        copies: Vec::new(),
        embedded: None,
    })
}

/// Returns the number of children per parent, over all parents. References show only those that have
/// children.
fn with_childless(reference: &Reference, all: u64) -> Distribution {
    let mut many = reference.children_per_parent.clone();
    let without = (all as f64 - reference.parents).max(0.0);
    if reference.parents >= 1.0 {
        let zeros = (many.count as f64 * without / reference.parents).round() as u64;
        if zeros > 0 {
            many.min = 0;
            many.count += zeros;
            many.buckets.insert(0, (0, 0, zeros));
        }
    }
    many
}

/// Returns a name or text in YAML, quoted only if necessary.
pub(crate) fn scalar(text: &str) -> String {
    let simple = !text.is_empty()
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' '))
        && text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && !text.ends_with(' ')
        && !matches!(text, "true" | "false" | "null" | "yes" | "no" | "on" | "off");
    if simple {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dm_09_6_values_of_another_type_are_a_question() {
        let mut types = TypeCounts::default();
        types.add(BsonType::String, 90);
        types.add(BsonType::Null, 30);
        assert_eq!(other_types(&types, BsonType::String), [""; 0]);
        types.add(BsonType::Int, 10);
        assert_eq!(other_types(&types, BsonType::String), ["also int in 10 %"]);
    }
}
