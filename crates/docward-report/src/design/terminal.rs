//! Formats a design for the terminal.

use std::fmt::Write;

use docward_design::{Decision, Design, Planned, Pools, Purpose, Question, Verdict, Vote};
use docward_model::{BsonType, text};

use super::{
    Detail, costs, crossings, keys, main_costs, number, pattern, patterns, pool_notes,
    pool_options, rows,
};
use crate::Look;
use crate::table::table;
use crate::text::{Paint, cut, wrap};

pub(crate) fn terminal(design: &Design, pools: &Pools, look: Look, detail: Detail) -> String {
    let paint = Paint { color: look.color };
    let short = (detail != Detail::Explained).then(|| without_clauses(design));
    let design = short.as_ref().unwrap_or(design);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}: {}, {}, {} in `{}`",
        paint.bold(&design.name),
        text::plural(design.entities.len() as u64, "entity").replace("entitys", "entities"),
        text::plural(design.decisions.len() as u64, "relationship"),
        text::plural(design.collections.len() as u64, "collection"),
        design.database
    );
    if detail != Detail::Brief {
        summary(&mut out, design, paint, look);
    }
    for decision in &design.decisions {
        out.push('\n');
        one(&mut out, decision, paint, look, detail);
    }
    entities(&mut out, design, paint, look, detail);
    collections(&mut out, design, paint, look, detail);
    capacity(&mut out, design, paint);
    self::pools(&mut out, pools, paint, look, detail);
    checks(&mut out, design, paint, look, detail);
    questions(&mut out, design, paint, look);
    for assumption in &design.assumptions {
        let _ = writeln!(out, "\n  {}", paint.dim(&wrap(assumption, look.width, 2, 2)));
    }
    if detail == Detail::Usual {
        let more =
            "--explain adds every vote with its clauses, the cost of each operation and all checks";
        let _ = writeln!(out, "\n{}", paint.dim(&wrap(more, look.width, 0, 0)));
    }
    out
}

/// Returns a design without clause ids in its sentences.
fn without_clauses(design: &Design) -> Design {
    let mut design = design.clone();
    let decisions =
        design.decisions.iter_mut().flat_map(|d| d.remarks.iter_mut().chain([&mut d.ruling.how]));
    let texts = decisions
        .chain(design.entities.iter_mut().flat_map(|advice| &mut advice.remarks))
        .chain(design.checks.iter_mut().map(|check| &mut check.because))
        .chain(&mut design.assumptions);
    for text in texts {
        *text = uncited(text);
    }
    design
}

/// Returns a text without parentheses that only contain clause ids, such as ` (DP-2, GC-30)`.
fn uncited(text: &str) -> String {
    let is_clause = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_uppercase())
            && word.contains('-')
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c))
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some(open) = rest.find(" (") {
        let inside = &rest[open + 2..];
        match inside.find(')') {
            Some(close) if inside[..close].split(", ").all(is_clause) => {
                out.push_str(&rest[..open]);
                rest = &inside[close + 1..];
            }
            _ => {
                out.push_str(&rest[..open + 2]);
                rest = inside;
            }
        }
    }
    out + rest
}

/// The verdicts, one line each, then failures and the number of open questions.
fn summary(out: &mut String, design: &Design, paint: Paint, look: Look) {
    let name = design.decisions.iter().map(|d| d.relationship.chars().count()).max().unwrap_or(0);
    out.push('\n');
    for decision in &design.decisions {
        let word = format!("{:<9}", decision.verdict.name().to_uppercase());
        let word = match decision.verdict {
            Verdict::Undecided => paint.yellow(&word),
            _ => paint.green(&word),
        };
        let because = match decision.questions.first() {
            Some(question) if decision.verdict == Verdict::Undecided => question.ask.as_str(),
            _ => decision.ruling.how.trim_start_matches("vetoed: "),
        };
        let because = cut(because, look.width.saturating_sub(name + 15).max(20));
        let _ = writeln!(out, "  {:<name$}  {word}  {because}", decision.relationship);
    }
    let failing = design.checks.iter().filter(|check| check.holds == Some(false));
    for check in failing {
        let line = wrap(&format!("{} {}", check.id.name(), check.because), look.width, 8, 8);
        let _ = writeln!(out, "  {} {line}", paint.red("FAILS"));
    }
    match design.questions().len() {
        0 => {}
        open => {
            let open = text::plural(open as u64, "question");
            let _ = writeln!(out, "  {}", paint.yellow(&format!("{open} open, listed below")));
        }
    }
}

