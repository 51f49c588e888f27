//! Draws a design as a page: the model before and after, every decision with its votes and costs,
//! and the growth of documents.

use docward_design::{Decision, Design, Kind, Origin, Planned, Pools, Purpose, Verdict, Vote};
use docward_model::text;
use maud::{Markup, html};

use super::graph::{Graph, GraphArrow, GraphBox};
use super::{code_spans, document, head::buttons};
use crate::design::{costs, crossings, keys, patterns, pool_notes, rows};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 90.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 30.0;
/// The sizes drawn: from 100 B to slightly above 16 MB, in steps of ten.
const MIN_BYTES: f64 = 100.0;
const MAX_BYTES: f64 = 40_000_000.0;

/// The page.
pub(crate) fn page(design: &Design, pools: &Pools) -> String {
    let open = design.questions();
    let failed = design.checks.iter().filter(|check| check.holds == Some(false)).count();
    let body = html! {
        header .top {
            div .bar {
                div { h1 { (design.name) } p .muted { "Document model for " code { (design.database) } } }
                (buttons(false))
            }
        }
        main #main {
            section aria-label="Summary" {
                div .cards {
                    div .card { b { (design.decisions.len()) } span { "relationships" } }
                    div .card { b { (design.collections.len()) } span { "collections" } }
                    div class={ "card " (if open.is_empty() { "good" } else { "poor" }) } { b { (open.len()) } span { "open questions" } }
                    div class={ "card " (if failed == 0 { "good" } else { "bad" }) } { b { (failed) } span { "checks failed" } }
                }
            }
            section aria-labelledby="after-title" {
                h2 #after-title { "The model" }
                p { "Before: entities and relationships. After: collections and their embedded \
                 entities. Arrows are references; dashed arrows also copy fields." }
                figure .chart { figcaption { b { "Before" } } div .scroll tabindex="0" role="region" aria-label="Entities" { (before(design)) } }
                figure .chart { figcaption { b { "After" } } div .scroll tabindex="0" role="region" aria-label="Collections" { (after(design)) } }
            }
            section aria-labelledby="decisions-title" {
                h2 #decisions-title { "Decisions" }
                @for decision in &design.decisions { (one(decision)) }
            }
            section aria-labelledby="collections-title" {
                h2 #collections-title { "Collections" }
                div .scroll tabindex="0" role="region" aria-label="Collections and sizes" {
                    table .stacked {
                        thead { tr {
                            th scope="col" { "Collection" } th scope="col" { "Indexes" } th scope="col" { "Shard key" }
                            th scope="col" .num { "p50" } th scope="col" .num { "p99" } th scope="col" .num { "Max" } th scope="col" .num { "Data in 5 years" }
                        } }
                        tbody {
                            @for (collection, size) in design.collections.iter().zip(&design.capacity) {
                                tr {
                                    th scope="row" { code { (collection.name) } br; span .muted { (collection.purpose.name()) } }
                                    td data-label="Indexes" { @for index in &collection.indexes { code { (keys(index)) } @if index.unique { " unique" } br; } }
                                    td data-label="Shard key" { @if let Some(shard) = &collection.shard { code { (shard.key.text()) } } }
                                    td data-label="p50" .num { (text::bytes(size.document.0)) }
                                    td data-label="p99" .num { (text::bytes(size.document.1)) }
                                    td data-label="Max" .num { (text::bytes(size.document.2)) }
                                    td data-label="Data in 5 years" .num { @if let Some((_, Some((_, bytes)))) = size.years.last() { (text::bytes(*bytes)) } }
                                }
                            }
                        }
                    }
                }
            }
            section aria-labelledby="pools-title" {
                h2 #pools-title { "Connection pools" }
                @match pools {
                    Pools::Planned(plan) => {
                        table {
                            thead { tr { th scope="col" { "Option" } th scope="col" .num { "Value" } th scope="col" { "By" } } }
                            tbody { @for (name, value, clause) in plan.options() { tr { th scope="row" { code { (name) } } td .num { (value) } td { (clause) } } } }
                        }
                        ul { @for note in pool_notes(plan) { li { (code_spans(&note)) } } }
                    }
                    Pools::Open(question) => p { (code_spans(&question.ask)) " " span .muted { (code_spans(&question.write)) } }
                }
            }
            section aria-labelledby="checks-title" {
                h2 #checks-title { "Check-list" }
                ul {
                    @for check in &design.checks {
                        @let (class, word) = match check.holds { Some(true) => ("good", "pass"), Some(false) => ("bad", "fail"), None => ("note", "unknown") };
                        li { span class={ "badge " (class) } { (word) } " " b { (check.id.name()) } " " (code_spans(&check.because)) }
                    }
                }
                @if !open.is_empty() {
                    h2 { "Open questions" }
                    ul { @for question in open { li { (code_spans(&question.ask)) " " span .muted { (code_spans(&question.write)) } } } }
                }
                @for assumption in &design.assumptions { p .muted { (code_spans(assumption)) } }
            }
        }
    };
    document(&format!("Docward design: {}", design.name), env!("CARGO_PKG_VERSION"), &body)
}

