//! Reads entries that accept findings for a time: suppressions, waivers, and the baseline.

use docward_model::{NamespacePattern, RuleMeta, Settings, Suppression, Waiver};

use super::{pattern, selector_problem};
use crate::{
    diagnostic::Diagnostics,
    raw::{At, Raw, RawSuppression},
    suggest::{self, excerpt},
};

/// Checklist items that can be waived.
const LISTS: [(&str, u32); 3] = [("CK", 15), ("SE", 9), ("SC", 7)];

/// Reads `[[suppress]]` and `[[waive]]`.
pub(super) fn read(
    raw: &Raw<'_>,
    settings: &mut Settings,
    rules: &[&RuleMeta],
    out: &mut Diagnostics<'_>,
) {
    for entry in &raw.suppress {
        settings.suppressions.extend(suppression(entry, rules, out));
    }
    for entry in &raw.waive {
        let item = entry.item.value.to_uppercase();
        let known = LISTS.iter().flat_map(|(list, n)| (1..=*n).map(move |n| format!("{list}-{n}")));
        let known: Vec<String> = known.collect();
        if !known.contains(&item) {
            let message =
                format!("no item of a checklist is called `{}`", excerpt(entry.item.value));
            let hint = suggest::did_you_mean(&item, known.iter().map(String::as_str))
                .unwrap_or_else(|| "`docward checklist` lists them".to_owned());
            out.error(entry.item.at, message, Some(hint));
        }
        let Some(reason) = reason(entry.reason, out) else { continue };
        if known.contains(&item) {
            settings.waivers.push(Waiver {
                item,
                reason,
                by: entry.by.map(|by| by.value.trim().to_owned()).filter(|by| !by.is_empty()),
                expires: entry.expires.value.clone(),
            });
        }
    }
}

/// The path of the baseline.
pub(super) fn baseline(raw: &Raw<'_>, out: &mut Diagnostics<'_>) -> Option<String> {
    let path = raw.baseline?;
    if path.value.trim().is_empty() {
        out.error(path.at, "`baseline` names no file", None);
        return None;
    }
    Some(path.value.to_owned())
}

fn suppression(
    entry: &RawSuppression<'_>,
    rules: &[&RuleMeta],
    out: &mut Diagnostics<'_>,
) -> Option<Suppression> {
    if let Some((message, hint)) = selector_problem(entry.rule.value, rules) {
        out.error(entry.rule.at, message, Some(hint));
        return None;
    }
    let reason = reason(entry.reason, out);
    let namespaces = entry.pattern.map(|text| pattern(text, out));
    let path = entry.path.map(|text| {
        let found = NamespacePattern::of_path(text.value);
        if let Err(why) = &found {
            let message = format!("`{}` is not a pattern: {why}", excerpt(text.value));
            out.error(text.at, message, None);
        }
        found.ok()
    });
    let files = entry.file.map(|text| pattern(text, out));
    // A pattern that cannot be read must not extend the entry to everything.
    if [&namespaces, &path, &files].into_iter().any(|glob| matches!(glob, Some(None))) {
        return None;
    }
    Some(Suppression {
        rule: entry.rule.value.to_owned(),
        pattern: namespaces.flatten(),
        path: path.flatten(),
        files: files.flatten(),
        is_comment: false,
        reason: reason?,
        expires: entry.expires.value.clone(),
        location: out.location(entry.at),
    })
}

fn reason(text: At<&str>, out: &mut Diagnostics<'_>) -> Option<String> {
    let reason = text.value.trim();
    if reason.is_empty() {
        let hint = "write the reason for later readers".to_owned();
        out.error(text.at, "`reason` is empty", Some(hint));
        return None;
    }
    Some(reason.to_owned())
}
