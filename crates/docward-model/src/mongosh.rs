//! Formats the steps of remedies as mongosh statements. No other module does this.

use crate::{
    BsonType, Conversion, DirectionKind, EpochUnit, FieldPath, GrantedRole, IndexKey, Look,
    Namespace, NewIndex, Rename, Step, UnsetWhere, ValidationAction, ValidationLevel, Value,
    shell::{collection, database, key, quote, quoted_key, value},
};

/// Returns the statement for a step. Users replace parts in angle brackets.
pub fn statement(step: &Step) -> String {
    match step {
        Step::RenameFields { namespace, renames, only_where_free } => {
            rename(namespace, renames, *only_where_free)
        }
        Step::UnsetField { namespace, path, documents } => unset(namespace, path, documents),
        Step::LiftField { namespace, rename } => {
            let (from, to) = (quote(&rename.from.dotted()), quoted_key(&rename.to.dotted()));
            let old = quote(&format!("${}", rename.from.dotted()));
            let condition = format!("{{{}: {{$exists: true}}}}", quoted_key(&rename.from.dotted()));
            let pipeline = format!("[{{$set: {{{to}: {old}}}}}, {{$unset: {from}}}]");
            update_many(namespace, &condition, &pipeline)
        }
        Step::ConvertField { namespace, path, from, to, conversion } => {
            convert(namespace, path, from, to, conversion)
        }
        Step::ArrayFromKeys { namespace, path, key: name, keys_are_dates, keys_are_numbers, value } => {
            let of_key = match (keys_are_dates, keys_are_numbers) {
                (true, _) => "{$dateFromString: {dateString: \"$$this.k\", onError: \"$$this.k\"}}",
                (_, true) => {
                    "{$convert: {input: \"$$this.k\", to: \"long\", onError: \"$$this.k\"}}"
                }
                _ => "\"$$this.k\"",
            };
            let each = match value {
                // The key comes last, so that it wins over a field with the same name.
                None => format!("{{$mergeObjects: [\"$$this.v\", {{{}: {of_key}}}]}}", key(name)),
                Some(value) => format!("{{{}: {of_key}, {}: \"$$this.v\"}}", key(name), key(value)),
            };
            let (place, old) = (quoted_key(&path.dotted()), quote(&format!("${}", path.dotted())));
            // `{$type: "object"}` would also match arrays of objects.
            update_many(
                namespace,
                &format!("{{$expr: {{$eq: [{{$type: {old}}}, \"object\"]}}}}"),
                &format!(
                    "[{{$set: {{{place}: {{$map: {{input: {{$objectToArray: {old}}}, in: {each}}}}}}}}}]"
                ),
            )
        }
        Step::SetKind { namespace, present, field } => {
            let (present, field) = (quoted_key(&present.dotted()), key(field));
            update_many(
                namespace,
                &format!("{{{present}: {{$exists: true}}, {field}: {{$exists: false}}}}"),
                &format!("{{$set: {{{field}: <kind>}}}}"),
            )
        }
        Step::CapArray { namespace, path, keep } => format!(
            "{}.updateOne({{_id: <id>}}, {{$push: {{{}: {{$each: [<element>], $slice: -{keep}}}}}}})",
            collection(namespace),
            key(&path.dotted())
        ),
        Step::SplitArray { namespace, path, into, parent_id, own_id, elements_are_objects } => {
            let array = Split { path, into, parent_id, own_id, objects: *elements_are_objects };
            format!("{}.aggregate({})", collection(namespace), array.pipeline())
        }
        // `$out` would replace an existing collection with this name.
        Step::CopyCollection { namespace, to } => format!(
            "{}.aggregate([{{$merge: {{into: {{db: {}, coll: {}}}, whenMatched: \"fail\"}}}}])",
            collection(namespace),
            quote(&to.database),
            quote(&to.collection)
        ),
        Step::RenameCollection { namespace, to } => call(namespace, "renameCollection", to),
        Step::CreateTimeSeries { namespace, time_field, meta_field, granularity } => {
            let granularity = granularity.as_deref().map_or_else(String::new, |granularity| {
                format!(", granularity: {}", quote(granularity))
            });
            format!(
                "{}.createCollection({}, {{timeseries: {{timeField: {}, metaField: {}{granularity}}}}})",
                database(&namespace.database),
                quote(&namespace.collection),
                quote(time_field),
                quote(meta_field),
            )
        }
        Step::CreateIndex { namespace, index } => create_index(namespace, index),
        Step::DropIndex { namespace, index } => call(namespace, "dropIndex", index),
        Step::HideIndex { namespace, index } => call(namespace, "hideIndex", index),
        Step::UnhideIndex { namespace, index } => call(namespace, "unhideIndex", index),
        Step::SetValidator { namespace, validator, level, action } => {
            let validator = format!("validator: {}, ", value(validator));
            modify(namespace, &format!("{validator}{}", enforcement(*level, *action)))
        }
        Step::SetValidation { namespace, level, action, unless_broken } => {
            let raise = modify(namespace, &enforcement(*level, *action));
            match unless_broken {
                Some(validator) => {
                    format!("if ({} === 0) {raise}", count_breaches(namespace, validator))
                }
                None => raise,
            }
        }
        Step::RelaxValidator { namespace } => modify(namespace, "validationAction: \"warn\""),
        Step::EnableSharding { database } => format!("sh.enableSharding({})", quote(database)),
        Step::ShardCollection { namespace, keys, has_collation } => {
            let options = simple(*has_collation, ", false");
            let name = quote(&namespace.to_string());
            format!("sh.shardCollection({name}, {}{options})", shard_key(keys))
        }
        Step::RefineShardKey { namespace, keys } => format!(
            "db.adminCommand({{refineCollectionShardKey: {}, key: {}}})",
            quote(&namespace.to_string()),
            shard_key(keys)
        ),
        Step::ReshardCollection { namespace, keys, has_collation } => {
            let options = simple(*has_collation, "");
            let name = quote(&namespace.to_string());
            format!("sh.reshardCollection({name}, {}{options})", shard_key(keys))
        }
        Step::CreateAdministrator => {
            "db.getSiblingDB(\"admin\").createUser({user: \"admin\", pwd: passwordPrompt(), roles: [\"userAdminAnyDatabase\"]})".to_owned()
        }
        Step::GrantRoles { database, user, roles } => {
            change_roles("grantRolesToUser", database, user, roles)
        }
        Step::RevokeRoles { database, user, roles } => {
            change_roles("revokeRolesFromUser", database, user, roles)
        }
        Step::Inspect { namespace, look } => look_at(namespace, look),
    }
}

