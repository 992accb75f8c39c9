//! Flows made ready to run.

use std::path::Path;

use whimbrel_units::{ByteCount, Duration, Instant};

use super::reach::Reach;
use super::{Names, Note, copies, fill, groups, pairs, quoted};
use crate::Scenario;
use crate::error::ScenarioError;
use crate::files::Files;
use crate::flow::{Dscp, Flow, Traffic};
use crate::plan::LinkPlan;
use crate::quantity::{Rate, Size, Time, Variation};
use crate::schedule::{Schedule, ScheduleError};
use crate::transport::{self, TransportPlan, Transports};

/// A flow, made ready to run.
#[derive(Clone, Debug)]
pub struct FlowPlan<P> {
    /// Its name.
    pub name: String,
    /// The position of the node that sends the data.
    pub from: usize,
    /// The position of the node that receives the data.
    pub to: usize,
    /// The transport of the data.
    pub transport: P,
    /// Application data in a full packet, in bytes.
    pub payload: u32,
    /// The size of a full packet on the link, in bytes.
    pub packet_size: u32,
    /// Bytes of headers in it.
    pub headers: u32,
    /// The traffic of the application.
    pub traffic: TrafficPlan,
    /// Start time of the flow, and the bound of the random delay after it.
    pub start: (Instant, Duration),
    /// Stop time of the application.
    pub stop: Instant,
    /// The links from the sender to the receiver, by position. Hops over a medium are left out.
    pub path: Vec<usize>,
    /// `true` if all hops are links.
    pub is_wired: bool,
    /// Position of the bottleneck on `path`; `None` for a medium.
    pub bottleneck: Option<usize>,
    /// The differentiated services code point of its packets.
    pub dscp: u8,
    /// `true` if it is background traffic.
    pub background: bool,
}

/// The traffic of an application.
#[derive(Clone, PartialEq, Debug)]
pub enum TrafficPlan {
    /// Unlimited data.
    Bulk,
    /// A number of bytes, all of them at once.
    Transfer {
        /// Bytes of application data.
        bytes: u32,
    },
    /// Transfers of random sizes at random times.
    Downloads {
        /// The smallest size in bytes.
        least: u32,
        /// The largest size in bytes.
        most: u32,
        /// The mean time from start to start.
        idle: Duration,
        /// `true` if such a time precedes the first.
        begins_idle: bool,
    },
    /// Pairs of packets.
    ProbePairs {
        /// The time between pairs.
        interval: Duration,
    },
    /// No data: a constant rate of 0.
    Silence,
    /// A packet at every interval.
    Cbr {
        /// The time between packets.
        interval: Duration,
        /// The most by which it varies.
        jitter: Duration,
    },
    /// Packets at exponentially distributed intervals.
    Poisson {
        /// The mean time between packets.
        interval: Duration,
    },
    /// Bursts and pauses.
    OnOff {
        /// The time between the packets of a burst.
        interval: Duration,
        /// The mean length of a burst.
        burst: Duration,
        /// The mean length of a pause.
        idle: Duration,
    },
    /// A recorded schedule.
    Playback {
        /// Its datagrams.
        schedule: Schedule,
        /// The maximum age of a datagram.
        playout: Option<Duration>,
        /// `true` if it repeats.
        repeat: bool,
    },
}

/// The default size of a full packet.
const DEFAULT_PACKET: u32 = 1_500;
/// The largest application data unit: what UDP can carry over IPv4.
const MAX_PAYLOAD: u64 = 65_507;

