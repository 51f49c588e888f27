//! Designs a model and answers questions about the design.
#![allow(dead_code, reason = "each test program uses a part")]

use std::path::PathBuf;

use docward_design::{
    Bounds, CollectionPlan, Decision, Design, EntityAdvice, Pattern, Planned, ShardPlan, Verdict,
    Vote, design, emit, maintain, read,
    statement::{Job, Script},
};
use docward_model::{DesignModel, ProfileName};

/// A model and its design.
pub(crate) struct Case {
    pub(crate) model: DesignModel,
    pub(crate) design: Design,
}

/// Designs the model in a text. Mistakes in it fail the test.
#[track_caller]
pub(crate) fn of(text: &str) -> Case {
    let model = match read("model.yaml", text) {
        Ok(model) => model,
        Err(faults) => {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            panic!("{}\n{text}", faults.join("\n"))
        }
    };
    let design = design(&model, ProfileName::Neutral, &Bounds::default());
    Case { model, design }
}

/// The models of the gallery.
pub(crate) const GALLERY: [&str; 7] =
    ["bank", "blog", "catalogue", "chat", "iot", "shop", "social"];

/// Returns the text of a gallery model.
pub(crate) fn text_of(name: &str) -> String {
    let path = repository().join(format!("examples/models/{name}.yaml"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the root of the repository.
pub(crate) fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Designs a gallery model.
#[track_caller]
pub(crate) fn gallery(name: &str) -> Case {
    of(&text_of(name))
}

/// Designs a gallery model with a replaced piece of text.
#[track_caller]
pub(crate) fn gallery_with(name: &str, from: &str, to: &str) -> Case {
    let text = text_of(name);
    assert!(text.contains(from), "{name} does not say {from:?}");
    of(&text.replace(from, to))
}

impl Case {
    #[track_caller]
    pub(crate) fn decision(&self, name: &str) -> &Decision {
        let found = self.design.decisions.iter().find(|d| d.relationship == name);
        found.unwrap_or_else(|| panic!("no relationship {name}"))
    }

    #[track_caller]
    pub(crate) fn verdict(&self, name: &str) -> Verdict {
        self.decision(name).verdict
    }

    #[track_caller]
    pub(crate) fn patterns(&self, name: &str) -> &[Pattern] {
        &self.decision(name).patterns
    }

    /// Returns the names of the patterns of a relationship.
    #[track_caller]
    pub(crate) fn named(&self, name: &str) -> Vec<&'static str> {
        self.patterns(name).iter().map(Pattern::name).collect()
    }

    #[track_caller]
    pub(crate) fn advice(&self, entity: &str) -> &EntityAdvice {
        let found = self.design.entities.iter().find(|advice| advice.entity == entity);
        found.unwrap_or_else(|| panic!("no entity {entity}"))
    }

    /// Returns the votes of a row for a relationship.
    #[track_caller]
    pub(crate) fn votes(&self, relationship: &str, row: &str) -> Vec<Vote> {
        let rows = &self.decision(relationship).ruling.rows;
        rows.iter().filter(|r| r.rows.contains(&row)).map(|r| r.vote).collect()
    }

    pub(crate) fn has_collection(&self, name: &str) -> bool {
        self.design.collections.iter().any(|c| c.name == name)
    }

    #[track_caller]
    pub(crate) fn collection(&self, name: &str) -> &CollectionPlan {
        let found = self.design.collections.iter().find(|c| c.name == name);
        found.unwrap_or_else(|| {
            let names: Vec<&str> = self.design.collections.iter().map(|c| &*c.name).collect();
            panic!("no collection {name} among {names:?}")
        })
    }

    /// Returns the field at a path such as `items.product.name`.
    #[track_caller]
    pub(crate) fn find(&self, collection: &str, path: &str) -> Option<&Planned> {
        let mut fields = self.collection(collection).fields.as_slice();
        let mut found = None;
        for part in path.split('.') {
            let field = fields.iter().find(|field| field.name == part)?;
            fields = &field.fields;
            found = Some(field);
        }
        found
    }

    #[track_caller]
    pub(crate) fn field(&self, collection: &str, path: &str) -> &Planned {
        self.find(collection, path).unwrap_or_else(|| panic!("no {path} in {collection}"))
    }

    /// Returns the indexes of a collection in shell notation: `{ a: 1, b: -1 } unique`.
    #[track_caller]
    pub(crate) fn indexes(&self, collection: &str) -> Vec<String> {
        let indexes = self.collection(collection).indexes.iter();
        let written = indexes.map(|index| {
            let key =
                |(name, falls): &(String, bool)| format!("{name}: {}", if *falls { -1 } else { 1 });
            let keys: Vec<String> = index.keys.iter().map(key).collect();
            let mut text = format!("{{ {} }}", keys.join(", "));
            if index.unique {
                text += " unique";
            }
            if let Some(only) = &index.only {
                text += &format!(" where {}", only.text());
            }
            if let Some(seconds) = index.expire_after {
                text += &format!(" for {seconds} s");
            }
            text
        });
        written.collect()
    }

    #[track_caller]
    pub(crate) fn shard(&self, collection: &str) -> &ShardPlan {
        let shard = self.collection(collection).shard.as_ref();
        shard.unwrap_or_else(|| panic!("{collection} is not sharded"))
    }

    /// Returns a checklist item: whether it passes, and why.
    #[track_caller]
    pub(crate) fn check(&self, id: &str) -> (Option<bool>, &str) {
        let found = self.design.checks.iter().find(|check| check.id.name() == id);
        let check = found.unwrap_or_else(|| panic!("no check {id}"));
        (check.holds, &check.because)
    }

    pub(crate) fn scripts(&self) -> Vec<Script> {
        maintain::scripts(&self.model, &self.design, ProfileName::Neutral)
    }

    /// Returns the sentences about functions that are not generated.
    pub(crate) fn refusals(&self) -> Vec<String> {
        let all = maintain::refusals(&self.model, &self.design, ProfileName::Neutral);
        all.into_iter().map(|refusal| refusal.sentence).collect()
    }

    /// Returns a generated function.
    #[track_caller]
    pub(crate) fn job(&self, name: &str) -> Job {
        let jobs: Vec<Job> = self.scripts().into_iter().flat_map(|script| script.jobs).collect();
        let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        let found = jobs.iter().find(|job| job.name == name);
        found.unwrap_or_else(|| panic!("no {name} among {names:?}")).clone()
    }

    /// Returns the code of a generated function in one line, so that tests do not depend on line
    /// breaks.
    #[track_caller]
    pub(crate) fn function(&self, name: &str) -> String {
        in_one_line(&self.job(name).shell())
    }

    /// Returns a file of the design in one line.
    #[track_caller]
    pub(crate) fn file(&self, path: &str) -> String {
        let files = emit::files(&self.model, &self.design, ProfileName::Neutral);
        let found = files.iter().find(|(name, _)| name == path);
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        in_one_line(&found.unwrap_or_else(|| panic!("no {path} among {names:?}")).1)
    }

    /// Returns the questions about an entity or relationship.
    pub(crate) fn asked(&self, about: &str) -> Vec<&str> {
        let all = self.design.questions();
        all.into_iter().filter(|q| q.about == about).map(|q| q.ask.as_str()).collect()
    }
}

fn in_one_line(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim().trim_start_matches("* "));
    lines.collect::<Vec<_>>().join(" ")
}

/// Fails if a text lacks one of the parts.
#[track_caller]
pub(crate) fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// Returns a model of a parent and its children without open questions. The arguments are the
/// figures of the relationship, reads and writes.
pub(crate) fn pair(relationship: &str, reads: &[&str], writes: &[&str]) -> String {
    pair_on("6.0", relationship, reads, writes)
}

/// Returns the same model for another server version.
pub(crate) fn pair_on(server: &str, relationship: &str, reads: &[&str], writes: &[&str]) -> String {
    let lines = |lines: &[&str]| -> String {
        lines.iter().enumerate().map(|(i, line)| format!("  op{i}: {{{line}}}\n")).collect()
    };
    format!(
        "deployment: {{server: \"{server}\"}}
entities:
  parent:
    count: 1000
    lifecycle: {{growth: 100/year, kept: forever}}
    fields: {{title: string, createTime: date}}
  child:
    count: 5000
    lifecycle: {{growth: 500/year, kept: forever}}
    fields: {{a: string, b: string, c: string, d: string, amount: int, createTime: date}}
relationships:
  parent.children: {{child: child, {relationship}}}
reads:
{}writes:
{}",
        lines(reads),
        lines(writes),
    )
}

/// Writes that leave no question open: both entities are inserted, but rarely.
pub(crate) const WRITTEN: &[&str] =
    &["insert: [parent], rate: 1/day", "insert: [child], rate: 1/h"];
