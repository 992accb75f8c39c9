//! The terminal of an emulation, lent to its main program.

use std::io::{IsTerminal, stdin};

use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::unistd::{Pid, getpgrp, tcgetpgrp, tcsetpgrp};

/// Takes the terminal back when it is dropped. While another program has it, Ctrl-C is that program's.
#[derive(Debug)]
pub struct Terminal(());

impl Terminal {
    /// The terminal on standard input, if it is this process's; `None` otherwise.
    pub fn of_this_process() -> Option<Self> {
        (stdin().is_terminal() && tcgetpgrp(stdin()).ok()? == getpgrp()).then_some(Self(()))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        take_terminal(getpgrp());
    }
}

/// Gives the terminal to a process group. Allocates nothing.
pub(super) fn take_terminal(group: Pid) {
    // A process in the background is stopped by SIGTTOU otherwise.
    let mut blocked = SigSet::empty();
    blocked.add(Signal::SIGTTOU);
    let mut before = SigSet::empty();
    if sigprocmask(SigmaskHow::SIG_BLOCK, Some(&blocked), Some(&mut before)).is_ok() {
        let _ = tcsetpgrp(stdin(), group);
        let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None);
    }
}
