//! Accepting TCP connections.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

/// Time after which a connection is accepted again if one could not be.
const PAUSE: Duration = Duration::from_millis(100);

/// The next connection. One that failed before it was accepted is skipped; one for which the system has no descriptor is tried again
/// after a pause, as it would be reported again at once. Cancel safe.
pub(crate) async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
