//! Formats a design as JSON, version 1.

use docward_design::{
    Alternative, Crossing, Decision, Design, Pattern, Planned, PoolPlan, Pools, Question, Vote,
    Window,
};
use serde_json::{Map, Value, json};

use super::keys;

pub(crate) fn json(design: &Design, pools: &Pools) -> String {
    let (pools, undeclared) = match pools {
        Pools::Planned(plan) => (self::pools(plan), Vec::new()),
        Pools::Open(open) => (Value::Null, vec![question(open)]),
    };
    let value = json!({
        "version": 1,
        "name": design.name,
        "database": design.database,
        "decisions": design.decisions.iter().map(decision).collect::<Vec<_>>(),
        "entities": design.entities.iter().map(|advice| json!({
            "name": advice.entity,
            "pattern": advice.patterns.iter().map(Pattern::name).collect::<Vec<_>>(),
            "patterns": patterns(&advice.patterns),
            "remarks": advice.remarks,
            "questions": advice.questions.iter().map(question).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "collections": design.collections.iter().map(|collection| json!({
            "name": collection.name,
            "purpose": collection.purpose.name(),
            "entity": collection.entity,
            "documents": collection.documents,
            "perYear": collection.per_year,
            "keptDays": collection.kept_days,
            "services": collection.services,
            "fields": collection.fields.iter().map(field).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "indexes": indexes(design),
        "shardKeys": shard_keys(design),
        "capacity": capacity(design),
        "checks": design.checks.iter().map(|check| json!({
            "id": check.id.name(),
            "verdict": match check.holds { Some(true) => "pass", Some(false) => "fail", None => "unknown" },
            "evidence": check.because,
        })).collect::<Vec<_>>(),
        "questions": design.questions().into_iter().map(question).collect::<Vec<_>>(),
        "assumptions": design.assumptions,
        "pools": pools,
        "undeclared": undeclared,
    });
    format!("{value:#}\n")
}

/// The keys of `connect plan`, with the sources of the figures.
fn pools(plan: &PoolPlan) -> Value {
    let options = plan.options().map(|(name, value, _)| (name.to_owned(), json!(value)));
    let mut made: Map<String, Value> = options.into_iter().collect();
    let deployment = &plan.plan.deployment;
    let more = json!({
        "clients": plan.clients,
        "method": deployment.method.name(),
        "limit": deployment.limit,
        "budget": plan.plan.budget,
        "cap": plan.cap,
        "total": plan.clients.saturating_mul(plan.max_pool()),
        "share": plan.plan.share,
        "verdict": plan.plan.verdict.name(),
        "formula": plan.formula(),
        "perSecond": plan.per_second,
        "warnings": plan.warnings().map(|warning| json!({
            "gravity": warning.gravity.name(),
            "severity": warning.gravity.severity().name(),
            "clause": warning.clause,
            "message": warning.message,
        })).collect::<Vec<_>>(),
    });
    if let Value::Object(more) = more {
        made.extend(more);
    }
    Value::Object(made)
}

fn question(question: &Question) -> Value {
    json!({ "about": question.about, "ask": question.ask, "write": question.write })
}

fn decision(decision: &Decision) -> Value {
    let rows = decision.ruling.rows.iter();
    let flat = rows.flat_map(|row| row.rows.iter().map(move |clause| (clause, row)));
    let votes: Vec<Value> = flat
        .clone()
        .filter(|(_, row)| row.vote != Vote::Veto)
        .map(|(clause, row)| {
            json!({ "clause": clause, "vote": row.vote.number(), "says": row.vote.name(), "why": row.because })
        })
        .collect();
    let vetoes: Vec<Value> = flat
        .filter(|(_, row)| row.vote == Vote::Veto)
        .map(|(clause, row)| json!({ "clause": clause, "why": row.because }))
        .collect();
    let facts = &decision.facts;
    let decided = decision.choice.is_some();
    json!({
        "relationship": decision.relationship,
        "verdict": decision.verdict.name(),
        "kind": facts.kind.name(),
        "pattern": decision.patterns.iter().map(Pattern::name).collect::<Vec<_>>(),
        "patterns": patterns(&decision.patterns),
        "decidedBy": decided.then_some(decision.ruling.decided_by),
        "how": decided.then_some(&decision.ruling.how),
        "votes": votes,
        "vetoes": vetoes,
        "dissent": if decided {
            decision.ruling.dissent().flat_map(|row| row.rows.iter().copied()).collect::<Vec<_>>()
        } else {
            Vec::new()
        },
        "runnerUp": decided.then(|| decision.ruling.choice.other().name()),
        "turns": decision.turns.iter().map(|turn| json!({
            "to": turn.choice.name(), "when": turn.when, "from": turn.from,
        })).collect::<Vec<_>>(),
        "facts": {
            "children": { "p50": facts.children.p50, "p95": facts.children.p95, "p99": facts.children.p99, "max": facts.children.max },
            "childBytes": facts.child_bytes,
            "parentBytesP99": facts.parent_bytes,
            "projectedBytesP99": facts.projected(),
            "coRead": facts.co_read,
            "coUpdate": facts.co_update,
            "childOnlyUpdate": facts.child_only_update,
            "queriedAlone": facts.queried_alone,
            "atomic": facts.atomic,
            "mustBeCurrent": facts.must_be_current,
            "shared": facts.shared.is_some(),
        },
        "alternatives": decision.alternatives.iter().map(alternative).collect::<Vec<_>>(),
        "needsTransaction": decision.needs_transaction,
        "remarks": decision.remarks,
        "questions": decision.questions.iter().map(question).collect::<Vec<_>>(),
    })
}

fn alternative(way: &Alternative) -> Value {
    json!({
        "way": way.way.name(),
        "name": way.name,
        "chosen": way.chosen,
        "operations": way.operations.iter().map(|cost| json!({
            "name": cost.name, "writes": cost.writes, "perSecond": cost.per_second,
            "documents": cost.documents, "bytes": cost.bytes, "indexEntries": cost.entries,
            "transaction": cost.transaction,
        })).collect::<Vec<_>>(),
        "parentBytes": way.parent.iter().map(|(years, p50, p99, max)| json!({
            "years": years, "p50": p50, "p99": p99, "max": max,
        })).collect::<Vec<_>>(),
        "crossings": way.crossings.iter().map(crossing).collect::<Vec<_>>(),
        "longestList": way.longest_list.map(|(elements, endless)| json!({
            "elements": elements, "endless": endless,
        })),
        "storageBytes": way.storage,
        "indexBytes": way.index_bytes,
    })
}

fn crossing(crossing: &Crossing) -> Value {
    json!({
        "tier": crossing.label, "clause": crossing.clause, "children": crossing.children,
        "years": crossing.years, "date": crossing.date,
    })
}

fn patterns(all: &[Pattern]) -> Vec<Value> {
    let has_pairs = all.contains(&Pattern::Junction);
    let one = |(found, words)| pattern(found, words, has_pairs);
    all.iter().zip(super::patterns(all)).map(one).collect()
}

fn pattern(pattern: &Pattern, words: String, has_pairs: bool) -> Value {
    let mut value = Map::new();
    value.insert("name".to_owned(), json!(pattern.name()));
    value.insert("text".to_owned(), json!(words));
    value.insert("clauses".to_owned(), json!(pattern.clauses()));
    let more = match pattern {
        Pattern::ExtendedReference { fields, in_parent, changing } => {
            let place = match (has_pairs, in_parent) {
                (true, _) => "pair",
                (false, true) => "parent",
                (false, false) => "child",
            };
            json!({ "fields": fields, "in": place, "changing": changing })
        }
        Pattern::Subset { newest, by, fields } => {
            json!({ "newest": newest, "by": by, "fields": fields })
        }
        Pattern::Computed { counts, sums } => json!({ "counts": counts, "sums": sums }),
        Pattern::Approximation { step } => json!({ "step": step }),
        Pattern::Outlier { page } => json!({ "page": page }),
        Pattern::CappedArray { newest } => json!({ "newest": newest }),
        Pattern::TimeSeries { time, meta, granularity } => {
            json!({ "timeField": time, "metaField": meta, "granularity": granularity })
        }
        Pattern::Bucket(bucket) => json!({
            "series": bucket.series,
            "window": match bucket.window { Window::Day => "day", Window::Hour => "hour", Window::Events(_) => "events" },
            "most": bucket.most,
            "bytes": bucket.bytes,
            "documentsPerYear": bucket.per_year.0,
            "readingsPerYear": bucket.per_year.1,
        }),
        Pattern::Polymorphic { discriminator } => json!({ "discriminator": discriminator }),
        Pattern::Attribute { fields } => json!({ "fields": fields }),
        Pattern::Archive { days } => json!({ "days": days }),
        _ => json!({}),
    };
    if let Value::Object(more) = more {
        value.extend(more);
    }
    Value::Object(value)
}

fn field(planned: &Planned) -> Value {
    let mut value = Map::new();
    value.insert("name".to_owned(), json!(planned.name));
    value.insert("type".to_owned(), json!(planned.kind.name()));
    if let Some(element) = planned.element {
        value.insert("of".to_owned(), json!(element.name()));
    }
    if let Some(items) = planned.items {
        value.insert("maxItems".to_owned(), json!(items.max));
    }
    if let Some(note) = planned.origin.note() {
        value.insert("note".to_owned(), json!(note));
    }
    if !planned.fields.is_empty() {
        value.insert("fields".to_owned(), planned.fields.iter().map(field).collect());
    }
    Value::Object(value)
}

fn indexes(design: &Design) -> Vec<Value> {
    let all = design.collections.iter().flat_map(|c| c.indexes.iter().map(move |index| (c, index)));
    all.map(|(collection, index)| {
        json!({
            "collection": collection.name,
            "keys": index.key_document(),
            "text": keys(index),
            "unique": index.unique,
            "partialFilter": index.only.as_ref().map(docward_design::Partial::filter),
            "expireAfterSeconds": index.expire_after,
            "serves": index.serves,
            "notes": index.notes,
        })
    })
    .collect()
}

fn shard_keys(design: &Design) -> Vec<Value> {
    let all = design.collections.iter().filter_map(|c| Some((c, c.shard.as_ref()?)));
    let key = |key: &docward_design::KeyCandidate| {
        json!({
            "key": key.text(),
            "sound": key.is_sound(),
            "targeted": key.targeted,
            "checks": key.checks.iter().map(|(clause, holds, why)| json!({
                "clause": clause,
                "verdict": match holds {
                    Some(true) => "pass",
                    Some(false) if docward_design::is_warning(clause) => "warn",
                    Some(false) => "fail",
                    None => "unknown",
                },
                "why": why,
            })).collect::<Vec<_>>(),
        })
    };
    all.map(|(collection, shard)| {
        json!({
            "collection": collection.name,
            "best": key(&shard.key),
            "others": shard.others.iter().map(key).collect::<Vec<_>>(),
            "uniqueValues": shard.lookups.iter().map(|lookup| json!({
                "collection": lookup.collection,
                "field": lookup.field,
                "id": lookup.holder,
            })).collect::<Vec<_>>(),
            "zones": shard.zones,
        })
    })
    .collect()
}

fn capacity(design: &Design) -> Vec<Value> {
    design
        .capacity
        .iter()
        .map(|row| {
            json!({
                "collection": row.collection,
                "documentBytes": { "p50": row.document.0, "p99": row.document.1, "max": row.document.2 },
                "years": row.years.iter().map(|(years, amount)| json!({
                    "years": years,
                    "documents": amount.map(|(documents, _)| documents),
                    "bytes": amount.map(|(_, bytes)| bytes),
                })).collect::<Vec<_>>(),
                "indexBytes": row.index_bytes,
                "workingSetBytes": row.working_set.map(|(bytes, _)| bytes),
                "workingSetIsUpperBound": row.working_set.map(|(_, bound)| bound),
            })
        })
        .collect()
}
