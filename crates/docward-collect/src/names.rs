//! Parses file names: the format that a name claims, and the collection it names.
//!
//! The content decides the format (`detect`). The name decides only if the content is ambiguous,
//! and selects the files of a directory to examine.

/// The format that a file name claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// `*.bson`.
    Bson,
    /// `*.json` and its relatives.
    Json,
    /// `*.metadata.json`.
    Metadata,
    /// `prelude.json`.
    Prelude,
    /// `*.archive`.
    Archive,
    /// `*.zip`.
    Zip,
    /// `*.csv`, `*.tsv`.
    Delimited,
    /// Clearly something else: source code, images, prose.
    Foreign,
    /// No known format.
    Nothing,
}

/// A parsed file name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileName {
    /// The format it claims.
    pub(crate) claim: Claim,
    /// The name without the extensions that claim the format, as written.
    pub(crate) stem: String,
}

/// Extensions of JSON in any dialect.
const JSON: &[&str] = &["json", "jsonl", "ndjson", "ldjson", "extjson", "geojson", "json5"];

/// Extensions of files that are not data and are common next to data.
const FOREIGN: &[&str] = &[
    "adoc",
    "avif",
    "bat",
    "bmp",
    "c",
    "cc",
    "cfg",
    "class",
    "cmd",
    "conf",
    "cpp",
    "cs",
    "css",
    "dart",
    "dll",
    "dockerfile",
    "docx",
    "env",
    "exe",
    "gif",
    "go",
    "gradle",
    "h",
    "hpp",
    "htm",
    "html",
    "ico",
    "ini",
    "ipynb",
    "jar",
    "java",
    "jpeg",
    "jpg",
    "js",
    "jsx",
    "key",
    "kt",
    "less",
    "lock",
    "log",
    "map",
    "markdown",
    "md",
    "mjs",
    "mp3",
    "mp4",
    "pdf",
    "pem",
    "php",
    "pl",
    "png",
    "pptx",
    "properties",
    "ps1",
    "py",
    "pyc",
    "r",
    "rb",
    "rs",
    "rst",
    "sass",
    "scala",
    "scss",
    "sh",
    "so",
    "sql",
    "svelte",
    "svg",
    "swift",
    "tex",
    "tf",
    "tif",
    "tiff",
    "toml",
    "ts",
    "tsx",
    "ttf",
    "txt",
    "vue",
    "wav",
    "webp",
    "woff",
    "woff2",
    "xls",
    "xlsx",
    "xml",
    "yaml",
    "yml",
];

/// Names of JSON files that belong to tools.
const TOOL_FILES: &[&str] =
    &["composer.json", "jsconfig.json", "package-lock.json", "package.json", "tsconfig.json"];

/// Returns whether directories with this name never contain user data.
pub(crate) fn is_foreign_directory(name: &str) -> bool {
    name.starts_with('.') || matches!(name, "node_modules" | "__MACOSX" | "__pycache__")
}

impl FileName {
    /// Parses a file name.
    pub(crate) fn read(name: &str) -> Self {
        let plain = strip(name, "gz").unwrap_or(name);
        let as_is = |claim| Self { claim, stem: plain.to_owned() };
        if name.starts_with('.') || TOOL_FILES.contains(&name) {
            return as_is(Claim::Foreign);
        }
        if plain.eq_ignore_ascii_case("prelude.json") {
            return Self { claim: Claim::Prelude, stem: "prelude".to_owned() };
        }
        let known = [
            (&["metadata.json"][..], Claim::Metadata),
            (&["bson"], Claim::Bson),
            (JSON, Claim::Json),
            (&["archive"], Claim::Archive),
            (&["zip"], Claim::Zip),
            (&["csv", "tsv"], Claim::Delimited),
            (FOREIGN, Claim::Foreign),
        ];
        for (extensions, claim) in known {
            if let Some(stem) = extensions.iter().find_map(|extension| strip(plain, extension)) {
                return Self { claim, stem: stem.to_owned() };
            }
        }
        // `backup.gz`, `orders.2024`: only the last extension is removed.
        let stem = plain.rsplit_once('.').map_or(plain, |(stem, _)| stem);
        Self { claim: Claim::Nothing, stem: stem.to_owned() }
    }

    /// The collection that a file of a dump names: `mongodump` escapes characters that file systems
    /// do not permit.
    pub(crate) fn collection(&self) -> String {
        unescape(&self.stem).unwrap_or_else(|| self.stem.clone())
    }

    /// Returns whether `mongodump` truncated the name because of its length; the metadata contains
    /// the full name.
    pub(crate) fn is_cut(&self) -> bool {
        self.stem.len() == 238 && self.stem.contains("%24")
    }
}

/// The name without the extension, if it has this extension and a non-empty rest.
fn strip<'n>(name: &'n str, extension: &str) -> Option<&'n str> {
    let at = name.len().checked_sub(extension.len() + 1).filter(|&at| at > 0)?;
    let (stem, end) = (name.get(..at)?, name.get(at + 1..)?);
    (name.as_bytes()[at] == b'.' && end.eq_ignore_ascii_case(extension)).then_some(stem)
}

/// Decodes URL query escapes: `%2F` is a slash, `+` a space.
fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                (high * 16 + low) as u8
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Derives a database name from a directory name: database names contain no dots.
pub(crate) fn database(directory: &str) -> String {
    let name = directory.replace('.', "_");
    if name.is_empty() { LOOSE_DATABASE.to_owned() } else { name }
}

/// The database of loose files that are in no directory.
pub(crate) const LOOSE_DATABASE: &str = "test";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_claim_what_they_should() {
        use Claim::{Archive, Bson, Delimited, Foreign, Json, Metadata, Nothing, Prelude, Zip};
        for (name, claim, stem) in [
            ("orders.bson", Bson, "orders"),
            ("orders.BSON.GZ", Bson, "orders"),
            ("orders.metadata.json", Metadata, "orders"),
            ("orders.metadata.json.gz", Metadata, "orders"),
            ("fs.chunks.bson", Bson, "fs.chunks"),
            ("orders.jsonl.gz", Json, "orders"),
            ("prelude.json.gz", Prelude, "prelude"),
            ("metadata.json", Json, "metadata"),
            ("shop.archive.gz", Archive, "shop"),
            ("shop.archive", Archive, "shop"),
            ("data.zip", Zip, "data"),
            ("t.tsv", Delimited, "t"),
            ("README.md", Foreign, "README"),
            (".gitignore", Foreign, ".gitignore"),
            ("package.json", Foreign, "package.json"),
            ("backup.gz", Nothing, "backup"),
            ("orders.2024", Nothing, "orders"),
            ("orders", Nothing, "orders"),
            (".bson", Foreign, ".bson"),
            ("größe.json", Json, "größe"),
        ] {
            let read = FileName::read(name);
            assert_eq!((read.claim, read.stem.as_str()), (claim, stem), "{name}");
        }
    }

    #[test]
    fn escaped_collection_names_are_read_back() {
        for (file, collection) in [
            ("a%2Fb.bson", "a/b"),
            ("caf%C3%A9+au+lait.bson", "café au lait"),
            ("%24admin.system.users.bson", "$admin.system.users"),
            ("100%.bson", "100%"),
            ("bad%FFutf8.bson", "bad%FFutf8"),
            ("orders.2024.bson", "orders.2024"),
        ] {
            assert_eq!(FileName::read(file).collection(), collection);
        }
    }
}
