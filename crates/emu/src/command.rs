//! Programs in the namespaces of ends.
//!
//! Each program has a process namespace of its own, so that all of its descendants end with it, and with this
//! process:
//!
//! ```text
//! this process ── supervisor ── init of the process namespace ── the program ── its children
//! ```
//!
//! The supervisor is the child that this process waits for. The kernel kills it when this process ends, kills
//! the init when the supervisor ends, and the rest when the init ends. The init ends when the program does.

mod supervise;
mod terminal;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::EmulateError;
use crate::namespace::{Maker, Namespace};
use supervise::Entry;
pub use terminal::Terminal;

/// A program to be started.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program and its arguments.
    pub arguments: Vec<OsString>,
    /// Variables of its environment in addition to this process's.
    pub environment: Vec<(String, String)>,
    /// `true` if it gets the terminal, if there is one.
    pub is_foreground: bool,
    /// `true` if its standard output goes to standard error.
    pub redirects_output: bool,
}

/// A program that was started.
#[derive(Debug)]
pub struct Running {
    child: Child,
    process: OwnedFd,
    status: Option<ExitStatus>,
    is_told: bool,
}

impl Running {
    /// Starts a program in a namespace.
    ///
    /// # Errors
    /// There is no such program, or the system refuses.
    pub fn start(
        program: &Program,
        node: &str,
        namespace: &Namespace,
        maker: &Maker,
    ) -> Result<Self, EmulateError> {
        let text = || program.arguments.iter().map(|a| a.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let failed = |error| EmulateError::Command { command: text(), node: node.to_owned(), error };
        let [name, arguments @ ..] = &program.arguments[..] else {
            return Err(failed(io::Error::from(io::ErrorKind::InvalidInput)));
        };
        let entry = Entry::new(maker.user(), namespace, program.is_foreground).map_err(failed)?;
        let mut command = Command::new(name);
        command.args(arguments).envs(program.environment.iter().map(|(name, value)| (name, value)));
        if !program.is_foreground {
            command.stdin(std::process::Stdio::null());
        }
        if program.redirects_output {
            #[allow(clippy::disallowed_methods, reason = "the program has it, nothing is printed here")]
            command.stdout(io::stderr());
        }
        // SAFETY: the closure runs between `fork` and `exec`, and uses async-signal-safe functions only.
        unsafe { command.pre_exec(move || entry.enter()) };
        let child = command.spawn().map_err(failed)?;
        let process = process_descriptor(child.id()).map_err(failed)?;
        Ok(Self { child, process, status: None, is_told: false })
    }

    /// Becomes readable when the program ends.
    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.process
    }

    /// The exit status, if the program has ended; it is never waited for.
    pub fn status(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status
    }

    /// The exit code of a program that has ended, once.
    pub(crate) fn newly_ended(&mut self) -> Option<i32> {
        let code = self.exit_code().filter(|_| !self.is_told)?;
        self.is_told = true;
        Some(code)
    }

    /// The exit code as shells have it: 128 and the number of a signal that ended the program.
    pub fn exit_code(&mut self) -> Option<i32> {
        let status = self.status()?;
        Some(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
    }

    /// Signals the program and its children, unless it has ended.
    pub fn signal(&mut self, signal: Signal) {
        if self.status().is_some() {
            return;
        }
        let supervisor = Pid::from_raw(self.child.id() as i32);
        // The program may end at this very time.
        let _ = match signal {
            // The kernel then kills the rest.
            Signal::SIGKILL => kill(supervisor, signal),
            _ => killpg(supervisor, signal),
        };
    }

    /// `true` if a program in the namespace waits for connections or datagrams.
    pub fn is_listening(&self) -> bool {
        let read = |table: &str| {
            std::fs::read_to_string(
                Path::new("/proc").join(self.child.id().to_string()).join("net").join(table),
            )
            .unwrap_or_default()
        };
        /// Socket states of `/proc/net/tcp`: 0A listens, 07 is a datagram socket without a peer.
        const LISTENING: [(&str, &str); 4] = [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")];
        LISTENING.iter().any(|(table, state)| {
            read(table).lines().skip(1).any(|line| line.split_whitespace().nth(3) == Some(state))
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

/// A descriptor of a process (pidfd_open(2)).
fn process_descriptor(process: u32) -> io::Result<OwnedFd> {
    // SAFETY: a system call without pointers; the descriptor that it returns belongs to nothing else.
    unsafe {
        let descriptor = Errno::result(libc::syscall(libc::SYS_pidfd_open, process, 0))?;
        let descriptor = OwnedFd::from_raw_fd(descriptor as i32);
        libc::fcntl(descriptor.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC);
        Ok(descriptor)
    }
}
