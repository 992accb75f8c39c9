//! Schedules from captures.

use std::io::Read;

use anyhow::{anyhow, bail};
use serde_json::json;
use whimbrel_inspect::capture::{CaptureError, CaptureReader};
use whimbrel_inspect::datagrams::{Datagrams, FlowDatagrams, total};

use super::{Piece, Pieces, ScheduleArgs};
use crate::commands::capture_file::is_wanted;
use crate::print;

/// The flows of a capture, and the error that ended it.
type Flows = (Vec<FlowDatagrams>, Option<CaptureError>);

fn flows<R: Read>(args: &ScheduleArgs, mut reader: CaptureReader<R>) -> anyhow::Result<Flows> {
    let mut datagrams = Datagrams::new(&args.udp_port);
    let failure = loop {
        match reader.next_record() {
            Ok(Some(record)) if is_wanted(&record, &args.interface) => {
                datagrams.on_record(&record);
                if let Err(error) = reader.check_listed(datagrams.collected()) {
                    break Some(error);
                }
            }
            Ok(Some(_)) => {}
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    if datagrams.ignored() > 0 {
        print::note(format_args!(
            "the capture has too many flows: {} datagrams were left out",
            datagrams.ignored()
        ));
    }
    let flows = datagrams.into_flows();
    match failure {
        Some(error) if flows.is_empty() => Err(error.into()),
        None if flows.is_empty() => bail!("it contains no UDP datagrams and no DCCP packets with data"),
        failure => Ok((flows, failure)),
    }
}

/// Prints the flows.
pub(super) fn list<R: Read>(args: &ScheduleArgs, reader: CaptureReader<R>) -> anyhow::Result<()> {
    let (flows, failure) = flows(args, reader)?;
    for (flow, datagrams) in &flows {
        let last = datagrams.last().map_or(0.0, |datagram| datagram.offset.as_secs_f64());
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
    let pieces =
        datagrams.iter().map(|each| Piece { at: each.offset, size: each.size, kind: None }).collect();
    Ok(Pieces { pieces, failure: failure.map(Into::into) })
}
