//! The progress bar. It appears on a terminal if reading takes longer than a second.

use std::{
    io::IsTerminal,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use docward_collect::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The time that reading must take before a progress bar appears.
const PATIENCE: Duration = Duration::from_secs(1);

/// A progress bar that appears after a delay.
pub(crate) struct Bar {
    bar: ProgressBar,
    wanted: bool,
    started: Instant,
    documents: AtomicU64,
    notes: Mutex<Vec<String>>,
}

impl Bar {
    /// Creates a bar on standard error, or a hidden one.
    pub(crate) fn new(wanted: bool) -> Self {
        let wanted = wanted && std::io::stderr().is_terminal();
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template(
            "{bar:30} {decimal_bytes} of {decimal_total_bytes} · {decimal_bytes_per_sec} · {eta} left · {msg}",
        );
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self {
            bar,
            wanted,
            started: Instant::now(),
            documents: AtomicU64::new(0),
            notes: Mutex::new(Vec::new()),
        }
    }

    /// Removes the bar and returns the notes.
    pub(crate) fn finish(self) -> Vec<String> {
        self.bar.finish_and_clear();
        self.notes.into_inner().unwrap_or_default()
    }
}

impl Progress for Bar {
    fn total_bytes(&self, n: u64) {
        self.bar.inc_length(n);
    }

    fn advance(&self, bytes: u64, documents: u64) {
        let documents = self.documents.fetch_add(documents, Ordering::Relaxed) + documents;
        self.bar.inc(bytes);
        if self.wanted && self.bar.is_hidden() && self.started.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_message(format!("{documents} documents"));
    }

    fn note(&self, text: &str) {
        if let Ok(mut notes) = self.notes.lock() {
            notes.push(text.to_owned());
        }
    }
}
