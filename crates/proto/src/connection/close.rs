//! Ending a connection: CloseReq, Close, Reset, TIMEWAIT (RFC 4340, Section 8.3).

use bytes::Bytes;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{Ecn, Kind, Options, PacketType, Payload, Reset, ResetCode, SeqNo};

use super::handshake::PATIENCE_IN_MSL;
use super::timer::{Backoff, Timer};
use super::{Connection, Role, State, Transmit};
use crate::{ConnectionError, Event};

/// TIMEWAIT lasts two maximum segment lifetimes (RFC 4340, Section 8.3).
const TIMEWAIT_IN_MSL: u64 = 2;
/// The first retransmission of Close and CloseReq, in round-trip times (RFC 4340, Section 8.3).
const CLOSE_INTERVAL_IN_RTT: u64 = 2;
/// A Reset that a Sync has elicited comes within this many round-trip times of the one that was out of sequence.
const RESET_PATIENCE_IN_RTT: u64 = 2;
/// On a path without any delay two round-trip times would be no time.
const MIN_CLOSE_INTERVAL: Duration = Duration::from_millis(10);

/// Bytes of a Reset's Error Text that the application is told.
const MAX_ERROR_TEXT: usize = 256;

/// How far the end of the connection has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Closing {
    /// One end wants to close: no more datagrams are taken.
    requested: bool,
    /// The other end wanted it first.
    by_peer: bool,
    /// [`Event::Closed`] was told.
    over: bool,
    /// [`Event::Drained`] was told.
    drained: bool,
    /// Paces Close and CloseReq.
    backoff: Option<Backoff>,
    /// The last Reset that came out of sequence, and when.
    suspected: Option<(Reset, Instant)>,
}

impl Closing {
    pub(super) fn is_requested(&self) -> bool {
        self.requested
    }
    pub(super) fn is_over(&self) -> bool {
        self.over
    }
    pub(super) fn is_drained(&self) -> bool {
        self.drained
    }
    /// A Reset came out of sequence. A Sync will find out whether its sender means it.
    pub(super) fn suspect(&mut self, now: Instant, reset: Reset) {
        self.suspected = Some((reset, now));
    }
    /// What an orderly end is called.
    pub(super) fn error(&self) -> ConnectionError {
        if self.by_peer { ConnectionError::ClosedByPeer } else { ConnectionError::ClosedLocally }
    }
}

impl Connection {
    /// The application wants to close.
    pub(super) fn request_close(&mut self, now: Instant) {
        if self.closing.requested || self.closing.over {
            return;
        }
        match self.state {
            State::Closed | State::Listen | State::Invited | State::Listen1 => {
                self.end(ConnectionError::ClosedLocally)
            }
            // Nobody waits for what would be sent: rather clean up than connect in order to close.
            State::Request if self.outbound.queue.is_empty() => {
                self.abort_with(ConnectionError::ClosedLocally);
            }
            _ => {
                self.closing.requested = true;
                self.limit_closing(now);
            }
        }
    }
    fn limit_closing(&mut self, now: Instant) {
        let timers = &self.config.timers;
        let longest = timers.msl * PATIENCE_IN_MSL;
        let limit = timers.close.map_or(longest, |limit| limit.min(longest));
        self.timers.set(Timer::GiveUpClosing, now + limit);
    }
    /// The queue is empty and the application wants to close: CLOSEREQ or CLOSING begins.
    pub(super) fn start_closing(&mut self) {
        let asks = self.ports.role == Role::Server && self.config.server_sends_close_request;
        self.enter_closing(if asks { State::CloseReq } else { State::Closing });
    }
    /// The server asked this client to close. It does so at once, whatever still waits to be sent.
    pub(super) fn obey_close_request(&mut self, now: Instant) {
        if !self.closing.requested {
            self.closing.by_peer = true;
            self.closing.requested = true;
        }
        self.outbound.queue.clear(&mut self.events);
        self.limit_closing(now);
        self.enter_closing(State::Closing);
    }
    fn enter_closing(&mut self, state: State) {
        self.state = state;
        self.timers.stop(Timer::Handshake);
        self.timers.stop(Timer::PartOpenAck);
        self.timers.stop(Timer::Probe);
        self.timers.stop(Timer::Idle);
        let first = (self.rtt.or_default() * CLOSE_INTERVAL_IN_RTT).max(MIN_CLOSE_INTERVAL);
        self.closing.backoff = Some(Backoff::new(first));
        self.outbound.close = true;
    }
    /// A Close or CloseReq, or one more.
    pub(super) fn close_packet(&mut self, now: Instant) -> Transmit {
        if let Some(backoff) = &mut self.closing.backoff {
            self.timers.set(Timer::Close, now + backoff.take());
        }
        let ack = self.sequence.numbers.acknowledgeable();
        let mut options = Options::new();
        self.write_feedback(now, ack, &mut options);
        self.write_reports(now, PacketType::Close, ack, &mut options);
        let kind = if self.state == State::CloseReq { Kind::CloseReq { ack } } else { Kind::Close { ack } };
        self.emit(now, kind, options, Payload::EMPTY, Ecn::NotEct)
    }

