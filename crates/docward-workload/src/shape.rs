//! From a command to its shape: which fields it compares, sorts by, returns, joins and changes.

use docward_model::{Comparison, Lookup, Namespace, Operation, Predicate, Push, QueryShape, Value};

/// Filters are taken apart this far down.
const DEPTH: u32 = 8;

/// The shape of a command on a collection; `None` for commands that are no data operations.
pub(crate) fn shape_of(namespace: &Namespace, command: &Value) -> Option<QueryShape> {
    let (name, _) = command.entries().first()?;
    let operation = match name.as_str() {
        "find" => Operation::Find,
        "aggregate" => Operation::Aggregate,
        "count" => Operation::Count,
        "distinct" => Operation::Distinct,
        "getMore" => Operation::GetMore,
        "insert" => Operation::Insert,
        "findAndModify" | "findandmodify" => Operation::FindAndModify,
        // The statements inside `update` and `delete` commands, which the server writes down one by one.
        "q" if command.get("u").is_some() => Operation::Update,
        "q" => Operation::Delete,
        _ => return None,
    };
    let mut shape = QueryShape {
        namespace: namespace.clone(),
        operation,
        filter: Vec::new(),
        branches: false,
        sort: Vec::new(),
        projection: None,
        limited: command.get("limit").and_then(Value::as_int).is_some_and(|n| n != 0),
        lookups: Vec::new(),
        computes: operation == Operation::Count,
        pushes: Vec::new(),
        writes: Vec::new(),
    };
    match operation {
        Operation::Aggregate => {
            let stages = command.get("pipeline")?.items();
            if stages.first().is_some_and(asks_the_server) {
                return None;
            }
            shape.pipeline(stages);
        }
        Operation::GetMore | Operation::Insert => {}
        _ => {
            let filter = ["filter", "query", "q"].iter().find_map(|key| command.get(key));
            if let Some(filter) = filter {
                shape.filter(filter, "", 0);
            }
        }
    }
    if let Some(sort) = command.get("sort") {
        shape.sort = sort_of(sort);
    }
    if let Some(fields) = command.get("projection").or_else(|| command.get("fields")) {
        shape.projection = projection_of(fields);
    }
    if operation == Operation::Distinct {
        shape.projection = command.get("key").and_then(Value::as_text).map(|k| vec![k.to_owned()]);
    }
    if let Some(update) = command.get("u").or_else(|| command.get("update")) {
        shape.update(update);
    }
    shape.filter.sort();
    shape.filter.dedup();
    shape.lookups.sort();
    shape.lookups.dedup();
    shape.writes.sort();
    shape.writes.dedup();
    Some(shape)
}

/// Whether a first stage asks about the server or a collection's figures, not for documents.
fn asks_the_server(stage: &Value) -> bool {
    stage.entries().first().is_some_and(|(name, _)| {
        matches!(
            name.as_str(),
            "$collStats"
                | "$indexStats"
                | "$currentOp"
                | "$listSessions"
                | "$listLocalSessions"
                | "$planCacheStats"
                | "$queryStats"
                | "$changeStream"
                | "$listSampledQueries"
        )
    })
}

/// Reads parts of a command into a shape.
trait Read {
    fn pipeline(&mut self, stages: &[Value]);
    fn filter(&mut self, filter: &Value, prefix: &str, depth: u32);
    fn field(&mut self, path: String, condition: &Value, depth: u32);
    fn update(&mut self, update: &Value);
    fn push(&mut self, path: &str, capped: bool);
}

