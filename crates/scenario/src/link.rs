//! Scenario keys of links and of events.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::controller::ControllerKeys;
use super::delay_variation::DelayVariation;
use super::discipline::Discipline;
use super::netem::Netem;
use super::networks::MeasuredNetwork;
use super::quantity::{Probability, QueueLimit, Rate, Time};
use super::radio::Radio;
use super::recorded_delay::{DelayTrace, TokenBucket};
use super::signals::{Command, FlowEnd, Scope};

/// A link between two nodes: both directions (`between`), or one (`from`, `to`).
///
/// With `between = ["a", "b"]` the rate, delay and queue hold in both directions, while `loss`
/// concerns packets from `a` to `b` only; `reverse` changes the direction from `b` to `a`.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The link's name; `"a-b"` by default. The direction from `b` to `a` is called `NAME:reverse`.
    #[serde(default)]
    pub name: Option<String>,
    /// Makes that many links of this one; `{i}` in its names stands for 0, 1, ...
    #[serde(default)]
    pub count: Option<u32>,
    /// The two ends of a link with two directions.
    #[serde(default)]
    pub between: Option<[String; 2]>,
    /// The first node of a link with one direction.
    #[serde(default)]
    pub from: Option<String>,
    /// The second node of a link with one direction.
    #[serde(default)]
    pub to: Option<String>,
    /// A measured network, whose rate, delay and queue are the defaults.
    #[serde(default)]
    pub network: Option<MeasuredNetwork>,
    /// Rate at which packets leave. Either this, `trace` or `network`.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// A recorded rate instead of a constant one; with `between` it holds from the first node to the
    /// second, and `reverse` needs a rate or a trace of its own.
    #[serde(default)]
    pub trace: Option<RateTrace>,
    /// A token bucket: bursts leave faster than `rate`; in both directions, unless `reverse` has a rate or a
    /// bucket of its own.
    #[serde(default)]
    pub token_bucket: Option<TokenBucket>,
    /// Propagation and processing: from the end of a packet's transmission to its arrival; none by default.
    #[serde(default)]
    pub delay: Option<Time>,
    /// A recorded delay instead of a constant one; with `between` it holds from the first node to the second.
    /// Not together with `netem` or `delay_variation`.
    #[serde(default)]
    pub delay_trace: Option<DelayTrace>,
    /// The queue limit; with drop-tail it includes the packet in transmission; 100 packets by default.
    #[serde(default)]
    pub queue: Option<QueueLimit>,
    /// The queue's discipline; drop-tail by default.
    #[serde(default)]
    pub discipline: Option<Discipline>,
    /// Explicit rate control; none by default. With `between`, each direction has a controller of its own.
    #[serde(default)]
    pub controller: Option<ControllerKeys>,
    /// With drop-tail: ECN-capable packets that find at least that many packets at the link are marked.
    #[serde(default)]
    pub mark_at: Option<u32>,
    /// Losses on the medium.
    #[serde(default)]
    pub loss: Loss,
    /// Of the packets that the medium destroys, the share that still arrives, with intact headers and damaged
    /// data; it concerns the direction of `loss`. A transport whose checksum covers the data loses them, too.
    #[serde(default)]
    pub damaged: Probability,
    /// Delay, jitter and reordering at the link's end, as NetEm has them; in the direction of `loss`.
    #[serde(default)]
    pub netem: Option<Netem>,
    /// Delay variation at the link's end without reordering within a flow (RFC 8868, Section 4.5.2); in the
    /// direction of `loss`. Not together with `netem`.
    #[serde(default)]
    pub delay_variation: Option<DelayVariation>,
    /// Different values for the direction from the second node to the first.
    #[serde(default)]
    pub reverse: Option<Reverse>,
}

impl Link {
    /// The default queue of a link.
    pub const DEFAULT_QUEUE: QueueLimit = QueueLimit::Packets(100);
}

/// Different values for the second direction of a link.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Reverse {
    /// Rate at which packets leave.
    pub rate: Option<Rate>,
    /// A recorded rate instead of a constant one.
    pub trace: Option<RateTrace>,
    /// A token bucket.
    pub token_bucket: Option<TokenBucket>,
    /// Propagation and processing; the least of the first direction's recorded delays where it has those.
    pub delay: Option<Time>,
    /// A recorded delay instead of a constant one.
    pub delay_trace: Option<DelayTrace>,
    /// The queue.
    pub queue: Option<QueueLimit>,
    /// The queue's discipline; by default, the first direction's.
    pub discipline: Option<Discipline>,
    /// Explicit rate control; by default, the first direction's.
    pub controller: Option<ControllerKeys>,
    /// The number of packets at the link from which packets are marked.
    pub mark_at: Option<u32>,
    /// Losses on the medium; none by default.
    pub loss: Loss,
    /// The share of it that arrives damaged.
    pub damaged: Probability,
    /// Delay, jitter and reordering at the link's end; nothing by default.
    pub netem: Option<Netem>,
    /// Delay variation at the link's end; nothing by default.
    pub delay_variation: Option<DelayVariation>,
}

