//! `docward audit` and `docward checklist`: read, judge, print.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, bail};
use docward_collect::{
    Collected, DeploymentId, Likeness, Progress as _, Request, Resume, SavedEvidence,
    SourceRequest, collect, is_uri, read_logs, read_network_rules, read_source,
};
use docward_config::FailOn;
use docward_model::{
    ClientUri, Collection, Evidence, Filter, Namespace, NamespacePattern, Need, Problem,
    ProfileName, Purpose, Report, RuleMeta, Settings, Severity, Source, SuppressionUse, key_text,
};
use docward_profile::observe_growth;
use docward_report::{Format, View};
use docward_rules::{
    Outcome, checklist,
    facts::{arrays::Limits, copies, house, validators},
    forecasts, judge, security_checklist,
};
use docward_uri::parse;

use crate::{
    CLEAN, FINDINGS, PROBLEMS,
    args::{AuditArgs, ReadingArgs},
    baseline::Baseline,
    complain, config, excerpt, fix,
    interrupt::Interrupt,
    lint, note_written, output,
    progress::Bar,
    put, secrets, tell,
};

/// Threads that profile unless told otherwise: disks are no faster, and each thread takes memory.
const MOST_THREADS: usize = 4;

/// What of an audit is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// What breaks a rule.
    Findings,
    /// Where data left its model.
    Drift,
    /// The launch review and the security self-check, item by item.
    Checklists,
    /// The security self-check, row by row.
    SecurityCheck,
}

