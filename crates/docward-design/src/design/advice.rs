//! Advice about single entities, given the decisions about relationships.

use docward_model::{DesignModel, Entity};

use crate::decide::decision::{Decision, EntityAdvice};
use crate::decide::{derive, entity_patterns};
use crate::declared::field_plan::{Rank, document_bytes, own};
use crate::declared::naming::Naming;
use crate::layout::fields::Layout;

use super::remarks;

/// Returns the advice about every entity, in the order of the file.
pub(super) fn of_entities(
    model: &DesignModel,
    decisions: &[Decision],
    naming: Naming,
) -> Vec<EntityAdvice> {
    let mut advice: Vec<EntityAdvice> =
        model.entities.iter().map(|entity| of_entity(model, entity, None)).collect();
    // The decisions may add fields to a reading, so the size of buckets is computed again.
    for (i, entity) in model.entities.iter().enumerate().filter(|(_, e)| e.series.is_some()) {
        let layout = Layout { model, decisions, advice: &advice, naming };
        let bytes = layout.reading_bytes(entity);
        advice[i] = of_entity(model, entity, Some(bytes));
    }
    remarks::parts_of_others(model, decisions, &mut advice);
    advice
}

fn of_entity(model: &DesignModel, entity: &Entity, reading: Option<u64>) -> EntityAdvice {
    let fields: Vec<_> = entity.fields.iter().map(own).collect();
    let bytes = reading.unwrap_or_else(|| document_bytes(&fields, Rank::Typical));
    let made = entity_patterns::of_entity(model, entity, bytes);
    let mut questions = derive::questions(model, entity);
    questions.extend(made.questions);
    EntityAdvice {
        entity: entity.name.clone(),
        patterns: made.patterns,
        remarks: made.remarks,
        questions,
    }
}
