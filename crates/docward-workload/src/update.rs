//! Analyses updates: the fields they write, the arrays they add elements to, and whether the arrays
//! are bounded.

use docward_model::{Push, QueryShape, Value};

use crate::positions::fold_positions;

/// The maximum depth of expressions to analyse.
const DEPTH: u32 = 8;

/// Operators for which the server computes the new value.
const ATOMIC: [&str; 10] =
    ["$inc", "$mul", "$min", "$max", "$bit", "$push", "$pushAll", "$addToSet", "$pull", "$pop"];

/// Returns whether an update overwrites fields with values that the client computed.
pub(crate) fn overwrites(update: &Value) -> bool {
    let operators = update.entries();
    let is_atomic = |(name, _): &(String, Value)| ATOMIC.contains(&name.as_str());
    // A pipeline computes on the server and has no entries.
    !operators.is_empty() && !operators.iter().any(is_atomic)
}

/// Reads the arrays and fields that an update changes into a shape.
pub(crate) fn read_update(shape: &mut QueryShape, filter: Option<&Value>, update: &Value) {
    if let Value::List(stages) = update {
        for (name, body) in stages.iter().flat_map(Value::entries) {
            for (path, value) in body.entries() {
                let path = fold_positions(path);
                if matches!(name.as_str(), "$set" | "$addFields")
                    && let Some(capped) = appends(value, &path, false, 0)
                {
                    shape.pushes.push(Push { path: path.clone(), capped });
                }
                shape.writes.push(path);
            }
            if name == "$unset" {
                // A path or a list of paths, which has no entries.
                let paths = body.as_text().into_iter();
                let paths = paths.chain(body.items().iter().filter_map(Value::as_text));
                let paths: Vec<String> = paths.map(fold_positions).collect();
                shape.writes.extend_from_slice(&paths);
                shape.removes.extend(paths);
            }
        }
    }
    let mut counters = Vec::new();
    for (operator, body) in update.entries() {
        if !operator.starts_with('$') {
            // A whole document that replaces the old one.
            return;
        }
        for (path, value) in body.entries() {
            let path = fold_positions(path);
            match operator.as_str() {
                "$push" => {
                    let capped = value.get("$slice").is_some();
                    shape.pushes.push(Push { path, capped });
                }
                "$addToSet" | "$pushAll" => shape.pushes.push(Push { path, capped: false }),
                "$setOnInsert" | "$pull" | "$pullAll" | "$pop" => {}
                _ => {
                    match operator.as_str() {
                        "$inc" => counters.push(path.clone()),
                        "$unset" => shape.removes.push(path.clone()),
                        // A rename removes the old name and sets the new one.
                        "$rename" => {
                            shape.writes.extend(value.as_text().map(fold_positions));
                            shape.removes.push(path.clone());
                        }
                        _ => {}
                    }
                    shape.writes.push(path);
                }
            }
        }
    }
    let mut guards = Guards::default();
    if let Some(filter) = filter {
        guards.read(filter, 0);
    }
    let counted = guards.below.iter().any(|path| counters.contains(path));
    for push in &mut shape.pushes {
        let names = without_positions(&push.path);
        push.capped |= counted || guards.arrays.contains(&names);
    }
}

/// Returns whether an expression is the array at `path` with added elements, and if so whether it
/// is truncated.
fn appends(value: &Value, path: &str, cut: bool, depth: u32) -> Option<bool> {
    if depth > DEPTH {
        return None;
    }
    if let Value::List(items) = value {
        return items.iter().find_map(|item| appends(item, path, cut, depth + 1));
    }
    value.entries().iter().find_map(|(operator, operand)| match operator.as_str() {
        "$concatArrays" | "$setUnion" if operand.items().iter().any(|i| is_array(i, path)) => {
            Some(cut)
        }
        "$slice" | "$firstN" | "$lastN" => appends(operand, path, true, depth + 1),
        _ => appends(operand, path, cut, depth + 1),
    })
}

/// Returns whether an expression is the array: `"$log"`, or `{$ifNull: ["$log", []]}`.
fn is_array(value: &Value, path: &str) -> bool {
    match value {
        Value::Text(text) => text.strip_prefix('$') == Some(path),
        _ => value
            .get("$ifNull")
            .and_then(|either| either.items().first())
            .is_some_and(|first| is_array(first, path)),
    }
}

/// The names in a folded path.
fn without_positions(path: &str) -> String {
    path.split('.').filter(|part| *part != "$").collect::<Vec<_>>().join(".")
}

/// The conditions of a filter that keep an array short.
#[derive(Default)]
struct Guards {
    /// Fields with an upper bound: counters, if the update increments them.
    below: Vec<String>,
    /// Arrays with a maximum length: by `$size`, or because an n-th element must not exist.
    arrays: Vec<String>,
}

impl Guards {
    fn read(&mut self, filter: &Value, depth: u32) {
        if depth > DEPTH {
            return;
        }
        for (key, condition) in filter.entries() {
            match key.as_str() {
                "$and" => condition.items().iter().for_each(|part| self.read(part, depth + 1)),
                "$expr" => self.expression(condition, depth + 1),
                _ => self.field(key, condition),
            }
        }
    }

    fn field(&mut self, key: &str, condition: &Value) {
        if condition.get("$lt").or_else(|| condition.get("$lte")).is_some() {
            self.below.push(fold_positions(key));
        }
        let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        let last = key.rsplit_once('.').filter(|(_, last)| !last.is_empty() && is_number(last));
        let is_absent = condition.get("$exists").is_some_and(|exists| !Value::is_truthy(exists));
        if let Some((array, _)) = last.filter(|_| is_absent) {
            self.arrays.push(without_positions(&fold_positions(array)));
        } else if condition.get("$size").is_some() {
            self.arrays.push(without_positions(&fold_positions(key)));
        }
    }