/// Runs an audit and prints what is asked for of it.
pub(crate) fn audit(mut args: AuditArgs, shown: Shown) -> anyhow::Result<u8> {
    if args.log.is_empty() && args.uri.is_empty() && args.network_rules.is_empty() {
        or_from_environment(&mut args.sources)?;
    }
    let args = &args;
    let run = output::Started::now();
    let config = config::load(args.reading.config.as_deref(), &args.sources, args.judging.quiet)?;
    let mut config = config::with_arguments(config, &args.judging)?;
    output::check(&args.shown, args.reading.output.as_deref())?;
    for uri in &args.uri {
        secrets::expect_connection_string(uri, "--client-uri")?;
    }
    let model = match args.model.as_deref().map(crate::design::read_model).transpose()? {
        // Its mistakes have been told.
        Some(None) => return Ok(PROBLEMS),
        model => model.flatten(),
    };
    let (uris, bad_uris) = connection_strings(args);
    let clients = uris.iter().filter(|uri| uri.purpose == Purpose::Client);
    config.settings.uri_databases.extend(clients.filter_map(|uri| uri.database.clone()));
    let baseline = Baseline::open(&args.baseline, config.baseline.as_deref())?;
    let earlier = args.earlier.as_deref().map(read_earlier).transpose()?;
    if let Some(file) = &args.resume
        && !args.sources.iter().any(|source| is_uri(source))
    {
        let file = file.display();
        bail!(
            "--resume {file}: it goes on with the reading of a running deployment, and none is among the \
             sources; name the one it was read from (mongodb://…), or judge what is in the file with \
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
    problems.extend(bad_uris);
    if !args.code.is_empty() {
        let stop = || interrupt.stop().load(std::sync::atomic::Ordering::Relaxed);
        let request = SourceRequest {
            paths: args.code.iter().map(PathBuf::from).collect(),
            ..SourceRequest::default()
        };
        let mut seen = read_source(&request, &stop);
        problems.append(&mut seen.problems);
        config.settings.suppressions.extend(lint::allowed_by_comments(&mut seen, &mut problems));
        sources.extend(lint::sources(&args.code, &seen, false));
        evidence.uris.extend(seen.clients);
        evidence.code = Some(seen.code);
    }
    let interrupted = interrupted || logs.interrupted;
    interrupt.judging();
    evidence.notes.extend(bar.finish());
    // Collections are read side by side.
    evidence.notes.sort();
    evidence.notes.dedup();
    if evidence.deployment.server_version.is_none() {
        let logged = evidence.workload.iter().flat_map(|w| &w.sources);
        evidence.deployment.server_version =
            config.settings.server_version.or(logged.filter_map(|s| s.server_version).max());
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
            complain(&format!("note: not everything was read; go on with --full --resume {file}"));
        }
    }
    if let Some(earlier) = &earlier {
        if earlier.taken_ms >= taken_ms {
            let message = "shows the same or a later date than what was audited; give the older of the \
                           two files";
            problems.push(Problem { source: earlier_name(args), message: message.to_owned() });
        }
        observe_growth(&mut evidence, taken_ms, &earlier.evidence, earlier.taken_ms);
        if earlier.taken_ms < taken_ms
            && let Some(why) = nothing_followed(&evidence, &earlier.evidence, &config.settings)
        {
            evidence.notes.push(format!("--earlier {}: {why}", earlier_name(args)));
        }
    }
    // Whoever stopped it knows why there is nothing.
    if !interrupted {
        problems.extend(nothing_to_judge(args, &sources, &evidence, &config.settings, &problems));
        let is_filtered = !request.filter.is_empty()
            && evidence.collections.is_empty()
            && evidence.workload.is_none();
        if (is_filtered || nothing_was_read(&evidence)) && !problems.is_empty() {
            return Ok(refuse(&problems));
        }
    }
    let mut profile_reason = None;
    if config.profile.is_none() && house::has_prefixes(&evidence) {
        config.settings.profile = ProfileName::Vendor;
        profile_reason = Some(
            "vendor profile: most names have the prefixes db_ and t_ (--profile neutral for none)"
                .to_owned(),
        );
    }

    if !args.judging.quiet {
        note_other_keys(&evidence, &config.settings);
    }
    config.settings.is_partial = !request.filter.is_empty()
        || args.metadata_only
        || interrupted
        || !config.settings.select.is_empty()
        || !problems.is_empty()
        || sources.iter().any(|source| source.sampled);
    let mut outcome = judge(&evidence, &config.settings);
    let mut items = Vec::new();
    if shown != Shown::SecurityCheck {
        items.extend(checklist(&evidence, &config.settings, &outcome));
    }
    // Files alone say nothing about security: the short list with its questions is enough there.
    let shows_security = shown == Shown::SecurityCheck
        || evidence.server.is_some()
        || evidence.network.is_some()
        || !evidence.uris.is_empty();
    items.extend(security_checklist(&evidence, &config.settings, &outcome, shows_security));
    let judged = judged(&outcome, &config.settings, args.metadata_only, &sources);
    let namespaces = evidence.collections.iter().map(|c| c.namespace.to_string()).collect();
    let skipped = std::mem::take(&mut outcome.skipped);
    let is_page = args.shown.formats.format.iter().any(|output| output.format == Format::Html);
    let forecasts = if is_page { forecasts(&evidence, &config.settings) } else { Vec::new() };
    let against = args.model.as_ref().filter(|_| shown == Shown::Drift);
    let mut report = Report {
        run: Some(run.ended()),
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
        ..report(&config.settings, outcome, evidence)
    };
    if let Some(baseline) = baseline {
        baseline.apply(&mut report, &config.settings, args.judging.quiet);
    }
    let fail_on = config.fail_on.unwrap_or(FailOn::AtLeast(Severity::Error));
    let view = match shown {
        Shown::Findings | Shown::Drift => View::Findings,
        Shown::Checklists | Shown::SecurityCheck => View::Checklist,
    };
    interrupt.writing();
    let look = output::Look {
        shown: &args.shown,
        output: args.reading.output.as_deref(),
        color: args.reading.color,
        quiet: args.judging.quiet,
        brief: shown == Shown::Findings,
    };
    output::write(&report, &look, view, fail_on)?;
    if let Some(file) = &args.emit_fixes {
        put(&docward_report::fix_script(&report), Some(file))?;
        note_written(file, args.judging.quiet);
    }

    let is_open = match fail_on {
        FailOn::Never => false,
        FailOn::AtLeast(severity) => report.checklist.iter().any(|item| item.fails_from(severity)),
    };
    Ok(match ended(&report, fail_on) {
        PROBLEMS => PROBLEMS,
        ended if view == View::Findings => ended,
        _ if is_open => FINDINGS,
        _ => CLEAN,
    })
}

/// What rules said of evidence, as a report about nothing else yet.
pub(crate) fn report(settings: &Settings, mut outcome: Outcome, mut evidence: Evidence) -> Report {
    fix::resolve(&mut outcome.findings);
    excerpt::add(&mut outcome.findings, &excerpt::Masks::of(evidence.code.as_ref()));
    // Pictures show what the rules take for a copy, and nothing that only bears the same name.
    evidence.copies.retain(|copy| copies::is_real(settings, copy));
    evidence.notes.extend(validators::note(&outcome.findings));
    Report {
        tool_version: env!("CARGO_PKG_VERSION").into(),
        run: None,
        profile: settings.profile,
        profile_reason: None,
        sources: Vec::new(),
        against: None,
        suppressions: suppressions(settings, &outcome),
        withheld: outcome.withheld.iter().map(|finding| finding.fingerprint.clone()).collect(),
        findings: outcome.findings,
        suppressed: outcome.suppressed,
        baselined: 0,
        skipped: Vec::new(),
        problems: Vec::new(),
        checklist: Vec::new(),
        interrupted: false,
        show_values: false,
        judged: None,
        filter: Filter::default(),
        namespaces: None,
        compared: None,
        evidence,
        forecasts: Vec::new(),
    }
}

/// The exit code that a report ends with.
pub(crate) fn ended(report: &Report, fail_on: FailOn) -> u8 {
    if !report.problems.is_empty() || report.interrupted {
        return PROBLEMS;
    }
    let failed = report.findings.iter().any(|finding| report.fails(finding, fail_on.least()));
    if failed { FINDINGS } else { CLEAN }
}

/// What a whole reading had learnt when it was interrupted.
fn read_unfinished(path: &Path) -> anyhow::Result<Resume> {
    let file = path.display();
    let saved =
        SavedEvidence::read(path).map_err(|error| anyhow::anyhow!("--resume {file}: {error}"))?;
    if saved.unfinished.is_empty() {
        bail!(
            "--resume {file}: nothing in it can be gone on with. It was read to its end, or not with \
             --full: `docward audit {file}` judges what is in it"
        );
    }
    let tool = saved.tool.clone();
    saved.into_resume().with_context(|| {
        format!("--resume {file}: was altered, or written by another Docward ({tool}); start anew")
    })
}

/// Refuses to go on with the reading of another deployment, or of none: what came of it would be written
/// in place of what was learnt. Gives back what could not be checked.
fn check_deployments(
    file: &Path,
    resume: &Resume,
    collected: &Collected,
) -> anyhow::Result<Vec<String>> {
    let file = file.display();
    if collected.deployments.is_empty() {
        let problems = collected.problems.iter().map(|p| format!("{}: {}", p.source, p.message));
        let problems = problems.collect::<Vec<_>>().join("; ");
        bail!(
            "--resume {file}: the deployment cannot be reached, and the file was left as it is: {problems}"
        );
    }
    let mut notes = Vec::new();
    for (name, id) in &collected.deployments {
        match (resume.likeness(id.as_ref()), id) {
            (Likeness::Other, Some(id)) => {
                let known: Vec<_> = resume.deployments.iter().map(ToString::to_string).collect();
                bail!(
                    "--resume {file}: was read from {}, and {name} is {id}; name the deployment it was read \
                     from, or start anew without --resume",
                    known.join(" and ")
                );
            }
            (Likeness::Same, _) => {}
            _ => notes.push(format!(
                "--resume {file}: whether {name} is the deployment it was read from could not be checked"
            )),
        }
    }
    Ok(notes)
}

/// The deployments of this run and of the one it went on with, as far as they are known.
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

/// Why nothing can be said about growth between two dates.
fn nothing_followed(now: &Evidence, earlier: &Evidence, settings: &Settings) -> Option<String> {
    let profiles = || now.collections.iter().filter(|c| c.profile.is_some());
    let days = |c: &Collection| Limits::of(settings, &c.namespace).credible.days;
    let observed = || profiles().filter_map(|c| Some((c.profile.as_ref()?.observed?, days(c))));
    Some(if observed().any(|(seen, needed)| seen.days() >= needed) {
        return None;
    } else if let Some((seen, needed)) = observed().next() {
        format!(
            "the two dates lie {:.1} days apart, and growth is judged over {needed} days and more; give an \
             older file, or lower `min-days` of D002 and D008",
            seen.days()
        )
    } else if profiles().next().is_none() {
        "no documents were read, so that nothing is said about growth; leave --metadata-only out"
            .to_owned()
    } else if profiles().all(|c| earlier.collection(&c.namespace).is_none()) {
        "none of its collections was audited, so that nothing is said about growth".to_owned()
    } else {
        "no document is in both, so that nothing is said about growth; it has to be of the same data, and \
         of a running deployment of at least as large a --sample"
            .to_owned()
    })
}

/// The documents an earlier run kept track of.
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

/// Says which declared shard keys are not those the cluster has: the latter are judged.
pub(crate) fn note_other_keys(evidence: &Evidence, settings: &Settings) {
    let cluster = evidence.server.as_ref().and_then(|server| server.cluster.as_ref());
    for declared in &settings.shard_keys {
        let sharded = cluster.and_then(|cluster| cluster.collection(&declared.namespace));
        if let Some(sharded) = sharded.filter(|sharded| sharded.key.fields != declared.fields) {
            complain(&format!(
                "note: {} is sharded by {}, and docward.toml declares {}; the former was judged",
                declared.namespace,
                key_text(&sharded.key.fields),
                key_text(&declared.fields)
            ));
        }
    }
}

/// What would otherwise look like a pass: nothing matched, or a declared key that no collection has.
fn nothing_to_judge(
    args: &AuditArgs,
    sources: &[Source],
    evidence: &Evidence,
    settings: &Settings,
    problems: &[Problem],
) -> Vec<Problem> {
    let filtered = args.reading.db.is_some() || args.reading.collection.is_some();
    // Without sources, logs, connection strings or network rules are all that was asked about.
    if evidence.collections.is_empty() && evidence.workload.is_none() && !args.sources.is_empty() {
        // What went wrong before is the reason.
        if !problems.is_empty() {
            return Vec::new();
        }
        let message = if filtered {
            "no collection matches --db and --collection: nothing was judged"
        } else {
            "no collection was found: nothing was judged"
        };
        // By the names that were given to them: a connection string may hold a password.
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
                "a shard key is declared for {}, which is not among the collections read",
                key.namespace
            ),
        })
        .collect()
}