/// The two pictures as standalone files.
pub(crate) fn pictures(design: &Design) -> (String, String) {
    let alone = |picture: Markup| {
        let opening = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"map\"";
        // With its own background: the surrounding page may be dark, and not every viewer supports
        // backgrounds of pictures.
        let style = "<style>.map{font:13px system-ui,'Segoe UI',Helvetica,Arial,sans-serif}.paper{fill:#fff}\
                     .node{fill:#f6f8fa;stroke:#57606a}.node-label{fill:#1b1f24;font-weight:600}\
                     .node-line{fill:#424a53;font-size:12px}.edge-label{fill:#2f4f7f;font-size:12px}\
                     .edge{fill:none;stroke:#3b6fb6;stroke-width:1.5}.copied{stroke-dasharray:5 4}.head{fill:#3b6fb6}</style>\
                     <rect class=\"paper\" width=\"100%\" height=\"100%\"/>";
        let text = picture.into_string().replacen("<svg class=\"map\"", opening, 1);
        let text = text.replacen("<defs>", &format!("{style}<defs>"), 1);
        format!("{text}\n")
    };
    (alone(before(design)), alone(after(design)))
}

fn one(decision: &Decision) -> Markup {
    let class = if decision.verdict == Verdict::Undecided { "poor" } else { "good" };
    html! {
        details open[decision.verdict == Verdict::Undecided] {
            summary {
                code { (decision.relationship) } " "
                span class={ "badge " (class) } { (decision.verdict.name()) } " "
                @for pattern in patterns(&decision.patterns) { span .badge { (code_spans(&pattern)) } " " }
            }
            @if decision.verdict == Verdict::Undecided {
                ul { @for question in &decision.questions { li { (code_spans(&question.ask)) " " span .muted { (code_spans(&question.write)) } } } }
            } @else {
                p { (code_spans(&decision.ruling.how)) " " span .muted { (decision.ruling.decided_by.join(", ")) } }
                @for remark in &decision.remarks { p .muted { (code_spans(remark)) } }
                table {
                    thead { tr { th scope="col" { "Vote" } th scope="col" { "Rows" } th scope="col" { "Because" } } }
                    tbody {
                        @for (vote, clauses, because) in rows(decision) {
                            @let class = match vote { Vote::Embed => "good", Vote::Reference => "note", Vote::Veto => "bad", _ => "" };
                            tr { td { span class={ "badge " (class) } { (vote.name()) } } td { (clauses) } td { (code_spans(because)) } }
                        }
                    }
                }
                @if !decision.turns.is_empty() {
                    p { b { (decision.ruling.choice.other().name()) } " if:" }
                    ul { @for turn in &decision.turns { li { (turn.when) } } }
                }
                @let rows = costs(decision);
                @if let Some((heading, rest)) = rows.split_first() {
                    div .scroll tabindex="0" role="region" aria-label="Costs of each alternative" {
                        table .stacked {
                            thead { tr { @for cell in heading { th scope="col" { (cell) } } } }
                            tbody { @for row in rest { tr { @for (i, cell) in row.iter().enumerate() { @if i == 0 { th scope="row" { (cell) } } @else { td data-label=(heading[i]) .num { (cell) } } } } } }
                        }
                    }
                    (growth(decision))
                }
                @if let Some(crossed) = crossings(decision) { p { (crossed) "." } }
            }
        }
    }
}

