//! The end of a multipath connection (RFC 9897, Sections 3.2.3, 3.2.11 and 3.5).

use smallvec::SmallVec;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::multipath::MultipathOption;
use whimbrel_wire::{OptionBytes, Options, PacketType, Reset, ResetCode};

use super::{ClosingStep, MultipathConnection, Phase};
use crate::multipath::SubflowId;
use crate::multipath::subflow::{Stage, Subflow};
use crate::{ConnectionError, State};

/// Time for which the subflows may complete their closing after the connection is over.
const LINGER: Duration = Duration::from_secs(3);
/// Time limit of closing, in maximum segment lifetimes (RFC 4340, Section 8.3).
const LIMIT_IN_MSL: u64 = 4;
/// Lower bound on the time for which data under way on another path are waited for (RFC 6298, Section 2.4): the round-trip
/// time of a path that this end has not used lately may have grown.
const MIN_ARRIVAL_TIME: Duration = Duration::from_secs(1);
/// Reset 13.
const ABRUPT: Reset = Reset::new(ResetCode::AbruptMultipathTermination);

impl MultipathConnection {
    /// Closes the connection on all subflows, once the send queue is empty and no data are under way on any of several subflows.
    /// Data of the peer that were under way on any subflow when it answers are delivered before [`MultipathEvent::Closed`]; those
    /// in its send queue are not sent, as in a [connection over one path](crate::Connection::close).
    ///
    /// [`MultipathEvent::Closed`]: crate::multipath::MultipathEvent::Closed
    pub fn close(&mut self, now: Instant) {
        match self.phase {
            Phase::Closing { .. } | Phase::Over => {}
            Phase::Opening if self.sending.is_empty() => self.abort(now),
            _ if self.subflows.iter().all(|subflow| subflow.is_over()) => {
                self.finish(ConnectionError::ClosedLocally);
                self.drain();
            }
            _ => {
                self.phase = Phase::Closing { step: ClosingStep::Finishing, by_peer: false };
                self.limit_closing(now);
            }
        }
    }
    /// Starts the time limit of closing.
    fn limit_closing(&mut self, now: Instant) {
        let longest = self.config.timers.msl * LIMIT_IN_MSL;
        let limit = self.config.timers.close.map_or(longest, |limit| limit.min(longest));
        self.expiry = self.expiry.min(now + limit);
    }
    /// Ends the connection at once, on all subflows, and discards the send queue.
    pub fn abort(&mut self, now: Instant) {
        self.abort_with(now, ABRUPT);
    }
    /// As [`abort`](Self::abort), because this end is too busy: the peer may try again later.
    pub fn abort_as_busy(&mut self, now: Instant) {
        self.abort_with(now, Reset::busy_multipath());
    }
    fn abort_with(&mut self, now: Instant, reset: Reset) {
        if self.phase == Phase::Over {
            return;
        }
        let key = self.identity.keys.as_ref().map(|keys| keys.peer_key());
        // The reason is reported before the subflows' ends.
        self.finish(ConnectionError::AbortedLocally);
        for index in 0..self.subflows.len() {
            let subflow = &mut self.subflows[index];
            if let (Some(key), true) = (&key, subflow.stage == Stage::Established) {
                if let Some(out) = subflow.connection.multipath_options() {
                    out.reset = Options::from_iter([MultipathOption::FastClose(key.clone()).into()]);
                }
                subflow.connection.reset_with(reset);
            } else {
                subflow.connection.abort(now);
            }
            self.collect(now, index, None);
        }
        self.linger(now);
    }
    /// Ends a connection that is not open yet, without a packet.
    pub(crate) fn evict(&mut self) {
        self.finish(ConnectionError::Evicted);
        self.subflows.clear();
        self.drain();
    }
    /// Closes one subflow in order; the connection continues on the others. Returns `false` if it does not exist.
    pub fn close_subflow(&mut self, now: Instant, subflow: SubflowId) -> bool {
        let Some(index) = self.index(subflow) else { return false };
        self.subflows[index].connection.close(now);
        self.collect(now, index, None);
        true
    }
    /// Ends one subflow without a packet, because its address no longer exists. The connection continues on the others,
    /// or waits for one to join. Returns `false` if it does not exist.
    pub fn abandon_subflow(&mut self, now: Instant, subflow: SubflowId) -> bool {
        let Some(index) = self.index(subflow) else { return false };
        self.subflows[index].connection.replace();
        self.collect(now, index, None);
        true
    }

