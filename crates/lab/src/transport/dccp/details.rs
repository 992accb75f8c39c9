//! Scenario keys of DCCP.

use schemars::JsonSchema;
use serde::Deserialize;
use whimbrel_control::window;
use whimbrel_scenario::quantity::{Probability, Time};

use super::classification::Classification;
use super::freezing::Freeze;
use super::reordering::{Late, LossDetection, ReorderSize};
use crate::transport::Encryption;

/// Details of DCCP.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Dccp")]
pub struct Details {
    /// If true, packets are ECN-capable.
    pub ecn: bool,
    /// If true, packets travel in UDP datagrams (RFC 6773), which adds 8 bytes to each.
    pub udp_encapsulation: bool,
    /// Encryption: `"none"` or `"dtls"` (DTLS 1.3, RFC 5238). Data then waits for a second handshake, and
    /// each record takes 22 bytes of `packet_size`. The records have the sockets' format; simulated ends have
    /// the same keys in each run.
    pub encryption: Encryption,
    /// Bytes of the network header; 20 for IPv4 without options.
    pub network_header: u32,
    /// The initial Sequence Window in packets (RFC 4340, Section 7.5.2).
    pub sequence_window: u64,
    /// The most datagrams in the send queue; a full queue drops the oldest.
    pub send_queue: u32,
    /// TFRC: reduce oscillations (RFC 5348, Section 4.5).
    pub oscillation_damping: bool,
    /// TFRC: after an idle period, increase faster to a rate that was achieved in the last two minutes
    /// (draft-ietf-dccp-tfrc-faster-restart-06, an experiment).
    pub faster_restart: bool,
    /// TFRC: t_RTO in the throughput equation is measured as TCP does, on a clock with this tick (ns-2: "100
    /// ms"), rather than four round-trip times.
    pub timeout_tick: Option<Time>,
    /// TFRC: if true, the rate is at most the capacity that rt-Winf estimates at the sender's 802.11 station.
    pub link_cap: bool,
    /// Rate error of the sender's clock in parts per million; positive: fast.
    pub clock_drift_ppm: f64,
    /// TFRC: if true, a loss is withdrawn when the packet arrives after all (RFC 5348, Section 5.1).
    pub forgive_late: bool,
    /// TFRC: if true, a long lossless time lowers the weight of older loss intervals (RFC 5348, Section 5.5).
    pub history_discounting: bool,
    /// TFRC: if true, the receiver reports when its feedback timer expires (RFC 5348, Section 6.2), and not
    /// only on data.
    pub feedback_timer: bool,
    /// TFRC: the least loss event rate used in the throughput equation; 0 for no floor. ns-2's DCCP and
    /// Linux, which look the equation up in a table, have 1e-5.
    pub least_loss_event_rate: Probability,
    /// TFRC: the standard of the initial window, which is the amount allowed in the first round-trip time:
    /// `"rfc6928"` or, as in RFC 5348 and ns-2's TFRC, `"rfc3390"`.
    pub initial_window: InitialWindow,
    /// D_max: the longest time for which the receiver holds a packet that arrived before earlier ones, so
    /// that delivery is in order, and TFRC does not count late packets as lost. No reorder buffer by default.
    pub reorder_delay: Option<Time>,
    /// Q, with `reorder_delay`: the number of packets that the reorder buffer holds.
    pub reorder_size: ReorderSize,
    /// With `reorder_delay`: if true, D_max follows the lateness at the receiver, up to that delay.
    pub reorder_adapts: bool,
    /// With `reorder_delay`: handling of data that arrives later than that. Discarded data counts as lost.
    pub late: Late,
    /// TFRC: the condition under which a missing packet counts as lost.
    pub loss_detection: LossDetection,
    /// Freezing of the ends for handovers, and recovery from it. Without it they can be frozen, but do not
    /// signal it to each other.
    pub freeze: Option<Freeze>,
    /// With a classifier: if true, a guard limits the losses that it may classify as wireless; off in papers'
    /// experiments.
    pub guard: bool,
    /// With a classifier that uses trip times: if true, the rate of the sender's clock is estimated and
    /// corrected. Simulated clocks run at equal rates; off in papers' experiments.
    pub clock_correction: bool,
    /// With a classifier: its parameters.
    pub classification: Classification,
    /// With a classifier: it is on trial. It classifies as if packets with corrupt data had not arrived, and
    /// its verdicts have no effect.
    pub trial: bool,
    /// Checksum coverage of the data (RFC 4340, Section 9.2): 0 is all, 1 nothing, 2 to 15 the first
    /// 4 to 56 bytes. With less than all, packets whose data a link has `damaged` arrive. Both ends agree.
    pub checksum_coverage: u8,
    /// If true, data has a checksum of its own, an option of 8 bytes within `packet_size` (RFC 4340,
    /// Section 9.3). The receiver then reports corrupt packets to the sender.
    pub data_checksum: bool,
    /// If true, data known to be corrupt is delivered (Drop Code 7) rather than dropped (Drop Code 3).
    pub deliver_corrupt: bool,
    /// TFRC: signal the sender's round-trip time to the receiver (RFC 6323), in an option of data packets
    /// that then exceed `packet_size` by 8 bytes.
    pub rtt_estimate: bool,
}

impl Default for Details {
    fn default() -> Self {
        Self {
            ecn: true,
            udp_encapsulation: false,
            encryption: Encryption::None,
            network_header: 20,
            sequence_window: 100,
            send_queue: 64,
            oscillation_damping: false,
            faster_restart: false,
            timeout_tick: None,
            link_cap: false,
            clock_drift_ppm: 0.0,
            forgive_late: true,
            history_discounting: true,
            feedback_timer: true,
            least_loss_event_rate: Probability(0.0),
            initial_window: InitialWindow::Rfc6928,
            reorder_delay: None,
            reorder_size: ReorderSize::default(),
            reorder_adapts: false,
            late: Late::Discard,
            loss_detection: LossDetection::Automatic,
            freeze: None,
            guard: true,
            clock_correction: true,
            classification: Classification::default(),
            trial: false,
            checksum_coverage: 0,
            data_checksum: false,
            deliver_corrupt: false,
            rtt_estimate: true,
        }
    }
}

/// The standard of TFRC's initial window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InitialWindow {
    /// Two to four segments.
    Rfc3390,
    /// Ten segments.
    Rfc6928,
}

impl From<InitialWindow> for window::InitialWindow {
    fn from(standard: InitialWindow) -> Self {
        match standard {
            InitialWindow::Rfc3390 => Self::Rfc3390,
            InitialWindow::Rfc6928 => Self::Rfc6928,
        }
    }
}
