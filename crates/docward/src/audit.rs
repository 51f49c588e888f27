//! `docward audit` and `docward checklist`: reads sources, runs the rules and prints a report.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    env,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, bail};
use docward_advise::{checklist, forecasts, security_checklist};
use docward_collect::{
    Collected, DeploymentId, Likeness, Progress as _, Request, Resume, SavedEvidence,
    SourceRequest, collect, is_uri, read_logs, read_network_rules, read_source, resolve_name,
};
use docward_config::FailOn;
use docward_model::{
    ClientUri, Collection, Evidence, Namespace, Need, Problem, ProfileName, Purpose, Report,
    RuleMeta, Server, Settings, Source,
};
use docward_profile::observe_growth;
use docward_report::{Format, View};
use docward_rules::{
    Outcome,
    facts::{growth::arrays::Limits, names::house, schema::validators},
    judge,
};
use docward_uri::{parse, redact};

use crate::{
    args::AuditArgs,
    interrupt::Interrupt,
    output,
    progress::Bar,
    reading,
    run::{self, Run},
    secrets, source_code,
    terminal::{CLEAN, FINDINGS, PROBLEMS, complain, note_written, put},
};

/// The content of an audit's report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Findings of rules.
    Findings,
    /// Data that no longer follows its model.
    Drift,
    /// The items of the launch review and of the security self-check.
    Checklists,
    /// The rows of the security self-check.
    SecurityCheck,
}

