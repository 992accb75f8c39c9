//! Scenario keys of flows: their ends, their traffic and their transport.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use whimbrel_units::ByteCount;

use super::quantity::{Rate, Size, Time, Variation};
use super::transport::Settings;

/// Data that one node sends to another.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// The flow's name.
    pub name: String,
    /// Makes that many flows of this one; `{i}` in its names stands for 0, 1, ...
    #[serde(default)]
    pub count: Option<u32>,
    /// The node that sends the data. Either `from` and `to`, or `pairs`.
    #[serde(default)]
    pub from: Option<String>,
    /// The node that receives the data.
    #[serde(default)]
    pub to: Option<String>,
    /// Random pairs of nodes: a different one for each copy of the flow.
    #[serde(default)]
    pub pairs: Option<Pairs>,
    /// The transport of the data.
    pub transport: String,
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
    /// The differentiated services code point of the flow's packets in both directions: a name, such as
    /// `"EF"`, `"AF41"` or `"CS1"`, or a number up to 63. It decides the access category on 802.11n, ac and
    /// ax, as in Linux; 0 by default.
    #[serde(default)]
    pub dscp: Option<Dscp>,
    /// If true, the flow is background (a warm-up, cross traffic) rather than under study: it is recorded
    /// like any other, and marked.
    #[serde(default)]
    pub background: bool,
    /// The keys of the transports, as they are written.
    #[serde(skip)]
    pub settings: Settings,
}

/// A differentiated services code point.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Dscp {
    /// Its value.
    Number(u8),
    /// Its name.
    Name(String),
}

impl Dscp {
    /// The value; `None` for a name or a number that does not exist.
    pub fn value(&self) -> Option<u8> {
        let name = match self {
            Self::Number(number) => return (*number < 64).then_some(*number),
            Self::Name(name) => name.to_ascii_uppercase(),
        };
        let digits = |prefix: &str| name.strip_prefix(prefix).map(str::as_bytes);
        match name.as_str() {
            "DF" | "BE" => return Some(0),
            "LE" => return Some(1),
            "VA" => return Some(44),
            "NQB" => return Some(45),
            "EF" => return Some(46),
            _ => {}
        }
        match (digits("CS"), digits("AF")) {
            (Some(&[class @ b'0'..=b'7']), _) => Some((class - b'0') << 3),
            (_, Some(&[class @ b'1'..=b'4', drop @ b'1'..=b'3'])) => {
                Some((class - b'0') << 3 | (drop - b'0') << 1)
            }
            _ => None,
        }
    }
}

impl core::fmt::Display for Dscp {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => write!(f, "{name:?}"),
        }
    }
}

/// Ordered pairs of nodes, drawn without repetition, as ns-2's `cbrgen` draws them.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pairs {
    /// The `name` of the entry of nodes, such as `n{i}`.
    pub of: String,
    /// Seed of the draws. The pairs are a part of the scenario: they are the same in all of its runs.
    #[serde(default)]
    pub seed: u64,
}

/// The traffic of an application.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub enum Traffic {
    /// Unlimited data, as fast as the transport accepts it.
    #[default]
    Bulk,
    /// A transfer of this many bytes over a reliable transport, as fast as it accepts them.
    Transfer {
        /// Application data without headers.
        bytes: Size,
    },
    /// Downloads of a random size over a reliable transport, as of a web browser. The times between their
    /// starts are exponentially distributed; a download that is not complete by then precedes the next one
    /// (RFC 8868, Section 5.1).
    Downloads {
        /// The smallest size.
        #[serde(default = "thirty_kilobytes")]
        least: Size,
        /// The largest size; sizes in between are equally probable.
        #[serde(default = "fifty_kilobytes")]
        most: Size,
        /// The mean time from a download's start to the next one's.
        #[serde(default = "ten_seconds")]
        idle: Time,
        /// If true, the first download begins after such a time, otherwise at once.
        #[serde(default)]
        begins_idle: bool,
    },
    /// Pairs of packets back to back, from which the receiver infers the capacity of the path (AdHoc Probe).
    /// Only over `udp`.
    ProbePairs {
        /// Time between pairs.
        #[serde(default = "fifty_milliseconds")]
        interval: Time,
    },
    /// A packet at every interval.
    Cbr {
        /// Data on the link per second, headers included.
        rate: Rate,
        /// The most by which an interval may be longer or shorter, drawn for each of them: a part of the
        /// interval or a time, at most the interval. None by default; `0.5` is ns-2's `random_`.
        #[serde(default)]
        jitter: Option<Variation>,
    },
    /// Packets at exponentially distributed intervals.
    Poisson {
        /// Mean of the data on the link per second, headers included.
        rate: Rate,
    },
    /// Bursts of packets at a constant rate, with pauses; the durations of both are exponentially
    /// distributed.
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

fn thirty_kilobytes() -> Size {
    Size(ByteCount::new(30_000))
}

fn fifty_kilobytes() -> Size {
    Size(ByteCount::new(50_000))
}

fn ten_seconds() -> Time {
    Time(whimbrel_units::Duration::from_secs(10))
}

fn fifty_milliseconds() -> Time {
    Time(whimbrel_units::Duration::from_millis(50))
}

fn half_a_second() -> Time {
    Time(whimbrel_units::Duration::from_millis(500))
}
