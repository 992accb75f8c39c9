//! The end of a multipath connection, once it is certain.

use whimbrel_units::{Duration, Instant};

use super::MultipathConnection;
use super::context::{ClosingStep, Phase};
use crate::multipath::MultipathEvent;
use crate::multipath::subflow::Subflow;
use crate::{ConnectionError, State};

/// Time for which the subflows may complete their closing after the connection has ended.
const LINGER: Duration = Duration::from_secs(3);
/// Lower bound on the time for which data under way on another path are waited for (RFC 6298, Section 2.4):
/// the round-trip time of a path that this end has not used lately may have grown.
pub(super) const MIN_ARRIVAL_TIME: Duration = Duration::from_secs(1);

impl MultipathConnection {
    /// Ends the connection for the application.
    pub(super) fn finish(&mut self, error: ConnectionError) {
        if self.cx.is_over() {
            return;
        }
        self.cx.phase = Phase::Over;
        self.subflows.hold_closes(false);
        self.discard_unsent();
        // Data waiting for predecessors is delivered.
        self.release(Instant::FAR_FUTURE);
        self.fx.events.push(MultipathEvent::Closed(error));
    }

    /// Drops datagrams that the paths do not carry any more.
    pub(super) fn fit_datagrams(&mut self) {
        let limit = self.subflows.max_datagram().unwrap_or(self.cx.config.max_datagram);
        self.fx.sending.drop_larger_than(limit);
    }

    /// Drops the datagrams that have not left, and reports it.
    pub(super) fn discard_unsent(&mut self) {
        for subflow in self.subflows.iter_mut() {
            if let Some(staged) = subflow.staged.take() {
                subflow.connection.withdraw_datagram();
                self.fx.sending.take_back(staged);
            }
        }
        self.fx.sending.clear();
        self.fx.sending.wake = Instant::FAR_FUTURE;
        self.fx.report();
    }

    /// Reports that nothing is left.
    pub(super) fn drain(&mut self) {
        if !self.fx.events.is_drained {
            self.fx.events.is_drained = true;
            self.fx.expiry = Instant::FAR_FUTURE;
            self.fx.events.push(MultipathEvent::Drained);
        }
    }

    /// A subflow has ended while the connection is being closed.
    pub(super) fn on_subflow_closed(&mut self, now: Instant, error: ConnectionError) {
        let Phase::Closing { step, by_peer } = self.cx.phase else { return };
        let has_others = self.subflows.has_live();
        let is_orderly = matches!(error, ConnectionError::ClosedLocally | ConnectionError::ClosedByPeer);
        // Data that the peer sent before answering arrives before the Reset on the same path. A path that has
        // failed is not waited for, unless it has failed in the other direction only.
        let is_heard = |subflow: &Subflow| now.saturating_since(subflow.heard) < MIN_ARRIVAL_TIME;
        let may_receive =
            |subflow: &Subflow| subflow.may_receive() && (subflow.watch.is_alive() || is_heard(subflow));
        let has_receivers = self.subflows.iter().any(may_receive);
        match step {
            ClosingStep::Receiving(_) if !has_receivers => self.finish_closing(now, self.cx.closing_error()),
            ClosingStep::Receiving(_) => {}
            _ if is_orderly && has_receivers => {
                let waited_for = self.subflows.iter().filter(|subflow| may_receive(subflow));
                let timeouts = waited_for.map(|subflow| subflow.watch.timeout());
                let until = now + timeouts.fold(MIN_ARRIVAL_TIME, Duration::max);
                self.cx.phase = Phase::Closing { step: ClosingStep::Receiving(until), by_peer };
            }
            _ if is_orderly => self.finish_closing(now, self.cx.closing_error()),
            _ if !has_others => self.finish_closing(now, error),
            _ => {}
        }
    }

    /// No further data is expected.
    pub(super) fn finish_closing(&mut self, now: Instant, error: ConnectionError) {
        self.finish(error);
        self.linger(now);
    }

    /// Limits the time for the last packets of the subflows.
    pub(super) fn linger(&mut self, now: Instant) {
        let has_live = self.subflows.iter().any(|subflow| !subflow.connection.is_drained());
        if !has_live {
            return;
        }
        let is_waiting = self.subflows.iter().any(|subflow| subflow.connection.state() == State::TimeWait);
        // TIMEWAIT answers a repeated Close of the peer.
        let time_wait = if is_waiting { self.cx.config.timers.msl * 2 } else { Duration::ZERO };
        self.fx.expiry = now + LINGER.max(time_wait);
    }
}
