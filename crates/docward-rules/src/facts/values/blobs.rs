//! Files inside documents: the fields that contain them, and which of two rules reports a field.

use crate::facts::thresholds::{d004, d005};
use docward_model::{Blob, BlobKind, Field, Namespace, Profile, Settings};

use crate::facts::text;

/// The figures that both rules use, so that one field gives one finding.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Binaries of at least this size are files.
    pub large: u64,
    /// Encoded files of at least this size are reported.
    pub icon: u64,
    /// The minimum share of the collection's bytes for an object store.
    pub share: f64,
    /// The minimum 95th percentile of the sizes for an object store.
    pub store: u64,
}

impl Limits {
    /// Returns the limits as configured for a namespace.
    pub fn of(settings: &Settings, namespace: &Namespace) -> Self {
        let d004 = |threshold| d004::limit(settings, namespace, threshold);
        let d005 = |threshold| d005::limit(settings, namespace, threshold);
        Self {
            large: d004(&d004::MAX_BYTES) as u64,
            icon: d004(&d004::MIN_ENCODED) as u64,
            share: d005(&d005::MAX_SHARE),
            store: d005(&d005::MIN_P95) as u64,
        }
    }
}

/// Files in a field.
#[derive(Clone, Debug)]
pub struct Files {
    /// The number of files at or above the reported size.
    pub count: u64,
    /// The size limit.
    pub limit: u64,
    /// The share of the collection's bytes that the field takes.
    pub share: f64,
    /// Whether their share of the collection is large enough for the advice to begin with an object
    /// store.
    pub store_first: bool,
}

/// Files of a field that should be elsewhere; `None` for ids, vectors and icons.
pub fn files(profile: &Profile, field: &Field, limits: &Limits) -> Option<Files> {
    let blob = field.blob.as_ref()?;
    if !is_payload(blob) {
        return None;
    }
    let share = field.bytes as f64 / profile.sizes.sum.max(1) as f64;
    let store_first = share > limits.share && blob.sizes.p95() >= limits.store;
    let limit = if store_first {
        limits.store
    } else if blob.sizes.max >= limits.large {
        limits.large
    } else if blob.encoded > 0 && blob.sizes.max >= limits.icon {
        limits.icon
    } else {
        return None;
    };
    Some(Files { count: blob.sizes.at_least(limit), limit, share, store_first })
}

/// Whether the binaries are data rather than ids (subtypes 3, 4), hashes (5) or vectors (9).
fn is_payload(blob: &Blob) -> bool {
    let all: u64 = blob.subtypes.iter().map(|(_, n)| n).sum();
    let others: u64 =
        blob.subtypes.iter().filter(|(s, _)| matches!(s, 3 | 4 | 5 | 9)).map(|(_, n)| n).sum();
    blob.encoded > 0 || others * 2 < all
}

/// Maximum number of file kinds that a sentence lists.
const MOST_KINDS: usize = 4;

/// `JPEG files`, `PNG and PDF files`, `binaries`; `binary` for a single one.
pub fn kinds(blob: &Blob, count: u64) -> String {
    let files = text::form(count, "file", "files");
    let mut known: Vec<&str> = blob
        .kinds
        .iter()
        .filter(|(kind, _)| *kind != BlobKind::Unknown)
        .map(|(kind, _)| kind.name())
        .collect();
    if known.len() > MOST_KINDS {
        known.truncate(MOST_KINDS);
        known.push("other");
    }
    let noun = match known.split_last() {
        None => text::form(count, "binary", "binaries").to_owned(),
        Some((one, [])) => format!("{one} {files}"),
        Some((last, rest)) => format!("{} and {last} {files}", rest.join(", ")),
    };
    if blob.encoded * 2 > blob.sizes.count { format!("{noun} as base64 text") } else { noun }
}

/// Describes the files of a field.
pub fn describe(field: &Field, blob: &Blob, files: &Files) -> String {
    format!(
        "`{}` holds {} {} of {} or more (median {}, largest {}); the field takes {} of the collection's bytes",
        field.path,
        text::count(files.count),
        kinds(blob, files.count),
        text::bytes(files.limit),
        text::bytes(blob.sizes.p50()),
        text::bytes(blob.sizes.max),
        text::percent(files.share),
    )
}
