//! Classifies the losses of a capture.

use std::io::Read;

use anyhow::anyhow;
use serde_json::{Value, json};
use whimbrel_control::loss_differentiation::{ClassifiedLoss, PacketArrival, Parameters, Scheme, classify};
use whimbrel_inspect::FollowConfig;
use whimbrel_inspect::capture::CaptureReader;
use whimbrel_inspect::follow::Endpoint;
use whimbrel_inspect::streams::{self, Stream, StreamKind};
use whimbrel_units::{ByteCount, Instant};
use whimbrel_wire::SeqNo;

use super::verdicts::{self, Totals};
use super::{ClassifyArgs, schemes_without_send_times};
use crate::commands::capture_file::is_wanted;
use crate::exit::Failure;
use crate::print;

/// Reads the capture called `name` and classifies each direction requested.
pub(super) fn run<R: Read>(
    args: &ClassifyArgs,
    scheme: Scheme,
    name: &str,
    mut reader: CaptureReader<R>,
) -> Result<(), Failure> {
    let found = streams::read(&mut reader, FollowConfig::default(), &args.udp_port, |record| {
        is_wanted(record, &args.interface)
    });
    let failure = found.error.map(|error| anyhow!(error).context(name.to_owned()));
    if found.cut_options > 0 {
        print::note(format_args!(
            "{name}: options of {} DCCP packets were cut off, with their send times if they had any",
            found.cut_options
        ));
    }
    let has_tcp = found.streams.iter().any(|one| one.kind == StreamKind::Tcp);
    let directions: Vec<Stream> = found.streams.into_iter().filter(|one| is_asked_for(args, one)).collect();
    let zero = found.zero;
    let classified: Vec<ClassifiedDirection> = directions
        .iter()
        .map(|one| ClassifiedDirection::new(scheme, &args.parameters(), one, zero))
        .collect();
    if !classified.iter().any(|one| one.losses.is_ok()) {
        return Err(failure
            .unwrap_or_else(|| nothing(args, classified, has_tcp))
            .context(name.to_owned())
            .into());
    }
    let report = Report { scheme, classified };
    if args.json {
        report.print_json()?
    } else {
        report.print()?
    }
    failure.map_or(Ok(()), |error| Err(error.into()))
}

/// Packets with numbers of their own, which do not count bytes.
fn is_asked_for(args: &ClassifyArgs, stream: &Stream) -> bool {
    match stream.kind {
        StreamKind::Dccp(connection, sender) => {
            (args.connection.is_empty() || args.connection.contains(&connection))
                && args.sender.is_none_or(|end| end.side() == sender)
        }
        StreamKind::Rtp(_) => args.connection.is_empty() && args.sender.is_none(),
        StreamKind::Udp | StreamKind::Tcp => false,
    }
}

/// The reason why nothing was classified, in a capture with or without TCP.
fn nothing(args: &ClassifyArgs, classified: Vec<ClassifiedDirection<'_>>, has_tcp: bool) -> anyhow::Error {
    let first = classified.into_iter().find_map(|one| one.losses.err());
    first.unwrap_or_else(|| match args.connection[..] {
        [] if args.sender.is_none() && has_tcp => anyhow!(
            "no DCCP connection with application data, and no RTP stream, but TCP, whose losses are not classified: \
             TCP numbers bytes, and sends lost ones again; `whimbrel inspect` shows its losses and retransmissions"
        ),
        [] if args.sender.is_none() => anyhow!("no DCCP connection with application data, and no RTP stream"),
        _ => anyhow!("no application data in the selection by --connection and --sender"),
    })
}

/// A direction and its verdicts, or the reason why there are none.
struct ClassifiedDirection<'a> {
    direction: &'a Stream,
    losses: anyhow::Result<Vec<ClassifiedLoss>>,
}