/// A recorded rate.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateTrace {
    /// The file, relative to the scenario's.
    pub file: PathBuf,
    /// The format of the file.
    pub format: TraceFormat,
    /// If true, the trace repeats; otherwise the last rate stays.
    #[serde(default = "yes")]
    pub repeat: bool,
    /// The part of it that a run meets first.
    #[serde(default)]
    pub start: RecordingStart,
    /// With `mahimahi`: a recording of short trains after pauses, whose base delays and opportunities the
    /// first packets after a pause have; `file` holds for those behind them. A line per train: its time, its
    /// base delay and its opportunities, all in milliseconds.
    #[serde(default)]
    pub light: Option<PathBuf>,
    /// With `light`: a train starts if nothing has left for longer than this; as soon as the link is idle by
    /// default.
    #[serde(default)]
    pub idle: Option<Time>,
}

/// The part of a recording that a run meets first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecordingStart {
    /// Its beginning, in every run: seeds do not vary it.
    #[default]
    Beginning,
    /// A part that is drawn for each run from its seed; the recording repeats. The recordings of one link, in
    /// both directions and in its events, start at one time, as if they had been made together.
    Random,
}

fn yes() -> bool {
    true
}

/// The format of a trace file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceFormat {
    /// A line is a millisecond at which 1500 bytes may leave.
    Mahimahi,
    /// A line is a time in seconds and the rate in Mbit/s from then on; or comma-separated values with a
    /// header such as `time_s,rate_kbps`.
    Rate,
}

