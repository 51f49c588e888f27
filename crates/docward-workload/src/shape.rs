//! Derives the shape of a command: the fields it filters, sorts by, returns, joins and changes.

use docward_model::{Comparison, Lookup, Namespace, Operation, Predicate, QueryShape, Value};

use crate::{positions::fold_positions, update::read_update};

/// The maximum depth of filters to analyse.
const DEPTH: u32 = 8;

/// The maximum number of `$or` branches to analyse.
const BRANCHES: usize = 8;

/// With a sort, the server uses the order of an index for at most this many combinations of the
/// values of `$in`; above that it sorts in memory.
const COMBINATIONS: usize = 200;

/// The shape of a command on a collection; `None` for commands that are not data operations.
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
        // The statements of `update` and `delete` commands, which the server records one by one.
        "q" | "u" if command.get("u").is_some() => Operation::Update,
        "q" => Operation::Delete,
        _ => return None,
    };
    let mut shape = QueryShape {
        namespace: namespace.clone(),
        operation,
        filter: Vec::new(),
        branches: false,
        alternatives: Vec::new(),
        filters_late: false,
        sort: Vec::new(),
        in_stored_order: reads_in_stored_order(command),
        collation: command.get("collation").map(collation_of).unwrap_or_default(),
        projection: None,
        limited: command.get("limit").and_then(Value::as_int).is_some_and(|n| n != 0),
        lookups: Vec::new(),
        computes: operation == Operation::Count,
        pushes: Vec::new(),
        writes: Vec::new(),
        removes: Vec::new(),
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
            if let Some(filter) = filter_of(command) {
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
        read_update(&mut shape, filter_of(command), update);
    }
    if !shape.sort.is_empty() {
        shape.bound_lists(command);
    }
    shape.filter.sort();
    shape.filter.dedup();
    shape.alternatives.iter_mut().for_each(|branch| {
        branch.sort();
        branch.dedup();
    });
    shape.alternatives.sort();
    shape.alternatives.dedup();
    shape.removes.sort();
    shape.removes.dedup();
    shape.lookups.sort();
    shape.lookups.dedup();
    shape.writes.sort();
    shape.writes.dedup();
    Some(shape)
}

/// Returns whether a first stage queries the server or statistics of a collection, not documents.
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

/// The filter of a command, if it has one.
pub(crate) fn filter_of(command: &Value) -> Option<&Value> {
    ["filter", "query", "q"].iter().find_map(|key| command.get(key))
}

/// Tailable cursors and `$natural` need the storage order, so no index is missing.
fn reads_in_stored_order(command: &Value) -> bool {
    let natural = |key: &str| command.get(key).is_some_and(|by| by.get("$natural").is_some());
    command.get("tailable").is_some_and(Value::is_truthy) || natural("sort") || natural("hint")
}

/// The options of a collation, with their values as literals; empty for the simple one.
fn collation_of(collation: &Value) -> Vec<(String, String)> {
    let literal = |value: &Value| match value {
        Value::Text(text) => Some(format!("{text:?}")),
        Value::Bool(b) => Some(b.to_string()),
        other => other.as_int().map(|n| n.to_string()),
    };
    let mut options: Vec<_> = collation
        .entries()
        .iter()
        .filter(|(key, _)| key != "version")
        .filter_map(|(key, value)| Some((key.clone(), literal(value)?)))
        .collect();
    options.sort();
    if options.iter().any(|(key, value)| key == "locale" && value == "\"simple\"") {
        options.clear();
    }
    options
}

/// Reads parts of a command into a shape.
trait Read {
    fn pipeline(&mut self, stages: &[Value]);
    fn matching(&mut self, filter: &Value, made: &[&str]);
    fn join(&mut self, body: &Value);
    fn filter(&mut self, filter: &Value, prefix: &str, depth: u32);
    fn branch(&mut self, parts: &[Value], prefix: &str, depth: u32);
    fn close_ranges(&mut self, parts: &[Value], prefix: &str);
    fn bound_lists(&mut self, command: &Value);
    fn field(&mut self, path: String, condition: &Value, depth: u32);
}

