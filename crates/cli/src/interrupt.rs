//! Ctrl-C, and the signals that scripts may use.

use tokio::sync::broadcast;
use whimbrel_relay::{Outages, Stop};

/// Stops at Ctrl-C, from now on and on the current runtime. A second one ends the process.
#[cfg(feature = "laboratory")]
pub(crate) fn listen() -> Stop {
    spawn(Termination::default())
}

/// Like [`listen`], and also handles SIGTERM, which service managers send to stop a program.
///
/// # Errors
/// The system refuses to report the signal.
pub(crate) fn listen_as_service() -> std::io::Result<Stop> {
    Ok(spawn(Termination::listen()?))
}

fn spawn(mut termination: Termination) -> Stop {
    let (raised, stop) = Stop::new();
    tokio::spawn(async move {
        while tokio::select! {
            interrupted = tokio::signal::ctrl_c() => interrupted.is_ok(),
            () = termination.requested() => true,
        } {
            if raised.send_replace(true) {
                std::process::exit(130);
            }
        }
        // Without signals there is no interruption.
        std::future::pending::<()>().await;
    });
    stop
}

/// SIGTERM, if it is listened for.
#[derive(Debug, Default)]
struct Termination {
    #[cfg(unix)]
    signal: Option<tokio::signal::unix::Signal>,
}

impl Termination {
    #[cfg(unix)]
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { signal: Some(signal(SignalKind::terminate())?) })
    }

    #[cfg(not(unix))]
    fn listen() -> std::io::Result<Self> {
        Ok(Self::default())
    }

    /// Waits for it. Cancel safe.
    async fn requested(&mut self) {
        #[cfg(unix)]
        if let Some(signal) = &mut self.signal {
            signal.recv().await;
            return;
        }
        std::future::pending().await
    }
}

/// Outages that scripts announce, from now on and on the current runtime: SIGUSR1 before one, SIGUSR2 after
/// it. On systems without signals none ever comes.
///
/// # Errors
/// The system refuses to report the signals.
pub(crate) fn outages() -> std::io::Result<Outages> {
    let (outages, _) = broadcast::channel(4);
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        use whimbrel_relay::Outage;
        let announced = outages.clone();
        let (mut first, mut second) =
            (signal(SignalKind::user_defined1())?, signal(SignalKind::user_defined2())?);
        tokio::spawn(async move {
            loop {
                let outage = tokio::select! {
                    Some(()) = first.recv() => Outage::Announced,
                    Some(()) = second.recv() => Outage::Over,
                    else => return,
                };
                // No receiver exists while there is no connection.
                let _ = announced.send(outage);
            }
        });
    }
    Ok(outages)
}