/// Runs an audit and prints the requested report.
pub(crate) fn audit(mut args: AuditArgs, shown: Shown) -> anyhow::Result<u8> {
    if args.log.is_empty() && args.uri.is_empty() && args.network_rules.is_empty() {
        reading::or_from_environment(&mut args.sources)?;
    }
    let args = &args;
    let look = output::Look {
        shown: &args.shown,
        output: args.reading.output.as_deref(),
        color: args.reading.color,
        quiet: args.judging.quiet,
        brief: shown == Shown::Findings,
    };
    let settings = args.reading.config.as_deref();
    let mut run = Run::start(look, &args.judging, settings, &args.sources, Some(&args.baseline))?;
    let formats = args.shown.formats.format.iter().filter_map(|one| one.file.as_deref());
    let others = [&args.reading.output, &args.emit_fixes, &args.save_evidence];
    output::spare(formats.chain(others.into_iter().filter_map(Option::as_deref)), &args.sources)?;
    for uri in &args.uri {
        secrets::expect_connection_string(uri, "--client-uri")?;
    }
    let model = match args.model.as_deref().map(crate::model_file::read_model).transpose()? {
        // The mistakes of the model are already printed.
        Some(None) => return Ok(PROBLEMS),
        model => model.flatten(),
    };
    let (uris, bad_uris) = connection_strings(args);
    let clients = uris.iter().filter(|uri| uri.purpose == Purpose::Client);
    let mut settings = std::mem::take(&mut run.config.settings);
    settings.uri_databases.extend(clients.filter_map(|uri| uri.database.clone()));
    let earlier = args.earlier.as_deref().map(read_earlier).transpose()?;
    if let Some(file) = &args.resume
        && !args.sources.iter().any(|source| is_uri(source))
    {
        let file = file.display();
        bail!(
            "--resume {file}: no running deployment is among the sources. Name the deployment \
             that the file was read from (mongodb://…), or audit the content of the file with \
             `docward audit {file}`"
        );
    }
    let mut request = request(args)?;
    request.resumable = args.reading.full && args.save_evidence.is_some();
    request.resume = args.resume.as_deref().map(read_unfinished).transpose()?.unwrap_or_default();
    request.track = earlier.is_some() || args.save_evidence.is_some();
    request.follow = earlier.as_ref().map(tracked_ids).unwrap_or_default();

    let interrupt = Interrupt::listen();
    let bar = Bar::new(!args.reading.no_progress && !args.judging.quiet);
    let collected = collect(&request, &bar, interrupt.stop());
    if let Some(file) = &args.resume {
        for note in check_deployments(file, &request.resume, &collected)? {
            bar.note(&note);
        }
    }
    let Collected {
        mut evidence,
        mut sources,
        mut problems,
        interrupted,
        unfinished,
        deployments,
        taken_ms,
    } = collected;
    let logs = read_logs(&args.log, &bar, interrupt.stop());
    evidence.workload = logs.workload.or(evidence.workload);
    sources.extend(logs.sources);
    problems.extend(logs.problems);
    let network = read_network_rules(&args.network_rules);
    evidence.network = network.network;
    sources.extend(network.sources);
    problems.extend(network.problems);
    evidence.design = model;
    evidence.uris = uris;
    look_up(&mut evidence, |name| Ok(resolve_name(name)?.hosts));
    problems.extend(bad_uris);
    if !args.code.is_empty() {
        let stop = || interrupt.stop().load(std::sync::atomic::Ordering::Relaxed);
        let request = SourceRequest {
            paths: args.code.iter().map(PathBuf::from).collect(),
            ..SourceRequest::default()
        };
        let mut seen = read_source(&request, &stop);
        problems.append(&mut seen.problems);
        settings.suppressions.extend(source_code::allowed_by_comments(&mut seen, &mut problems));
        sources.extend(source_code::sources(&args.code, &seen, false));
        evidence.uris.extend(seen.clients);
        evidence.code = Some(seen.code);
    }
    let interrupted = interrupted || logs.interrupted;
    interrupt.judging();
    evidence.notes.extend(bar.finish());
    // Collections are read in parallel, so the order of notes varies.
    evidence.notes.sort();
    evidence.notes.dedup();
    if evidence.deployment.server_version.is_none() {
        let logged = evidence.workload.iter().flat_map(|w| &w.sources);
        evidence.deployment.server_version =
            settings.server_version.or(logged.filter_map(|s| s.server_version).max());
    }
    // After an interruption, the user knows why there is no result.
    let mut no_result = Vec::new();
    if !interrupted {
        no_result = nothing_to_judge(args, &sources, &evidence, &settings, &problems);
        let is_filtered = !request.filter.is_empty()
            && evidence.collections.is_empty()
            && evidence.workload.is_none();
        let has_nothing = is_filtered || nothing_was_read(&evidence);
        if has_nothing && !(problems.is_empty() && no_result.is_empty()) {
            problems.extend(no_result);
            return Ok(run::refuse(&problems));
        }
    }
    if let Some(path) = &args.save_evidence {
        let (sources, problems) = (sources.clone(), problems.clone());
        let version = env!("CARGO_PKG_VERSION");
        let mut saved =
            SavedEvidence::new(version, taken_ms, interrupted, sources, problems, evidence.clone());
        let goes_on = !unfinished.is_empty();
        saved.unfinished = unfinished;
        saved.deployments = known_deployments(deployments, &request.resume);
        saved.write(path).with_context(|| format!("cannot write {}", path.display()))?;
        note_written(path, args.judging.quiet);
        if goes_on && !args.judging.quiet {
            let file = path.display();
            complain(&format!(
                "note: not everything was read; to continue, run again with --full \
             --resume {file}"
            ));
        }
    }
    if let Some(earlier) = &earlier {
        if earlier.taken_ms >= taken_ms {
            let message = "is not older than the audited data; name the older of the two files";
            problems.push(Problem { source: earlier_name(args), message: message.to_owned() });
        }
        observe_growth(&mut evidence, taken_ms, &earlier.evidence, earlier.taken_ms);
        if earlier.taken_ms < taken_ms
            && let Some(why) = nothing_followed(&evidence, &earlier.evidence, &settings)
        {
            evidence.notes.push(format!("--earlier {}: {why}", earlier_name(args)));
        }
    }
    problems.extend(no_result);
    let mut profile_reason = None;
    if run.config.profile.is_none() && house::has_prefixes(&evidence) {
        settings.profile = ProfileName::Vendor;
        profile_reason = Some(
            "vendor profile, because most names have the prefixes db_ and t_ (--profile neutral \
             turns it off)"
                .to_owned(),
        );
    }

    if !args.judging.quiet {
        run::note_other_keys(&evidence, &settings);
    }
    settings.is_partial = !request.filter.is_empty()
        || args.metadata_only
        || interrupted
        || !settings.select.is_empty()
        || !problems.is_empty()
        || sources.iter().any(|source| source.sampled);
    let mut outcome = judge(&evidence, &settings);
    let mut items = Vec::new();
    if shown != Shown::SecurityCheck {
        items.extend(checklist(&evidence, &settings, &outcome));
    }
    // Files contain no facts about security, so the short list with its questions is enough.
    let shows_security = shown == Shown::SecurityCheck
        || evidence.server.is_some()
        || evidence.network.is_some()
        || !evidence.uris.is_empty();
    items.extend(security_checklist(&evidence, &settings, &outcome, shows_security));
    let judged = judged(&outcome, &settings, args.metadata_only, &sources);
    let namespaces = evidence.collections.iter().map(|c| c.namespace.to_string()).collect();
    let skipped = std::mem::take(&mut outcome.skipped);
    let is_page = args.shown.formats.format.iter().any(|output| output.format == Format::Html);
    let forecasts = if is_page { forecasts(&evidence, &settings) } else { Vec::new() };
    let against = args.model.as_ref().filter(|_| shown == Shown::Drift);
    let mut report = Report {
        run: Some(run.stamp()),
        profile_reason,
        sources,
        against: against.map(|file| file.display().to_string()),
        skipped,
        problems,
        checklist: items,
        interrupted,
        show_values: args.judging.show_values,
        judged: Some(judged),
        filter: request.filter,
        namespaces: Some(namespaces),
        forecasts,
        ..run::report(&settings, outcome, evidence)
    };
    run.apply_baseline(&mut report, &settings);
    let view = match shown {
        Shown::Findings | Shown::Drift => View::Findings,
        Shown::Checklists | Shown::SecurityCheck => View::Checklist,
    };
    interrupt.writing();
    let code = run.finish(&report, view)?;
    if let Some(file) = &args.emit_fixes {
        let validators = validators::finished(&report.evidence, &report.findings);
        put(&docward_report::fix_script(&report, &validators), Some(file))?;
        note_written(file, args.judging.quiet);
    }

    let is_open = match run.fail_on() {
        FailOn::Never => false,
        FailOn::AtLeast(severity) => report.checklist.iter().any(|item| item.fails_from(severity)),
    };
    Ok(match code {
        PROBLEMS => PROBLEMS,
        code if view == View::Findings => code,
        _ if is_open => FINDINGS,
        _ => CLEAN,
    })
}

