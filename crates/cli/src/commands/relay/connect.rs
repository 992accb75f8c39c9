//! The near end of a relay, which connects.

use std::net::SocketAddr;
use std::time::Duration as StdDuration;

use anyhow::anyhow;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use whimbrel_net::{
    Ccid, ConnectionError, DCCP_UDP_PORT, HostOptions, HostPort, NetError, ResetCode, SecurityError, Setup,
    Socket, SocketOptions, connect_any,
};

use super::engine::{Ending, Engine, Watch, close};
use super::follow::Follow;
use super::link::Link;
use super::output::Lines;
use super::paths::{PathSpec, Paths};
use super::ports::{NearPorts, Ports};
use super::status::Status;
use super::{ACROSS_PATHS, DCCP_PORT, Options, config, http, several_paths};
use crate::edge::address::{Place, joined, resolve};
use crate::edge::local_socket::note_small_buffers;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::security::{ClientSecurity, ClientSecurityArgs, is_loopback, required};
use crate::service;

/// Time limit for both handshakes.
const ANSWER_TIME: StdDuration = StdDuration::from_secs(35);
/// Time between two attempts to connect: at first, and at most.
const FIRST_RETRY: StdDuration = StdDuration::from_secs(1);
const LAST_RETRY: StdDuration = StdDuration::from_secs(30);

/// The near end of a relay.
pub(in crate::commands) struct Near {
    pub(in crate::commands) options: Options,
    pub(in crate::commands) host: HostPort,
    /// Addresses at which programs' datagrams arrive.
    pub(in crate::commands) from: Vec<Place>,
    pub(in crate::commands) ccid: u8,
    /// Freeze while there is no route.
    pub(in crate::commands) freezes: bool,
    /// Follow the route to another address without freezing.
    pub(in crate::commands) follows: bool,
    /// The paths to use at a time; none: that of the system's route.
    pub(in crate::commands) paths: Vec<PathSpec>,
    pub(in crate::commands) security: ClientSecurityArgs,
}

/// Runs the near end until it is interrupted.
///
/// # Errors
/// A port, a key or the output cannot be used.
pub(in crate::commands) async fn connect(near: Near) -> Result<(), Failure> {
    let mut interrupt = Interrupt::listen_as_service()?;
    let name = near.host.or_port(DCCP_UDP_PORT);
    // The name may be unknown as yet, as while the host starts.
    let resolved = resolve(&name, DCCP_UDP_PORT).await;
    let is_local = resolved.is_ok_and(|all| all.iter().all(|at| is_loopback(at.ip())));
    let security = near.security.client(name.host(), name.port().unwrap_or(DCCP_UDP_PORT), is_local)?;
    let near_ports = NearPorts::bind(&near.from, near.options.flows).await?;
    let addresses: Vec<_> = near_ports.addresses()?.iter().map(ToString::to_string).collect();
    let mut ports = Ports::Near(near_ports);
    let status = Status::of_one(ports.ledger().clone());
    let mut lines = Lines::new(near.options.json, near.options.interval, false);
    note_small_buffers();
    lines.waiting(&format!("datagrams at UDP {} go to {name}", addresses.join(", ")))?;
    if let Some(at) = near.options.http {
        let at = http::serve(at, status.clone()).await?;
        lines.waiting(&format!("state at http://{at}/"))?;
    }
    service::ready();
    let mut retry = FIRST_RETRY;
    loop {
        let opened = tokio::select! {
            opened = open_any(&near, &security) => opened,
            () = interrupt.raised() => return Err(Failure::Interrupted),
        };
        let (link, at, paths) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                lines.ended(&format!("{error:#}"))?;
                tokio::select! {
                    () = sleep(retry) => {}
                    () = interrupt.raised() => return Err(Failure::Interrupted),
                }
                retry = (retry * 2).min(LAST_RETRY);
                continue;
            }
        };
        retry = FIRST_RETRY;
        // A program that is told of the connection is not to lose its first datagram.
        ports.set_connected(true);
        lines.connected(at, link.peer(), &ports.ledger().sums())?;
        let watch = watch(&near, &lines, &link, at, paths)?;
        let mut engine = Engine::new(&link, &mut ports, &near.options, &status);
        // No other connection takes the place of this one.
        let (_never, replaced) = oneshot::channel();
        let ending = engine.run(&mut lines, &mut interrupt, watch, replaced).await?;
        // From now on there is no connection, also for the ledger.
        drop(engine);
        match ending {
            Ending::Interrupted => {
                close(&link).await;
                lines.end()?;
                return Err(Failure::Interrupted);
            }
            Ending::Over(error) => lines.ended(&over(&error))?,
            Ending::Replaced => {}
        }
        // An end that accepts and ends connections at once is not asked all the time.
        tokio::select! {
            () = sleep(FIRST_RETRY) => {}
            () = interrupt.raised() => return Err(Failure::Interrupted),
        }
    }
}

