//! Which language a file is in, by its name.

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
}

/// What kind of file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Source code that is parsed.
    Code(Language),
    /// Source code in a language that is only searched for connection strings.
    OtherCode,
    /// A schema of Prisma: models, and nothing that runs.
    Schema,
    /// Settings: `.env`, YAML, properties, TOML, JSON, Dockerfile, Terraform.
    Settings,
}

impl FileKind {
    /// The kind of a file by its path; `None` for what is not looked at.
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
        // Lock files hold versions, no settings; they are long.
        if matches!(
            lower.as_str(),
            "package-lock.json" | "composer.lock" | "pnpm-lock.yaml" | "npm-shrinkwrap.json"
        ) {
            return None;
        }
        let (_, ending) = lower.rsplit_once('.')?;
        Some(match ending {
            "py" | "pyi" => Self::Code(Language::Python),
            "js" | "mjs" | "cjs" | "jsx" | "mongodb" => Self::Code(Language::JavaScript),
            "ts" | "mts" | "cts" => Self::Code(Language::TypeScript),
            "tsx" => Self::Code(Language::Tsx),
            "java" => Self::Code(Language::Java),
            "kt" | "kts" => Self::Code(Language::Kotlin),
            "go" => Self::Code(Language::Go),
            "php" | "cs" | "rb" | "rs" | "scala" | "groovy" | "ex" | "exs" | "pl" | "sh"
            | "bash" | "ps1" | "vue" | "svelte" | "dart" | "swift" | "lua" | "ipynb" => {
                Self::OtherCode
            }
            "prisma" => Self::Schema,
            "yml" | "yaml" | "properties" | "toml" | "json" | "jsonc" | "json5" | "ini" | "cfg"
            | "conf" | "tf" | "tfvars" | "hcl" | "xml" => Self::Settings,
            _ => return None,
        })
    }
}

impl Language {
    /// Its name, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::JavaScript => "JavaScript",
            Self::TypeScript | Self::Tsx => "TypeScript",
            Self::Java => "Java",
            Self::Kotlin => "Kotlin",
            Self::Go => "Go",
        }
    }

    /// JavaScript or TypeScript.
    pub(crate) fn is_script(self) -> bool {
        matches!(self, Self::JavaScript | Self::TypeScript | Self::Tsx)
    }

    /// Java or Kotlin.
    pub(crate) fn is_jvm(self) -> bool {
        matches!(self, Self::Java | Self::Kotlin)
    }

    /// Its grammar.
    pub fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::Java => tree_sitter_java::LANGUAGE.into(),
            Self::Kotlin => tree_sitter_kotlin_ng::LANGUAGE.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
        }
    }
}