    /// Begins to close the subflows, if no data of this end remain that a Close could overtake.
    pub(super) fn begin_closing(&mut self, now: Instant) {
        if self.overtaking_limit().is_some_and(|limit| limit <= now) {
            self.close_subflows(now);
        }
    }
    /// Time from which a Close on one subflow cannot arrive before data on another. The first Close ends the connection at the
    /// peer (Section 3.2.11), which then has no use for what is still under way. Without an acknowledgement, data count as lost
    /// after a retransmission timeout. A subflow whose join is almost complete is waited for, too. `None` unless the connection is to
    /// be closed next.
    fn overtaking_limit(&self) -> Option<Instant> {
        let is_meant = match self.phase {
            Phase::Closing { step: ClosingStep::Finishing, .. } => {
                let has_staged = self.subflows.iter().any(|subflow| subflow.staged.is_some());
                if has_staged || !self.sending.is_empty() {
                    return None;
                }
                Subflow::is_open
            }
            // A subflow on which the CloseReq has arrived is no longer open.
            Phase::Closing { step: ClosingStep::Answering, .. } => Subflow::is_established,
            _ => return None,
        };
        let limits = self.subflows.iter().filter(|it| is_meant(it)).map(|it| it.watch.arrival_limit());
        let limits: SmallVec<[Instant; 4]> = limits.collect();
        let latest = limits.iter().copied().max().filter(|_| limits.len() > 1);
        // The peer may send data on a subflow as soon as it has received this end's code, before this end is notified.
        let confirming = self.subflows.iter().filter(|it| it.stage == Stage::Confirming);
        let joined = confirming.map(|it| it.heard + MIN_ARRIVAL_TIME).max();
        Some(latest.max(joined).unwrap_or(Instant::ZERO))
    }
    fn close_subflows(&mut self, now: Instant) {
        let Phase::Closing { by_peer, .. } = self.phase else { return };
        self.phase = Phase::Closing { step: ClosingStep::Begun, by_peer };
        let key = self.identity.keys.as_ref().map(|keys| keys.peer_key());
        for index in 0..self.subflows.len() {
            let subflow = &mut self.subflows[index];
            let is_established = subflow.stage == Stage::Established;
            if let (Some(key), Some(out)) = (&key, subflow.connection.multipath_options()) {
                out.closing = Options::from_iter([MultipathOption::Close(key.clone()).into()]);
            }
            match subflow.stage {
                Stage::Ended => {}
                _ if is_established || key.is_none() => subflow.connection.close(now),
                // A subflow that has not joined is not part of the connection.
                _ => subflow.connection.abort(now),
            }
            self.collect(now, index, None);
        }
        self.hold_closes(false);
    }
    /// Sets whether a subflow that has received a CloseReq waits with its Close.
    pub(super) fn hold_closes(&mut self, holds: bool) {
        for subflow in &mut self.subflows {
            if let Some(out) = subflow.connection.multipath_options() {
                out.holds_close = holds;
            }
        }
    }
    /// A subflow is over while the connection is being closed.
    pub(super) fn on_subflow_closed(&mut self, now: Instant, error: ConnectionError) {
        let Phase::Closing { step, by_peer } = self.phase else { return };
        let has_others = self.subflows.iter().any(|subflow| !subflow.is_over());
        let is_orderly = matches!(error, ConnectionError::ClosedLocally | ConnectionError::ClosedByPeer);
        // What the peer had sent before it answered arrives before the Reset on the same path. A path that has failed is not
        // waited for, unless it has failed in the other direction only.
        let is_heard = |subflow: &Subflow| now.saturating_since(subflow.heard) < MIN_ARRIVAL_TIME;
        let may_receive =
            |subflow: &Subflow| subflow.is_established() && (subflow.watch.is_alive() || is_heard(subflow));
        let has_receivers = self.subflows.iter().any(may_receive);
        match step {
            ClosingStep::Receiving(_) if !has_receivers => self.finish_closing(now, self.closing_error()),
            ClosingStep::Receiving(_) => {}
            _ if is_orderly && has_receivers => {
                let waited_for = self.subflows.iter().filter(|subflow| may_receive(subflow));
                let timeouts = waited_for.map(|subflow| subflow.watch.timeout());
                let until = now + timeouts.fold(MIN_ARRIVAL_TIME, Duration::max);
                self.phase = Phase::Closing { step: ClosingStep::Receiving(until), by_peer };
            }
            _ if is_orderly => self.finish_closing(now, self.closing_error()),
            _ if !has_others => self.finish_closing(now, error),
            _ => {}
        }
    }
    /// Time at which closing continues without data that are still under way.
    pub(super) fn closing_deadline(&self) -> Instant {
        match self.phase {
            Phase::Closing { step: ClosingStep::Receiving(until), .. } => until,
            _ => self.overtaking_limit().unwrap_or(Instant::FAR_FUTURE),
        }
    }
    /// Ends the connection once data of the peer have had the time to arrive.
    pub(super) fn check_closing(&mut self, now: Instant) {
        if matches!(self.phase, Phase::Closing { step: ClosingStep::Receiving(until), .. } if until <= now) {
            self.finish_closing(now, self.closing_error());
        }
    }
    /// No further data are expected.
    fn finish_closing(&mut self, now: Instant, error: ConnectionError) {
        self.finish(error);
        self.linger(now);
    }
    /// Limits the time for the last packets of the subflows.
    fn linger(&mut self, now: Instant) {
        let has_live = self.subflows.iter().any(|subflow| !subflow.connection.is_drained());
        if !has_live {
            return;
        }
        let is_waiting = self.subflows.iter().any(|subflow| subflow.connection.state() == State::TimeWait);
        // TIMEWAIT answers a repeated Close of the peer.
        let time_wait = if is_waiting { self.config.timers.msl * 2 } else { Duration::ZERO };
        self.expiry = now + LINGER.max(time_wait);
    }

