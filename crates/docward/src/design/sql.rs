//! `CREATE TABLE` statements as entities of a design. Other statements are skipped.

use docward_design::{DeclaredEntity, EntityFieldDraft};
use docward_model::BsonType;

use super::declared::name_of;

/// Returns the tables of an SQL script.
pub(super) fn tables(text: &str) -> Vec<DeclaredEntity> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    let mut rest = tokens.as_slice();
    while let Some(at) =
        rest.windows(2).position(|two| is(&two[0], "create") && is_table(two, rest))
    {
        rest = &rest[at + 1..];
        let Some(open) = rest.iter().position(|token| token == "(") else { break };
        // `CREATE TABLE IF NOT EXISTS shop.orders (`.
        let name =
            rest[..open].iter().rev().find(|token| *token != ".").cloned().unwrap_or_default();
        let close = closing(&rest[open..]).map_or(rest.len(), |length| open + length);
        found.push(table(&name, &rest[open + 1..close.max(open + 1)]));
        rest = &rest[close.min(rest.len())..];
    }
    found
}

fn is(token: &str, word: &str) -> bool {
    token.eq_ignore_ascii_case(word)
}

/// Whether `create` begins a table, possibly with words such as `temporary` between.
fn is_table(two: &[String], rest: &[String]) -> bool {
    let at = rest.iter().position(|token| std::ptr::eq(token, &two[0])).unwrap_or(0);
    rest[at + 1..].iter().take(3).any(|token| is(token, "table"))
}

/// Returns words, quoted names without quotes, and single signs. Comments are skipped.
fn tokens(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '-' if chars.peek() == Some(&'-') => {
                chars.by_ref().take_while(|c| *c != '\n').for_each(drop);
            }
            '/' if chars.peek() == Some(&'*') => {
                let mut last = ' ';
                for c in chars.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
            }
            '\'' => {
                let value: String = chars.by_ref().take_while(|c| *c != '\'').collect();
                found.push(format!("'{value}"));
            }
            '"' | '`' | '[' => {
                let end = if c == '[' { ']' } else { c };
                found.push(chars.by_ref().take_while(|c| *c != end).collect());
            }
            c if c.is_alphanumeric() || c == '_' => {
                let mut word = String::from(c);
                while let Some(c) = chars.next_if(|c| c.is_alphanumeric() || *c == '_') {
                    word.push(c);
                }
                found.push(word);
            }
            c if c.is_whitespace() => {}
            c => found.push(c.to_string()),
        }
    }
    found
}

