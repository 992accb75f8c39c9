//! Outcomes of one concern on which others have to act.

use core::ops::ControlFlow::{self, Break, Continue};

use whimbrel_units::Instant;
use whimbrel_wire::{PacketType, Reset};

use super::close::{Closing, Ending};
use super::freeze::FreezeChange;
use super::liveness::Liveness;
use super::reception::hand_over;
use super::{Connection, State};
use crate::ConnectionError;

impl Connection {
    /// Ends the connection: only a Reset, if one is pending, is still sent.
    pub(super) fn finish(&mut self, ending: Ending) {
        self.cx.state = if let Ending::TimeWait(..) = ending { State::TimeWait } else { State::Closed };
        self.fx.timers.stop_all();
        self.fx.outbound.stop();
        self.fx.queue.clear(&mut self.fx.events);
        // All data that wait for preceding ones are delivered at once.
        if let Some(resequencer) = &mut self.resequencer {
            while let Some((_, waiting)) = resequencer.next_delivered(Instant::FAR_FUTURE) {
                if let Some(event) = waiting.event {
                    hand_over(&mut self.fx, event);
                }
            }
        }
        self.closing.finish(&mut self.fx, ending);
    }

    /// Resets the connection because of a packet of the peer, if that requires a Reset.
    pub(super) fn reset_for(&mut self, reset: Option<Reset>) -> ControlFlow<()> {
        let Some(reset) = reset else { return Continue(()) };
        let ending = Closing::reset(&self.cx, &mut self.fx, reset);
        self.finish(ending);
        Break(())
    }

    /// Aborts the connection: sends Reset 2, "Aborted", if the peer may know of the connection.
    pub(super) fn abort_with(&mut self, error: ConnectionError) {
        let may_reset = self.handshake.validation.allows(PacketType::Reset);
        if let Some(ending) = self.closing.abort(&self.cx, &mut self.fx, may_reset, error) {
            self.finish(ending);
        }
    }

    /// Starts or stops holding data.
    pub(super) fn on_freeze_change(&mut self, now: Instant, change: FreezeChange) {
        match change {
            FreezeChange::None => return,
            FreezeChange::Frozen => return self.congestion.on_freeze(now),
            FreezeChange::Unfrozen => self.congestion.on_unfreeze(now),
            FreezeChange::QuietEnded => {}
        }
        // Resumes what was suspended during silence.
        if Liveness::restart(now, &self.cx, &mut self.fx) {
            self.cx.sequence.on_valid(now);
        }
        self.mtu.resume(now, &mut self.fx);
    }

    /// Adopts the size of datagrams that the path carries, if it has changed.
    pub(super) fn resize(&mut self, now: Instant, size: Option<usize>) {
        if let Some(size) = size {
            let size = self.mtu.limit(&self.cx, &mut self.fx, size);
            self.congestion.on_packet_size(now, size);
        }
    }
}
