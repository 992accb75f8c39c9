//! Schedules from captures.

use std::collections::BTreeMap;
use std::io::Read;

use anyhow::{anyhow, bail};
use serde_json::json;
use whimbrel_inspect::capture::{CaptureError, CaptureReader};
use whimbrel_inspect::segment::Flow;
use whimbrel_inspect::{FollowConfig, Viewpoint, streams};
use whimbrel_units::{Duration, Instant};

use super::{Piece, Pieces, ScheduleArgs};
use crate::commands::capture_file::is_wanted;
use crate::print;

/// The flows of a capture, that with the most bytes first, and the error that ended it.
type Flows = (Vec<FlowDatagrams>, Option<CaptureError>);

/// A datagram: time since the first of its flow, and size in bytes.
type Datagram = (Duration, u32);
/// A flow and its datagrams in the order of their times.
type FlowDatagrams = (Flow, Vec<Datagram>);

/// Packets sent, including those that a capture of several points has lost on the way.
fn flows<R: Read>(args: &ScheduleArgs, mut reader: CaptureReader<R>) -> anyhow::Result<Flows> {
    let config = FollowConfig { viewpoint: Viewpoint::Sender, ..FollowConfig::default() };
    let found =
        streams::read(&mut reader, config, &args.udp_port, |record| is_wanted(record, &args.interface));
    if found.ignored > 0 {
        print::note(format_args!("the capture has too many flows: {} packets were left out", found.ignored));
    }
    let mut by_flow: BTreeMap<Flow, Vec<(Instant, u32)>> = BTreeMap::new();
    for stream in found.streams {
        // Datagrams between the same ports are one flow, regardless of their contents.
        let data = stream.packets.iter().filter(|packet| packet.bytes > 0 && !packet.is_repeated);
        by_flow.entry(stream.flow).or_default().extend(data.map(|packet| (packet.at, packet.bytes)));
    }
    let mut flows: Vec<FlowDatagrams> =
        by_flow.into_iter().map(|(flow, seen)| (flow, since_first(seen))).collect();
    flows.sort_by_key(|(_, datagrams)| std::cmp::Reverse(total(datagrams)));
    match found.error {
        Some(error) if flows.is_empty() => Err(error.into()),
        None if flows.is_empty() => {
            bail!("it contains no UDP datagrams, and no DCCP or TCP packets with data")
        }
        failure => Ok((flows, failure)),
    }
}

/// Times since the first, in their order: captures of several interfaces do not always have it.
fn since_first(mut seen: Vec<(Instant, u32)>) -> Vec<Datagram> {
    seen.sort_by_key(|(at, _)| *at);
    let first = seen.first().map_or(Instant::ZERO, |(at, _)| *at);
    seen.into_iter().map(|(at, size)| (at.saturating_since(first), size)).collect()
}

/// Sum of the datagrams' bytes.
fn total(datagrams: &[Datagram]) -> u64 {
    datagrams.iter().map(|(_, size)| u64::from(*size)).sum()
}

/// Prints the flows.
pub(super) fn list<R: Read>(args: &ScheduleArgs, reader: CaptureReader<R>) -> anyhow::Result<()> {
    let (flows, failure) = flows(args, reader)?;
    for (flow, datagrams) in &flows {
        let last = datagrams.last().map_or(0.0, |(offset, _)| offset.as_secs_f64());
        let (count, bytes) = (datagrams.len(), total(datagrams));
        if args.json {
            let entry =
                json!({ "flow": flow.to_string(), "datagrams": count, "bytes": bytes, "last_s": last });
            print::line(entry)?;
        } else {
            print::line(format!("{flow}  {count} datagrams, {bytes} bytes in {last:.3} s"))?;
        }
    }
    failure.map_or(Ok(()), |error| Err(error.into()))
}

/// The datagrams of the chosen flow.
pub(super) fn read<R: Read>(args: &ScheduleArgs, reader: CaptureReader<R>) -> anyhow::Result<Pieces> {
    let (flows, failure) = flows(args, reader)?;
    let (_, datagrams) = match &args.flow {
        Some(name) => {
            let wanted: String = name.split_whitespace().collect();
            flows.iter().find(|(flow, _)| flow.to_string() == wanted).ok_or_else(|| {
                anyhow!(
                    "--flow {name}: there is no such flow; --list prints all, the largest is {}",
                    flows[0].0
                )
            })?
        }
        None => {
            if flows.len() > 1 {
                print::note(format_args!("the largest of {} flows: {}", flows.len(), flows[0].0));
            }
            &flows[0]
        }
    };
    let pieces = datagrams.iter().map(|(at, size)| Piece { at: *at, size: *size, kind: None }).collect();
    Ok(Pieces { pieces, failure: failure.map(Into::into) })
}
