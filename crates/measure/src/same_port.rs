//! TCP and UDP on one port.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use anyhow::Context;
use tokio::net::TcpListener;

/// Ports that the system may choose, before one is given up that is free for TCP and taken for UDP.
const ATTEMPTS: usize = 16;

/// Binds TCP to `wanted`, and UDP to the same address by `bind_udp`.
///
/// The default is `port` at any address, or at any of IPv4. With port 0 the system chooses a port for TCP.
/// Another one is tried if that is taken for UDP.
///
/// # Errors
/// A port cannot be bound.
pub(crate) async fn bind<U>(
    wanted: Option<SocketAddr>,
    port: u16,
    bind_udp: impl AsyncFn(SocketAddr) -> anyhow::Result<U>,
) -> anyhow::Result<(TcpListener, U, SocketAddr)> {
    let mut attempts = if wanted.is_some_and(|at| at.port() == 0) { ATTEMPTS } else { 1 };
    loop {
        let tcp = bind_tcp(wanted, port).await?;
        let at = tcp.local_addr()?;
        attempts -= 1;
        match bind_udp(at).await.with_context(|| format!("UDP {at}")) {
            Ok(udp) => return Ok((tcp, udp, at)),
            Err(error) if attempts == 0 || !is_in_use(&error) => return Err(error),
            Err(_) => {}
        }
    }
}

async fn bind_tcp(wanted: Option<SocketAddr>, port: u16) -> anyhow::Result<TcpListener> {
    let any: [SocketAddr; 2] = [(Ipv6Addr::UNSPECIFIED, port).into(), (Ipv4Addr::UNSPECIFIED, port).into()];
    match wanted {
        Some(at) => TcpListener::bind(at).await.with_context(|| format!("TCP {at}")),
        None => match TcpListener::bind(any[0]).await {
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                TcpListener::bind(any[1]).await.with_context(|| format!("TCP {}", any[1]))
            }
            bound => bound.with_context(|| format!("TCP {}: is another server running?", any[0])),
        },
    }
}

fn is_in_use(error: &anyhow::Error) -> bool {
    let causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.map(io::Error::kind).any(|kind| kind == io::ErrorKind::AddrInUse)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::net::UdpSocket;

    use super::*;

    /// Binds UDP; the first `taken` ports are bound by another socket just before.
    async fn bind_after(taken: u32, wanted: SocketAddr) -> (u32, anyhow::Result<SocketAddr>) {
        let asked = Cell::new(0);
        let bound = bind(Some(wanted), 0, async |at| {
            let other = (asked.replace(asked.get() + 1) < taken).then(|| UdpSocket::bind(at).expect("free"));
            let result = UdpSocket::bind(at).map_err(anyhow::Error::from);
            drop(other);
            result
        });
        let bound = bound.await.map(|(tcp, udp, at)| {
            assert_eq!((tcp.local_addr().unwrap(), udp.local_addr().unwrap()), (at, at));
            at
        });
        (asked.get(), bound)
    }

    #[tokio::test]
    async fn a_chosen_port_that_udp_has_taken_is_given_up() {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let (asked, bound) = bind_after(2, any).await;
        assert_eq!((asked, bound.is_ok()), (3, true));
        let (asked, bound) = bind_after(u32::MAX, any).await;
        assert_eq!((asked, bound.is_err()), (16, true));
    }

    #[tokio::test]
    async fn a_named_port_is_tried_once() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).unwrap();
        let (asked, bound) = bind_after(1, free).await;
        assert_eq!(asked, 1);
        let message = format!("{:#}", bound.unwrap_err());
        assert!(message.starts_with(&format!("UDP {free}: ")), "{message}");
    }
}
