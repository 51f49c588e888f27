//! Finds driver versions in lock files and manifests: text in, drivers out.
//!
//! Each format is searched line by line for the driver's package and the version next to it. A
//! version in a manifest (`pom.xml`, `build.gradle`, ranges in `requirements.txt`) is the requested
//! one and may not be the installed one; [`LockedDriver::exact`] distinguishes them.

use crate::{Driver, Language, Version};

/// Names of supported files.
pub const LOCK_FILES: [&str; 13] = [
    "requirements.txt",
    "poetry.lock",
    "uv.lock",
    "Pipfile.lock",
    "package-lock.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "go.mod",
    "Cargo.lock",
    "composer.lock",
];

/// A driver that a file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedDriver {
    /// Language and version.
    pub driver: Driver,
    /// The package.
    pub package: String,
    /// The version as it is written.
    pub version: String,
    /// True if exactly this version is installed.
    pub exact: bool,
    /// The line number, counted from 1.
    pub line: usize,
}

/// The drivers in a file, by file name; `None` if files of that name are not supported.
pub fn drivers_in(file_name: &str, text: &str) -> Option<Vec<LockedDriver>> {
    let name = file_name.rsplit(['/', '\\']).next().unwrap_or(file_name);
    let found = match name {
        "poetry.lock" | "uv.lock" => toml_packages(text, Language::Python, &["pymongo", "motor"]),
        "Cargo.lock" => toml_packages(text, Language::Rust, &["mongodb"]),
        "package-lock.json" | "npm-shrinkwrap.json" => package_lock(text),
        "Pipfile.lock" => json_versions(text, Language::Python, &["pymongo"]),
        "composer.lock" => composer(text),
        "yarn.lock" => yarn(text),
        "pnpm-lock.yaml" | "pnpm-lock.yml" => pnpm(text),
        "pom.xml" => pom(text),
        "build.gradle" | "build.gradle.kts" => gradle(text),
        "go.mod" => go_mod(text),
        _ if name.starts_with("requirements") && name.ends_with(".txt") => requirements(text),
        _ => return None,
    };
    Some(found)
}

fn locked(
    language: Language,
    package: &str,
    version: &str,
    exact: bool,
    line: usize,
) -> Option<LockedDriver> {
    let version = version.trim().trim_matches(['"', '\'', ',', ' ']);
    let parsed = Version::parse(version)?;
    let driver = Driver { language, version: Some(parsed) };
    let (package, version) = (package.to_owned(), version.to_owned());
    Some(LockedDriver { driver, package, version, exact, line })
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line))
}

/// `pymongo[srv]==4.6.1 ; python_version >= "3.8"`
fn requirements(text: &str) -> Vec<LockedDriver> {
    lines(text)
        .filter_map(|(at, line)| {
            let line = line.split(['#', ';']).next().unwrap_or_default().trim();
            let end = line.find(['=', '<', '>', '~', '!', '[', ' ']).unwrap_or(line.len());
            let (name, rest) = line.split_at(end);
            if !name.eq_ignore_ascii_case("pymongo") {
                return None;
            }
            let rest = rest.split_once(']').map_or(rest, |(_, rest)| rest).trim();
            // The first lower bound of the version.
            let bound = rest.split(',').find(|bound| {
                let bound = bound.trim();
                ["==", ">=", "~="].iter().any(|sign| bound.starts_with(sign))
            })?;
            let bound = bound.trim();
            let exact = bound.starts_with("==") && !bound.contains('*');
            locked(
                Language::Python,
                "pymongo",
                bound.trim_start_matches(['=', '>', '~']),
                exact,
                at,
            )
        })
        .collect()
}

