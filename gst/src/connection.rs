//! The connection of an element: a relay's end in a thread of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, LazyLock};
use std::thread::{self, JoinHandle};

use tokio::sync::watch;
use whimbrel_net::Clock;
use whimbrel_relay::{Notice, Observer, Stop};
use whimbrel_units::Instant;

/// The time of this process.
pub(crate) fn now() -> Instant {
    static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::start);
    CLOCK.now()
}

/// A running end. It ends when dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Connection {
    /// Runs an end, and returns once it is ready. The end's thread calls `observe` with each notice, and
    /// `over` with the result when the end stops.
    ///
    /// # Errors
    /// The end could not start, as when another program uses its port.
    pub(crate) fn start<F>(
        run: impl FnOnce(Observer, Stop) -> F + Send + 'static,
        observe: impl Fn(&Notice<'_>) + Send + Sync + 'static,
        over: impl FnOnce(anyhow::Result<()>) + Send + 'static,
    ) -> anyhow::Result<Self>
    where
        F: Future<Output = anyhow::Result<()>>,
    {
        let (ready, is_ready) = sync_channel::<anyhow::Result<()>>(1);
        let was_ready = Arc::new(AtomicBool::new(false));
        let (stop, stopped) = Stop::new();
        let body = move || {
            let (told, set_ready) = (ready.clone(), was_ready.clone());
            let observer: Observer = Arc::new(move |_, notice: &Notice<'_>| {
                if matches!(notice, Notice::Serving) && !set_ready.swap(true, Ordering::Relaxed) {
                    let _ = told.try_send(Ok(()));
                }
                observe(notice);
                Ok(())
            });
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let ended = match runtime {
                Ok(runtime) => runtime.block_on(run(observer, stopped)),
                Err(error) => Err(error.into()),
            };
            if was_ready.load(Ordering::Relaxed) {
                over(ended);
            } else {
                let _ = ready.try_send(ended);
            }
        };
        let thread = thread::Builder::new().name("whimbrel".into()).spawn(body)?;
        let connection = Self { stop, thread: Some(thread) };
        match is_ready.recv() {
            Ok(result) => result.map(|()| connection),
            // The thread ended before the connection was ready.
            Err(_) => anyhow::bail!("the connection's thread has ended"),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        // An application may stop the pipeline in the thread's own notification.
        if let Some(thread) = self.thread.take().filter(|it| it.thread().id() != thread::current().id()) {
            let _ = thread.join();
        }
    }
}