    /// `{$lt: [{$size: "$log"}, 10]}`, in either order.
    fn expression(&mut self, expression: &Value, depth: u32) {
        if depth > DEPTH {
            return;
        }
        for (operator, operands) in expression.entries() {
            let operands = operands.items();
            let smaller = match operator.as_str() {
                "$and" => {
                    operands.iter().for_each(|part| self.expression(part, depth + 1));
                    continue;
                }
                "$lt" | "$lte" => operands.first(),
                "$gt" | "$gte" => operands.get(1),
                "$eq" | "$ne" => operands.iter().find(|o| o.get("$size").is_some()),
                _ => continue,
            };
            if let Some(array) = smaller.and_then(|s| s.get("$size")).and_then(path_of) {
                self.arrays.push(array);
            }
        }
    }
}

fn path_of(expression: &Value) -> Option<String> {
    match expression {
        Value::Text(text) => text.strip_prefix('$').map(str::to_owned),
        _ => path_of(expression.get("$ifNull")?.items().first()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::tests::shape;

    fn pushed(q: &str, u: &str) -> Vec<Push> {
        shape(&format!(r#"{{"q": {q}, "u": {u}, "multi": false}}"#)).expect("an update").pushes
    }

    #[test]
    fn dm_08_4_pushes_say_whether_they_are_capped() {
        for (q, u, capped) in [
            ("{}", r#"{"$push": {"log": 1}}"#, false),
            ("{}", r#"{"$push": {"log": {"$each": [1], "$slice": -10}}}"#, true),
            ("{}", r#"{"$addToSet": {"log": 1}}"#, false),
            (r#"{"n": {"$lt": 60}}"#, r#"{"$push": {"log": 1}, "$inc": {"n": 1}}"#, true),
            (r#"{"log.59": {"$exists": false}}"#, r#"{"$push": {"log": 1}}"#, true),
            (r#"{"log.1999": {"$exists": false}}"#, r#"{"$push": {"log": 1}}"#, true),
            (r#"{"log": {"$size": 5}}"#, r#"{"$push": {"log": 1}}"#, true),
            (r#"{"log": {"$exists": true}}"#, r#"{"$push": {"log": 1}}"#, false),
            (r#"{"log.59": {"$exists": true}}"#, r#"{"$push": {"log": 1}}"#, false),
            (r#"{"log": {"$type": "array"}}"#, r#"{"$push": {"log": 1}}"#, false),
            (r#"{"$expr": {"$lt": [{"$size": "$log"}, 10]}}"#, r#"{"$push": {"log": 1}}"#, true),
            (
                r#"{"$expr": {"$and": [{"$gt": [10, {"$size": {"$ifNull": ["$log", []]}}]}]}}"#,
                r#"{"$push": {"log": 1}}"#,
                true,
            ),
            (r#"{"$expr": {"$gt": [{"$size": "$log"}, 10]}}"#, r#"{"$push": {"log": 1}}"#, false),
            // A date that is set to a new value is not a bound.
            (
                r#"{"updatedAt": {"$lt": {"$date": "2024-01-01T00:00:00Z"}}}"#,
                r#"{"$push": {"log": 1}, "$set": {"updatedAt": 5}}"#,
                false,
            ),
            (r#"{"n": {"$gt": 60}}"#, r#"{"$push": {"log": 1}, "$inc": {"n": 1}}"#, false),
        ] {
            assert_eq!(pushed(q, u), [Push { path: "log".into(), capped }], "{q} {u}");
        }
    }

    #[test]
    fn dm_06_3_paths_that_are_removed_are_told_apart() {
        let paths = |u: &str| {
            let shape = shape(&format!(r#"{{"q": {{}}, "u": {u}, "multi": true}}"#)).unwrap();
            (shape.writes.join(" "), shape.removes.join(" "))
        };
        for (u, writes, removes) in [
            (r#"{"$set": {"a.0.b": 1}, "$unset": {"c": 1}}"#, "a.$.b c", "c"),
            (r#"{"$rename": {"a": "b"}}"#, "a b", "a"),
            (r#"[{"$set": {"a": 1}}, {"$unset": ["b", "c"]}]"#, "a b c", "b c"),
            (r#"[{"$unset": "b"}]"#, "b", "b"),
        ] {
            assert_eq!(paths(u), (writes.to_owned(), removes.to_owned()), "{u}");
        }
    }

    #[test]
    fn dm_08_2_pipelines_that_add_to_an_array_are_pushes() {
        for (value, expected) in [
            (r#"{"$concatArrays": ["$log", [1]]}"#, Some(false)),
            (r#"{"$concatArrays": [{"$ifNull": ["$log", []]}, [1]]}"#, Some(false)),
            (r#"{"$setUnion": ["$log", [1]]}"#, Some(false)),
            (r#"{"$slice": [{"$concatArrays": ["$log", [1]]}, -10]}"#, Some(true)),
            (r#"{"$concatArrays": ["$a", "$b"]}"#, None),
            ("5", None),
        ] {
            let capped: Vec<bool> = pushed("{}", &format!(r#"[{{"$set": {{"log": {value}}}}}]"#))
                .iter()
                .map(|p| p.capped)
                .collect();
            assert_eq!(capped, expected.into_iter().collect::<Vec<_>>(), "{value}");
        }
    }
}
