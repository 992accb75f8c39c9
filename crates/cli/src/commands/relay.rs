//! `whimbrel relay`: carries the UDP datagrams of other programs, such as RTP, over one encrypted DCCP
//! connection.

mod args;
mod output;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use whimbrel_net::multipath::SchedulerKind;
use whimbrel_relay::{Far, Near};
use whimbrel_rtp::Codec;

use crate::exit::Failure;
use crate::interrupt;
use crate::print;
use crate::service::{self, allow_descriptors};
use output::observer;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  whimbrel relay server --to 127.0.0.1:5004 --secret-file relay.secret\n  \
                  whimbrel relay client 192.0.2.7 --from 127.0.0.1:5004 --video h264 --secret-file relay.secret\n\n\
                  docs/relay.md has complete commands for ffmpeg, GStreamer and VLC, docs/multipath.md for two radios."
)]
pub(crate) struct RelayArgs {
    #[command(subcommand)]
    end: End,
}

#[derive(Debug, Subcommand)]
enum End {
    /// Wait for clients, and pass their datagrams to UDP ports.
    #[command(aliases = ["listen", "receive"])]
    Server(Box<args::ServerArgs>),
    /// Carry the datagrams that arrive at UDP ports of this host to a server.
    #[command(aliases = ["connect", "send"])]
    Client(Box<args::ClientArgs>),
}

/// Runs the verb; `is_carry`: with the defaults for one program's datagrams, whose newest client has the only
/// connection.
pub(crate) fn run(mut args: RelayArgs, is_carry: bool) -> Result<(), Failure> {
    if is_carry {
        match &mut args.end {
            End::Server(args) => args.serve_one(),
            End::Client(args) => args.carry_one(),
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match args.end {
        End::Server(args) => runtime.block_on(args.run()),
        End::Client(args) => runtime.block_on(args.run()),
    }
}

/// Runs a near end until it is interrupted.
async fn connect(near: Near, json: bool) -> Result<(), Failure> {
    let _lines = print::in_background();
    let stop = interrupt::listen_as_service()?;
    Failure::of(whimbrel_relay::connect(near, observer(json), stop.clone()).await, &stop)
}

/// Runs a far end until it is interrupted, or its only connection has ended.
async fn listen(mut far: Far, json: bool) -> Result<(), Failure> {
    let _lines = print::in_background();
    let stop = interrupt::listen_as_service()?;
    allow_descriptors();
    far.socket = service::socket()?;
    if let (Some(at), Some(_)) = (far.bind, &far.socket) {
        return Err(Failure::Usage(format!("--bind {at}: the service manager has bound a socket already")));
    }
    Failure::of(whimbrel_relay::listen(far, observer(json), stop.clone()).await, &stop)
}

/// Reads the name of a codec.
fn parse_codec() -> impl TypedValueParser<Value = Codec> {
    PossibleValuesParser::new(Codec::ALL.map(Codec::name))
        .try_map(|name| Codec::from_name(&name).ok_or("a codec"))
}

/// Reads the name of a scheduler.
fn parse_scheduler() -> impl TypedValueParser<Value = SchedulerKind> {
    parse_scheduler_of(|_| true)
}

/// Reads the name of one of some schedulers.
pub(super) fn parse_scheduler_of(
    is_usable: impl Fn(SchedulerKind) -> bool,
) -> impl TypedValueParser<Value = SchedulerKind> {
    let usable = SchedulerKind::ALL.into_iter().filter(|kind| is_usable(*kind));
    PossibleValuesParser::new(usable.map(SchedulerKind::name))
        .map(|name| SchedulerKind::from_name(&name).unwrap_or_default())
}
