//! Closing a connection: CloseReq, Close, Reset, TIMEWAIT (RFC 4340, Section 8.3).

use bytes::Bytes;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{Payload, Reset, ResetCode, SeqNo};

use super::context::{Context, Effects};
use super::timer::{Backoff, LIMIT_IN_MSL, Timer};
use super::{Role, State};
use crate::{ConnectionError, Event};

#[cfg(test)]
mod tests;

/// Duration of TIMEWAIT in maximum segment lifetimes (RFC 4340, Section 8.3).
const TIMEWAIT_IN_MSL: u64 = 2;
/// Interval before the first retransmission of Close and CloseReq, in round-trip times (RFC 4340, Section
/// 8.3).
const CLOSE_INTERVAL_IN_RTT: u64 = 2;
/// Time for which a Reset received out of sequence may be confirmed by one that a Sync elicits, in round-trip
/// times.
const RESET_CONFIRMATION_IN_RTT: u64 = 2;
/// Lower bound on that interval, for paths without delay.
const MIN_CLOSE_INTERVAL: Duration = Duration::from_millis(10);

/// The most bytes of a Reset's Error Text that are passed to the application.
const MAX_ERROR_TEXT: usize = 256;

/// The way in which a connection ends. Closing decides on it, and the connection carries it out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(super) enum Ending {
    /// No further packet is sent.
    Silent(ConnectionError),
    /// The pending Reset is sent.
    AfterReset(ConnectionError),
    /// TIMEWAIT follows, until that time.
    TimeWait(ConnectionError, Instant),
}

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

    /// Processes the application's request to close.
    #[must_use]
    pub(super) fn request(&mut self, now: Instant, cx: &Context, fx: &mut Effects) -> Option<Ending> {
        if self.requested || self.over {
            return None;
        }
        match cx.state {
            State::Closed | State::Listen | State::Invited | State::Listen1 => {
                return Some(Ending::Silent(ConnectionError::ClosedLocally));
            }
            // No datagram is queued: discard the attempt rather than connect in order to close.
            State::Request if fx.queue.is_empty() => {
                return self.abort(cx, fx, true, ConnectionError::ClosedLocally);
            }
            _ => {}
        }
        self.requested = true;
        limit(now, cx, fx);
        None
    }

    /// Starts closing once the send queue is empty. Returns the new state, CLOSEREQ or CLOSING.
    #[must_use]
    pub(super) fn start(&mut self, cx: &Context, fx: &mut Effects) -> State {
        let asks = cx.ports.role == Role::Server && cx.config.server_sends_close_request;
        self.enter(cx, fx);
        if asks { State::CloseReq } else { State::Closing }
    }

    /// Processes the server's request to close, at once, even if datagrams are queued. Returns the new state.
    #[must_use]
    pub(super) fn on_close_request(&mut self, now: Instant, cx: &Context, fx: &mut Effects) -> State {
        if !self.requested {
            self.by_peer = true;
            self.requested = true;
        }
        fx.queue.clear(&mut fx.events);
        limit(now, cx, fx);
        self.enter(cx, fx);
        State::Closing
    }

    fn enter(&mut self, cx: &Context, fx: &mut Effects) {
        for timer in [Timer::Handshake, Timer::PartOpenAck, Timer::Probe, Timer::Idle] {
            fx.timers.stop(timer);
        }
        let first = (cx.rtt.or_default() * CLOSE_INTERVAL_IN_RTT).max(MIN_CLOSE_INTERVAL);
        self.backoff = Some(Backoff::new(first));
        fx.outbound.owe_close();
    }

    /// A Close or CloseReq, or its retransmission, is being sent.
    pub(super) fn on_close_sent(&mut self, now: Instant, fx: &mut Effects) {
        if let Some(backoff) = &mut self.backoff {
            fx.timers.set(Timer::Close, now + backoff.take());
        }
    }

    /// Processes the peer's Close: Reset 1, "Closed", ends the connection.
    pub(super) fn on_close(&mut self, cx: &Context, fx: &mut Effects) -> Ending {
        if !self.requested {
            self.by_peer = true;
        }
        fx.outbound.owe_reset(Reset::new(ResetCode::Closed), cx.sequence.numbers.gsr());
        Ending::AfterReset(self.error())
    }

    /// Processes the peer's Reset and its Error Text.
    pub(super) fn on_reset(
        &self,
        now: Instant,
        cx: &Context,
        fx: &mut Effects,
        reset: Reset,
        text: &Payload,
    ) -> Ending {
        report_error_text(fx, text);
        let reset = self.original(now, cx, reset);
        // If this end was closing, a peer without the connection has already closed it as well.
        let closing = matches!(cx.state, State::CloseReq | State::Closing);
        let error = match reset.code {
            ResetCode::Closed | ResetCode::NoConnection if closing => self.error(),
            _ => ConnectionError::Reset(reset),
        };
        Ending::TimeWait(error, now + cx.config.timers.msl * TIMEWAIT_IN_MSL)
    }

    /// Returns the Reset whose code states the reason. A peer without the connection guesses the sequence
    /// numbers of its Reset; if they are invalid, a Sync elicits a Reset with valid ones, whose code 3 says
    /// only that the connection does not exist, whereas the first had the reason (RFC 4340, Section 7.5.4).
    fn original(&self, now: Instant, cx: &Context, reset: Reset) -> Reset {
        let patience = (cx.rtt.or_default() * RESET_CONFIRMATION_IN_RTT).max(MIN_CLOSE_INTERVAL);
        match self.suspected {
            Some((original, at)) if reset.code == ResetCode::NoConnection && now - at <= patience => original,
            _ => reset,
        }
    }

    /// Resets the connection because of a packet of the peer.
    pub(super) fn reset(cx: &Context, fx: &mut Effects, reset: Reset) -> Ending {
        fx.outbound.owe_reset(reset, cx.sequence.numbers.gsr());
        Ending::AfterReset(ConnectionError::ResetLocally(reset))
    }

    /// Aborts the connection: sends Reset 2, "Aborted", if the peer may know of the connection. `may_reset`:
    /// `false` if the limit on bytes sent to an unvalidated address does not permit a Reset.
    #[must_use]
    pub(super) fn abort(
        &self,
        cx: &Context,
        fx: &mut Effects,
        may_reset: bool,
        error: ConnectionError,
    ) -> Option<Ending> {
        if self.over {
            return None;
        }
        let ack = match cx.state {
            State::Closed | State::Listen | State::Invited | State::Listen1 => {
                return Some(Ending::Silent(error));
            }
            // No packet was received (RFC 4340, Section 8.1.1).
            State::Request => SeqNo::ZERO,
            // The address of the client may be forged.
            State::Respond if !may_reset => return Some(Ending::Silent(error)),
            _ => cx.sequence.numbers.gsr(),
        };
        fx.outbound.owe_reset(Reset::new(ResetCode::Aborted), ack);
        Some(Ending::AfterReset(error))
    }

    /// Processes an ICMP message that reports the destination unreachable. It ends an attempt to connect or
    /// to close; whether the peer has received the last data is then not known. An established connection
    /// continues, as the condition may be temporary and the message forged.
    #[must_use]
    pub(super) fn on_unreachable(&self, cx: &Context) -> Option<Ending> {
        match cx.state {
            State::Closing if self.by_peer => Some(Ending::Silent(self.error())),
            State::Request | State::CloseReq | State::Closing => {
                Some(Ending::Silent(ConnectionError::Unreachable))
            }
            _ => None,
        }
    }

    /// Records and reports the end of the connection.
    pub(super) fn finish(&mut self, fx: &mut Effects, ending: Ending) {
        (self.requested, self.over) = (true, true);
        let (Ending::Silent(error) | Ending::AfterReset(error) | Ending::TimeWait(error, _)) = ending;
        fx.events.push_back(Event::Closed(error));
        match ending {
            Ending::Silent(_) => self.drain(fx),
            Ending::AfterReset(_) => {}
            Ending::TimeWait(_, until) => fx.timers.set(Timer::TimeWait, until),
        }
    }

    /// The last packet was sent or the last timer has expired.
    pub(super) fn drain(&mut self, fx: &mut Effects) {
        self.drained = true;
        fx.events.push_back(Event::Drained);
    }
}

/// Starts the time limit of closing.
fn limit(now: Instant, cx: &Context, fx: &mut Effects) {
    let timers = &cx.config.timers;
    let longest = timers.msl * LIMIT_IN_MSL;
    let limit = timers.close.map_or(longest, |limit| limit.min(longest));
    fx.timers.set(Timer::GiveUpClosing, now + limit);
}

/// Reports the Error Text of the peer's Reset, if any, to the application.
fn report_error_text(fx: &mut Effects, data: &Payload) {
    let Payload::Bytes(bytes) = data else { return };
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_ERROR_TEXT)]);
    // The text may be printed on a terminal.
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    if !text.is_empty() {
        fx.events.push_back(Event::ErrorText { text });
    }
}

/// Error Text of a Reset: empty if the code is sufficient.
pub(super) fn error_text(reset: Reset) -> Payload {
    let is_plain = !matches!(
        reset.code,
        ResetCode::OptionError
            | ResetCode::MandatoryError
            | ResetCode::AggressionPenalty
            | ResetCode::Other(_)
    );
    if is_plain { Payload::EMPTY } else { Payload::Bytes(Bytes::from(reset.to_string())) }
}
