//! Waiting for packets of many devices.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use whimbrel_units::Duration;

/// Devices found readable by one wait: the others are found by the next.
const MOST_READY: usize = 64;

/// Devices of which some are readable. A wait costs the same for any number of them, unlike `poll`, which
/// enters the queue of each.
#[derive(Debug)]
pub(crate) struct Readiness {
    epoll: Epoll,
    ready: [EpollEvent; MOST_READY],
    /// The part of `ready` that [`Readiness::next`] has not returned.
    left: std::ops::Range<usize>,
}

impl Readiness {
    /// The devices are known by their numbers in this order.
    ///
    /// # Errors
    /// The system refuses to watch them.
    pub(crate) fn of<'a>(devices: impl Iterator<Item = BorrowedFd<'a>>) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        for (number, device) in (0..).zip(devices) {
            epoll.add(device, EpollEvent::new(EpollFlags::EPOLLIN, number))?;
        }
        Ok(Self { epoll, ready: [EpollEvent::empty(); MOST_READY], left: 0..0 })
    }

    /// Waits until `other` is readable, or a device if `with_devices`, up to `longest`. Returns `true` if
    /// `other` is.
    ///
    /// # Errors
    /// The system refuses it.
    pub(crate) fn wait(
        &mut self,
        longest: Duration,
        with_devices: bool,
        other: BorrowedFd<'_>,
    ) -> io::Result<bool> {
        // The timeout of `epoll_wait` is in milliseconds.
        let watched = |file| PollFd::new(file, PollFlags::POLLIN);
        let mut files = [watched(other), watched(self.epoll.0.as_fd())];
        let files = if with_devices { &mut files[..] } else { &mut files[..1] };
        match ppoll(files, Some(TimeSpec::from_duration(longest.into())), None) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let is_ready = |file: &PollFd<'_>| file.any() == Some(true);
        let others = is_ready(&files[0]);
        if files.get(1).is_some_and(is_ready) {
            self.left = 0..self.epoll.wait(&mut self.ready, EpollTimeout::ZERO)?;
        }
        Ok(others)
    }

    /// The number of a device that the last wait found readable.
    pub(crate) fn next(&mut self) -> Option<usize> {
        self.left.next().map(|index| self.ready[index].data() as usize)
    }
}