impl Read for QueryShape {
    fn pipeline(&mut self, stages: &[Value]) {
        // An index can only serve stages that see all documents as they are stored: not those after
        // a group, and not those after a limit.
        let (mut stored, mut sortable) = (true, true);
        // Fields that stages added or removed. The server moves a `$match` on other fields before
        // those stages.
        let mut made: Vec<&str> = Vec::new();
        for stage in stages {
            let Some((name, body)) = stage.entries().first() else { continue };
            match name.as_str() {
                "$match" if stored => self.matching(body, &made),
                "$sort" if stored && sortable && self.sort.is_empty() => self.sort = sort_of(body),
                "$match" | "$sort" => {}
                "$limit" | "$skip" => {
                    self.limited |= name == "$limit";
                    stored = false;
                }
                "$lookup" | "$graphLookup" => {
                    self.join(body);
                    made.extend(body.get("as").and_then(Value::as_text));
                    sortable = false;
                }
                "$addFields" | "$set" => {
                    made.extend(body.entries().iter().map(|(path, _)| path.as_str()));
                    sortable = false;
                }
                "$unset" => {
                    made.extend(body.as_text());
                    made.extend(body.items().iter().filter_map(Value::as_text));
                    sortable = false;
                }
                "$unwind" => {
                    let path = body.as_text().or_else(|| body.get("path")?.as_text());
                    made.extend(path.map(|path| path.trim_start_matches('$')));
                    sortable = false;
                }
                "$project" => {
                    if stored && made.is_empty() {
                        self.projection = projection_of(body);
                    }
                    let kept =
                        |value: &Value| value.as_int() == Some(1) || *value == Value::Bool(true);
                    made.extend(
                        body.entries()
                            .iter()
                            .filter(|(_, v)| !kept(v))
                            .map(|(path, _)| path.as_str()),
                    );
                    sortable = false;
                }
                "$geoNear" => {
                    if let Some(query) = body.get("query") {
                        self.filter(query, "", 0);
                    }
                    let path = body.get("key").and_then(Value::as_text).unwrap_or("$geoNear");
                    self.filter
                        .push(Predicate { path: path.to_owned(), comparison: Comparison::Special });
                    sortable = false;
                }
                "$count" | "$sortByCount" => {
                    self.computes = true;
                    stored = false;
                }
                "$group" => {
                    let adds_up = |(_, value): &(String, Value)| {
                        ["$sum", "$avg", "$count"].iter().any(|op| value.get(op).is_some())
                    };
                    self.computes |= body.entries().iter().any(adds_up);
                    stored = false;
                }
                _ => stored = false,
            }
        }
    }

