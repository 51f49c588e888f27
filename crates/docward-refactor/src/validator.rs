//! Validators of collections, and the ladder to introduce one (RF-19): measure, `warn`, `moderate`
//! with `error`, clean, `strict` with `error`.

use std::sync::atomic::AtomicBool;

use docward_model::Namespace;
use futures_util::TryStreamExt as _;
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};

use crate::operator::{Operator, Trouble, failed};

/// Which writes are validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// No validation.
    Off,
    /// Inserts, and updates of documents that are valid already.
    Moderate,
    /// All.
    Strict,
}

/// The action on a write that fails validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is logged.
    Warn,
    /// It is refused.
    Error,
    /// It is refused and logged (8.1 and later).
    ErrorAndLog,
}

impl Level {
    /// The name in MongoDB.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Moderate => "moderate",
            Self::Strict => "strict",
        }
    }

    fn parse(word: &str) -> Self {
        match word {
            "off" => Self::Off,
            "moderate" => Self::Moderate,
            _ => Self::Strict,
        }
    }
}

impl Action {
    /// The name in MongoDB.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Error => "error",
            Self::ErrorAndLog => "errorAndLog",
        }
    }

    fn parse(word: &str) -> Self {
        match word {
            "warn" => Self::Warn,
            "errorAndLog" => Self::ErrorAndLog,
            _ => Self::Error,
        }
    }
}

/// The validation of a collection.
#[derive(Clone, Debug, PartialEq)]
pub struct Validation {
    /// The validator, byte for byte; `None` if there is none.
    pub validator: Option<RawDocumentBuf>,
    /// Which writes are validated.
    pub level: Level,
    /// The action on writes that fail.
    pub action: Action,
}

impl Validation {
    /// No validator, the default of a new collection.
    pub const NONE: Self = Self { validator: None, level: Level::Strict, action: Action::Error };

    /// Returns whether nothing is validated.
    pub fn is_none(&self) -> bool {
        self.validator.is_none()
    }
}

/// A step of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// Failing writes are logged.
    Warn,
    /// Failing writes are refused, except updates of documents that are already invalid.
    Moderate,
    /// Failing writes are refused.
    Strict,
}

impl Rung {
    /// All steps, from the lowest.
    pub const ALL: [Self; 3] = [Self::Warn, Self::Moderate, Self::Strict];

    /// The name of the step.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Moderate => "moderate",
            Self::Strict => "strict",
        }
    }

    /// The validation options of this step.
    pub fn validation(self, validator: RawDocumentBuf) -> Validation {
        let (level, action) = match self {
            Self::Warn => (Level::Strict, Action::Warn),
            Self::Moderate => (Level::Moderate, Action::Error),
            Self::Strict => (Level::Strict, Action::Error),
        };
        Validation { validator: Some(validator), level, action }
    }

    /// The step of a collection with this validator; `None` with another validator, or none.
    pub fn of(present: &Validation, validator: &RawDocumentBuf) -> Option<Self> {
        if present.validator.as_ref() != Some(validator) {
            return None;
        }
        match (present.level, present.action) {
            (Level::Off, _) => None,
            (_, Action::Warn) => Some(Self::Warn),
            (Level::Moderate, _) => Some(Self::Moderate),
            (Level::Strict, _) => Some(Self::Strict),
        }
    }

    /// The next higher step; the highest stays the highest.
    pub fn after(present: Option<Self>) -> Self {
        match present {
            None => Self::Warn,
            Some(Self::Warn) => Self::Moderate,
            Some(Self::Moderate | Self::Strict) => Self::Strict,
        }
    }
}

/// The current state of a collection.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The validation of the collection.
    pub validation: Validation,
    /// The UUID of the collection, which another one of the same name does not share.
    pub uuid: Option<String>,
}

