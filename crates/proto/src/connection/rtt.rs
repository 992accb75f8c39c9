//! The round-trip time, and the options that measure it (RFC 4340, Section 13).

use std::collections::VecDeque;

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::{Elapsed, timing};
use whimbrel_wire::{DccpOption, Options, SeqNo};

#[cfg(test)]
mod tests;

/// The round-trip time to assume without any measurement (RFC 4340, Section 3.4).
pub(crate) const DEFAULT_RTT: Duration = Duration::from_millis(200);
/// One unit of the timing options (RFC 4340, Section 13).
const UNIT: Duration = Duration::from_micros(10);
/// Handshake packets whose transmission times are kept: some seconds of them.
const HANDSHAKE_PACKETS: usize = 8;
/// Interval, in round-trip times, at which an end that only acknowledges sends a Timestamp.
const RTTS_PER_TIMESTAMP: u64 = 4;

/// The round-trip time estimate, and the timing options to send.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundTripTime {
    /// The estimate: the HC-sender's, which uses every acknowledgement of data, or otherwise the smoothed
    /// samples taken here (the handshake and Timestamp Echoes).
    smoothed: Option<Duration>,
    /// `true` if the estimate is the handshake's, which is often longer (a radio wakes up): the next sample
    /// replaces it.
    is_preliminary: bool,
    /// Time of its last update.
    measured: Option<Instant>,
    /// The last handshake packets sent, and their times. Requests are repeated without waiting for a
    /// round-trip time, so that the answer to the first may arrive after the second was sent.
    handshake: VecDeque<(SeqNo, Instant)>,
    /// The last Timestamp received that has not been echoed, and its arrival time.
    to_echo: Option<(u32, Instant)>,
    /// Time of the last Timestamp sent.
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

    /// Discards the estimate after a change of path. A received Timestamp is still echoed.
    pub(crate) fn forget(&mut self) {
        *self = Self { to_echo: self.to_echo, ..Self::default() };
    }

    /// Restores the round-trip time of a path used before.
    pub(crate) fn recall(&mut self, now: Instant, rtt: Duration) {
        (self.smoothed, self.measured) = (Some(rtt), Some(now));
    }

    /// Records a sent Request or Response.
    pub(crate) fn on_handshake_sent(&mut self, now: Instant, sequence: SeqNo) {
        if self.handshake.len() == HANDSHAKE_PACKETS {
            self.handshake.pop_front();
        }
        self.handshake.push_back((sequence, now));
    }

    /// Takes a sample from the answer to a Request or Response.
    pub(crate) fn on_handshake_answered(&mut self, now: Instant, ack: SeqNo) {
        let sent = core::mem::take(&mut self.handshake).into_iter().find(|(sequence, _)| *sequence == ack);
        if let Some((_, at)) = sent {
            self.on_sample(now, now - at);
            self.is_preliminary = true;
        }
    }

    /// Adopts the HC-sender's estimate, after an acknowledgement of data.
    pub(crate) fn on_sender_estimate(&mut self, now: Instant, rtt: Option<Duration>) {
        if rtt.is_some() {
            self.smoothed = rtt;
            self.measured = Some(now);
        }
    }

    /// Records a Timestamp option, which the next packet echoes.
    pub(crate) fn on_timestamp(&mut self, now: Instant, timestamp: u32) {
        self.to_echo = Some((timestamp, now));
    }

    /// Processes a Timestamp Echo option: returns the sample, if it is plausible.
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
        // The peer cannot have held the Timestamp for longer than the total time.
        let sample = UNIT * u64::from(away.checked_sub(elapsed.units())?);
        // An echo of a Timestamp that was never sent looks like hours.
        (sample <= Duration::from_secs(120)).then(|| {
            self.on_sample(now, sample);
            sample
        })
    }

    /// `true` if a Timestamp Echo option is pending.
    #[inline]
    pub(crate) fn owes_echo(&self) -> bool {
        self.to_echo.is_some()
    }

    /// Adds the pending Timestamp Echo option, if any.
    pub(crate) fn write_echo(&mut self, now: Instant, options: &mut Options) {
        let Some((timestamp, received)) = self.to_echo.take() else { return };
        let units = (now - received).as_nanos() / UNIT.as_nanos();
        let elapsed = match u32::try_from(units).unwrap_or(u32::MAX) {
            0 => Elapsed::Absent,
            units => Elapsed::from_units(units),
        };
        options.push(DccpOption::TimestampEcho { timestamp, elapsed });
    }

    /// `true` if an acknowledgement should carry a Timestamp, as the last measurement is old.
    pub(crate) fn needs_timestamp(&self, now: Instant) -> bool {
        let last = self.measured.max(self.timestamp_sent);
        last.is_none_or(|last| now - last >= self.or_default() * RTTS_PER_TIMESTAMP)
    }

    /// Creates a Timestamp option for a packet that leaves now.
    pub(crate) fn timestamp(&mut self, now: Instant) -> DccpOption {
        self.timestamp_sent = Some(now);
        DccpOption::Timestamp(to_units(now))
    }

    fn on_sample(&mut self, now: Instant, sample: Duration) {
        self.measured = Some(now);
        // The gain of TCP's smoothed round-trip time (RFC 6298, Section 2.3).
        let is_preliminary = core::mem::take(&mut self.is_preliminary);
        self.smoothed = Some(match self.smoothed.filter(|_| !is_preliminary) {
            Some(smoothed) => (smoothed * 7 + sample) / 8,
            None => sample,
        });
    }
}

/// The low 32 bits of the clock in units of 10 us, as Timestamp options carry it.
fn to_units(now: Instant) -> u32 {
    timing::timestamp_from_nanos(now.as_nanos())
}