fn verdict(decision: &Decision, paint: Paint) -> String {
    let word = decision.verdict.name().to_uppercase();
    match decision.verdict {
        Verdict::Undecided => paint.yellow(&word),
        _ => paint.green(&word),
    }
}

fn one(out: &mut String, decision: &Decision, paint: Paint, look: Look, detail: Detail) {
    let kind = kind(decision).map(|kind| format!("  {}", paint.dim(kind))).unwrap_or_default();
    let (name, verdict) = (paint.bold(&decision.relationship), verdict(decision, paint));
    let _ = writeln!(out, "{name}  {verdict}{kind}");
    let say = |out: &mut String, text: &str| {
        let _ = writeln!(out, "  {}", wrap(text, look.width, 2, 4));
    };
    if decision.verdict == Verdict::Undecided {
        let is_own = |question: &&Question| question.about == decision.relationship;
        for question in decision.questions.iter().filter(is_own) {
            say(out, &format!("? {} {}", question.ask, question.write));
        }
        // Questions about an entity are listed once, at the end.
        let others = decision.questions.iter().filter(|question| !is_own(question));
        let mut entities: Vec<&str> = others.map(|question| question.about.as_str()).collect();
        entities.dedup();
        if !entities.is_empty() {
            let about = text::list(&entities, 3);
            say(out, &format!("? questions about {about} are open, see below"));
        }
        return;
    }
    match detail {
        Detail::Explained => {
            say(
                out,
                &format!("{} ({})", decision.ruling.how, decision.ruling.decided_by.join(", ")),
            );
        }
        _ => say(out, &decision.ruling.how),
    }
    for pattern in patterns(&decision.patterns) {
        say(out, &format!("→ {pattern}"));
    }
    for remark in &decision.remarks {
        say(out, &format!("· {remark}"));
    }
    for question in &decision.questions {
        say(out, &format!("? {} {}", question.ask, question.write));
    }
    if decision.needs_transaction {
        let where_ = match decision.choice {
            Some(docward_design::Choice::Embed) => "in several documents if there are pages",
            _ => "in two documents",
        };
        let clause = if detail == Detail::Explained { " (CK-10)" } else { "" };
        say(
            out,
            &format!(
                "! parent and children change together, {where_}, so a transaction is needed{clause}"
            ),
        );
    }
    if detail == Detail::Brief {
        return;
    }
    let explained = if detail == Detail::Explained { rows(decision) } else { Vec::new() };
    for (vote, clauses, because) in explained {
        let sign = match vote {
            Vote::Embed => "embed",
            Vote::Reference => "reference",
            Vote::Veto => "VETO",
            Vote::Abstain => "-",
            Vote::Open => "open",
        };
        // As wide as the longest of these words.
        let line = wrap(&format!("{clauses}: {because}"), look.width, 14, 14);
        let _ = writeln!(out, "    {sign:<9} {line}");
    }
    if !decision.turns.is_empty() {
        let turns: Vec<&str> = decision.turns.iter().map(|turn| turn.when.as_str()).collect();
        let other = decision.ruling.choice.other().name();
        say(out, &format!("{other} if {}", turns.join("; or ")));
    }
    if let Some(crossings) = crossings(decision) {
        say(out, &crossings);
    }
    let rows = if detail == Detail::Explained { costs(decision) } else { main_costs(decision) };
    if !rows.is_empty() {
        let all: Vec<usize> = (0..rows[0].len()).collect();
        out.push_str(&paint.dim(&table(&rows, &all, 4)));
    }
}

fn entities(out: &mut String, design: &Design, paint: Paint, look: Look, detail: Detail) {
    for advice in &design.entities {
        if advice.patterns.is_empty() && advice.remarks.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n{}", paint.bold(&advice.entity));
        for found in &advice.patterns {
            let line = match found.clauses().join(", ") {
                clauses if detail == Detail::Explained && !clauses.is_empty() => {
                    format!("→ {} ({clauses})", pattern(found))
                }
                _ => format!("→ {}", pattern(found)),
            };
            let _ = writeln!(out, "  {}", wrap(&line, look.width, 2, 4));
        }
        for remark in &advice.remarks {
            let _ = writeln!(out, "  {}", wrap(&format!("· {remark}"), look.width, 2, 4));
        }
    }
}

