//! The kinds of declarations, and how Docward detects them.

/// The library or language that declares a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Mongoose schemas in JavaScript or TypeScript, including NestJS decorators.
    Mongoose,
    /// A Prisma schema for the MongoDB connector.
    Prisma,
    /// Pydantic models and Beanie documents.
    Pydantic,
    /// Go structs with `bson` tags.
    Go,
    /// Java classes for Spring Data MongoDB.
    Spring,
    /// PHP classes: Doctrine ODM documents and Laravel MongoDB models.
    Php,
    /// C# classes as the driver maps them.
    CSharp,
    /// JSON Schema since draft 4, also inside an OpenAPI document.
    JsonSchema,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Mongoose,
        Self::Prisma,
        Self::Pydantic,
        Self::Go,
        Self::Spring,
        Self::Php,
        Self::CSharp,
        Self::JsonSchema,
    ];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mongoose => "mongoose",
            Self::Prisma => "prisma",
            Self::Pydantic => "pydantic",
            Self::Go => "go",
            Self::Spring => "spring",
            Self::Php => "php",
            Self::CSharp => "csharp",
            Self::JsonSchema => "json-schema",
        }
    }

    /// Returns the kind with a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the kind of a file that is likely to declare models. The file name must match the
    /// language, and the text must mention the library.
    pub fn detect(file_name: &str, text: &str) -> Option<Self> {
        let name = file_name.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
        let (_, extension) = name.rsplit_once('.')?;
        let mentions = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let (kind, likely) = match extension {
            "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => {
                (Self::Mongoose, mentions(&["mongoose"]))
            }
            "prisma" => (Self::Prisma, mentions(&["model ", "type ", "enum "])),
            "py" => (Self::Pydantic, mentions(&["pydantic", "beanie", "BaseModel"])),
            "go" => (Self::Go, mentions(&["bson:\""])),
            "java" => (Self::Spring, mentions(&["org.springframework.data", "@Document"])),
            "php" => (
                Self::Php,
                mentions(&["Doctrine\\ODM", "MongoDB\\Laravel", "Mongodb\\Eloquent", "Moloquent"]),
            ),
            "cs" => (Self::CSharp, mentions(&["MongoDB.Bson", "MongoDB.Driver"])),
            "json" => (
                Self::JsonSchema,
                mentions(&["\"$jsonSchema\"", "json-schema.org", "\"$defs\"", "\"components\""])
                    || (mentions(&["\"properties\""]) && mentions(&["\"type\"", "\"bsonType\""])),
            ),
            _ => return None,
        };
        likely.then_some(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_kinds() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(kind.name()), Some(kind));
        }
        assert_eq!(Kind::parse("cobol"), None);
    }

    #[test]
    fn files_are_told_apart_by_name_and_text() {
        for (name, text, expect) in [
            ("src/user.js", "const mongoose = require('mongoose')", Some(Kind::Mongoose)),
            ("user.schema.ts", "import { Schema } from 'mongoose'", Some(Kind::Mongoose)),
            ("user.ts", "import { Prop } from '@nestjs/mongoose'", Some(Kind::Mongoose)),
            ("user.js", "export const x = 1", None),
            ("prisma/schema.prisma", "model User {\n}", Some(Kind::Prisma)),
            ("schema.prisma", "", None),
            ("models.py", "from pydantic import BaseModel", Some(Kind::Pydantic)),
            ("models.py", "from beanie import Document", Some(Kind::Pydantic)),
            ("models.py", "import os", None),
            ("order.go", "type A struct {\n B int `bson:\"b\"`\n}", Some(Kind::Go)),
            ("order.go", "package main", None),
            ("C:\\src\\Order.java", "@Document class Order {}", Some(Kind::Spring)),
            ("Order.java", "class Order {}", None),
            ("User.php", "use MongoDB\\Laravel\\Eloquent\\Model;", Some(Kind::Php)),
            ("User.php", "use Illuminate\\Database\\Eloquent\\Model;", None),
            ("Order.cs", "using MongoDB.Bson;", Some(Kind::CSharp)),
            ("Order.cs", "class Order {}", None),
            (
                "order.schema.json",
                "{\"type\":\"object\",\"properties\":{}}",
                Some(Kind::JsonSchema),
            ),
            ("v.json", "{\"$jsonSchema\": {}}", Some(Kind::JsonSchema)),
            ("package.json", "{\"name\":\"x\",\"type\":\"module\"}", None),
            ("README", "mongoose", None),
            ("", "", None),
        ] {
            assert_eq!(Kind::detect(name, text), expect, "{name}: {text}");
        }
    }
}