/// Reads the state of an interrupted full reading.
fn read_unfinished(path: &Path) -> anyhow::Result<Resume> {
    let file = path.display();
    let saved =
        SavedEvidence::read(path).map_err(|error| anyhow::anyhow!("--resume {file}: {error}"))?;
    if saved.unfinished.is_empty() {
        bail!(
            "--resume {file}: this run cannot be continued, because it was complete or did not \
             use --full. `docward audit {file}` audits its content"
        );
    }
    let tool = saved.tool.clone();
    saved.into_resume().with_context(|| {
        format!(
            "--resume {file}: the file was changed, or another version of Docward wrote it \
         ({tool}); start again without --resume"
        )
    })
}

/// Refuses to resume the reading of another deployment, or of an unreachable one, because the
/// result would replace the saved state. Returns notes on deployments that could not be compared.
fn check_deployments(
    file: &Path,
    resume: &Resume,
    collected: &Collected,
) -> anyhow::Result<Vec<String>> {
    let file = file.display();
    if collected.deployments.is_empty() {
        let problems = collected.problems.iter().map(|p| format!("{} ({})", p.message, p.source));
        let problems = problems.collect::<Vec<_>>().join("; ");
        bail!(
            "--resume {file}: cannot reach the deployment, and the file was not changed: {problems}"
        );
    }
    let mut notes = Vec::new();
    for (name, id) in &collected.deployments {
        match (resume.likeness(id.as_ref()), id) {
            (Likeness::Other, Some(id)) => {
                let known: Vec<_> = resume.deployments.iter().map(ToString::to_string).collect();
                bail!(
                    "--resume {file}: the file was read from {}, but {name} is {id}. Name the \
                     deployment that the file was read from, or start again without --resume",
                    known.join(" and ")
                );
            }
            (Likeness::Same, _) => {}
            _ => notes.push(format!(
                "--resume {file}: cannot check whether {name} is the deployment that the file was \
                 read from"
            )),
        }
    }
    Ok(notes)
}