fn collections(out: &mut String, design: &Design, paint: Paint, look: Look, detail: Detail) {
    let _ = writeln!(out, "\n{}", paint.bold("collections"));
    for collection in &design.collections {
        let of = match collection.services.is_empty() {
            true => String::new(),
            false => format!(" of {}", collection.services.join(", ")),
        };
        let purpose = collection.purpose.name();
        let _ = writeln!(out, "  {} ({purpose}){of}", paint.bold(&collection.name));
        if detail != Detail::Brief {
            let _ = writeln!(out, "    {{");
            fields(out, &collection.fields, paint, 6);
            let _ = writeln!(out, "    }}");
        }
        // A time series expires by an option of the collection, and has no index for it.
        if let (Purpose::TimeSeries { .. }, Some(days)) =
            (&collection.purpose, collection.kept_days)
        {
            let days = lasting((days * 86_400.0).round().max(1.0) as u64);
            let _ = writeln!(out, "    expires after {days}");
        }
        for index in &collection.indexes {
            let mut words = vec![keys(index)];
            if index.unique {
                words.push("unique".to_owned());
            }
            if let Some(only) = &index.only {
                words.push(format!("only where {}", only.text()));
            }
            if let Some(seconds) = index.expire_after {
                words.push(format!("expires after {}", lasting(seconds)));
            }
            let line = format!("index {}: {}", words.join(", "), index.serves.join(", "));
            let _ = writeln!(out, "    {}", wrap(&line, look.width, 4, 6));
        }
        if let Some(shard) = &collection.shard {
            let checks: Vec<String> = shard
                .key
                .checks
                .iter()
                .map(|(clause, holds, why)| {
                    let word = match holds {
                        Some(true) => "",
                        Some(false) if docward_design::is_warning(clause) => "warning: ",
                        Some(false) => "FAILS ",
                        None => "open: ",
                    };
                    format!("{clause} {word}{why}")
                })
                .collect();
            let line = format!("shard key {}: {}", shard.key.text(), checks.join("; "));
            let _ = writeln!(out, "    {}", wrap(&line, look.width, 4, 6));
            for lookup in &shard.lookups {
                let line = format!(
                    "`{}` keeps the values of `{}` unique, because this key prevents a unique index",
                    lookup.collection, lookup.field
                );
                let _ = writeln!(out, "    {}", wrap(&line, look.width, 4, 6));
            }
        }
        if let Some(why) = &collection.unsharded {
            let _ = writeln!(out, "    {}", wrap(&format!("not sharded: {why}"), look.width, 4, 6));
        }
    }
}

/// The fields of a document with types as values, as mongosh would print it.
fn fields(out: &mut String, fields: &[Planned], paint: Paint, indent: usize) {
    let pad = " ".repeat(indent);
    for field in fields {
        let mut notes = Vec::new();
        if field.kind == BsonType::Array {
            notes.push(match field.items.map_or(0, |items| items.max) {
                0 => "no length declared".to_owned(),
                most => format!("up to {}", text::count(most)),
            });
        }
        if !field.values.is_empty() {
            notes.push(text::list(&field.values, 5));
        }
        notes.extend(field.origin.note().map(|note| note.to_string()));
        let note = match notes.is_empty() {
            true => String::new(),
            false => paint.dim(&format!("  // {}", notes.join(", "))),
        };
        let name = &field.name;
        let (open, close) = match (field.kind, field.element) {
            (BsonType::Array, Some(kind)) => (format!("[ {} ],", kind.name()), None),
            (BsonType::Array, None) if field.fields.is_empty() => ("[ object ],".to_owned(), None),
            (BsonType::Array, None) => ("[ {".to_owned(), Some("} ],")),
            (BsonType::Object, _) if !field.fields.is_empty() => ("{".to_owned(), Some("},")),
            (kind, _) => (format!("{},", kind.name()), None),
        };
        let _ = writeln!(out, "{pad}{name}: {open}{note}");
        if let Some(close) = close {
            self::fields(out, &field.fields, paint, indent + 2);
            let _ = writeln!(out, "{pad}{close}");
        }
    }
}