impl Read for QueryShape {
    fn pipeline(&mut self, stages: &[Value]) {
        // What comes before the documents change their form is what an index can serve.
        let mut untouched = true;
        for stage in stages {
            let Some((name, body)) = stage.entries().first() else { continue };
            match name.as_str() {
                "$match" if untouched => self.filter(body, "", 0),
                "$sort" if untouched && self.sort.is_empty() => self.sort = sort_of(body),
                "$limit" => self.limited = true,
                "$lookup" | "$graphLookup" => {
                    let field = |key: &str| body.get(key).and_then(Value::as_text);
                    if let Some(from) = field("from") {
                        let local = field("localField").or_else(|| field("connectFromField"));
                        let foreign = field("foreignField").or_else(|| field("connectToField"));
                        let fields = local.zip(foreign);
                        self.lookups.push(Lookup {
                            from: from.to_owned(),
                            fields: fields.map(|(a, b)| (a.to_owned(), b.to_owned())),
                        });
                    }
                    untouched = false;
                }
                "$count" | "$sortByCount" => self.computes = true,
                "$group" => {
                    let adds_up = |(_, value): &(String, Value)| {
                        ["$sum", "$avg", "$count"].iter().any(|op| value.get(op).is_some())
                    };
                    self.computes |= body.entries().iter().any(adds_up);
                    untouched = false;
                }
                "$project" => {
                    if untouched {
                        self.projection = projection_of(body);
                    }
                    untouched = false;
                }
                "$match" | "$sort" | "$skip" => {}
                _ => untouched = false,
            }
        }
    }

    fn filter(&mut self, filter: &Value, prefix: &str, depth: u32) {
        if depth > DEPTH {
            return;
        }
        for (key, condition) in filter.entries() {
            match key.as_str() {
                "$and" => {
                    condition.items().iter().for_each(|part| self.filter(part, prefix, depth + 1));
                }
                "$or" => match condition.items() {
                    [only] => self.filter(only, prefix, depth + 1),
                    _ => self.branches = true,
                },
                "$comment" => {}
                _ if key.starts_with('$') => self.filter.push(Predicate {
                    path: format!("{prefix}{key}"),
                    comparison: Comparison::Special,
                }),
                // Whether an array has an n-th element is asked to keep it short: the n matters.
                _ if condition.get("$exists").is_some() => self.filter.push(Predicate {
                    path: format!("{prefix}{key}"),
                    comparison: Comparison::Exists,
                }),
                _ => self.field(format!("{prefix}{}", without_positions(key)), condition, depth),
            }
        }
    }

    fn field(&mut self, path: String, condition: &Value, depth: u32) {
        let operators = condition.entries();
        if !operators.first().is_some_and(|(op, _)| op.starts_with('$')) {
            let comparison = match condition {
                Value::Other(text) if text.starts_with('/') => regex(text),
                _ => Comparison::Equality,
            };
            self.filter.push(Predicate { path, comparison });
            return;
        }
        for (operator, value) in operators {
            let comparison = match operator.as_str() {
                "$eq" | "$all" => Comparison::Equality,
                "$in" if value.items().len() <= 1 => Comparison::Equality,
                "$in" if value.items().len() <= 200 => Comparison::OneOf,
                "$in" => Comparison::OneOfMany,
                "$gt" | "$gte" | "$lt" | "$lte" => Comparison::Range,
                "$regex" => {
                    let options = condition.get("$options").and_then(Value::as_text);
                    match value {
                        Value::Text(text) => regex(&format!("/{text}/{}", options.unwrap_or(""))),
                        Value::Other(text) => regex(text),
                        _ => Comparison::Regex,
                    }
                }
                "$exists" => Comparison::Exists,
                "$ne" | "$nin" | "$not" => Comparison::Negation,
                "$elemMatch" => {
                    if value.entries().iter().any(|(key, _)| !key.starts_with('$')) {
                        self.filter(value, &format!("{path}."), depth + 1);
                    } else {
                        self.field(path.clone(), value, depth + 1);
                    }
                    continue;
                }
                "$options" => continue,
                // Extended JSON of a value, when it was not read as one.
                "$oid" | "$date" | "$uuid" | "$numberLong" | "$numberDecimal" | "$binary" => {
                    Comparison::Equality
                }
                _ => Comparison::Special,
            };
            self.filter.push(Predicate { path: path.clone(), comparison });
        }
    }

