//! Handles Ctrl-C and SIGTERM, depending on the phase:
//!
//! - Reading ends early, and the report covers the data that was read.
//! - Judging is abandoned.
//! - Writing is completed.
//!
//! A second signal always ends the program at once.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
    thread,
};

use crate::terminal::{PROBLEMS, complain};

/// The exit code that shells expect after Ctrl-C.
const ENDED: u8 = 130;

/// The current phase of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Phase {
    Reading,
    Judging,
    Writing,
    /// A signal arrived while judging, so no new phase may begin.
    Ending,
}

/// The reaction to a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// Continue to the end of this phase. Reading checks `stop` itself.
    Finish,
    /// End without a report.
    GiveUp,
    /// End at once.
    End,
}

/// Handles Ctrl-C and SIGTERM.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    stop: Arc<AtomicBool>,
    phase: Arc<AtomicU8>,
}

impl Interrupt {
    /// Begins to handle signals, in the reading phase.
    pub(crate) fn listen() -> Self {
        let interrupt = Self::new();
        let heard = interrupt.clone();
        // If no handler can be installed, the signals end the program, which is their default.
        let _ = hear(move || match heard.answer() {
            Answer::Finish => {}
            Answer::GiveUp => {
                complain(
                    "docward: interrupted while the rules were running; no report was written",
                );
                exit(PROBLEMS);
            }
            Answer::End => exit(ENDED),
        });
        interrupt
    }

    fn new() -> Self {
        Self {
            stop: Arc::new(AtomicBool::new(false)),
            phase: Arc::new(AtomicU8::new(Phase::Reading as u8)),
        }
    }

    /// Returns a flag that is set when reading must end.
    pub(crate) fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// Ends reading and begins judging.
    pub(crate) fn judging(&self) {
        self.enter(Phase::Reading, Phase::Judging);
    }

    /// Begins another reading that the findings require.
    pub(crate) fn reading_again(&self) {
        self.enter(Phase::Judging, Phase::Reading);
    }

    /// Begins to write the report. Does not return if judging was abandoned.
    pub(crate) fn writing(&self) {
        self.enter(Phase::Judging, Phase::Writing);
    }

    fn enter(&self, from: Phase, to: Phase) {
        while !self.change(from, to) {
            // Another thread is ending the program.
            thread::park();
        }
    }

    fn change(&self, from: Phase, to: Phase) -> bool {
        let (from, to) = (from as u8, to as u8);
        self.phase.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    fn answer(&self) -> Answer {
        if self.stop.swap(true, Ordering::SeqCst) {
            Answer::End
        } else if self.change(Phase::Judging, Phase::Ending) {
            Answer::GiveUp
        } else {
            Answer::Finish
        }
    }
}

/// Calls a function on every Ctrl-C and SIGTERM. Hangups are not handled, because `nohup` relies on
/// that.
fn hear(act: impl Fn() + Send + 'static) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
        }
        #[cfg(windows)]
        {
            use tokio::signal::windows::{ctrl_c, ctrl_shutdown};
            (ctrl_c()?, ctrl_shutdown()?)
        }
    };
    let listen = async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => act(),
                _ = terminate.recv() => act(),
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(move || runtime.block_on(listen))?;
    Ok(())
}

#[expect(clippy::exit, reason = "a separate thread handles signals")]
fn exit(code: u8) -> ! {
    std::process::exit(i32::from(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_and_writing_are_finished_and_judging_is_given_up() {
        let reading = Interrupt::new();
        assert_eq!(reading.answer(), Answer::Finish);
        assert!(reading.stop().load(Ordering::SeqCst));

        let judging = Interrupt::new();
        judging.judging();
        assert_eq!(judging.answer(), Answer::GiveUp);
        assert!(!judging.change(Phase::Judging, Phase::Writing), "no report is begun any more");

        let writing = Interrupt::new();
        writing.judging();
        writing.writing();
        assert_eq!(writing.answer(), Answer::Finish);
    }

    #[test]
    fn the_second_ends_at_once_in_every_phase() {
        let interrupt = Interrupt::new();
        assert_eq!(interrupt.answer(), Answer::Finish);
        assert_eq!(interrupt.answer(), Answer::End);
        interrupt.judging();
        assert_eq!(interrupt.answer(), Answer::End);
        interrupt.writing();
        assert_eq!(interrupt.answer(), Answer::End);
    }
}
