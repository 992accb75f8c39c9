//! Acknowledgements of route replies and the blacklist (RFC 3561 section 6.8), for links in one direction: a
//! request comes over such a link, and the reply does not get back.

use alloc::collections::BTreeMap;

use whimbrel_units::{Duration, Instant};

use crate::routing::Address;

/// The replies of a node that wait for an acknowledgement, and the neighbours that did not send one.
#[derive(Clone, Default, Debug)]
pub(super) struct Replies {
    /// End of the wait, by neighbour.
    awaited: BTreeMap<Address, Instant>,
    /// Time until which the requests of a neighbour are ignored.
    blacklist: BTreeMap<Address, Instant>,
}

impl Replies {
    /// A reply was sent to a neighbour, which has until `until` to acknowledge it.
    pub(super) fn expect(&mut self, neighbour: Address, until: Instant) {
        self.awaited.entry(neighbour).or_insert(until);
    }

    /// A neighbour has acknowledged the replies sent to it.
    pub(super) fn acknowledge(&mut self, neighbour: Address) {
        self.awaited.remove(&neighbour);
        self.blacklist.remove(&neighbour);
    }

    /// The link layer has given up a packet to a neighbour. If a reply waits for its acknowledgement, the
    /// neighbour is blacklisted until `until`.
    pub(super) fn fail(&mut self, neighbour: Address, until: Instant) {
        if self.awaited.remove(&neighbour).is_some() {
            self.blacklist.insert(neighbour, until);
        }
    }

    /// `true` if the requests of a neighbour are ignored.
    pub(super) fn is_blacklisted(&self, now: Instant, neighbour: Address) -> bool {
        self.blacklist.get(&neighbour).is_some_and(|&until| until > now)
    }

    /// Blacklists the neighbours whose wait has ended for `timeout`, and removes those whose time has passed
    /// from the list.
    pub(super) fn expire(&mut self, now: Instant, timeout: Duration) {
        self.blacklist.retain(|_, until| *until > now);
        let Self { awaited, blacklist } = self;
        awaited.retain(|&neighbour, &mut due| {
            if due <= now {
                blacklist.insert(neighbour, now + timeout);
            }
            due > now
        });
    }

    /// The end of the next wait.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.awaited.values().min().copied()
    }
}

#[cfg(test)]
mod tests;
