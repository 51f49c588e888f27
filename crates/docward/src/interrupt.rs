//! Ctrl-C, by what it would interrupt: reading ends early and is reported on, judging is given up,
//! writing is finished. A second Ctrl-C ends the program at once, whatever it is doing.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
    thread,
};

use crate::{PROBLEMS, complain};

/// What a shell expects of a program that Ctrl-C ended.
const ENDED: u8 = 130;

/// What the program is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Phase {
    Reading,
    Judging,
    Writing,
    /// Ctrl-C came while judging: nothing may begin any more.
    Ending,
}

/// What is to be done about a Ctrl-C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// Go on to the end of this phase; reading looks at `stop` itself.
    Finish,
    /// End without a report.
    GiveUp,
    /// End at once.
    End,
}

/// Hears Ctrl-C from now on.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    stop: Arc<AtomicBool>,
    phase: Arc<AtomicU8>,
}

impl Interrupt {
    /// Begins to listen; the program is reading.
    pub(crate) fn listen() -> Self {
        let interrupt = Self::new();
        let heard = interrupt.clone();
        let _ = ctrlc::set_handler(move || match heard.answer() {
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

    /// Set when reading is to end.
    pub(crate) fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// Reading is over, the rules run.
    pub(crate) fn judging(&self) {
        self.enter(Phase::Reading, Phase::Judging);
    }

    /// The report is ready and is being written. Does not return once judging was given up.
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

#[expect(clippy::exit, reason = "Ctrl-C is heard on a thread of its own")]
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
