//! A short interview that produces a model file. For each relationship, it contains the three
//! questions of DP-2 and those of the decision tables. This module does no IO: the caller prints
//! prompts and reads lines.

use std::fmt::Write;

use docward_model::words;

use crate::model_file::quantity;
use crate::model_file::starter::scalar;

/// Asks a question. An empty answer means the default in brackets; `None` ends the interview.
pub trait Ask {
    /// Returns the answer to a prompt.
    fn ask(&mut self, prompt: &str) -> Option<String>;
    /// Reports that an answer cannot be used.
    fn complain(&mut self, text: &str);
}

/// Runs the interview. Returns `None` if the user cancelled it.
pub fn interview(with: &mut impl Ask, as_of: Option<&str>) -> Option<String> {
    let name = text(with, "What is the name of the model?", Some("shop"), is_name)?;
    let mut entities: Vec<Described> = Vec::new();
    let mut relations = Vec::new();
    let parents = text(
        with,
        "Which entities does it have? (separated by commas)",
        Some("order, customer"),
        |t| names(t).is_some(),
    )?;
    for entity in names(&parents).unwrap_or_default() {
        entities.push(described(with, &entity)?);
    }
    loop {
        let prompt = "Which entities belong to another one? Write parent.children, for example order.items \
             (empty to end)";
        let given = with.ask(prompt)?;
        let given = given.trim();
        if given.is_empty() {
            break;
        }
        let Some((parent, role)) = given.split_once('.').filter(|(p, r)| is_name(p) && is_name(r))
        else {
            with.complain("write the parent, a dot, and the name of its children: order.items");
            continue;
        };
        if !entities.iter().any(|e| e.name == parent) {
            entities.push(described(with, parent)?);
        }
        let guess = words::singular(role);
        let child =
            text(with, &format!("Which entity is one of the {role}?"), Some(&guess), is_name)?;
        if !entities.iter().any(|e| e.name == child) {
            entities.push(described(with, &child)?);
        }
        relations.push(relation(with, parent, role, &child)?);
    }
    Some(written(&name, as_of, &entities, &relations))
}

struct Described {
    name: String,
    bytes: String,
    count: String,
    growth: String,
    kept: String,
}

struct Told {
    name: String,
    parent: String,
    child: String,
    children: String,
    growth: String,
    parents: String,
    together: String,
    newest: String,
    alone: String,
    inserted: String,
    updated: String,
    atomic: bool,
}

fn described(with: &mut impl Ask, name: &str) -> Option<Described> {
    let is_count = |t: &str| quantity::count(t).is_some();
    let is_growth = |t: &str| quantity::per_year(t).is_some();
    let is_kept = |t: &str| t == "forever" || quantity::days(t).is_some();
    let is_bytes = |t: &str| quantity::bytes(t).is_some();
    Some(Described {
        name: name.to_owned(),
        bytes: text(
            with,
            &format!("How large is one {name}, without its children?"),
            Some("300 B"),
            is_bytes,
        )?,
        count: text(
            with,
            &format!("How many {} are there today?", words::plural(name)),
            Some("100k"),
            is_count,
        )?,
        growth: text(
            with,
            &format!("How many {} are added?", words::plural(name)),
            Some("1000/day"),
            is_growth,
        )?,
        kept: text(with, &format!("How long is {} kept?", one(name)), Some("forever"), is_kept)?,
    })
}

fn relation(with: &mut impl Ask, parent: &str, role: &str, child: &str) -> Option<Told> {
    let is_spread = |t: &str| spread(t).is_some();
    let is_growth = |t: &str| matches!(t, "bounded" | "endless") || quantity::per_year(t).is_some();
    let is_count = |t: &str| quantity::count(t).is_some_and(|n| n >= 1.0);
    let is_rate = |t: &str| t == "0" || quantity::rate(t).is_some();
    let is_newest = |t: &str| t == "all" || quantity::count(t).is_some_and(|n| n >= 1.0);
    let given = text(
        with,
        &format!(
            "How many {role} does one {parent} have: typically, at the 99th percentile, at \
         most?"
        ),
        Some("3 20 80"),
        is_spread,
    )?;
    Some(Told {
        name: format!("{parent}.{role}"),
        parent: parent.to_owned(),
        child: child.to_owned(),
        children: spread(&given)?,
        growth: text(
            with,
            &format!(
                "Is the number of {role} per {parent} bounded? (bounded, endless, or 30/year)"
            ),
            Some("bounded"),
            is_growth,
        )?,
        parents: text(
            with,
            &format!("How many {} does one {child} belong to?", words::plural(parent)),
            Some("1"),
            is_count,
        )?,
        together: text(
            with,
            &format!("How often is {} read together with its {role}?", one(parent)),
            Some("10/s"),
            is_rate,
        )?,
        newest: text(
            with,
            &format!("How many of the {role} does that need? (all, or the newest 5)"),
            Some("all"),
            is_newest,
        )?,
        alone: text(
            with,
            &format!("How often is {} read without its {parent}?", one(child)),
            Some("0"),
            is_rate,
        )?,
        inserted: text(with, &format!("How often is {} added?", one(child)), Some("1/s"), is_rate)?,
        updated: text(
            with,
            &format!("How often is {} changed on its own?", one(child)),
            Some("0"),
            is_rate,
        )?,
        atomic: text(
            with,
            &format!("Must {} and its {role} change atomically? (yes, no)", one(parent)),
            Some("no"),
            |t| matches!(t, "yes" | "no"),
        )? == "yes",
    })
}