/// Whether none of what was asked for could be read.
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
        && evidence.server.is_none()
        && !evidence.uris.iter().any(|uri| uri.purpose == Purpose::Client)
}

/// Says why nothing could be read. No report is written: an empty one would look like a pass, and would
/// replace the last good one.
pub(crate) fn refuse(problems: &[Problem]) -> u8 {
    for problem in problems {
        tell(&format!("error: {}: {}", problem.source, problem.message));
    }
    PROBLEMS
}

/// The rules whose silence means something: those that had all they need. From a sample rare things are
/// missing, and without documents most things.
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

/// What the suppressions of `docward.toml` and of comments did.
fn suppressions(settings: &Settings, outcome: &Outcome) -> Vec<SuppressionUse> {
    let counts = outcome.kept_back.iter().copied();
    let used = settings.suppressions.iter().zip(counts);
    used.map(|(suppression, findings)| SuppressionUse {
        about: suppression.text(),
        reason: suppression.reason.clone(),
        expires: suppression.expires.clone(),
        findings,
    })
    .collect()
}

/// The day of the run; a clock that stands before 1970 tells none.
pub(crate) fn today() -> Option<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    docward_rules::facts::text::date(i64::try_from(now.as_millis()).ok()?)
}

fn request(args: &AuditArgs) -> anyhow::Result<Request> {
    let reading = reading(&args.sources, &args.reading)?;
    Ok(Request {
        metadata_only: args.metadata_only,
        pushdown: args.pushdown,
        // The same operations would be counted twice: logs and the profiler write down the slow ones.
        server_workload: args.log.is_empty(),
        threads: args.threads.unwrap_or(reading.threads),
        max_time: args.max_time.map(Duration::from_secs),
        max_rate: args.max_rate,
        ..reading
    })
}

