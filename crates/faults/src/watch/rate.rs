//! The rate at which an application offers datagrams, and the rate at which they leave.

use whimbrel_units::Instant;

/// The times of one connection's datagrams.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rate {
    offered: Vec<Instant>,
    sent: Vec<Instant>,
}

impl Rate {
    /// The application has one to send.
    pub(crate) fn on_offered(&mut self, now: Instant) {
        self.offered.push(now);
    }

    /// One left.
    pub(crate) fn on_sent(&mut self, now: Instant) {
        self.sent.push(now);
    }

    /// The numbers of datagrams offered and sent since then.
    pub(crate) fn since(&self, start: Instant) -> (usize, usize) {
        let count = |times: &[Instant]| times.len() - times.partition_point(|at| *at < start);
        (count(&self.offered), count(&self.sent))
    }
}
