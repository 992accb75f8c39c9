//! What a scenario says about flows: who sends what to whom, over which transport.

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
    /// What carries the data.
    pub transport: Transport,
    /// The size of a full packet on the link, with all headers. Either this or `payload`; with
    /// neither, 1500 B. Datagrams of a video or a trace have their own sizes.
    #[serde(default)]
    pub packet_size: Option<Size>,
    /// Application data in a full packet, without any header.
    #[serde(default)]
    pub payload: Option<Size>,
    /// What the application sends.
    #[serde(default)]
    pub traffic: Traffic,
    /// When the flow starts.
    #[serde(default)]
    pub start: Time,
    /// A random delay of the start, uniform between zero and this.
    #[serde(default)]
    pub start_jitter: Time,
    /// When the application stops sending; the end of the simulation by default.
    #[serde(default)]
    pub stop: Option<Time>,
    /// The link whose departures count as this flow's throughput; by default the slowest link on its way.
    #[serde(default)]
    pub bottleneck: Option<String>,
    /// Whether the flow belongs to the scenery (a warm-up, cross traffic) rather than to what is
    /// compared: it is recorded like any other, and marked.
    #[serde(default)]
    pub background: bool,
    /// DCCP only: the congestion control of the data, by its number: 2 (TCP-like), 3 (TFRC), 4 (TFRC for small
    /// packets), or 250, an experiment: TFRC that does not slow down for packets named as corrupt.
    #[serde(default)]
    pub ccid: Option<u8>,
    /// DCCP only: how the receiver tells wireless from congestion losses.
    #[serde(default)]
    pub classifier: Option<Classifier>,
    /// DCCP only: details.
    #[serde(default)]
    pub dccp: Option<Dccp>,
    /// TCP only: details.
    #[serde(default)]
    pub tcp: Option<Tcp>,
}

/// What carries a flow's data.
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
    /// As a scenario writes it.
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
    /// Whether packets are ECN-capable.
    pub ecn: bool,
    /// Whether packets travel in UDP datagrams (RFC 6773), which costs 8 bytes more each.
    pub udp_encapsulation: bool,
    /// Bytes of the network header; 20 for IPv4 without options.
    pub network_header: u32,
    /// The initial Sequence Window in packets (RFC 4340, Section 7.5.2).
    pub sequence_window: u64,
    /// Datagrams that the send queue holds at most; a full queue forgets the oldest.
    pub send_queue: u32,
    /// TFRC: reduce oscillations (RFC 5348, Section 4.5).
    pub oscillation_damping: bool,
    /// TFRC: after silence, go up faster to a rate that worked in the last two minutes
    /// (draft-ietf-dccp-tfrc-faster-restart-06, an experiment).
    pub faster_restart: bool,
    /// TFRC: t_RTO in the throughput equation is measured as TCP does, on a clock with this tick (ns-2: "100 ms"), rather than four
    /// round-trip times.
    pub timeout_tick: Option<Time>,
    /// How many parts per million the sender's clock is fast; negative: slow.
    pub clock_drift_ppm: f64,
    /// TFRC: whether a loss is taken back where the packet comes after all, as RFC 5348, Section 5.1, allows.
    pub forgive_late: bool,
    /// TFRC: whether a long lossless time takes weight from older loss intervals (RFC 5348, Section 5.5).
    pub history_discounting: bool,
    /// TFRC: whether the receiver reports when its feedback timer expires (RFC 5348, Section 6.2), and not only on data.
    pub feedback_timer: bool,
    /// TFRC: the least loss event rate that the throughput equation is asked for; 0 for no floor. ns-2's DCCP and Linux, which
    /// look the equation up in a table, have 1e-5.
    pub least_loss_event_rate: Probability,
    /// D_max: how long the receiver lets a packet that came too early wait for those before it, so that the application gets
    /// them in order, and TFRC takes none for lost that is only late. Without, it does not.
    pub reorder_delay: Option<Time>,
    /// Q, with `reorder_delay`: how many packets may wait.
    pub reorder_size: ReorderSize,
    /// With `reorder_delay`: whether D_max follows the lateness that the receiver measures, up to that delay.
    pub reorder_adapts: bool,
    /// With `reorder_delay`: what becomes of data that come later than that. What is discarded counts as lost.
    pub late: Late,
    /// TFRC: what makes a missing packet a lost one.
    pub loss_detection: LossDetection,
    /// How the ends come through a handover: that they can be frozen, and what follows. Without, they can be, but tell each
    /// other nothing of it.
    pub freeze: Option<Freeze>,
    /// With a classifier: whether a guard limits how far it is believed; off in papers' experiments.
    pub guard: bool,
    /// With a classifier that goes by trip times: whether the sender's clock is corrected where it seems to run at
    /// another rate. Simulated clocks do not; off in papers' experiments.
    pub clock_correction: bool,
    /// With a classifier: its parameters.
    pub classification: Classification,
    /// With a classifier: it is on trial. It judges as if packets with corrupt data had not arrived, and nobody acts on
    /// its verdicts.
    pub trial: bool,
    /// How much of the data the packet's checksum covers (RFC 4340, Section 9.2): 0 is all, 1 nothing, 2 to 15 the first
    /// 4 to 56 bytes. With less than all, packets whose data a link has `damaged` arrive. Both ends agree.
    pub checksum_coverage: u8,
    /// Whether data have a checksum of their own, an option of 8 bytes within `packet_size` (RFC 4340, Section 9.3). The
    /// receiver then names corrupt packets to the sender.
    pub data_checksum: bool,
    /// Whether data known to be corrupt are delivered (Drop Code 7) rather than dropped (Drop Code 3).
    pub deliver_corrupt: bool,
    /// TFRC: tell the receiver the sender's round-trip time (RFC 6323), in an option of data packets
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

/// What an application sends.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub enum Traffic {
    /// Always more data, as fast as the transport lets it.
    #[default]
    Bulk,
    /// A packet at every interval.
    Cbr {
        /// Data on the link per second, headers included.
        rate: Rate,
    },
    /// Bursts of packets at a constant rate, with pauses; both last exponentially distributed times.
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
        /// A datagram older than that is not sent any more: the receiver would play it too late.
        #[serde(default)]
        playout: Option<Time>,
        /// Whether the video starts again at its end.
        #[serde(default)]
        repeat: bool,
    },
    /// Datagrams of recorded sizes at recorded times.
    Trace {
        /// A CSV file with the header `time_s,size_bytes`, relative to the scenario's.
        file: PathBuf,
        /// A datagram older than that is not sent any more.
        #[serde(default)]
        playout: Option<Time>,
        /// Whether the trace starts again at its end.
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
    /// Whose behaviour.
    pub preset: TcpPreset,
    /// How losses are recovered; `sack` by default.
    pub variant: TcpVariant,
    /// The most segments outstanding, whatever the receiver offers; in ns-2 also the initial threshold.
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
    /// packet takes at the bottleneck breaks the lockstep in which acknowledgements otherwise find the one
    /// free place of a full DropTail queue, at the cost of whoever does not send on acknowledgements.
    pub jitter: Option<Time>,
}

/// A set of TCP parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TcpPreset {
    /// The protocol of the RFCs.
    #[default]
    Rfc,
    /// What ns-2.35 simulates when nothing is changed in its scripts.
    Ns2,
}

/// How TCP recovers what was lost.
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
    /// As a scenario writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tahoe => "tahoe",
            Self::Reno => "reno",
            Self::NewReno => "new-reno",
            Self::Sack => "sack",
        }
    }
}
