//! rt-Winf with probe packets (paper `winf`, Section 3.2, equations 1 and 2), for networks without RTS and
//! CTS.

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::averaging::CapacityMean;
use super::busy_time::BusyTime;
use super::{Averaging, Estimate, FrameKind, Heard, StationState, state_of};

/// Parameters of rt-Winf with probe packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ProbeWinfConfig {
    /// Highest rate of the PHY: no capacity is above it.
    pub nominal: DataRate,
    /// Maximum time between the ends of a data frame and of its ACK.
    pub ack_timeout: Duration,
    /// Time without frames that counts as absence of traffic.
    pub quiet: Duration,
    /// Average of the capacity.
    pub averaging: Averaging,
    /// Period of the busy time; `None` since the start.
    pub period: Option<Duration>,
}

impl ProbeWinfConfig {
    /// 802.11b: 11 Mbit/s, and SIFS, an ACK of 304 us at 1 Mbit/s and a slot to wait for it. The paper does
    /// not define the absence of traffic: 100 ms without a frame, a beacon interval.
    pub fn hr_dsss() -> Self {
        Self {
            nominal: DataRate::from_megabits_per_second(11.0),
            ack_timeout: Duration::from_micros(10 + 304 + 20),
            quiet: Duration::from_millis(100),
            averaging: Averaging::default(),
            period: None,
        }
    }
}

/// A data frame that has not been acknowledged.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Transfer {
    state: StationState,
    start: Instant,
    end: Instant,
    size: ByteCount,
}

/// rt-Winf with probe packets.
///
/// C = size / (ACK time - DATA time) (equation 1). The DATA time is the *beginning* of the frame: from its
/// end, 1500 bytes at 11 Mbit/s would take 314 us and the capacity be 38 Mbit/s. AB = C (1 - sum of transfer
/// times / total elapsed time): equation 2 prints the parentheses around the quotient, which subtracts a rate
/// from 1.
///
/// NAVs are not used. Probes of the reserved subtype give the first estimate; data frames and their ACKs the
/// following ones.
#[derive(Clone, Debug)]
pub struct ProbeWinf {
    config: ProbeWinfConfig,
    busy: BusyTime,
    /// By state, as in Figure 1: an acknowledgement of TCP that a sender receives does not replace its own
    /// capacity.
    onlooker: CapacityMean,
    sender: CapacityMean,
    receiver: CapacityMean,
    transfer: Option<Transfer>,
    /// End of the last frame.
    last_frame: Option<Instant>,
    received: Option<Estimate>,
}

impl ProbeWinf {
    /// Frame Control of a probe: type data (10), subtype reserved (1001).
    pub const PROBE_SUBTYPE: u8 = 0b1001;

    /// A station that begins to observe at `start`.
    pub fn new(config: ProbeWinfConfig, start: Instant) -> Self {
        Self {
            config,
            busy: BusyTime::new(start, config.period),
            onlooker: CapacityMean::default(),
            sender: CapacityMean::default(),
            receiver: CapacityMean::default(),
            transfer: None,
            last_frame: None,
            received: None,
        }
    }

    /// `true` if a station that is about to start a transmission sends a probe first: in absence of traffic
    /// only, else the existing traffic gives the estimate.
    pub fn should_probe(&self, now: Instant) -> bool {
        self.last_frame.is_none_or(|last| now.saturating_since(last) >= self.config.quiet)
    }

    /// Extends the total elapsed time to `now`: the available bandwidth of an idle medium increases.
    pub fn on_time(&mut self, now: Instant) {
        self.busy.extend(now);
    }

    /// The parameters.
    pub fn config(&self) -> &ProbeWinfConfig {
        &self.config
    }

    /// Processes a frame.
    pub fn on_heard(&mut self, heard: &Heard) {
        self.last_frame = self.last_frame.max(Some(heard.at));
        match heard.kind {
            FrameKind::Rts | FrameKind::Cts => self.transfer = None,
            FrameKind::Data | FrameKind::Probe => {
                let start = heard.at.saturating_sub(heard.airtime);
                let state = state_of(heard, true);
                self.transfer = Some(Transfer { state, start, end: heard.at, size: heard.size });
            }
            FrameKind::Ack => self.on_ack(heard),
        }
    }

    fn on_ack(&mut self, heard: &Heard) {
        let state = state_of(heard, false);
        if state == StationState::Sender {
            self.received = heard.estimate;
        }
        let is_acknowledged = |transfer: &Transfer| {
            transfer.state == state
                && heard.at >= transfer.end
                && heard.at - transfer.end <= self.config.ack_timeout
        };
        let Some(transfer) = self.transfer.take().filter(is_acknowledged) else { return };
        let time = heard.at - transfer.start;
        let capacity = match state {
            StationState::Onlooker => &mut self.onlooker,
            StationState::Sender => &mut self.sender,
            StationState::Receiver => &mut self.receiver,
        };
        capacity.on_exchange(transfer.size, time, self.config.averaging);
        self.busy.add(time, heard.at);
    }

    /// The estimate in `state`, with the capacity of another state until there is an own one; `None` without
    /// a transfer. As a sender, at most the receiver's in the last ACK.
    pub fn estimate(&self, state: StationState) -> Option<Estimate> {
        let own = match state {
            StationState::Onlooker => self.onlooker,
            StationState::Sender => self.sender,
            StationState::Receiver => self.receiver,
        };
        let capacities = [own, self.onlooker, self.sender, self.receiver];
        let capacity = capacities.iter().find_map(|capacity| capacity.rate(self.config.nominal))?;
        let own = Estimate { capacity, available: capacity * self.busy.idle_share() };
        let received = self.received.filter(|_| state == StationState::Sender);
        Some(received.map_or(own, |received| own.min(received)))
    }
}
