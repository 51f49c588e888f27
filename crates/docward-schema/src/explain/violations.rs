//! An explanation as a flat list: the path and the keyword.

use bson::{Bson, Document};
use docward_bson::walk::Fault;

use crate::{
    evaluate::split,
    value::{ARRAY, OBJECT, Raw},
};

/// One constraint that a document fails.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Violation {
    /// The path: dotted, with `[]` for the elements of an array, as in `items[].price`; empty for
    /// the document itself.
    pub path: String,
    /// The keyword: `bsonType`, `minimum`, `$gt`. Each missing field is one `required`, and each
    /// unexpected field is one `additionalProperties`, both with the path of the field. `anyOf`,
    /// `oneOf`, `not`, `$or`, `$nor` and `$not` are reported as a whole.
    pub keyword: String,
}

/// The violations in an explanation of a document.
pub(crate) fn of(details: &Document, document: &[u8]) -> Result<Vec<Violation>, Fault> {
    let mut list = List { out: Vec::new(), document };
    list.condition(details, "")?;
    if list.out.is_empty() {
        // If the server refuses without an explanation, the operator is still known.
        list.add("", details.get_str("operatorName").unwrap_or("validator"));
    }
    Ok(list.out)
}

struct List<'d> {
    out: Vec<Violation>,
    document: &'d [u8],
}

impl List<'_> {
    fn add(&mut self, path: &str, keyword: &str) {
        let violation = Violation { path: path.to_owned(), keyword: keyword.to_owned() };
        if !self.out.contains(&violation) {
            self.out.push(violation);
        }
    }

    /// The conditions under a heading: one or several.
    fn below(&mut self, details: &Document, heading: &str, path: &str) -> Result<(), Fault> {
        match details.get(heading) {
            Some(Bson::Document(one)) => self.condition(one, path),
            Some(Bson::Array(several)) => {
                for one in several.iter().filter_map(Bson::as_document) {
                    self.condition(one, path)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn names(&mut self, details: &Document, heading: &str, path: &str, keyword: &str) {
        for name in details.get_array(heading).into_iter().flatten().filter_map(Bson::as_str) {
            self.add(&join(path, name), keyword);
        }
    }

    fn condition(&mut self, details: &Document, path: &str) -> Result<(), Fault> {
        let Ok(keyword) = details.get_str("operatorName") else {
            return self.unnamed(details, path);
        };
        match keyword {
            "$jsonSchema" if details.contains_key("specifiedAs") => {
                // A document is always an object.
                let schema = details.get_document("specifiedAs").ok();
                let schema = schema.and_then(|schema| schema.get_document("$jsonSchema").ok());
                let is_json = schema.is_some_and(|schema| schema.contains_key("type"));
                self.add(path, if is_json { "type" } else { "bsonType" });
            }
            "$jsonSchema" if details.contains_key("reason") => self.add(path, keyword),
            "$jsonSchema" => self.below(details, "schemaRulesNotSatisfied", path)?,
            "properties" => self.below(details, "propertiesNotSatisfied", path)?,
            "allOf" => self.below(details, "schemasNotSatisfied", path)?,
            "$and" => self.below(details, "clausesNotSatisfied", path)?,
            "required" => self.names(details, "missingProperties", path, keyword),
            "additionalProperties" => match details.get_str("failingProperty") {
                Ok(name) => self.below(details, "details", &join(path, name))?,
                Err(_) => self.names(details, "additionalProperties", path, keyword),
            },
            "patternProperties" => self.below(details, "details", path)?,
            "dependencies" => self.below(details, "failingDependencies", path)?,
            "items" | "additionalItems" if details.contains_key("details") => {
                self.below(details, "details", &format!("{path}[]"))?;
            }
            "$not" => {
                let place = self.shown(written_path(details))?;
                self.add(&place, keyword);
            }
            "$or" | "$nor" => self.add(path, keyword),
            operator if operator.starts_with('$') => {
                let place = self.shown(written_path(details))?;
                self.add(&place, keyword);
            }
            _ => self.add(path, keyword),
        }
        Ok(())
    }

    /// A property, an element by position, a clause or a dependency.
    fn unnamed(&mut self, details: &Document, path: &str) -> Result<(), Fault> {
        if let Ok(name) = details.get_str("propertyName") {
            return self.below(details, "details", &join(path, name));
        }
        if details.contains_key("missingProperties") {
            self.names(details, "missingProperties", path, "dependencies");
            return Ok(());
        }
        if details.contains_key("code") {
            // For such a validator only the refusal itself is known.
            self.add(path, "validator");
            return Ok(());
        }
        self.below(details, "details", path)
    }

    /// The path of a condition, with `[]` for the arrays along it.
    fn shown(&self, path: &str) -> Result<String, Fault> {
        let mut out = String::new();
        let mut value = Some(Raw { tag: OBJECT, bytes: self.document });
        let mut rest = Some(path.as_bytes());
        while let Some(left) = rest {
            let (step, after) = split(left);
            let is_number = !step.is_empty() && step.iter().all(u8::is_ascii_digit);
            let here = match value {
                Some(array) if array.tag == ARRAY => {
                    out.push_str("[]");
                    match is_number {
                        true => array.field(step)?,
                        false => field_of_one(array, step)?,
                    }
                }
                Some(object) if object.tag == OBJECT => object.field(step)?,
                _ => None,
            };
            let in_array = value.is_some_and(|value| value.tag == ARRAY);
            if !(in_array && is_number) {
                out = join(&out, &String::from_utf8_lossy(step));
            }
            value = here;
            rest = after;
        }
        Ok(out)
    }
}

/// The field with this name in the first element that has it.
fn field_of_one<'d>(array: Raw<'d>, name: &[u8]) -> Result<Option<Raw<'d>>, Fault> {
    for element in array.elements()? {
        let element = Raw::from(element?);
        if element.tag == OBJECT
            && let Some(found) = element.field(name)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The path that an operator was written for. Several operators under one `$not` share it.
fn written_path(details: &Document) -> &str {
    if let Ok(source) = details.get_document("specifiedAs") {
        return source.keys().next().map_or("", String::as_str);
    }
    let below = match details.get("details") {
        Some(Bson::Document(one)) => Some(one),
        _ => ["clausesSatisfied", "clausesNotSatisfied"]
            .iter()
            .find_map(|heading| details.get_array(heading).ok()?.first()?.as_document()),
    };
    below.map_or("", written_path)
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
