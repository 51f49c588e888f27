//! Fields of models that source code declares, and what code and data show about their values.

use std::collections::BTreeMap;

use docward_model::{
    Evidence, Field, Location,
    code::{Annotation, Code, DeclaredField, FieldValue, ValueKind},
};

use crate::facts::{code, names};

/// A field of a declared model, with its context.
#[derive(Clone, Copy, Debug)]
pub struct ModelField<'e> {
    /// The evidence.
    pub evidence: &'e Evidence,
    /// The field as it was found in code.
    pub code: &'e Code,
    /// The field.
    pub declared: &'e DeclaredField,
    /// The last part of its path.
    pub leaf: &'e str,
}

impl<'e> ModelField<'e> {
    /// The words of its name.
    pub fn words(&self) -> Vec<String> {
        names::words(self.leaf)
    }

    /// The path of the enclosing object, with a dot at the end.
    fn parent(&self) -> &'e str {
        let path = self.declared.path.trim_end_matches("[]");
        path.strip_suffix(self.leaf).unwrap_or_default()
    }

    /// Names of the enclosing objects and of the model.
    pub fn owners(&self) -> impl Iterator<Item = &'e str> {
        let around = self.parent().split('.').map(|part| part.trim_end_matches("[]"));
        around.filter(|part| !part.is_empty()).chain([self.declared.model.as_str()])
    }

    /// Its sibling fields in the same object, with their names.
    pub fn siblings(&self) -> impl Iterator<Item = (&'e DeclaredField, &'e str)> {
        let (own, parent) = (self.declared, self.parent());
        self.code
            .fields
            .iter()
            .filter(move |other| {
                other.model == own.model && other.place.location.file == own.place.location.file
            })
            .filter_map(move |other| Some((other, other.path.strip_prefix(parent)?)))
            .filter(move |(_, name)| !name.is_empty() && !name.contains(['.', '[']))
            .filter(|(_, name)| *name != self.leaf)
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// Whether an annotation of its declaration meets a test.
    pub fn says(&self, test: impl Fn(&Annotation) -> bool) -> bool {
        self.declared.annotations.iter().any(test)
    }

    /// Whether code assigns such a value to it.
    pub fn is_given(&self, kind: ValueKind) -> bool {
        self.code.values_of(self.declared).any(|value| value.kind == kind)
    }

    /// The field in the data of collections that were read in the same run.
    pub fn in_data(&self) -> impl Iterator<Item = &'e Field> {
        let path = self.declared.path.replace("[]", "");
        let declared = self.declared;
        self.evidence
            .collections
            .iter()
            .filter(|collection| {
                let name = &collection.namespace.collection;
                declared.collection.as_ref() == Some(name) || declared.model == *name
            })
            .filter_map(|collection| collection.profile.as_ref())
            .flat_map(|profile| &profile.fields)
            .filter(move |field| field.path.as_str().replace("[]", "") == path)
    }

    /// Whether code shows that documents of the model are stored: the library or a statement stores
    /// them, and the file is in use.
    pub fn is_stored(&self) -> bool {
        self.declared.is_stored && !self.code.is_never_run(&self.declared.place)
    }
}

/// The reason why a field of a model is not reported by default, although its name and type match.
pub struct Exception {
    /// The bullet on the page of the rule.
    pub page: &'static str,
    /// Whether it applies to a field.
    pub applies: fn(&ModelField<'_>) -> bool,
    /// Whether `--select pedantic` reports the field anyway.
    pub is_pedantic: bool,
}

/// The certainty that a field is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// It is proven.
    Proven,
    /// It is likely: `--select pedantic` reports it.
    Likely,
}

/// The first exception that applies to a field.
pub fn exception<'x>(all: &'x [Exception], field: &ModelField<'_>) -> Option<&'x Exception> {
    all.iter().find(|exception| (exception.applies)(field))
}

/// Fields of a model with the number of its copies and all their places.
pub struct Fault<'e> {
    /// The field, in the first copy.
    pub field: &'e DeclaredField,
    /// The certainty of the fault.
    pub certainty: Certainty,
    /// The places where the model is declared again.
    pub copies: Vec<Location>,
}

/// Fields at fault. A model that several files declare with the same path is one fault.
pub fn faults<'e>(
    evidence: &'e Evidence,
    judge: impl Fn(&ModelField<'e>) -> Option<Certainty>,
) -> Vec<Fault<'e>> {
    let mut found: BTreeMap<(&str, &str), Fault<'e>> = BTreeMap::new();
    let Some(code) = &evidence.code else { return Vec::new() };
    for (declared, leaf) in code::fields(evidence, |_, _, _| true) {
        let Some(certainty) = judge(&ModelField { evidence, code, declared, leaf }) else {
            continue;
        };
        let fault = Fault { field: declared, certainty, copies: Vec::new() };
        match found.entry((&declared.model, &declared.path)) {
            std::collections::btree_map::Entry::Vacant(entry) => _ = entry.insert(fault),
            std::collections::btree_map::Entry::Occupied(mut entry) => {
                let known = entry.get_mut();
                known.certainty = known.certainty.min(certainty);
                known.copies.push(declared.place.location.clone());
            }
        }
    }
    found.into_values().collect()
}

/// Values that are written to documents of collections without a declared model, by collection and
/// path.
pub fn unmodelled(
    evidence: &Evidence,
    is_meant: impl Fn(&FieldValue) -> bool,
) -> BTreeMap<(&str, &str), Vec<&FieldValue>> {
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let Some(code) = &evidence.code else { return found };
    for value in &code.field_values {
        let is_declared = || {
            code.fields.iter().any(|field| {
                field.model == value.of || field.collection.as_ref() == Some(&value.of)
            })
        };
        if is_meant(value)
            && !value.is_model
            && !value.in_script
            && !code.is_never_run(&value.place)
            && !is_declared()
        {
            found.entry((value.of.as_str(), value.path.as_str())).or_default().push(value);
        }
    }
    found
}

#[cfg(test)]
pub(crate) mod tests {
    use super::Exception;

    /// The exceptions of a rule are the bullets of its page, and there are few.
    pub(crate) fn are_on_the_page(code: &str, exceptions: &[Exception]) {
        let pages: Vec<&str> = exceptions.iter().map(|exception| exception.page).collect();
        let pedantic = exceptions.iter().filter(|exception| exception.is_pedantic);
        assert!(pedantic.into_iter().all(|exception| exception.page.starts_with("pedantic: ")));
        bullets_are(code, &pages);
    }

    /// A page lists these exceptions and is short.
    pub(crate) fn bullets_are(code: &str, pages: &[&str]) {
        let rule = crate::RULES.iter().find(|rule| rule.meta.code == code).expect("a rule");
        let section = rule.meta.section("What it checks").expect("a section");
        let words: Vec<&str> = section.split_whitespace().collect();
        let section = words.join(" ");
        assert_eq!(section.split(" - ").skip(1).collect::<Vec<_>>(), pages);
        assert!(pages.len() <= 12 && words.len() <= 120, "{} words", words.len());
    }
}
