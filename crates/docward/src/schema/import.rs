//! `docward schema import`: turns models in code into validators.

use anyhow::{Context, bail};
use bson::{Bson, Document};
use docward_code::{Imported, Kind, Model};
use serde_json::{Map, Value as Json, json};

use super::{
    args::{ImportArgs, ImportFormat},
    print,
};
use crate::terminal::{CLEAN, PROBLEMS, complain, put};

/// Runs the command.
pub(crate) fn import(args: &ImportArgs) -> anyhow::Result<u8> {
    let mut models: Vec<(String, Model)> = Vec::new();
    let mut problems = 0;
    for file in &args.files {
        let shown = file.display().to_string();
        super::load::refuse_uri(&shown, "a file with models")?;
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
        let kind = args.kind.or_else(|| Kind::detect(&shown, &text));
        let Some(kind) = kind else {
            let kinds: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
            bail!(
                "{shown}: found no models of a known library; name the library with --kind {}",
                kinds.join("|")
            );
        };
        let Imported { models: read, problems: found } = docward_code::read(kind, &text);
        for problem in &found {
            complain(&format!(
                "problem: {shown}:{}:{}: {}",
                problem.line, problem.column, problem.message
            ));
        }
        problems += found.len();
        models.extend(read.into_iter().map(|model| (shown.clone(), model)));
    }
    let names: Vec<String> = models.iter().map(|(_, model)| model.name.clone()).collect();
    if let Some(wanted) = &args.model {
        models.retain(|(_, model)| {
            model.name == *wanted || model.collection.as_ref() == Some(wanted)
        });
        if models.is_empty() {
            bail!(
                "--model {wanted}: the files have no such model; {}",
                if names.is_empty() {
                    "they have no models".to_owned()
                } else {
                    format!("there are {}", names.join(", "))
                }
            );
        }
    } else if models.len() > 1 {
        // Embedded models are part of the others.
        models.retain(|(_, model)| !model.embedded);
    }
    if models.is_empty() && problems == 0 {
        bail!(
            "the files declare no models; see `docward schema import --help` for supported \
         libraries"
        );
    }
    if !args.quiet {
        for (file, model) in &models {
            for left in &model.left_out {
                let at = if left.path.is_empty() { &model.name } else { &left.path };
                let lost = if left.loosens { " is not in the schema" } else { "" };
                complain(&format!(
                    "note: {file}:{}: {at}: {}{lost}: {}",
                    left.place.line, left.what, left.why
                ));
            }
        }
    }
    let write = |models: &[(String, Model)], path: Option<&std::path::Path>| {
        put(&text_of(args.format, models), path)
    };
    match args.output.as_deref() {
        Some(directory) if print::is_directory(directory) => {
            std::fs::create_dir_all(directory)
                .with_context(|| format!("cannot create the directory {}", directory.display()))?;
            for model in &models {
                let name = model.1.collection.as_deref().unwrap_or(&model.1.name);
                let name: String =
                    name.chars()
                        .map(|c| {
                            if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') {
                                c
                            } else {
                                '_'
                            }
                        })
                        .collect();
                write(
                    std::slice::from_ref(model),
                    Some(&directory.join(format!("{name}.schema.json"))),
                )?;
            }
        }
        output => write(&models, output)?,
    }
    Ok(if problems == 0 { CLEAN } else { PROBLEMS })
}

fn schema_json(schema: &Document) -> Json {
    json!({ "$jsonSchema": Bson::Document(schema.clone()).into_relaxed_extjson() })
}

fn text_of(format: ImportFormat, models: &[(String, Model)]) -> String {
    let json = match (format, models) {
        (ImportFormat::Json, [(_, model)]) => schema_json(&model.schema),
        (ImportFormat::Json, several) => {
            let all: Map<String, Json> = several
                .iter()
                .map(|(_, model)| (model.name.clone(), schema_json(&model.schema)))
                .collect();
            Json::Object(all)
        }
        (ImportFormat::Report, models) => {
            let all: Vec<Json> = models.iter().map(|(file, model)| report(file, model)).collect();
            json!({ "version": 1, "models": all })
        }
    };
    print::pretty(&json)
}

fn report(file: &str, model: &Model) -> Json {
    let place = |place: &docward_code::Place| json!({ "file": file, "line": place.line, "column": place.column });
    let fields: Map<String, Json> =
        model.fields.iter().map(|(path, at)| (path.clone(), place(at))).collect();
    let left_out: Vec<Json> = model
        .left_out
        .iter()
        .map(|left| json!({ "path": left.path, "what": left.what, "why": left.why, "loosens": left.loosens, "location": place(&left.place) }))
        .collect();
    json!({
        "name": model.name,
        "collection": model.collection,
        "embedded": model.embedded,
        "location": place(&model.declared_at),
        "schema": Bson::Document(model.schema.clone()).into_relaxed_extjson(),
        "fields": fields,
        "leftOut": left_out,
    })
}