impl Operator {
    /// Reads the validation of a collection; refuses collections that cannot have a validator
    /// (GC-30).
    pub fn standing(&self, namespace: &Namespace) -> Result<Standing, Trouble> {
        let refuse =
            |what, why| Err(Trouble::NoValidator { namespace: namespace.clone(), what, why });
        if namespace.collection.starts_with("system.") {
            return refuse("a system collection", "the server defines its documents");
        }
        if matches!(namespace.database.as_str(), "admin" | "config" | "local") {
            return refuse(
                "in a database of the server",
                "validators are for application databases",
            );
        }
        let database = self.client.database(&namespace.database);
        let listed: Vec<RawDocumentBuf> = self
            .runtime
            .block_on(async {
                let command =
                    doc! { "listCollections": 1, "filter": { "name": &namespace.collection } };
                let rows: Vec<Document> =
                    database.run_cursor_command(command).await?.try_collect().await?;
                Ok(rows.iter().filter_map(|row| RawDocumentBuf::try_from(row).ok()).collect())
            })
            .map_err(|error| failed("listCollections", &error))?;
        let Some(row) = listed.first() else {
            return Err(Trouble::NoCollection(namespace.clone()));
        };
        match row.get_str("type") {
            Ok("view") => {
                return refuse(
                    "a view",
                    "it stores no documents; name the collection that it \
                 reads",
                );
            }
            Ok("timeseries") => {
                return refuse(
                    "a time series collection",
                    "MongoDB does not validate measurements",
                );
            }
            _ => {}
        }
        let options = row.get_document("options").ok();
        let word = |key: &str| options.and_then(|options| options.get_str(key).ok());
        let validator = options
            .and_then(|options| options.get_document("validator").ok())
            .filter(|validator| validator.iter().next().is_some())
            .map(ToOwned::to_owned);
        let uuid = row.get_document("info").ok().and_then(|info| info.get_binary("uuid").ok());
        Ok(Standing {
            validation: Validation {
                validator,
                level: word("validationLevel").map_or(Level::Strict, Level::parse),
                action: word("validationAction").map_or(Action::Error, Action::parse),
            },
            uuid: uuid.map(|uuid| uuid.bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        })
    }

    /// The number of documents, and how many of them fail a validator, as the server counts.
    pub fn measure(
        &self,
        namespace: &Namespace,
        validator: &RawDocumentBuf,
        stop: &AtomicBool,
    ) -> Result<(u64, u64), Trouble> {
        let count = |what: &'static str, stages: Vec<Document>| -> Result<u64, Trouble> {
            let mut pipeline = stages;
            pipeline.push(doc! { "$count": "n" });
            let command = doc! {
                "aggregate": &namespace.collection,
                "pipeline": pipeline,
                "cursor": {},
                "readConcern": { "level": "local" },
            };
            let reply = self
                .run_unless(&namespace.database, command, stop)?
                .map_err(|error| failed(what, &error))?;
            let row = reply
                .get_document("cursor")
                .and_then(|cursor| cursor.get_array("firstBatch"))
                .ok()
                .and_then(|batch| batch.first().cloned());
            Ok(match row.as_ref().and_then(Bson::as_document).and_then(|row| row.get("n")) {
                Some(Bson::Int32(n)) => u64::try_from(*n).unwrap_or(0),
                Some(Bson::Int64(n)) => u64::try_from(*n).unwrap_or(0),
                _ => 0,
            })
        };
        let validator = Document::try_from(validator.as_ref()).map_err(|error| {
            Trouble::Failed { what: "reading the validator", code: None, why: error.to_string() }
        })?;
        let broken = vec![doc! { "$match": { "$nor": [validator] } }];
        let refused = count("counting the documents that break the schema", broken)?;
        let all = count("counting the documents", Vec::new())?;
        Ok((all.max(refused), refused))
    }

    /// Sets the validation of a collection (DM-11.5), and waits until it is on a majority.
    pub fn set(&self, namespace: &Namespace, validation: &Validation) -> Result<(), Trouble> {
        let validator = match &validation.validator {
            Some(validator) => {
                Document::try_from(validator.as_ref()).map_err(|error| Trouble::Failed {
                    what: "reading the validator",
                    code: None,
                    why: error.to_string(),
                })?
            }
            None => Document::new(),
        };
        let command = doc! {
            "collMod": &namespace.collection,
            "validator": validator,
            "validationLevel": validation.level.name(),
            "validationAction": validation.action.name(),
            "writeConcern": { "w": "majority", "wtimeout": 60_000 },
        };
        let reply =
            self.run(&namespace.database, command).map_err(|error| failed("collMod", &error))?;
        // The change was made, but it is uncertain whether it is on a majority.
        match reply.get_document("writeConcernError") {
            Ok(error) => Err(Trouble::Failed {
                what: "waiting for a majority",
                code: error.get_i32("code").ok(),
                why: error.get_str("errmsg").unwrap_or("no majority").to_owned(),
            }),
            Err(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::rawdoc;

    use super::*;

    #[test]
    fn rf_19_the_ladder_goes_up_one_rung_at_a_time() {
        let schema = rawdoc! { "$jsonSchema": { "required": ["a"] } };
        let mut present = Validation::NONE;
        for rung in Rung::ALL {
            let at = Rung::of(&present, &schema);
            assert_eq!(Rung::after(at), rung);
            present = rung.validation(schema.clone());
        }
        assert_eq!(Rung::after(Rung::of(&present, &schema)), Rung::Strict);
        let other = rawdoc! { "$jsonSchema": { "required": ["b"] } };
        assert_eq!(
            Rung::after(Rung::of(&present, &other)),
            Rung::Warn,
            "another validator starts below"
        );
    }
}