/// A collection as `--as` names it.
pub(crate) fn namespace(text: &str) -> anyhow::Result<Namespace> {
    if is_uri(text) {
        bail!("expected database.collection, not a connection string");
    }
    Namespace::parse(text).with_context(|| format!("`{text}`: expected database.collection"))
}

/// Threads that profile, unless somebody says. A running server's answers are fetched by a thread of their
/// own, which leaves one core less.
fn threads(sources: &[String]) -> usize {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let free = if sources.iter().any(|source| is_uri(source)) { cores - 1 } else { cores };
    free.clamp(1, MOST_THREADS)
}

/// What to read, from the flags every reading command has.
pub(crate) fn reading(sources: &[String], args: &ReadingArgs) -> anyhow::Result<Request> {
    let glob = |text: &Option<String>, flag: &str| -> anyhow::Result<Option<NamespacePattern>> {
        text.as_deref()
            .map(|text| {
                NamespacePattern::new(text)
                    .map_err(|message| anyhow::anyhow!("{flag} {text}: {message}"))
            })
            .transpose()
    };
    let namespace = args.namespace.as_deref().map(namespace).transpose()?;
    for (number, source) in sources.iter().enumerate() {
        secrets::refuse_lookalike(source, &format!("source {}", number + 1))?;
    }
    Ok(Request {
        sources: sources.to_vec(),
        namespace,
        filter: Filter {
            database: match glob(&args.db, "--db")? {
                None if !args.all_databases => scope(sources)?,
                given => given,
            },
            collection: glob(&args.collection, "--collection")?,
        },
        threads: threads(sources),
        sample: args.sample,
        full: args.full,
        ..Request::default()
    })
}