pub(super) fn plan<T: Transports>(
    transports: &T,
    scenario: &Scenario,
    nodes: &Names,
    links: &[LinkPlan],
    reach: &Reach<'_>,
    files: &Files,
    notes: &mut Vec<Note>,
) -> Result<Vec<FlowPlan<T::Plan>>, ScenarioError> {
    let mut names = Names { list: Vec::new(), index: std::collections::BTreeMap::new() };
    let mut plans = Vec::new();
    for (position, flow) in scenario.flow.iter().enumerate() {
        let key = format!("flow[{position}]");
        let mut transport = transport::plan(transports, &key, &flow.transport, &flow.settings)?;
        let headers = transport.headers();
        let traffic_key = format!("{key}.traffic");
        let (payload, packet_size) = sizes(&key, flow, headers)?;
        let traffic = match transport.joins() {
            Some(other) if flow.traffic != Traffic::Bulk => {
                let expected = format!("no such key: `{other}` sends");
                return Err(ScenarioError::invalid(traffic_key, "{...}", expected));
            }
            Some(_) => TrafficPlan::Silence,
            None => traffic(&traffic_key, flow, transport.has_feedback(), packet_size, files)?,
        };
        if matches!(traffic, TrafficPlan::Transfer { .. }) && transport.delivers_packets() {
            let name = flow.transport.to_uppercase();
            let expected = format!("another kind: {name} delivers packets, not a stream of bytes");
            return Err(ScenarioError::invalid(traffic_key, "\"transfer\"", expected));
        }
        if matches!(traffic, TrafficPlan::ProbePairs { .. }) && transport.has_feedback() {
            let expected = "another kind: pairs leave back to back over \"udp\" only";
            return Err(ScenarioError::invalid(traffic_key, "\"probe-pairs\"", expected));
        }
        let payload = match &traffic {
            TrafficPlan::Playback { schedule, .. } => schedule.largest(),
            _ => payload,
        };
        let packet_size = payload + headers;
        transport.fit(&key, payload, traffic == TrafficPlan::Bulk)?;
        if traffic == TrafficPlan::Silence && transport.joins().is_none() {
            notes.push(Note::of_plan(&format!("{traffic_key}.rate"), "a rate of 0: the flow sends nothing"));
        }
        let (start, stop) = times(&key, flow, scenario, notes)?;
        let ends = pairs::ends(scenario, &key, flow, nodes)?;
        let mut unreached = Vec::new();
        for (copy, (from, to)) in copies(flow.count).zip(ends) {
            let name = fill(&flow.name, copy);
            names.add(&format!("{key}.name"), name.clone(), flow.count)?;
            let to_name = &nodes.list[to];
            let to_key = if flow.pairs.is_some() { format!("{key}.pairs") } else { format!("{key}.to") };
            if from == to {
                return Err(ScenarioError::invalid(to_key, quoted(to_name), "another node"));
            }
            let (mut path, mut is_reached) = reach.path(&to_key, from, to)?;
            if transport.has_feedback() {
                is_reached &= reach.path(&to_key, to, from)?.1;
            }
            if !is_reached {
                unreached.push((from, to));
            }
            let hops = path.len();
            path.retain(|&hop| hop < links.len());
            let is_wired = path.len() == hops;
            let bottleneck = bottleneck(&key, flow, copy, &path, links, is_wired)?;
            plans.push(FlowPlan {
                name,
                from,
                to,
                transport: transport.clone(),
                payload,
                packet_size,
                headers,
                traffic: traffic.clone(),
                start: (start, flow.start_jitter.0),
                stop,
                path,
                is_wired,
                bottleneck,
                dscp: flow.dscp.as_ref().and_then(Dscp::value).unwrap_or_default(),
                background: flow.background,
            });
        }
        notes.extend(reach.note(&unreached));
    }
    groups::check(scenario, &plans, nodes)?;
    Ok(plans)
}

/// The payload and the size of a full packet.
fn sizes(key: &str, flow: &Flow, headers: u32) -> Result<(u32, u32), ScenarioError> {
    let (key, size, payload) = match (flow.packet_size, flow.payload) {
        (Some(_), Some(Size(payload))) => {
            let expected = "either `packet_size` (on the link) or `payload` (without headers)";
            return Err(ScenarioError::invalid(
                format!("{key}.payload"),
                quoted(&payload.to_string()),
                expected,
            ));
        }
        (None, Some(Size(payload))) => (format!("{key}.payload"), payload, payload.as_u64()),
        (Some(Size(size)), None) => {
            (format!("{key}.packet_size"), size, size.as_u64().saturating_sub(u64::from(headers)))
        }
        (None, None) => {
            let size = ByteCount::new(u64::from(DEFAULT_PACKET));
            (format!("{key}.packet_size"), size, u64::from(DEFAULT_PACKET.saturating_sub(headers)))
        }
    };
    if payload == 0 || payload > MAX_PAYLOAD {
        let expected =
            format!("a size that leaves 1 to {MAX_PAYLOAD} bytes of data beside {headers} bytes of headers");
        return Err(ScenarioError::invalid(key, quoted(&size.to_string()), expected));
    }
    Ok((payload as u32, payload as u32 + headers))
}

