//! A connection between two programs, one of which is this process: what `whimbrel pipe` does with its
//! standard input and output.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration as StdDuration;

use anyhow::Context;
use bytes::Bytes;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::timeout;
use whimbrel_net::multipath::SchedulerKind;
use whimbrel_net::{
    Ccid, Config, ConnectionError, DCCP_UDP_PORT, HostOptions, HostPort, Listener, Mark, NetError, Received,
    SendError, SendQueueConfig, Setup, Socket, connect_any,
};
use whimbrel_units::Duration;

use crate::edge::address::{is_loopback, joined, resolve};
use crate::edge::ledger::{Ledger, Reason, Sums};
use crate::engine::Watch;
use crate::link::Link;
use crate::listen::accept;
use crate::notices::{Notice, Observer};
use crate::paths::{PathSpec, Paths, check};
use crate::stop::Stop;
use crate::{ACROSS_PATHS, Protection, Refused, accepted_ccids, configured, several_paths};

/// The DCCP port behind the UDP port.
const DCCP_PORT: u16 = 5006;
/// The Service Codes: in the clear, and with DTLS (RFC 5238, Section 3.6).
const SERVICE_CODES: [&str; 2] = ["wpip", "wpis"];
/// Time limit for both handshakes.
const ANSWER_TIME: StdDuration = StdDuration::from_secs(35);
/// Datagrams that are taken from the connection at a time.
const BATCH: usize = 64;

/// The end that connects.
#[derive(Debug)]
pub struct PipeNear {
    /// The end that listens.
    pub host: HostPort,
    /// The paths to use at the same time; if empty, the path that the system's route takes.
    pub paths: Vec<PathSpec>,
    /// Chooses the path of each datagram of this end, if there are several.
    pub scheduler: SchedulerKind,
    /// The congestion control of both directions.
    pub ccid: Ccid,
    /// Keys, and what is to happen without.
    pub protection: Protection,
}

/// The end that listens, for one connection.
#[derive(Debug)]
pub struct PipeFar {
    /// The address to listen at.
    pub bind: Option<SocketAddr>,
    /// Longest time for which a datagram waits for earlier ones; by default, only datagrams of several paths
    /// wait.
    pub reorder: Option<Duration>,
    /// Chooses the path of each datagram of this end, if there are several.
    pub scheduler: SchedulerKind,
    /// Keys, and what is to happen without.
    pub protection: Protection,
}

/// The program's side of a pipe, such as its standard input and output.
#[derive(Debug)]
pub struct Streams {
    /// Data to send: the end of the near end's input ends the connection.
    pub input: mpsc::Receiver<std::io::Result<Bytes>>,
    /// Data received.
    pub output: mpsc::Sender<Bytes>,
}

/// Datagrams and their bytes; one that was sent in pieces counts once.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Count {
    /// Datagrams.
    pub datagrams: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Count {
    fn add(&mut self, data: &Bytes) {
        self.datagrams += 1;
        self.bytes += data.len() as u64;
    }
}

/// Totals of a pipe.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried {
    /// From the program.
    pub sent: Count,
    /// Data to it.
    pub received: Count,
    /// Fates of the datagrams of both directions.
    pub sums: Sums,
}

fn config(is_secured: bool) -> Config {
    configured(SERVICE_CODES[usize::from(is_secured)], None, SendQueueConfig::default())
}

