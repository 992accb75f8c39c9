//! `whimbrel carry`: a relay of one flow, for a camera and a viewer.

use clap::{Args, Subcommand};
use whimbrel_net::HostPort;
use whimbrel_relay::address::{ProgramAddress, parse_from, parse_server, parse_to};
use whimbrel_relay::{Far, Near, Options};

use super::relay::{BasicArgs, LinkArgs, connect, listen};
use super::transport::{CongestionControl, LossDifferentiation, OwnAddress, Reordering};
use crate::exit::Failure;
use crate::interrupt::outages;
use crate::security::{ClientSecurityArgs, SecurityArgs};

/// The most flows: programs that send to the port.
const FLOWS: usize = 16;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  whimbrel carry receive --to 127.0.0.1:5004 --secret-file camera.secret\n  \
                  whimbrel carry send 192.0.2.7 --from 127.0.0.1:5004 --secret-file camera.secret\n\n\
                  whimbrel relay has more: several ports, knowledge of RTP, the allowed rate for encoders, metrics."
)]
pub(crate) struct CarryArgs {
    #[command(subcommand)]
    end: End,
}

#[derive(Debug, Subcommand)]
enum End {
    /// Send the datagrams that arrive at a UDP port of this host.
    Send(Box<SendArgs>),
    /// Pass the datagrams of a sender to a UDP port.
    Receive(Box<ReceiveArgs>),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  whimbrel carry send 192.0.2.7 --from 127.0.0.1:5004 --secret-file camera.secret\n  \
                  whimbrel carry send 192.0.2.7 --from 127.0.0.1:5004 --stale 100ms --freeze-on-link-loss --secret-file camera.secret\n\n\
                  Datagrams that come back are sent to the program whose datagrams they answer. It waits for the receiver, and\n\
                  connects again after a lost connection. SIGUSR1, sent a round-trip time before an outage, freezes both directions; SIGUSR2, or the\n\
                  link's return, unfreezes them. docs/carry.md has complete commands for a camera."
)]
struct SendArgs {
    /// The receiver's name or address, with or without its port: host, 192.0.2.7:6511, [2001:db8::7]:6511.
    #[arg(value_name = "HOST[:PORT]", value_parser = parse_server)]
    host: HostPort,
    /// The address and port at which the program's datagrams arrive.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_from)]
    from: ProgramAddress,
    #[command(flatten)]
    congestion: CongestionControl<3>,
    #[command(flatten)]
    link: LinkArgs,
    #[command(flatten)]
    common: BasicArgs,
    #[command(flatten)]
    security: ClientSecurityArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  whimbrel carry receive --to 127.0.0.1:5004 --secret-file camera.secret\n  \
                  whimbrel carry receive --to 127.0.0.1:5004 --bind 0.0.0.0:6511 --lda zbs3 --reorder 30ms --secret-file camera.secret\n\n\
                  It serves one sender; a new one replaces it."
)]
struct ReceiveArgs {
    /// The address and port of the program that takes the datagrams.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_to)]
    to: ProgramAddress,
    #[command(flatten)]
    own: OwnAddress,
    #[command(flatten)]
    losses: LossDifferentiation,
    #[command(flatten)]
    order: Reordering,
    /// End when the first sender has ended.
    #[arg(long)]
    one_off: bool,
    #[command(flatten)]
    common: BasicArgs,
    #[command(flatten)]
    security: SecurityArgs,
}

/// Runs the verb.
pub(crate) fn run(args: CarryArgs) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match args.end {
        End::Send(args) => runtime.block_on(async {
            let near = Near {
                options: Options { flows: FLOWS, ..args.common.options() },
                protection: args.security.protection(&args.host).await?,
                host: args.host,
                from: vec![args.from].into(),
                ccid: args.congestion.ccid(),
                freezes: args.link.freeze_on_link_loss,
                follows: args.link.follow_link,
                paths: Vec::new(),
                outages: outages()?,
            };
            connect(near, args.common.json).await
        }),
        End::Receive(args) => runtime.block_on(async {
            let far = Far {
                options: Options { flows: FLOWS, ..args.common.options() },
                to: vec![args.to].into(),
                bind: args.own.bind,
                socket: None,
                lda: args.losses.lda,
                reorder: args.order.reorder,
                max_peers: 1,
                one_off: args.one_off,
                protection: args.security.protection()?,
            };
            listen(far, args.common.json).await
        }),
    }
}
