//! The end of a multipath connection (RFC 9897, Sections 3.2.3, 3.2.11 and 3.5).

use whimbrel_units::Instant;
use whimbrel_wire::option::multipath::MultipathOption;
use whimbrel_wire::{DccpOption, OptionBytes, Options, PacketType, Reset, ResetCode};

use super::MultipathConnection;
use super::context::{ClosingStep, Phase};
use super::ending::MIN_ARRIVAL_TIME;
use crate::ConnectionError;
use crate::multipath::SubflowId;
use crate::multipath::subflow::{Stage, Subflow};

/// Reset 13.
const ABRUPT: Reset = Reset::new(ResetCode::AbruptMultipathTermination);

impl MultipathConnection {
    /// Closes the connection on all subflows, once the send queue is empty and no data is under way on any
    /// of several subflows. Data of the peer that was under way on any subflow when it answers is delivered
    /// before [`MultipathEvent::Closed`]; those in its send queue are not sent, as in a [connection over one
    /// path](crate::Connection::close).
    ///
    /// [`MultipathEvent::Closed`]: crate::multipath::MultipathEvent::Closed
    pub fn close(&mut self, now: Instant) {
        match self.cx.phase {
            Phase::Closing { .. } | Phase::Over => {}
            Phase::Opening if self.fx.sending.is_empty() => self.abort(now),
            _ if !self.subflows.has_live() => {
                self.finish(ConnectionError::ClosedLocally);
                self.drain();
            }
            _ => {
                self.cx.phase = Phase::Closing { step: ClosingStep::Finishing, by_peer: false };
                self.fx.expiry = self.fx.expiry.min(now + self.cx.closing_limit());
            }
        }
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
        if self.cx.is_over() {
            return;
        }
        let option: Option<DccpOption> = self.cx.with_peer_key(MultipathOption::FastClose);
        // The reason is reported before the subflows' ends.
        self.finish(ConnectionError::AbortedLocally);
        for index in 0..self.subflows.len() {
            let subflow = &mut self.subflows[index];
            if let (Some(option), true) = (&option, subflow.is_established()) {
                if let Some(out) = subflow.connection.multipath_options() {
                    out.reset = Options::from_iter([option.clone()]);
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

    /// Closes one subflow in order; the connection continues on the others. Returns `false` if it does not
    /// exist.
    pub fn close_subflow(&mut self, now: Instant, subflow: SubflowId) -> bool {
        let Some(index) = self.subflows.place(subflow) else { return false };
        self.subflows[index].connection.close(now);
        self.collect(now, index, None);
        true
    }

    /// Ends one subflow without a packet, because its address no longer exists. The connection continues on
    /// the others, or waits for one to join. Returns `false` if it does not exist.
    pub fn abandon_subflow(&mut self, now: Instant, subflow: SubflowId) -> bool {
        let Some(index) = self.subflows.place(subflow) else { return false };
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

    /// Time from which a Close on one subflow cannot arrive before data on another. The first Close ends the
    /// connection at the peer (Section 3.2.11), which then has no use for what is still under way. Without an
    /// acknowledgement, data count as lost after a retransmission timeout. A subflow whose join is almost
    /// complete is waited for, too. `None` unless the connection is to be closed next.
    fn overtaking_limit(&self) -> Option<Instant> {
        let is_meant = match self.cx.phase {
            Phase::Closing { step: ClosingStep::Finishing, .. } => {
                let has_staged = self.subflows.iter().any(|subflow| subflow.staged.is_some());
                if has_staged || !self.fx.sending.is_empty() {
                    return None;
                }
                Subflow::is_open
            }
            // A subflow on which the CloseReq has arrived is no longer open.
            Phase::Closing { step: ClosingStep::Answering, .. } => Subflow::is_established,
            _ => return None,
        };
        let limits = self.subflows.iter().filter(|it| is_meant(it)).map(|it| it.watch.arrival_limit());
        // A subflow that only the peer knows to be complete is closed, too.
        let closes_several = self.subflows.iter().filter(|it| it.may_receive()).nth(1).is_some();
        let latest = limits.max().filter(|_| closes_several);
        // The peer may send data on a subflow as soon as it has received this end's code, before this end is
        // notified.
        let confirming = self.subflows.iter().filter(|it| it.stage == Stage::Confirming);
        let joined = confirming.map(|it| it.heard + MIN_ARRIVAL_TIME).max();
        Some(latest.max(joined).unwrap_or(Instant::ZERO))
    }

    fn close_subflows(&mut self, now: Instant) {
        let Phase::Closing { by_peer, .. } = self.cx.phase else { return };
        self.cx.phase = Phase::Closing { step: ClosingStep::Begun, by_peer };
        let option: Option<DccpOption> = self.cx.with_peer_key(MultipathOption::Close);
        for index in 0..self.subflows.len() {
            let subflow = &mut self.subflows[index];
            if let (Some(option), Some(out)) = (&option, subflow.connection.multipath_options()) {
                out.closing = Options::from_iter([option.clone()]);
            }
            match subflow.stage {
                Stage::Ended => {}
                _ if subflow.may_receive() || option.is_none() => subflow.connection.close(now),
                // A subflow that has not joined is not part of the connection.
                _ => subflow.connection.abort(now),
            }
            self.collect(now, index, None);
        }
        self.subflows.hold_closes(false);
    }

    /// Time at which closing continues without data that are still under way.
    pub(super) fn closing_deadline(&self) -> Instant {
        match self.cx.phase {
            Phase::Closing { step: ClosingStep::Receiving(until), .. } => until,
            _ => self.overtaking_limit().unwrap_or(Instant::FAR_FUTURE),
        }
    }

    /// Ends the connection once data of the peer have had the time to arrive.
    pub(super) fn check_closing(&mut self, now: Instant) {
        if matches!(self.cx.phase, Phase::Closing { step: ClosingStep::Receiving(until), .. } if until <= now)
        {
            self.finish_closing(now, self.cx.closing_error());
        }
    }

    /// Processes MP_CLOSE on a CloseReq or Close. With another key, the packet closes its subflow only.
    pub(super) fn on_close(&mut self, now: Instant, packet_type: PacketType, key: &OptionBytes) {
        if !self.cx.may_end_by(key) {
            return;
        }
        if packet_type == PacketType::Close {
            // Other subflows answer their own Close; they carry nothing any more.
            self.finish_closing(now, self.cx.closing_error());
            return;
        }
        let has_begun =
            matches!(self.cx.phase, Phase::Closing { step, .. } if step != ClosingStep::Finishing);
        if has_begun {
            return;
        }
        self.discard_unsent();
        let by_peer = !matches!(self.cx.phase, Phase::Closing { .. });
        self.cx.phase = Phase::Closing { step: ClosingStep::Answering, by_peer };
        self.fx.expiry = self.fx.expiry.min(now + self.cx.closing_limit());
        self.subflows.hold_closes(true);
        self.begin_closing(now);
    }

    /// Processes MP_FAST_CLOSE: the connection ends at once, and each subflow answers with Reset 13.
    pub(super) fn on_fast_close(&mut self, now: Instant, key: &OptionBytes) {
        if !self.cx.may_end_by(key) {
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
