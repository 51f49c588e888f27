//! The languages that are parsed, and the language of a file by its name.

use crate::dialect::{Dialect, csharp, go, java, kotlin, php, python, script};

/// A language that is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "names of languages")]
pub enum Language {
    Python,
    JavaScript,
    TypeScript,
    Tsx,
    Java,
    Kotlin,
    Go,
    Php,
    CSharp,
}

/// The static facts about a language.
struct Row {
    language: Language,
    name: &'static str,
    /// The file name extensions of the language.
    endings: &'static [&'static str],
    grammar: fn() -> tree_sitter::Language,
    dialect: &'static Dialect,
}

/// The list of grammars, in the order of [`Language`].
static LANGUAGES: [Row; 9] = [
    Row {
        language: Language::Python,
        name: "Python",
        endings: &["py", "pyi"],
        grammar: || tree_sitter_python::LANGUAGE.into(),
        dialect: &python::DIALECT,
    },
    Row {
        language: Language::JavaScript,
        name: "JavaScript",
        endings: &["js", "mjs", "cjs", "jsx", "mongodb"],
        grammar: || tree_sitter_javascript::LANGUAGE.into(),
        dialect: &script::DIALECT,
    },
    Row {
        language: Language::TypeScript,
        name: "TypeScript",
        endings: &["ts", "mts", "cts"],
        grammar: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        dialect: &script::DIALECT,
    },
    Row {
        language: Language::Tsx,
        name: "TypeScript",
        endings: &["tsx"],
        grammar: || tree_sitter_typescript::LANGUAGE_TSX.into(),
        dialect: &script::DIALECT,
    },
    Row {
        language: Language::Java,
        name: "Java",
        endings: &["java"],
        grammar: || tree_sitter_java::LANGUAGE.into(),
        dialect: &java::DIALECT,
    },
    Row {
        language: Language::Kotlin,
        name: "Kotlin",
        endings: &["kt", "kts"],
        grammar: || tree_sitter_kotlin_ng::LANGUAGE.into(),
        dialect: &kotlin::DIALECT,
    },
    Row {
        language: Language::Go,
        name: "Go",
        endings: &["go"],
        grammar: || tree_sitter_go::LANGUAGE.into(),
        dialect: &go::DIALECT,
    },
    Row {
        language: Language::Php,
        name: "PHP",
        endings: &["php"],
        grammar: || tree_sitter_php::LANGUAGE_PHP.into(),
        dialect: &php::DIALECT,
    },
    Row {
        language: Language::CSharp,
        name: "C#",
        endings: &["cs"],
        grammar: || tree_sitter_c_sharp::LANGUAGE.into(),
        dialect: &csharp::DIALECT,
    },
];

/// Libraries whose models have an importer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "names of libraries")]
pub enum Library {
    Mongoose,
    Prisma,
    Pydantic,
    Go,
    Spring,
    Php,
    CSharp,
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Source code that is parsed.
    Code(Language),
    /// Source code in a language that is only searched for connection strings.
    OtherCode,
    /// A schema of Prisma: models without executable code.
    Schema,
    /// Settings: `.env`, YAML, properties, TOML, JSON, Dockerfile, Terraform.
    Settings,
}

impl FileKind {
    /// The kind of a file by its path; `None` for files that are not examined.
    pub fn of(path: &str) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let lower = name.to_ascii_lowercase();
        if lower.starts_with(".env") || lower.ends_with(".env") || lower.contains(".env.") {
            return Some(Self::Settings);
        }
        if lower.starts_with("dockerfile")
            || lower.starts_with("docker-compose")
            || lower == "procfile"
            || lower.starts_with("jenkinsfile")
        {
            return Some(Self::Settings);
        }
        if lower.ends_with(".min.js") || lower.ends_with(".bundle.js") || lower.ends_with(".d.ts") {
            return None;
        }
        // Lock files contain versions, no settings; they are long.
        if matches!(
            lower.as_str(),
            "package-lock.json" | "composer.lock" | "pnpm-lock.yaml" | "npm-shrinkwrap.json"
        ) {
            return None;
        }
        let (_, ending) = lower.rsplit_once('.')?;
        if let Some(row) = LANGUAGES.iter().find(|row| row.endings.contains(&ending)) {
            return Some(Self::Code(row.language));
        }
        Some(match ending {
            "rb" | "rs" | "scala" | "groovy" | "ex" | "exs" | "pl" | "sh" | "bash" | "ps1"
            | "vue" | "svelte" | "dart" | "swift" | "lua" | "ipynb" => Self::OtherCode,
            "prisma" => Self::Schema,
            "yml" | "yaml" | "properties" | "toml" | "json" | "jsonc" | "json5" | "ini" | "cfg"
            | "conf" | "tf" | "tfvars" | "hcl" | "xml" | "config" => Self::Settings,
            _ => return None,
        })
    }
}

impl Language {
    fn row(self) -> &'static Row {
        &LANGUAGES[self as usize]
    }

    /// Its name, for messages.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Its grammar.
    pub fn grammar(self) -> tree_sitter::Language {
        (self.row().grammar)()
    }

    /// Returns the dialect of the language.
    pub(crate) fn dialect(self) -> &'static Dialect {
        self.row().dialect
    }

    /// JavaScript or TypeScript.
    pub(crate) fn is_script(self) -> bool {
        matches!(self, Self::JavaScript | Self::TypeScript | Self::Tsx)
    }

    /// Java or Kotlin.
    pub(crate) fn is_jvm(self) -> bool {
        matches!(self, Self::Java | Self::Kotlin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_stands_where_its_number_says() {
        for (at, row) in LANGUAGES.iter().enumerate() {
            assert_eq!(row.language as usize, at);
            assert_eq!(row.language.name(), row.name);
            for ending in row.endings {
                let kind = FileKind::of(&format!("src/a.{ending}"));
                assert_eq!(kind, Some(FileKind::Code(row.language)), "{ending}");
            }
            assert!(row.language.grammar().node_kind_count() > 50, "{}", row.name);
        }
    }
}