/// Returns a name with its article: `an order`, `a user`.
fn one(name: &str) -> String {
    let lower = name.to_lowercase();
    let spoken_with_a = ["eu", "one", "uni", "us", "ut"];
    let vowel = lower.starts_with(['a', 'e', 'i', 'o', 'u']);
    let an = vowel && !spoken_with_a.iter().any(|start| lower.starts_with(start));
    format!("{} {name}", if an { "an" } else { "a" })
}

fn text(
    with: &mut impl Ask,
    prompt: &str,
    default: Option<&str>,
    fits: impl Fn(&str) -> bool,
) -> Option<String> {
    let shown = match default {
        Some(default) => format!("{prompt} [{default}]"),
        None => prompt.to_owned(),
    };
    loop {
        let answer = with.ask(&shown)?;
        let answer = match answer.trim() {
            "" => default.unwrap_or_default().to_owned(),
            answer => answer.to_owned(),
        };
        if fits(&answer) {
            return Some(answer);
        }
        with.complain(&format!(
            "`{answer}` is not valid here; write it like `{}`",
            default.unwrap_or("text")
        ));
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

fn names(text: &str) -> Option<Vec<String>> {
    let mut list: Vec<String> = Vec::new();
    for name in text.split(',').map(str::trim) {
        // A name that is given twice counts once.
        if !list.iter().any(|known| known == name) {
            list.push(name.to_owned());
        }
    }
    list.iter().all(|name| is_name(name)).then_some(list)
}

/// Returns `3 20 80` as the spread of a model file.
fn spread(text: &str) -> Option<String> {
    let numbers: Option<Vec<u64>> = text
        .split([' ', ','])
        .filter(|p| !p.is_empty())
        .map(|p| quantity::count(p).map(|n| n as u64))
        .collect();
    match numbers?.as_slice() {
        [p50, p99, max] if p50 <= p99 && p99 <= max => {
            Some(format!("{{p50: {p50}, p99: {p99}, max: {max}}}"))
        }
        [one] => Some(one.to_string()),
        _ => None,
    }
}

fn written(name: &str, as_of: Option<&str>, entities: &[Described], relations: &[Told]) -> String {
    let mut out = format!("version: 1\nname: {}\n", scalar(name));
    if let Some(day) = as_of {
        let _ = writeln!(out, "as-of: {day}");
    }
    let _ = writeln!(out, "\nentities:");
    let related = |entity: &str| relations.iter().any(|r| r.parent == entity || r.child == entity);
    for entity in entities {
        let _ = writeln!(out, "  {}:", scalar(&entity.name));
        let _ = writeln!(out, "    count: {}", entity.count);
        let _ = writeln!(
            out,
            "    fields:\n      name: {{type: string, bytes: {}}}   # replace this with the real \
             fields",
            entity.bytes
        );
        let _ = writeln!(out, "      createTime: date");
        let _ =
            writeln!(out, "    lifecycle: {{growth: {}, kept: {}}}", entity.growth, entity.kept);
        if !related(&entity.name) {
            let _ = writeln!(out, "    # ? add reads and writes of this entity");
        }
    }
    if relations.is_empty() {
        return out;
    }
    let _ = writeln!(out, "\nrelationships:");
    for told in relations {
        let _ = writeln!(out, "  {}:", scalar(&told.name));
        let _ = writeln!(
            out,
            "    child: {}\n    children: {}\n    growth: {}",
            scalar(&told.child),
            told.children,
            told.growth
        );
        if told.parents != "1" {
            let _ = writeln!(out, "    parents: {}", told.parents);
        }
    }
    let is_some = |rate: &str| rate != "0";
    let _ = writeln!(out, "\nreads:");
    for told in relations {
        let (parent, child) = (scalar(&told.parent), scalar(&told.child));
        if is_some(&told.together) {
            let with = match told.newest.as_str() {
                "all" => "all".to_owned(),
                newest => format!("{{newest: {newest}, by: createTime}}"),
            };
            let label = scalar(&format!("{} with {}", told.parent, told.name));
            let _ = writeln!(
                out,
                "  {label}: {{rate: {}, from: {parent}, where: [_id], with: {{{}: {with}}}}}",
                told.together,
                scalar(&told.name)
            );
        }
        if is_some(&told.alone) {
            let label = scalar(&format!("{} alone of {}", told.child, told.name));
            let _ =
                writeln!(out, "  {label}: {{rate: {}, from: {child}, where: [name]}}", told.alone);
        }
    }
    let _ = writeln!(out, "\nwrites:");
    for told in relations {
        let (parent, child) = (scalar(&told.parent), scalar(&told.child));
        let label = scalar(&format!("add to {}", told.name));
        let both = if told.atomic {
            format!("insert: [{child}], update: [{parent}], atomic: true")
        } else {
            format!("insert: [{child}]")
        };
        let rate = if is_some(&told.inserted) { told.inserted.as_str() } else { "1/year" };
        let _ = writeln!(out, "  {label}: {{rate: {rate}, {both}}}");
        let label = scalar(&format!("new {} of {}", told.parent, told.name));
        let growth =
            entities.iter().find(|e| e.name == told.parent).map_or("1/day", |e| e.growth.as_str());
        let growth = if growth == "0" { "1/year" } else { growth };
        let _ = writeln!(out, "  {label}: {{rate: {growth}, insert: [{parent}]}}");
        if is_some(&told.updated) {
            let label = scalar(&format!("change {} of {}", told.child, told.name));
            let _ = writeln!(out, "  {label}: {{rate: {}, update: [{child}]}}", told.updated);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Script {
        answers: Vec<&'static str>,
        complaints: Vec<String>,
    }

    impl Ask for Script {
        fn ask(&mut self, _: &str) -> Option<String> {
            (!self.answers.is_empty()).then(|| self.answers.remove(0).to_owned())
        }

        fn complain(&mut self, text: &str) {
            self.complaints.push(text.to_owned());
        }
    }

    fn held(answers: &[&'static str]) -> (Option<String>, Vec<String>) {
        let mut script = Script { answers: answers.to_vec(), complaints: Vec::new() };
        (interview(&mut script, Some("2026-01-31")), script.complaints)
    }

    #[test]
    fn names_are_spoken_of_in_english() {
        for (name, singly, together) in [
            ("order", "an order", "orders"),
            ("user", "a user", "users"),
            ("category", "a category", "categories"),
            ("address", "an address", "addresses"),
            ("day", "a day", "days"),
            ("unit", "a unit", "units"),
            ("upload", "an upload", "uploads"),
            ("box", "a box", "boxes"),
        ] {
            assert_eq!((one(name).as_str(), words::plural(name).as_str()), (singly, together));
        }
    }

    #[test]
    fn dp_2_an_interview_gives_a_model_that_can_be_decided() {
        let (text, complaints) = held(&[
            "blog",
            "post",
            "2 KB",
            "50k",
            "20/day",
            "forever", // post
            "post.comments",
            "comment",
            "300 B",
            "5M",
            "1/s",
            "forever", // comment
            "20 3000 90000",
            "endless",
            "1",
            "500/s",
            "3",
            "2/s",
            "1/s",
            "0",
            "no",
            "",
        ]);
        assert_eq!(complaints, Vec::<String>::new());
        let text = text.unwrap();
        let model = crate::read("asked.yaml", &text).unwrap_or_else(|f| panic!("{f:?}\n{text}"));
        let design =
            crate::design(&model, docward_model::ProfileName::Vendor, &crate::Bounds::default());
        assert_eq!(design.questions(), Vec::<&crate::Question>::new());
        assert_eq!(design.decisions[0].verdict, crate::Verdict::Hybrid);
    }

    #[test]
    fn dp_2_answers_that_cannot_be_used_are_asked_again() {
        let (text, complaints) =
            held(&["a b", "blog", "post", "large", "2 KB", "50k", "20", "20/day", "", ""]);
        assert_eq!(complaints.len(), 3, "{complaints:?}");
        assert!(complaints[1].contains("`large` is not valid here"), "{complaints:?}");
        assert!(text.is_some_and(|text| text.contains("kept: forever")));
    }

    #[test]
    fn an_interview_that_is_broken_off_gives_nothing() {
        assert_eq!(held(&["blog"]).0, None);
    }
}
