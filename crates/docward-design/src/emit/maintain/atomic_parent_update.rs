//! What changes of a parent in the same write as the list inside it: they are one document because they must change
//! together (DP-3, ER-T.4).

use bson::{Bson, doc};
use docward_model::{DesignWrite, Relationship, shell::quote};

use super::plans::{Plans, at, root_in};
use super::transaction::Act;
use crate::emit::js::{SPREAD, given};
use crate::emit::statement::Step;
use crate::layout::collection::CollectionPlan;

/// A parameter with operators for the parent.
pub(super) struct ParentUpdate {
    name: String,
    /// A declared write sets fields of the parent, so that it has to be given.
    is_required: bool,
    /// What the function says of it.
    pub(super) words: String,
}

impl ParentUpdate {
    /// As a function has it among its parameters.
    fn parameter(&self) -> String {
        match self.is_required {
            true => self.name.clone(),
            false => format!("{} = {{}}", self.name),
        }
    }

    /// An update with it.
    fn joined(&self, update: bson::Document) -> Bson {
        let mut joined = doc! { SPREAD: given(&self.name) };
        for (operator, part) in update {
            let mut both = doc! { SPREAD: given(format!("{}.{operator}", self.name)) };
            match part {
                Bson::Document(part) => both.extend(part),
                // What is worked out is spread as well.
                code => {
                    both.insert(format!("{SPREAD}."), code);
                }
            }
            joined.insert(operator, both);
        }
        joined.into()
    }
}

impl<'m> Plans<'m> {
    /// What a function changes of the parent in its write, where a declared write or an invariant wants both at once.
    pub(super) fn parent_update(
        &self,
        r: &'m Relationship,
        act: Act,
        parameters: &[String],
    ) -> Option<ParentUpdate> {
        let mut writes = self.atomic(r).filter(|write| act.is_done_by(write, r)).peekable();
        if r.invariant.is_none() && writes.peek().is_none() {
            return None;
        }
        let sets = |write: &DesignWrite| write.sets.iter().any(|(entity, _)| *entity == r.parent);
        let is_required = writes.any(sets) || r.invariant.is_some();
        let name = Self::update_of(&r.parent, parameters);
        let mut words = format!(
            " `{name}` changes the `{}` in the same write (DP-3, ER-T.4): operators, such as `$inc` and `$set`.",
            r.parent
        );
        if let Some(invariant) = &r.invariant {
            words.push_str(&format!(" It has to keep it true: {invariant}."));
        }
        Some(ParentUpdate { name, is_required, words })
    }

    /// In a check: parent and list change in one write, and an error undoes both.
    pub(super) fn parent_update_check(
        &self,
        r: &'m Relationship,
        (parent, list): (&'m CollectionPlan, &str),
        by: i32,
        call: impl Fn(&str) -> String,
    ) -> Vec<String> {
        let count = format!("[{} ?? []].flat().length", at(&root_in(&parent.name), list));
        // One that is there is another one afterwards.
        let first = (by == 0).then(|| format!("{};", call("{}")));
        let lines = self.both_lines(r, parent, "one write", call, (None, &count, by));
        if lines.is_empty() {
            return lines;
        }
        let mut all = vec![
            "{".to_owned(),
            format!("  const root = {};", self.made(parent)),
            format!("  at.getCollection({}).insertOne(root);", quote(&parent.name)),
        ];
        let lines = first.into_iter().chain(lines);
        all.extend(
            lines.flat_map(|line| line.lines().map(|line| format!("  {line}")).collect::<Vec<_>>()),
        );
        all.push("}".to_owned());
        all
    }
}

/// Parameters with one for the parent.
pub(super) fn with(mut parameters: Vec<String>, also: Option<&ParentUpdate>) -> Vec<String> {
    parameters.extend(also.map(ParentUpdate::parameter));
    parameters
}

/// An update with that of the parent.
pub(super) fn joined(also: Option<&ParentUpdate>, update: bson::Document) -> Bson {
    also.map_or_else(|| update.clone().into(), |also| also.joined(update.clone()))
}

/// Refuses to go on without it: what is declared is not forgotten in silence.
pub(super) fn asked(also: Option<&ParentUpdate>) -> Option<Step> {
    let also = also.filter(|also| also.is_required)?;
    let why = format!("{} is missing: what else changes in the same write", also.name);
    Some(Step::Code(format!("if ({} == null) throw new Error({});", also.name, quote(&why))))
}

/// In a check: what is given for it where nothing else changes.
pub(super) fn sent_along(also: Option<&ParentUpdate>) -> &'static str {
    if also.is_some_and(|also| also.is_required) { ", {}" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::js;

    #[test]
    fn dp_3_operators_of_both_are_joined() {
        let (name, words) = ("more".to_owned(), String::new());
        let also = ParentUpdate { name, is_required: true, words };
        let text = js::value(&also.joined(doc! { "$push": { "items": 1 } }), 0);
        assert_eq!(text, "{ ...more, $push: { ...more.$push, items: 1 } }");
    }
}
