//! Drivers by language, their versions, and their first version with `mongodb+srv://` (CM-1.3).

use std::fmt;

/// A language with a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "languages by their usual names")]
pub enum Language {
    Python,
    Java,
    Node,
    Go,
    Rust,
    CSharp,
    Php,
    Ruby,
    C,
    Scala,
    Kotlin,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 11] = [
        Self::Python,
        Self::Java,
        Self::Node,
        Self::Go,
        Self::Rust,
        Self::CSharp,
        Self::Php,
        Self::Ruby,
        Self::C,
        Self::Scala,
        Self::Kotlin,
    ];

    /// The word used on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Java => "java",
            Self::Node => "node",
            Self::Go => "go",
            Self::Rust => "rust",
            Self::CSharp => "csharp",
            Self::Php => "php",
            Self::Ruby => "ruby",
            Self::C => "c",
            Self::Scala => "scala",
            Self::Kotlin => "kotlin",
        }
    }

    /// Other common names, including package names.
    fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Python => &["pymongo", "motor", "py"],
            Self::Java => &["mongodb-driver-sync", "jvm"],
            Self::Node => &["nodejs", "javascript", "typescript", "js", "ts"],
            Self::Go => &["golang"],
            Self::Rust => &["rs"],
            Self::CSharp => &["c#", "dotnet", ".net"],
            Self::Php => &["phplib"],
            Self::Ruby => &["rb"],
            Self::C => &["libmongoc"],
            Self::Scala | Self::Kotlin => &[],
        }
    }

    /// The first version that supports `mongodb+srv://`.
    pub fn srv_since(self) -> Version {
        let (major, minor) = match self {
            // DOCS-11155.
            Self::Python => (3, 6),
            // NODE-1145, and the driver's guide to upgrading to 3.0.
            Self::Node => (3, 0),
            // The release notes of 0.9.0, the first version of the official driver.
            Self::Rust => (0, 9),
            // CSHARP-2042; `Mongo::URI::SRVProtocol` exists since 2.5.0.
            Self::CSharp | Self::Ruby => (2, 5),
            // PHPC-1015.
            Self::Php => (1, 4),
            // The documentation does not state it: the first version that supports MongoDB 3.6, as
            // for the other languages.
            Self::Java => (3, 6),
            Self::C => (1, 9),
            Self::Scala => (2, 2),
            // The first version of the driver.
            Self::Go => (1, 0),
            Self::Kotlin => (4, 10),
        };
        Version { major, minor }
    }
}

/// Major and minor version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the fields say it")]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

impl Version {
    /// Parses `4`, `4.6`, `4.6.1`, `v1.17.1`, `7.0.0-beta1`; `None` if there is no number.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches(['v', 'V']);
        let mut parts = text.split('.').map(|part| {
            let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
            (digits.parse::<u32>().ok(), digits.len() == part.len())
        });
        let (major, whole) = parts.next()?;
        let minor = if whole { parts.next().and_then(|(minor, _)| minor) } else { None };
        Some(Self { major: major?, minor: minor.unwrap_or(0) })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A driver that the user named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    /// Its language.
    pub language: Language,
    /// Its version, if known.
    pub version: Option<Version>,
}

/// The reason why a text does not name a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverFault {
    /// Unknown language.
    Language(String),
    /// Invalid version.
    Version(String),
}

impl fmt::Display for DriverFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Language(word) => {
                let names: Vec<&str> = Language::ALL.iter().map(|l| l.name()).collect();
                write!(f, "unknown driver `{word}`; Docward knows {}", names.join(", "))
            }
            Self::Version(word) => write!(f, "`{word}` is not a version; write it like python@3.4"),
        }
    }
}

impl std::error::Error for DriverFault {}

/// The support of a driver for `mongodb+srv://`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SrvSupport {
    /// Supported.
    Yes,
    /// The version is too old.
    No,
    /// The version is unknown.
    Unknown,
}

impl Driver {
    /// Parses `python`, `python@3.4`, `java@5.2.1`.
    pub fn parse(text: &str) -> Result<Self, DriverFault> {
        let (word, version) = match text.split_once('@') {
            Some((word, version)) => (word, Some(version)),
            None => (text, None),
        };
        let word = word.trim().to_ascii_lowercase();
        let language = Language::ALL
            .into_iter()
            .find(|language| language.name() == word || language.aliases().contains(&&*word))
            .ok_or(DriverFault::Language(word))?;
        let version = match version {
            None => None,
            Some(text) => {
                Some(Version::parse(text).ok_or_else(|| DriverFault::Version(text.to_owned()))?)
            }
        };
        Ok(Self { language, version })
    }

    /// The support for `mongodb+srv://` in this version.
    pub fn srv(self) -> SrvSupport {
        match self.version {
            None => SrvSupport::Unknown,
            Some(version) if version >= self.language.srv_since() => SrvSupport::Yes,
            Some(_) => SrvSupport::No,
        }
    }
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            Some(version) => write!(f, "{} {version}", self.language.name()),
            None => f.write_str(self.language.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cm_1_3_drivers_understand_srv_from_a_version_on() {
        for (text, expect) in [
            ("python@3.4", SrvSupport::No),
            ("python@3.5.1", SrvSupport::No),
            ("python@3.6", SrvSupport::Yes),
            ("pymongo@4.10", SrvSupport::Yes),
            ("node@2.2.36", SrvSupport::No),
            ("node@3", SrvSupport::Yes),
            ("java@v3.4.0", SrvSupport::No),
            ("go@2.0", SrvSupport::Yes),
            ("rust@0.4", SrvSupport::No),
            ("rust@0.9.2", SrvSupport::Yes),
            ("csharp@2.4", SrvSupport::No),
            ("ruby@2.5", SrvSupport::Yes),
            ("python", SrvSupport::Unknown),
        ] {
            assert_eq!(Driver::parse(text).map(Driver::srv), Ok(expect), "{text}");
        }
    }

    #[test]
    fn what_names_no_driver_says_so() {
        assert_eq!(Driver::parse("cobol"), Err(DriverFault::Language("cobol".into())));
        assert_eq!(Driver::parse("python@new"), Err(DriverFault::Version("new".into())));
        assert_eq!(Version::parse("7.0.0-beta1"), Some(Version { major: 7, minor: 0 }));
        assert_eq!(Version::parse("4rc1.2"), Some(Version { major: 4, minor: 0 }));
        assert_eq!(Version::parse("99999999999"), None);
    }
}
