//! The list of packages, `corpus/packages.toml`, and the half that each belongs to.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use toml_edit::{DocumentMut, Table};

/// The purpose of a package. Rules are written against one half and measured on the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Half {
    Learn,
    Measure,
}

impl Half {
    pub(super) const ALL: [Self; 2] = [Self::Learn, Self::Measure];

    pub(super) fn parse(word: &str) -> Result<Self> {
        let half = Self::ALL.into_iter().find(|half| half.name() == word);
        half.with_context(|| format!("`{word}` is no half: learn or measure"))
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Learn => "learn",
            Self::Measure => "measure",
        }
    }
}

/// The registry of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Registry {
    Npm,
    Pypi,
}

impl Registry {
    pub(super) fn parse(word: &str) -> Result<Self> {
        match word {
            "npm" => Ok(Self::Npm),
            "pypi" => Ok(Self::Pypi),
            _ => bail!("`{word}` is no registry: npm or pypi"),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pypi => "pypi",
        }
    }
}

/// One version of a program, and the digest of its archive.
#[derive(Clone, Debug)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) registry: Registry,
    pub(super) version: String,
    pub(super) sha256: String,
    /// The version of Python that the wheel is for, if it is not for the current ones.
    pub(super) python: Option<String>,
}

impl Package {
    /// Returns the half of a package. The digest of its name decides, so that no person chooses.
    pub(super) fn half(&self) -> Half {
        match Sha256::digest(self.name.as_bytes())[0] % 2 {
            0 => Half::Learn,
            _ => Half::Measure,
        }
    }

    /// The name of its folder in the cache.
    pub(super) fn folder(&self) -> String {
        let name = self.name.replace('/', "+");
        format!("{}-{name}-{}", self.registry.name(), self.version)
    }

    /// Its entry in the list.
    pub(super) fn entry(&self) -> String {
        let python = self.python.as_ref().map(|version| format!("python = \"{version}\"\n"));
        format!(
            "\n[[package]]\nname = \"{}\"\nregistry = \"{}\"\nversion = \"{}\"\n{}sha256 = \"{}\"\n",
            self.name,
            self.registry.name(),
            self.version,
            python.unwrap_or_default(),
            self.sha256
        )
    }
}

/// Reads the list.
pub(super) fn parse(text: &str) -> Result<Vec<Package>> {
    let document: DocumentMut = text.parse().context("is not TOML")?;
    let Some(tables) = document.get("package").and_then(|item| item.as_array_of_tables()) else {
        bail!("has no [[package]]");
    };
    let packages: Vec<Package> = tables
        .iter()
        .enumerate()
        .map(|(at, table)| package(table).with_context(|| format!("[[package]] number {}", at + 1)))
        .collect::<Result<_>>()?;
    let mut names = BTreeSet::new();
    for package in &packages {
        if !names.insert(&package.name) {
            bail!("{} is listed twice", package.name);
        }
    }
    Ok(packages)
}

fn package(table: &Table) -> Result<Package> {
    for (key, _) in table {
        if !["name", "registry", "version", "sha256", "python"].contains(&key) {
            bail!("unknown key `{key}`");
        }
    }
    let text = |key: &str| table.get(key).and_then(|item| item.as_str()).map(str::to_owned);
    let required = |key: &str| {
        let found = text(key).filter(|value| !value.is_empty());
        found.with_context(|| format!("`{key}` is missing or no text"))
    };
    let package = Package {
        name: required("name")?,
        registry: Registry::parse(&required("registry")?)?,
        version: required("version")?,
        sha256: required("sha256")?,
        python: text("python"),
    };
    // Both become arguments of a command and a part of a path.
    let is_plain = |word: &str| {
        !word.starts_with('-')
            && !word.split('/').any(|part| part.starts_with('.'))
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "@/._+-".contains(c))
    };
    for word in [&package.name, &package.version] {
        if !is_plain(word) {
            bail!("`{word}` has characters that names and versions do not have");
        }
    }
    if package.sha256.len() != 64 || !package.sha256.chars().all(|c| c.is_ascii_hexdigit()) {
        bail!("{}: `{}` is no SHA-256 of 64 hexadecimal digits", package.name, package.sha256);
    }
    Ok(package)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    fn named(name: &str) -> Package {
        Package {
            name: name.into(),
            registry: Registry::Npm,
            version: "1.0.0".into(),
            sha256: DIGEST.into(),
            python: None,
        }
    }

    fn message(text: &str) -> String {
        format!("{:#}", parse(text).unwrap_err())
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let mut package = named("@shop/api");
        package.python = Some("2.7".into());
        let read = parse(&format!("# list\n{}", package.entry())).unwrap();
        assert_eq!(format!("{read:?}"), format!("{:?}", [package]));
    }

    #[test]
    fn the_name_alone_decides_the_half() {
        // The first byte of SHA-256("test") is 0x9f, that of SHA-256("abc") is 0xba.
        assert_eq!(named("test").half(), Half::Measure);
        assert_eq!(named("abc").half(), Half::Learn);
        let mut other = named("test");
        other.version = "2.0.0".into();
        assert_eq!(other.half(), Half::Measure);
    }

    #[test]
    fn the_folder_of_a_scoped_package_is_one_level() {
        assert_eq!(named("@shop/api").folder(), "npm-@shop+api-1.0.0");
    }

    #[test]
    fn messages_name_the_entry_and_what_is_wrong() {
        let good = named("shop").entry();
        assert_eq!(message("a = 1"), "has no [[package]]");
        assert_eq!(message(&format!("{good}{good}")), "shop is listed twice");
        let bad = |from: &str, to: &str| message(&format!("{good}{}", good.replace(from, to)));
        assert_eq!(
            bad("name = \"shop\"\n", ""),
            "[[package]] number 2: `name` is missing or no text"
        );
        assert_eq!(bad("npm", "cpan"), "[[package]] number 2: `cpan` is no registry: npm or pypi");
        assert_eq!(bad("sha256", "sha"), "[[package]] number 2: unknown key `sha`");
        assert!(bad(DIGEST, "9f86").ends_with("`9f86` is no SHA-256 of 64 hexadecimal digits"));
        assert!(bad("shop", "../shop").contains("`../shop` has characters"));
        assert!(bad("shop", "--output").contains("`--output` has characters"));
        assert!(message("[[package").contains("is not TOML"));
    }
}