/// Parses `[[package]]`, `name = "…"`, `version = "…"`.
fn toml_packages(text: &str, language: Language, names: &[&str]) -> Vec<LockedDriver> {
    let mut out = Vec::new();
    let mut name = "";
    for (at, line) in lines(text) {
        let value = |key: &str| {
            let (left, right) = line.split_once('=')?;
            (left.trim() == key).then(|| right.trim().trim_matches('"'))
        };
        if line.trim() == "[[package]]" {
            name = "";
        } else if let Some(found) = value("name") {
            name = found;
        } else if let Some(version) = value("version")
            // Motor's own version does not determine SRV support: that of its dependency pymongo
            // does.
            && names.contains(&name)
            && name != "motor"
        {
            out.extend(locked(language, name, version, true, at));
            name = "";
        }
    }
    out
}

/// Parses `"node_modules/mongodb": {` with `"version": "…"` in it, or `"mongodb": {` in older
/// files.
fn package_lock(text: &str) -> Vec<LockedDriver> {
    let mut out = Vec::new();
    let mut inside = false;
    for (at, line) in lines(text) {
        let line = line.trim();
        if let Some(key) = line.strip_suffix(": {") {
            let key = key.trim_matches('"');
            inside = key == "mongodb" || key.ends_with("node_modules/mongodb");
        } else if inside && let Some(version) = line.strip_prefix("\"version\":") {
            out.extend(locked(Language::Node, "mongodb", version, true, at));
            inside = false;
        }
    }
    out
}

/// Parses `"pymongo": {` … `"version": "==4.6.1"`.
fn json_versions(text: &str, language: Language, names: &[&str]) -> Vec<LockedDriver> {
    let mut out = Vec::new();
    let mut package = None;
    for (at, line) in lines(text) {
        let line = line.trim();
        if let Some(key) = line.strip_suffix(": {") {
            package = names.iter().find(|name| key.trim_matches('"') == **name);
        } else if let (Some(name), Some(version)) = (package, line.strip_prefix("\"version\":")) {
            let version = version.trim().trim_matches(['"', ',']).trim_start_matches('=');
            out.extend(locked(language, name, version, true, at));
            package = None;
        }
    }
    out
}

/// Parses `"name": "mongodb/mongodb",` and `"version": "1.15.0",` after it.
fn composer(text: &str) -> Vec<LockedDriver> {
    let mut out = Vec::new();
    let mut inside = false;
    for (at, line) in lines(text) {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("\"name\":") {
            inside = name.trim().trim_matches(['"', ',']) == "mongodb/mongodb";
        } else if inside && let Some(version) = line.strip_prefix("\"version\":") {
            out.extend(locked(Language::Php, "mongodb/mongodb", version, true, at));
            inside = false;
        }
    }
    out
}

/// Parses `mongodb@^6.0.0:` or `"mongodb@npm:^6.0.0":`, and `version "6.3.0"` or `version: 6.3.0`
/// below.
fn yarn(text: &str) -> Vec<LockedDriver> {
    let mut out = Vec::new();
    let mut inside = false;
    for (at, line) in lines(text) {
        if !line.starts_with([' ', '#']) && !line.is_empty() {
            let key = line.trim_start_matches('"');
            inside = key.starts_with("mongodb@");
        } else if inside && let Some(version) = line.trim().strip_prefix("version") {
            let version = version.trim_start_matches(':');
            out.extend(locked(Language::Node, "mongodb", version, true, at));
            inside = false;
        }
    }
    out
}

/// Parses `/mongodb@6.3.0:`, `mongodb@6.3.0:` or `/mongodb/6.3.0:` as keys.
fn pnpm(text: &str) -> Vec<LockedDriver> {
    let mut out: Vec<LockedDriver> = Vec::new();
    for (at, line) in lines(text) {
        let key = line.trim().trim_matches('\'').trim_start_matches('/');
        let rest = key.strip_prefix("mongodb@").or_else(|| key.strip_prefix("mongodb/"));
        let Some(rest) = rest.filter(|rest| rest.contains(':')) else { continue };
        let version = rest.split(['(', ':', '_', '\'']).next().unwrap_or_default();
        if !out.iter().any(|driver| driver.version == version) {
            out.extend(locked(Language::Node, "mongodb", version, true, at));
        }
    }
    out
}

