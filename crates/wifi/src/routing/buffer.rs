//! Data packets that wait for a route.

use alloc::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

use super::{Address, DataPacket, RouteEvent};

/// Bounds of the packets that wait for routes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferConfig {
    /// Number of packets per destination; the oldest is discarded for a further one.
    pub per_destination: usize,
    /// Number of packets in all; the oldest is discarded for a further one.
    pub total: usize,
    /// The time after which a packet is discarded; [`Duration::MAX`] for never.
    pub lifetime: Duration,
}

/// Reason for giving up a packet that waited for a route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiscardCause {
    /// The buffer was full.
    BufferFull,
    /// The packet waited for longer than its lifetime.
    Expired,
    /// The search for a route was given up.
    NoRoute,
}

/// The packets of a node that wait for routes, in the order of arrival.
#[derive(Clone, Debug)]
pub(crate) struct PacketBuffer {
    config: BufferConfig,
    packets: VecDeque<(Instant, DataPacket)>,
}

impl PacketBuffer {
    pub(crate) fn new(config: BufferConfig) -> Self {
        Self { config, packets: VecDeque::new() }
    }

    /// Keeps a packet. Discards of others are appended to `events`.
    pub(crate) fn push(&mut self, now: Instant, packet: DataPacket, events: &mut VecDeque<RouteEvent>) {
        self.packets.push_back((now, packet));
        let same = |&(_, other): &(_, DataPacket)| other.destination == packet.destination;
        while self.packets.iter().filter(|entry| same(entry)).count() > self.config.per_destination {
            let oldest =
                self.packets.iter().position(same).and_then(|position| self.packets.remove(position));
            events.extend(oldest.map(|(_, packet)| discard(packet, DiscardCause::BufferFull)));
        }
        while self.packets.len() > self.config.total {
            let oldest = self.packets.pop_front();
            events.extend(oldest.map(|(_, packet)| discard(packet, DiscardCause::BufferFull)));
        }
    }

    /// `true` if a packet for a destination waits.
    pub(crate) fn contains(&self, destination: Address) -> bool {
        self.packets.iter().any(|(_, packet)| packet.destination == destination)
    }

    /// Releases the packets for a destination, in order.
    pub(crate) fn forward(&mut self, destination: Address, events: &mut VecDeque<RouteEvent>) {
        self.packets.retain(|&(_, packet)| {
            let leaves = packet.destination == destination;
            if leaves {
                events.push_back(RouteEvent::Forward { packet: packet.packet });
            }
            !leaves
        });
    }

    /// Gives up the packets for a destination.
    pub(crate) fn discard(&mut self, destination: Address, events: &mut VecDeque<RouteEvent>) {
        self.discard_if(|packet| packet.destination == destination, events);
    }

    /// Gives up the packets of other nodes for a destination, and returns `true` if there are packets of the
    /// node itself.
    pub(crate) fn discard_forwarded(
        &mut self,
        own: Address,
        destination: Address,
        events: &mut VecDeque<RouteEvent>,
    ) -> bool {
        self.discard_if(|packet| packet.destination == destination && packet.source != own, events);
        self.contains(destination)
    }

    fn discard_if(&mut self, gives_up: impl Fn(&DataPacket) -> bool, events: &mut VecDeque<RouteEvent>) {
        self.packets.retain(|&(_, packet)| {
            let leaves = gives_up(&packet);
            if leaves {
                events.push_back(discard(packet, DiscardCause::NoRoute));
            }
            !leaves
        });
    }

    /// Gives up the packets whose lifetime has passed.
    pub(crate) fn expire(&mut self, now: Instant, events: &mut VecDeque<RouteEvent>) {
        while let Some(&(since, packet)) = self.packets.front()
            && since + self.config.lifetime <= now
        {
            self.packets.pop_front();
            events.push_back(discard(packet, DiscardCause::Expired));
        }
    }

    /// The time at which the oldest packet expires.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let &(since, _) = self.packets.front()?;
        Some(since + self.config.lifetime).filter(|&at| at < Instant::FAR_FUTURE)
    }
}

fn discard(packet: DataPacket, cause: DiscardCause) -> RouteEvent {
    RouteEvent::Discard { packet: packet.packet, cause }
}

#[cfg(test)]
mod tests;
