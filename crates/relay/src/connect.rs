//! The near end of a relay, which connects.

use std::net::SocketAddr;
use std::time::Duration as StdDuration;

use anyhow::{anyhow, bail};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use whimbrel_net::{
    Ccid, ConnectionError, DCCP_UDP_PORT, HostOptions, HostPort, NetError, ResetCode, SecurityError, Socket,
    SocketOptions, connect_any,
};

use super::embedded::Programs;
use super::engine::{Ending, Engine, Watch};
use super::follow::{Follow, Outages};
use super::link::Link;
use super::notices::{Lines, Notice, Observer};
use super::paths::{PathSpec, Paths, check};
use super::ports::{NearPorts, Ports};
use super::status::Status;
use super::{ACROSS_PATHS, DCCP_PORT, Options, Protection, config, live, setup, several_paths};
use crate::edge::address::{is_loopback, joined, resolve};
use crate::edge::local_socket::small_buffers;
use crate::stop::Stop;

/// Time limit for both handshakes.
const ANSWER_TIME: StdDuration = StdDuration::from_secs(35);
/// Time between two attempts to connect: at first, and at most.
const FIRST_RETRY: StdDuration = StdDuration::from_secs(1);
const LAST_RETRY: StdDuration = StdDuration::from_secs(30);

/// The near end of a relay.
#[derive(Debug)]
pub struct Near {
    /// Common options.
    pub options: Options,
    /// The far end.
    pub host: HostPort,
    /// The programs whose datagrams are carried.
    pub from: Programs,
    /// The congestion control of both directions.
    pub ccid: Ccid,
    /// Freeze while there is no route.
    pub freezes: bool,
    /// Follow the route to another address without freezing.
    pub follows: bool,
    /// The paths to use at the same time; if empty, the path that the system's route takes.
    pub paths: Vec<PathSpec>,
    /// Outages that the program knows of: it freezes before them.
    pub outages: Outages,
    /// Keys, and what is to happen without.
    pub protection: Protection,
}

/// Runs the near end until it is stopped: after a lost connection, it connects again.
///
/// # Errors
/// [`Refused`](crate::Refused): a setting cannot be used. A port cannot be bound, or the observer has
/// returned an error.
pub async fn connect(near: Near, observer: Observer, mut stop: Stop) -> anyhow::Result<()> {
    near.from.check("from")?;
    if !near.paths.is_empty() {
        check(&near.paths)?;
    }
    let name = near.host.or_port(DCCP_UDP_PORT);
    let mut ports = match &near.from {
        Programs::At(places) => Ports::Near(NearPorts::bind(places, near.options.flows).await?),
        Programs::Embedded(program) => Ports::Embedded(program.near()),
    };
    // A camera does not wait for the connection. Datagrams not too old by then are sent.
    ports.set_hold(near.options.latency.unwrap_or(near.options.stale));
    let addresses = ports.addresses()?;
    let status = Status::of_one(ports.ledger().clone()).showing(&near.options);
    let mut lines = Lines::new(observer, near.options.interval, false);
    small_buffers().map_or(Ok(()), |text| lines.notify(&Notice::Warning(&text)))?;
    lines.notify(&Notice::Taking { at: &addresses, host: &name })?;
    if let Some(at) = near.options.http {
        lines.notify(&Notice::Http(
            &live::serve(at, near.options.http_token.clone(), &status, &name.to_string()).await?,
        ))?;
    }
    lines.notify(&Notice::Serving)?;
    let mut retry = FIRST_RETRY;
    loop {
        let opened = tokio::select! {
            opened = open_any(&near) => opened,
            never = ports.expire() => match never {},
            () = stop.raised() => return Ok(()),
        };
        let (link, at, paths) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                lines.notify(&Notice::Ended(&format!("{error:#}")))?;
                tokio::select! {
                    () = sleep(retry) => {}
                    never = ports.expire() => match never {},
                    () = stop.raised() => return Ok(()),
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
        let ending = engine.run(&mut lines, &mut stop, watch, replaced).await?;
        // From now on there is no connection, also for the ledger.
        drop(engine);
        match ending {
            Ending::Stopped => {
                link.end().await;
                lines.notify(&Notice::Ended("interrupted"))?;
                return Ok(());
            }
            Ending::Over(error) => lines.notify(&Notice::Ended(&over(&error)))?,
            Ending::Replaced => {}
        }
        // An end that accepts and ends connections at once is not asked all the time.
        tokio::select! {
            () = sleep(FIRST_RETRY) => {}
            never = ports.expire() => match never {},
            () = stop.raised() => return Ok(()),
        }
    }
}

/// Opens a connection to the first address of the other end that answers.
async fn open_any(near: &Near) -> anyhow::Result<(Link, SocketAddr, Option<Paths>)> {
    // The name may have other addresses by now.
    let addresses = resolve(&near.host, DCCP_UDP_PORT).await?;
    let is_local = addresses.iter().all(|at| is_loopback(at.ip()));
    if near.protection.security.is_none() && !near.protection.is_plaintext_allowed && !is_local {
        bail!("data to {} would not be encrypted: it is another host now", near.host.host());
    }
    let opened = connect_any(&addresses, |at| open(near, at)).await;
    let (at, (link, paths)) = opened.map_err(joined)?;
    near.protection.check(link.peer())?;
    Ok((link, at, paths))
}

/// Opens a connection to that address.
async fn open(near: &Near, at: SocketAddr) -> anyhow::Result<(Link, Option<Paths>)> {
    let ccid = near.ccid;
    let mut config = config(near.protection.security.is_some(), near.options.restart)
        .sender_ccids([ccid])
        .receiver_ccids([ccid]);
    if !near.paths.is_empty() {
        config.receive.reorder_delay = Some(ACROSS_PATHS).filter(|_| near.options.latency.is_none());
        let setup = setup(config, near.protection.security.clone(), near.options.latency);
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
        return Ok((Link { socket, scheduler: Some(scheduler) }, Some(paths)));
    }
    let setup = setup(config, near.protection.security.clone(), near.options.latency);
    let options = SocketOptions::default().dscp(near.options.dscp);
    let opening = timeout(ANSWER_TIME, Socket::connect_with(at, DCCP_PORT, setup, options));
    let socket = opening
        .await
        .unwrap_or(Err(NetError::Connection(ConnectionError::TimedOut)))
        .map_err(|error| refused(error, at))?;
    Ok((Link { socket, scheduler: None }, None))
}

/// Follows the link of a connection, or its paths, which join now.
fn watch(
    near: &Near,
    lines: &Lines,
    link: &Link,
    at: SocketAddr,
    paths: Option<Paths>,
) -> anyhow::Result<Watch> {
    let repairs = near.options.latency.is_some();
    let socket = &link.socket;
    let Some(mut paths) = paths else {
        return Ok(Watch::Link(Box::new(Follow::start(at, near)?)));
    };
    if !socket.is_multipath() {
        let text = format!("{at} does not take part in MP-DCCP: one path is used");
        lines.notify(&Notice::Warning(&text))?;
        return Ok(Watch::Events { repairs });
    }
    for line in paths.join_all(socket) {
        lines.notify(&Notice::Path(&line))?;
    }
    Ok(Watch::Paths(Box::new(paths)))
}

/// Reason why a connection has ended. A relay aborts one only to give its place to another.
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
