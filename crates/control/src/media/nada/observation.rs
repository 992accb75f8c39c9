//! The receiver's part of NADA at the sender: delays, losses, marks and the receiving rate (RFC 8698, Section
//! 5.1).

use alloc::collections::VecDeque;

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::NadaConfig;
use crate::media::{Feedback, PacketReport};
use crate::tfrc::loss_intervals::{HISTORY, loss_event_rate};

/// Number of parts of the history of the baseline delay.
const BASE_PARTS: u64 = 10;
/// Packets in the window below which there is no receiving rate (cisco/ns3-rmcat).
const LEAST_PACKETS: usize = 5;
/// Most packets in the window: 2 Gbit/s of 1250 bytes in 500 ms.
const MOST_PACKETS: usize = 100_000;

/// A packet within LOGWIN.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Observed {
    /// Arrival time; for a lost packet, the arrival time of the packet before.
    at: Instant,
    /// One-way delay with the unknown offset of the receiver's clock, in nanoseconds; `None` if lost.
    delay: Option<i64>,
    size: ByteCount,
    marked: bool,
    /// `true` if an earlier packet arrived later: its loss was counted before, and its delay does not count.
    late: bool,
}

/// Losses as the warping of the delay requires them, in packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Losses {
    /// loss_int: average of the closed loss intervals.
    pub(super) average_interval: f64,
    /// Packets since the beginning of the last loss event.
    pub(super) since_last: f64,
}

/// Observations of the packets of a flow.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Observation {
    log_window: Duration,
    filter_packets: usize,
    packets: VecDeque<Observed>,
    /// Delays of the last `filter_packets` packets.
    recent: VecDeque<i64>,
    /// Minima of the delays in the parts of the history, with the beginning of each.
    base: VecDeque<(Instant, i64)>,
    base_part: Duration,
    greatest: Option<u64>,
    first: Option<u64>,
    /// First packet of each loss event, the latest first, and the sending time of the latest one's.
    events: VecDeque<u64>,
    event_began: Instant,
    rtt: Duration,
}

impl Observation {
    pub(super) fn new(config: &NadaConfig) -> Self {
        Self {
            log_window: config.log_window,
            filter_packets: config.filter_packets.max(1),
            packets: VecDeque::new(),
            recent: VecDeque::new(),
            base: VecDeque::new(),
            base_part: config.base_history / BASE_PARTS,
            greatest: None,
            first: None,
            events: VecDeque::new(),
            event_began: Instant::ZERO,
            rtt: Duration::ZERO,
        }
    }

    /// Records the packets of a report.
    pub(super) fn record(&mut self, feedback: &Feedback<'_>) {
        self.rtt = feedback.rtt.unwrap_or(self.rtt);
        for report in feedback.packets {
            self.record_packet(report);
        }
        let Some(newest) = self.packets.back().map(|packet| packet.at) else { return };
        let is_old = |packet: &Observed| newest.saturating_since(packet.at) > self.log_window;
        while self.packets.front().is_some_and(is_old) || self.packets.len() > MOST_PACKETS {
            self.packets.pop_front();
        }
    }

    fn record_packet(&mut self, report: &PacketReport) {
        let sequence = report.sent.sequence;
        self.first.get_or_insert(sequence);
        let late = self.greatest.is_some_and(|greatest| sequence <= greatest);
        if !late {
            self.greatest = Some(sequence);
        }
        let Some(at) = report.arrival() else {
            self.record_loss(report);
            return;
        };
        let delay = (at.as_nanos() as i64).wrapping_sub(report.sent.sent_at.as_nanos() as i64);
        if !late {
            self.record_delay(at, delay);
        }
        // The window is ordered by arrival even if the receiver reports in the order of sending.
        let at = self.packets.back().map_or(at, |last| last.at.max(at));
        let marked = report.is_marked();
        self.packets.push_back(Observed { at, delay: Some(delay), size: report.sent.size, marked, late });
    }

