//! A file descriptor that is readable while a flag is set.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};

/// A file descriptor that is readable while a flag is set.
#[derive(Debug)]
pub(super) struct Signal {
    /// Locked during the system call as well: otherwise a crossing `set` and `clear` could leave descriptor
    /// and flag different.
    flag: Mutex<Flag>,
    reader: OwnedFd,
    /// The other end of the pipe; an eventfd has none.
    #[cfg(not(target_os = "linux"))]
    writer: OwnedFd,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flag {
    is_set: bool,
    /// The signal cannot be cleared any more.
    is_final: bool,
}

impl Signal {
    #[cfg(target_os = "linux")]
    pub(super) fn new() -> io::Result<Self> {
        use rustix::event::{EventfdFlags, eventfd};
        let reader = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { flag: Mutex::default(), reader })
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn new() -> io::Result<Self> {
        let (reader, writer) = std::os::unix::net::UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        Ok(Self { flag: Mutex::default(), reader: reader.into(), writer: writer.into() })
    }

    #[cfg(target_os = "linux")]
    fn writer(&self) -> &OwnedFd {
        &self.reader
    }

    #[cfg(not(target_os = "linux"))]
    fn writer(&self) -> &OwnedFd {
        &self.writer
    }

    fn flag(&self) -> MutexGuard<'_, Flag> {
        self.flag.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self) {
        self.raise(&mut self.flag());
    }

    /// Sets it for ever. A reader that found nothing just before and clears it afterwards would otherwise
    /// wait in vain, as no task sets it again.
    pub(super) fn set_finally(&self) {
        let mut flag = self.flag();
        self.raise(&mut flag);
        flag.is_final = true;
    }

    fn raise(&self, flag: &mut Flag) {
        // Writing cannot fail: there is room for one value, of the size that an eventfd takes.
        flag.is_set = flag.is_set || rustix::io::write(self.writer(), &1u64.to_ne_bytes()).is_ok();
    }

    pub(super) fn clear(&self) {
        let mut flag = self.flag();
        if flag.is_set && !flag.is_final {
            flag.is_set = false;
            let _ = rustix::io::read(&self.reader, &mut [0; 8]);
        }
    }

    /// Waits until it is set; returns `false` after `limit`.
    pub(super) fn wait(&self, limit: Option<Duration>) -> io::Result<bool> {
        let limit = limit.map(|limit| Timespec {
            tv_sec: limit.as_secs().min(i32::MAX as u64) as i64,
            tv_nsec: limit.subsec_nanos().into(),
        });
        let mut descriptors = [PollFd::new(&self.reader, PollFlags::IN)];
        Ok(rustix::event::poll(&mut descriptors, limit.as_ref())? > 0)
    }
}

impl AsFd for Signal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

#[cfg(test)]
mod tests;
