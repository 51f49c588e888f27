//! Statements for mongosh that show or do what a finding proposes.

use docward_model::{BsonType, Field, FieldShape, Namespace, Profile};

pub use super::shell::{collection, quote as quoted};

enum Step<'a> {
    Name(&'a str),
    Elements,
}

/// An update that gives every value of the listed types at this place a new one. `convert` receives
/// the expression of the old value, quotes included. `None` when the place cannot be written in an
/// update: folded keys, or names with dots or dollars.
pub fn convert(
    namespace: &Namespace,
    profile: &Profile,
    field: &Field,
    types: &[BsonType],
    convert: &dyn Fn(&str) -> String,
) -> Option<String> {
    let steps = steps(profile, field)?;
    let names = steps.iter().take_while(|s| matches!(s, Step::Name(_))).count();
    let target: Vec<&str> = steps[..names]
        .iter()
        .filter_map(|s| if let Step::Name(name) = s { Some(*name) } else { None })
        .collect();
    let target = target.join(".");
    let path: Vec<&str> = steps
        .iter()
        .filter_map(|s| if let Step::Name(name) = s { Some(*name) } else { None })
        .collect();
    let kinds: Vec<String> = types.iter().map(|t| quoted(t.name())).collect();
    let kinds = kinds.join(", ");
    let value = expression(&steps[names..], &format!("${target}"), 0, &kinds, convert);
    let filter = if types.len() == 1 { kinds } else { format!("[{kinds}]") };
    Some(format!(
        "{}.updateMany({{{}: {{$type: {filter}}}}}, [{{$set: {{{}: {value}}}}}])",
        collection(namespace),
        quoted(&path.join(".")),
        quoted(&target),
    ))
}

fn expression(
    steps: &[Step<'_>],
    at: &str,
    depth: usize,
    kinds: &str,
    convert: &dyn Fn(&str) -> String,
) -> String {
    let value = quoted(at);
    match steps {
        [] => format!(
            "{{$cond: [{{$in: [{{$type: {value}}}, [{kinds}]]}}, {}, {value}]}}",
            convert(&value)
        ),
        // An absent array must stay absent, so the mapping is guarded.
        [Step::Elements, rest @ ..] => {
            let item = format!("$$e{depth}");
            format!(
                "{{$cond: [{{$isArray: {value}}}, {{$map: {{input: {value}, as: \"e{depth}\", in: {}}}}}, {value}]}}",
                expression(rest, &item, depth + 1, kinds, convert)
            )
        }
        [Step::Name(name), rest @ ..] => format!(
            "{{$cond: [{{$eq: [{{$type: {value}}}, \"object\"]}}, {{$mergeObjects: [{value}, {{{}: {}}}]}}, {value}]}}",
            quoted(name),
            expression(rest, &format!("{at}.{name}"), depth, kinds, convert)
        ),
    }
}

fn steps<'a>(profile: &'a Profile, field: &'a Field) -> Option<Vec<Step<'a>>> {
    let mut steps = Vec::new();
    let mut at = Some(field);
    while let Some(current) = at {
        steps.push(match current.shape {
            FieldShape::Named
                if !current.name.is_empty()
                    && !current.name.contains('.')
                    && !current.name.starts_with('$') =>
            {
                Step::Name(&current.name)
            }
            FieldShape::Element => Step::Elements,
            _ => return None,
        });
        at = profile.parent(current);
    }
    steps.reverse();
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_escaped() {
        assert_eq!(quoted("a\"b\\c"), "\"a\\\"b\\\\c\"");
        assert_eq!(quoted("täglich"), "\"täglich\"");
        assert_eq!(quoted("a\nb"), "\"a\\nb\"");
    }
}