/// Returns the position of the parenthesis that closes the first one.
fn closing(tokens: &[String]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Splits the body of a table at its commas.
fn parts(body: &[String]) -> Vec<&[String]> {
    let mut found = Vec::new();
    let (mut depth, mut from) = (0_usize, 0);
    for (at, token) in body.iter().enumerate() {
        match token.as_str() {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            "," if depth == 0 => {
                found.push(&body[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(&body[from.min(body.len())..]);
    found
}

fn table(name: &str, body: &[String]) -> DeclaredEntity {
    let mut fields: Vec<EntityFieldDraft> = Vec::new();
    let mut keys: Vec<String> = Vec::new();
    for part in parts(body) {
        let Some(first) = part.first() else { continue };
        let named = if is(first, "constraint") { part.get(2..).unwrap_or_default() } else { part };
        let has = |word: &str| named.iter().any(|token| is(token, word));
        let listed = || -> Vec<String> {
            let inside = named.iter().skip_while(|token| *token != "(").skip(1);
            inside.take_while(|token| *token != ")").filter(|t| *t != ",").cloned().collect()
        };
        let begins = |word: &str| named.first().is_some_and(|token| is(token, word));
        if begins("primary") {
            keys.extend(listed());
        } else if begins("foreign") {
            let target = target(named);
            let columns = listed();
            if let [column] = columns.as_slice() {
                let field = fields.iter_mut().find(|field| field.name == *column);
                field.into_iter().for_each(|field| field.target.clone_from(&target));
            }
        } else if begins("unique") {
            if let [column] = listed().as_slice() {
                let field = fields.iter_mut().find(|field| field.name == *column);
                field.into_iter().for_each(|field| field.unique = true);
            }
        } else if !["check", "key", "index", "exclude", "like"].iter().any(|word| begins(word)) {
            let mut field = EntityFieldDraft::new(first, kind(named));
            field.unique = has("unique");
            field.nullable = !has("not") && !has("primary");
            let is_text = field.kind == BsonType::String;
            field.most_bytes = listed().first().filter(|_| is_text).and_then(|n| n.parse().ok());
            field.target = target(named);
            if has("enum") || named.windows(2).any(|two| is(&two[0], "check") && two[1] == "(") {
                let values = named.iter().filter_map(|token| token.strip_prefix('\''));
                field.values = values.map(str::to_owned).collect();
            }
            if has("primary") {
                keys.push(first.clone());
            }
            fields.push(field);
        }
    }
    // A single key becomes `_id`. Parts of a key that refer to other tables stay references.
    if let [key] = keys.as_slice() {
        let refers = |field: &EntityFieldDraft| field.target.is_some();
        fields.retain(|field| field.name != *key || refers(field));
    }
    DeclaredEntity { name: name_of(name), collection: None, fields }
}

/// Returns the table behind `REFERENCES`.
fn target(tokens: &[String]) -> Option<String> {
    let at = tokens.iter().position(|token| is(token, "references"))?;
    let rest = &tokens[at + 1..];
    let end = rest.iter().position(|token| token == "(").unwrap_or(rest.len().min(1));
    rest[..end].iter().rev().find(|token| *token != ".").map(|name| name_of(name))
}

fn kind(column: &[String]) -> BsonType {
    let word = column.get(1).map_or(String::new(), |word| word.to_ascii_lowercase());
    match word.as_str() {
        "int" | "integer" | "smallint" | "tinyint" | "mediumint" | "serial" | "int2" | "int4" => {
            BsonType::Int
        }
        "bigint" | "bigserial" | "int8" => BsonType::Long,
        "decimal" | "numeric" | "money" | "number" => BsonType::Decimal,
        "real" | "float" | "double" | "float4" | "float8" => BsonType::Double,
        "bool" | "boolean" | "bit" => BsonType::Bool,
        "date" | "datetime" | "datetime2" | "timestamp" | "timestamptz" => BsonType::Date,
        "blob" | "bytea" | "binary" | "varbinary" | "image" | "longblob" => BsonType::BinData,
        "json" | "jsonb" => BsonType::Object,
        _ => BsonType::String,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_columns_keys_and_references() {
        let found = tables(
            "-- a shop\nCREATE TABLE IF NOT EXISTS shop.customers (\n  id SERIAL PRIMARY KEY,\n  \
             email VARCHAR(80) NOT NULL UNIQUE,\n  note TEXT /* free, text */\n);\nCREATE INDEX i ON \
             customers (email);\nCREATE TABLE `orders` (\n  id bigint, total DECIMAL(10,2) NOT NULL,\n  \
             status ENUM('new', 'paid') NOT NULL,\n  customer_id int NOT NULL REFERENCES customers(id),\n  \
             agent int,\n  PRIMARY KEY (id),\n  CONSTRAINT f FOREIGN KEY (agent) REFERENCES \
             shop.customers (id)\n);",
        );
        let names: Vec<&str> = found.iter().map(|table| table.name.as_str()).collect();
        assert_eq!(names, ["customer", "order"]);
        let customer = &found[0].fields;
        assert_eq!(customer.len(), 2, "the key becomes `_id`: {customer:?}");
        assert!(customer[0].unique && !customer[0].nullable && customer[0].most_bytes == Some(80));
        assert!(customer[1].nullable);
        let order = &found[1].fields;
        assert_eq!(order[0].kind, BsonType::Decimal);
        assert_eq!(order[1].values, ["new", "paid"]);
        assert_eq!(order[2].target.as_deref(), Some("customer"));
        assert_eq!(order[3].target.as_deref(), Some("customer"));
    }
}
