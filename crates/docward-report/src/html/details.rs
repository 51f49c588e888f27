//! Draws further information: comparison, suppressions, notes, sources.

use docward_model::{Report, text};
use maud::{Markup, html};

use crate::text::plain;

/// The maximum number of fixed findings listed.
const LISTED: usize = 500;

pub(super) fn section(report: &Report) -> Markup {
    html! {
        section #more aria-labelledby="more-title" {
            h2 #more-title { "Details" }
            @if let Some(compared) = &report.compared {
                p { "Compared with the " (compared.basis.name()) " " code { (plain(&compared.with)) } "." }
                @for (title, list) in [("Fixed", &compared.fixed), ("Not \
                 checked", &compared.not_judged)] {
                    @if !list.is_empty() {
                        details {
                            summary { (title) " (" (text::count(list.len() as u64)) ")" }
                            ul {
                                @for known in list.iter().take(LISTED) {
                                    li { b { (known.rule) } " " (known.name) " " code { (plain(&known.at.text())) } }
                                }
                                @if list.len() > LISTED { li { "and " (text::count((list.len() - LISTED) as u64)) " more" } }
                            }
                        }
                    }
                }
            }
            @if !report.suppressions.is_empty() {
                h3 { "Suppressed" }
                ul {
                    @for used in &report.suppressions {
                        li {
                            code { (plain(&used.about)) } ": " (text::plural(used.findings, "finding"))
                            @if let Some(day) = &used.expires { ", until " (day) }
                            ": " (plain(&used.reason))
                        }
                    }
                }
            }
            @if !report.evidence.notes.is_empty() {
                h3 { "Notes about this run" }
                ul { @for note in &report.evidence.notes { li { (plain(note)) } } }
            }
            h3 { "Sources" }
            ul {
                @for source in &report.sources {
                    li {
                        code { (plain(&source.name)) } " (" (source.kind.name()) "): "
                        (text::count(source.documents)) " read, " (text::bytes(source.bytes))
                        @if source.sampled { ", sampled" }
                    }
                }
            }
        }
    }
}