    fn update(&mut self, update: &Value) {
        if let Value::List(stages) = update {
            for (_, body) in stages.iter().flat_map(Value::entries) {
                self.writes.extend(body.entries().iter().map(|(path, _)| without_positions(path)));
            }
            return;
        }
        for (operator, body) in update.entries() {
            if !operator.starts_with('$') {
                // A whole document that replaces the old one.
                return;
            }
            for (path, value) in body.entries() {
                match operator.as_str() {
                    "$push" => self.push(path, value.get("$slice").is_some()),
                    "$addToSet" => self.push(path, false),
                    "$pushAll" => self.push(path, false),
                    "$setOnInsert" | "$pull" | "$pullAll" | "$pop" => {}
                    _ => self.writes.push(without_positions(path)),
                }
            }
        }
        // `count: {$lt: 60}` in the filter and `$inc: {count: 1}` in the update bound the array, and so
        // does asking that its n-th element does not exist.
        let counted = self
            .filter
            .iter()
            .any(|p| p.comparison == Comparison::Range && self.writes.contains(&p.path));
        let arrays: Vec<String> = self.pushes.iter().map(|p| p.path.clone()).collect();
        for (push, path) in self.pushes.iter_mut().zip(arrays) {
            let asks_for_room = self.filter.iter().any(|p| {
                let nth = p.path.strip_prefix(&path).and_then(|rest| rest.strip_prefix('.'));
                p.comparison == Comparison::Exists
                    && nth.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
            });
            let fits = |p: &Predicate| p.comparison == Comparison::Special && p.path == path;
            push.capped |= counted || asks_for_room || self.filter.iter().any(fits);
        }
    }

    fn push(&mut self, path: &str, capped: bool) {
        self.pushes.push(Push { path: without_positions(path), capped });
    }
}

/// `/^abc/` fixes how a text begins; without the case of its letters it does not.
fn regex(text: &str) -> Comparison {
    let any_case = text.rsplit('/').next().is_some_and(|options| options.contains('i'));
    if text.starts_with("/^") && !any_case { Comparison::Prefix } else { Comparison::Regex }
}