/// Connects, and forwards until the input ends, the other end does, or the pipe is stopped.
///
/// # Errors
/// [`Refused`]: a setting cannot be used. The other end is not reached, the input cannot be read, or the
/// connection is lost.
pub async fn connect(
    near: PipeNear,
    program: Streams,
    observer: Observer,
    mut stop: Stop,
) -> anyhow::Result<Carried> {
    if !near.paths.is_empty() {
        check(&near.paths)?;
    }
    let addresses = resolve(&near.host, DCCP_UDP_PORT).await?;
    let (security, is_local) = (&near.protection.security, addresses.iter().all(|at| is_loopback(at.ip())));
    if security.is_none() && !near.protection.is_plaintext_allowed && !is_local {
        return Err(Refused(format!("data to {} would not be encrypted", near.host.host())).into());
    }
    let config = config(security.is_some()).sender_ccids([near.ccid]).receiver_ccids([near.ccid]);
    let setup = Setup::new(config, security.clone());
    let opening = connect_any(&addresses, |at| open(&near, at, setup.clone(), &observer));
    let opened = tokio::select! {
        opened = timeout(ANSWER_TIME, opening) => opened,
        () = stop.raised() => return Ok(Carried::default()),
    };
    let opened = match opened {
        Ok(opened) => opened.map_err(joined),
        Err(_) => Err(NetError::Connection(ConnectionError::TimedOut).into()),
    };
    let (_, (link, watch)) =
        opened.with_context(|| format!("no pipe at {}", near.host.or_port(DCCP_UDP_PORT)))?;
    near.protection.check(link.peer())?;
    forward(&link, watch, program, true, &observer, &mut stop).await
}

/// Opens a connection over the system's route, or over the requested paths.
async fn open(
    near: &PipeNear,
    at: SocketAddr,
    setup: Setup,
    observer: &Observer,
) -> anyhow::Result<(Link, Watch)> {
    if near.paths.is_empty() {
        let socket = Socket::connect(at, DCCP_PORT, setup).await?;
        return Ok((Link { socket, scheduler: None }, Watch::Events { repairs: false }));
    }
    let scheduler = near.scheduler;
    let setup = setup.map_config(|mut config| {
        config.receive.reorder_delay = Some(ACROSS_PATHS);
        config
    });
    let (setup, options) = (setup.over_paths([], several_paths(scheduler)), HostOptions::default());
    let (mut paths, socket) = Paths::connect(&near.paths, at, DCCP_PORT, setup, options).await?;
    paths.join_all(&socket).iter().try_for_each(|line| observer(None, &Notice::Path(line)))?;
    Ok((Link { socket, scheduler: Some(scheduler) }, Watch::Paths(Box::new(paths))))
}

/// Listens for one connection, and forwards until it ends or the pipe is stopped. Without keys, and unless
/// plaintext is allowed, it serves this host alone.
///
/// # Errors
/// [`Refused`]: a setting cannot be used. The port cannot be bound, the input cannot be read, or the
/// connection is lost.
pub async fn listen(
    far: PipeFar,
    program: Streams,
    observer: Observer,
    mut stop: Stop,
) -> anyhow::Result<Carried> {
    let security = far.protection.security;
    let local_only = security.is_none() && !far.protection.is_plaintext_allowed;
    let any = if local_only { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED };
    let at = far.bind.unwrap_or((any, DCCP_UDP_PORT).into());
    if local_only && !is_loopback(at.ip()) {
        return Err(Refused(format!("data to {at} would not be encrypted")).into());
    }
    let key = security.as_ref().map(|security| security.fingerprint());
    let mut config =
        config(security.is_some()).sender_ccids(accepted_ccids()).receiver_ccids(accepted_ccids());
    config.receive.reorder_delay = far.reorder;
    let mut over_paths = config.clone();
    over_paths.receive.reorder_delay = Some(far.reorder.unwrap_or(ACROSS_PATHS));
    let listener = Listener::bind(at, DCCP_PORT, Setup::new(config, security.clone())).await;
    let listener = listener.with_context(|| format!("UDP {at}"))?;
    let scheduler = far.scheduler;
    listener.listen(DCCP_PORT, Setup::new(over_paths, security).over_paths([], several_paths(scheduler)))?;
    observer(None, &Notice::Listening { at: listener.local(), to: &[], key, local_only })?;
    let link = tokio::select! {
        accepted = accept(&listener, scheduler) => accepted?,
        () = stop.raised() => return Ok(Carried::default()),
    };
    // A pipe serves one connection.
    drop(listener);
    forward(&link, Watch::Events { repairs: false }, program, false, &observer, &mut stop).await
}

