//! The inputs of the agent, and route requests (RFC 3561 section 6.5).

use whimbrel_units::{Duration, Instant};

use super::table::{Offer, is_fresher};
use super::{Aodv, AodvMessage, AodvRule, LocalRepair, RouteError, RouteReply, RouteRequest};
use crate::Random;
use crate::routing::{
    Address, DataPacket, DiscardCause, ForwardedPacket, RouteEvent, RoutingAgent, Transmit,
};

impl<R: Random> Aodv<R> {
    /// Processes a route request (section 6.5).
    fn handle_request(&mut self, now: Instant, from: Address, mut request: RouteRequest) {
        if self.replies.is_blacklisted(now, from) {
            // A reply would not reach this neighbour (section 6.8).
            return;
        }
        self.offer_neighbour(now, from, None, self.config.active_route_timeout);
        let name = (request.originator, request.id);
        if request.originator == self.address || self.seen.contains_key(&name) {
            return;
        }
        let kept_until = now + self.config.path_discovery_time();
        self.seen.insert(name, kept_until);
        self.seen_order.push_back((kept_until, name));
        request.hops = request.hops.saturating_add(1);
        // The reverse route lives until the reply has passed.
        let node_time = self.config.node_traversal_time;
        let minimal = match self.config.lifetimes {
            AodvRule::Rfc3561 => {
                (self.config.net_traversal_time() * 2).saturating_sub(node_time * 2 * u64::from(request.hops))
            }
            AodvRule::Ns2 if self.searches.contains(request.originator) => self.config.active_route_timeout,
            // REV_ROUTE_LIFE.
            AodvRule::Ns2 => Duration::from_secs(6),
        };
        self.offer(
            now,
            Offer {
                destination: request.originator,
                next_hop: from,
                hops: request.hops,
                sequence: Some(request.originator_sequence),
                expires: now + minimal,
            },
        );
        if request.destination == self.address {
            // The destination's number is at least the request's (section 6.1).
            request.destination_sequence.into_iter().for_each(|wanted| self.catch_up(wanted));
            if self.config.replies == AodvRule::Ns2 {
                self.advance_sequence(now);
            }
            let reply = RouteReply {
                hops: 0,
                destination: self.address,
                destination_sequence: self.sequence,
                originator: request.originator,
                lifetime: self.config.my_route_timeout,
                is_acknowledged: false,
            };
            return self.send_reply(now, reply);
        }
        let known = self.table.get(request.destination).cloned();
        if let Some(route) = &known
            && let Some(sequence) = route.sequence
        {
            let is_fresh = request.destination_sequence.is_none_or(|wanted| !is_fresher(wanted, sequence));
            // A route over the neighbour that asks leads back.
            let leads_on = route.next_hop != from || self.config.replies == AodvRule::Ns2;
            let is_known = route.is_valid || route.is_under_repair;
            if is_known && is_fresh && !request.destination_only && leads_on {
                let lifetime = route.expires.saturating_since(now);
                let lifetime = match self.config.replies {
                    AodvRule::Rfc3561 => lifetime,
                    // ns-2's lifetime of a route under repair is a negative number without its sign.
                    AodvRule::Ns2 if route.is_under_repair => self.config.delete_period,
                    AodvRule::Ns2 => Duration::from_secs(lifetime.as_millis() / 1_000),
                };
                let reply = RouteReply {
                    hops: route.hops,
                    destination: request.destination,
                    destination_sequence: sequence,
                    originator: request.originator,
                    lifetime,
                    is_acknowledged: false,
                };
                return self.answer_for(now, from, &request, reply, route.next_hop);
            }
            // Sent on with the freshest number known, so that no node answers with an older one.
            if request.destination_sequence.is_none_or(|wanted| is_fresher(sequence, wanted)) {
                request.destination_sequence = Some(sequence);
            }
        }
        if request.ttl > 1 {
            request.ttl -= 1;
            self.stats.forwarded_requests += 1;
            self.broadcast(now, AodvMessage::Request(request));
        }
    }
}

impl<R: Random> RoutingAgent for Aodv<R> {
    type Message = AodvMessage;

    fn address(&self) -> Address {
        self.address
    }

