//! The service manager of the host, such as systemd: the socket that it hands over, and what it is told.

use std::net::UdpSocket;

use crate::exit::Failure;

/// The UDP socket that the service manager has opened for this program (`LISTEN_FDS`), if it has.
///
/// # Errors
/// The service manager has opened another kind of socket, or several.
#[cfg(unix)]
pub(crate) fn socket() -> Result<Option<UdpSocket>, Failure> {
    let mut handed_over = listenfd::ListenFd::from_env();
    if handed_over.len() > 1 {
        let message = format!("{} sockets of the service manager: expected one, for UDP", handed_over.len());
        return Err(Failure::Usage(message));
    }
    let taken = handed_over.take_udp_socket(0);
    taken.map_err(|error| {
        Failure::Usage(format!("the socket of the service manager: expected one for UDP: {error}"))
    })
}

#[cfg(not(unix))]
pub(crate) fn socket() -> Result<Option<UdpSocket>, Failure> {
    Ok(None)
}

/// Informs the service manager, if it asks, that the program serves, and later that its event loop runs.
#[cfg(unix)]
pub(crate) fn ready() {
    use sd_notify::{NotifyState, notify};
    // Without a service manager nobody listens.
    let _ = notify(&[NotifyState::Ready]);
    let Some(limit) = sd_notify::watchdog_enabled() else { return };
    // A message waits while the manager reads none, and the event loop must not.
    let (running, seen) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        while let Ok(()) = seen.recv() {
            let _ = notify(&[NotifyState::Watchdog]);
        }
    });
    tokio::spawn(async move {
        let mut due = tokio::time::interval(limit / 2);
        loop {
            due.tick().await;
            let _ = running.try_send(());
        }
    });
}

#[cfg(not(unix))]
pub(crate) fn ready() {}

/// Raises the number of descriptors to what the system allows: each flow and each stream has a socket. If it
/// cannot, those beyond it are not served.
pub(crate) fn allow_descriptors() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
}
