//! Checks that names exist: entities, relationships and fields that something else refers to.

use docward_model::{
    BsonType, DesignModel, DesignRead, Entity, EntityField, Location, Matching, Relationship, With,
    text, words,
};

use crate::model_file::fault::Faults;
use crate::model_file::position::At;
use crate::model_file::table::nearest;

pub(super) fn check(model: &DesignModel, faults: &mut Faults<'_>) {
    let mut names = Names { model, faults };
    for relationship in &model.relationships {
        names.entity(&relationship.parent, &relationship.place, &relationship.name);
        names.entity(&relationship.child, &relationship.place, &relationship.name);
        if let (Some(child), Some(fields)) =
            (model.entity(&relationship.child), &relationship.current)
        {
            // Fields of either side may be copied to the other.
            let parent = model.entity(&relationship.parent);
            let of_child = |f: &&String| parent.is_none_or(|parent| parent.field(f).is_none());
            let fields: Vec<String> = fields.iter().filter(of_child).cloned().collect();
            names.fields(child, &fields, &relationship.place, &relationship.name);
        }
    }
    for entity in &model.entities {
        if let Some(series) = &entity.series {
            let fields: Vec<String> = series.id.iter().chain([&series.time]).cloned().collect();
            names.fields_or_roles(entity, &fields, &entity.place, &entity.name);
            names.time(entity, &series.time);
            names.in_every_reading(entity, &series.time, &series.id);
        }
        if let Some((by, place)) = &entity.kept_by {
            names.fields(entity, std::slice::from_ref(by), place, &entity.name);
            names.age(entity, by, place);
        }
        names.fields(entity, &entity.attributes, &entity.place, &entity.name);
        names.one_type(entity);
    }
    for read in &model.reads {
        let (place, name) = (&read.place, &read.name);
        names.entity(&read.from, place, name);
        if let Some(from) = model.entity(&read.from) {
            let used = read.filter.iter().map(|(f, _)| f).chain(read.sort.iter().map(|(f, _)| f));
            let used: Vec<String> = used.chain(&read.fields).cloned().collect();
            names.fields_or_roles(from, &used, place, name);
            names.special(from, read);
        }
        for with in &read.with {
            names.relationship(&with.relationship, place, name);
            names.fetched(read, with);
        }
        for relationship in read.counts.iter().chain(read.sums.iter().map(|(r, _)| r)) {
            names.relationship(relationship, place, name);
            names.counted(read, relationship);
        }
        for (relationship, field) in &read.sums {
            if let Some(child) =
                model.relationship(relationship).and_then(|r| model.entity(&r.child))
            {
                names.fields(child, std::slice::from_ref(field), place, name);
            }
        }
    }
    names.never(model);
    for write in &model.writes {
        for entity in write.inserts.iter().chain(&write.updates).chain(&write.deletes) {
            names.entity(entity, &write.place, &write.name);
        }
        for (entity, field) in &write.sets {
            names.entity(entity, &write.place, &write.name);
            if let Some(entity) = model.entity(entity) {
                names.fields(entity, std::slice::from_ref(field), &write.place, &write.name);
            }
        }
    }
}

/// Checks that zones use a field that an entity has, or the id of another entity in it (SK-11).
pub(super) fn zones(model: &DesignModel, at: Option<At>, faults: &mut Faults<'_>) {
    let (Some((field, _)), Some(at)) = (&model.deployment.zones, at) else { return };
    let is_id_of = |entity: &Entity| {
        let mut words = words::split(&entity.name);
        words.push("id".to_owned());
        words::split(field) == words
    };
    let held = |r: &Relationship| r.field.as_ref() == Some(field);
    let known = model.entities.iter().any(|e| e.field(field).is_some() || is_id_of(e))
        || model.relationships.iter().any(held);
    if known || model.entities.is_empty() {
        return;
    }
    let own = model.entities.iter().flat_map(|entity| &entity.fields);
    let near = nearest(field, own.map(|field| field.name.as_str()));
    let hint = near.map(|near| format!("did you mean `{near}`?"));
    faults.push(at, format!("zones use `{field}`, which no entity has"), hint);
}

struct Names<'m, 'f, 'n> {
    model: &'m DesignModel,
    faults: &'f mut Faults<'n>,
}