fn capacity(out: &mut String, design: &Design, paint: Paint) {
    let mut table_rows = vec![
        [
            "",
            "document p50 / p99 / max",
            "now",
            "1 year",
            "3 years",
            "5 years",
            "indexes",
            "in use",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for row in &design.capacity {
        let (p50, p99, max) = row.document;
        let mut cells = vec![
            row.collection.clone(),
            format!("{} / {} / {}", text::bytes(p50), text::bytes(p99), text::bytes(max)),
        ];
        cells.extend(row.years.iter().map(|(_, amount)| match amount {
            Some((documents, bytes)) => {
                let noun = if *documents == 1 { "doc" } else { "docs" };
                format!("{} {noun}, {}", short(*documents), text::bytes(*bytes))
            }
            None => "-".to_owned(),
        }));
        cells.push(row.index_bytes.map_or_else(|| "-".to_owned(), text::bytes));
        cells.push(match row.working_set {
            Some((bytes, true)) => format!("≤ {}", text::bytes(bytes)),
            Some((bytes, false)) => text::bytes(bytes),
            None => "-".to_owned(),
        });
        table_rows.push(cells);
    }
    let _ = writeln!(out, "\n{}", paint.bold("sizes"));
    out.push_str(&table(&table_rows, &[0], 2));
}

/// One decimal is enough.
fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// `1.2M`, `340k`, `3B`: as in model files.
fn short(count: u64) -> String {
    match count {
        0..=9_999 => text::count(count),
        10_000..=999_999 => format!("{}k", number((count as f64 / 1e3).round())),
        1_000_000..=999_999_999 => format!("{}M", number(tenths(count as f64 / 1e6))),
        _ => format!("{}B", number(tenths(count as f64 / 1e9))),
    }
}

fn pools(out: &mut String, pools: &Pools, paint: Paint, look: Look, detail: Detail) {
    let _ = writeln!(out, "\n{}", paint.bold("connection pools"));
    let mut say = |line: &str| {
        let line = if detail == Detail::Explained { line.to_owned() } else { uncited(line) };
        let _ = writeln!(out, "  {}", wrap(&line, look.width, 2, 4));
    };
    match pools {
        Pools::Planned(plan) => {
            say(&pool_options(plan));
            pool_notes(plan).iter().for_each(|note| say(&format!("· {note}")));
        }
        Pools::Open(question) => say(&format!("? {} {}", question.ask, question.write)),
    }
}

fn checks(out: &mut String, design: &Design, paint: Paint, look: Look, detail: Detail) {
    let _ = writeln!(out, "\n{}", paint.bold("checks"));
    let mut passed = Vec::new();
    for check in &design.checks {
        let word = match check.holds {
            Some(true) if detail == Detail::Usual => {
                passed.push(check.id.name());
                continue;
            }
            Some(true) => paint.green("pass   "),
            Some(false) => paint.red("FAIL   "),
            None => paint.dim("unknown"),
        };
        let line = wrap(&format!("{} {}", check.id.name(), check.because), look.width, 10, 10);
        let _ = writeln!(out, "  {word} {line}");
    }
    if !passed.is_empty() {
        let line = wrap(&passed.join(", "), look.width, 10, 10);
        let _ = writeln!(out, "  {} {line}", paint.green("pass   "));
    }
}

fn questions(out: &mut String, design: &Design, paint: Paint, look: Look) {
    let questions = design.questions();
    if questions.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", paint.yellow("open questions"));
    for question in questions {
        let line = format!("? {} {}", question.ask, question.write);
        let _ = writeln!(out, "  {}", wrap(&line, look.width, 2, 4));
    }
}

/// A duration in the largest unit that represents it exactly.
fn lasting(seconds: u64) -> String {
    let units = [(86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")];
    let (unit, name) = units
        .into_iter()
        .find(|(unit, _)| seconds.is_multiple_of(*unit) && seconds >= *unit)
        .unwrap_or((1, "second"));
    text::plural(seconds / unit, name)
}

/// The cardinality, if the file declares it.
fn kind(decision: &Decision) -> Option<&'static str> {
    // Without declared children the cardinality is unknown.
    let is_open = decision.choice.is_none()
        && decision.questions.iter().any(|question| {
            question.about == decision.relationship && question.ask.starts_with("how many")
        });
    (!is_open).then(|| decision.facts.kind.name())
}

#[cfg(test)]
mod tests {
    use super::uncited;

    #[test]
    fn clause_ids_are_removed_and_other_parentheses_stay() {
        for (text, expected) in [
            ("it expires (DP-2). Keep it", "it expires. Keep it"),
            ("read once (PT-bucket.1, GC-30)", "read once"),
            ("limit 1,000 (`a-B`), (see DP-2) (ALG-3", "limit 1,000 (`a-B`), (see DP-2) (ALG-3"),
        ] {
            assert_eq!(uncited(text), expected);
        }
    }
}
