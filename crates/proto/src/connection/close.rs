//! Closing a connection: CloseReq, Close, Reset, TIMEWAIT (RFC 4340, Section 8.3).

use bytes::Bytes;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{Ecn, Kind, Options, PacketType, Payload, Reset, ResetCode, SeqNo};

use super::handshake::LIMIT_IN_MSL;
use super::timer::{Backoff, Timer};
use super::{Connection, Role, State, Transmit};
use crate::{ConnectionError, Event};

/// Duration of TIMEWAIT in maximum segment lifetimes (RFC 4340, Section 8.3).
const TIMEWAIT_IN_MSL: u64 = 2;
/// Interval before the first retransmission of Close and CloseReq, in round-trip times (RFC 4340, Section 8.3).
const CLOSE_INTERVAL_IN_RTT: u64 = 2;
/// Time for which a Reset received out of sequence may be confirmed by one that a Sync elicits, in round-trip times.
const RESET_CONFIRMATION_IN_RTT: u64 = 2;
/// Lower bound on that interval, for paths without delay.
const MIN_CLOSE_INTERVAL: Duration = Duration::from_millis(10);

/// The most bytes of a Reset's Error Text that are passed to the application.
const MAX_ERROR_TEXT: usize = 256;

/// Progress of closing.
#[derive(Clone, Debug, Default)]
pub(super) struct Closing {
    /// One end has requested the close: no more datagrams are accepted.
    requested: bool,
    /// The peer requested it first.
    by_peer: bool,
    /// [`Event::Closed`] was reported.
    over: bool,
    /// [`Event::Drained`] was reported.
    drained: bool,
    /// Paces Close and CloseReq.
    backoff: Option<Backoff>,
    /// The last Reset received out of sequence, and its arrival time.
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
    /// Stores a Reset that arrived out of sequence. A Sync determines whether it is genuine.
    pub(super) fn suspect(&mut self, now: Instant, reset: Reset) {
        self.suspected = Some((reset, now));
    }
    /// The reason reported for an orderly close.
    pub(super) fn error(&self) -> ConnectionError {
        if self.by_peer { ConnectionError::ClosedByPeer } else { ConnectionError::ClosedLocally }
    }
}

impl Connection {
    /// Processes the application's request to close.
    pub(super) fn request_close(&mut self, now: Instant) {
        if self.closing.requested || self.closing.over {
            return;
        }
        match self.state {
            State::Closed | State::Listen | State::Invited | State::Listen1 => {
                self.end(ConnectionError::ClosedLocally)
            }
            // No datagram is queued: discard the attempt rather than connect in order to close.
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
        let longest = timers.msl * LIMIT_IN_MSL;
        let limit = timers.close.map_or(longest, |limit| limit.min(longest));
        self.timers.set(Timer::GiveUpClosing, now + limit);
    }
    /// Enters CLOSEREQ or CLOSING, once the send queue is empty.
    pub(super) fn start_closing(&mut self) {
        let asks = self.ports.role == Role::Server && self.config.server_sends_close_request;
        self.enter_closing(if asks { State::CloseReq } else { State::Closing });
    }
    /// Processes the server's request to close, at once, even if datagrams are queued.
    pub(super) fn on_close_request(&mut self, now: Instant) {
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
    /// Creates a Close or CloseReq, or its retransmission.
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

    /// Processes the peer's Close: Reset 1, "Closed", ends the connection.
    pub(super) fn confirm_close(&mut self) {
        if !self.closing.requested {
            self.closing.by_peer = true;
        }
        let ack = self.sequence.numbers.gsr();
        self.outbound.reset = Some((Reset::new(ResetCode::Closed), ack));
        let error = self.closing.error();
        self.finish(error, State::Closed);
    }
    /// Reports the Error Text of the peer's Reset, if any, to the application.
    pub(super) fn report_error_text(&mut self, data: &Payload) {
        let Payload::Bytes(bytes) = data else { return };
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_ERROR_TEXT)]);
        // The text may be printed on a terminal.
        let text: String = text.chars().filter(|c| !c.is_control()).collect();
        if !text.is_empty() {
            self.events.push_back(Event::ErrorText { text });
        }
    }
    /// Processes the peer's Reset: enters TIMEWAIT.
    pub(super) fn handle_reset(&mut self, now: Instant, reset: Reset) {
        let reset = self.original(now, reset);
        // If this end was closing, a peer without the connection has already closed it as well.
        let closing = matches!(self.state, State::CloseReq | State::Closing);
        let error = match reset.code {
            ResetCode::Closed | ResetCode::NoConnection if closing => self.closing.error(),
            _ => ConnectionError::Reset(reset),
        };
        self.finish(error, State::TimeWait);
        self.timers.set(Timer::TimeWait, now + self.config.timers.msl * TIMEWAIT_IN_MSL);
    }
    /// Returns the Reset whose code states the reason. A peer without the connection guesses the sequence numbers of
    /// its Reset; if they are invalid, a Sync elicits a Reset with valid ones, whose code 3 says only that the
    /// connection does not exist, whereas the first had the reason (RFC 4340, Section 7.5.4).
    fn original(&self, now: Instant, reset: Reset) -> Reset {
        let patience = (self.rtt.or_default() * RESET_CONFIRMATION_IN_RTT).max(MIN_CLOSE_INTERVAL);
        match self.closing.suspected {
            Some((original, at)) if reset.code == ResetCode::NoConnection && now - at <= patience => original,
            _ => reset,
        }
    }
    /// Resets the connection because of a packet of the peer.
    pub(super) fn reset(&mut self, reset: Reset) {
        self.outbound.reset = Some((reset, self.sequence.numbers.gsr()));
        self.finish(ConnectionError::ResetLocally(reset), State::Closed);
    }
    /// Aborts the connection: sends Reset 2, "Aborted", if the peer may know of the connection.
    pub(super) fn abort_with(&mut self, error: ConnectionError) {
        if self.closing.over {
            return;
        }
        let ack = match self.state {
            State::Closed | State::Listen | State::Invited | State::Listen1 => return self.end(error),
            // No packet was received (RFC 4340, Section 8.1.1).
            State::Request => SeqNo::ZERO,
            // The address of the client may be forged.
            State::Respond if !self.handshake.validation.allows(PacketType::Reset) => return self.end(error),
            _ => self.sequence.numbers.gsr(),
        };
        self.outbound.reset = Some((Reset::new(ResetCode::Aborted), ack));
        self.finish(error, State::Closed);
    }
    /// Ends the connection without sending a packet.
    pub(super) fn end(&mut self, error: ConnectionError) {
        self.finish(error, State::Closed);
        self.drain();
    }
    /// Ends the connection: only a Reset, if one is pending, is still sent.
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
    /// Ends a half-open connection whose place the endpoint needs, without sending a packet.
    pub(crate) fn evict(&mut self) {
        if !self.closing.over {
            self.end(ConnectionError::Evicted);
        }
    }
    /// The last packet was sent or the last timer has expired.
    pub(super) fn drain(&mut self) {
        self.state = State::Closed;
        self.closing.drained = true;
        self.events.push_back(Event::Drained);
    }
    /// Creates the Reset that ends the connection.
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

/// Error Text of a Reset: empty if the code is sufficient.
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
