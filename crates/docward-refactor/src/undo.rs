//! The state before a change, in a file: enough to restore it byte for byte.

use std::path::Path;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use docward_model::Namespace;
use mongodb::bson::{Document, RawDocumentBuf};
use serde::{Deserialize, Serialize};

use crate::validator::{Action, Level, Validation};

const VERSION: u32 = 1;

/// A change that can be undone.
#[derive(Clone, Debug, PartialEq)]
pub struct Undo {
    /// The collection.
    pub namespace: Namespace,
    /// The UUID of the collection, if the server returned it.
    pub uuid: Option<String>,
    /// The deployment, by its hosts.
    pub deployment: String,
    /// The validation before the change.
    pub before: Validation,
    /// The validation after the change.
    pub after: Validation,
}

/// The reason why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UndoFault {
    /// It cannot be read or written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It has another format.
    #[error("not a file that `docward schema apply` wrote: {0}")]
    Form(String),
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    docward_undo: u32,
    namespace: String,
    uuid: Option<String>,
    deployment: String,
    before: Side,
    after: Side,
}

/// The validation before or after the change. The bytes are authoritative; the text is for people.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Side {
    validator: Option<serde_json::Value>,
    validator_bson: Option<String>,
    validation_level: String,
    validation_action: String,
}

impl Side {
    fn of(validation: &Validation) -> Self {
        let text = validation.validator.as_ref().and_then(|raw| {
            let document = Document::try_from(raw.as_ref()).ok()?;
            serde_json::to_value(document).ok()
        });
        Self {
            validator: text,
            validator_bson: validation
                .validator
                .as_ref()
                .map(|raw| STANDARD.encode(raw.as_bytes())),
            validation_level: validation.level.name().to_owned(),
            validation_action: validation.action.name().to_owned(),
        }
    }

    fn validation(&self) -> Result<Validation, UndoFault> {
        let level = match self.validation_level.as_str() {
            "off" => Level::Off,
            "moderate" => Level::Moderate,
            "strict" => Level::Strict,
            other => return Err(UndoFault::Form(format!("unknown level: {other}"))),
        };
        let action = match self.validation_action.as_str() {
            "warn" => Action::Warn,
            "error" => Action::Error,
            "errorAndLog" => Action::ErrorAndLog,
            other => return Err(UndoFault::Form(format!("unknown action: {other}"))),
        };
        let validator = match &self.validator_bson {
            None => None,
            Some(text) => {
                let bytes = STANDARD
                    .decode(text)
                    .map_err(|error| UndoFault::Form(format!("validatorBson: {error}")))?;
                let raw = RawDocumentBuf::from_bytes(bytes)
                    .map_err(|error| UndoFault::Form(format!("validatorBson: {error}")))?;
                Some(raw)
            }
        };
        Ok(Validation { validator, level, action })
    }
}

impl Undo {
    /// Writes the file; never overwrites an existing one.
    pub fn write(&self, path: &Path) -> Result<(), UndoFault> {
        use std::io::Write as _;
        let file = File {
            docward_undo: VERSION,
            namespace: self.namespace.to_string(),
            uuid: self.uuid.clone(),
            deployment: self.deployment.clone(),
            before: Side::of(&self.before),
            after: Side::of(&self.after),
        };
        let mut text = serde_json::to_string_pretty(&file)
            .map_err(|error| UndoFault::Form(error.to_string()))?;
        text.push('\n');
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        // Validators may contain values of documents.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut out = options.open(path)?;
        out.write_all(text.as_bytes())?;
        // The file must be on disk before the change is made.
        out.sync_all()?;
        Ok(())
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, UndoFault> {
        let text = std::fs::read_to_string(path)?;
        let file: File =
            serde_json::from_str(&text).map_err(|error| UndoFault::Form(error.to_string()))?;
        if file.docward_undo != VERSION {
            return Err(UndoFault::Form(format!(
                "version {} is unknown to this version of Docward",
                file.docward_undo
            )));
        }
        let namespace = Namespace::parse(&file.namespace)
            .ok_or_else(|| UndoFault::Form(format!("no namespace: {}", file.namespace)))?;
        Ok(Self {
            namespace,
            uuid: file.uuid,
            deployment: file.deployment,
            before: file.before.validation()?,
            after: file.after.validation()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::rawdoc;

    use super::*;

    #[test]
    fn dm_11_5_what_was_there_comes_back_byte_for_byte() {
        let undo = Undo {
            namespace: Namespace::new("db_shop", "t_product"),
            uuid: Some("00ff".to_owned()),
            deployment: "mongodb://localhost:27017".to_owned(),
            before: Validation::NONE,
            after: Validation {
                validator: Some(
                    rawdoc! { "$jsonSchema": { "properties": { "n": { "minimum": 1_i64, "maximum": 2.0 } } } },
                ),
                level: Level::Moderate,
                action: Action::Error,
            },
        };
        let path = std::env::temp_dir().join(format!("docward-undo-{}.json", std::process::id()));
        undo.write(&path).unwrap();
        assert_eq!(Undo::read(&path).unwrap(), undo);
        assert!(undo.write(&path).is_err(), "what undoes a change is never overwritten");
        std::fs::write(&path, "{\"docwardUndo\": 1}").unwrap();
        assert!(Undo::read(&path).unwrap_err().to_string().contains("not a file that"));
        std::fs::remove_file(&path).unwrap();
    }
}
