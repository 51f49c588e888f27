//! Diagrams in Mermaid: the model before, and the collections after.

use docward_model::{BsonType, DesignModel, Relationship};

use crate::declared::field_plan::{Origin, Planned};
use crate::layout::plan::Design;

/// Returns a diagram of the entities and their relationships.
pub(super) fn model(model: &DesignModel) -> String {
    let mut text = String::from("erDiagram\n");
    for relationship in &model.relationships {
        text.push_str(&format!(
            "  {} {} {} : {}\n",
            quoted(&relationship.parent),
            ends(relationship),
            quoted(&relationship.child),
            quoted(relationship.role())
        ));
    }
    for entity in &model.entities {
        text.push_str(&format!("  {} {{\n", quoted(&entity.name)));
        for field in &entity.fields {
            let kind = kind(field.kind, field.element);
            text.push_str(&format!("    {kind} {}\n", word(&field.name)));
        }
        for variant in &entity.variants {
            for field in &variant.fields {
                text.push_str(&format!(
                    "    {} {} {}\n",
                    kind(field.kind, field.element),
                    word(&field.name),
                    quoted(&format!("{} only", variant.name))
                ));
            }
        }
        text.push_str("  }\n");
    }
    text
}

/// Returns a diagram of the collections with embedded, copied and computed fields.
pub(super) fn design(design: &Design) -> String {
    let mut text = String::from("erDiagram\n");
    for collection in &design.collections {
        let mut lines = Vec::new();
        fields(&collection.name, &collection.fields, &mut lines, &mut text);
        text.push_str(&format!("  {} {{\n{}  }}\n", quoted(&collection.name), lines.concat()));
    }
    // References between collections.
    for collection in &design.collections {
        for field in &collection.fields {
            let Origin::Reference(entity) = &field.origin else { continue };
            let target = design.collections.iter().find(|c| {
                c.entity == *entity && c.purpose == crate::layout::collection::Purpose::Entity
            });
            let Some(target) = target else { continue };
            let end = if field.kind == BsonType::Array { "}o--o{" } else { "}o--||" };
            text.push_str(&format!(
                "  {} {end} {} : {}\n",
                quoted(&collection.name),
                quoted(&target.name),
                quoted(&field.name)
            ));
        }
    }
    text
}

/// Adds the lines of a box. Nested objects get their own boxes.
fn fields(owner: &str, of: &[Planned], lines: &mut Vec<String>, text: &mut String) {
    for field in of {
        let kind = kind(field.kind, field.element);
        let key = if field.origin == Origin::Id { " PK" } else { "" };
        let note = match field.origin.note() {
            Some(note) => format!(" {}", quoted(&note)),
            None => String::new(),
        };
        lines.push(format!("    {kind} {}{key}{note}\n", word(&field.name)));
        if !field.fields.is_empty() {
            let below = format!("{owner}.{}", field.name);
            let mut inner = Vec::new();
            fields(&below, &field.fields, &mut inner, text);
            let end = if field.kind == BsonType::Array { "||--o{" } else { "||--o|" };
            text.push_str(&format!(
                "  {} {end} {} : {}\n  {} {{\n{}  }}\n",
                quoted(owner),
                quoted(&below),
                quoted(&field.name),
                quoted(&below),
                inner.concat()
            ));
        }
    }
}

fn ends(relationship: &Relationship) -> &'static str {
    let many = relationship.children.is_none_or(|children| children.max > 1);
    match (relationship.is_shared(), many) {
        (false, true) => "||--o{",
        (false, false) => "||--o|",
        (true, true) => "}o--o{",
        (true, false) => "}o--o|",
    }
}

fn kind(kind: BsonType, element: Option<BsonType>) -> String {
    match (kind, element) {
        (BsonType::Array, Some(element)) => format!("{}[]", element.name()),
        (BsonType::Array, None) => "object[]".to_owned(),
        (kind, _) => kind.name().to_owned(),
    }
}

/// Returns a quoted text. The name of a box may contain any other character.
fn quoted(text: &str) -> String {
    let clean: String =
        text.chars().map(|c| if c == '"' || c.is_control() { '\'' } else { c }).collect();
    format!("\"{}\"", clean.replace('`', ""))
}

/// Returns the name of a line, which has only letters, digits and underscores.
fn word(text: &str) -> String {
    let made: String = text.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    if made.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        made
    } else {
        format!("_{made}")
    }
}