/// Returns the known deployments of this run and of the resumed one.
fn known_deployments(
    read: Vec<(String, Option<DeploymentId>)>,
    resumed: &Resume,
) -> Vec<DeploymentId> {
    let mut known = resumed.deployments.clone();
    for id in read.into_iter().filter_map(|(_, id)| id) {
        if !known.contains(&id) {
            known.push(id);
        }
    }
    known
}

fn read_earlier(path: &Path) -> anyhow::Result<SavedEvidence> {
    SavedEvidence::read(path)
        .map_err(|error| anyhow::anyhow!("--earlier {}: {error}", path.display()))
}

fn earlier_name(args: &AuditArgs) -> String {
    args.earlier.as_deref().map_or_else(String::new, |path| path.display().to_string())
}

/// Returns why growth between two dates cannot be judged.
fn nothing_followed(now: &Evidence, earlier: &Evidence, settings: &Settings) -> Option<String> {
    let profiles = || now.collections.iter().filter(|c| c.profile.is_some());
    let days = |c: &Collection| Limits::of(settings, &c.namespace).credible.days;
    let observed = || profiles().filter_map(|c| Some((c.profile.as_ref()?.observed?, days(c))));
    Some(if observed().any(|(seen, needed)| seen.days() >= needed) {
        return None;
    } else if let Some((seen, needed)) = observed().next() {
        format!(
            "the two dates are {:.1} days apart, but growth needs at least {needed} days; name an \
             older file, or lower `min-days` of D002 and D008",
            seen.days()
        )
    } else if profiles().next().is_none() {
        "no documents were read, so growth is unknown; remove --metadata-only".to_owned()
    } else if profiles().all(|c| earlier.collection(&c.namespace).is_none()) {
        "none of its collections was audited, so growth is unknown".to_owned()
    } else {
        "the two runs have no document in common, so growth is unknown; use a file of the same \
         data, and for a running deployment at least the same --sample"
            .to_owned()
    })
}

/// Returns the ids of the documents that the earlier run tracked.
fn tracked_ids(earlier: &SavedEvidence) -> BTreeMap<Namespace, Vec<String>> {
    let collections = earlier.evidence.collections.iter();
    collections
        .filter_map(|collection| {
            let tracked = &collection.profile.as_ref()?.tracked;
            let ids = tracked.iter().map(|document| document.id.clone());
            Some((collection.namespace.clone(), ids.filter(|id| !id.is_empty()).collect()))
        })
        .collect()
}

/// Returns problems for cases that would otherwise look like a pass: nothing matched, or no
/// collection has a declared shard key.
fn nothing_to_judge(
    args: &AuditArgs,
    sources: &[Source],
    evidence: &Evidence,
    settings: &Settings,
    problems: &[Problem],
) -> Vec<Problem> {
    let filtered = args.reading.db.is_some() || args.reading.collection.is_some();
    // Without sources, the audit only covers logs, connection strings or network rules.
    if evidence.collections.is_empty() && evidence.workload.is_none() && !args.sources.is_empty() {
        // An earlier problem already explains why nothing was found.
        if !problems.is_empty() {
            return Vec::new();
        }
        let message = if filtered {
            "no collection matches --db and --collection; nothing was checked"
        } else {
            "no collection was found; nothing was checked"
        };
        // Uses the names of sources, because a connection string may contain a password.
        let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        return vec![Problem { source: names.join(" "), message: message.to_owned() }];
    }
    let missing = settings.shard_keys.iter().filter(|key| {
        !filtered && !evidence.collections.iter().any(|c| c.namespace == key.namespace)
    });
    missing
        .map(|key| Problem {
            source: "docward.toml".to_owned(),
            message: format!(
                "a shard key is declared for {}, but this collection was not read",
                key.namespace
            ),
        })
        .collect()
}