impl<'a> ClassifiedDirection<'a> {
    /// `zero` is the time of the first frame. Relative to it, trip times are small and precise.
    fn new(scheme: Scheme, parameters: &Parameters, direction: &'a Stream, zero: Instant) -> Self {
        let (timed, of) = (direction.with_send_time(), direction.with_data());
        // A packet may have a Timestamp for another reason, or be sent before both ends agreed.
        if scheme.needs_send_times() && 2 * timed <= of {
            let complaint = anyhow!(
                "--scheme {scheme} uses trip times: it needs the send times of data packets (DCCP's Timestamp option, or RTP \
                 timestamps of a known clock), and {timed} of {of} have one; {} do without",
                schemes_without_send_times()
            );
            return Self { direction, losses: Err(complaint.context(title(direction))) };
        }
        let arrivals = direction.packets.iter().map(|packet| PacketArrival {
            at: Instant::ZERO + packet.at.saturating_since(zero),
            sequence: packet.sequence,
            size: ByteCount::new(u64::from(packet.bytes)),
            sent: packet.sent,
        });
        let mut losses = classify(&mut *scheme.build_with(parameters), arrivals);
        for loss in &mut losses {
            // Report the number on the wire: the follower extends it.
            loss.first = match direction.kind {
                StreamKind::Rtp(_) => loss.first & 0xffff,
                _ => SeqNo::new(loss.first).value(),
            };
        }
        Self { direction, losses: Ok(losses) }
    }
}

fn title(direction: &Stream) -> String {
    match direction.kind {
        StreamKind::Dccp(number, sender) => {
            let (from, to) = (end(&direction.source), end(&direction.destination));
            format!("connection {number}: {} {from} > {to}", sender.name())
        }
        _ => direction.to_string(),
    }
}

fn end(endpoint: &Endpoint) -> String {
    match endpoint.address {
        address if address.is_ipv6() => format!("[{address}]:{}", endpoint.port),
        address => format!("{address}:{}", endpoint.port),
    }
}

/// Since the first frame.
fn seconds(at: Instant) -> f64 {
    at.saturating_since(Instant::ZERO).as_secs_f64()
}

/// The verdicts on a capture.
struct Report<'a> {
    scheme: Scheme,
    classified: Vec<ClassifiedDirection<'a>>,
}

impl Report<'_> {
    fn print(&self) -> Result<(), Failure> {
        for (index, one) in self.classified.iter().enumerate() {
            if index > 0 {
                print::line("")?;
            }
            let (packets, data) = (one.direction.packets.len(), one.direction.with_data());
            match &one.losses {
                Ok(losses) => {
                    print::line(format!("{}, {packets} packets, {data} with data", title(one.direction)))?;
                    verdicts::print_table(self.scheme, &seconds, losses)?;
                }
                Err(error) => print::line(format!("{error:#}"))?,
            }
        }
        Ok(())
    }

    fn print_json(&self) -> Result<(), Failure> {
        let mut totals = Totals::default();
        let directions: Vec<Value> = self
            .classified
            .iter()
            .map(|one| {
                let (connection, sender, ssrc) = match one.direction.kind {
                    StreamKind::Dccp(connection, sender) => (Some(connection), Some(sender), None),
                    StreamKind::Rtp(ssrc) => (None, None, Some(ssrc)),
                    StreamKind::Udp | StreamKind::Tcp => (None, None, None),
                };
                let mut value = json!({
                    "connection": connection,
                    "sender": sender,
                    "ssrc": ssrc,
                    "source": one.direction.source,
                    "destination": one.direction.destination,
                    "arrived": one.direction.packets.len(),
                    "arrived_with_data": one.direction.with_data(),
                });
                match &one.losses {
                    Ok(losses) => {
                        let own = Totals::of(losses);
                        totals += own;
                        value["losses"] = verdicts::rows(&seconds, losses).into();
                        value["packets"] = own.json();
                    }
                    Err(error) => value["error"] = format!("{error:#}").into(),
                }
                value
            })
            .collect();
        let whole = json!({
            "scheme": self.scheme.name(),
            "directions": directions,
            "packets": totals.json(),
        });
        print::line(whole.to_string())?;
        Ok(())
    }
}