    fn record_delay(&mut self, at: Instant, delay: i64) {
        if self.recent.len() >= self.filter_packets {
            self.recent.pop_front();
        }
        self.recent.push_back(delay);
        match self.base.back_mut() {
            Some((began, least)) if at.saturating_since(*began) < self.base_part => {
                *least = delay.min(*least)
            }
            _ => {
                if self.base.len() as u64 >= BASE_PARTS {
                    self.base.pop_front();
                }
                self.base.push_back((at, delay));
            }
        }
    }

    fn record_loss(&mut self, report: &PacketReport) {
        let sent = report.sent;
        // Without an arrival there is no time on the receiver's clock.
        if let Some(at) = self.packets.back().map(|last| last.at) {
            self.packets.push_back(Observed { at, delay: None, size: sent.size, marked: false, late: false });
        }
        if self.events.is_empty() || sent.sent_at.saturating_since(self.event_began) > self.rtt {
            self.events.truncate(HISTORY - 1);
            self.events.push_front(sent.sequence);
            self.event_began = sent.sent_at;
        }
    }

    /// d_base, with the offset of the receiver's clock.
    fn base(&self) -> Option<i64> {
        self.base.iter().map(|(_, least)| *least).min()
    }

    /// d_queue: least queueing delay of the last packets; `None` before the first arrival.
    pub(super) fn queueing_delay(&self) -> Option<Duration> {
        let least = *self.recent.iter().min()?;
        Some(Duration::from_nanos(u64::try_from(least.wrapping_sub(self.base()?)).unwrap_or(0)))
    }

    /// `true` for accelerated ramp-up: no loss and no queueing delay of `q_eps` or more within LOGWIN
    /// (Section 4.2).
    pub(super) fn is_underutilized(&self, q_eps: Duration) -> bool {
        let Some(base) = self.base() else { return false };
        let limit = base.saturating_add(i64::try_from(q_eps.as_nanos()).unwrap_or(i64::MAX));
        self.packets.iter().all(|packet| packet.late || packet.delay.is_some_and(|delay| delay < limit))
    }

    /// Ratios of lost and marked packets to all packets within LOGWIN (Section 5.1.2).
    pub(super) fn ratios(&self) -> (f64, f64) {
        let on_time = self.packets.iter().filter(|packet| !packet.late);
        let (mut sent, mut lost, mut marked) = (0_u64, 0_u64, 0_u64);
        for packet in on_time {
            sent += 1;
            lost += u64::from(packet.delay.is_none());
            marked += u64::from(packet.marked);
        }
        let sent = sent.max(1) as f64;
        (lost as f64 / sent, marked as f64 / sent)
    }

    /// r_recv (Section 5.1.3); `None` if too few packets arrived within LOGWIN. The first packet began before
    /// the time that is counted.
    pub(super) fn receiving_rate(&self) -> Option<DataRate> {
        let mut arrived = self.packets.iter().filter(|packet| packet.delay.is_some());
        let first = arrived.next()?;
        let (mut bytes, mut packets, mut last) = (ByteCount::ZERO, 1, first.at);
        for packet in arrived {
            bytes += packet.size;
            packets += 1;
            last = packet.at;
        }
        let time = last.saturating_since(first.at);
        (packets >= LEAST_PACKETS && !time.is_zero()).then(|| bytes / time)
    }

    /// The losses; `None` before the first.
    pub(super) fn losses(&self) -> Option<Losses> {
        let latest = *self.events.front()?;
        // The open interval has length zero, so that it is not included.
        let mut lengths = [0.0; HISTORY + 1];
        let mut count = 1;
        let mut end = latest;
        // The interval before the first event ends the list.
        for first in self.events.iter().skip(1).copied().chain(self.first) {
            lengths[count] = end.saturating_sub(first).max(1) as f64;
            count += 1;
            end = first;
        }
        let rate = loss_event_rate(&lengths[..count]);
        let since_last = self.greatest?.saturating_sub(latest).saturating_add(1) as f64;
        Some(Losses { average_interval: 1.0 / rate.as_f64(), since_last })
    }

    /// The round-trip time of the last report.
    pub(super) const fn rtt(&self) -> Duration {
        self.rtt
    }
}
