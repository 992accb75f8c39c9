//! The far end of a relay, which listens.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use whimbrel_net::multipath::SchedulerKind;
use whimbrel_net::{Differentiation, EndpointConfig, Fingerprint, HostOptions, Listener, NetError, Scheme};
use whimbrel_units::Duration;

use super::embedded::Programs;
use super::engine::{Ending, Engine, Watch};
use super::link::Link;
use super::notices::{Lines, Notice, Observer};
use super::ports::{FarPorts, Ports};
use super::status::Status;
use super::{
    ACROSS_PATHS, DCCP_PORT, Options, Protection, accepted_ccids, config, live, setup, several_paths,
};
use crate::edge::address::{Program, is_loopback};
use crate::edge::local_socket::small_buffers;
use crate::stop::Stop;

/// Connections beyond those that are served: handshakes, and connections whose place others have taken.
const REPLACED: usize = 2048;

/// The far end of a relay.
#[derive(Debug)]
pub struct Far {
    /// Common options.
    pub options: Options,
    /// The programs that take the datagrams.
    pub to: Programs,
    /// The address to listen at; by default, any of either family, or of IPv4 if there is no IPv6.
    pub bind: Option<SocketAddr>,
    /// A socket that is bound already, for example by a service manager; `bind` has no effect then.
    pub socket: Option<std::net::UdpSocket>,
    /// Distinguishes losses on a radio from losses by congestion.
    pub lda: Option<Scheme>,
    /// Longest time for which a datagram waits for earlier ones; by default, only datagrams of several paths
    /// wait.
    pub reorder: Option<Duration>,
    /// Connections at a time.
    pub max_peers: usize,
    /// End with the first connection.
    pub one_off: bool,
    /// Keys, and what is to happen without.
    pub protection: Protection,
}

/// A connection that is served.
struct Served {
    id: u64,
    key: Option<Fingerprint>,
    /// The host that it comes from.
    from: IpAddr,
    /// The connection took the place of another with the same key.
    is_successor: bool,
    /// Ends it, as a newer one takes its place.
    replace: oneshot::Sender<()>,
}

/// Of a connection that takes the place of another with the same key, what its user should know. A camera
/// that was switched off and on is no news; two of them with one key end each other in turns.
fn shared_key(old: &Served, new: SocketAddr) -> Option<String> {
    let is_news = old.from != new.ip() || old.is_successor;
    is_news.then(|| {
        format!(
            "{new} has the same key as the sender at {}, whose connection ends: two senders with one key or secret take turns; \
             give each a key of its own",
            old.from
        )
    })
}

/// Runs the far end until it is stopped, or its only connection has ended. Without keys, and unless plaintext
/// is allowed, it serves the relays of this host alone.
///
/// # Errors
/// [`Refused`](crate::Refused): a setting cannot be used. A port cannot be bound, or the observer has
/// returned an error.
pub async fn listen(mut far: Far, observer: Observer, mut stop: Stop) -> anyhow::Result<()> {
    far.to.check("to")?;
    let security = far.protection.security.clone();
    let is_secured = security.is_some();
    let local_only = !is_secured && !far.protection.is_plaintext_allowed;
    let mut config = config(is_secured, far.options.restart)
        .sender_ccids(accepted_ccids())
        .receiver_ccids(accepted_ccids());
    config.tune_tfrc(|tfrc| tfrc.differentiation = far.lda.map(Differentiation::guarded));
    config.receive.reorder_delay = far.reorder;
    let mut over_paths = config.clone();
    // Repair orders as well, and has to notice a gap at once.
    over_paths.receive.reorder_delay =
        far.reorder.or(Some(ACROSS_PATHS).filter(|_| far.options.latency.is_none()));
    let mut programs = Vec::new();
    for place in far.to.places() {
        programs.push(place.resolve_to().await?);
    }
    let programs: Arc<[Program]> = programs.into();
    let key = security.as_ref().map(|security| security.fingerprint());
    let single = setup(config, security.clone(), far.options.latency);
    let listener = bind(&mut far, single, local_only).await?;
    let scheduler = far.options.scheduler;
    let over_paths = setup(over_paths, security, far.options.latency);
    listener.listen(DCCP_PORT, over_paths.over_paths([], several_paths(scheduler)))?;
    let status = Status::default().showing(&far.options);
    let lines = Lines::new(observer, far.options.interval, far.max_peers > 1);
    small_buffers().map_or(Ok(()), |text| lines.notify(&Notice::Warning(&text)))?;
    lines.notify(&Notice::Listening { at: listener.local(), to: far.to.places(), key, local_only })?;
    if let Some(at) = far.options.http {
        lines.notify(&Notice::Http(
            &live::serve(at, far.options.http_token.clone(), &status, &listener.local().to_string()).await?,
        ))?;
    }
    let options = Arc::new(far.options.clone());
    lines.notify(&Notice::Serving)?;
    let mut served: Vec<Served> = Vec::new();
    let mut running = JoinSet::new();
    let mut next_id = 0;
    loop {
        tokio::select! {
            accepted = accept(&listener, scheduler) => {
                let link = accepted?;
                if local_only && !is_loopback(link.remote().ip()) {
                    link.abort();
                    continue;
                }
                let key = link.peer();
                // A camera that was switched off and on has the same key, and its old connection has not
                // ended yet.
                let old = served.iter().position(|each| key.is_some() && each.key == key);
                let (is_successor, from) = (old.is_some(), link.remote());
                if let Some(warning) = old.and_then(|old| shared_key(&served[old], from)) {
                    lines.notify(&Notice::Warning(&warning))?;
                }
                if let Some(old) = old.or((served.len() >= far.max_peers).then_some(0)) {
                    let _ = served.remove(old).replace.send(());
                }
                let (replace, replaced) = oneshot::channel();
                served.push(Served { id: next_id, key, from: from.ip(), is_successor, replace });
                let ports = match &far.to {
                    Programs::At(_) => Ports::Far(FarPorts::new(programs.clone(), options.flows)),
                    Programs::Embedded(program) => Ports::Embedded(program.far()),
                };
                running.spawn(serve(
                    next_id, link, ports, options.clone(), status.clone(), lines.clone(), stop.clone(), replaced,
                ));
                next_id += 1;
            }
            Some(ended) = running.join_next() => {
                let (id, is_interrupted) = ended??;
                served.retain(|each| each.id != id);
                if is_interrupted {
                    // The others close as well, at the same time.
                    while running.join_next().await.is_some() {}
                    return Ok(());
                }
                if far.one_off {
                    return Ok(());
                }
            }
            () = stop.raised(), if running.is_empty() => return Ok(()),
        }
    }
}

