//! Scenario keys of flows: their ends, their traffic and their transport.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Classifier;
use super::classification::Classification;
use super::freezing::Freeze;
use super::quantity::{Probability, Rate, Size, Time};
use super::reordering::{Late, LossDetection, ReorderSize};

/// Data that one node sends to another.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// The flow's name.
    pub name: String,
    /// Makes that many flows of this one; `{i}` in its names stands for 0, 1, ...
    #[serde(default)]
    pub count: Option<u32>,
    /// The node that sends the data.
    pub from: String,
    /// The node that receives the data.
    pub to: String,
    /// The transport of the data.
    pub transport: Transport,
    /// The size of a full packet on the link, with all headers. Either this or `payload`; with
    /// neither, 1500 B. Datagrams of a video or a trace have their own sizes.
    #[serde(default)]
    pub packet_size: Option<Size>,
    /// Application data in a full packet, without any header.
    #[serde(default)]
    pub payload: Option<Size>,
    /// The traffic of the application.
    #[serde(default)]
    pub traffic: Traffic,
    /// Start time of the flow.
    #[serde(default)]
    pub start: Time,
    /// A random delay of the start, uniform between zero and this.
    #[serde(default)]
    pub start_jitter: Time,
    /// Time at which the application stops sending; the end of the simulation by default.
    #[serde(default)]
    pub stop: Option<Time>,
    /// The link whose departures count as this flow's throughput; by default the slowest link of its path.
    #[serde(default)]
    pub bottleneck: Option<String>,
    /// If true, the flow is background (a warm-up, cross traffic) rather than under study: it is recorded like
    /// any other, and marked.
    #[serde(default)]
    pub background: bool,
    /// DCCP only: the congestion control of the data, by its number: 2 (TCP-like), 3 (TFRC), 4 (TFRC for small
    /// packets), or 250, an experiment: TFRC that does not slow down for packets reported as corrupt.
    #[serde(default)]
    pub ccid: Option<u8>,
    /// DCCP only: the scheme by which the receiver distinguishes wireless from congestion losses.
    #[serde(default)]
    pub classifier: Option<Classifier>,
    /// DCCP only: details.
    #[serde(default)]
    pub dccp: Option<Dccp>,
    /// TCP only: details.
    #[serde(default)]
    pub tcp: Option<Tcp>,
}

/// The transport of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// DCCP: the protocol code of the real transport.
    Dccp,
    /// A simulated TCP.
    Tcp,
    /// Bare datagrams without congestion control.
    Udp,
}

impl Transport {
    /// The name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dccp => "dccp",
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

/// Details of DCCP.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dccp {
    /// If true, packets are ECN-capable.
    pub ecn: bool,
    /// If true, packets travel in UDP datagrams (RFC 6773), which adds 8 bytes to each.
    pub udp_encapsulation: bool,
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
    /// TFRC: t_RTO in the throughput equation is measured as TCP does, on a clock with this tick (ns-2: "100 ms"), rather than four
    /// round-trip times.
    pub timeout_tick: Option<Time>,
    /// Rate error of the sender's clock in parts per million; positive: fast.
    pub clock_drift_ppm: f64,
    /// TFRC: if true, a loss is withdrawn when the packet arrives after all, as RFC 5348, Section 5.1, allows.
    pub forgive_late: bool,
    /// TFRC: if true, a long lossless time reduces the weight of older loss intervals (RFC 5348, Section 5.5).
    pub history_discounting: bool,
    /// TFRC: if true, the receiver reports when its feedback timer expires (RFC 5348, Section 6.2), and not only on data.
    pub feedback_timer: bool,
    /// TFRC: the least loss event rate used in the throughput equation; 0 for no floor. ns-2's DCCP and Linux, which
    /// look the equation up in a table, have 1e-5.
    pub least_loss_event_rate: Probability,
    /// D_max: the longest time for which the receiver holds a packet that arrived before earlier ones, so that delivery is in
    /// order, and TFRC does not count late packets as lost. No reorder buffer by default.
    pub reorder_delay: Option<Time>,
    /// Q, with `reorder_delay`: the number of packets that the reorder buffer holds.
    pub reorder_size: ReorderSize,
    /// With `reorder_delay`: if true, D_max follows the lateness that the receiver measures, up to that delay.
    pub reorder_adapts: bool,
    /// With `reorder_delay`: handling of data that arrive later than that. Discarded data count as lost.
    pub late: Late,
    /// TFRC: the condition under which a missing packet counts as lost.
    pub loss_detection: LossDetection,
    /// Freezing of the ends for handovers, and recovery from it. Without it they can be frozen, but do not signal it to
    /// each other.
    pub freeze: Option<Freeze>,
    /// With a classifier: if true, a guard limits the losses that it may classify as wireless; off in papers' experiments.
    pub guard: bool,
    /// With a classifier that uses trip times: if true, the rate of the sender's clock is estimated and corrected.
    /// Simulated clocks run at equal rates; off in papers' experiments.
    pub clock_correction: bool,
    /// With a classifier: its parameters.
    pub classification: Classification,
    /// With a classifier: it is on trial. It classifies as if packets with corrupt data had not arrived, and its verdicts
    /// have no effect.
    pub trial: bool,
    /// Checksum coverage of the data (RFC 4340, Section 9.2): 0 is all, 1 nothing, 2 to 15 the first
    /// 4 to 56 bytes. With less than all, packets whose data a link has `damaged` arrive. Both ends agree.
    pub checksum_coverage: u8,
    /// If true, data have a checksum of their own, an option of 8 bytes within `packet_size` (RFC 4340, Section 9.3). The
    /// receiver then reports corrupt packets to the sender.
    pub data_checksum: bool,
    /// If true, data known to be corrupt are delivered (Drop Code 7) rather than dropped (Drop Code 3).
    pub deliver_corrupt: bool,
    /// TFRC: signal the sender's round-trip time to the receiver (RFC 6323), in an option of data packets
    /// that then exceed `packet_size` by 8 bytes.
    pub rtt_estimate: bool,
}

