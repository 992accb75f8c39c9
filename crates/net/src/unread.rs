//! Received datagrams and events that wait for the application of a socket, and the end of its connection.

use std::collections::VecDeque;

use whimbrel_proto::{ConnectionError, Event};

use crate::dtls::SecurityError;
use crate::feedback::Feedback;
use crate::kind::Kind;
use crate::{NetError, Received};

/// The most unread events kept.
pub(crate) const MAX_EVENTS: usize = 1024;
/// Unread datagrams kept for a connection that the application has not accepted yet: peers may open many and
/// send to each.
pub(crate) const MAX_UNCLAIMED: usize = 64;

/// Datagrams and events that wait for the application.
#[derive(Debug)]
pub(crate) struct Unread {
    datagrams: VecDeque<Received>,
    /// Unread datagrams kept.
    limit: usize,
    /// The application has the socket.
    is_claimed: bool,
    events: VecDeque<Event>,
    /// Datagrams that arrived while the application had `limit` unread ones.
    overflowed: u64,
    feedback: Feedback,
    closed: Option<ConnectionError>,
    /// Reason why the connection is not secured.
    insecure: Option<SecurityError>,
    /// The driver has ended: nothing more will arrive.
    is_stopped: bool,
}

impl Unread {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            datagrams: VecDeque::new(),
            limit: limit.max(1),
            is_claimed: false,
            events: VecDeque::new(),
            overflowed: 0,
            feedback: Feedback::new(),
            closed: None,
            insecure: None,
            is_stopped: false,
        }
    }

    /// Stores a datagram. Live data: of too many the oldest is lost.
    pub(crate) fn push(&mut self, datagram: Received) {
        if self.datagrams.len() >= self.limit()
            && let Some(oldest) = self.datagrams.pop_front()
        {
            self.overflowed += 1;
            self.feedback.discard((oldest.subflow, oldest.packet));
        }
        self.datagrams.push_back(datagram);
    }

    /// Stores an event; of too many the oldest is lost.
    pub(crate) fn push_event(&mut self, event: Event) {
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// The application's own declaration that it cannot keep up.
    pub(crate) fn set_slow(&mut self, is_slow: bool) {
        self.feedback.set_slow(is_slow);
    }

    /// `true` if there is something for [`Unread::report_to`].
    pub(crate) fn has_report(&self) -> bool {
        self.feedback.is_due(self.is_filling())
    }

    /// Reports datagrams that were lost, and the filling of the queue, to the connection.
    pub(crate) fn report_to(&mut self, connection: &mut impl Kind) {
        self.feedback.report(self.is_filling(), connection);
    }

    /// `true` if three quarters of the room for datagrams are full.
    fn is_filling(&self) -> bool {
        self.datagrams.len() >= self.limit() - self.limit() / 4
    }

    fn limit(&self) -> usize {
        if self.is_claimed { self.limit } else { self.limit.min(MAX_UNCLAIMED) }
    }

    /// The application has the socket.
    pub(crate) fn claim(&mut self) {
        self.is_claimed = true;
    }

    /// Number of datagrams lost because the application had too many unread ones.
    pub(crate) fn overflowed(&self) -> u64 {
        self.overflowed
    }

    /// The oldest unread datagram.
    pub(crate) fn pop(&mut self) -> Option<Received> {
        self.datagrams.pop_front()
    }

    /// Moves up to `limit` datagrams into `out`; returns their number.
    pub(crate) fn pop_many(&mut self, out: &mut Vec<Received>, limit: usize) -> usize {
        let n = limit.min(self.datagrams.len());
        out.extend(self.datagrams.drain(..n));
        n
    }

    /// The oldest unread event.
    pub(crate) fn pop_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front();
        if self.events.is_empty() {
            // Events are rare: a socket that has read them keeps no memory for them.
            self.events = VecDeque::new();
        }
        event
    }

    /// `true` if there is a datagram to read, or no more will arrive.
    #[cfg(unix)]
    pub(crate) fn has_datagram(&self) -> bool {
        !self.datagrams.is_empty() || self.end().is_some()
    }

    /// `true` if there is an event to read, or no more will follow.
    #[cfg(unix)]
    pub(crate) fn has_event(&self) -> bool {
        !self.events.is_empty() || self.end().is_some()
    }

    /// Returns memory that traffic has left behind.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.datagrams.shrink_to_fit();
        self.feedback.shrink_to_fit();
    }

    /// Ends the connection.
    pub(crate) fn close(&mut self, why: ConnectionError) {
        self.closed = Some(why);
    }

    /// Reason for the connection's end, if it has ended.
    pub(crate) fn closed(&self) -> Option<ConnectionError> {
        self.closed
    }

    /// The connection is not secured; its end follows.
    pub(crate) fn set_insecure(&mut self, error: SecurityError) {
        self.insecure.get_or_insert(error);
    }

    /// The driver has ended.
    pub(crate) fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// The reason why nothing more will arrive, if so.
    pub(crate) fn end(&self) -> Option<NetError> {
        if let (Some(_), Some(error)) = (self.closed, &self.insecure) {
            return Some(error.clone().into());
        }
        match self.closed {
            Some(why) => Some(why.into()),
            None => self.is_stopped.then_some(NetError::DriverStopped),
        }
    }
}

#[cfg(test)]
mod tests;
