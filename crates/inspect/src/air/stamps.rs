//! The meaning of a capture's timestamps.
//!
//! The timestamp of a record is taken after the reception on most systems and at the beginning of a
//! transmission in the simulator's captures; the MAC's is the arrival of the first bit after the PLCP header
//! (radiotap's TSFT), which not all drivers keep to. A response follows its frame after SIFS: the meaning
//! with which most pairs have that space is the one assumed.

use whimbrel_units::{Duration, Instant};

use super::{AirFrame, AirKind, Preamble, timing};

/// Resolution of errors.
const RESOLUTION: Duration = Duration::from_micros(2);

/// A clock of the capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// The records' clock.
    Capture,
    /// The MAC's clock.
    Tsft,
}

/// The moment of a frame to which its timestamp belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// Its end.
    End,
    /// Its beginning.
    Begin,
    /// The end of its PLCP header.
    Mpdu,
}

/// The meaning of timestamps.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stamps {
    /// The clock that is used.
    pub clock: Clock,
    /// The moment.
    pub moment: Moment,
    /// Median difference between the spaces before responses and SIFS; `None` without a response.
    pub error: Option<Duration>,
}

impl Stamps {
    /// All meanings. Of equal ones the first is assumed.
    const ALL: [(Clock, Moment); 6] = [
        (Clock::Capture, Moment::End),
        (Clock::Capture, Moment::Begin),
        (Clock::Tsft, Moment::Mpdu),
        (Clock::Tsft, Moment::Begin),
        (Clock::Tsft, Moment::End),
        (Clock::Capture, Moment::Mpdu),
    ];

    /// Beginning and end of a frame; `None` if the clock or the air time is missing. An unknown air time is
    /// zero where the stamp is the end.
    pub fn span(&self, frame: &AirFrame) -> Option<(Instant, Instant)> {
        let stamp = match self.clock {
            Clock::Capture => frame.captured,
            // Time since the epoch of the MAC; 2^64 us are beyond the range.
            Clock::Tsft => Instant::from_nanos(frame.tsft?.checked_mul(1000)?),
        };
        match (self.moment, frame.airtime) {
            (Moment::End, airtime) => {
                let (airtime, _) = airtime.unwrap_or_default();
                Some((stamp.saturating_sub(airtime), stamp))
            }
            (Moment::Begin, Some((airtime, _))) => Some((stamp, stamp + airtime)),
            (Moment::Mpdu, Some((airtime, plcp))) => {
                let begin = stamp.saturating_sub(plcp);
                Some((begin, begin + airtime))
            }
            (Moment::Begin | Moment::Mpdu, None) => None,
        }
    }
}

/// Finds the meaning of the timestamps from the first frames.
#[derive(Clone, Debug, Default)]
pub struct StampDetector {
    frames: Vec<AirFrame>,
}

impl StampDetector {
    /// Number of frames after which the meaning is decided.
    pub const FRAMES: usize = 4096;

    /// Adds a frame; `true` if there are enough.
    pub fn add(&mut self, frame: AirFrame) -> bool {
        self.frames.push(frame);
        self.frames.len() >= Self::FRAMES
    }

    /// The frames so far.
    pub fn into_frames(self) -> Vec<AirFrame> {
        self.frames
    }

    /// The meaning with the smallest median error. Records are stamped at the ends of frames if there is no
    /// response.
    pub fn decide(&self) -> Stamps {
        let unknown = Stamps { clock: Clock::Capture, moment: Moment::End, error: None };
        let candidates = Stamps::ALL.map(|(clock, moment)| {
            let stamps = Stamps { clock, moment, error: None };
            Stamps { error: self.error(&stamps), ..stamps }
        });
        // Errors that differ by the resolution of the clocks and by propagation are equal.
        let rounded = |error: Duration| error.as_nanos() / RESOLUTION.as_nanos();
        candidates
            .into_iter()
            .filter(|stamps| stamps.error.is_some())
            .min_by_key(|stamps| stamps.error.map(rounded))
            .unwrap_or(unknown)
    }

    /// Median difference of the spaces before CTS frames and acknowledgements from SIFS.
    fn error(&self, stamps: &Stamps) -> Option<Duration> {
        let mut errors: Vec<Duration> = Vec::new();
        for pair in self.frames.windows(2) {
            let [asked, answer] = pair else { continue };
            let answers = match answer.kind {
                AirKind::Cts => asked.kind == AirKind::Rts,
                AirKind::Ack => asked.kind == AirKind::Data,
                _ => false,
            };
            if !answers || asked.frequency != answer.frequency || asked.transmitter != answer.receiver {
                continue;
            }
            // Both air times are needed to compare the meanings by the same pairs.
            if asked.airtime.is_none() || answer.airtime.is_none() {
                continue;
            }
            let ((_, end), (begin, _)) = (stamps.span(asked)?, stamps.span(answer)?);
            let expected = end + timing(asked.frequency, Preamble::Long).sifs;
            errors.push(begin.saturating_since(expected).max(expected.saturating_since(begin)));
        }
        let middle = errors.len() / 2;
        (!errors.is_empty()).then(|| *errors.select_nth_unstable(middle).1)
    }
}
