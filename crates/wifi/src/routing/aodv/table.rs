//! The routing table of AODV and its rules (RFC 3561 sections 6.1, 6.2 and 6.11).
//!
//! Two rules are stricter than the RFC's text, which leaves room for loops (R. van Glabbeek, P. Höfner, W. L.
//! Tan, M. Portmann, "Sequence numbers do not guarantee loop freedom: AODV can yield routing loops", MSWiM
//! 2013): a sequence number never decreases, and a route that becomes invalid always gets a greater number
//! than it had. Every node that routes over this one then has a smaller number than it, so that none of them
//! can offer a route that this node accepts.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use smallvec::SmallVec;
use whimbrel_units::{Duration, Instant};

use crate::routing::Address;

/// `true` if sequence number `a` is fresher than `b`: the signed difference is positive (RFC 3561 section
/// 6.1).
pub(super) fn is_fresher(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// A route.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Route {
    pub(super) next_hop: Address,
    pub(super) hops: u8,
    /// The destination's number; `None` if it is unknown, as for a neighbour that has sent none of its own.
    pub(super) sequence: Option<u32>,
    pub(super) is_valid: bool,
    /// `true` if the route is invalid and under repair by ns-2's rule, with the number and length it had.
    pub(super) is_under_repair: bool,
    /// End of the lifetime of a valid route; deletion of an invalid one.
    pub(super) expires: Instant,
    /// Neighbours that may use the route: they are informed when it breaks.
    pub(super) precursors: SmallVec<[Address; 4]>,
}

impl Route {
    pub(super) fn add_precursor(&mut self, neighbour: Address) {
        if !self.precursors.contains(&neighbour) {
            self.precursors.push(neighbour);
        }
    }
}

/// A route that a message offers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub(super) destination: Address,
    pub(super) next_hop: Address,
    pub(super) hops: u8,
    pub(super) sequence: Option<u32>,
    pub(super) expires: Instant,
}

/// The effect of an [`Offer`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Update {
    /// The offer is not better than the route known.
    Refused,
    /// The table has been updated; next hop and length are as before.
    Same,
    /// The table has a new route.
    New,
}

/// A route that became invalid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Broken {
    pub(super) destination: Address,
    pub(super) sequence: u32,
    pub(super) hops: u8,
    pub(super) precursors: SmallVec<[Address; 4]>,
}

/// The routes of a node by destination.
#[derive(Clone, Default, Debug)]
pub(super) struct Table {
    routes: BTreeMap<Address, Route>,
    /// A time not after the next expiry.
    next_expiry: Option<Instant>,
}

impl Table {
    /// The entry for a destination, invalid ones included.
    pub(super) fn get(&self, destination: Address) -> Option<&Route> {
        self.routes.get(&destination)
    }

    /// The valid route to a destination.
    pub(super) fn valid(&self, destination: Address) -> Option<&Route> {
        self.routes.get(&destination).filter(|route| route.is_valid)
    }

    pub(super) fn valid_mut(&mut self, destination: Address) -> Option<&mut Route> {
        self.routes.get_mut(&destination).filter(|route| route.is_valid)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Address, &Route)> {
        self.routes.iter().map(|(&destination, route)| (destination, route))
    }

    pub(super) fn next_expiry(&self) -> Option<Instant> {
        self.next_expiry
    }

    /// Accepts an offer if it is better than the route known (section 6.2): if it has a fresher number, or
    /// the same number and fewer hops or no valid rival, or if no number is known. A direct link to the
    /// destination is kept.
    pub(super) fn update(&mut self, offer: Offer) -> Update {
        let Offer { destination, next_hop, hops, sequence, expires } = offer;
        self.next_expiry = Some(self.next_expiry.map_or(expires, |next| next.min(expires)));
        let Some(route) = self.routes.get_mut(&destination) else {
            let route = Route {
                next_hop,
                hops,
                sequence,
                is_valid: true,
                is_under_repair: false,
                expires,
                precursors: SmallVec::new(),
            };
            self.routes.insert(destination, route);
            return Update::New;
        };
        let is_direct = route.is_valid && route.next_hop == destination;
        let is_better = match (route.sequence, sequence) {
            (_, None) => !is_direct,
            (None, Some(_)) => true,
            (Some(known), Some(offered)) => {
                let may_be_longer = !route.is_valid && !route.is_under_repair;
                is_fresher(offered, known) || (offered == known && (may_be_longer || hops < route.hops))
            }
        };
        if !is_better {
            // The same route, confirmed.
            if route.is_valid
                && route.next_hop == next_hop
                && (sequence.is_none() || sequence == route.sequence)
            {
                route.expires = route.expires.max(expires);
            }
            return Update::Refused;
        }
        let keeps_link = is_direct && route.sequence.is_none() && next_hop != destination;
        route.sequence = sequence.or(route.sequence);
        route.expires = if route.is_valid { route.expires.max(expires) } else { expires };
        if keeps_link {
            return Update::Same;
        }
        let is_same = route.is_valid && (route.next_hop, route.hops) == (next_hop, hops);
        (route.next_hop, route.hops, route.is_valid) = (next_hop, hops, true);
        route.is_under_repair = false;
        if is_same { Update::Same } else { Update::New }
    }