    /// Processes MP_CLOSE on a CloseReq or Close. With another key, the packet closes its subflow only.
    pub(super) fn on_close(&mut self, now: Instant, packet_type: PacketType, key: &OptionBytes) {
        let is_genuine = self.identity.keys.as_ref().is_some_and(|keys| keys.is_own_key(key));
        let is_over = self.phase == Phase::Over;
        if !is_genuine || is_over {
            return;
        }
        if packet_type == PacketType::Close {
            // Other subflows answer their own Close; they carry nothing any more.
            self.finish_closing(now, self.closing_error());
            return;
        }
        let has_begun = matches!(self.phase, Phase::Closing { step, .. } if step != ClosingStep::Finishing);
        if has_begun {
            return;
        }
        self.discard_unsent();
        let by_peer = !matches!(self.phase, Phase::Closing { .. });
        self.phase = Phase::Closing { step: ClosingStep::Answering, by_peer };
        self.limit_closing(now);
        self.hold_closes(true);
        self.begin_closing(now);
    }
    /// The reason for the end of an orderly close: the end that requested it first.
    fn closing_error(&self) -> ConnectionError {
        match self.phase {
            Phase::Closing { by_peer: false, .. } => ConnectionError::ClosedLocally,
            _ => ConnectionError::ClosedByPeer,
        }
    }
    /// Processes MP_FAST_CLOSE: the connection ends at once, and each subflow answers with Reset 13.
    pub(super) fn on_fast_close(&mut self, now: Instant, key: &OptionBytes) {
        let is_genuine = self.identity.keys.as_ref().is_some_and(|keys| keys.is_own_key(key));
        if !is_genuine || self.phase == Phase::Over {
            return;
        }
        self.finish(ConnectionError::Reset(ABRUPT));
        for index in 0..self.subflows.len() {
            self.subflows[index].connection.reset_with(ABRUPT);
            self.collect(now, index, None);
        }
        self.linger(now);
    }
}
