//! What a scenario says about links and about what happens to them.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::discipline::Discipline;
use super::freezing::{Command, FlowEnd, Scope};
use super::netem::Netem;
use super::networks::MeasuredNetwork;
use super::quantity::{Probability, QueueLimit, Rate, Time};
use super::radio::Radio;

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
    /// Where a link with one direction begins.
    #[serde(default)]
    pub from: Option<String>,
    /// Where a link with one direction ends.
    #[serde(default)]
    pub to: Option<String>,
    /// A measured network, whose rate, delay and queue hold where none are given.
    #[serde(default)]
    pub network: Option<MeasuredNetwork>,
    /// How fast packets leave. Either this, `trace` or `network`.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// A recorded rate instead of a constant one; with `between` it holds from the first node to the
    /// second, and `reverse` needs a rate or a trace of its own.
    #[serde(default)]
    pub trace: Option<RateTrace>,
    /// Propagation and processing: from the end of a packet's transmission to its arrival; none by default.
    #[serde(default)]
    pub delay: Option<Time>,
    /// The queue: what the link holds at most, with drop-tail the packet under transmission included; 100 packets by default.
    #[serde(default)]
    pub queue: Option<QueueLimit>,
    /// The queue's discipline; drop-tail by default.
    #[serde(default)]
    pub discipline: Option<Discipline>,
    /// With drop-tail: ECN-capable packets that find at least that many packets at the link are marked.
    #[serde(default)]
    pub mark_at: Option<u32>,
    /// What the medium destroys.
    #[serde(default)]
    pub loss: Loss,
    /// Of the packets that the medium destroys, the share that arrives all the same, with intact headers and damaged
    /// data; it concerns the direction of `loss`. A transport whose checksum covers the data loses them, too.
    #[serde(default)]
    pub damaged: Probability,
    /// Delay, jitter and reordering at the link's end, as NetEm has them; in the direction of `loss`.
    #[serde(default)]
    pub netem: Option<Netem>,
    /// What is different in the direction from the second node to the first.
    #[serde(default)]
    pub reverse: Option<Reverse>,
}

impl Link {
    /// The queue of a link that says nothing of it.
    pub const DEFAULT_QUEUE: QueueLimit = QueueLimit::Packets(100);
}

/// What is different in a link's second direction.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Reverse {
    /// How fast packets leave.
    pub rate: Option<Rate>,
    /// A recorded rate instead of a constant one.
    pub trace: Option<RateTrace>,
    /// Propagation and processing.
    pub delay: Option<Time>,
    /// The queue.
    pub queue: Option<QueueLimit>,
    /// The queue's discipline; that of the first direction by default.
    pub discipline: Option<Discipline>,
    /// The number of packets at the link from which packets are marked.
    pub mark_at: Option<u32>,
    /// What the medium destroys; nothing by default.
    pub loss: Loss,
    /// The share of it that arrives damaged.
    pub damaged: Probability,
    /// Delay, jitter and reordering at the link's end; nothing by default.
    pub netem: Option<Netem>,
}

/// A recorded rate.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateTrace {
    /// The file, relative to the scenario's.
    pub file: PathBuf,
    /// What the file's lines mean.
    pub format: TraceFormat,
    /// Whether the trace starts again at its end; else the last rate stays.
    #[serde(default = "yes")]
    pub repeat: bool,
}

fn yes() -> bool {
    true
}

/// The meaning of a trace file's lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceFormat {
    /// A line is a millisecond at which 1500 bytes may leave.
    Mahimahi,
    /// A line is a time in seconds and the rate in Mbit/s from then on.
    Rate,
}

