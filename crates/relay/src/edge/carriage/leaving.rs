//! Datagrams that are about to leave: one, or several commands and values together.

use bytes::Bytes;
use whimbrel_net::Mark;
use whimbrel_units::Instant;

use super::{Carriage, Handed, OVERHEAD, WEIGHT};
use crate::edge::bundle::{BEFORE_ALL, BEFORE_EACH, MOST};
use crate::edge::commands::NUMBER;
use crate::edge::lanes::Next;
use crate::edge::ledger::streams::StreamId;
use crate::edge::parts::Divider;
use crate::edge::stream::Lane;

/// A datagram that is about to leave.
#[derive(Debug)]
pub(super) struct Leaving {
    pub(super) next: Next,
    /// A command as it leaves.
    numbered: Option<Bytes>,
}

impl Leaving {
    /// The datagram of the connection.
    pub(super) fn bytes(&self) -> &Bytes {
        self.numbered.as_ref().unwrap_or(&self.next.waiting.bytes)
    }

    /// Hands it to the transport, in parts where it does not fit; parts of a command have no number.
    pub(super) fn hand<E>(
        &mut self,
        divider: &mut Divider,
        transport: &mut impl FnMut(Bytes, Option<Instant>, Mark) -> Result<Handed, E>,
    ) -> Result<Handed, E> {
        let Next { waiting, deadline, lane, .. } = &self.next;
        if let Some(command) = &self.numbered {
            match transport(command.clone(), Some(*deadline), waiting.mark)? {
                Handed::TooLarge(_) => self.numbered = None,
                handed => return Ok(handed),
            }
        }
        divider.hand(*lane, &waiting.bytes, *deadline, waiting.mark, transport)
    }
}

impl Carriage {
    /// Collects what leaves with `first`: commands and values that wait, as far as a bundle has room.
    pub(super) fn gather(&mut self, now: Instant, first: Next) {
        let (mut next, mut commands) = (Some(first), 0);
        let mut room = self.bundle_room.saturating_sub(BEFORE_ALL);
        while let Some(taken) = next {
            let lane = taken.lane;
            let numbered = match lane {
                Lane::Command => self.outbox.number(&taken.waiting.bytes, commands),
                _ => None,
            };
            commands += u16::from(lane == Lane::Command);
            let leaving = Leaving { next: taken, numbered };
            room = room.saturating_sub(BEFORE_EACH + leaving.bytes().len());
            self.leaving.push(leaving);
            self.queue.hold_commands(self.outbox.is_full(commands));
            let is_open = lane < Lane::Media && self.leaving.len() < MOST;
            let left = room.checked_sub(BEFORE_EACH + NUMBER).filter(|_| is_open);
            next = left.and_then(|left| self.queue.pop_with(now, left));
        }
    }

    /// The transport has accepted what was leaving.
    pub(super) fn on_left(&mut self, now: Instant) {
        let mut overhead = OVERHEAD;
        for Leaving { next, numbered } in self.leaving.drain(..) {
            let Next { waiting, deadline, lane, .. } = &next;
            let waited = now.saturating_since(waiting.arrived);
            if *lane != Lane::Bulk {
                self.wait += (waited.as_secs_f64() - self.wait) * WEIGHT;
            }
            if *lane < Lane::Media {
                self.urgent.0 += waiting.bytes.len() + std::mem::take(&mut overhead);
            }
            if let Some(bytes) = numbered {
                self.outbox.on_handed(now, bytes, *deadline, self.rtt);
            }
            self.ledger.on_handed_of(StreamId::of(&waiting.bytes, *lane), waited);
        }
    }

    /// Returns datagrams that could not be sent yet to the queue.
    pub(super) fn put_back(&mut self) {
        while let Some(Leaving { next, .. }) = self.leaving.pop() {
            self.queue.put_back(next);
        }
    }
}