/// The database that connection strings name, which is what they are about, as for mongodump. `admin` is where
/// accounts are kept: it is named to log in.
fn scope(sources: &[String]) -> anyhow::Result<Option<NamespacePattern>> {
    let named = |source: &String| {
        let uri = parse(source).ok().filter(|_| is_uri(source))?;
        uri.database.map(|part| part.value).filter(|name| name != "admin")
    };
    let databases: Vec<Option<String>> = sources.iter().map(named).collect();
    let Some(Some(first)) = databases.iter().find(|name| name.is_some()) else { return Ok(None) };
    if databases.iter().any(|name| name.as_ref() != Some(first)) {
        bail!(
            "one connection string names the database `{first}`, and another source does not; choose with \
             --db, or read all with --all-databases"
        );
    }
    let pattern = NamespacePattern::exact(first);
    pattern.map(Some).map_err(|message| anyhow::anyhow!("the database `{first}`: {message}"))
}

/// Takes the source from the environment where none was named.
pub(crate) fn or_from_environment(sources: &mut Vec<String>) -> anyhow::Result<()> {
    if sources.is_empty() {
        let uri = env::var("MONGODB_URI").ok().filter(|uri| !uri.trim().is_empty());
        let Some(uri) = uri else {
            bail!(
                "no source was named; name a mongodump directory, a file or a connection string \
                 (mongodb://…), or set MONGODB_URI"
            );
        };
        sources.push(uri.trim().to_owned());
    }
    Ok(())
}

/// The connection strings of sources and clients, without their passwords. What the driver will refuse
/// as a source is told there; what is wrong with a client's is a problem.
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
