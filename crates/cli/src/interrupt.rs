//! Ctrl-C, and the signals that scripts may use.

use tokio::sync::watch;

/// Detects Ctrl-C. A second one ends the process.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// Listens from now on, on the current runtime.
    pub(crate) fn listen() -> Self {
        Self::spawn(Termination::default())
    }

    /// Listens from now on, on the current runtime, also for SIGTERM, by which service managers stop programs.
    ///
    /// # Errors
    /// The system refuses to report the signal.
    pub(crate) fn listen_as_service() -> std::io::Result<Self> {
        Ok(Self::spawn(Termination::listen()?))
    }

    fn spawn(mut termination: Termination) -> Self {
        let (raised, interrupted) = watch::channel(false);
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
        Self(interrupted)
    }

    /// Waits for it.
    pub(crate) async fn raised(&mut self) {
        if self.0.wait_for(|raised| *raised).await.is_err() {
            std::future::pending().await
        }
    }

    /// `true` if Ctrl-C was pressed.
    pub(crate) fn is_raised(&self) -> bool {
        *self.0.borrow()
    }
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

/// A signal for scripts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Signal {
    /// SIGUSR1.
    User1,
    /// SIGUSR2.
    User2,
}

/// The signals for scripts, on systems without signals: none ever arrives.
#[derive(Debug)]
pub(crate) struct Signals {
    #[cfg(unix)]
    user: [tokio::signal::unix::Signal; 2],
}

impl Signals {
    /// Listens from now on, on the current runtime.
    #[cfg(unix)]
    pub(crate) fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { user: [signal(SignalKind::user_defined1())?, signal(SignalKind::user_defined2())?] })
    }

    /// Listens from now on, on the current runtime.
    #[cfg(not(unix))]
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self {})
    }

    /// The next one. Cancel safe.
    pub(crate) async fn next(&mut self) -> Signal {
        #[cfg(unix)]
        {
            let [first, second] = &mut self.user;
            tokio::select! {
                Some(()) = first.recv() => return Signal::User1,
                Some(()) = second.recv() => return Signal::User2,
                else => {}
            }
        }
        std::future::pending().await
    }
}
