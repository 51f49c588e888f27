//! Draws checklists: the items of a launch review and a security review, with verdict and evidence.

use docward_model::{ChecklistItem, Report, Verdict};
use maud::{Markup, html};

use super::code_spans;
use crate::text::plain;

pub(super) fn section(report: &Report) -> Markup {
    let list = |prefix: &str| -> Vec<&ChecklistItem> {
        report.checklist.iter().filter(|item| item.id.starts_with(prefix)).collect()
    };
    html! {
        section #checklist aria-labelledby="checklist-title" {
            h2 #checklist-title { "Checklists" }
            @for (title, items) in [
                ("Launch review", list("CK")),
                ("Security", list("SE")),
                ("Security self-check", list("SC")),
            ] {
                @if !items.is_empty() {
                    h3 { (title) }
                    (tally(&items))
                    (table(title, &items))
                }
            }
        }
    }
}

/// The number of items with each verdict.
fn tally(items: &[&ChecklistItem]) -> Markup {
    let mut counts: Vec<(Verdict, usize)> = Vec::new();
    for item in items {
        match counts.iter_mut().find(|(verdict, _)| *verdict == item.verdict) {
            Some((_, n)) => *n += 1,
            None => counts.push((item.verdict, 1)),
        }
    }
    counts.sort_by_key(|(verdict, _)| rank(*verdict));
    html! {
        p { @for (of, n) in counts { span class={ "badge " (class(of)) } { (n) " " (of.name()) } " " } }
    }
}

fn table(title: &str, items: &[&ChecklistItem]) -> Markup {
    let is_signed = items.iter().any(|item| item.waiver.is_some());
    html! {
        div .scroll tabindex="0" role="region" aria-label=(title) {
            table .checklist.stacked {
                thead { tr {
                    th scope="col" { "Item" }
                    th scope="col" { "Requirement" }
                    th scope="col" { "Verdict" }
                    th scope="col" { "Evidence" }
                    @if is_signed { th scope="col" { "Signed off" } }
                } }
                tbody {
                    @for item in items {
                        tr {
                            th scope="row" { (item.id) }
                            td data-label="Requirement" { (item.title) }
                            td data-label="Verdict" { span class={ "badge " (class(item.verdict)) } { (item.verdict.name()) } }
                            td data-label="Evidence" { (code_spans(&item.evidence)) }
                            @if is_signed {
                                td data-label="Signed off" {
                                    @if let Some(waiver) = &item.waiver { (plain(&waiver.text())) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The colour of a verdict.
fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "good",
        Verdict::Warn => "poor",
        Verdict::Fail => "bad",
        Verdict::Unknown | Verdict::NotApplicable => "none",
    }
}

/// The order in which verdicts are counted, worst first.
fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Fail => 0,
        Verdict::Warn => 1,
        Verdict::Pass => 2,
        Verdict::Unknown => 3,
        Verdict::NotApplicable => 4,
    }
}
