//! Judges the names and types of a declared model by the rules that judge models in code (CK-1,
//! CK-5).

use docward_design::{CheckId, Design, DesignCheck};
use docward_model::{
    DesignModel, Entity, EntityField, Evidence, Finding, Settings,
    code::{Code, DeclaredField, Place},
};
use docward_rules::judge;

/// The rules about declared fields, and the items of the checklist that they decide.
const RULES: [(&str, CheckId); 4] = [
    ("N022", CheckId::Names),
    ("T020", CheckId::Types),
    ("T021", CheckId::Types),
    ("T022", CheckId::Types),
];

/// Adds the findings of the rules to the advice about entities, and their results to the checklist.
pub(super) fn apply(model: &DesignModel, settings: &Settings, design: &mut Design) {
    let mut code = Code { files: 1, read: 1, ..Code::default() };
    for entity in &model.entities {
        fields(entity, &entity.fields, "", &mut code.fields);
        for variant in &entity.variants {
            fields(entity, &variant.fields, "", &mut code.fields);
        }
    }
    let evidence = Evidence { code: Some(code), ..Evidence::default() };
    // A model states the content of its fields, so likely findings are also worth a note.
    let settings = Settings { pedantic: true, ..settings.clone() };
    let findings = judge(&evidence, &settings).findings;
    for (id, fine) in [
        (CheckId::Names, "the names of fields follow one convention"),
        (CheckId::Types, "dates, money and states have suitable types"),
    ] {
        let of_it = |finding: &&Finding| RULES.contains(&(finding.rule.as_ref(), id));
        let broken: Vec<&Finding> = findings.iter().filter(of_it).collect();
        let what: Vec<&str> = broken.iter().map(|finding| finding.what.as_str()).collect();
        let because = match what.as_slice() {
            [] => fine.to_owned(),
            [first] => (*first).to_owned(),
            [first, more @ ..] => format!("{first}; {} more", more.len()),
        };
        let about = broken.iter().filter_map(|finding| Some(owner(model, finding)?.name.clone()));
        let about = about.collect();
        design.checks.push(DesignCheck { id, holds: Some(what.is_empty()), because, about });
        for finding in broken {
            let Some(entity) = owner(model, finding) else { continue };
            let advice = design.entities.iter_mut().find(|advice| advice.entity == entity.name);
            let clauses: Vec<&str> = finding.clauses.iter().map(AsRef::as_ref).collect();
            let remark = format!("{}: {} ({})", finding.what, finding.todo, clauses.join(", "));
            advice.into_iter().for_each(|advice| advice.remarks.push(remark.clone()));
        }
    }
}

/// Adds the fields of an entity, with their paths.
fn fields(entity: &Entity, declared: &[EntityField], above: &str, found: &mut Vec<DeclaredField>) {
    for field in declared {
        let path = format!("{above}{}", field.name);
        found.push(DeclaredField {
            place: Place { location: field.place.clone(), function: None },
            model: entity.name.clone(),
            collection: entity.collection.clone(),
            path: path.clone(),
            types: vec![field.kind],
            annotations: Vec::new(),
            allowed: field.values.clone(),
            made_by: None,
            generated: false,
            max_items: field.items.map(|items| items.max),
            is_stored: true,
        });
        fields(entity, &field.fields, &format!("{path}."), found);
    }
}

/// Returns the entity that declares the field of a finding.
fn owner<'m>(model: &'m DesignModel, finding: &Finding) -> Option<&'m Entity> {
    fn has(fields: &[EntityField], finding: &Finding) -> bool {
        fields.iter().any(|field| {
            finding.location.as_ref() == Some(&field.place) || has(&field.fields, finding)
        })
    }
    model.entities.iter().find(|entity| {
        let kinds = entity.variants.iter().any(|variant| has(&variant.fields, finding));
        kinds || has(&entity.fields, finding)
    })
}