/// Opens a connection to whichever address of the other end answers first.
async fn open_any(
    near: &Near,
    security: &ClientSecurity,
) -> anyhow::Result<(Link, SocketAddr, Option<Paths>)> {
    // The name may have other addresses by now.
    let addresses = resolve(&near.host, DCCP_UDP_PORT).await?;
    let is_local = addresses.iter().all(|at| is_loopback(at.ip()));
    if security.security.is_none() && !near.security.both.is_insecure() && !is_local {
        return Err(anyhow!(required(near.host.host())));
    }
    let opened = connect_any(&addresses, |at| open(near, security, at)).await;
    let (at, (link, paths)) = opened.map_err(joined)?;
    security.established(link.peer())?;
    Ok((link, at, paths))
}

/// Opens a connection to that address.
async fn open(
    near: &Near,
    security: &ClientSecurity,
    at: SocketAddr,
) -> anyhow::Result<(Link, Option<Paths>)> {
    let ccid = Ccid(near.ccid);
    let mut config =
        config(security.security.is_some(), near.options.restart).sender_ccids([ccid]).receiver_ccids([ccid]);
    if !near.paths.is_empty() {
        config.receive.reorder_delay = Some(ACROSS_PATHS).filter(|_| near.options.latency.is_none());
        let setup = Setup::new(config, security.security.clone()).with_latency(near.options.latency);
        let scheduler = near.options.scheduler;
        let options = HostOptions::default().dscp(near.options.dscp);
        let setup = setup.over_paths([], several_paths(scheduler));
        let (paths, socket) =
            Paths::connect(&near.paths, at, DCCP_PORT, setup, options).await.map_err(|error| match error
                .downcast::<NetError>(
            ) {
                Ok(error) => refused(error, at),
                Err(error) => error.context(format!("DCCP connection to {at}")),
            })?;
        return Ok((Link::several(socket, scheduler), Some(paths)));
    }
    let setup = Setup::new(config, security.security.clone()).with_latency(near.options.latency);
    let options = SocketOptions::default().dscp(near.options.dscp);
    let opening = timeout(ANSWER_TIME, Socket::connect_with(at, DCCP_PORT, setup, options));
    let socket = opening
        .await
        .unwrap_or(Err(NetError::Connection(ConnectionError::TimedOut)))
        .map_err(|error| refused(error, at))?;
    Ok((Link::Single(socket), None))
}

/// Follows the link of a connection, or its paths, which join now.
fn watch(
    near: &Near,
    lines: &Lines,
    link: &Link,
    at: SocketAddr,
    paths: Option<Paths>,
) -> anyhow::Result<Watch> {
    let (Some(mut paths), Link::Several { socket, .. }) = (paths, link) else {
        return Ok(Watch::Link(Box::new(Follow::start(at, near.freezes, near.follows)?)));
    };
    if !socket.is_multipath() {
        lines.warn(&format!("{at} does not take part in MP-DCCP: one path is used"));
        return Ok(Watch::Events);
    }
    for line in paths.join_all(socket) {
        lines.path(&line)?;
    }
    Ok(Watch::Paths(Box::new(paths)))
}

/// Reason why a connection is over. A relay aborts one only to give its place to another.
fn over(error: &NetError) -> String {
    match error {
        NetError::Connection(ConnectionError::Reset(reset))
            if matches!(reset.code, ResetCode::Aborted | ResetCode::AbruptMultipathTermination) =>
        {
            format!("{error}: another sender has connected in its place, perhaps with the same key or secret")
        }
        _ => error.chain(),
    }
}

/// Reason why DCCP did not connect.
fn refused(error: NetError, at: SocketAddr) -> anyhow::Error {
    match &error {
        NetError::Connection(ConnectionError::TimedOut) => {
            anyhow!("no DCCP answer from UDP {at}: is a relay listening there, and UDP allowed?")
        }
        NetError::Connection(ConnectionError::Reset(reset)) if reset.code == ResetCode::BadServiceCode => {
            anyhow!("{at} listens with encryption and this end is without, or the other way round")
        }
        NetError::Security(SecurityError::EndedByPeer) => {
            anyhow!("{at} has refused this end's key, or the secrets of the two ends differ")
        }
        NetError::Security(SecurityError::Busy) => {
            anyhow!("{at} is busy with the handshakes of others: a later attempt may succeed")
        }
        _ => anyhow::Error::new(error).context(format!("DCCP connection to {at}")),
    }
}