/// The growth of a parent over five years, one line per alternative.
fn growth(decision: &Decision) -> Markup {
    let x = |years: u32| LEFT + f64::from(years) / 5.0 * (WIDTH - LEFT - RIGHT);
    let scale = (MAX_BYTES / MIN_BYTES).log10();
    let y = |bytes: f64| {
        let up = (bytes.clamp(MIN_BYTES, MAX_BYTES) / MIN_BYTES).log10() / scale;
        HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)
    };
    let words = decision
        .alternatives
        .iter()
        .filter_map(|way| {
            let (first, last) = (way.parent.first()?, way.parent.last()?);
            let (first, last) = (text::bytes(first.2), text::bytes(last.2));
            Some(match first == last {
                true => format!("{} stays at {first}", way.name),
                false => format!("{} grows from {first} to {last}", way.name),
            })
        })
        .collect::<Vec<_>>()
        .join(", ");
    let ends: Vec<(&str, f64)> = decision
        .alternatives
        .iter()
        .filter_map(|way| Some((way.name, y(way.parent.last()?.2 as f64))))
        .collect();
    html! {
        figure .chart {
            figcaption { b { "Bytes of a parent at p99" } " " span .muted { "over five years, \
             logarithmic scale" } }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(words) {
                title { (words) }
                @for (bytes, label, _) in docward_design::capacity::TIERS {
                    line .limit x1=(px(LEFT)) x2=(px(WIDTH - RIGHT)) y1=(px(y(bytes as f64))) y2=(px(y(bytes as f64))) {}
                    text .limit-label x=(px(LEFT - 6.0)) y=(px(y(bytes as f64) + if bytes == 16_777_216 { -1.0 } else { 9.0 })) text-anchor="end" { (label) }
                }
                line .axis x1=(px(LEFT)) x2=(px(WIDTH - RIGHT)) y1=(px(HEIGHT - BOTTOM)) y2=(px(HEIGHT - BOTTOM)) {}
                line .axis x1=(px(LEFT)) x2=(px(LEFT)) y1=(px(TOP)) y2=(px(HEIGHT - BOTTOM)) {}
                @for way in &decision.alternatives {
                    @let points: Vec<String> = way.parent.iter().map(|(years, _, p99, _)| format!("{:.1},{:.1}", x(*years), y(*p99 as f64))).collect();
                    @let dash = if way.chosen { "" } else { ";stroke-dasharray:5 4" };
                    polyline points=(points.join(" ")) style={ "fill:none;stroke:var(--bar);stroke-width:2.5" (dash) } {}
                    @if let Some((years, _, p99, _)) = way.parent.last() {
                        // Lines that end at the same height get labels at different heights.
                        @let lower = ends.iter().take_while(|(name, _)| *name != way.name).filter(|(_, end)| (end - y(*p99 as f64)).abs() < 12.0).count();
                        text .tick x=(px(x(*years) + 6.0)) y=(px(y(*p99 as f64) + 4.0 + 12.0 * lower as f64)) { (way.name) }
                    }
                }
                @for years in [0_u32, 1, 3, 5] {
                    text .tick x=(px(x(years))) y=(px(HEIGHT - 10.0)) text-anchor="middle" { (if years == 0 { "now".to_owned() } else { text::plural(u64::from(years), "year") }) }
                }
            }
        }
    }
}

fn px(value: f64) -> String {
    format!("{value:.1}")
}