fn traffic(
    key: &str,
    flow: &Flow,
    has_feedback: bool,
    packet_size: u32,
    files: &Files,
) -> Result<TrafficPlan, ScenarioError> {
    let interval = |Rate(rate): Rate| {
        if rate.is_zero() {
            return Err(ScenarioError::invalid(format!("{key}.rate"), "\"0 bit/s\"", "a rate above zero"));
        }
        let interval = ByteCount::new(u64::from(packet_size)) / rate;
        if interval.is_zero() {
            let expected = "a rate that leaves a nanosecond between packets";
            return Err(ScenarioError::invalid(format!("{key}.rate"), quoted(&rate.to_string()), expected));
        }
        Ok(interval)
    };
    let playback = |name: &str, file: &Path, parse: fn(&str) -> Result<Schedule, ScheduleError>| {
        let key = format!("{key}.{name}");
        let text = files.read(&key, file)?;
        parse(&text).map_err(|error| {
            let file = quoted(&file.display().to_string());
            ScenarioError::invalid(key, file, format!("a schedule ({error})"))
        })
    };
    let plan = match &flow.traffic {
        Traffic::Bulk => TrafficPlan::Bulk,
        Traffic::Transfer { bytes: Size(bytes) } => match u32::try_from(bytes.as_u64()) {
            Ok(bytes) if bytes > 0 => TrafficPlan::Transfer { bytes },
            _ => {
                let expected = format!("1 to {} bytes", u32::MAX);
                return Err(ScenarioError::invalid(
                    format!("{key}.bytes"),
                    quoted(&bytes.to_string()),
                    expected,
                ));
            }
        },
        Traffic::Downloads { least, most, idle, begins_idle } => {
            let bytes = |size: &Size| u32::try_from(size.0.as_u64()).ok().filter(|bytes| *bytes > 0);
            match (bytes(least), bytes(most)) {
                (Some(least), Some(most)) if least <= most && !idle.0.is_zero() => {
                    TrafficPlan::Downloads { least, most, idle: idle.0, begins_idle: *begins_idle }
                }
                _ => {
                    let expected = "1 byte to 4 GB, `least` not above `most`, and an `idle` time above zero";
                    return Err(ScenarioError::invalid(key, "{...}", expected));
                }
            }
        }
        Traffic::ProbePairs { interval } if interval.0.is_zero() => {
            return Err(ScenarioError::invalid(format!("{key}.interval"), "\"0 s\"", "a time above zero"));
        }
        Traffic::ProbePairs { interval } => TrafficPlan::ProbePairs { interval: interval.0 },
        Traffic::Cbr { rate: Rate(rate), .. } | Traffic::Poisson { rate: Rate(rate) } if rate.is_zero() => {
            TrafficPlan::Silence
        }
        Traffic::Cbr { rate, jitter } => {
            let interval = interval(*rate)?;
            let jitter = match *jitter {
                None => Duration::ZERO,
                Some(Variation::Share(share)) => interval.mul_f64(share),
                Some(Variation::Time(time)) => time,
            };
            if jitter > interval {
                let expected = format!("at most the interval between packets, {interval}");
                return Err(ScenarioError::invalid(format!("{key}.jitter"), jitter, expected));
            }
            TrafficPlan::Cbr { interval, jitter }
        }
        Traffic::Poisson { rate } => TrafficPlan::Poisson { interval: interval(*rate)? },
        Traffic::OnOff { rate, burst, idle } => {
            TrafficPlan::OnOff { interval: interval(*rate)?, burst: burst.0, idle: idle.0 }
        }
        Traffic::Video { schedule, playout, repeat } => TrafficPlan::Playback {
            schedule: playback("schedule", schedule, Schedule::parse_video)?,
            playout: playout.map(|playout| playout.0),
            repeat: *repeat,
        },
        Traffic::Trace { file, playout, repeat } => TrafficPlan::Playback {
            schedule: playback("file", file, Schedule::parse_trace)?,
            playout: playout.map(|playout| playout.0),
            repeat: *repeat,
        },
    };
    if !has_feedback && plan == TrafficPlan::Bulk {
        let name = flow.transport.to_uppercase();
        let expected = format!("another kind: {name} has no congestion control to set the rate");
        return Err(ScenarioError::invalid(key, "\"bulk\"", expected));
    }
    Ok(plan)
}

fn times(
    key: &str,
    flow: &Flow,
    scenario: &Scenario,
    notes: &mut Vec<Note>,
) -> Result<(Instant, Instant), ScenarioError> {
    let end = scenario.simulation.duration;
    if flow.start.0 >= end.0 {
        let text = format!("the flow never starts: the simulation ends at {}", end.0);
        notes.push(Note::of_plan(&format!("{key}.start"), text));
    }
    let stop = flow.stop.unwrap_or(Time(end.0.max(flow.start.0 + Duration::from_nanos(1))));
    if stop.0 <= flow.start.0 {
        let expected = format!("a time after the flow's start at {}", flow.start.0);
        return Err(ScenarioError::invalid(format!("{key}.stop"), stop.0, expected));
    }
    Ok((flow.start.after_start(), stop.after_start()))
}

/// The position of the bottleneck on the path: the link named, or the slowest at the start. A path over a
/// medium has none unless it is named.
fn bottleneck(
    key: &str,
    flow: &Flow,
    copy: u32,
    path: &[usize],
    links: &[LinkPlan],
    is_wired: bool,
) -> Result<Option<usize>, ScenarioError> {
    if let Some(pattern) = &flow.bottleneck {
        let name = fill(pattern, copy);
        return path.iter().position(|&link| links[link].name == name).map(Some).ok_or_else(|| {
            let names: Vec<String> = path.iter().map(|&link| links[link].name.clone()).collect();
            let expected = format!("a link on the flow's path: {}", super::abridged(&names));
            ScenarioError::invalid(format!("{key}.bottleneck"), quoted(&name), expected)
        });
    }
    if !is_wired {
        return Ok(None);
    }
    let rate = |position: usize| {
        links[path[position]].mean_rate(Instant::ZERO, Instant::from_secs(60)).as_bits_per_second()
    };
    Ok((0..path.len()).min_by(|&a, &b| rate(a).total_cmp(&rate(b))))
}
