//! The multipath connection's view of a subflow.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::FeatureNumber;
use whimbrel_wire::{PacketType, Reset, SeqNo};

use super::close::{Closing, Ending};
use super::subflow::{IncomingOptions, OutgoingOptions};
use super::timer::Timer;
use super::{Connection, State};
use crate::ConnectionError;

impl Connection {
    /// Makes this connection, whose handshake has not begun, a subflow.
    pub(crate) fn become_subflow(&mut self) {
        self.subflow.enable();
        self.cx.features.negotiation.leave_to_others(FeatureNumber::MultipathCapable);
    }

    /// The peer does not use the multipath extensions: this is a regular connection.
    pub(crate) fn leave_multipath(&mut self) {
        self.subflow.disable();
    }

    /// The multipath options for sent packets; `None` if this is not a subflow.
    pub(crate) fn multipath_options(&mut self) -> Option<&mut OutgoingOptions> {
        self.subflow.outgoing()
    }

    /// Removes the multipath options of the packet just processed, if it was valid.
    pub(crate) fn take_multipath_options(&mut self) -> Option<IncomingOptions> {
        self.subflow.take_incoming()
    }

    /// Time at which a datagram of `size` bytes may leave, if it is queued then: `now` at the earliest,
    /// [`Instant::FAR_FUTURE`] if that depends on the peer.
    pub(crate) fn send_time(&mut self, now: Instant, size: usize) -> Instant {
        let is_held = self.fx.timers.is_running(Timer::Constraint)
            || self.congestion.awaits_ack_vectors(&self.cx)
            || self.mtu.is_on_trial(size);
        let is_open = self.cx.state.may_send_data()
            && !self.closing.is_requested()
            && !self.freezing.is_frozen()
            && !self.dropped.has_peer_stopped()
            && self.fx.queue.is_empty();
        if !is_open
            || is_held
            || !self.cx.sequence.may_send_data()
            || !self.fits_beside_constants(now, size)
            || size > self.mtu.max_datagram()
        {
            return Instant::FAR_FUTURE;
        }
        if self.congestion.may_send(now, Some(size)) { now } else { self.congestion.send_at() }
    }

    /// The smoothed round-trip time.
    pub(crate) fn rtt_estimate(&self) -> Option<Duration> {
        self.congestion.sender_rtt().or(self.cx.rtt.best())
    }

    /// Requests a packet from the peer, by a Sync.
    pub(crate) fn probe_peer(&mut self) {
        if self.cx.state.may_send_data() {
            let newest = self.cx.sequence.numbers.gsr();
            self.fx.outbound.syncs().ask(newest);
        }
    }

    /// Acknowledges what the peer has sent, although nothing else requires it.
    pub(crate) fn acknowledge(&mut self) {
        self.fx.outbound.request_ack();
    }

    /// Ends the connection with that Reset. A connection that the peer has just reset answers with it.
    pub(crate) fn reset_with(&mut self, reset: Reset) {
        if self.closing.is_over() {
            if self.cx.state == State::TimeWait {
                let newest = self.cx.sequence.numbers.gsr();
                self.fx.outbound.owe_reset(reset, newest);
            }
            return;
        }
        let may_reset = self.handshake.validation.allows(PacketType::Reset);
        if self.cx.state.is_synchronized() && may_reset {
            let ending = Closing::reset(&self.cx, &mut self.fx, reset);
            self.finish(ending);
        } else {
            self.finish(Ending::Silent(ConnectionError::ResetLocally(reset)));
        }
    }

    /// Removes the datagram that was queued last and has not left, without a report. Returns `false` if it
    /// has left.
    pub(crate) fn withdraw_datagram(&mut self) -> bool {
        self.fx.queue.withdraw()
    }

    /// The largest datagram that may be queued, in bytes.
    pub(crate) fn max_datagram(&self) -> usize {
        self.mtu.max_datagram()
    }

    /// The greatest Acknowledgement Number received.
    pub(crate) fn greatest_acknowledged(&self) -> SeqNo {
        self.cx.sequence.numbers.gar()
    }

    /// Number of valid packets received.
    pub(crate) fn valid_packets(&self) -> u64 {
        self.fx.statistics.packets_received
    }
}
