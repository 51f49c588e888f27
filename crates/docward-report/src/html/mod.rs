//! One self-contained page for people: verdict, first fixes, findings, charts of every collection,
//! the map of relationships, checklists. It makes no network requests: style and script are
//! embedded, and a content security policy in its head forbids the rest.
//!
//! Everything is rendered and escaped here; the script only decompresses, filters, groups and
//! pages. Findings and collections are compressed, so that the file stays small and opens at once
//! even with ten thousand of them.

mod chart;
mod checklist;
mod collection;
mod command;
pub(crate) mod connections;
pub(crate) mod design;
mod details;
mod figures;
mod findings;
mod graph;
mod head;
mod health;
mod map;
mod pack;
mod route;
mod verdict;

use base64::{Engine, engine::general_purpose::STANDARD};
use docward_model::{Report, RuleMeta, Site, text};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::{View, text::plain};

/// The maximum number of findings; the rest is only counted, because the file has to open in a
/// browser.
const MAX_FINDINGS: usize = 20_000;
/// The maximum bytes of rendered findings, before compression.
const MAX_FINDING_BYTES: usize = 30_000_000;
/// The maximum bytes of rendered collections, before compression; the rest has no charts.
const MAX_COLLECTION_BYTES: usize = 60_000_000;
/// The maximum number of collections.
const MAX_COLLECTIONS: usize = 5_000;
/// The script that decompresses, filters and pages.
const SCRIPT: &str = include_str!("page.js");

/// The content security policy: only content of the file, and no other script.
fn policy() -> String {
    let script = STANDARD.encode(Sha256::digest(SCRIPT));
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{script}'; img-src data:; \
         base-uri 'none'; form-action 'none'"
    )
}

/// The report as a page.
pub(crate) fn html(report: &Report, view: View, rules: &[&RuleMeta], site: &Site) -> String {
    let (title, body) = match view {
        View::Findings => ("Docward report", findings_page(report, rules, site)),
        View::Checklist => ("Docward checklist", checklist_page(report)),
    };
    let title = format!("{title}: {}", head::subject(report));
    document(&title, &report.tool_version, &body)
}

fn document(title: &str, version: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "docward " (version) };
                meta http-equiv="Content-Security-Policy" content=(policy());
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(include_str!("page.css"))) }
            }
            body {
                a .skip href="#main" { "Skip to the content" }
                (body)
                footer {
                    p {
                        "Made by docward " (version) ". Self-contained: no network requests."
                    }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    let mut text = page.into_string();
    text.push('\n');
    text
}

fn findings_page(report: &Report, rules: &[&RuleMeta], site: &Site) -> Markup {
    let has_collections = !report.evidence.collections.is_empty();
    let has_map = !report.evidence.references.is_empty() || !report.evidence.copies.is_empty();
    let sections: Vec<(&str, &str)> = [
        ("summary", "Summary", true),
        ("findings", "Findings", true),
        ("collections", "Collections", has_collections),
        ("map", "Map", has_map),
        ("checklist", "Checklists", !report.checklist.is_empty()),
        ("more", "Details", true),
    ]
    .into_iter()
    .filter(|(_, _, shown)| *shown)
    .map(|(id, title, _)| (id, title))
    .collect();
    html! {
        (head::header(head::kind(report), report, &sections))
        main #main {
            section #summary aria-labelledby="summary-title" {
                (verdict::block(report, rules))
                (problems(report))
                (verdict::fix_first(report, rules))
                (verdict::coverage(report, rules))
                (health::table(report))
            }
            (findings::section(report, rules, site))
            @if has_collections { (collection::section(report)) }
            @if has_map { (map::section(report)) }
            @if !report.checklist.is_empty() { (checklist::section(report)) }
            (details::section(report))
        }
    }
}

fn checklist_page(report: &Report) -> Markup {
    html! {
        (head::header("checklist", report, &[]))
        main #main {
            (problems(report))
            (checklist::section(report))
            section aria-label="Signatures" .signatures {
                @for role in ["Development", "Operations", "Security"] {
                    p { (role) ":" span .rule {} "Date:" span .rule {} }
                }
            }
        }
    }
}

fn problems(report: &Report) -> Markup {
    html! {
        @if !report.problems.is_empty() {
            section .panel.bad aria-labelledby="problems" {
                h3 #problems { "Not read in full (" (text::count(report.problems.len() as u64)) ")" }
                ul {
                    @for problem in &report.problems {
                        li { b { (plain(&problem.source)) } ": " (plain(&problem.message)) }
                    }
                }
            }
        }
    }
}