/// A loss model: what the medium destroys of the packets that the link has transmitted.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "model")]
pub enum Loss {
    /// Nothing.
    #[default]
    None,
    /// Each packet alike, independently of the others.
    Bernoulli {
        /// How likely a packet is lost.
        rate: Probability,
    },
    /// A hidden good or bad state, which may change with every packet.
    GilbertElliott {
        /// The chance to turn from good to bad, per packet.
        good_to_bad: Probability,
        /// The chance to turn from bad to good, per packet.
        bad_to_good: Probability,
        /// How likely a packet is lost in the good state.
        #[serde(default)]
        loss_in_good: Probability,
        /// How likely a packet is lost in the bad state.
        #[serde(default = "certain")]
        loss_in_bad: Probability,
    },
    /// The same in time: each state lasts an exponentially distributed time, whether packets come or not.
    TimedGilbertElliott {
        /// The mean time in the good state.
        good: Time,
        /// The mean time in the bad state.
        bad: Time,
        /// How likely a packet is lost in the good state.
        #[serde(default)]
        loss_in_good: Probability,
        /// How likely a packet is lost in the bad state.
        #[serde(default = "certain")]
        loss_in_bad: Probability,
    },
    /// Runs of lost packets of a given length distribution, between geometric runs of delivered ones.
    RunLength {
        /// The share of packets lost in the long run.
        rate: Probability,
        /// How likely a run has 1, 2, 3, ... packets; the sum is 1.
        runs: Vec<Probability>,
    },
    /// A CDMA radio whose paths fade as those of a moving receiver do.
    Rayleigh(Radio),
    /// Exactly the packets of a list, counted from 0 in the order of transmission: either `packets` or `file`. A flow with
    /// more packets comes to the end of it sooner; losses in time are a `trace`.
    Mask {
        /// The packets to lose, in ascending order.
        #[serde(default)]
        packets: Option<Vec<u64>>,
        /// A text file of `0` (delivered) and `1` (lost), one per packet; white space is ignored. Relative to the
        /// scenario's file.
        #[serde(default)]
        file: Option<PathBuf>,
        /// With `packets`: how many packets the list is about, those that arrive included; all of them by default. A file
        /// is about as many as it has marks.
        #[serde(default)]
        length: Option<u64>,
        /// Whether the mask starts again at its end. Otherwise all later packets are delivered, and a note of the run says
        /// from when on.
        #[serde(default)]
        repeat: bool,
    },
    /// Losses at recorded times, however many packets there are.
    Trace {
        /// A text of comma-separated values, relative to the scenario's file: a column `time_s` of times, each of which takes
        /// the next packet, or columns `from_s` and `to_s` of intervals in which all packets are lost. Without a header, one
        /// or two numbers per line.
        file: PathBuf,
        /// The time that it is about; up to the last loss by default.
        #[serde(default)]
        length: Option<Time>,
        /// Whether it starts again after `length`. Otherwise nothing is lost any more, and a note of the run says from
        /// when on.
        #[serde(default)]
        repeat: bool,
    },
    /// The losses of a captured DCCP or RTP stream, in time: each missing packet stands for the time until the next one.
    Capture {
        /// A pcap or pcapng file, taken behind the losses; relative to the scenario's file.
        file: PathBuf,
        /// The port that the stream goes to; by default, the stream with the most packets is taken.
        #[serde(default)]
        port: Option<u16>,
        /// Whether it starts again at its end. Otherwise nothing is lost any more, and a note of the run says from when on.
        #[serde(default)]
        repeat: bool,
    },
}

fn certain() -> Probability {
    Probability(1.0)
}

/// Something that happens to a link at a given time, or that an end of a flow is told.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// When.
    pub time: Time,
    /// To which link.
    #[serde(default)]
    pub link: Option<String>,
    /// Which flow is told something: a DCCP flow.
    #[serde(default)]
    pub flow: Option<String>,
    /// What the flow is told.
    #[serde(default, rename = "do")]
    pub command: Option<Command>,
    /// Which of the flow's ends is told.
    #[serde(default)]
    pub at: FlowEnd,
    /// Whose data that is about.
    #[serde(default)]
    pub scope: Scope,
    /// In which of its directions.
    #[serde(default)]
    pub direction: Direction,
    /// The new rate.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// The new delay.
    #[serde(default)]
    pub delay: Option<Time>,
    /// What the medium destroys from now on.
    #[serde(default)]
    pub loss: Option<Loss>,
    /// Whether the link carries packets from now on.
    #[serde(default)]
    pub up: Option<bool>,
    /// What becomes of the packets of a link that goes down.
    #[serde(default)]
    pub when_down: WhenDown,
}

/// What a link that goes down does with its packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenDown {
    /// It keeps them, and takes more up to its queue's limit, until it is up again.
    Hold,
    /// What waits is lost, and so is what comes; what is under way arrives.
    #[default]
    DropQueue,
    /// Everything is lost.
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