    /// Extends the lifetime of a valid route.
    pub(super) fn refresh(&mut self, destination: Address, expires: Instant) {
        if let Some(route) = self.valid_mut(destination) {
            route.expires = route.expires.max(expires);
        }
    }

    /// Sets the end of the lifetime of a valid route.
    pub(super) fn set_lifetime(&mut self, destination: Address, expires: Instant) {
        if let Some(route) = self.valid_mut(destination) {
            route.expires = expires;
            self.next_expiry = Some(self.next_expiry.map_or(expires, |next| next.min(expires)));
        }
    }

    /// Makes a route invalid for the time of a repair by ns-2's rule: its number stays. Returns `false` if it
    /// was invalid.
    pub(super) fn suspend(&mut self, destination: Address, delete_at: Instant) -> bool {
        let Some(route) = self.valid_mut(destination) else { return false };
        (route.is_valid, route.is_under_repair, route.expires) = (false, true, delete_at);
        true
    }

    /// `true` if a route is under repair by ns-2's rule.
    pub(super) fn is_under_repair(&self, destination: Address) -> bool {
        self.routes.get(&destination).is_some_and(|route| route.is_under_repair)
    }

    /// Gives an invalid route precursors, in addition to those that it has.
    pub(super) fn keep_precursors(&mut self, destination: Address, precursors: &[Address]) {
        if let Some(route) = self.routes.get_mut(&destination) {
            precursors.iter().for_each(|&precursor| route.add_precursor(precursor));
        }
    }

    /// Makes a route invalid, with a number greater than before and at least `at_least`; kept until
    /// `delete_at`.
    pub(super) fn invalidate(
        &mut self,
        destination: Address,
        at_least: Option<u32>,
        delete_at: Instant,
    ) -> Option<Broken> {
        let route = self.routes.get_mut(&destination).filter(|route| route.is_valid)?;
        route.is_valid = false;
        route.expires = delete_at;
        let incremented = route.sequence.map(|sequence| sequence.wrapping_add(1));
        route.sequence = match (incremented, at_least) {
            (Some(own), Some(other)) if is_fresher(other, own) => Some(other),
            (own, other) => own.or(other),
        };
        self.next_expiry = Some(self.next_expiry.map_or(delete_at, |next| next.min(delete_at)));
        Some(Broken {
            destination,
            // Zero where nothing is known, as in a request.
            sequence: route.sequence.unwrap_or(0),
            hops: route.hops,
            precursors: core::mem::take(&mut route.precursors),
        })
    }

    /// The destinations of the valid routes over a neighbour.
    pub(super) fn over(&self, neighbour: Address) -> Vec<Address> {
        let uses = |(_, route): &(&Address, &Route)| route.is_valid && route.next_hop == neighbour;
        self.routes.iter().filter(uses).map(|(&destination, _)| destination).collect()
    }

    /// Makes the routes whose lifetime has passed invalid and deletes the invalid ones whose time has passed.
    /// Returns the destinations of the former.
    pub(super) fn expire(&mut self, now: Instant, delete_period: Duration) -> Vec<Address> {
        if self.next_expiry.is_none_or(|at| at > now) {
            return Vec::new();
        }
        let mut expired = Vec::new();
        self.routes.retain(|&destination, route| {
            if route.expires > now {
                return true;
            }
            if route.is_valid {
                expired.push(destination);
            }
            route.is_valid
        });
        for &destination in &expired {
            // An expired route counts as broken (section 6.1), but is not reported: it was not in use.
            self.invalidate(destination, None, now + delete_period);
        }
        self.next_expiry = self.routes.values().map(|route| route.expires).min();
        expired
    }
}