/// Returns a method call with a single name as its argument.
fn call(namespace: &Namespace, method: &str, name: &str) -> String {
    format!("{}.{method}({})", collection(namespace), quote(name))
}

fn update_many(namespace: &Namespace, filter: &str, update: &str) -> String {
    format!("{}.updateMany({filter}, {update})", collection(namespace))
}

fn modify(namespace: &Namespace, options: &str) -> String {
    let name = quote(&namespace.collection);
    format!("{}.runCommand({{collMod: {name}, {options}}})", database(&namespace.database))
}

fn enforcement(level: ValidationLevel, action: ValidationAction) -> String {
    format!("validationLevel: {}, validationAction: {}", quote(level.name()), quote(action.name()))
}

/// Returns one statement for fields of one depth, because MongoDB refuses to rename a field and its object
/// together. Objects in an array have a statement each, because `$rename` does not reach them.
fn rename(namespace: &Namespace, renames: &[Rename], only_where_free: bool) -> String {
    let depth = |one: &Rename| one.from.as_str().matches('.').count();
    let is_alike = |one: &Rename, other: &Rename| match (one.from.in_array(), other.from.in_array())
    {
        (false, false) => depth(one) == depth(other),
        (true, true) => object(&one.from) == object(&other.from),
        _ => false,
    };
    let statements = renames.chunk_by(is_alike).map(|group| match group[0].from.in_array() {
        true => rename_in_array(namespace, group),
        false => rename_directly(namespace, group, only_where_free),
    });
    statements.collect::<Vec<_>>().join("; ")
}