    /// Reads a `$match` after stages that added or removed fields.
    fn matching(&mut self, filter: &Value, made: &[&str]) {
        let (known, had_branches) = (self.filter.len(), self.branches);
        let had_alternatives = self.alternatives.clone();
        self.filter(filter, "", 0);
        let below = |path: &str, field: &str| {
            path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let asks_for_made = self.filter[known..].iter().any(|p| {
            p.path.starts_with('$')
                || made.iter().any(|field| below(&p.path, field) || below(field, &p.path))
        });
        if !made.is_empty() && (asks_for_made || self.branches != had_branches) {
            self.filter.truncate(known);
            self.branches = had_branches;
            self.alternatives = had_alternatives;
            self.filters_late = true;
        }
    }

    /// Reads a join, unless it joins the collection with itself or everything with everything.
    fn join(&mut self, body: &Value) {
        let field = |key: &str| body.get(key).and_then(Value::as_text);
        let Some(from) = field("from").filter(|from| *from != self.namespace.collection) else {
            return;
        };
        let local = field("localField").or_else(|| field("connectFromField"));
        let foreign = field("foreignField").or_else(|| field("connectToField"));
        let fields = local.zip(foreign);
        if fields.is_none() && body.get("let").is_none_or(|with| with.entries().is_empty()) {
            return;
        }
        self.lookups.push(Lookup {
            from: from.to_owned(),
            fields: fields.map(|(a, b)| (a.to_owned(), b.to_owned())),
        });
    }

    fn filter(&mut self, filter: &Value, prefix: &str, depth: u32) {
        if depth > DEPTH {
            return;
        }
        for (key, condition) in filter.entries() {
            match key.as_str() {
                "$and" => {
                    condition.items().iter().for_each(|part| self.filter(part, prefix, depth + 1));
                    self.close_ranges(condition.items(), prefix);
                }
                "$or" => match condition.items() {
                    [only] => self.filter(only, prefix, depth + 1),
                    parts => self.branch(parts, prefix, depth),
                },
                "$comment" => {}
                _ if key.starts_with('$') => self.filter.push(Predicate {
                    path: format!("{prefix}{key}"),
                    comparison: if key == "$text" {
                        Comparison::Special
                    } else {
                        Comparison::Expression
                    },
                }),
                _ => self.field(format!("{prefix}{}", fold_positions(key)), condition, depth),
            }
        }
    }

    /// Reads the branches of an `$or`. Several, or nested ones, are not analysed: an index for each
    /// would serve none of the combinations.
    fn branch(&mut self, parts: &[Value], prefix: &str, depth: u32) {
        let is_only = !self.branches;
        self.branches = true;
        self.alternatives.clear();
        if !is_only || parts.len() > BRANCHES {
            return;
        }
        let mut alternatives = Vec::new();
        for part in parts {
            let mut branch = Self {
                filter: Vec::new(),
                branches: false,
                alternatives: Vec::new(),
                ..self.clone()
            };
            branch.filter(part, prefix, depth + 1);
            if branch.branches {
                return;
            }
            alternatives.push(branch.filter);
        }
        self.alternatives = alternatives;
    }

    /// Merges ranges whose two ends are in different parts of an `$and`.
    fn close_ranges(&mut self, parts: &[Value], prefix: &str) {
        let conditions: Vec<_> = parts.iter().flat_map(Value::entries).collect();
        for (key, _) in &conditions {
            let same = || conditions.iter().filter(|(other, _)| other == key);
            if same().any(|(_, c)| has_end(c, BELOW)) && same().any(|(_, c)| has_end(c, ABOVE)) {
                let path = format!("{prefix}{}", fold_positions(key));
                let ranges = self.filter.iter_mut().filter(|p| p.path == path);
                ranges
                    .filter(|p| p.comparison == Comparison::Range)
                    .for_each(|p| p.comparison = Comparison::Between);
            }
        }
    }

    /// The lengths of several `$in`s multiply: the longest count as ranges until the product of the
    /// rest is small enough.
    fn bound_lists(&mut self, command: &Value) {
        let mut lists = Vec::new();
        let stages = command.get("pipeline").map_or(&[][..], Value::items);
        let filters = filter_of(command).into_iter();
        for filter in filters.chain(stages.iter().filter_map(|stage| stage.get("$match"))) {
            in_lists(filter, 0, &mut lists);
        }
        lists.sort_by(|a: &(String, usize), b| (b.1, &a.0).cmp(&(a.1, &b.0)));
        let product = |lists: &[(String, usize)]| {
            lists.iter().fold(1_usize, |all, (_, n)| all.saturating_mul(*n))
        };
        let mut rest = lists.as_slice();
        while let [(longest, _), shorter @ ..] = rest
            && product(rest) > COMBINATIONS
        {
            for asked in self.filter.iter_mut().filter(|p| p.path == *longest) {
                if asked.comparison == Comparison::OneOf {
                    asked.comparison = Comparison::OneOfMany;
                }
            }
            rest = shorter;
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
                // Query statistics only contain the type of the list.
                "$in" if value.as_text().is_some() => Comparison::OneOf,
                "$in" if value.items().len() <= 1 => Comparison::Equality,
                "$in" if value.items().len() <= COMBINATIONS => Comparison::OneOf,
                "$in" => Comparison::OneOfMany,
                "$gt" | "$gte" | "$lt" | "$lte" => {
                    let has_both = has_end(condition, BELOW) && has_end(condition, ABOVE);
                    if has_both { Comparison::Between } else { Comparison::Range }
                }
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
                // Extended JSON of a value that was not parsed as one.
                "$oid" | "$date" | "$uuid" | "$numberLong" | "$numberDecimal" | "$binary" => {
                    Comparison::Equality
                }
                "$near" | "$nearSphere" | "$geoWithin" | "$geoIntersects" | "$within" => {
                    Comparison::Special
                }
                _ => Comparison::Expression,
            };
            self.filter.push(Predicate { path: path.clone(), comparison });
        }
    }
}

/// The operators of a range's lower bound.
const BELOW: [&str; 2] = ["$gt", "$gte"];
/// The operators of a range's upper bound; see [`BELOW`].
const ABOVE: [&str; 2] = ["$lt", "$lte"];

fn has_end(condition: &Value, operators: [&str; 2]) -> bool {
    operators.iter().any(|operator| condition.get(operator).is_some())
}

/// The `$in`s that all have to match, with the number of their values.
fn in_lists(filter: &Value, depth: u32, lists: &mut Vec<(String, usize)>) {
    if depth > DEPTH {
        return;
    }
    for (key, condition) in filter.entries() {
        if key == "$and" {
            condition.items().iter().for_each(|part| in_lists(part, depth + 1, lists));
        } else if let Some(list) = condition.get("$in") {
            lists.push((fold_positions(key), list.items().len().max(1)));
        }
    }
}