/// A loss model: the packets that the medium destroys of those that the link has transmitted.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "model")]
pub enum Loss {
    /// No losses.
    #[default]
    None,
    /// Each packet with the same probability, independently of the others.
    Bernoulli {
        /// The loss probability of a packet.
        rate: Probability,
        /// Correlation with the packet before, as in Linux's NetEm,
        /// `tc qdisc ... netem loss RATE CORRELATION`: the draws lean on each other and spread less, so that
        /// a small `rate` becomes smaller. Bursts of a given length are `gilbert-elliott`.
        #[serde(default)]
        correlation: Probability,
    },
    /// A hidden good or bad state, which may change with every packet.
    GilbertElliott {
        /// The probability of a transition from good to bad, per packet.
        good_to_bad: Probability,
        /// The probability of a transition from bad to good, per packet.
        bad_to_good: Probability,
        /// The loss probability of a packet in the good state.
        #[serde(default)]
        loss_in_good: Probability,
        /// The loss probability of a packet in the bad state.
        #[serde(default = "certain")]
        loss_in_bad: Probability,
    },
    /// The same in time: each state lasts an exponentially distributed time, independently of packets.
    TimedGilbertElliott {
        /// The mean time in the good state.
        good: Time,
        /// The mean time in the bad state.
        bad: Time,
        /// The loss probability of a packet in the good state.
        #[serde(default)]
        loss_in_good: Probability,
        /// The loss probability of a packet in the bad state.
        #[serde(default = "certain")]
        loss_in_bad: Probability,
    },
    /// The four-state chain of Linux's NetEm, `tc qdisc ... netem loss state P13 P31 P32 P23 P14`, with its
    /// defaults: gaps (state 1) with isolated losses (4), and bursts of losses (3) in which packets may be
    /// delivered (2).
    FourState {
        /// The probability that a gap turns into a burst, per packet.
        p13: Probability,
        /// The probability that a loss ends its burst; 1 - `p13` by default.
        #[serde(default)]
        p31: Option<Probability>,
        /// The probability that a loss of a burst is followed by a delivery within the burst.
        #[serde(default)]
        p32: Probability,
        /// The probability that a delivery within a burst is followed by a loss.
        #[serde(default = "certain")]
        p23: Probability,
        /// The probability of an isolated loss in a gap.
        #[serde(default)]
        p14: Probability,
    },
    /// Runs of lost packets of a given length distribution, between geometric runs of delivered ones.
    RunLength {
        /// The share of packets lost in the long run.
        rate: Probability,
        /// The probabilities of runs of 1, 2, 3, ... packets; the sum is 1.
        runs: Vec<Probability>,
    },
    /// A CDMA radio with the fading paths of a moving receiver.
    Rayleigh(Radio),
    /// Exactly the packets of a list, counted from 0 in the order of transmission: either `packets` or
    /// `file`. A flow with more packets reaches its end sooner; losses in time are a `trace`.
    Mask {
        /// The packets to lose, in ascending order.
        #[serde(default)]
        packets: Option<Vec<u64>>,
        /// A text file of `0` (delivered) and `1` (lost), one per packet; white space is ignored. Relative to
        /// the scenario's file.
        #[serde(default)]
        file: Option<PathBuf>,
        /// With `packets`: the number of packets that the list covers, including those that arrive; all by
        /// default. A file covers as many as it has marks.
        #[serde(default)]
        length: Option<u64>,
        /// If true, the mask repeats. Otherwise all later packets are delivered, and a note of the run gives
        /// the time of its end.
        #[serde(default)]
        repeat: bool,
        /// The packet of it that a run meets first.
        #[serde(default)]
        start: RecordingStart,
    },
    /// Losses at recorded times, however many packets there are.
    Trace {
        /// A text of comma-separated values, relative to the scenario's file: a column `time_s` of times,
        /// each of which takes the next packet, or columns `from_s` and `to_s` of intervals in which all
        /// packets are lost. Without a header, one or two numbers per line.
        file: PathBuf,
        /// The time that it covers; up to the last loss by default.
        #[serde(default)]
        length: Option<Time>,
        /// If true, it repeats after `length`. Otherwise there are no further losses, and a note of the run
        /// gives the time of its end.
        #[serde(default)]
        repeat: bool,
        /// The part of it that a run meets first.
        #[serde(default)]
        start: RecordingStart,
    },
    /// The losses of a captured DCCP or RTP stream, in time: each missing packet stands for the time until
    /// the next one.
    Capture {
        /// A pcap or pcapng file, captured downstream of the losses; relative to the scenario's file.
        file: PathBuf,
        /// The destination port of the stream; by default, the stream with the most packets is used.
        #[serde(default)]
        port: Option<u16>,
        /// If true, it repeats. Otherwise there are no further losses, and a note of the run gives the time
        /// of its end.
        #[serde(default)]
        repeat: bool,
        /// The part of it that a run meets first.
        #[serde(default)]
        start: RecordingStart,
    },
}

impl Loss {
    /// Start of a recording, and whether it repeats; `None` for other models.
    pub(crate) fn recording(&self) -> Option<(RecordingStart, bool)> {
        match self {
            Self::Mask { start, repeat, .. }
            | Self::Trace { start, repeat, .. }
            | Self::Capture { start, repeat, .. } => Some((*start, *repeat)),
            _ => None,
        }
    }
}

fn certain() -> Probability {
    Probability(1.0)
}

/// A change of a link at a given time, or a command for an end of a flow.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Time of the event.
    pub time: Time,
    /// The link.
    #[serde(default)]
    pub link: Option<String>,
    /// The flow that receives a command: a DCCP flow.
    #[serde(default)]
    pub flow: Option<String>,
    /// The command for the flow.
    #[serde(default, rename = "do")]
    pub command: Option<Command>,
    /// The end of the flow that receives it.
    #[serde(default)]
    pub at: FlowEnd,
    /// The half-connections concerned, by the sender of the data.
    #[serde(default)]
    pub scope: Scope,
    /// The directions of the link.
    #[serde(default)]
    pub direction: Direction,
    /// The new rate.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// The new delay.
    #[serde(default)]
    pub delay: Option<Time>,
    /// Losses on the medium from now on.
    #[serde(default)]
    pub loss: Option<Loss>,
    /// If true, the link goes up; if false, down.
    #[serde(default)]
    pub up: Option<bool>,
    /// Handling of the packets of a link that goes down.
    #[serde(default)]
    pub when_down: WhenDown,
}

/// Handling of the packets of a link that goes down.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenDown {
    /// Packets are kept, and more are queued up to the queue's limit, until the link is up again.
    Hold,
    /// Queued and new packets are lost; those in transit arrive.
    #[default]
    DropQueue,
    /// All packets are lost.
    DropAll,
}

/// A direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Both.
    #[default]
    Both,
    /// From the first node to the second.
    Forward,
    /// From the second node to the first.
    Reverse,
}