/// The path of the object that has a field.
fn object(path: &FieldPath) -> &str {
    path.as_str().rsplit_once('.').map_or("", |(object, _)| object)
}

fn rename_directly(namespace: &Namespace, renames: &[Rename], only_where_free: bool) -> String {
    let each = |write: &dyn Fn(&Rename) -> String| -> String {
        renames.iter().map(write).collect::<Vec<_>>().join(", ")
    };
    let to_new = each(&|one| format!("{}: {}", name(&one.from), quote(&one.to.dotted())));
    let filter = match only_where_free {
        true => each(&|one| {
            format!("{}: {{$exists: true}}, {}: {{$exists: false}}", name(&one.from), name(&one.to))
        }),
        false => String::new(),
    };
    update_many(namespace, &format!("{{{filter}}}"), &format!("{{$rename: {{{to_new}}}}}"))
}

/// Builds the objects of an array again, with other names for some fields.
fn rename_in_array(namespace: &Namespace, renames: &[Rename]) -> String {
    let around = FieldPath::new(object(&renames[0].from));
    let parts = parts(&around);
    let (names, target) = leading_names(&parts);
    let cases: Vec<String> = renames
        .iter()
        .map(|one| {
            let (from, to) = (quote(one.from.leaf()), quote(one.to.leaf()));
            format!("{{case: {{$eq: [\"$$f.k\", {from}]}}, then: {to}}}")
        })
        .collect();
    let cases = cases.join(", ");
    let new = |old: &str| {
        format!(
            "{{$cond: [{{$eq: [{{$type: {old}}}, \"object\"]}}, {{$arrayToObject: {{$map: {{input: {{$objectToArray: {old}}}, as: \"f\", in: {{k: {{$switch: {{branches: [{cases}], default: \"$$f.k\"}}}}, v: \"$$f.v\"}}}}}}}}, {old}]}}"
        )
    };
    let value = within(&parts[names..], &format!("${target}"), 0, &new);
    let has: Vec<String> =
        renames.iter().map(|one| format!("{{{}: {{$exists: true}}}}", name(&one.from))).collect();
    update_many(
        namespace,
        &format!("{{$or: [{}]}}", has.join(", ")),
        &format!("[{{$set: {{{}: {value}}}}}]", quoted_key(&target)),
    )
}

/// Returns a path as a key.
fn name(path: &FieldPath) -> String {
    quoted_key(&path.dotted())
}

fn unset(namespace: &Namespace, path: &FieldPath, documents: &UnsetWhere) -> String {
    let place = name(path);
    let filter = match documents {
        UnsetWhere::Empty => format!("{{{place}: \"\"}}"),
        UnsetWhere::EqualTo { other } => {
            let of = |path: &FieldPath| quote(&format!("${}", path.dotted()));
            format!("{{{place}: {{$exists: true}}, $expr: {{$eq: [{}, {}]}}}}", of(path), of(other))
        }
    };
    update_many(namespace, &filter, &format!("{{$unset: {{{place}: 1}}}}"))
}

/// One part of a path.
enum Part<'a> {
    Name(&'a str),
    Elements,
}

fn parts(path: &FieldPath) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    for part in path.as_str().split('.') {
        let name = part.trim_end_matches("[]");
        parts.push(Part::Name(name));
        parts.extend(part[name.len()..].matches("[]").map(|_| Part::Elements));
    }
    parts
}

fn convert(
    namespace: &Namespace,
    path: &FieldPath,
    from: &[BsonType],
    to: &[BsonType],
    conversion: &Conversion,
) -> String {
    let parts = parts(path);
    let (names, target) = leading_names(&parts);
    let kinds: Vec<String> = from.iter().map(|kind| quote(kind.name())).collect();
    let kinds = kinds.join(", ");
    let new = |old: &str| {
        let new = converted(conversion, to, from, old);
        format!("{{$cond: [{{$in: [{{$type: {old}}}, [{kinds}]]}}, {new}, {old}]}}")
    };
    let value = within(&parts[names..], &format!("${target}"), 0, &new);
    let filter = if from.len() == 1 { kinds } else { format!("[{kinds}]") };
    update_many(
        namespace,
        &format!("{{{}: {{$type: {filter}}}}}", name(path)),
        &format!("[{{$set: {{{}: {value}}}}}]", quoted_key(&target)),
    )
}

