//! Updates of the parent in the same write as the list in it. Both are in one document because they
//! must change atomically (DP-3, ER-T.4).

use bson::{Bson, doc};
use docward_model::{DesignWrite, Relationship, shell::quote};

use super::plans::{Plans, at, root_in};
use super::transaction::Act;
use crate::emit::js::{SPREAD, given};
use crate::emit::statement::Step;
use crate::layout::collection::CollectionPlan;

/// A parameter with update operators for the parent.
pub(super) struct ParentUpdate {
    name: String,
    /// Whether callers must pass it, because a declared write sets fields of the parent.
    is_required: bool,
    /// The text about it in the function's comment.
    pub(super) words: String,
}

impl ParentUpdate {
    /// Returns the parameter for the signature of a function.
    fn parameter(&self) -> String {
        match self.is_required {
            true => self.name.clone(),
            false => format!("{} = {{}}", self.name),
        }
    }

    /// Returns an update that also contains the operators of the parameter.
    fn joined(&self, update: bson::Document) -> Bson {
        let mut joined = doc! { SPREAD: given(&self.name) };
        for (operator, part) in update {
            let mut both = doc! { SPREAD: given(format!("{}.{operator}", self.name)) };
            match part {
                Bson::Document(part) => both.extend(part),
                // Computed parts are spread as well.
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
    /// Returns the parent update of a function, if a declared write or an invariant requires that
    /// both change together.
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
            " `{name}` changes the `{}` in the same write (DP-3, ER-T.4), with operators such as \
             `$inc` and `$set`.",
            r.parent
        );
        if let Some(invariant) = &r.invariant {
            words.push_str(&format!(" It must preserve: {invariant}."));
        }
        Some(ParentUpdate { name, is_required, words })
    }

    /// Returns lines of a check: parent and list change in one write, and an error undoes both.
    pub(super) fn parent_update_check(
        &self,
        r: &'m Relationship,
        (parent, list): (&'m CollectionPlan, &str),
        by: i32,
        call: impl Fn(&str) -> String,
    ) -> Vec<String> {
        let count = format!("[{} ?? []].flat().length", at(&root_in(&parent.name), list));
        // A parent that already has its child needs an initial call, because the call replaces the
        // child.
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

/// Adds the parameter for the parent.
pub(super) fn with(mut parameters: Vec<String>, also: Option<&ParentUpdate>) -> Vec<String> {
    parameters.extend(also.map(ParentUpdate::parameter));
    parameters
}

/// Returns an update combined with that of the parent.
pub(super) fn joined(also: Option<&ParentUpdate>, update: bson::Document) -> Bson {
    also.map_or_else(|| update.clone().into(), |also| also.joined(update.clone()))
}

/// Returns a step that fails if a required parent update is missing, so that callers notice.
pub(super) fn asked(also: Option<&ParentUpdate>) -> Option<Step> {
    let also = also.filter(|also| also.is_required)?;
    let why = format!(
        "argument {} is missing: pass the update of the parent for the same write",
        also.name
    );
    Some(Step::Code(format!("if ({} == null) throw new Error({});", also.name, quote(&why))))
}

/// Returns the argument for the parent update in checks that change nothing else.
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
