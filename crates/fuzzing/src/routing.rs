//! A routing agent that receives messages from its neighbours.

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::PacketId;
use whimbrel_wifi::routing::{Address, DataPacket, RouteEvent, RoutingAgent};

/// The agent's own address.
pub(crate) const ME: Address = Address(1);
/// Messages that an agent may send at one instant.
const MAX_BURST: usize = 300;

/// An agent with a clock.
pub(crate) struct Driven<A> {
    pub(crate) agent: A,
    now: Instant,
    packets: u64,
}

impl<A: RoutingAgent> Driven<A> {
    pub(crate) fn new(agent: A) -> Self {
        let mut driven = Self { agent, now: Instant::ZERO, packets: 0 };
        driven.drain(&|_| {});
        driven
    }

    /// Time passes; `control` chooses how much, and what happens besides a message from a neighbour.
    pub(crate) fn step(&mut self, control: u8, message: Option<A::Message>, sent: &impl Fn(&A::Message)) {
        let until = self.now + Duration::from_millis(u64::from(control & 0x0f) * 200);
        let mut wakes = 0;
        while let Some(due) = self.agent.poll_timeout().filter(|&due| due <= until) {
            wakes += 1;
            assert!(wakes < 10 * MAX_BURST, "a livelock at {}", self.now);
            self.now = due;
            self.agent.handle_timeout(due);
            self.drain(sent);
        }
        self.now = until;
        let neighbour = Address(2 + u32::from(control >> 4 & 3));
        if let Some(message) = message {
            self.agent.handle_packet(self.now, neighbour, message);
        }
        match control >> 6 {
            1 => self.agent.handle_link_failure(self.now, neighbour, None),
            2 => {
                self.packets += 1;
                let packet = DataPacket {
                    packet: PacketId(self.packets),
                    source: ME,
                    destination: Address(6 + u32::from(control & 3)),
                    hops: 0,
                };
                self.agent.handle_unrouted(self.now, packet);
            }
            _ => {}
        }
        self.drain(sent);
    }

    fn drain(&mut self, sent: &impl Fn(&A::Message)) {
        while let Some(event) = self.agent.poll_event() {
            if let RouteEvent::Set { destination, next_hop, .. } = event {
                assert!(destination != ME && next_hop != ME, "{event:?}");
            }
        }
        let mut burst = 0;
        while let Some(transmit) = self.agent.poll_transmit(self.now) {
            burst += 1;
            assert!(burst < MAX_BURST, "a livelock at {}", self.now);
            sent(&transmit.message);
        }
        while self.agent.poll_event().is_some() {}
        let due = self.agent.poll_timeout();
        assert!(due.is_none_or(|due| due > self.now), "drained at {}, to be woken at {due:?}", self.now);
    }
}
