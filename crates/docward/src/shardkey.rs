//! `docward shardkey`: judges or proposes shard keys.

use anyhow::{Context, bail};
use docward_advise::{KeyQuestion, shard_keys};
use docward_bson::{json, value::to_value};
use docward_collect::{Collected, Request, collect, read_logs};
use docward_model::{Collection, CollectionKind, KeyFields, KeyReport, Value, Verdict};
use docward_report::Format;

use crate::{
    args::ShardKeyArgs,
    config,
    interrupt::Interrupt,
    output,
    progress::Bar,
    reading, run,
    terminal::{CLEAN, FINDINGS, PROBLEMS, put},
};

/// Runs the command. The exit code is 1 if a requested key, or the current key of the collection,
/// fails.
pub(crate) fn shardkey(mut args: ShardKeyArgs) -> anyhow::Result<u8> {
    reading::or_from_environment(&mut args.sources)?;
    let args = &args;
    output::spare(args.reading.output.as_deref(), &args.sources)?;
    let keys = args.key.iter().map(|text| parse_key(text)).collect::<anyhow::Result<Vec<_>>>()?;
    let config = config::load(args.reading.config.as_deref(), &args.sources, false)?;
    let request = Request {
        keep_samples: true,
        server_workload: args.workload.is_empty(),
        analyze_keys: Some(keys.clone()),
        ..reading::reading(&args.sources, &args.reading)?
    };
    let interrupt = Interrupt::listen();
    let bar = Bar::new(!args.reading.no_progress);
    let Collected { mut evidence, mut problems, interrupted, .. } =
        collect(&request, &bar, interrupt.stop());
    let logs = read_logs(&args.workload, &bar, interrupt.stop());
    interrupt.judging();
    evidence.workload = logs.workload.or(evidence.workload);
    problems.extend(logs.problems);
    bar.finish();

    run::note_other_keys(&evidence, &config.settings);
    let business: Vec<_> = evidence
        .collections
        .iter()
        .filter(|c| c.kind.is_business() && c.kind != CollectionKind::TimeSeries)
        .filter(|c| c.profile.as_ref().is_some_and(|p| p.documents > 0))
        .collect();
    if business.is_empty() && !problems.is_empty() && !interrupted {
        return Ok(run::refuse(&problems));
    }
    if business.is_empty() && problems.is_empty() {
        match evidence.collections.iter().find_map(not_to_be_judged) {
            Some(why) => bail!("{why}"),
            None => bail!(
                "no collection with documents was found; check the source, --db and --collection"
            ),
        }
    }
    if !keys.is_empty() && business.len() > 1 {
        let names: Vec<String> = business.iter().take(5).map(|c| c.namespace.to_string()).collect();
        bail!(
            "--key needs one collection, but {} were read ({}, …); choose one with --collection",
            business.len(),
            names.join(", ")
        );
    }
    if let Some(zone) = &args.zone
        && !business.is_empty()
        && business.iter().all(|c| c.profile.as_ref().is_none_or(|p| p.field(zone).is_none()))
    {
        bail!("--zone {zone}: no document that was read has this field");
    }
    let question = KeyQuestion {
        keys,
        shards: args.shards,
        zone: args.zone.clone(),
        show_values: args.show_values,
    };
    let reports: Vec<KeyReport> = business
        .iter()
        .filter_map(|c| shard_keys(c, &evidence, &config.settings, &question))
        .collect();
    let text = match args.format {
        Format::Json => docward_report::shard_keys_json(&reports, &problems),
        _ => docward_report::shard_keys(
            &reports,
            &problems,
            crate::terminal::wants_color(args.reading.color, args.reading.output.is_some()),
            crate::terminal::terminal_width(),
        ),
    };
    put(&text, args.reading.output.as_deref())?;
    if !problems.is_empty() || interrupted || logs.interrupted {
        return Ok(PROBLEMS);
    }
    let failed = reports.iter().flat_map(|r| &r.judged).any(|v| v.verdict == Verdict::Fail);
    Ok(if failed { FINDINGS } else { CLEAN })
}

/// Returns why the keys of a collection of this kind cannot be judged.
fn not_to_be_judged(collection: &Collection) -> Option<String> {
    let namespace = &collection.namespace;
    match collection.kind {
        CollectionKind::View => Some(format!(
            "{namespace} is a view, which cannot be sharded; name the collection that it reads"
        )),
        CollectionKind::TimeSeries => {
            let options = collection.options.as_ref().and_then(|o| o.time_series.as_ref());
            let time = options.map_or("timeField", |o| o.time_field.as_str());
            let meta = match options.map(|o| o.meta_field.as_deref()) {
                Some(Some(meta)) => format!("`{meta}` or fields inside it"),
                Some(None) => "a metaField (it has none)".to_owned(),
                None => "its metaField".to_owned(),
            };
            Some(format!(
                "{namespace} is a time series collection, and Docward does not measure its \
                 buckets. Its shard key can consist of {meta} and, in the last place and not \
                 hashed, `{time}` (MongoDB 5.1 and later)"
            ))
        }
        _ => None,
    }
}

/// Parses `{"customerId": 1, "createdAt": 1}` or `{"_id": "hashed"}`.
fn parse_key(text: &str) -> anyhow::Result<KeyFields> {
    let shown = || format!("--key {text}");
    let document = json::parse_one(text)
        .map_err(|error| anyhow::anyhow!("{error}"))
        .with_context(shown)
        .context("a key is a JSON document such as {\"customerId\": 1, \"createdAt\": 1} or {\"_id\": \"hashed\"}")?;
    let value = to_value(&document)
        .map_err(|fault| anyhow::anyhow!("{}", fault.kind))
        .with_context(shown)?;
    let fields: KeyFields = value
        .entries()
        .iter()
        .map(|(path, kind)| match kind {
            Value::Int(1) => Ok((path.clone(), false)),
            Value::Double(n) if *n == 1.0 => Ok((path.clone(), false)),
            Value::Text(kind) if kind == "hashed" => Ok((path.clone(), true)),
            _ => bail!("--key {text}: `{path}` must be 1 or \"hashed\""),
        })
        .collect::<anyhow::Result<_>>()?;
    if fields.is_empty() {
        bail!("--key {text}: a shard key needs at least one field");
    }
    Ok(fields)
}