impl Default for Dccp {
    fn default() -> Self {
        Self {
            ecn: true,
            udp_encapsulation: false,
            network_header: 20,
            sequence_window: 100,
            send_queue: 64,
            oscillation_damping: false,
            faster_restart: false,
            timeout_tick: None,
            clock_drift_ppm: 0.0,
            forgive_late: true,
            history_discounting: true,
            feedback_timer: true,
            least_loss_event_rate: Probability(0.0),
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

/// The traffic of an application.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub enum Traffic {
    /// Unlimited data, as fast as the transport accepts it.
    #[default]
    Bulk,
    /// A packet at every interval.
    Cbr {
        /// Data on the link per second, headers included.
        rate: Rate,
    },
    /// Bursts of packets at a constant rate, with pauses; the durations of both are exponentially distributed.
    OnOff {
        /// Data on the link per second during a burst, headers included.
        rate: Rate,
        /// The mean length of a burst.
        #[serde(default = "half_a_second")]
        burst: Time,
        /// The mean length of a pause.
        #[serde(default = "half_a_second")]
        idle: Time,
    },
    /// The datagrams of an encoded video, at the times the encoder made them.
    Video {
        /// A CSV file with the header `time_s,size_bytes,frame,type`, relative to the scenario's.
        schedule: PathBuf,
        /// The maximum age of a datagram: older ones are not sent, as they would miss their playout time.
        #[serde(default)]
        playout: Option<Time>,
        /// If true, the video repeats.
        #[serde(default)]
        repeat: bool,
    },
    /// Datagrams of recorded sizes at recorded times.
    Trace {
        /// A CSV file with the header `time_s,size_bytes`, relative to the scenario's.
        file: PathBuf,
        /// The maximum age of a datagram: older ones are not sent.
        #[serde(default)]
        playout: Option<Time>,
        /// If true, the trace repeats.
        #[serde(default)]
        repeat: bool,
    },
}

fn half_a_second() -> Time {
    Time(whimbrel_units::Duration::from_millis(500))
}

/// Details of the simulated TCP. A preset and a variant give all values; keys given besides change single ones.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tcp {
    /// The implementation to follow.
    pub preset: TcpPreset,
    /// Loss recovery; `sack` by default.
    pub variant: TcpVariant,
    /// The most segments outstanding, whatever the receiver's window; in ns-2 also the initial threshold.
    pub window_limit: Option<f64>,
    /// The first window in segments.
    pub initial_window: Option<u32>,
    /// Open with a SYN.
    pub handshake: Option<bool>,
    /// Use ECN (RFC 3168).
    pub ecn: Option<bool>,
    /// Use timestamps (RFC 7323).
    pub timestamps: Option<bool>,
    /// Acknowledge every second segment (RFC 5681, Section 4.2).
    pub delayed_acks: Option<bool>,
    /// The least retransmission timeout.
    pub min_rto: Option<Time>,
    /// The grain of the clock that measures round-trip times.
    pub clock_tick: Option<Time>,
    /// Send at a random moment within this time of being allowed to (ns-2's `overhead_`). The time that a
    /// packet takes at the bottleneck breaks the synchrony by which packets clocked by acknowledgements otherwise
    /// find the one free place of a full DropTail queue, at the cost of paced flows.
    pub jitter: Option<Time>,
}

/// A set of TCP parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TcpPreset {
    /// The protocol of the RFCs.
    #[default]
    Rfc,
    /// The defaults of ns-2.35.
    Ns2,
}

/// The loss recovery of TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TcpVariant {
    /// Fast retransmit, then slow start.
    Tahoe,
    /// RFC 5681.
    Reno,
    /// RFC 6582.
    NewReno,
    /// RFC 6675.
    #[default]
    Sack,
}

impl TcpVariant {
    /// The name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tahoe => "tahoe",
            Self::Reno => "reno",
            Self::NewReno => "new-reno",
            Self::Sack => "sack",
        }
    }
}
