//! A timer of the Linux kernel, which the runtime polls like a socket.

use std::os::fd::OwnedFd;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use whimbrel_units::Duration;

/// A timer with the kernel's grain. It costs a file descriptor, from its first use on.
#[derive(Debug, Default)]
pub(super) enum FineTimer {
    #[default]
    Unused,
    Timer(AsyncFd<OwnedFd>),
    /// The system has none left.
    Unavailable,
}

impl FineTimer {
    /// Expires after `ahead`, which is not zero. Returns `false` if the timer is not available.
    pub(super) fn set(&mut self, ahead: Duration) -> bool {
        if matches!(self, Self::Unused) {
            *self = open().map_or(Self::Unavailable, Self::Timer);
        }
        let Self::Timer(timer) = self else { return false };
        let nanos = ahead.as_nanos();
        let value = Timespec {
            tv_sec: (nanos / 1_000_000_000).cast_signed(),
            tv_nsec: (nanos % 1_000_000_000).cast_signed(),
        };
        let once = Itimerspec { it_interval: Timespec::default(), it_value: value };
        timerfd_settime(timer.get_ref(), TimerfdTimerFlags::empty(), &once).is_ok()
    }

    /// Waits until it expires.
    pub(super) async fn expired(&mut self) {
        let Self::Timer(timer) = self else { return std::future::pending().await };
        loop {
            let Ok(mut ready) = timer.readable().await else { return std::future::pending().await };
            let mut count = [0; 8];
            // Nothing can be read if it was set again since it became ready.
            if ready.try_io(|timer| Ok(rustix::io::read(timer, &mut count)?)).is_ok() {
                // The next expiry wakes again: without this it would be looked for at once.
                ready.clear_ready();
                return;
            }
        }
    }
}

#[expect(deprecated, reason = "unsound for types that could close their descriptor: an OwnedFd cannot")]
fn open() -> Option<AsyncFd<OwnedFd>> {
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    let timer = timerfd_create(TimerfdClockId::Monotonic, flags).ok()?;
    AsyncFd::with_interest(timer, Interest::READABLE).ok()
}