const JAVA: [(&str, Language); 6] = [
    ("mongodb-driver-sync", Language::Java),
    ("mongodb-driver-reactivestreams", Language::Java),
    ("mongo-java-driver", Language::Java),
    ("mongodb-driver-legacy", Language::Java),
    ("mongo-scala-driver", Language::Scala),
    ("mongodb-driver-kotlin-sync", Language::Kotlin),
];

/// Parses `<artifactId>mongodb-driver-sync</artifactId>` and `<version>` below; `${name}` is looked
/// up among the properties.
fn pom(text: &str) -> Vec<LockedDriver> {
    let between = |line: &str, tag: &str| -> Option<String> {
        let (_, rest) = line.split_once(&format!("<{tag}>"))?;
        let (value, _) = rest.split_once(&format!("</{tag}>"))?;
        Some(value.trim().to_owned())
    };
    let property = |name: &str| lines(text).find_map(|(_, line)| between(line, name));
    let mut out = Vec::new();
    let mut package: Option<(&str, Language)> = None;
    for (at, line) in lines(text) {
        if let Some(artifact) = between(line, "artifactId") {
            package = JAVA.iter().copied().find(|(name, _)| artifact.starts_with(name));
        }
        if line.contains("</dependency>") {
            package = None;
        }
        if let (Some((name, language)), Some(version)) = (package, between(line, "version")) {
            let named = version.strip_prefix("${").and_then(|v| v.strip_suffix('}'));
            let version = named.and_then(property).unwrap_or(version);
            out.extend(locked(language, name, &version, true, at));
            package = None;
        }
    }
    out
}

/// `implementation 'org.mongodb:mongodb-driver-sync:4.11.1'`
fn gradle(text: &str) -> Vec<LockedDriver> {
    lines(text)
        .filter_map(|(at, line)| {
            let (_, rest) =
                line.split_once("org.mongodb:").or(line.split_once("org.mongodb.scala:"))?;
            let (artifact, rest) = rest.split_once(':')?;
            let (name, language) = JAVA.iter().find(|(name, _)| artifact.starts_with(name))?;
            let version = rest.split(['"', '\'', ')']).next()?;
            let exact = !version.contains(['+', '[']);
            locked(*language, name, version, exact, at)
        })
        .collect()
}