/// The comparison of a regular expression. `/^abc/` is a prefix as far as the server can use it: not
/// if it is case-insensitive or multi-line, contains an alternative, or its first letter is optional.
fn regex(text: &str) -> Comparison {
    let (pattern, options) =
        text.strip_prefix('/').and_then(|rest| rest.rsplit_once('/')).unwrap_or((text, ""));
    let anchored = pattern.strip_prefix('^').or_else(|| pattern.strip_prefix(r"\A"));
    let is_prefix = !options.contains(['i', 'm'])
        && anchored.is_some_and(|rest| begins_with_literal(rest) && !has_alternatives(rest));
    if is_prefix { Comparison::Prefix } else { Comparison::Regex }
}

fn begins_with_literal(pattern: &str) -> bool {
    let mut letters = pattern.chars();
    let is_literal = match letters.next() {
        Some('\\') => match letters.next() {
            Some('Q') => return letters.next().is_some_and(|c| c != '\\'),
            escaped => escaped.is_some_and(|c| !c.is_ascii_alphanumeric()),
        },
        first => first.is_some_and(|c| !"^$.[()+{*?|".contains(c)),
    };
    is_literal && !matches!(letters.next(), Some('*' | '?'))
}

fn has_alternatives(pattern: &str) -> bool {
    let mut escaped = false;
    pattern.chars().any(|c| {
        let is_one = c == '|' && !escaped;
        escaped = c == '\\' && !escaped;
        is_one
    })
}

/// The sort fields that an index can support: not the storage order, and not a score (`{$meta:
/// "textScore"}`).
fn sort_of(sort: &Value) -> Vec<(String, bool)> {
    let by_field = |(path, way): &&(String, Value)| path != "$natural" && way.entries().is_empty();
    let entries = sort.entries().iter().filter(by_field);
    entries.map(|(path, way)| (path.clone(), way.as_int().is_none_or(|n| n > 0))).collect()
}

/// The fields that a projection includes; `None` if it only excludes some.
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
pub(crate) mod tests {
    use super::*;

