//! A file descriptor that is readable while a flag is set.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};

/// A file descriptor that is readable while a flag is set.
#[derive(Debug)]
pub(super) struct Signal {
    /// Locked during the system call as well: otherwise a crossing `set` and `clear` could leave descriptor and flag different.
    is_set: Mutex<bool>,
    reader: OwnedFd,
    /// The other end of the pipe; an eventfd has none.
    #[cfg(not(target_os = "linux"))]
    writer: OwnedFd,
}

impl Signal {
    #[cfg(target_os = "linux")]
    pub(super) fn new() -> io::Result<Self> {
        use rustix::event::{EventfdFlags, eventfd};
        let reader = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { is_set: Mutex::new(false), reader })
    }
    #[cfg(not(target_os = "linux"))]
    pub(super) fn new() -> io::Result<Self> {
        let (reader, writer) = std::os::unix::net::UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        Ok(Self { is_set: Mutex::new(false), reader: reader.into(), writer: writer.into() })
    }

    #[cfg(target_os = "linux")]
    fn writer(&self) -> &OwnedFd {
        &self.reader
    }
    #[cfg(not(target_os = "linux"))]
    fn writer(&self) -> &OwnedFd {
        &self.writer
    }

    pub(super) fn set(&self) {
        let mut is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        // It cannot fail: there is room for one, of the size that an eventfd takes.
        *is_set = *is_set || rustix::io::write(self.writer(), &1u64.to_ne_bytes()).is_ok();
    }

    pub(super) fn clear(&self) {
        let mut is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *is_set, false) {
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
