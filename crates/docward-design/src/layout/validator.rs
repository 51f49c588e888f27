//! The `$jsonSchema` of a collection (ALG-10). It restricts only planned fields and allows all
//! others.

use bson::{Bson, Document, doc};
use docward_model::{BsonType, DesignModel, Entity, words};

use crate::declared::field_plan::{Origin, Planned, own};
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::index_plan::number;

/// The maximum number of elements of a list without a declared bound (DM-08.1).
const LIST_MOST: u64 = 999;

/// Returns the validator of a collection, `{$jsonSchema: …}`. Returns `None` for time series, which
/// do not support validators (GC-30).
pub fn validator(model: &DesignModel, collection: &CollectionPlan) -> Option<Document> {
    collection.purpose.takes_validator().then(|| doc! { "$jsonSchema": schema(model, collection) })
}

/// Returns the schema of a collection's documents.
pub(crate) fn schema(model: &DesignModel, collection: &CollectionPlan) -> Document {
    let entity = match collection.purpose {
        Purpose::Junction(_)
        | Purpose::Overflow(_)
        | Purpose::Bucket(_)
        | Purpose::UniqueValues(_) => None,
        _ => model.entity(&collection.entity),
    };
    let mut made = doc! { "bsonType": "object", "description": about(collection) };
    Writer { model }.object(&collection.fields, entity, &mut made);
    if let Purpose::Bucket(bucket) = &collection.purpose
        && let Ok(properties) = made.get_document_mut("properties")
        && let Ok(count) = properties.get_document_mut("count")
    {
        count.insert("minimum", 1);
        count.insert("maximum", number(bucket.most));
    }
    made
}

fn about(collection: &CollectionPlan) -> String {
    let entity = &collection.entity;
    match &collection.purpose {
        Purpose::Entity | Purpose::TimeSeries { .. } => format!("one `{entity}`"),
        Purpose::Junction(name) => format!("one pair of `{name}`"),
        Purpose::Bucket(bucket) => format!("up to {} of `{entity}`", bucket.most),
        Purpose::Overflow(name) => format!("an overflow page of `{name}`"),
        Purpose::Versions => format!("an old version of one `{entity}`"),
        Purpose::Archive => format!("one archived `{entity}`"),
        Purpose::UniqueValues(field) => format!("a value of `{field}` and its `{entity}`"),
    }
}

struct Writer<'m> {
    model: &'m DesignModel,
}