/// The next connection, over one path or over several.
pub(crate) async fn accept(listener: &Listener, scheduler: SchedulerKind) -> Result<Link, NetError> {
    let socket = listener.accept().await?;
    let scheduler = socket.paths().is_some().then_some(scheduler);
    Ok(Link { socket, scheduler })
}

/// Serves a connection to its end. Returns its number, and `true` if it was interrupted.
///
/// A block, as the future of an asynchronous function would hold its arguments twice: there is one for each
/// connection.
#[allow(clippy::too_many_arguments, reason = "a task owns what it uses")]
#[allow(clippy::manual_async_fn, reason = "see above")]
fn serve(
    id: u64,
    link: Link,
    mut ports: Ports,
    options: Arc<Options>,
    status: Status,
    mut lines: Lines,
    mut stop: Stop,
    replaced: oneshot::Receiver<()>,
) -> impl Future<Output = anyhow::Result<(u64, bool)>> + Send {
    async move {
        lines.connected(link.remote(), link.peer(), &ports.ledger().sums())?;
        let repairs = options.latency.is_some();
        let mut engine = Engine::new(&link, &mut ports, &options, &status);
        match engine.run(&mut lines, &mut stop, Watch::Events { repairs }, replaced).await? {
            Ending::Stopped => {
                link.end().await;
                lines.notify(&Notice::Ended("interrupted"))?;
                return Ok((id, true));
            }
            Ending::Over(error) => lines.notify(&Notice::Ended(&error.chain()))?,
            Ending::Replaced => {
                lines.notify(&Notice::Ended("another sender has connected"))?;
                link.abort();
            }
        }
        Ok((id, false))
    }
}

/// Listens at the socket of the service manager or at the requested address, by default at any address of
/// either family, or of IPv4 if there is no IPv6.
async fn bind(far: &mut Far, setup: whimbrel_net::Setup, local_only: bool) -> anyhow::Result<Listener> {
    let port = whimbrel_net::DCCP_UDP_PORT;
    let most = far.max_peers + REPLACED;
    let limits = EndpointConfig::default();
    // All may come through the same NAT.
    let limits = limits
        .max_accepted(most.max(limits.max_accepted))
        .max_accepted_per_source(most.max(limits.max_accepted_per_source));
    let options = HostOptions::default().dscp(far.options.dscp).endpoint(limits);
    if let Some(socket) = far.socket.take() {
        return Ok(Listener::from_std(socket, DCCP_PORT, setup, options).await?);
    }
    let bind = |at: SocketAddr| {
        let setup = setup.clone();
        async move {
            let bound = Listener::bind_with(at, DCCP_PORT, setup, options).await;
            bound.with_context(|| format!("UDP {at}"))
        }
    };
    Ok(match far.bind {
        Some(at) => bind(at).await?,
        None if local_only => bind((Ipv4Addr::LOCALHOST, port).into()).await?,
        None => match bind((IpAddr::from(Ipv6Addr::UNSPECIFIED), port).into()).await {
            Ok(listener) => listener,
            Err(_) => bind((Ipv4Addr::UNSPECIFIED, port).into()).await?,
        },
    })
}
