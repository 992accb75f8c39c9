//! A client's data connections.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;
use whimbrel_net::{
    ConnectionError, Host, NetError, ResetCode, SecurityError, ServiceCode, Setup, Socket, SocketOptions,
    enlarge_receive_buffer,
};

use super::DCCP_PORT;
use super::control::{Message, halves};
use super::dscp::mark;
use super::ends::{ANSWER_TIME, Client, Server};
use super::link::Link;
use super::plan::Transport;
use super::tcp::set_congestion;

/// Opens one connection per stream.
pub(super) async fn open_links(client: &Client, server: &Server) -> anyhow::Result<Vec<Link>> {
    let (plan, mut links) = (&client.plan, Vec::new());
    // All streams share one device or raw socket.
    let native_host = if plan.dccp.native {
        let at = client.native.destination(&server.native, server.at.ip())?;
        let known = (at == server.at.ip()).then_some(server.local);
        Some((client.native.client(at, known, client.dscp).await?, at))
    } else {
        None
    };
    for stream in 0..plan.streams {
        links.push(match plan.transport {
            Transport::Dccp => match &native_host {
                Some((host, at)) => {
                    let at = SocketAddr::new(*at, server.dccp_port);
                    native(client, host, at).await?
                }
                None => dccp(client, server).await?,
            },
            Transport::Udp => udp(client, server, stream).await?,
            Transport::Tcp => tcp(client, server, stream).await?,
        });
    }
    Ok(links)
}

/// The setup of a test's connections.
fn setup(client: &Client) -> Setup {
    let config = client.handover.configure(client.plan.dccp_config());
    Setup::new(config, client.protection.security.clone()).with_latency(client.plan.reception.latency())
}

/// A connection that is open.
fn opened(client: &Client, socket: Socket) -> anyhow::Result<Link> {
    client.protection.check(socket.peer())?;
    if client.plan.reception.latency_s.is_some() && socket.repair().is_none() {
        bail!("the server does not repair lost datagrams: its version is too old for --latency");
    }
    Ok(Link::Dccp(Arc::new(socket)))
}

async fn dccp(client: &Client, server: &Server) -> anyhow::Result<Link> {
    let plan = &client.plan;
    let setup = setup(client);
    let at = server.at;
    let socket = timeout(
        // The link may be down at present.
        ANSWER_TIME + std::time::Duration::from(plan.times.patience()),
        Socket::connect_with(at, server.dccp_port, setup, SocketOptions::default().dscp(client.dscp)),
    )
    .await
    .map_err(|_| anyhow!("no DCCP answer from UDP {at}: is UDP blocked on the path?"))?
    .map_err(|error| refused(error, at, ServiceCode(plan.dccp.service_code)))?;
    opened(client, socket)
}

/// `at`: the server's address, and its DCCP port.
async fn native(client: &Client, host: &Host, at: SocketAddr) -> anyhow::Result<Link> {
    let plan = &client.plan;
    let setup = setup(client);
    let socket = timeout(ANSWER_TIME + std::time::Duration::from(plan.times.patience()), host.connect(SocketAddr::new(at.ip(), 0), at.port(), setup))
        .await
        .map_err(|_| {
            let at = at.ip();
            anyhow!("no answer from {at} to IP protocol 33: no route, or a firewall or NAT on the path? try without --native")
        })?
        .map_err(|error| refused_natively(error, at.ip(), ServiceCode(plan.dccp.service_code)))?;
    opened(client, socket)
}

/// Reason why DCCP did not connect without UDP.
fn refused_natively(error: NetError, at: IpAddr, service_code: ServiceCode) -> anyhow::Error {
    match &error {
        NetError::Connection(ConnectionError::Unreachable) => {
            anyhow!("{at} or the path to it does not accept IP protocol 33: try without --native")
        }
        _ => refused(error, SocketAddr::new(at, DCCP_PORT), service_code),
    }
}

/// Reason why DCCP did not connect although the server answers on TCP.
fn refused(error: NetError, at: SocketAddr, service_code: ServiceCode) -> anyhow::Error {
    match &error {
        NetError::Connection(ConnectionError::Reset(reset)) if reset.code == ResetCode::BadServiceCode => {
            anyhow!(
                "the server at {at} does not serve service code {} ({service_code}): \
                 start it with the same --service-code",
                service_code.0
            )
        }
        NetError::Security(SecurityError::EndedByPeer) => {
            anyhow!("{at} has refused this end's key, or the secrets of the two ends differ")
        }
        NetError::Security(SecurityError::Busy) => {
            anyhow!("{at} is busy with the handshakes of others: a later attempt may succeed")
        }
        NetError::Security(error @ SecurityError::UntrustedKey(_)) => {
            anyhow!(
                "{at}: {error}: another host answers there, it has a new key, or the secrets of the two ends differ"
            )
        }
        NetError::Connection(ConnectionError::Unreachable) => {
            anyhow!("UDP {at} cannot be reached, although TCP can: a firewall on the path?")
        }
        _ => anyhow::Error::new(error).context(format!("DCCP connection to {at}")),
    }
}

async fn udp(client: &Client, server: &Server, stream: u16) -> anyhow::Result<Link> {
    let port = server.udp_ports.get(usize::from(stream)).context("the server named too few UDP ports")?;
    let any = match server.at {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let mut at = server.at;
    at.set_port(*port);
    let socket = UdpSocket::bind((any, 0)).await.context("opening a UDP socket")?;
    socket.connect(at).await.context("opening a UDP socket")?;
    enlarge_receive_buffer(&socket)?;
    mark(&socket, socket.local_addr()?, client.dscp)?;
    Ok(Link::Udp(Arc::new(socket)))
}

async fn tcp(client: &Client, server: &Server, stream: u16) -> anyhow::Result<Link> {
    let plan = &client.plan;
    let connection = TcpStream::connect(server.at)
        .await
        .with_context(|| format!("TCP connection {stream} to {}", server.at))?;
    mark(&connection, connection.local_addr()?, client.dscp)?;
    if let Some(name) = plan.congestion.as_ref().filter(|_| plan.direction.client_sends()) {
        set_congestion(&connection, name)?;
    }
    let (reader, mut writer) = halves(connection);
    writer.send(&Message::TcpStream { token: plan.token, stream }).await?;
    Ok(Link::Tcp(Arc::new(reader.reunite(writer)?)))
}
