//! Interarrival jitter (RFC 3550, Section 6.4.1), and the clock of the timestamps.

use whimbrel_units::Instant;

/// Clock rates in use, in Hz. The rate of a dynamic payload type is not in the packets: it is the one that is
/// nearest to the advance of the timestamps.
const RATES: [f64; 8] = [8_000.0, 16_000.0, 22_050.0, 24_000.0, 32_000.0, 44_100.0, 48_000.0, 90_000.0];
/// Tolerance of that advance.
const TOLERANCE: f64 = 0.15;
/// One in so many packets of a video has the timestamp of the one before.
const VIDEO_SHARE: u64 = 4;
/// Shortest time over which it is measured, in seconds.
const LEAST_TIME: f64 = 0.05;

/// Jitter at each of the clock rates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Jitter {
    last: Option<(Instant, i64)>,
    /// Time and timestamp from which the advance is measured.
    first: Option<(Instant, i64)>,
    jitter: [f64; RATES.len()],
    payload_type: u8,
    /// Packets, and those with the timestamp of the one before.
    packets: u64,
    same: u64,
}

impl Jitter {
    /// The timestamps begin anew.
    pub(super) fn restart(&mut self) {
        (self.first, self.last) = (None, None);
    }

    /// Processes a packet; returns its timestamp, unwrapped.
    pub(super) fn on_packet(&mut self, at: Instant, timestamp: u32, payload_type: u8, is_new: bool) -> i64 {
        self.payload_type = payload_type;
        self.packets += 1;
        let Some((last_at, last)) = self.last else {
            let timestamp = i64::from(timestamp);
            (self.first, self.last) = (Some((at, timestamp)), Some((at, timestamp)));
            return timestamp;
        };
        let timestamp = last.saturating_add(i64::from(timestamp.wrapping_sub(last as u32).cast_signed()));
        if !is_new {
            return timestamp;
        }
        self.same += u64::from(timestamp == last);
        let passed = at.saturating_since(last_at).as_secs_f64() - last_at.saturating_since(at).as_secs_f64();
        for (jitter, rate) in self.jitter.iter_mut().zip(RATES) {
            let difference = passed - (timestamp - last) as f64 / rate;
            *jitter += (difference.abs() - *jitter) / 16.0;
        }
        self.last = Some((at, timestamp));
        timestamp
    }

    /// The clock rate in Hz, if it is known.
    pub(crate) fn clock_rate(&self) -> Option<f64> {
        self.rate_index().map(|index| RATES[index])
    }

    /// The jitter in seconds, if the clock rate is known.
    pub(crate) fn seconds(&self) -> Option<f64> {
        self.rate_index().map(|index| self.jitter[index])
    }

    fn rate_index(&self) -> Option<usize> {
        // RFC 3551, Section 6.
        let fixed = match self.payload_type {
            0 | 3 | 4 | 5 | 7 | 8 | 9 | 12 | 13 | 15 | 18 => Some(8_000.0),
            6 => Some(16_000.0),
            16 => None,
            17 => Some(22_050.0),
            10 | 11 => Some(44_100.0),
            14 | 25 | 26 | 28 | 31..=34 => Some(90_000.0),
            _ => None,
        };
        // Audio has a packet for each timestamp; frames of several packets are video, whose clock is of 90
        // kHz (RFC 3551, Section 5).
        let is_video = self.same * VIDEO_SHARE > self.packets;
        if let Some(fixed) = fixed.or(is_video.then_some(90_000.0)) {
            return RATES.iter().position(|rate| *rate == fixed);
        }
        let ((first_at, first), (last_at, last)) = (self.first?, self.last?);
        let time = last_at.saturating_since(first_at).as_secs_f64();
        let advance = (last - first) as f64 / time;
        let distance = |index: usize| (advance / RATES[index] - 1.0).abs();
        let nearest = (0..RATES.len()).min_by(|a, b| distance(*a).total_cmp(&distance(*b)))?;
        (time >= LEAST_TIME && distance(nearest) <= TOLERANCE).then_some(nearest)
    }
}
