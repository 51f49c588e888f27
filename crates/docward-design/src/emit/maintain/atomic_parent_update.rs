//! What changes of a parent in the same write as the list inside it: they are one document because they must change
//! together (DP-3, ER-T.4).

use bson::{Bson, doc};
use docward_model::shell::quote;
use docward_model::{DesignWrite, Relationship};

use crate::emit::js::{self, SPREAD, given};
use crate::emit::statement::Step;

use super::child_refs::at;
use super::embedded::Inside;
use super::transaction::{Act, Made};
use super::{Place, Plans};

/// A parameter for what else an update does to the parent.
pub(super) struct Besides {
    name: String,
    /// Stages of an update that is a pipeline, else operators.
    in_stages: bool,
    /// A declared write sets fields of the parent, so that it has to be given.
    pub(super) mandatory: bool,
    /// What the function says of it.
    pub(super) words: String,
}

impl Besides {
    /// As a function has it among its parameters.
    pub(super) fn parameter(&self) -> String {
        match self.mandatory {
            true => self.name.clone(),
            false => format!("{} = {}", self.name, self.nothing()),
        }
    }

    /// In a check: a change of nothing.
    pub(super) fn nothing(&self) -> &'static str {
        if self.in_stages { "[]" } else { "{}" }
    }

    /// In a check: an update that sets a field.
    fn sets(&self, path: &str, value: &str) -> String {
        let set = doc! { "$set": { path: given(value) } };
        let set = js::object(&set, 0);
        if self.in_stages { format!("[{set}]") } else { set }
    }

    /// Refuses to go on without it: what is declared is not forgotten in silence.
    pub(super) fn asked(&self) -> Option<Step> {
        let why = format!("{} is missing: what else changes in the same write", self.name);
        let name = &self.name;
        self.mandatory
            .then(|| Step::Code(format!("if ({name} == null) throw new Error({});", quote(&why))))
    }

    /// An update with it.
    pub(super) fn joined(&self, update: Bson) -> Bson {
        match update {
            Bson::Document(operators) => {
                let mut joined = doc! { SPREAD: given(&self.name) };
                for (operator, part) in operators {
                    let own = given(format!("{}.{operator}", self.name));
                    let mut both = doc! { SPREAD: own };
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
            Bson::Array(mut stages) => {
                stages.push(given(format!("...{}", self.name)));
                stages.into()
            }
            other => other,
        }
    }
}

impl<'m> Plans<'m> {
    /// What a function changes of the parent besides, where a declared write or an invariant wants both at once. Where
    /// it `keeps` sums of the list anyway, an invariant may be about these.
    pub(super) fn besides(
        &self,
        inside: &Inside<'m>,
        (act, name): (Act, &str),
        parameters: &[String],
        how: (bool, bool),
    ) -> Option<Besides> {
        let Inside { relationship, parent, list, .. } = inside;
        self.besides_of(relationship, (parent, list), (act, name), parameters, how)
    }

    /// The same of any list of a parent.
    pub(super) fn besides_of(
        &self,
        r: &'m Relationship,
        (parent, list): (&Place<'m>, &str),
        (act, name): (Act, &str),
        parameters: &[String],
        (in_stages, keeps): (bool, bool),
    ) -> Option<Besides> {
        let mut writes = self.atomic(r).filter(|write| act.is_done_by(write, r)).peekable();
        if r.invariant.is_none() && writes.peek().is_none() {
            return None;
        }
        let sets = |write: &DesignWrite| write.sets.iter().any(|(entity, _)| *entity == r.parent);
        let mandatory = writes.any(sets) || r.invariant.is_some() && !keeps;
        let update = Self::update_of(&r.parent, parameters);
        let mut words = format!(
            " `{update}` changes the `{}` in the same write (DP-3, ER-T.4): {}.{}",
            r.parent,
            match in_stages {
                true => "stages, which see the list as it is then",
                false => "operators, such as `$inc` and `$set`",
            },
            Self::fields_of(parent)
        );
        if let Some(invariant) = &r.invariant {
            words.push_str(&format!(" It has to keep it true: {invariant}."));
        }
        let made = match in_stages {
            true => Made::Stages(act, list),
            false => Made::Outside(act, false),
        };
        words.push_str(&self.example_call(r, name, (parameters, ""), (parent, made)));
        Some(Besides { name: update, in_stages, mandatory, words })
    }

    /// In a check: parent and list change in one write, and an error undoes both.
    pub(super) fn besides_check(
        &self,
        inside: &Inside<'m>,
        (besides, by): (&Besides, i32),
        call: impl Fn(&str) -> String,
    ) -> Vec<String> {
        let r = inside.relationship;
        let parents = quote(&inside.parent.collection.name);
        let found = format!("at.getCollection({parents}).findOne({{ _id: root._id }})");
        let count = format!("[{} ?? []].flat().length", at(&found, &inside.list));
        let set = |path: &str, value: &str| besides.sets(path, value);
        // One that is there is another one afterwards.
        let first = (by == 0).then(|| format!("{};", call(besides.nothing())));
        let lines =
            self.both_lines(r, &inside.parent, ("one write", &set), call, (None, &count, by));
        if lines.is_empty() {
            return lines;
        }
        self.on_another(inside, first.into_iter().chain(lines).collect())
    }

    /// Lines of a check that go on with another parent.
    pub(super) fn on_another(&self, inside: &Inside<'m>, lines: Vec<String>) -> Vec<String> {
        if lines.is_empty() {
            return lines;
        }
        let parents = quote(&inside.parent.collection.name);
        let made = [
            format!("const root = {};", self.made(inside.parent.collection)),
            format!("at.getCollection({parents}).insertOne(root);"),
        ];
        let mut all = vec!["{".to_owned()];
        let lines = made.iter().chain(&lines);
        all.extend(lines.flat_map(|line| line.lines()).map(|line| format!("  {line}")));
        all.push("}".to_owned());
        all
    }
}

/// Parameters with one for what else changes.
pub(super) fn with(mut parameters: Vec<String>, besides: Option<&Besides>) -> Vec<String> {
    parameters.extend(besides.map(Besides::parameter));
    parameters
}

/// An update with what else changes.
pub(super) fn joined(besides: Option<&Besides>, update: Bson) -> Bson {
    match besides {
        Some(besides) => besides.joined(update),
        None => update,
    }
}

/// The step that asks for it.
pub(super) fn asked(besides: Option<&Besides>) -> impl Iterator<Item = Step> {
    besides.and_then(Besides::asked).into_iter()
}

/// In a check: what is given for it where nothing else changes.
pub(super) fn sent_along(besides: Option<&Besides>) -> String {
    let asked = besides.filter(|besides| besides.mandatory);
    asked.map_or(String::new(), |besides| format!(", {}", besides.nothing()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn besides(in_stages: bool) -> Besides {
        Besides { name: "more".to_owned(), in_stages, mandatory: true, words: String::new() }
    }

    #[test]
    fn dp_3_operators_of_both_are_joined() {
        let push = doc! { "$push": { "items": 1 } };
        let joined = besides(false).joined(push.into());
        let text = js::value(&joined, 0);
        assert_eq!(text, "{ ...more, $push: { ...more.$push, items: 1 } }");
    }

    #[test]
    fn dp_3_stages_come_after_the_list() {
        let stages = vec![Bson::from(doc! { "$set": { "items": [1] } })];
        let text = js::value(&besides(true).joined(stages.into()), 0);
        assert_eq!(text, "[{ $set: { items: [1] } }, ...more]");
    }
}
