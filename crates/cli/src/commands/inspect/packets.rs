//! One line per packet: text, or a JSON object.

use whimbrel_inspect::Seen;

use whimbrel_inspect::follow::Followed;
use whimbrel_inspect::names;
use whimbrel_inspect::report::packet::FrameReport;
use whimbrel_inspect::segment::{Checksum, Segment};
use whimbrel_units::Instant;
use whimbrel_wire::{DccpOption, Ecn, Kind};

use crate::exit::Failure;
use crate::print;

/// Prints packets as they are read.
pub(super) struct Lister<'a> {
    connections: &'a [usize],
    is_json: bool,
    failure: Option<Failure>,
}

impl<'a> Lister<'a> {
    /// `connections`: only these; all, if none is named.
    pub(super) fn new(connections: &'a [usize], is_json: bool) -> Self {
        Self { connections, is_json, failure: None }
    }

    /// Prints a packet. After an error, nothing is printed: [`Lister::finish`] returns it.
    /// `zero`: the time of the first frame.
    pub(super) fn print(&mut self, zero: Instant, seen: &Seen) {
        if self.failure.is_none() {
            self.failure = self.print_seen(zero, seen).err();
        }
    }

    /// The end of the list.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.failure.map_or(Ok(()), Err)
    }

    fn print_seen(&self, zero: Instant, seen: &Seen) -> Result<(), Failure> {
        let since_zero = |at: Instant| at.saturating_since(zero).as_nanos() as f64 / 1e9;
        match seen {
            Seen::Dccp(segment, followed) => {
                let seconds = since_zero(segment.at);
                let wanted = self.connections.is_empty()
                    || followed.connection.is_some_and(|number| self.connections.contains(&number));
                if wanted && self.is_json {
                    object(&FrameReport::of_packet(seconds, segment, followed))?;
                } else if wanted {
                    print::line(line(seconds, segment, followed))?;
                }
            }
            Seen::Malformed(malformed) if self.connections.is_empty() && self.is_json => {
                object(&FrameReport::of_malformed(since_zero(malformed.at), malformed))?;
            }
            Seen::Malformed(malformed) if self.connections.is_empty() => print::line(format_args!(
                "{:>6} {:>11.6}  malformed: {} header, byte {}: {}",
                malformed.number,
                since_zero(malformed.at),
                malformed.layer,
                malformed.offset,
                malformed.reason
            ))?,
            Seen::Malformed(_) | Seen::Udp(..) | Seen::Tcp(..) => {}
        }
        Ok(())
    }
}

fn object(frame: &FrameReport) -> Result<(), Failure> {
    print::line(serde_json::to_string(frame)?)?;
    Ok(())
}

fn line(seconds: f64, segment: &Segment, followed: &Followed) -> String {
    let packet = &segment.packet;
    let connection = followed.connection.map_or("-".into(), |number| number.to_string());
    let mut text = format!(
        "{:>6} {seconds:>11.6} {connection:>3} {} > {} {:<8} seq {}",
        segment.number,
        followed.by.name(),
        followed.by.other().name(),
        format!("{:?}", packet.packet_type()),
        followed.sequence,
    );
    if let Some(ack) = packet.ack() {
        text += &format!(" ack {ack}");
    }
    match packet.kind {
        Kind::Request { service_code }
        | Kind::Response { service_code, .. }
        | Kind::Listen { service_code } => {
            text += &format!(" {service_code}");
        }
        Kind::Reset { reset, .. } => {
            text += &format!(" {}: {}", names::reset_code_name(reset.code), names::reset_description(reset));
        }
        _ => {}
    }
    if !packet.payload.is_empty() {
        text += &format!(" len {}", packet.payload.len());
    }
    text += &names::header_fields(packet);
    if segment.ecn != Ecn::NotEct {
        text += &format!(" {}", names::ecn_name(segment.ecn));
    }
    match segment.checksum {
        Checksum::Bad => text += " wrong checksum",
        Checksum::Absent => text += " no UDP checksum",
        Checksum::Good | Checksum::Unfinished | Checksum::Unknown => {}
    }
    let options = packet.options.iter().filter(|option| !matches!(option, DccpOption::Padding));
    let options: Vec<String> = options.map(names::option_description).collect();
    if !options.is_empty() {
        text += &format!(" <{}>", options.join(", "));
    }
    if !segment.has_all_options {
        text += " <options cut off>";
    }
    for anomaly in &followed.anomalies {
        text += &format!(" !{}", anomaly.description());
    }
    text
}