/// `items.3.price` and `items.$[x].price` as `items.price`: positions are values, not names.
fn without_positions(path: &str) -> String {
    let is_position = |part: &str| {
        part.starts_with('$') || (!part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    };
    if !path.split('.').any(is_position) {
        return path.to_owned();
    }
    path.split('.').filter(|part| !is_position(part)).collect::<Vec<_>>().join(".")
}

fn sort_of(sort: &Value) -> Vec<(String, bool)> {
    let entries = sort.entries().iter();
    entries.map(|(path, way)| (path.clone(), way.as_int().is_none_or(|n| n > 0))).collect()
}

/// The fields a projection keeps; `None` when it only leaves some out.
fn projection_of(projection: &Value) -> Option<Vec<String>> {
    let entries = projection.entries();
    let keeps = |(key, value): &&(String, Value)| {
        key != "_id" && value.as_int() != Some(0) && *value != Value::Bool(false)
    };
    let mut kept: Vec<String> = entries.iter().filter(keeps).map(|(key, _)| key.clone()).collect();
    let leaves_out = entries.iter().any(|(key, value)| {
        key != "_id" && (value.as_int() == Some(0) || *value == Value::Bool(false))
    });
    if leaves_out || kept.is_empty() {
        return None;
    }
    kept.sort();
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(command: &str) -> Option<QueryShape> {
        let document = docward_bson::json::parse_one(command).expect("a command");
        let command = docward_bson::value::to_value(&document).expect("BSON");
        shape_of(&Namespace::new("db", "c"), &command)
    }

    fn filter(command: &str) -> Vec<(String, Comparison)> {
        let shape = shape(command).expect("a data operation");
        shape.filter.into_iter().map(|p| (p.path, p.comparison)).collect()
    }

    fn expect(pairs: &[(&str, Comparison)]) -> Vec<(String, Comparison)> {
        pairs.iter().map(|(path, comparison)| ((*path).to_owned(), *comparison)).collect()
    }

    #[test]
    fn filters_are_taken_apart() {
        use Comparison as C;
        for (text, fields) in [
            (r#"{"a": 1}"#, vec![("a", C::Equality)]),
            (r#"{"a": {"$gt": 1, "$lt": 5}}"#, vec![("a", C::Range)]),
            (
                r#"{"a": {"$in": [1, 2]}, "b": {"$in": [1]}}"#,
                vec![("a", C::OneOf), ("b", C::Equality)],
            ),
            (
                r#"{"$and": [{"a": 1}, {"b": {"$ne": 2}}]}"#,
                vec![("a", C::Equality), ("b", C::Negation)],
            ),
            (
                r#"{"a": {"$regex": "^x"}, "b": {"$regex": "x"}}"#,
                vec![("a", C::Prefix), ("b", C::Regex)],
            ),
            (r#"{"a": {"$regex": "^x", "$options": "i"}}"#, vec![("a", C::Regex)]),
            (
                r#"{"items": {"$elemMatch": {"sku": 1, "n": {"$gte": 2}}}}"#,
                vec![("items.n", C::Range), ("items.sku", C::Equality)],
            ),
            (r#"{"a": {"$oid": "65f3a2b8c1d2e3f4a5b6c7d8"}}"#, vec![("a", C::Equality)]),
            (r#"{"a": {"x": 1}}"#, vec![("a", C::Equality)]),
            (r#"{"$text": {"$search": "x"}}"#, vec![("$text", C::Special)]),
            (r#"{"items.3.sku": 1}"#, vec![("items.sku", C::Equality)]),
        ] {
            assert_eq!(
                filter(&format!(r#"{{"find": "c", "filter": {text}}}"#)),
                expect(&fields),
                "{text}"
            );
        }
        assert!(
            shape(r#"{"find": "c", "filter": {"$or": [{"a": 1}, {"b": 1}]}}"#).unwrap().branches
        );
    }

    #[test]
    fn pipelines_are_read_as_far_as_an_index_can_follow() {
        let shape = shape(
            r#"{"aggregate": "c", "pipeline": [
                {"$match": {"a": 1}}, {"$sort": {"t": -1}},
                {"$lookup": {"from": "users", "localField": "u", "foreignField": "_id", "as": "user"}},
                {"$match": {"user.x": 1}}, {"$group": {"_id": "$k", "n": {"$sum": 1}}}]}"#,
        )
        .expect("a data operation");
        assert_eq!(
            shape.filter,
            [Predicate { path: "a".into(), comparison: Comparison::Equality }]
        );
        assert_eq!(shape.sort, [("t".to_owned(), false)]);
        assert_eq!(shape.lookups[0].from, "users");
        assert_eq!(shape.lookups[0].fields, Some(("u".into(), "_id".into())));
        assert!(shape.computes);
    }

    #[test]
    fn questions_about_the_server_are_no_data_operations() {
        for command in [
            r#"{"hello": 1}"#,
            r#"{"aggregate": "c", "pipeline": [{"$collStats": {"count": {}}}]}"#,
            r#"{"update": "c", "ordered": true}"#,
            r#"{"listIndexes": "c"}"#,
        ] {
            assert!(shape(command).is_none(), "{command}");
        }
    }

    #[test]
    fn dm_08_4_pushes_say_whether_they_are_capped() {
        for (q, u, capped) in [
            ("{}", r#"{"$push": {"log": 1}}"#, false),
            ("{}", r#"{"$push": {"log": {"$each": [1], "$slice": -10}}}"#, true),
            ("{}", r#"{"$addToSet": {"log": 1}}"#, false),
            (r#"{"n": {"$lt": 60}}"#, r#"{"$push": {"log": 1}, "$inc": {"n": 1}}"#, true),
            (r#"{"log.59": {"$exists": false}}"#, r#"{"$push": {"log": 1}}"#, true),
            (r#"{"log": {"$size": 5}}"#, r#"{"$push": {"log": 1}}"#, true),
            (r#"{"log": {"$exists": true}}"#, r#"{"$push": {"log": 1}}"#, false),
        ] {
            let shape =
                shape(&format!(r#"{{"q": {q}, "u": {u}, "multi": false}}"#)).expect("an update");
            assert_eq!(shape.operation, Operation::Update);
            assert_eq!(shape.pushes, [Push { path: "log".into(), capped }], "{q} {u}");
        }
    }

    #[test]
    fn projections_keep_or_leave_out() {
        let kept = |text: &str| {
            shape(&format!(r#"{{"find": "c", "projection": {text}}}"#)).unwrap().projection
        };
        assert_eq!(kept(r#"{"_id": 0, "b": 1, "a": 1}"#), Some(vec!["a".into(), "b".into()]));
        assert_eq!(kept(r#"{"big": 0}"#), None);
        assert_eq!(kept("{}"), None);
    }
}
