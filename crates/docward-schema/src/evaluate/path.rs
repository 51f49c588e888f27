//! Where a dotted path leads: through objects, into arrays by number and into the objects that lie in
//! them. The server's rules, including that one path may lead to several values, to one that is missing,
//! or nowhere at all.

use docward_bson::walk::Fault;

use crate::{
    schema::LONE,
    value::{ARRAY, OBJECT, Raw},
};

/// What an expression is asked of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'d> {
    /// The fields of an object.
    Fields(&'d [u8]),
    /// One value, under the name that schemas of elements and properties have for it.
    Lone(Raw<'d>),
}

impl<'d> Subject<'d> {
    /// The first field of a name.
    fn get(self, name: &[u8]) -> Result<Option<Raw<'d>>, Fault> {
        match self {
            Self::Lone(value) => Ok((name == LONE).then_some(value)),
            Self::Fields(bytes) => Raw { tag: OBJECT, bytes }.field(name),
        }
    }
}

/// What an array at the end of a path stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// Itself.
    Whole,
    /// Its elements.
    Elements,
    /// Its elements, then itself.
    Both,
}

/// Sees each value, `None` where one is missing; says whether it has seen enough.
pub(crate) type Visit<'v, 'd> = dyn FnMut(Option<Raw<'d>>) -> Result<bool, Fault> + 'v;

/// Shows the values that a path leads to; whether the visitor had enough.
pub(crate) fn visit<'d>(
    subject: Subject<'d>,
    path: &[u8],
    leaf: Leaf,
    see: &mut Visit<'_, 'd>,
) -> Result<bool, Fault> {
    let (value, rest) = descend(subject, path)?;
    match value {
        Some(array) if array.tag == ARRAY => {
            if rest.is_empty() && leaf == Leaf::Whole {
                see(value)
            } else {
                within(array, rest, leaf, see)
            }
        }
        _ => see(value),
    }
}

/// The value a path leads to without entering any array.
pub(crate) fn straight<'d>(subject: Subject<'d>, path: &[u8]) -> Result<Option<Raw<'d>>, Fault> {
    let (value, rest) = descend(subject, path)?;
    Ok(value.filter(|value| value.tag != ARRAY || rest.is_empty()))
}

/// Down to the end of the path or the first array, with what is left of the path there.
fn descend<'d, 'p>(
    subject: Subject<'d>,
    path: &'p [u8],
) -> Result<(Option<Raw<'d>>, &'p [u8]), Fault> {
    let mut subject = subject;
    let mut left = path;
    loop {
        let (step, rest) = split(left);
        let value = subject.get(step)?;
        match (value, rest) {
            (Some(Raw { tag: OBJECT, bytes }), Some(rest)) => {
                subject = Subject::Fields(bytes);
                left = rest;
            }
            (Some(Raw { tag: ARRAY, .. }), rest) => return Ok((value, rest.unwrap_or_default())),
            // What is neither object nor array has nothing below it.
            (_, Some(_)) => return Ok((None, b"")),
            (value, None) => return Ok((value, b"")),
        }
    }
}

/// What lies in an array, along the rest of a path.
fn within<'d>(
    array: Raw<'d>,
    rest: &[u8],
    leaf: Leaf,
    see: &mut Visit<'_, 'd>,
) -> Result<bool, Fault> {
    let (step, after) = split(rest);
    let is_number = step.iter().all(u8::is_ascii_digit);
    for element in array.elements()? {
        let element = element?;
        let value = Raw::from(element);
        if rest.is_empty() {
            if see(Some(value))? {
                return Ok(true);
            }
            continue;
        }
        let is_meant = is_number && element.key == step;
        if value.tag == OBJECT && visit(Subject::Fields(value.bytes), rest, leaf, see)? {
            return Ok(true);
        }
        let enough = match (is_meant, after) {
            (false, _) => false,
            (true, None) => see(Some(value))?,
            (true, Some(after)) => match value.tag {
                OBJECT => visit(Subject::Fields(value.bytes), after, leaf, see)?,
                ARRAY => within(value, after, leaf, see)?,
                _ => false,
            },
        };
        if enough {
            return Ok(true);
        }
    }
    if !rest.is_empty() || leaf == Leaf::Elements {
        return Ok(false);
    }
    see(Some(array))
}

/// The first step and what follows its dot.
pub(crate) fn split(path: &[u8]) -> (&[u8], Option<&[u8]>) {
    match path.iter().position(|byte| *byte == b'.') {
        Some(dot) => (&path[..dot], Some(&path[dot + 1..])),
        None => (path, None),
    }
}