/// Entities and relationships as declared.
fn before(design: &Design) -> Markup {
    let mut graph = Graph::default();
    for advice in &design.entities {
        graph.boxes.push(GraphBox {
            lines: vec![advice.entity.clone()],
            title: advice.entity.clone(),
            href: None,
            class: "",
        });
    }
    let place = |name: &str| design.entities.iter().position(|advice| advice.entity == name);
    for decision in &design.decisions {
        let (Some(from), Some(to)) = (place(&decision.parent), place(&decision.child)) else {
            continue;
        };
        let label = format!("{} {}", role(&decision.relationship), signs(decision.facts.kind));
        if from == to {
            graph.boxes[from].lines.push(format!("↻ {label}"));
            continue;
        }
        graph.arrows.push(GraphArrow {
            from,
            to,
            label,
            words: format!("{}: {}", decision.relationship, decision.facts.kind.name()),
            dashed: false,
        });
    }
    graph.draw("entity")
}

/// `1:N`: longer words would overlap the boxes.
fn signs(kind: Kind) -> &'static str {
    match kind {
        Kind::OneToOne => "1:1",
        Kind::OneToMany => "1:N",
        Kind::ManyToOne => "N:1",
        Kind::ManyToMany => "N:M",
    }
}

fn role(relationship: &str) -> &str {
    relationship.rsplit_once('.').map_or(relationship, |(_, role)| role)
}

/// Collections with their embedded entities.
fn after(design: &Design) -> Markup {
    let mut graph = Graph::default();
    for collection in &design.collections {
        let mut lines = vec![collection.name.clone()];
        if collection.purpose != Purpose::Entity {
            lines.push(format!("({})", collection.purpose.name()));
        }
        lines.extend(collection.fields.iter().filter_map(worth_drawing));
        graph.boxes.push(GraphBox {
            lines,
            title: collection.purpose.name().to_owned(),
            href: None,
            class: "",
        });
    }
    for (from, collection) in design.collections.iter().enumerate() {
        let mut targets: Vec<(usize, Vec<String>, bool)> = Vec::new();
        references(&collection.fields, &mut |field, entity, copied| {
            let home = design.collections.iter().position(|c| {
                c.entity == entity
                    && !matches!(
                        c.purpose,
                        Purpose::Junction(_)
                            | Purpose::Overflow(_)
                            | Purpose::Versions
                            | Purpose::Archive
                            | Purpose::UniqueValues(_)
                    )
            });
            let Some(to) = home.filter(|to| *to != from) else { return };
            match targets.iter_mut().find(|(have, _, _)| *have == to) {
                Some((_, fields, has_copies)) => {
                    fields.push(field.to_owned());
                    *has_copies |= copied;
                }
                None => targets.push((to, vec![field.to_owned()], copied)),
            }
        });
        for (to, fields, copied) in targets {
            let field = fields.join(", ");
            graph.arrows.push(GraphArrow {
                from,
                to,
                words: format!("{}.{field} → {}", collection.name, design.collections[to].name),
                label: field,
                dashed: copied,
            });
        }
    }
    graph.draw("collection")
}

/// Fields that show a decision.
fn worth_drawing(field: &Planned) -> Option<String> {
    match &field.origin {
        Origin::Id | Origin::Own => None,
        _ if field.items.is_some() => {
            let most = field.items.map_or(0, |items| items.max);
            Some(format!("{}[≤ {}]", field.name, text::count(most)))
        }
        _ if !field.fields.is_empty() => {
            let mut names: Vec<&str> =
                field.fields.iter().take(3).map(|inner| inner.name.as_str()).collect();
            if field.fields.len() > names.len() {
                names.push("…");
            }
            Some(format!("{} {{ {} }}", field.name, names.join(", ")))
        }
        _ => Some(field.name.clone()),
    }
}

fn references(fields: &[Planned], found: &mut impl FnMut(&str, &str, bool)) {
    for (i, field) in fields.iter().enumerate() {
        let Origin::Reference(entity) = &field.origin else {
            references(&field.fields, found);
            continue;
        };
        // Copies follow the id, or are next to it in a list.
        let beside = fields
            .get(i + 1)
            .is_some_and(|next| matches!(&next.origin, Origin::Copy(of) if of == entity));
        let within = field.fields.iter().any(|inner| matches!(inner.origin, Origin::Copy(_)));
        found(&field.name, entity, beside || within);
    }
}