/// Whether no source could be read.
fn nothing_was_read(evidence: &Evidence) -> bool {
    let is_known = |collection: &Collection| {
        collection.profile.as_ref().is_some_and(|profile| profile.documents > 0)
            || collection.options.is_some()
            || collection.indexes.is_some()
            || collection.stats.is_some()
    };
    !evidence.collections.iter().any(is_known)
        && evidence.workload.is_none()
        && evidence.network.is_none()
        && evidence.code.is_none()
        && !evidence.server.as_ref().is_some_and(answered)
        && !evidence.uris.iter().any(|uri| uri.purpose == Purpose::Client)
}

/// Whether a server answered more than the handshake, which is open to every client.
fn answered(server: &Server) -> bool {
    server.connections.is_some()
        || server.start.is_some()
        || server.users.is_some()
        || server.members.is_some()
        || server.cluster.is_some()
        || !server.parameters.is_empty()
}

/// Returns the rules for which no finding means no problem: those with all the evidence they need.
/// A sample may miss rare cases, and without documents most rules lack evidence.
fn judged(
    outcome: &Outcome,
    settings: &Settings,
    metadata_only: bool,
    sources: &[Source],
) -> Vec<Cow<'static, str>> {
    let sampled = sources.iter().any(|source| source.sampled);
    let is_about_documents =
        |rule: &RuleMeta| rule.needs.iter().any(|n| matches!(n, Need::Documents | Need::Counts));
    let judged = outcome
        .judged(settings)
        .filter(|rule| !(metadata_only || sampled && is_about_documents(&rule.meta)));
    judged.map(|rule| rule.meta.code.into()).collect()
}

fn request(args: &AuditArgs) -> anyhow::Result<Request> {
    let reading = reading::reading(&args.sources, &args.reading)?;
    Ok(Request {
        metadata_only: args.metadata_only,
        pushdown: args.pushdown,
        // Logs and the profiler both record slow operations, so reading both would count them
        // twice.
        server_workload: args.log.is_empty(),
        threads: args.threads.unwrap_or(reading.threads),
        max_time: args.max_time.map(Duration::from_secs),
        max_rate: args.max_rate,
        ..reading
    })
}

/// Looks up the SRV names of clients in DNS if they can be compared with the routers of a cluster.
fn look_up(evidence: &mut Evidence, resolve: impl Fn(&str) -> Result<Vec<String>, String>) {
    let cluster = evidence.server.as_ref().and_then(|server| server.cluster.as_ref());
    if cluster.is_none_or(|cluster| cluster.routers.as_ref().is_none_or(Vec::is_empty)) {
        return;
    }
    let of_client = |uri: &&ClientUri| uri.srv && uri.purpose == Purpose::Client;
    let names = evidence.uris.iter().filter(of_client).filter_map(|uri| uri.hosts.first());
    for name in names.cloned().collect::<BTreeSet<String>>() {
        match resolve(&name) {
            Ok(hosts) => _ = evidence.srv_hosts.insert(name, hosts),
            Err(why) => evidence.notes.push(format!(
                "the routers of `{name}` are not compared with the cluster: {}",
                redact(&why)
            )),
        }
    }
}

/// Returns the connection strings of sources and clients without passwords. An invalid client
/// string is a problem. An invalid source string is reported when the driver refuses it.
fn connection_strings(args: &AuditArgs) -> (Vec<ClientUri>, Vec<Problem>) {
    let sources = args.sources.iter().filter(|source| source.starts_with("mongodb"));
    let mut uris: Vec<ClientUri> =
        sources.filter_map(|uri| Some(parse(uri).ok()?.client(Purpose::Source))).collect();
    let mut problems = Vec::new();
    for (number, text) in args.uri.iter().enumerate() {
        match parse(text) {
            Ok(uri) => uris.push(uri.client(Purpose::Client)),
            Err(fault) => problems.push(Problem {
                source: format!("--client-uri {}", number + 1),
                message: fault.to_string(),
            }),
        }
    }
    (uris, problems)
}
