//! Route replies (RFC 3561 sections 6.6 to 6.8).

use whimbrel_units::Instant;

use super::table::Offer;
use super::{Aodv, AodvMessage, AodvRule, RouteReply, RouteRequest};
use crate::Random;
use crate::routing::Address;

impl<R: Random> Aodv<R> {
    /// Sends a reply to the next hop towards its originator. Over links that may lead in one direction only,
    /// it requests an acknowledgement (section 6.8).
    fn unicast_reply(&mut self, now: Instant, next_hop: Address, mut reply: RouteReply) {
        reply.is_acknowledged = self.config.unidirectional_links;
        if reply.is_acknowledged {
            self.replies.expect(next_hop, now + self.config.next_hop_wait());
        }
        self.unicast(now, next_hop, AodvMessage::Reply(reply));
    }

    /// Answers a request for a destination that this node has a route to (section 6.6.2).
    pub(super) fn answer_for(
        &mut self,
        now: Instant,
        from: Address,
        request: &RouteRequest,
        reply: RouteReply,
        next_hop: Address,
    ) {
        if let Some(route) = self.table.valid_mut(request.destination) {
            route.add_precursor(from);
        }
        let reverse = self.table.valid_mut(request.originator).map(|route| {
            route.add_precursor(next_hop);
            (route.sequence, route.hops, route.expires)
        });
        self.send_reply(now, reply);
        if let Some((Some(sequence), hops, expires)) = reverse
            && request.gratuitous_reply
        {
            let gratuitous = RouteReply {
                hops,
                destination: request.originator,
                destination_sequence: sequence,
                originator: request.destination,
                lifetime: expires - now,
                is_acknowledged: false,
            };
            self.send_reply(now, gratuitous);
        }
    }

    /// Sends a reply of this node towards its originator.
    pub(super) fn send_reply(&mut self, now: Instant, reply: RouteReply) {
        if let Some(next_hop) = self.table.valid(reply.originator).map(|route| route.next_hop) {
            self.stats.replies += 1;
            self.unicast_reply(now, next_hop, reply);
        }
    }

    /// Processes a route reply (section 6.7).
    pub(super) fn handle_reply(&mut self, now: Instant, from: Address, mut reply: RouteReply) {
        self.offer_neighbour(now, from, None, self.config.active_route_timeout);
        if reply.is_acknowledged {
            self.unicast(now, from, AodvMessage::ReplyAck);
        }
        reply.hops = reply.hops.saturating_add(1);
        let accepted = self.offer(
            now,
            Offer {
                destination: reply.destination,
                next_hop: from,
                hops: reply.hops,
                sequence: Some(reply.destination_sequence),
                expires: now + reply.lifetime,
            },
        );
        if !accepted && self.config.replies == AodvRule::Ns2 {
            return;
        }
        if accepted && reply.originator == self.address {
            self.searches.measure(now, reply.destination, reply.hops);
        }
        if !accepted {
            // By the text of the RFC the reply ends here, and a search whose reply confirms a route that is
            // in use fails. The reply is forwarded with the route of this node, which is at least as good.
            let Some(route) = self.table.valid(reply.destination) else { return };
            let Some(sequence) = route.sequence else { return };
            (reply.hops, reply.destination_sequence) = (route.hops, sequence);
            reply.lifetime = route.expires - now;
        }
        if reply.originator == self.address {
            return;
        }
        let expires = now + self.config.active_route_timeout;
        let Some(reverse) = self.table.valid_mut(reply.originator) else { return };
        reverse.expires = reverse.expires.max(expires);
        let towards_originator = reverse.next_hop;
        if self.config.errors == AodvRule::Rfc3561 {
            reverse.add_precursor(from);
        }
        for destination in [reply.destination, from] {
            if let Some(route) = self.table.valid_mut(destination) {
                route.add_precursor(towards_originator);
            }
        }
        self.unicast_reply(now, towards_originator, reply);
    }
}
