//! Models declared in code (Mongoose, Prisma, Pydantic, Go, Spring and others) or as SQL tables, as
//! entities of a design.

use std::path::Path;

use anyhow::{Context, bail};
use bson::{Bson, Document};
use docward_code::{Kind, LeftOut, Model};
use docward_design::{DeclaredEntity, EntityFieldDraft};
use docward_model::{BsonType, words};

use super::sql;

/// Reads the entities of files. Returns `None` if a source is not a file that declares models.
pub(super) fn entities(sources: &[String]) -> anyhow::Result<Option<Vec<DeclaredEntity>>> {
    let mut models = Vec::new();
    let mut tables = Vec::new();
    for source in sources {
        let path = Path::new(source);
        if !path.is_file() {
            return Ok(None);
        }
        let Ok(text) = std::fs::read_to_string(path) else { return Ok(None) };
        let text = text.trim_start_matches('\u{feff}');
        if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("sql")) {
            tables.extend(sql::tables(text));
            continue;
        }
        // A JSON file is more likely data, unless it says that it is a schema.
        let is_schema = || text.contains("json-schema.org") || text.contains("$jsonSchema");
        let kind = Kind::detect(source, text);
        let Some(kind) = kind.filter(|kind| *kind != Kind::JsonSchema || is_schema()) else {
            return Ok(None);
        };
        let imported = docward_code::read(kind, text);
        if imported.models.is_empty()
            && let Some(problem) = imported.problems.first()
        {
            let place = format!("{source}:{}:{}", problem.line, problem.column);
            return Err(anyhow::anyhow!("{}", problem.message)).context(place);
        }
        models.extend(imported.models);
    }
    let embedded = |model: &Model| model.embedded && models.iter().any(|other| !other.embedded);
    let kept: Vec<&Model> = models.iter().filter(|model| !embedded(model)).collect();
    let names: Vec<(&str, String)> =
        kept.iter().map(|model| (model.name.as_str(), name_of(&model.name))).collect();
    let mut found: Vec<DeclaredEntity> = kept.iter().map(|model| entity(model, &names)).collect();
    found.extend(tables);
    if found.is_empty() {
        bail!("the files declare no models and no tables");
    }
    Ok(Some(found))
}

/// Returns the name of an entity: `order_item` for `OrderItem`.
pub(super) fn name_of(name: &str) -> String {
    let mut parts = words::split(name);
    if let Some(last) = parts.last_mut() {
        *last = words::singular(last);
    }
    parts.join("_")
}

fn entity(model: &Model, names: &[(&str, String)]) -> DeclaredEntity {
    let reader = Reader { left_out: &model.left_out, names };
    DeclaredEntity {
        name: name_of(&model.name),
        collection: model.collection.clone(),
        fields: reader.fields(&model.schema, ""),
    }
}

struct Reader<'m> {
    left_out: &'m [LeftOut],
    names: &'m [(&'m str, String)],
}

impl Reader<'_> {
    /// Returns the properties of an object schema as fields.
    fn fields(&self, schema: &Document, above: &str) -> Vec<EntityFieldDraft> {
        let required: Vec<&str> =
            schema.get_array("required").into_iter().flatten().filter_map(Bson::as_str).collect();
        let Ok(properties) = schema.get_document("properties") else { return Vec::new() };
        let own = properties.iter().filter(|(name, _)| !matches!(name.as_str(), "_id" | "__v"));
        own.filter_map(|(name, schema)| {
            let path = format!("{above}{name}");
            let mut field = self.field(name, schema.as_document()?, &path);
            field.required = required.contains(&name.as_str()) || field.nullable;
            Some(field)
        })
        .collect()
    }

    fn field(&self, name: &str, schema: &Document, path: &str) -> EntityFieldDraft {
        let types: Vec<&str> = match schema.get("bsonType") {
            Some(Bson::String(one)) => vec![one],
            Some(Bson::Array(all)) => all.iter().filter_map(Bson::as_str).collect(),
            _ => Vec::new(),
        };
        let mut field = EntityFieldDraft::new(name, kind(&types));
        field.nullable = types.contains(&"null");
        field.unique = self.says(path, "unique");
        let values = schema.get_array("enum").into_iter().flatten().filter_map(Bson::as_str);
        field.values = values.map(str::to_owned).collect();
        let most =
            schema.get_i64("maxLength").or_else(|_| schema.get_i32("maxLength").map(i64::from));
        field.most_bytes = most.ok().and_then(|most| u64::try_from(most).ok());
        field.target = self.target(path, name, field.kind);
        match field.kind {
            BsonType::Object => field.fields = self.fields(schema, &format!("{path}.")),
            BsonType::Array => {
                let inside = format!("{path}[]");
                let items = schema.get_document("items").cloned().unwrap_or_default();
                let element = self.field(name, &items, &inside);
                field.fields = self.fields(&items, &format!("{inside}."));
                field.target = element.target.clone();
                field.element = field.fields.is_empty().then_some(element.kind);
            }
            _ => {}
        }
        field
    }

    fn says(&self, path: &str, word: &str) -> bool {
        self.left_out.iter().any(|left| left.path == path && left.what.starts_with(word))
    }

    /// Returns the entity that a field refers to: by declaration (`ref: 'User'`), or by its name.
    fn target(&self, path: &str, name: &str, kind: BsonType) -> Option<String> {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let declared = self.left_out.iter().filter(|left| left.path == path).find_map(|left| {
            let is_reference = left.what.starts_with("ref") || left.what.starts_with("relation");
            let words = left.what.split(|c| !is_name(c)).filter(|_| is_reference);
            words.filter_map(|word| self.names.iter().find(|(own, _)| *own == word)).next()
        });
        let by_name = || {
            let stem =
                ["_ids", "_id", "Ids", "Id", "ID"].iter().find_map(|end| name.strip_suffix(end));
            let stem = name_of(stem.unwrap_or(name));
            let is_id = kind == BsonType::ObjectId;
            self.names.iter().find(|(_, entity)| is_id && *entity == stem)
        };
        declared.or_else(by_name).map(|(_, entity)| entity.clone())
    }
}

/// Returns the type of a field. Libraries that write several types of numbers declare the largest.
fn kind(types: &[&str]) -> BsonType {
    let known = [
        ("string", BsonType::String),
        ("objectId", BsonType::ObjectId),
        ("date", BsonType::Date),
        ("decimal", BsonType::Decimal),
        ("double", BsonType::Double),
        ("number", BsonType::Double),
        ("long", BsonType::Long),
        ("int", BsonType::Int),
        ("bool", BsonType::Bool),
        ("binData", BsonType::BinData),
        ("array", BsonType::Array),
        ("object", BsonType::Object),
        ("timestamp", BsonType::Timestamp),
    ];
    let found = known.iter().find(|(name, _)| types.contains(name));
    found.map_or(BsonType::String, |(_, kind)| *kind)
}
