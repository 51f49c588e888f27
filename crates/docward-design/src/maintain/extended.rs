//! Copies of fields beside a reference (PT-extref.1): refreshed when the source changes, or left as they
//! were at the time (PT-extref.2).

use bson::{Document, doc};
use docward_model::{BsonType, Relationship, shell::quote};

use super::owned::{at, missing, one};
use super::{Plans, picked};
use crate::js::{self, given, member_of};
use crate::pattern::Pattern;
use crate::plan::Decision;
use crate::statement::{Job, Method, Statement, Step};

impl<'m> Plans<'m> {
    /// Refreshes the copies that children hold of their parent.
    pub(super) fn refreshing(
        &self,
        relationship: &Relationship,
        decision: &Decision,
        fields: &[&str],
        (parents, children): (&str, &str),
        path: &str,
    ) -> Job {
        let naming = self.layout.naming;
        let held = naming.parent_field(relationship);
        let id = js::parameter(&held);
        let copy = naming.field(&[&naming.singular(&relationship.parent)]);
        let source = one(parents, &doc! { "_id": given(&id) }, path, fields);
        let set = doc! { copy: given(picked(&at("parent", path), fields)) };
        let update = Statement::new(
            children,
            Method::UpdateMany,
            [doc! { held: given(&id) }.into(), doc! { "$set": set }.into()],
        );
        Job {
            name: self.name("refresh copies in", relationship, true),
            parameters: vec![id],
            does: self.refresh_words(decision, &relationship.parent),
            clauses: vec!["PT-extref.2", "DM-07.7"],
            steps: vec![
                Step::Let("parent", source),
                missing("parent", &relationship.parent),
                Step::Return(update),
            ],
        }
    }

    pub(super) fn refresh_words(&self, decision: &Decision, source: &str) -> String {
        let changing = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::ExtendedReference { changing, .. } => Some(changing.as_slice()),
            _ => None,
        });
        let advice = match changing {
            Some([]) | None => "No declared write changes what is copied.".to_owned(),
            Some(names) => format!(
                "Declared writes change {}: call it after them if copies are to follow, and never if they are to stay as they were at the time.",
                docward_model::text::list(names, 3)
            ),
        };
        format!("Brings the copies of `{source}` up to date. {advice}")
    }

    /// Copies stay until they are refreshed.
    pub(super) fn copy_check(
        &self,
        relationship: &Relationship,
        fields: &[String],
        copy: &str,
        (parents, children): (&str, &str),
        (path, held): (&str, &str),
    ) -> Vec<String> {
        let refresh = self.name("refresh copies in", relationship, true);
        let source = self.layout.model.entity(&relationship.parent);
        let text = fields.iter().find(|name| {
            source
                .and_then(|entity| entity.field(name))
                .is_some_and(|field| field.kind == BsonType::String && field.values.is_empty())
        });
        let Some(text) = text else { return Vec::new() };
        let find = format!(
            "at.getCollection({}).findOne({})",
            quote(children),
            js::object(&doc! { held: given("root._id") }, 0)
        );
        let mut set = Document::new();
        set.insert(format!("{path}{text}"), given("changed"));
        let copied = member_of(&member_of("copy", copy), text);
        vec![
            "const changed = \"changed \" + unique();".to_owned(),
            format!(
                "at.getCollection({}).updateOne({{ _id: root._id }}, {});",
                quote(parents),
                js::object(&doc! { "$set": set }, 0)
            ),
            format!("let copy = {find};"),
            format!(
                "expect(\"copies stay as they were (PT-extref.2)\", {copied} === changed, false);"
            ),
            format!("{refresh}(at, root._id);"),
            format!("copy = {find};"),
            format!("expect(\"a refresh mirrors the change\", {copied}, changed);"),
        ]
    }
}
