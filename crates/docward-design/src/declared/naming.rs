//! Names the collections and fields of a design in the style of the model.

use docward_model::{DesignModel, ProfileName, Relationship, words};

/// The style of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Naming {
    /// Whether names have the form `create_time` and not `createTime`.
    snake: bool,
    /// Whether names have the house prefixes `db_` and `t_`.
    prefixed: bool,
}

impl Naming {
    /// Returns the style of most fields of the model, with the prefixes of the profile.
    pub fn of(model: &DesignModel, profile: ProfileName) -> Self {
        let names =
            model.entities.iter().flat_map(|entity| &entity.fields).map(|f| f.name.as_str());
        let (mut snake, mut camel) = (0, 0);
        for name in names {
            snake += usize::from(name.trim_start_matches('_').contains('_'));
            camel += usize::from(name.contains(|c: char| c.is_ascii_uppercase()));
        }
        Self { snake: snake > camel, prefixed: profile == ProfileName::Vendor }
    }

    /// Returns a field name from words.
    pub fn field(self, parts: &[&str]) -> String {
        let parts: Vec<String> = parts.iter().flat_map(|part| words::split(part)).collect();
        if self.snake {
            return parts.join("_");
        }
        let mut name = String::new();
        for (i, part) in parts.iter().enumerate() {
            let mut chars = part.chars();
            match chars.next() {
                Some(first) if i > 0 => name.extend(first.to_uppercase().chain(chars)),
                Some(first) => name.extend([first].into_iter().chain(chars)),
                None => {}
            }
        }
        name
    }

    /// Returns the field of a child that stores its parent's id: as declared, or for example
    /// `customerId`.
    pub fn parent_field(self, relationship: &Relationship) -> String {
        relationship.field.clone().unwrap_or_else(|| self.id_of(&relationship.parent))
    }

    /// Returns the field of a child that lists the ids of its parents: as declared, or for example
    /// `courseIds`.
    pub fn parents_field(self, relationship: &Relationship) -> String {
        relationship.field.clone().unwrap_or_else(|| self.ids_of(&relationship.parent))
    }

    /// Returns the field of a child with copies of its parent: `sender` next to a declared
    /// `senderId`, or for example `customer`.
    pub fn parent_copy(self, relationship: &Relationship) -> String {
        let mut declared = relationship.field.as_deref().map(words::split).unwrap_or_default();
        if declared.len() > 1 && declared.last().is_some_and(|last| last == "id") {
            declared.pop();
            let parts: Vec<&str> = declared.iter().map(String::as_str).collect();
            return self.field(&parts);
        }
        let name = self.field(&[&self.singular(&relationship.parent)]);
        // The field with the id may already have the name of the parent, as is usual with Mongoose.
        match relationship.field.as_deref() == Some(name.as_str()) {
            true => self.field(&[&self.singular(&relationship.parent), "copy"]),
            false => name,
        }
    }

    /// Returns the field of a parent that stores the id of its only child: as declared, or for
    /// example `productId`.
    pub fn child_field(self, relationship: &Relationship) -> String {
        relationship.field.clone().unwrap_or_else(|| self.id_of(relationship.role()))
    }

    /// Returns the name of an id: `customerId` for `customer` or `customers`.
    pub fn id_of(self, name: &str) -> String {
        self.field(&[&self.singular(name), "id"])
    }

    /// Returns the name of a list of ids, for example `courseIds`.
    pub fn ids_of(self, name: &str) -> String {
        self.field(&[&self.singular(name), "ids"])
    }

    /// Returns a name with its last word in the singular: `line item` for `line_items`.
    pub fn singular(self, name: &str) -> String {
        let mut parts = words::split(name);
        if let Some(last) = parts.last_mut() {
            *last = words::singular(last);
        }
        parts.join(" ")
    }

    /// Returns the name of a collection: `t_order_item` (DM-03.1), or the same without the prefix.
    pub fn collection(self, parts: &[&str]) -> String {
        let name = parts.iter().flat_map(|part| words::split(part)).collect::<Vec<_>>().join("_");
        if self.prefixed && !name.starts_with("t_") { format!("t_{name}") } else { name }
    }

    /// Returns the name of the database: `db_shop` (DM-02.1).
    pub fn database(self, model: &DesignModel) -> String {
        if let Some(name) = &model.database {
            return name.clone();
        }
        let name = words::split(&model.name).join("_");
        let name = if name.is_empty() { "model".to_owned() } else { name };
        // Applications must not use the server's own databases (DM-01.1).
        let is_reserved = matches!(name.as_str(), "admin" | "local" | "config");
        let prefixed = self.prefixed || is_reserved;
        if prefixed && !name.starts_with("db_") { format!("db_{name}") } else { name }
    }
}
