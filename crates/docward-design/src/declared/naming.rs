//! Names of the collections and fields that a design makes, in the style the model is written in.

use docward_model::{DesignModel, ProfileName, Relationship, words};

/// How names are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Naming {
    /// `create_time`; else `createTime`.
    snake: bool,
    /// Whether the house prefixes `db_` and `t_` are wanted.
    prefixed: bool,
}

impl Naming {
    /// As most fields of the model are written, with the prefixes of the profile.
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

    /// A field of these words.
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

    /// The field of a child that holds its parent's id: as declared, else `customerId`.
    pub fn parent_field(self, relationship: &Relationship) -> String {
        relationship.field.clone().unwrap_or_else(|| self.id_of(&relationship.parent))
    }

    /// The field of a child that lists the ids of its parents: as declared, else `courseIds`.
    pub fn parents_field(self, relationship: &Relationship) -> String {
        relationship.field.clone().unwrap_or_else(|| self.ids_of(&relationship.parent))
    }

    /// The field of a child with copies of its parent: `sender` beside a declared `senderId`, else
    /// `customer`.
    pub fn parent_copy(self, relationship: &Relationship) -> String {
        let mut declared = relationship.field.as_deref().map(words::split).unwrap_or_default();
        if declared.len() > 1 && declared.last().is_some_and(|last| last == "id") {
            declared.pop();
            let parts: Vec<&str> = declared.iter().map(String::as_str).collect();
            return self.field(&parts);
        }
        self.field(&[&self.singular(&relationship.parent)])
    }

    /// The field of a parent that holds the id of its one child: as declared, else `productId`.
    pub fn child_field(self, relationship: &Relationship) -> String {
        relationship.field.clone().unwrap_or_else(|| self.id_of(relationship.role()))
    }

    /// `customerId` for `customer` or `customers`.
    pub fn id_of(self, name: &str) -> String {
        self.field(&[&self.singular(name), "id"])
    }

    /// `courseIds`.
    pub fn ids_of(self, name: &str) -> String {
        self.field(&[&self.singular(name), "ids"])
    }

    /// The last word in the singular: `line_items` to `line item`.
    pub fn singular(self, name: &str) -> String {
        let mut parts = words::split(name);
        if let Some(last) = parts.last_mut() {
            *last = words::singular(last);
        }
        parts.join(" ")
    }

    /// A collection: `t_order_item` (DM-03.1), or without the prefix.
    pub fn collection(self, parts: &[&str]) -> String {
        let name = parts.iter().flat_map(|part| words::split(part)).collect::<Vec<_>>().join("_");
        if self.prefixed && !name.starts_with("t_") { format!("t_{name}") } else { name }
    }

    /// The database: `db_shop` (DM-02.1).
    pub fn database(self, model: &DesignModel) -> String {
        if let Some(name) = &model.database {
            return name.clone();
        }
        let name = words::split(&model.name).join("_");
        let name = if name.is_empty() { "model".to_owned() } else { name };
        // Those of the server are not for applications (DM-01.1).
        let is_reserved = matches!(name.as_str(), "admin" | "local" | "config");
        let prefixed = self.prefixed || is_reserved;
        if prefixed && !name.starts_with("db_") { format!("db_{name}") } else { name }
    }
}