    /// The peer's Close arrived: Reset 1, "Closed", ends the connection.
    pub(super) fn confirm_close(&mut self) {
        if !self.closing.requested {
            self.closing.by_peer = true;
        }
        let ack = self.sequence.numbers.gsr();
        self.outbound.reset = Some((Reset::new(ResetCode::Closed), ack));
        let error = self.closing.error();
        self.finish(error, State::Closed);
    }
    /// The peer's Reset may explain itself: tells the application what it says.
    pub(super) fn tell_error_text(&mut self, data: &Payload) {
        let Payload::Bytes(bytes) = data else { return };
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_ERROR_TEXT)]);
        // It may end up on a terminal.
        let text: String = text.chars().filter(|c| !c.is_control()).collect();
        if !text.is_empty() {
            self.events.push_back(Event::ErrorText { text });
        }
    }
    /// The peer's Reset arrived: TIMEWAIT.
    pub(super) fn handle_reset(&mut self, now: Instant, reset: Reset) {
        let reset = self.original(now, reset);
        // Where this end was closing, a peer without the connection has already closed it, too.
        let closing = matches!(self.state, State::CloseReq | State::Closing);
        let error = match reset.code {
            ResetCode::Closed | ResetCode::NoConnection if closing => self.closing.error(),
            _ => ConnectionError::Reset(reset),
        };
        self.finish(error, State::TimeWait);
        self.timers.set(Timer::TimeWait, now + self.config.timers.msl * TIMEWAIT_IN_MSL);
    }
    /// A peer without the connection has to guess its numbers. If it is wrong, a Sync elicits a Reset with
    /// right ones, of which code 3 says only that the connection is gone: the one before it said
    /// why (RFC 4340, Section 7.5.4).
    fn original(&self, now: Instant, reset: Reset) -> Reset {
        let patience = (self.rtt.or_default() * RESET_PATIENCE_IN_RTT).max(MIN_CLOSE_INTERVAL);
        match self.closing.suspected {
            Some((original, at)) if reset.code == ResetCode::NoConnection && now - at <= patience => original,
            _ => reset,
        }
    }
    /// This end resets the connection because of what the peer sent.
    pub(super) fn reset(&mut self, reset: Reset) {
        self.outbound.reset = Some((reset, self.sequence.numbers.gsr()));
        self.finish(ConnectionError::ResetLocally(reset), State::Closed);
    }
    /// This end gives up: Reset 2, "Aborted", if there is somebody who could know the connection.
    pub(super) fn abort_with(&mut self, error: ConnectionError) {
        if self.closing.over {
            return;
        }
        let ack = match self.state {
            State::Closed | State::Listen | State::Invited | State::Listen1 => return self.end(error),
            // Nothing was ever received (RFC 4340, Section 8.1.1).
            State::Request => SeqNo::ZERO,
            // Who would get the Reset may have sent nothing.
            State::Respond if !self.handshake.validation.allows(PacketType::Reset) => return self.end(error),
            _ => self.sequence.numbers.gsr(),
        };
        self.outbound.reset = Some((Reset::new(ResetCode::Aborted), ack));
        self.finish(error, State::Closed);
    }
    /// The connection is over without a word to the peer.
    pub(super) fn end(&mut self, error: ConnectionError) {
        self.finish(error, State::Closed);
        self.drain();
    }
    /// The connection is over: nothing more is sent but a Reset, if one waits.
    fn finish(&mut self, error: ConnectionError, state: State) {
        self.state = state;
        self.timers.stop_all();
        self.outbound.stop();
        self.outbound.queue.clear(&mut self.events);
        self.sync = super::SyncState::new();
        self.closing.requested = true;
        self.closing.over = true;
        self.end_waiting();
        self.events.push_back(Event::Closed(error));
    }
    /// The endpoint needs the place of this connection, whose handshake the client has not completed: nothing more is
    /// sent.
    pub(crate) fn evict(&mut self) {
        if !self.closing.over {
            self.end(ConnectionError::Evicted);
        }
    }
    /// The last packet was sent or the last timer has ended.
    pub(super) fn drain(&mut self) {
        self.state = State::Closed;
        self.closing.drained = true;
        self.events.push_back(Event::Drained);
    }
    /// The Reset that ends the connection.
    pub(super) fn reset_packet(&mut self, now: Instant, reset: Reset, ack: SeqNo) -> Transmit {
        let room = self.handshake.validation.room(PacketType::Reset);
        let text = Some(error_text(reset)).filter(|text| text.len() <= room).unwrap_or_default();
        let transmit = self.emit(now, Kind::Reset { ack, reset }, Options::new(), text, Ecn::NotEct);
        if self.closing.over {
            self.drain();
        }
        transmit
    }
}

/// What a Reset says in words: nothing where the code says it all.
fn error_text(reset: Reset) -> Payload {
    let is_plain = !matches!(
        reset.code,
        ResetCode::OptionError
            | ResetCode::MandatoryError
            | ResetCode::AggressionPenalty
            | ResetCode::Other(_)
    );
    if is_plain { Payload::EMPTY } else { Payload::Bytes(Bytes::from(reset.to_string())) }
}
