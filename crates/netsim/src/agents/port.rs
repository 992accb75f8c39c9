//! The edge of a simulated network in a real one.

use std::collections::VecDeque;

use whimbrel_units::Instant;

use crate::{Agent, Packet};

/// An agent through which a driver outside exchanges packets with the network: what the driver
/// [sends](Port::send) enters, and what arrives waits to be [received](Port::receive).
///
/// With [`Simulator::next_event_at`](crate::Simulator::next_event_at) and
/// [`Simulator::run_until`](crate::Simulator::run_until) a driver runs the network against another clock. The
/// payload is the driver's own type, such as shared bytes: the network does not look at it.
#[derive(Debug)]
pub struct Port<P> {
    outgoing: VecDeque<Packet<P>>,
    arrived: VecDeque<(Instant, Packet<P>)>,
}

impl<P> Default for Port<P> {
    fn default() -> Self {
        Self { outgoing: VecDeque::new(), arrived: VecDeque::new() }
    }
}

impl<P> Port<P> {
    /// Hands a packet to the network. `id` and `source` are filled in by the simulator.
    pub fn send(&mut self, packet: Packet<P>) {
        self.outgoing.push_back(packet);
    }

    /// Takes the first packet that has arrived, with the time of its arrival.
    pub fn receive(&mut self) -> Option<(Instant, Packet<P>)> {
        self.arrived.pop_front()
    }
}

impl<P: Clone> Agent for Port<P> {
    type Payload = P;

    fn handle_packet(&mut self, now: Instant, packet: Packet<P>) {
        self.arrived.push_back((now, packet));
    }

    fn handle_timeout(&mut self, _: Instant) {}

    fn poll_transmit(&mut self, _: Instant) -> Option<Packet<P>> {
        self.outgoing.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}
