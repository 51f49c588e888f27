//! The README, which explains the files and the decisions behind them.

use docward_model::DesignModel;

use crate::cost::pools::{PoolPlan, Pools, pools};
use crate::emit::maintain::Refusal;
use crate::emit::statement::{Script, is_value};
use crate::layout::plan::Design;

pub(super) fn page(
    model: &DesignModel,
    design: &Design,
    scripts: &[Script],
    refused: &[Refusal],
) -> String {
    let mut text = format!("# {}\n\nDatabase `{}`.\n\n## Files\n\n", design.name, design.database);
    text.push_str("| file | what it is |\n|---|---|\n");
    let mut row = |file: &str, what: &str| text.push_str(&format!("| `{file}` | {what} |\n"));
    row("01-collections.js", "creates the collections with validators; can be run again");
    row("02-indexes.js", "creates the indexes; can be run again");
    row("03-shard.js", "shards the collections and sets zones; has no effect without shards");
    row("validators/", "the validators alone, as extended JSON");
    row("examples/", "one document of each collection");
    for script in scripts {
        let names: Vec<String> = script.jobs.iter().map(|job| format!("`{}`", job.name)).collect();
        row(&format!("patterns/{}", script.file()), &names.join(", "));
    }
    row("check.js", "tests all of it in a scratch database and reports failures");
    row("before.svg, after.svg", "diagrams: the model before, the collections after");
    row("model.mmd, design.mmd", "the same diagrams for Mermaid");
    text.push_str("\n```sh\nmongosh \"$URI\" 01-collections.js 02-indexes.js\nmongosh \"$URI\" 03-shard.js   # on a sharded cluster\nmongosh \"$URI\" check.js      # on a test deployment\n```\n");
    text.push_str(
        "\n## Decisions\n\n| relationship | decision | by | because |\n|---|---|---|---|\n",
    );
    for decision in &design.decisions {
        let mut clauses: Vec<&str> = decision.ruling.decided_by.to_vec();
        clauses.extend(decision.patterns.iter().flat_map(|pattern| pattern.clauses()));
        clauses.sort_unstable();
        clauses.dedup();
        let patterns: Vec<&str> = decision.patterns.iter().map(|p| p.name()).collect();
        text.push_str(&format!(
            "| `{}` | {}{} | {} | {} |\n",
            decision.relationship,
            decision.verdict.name(),
            if patterns.is_empty() { String::new() } else { format!(": {}", patterns.join(", ")) },
            clauses.join(", "),
            cell(&decision.ruling.how)
        ));
    }
    for advice in design.entities.iter().filter(|advice| !advice.patterns.is_empty()) {
        for pattern in &advice.patterns {
            text.push_str(&format!(
                "| `{}` | {} | {} | |\n",
                advice.entity,
                pattern.name(),
                pattern.clauses().join(", ")
            ));
        }
    }
    let without: Vec<&str> = design
        .decisions
        .iter()
        .filter(|d| !d.patterns.is_empty() && !scripts.iter().any(|s| s.about == d.relationship))
        .filter(|d| !refused.iter().any(|refusal| refusal.about == d.relationship))
        .map(|d| d.relationship.as_str())
        .collect();
    if !without.is_empty() {
        text.push_str(&format!(
            "\nDocward generated no functions for these relationships, because one end is inside a list or is a series with its own \
             functions: {}.\n",
            without.join(", ")
        ));
    }
    if !refused.is_empty() {
        text.push_str("\n## Not generated\n\n");
    }
    for refusal in refused {
        text.push_str(&format!("- {}\n", refusal.sentence));
    }
    text.push_str(&on_shards(model, design, scripts));
    text.push_str(&client_pools(model));
    text
}

/// Describes the differences on a sharded cluster.
fn on_shards(model: &DesignModel, design: &Design, scripts: &[Script]) -> String {
    if design.collections.iter().all(|collection| collection.shard.is_none()) {
        return String::new();
    }
    let mut text = String::from(
        "\n## On a sharded cluster\n\nDocward tested the functions on replica sets and standalone \
         servers, but not through a `mongos`: test them on a sharded deployment before an \
         application uses them.\n",
    );
    let (mut looking, mut upserting): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for job in scripts.iter().flat_map(|script| &script.jobs) {
        if job.statements().iter().any(|statement| !statement.key.is_empty()) {
            looking.push(format!("`{}`", job.name));
        }
        let is_upsert = |statement: &&crate::emit::statement::Statement| {
            let plan = design.collections.iter().find(|c| c.name == statement.collection);
            let key = plan.and_then(|plan| plan.shard.as_ref());
            let filter = statement.filter();
            statement.is_upsert()
                && key.is_some_and(|plan| {
                    let mut fields = plan.key.fields.iter();
                    fields.any(|(name, _)| !is_value(filter.and_then(|filter| filter.get(name))))
                })
        };
        if model.deployment.server < (7, 1) && job.statements().iter().any(is_upsert) {
            upserting.push(format!("`{}`", job.name));
        }
    }
    if !looking.is_empty() {
        text.push_str(&format!(
            "\nServers before 7.1 require the shard key in the filter of `findOneAnd…`, and the \
             shard key or `_id` in the filter of `updateOne`. These functions read the key first \
             (`withKey`), which costs one more read. An application that knows the key should add \
             it to the filter: {}.\n",
            looking.join(", ")
        ));
    }
    if !upserting.is_empty() {
        text.push_str(&format!(
            "\nThere, an upsert needs the full key in its filter, but these have only a part of \
             it: {}. Find the document first, and insert it if there is none.\n",
            upserting.join(", ")
        ));
    }
    text
}

/// Describes the options of the clients (ALG-3), or what to declare for them.
fn client_pools(model: &DesignModel) -> String {
    let heading = "\n## Connection pools\n\n";
    match pools(model) {
        Pools::Planned(plan) => format!("{heading}{}", planned(&plan)),
        Pools::Open(question) => {
            format!("{heading}Not sized: {} {}.\n", question.ask, capital(&question.write))
        }
    }
}

fn planned(plan: &PoolPlan) -> String {
    let mut text = String::from("| option | value | by |\n|---|---|---|\n");
    for (name, value, clause) in plan.options() {
        text.push_str(&format!("| `{name}` | {value} | {clause} |\n"));
    }
    text.push_str(&format!("\n- {}\n- {}\n- {}\n", plan.formula(), plan.sum(), plan.way()));
    for warning in plan.warnings() {
        let gravity = warning.gravity.name();
        text.push_str(&format!("- {gravity}: {} ({})\n", warning.message, warning.clause));
    }
    let options: Vec<String> =
        plan.options().iter().map(|(name, value, _)| format!("{name}={value}")).collect();
    text.push_str(&format!(
        "\nAs connection string options: `{}`. These commands generate a client with this pool, \
         and check whether the pool is enough when you know how long an operation takes \
         (PF-4):\n\n```sh\n",
        options.join("&")
    ));
    text.push_str(&format!(
        "docward connect sdk --lang java --method {} --pool {} --min-pool {}   # or python, node, go, rust\n",
        plan.plan.deployment.method.name(),
        plan.options()[0].1,
        plan.options()[1].1
    ));
    if let Some(next) = plan.next() {
        text.push_str(&format!("{next}\n"));
    }
    text.push_str("```\n");
    text
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Escapes text for a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