impl Writer<'_> {
    fn object(&self, fields: &[Planned], entity: Option<&Entity>, into: &mut Document) {
        let tells = |entity: &Entity| {
            let discriminator = crate::declared::field_plan::discriminator(entity);
            fields.iter().any(|field| field.name == discriminator)
        };
        let kinds = entity.filter(|entity| !entity.variants.is_empty() && tells(entity));
        // Fields that only one kind has are validated in the branch of that kind.
        let of_kind = |field: &&Planned| {
            kinds.is_some_and(|entity| {
                entity.variants.iter().any(|v| v.fields.iter().any(|f| f.name == field.name))
                    && !entity.fields.iter().any(|f| f.name == field.name)
            })
        };
        let common: Vec<&Planned> = fields.iter().filter(|field| !of_kind(field)).collect();
        let required: Vec<&str> =
            common.iter().filter(|f| f.required).map(|f| f.name.as_str()).collect();
        if !required.is_empty() {
            into.insert("required", required);
        }
        let mut properties = Document::new();
        for field in common {
            let mut made = self.property(field);
            if is_attributes(field)
                && let Some(entity) = entity
                && let Ok(items) = made.get_document_mut("items")
                && let Ok(inside) = items.get_document_mut("properties")
            {
                inside.insert("v", doc! { "bsonType": types(&attribute_types(entity, fields)) });
            }
            properties.insert(field.name.clone(), made);
        }
        into.insert("properties", properties);
        if let Some(entity) = kinds {
            into.insert("oneOf", self.kinds(entity, fields));
        }
    }

    /// Returns one branch for each kind, selected by the discriminator (PT-poly.1). A preview has
    /// only some of the fields.
    fn kinds(&self, entity: &Entity, among: &[Planned]) -> Vec<Bson> {
        let discriminator = crate::declared::field_plan::discriminator(entity);
        let is_there = |field: &&Planned| among.iter().any(|other| other.name == field.name);
        let mut branches: Vec<Bson> = Vec::new();
        for variant in &entity.variants {
            let all: Vec<Planned> = variant.fields.iter().map(own).collect();
            let fields: Vec<&Planned> = all.iter().filter(is_there).collect();
            let mut properties = doc! { &discriminator: { "enum": [&variant.name] } };
            for field in &fields {
                properties.insert(field.name.clone(), self.property(field));
            }
            let mut branch = Document::new();
            let required: Vec<&str> =
                fields.iter().filter(|f| f.required).map(|f| f.name.as_str()).collect();
            if !required.is_empty() {
                branch.insert("required", required);
            }
            branch.insert("properties", properties);
            branches.push(branch.into());
        }
        // Values of the discriminator without a declared kind.
        let plain: Vec<&String> = entity
            .field(&discriminator)
            .map(|field| field.values.iter().collect::<Vec<_>>())
            .unwrap_or_default()
            .into_iter()
            .filter(|value| entity.variants.iter().all(|variant| variant.name != **value))
            .collect();
        if !plain.is_empty() {
            branches.push(doc! { "properties": { discriminator: { "enum": plain } } }.into());
        }
        branches
    }

    fn property(&self, field: &Planned) -> Document {
        let mut made = Document::new();
        // If the entity is known, another branch restricts the types of these values.
        if field.name == "v" && field.origin == Origin::Pattern("attribute") {
            return made;
        }
        let mut kinds = accepted(field.kind).to_vec();
        kinds.extend(field.nullable.then_some("null"));
        made.insert("bsonType", types(&kinds));
        if let Some(note) = field.origin.note() {
            made.insert("description", note);
        }
        let mut listed: Vec<Bson> =
            field.values.iter().filter_map(|v| listed(field.kind, v)).collect();
        if !listed.is_empty() && field.kind != BsonType::Array {
            listed.extend(field.nullable.then_some(Bson::Null));
            made.insert("enum", listed);
        }
        if is_count(field) {
            made.insert("minimum", 0);
        }
        match field.origin {
            Origin::Pattern("outlier") if field.kind == BsonType::Int => {
                made.insert("minimum", 2);
            }
            Origin::Pattern("document versioning" | "schema versioning") => {
                made.insert("minimum", 1);
            }
            _ => {}
        }
        match field.kind {
            BsonType::Object if !field.fields.is_empty() => {
                self.object(&field.fields, field.origin.child(self.model), &mut made);
            }
            BsonType::Array => {
                let most = field.items.map_or(LIST_MOST, |items| items.max);
                made.insert("maxItems", number(most));
                made.insert("items", self.items(field));
            }
            _ => {}
        }
        made
    }

    fn items(&self, field: &Planned) -> Document {
        match field.element {
            Some(kind) => {
                let mut made = doc! { "bsonType": types(accepted(kind)) };
                let listed: Vec<Bson> =
                    field.values.iter().filter_map(|v| listed(kind, v)).collect();
                if !listed.is_empty() {
                    made.insert("enum", listed);
                }
                made
            }
            None => {
                let mut made = doc! { "bsonType": "object" };
                self.object(&field.fields, field.origin.child(self.model), &mut made);
                made
            }
        }
    }
}

/// Returns the types that a field accepts. Some languages have a single number type, and their
/// drivers store whole numbers as int, whatever type is declared (GC-52).
fn accepted(kind: BsonType) -> &'static [&'static str] {
    match kind {
        BsonType::Int | BsonType::Long => &["int", "long"],
        BsonType::Double => &["double", "int", "long"],
        BsonType::Decimal => &["decimal"],
        BsonType::Bool => &["bool"],
        BsonType::Date => &["date"],
        BsonType::ObjectId => &["objectId"],
        BsonType::BinData => &["binData"],
        BsonType::Object => &["object"],
        BsonType::Array => &["array"],
        BsonType::Timestamp => &["timestamp"],
        // No other type can be declared.
        _ => &["string"],
    }
}

fn types(names: &[&'static str]) -> Bson {
    match names {
        [one] => (*one).into(),
        many => many.iter().map(|name| Bson::from(*name)).collect::<Vec<_>>().into(),
    }
}

/// Whether a field is a list of names and values.
fn is_attributes(field: &Planned) -> bool {
    field.origin == Origin::Pattern("attribute") && field.kind == BsonType::Array
}

/// Returns the types of the values in an attribute list, from the fields that are stored in it.
fn attribute_types(entity: &Entity, beside: &[Planned]) -> Vec<&'static str> {
    let mut found: Vec<&'static str> = Vec::new();
    let listed = entity.attributes.iter().filter(|name| beside.iter().all(|f| f.name != **name));
    for field in listed.filter_map(|name| entity.field(name)) {
        let null = field.nullable.then_some(&"null");
        for name in accepted(field.kind).iter().chain(null) {
            if !found.contains(name) {
                found.push(name);
            }
        }
    }
    found
}

fn listed(kind: BsonType, value: &str) -> Option<Bson> {
    match kind {
        BsonType::String => Some(value.into()),
        BsonType::Int | BsonType::Long => value.parse::<i32>().ok().map(Bson::Int32),
        _ => None,
    }
}

/// Whether a field is a count, which is never negative.
fn is_count(field: &Planned) -> bool {
    matches!(
        field.origin,
        Origin::Computed(_) | Origin::Pattern("approximation") | Origin::Pattern("bucket")
    ) && words::split(&field.name).last().is_some_and(|word| word == "count")
}
