//! The end of a multipath connection (RFC 9897, Sections 3.2.3, 3.2.11 and 3.5).

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::multipath::MultipathOption;
use whimbrel_wire::{OptionBytes, Options, PacketType, Reset, ResetCode};

use super::{MultipathConnection, Phase};
use crate::multipath::SubflowId;
use crate::multipath::subflow::Stage;
use crate::{ConnectionError, State};

/// Time for which the subflows may complete their closing after the connection is over.
const LINGER: Duration = Duration::from_secs(3);
/// Time limit of closing, in maximum segment lifetimes (RFC 4340, Section 8.3).
const LIMIT_IN_MSL: u64 = 4;
/// Reset 13.
const ABRUPT: Reset = Reset::new(ResetCode::AbruptMultipathTermination);

impl MultipathConnection {
    /// Closes the connection on all subflows, once the send queue is empty and no data are under way on any of several subflows.
    pub fn close(&mut self, now: Instant) {
        match self.phase {
            Phase::Closing { .. } | Phase::Over => {}
            Phase::Opening if self.sending.is_empty() => self.abort(now),
            _ if self.subflows.iter().all(|subflow| subflow.is_over()) => {
                self.finish(ConnectionError::ClosedLocally);
                self.drain();
            }
            _ => {
                self.phase = Phase::Closing { has_begun: false, by_peer: false };
                let longest = self.config.timers.msl * LIMIT_IN_MSL;
                let limit = self.config.timers.close.map_or(longest, |limit| limit.min(longest));
                self.expiry = self.expiry.min(now + limit);
            }
        }
    }
    /// Ends the connection at once, on all subflows, and discards the send queue.
    pub fn abort(&mut self, now: Instant) {
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
                subflow.connection.reset_with(ABRUPT);
            } else {
                subflow.connection.abort(now);
            }
            self.collect(now, index, None);
        }
        self.linger(now);
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

    /// Begins to close the subflows, if that is due.
    pub(super) fn begin_closing(&mut self, now: Instant) {
        let is_idle = self.sending.is_empty() && self.subflows.iter().all(|subflow| subflow.staged.is_none());
        let is_due = matches!(self.phase, Phase::Closing { has_begun: false, .. });
        if is_due && is_idle && !self.would_overtake_data() {
            self.close_subflows(now, false);
        }
    }
    /// `true` if a Close on one subflow could arrive before data on another. The first Close ends the connection at the peer
    /// (Section 3.2.11), which then has no use for what is still under way. A path that fails is not waited for.
    fn would_overtake_data(&self) -> bool {
        let open = || self.subflows.iter().filter(|subflow| subflow.is_open());
        open().count() > 1 && open().any(|subflow| subflow.watch.has_data_under_way())
    }
    fn close_subflows(&mut self, now: Instant, by_peer: bool) {
        self.phase = Phase::Closing { has_begun: true, by_peer };
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
    }
    /// The first subflow has been closed.
    pub(super) fn finish_closing(&mut self, now: Instant, error: ConnectionError) {
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
        let was_requested = matches!(self.phase, Phase::Closing { has_begun: true, .. });
        if !was_requested {
            self.sending.clear();
            self.sending.report(&mut self.events.queue);
            self.close_subflows(now, true);
        }
    }
    pub(super) fn closing_error(&self) -> ConnectionError {
        match self.phase {
            Phase::Closing { has_begun: true, by_peer: false } => ConnectionError::ClosedLocally,
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
