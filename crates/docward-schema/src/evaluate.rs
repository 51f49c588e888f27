//! Evaluates documents. One walk per object or array and schema; nothing is copied.

mod holds;
mod path;

use std::cmp::Ordering;

use docward_bson::walk::{Fault, FaultKind, MAX_DEPTH};

pub(crate) use path::{Leaf, Subject, split, straight, visit};

use crate::{
    names::Met,
    schema::{Array, Dependency, Items, Node, Object, Rest, Scalar},
    value::{ARRAY, OBJECT, Raw, repeated},
};

/// Evaluates schemas against values, and tracks the depth.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    depth: u32,
}

impl Checker {
    /// Returns whether a value satisfies a schema.
    pub(crate) fn holds(&mut self, node: &Node, value: Raw<'_>) -> Result<bool, Fault> {
        if self.depth > MAX_DEPTH {
            return Err(Fault::new(0, FaultKind::Depth));
        }
        self.depth += 1;
        let verdict = self.meets(node, value);
        self.depth -= 1;
        verdict
    }

    fn meets(&mut self, node: &Node, value: Raw<'_>) -> Result<bool, Fault> {
        if node.types.is_some_and(|types| !types.has(value.tag)) || !scalar(&node.scalar, value) {
            return Ok(false);
        }
        if value.tag == ARRAY && !self.array(&node.array, value)? {
            return Ok(false);
        }
        if value.tag == OBJECT && !node.object.is_silent() && !self.object(&node.object, value)? {
            return Ok(false);
        }
        for part in &node.all_of {
            if !self.holds(part, value)? {
                return Ok(false);
            }
        }
        if !node.any_of.is_empty() && self.count(&node.any_of, value, 1)? == 0 {
            return Ok(false);
        }
        if !node.one_of.is_empty() && self.count(&node.one_of, value, 2)? != 1 {
            return Ok(false);
        }
        if let Some(not) = &node.not
            && self.holds(not, value)?
        {
            return Ok(false);
        }
        if let Some(admitted) = &node.enumeration {
            for literal in admitted {
                if literal.raw().equals(value)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        Ok(true)
    }

    /// Counts the satisfied schemas of several; counting stops at `enough`.
    fn count(&mut self, nodes: &[Node], value: Raw<'_>, enough: usize) -> Result<usize, Fault> {
        let mut found = 0;
        for node in nodes {
            found += usize::from(self.holds(node, value)?);
            if found >= enough {
                break;
            }
        }
        Ok(found)
    }

    fn array(&mut self, array: &Array, value: Raw<'_>) -> Result<bool, Fault> {
        let is_silent = array.min_items.is_none()
            && array.max_items.is_none()
            && !array.unique
            && matches!(array.items, Items::Anything);
        if is_silent {
            return Ok(true);
        }
        let mut count = 0_u64;
        let mut seen: Vec<Raw<'_>> = Vec::new();
        for (at, element) in value.elements()?.enumerate() {
            let element = Raw::from(element?);
            count += 1;
            let holds = match &array.items {
                Items::Anything => true,
                Items::Each(node) => self.holds(node, element)?,
                Items::ByPosition(nodes, rest) => match nodes.get(at) {
                    Some(node) => self.holds(node, element)?,
                    None => self.rest(rest, element)?,
                },
            };
            if !holds {
                return Ok(false);
            }
            if array.unique {
                seen.push(element);
            }
        }
        if repeated(&seen)?.is_some() {
            return Ok(false);
        }
        Ok(array.min_items.is_none_or(|least| count >= least)
            && array.max_items.is_none_or(|most| count <= most))
    }

    fn rest(&mut self, rest: &Rest, value: Raw<'_>) -> Result<bool, Fault> {
        match rest {
            Rest::Allowed => Ok(true),
            Rest::Forbidden => Ok(false),
            Rest::Like(node) => self.holds(node, value),
        }
    }

    fn object(&mut self, object: &Object, value: Raw<'_>) -> Result<bool, Fault> {
        let mut count = 0_u64;
        let mut missing = object.required;
        // A field that occurs twice in a document counts once, and the first occurrence is
        // evaluated: the server looks properties up by name.
        let mut met = Met::none_of(object.names.len());
        let mut next = 0;
        for element in value.elements()? {
            let element = element?;
            count += 1;
            let inner = Raw::from(element);
            let mut named = false;
            if let Some((at, field)) = object.names.find(element.key, &mut next) {
                named = field.property.is_some();
                if !field.is_path && met.is_first(at) {
                    missing -= usize::from(field.required);
                    let asked = if element.key.is_empty() { value } else { inner };
                    if let Some(property) = field.property
                        && !self.holds(&object.properties[property], asked)?
                    {
                        return Ok(false);
                    }
                }
            }
            for (pattern, node) in &object.patterns {
                if pattern.is_in(element.key) {
                    named = true;
                    if !self.holds(node, inner)? {
                        return Ok(false);
                    }
                }
            }
            if !named && !self.rest(&object.rest, inner)? {
                return Ok(false);
            }
        }
        for property in &object.paths {
            if !property.holds(Subject::Fields(value.bytes))? {
                return Ok(false);
            }
        }
        for name in &object.required_paths {
            if has(value, name)? {
                missing -= 1;
            }
        }
        if missing > 0
            || object.min_properties.is_some_and(|least| count < least)
            || object.max_properties.is_some_and(|most| count > most)
        {
            return Ok(false);
        }
        self.dependencies(object, value)
    }

    fn dependencies(&mut self, object: &Object, value: Raw<'_>) -> Result<bool, Fault> {
        for (name, dependency) in &object.dependencies {
            if !has(value, name)? {
                continue;
            }
            let holds = match dependency {
                Dependency::Schema(node) => self.holds(node, value)?,
                Dependency::Names(names) => {
                    let mut all = true;
                    for name in names {
                        all &= has(value, name)?;
                    }
                    all
                }
            };
            if !holds {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns whether a name leads to a value. The server also treats dots as path steps, into arrays.
fn has(value: Raw<'_>, name: &[u8]) -> Result<bool, Fault> {
    visit(Subject::Fields(value.bytes), name, Leaf::Both, &mut |found| Ok(found.is_some()))
}

fn scalar(scalar: &Scalar, value: Raw<'_>) -> bool {
    if let Some(text) = value.text() {
        // There are at most as many characters as bytes, and at least a quarter as many.
        let bytes = text.len() as u64;
        let length = || value.characters().unwrap_or_default();
        return scalar.max_length.is_none_or(|most| bytes <= most || length() <= most)
            && scalar
                .min_length
                .is_none_or(|least| bytes.div_ceil(4) >= least || length() >= least)
            && scalar.pattern.as_ref().is_none_or(|pattern| pattern.is_in(text));
    }
    let Some(number) = value.number() else { return true };
    scalar.multiple_of.is_none_or(|divisor| number.is_multiple_of(divisor))
        && scalar
            .maximum
            .is_none_or(|(limit, exclusive)| number.is_within(limit, exclusive, Ordering::Less))
        && scalar
            .minimum
            .is_none_or(|(limit, exclusive)| number.is_within(limit, exclusive, Ordering::Greater))
}
