//! Classifies the losses of a capture.

use std::io::Read;

use anyhow::anyhow;
use serde_json::{Value, json};
use whimbrel_control::loss_differentiation::{ClassifiedLoss, PacketArrival, Parameters, Scheme, classify};
use whimbrel_inspect::arrivals::{ArrivalList, Direction};
use whimbrel_inspect::capture::CaptureReader;
use whimbrel_inspect::follow::Endpoint;
use whimbrel_inspect::{FollowConfig, Inspector};
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
    let mut inspector = Inspector::new(FollowConfig::default(), &args.udp_port);
    let (mut list, mut zero, mut failure) = (ArrivalList::new(), None, None);
    loop {
        match reader.next_record() {
            Ok(Some(record)) => {
                zero.get_or_insert(record.at);
                if is_wanted(&record, &args.interface) {
                    list.on_seen(&inspector.on_record(&record));
                }
                if let Err(error) = reader.check_listed(list.packets()) {
                    failure = Some(anyhow!(error).context(name.to_owned()));
                    break;
                }
            }
            Ok(None) => break,
            Err(error) => {
                failure = Some(anyhow!(error).context(name.to_owned()));
                break;
            }
        }
    }
    let directions: Vec<Direction> =
        list.into_data_directions().filter(|one| is_asked_for(args, one)).collect();
    let zero = zero.unwrap_or_default();
    let classified: Vec<ClassifiedDirection> = directions
        .iter()
        .map(|one| ClassifiedDirection::new(scheme, &args.parameters(), one, zero))
        .collect();
    if !classified.iter().any(|one| one.losses.is_ok()) {
        return Err(failure.unwrap_or_else(|| nothing(args, classified)).context(name.to_owned()).into());
    }
    let report = Report { scheme, classified };
    if args.json {
        report.print_json()?
    } else {
        report.print()?
    }
    failure.map_or(Ok(()), |error| Err(error.into()))
}

fn is_asked_for(args: &ClassifyArgs, direction: &Direction) -> bool {
    (args.connection.is_empty() || args.connection.contains(&direction.connection))
        && args.sender.is_none_or(|end| end.side() == direction.sender)
}

/// The reason why nothing was classified.
fn nothing(args: &ClassifyArgs, classified: Vec<ClassifiedDirection<'_>>) -> anyhow::Error {
    let first = classified.into_iter().find_map(|one| one.losses.err());
    first.unwrap_or_else(|| match args.connection[..] {
        [] if args.sender.is_none() => anyhow!("no DCCP connection with application data"),
        _ => anyhow!("no application data in the selection by --connection and --sender"),
    })
}

/// A direction and its verdicts, or the reason why there are none.
struct ClassifiedDirection<'a> {
    direction: &'a Direction,
    losses: anyhow::Result<Vec<ClassifiedLoss>>,
}

impl<'a> ClassifiedDirection<'a> {
    /// `zero` is the time of the first frame. Times are relative to it, which keeps trip times small and precise.
    fn new(scheme: Scheme, parameters: &Parameters, direction: &'a Direction, zero: Instant) -> Self {
        let (timed, of) = (direction.with_send_time(), direction.with_data());
        // A packet may have a Timestamp for another reason, or be sent before both ends agreed.
        if scheme.needs_send_times() && 2 * timed <= of {
            let complaint = anyhow!(
                "--scheme {scheme} uses trip times: it needs the Timestamp option on data packets, and {timed} of \
                 {of} have it; {} do without",
                schemes_without_send_times()
            );
            return Self { direction, losses: Err(complaint.context(title(direction))) };
        }
        let arrivals = direction.packets.iter().map(|packet| PacketArrival {
            at: Instant::ZERO + packet.at.saturating_since(zero),
            sequence: packet.sequence,
            size: ByteCount::new(packet.bytes as u64),
            sent: packet.sent,
        });
        let mut losses = classify(&mut *scheme.build_with(parameters), arrivals);
        for loss in &mut losses {
            loss.first = SeqNo::new(loss.first).value();
        }
        Self { direction, losses: Ok(losses) }
    }
}

fn title(direction: &Direction) -> String {
    let (number, sender) = (direction.connection, direction.sender.name());
    format!("connection {number}: {sender} {} > {}", end(&direction.source), end(&direction.destination))
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
                let mut value = json!({
                    "connection": one.direction.connection,
                    "sender": one.direction.sender,
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