/// Converts the `spans` in backticks of a text to code. Names may contain backticks themselves. A
/// span begins after a space or a bracket, and ends at the first backtick that no word character
/// follows; backticks in between are a part of it.
fn code_spans(text: &str) -> Markup {
    let text = plain(text);
    let mut rest = text.as_str();
    let mut parts: Vec<(bool, &str)> = Vec::new();
    let mut from = 0;
    while let Some(at) = rest[from..].find('`').map(|at| from + at) {
        match span_end(rest, at).filter(|_| opens(rest, at)) {
            Some(end) => {
                parts.extend([(false, &rest[..at]), (true, &rest[at + 1..end])]);
                (rest, from) = (&rest[end + 1..], 0);
            }
            // A single backtick opens nothing.
            None => from = at + 1,
        }
    }
    parts.push((false, rest));
    html! {
        @for (is_code, part) in parts {
            @if is_code { code { (part) } } @else { (part) }
        }
    }
}

/// The paragraphs and lists of a section of a page.
fn prose(text: &str) -> Markup {
    let mut blocks: Vec<(bool, Vec<String>)> = Vec::new();
    let mut is_open = false;
    for line in text.lines().map(str::trim) {
        let item = line.strip_prefix("- ");
        match (item, blocks.last_mut()) {
            _ if line.is_empty() => is_open = false,
            (Some(item), Some((true, items))) => {
                items.push(item.to_owned());
                is_open = true;
            }
            (Some(item), _) => {
                blocks.push((true, vec![item.to_owned()]));
                is_open = true;
            }
            (None, Some((_, texts))) if is_open => {
                if let Some(text) = texts.last_mut() {
                    text.push(' ');
                    text.push_str(line);
                }
            }
            (None, _) => {
                blocks.push((false, vec![line.to_owned()]));
                is_open = true;
            }
        }
    }
    html! {
        @for (is_list, texts) in blocks {
            @if is_list { ul { @for item in texts { li { (code_spans(&item)) } } } }
            @else { @for text in texts { p { (code_spans(&text)) } } }
        }
    }
}

/// Returns whether a span can begin at a backtick.
fn opens(text: &str, at: usize) -> bool {
    text[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '`')
}

/// The end of the span that begins at a backtick.
fn span_end(text: &str, start: usize) -> Option<usize> {
    let mut last = None;
    for (at, _) in text.match_indices('`').filter(|(at, _)| *at > start) {
        let next = text[at + 1..].chars().next();
        let begins_another = opens(text, at) && next.is_some_and(|c| !c.is_whitespace());
        match next {
            // Another span begins: this one ended before, in the middle of a word (`_id`s).
            Some(c) if c != '`' && last.is_some() && begins_another => return last,
            Some(c) if c == '`' || c.is_alphanumeric() => {
                last = last.or((at > start + 1).then_some(at))
            }
            _ if at > start + 1 => return Some(at),
            _ => {}
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_in_backticks_become_code_and_nothing_becomes_markup() {
        assert_eq!(code_spans("a `b<c` d").into_string(), "a <code>b&lt;c</code> d");
        assert_eq!(code_spans("a ` d").into_string(), "a ` d");
        assert_eq!(code_spans("`a`, (`b`)").into_string(), "<code>a</code>, (<code>b</code>)");
        assert_eq!(
            code_spans("`_id`s of `x`").into_string(),
            "<code>_id</code>s of <code>x</code>"
        );
    }

    #[test]
    fn sections_of_pages_have_paragraphs_and_lists() {
        let drawn =
            prose("Reports `a`\nand b:\n- one\n  more\n- two\n\nAnother paragraph.").into_string();
        assert_eq!(
            drawn,
            "<p>Reports <code>a</code> and b:</p><ul><li>one more</li><li>two</li></ul><p>Another paragraph.</p>"
        );
    }

    #[test]
    fn names_keep_their_backticks() {
        for (name, shown) in
            [("a`b", "a`b"), ("a`", "a`"), ("`a", "`a"), ("``", "``"), ("a`b`c", "a`b`c")]
        {
            let drawn = code_spans(&format!("field `{name}` is in `t_x`, not in `{name}`"));
            let expect = format!(
                "field <code>{shown}</code> is in <code>t_x</code>, not in <code>{shown}</code>"
            );
            assert_eq!(drawn.into_string(), expect);
        }
    }
}
