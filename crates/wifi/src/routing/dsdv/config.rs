//! Timing of DSDV.

use whimbrel_units::Duration;

use crate::routing::BufferConfig;

/// Timing and rules of a [`Dsdv`](super::Dsdv) agent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DsdvConfig {
    /// The longest interval between full updates.
    pub period: Duration,
    /// Intervals are uniform between `period` times 1 minus this fraction, and `period`.
    pub period_spread: f64,
    /// The first full update is sent after a uniform time up to this.
    pub startup_jitter: Duration,
    /// Every update is sent after a uniform time up to this.
    pub send_jitter: Duration,
    /// The settling time of a new destination. A change of a route is advertised after
    /// [`settling_factor`](Self::settling_factor) times the settling time of its destination.
    pub initial_settling_time: Duration,
    /// Weight of the old settling time in the running average.
    pub settling_weight: f64,
    /// Number of settling times that a change waits for.
    pub settling_factor: f64,
    /// `true` if destinations that were unknown, and routes with a fresh sequence number, wait for the
    /// settling time as well; otherwise only routes whose metric grew do, as a shorter one may still come.
    pub settles_all: bool,
    /// `true` if a broken route that a neighbour advertises triggers an update.
    pub triggers_on_broken: bool,
    /// The shortest interval from an update to a triggered one.
    pub trigger_interval: Duration,
    /// `true` if a node that is reported as unreachable sends its correction, a full update, without regard
    /// to that interval.
    pub corrects_at_once: bool,
    /// A neighbour is lost after this number of periods of silence.
    pub neighbour_periods: u64,
    /// `true` if a neighbour is lost as well when the link layer gives up a packet to it. The packet, and
    /// those queued for the neighbour, then wait for a new route.
    pub link_layer_feedback: bool,
    /// The greatest number of entries of one message; longer updates are split.
    pub entries_per_packet: usize,
    /// Bounds of the packets that wait for a route.
    pub buffer: BufferConfig,
}

impl DsdvConfig {
    /// The rules of ns-2.35 (`dsdv.cc`): full updates every 15 s * (0.75 + U(0, 0.25)), starting within 2 s,
    /// each with up to 10 ms of jitter; settling times of 6 s at first, with weight 0.875; every change waits
    /// for two of them; triggered updates at most once per second, none for a fresh sequence number; a
    /// neighbour is lost after 45 s of silence and never by the link layer's report; 5 packets per
    /// destination wait without a time limit.
    ///
    /// A new destination spreads by one hop per 12 s; a broken link is noticed after up to 45 s.
    pub const NS2: Self = Self {
        period: Duration::from_secs(15),
        period_spread: 0.25,
        startup_jitter: Duration::from_secs(2),
        send_jitter: Duration::from_millis(10),
        initial_settling_time: Duration::from_secs(6),
        settling_weight: 0.875,
        settling_factor: 2.0,
        settles_all: true,
        triggers_on_broken: false,
        trigger_interval: Duration::from_secs(1),
        corrects_at_once: true,
        neighbour_periods: 3,
        link_layer_feedback: false,
        entries_per_packet: usize::MAX,
        buffer: BufferConfig { per_destination: 5, total: usize::MAX, lifetime: Duration::MAX },
    };
}

impl Default for DsdvConfig {
    /// The rules of the paper with the link layer's reports: new and broken routes are advertised at once (at
    /// most once per second), only routes that grew wait for the settling time; a link is lost when the link
    /// layer gives up a packet.
    fn default() -> Self {
        Self {
            initial_settling_time: Duration::from_secs(1),
            settles_all: false,
            triggers_on_broken: true,
            corrects_at_once: false,
            link_layer_feedback: true,
            // 20 bytes of header and 12 bytes per entry: within 1500 bytes.
            entries_per_packet: 120,
            buffer: BufferConfig { per_destination: 5, total: 500, lifetime: Duration::from_secs(30) },
            ..Self::NS2
        }
    }
}