/// Parses `go.mongodb.org/mongo-driver v1.13.1`, `…/v2 v2.0.0`; mgo never supported SRV and counts
/// as 0.
fn go_mod(text: &str) -> Vec<LockedDriver> {
    lines(text)
        .filter_map(|(at, line)| {
            let line = line.split("//").next().unwrap_or_default().trim();
            let line = line.strip_prefix("require ").unwrap_or(line);
            let (module, version) = line.split_once(' ')?;
            match module {
                "go.mongodb.org/mongo-driver" | "go.mongodb.org/mongo-driver/v2" => {
                    locked(Language::Go, module, version, true, at)
                }
                "gopkg.in/mgo.v2" | "github.com/globalsign/mgo" => {
                    let mgo = locked(Language::Go, module, "0.0", true, at)?;
                    Some(LockedDriver { version: version.trim().to_owned(), ..mgo })
                }
                _ => None,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

    use super::*;
    use crate::SrvSupport;

    /// Language, version, exact, line of the only driver in a file.
    fn only(file: &str, text: &str) -> (Language, String, bool, usize) {
        let found = drivers_in(file, text).unwrap();
        assert_eq!(found.len(), 1, "{file}: {found:?}");
        let driver = &found[0];
        (driver.driver.language, driver.version.clone(), driver.exact, driver.line)
    }

    #[test]
    fn cm_1_3_st_14_versions_are_read_off_lock_files() {
        use Language::*;
        let poetry = "[[package]]\nname = \"motor\"\nversion = \"3.3.2\"\n\n[[package]]\nname = \"pymongo\"\nversion = \"4.6.1\"\n";
        let npm = "{\n  \"packages\": {\n    \"node_modules/mongodb\": {\n      \"version\": \"6.3.0\",\n    },\n    \"node_modules/mongodb-connection-string-url\": {\n      \"version\": \"3.0.0\"\n";
        let pom = "<properties><mongo.version>4.11.1</mongo.version></properties>\n<dependency>\n<artifactId>mongodb-driver-sync</artifactId>\n<version>${mongo.version}</version>\n</dependency>\n";
        for (file, text, language, version, exact, line) in [
            ("requirements.txt", "flask==3\npymongo[srv]==3.4.0 # old\n", Python, "3.4.0", true, 2),
            ("requirements-dev.txt", "pymongo>=4.5,<5\n", Python, "4.5", false, 1),
            ("poetry.lock", poetry, Python, "4.6.1", true, 7),
            ("uv.lock", poetry, Python, "4.6.1", true, 7),
            (
                "Pipfile.lock",
                "\"pymongo\": {\n\"version\": \"==4.6.1\"\n",
                Python,
                "4.6.1",
                true,
                2,
            ),
            ("package-lock.json", npm, Node, "6.3.0", true, 4),
            ("yarn.lock", "mongodb@^6.0.0:\n  version \"6.3.0\"\n", Node, "6.3.0", true, 2),
            ("yarn.lock", "\"mongodb@npm:^6.0.0\":\n  version: 6.3.0\n", Node, "6.3.0", true, 2),
            (
                "pnpm-lock.yaml",
                "packages:\n  mongodb@2.2.36:\n    x: y\n  mongodb@2.2.36(a):\n",
                Node,
                "2.2.36",
                true,
                2,
            ),
            ("pom.xml", pom, Java, "4.11.1", true, 4),
            (
                "build.gradle",
                "implementation 'org.mongodb:mongodb-driver-sync:5.2.0'\n",
                Java,
                "5.2.0",
                true,
                1,
            ),
            (
                "build.gradle.kts",
                "implementation(\"org.mongodb:mongodb-driver-sync:4.+\")\n",
                Java,
                "4.+",
                false,
                1,
            ),
            (
                "go.mod",
                "require (\n\tgo.mongodb.org/mongo-driver v1.13.1\n)\n",
                Go,
                "v1.13.1",
                true,
                2,
            ),
            (
                "services/a/go.mod",
                "require go.mongodb.org/mongo-driver/v2 v2.0.0 // indirect\n",
                Go,
                "v2.0.0",
                true,
                1,
            ),
            (
                "Cargo.lock",
                "[[package]]\nname = \"mongodb\"\nversion = \"3.1.0\"\n",
                Rust,
                "3.1.0",
                true,
                3,
            ),
            (
                "composer.lock",
                "{\"packages\": [\n\"name\": \"mongodb/mongodb\",\n\"version\": \"1.15.0\",\n",
                Php,
                "1.15.0",
                true,
                3,
            ),
        ] {
            assert_eq!(only(file, text), (language, version.to_owned(), exact, line), "{file}");
        }
        assert_eq!(drivers_in("Makefile", "pymongo==4"), None);
        assert_eq!(drivers_in("requirements.txt", "pymongocrypt==1.0\n"), Some(vec![]));
        let mgo = drivers_in("go.mod", "require gopkg.in/mgo.v2 v2.0.0-2018\n").unwrap();
        assert_eq!(mgo[0].driver.srv(), SrvSupport::No);
    }

    proptest::proptest! {
        #[test]
        fn any_text_in_any_file_is_read_or_left(
            at in 0..LOCK_FILES.len(), text in "(\\PC|[\n\t\"':=@/ ]|pymongo|mongodb|version|name){0,60}",
        ) {
            proptest::prop_assert!(drivers_in(LOCK_FILES[at], &text).is_some());
        }
    }
}