/// The names before the first array: how many, and the path of them.
fn leading_names(parts: &[Part<'_>]) -> (usize, String) {
    let names: Vec<&str> = parts
        .iter()
        .map_while(|part| if let Part::Name(name) = part { Some(*name) } else { None })
        .collect();
    (names.len(), names.join("."))
}

/// Returns the new value of a path and of the objects around it.
fn within(parts: &[Part<'_>], at: &str, depth: usize, new: &dyn Fn(&str) -> String) -> String {
    let old = quote(at);
    match parts {
        [] => new(&old),
        // An absent array must stay absent, so the mapping is guarded.
        [Part::Elements, rest @ ..] => {
            let item = format!("$$e{depth}");
            format!(
                "{{$cond: [{{$isArray: {old}}}, {{$map: {{input: {old}, as: \"e{depth}\", in: {}}}}}, {old}]}}",
                within(rest, &item, depth + 1, new)
            )
        }
        [Part::Name(part), rest @ ..] => format!(
            "{{$cond: [{{$eq: [{{$type: {old}}}, \"object\"]}}, {{$mergeObjects: [{old}, {{{}: {}}}]}}, {old}]}}",
            quoted_key(part),
            within(rest, &format!("{at}.{part}"), depth, new)
        ),
    }
}

/// Returns the new value of `old`, an expression.
fn converted(conversion: &Conversion, to: &[BsonType], from: &[BsonType], old: &str) -> String {
    match conversion {
        Conversion::Cast { inner, epoch, reads_words, empty_to_null } => {
            let rest = match empty_to_null {
                true => format!("{{$cond: [{{$eq: [{old}, \"\"]}}, null, {old}]}}"),
                false => old.to_owned(),
            };
            let is = |kind: &str| format!("{{$eq: [{{$type: {old}}}, \"{kind}\"]}}");
            let input = match (inner, epoch) {
                (Some(inner), _) => {
                    let inside = format!("{}.{inner}\"", old.trim_end_matches('"'));
                    format!("{{$cond: [{}, {inside}, {old}]}}", is("object"))
                }
                // `$toDate` needs milliseconds as a long.
                (None, Some(unit)) => {
                    let factor = if *unit == EpochUnit::Seconds { 1000 } else { 1 };
                    format!(
                        "{{$cond: [{{$isNumber: {old}}}, {{$toLong: {{$multiply: [{old}, {factor}]}}}}, {old}]}}"
                    )
                }
                (None, None) => old.to_owned(),
            };
            let target = to.first().map_or("null", |kind| kind.name());
            let cast =
                format!("{{$convert: {{input: {input}, to: \"{target}\", onError: {rest}}}}}");
            if !*reads_words || !from.contains(&BsonType::String) {
                return cast;
            }
            let case = |word: &str| {
                format!("{{case: {{$eq: [{{$toLower: {old}}}, \"{word}\"]}}, then: {word}}}")
            };
            format!(
                "{{$cond: [{}, {{$switch: {{branches: [{}, {}], default: {rest}}}}}, {cast}]}}",
                is("string"),
                case("true"),
                case("false")
            )
        }
        Conversion::DateText => {
            format!("{{$dateFromString: {{dateString: {old}, onError: {old}}}}}")
        }
        Conversion::Rounded { scale } => format!("{{$round: [{{$toDecimal: {old}}}, {scale}]}}"),
        Conversion::Epoch { unit, zero_is_absent } => {
            // Servers do not multiply text.
            let number = match from.contains(&BsonType::String) {
                true => format!("{{$toLong: {old}}}"),
                false => old.to_owned(),
            };
            let date = match unit {
                EpochUnit::Milliseconds => format!("{{$toDate: {{$toLong: {old}}}}}"),
                EpochUnit::Seconds => {
                    format!("{{$toDate: {{$toLong: {{$multiply: [{number}, 1000]}}}}}}")
                }
            };
            match zero_is_absent {
                true => format!("{{$cond: [{{$lte: [{old}, 0]}}, \"$$REMOVE\", {date}]}}"),
                false => date,
            }
        }
        Conversion::Words { values } => format!(
            "{{$switch: {{branches: [{{case: {{$eq: [{old}, <number>]}}, then: \"<word>\"}} /* {values} of these */], default: {old}}}}}"
        ),
    }
}

/// Copies the elements of an array into separate documents.
struct Split<'a> {
    path: &'a FieldPath,
    into: &'a str,
    parent_id: &'a str,
    own_id: &'a Option<String>,
    objects: bool,
}

impl Split<'_> {
    fn pipeline(&self) -> String {
        let dotted = self.path.dotted();
        let parent = key(self.parent_id);
        let position =
            if dotted.split('.').next() == Some("elementNo") { "elementAt" } else { "elementNo" };
        let old = quote(&format!("${dotted}"));
        // Elements of two parents may have the same `_id`, and a second run would insert elements
        // without an `_id` again. The parent's id and the position are unique and stable.
        let ids = format!("_id: {{{parent}: \"$_id\", no: \"${position}\"}}, {parent}: \"$_id\"");
        let body = if self.objects {
            let own = self.own_id.as_ref().map_or_else(String::new, |name| {
                format!(", {}: {}", key(name), quote(&format!("${dotted}._id")))
            });
            format!("{{$mergeObjects: [{old}, {{{ids}{own}}}]}}")
        } else {
            format!("{{{ids}, value: {old}}}")
        };
        format!(
            "[{{$unwind: {{path: {old}, includeArrayIndex: \"{position}\"}}}}, {{$replaceWith: {body}}}, {{$merge: {{into: {}, whenMatched: \"keepExisting\"}}}}]",
            quote(self.into)
        )
    }
}