impl Names<'_, '_, '_> {
    fn entity(&mut self, name: &str, place: &Location, user: &str) {
        let known = self.model.entities.iter().map(|entity| entity.name.as_str());
        self.known(name, known.collect(), "entity", place, user);
    }

    /// Counts are about the children of a parent, so a read that begins with a child cannot count
    /// them.
    fn counted(&mut self, read: &DesignRead, relationship: &str) {
        let Some(r) = self.model.relationship(relationship) else { return };
        if read.from != r.child || r.child == r.parent {
            return;
        }
        let at = At { line: read.place.line, column: read.place.column };
        let message = format!(
            "`{}` counts or sums `{}` from `{}`, which is the child; only the `{}` of one `{}` \
             can be counted",
            read.name,
            r.name,
            r.child,
            r.role(),
            r.parent
        );
        let hint = format!(
            "read from `{}`, or declare the relationship the other way round, as `{}.…` with `child: {}`",
            r.parent, r.child, r.parent
        );
        self.faults.push(at, message, Some(hint));
    }

    /// Reports operations on entities that are declared as never read or written.
    fn never(&mut self, model: &DesignModel) {
        let mut push = |place: &Location, message: String, word: &str| {
            let at = At { line: place.line, column: place.column };
            let hint = format!("remove `{word}: never`, or the operation");
            self.faults.push(at, message, Some(hint));
        };
        for entity in &model.entities {
            let name = &entity.name;
            for read in model.reads.iter().filter(|r| entity.never_read && r.from == *name) {
                let message = format!("`{}` reads `{name}`, which says `read: never`", read.name);
                push(&read.place, message, "read");
            }
            for write in model.writes.iter().filter(|w| entity.never_written && w.touches(name)) {
                let message =
                    format!("`{}` writes `{name}`, which says `written: never`", write.name);
                push(&write.place, message, "written");
            }
        }
    }

    fn relationship(&mut self, name: &str, place: &Location, user: &str) {
        let known = self.model.relationships.iter().map(|r| r.name.as_str());
        self.known(name, known.collect(), "relationship", place, user);
    }

    fn fields(&mut self, entity: &Entity, fields: &[String], place: &Location, user: &str) {
        for field in fields {
            self.field(entity, field, &[], place, user);
        }
    }

    /// Checks fields of an entity, or names of the other side of a relationship: the role in the
    /// parent, the parent's name in the child.
    fn fields_or_roles(
        &mut self,
        entity: &Entity,
        fields: &[String],
        place: &Location,
        user: &str,
    ) {
        let of_entity = |r: &&Relationship| r.parent == entity.name || r.child == entity.name;
        let around: Vec<&Relationship> =
            self.model.relationships.iter().filter(of_entity).collect();
        let mut sides: Vec<&str> = Vec::new();
        for r in &around {
            let role = (r.parent == entity.name).then(|| r.role());
            let parent = (r.child == entity.name).then_some(r.parent.as_str());
            let all = role.into_iter().chain(parent).chain(r.field.as_deref());
            sides.extend(all.filter(|side| !sides.contains(side)).collect::<Vec<_>>());
        }
        for field in fields {
            if !self.role_of_parent(entity, field, &sides, place, user) {
                self.field(entity, field, &sides, place, user);
            }
            self.one_meaning(entity, field, &around, place, user);
            self.below(entity, field, &around, place, user);
        }
    }

    /// Reports a role that is used in the child. Only the parent uses the role; in the child, the
    /// parent has its own name or the name of the id field. Returns whether this was reported.
    fn role_of_parent(
        &mut self,
        entity: &Entity,
        field: &str,
        sides: &[&str],
        place: &Location,
        user: &str,
    ) -> bool {
        let first = field.split(['.', '[']).next().unwrap_or(field);
        let model = self.model;
        let ups = || model.relationships.iter().filter(|r| r.child == entity.name);
        let Some(r) = ups().find(|r| r.role() == first) else { return false };
        if entity.field(first).is_some() || sides.contains(&first) {
            return false;
        }
        // If two relationships lead to the same parent, the parent's name is ambiguous.
        let is_only = ups().filter(|other| other.parent == r.parent).count() == 1;
        let mut names: Vec<&str> = Vec::new();
        names.extend(is_only.then_some(r.parent.as_str()));
        names.extend(r.field.as_deref());
        let write = match names.as_slice() {
            [] => "the `field:` that you give to it".to_owned(),
            names => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or "),
        };
        let at = At { line: place.line, column: place.column };
        let message = format!(
            "`{user}` names the field of `{}` `{first}`, which is not declared",
            entity.name
        );
        let hint = format!(
            "`{first}` is the name of `{}` in `{}`; for reads from `{}`, write {write}, the id of \
             its `{}`",
            r.name, r.parent, entity.name, r.parent
        );
        self.faults.push(at, message, Some(hint));
        true
    }

    /// Reports an ambiguous parent. If a child has two relationships with a parent, a read must
    /// name one of them.
    fn one_meaning(
        &mut self,
        entity: &Entity,
        field: &str,
        around: &[&Relationship],
        place: &Location,
        user: &str,
    ) {
        let meant: Vec<&&Relationship> = around
            .iter()
            .filter(|r| r.child == entity.name && r.parent == field && r.parent != r.child)
            .collect();
        if meant.len() < 2 || entity.field(field).is_some() {
            return;
        }
        let names: Vec<&str> = meant.iter().map(|r| r.name.as_str()).collect();
        let fields: Vec<&str> = meant.iter().filter_map(|r| r.field.as_deref()).collect();
        let hint = match fields.len() == meant.len() {
            true => format!("write one of {}", text::list(&fields, 4)),
            false => "give each of them a `field:`, and write that".to_owned(),
        };
        let at = At { line: place.line, column: place.column };
        let message =
            format!("`{user}` filters on `{field}`, which is ambiguous: {}", text::list(&names, 4));
        self.faults.push(at, message, Some(hint));
    }

    /// Checks that fields have the types that their conditions need.
    fn special(&mut self, entity: &Entity, read: &DesignRead) {
        for (name, how) in &read.filter {
            let Some(field) = entity.field(name) else { continue };
            let (fits, hint) = match how {
                Matching::Near => (
                    is_place(field),
                    "write `{type: object, fields: {type: {type: string, values: [Point]}, \
                     coordinates: {type: array, of: double, items: 2}}}`",
                ),
                Matching::Text => {
                    let words = matches!(field.kind, BsonType::String | BsonType::Array);
                    (words, "search a string, or an array of strings")
                }
                Matching::AnyField => {
                    (field.kind == BsonType::Object, "search the fields of an object")
                }
                _ => continue,
            };
            if !fits {
                let at = At { line: read.place.line, column: read.place.column };
                let message = format!("`{}` cannot search `{name}` like this", read.name);
                self.faults.push(at, message, Some(hint.to_owned()));
            }
        }
    }

    /// Checks the second part of a path through the other side, which must be a field there.
    fn below(
        &mut self,
        entity: &Entity,
        path: &str,
        around: &[&Relationship],
        place: &Location,
        user: &str,
    ) {
        let mut parts = path.split(['.', '[']);
        let (Some(first), Some(second)) = (parts.next(), parts.next()) else { return };
        if entity.field(first).is_some() {
            return;
        }
        let second = [second.to_owned()];
        for r in around {
            if r.parent == entity.name && r.role() == first {
                let Some(child) = self.model.entity(&r.child) else { return };
                return self.fields_or_roles(child, &second, place, user);
            }
            if r.child == entity.name && r.parent == first {
                let Some(parent) = self.model.entity(&r.parent) else { return };
                return self.fields(parent, &second, place, user);
            }
        }
    }

    fn field(&mut self, entity: &Entity, field: &str, more: &[&str], at: &Location, user: &str) {
        // Only the first part of a path is checked here.
        let first = field.split(['.', '[']).next().unwrap_or(field);
        if first == "_id" || entity.field(first).is_some() || more.contains(&first) {
            return;
        }
        let own = entity.fields.iter().map(|field| field.name.as_str());
        let known = own.chain(more.iter().copied()).collect();
        self.known(first, known, &format!("field of `{}`", entity.name), at, user);
    }

    /// The time of a series must be a date, because the server accepts no other type (PT-ts.1).
    fn time(&mut self, entity: &Entity, time: &str) {
        let Some(field) = entity.field(time).filter(|field| field.kind != BsonType::Date) else {
            return;
        };
        let at = At { line: field.place.line, column: field.place.column };
        let kind = field.kind.name();
        let message = format!("`{time}` is the time of a series and {}", text::a(kind));
        self.faults.push(at, message, Some("make it a `date`".to_owned()));
    }

    /// Documents expire by a date field, readings by their time.
    fn age(&mut self, entity: &Entity, by: &str, place: &Location) {
        let at = At { line: place.line, column: place.column };
        let time = entity.series.as_ref().map(|series| &series.time);
        if let Some(time) = time.filter(|time| *time != by) {
            let message = format!("`{}` is a series, which expires by its time", entity.name);
            self.faults.push(at, message, Some(format!("remove `by: {by}`, or write `{time}`")));
        }
        // A date has no nested fields.
        let above = by.split_once('.').and_then(|(above, _)| entity.field(above));
        if by == "_id" || above.is_some_and(|above| above.fields.is_empty()) {
            let message =
                format!("`{}` expires by `{by}`, which cannot have an expiry index", entity.name);
            self.faults.push(at, message, Some("name a `date` of the document itself".to_owned()));
            return;
        }
        let Some(field) = entity.field(by).filter(|field| field.kind != BsonType::Date) else {
            return;
        };
        let at = At { line: field.place.line, column: field.place.column };
        let kind = field.kind.name();
        let message = format!("`{}` expires by `{by}`, which is {}", entity.name, text::a(kind));
        self.faults.push(at, message, Some("make it a `date`".to_owned()));
    }

    /// Every reading must have its time (PT-ts.1) and the fields that identify its series.
    fn in_every_reading(&mut self, entity: &Entity, time: &str, ids: &[String]) {
        for name in ids.iter().map(String::as_str).chain([time]) {
            let may_lack = |field: &&EntityField| field.nullable || !field.required;
            let Some(field) = entity.field(name).filter(may_lack) else { continue };
            let what = if name == time {
                "is the time of a series"
            } else {
                "distinguishes \
             series"
            };
            let (how, word) = match field.nullable {
                true => ("can be null", "`nullable`"),
                false => ("can be missing", "`required: false`"),
            };
            let hint = match name == time {
                true => format!("remove {word}, because a reading has a time"),
                false => format!("remove {word}, and give readings without one their own value"),
            };
            let at = At { line: field.place.line, column: field.place.column };
            self.faults.push(at, format!("`{name}` {what} and {how}"), Some(hint));
        }
    }

    /// Checks that a field has the same type in all kinds of an entity (DM-09.6), and that the id
    /// is not declared (DM-10.1).
    fn one_type(&mut self, entity: &Entity) {
        let of_kinds = entity.variants.iter().flat_map(|variant| &variant.fields);
        let all: Vec<_> = entity.fields.iter().chain(of_kinds).collect();
        for (i, field) in all.iter().enumerate() {
            let at = At { line: field.place.line, column: field.place.column };
            if field.name == "_id" {
                let hint = "the design uses an ObjectId; declare a number or code as a field with \
                 `unique: true`";
                self.faults.push(at, "`_id` cannot be declared", Some(hint.to_owned()));
                continue;
            }
            let first = all[..i].iter().find(|other| other.name == field.name);
            if let Some(first) = first.filter(|first| first.kind != field.kind) {
                let message = format!(
                    "`{}` is {} here and {} in line {}",
                    field.name,
                    text::a(field.kind.name()),
                    text::a(first.kind.name()),
                    first.place.line
                );
                let hint = "use the same type in all kinds, or rename the field";
                self.faults.push(at, message, Some(hint.to_owned()));
            }
        }
    }

    /// Checks fetched fields, which belong to the other side. The sort field of the newest children
    /// belongs to the child.
    fn fetched(&mut self, read: &DesignRead, with: &With) {
        let Some(relationship) = self.model.relationship(&with.relationship) else { return };
        let (parent, child) =
            (self.model.entity(&relationship.parent), self.model.entity(&relationship.child));
        let (Some(parent), Some(child)) = (parent, child) else { return };
        let other = if read.from == child.name { parent } else { child };
        // For a read that begins with another entity, either side may be the fetched one.
        let elsewhere = read.from != parent.name && read.from != child.name;
        for field in &with.fields {
            if !(elsewhere && parent.field(field).is_some()) {
                self.field(other, field, &[], &read.place, &read.name);
            }
        }
        if let Some((_, Some(by))) = &with.newest {
            self.field(child, by, &[], &read.place, &read.name);
        }
    }

    fn known(&mut self, name: &str, known: Vec<&str>, what: &str, place: &Location, user: &str) {
        if name.is_empty() || known.contains(&name) {
            return;
        }
        let near = nearest(name, known.iter().copied());
        let near = near.map(|near| format!("did you mean `{near}`?"));
        let hint = near.or_else(|| {
            let all = (!known.is_empty()).then(|| text::list(&known, 8))?;
            Some(format!("declared: {all}"))
        });
        let at = At { line: place.line, column: place.column };
        self.faults.push(
            at,
            format!("`{user}` names the {what} `{name}`, which is not declared"),
            hint,
        );
    }
}

/// Whether a field is a GeoJSON object, or a pair of longitude and latitude.
fn is_place(field: &EntityField) -> bool {
    let inner = |name: &str| field.fields.iter().find(|inner| inner.name == name);
    let is_shape = inner("type").is_some_and(|shape| !shape.values.is_empty())
        && inner("coordinates").is_some_and(|place| place.kind == BsonType::Array);
    let is_pair = field.kind == BsonType::Array
        && field.element == Some(BsonType::Double)
        && field.items.is_some_and(|items| items.max == 2);
    is_shape || is_pair
}
