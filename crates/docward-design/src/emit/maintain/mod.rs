//! Generates the functions that keep the patterns of a design correct. Applications call these
//! functions. The lines of a check test them in a scratch database.

mod archive;
mod child_refs;
mod embedded;
mod entity;
mod extended;
mod many_to_many;
mod outlier;
mod parent_summary;
mod plans;
mod refused;
mod series;
mod summary;
mod transaction;
mod tree;
mod unique_values;

use docward_model::{DesignModel, ProfileName, Relationship};

use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::emit::statement::Script;
use crate::layout::plan::Design;
pub(crate) use plans::Plans;
pub use refused::{Refusal, refusals};

/// Returns the scripts of a design, in the order of its relationships and entities.
pub fn scripts(model: &DesignModel, design: &Design, profile: ProfileName) -> Vec<Script> {
    let plans = Plans::new(model, design, profile);
    let mut found: Vec<Script> = Vec::new();
    for decision in &design.decisions {
        let Some(relationship) = model.relationship(&decision.relationship) else { continue };
        if plans.refused(relationship, decision).is_none() {
            found.extend(plans.of_relationship(relationship, decision));
        }
    }
    for advice in &design.entities {
        let Some(entity) = model.entity(&advice.entity) else { continue };
        for pattern in &advice.patterns {
            found.extend(plans.of_entity(entity, pattern));
        }
        found.extend(plans.unique_values(entity));
    }
    for script in &mut found {
        let names: Vec<String> = script.jobs.iter().map(|job| job.name.clone()).collect();
        for job in &mut script.jobs {
            plans.keyed_steps(&mut job.steps);
            // Each of the two functions refers to the other.
            let both = format!("{}InTransaction", job.name);
            if names.contains(&both) {
                job.does.push_str(&format!(
                    " It does not change the rest of the parent; `{both}` changes both."
                ));
            }
        }
    }
    found
}

impl<'m> Plans<'m> {
    fn of_relationship(
        &self,
        relationship: &'m Relationship,
        decision: &'m Decision,
    ) -> Option<Script> {
        match decision.patterns.first()? {
            Pattern::Tree => self.tree(relationship),
            Pattern::Embedded => self.embedded(relationship, decision),
            Pattern::ParentInChild => self
                .owned(relationship, decision)
                .or_else(|| self.copies_in_list(relationship, decision)),
            Pattern::ChildrenInParent | Pattern::ParentsInChild | Pattern::Junction => self
                .linked(relationship, decision)
                .or_else(|| self.copies_in_list(relationship, decision)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::decide::facts::Bounds;
    use crate::emit::js;
    use crate::emit::statement::Job;

    const MODELS: [&str; 7] = [
        include_str!("../../../tests/models/all.yaml"),
        include_str!("../../../tests/models/elements.yaml"),
        include_str!("../../../tests/models/kept.yaml"),
        include_str!("../../../tests/models/lists.yaml"),
        include_str!("../../../tests/models/more.yaml"),
        include_str!("../../../tests/models/referenced.yaml"),
        include_str!("../../../tests/models/together.yaml"),
    ];

    fn jobs(text: &str) -> Vec<Job> {
        let model = crate::read("m.yaml", text).unwrap_or_else(|faults| panic!("{faults:#?}"));
        let design = crate::design(&model, ProfileName::Vendor, &Bounds::default());
        let scripts = scripts(&model, &design, ProfileName::Vendor);
        scripts.into_iter().flat_map(|script| script.jobs).collect()
    }

    /// Returns code without comments and strings.
    fn code(job: &Job) -> String {
        let text = job.shell();
        let lines = text.lines().filter(|line| {
            let line = line.trim_start();
            !["//", "/*", "*"].iter().any(|sign| line.starts_with(sign))
        });
        let parts = lines.map(|line| line.split('"').step_by(2).collect::<Vec<_>>().join("\"\""));
        parts.collect::<Vec<_>>().join("\n")
    }

    fn is_name(c: char) -> bool {
        c.is_alphanumeric() || c == '_'
    }

    /// Returns the names in the pattern at the start of a text: `_id`, `{ _id }`, `(all, one)`.
    fn names(text: &str) -> impl Iterator<Item = &str> {
        let text = text.trim_start();
        let end = match text.chars().next() {
            Some('{') => text.find('}'),
            Some('(') => text.find(')'),
            _ => text.find(|c| !is_name(c)),
        };
        let names = text[..end.unwrap_or(text.len())].split(|c| !is_name(c));
        names.filter(|name| !name.is_empty())
    }

    /// Returns the names that a function declares.
    fn declared(code: &str) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        for word in ["const ", "let ", "catch "] {
            found.extend(code.split(word).skip(1).flat_map(names));
        }
        for (end, _) in code.match_indices(" =>") {
            let before = &code[..end];
            let begin = match before.ends_with(')') {
                true => before.rfind('('),
                false => before.rfind(|c| !is_name(c)).map(|at| at + 1),
            };
            found.extend(names(&before[begin.unwrap_or(0)..]));
        }
        found
    }

    /// Returns the names of called functions. Method calls are excluded.
    fn called(code: &str) -> BTreeSet<&str> {
        let calls = code.match_indices('(').map(|(at, _)| {
            let before = &code[..at];
            let begin = before.rfind(|c: char| !is_name(c) && c != '.').map_or(0, |at| at + 1);
            &before[begin..]
        });
        calls.filter(|name| !name.is_empty() && !name.contains('.')).collect()
    }

    #[test]
    fn no_parameter_hides_behind_a_name_of_the_functions_own() {
        let (mut all, mut help) = (BTreeSet::new(), BTreeSet::new());
        for job in MODELS.into_iter().flat_map(jobs) {
            let code = code(&job);
            let (_, body) = code.split_once('\n').unwrap_or_default();
            all.extend(declared(body).into_iter().map(str::to_owned));
            help.extend(called(body).into_iter().map(str::to_owned));
        }
        assert!(all.len() > 30 && help.contains("pick"), "{all:?} {help:?}");
        // Generated functions have unique names with upper-case letters, so only helper functions
        // remain.
        help.retain(|name| !name.contains(char::is_uppercase));
        let free: Vec<&String> =
            all.iter().chain(&help).filter(|name| js::parameter(name) == **name).collect();
        assert!(free.is_empty(), "parameters may be called {free:?}");
    }
}
