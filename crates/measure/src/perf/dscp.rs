//! The DSCP of sockets that DCCP does not use: plain UDP and the kernel's TCP.

use std::io;
use std::net::SocketAddr;

use anyhow::Context;
use socket2::SockRef;
use whimbrel_net::Dscp;

/// Sets the DSCP of the packets of a socket whose address is `local`. The kernel sets TCP's ECN bits.
///
/// # Errors
/// The system refuses it.
pub(super) fn mark<'a>(socket: impl Into<SockRef<'a>>, local: SocketAddr, dscp: Dscp) -> anyhow::Result<()> {
    if dscp.is_default() {
        return Ok(());
    }
    let (socket, class) = (socket.into(), u32::from(dscp.value()) << 2);
    let result = match local {
        SocketAddr::V4(_) => socket.set_tos_v4(class),
        // The server's sockets are of both families: the packets to IPv4 peers have a TOS byte.
        SocketAddr::V6(_) => set_class(&socket, class).and_then(|()| {
            let is_mapped = local.ip().to_canonical().is_ipv4();
            if is_mapped { socket.set_tos_v4(class) } else { Ok(()) }
        }),
    };
    result.with_context(|| format!("setting DSCP {dscp}"))
}

#[cfg(unix)]
fn set_class(socket: &SockRef<'_>, class: u32) -> io::Result<()> {
    socket.set_tclass_v6(class)
}

#[cfg(not(unix))]
fn set_class(_: &SockRef<'_>, _: u32) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system marks no packets of IPv6"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sockets_of_udp_and_tcp_have_the_mark() {
        let dscp: Dscp = "AF41".parse().unwrap();
        let udp = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        mark(&udp, udp.local_addr().unwrap(), dscp).unwrap();
        assert_eq!(SockRef::from(&udp).tos_v4().unwrap(), 34 << 2);
        let listener = tokio::net::TcpListener::bind("[::]:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        for host in ["127.0.0.1", "::1"] {
            let _client = tokio::net::TcpStream::connect((host, port)).await.unwrap();
            let (server, _) = listener.accept().await.unwrap();
            mark(&server, server.local_addr().unwrap(), dscp).unwrap();
            let socket = SockRef::from(&server);
            let found = if host == "::1" { socket.tclass_v6() } else { socket.tos_v4() };
            assert_eq!(found.unwrap(), 34 << 2, "{host}");
        }
    }
}