    pub(crate) fn shape(command: &str) -> Option<QueryShape> {
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
            (r#"{"a": {"$gt": 1, "$lt": 5}}"#, vec![("a", C::Between)]),
            (r#"{"a": {"$gte": 1}}"#, vec![("a", C::Range)]),
            (r#"{"$and": [{"a": {"$gt": 1}}, {"a": {"$lt": 5}}]}"#, vec![("a", C::Between)]),
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
            (r#"{"items.3.sku": 1}"#, vec![("items.$.sku", C::Equality)]),
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
    fn ck_12_only_a_fixed_beginning_is_a_prefix() {
        for (pattern, is_prefix) in [
            ("/^abc/", true),
            (r"/^\.x/", true),
            (r"/^a\|b/", true),
            (r"/\Aabc/", true),
            (r"/^\Qa.b\E/", true),
            ("/^a+/", true),
            ("/abc/", false),
            ("/^.*foo/", false),
            ("/^a|b/", false),
            ("/^a(b|c)/", false),
            ("/^a*b/", false),
            (r"/^\d/", false),
            ("/^[ab]/", false),
            ("/^/", false),
            ("/^abc/i", false),
            ("/^abc/m", false),
        ] {
            assert_eq!(regex(pattern) == Comparison::Prefix, is_prefix, "{pattern}");
        }
    }

    #[test]
    fn ck_12_the_branches_of_one_or_are_taken_apart() {
        let branches = |filter: &str| {
            let shape = shape(&format!(r#"{{"find": "c", "filter": {filter}}}"#)).unwrap();
            assert!(shape.branches, "{filter}");
            let paths = |branch: &Vec<Predicate>| {
                branch.iter().map(|p| p.path.as_str()).collect::<Vec<_>>().join("+")
            };
            shape.alternatives.iter().map(paths).collect::<Vec<_>>()
        };
        assert_eq!(branches(r#"{"$or": [{"b": 1, "c": 2}, {"a": {"$gt": 1}}]}"#), ["a", "b+c"]);
        assert_eq!(branches(r#"{"$or": [{"a": 1}, {"a": 2}]}"#), ["a"]);
        for tangled in [
            r#"{"$and": [{"$or": [{"a": 1}, {"b": 1}]}, {"$or": [{"c": 1}, {"d": 1}]}]}"#,
            r#"{"$or": [{"a": 1}, {"$or": [{"b": 1}, {"c": 1}]}]}"#,
        ] {
            assert!(branches(tangled).is_empty(), "{tangled}");
        }
    }

    #[test]
    fn ck_12_lists_beyond_200_combinations_count_like_ranges_with_a_sort() {
        let list = |n: usize| format!("{:?}", (0..n).collect::<Vec<_>>());
        let kinds = |a: usize, b: usize, sort: &str| {
            let (a, b) = (list(a), list(b));
            let filter = filter(&format!(
                r#"{{"find": "c", "filter": {{"a": {{"$in": {a}}}, "b": {{"$in": {b}}}}}, "sort": {sort}}}"#
            ));
            filter.into_iter().map(|(_, comparison)| comparison).collect::<Vec<_>>()
        };
        use Comparison::{OneOf, OneOfMany};
        assert_eq!(kinds(10, 20, r#"{"t": 1}"#), [OneOf, OneOf]);
        assert_eq!(kinds(10, 21, r#"{"t": 1}"#), [OneOf, OneOfMany]);
        assert_eq!(kinds(10, 21, "{}"), [OneOf, OneOf]);
        assert_eq!(kinds(200, 201, "{}"), [OneOf, OneOfMany]);
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
    fn ck_12_a_match_behind_other_stages_is_read_when_the_server_can_move_it() {
        let read = |stages: &str| {
            let shape = shape(&format!(r#"{{"aggregate": "c", "pipeline": [{stages}]}}"#)).unwrap();
            (shape.filter.len(), shape.filters_late)
        };
        for (stages, expected) in [
            (r#"{"$addFields": {"d": 1}}, {"$match": {"status": "x"}}"#, (1, false)),
            (r#"{"$addFields": {"d": 1}}, {"$match": {"d": 1}}"#, (0, true)),
            (r#"{"$unwind": "$items"}, {"$match": {"items.sku": 1}}"#, (0, true)),
            (
                r#"{"$lookup": {"from": "b", "localField": "x", "foreignField": "_id", "as": "b"}}, {"$match": {"b.n": 1}}"#,
                (0, true),
            ),
            (r#"{"$project": {"a": 1}}, {"$match": {"a": 1}}"#, (1, false)),
            (r#"{"$group": {"_id": "$a"}}, {"$match": {"_id": 1}}"#, (0, false)),
            (r#"{"$limit": 9}, {"$match": {"a": 1}}"#, (0, false)),
        ] {
            assert_eq!(read(stages), expected, "{stages}");
        }
    }

    #[test]
    fn ck_12_an_index_sorts_neither_by_score_nor_what_a_limit_let_through() {
        let sort = |command: &str| shape(command).unwrap().sort;
        assert!(sort(r#"{"find": "c", "sort": {"score": {"$meta": "textScore"}}}"#).is_empty());
        assert!(
            sort(r#"{"aggregate": "c", "pipeline": [{"$limit": 9}, {"$sort": {"x": 1}}]}"#)
                .is_empty()
        );
        assert_eq!(
            sort(r#"{"aggregate": "c", "pipeline": [{"$sort": {"x": 1}}, {"$limit": 9}]}"#).len(),
            1
        );
    }

    #[test]
    fn ck_12_scans_that_are_meant_are_told() {
        for command in [
            r#"{"find": "c", "filter": {"ts": {"$gt": 5}}, "tailable": true}"#,
            r#"{"find": "c", "sort": {"$natural": -1}}"#,
            r#"{"find": "c", "hint": {"$natural": 1}}"#,
        ] {
            let shape = shape(command).unwrap();
            assert!(shape.in_stored_order && shape.sort.is_empty(), "{command}");
        }
    }

    #[test]
    fn collations_are_part_of_the_shape() {
        let collation = |text: &str| {
            shape(&format!(r#"{{"find": "c", "collation": {text}}}"#)).unwrap().collation
        };
        assert_eq!(
            collation(r#"{"strength": 2, "locale": "en"}"#),
            [("locale".to_owned(), "\"en\"".to_owned()), ("strength".to_owned(), "2".to_owned())]
        );
        assert!(collation(r#"{"locale": "simple"}"#).is_empty());
    }

    #[test]
    fn ap_s2_3_joins_with_itself_or_without_a_condition_are_none() {
        let joins = |stage: &str| {
            let command = format!(r#"{{"aggregate": "c", "pipeline": [{stage}]}}"#);
            shape(&command).unwrap().lookups.len()
        };
        assert_eq!(
            joins(
                r#"{"$graphLookup": {"from": "c", "startWith": "$p", "connectFromField": "p", "connectToField": "_id", "as": "x"}}"#
            ),
            0
        );
        assert_eq!(joins(r#"{"$lookup": {"from": "b", "pipeline": [], "as": "x"}}"#), 0);
        assert_eq!(
            joins(r#"{"$lookup": {"from": "b", "let": {"v": "$a"}, "pipeline": [], "as": "x"}}"#),
            1
        );
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