fn create_index(namespace: &Namespace, index: &NewIndex) -> String {
    let mut options = Vec::new();
    if index.unique {
        options.push("unique: true".to_owned());
    }
    options.extend(
        index.collation.as_ref().map(|collation| format!("collation: {}", value(collation))),
    );
    options.extend(index.name.as_ref().map(|name| format!("name: {}", quote(name))));
    options.extend(
        index
            .only_kinds_of
            .as_ref()
            .map(|field| format!("partialFilterExpression: {{{}: <its type>}}", key(field))),
    );
    let options = match options.is_empty() {
        true => String::new(),
        false => format!(", {{{}}}", options.join(", ")),
    };
    format!("{}.createIndex({{{}}}{options})", collection(namespace), index_keys(&index.keys))
}

/// `userId: 1, date: -1`.
fn index_keys(keys: &[IndexKey]) -> String {
    let one = |one: &IndexKey| {
        let way = match &one.kind {
            DirectionKind::Ascending => "1".to_owned(),
            DirectionKind::Descending => "-1".to_owned(),
            DirectionKind::Hashed => quote("hashed"),
            DirectionKind::Text => quote("text"),
            DirectionKind::Geo(kind) | DirectionKind::Other(kind) => quote(kind),
        };
        format!("{}: {way}", key(&one.path))
    };
    keys.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// A shard key as reports write it: `{ userId: 1 }`.
fn shard_key(keys: &[IndexKey]) -> String {
    format!("{{ {} }}", index_keys(keys))
}

/// Returns the option that sets the simple collation.
fn simple(has_collation: bool, before: &str) -> String {
    match has_collation {
        true => format!("{before}, {{ collation: {{ locale: \"simple\" }} }}"),
        false => String::new(),
    }
}

fn change_roles(method: &str, at: &str, user: &str, roles: &[GrantedRole]) -> String {
    let role =
        |one: &GrantedRole| format!("{{role: {}, db: {}}}", quote(&one.role), quote(&one.db));
    let roles: Vec<String> = roles.iter().map(role).collect();
    format!("{}.{method}({}, [{}])", database(at), quote(user), roles.join(", "))
}

fn count_breaches(namespace: &Namespace, validator: &Value) -> String {
    format!("{}.countDocuments({{$nor: [{}]}})", collection(namespace), value(validator))
}

fn look_at(namespace: &Namespace, look: &Look) -> String {
    let own = collection(namespace);
    let text = |path: &FieldPath| quote(&path.dotted());
    match look {
        Look::LargestDocuments => format!(
            "{own}.aggregate([{{$project: {{size: {{$bsonSize: \"$$ROOT\"}}}}}}, {{$sort: {{size: -1}}}}, {{$limit: 10}}])"
        ),
        Look::LongArrays { path, elements } => {
            let last = format!("{}.{}", path.dotted(), elements.saturating_sub(1));
            format!("{own}.find({{{}: {{$exists: true}}}}).limit(20)", quote(&last))
        }
        Look::OfTypes { path, types } => {
            let types: Vec<String> = types.iter().map(|kind| quote(kind.name())).collect();
            format!("{own}.find({{{}: {{$type: [{}]}}}}).limit(20)", name(path), types.join(", "))
        }
        Look::IndexUse => format!("{own}.aggregate([{{$indexStats: {{}}}}])"),
        Look::CountWithout { path } => format!("{own}.countDocuments({{{}: null}})", name(path)),
        Look::CountBreaches { validator } => count_breaches(namespace, validator),
        Look::Breaches { validator } => format!("{own}.find({{$nor: [{}]}})", value(validator)),
        Look::DanglingReferences { path, target, target_path } => format!(
            "{own}.aggregate([{{$match: {{{field}: {{$ne: null}}}}}}, {{$lookup: {{from: {}, localField: {}, foreignField: {}, as: \"found\"}}}}, {{$match: {{found: {{$size: 0}}}}}}, {{$project: {{{field}: 1}}}}])",
            quote(target),
            text(path),
            text(target_path),
            field = name(path),
        ),
        Look::WithDetails { path, details, reference } => format!(
            "{own}.aggregate([{{$lookup: {{from: {}, localField: {}, foreignField: {}, as: \"details\"}}}}, {{$limit: 3}}])",
            quote(details),
            text(path),
            text(reference)
        ),
        Look::DistinctValues { path } => format!("{own}.distinct({})", text(path)),
        Look::CaseVariants { path } => {
            let old = quote(&format!("${}", path.dotted()));
            format!(
                "{own}.aggregate([{{$group: {{_id: {{$toLower: {old}}}, spellings: {{$addToSet: {old}}}, documents: {{$sum: 1}}}}}}, {{$match: {{\"spellings.1\": {{$exists: true}}}}}}])"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> Namespace {
        Namespace::new("db_shop", "t_order")
    }

    const OWN: &str = r#"db.getSiblingDB("db_shop").getCollection("t_order")"#;

    fn convert_field(path: &str, from: &[BsonType], to: BsonType, conversion: Conversion) -> Step {
        Step::ConvertField {
            namespace: order(),
            path: FieldPath::new(path),
            from: from.to_vec(),
            to: vec![to],
            conversion,
        }
    }

    #[test]
    fn renames_say_whole_paths() {
        let rename =
            |from: &str, to: &str| Rename { from: FieldPath::new(from), to: FieldPath::new(to) };
        let all = vec![rename("unit_price", "unitPrice"), rename("ship.to_city", "ship.toCity")];
        let step = |renames, only_where_free| {
            statement(&Step::RenameFields { namespace: order(), renames, only_where_free })
        };
        assert_eq!(
            step(all, false),
            format!(
                r#"{OWN}.updateMany({{}}, {{$rename: {{"unit_price": "unitPrice"}}}}); {OWN}.updateMany({{}}, {{$rename: {{"ship.to_city": "ship.toCity"}}}})"#
            )
        );
        assert_eq!(
            step(vec![rename("a", "b")], true),
            format!(
                r#"{OWN}.updateMany({{"a": {{$exists: true}}, "b": {{$exists: false}}}}, {{$rename: {{"a": "b"}}}})"#
            )
        );
        // As a plain key, this name would set the prototype.
        assert!(step(vec![rename("__proto__", "b")], false).contains(r#"["__proto__"]: "b""#));
    }

    #[test]
    fn renames_reach_into_arrays_and_begin_at_the_deepest_name() {
        let rename =
            |from: &str, to: &str| Rename { from: FieldPath::new(from), to: FieldPath::new(to) };
        let text = statement(&Step::RenameFields {
            namespace: order(),
            renames: vec![
                rename("items[].unit_price", "items[].unitPrice"),
                rename("items[].tax_rate", "items[].taxRate"),
                rename("ship_to.post_code", "ship_to.postCode"),
                rename("ship_to", "shipTo"),
            ],
            only_where_free: false,
        });
        let cases = r#"[{case: {$eq: ["$$f.k", "unit_price"]}, then: "unitPrice"}, {case: {$eq: ["$$f.k", "tax_rate"]}, then: "taxRate"}]"#;
        let object = format!(
            r#"{{$cond: [{{$eq: [{{$type: "$$e0"}}, "object"]}}, {{$arrayToObject: {{$map: {{input: {{$objectToArray: "$$e0"}}, as: "f", in: {{k: {{$switch: {{branches: {cases}, default: "$$f.k"}}}}, v: "$$f.v"}}}}}}}}, "$$e0"]}}"#
        );
        let items = format!(
            r#"{OWN}.updateMany({{$or: [{{"items.unit_price": {{$exists: true}}}}, {{"items.tax_rate": {{$exists: true}}}}]}}, [{{$set: {{"items": {{$cond: [{{$isArray: "$items"}}, {{$map: {{input: "$items", as: "e0", in: {object}}}}}, "$items"]}}}}}}])"#
        );
        assert_eq!(
            text,
            format!(
                r#"{items}; {OWN}.updateMany({{}}, {{$rename: {{"ship_to.post_code": "ship_to.postCode"}}}}); {OWN}.updateMany({{}}, {{$rename: {{"ship_to": "shipTo"}}}})"#
            )
        );
    }

    #[test]
    fn conversions_reach_into_arrays_and_keep_what_is_absent() {
        let plain = convert_field("total", &[BsonType::String], BsonType::Long, Conversion::CAST);
        assert_eq!(
            statement(&plain),
            format!(
                r#"{OWN}.updateMany({{"total": {{$type: "string"}}}}, [{{$set: {{"total": {{$cond: [{{$in: [{{$type: "$total"}}, ["string"]]}}, {{$convert: {{input: "$total", to: "long", onError: "$total"}}}}, "$total"]}}}}}}])"#
            )
        );
        let inside = convert_field(
            "a.items[].price",
            &[BsonType::Double, BsonType::Int],
            BsonType::Decimal,
            Conversion::Rounded { scale: 2 },
        );
        assert_eq!(
            statement(&inside),
            format!(
                r#"{OWN}.updateMany({{"a.items.price": {{$type: ["double", "int"]}}}}, [{{$set: {{"a.items": {{$cond: [{{$isArray: "$a.items"}}, {{$map: {{input: "$a.items", as: "e0", in: {{$cond: [{{$eq: [{{$type: "$$e0"}}, "object"]}}, {{$mergeObjects: ["$$e0", {{"price": {{$cond: [{{$in: [{{$type: "$$e0.price"}}, ["double", "int"]]}}, {{$round: [{{$toDecimal: "$$e0.price"}}, 2]}}, "$$e0.price"]}}}}]}}, "$$e0"]}}}}}}, "$a.items"]}}}}}}])"#
            )
        );
        let nested = convert_field("m[][]", &[BsonType::Int], BsonType::Long, Conversion::CAST);
        let text = statement(&nested);
        assert!(text.contains(r#"as: "e0""#) && text.contains(r#"as: "e1""#), "{text}");
    }

    #[test]
    fn conversions_say_what_becomes_of_the_rest() {
        let cast = |epoch, reads_words, empty_to_null| Conversion::Cast {
            inner: None,
            epoch,
            reads_words,
            empty_to_null,
        };
        let of = |to, conversion| {
            statement(&convert_field("x", &[BsonType::String, BsonType::Int], to, conversion))
        };
        let nulls = of(BsonType::Long, cast(None, false, true));
        assert!(nulls.contains(r#"onError: {$cond: [{$eq: ["$x", ""]}, null, "$x"]}"#), "{nulls}");
        let words = of(BsonType::Bool, cast(None, true, false));
        assert!(words.contains(r#"{$eq: [{$toLower: "$x"}, "false"]}, then: false}"#), "{words}");
        let seconds = of(BsonType::Date, cast(Some(EpochUnit::Seconds), false, false));
        assert!(seconds.contains(r#"{$multiply: ["$x", 1000]}"#), "{seconds}");
        let epoch = Conversion::Epoch { unit: EpochUnit::Milliseconds, zero_is_absent: true };
        assert!(
            of(BsonType::Date, epoch).contains(
                r#"{$cond: [{$lte: ["$x", 0]}, "$$REMOVE", {$toDate: {$toLong: "$x"}}]}"#
            )
        );
    }

    #[test]
    fn fields_move_and_go() {
        let rename = Rename { from: FieldPath::new("a.b.c"), to: FieldPath::new("c") };
        assert_eq!(
            statement(&Step::LiftField { namespace: order(), rename }),
            format!(
                r#"{OWN}.updateMany({{"a.b.c": {{$exists: true}}}}, [{{$set: {{"c": "$a.b.c"}}}}, {{$unset: "a.b.c"}}])"#
            )
        );
        let unset = |documents| {
            statement(&Step::UnsetField {
                namespace: order(),
                path: FieldPath::new("a"),
                documents,
            })
        };
        assert_eq!(
            unset(UnsetWhere::Empty),
            format!(r#"{OWN}.updateMany({{"a": ""}}, {{$unset: {{"a": 1}}}})"#)
        );
        assert_eq!(
            unset(UnsetWhere::EqualTo { other: FieldPath::new("b") }),
            format!(
                r#"{OWN}.updateMany({{"a": {{$exists: true}}, $expr: {{$eq: ["$a", "$b"]}}}}, {{$unset: {{"a": 1}}}})"#
            )
        );
    }

    #[test]
    fn elements_become_documents_once() {
        let split = |own_id: Option<&str>, elements_are_objects| {
            statement(&Step::SplitArray {
                namespace: order(),
                path: FieldPath::new("items"),
                into: "t_item".to_owned(),
                parent_id: "orderId".to_owned(),
                own_id: own_id.map(str::to_owned),
                elements_are_objects,
            })
        };
        assert_eq!(
            split(Some("itemId"), true),
            format!(
                r#"{OWN}.aggregate([{{$unwind: {{path: "$items", includeArrayIndex: "elementNo"}}}}, {{$replaceWith: {{$mergeObjects: ["$items", {{_id: {{orderId: "$_id", no: "$elementNo"}}, orderId: "$_id", itemId: "$items._id"}}]}}}}, {{$merge: {{into: "t_item", whenMatched: "keepExisting"}}}}])"#
            )
        );
        assert!(split(None, false).contains(
            r#"{$replaceWith: {_id: {orderId: "$_id", no: "$elementNo"}, orderId: "$_id", value: "$items"}}"#
        ));
    }

    #[test]
    fn indexes_have_options_only_where_they_say_something() {
        let create = |index| statement(&Step::CreateIndex { namespace: order(), index });
        assert_eq!(
            create(NewIndex::ascending(["userId", "a.b"])),
            format!(r#"{OWN}.createIndex({{userId: 1, "a.b": 1}})"#)
        );
        let collation = Value::Map(vec![("locale".to_owned(), Value::Text("de".to_owned()))]);
        let named = NewIndex {
            collation: Some(collation),
            name: Some("x_all".to_owned()),
            ..NewIndex::ascending(["x"])
        };
        assert_eq!(
            create(named.unique()),
            format!(
                r#"{OWN}.createIndex({{x: 1}}, {{unique: true, collation: {{locale: "de"}}, name: "x_all"}})"#
            )
        );
    }

    #[test]
    fn names_cannot_leave_their_quotes() {
        let namespace = Namespace::new("db", "t\"); db.dropDatabase(); (\"");
        let text = statement(&Step::HideIndex { namespace, index: "a\"b".to_owned() });
        assert_eq!(
            text,
            r#"db.getSiblingDB("db").getCollection("t\"); db.dropDatabase(); (\"").hideIndex("a\"b")"#
        );
    }
}
