//! The processes between this one and a program: all of this runs between `fork` and `exec`, with system
//! calls only.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;

use nix::errno::Errno;
use nix::libc;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{ForkResult, Pid, fork, getpid, setpgid};

use super::terminal::take_terminal;
use crate::namespace::Namespace;

/// The way into a namespace.
pub(super) struct Entry {
    user: Option<RawFd>,
    network: RawFd,
    mount: RawFd,
    /// The directory in which the program starts, which is this process's.
    directory: CString,
    parent: Pid,
    is_foreground: bool,
}

impl Entry {
    /// Into the namespaces of an end, which outlive the start of the program.
    pub(super) fn new(
        user: Option<&OwnedFd>,
        namespace: &Namespace,
        is_foreground: bool,
    ) -> io::Result<Self> {
        Ok(Self {
            user: user.map(OwnedFd::as_raw_fd),
            network: namespace.network.as_raw_fd(),
            mount: namespace.mount.as_raw_fd(),
            directory: CString::new(std::env::current_dir()?.as_os_str().as_bytes())?,
            parent: getpid(),
            is_foreground,
        })
    }

    /// Returns in the process that is to become the program.
    pub(super) fn enter(&self) -> io::Result<()> {
        setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
        if self.is_foreground {
            take_terminal(getpid());
        }
        set_pdeathsig(Signal::SIGKILL)?;
        if nix::unistd::getppid() != self.parent {
            return Err(Errno::ESRCH.into());
        }
        for (descriptor, kind) in [
            (self.user, CloneFlags::CLONE_NEWUSER),
            (Some(self.network), CloneFlags::CLONE_NEWNET),
            (Some(self.mount), CloneFlags::CLONE_NEWNS),
        ] {
            let Some(descriptor) = descriptor else { continue };
            // SAFETY: the namespaces are held while programs start.
            setns(unsafe { BorrowedFd::borrow_raw(descriptor) }, kind)?;
        }
        self.return_to_directory()?;
        unshare(CloneFlags::CLONE_NEWPID)?;
        // A program that changes the host's name changes its own. Kernels without such namespaces start it,
        // too.
        let _ = unshare(CloneFlags::CLONE_NEWUTS);
        // SAFETY: parent and child use system calls only.
        if let ForkResult::Parent { child } = unsafe { fork() }? {
            supervise(child);
        }
        set_pdeathsig(Signal::SIGKILL)?;
        show_own_processes();
        // SAFETY: as above.
        if let ForkResult::Parent { child } = unsafe { fork() }? {
            wait_as_init(child);
        }
        Ok(())
    }

    fn return_to_directory(&self) -> io::Result<()> {
        // SAFETY: a system call with a path that ends in a zero.
        Errno::result(unsafe { libc::chdir(self.directory.as_ptr()) })?;
        Ok(())
    }
}

/// Mounts a `/proc` of the new process namespace. Where the system does not allow it, the old one stays, in
/// which programs find no processes of theirs.
fn show_own_processes() {
    if unshare(CloneFlags::CLONE_NEWNS).is_ok() {
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        // SAFETY: the strings are constants; the last argument may be null.
        let _ = unsafe {
            libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), flags, std::ptr::null())
        };
    }
}

/// The supervisor: ends as the init does.
fn supervise(init: Pid) -> ! {
    // Signals of the terminal and of this process are for the program.
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2] {
        // SAFETY: to ignore a signal installs no handler.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    close_all();
    end_with(code_of(init))
}

/// The init: collects the processes that have lost their parents, and ends when the program does.
///
/// A shell ends at once by a signal that the programs which it has started may handle: they have some time.
fn wait_as_init(program: Pid) -> ! {
    close_all();
    let code = code_of(program);
    if [libc::SIGHUP, libc::SIGINT, libc::SIGTERM].contains(&(code - 128)) {
        let mut status = 0;
        for _ in 0..LINGER_MS {
            // SAFETY: the system writes a number.
            if unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } == -1 {
                break;
            }
            // SAFETY: it only waits.
            unsafe { libc::usleep(1_000) };
        }
    }
    end_with(code)
}

/// The longest time that programs have after a signal that has ended their shell: less than that between two
/// signals of an emulation's end.
const LINGER_MS: u32 = 1_500;

/// Waits for children until this one has ended, and returns its code.
fn code_of(wanted: Pid) -> i32 {
    loop {
        let mut status = 0;
        // SAFETY: the system writes a number.
        let ended = unsafe { libc::waitpid(-1, &mut status, 0) };
        if ended == wanted.as_raw() {
            return match libc::WIFSIGNALED(status) {
                true => 128 + libc::WTERMSIG(status),
                false => libc::WEXITSTATUS(status),
            };
        } else if ended == -1 && Errno::last() == Errno::ECHILD {
            return 1;
        }
    }
}

fn end_with(code: i32) -> ! {
    // SAFETY: it does not return, and runs nothing of the process that was forked.
    unsafe { libc::_exit(code) }
}

/// Closes all files. The parent waits for the end of one of them, which reports that the program was started.
fn close_all() {
    // SAFETY: nothing uses a descriptor after this.
    unsafe {
        if libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0) != 0 {
            (0..4_096).for_each(|descriptor| {
                libc::close(descriptor);
            });
        }
    }
}
