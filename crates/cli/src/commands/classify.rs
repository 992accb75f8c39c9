//! `whimbrel classify`: classifies losses as congestion or wireless.

mod arrivals;
mod recorded;
mod verdicts;

use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use whimbrel_control::loss_differentiation::{Parameters, Scheme, SequenceBits, classify};
use whimbrel_inspect::follow::side::Side;

use crate::commands::capture_file::open_if_capture;
use crate::exit::Failure;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  whimbrel classify examples/captures/arrivals.csv --scheme zbs3\n  \
                  whimbrel classify examples/captures/call.pcapng.gz --scheme zbs3 --json\n  \
                  whimbrel classify examples/captures/call.pcapng.gz --scheme mbiaz --connection 2 --sender client\n\n\
                  A CSV file has a line per packet that arrived, in order of arrival, under a heading with the columns\n\
                  sequence, received and, for all schemes but biaz and mbiaz, sent: numbers in seconds. The two\n\
                  clocks need not agree. A packet counts as lost once three later ones have arrived. Numbers of 16, 24, 32 or\n\
                  48 bits that wrap around are detected by their decrease; --sequence-bits gives their width.\n\n\
                  A capture (pcap or pcapng) was taken at the receiver. Each direction of a DCCP connection that carries\n\
                  data is classified separately; send times are read from the Timestamp options.")]
pub(crate) struct ClassifyArgs {
    /// Packets that arrived: a CSV file with the columns sequence, sent, received, or a capture.
    file: PathBuf,
    /// The algorithm: biaz, mbiaz, spike, zigzag, zbs, zbs2, zbs3, inherent or standing.
    #[arg(long, default_value = "zbs3")]
    scheme: String,
    /// Classify only this connection of a capture, numbered as by `whimbrel inspect`. May be repeated.
    #[arg(long, value_name = "N")]
    connection: Vec<usize>,
    /// Classify only the data that this end sends.
    #[arg(long, value_name = "END")]
    sender: Option<End>,
    /// A UDP port that carries DCCP, in addition to 6511. May be repeated.
    #[arg(long, value_name = "PORT")]
    udp_port: Vec<u16>,
    /// Read only this interface of a pcapng file, by name or number. May be repeated.
    #[arg(long, value_name = "NAME")]
    interface: Vec<String>,
    /// Number of bits of the sequence numbers of a list, which wrap around; 64 if they do not.
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u32).range(1..=64))]
    sequence_bits: Option<u32>,
    /// Use the algorithms exactly as published: T_min is the least time between any two arrivals, which one
    /// duplicate or one coalesced receive invalidates permanently, and jitter for most losses.
    #[arg(long)]
    published: bool,
    /// Print the verdicts as JSON.
    #[arg(long)]
    json: bool,
}

/// An end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum End {
    Client,
    Server,
}

impl End {
    fn side(self) -> Side {
        match self {
            Self::Client => Side::Client,
            Self::Server => Side::Server,
        }
    }
}

impl ClassifyArgs {
    fn parameters(&self) -> Parameters {
        if self.published { Parameters::PUBLISHED } else { Parameters::ROBUST }
    }

    /// The first option given that is valid for captures only.
    fn option_for_captures(&self) -> Option<&'static str> {
        let given = [
            (!self.connection.is_empty(), "--connection"),
            (self.sender.is_some(), "--sender"),
            (!self.udp_port.is_empty(), "--udp-port"),
            (!self.interface.is_empty(), "--interface"),
        ];
        given.into_iter().find_map(|(is_given, name)| is_given.then_some(name))
    }
}

/// Runs the verb.
pub(crate) fn run(args: &ClassifyArgs) -> Result<(), Failure> {
    let scheme: Scheme = args.scheme.parse().map_err(|known| anyhow!("--scheme {}: {known}", args.scheme))?;
    if scheme == Scheme::Omniscient {
        return Err(anyhow!("--scheme omniscient: the true cause of a recorded loss is unknown").into());
    }
    let (name, capture) = open_if_capture(&args.file)?;
    match capture {
        Some(_) if args.sequence_bits.is_some() => {
            Err(anyhow!("--sequence-bits: {name} is a capture, whose numbers are unwrapped in any case")
                .into())
        }
        Some(reader) => recorded::run(args, scheme, &name, reader),
        None => {
            if let Some(option) = args.option_for_captures() {
                return Err(anyhow!("{option}: {name} is no pcap or pcapng file").into());
            }
            let bits = args.sequence_bits.map(SequenceBits::new);
            let arrivals = arrivals::read(&args.file, scheme.needs_send_times(), bits)?;
            let mut losses = classify(&mut *scheme.build_with(&args.parameters()), arrivals.packets);
            if let Some(bits) = arrivals.bits {
                for loss in &mut losses {
                    loss.first = bits.wrapped(loss.first);
                }
            }
            verdicts::print(scheme, &arrivals.clock, &losses, args.json)
        }
    }
}

/// The schemes that need no send times, for error messages.
fn schemes_without_send_times() -> String {
    let without = |scheme: &Scheme| !scheme.needs_send_times() && *scheme != Scheme::Omniscient;
    Scheme::ALL.into_iter().filter(without).map(Scheme::name).collect::<Vec<_>>().join(" and ")
}
