//! Ctrl-C.

use tokio::sync::watch;

/// Tells when somebody has pressed Ctrl-C. A second time ends the process.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// Listens from now on, on the current runtime.
    pub(crate) fn listen() -> Self {
        let (raised, interrupted) = watch::channel(false);
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
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

    /// Whether it came.
    pub(crate) fn is_raised(&self) -> bool {
        *self.0.borrow()
    }
}
