//! The round-trip time, and the options that measure it (RFC 4340, Section 13).

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::{Elapsed, timing};
use whimbrel_wire::{DccpOption, Options, SeqNo};

#[cfg(test)]
mod tests;

/// The round-trip time to assume without any measurement (RFC 4340, Section 3.4).
pub(crate) const DEFAULT_RTT: Duration = Duration::from_millis(200);
/// One unit of the timing options (RFC 4340, Section 13).
const UNIT: Duration = Duration::from_micros(10);
/// How often, in round-trip times, an end that only acknowledges measures with a Timestamp.
const RTTS_PER_TIMESTAMP: u64 = 4;

/// What is known about the round-trip time, and the timing options to send.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundTripTime {
    /// The estimate: the HC-sender's, which sees every acknowledgement of data, or else the samples
    /// taken here (the handshake and Timestamp Echoes), smoothed.
    smoothed: Option<Duration>,
    /// When it was last brought up to date.
    measured: Option<Instant>,
    /// The last handshake packet sent, and when.
    handshake: Option<(SeqNo, Instant)>,
    /// The last Timestamp received that has not been echoed, and when it came.
    to_echo: Option<(u32, Instant)>,
    /// When the last Timestamp was sent.
    timestamp_sent: Option<Instant>,
}

impl RoundTripTime {
    /// The estimate.
    pub(crate) fn best(&self) -> Option<Duration> {
        self.smoothed
    }
    /// The estimate, or the RFC's default.
    pub(crate) fn or_default(&self) -> Duration {
        self.smoothed.unwrap_or(DEFAULT_RTT)
    }
    /// The path is another: nothing is known. A Timestamp that came is still echoed.
    pub(crate) fn forget(&mut self) {
        *self = Self { to_echo: self.to_echo, ..Self::default() };
    }
    /// The path is one whose round-trip time is known.
    pub(crate) fn recall(&mut self, now: Instant, rtt: Duration) {
        (self.smoothed, self.measured) = (Some(rtt), Some(now));
    }
    /// A Request or Response was sent.
    pub(crate) fn on_handshake_sent(&mut self, now: Instant, sequence: SeqNo) {
        self.handshake = Some((sequence, now));
    }
    /// The packet that answers a Request or Response arrived. It counts if it acknowledges the last one sent.
    pub(crate) fn on_handshake_answered(&mut self, now: Instant, ack: SeqNo) {
        if let Some((sequence, sent)) = self.handshake.take()
            && sequence == ack
        {
            self.on_sample(now, now - sent);
        }
    }
    /// What the HC-sender measures, after an acknowledgement of data.
    pub(crate) fn on_sender_estimate(&mut self, now: Instant, rtt: Option<Duration>) {
        if rtt.is_some() {
            self.smoothed = rtt;
            self.measured = Some(now);
        }
    }
    /// A Timestamp option arrived: the next packet echoes it.
    pub(crate) fn on_timestamp(&mut self, now: Instant, timestamp: u32) {
        self.to_echo = Some((timestamp, now));
    }
    /// A Timestamp Echo option arrived: the sample that it gives, if it makes sense.
    pub(crate) fn on_timestamp_echo(
        &mut self,
        now: Instant,
        echo: u32,
        elapsed: Elapsed,
    ) -> Option<Duration> {
        self.timestamp_sent?;
        if !elapsed.is_exact() {
            return None;
        }
        let away = to_units(now).wrapping_sub(echo);
        // The peer cannot have kept it for longer than it was away.
        let sample = UNIT * u64::from(away.checked_sub(elapsed.units())?);
        // An echo of what was never sent looks like hours.
        (sample <= Duration::from_secs(120)).then(|| {
            self.on_sample(now, sample);
            sample
        })
    }
    /// Adds the Timestamp Echo option that is owed, if any.
    pub(crate) fn write_echo(&mut self, now: Instant, options: &mut Options) {
        let Some((timestamp, received)) = self.to_echo.take() else { return };
        let units = (now - received).as_nanos() / UNIT.as_nanos();
        let elapsed = match u32::try_from(units).unwrap_or(u32::MAX) {
            0 => Elapsed::Absent,
            units => Elapsed::from_units(units),
        };
        options.push(DccpOption::TimestampEcho { timestamp, elapsed });
    }
    /// Whether an acknowledgement should carry a Timestamp: the last measurement is a while ago.
    pub(crate) fn wants_timestamp(&self, now: Instant) -> bool {
        let last = self.measured.max(self.timestamp_sent);
        last.is_none_or(|last| now - last >= self.or_default() * RTTS_PER_TIMESTAMP)
    }
    /// A Timestamp option for a packet that leaves now.
    pub(crate) fn timestamp(&mut self, now: Instant) -> DccpOption {
        self.timestamp_sent = Some(now);
        DccpOption::Timestamp(to_units(now))
    }
    fn on_sample(&mut self, now: Instant, sample: Duration) {
        self.measured = Some(now);
        // The gain of TCP's smoothed round-trip time (RFC 6298, Section 2.3).
        self.smoothed = Some(match self.smoothed {
            Some(smoothed) => (smoothed * 7 + sample) / 8,
            None => sample,
        });
    }
}

/// The low 32 bits of the clock in units of 10 us, as Timestamp options carry it.
fn to_units(now: Instant) -> u32 {
    timing::timestamp_from_nanos(now.as_nanos())
}
