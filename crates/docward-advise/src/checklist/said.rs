//! The evidence of items as text: the amount read, and the places of findings.

use docward_model::{Collection, Finding, Profile, Subject};

use docward_rules::facts::{text, values::sizes::Figures};

/// The maximum number of places that an item names; more are only counted.
const NAMED: usize = 3;

/// The uncertainty of a sample without problems, for the collection with the greatest uncertainty.
/// Empty if everything was read.
pub(super) fn left_open(of: &[(&Collection, &Profile)]) -> String {
    let least = of
        .iter()
        .filter(|(_, p)| p.documents < p.total)
        .min_by_key(|(_, p)| (p.seen().by_chance, p.documents));
    least.map_or_else(String::new, |(collection, profile)| {
        let (read, ns) = (text::count(profile.documents), &collection.namespace);
        match profile.seen().unseen_below() {
            Some(share) if share < 1.0 => format!(
                "; 0 of {read} sampled in `{ns}`: fewer than {} of its documents at 95 %",
                text::small_percent(share)
            ),
            Some(_) => format!("; {read} read in `{ns}`, too few for a statement about the others"),
            None => format!("; {read} read in `{ns}`, not a random sample: the others may differ"),
        }
    })
}

/// `1,200 documents read`, or the part of them.
pub(super) fn read(of: &[(&Collection, &Profile)]) -> String {
    let documents: u64 = of.iter().map(|(_, p)| p.documents).sum();
    let total: u64 = of.iter().map(|(_, p)| p.total.max(p.documents)).sum();
    if documents < total {
        format!("{} of {} read", text::count(documents), text::plural(total, "document"))
    } else {
        format!("{} read", text::plural(documents, "document"))
    }
}

/// The basis of sizes: the documents read, the uncertainty of a sample, and the figures that the
/// server computed.
pub(super) fn seen(
    of: &[(&Collection, Figures<'_>)],
    open: impl Fn(&[(&Collection, &Profile)]) -> String,
) -> String {
    let (counted, sampled): (Vec<_>, Vec<_>) =
        of.iter().partition(|(_, figures)| figures.is_counted);
    let sampled: Vec<(&Collection, &Profile)> =
        sampled.into_iter().filter_map(|(c, _)| Some((*c, c.profile.as_ref()?))).collect();
    let documents = counted.iter().map(|(_, figures)| figures.documents).sum();
    let by_server = (!counted.is_empty())
        .then(|| format!("{} counted by the server", text::plural(documents, "document")));
    let by_us = (!sampled.is_empty()).then(|| format!("{}{}", read(&sampled), open(&sampled)));
    by_us.into_iter().chain(by_server).collect::<Vec<_>>().join(", ")
}

/// A path, shortened to the part that helps to find the place.
pub(super) fn shortened(path: &str) -> String {
    const NAMES: usize = 8;
    match path.match_indices('.').nth(NAMES - 1) {
        Some((end, _)) => format!("{}.…", &path[..end]),
        None => path.to_owned(),
    }
}

/// The subject of a finding, with the fields that it covers.
fn place(finding: &Finding) -> String {
    let fields: Vec<String> = finding.paths.iter().map(|path| format!("`{path}`")).collect();
    match (&finding.at, fields.is_empty()) {
        (_, true) => subject(finding),
        (Subject::Deployment, false) => first(&fields),
        (_, false) => format!("{} of {}", first(&fields), subject(finding)),
    }
}

fn subject(finding: &Finding) -> String {
    match &finding.at {
        Subject::Deployment => finding.what.clone(),
        Subject::Database(db) => format!("`{db}`"),
        Subject::Collection(ns) => format!("`{ns}`"),
        Subject::Field(ns, path) => format!("`{path}` of `{ns}`"),
        Subject::Index(ns, name) => format!("index `{name}` of `{ns}`"),
    }
}

/// The places of findings, each once, because several rules may report the same one. Places in code
/// are a file and a line.
pub(super) fn places(found: &[&Finding]) -> Vec<String> {
    let mut places: Vec<(String, Option<String>)> = Vec::new();
    for finding in found {
        let site = finding.location.as_ref().map(|at| format!("{}:{}", at.file, at.line));
        let at = match (&finding.at, &site) {
            (Subject::Deployment, Some(site)) if finding.paths.is_empty() => site.clone(),
            _ => place(finding),
        };
        match places.iter_mut().find(|(known, _)| *known == at) {
            Some((_, known)) => *known = known.take().or(site),
            None => places.push((at, site)),
        }
    }
    let text = |(at, site): (String, Option<String>)| match site {
        Some(site) if site != at => format!("{at} ({site})"),
        _ => at,
    };
    places.into_iter().map(text).collect()
}

pub(super) fn first(places: &[String]) -> String {
    text::phrases(places, NAMED)
}
