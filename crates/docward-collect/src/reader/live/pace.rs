//! Controls the reading rate: never above the limit, and slower if the server is busy.

use std::time::Duration;

/// Faster responses never count as a sign of a busy server.
const PROMPT: Duration = Duration::from_millis(100);
/// Responses that take this many times as long as usual indicate a busy server.
const SLOWER: u32 = 4;
/// The maximum pause.
const LONGEST: Duration = Duration::from_secs(5);

/// The usual response time of the server.
#[derive(Debug, Default)]
pub(super) struct Patience {
    usual: Option<Duration>,
}

impl Patience {
    /// The pause after a response that took this long.
    pub(super) fn pause(&mut self, took: Duration) -> Duration {
        let usual = *self.usual.get_or_insert(took);
        // The usual time increases slowly and decreases at once.
        self.usual = Some(if took < usual { took } else { usual + (took - usual) / 64 });
        if took > PROMPT && took > usual * SLOWER { took.min(LONGEST) } else { Duration::ZERO }
    }
}

/// The wait after which `documents` in the `passed` time are at most `rate` per second.
pub(super) fn wait_for_rate(rate: u64, documents: u64, passed: Duration) -> Duration {
    let earliest = Duration::try_from_secs_f64(documents as f64 / rate.max(1) as f64);
    earliest.unwrap_or(LONGEST).saturating_sub(passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_server_is_left_alone_as_long_as_it_took_to_answer() {
        let ms = Duration::from_millis;
        let mut patience = Patience::default();
        assert_eq!(patience.pause(ms(900)), ms(0), "nothing to compare with");
        assert_eq!(patience.pause(ms(20)), ms(0));
        assert_eq!(patience.pause(ms(90)), ms(0), "slower, but prompt");
        assert_eq!(patience.pause(ms(300)), ms(300));
        assert_eq!(patience.pause(ms(60_000)), LONGEST);
        assert_eq!(patience.pause(ms(25)), ms(0));
    }

    #[test]
    fn a_rate_is_kept_on_average() {
        let seconds = Duration::from_secs;
        assert_eq!(wait_for_rate(1000, 5000, seconds(0)), seconds(5));
        assert_eq!(wait_for_rate(1000, 5000, seconds(2)), seconds(3));
        assert_eq!(wait_for_rate(1000, 5000, seconds(6)), seconds(0));
    }
}