/// Forwards between the program and the connection. `ends`: the connection ends with the input.
async fn forward(
    link: &Link,
    mut watch: Watch,
    Streams { mut input, output }: Streams,
    ends: bool,
    observer: &Observer,
    stop: &mut Stop,
) -> anyhow::Result<Carried> {
    let (mut sent, mut received) = (Count::default(), Count::default());
    let ledger = Ledger::default();
    let mut has_input = true;
    let mut arrived = Vec::new();
    let ended = loop {
        tokio::select! {
            data = input.recv(), if has_input => match data {
                Some(Ok(data)) => {
                    sent.add(&data);
                    send(link, data, &ledger).await?;
                }
                Some(Err(error)) => return Err(anyhow::Error::new(error).context("standard input")),
                None if ends => {
                    link.observed().into_iter().for_each(|observed| ledger.observe_without_deadlines(observed));
                    break link.close().await.err();
                }
                None => has_input = false,
            },
            taken = link.recv_many(&mut arrived, BATCH) => {
                if let Err(error) = taken {
                    break Some(error);
                }
                // Without a reader of the output the connection is of no use.
                if !write(&mut arrived, &output, &mut received, &ledger).await {
                    break None;
                }
            }
            change = watch.next(link) => {
                for line in watch.apply(change?, link).await {
                    observer(None, &Notice::Path(&line))?;
                }
            }
            () = stop.raised() => {
                // The interruption is the result, however the connection ends.
                let _ = link.close().await;
                break None;
            }
        }
    };
    // Arrivals before the end.
    while link.recv_many(&mut arrived, BATCH).await.is_ok() {
        if !write(&mut arrived, &output, &mut received, &ledger).await {
            break;
        }
    }
    link.observed().into_iter().for_each(|observed| ledger.observe_without_deadlines(observed));
    match ended {
        None | Some(NetError::Connection(ConnectionError::ClosedByPeer)) => {
            Ok(Carried { sent, received, sums: ledger.sums() })
        }
        Some(error) => Err(error.into()),
    }
}

/// Passes datagrams to the program. Returns `false` if it has ended.
async fn write(
    arrived: &mut Vec<Received>,
    output: &mpsc::Sender<Bytes>,
    count: &mut Count,
    ledger: &Ledger,
) -> bool {
    for Received { payload: data, .. } in arrived.drain(..) {
        count.add(&data);
        ledger.on_arrived();
        if output.send(data).await.is_err() {
            return false;
        }
    }
    true
}

/// Sends data, in pieces if the path carries less than they take.
async fn send(link: &Link, mut data: Bytes, ledger: &Ledger) -> anyhow::Result<()> {
    loop {
        match send_whole(link, &data, ledger).await {
            Ok(()) => return Ok(()),
            Err(NetError::Send(SendError::TooLarge { limit, .. })) if (1..data.len()).contains(&limit) => {
                let piece = data.split_to(limit);
                match send_whole(link, &piece, ledger).await {
                    Ok(()) => {}
                    // The path has become narrower in this moment: what does not fit is lost, as on the path.
                    Err(NetError::Send(SendError::TooLarge { .. })) => {
                        ledger.on_sent();
                        ledger.lose(Reason::TooLarge, 1);
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Sends data as one datagram, once the queue has room.
async fn send_whole(link: &Link, data: &Bytes, ledger: &Ledger) -> Result<(), NetError> {
    loop {
        link.writable(data.len()).await?;
        match link.try_send(data.clone(), None, Mark::SINGLE) {
            Err(NetError::Send(SendError::QueueFull)) => {}
            Ok(()) => {
                ledger.on_sent();
                ledger.on_handed();
                return Ok(());
            }
            Err(error) => return Err(error),
        }
    }
}