    fn handle_packet(&mut self, now: Instant, from: Address, message: AodvMessage) {
        if from == self.address {
            return;
        }
        if let Some(silence) = self.neighbours.get_mut(&from) {
            // Any message shows that the link is up.
            *silence = (*silence).max(now + self.config.neighbour_timeout());
        }
        match message {
            AodvMessage::Request(request) => self.handle_request(now, from, request),
            AodvMessage::Reply(reply) => self.handle_reply(now, from, reply),
            AodvMessage::Error(error) => self.handle_error(now, from, &error),
            AodvMessage::ReplyAck => self.replies.acknowledge(from),
            AodvMessage::Hello { sequence, lifetime } => {
                self.offer_neighbour(now, from, Some(sequence), lifetime);
                // The link is up even if the number is older than the copy of it here.
                self.offer_neighbour(now, from, None, lifetime);
                if self.config.hellos {
                    self.neighbours.insert(from, now + lifetime.max(self.config.neighbour_timeout()));
                }
            }
        }
        self.handle_timeout(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(&(until, name)) = self.seen_order.front()
            && until <= now
        {
            self.seen_order.pop_front();
            self.seen.remove(&name);
        }
        while let Some(neighbour) =
            self.neighbours.iter().find(|&(_, &silence)| silence <= now).map(|(&neighbour, _)| neighbour)
        {
            self.lose_neighbour(now, neighbour);
        }
        self.replies.expire(now, self.config.blacklist_timeout());
        if self.next_expiry().is_some_and(|at| at <= now) {
            for destination in self.table.expire(now, self.config.delete_period) {
                self.events.push_back(RouteEvent::Remove { destination });
            }
        }
        while let Some(destination) = self.searches.due(now) {
            self.search(now, destination);
        }
        if self.next_hello.is_some_and(|at| at <= now) {
            self.hello(now);
        }
        self.buffer.expire(now, &mut self.events);
    }

    fn handle_unrouted(&mut self, now: Instant, packet: DataPacket) {
        let DataPacket { packet: number, source, destination, .. } = packet;
        if self.table.valid(destination).is_some() {
            // The route appeared after the host looked.
            self.events.push_back(RouteEvent::Forward { packet: number });
            return;
        }
        if self.table.is_under_repair(destination) && source != self.address {
            let hops = self.table.get(destination).map(|route| route.hops);
            self.buffer.push(now, packet, &mut self.events);
            if !self.searches.contains(destination) {
                self.searches.begin(&self.config, now, destination, hops);
            }
        } else if source == self.address || self.searches.is_under_repair(destination) {
            let hops = self.table.get(destination).map(|route| route.hops);
            self.buffer.push(now, packet, &mut self.events);
            self.searches.begin(&self.config, now, destination, hops);
        } else {
            // Case ii of section 6.11. The neighbour that sent the packet is unknown here: all are informed.
            let cause = DiscardCause::NoRoute;
            self.events.push_back(RouteEvent::Discard { packet: number, cause });
            let sequence = self.table.get(destination).and_then(|route| route.sequence).unwrap_or(0);
            let unreachable = [(destination, sequence)].into();
            self.send_own_error(now, RouteError { no_delete: false, unreachable });
        }
        self.handle_timeout(now);
    }

    fn handle_link_failure(&mut self, now: Instant, neighbour: Address, packet: Option<DataPacket>) {
        let is_counted = self.config.errors == AodvRule::Rfc3561
            || packet.is_some_and(|packet| self.table.get(packet.destination).is_some());
        if self.config.link_layer_feedback {
            self.replies.fail(neighbour, now + self.config.blacklist_timeout());
        }
        if self.config.link_layer_feedback && is_counted {
            if self.config.local_repair == LocalRepair::Ns2
                && packet.is_some_and(|packet| self.repair_closer_half(now, packet))
            {
                return;
            }
            self.lose_neighbour(now, neighbour);
            self.handle_timeout(now);
        }
    }

    fn salvages(&self, packet: DataPacket) -> bool {
        // Section 6.12: packets wait during a local repair. For packets of this node a search begins anew.
        self.searches.is_under_repair(packet.destination)
            || self.table.is_under_repair(packet.destination)
            || (self.config.salvages && packet.source == self.address)
    }

    fn handle_forwarded(&mut self, now: Instant, packet: ForwardedPacket) {
        // A packet extends the lifetime of the routes in both directions (section 6.2).
        let expires = now + self.config.active_route_timeout;
        if self.config.lifetimes == AodvRule::Ns2 {
            return self.table.set_lifetime(packet.destination, expires);
        }
        let next_hop = self.table.valid(packet.destination).map(|route| route.next_hop);
        for node in
            [Some(packet.destination), next_hop, Some(packet.source), packet.from].into_iter().flatten()
        {
            self.table.refresh(node, expires);
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<AodvMessage>> {
        let position = self.outgoing.iter().position(|&(due, ..)| due <= now)?;
        let (_, to, message) = self.outgoing.remove(position)?;
        Some(Transmit { to, size: message.size(self.config.sizes), message })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        [
            self.outgoing.iter().map(|&(due, ..)| due).min(),
            self.next_expiry(),
            self.searches.next_due(),
            self.replies.next_due(),
            self.seen_order.front().map(|&(until, _)| until),
            self.neighbours.values().min().copied(),
            self.next_hello,
            self.buffer.deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn poll_event(&mut self) -> Option<RouteEvent> {
        self.events.pop_front()
    }

    fn next_hop(&self, destination: Address) -> Option<Address> {
        self.table.valid(destination).map(|route| route.next_hop)
    }
}
