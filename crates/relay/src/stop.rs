//! The end of what runs until it is told to end.

use tokio::sync::watch;

/// The wish of a program that something ends, such as after Ctrl-C.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

impl Stop {
    /// A wish that the sender states by `true`. If it is dropped before, nothing ends.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let (sender, mut stop) = whimbrel_relay::Stop::new();
    /// assert!(!stop.is_raised());
    /// sender.send_replace(true);
    /// stop.raised().await;
    /// # });
    /// ```
    pub fn new() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
        (sender, Self(receiver))
    }

    /// Waits for it. Cancel safe.
    pub async fn raised(&mut self) {
        if self.0.wait_for(|raised| *raised).await.is_err() {
            std::future::pending().await
        }
    }

    /// `true` once it is stated.
    pub fn is_raised(&self) -> bool {
        *self.0.borrow()
    }
}
