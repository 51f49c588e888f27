//! Resolves dotted paths: through objects, into arrays by index and into the objects in them. The
//! server's rules apply: one path may lead to several values, to a missing one, or nowhere.

use docward_bson::walk::Fault;

use crate::{
    schema::LONE,
    value::{ARRAY, OBJECT, Raw},
};

/// The target that an expression is evaluated on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'d> {
    /// The fields of an object.
    Fields(&'d [u8]),
    /// One value, under the name that schemas of elements and properties use for it.
    Lone(Raw<'d>),
}

impl<'d> Subject<'d> {
    /// The first field with this name.
    fn get(self, name: &[u8]) -> Result<Option<Raw<'d>>, Fault> {
        match self {
            Self::Lone(value) => Ok((name == LONE).then_some(value)),
            Self::Fields(bytes) => Raw { tag: OBJECT, bytes }.field(name),
        }
    }
}

/// The evaluation of an array at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// It is evaluated as itself.
    Whole,
    /// Its elements are evaluated.
    Elements,
    /// Its elements are evaluated, then the array itself.
    Both,
}

/// Receives each value, `None` for a missing one; returns whether to stop.
pub(crate) type Visit<'v, 'd> = dyn FnMut(Option<Raw<'d>>) -> Result<bool, Fault> + 'v;

/// Visits the values that a path leads to; returns whether the visitor stopped.
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

/// Descends to the end of the path or to the first array, and returns the rest of the path.
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
            // A value that is neither an object nor an array has no fields.
            (_, Some(_)) => return Ok((None, b"")),
            (value, None) => return Ok((value, b"")),
        }
    }
}

/// Visits the values in an array, along the rest of a path.
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

/// The first step and the rest after its dot.
pub(crate) fn split(path: &[u8]) -> (&[u8], Option<&[u8]>) {
    match path.iter().position(|byte| *byte == b'.') {
        Some(dot) => (&path[..dot], Some(&path[dot + 1..])),
        None => (path, None),
    }
}
