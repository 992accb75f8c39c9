//! Address resolution (RFC 826) of stations that send to their neighbours directly.
//!
//! A unicast packet for a neighbour without an entry is held while a request is broadcast; the reply is
//! unicast. One packet per neighbour is held: a newer one replaces it, and the older one is lost. Messages
//! and packets that leave the hold precede the station's queue; in ns-2, addresses are resolved in front of
//! the queue, and they wait in it ([`ArpConfig::precedes_queue`]). Clients and access points need no
//! resolution: an association names the address of the other end.

use std::collections::VecDeque;

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::MacAddress;
use whimbrel_wifi::deadlines::Deadlines;
use whimbrel_wifi::frame::bytes::SNAP;

use super::in_flight::InFlight;
use crate::medium::{MediumIo, MediumLoss, Observation, TakenPacket};
use crate::{FlowId, NodeId, StationIndex};

/// The bit of a frame's handle that distinguishes ARP messages from packets.
pub(super) const ARP: u64 = 1 << 62;

/// Bytes of a message for IPv4 over addresses of 48 bits (RFC 826).
const MESSAGE_BYTES: u32 = 28;

const ETHERTYPE_ARP: u16 = 0x0806;

/// Address resolution of the stations of an 802.11 medium.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArpConfig {
    /// Bytes of a message with the LLC and SNAP headers: the payload of the MAC.
    pub message_size: u32,
    /// Requests without a reply after which the station gives the packet up.
    pub max_requests: u32,
    /// Time after which a request without a reply is repeated; `None` if only the next packet for the
    /// neighbour repeats it.
    pub repeat_interval: Option<Duration>,
    /// Time after which an entry is removed that no message has confirmed; `None` for never.
    pub lifetime: Option<Duration>,
    /// `true` if a station makes an entry from every request that it receives, `false` if only from those for
    /// itself (RFC 826).
    pub learns_from_all: bool,
    /// `true` if an address is resolved when its packet comes to the queue, which messages and resolved
    /// packets then wait in and may find full; `false` if it is resolved when the packet leaves the queue,
    /// which messages and resolved packets precede.
    pub precedes_queue: bool,
}

impl ArpConfig {
    /// Up to three requests, one per second (RFC 1122, section 2.3.2.1); entries stay.
    pub const STANDARD: Self = Self {
        message_size: MESSAGE_BYTES + super::LLC_BYTES,
        max_requests: 3,
        repeat_interval: Some(Duration::from_secs(1)),
        lifetime: None,
        learns_from_all: false,
        precedes_queue: false,
    };

    /// The rules of ns-2.35 (`mac/arp.cc`): each packet for an unresolved neighbour sends a request; the
    /// fourth one is lost together with the packet held. Messages have no LLC header, every request makes an
    /// entry, and addresses are resolved in front of the interface queue (`mac/ll.cc`).
    pub const NS2: Self = Self {
        message_size: MESSAGE_BYTES,
        max_requests: 3,
        repeat_interval: None,
        lifetime: None,
        learns_from_all: true,
        precedes_queue: true,
    };
}

/// Counters of a station's address resolution since the beginning of the run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ArpStats {
    /// Requests that the MAC has transmitted.
    pub requests: u64,
    /// Replies that were acknowledged.
    pub replies: u64,
    /// Replies that the MAC has given up.
    pub failed_replies: u64,
    /// Packets lost because a newer packet for the same neighbour replaced them.
    pub replaced: u64,
    /// Packets lost because no reply arrived.
    pub unresolved: u64,
    /// Messages and resolved packets lost because the queue in which they were to wait was full.
    pub overflowed: u64,
}

/// A request or a reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ArpMessage {
    pub(super) is_reply: bool,
    /// The station that sends it.
    pub(super) sender: StationIndex,
    /// The station that the request asks for, or that the reply is for.
    pub(super) target: StationIndex,
}

impl ArpMessage {
    /// The receiver's address.
    pub(super) fn receiver(&self, address: impl FnOnce(StationIndex) -> MacAddress) -> MacAddress {
        if self.is_reply { address(self.target) } else { MacAddress::BROADCAST }
    }

    /// The message with its LLC and SNAP headers. `ends` has the addresses of the sender and of the target.
    pub(super) fn encode(&self, ends: [(MacAddress, NodeId); 2], out: &mut Vec<u8>) {
        let [(sender, sender_node), (target, target_node)] = ends;
        out.extend(SNAP);
        out.extend(ETHERTYPE_ARP.to_be_bytes());
        // Hardware type Ethernet, protocol IPv4, lengths of 6 and 4 bytes.
        out.extend([0, 1, 8, 0, 6, 4, 0, 1 + u8::from(self.is_reply)]);
        out.extend(sender.0);
        out.extend(protocol_address(sender_node));
        out.extend(if self.is_reply { target.0 } else { [0; 6] });
        out.extend(protocol_address(target_node));
    }
}

/// The IPv4 address of a node in captures: the first node has 10.0.0.1.
fn protocol_address(node: NodeId) -> [u8; 4] {
    (u32::from_be_bytes([10, 0, 0, 1]) + node.index() as u32).to_be_bytes()
}

/// A packet with the time at which the station took it from its queue.
pub(super) struct Held {
    pub(super) frame: TakenPacket,
    pub(super) since: Instant,
}

/// An item that a station gives to its MAC.
pub(super) enum Item {
    Message(ArpMessage),
    Packet(Held),
}

/// A station's knowledge of a neighbour.
struct Neighbour {
    station: StationIndex,
    /// End of the entry's lifetime; `None` without an entry.
    known_until: Option<Instant>,
    held: Option<Held>,
    /// Requests since the last entry, or since the station gave up.
    requests: u32,
    repeat_at: Option<Instant>,
}

/// An item that waits for the MAC.
struct Waiting {
    item: Item,
    /// The number of packets taken from the queue ([`Resolver::taken`]) that precede it.
    behind: u64,
}

/// The address resolution of one station.
#[derive(Default)]
struct Resolver {
    /// Neighbours in the order of their numbers.
    neighbours: Vec<Neighbour>,
    /// Messages and resolved packets that wait for the MAC, in the order of their places.
    outbox: VecDeque<Waiting>,
    /// Packets taken from the queue so far.
    taken: u64,
    stats: ArpStats,
}

impl Resolver {
    fn position(&self, station: StationIndex) -> Result<usize, usize> {
        self.neighbours.binary_search_by_key(&station, |neighbour| neighbour.station)
    }

    /// `true` if there is an entry for a station.
    fn knows(&self, now: Instant, station: StationIndex) -> bool {
        let is_known = |found: usize| self.neighbours[found].known_until.is_some_and(|until| now < until);
        self.position(station).is_ok_and(is_known)
    }

    fn neighbour(&mut self, station: StationIndex) -> &mut Neighbour {
        let position = self.position(station).unwrap_or_else(|position| {
            let new = Neighbour { station, known_until: None, held: None, requests: 0, repeat_at: None };
            self.neighbours.insert(position, new);
            position
        });
        &mut self.neighbours[position]
    }

    /// The next time at which a request is to be repeated, or given up.
    fn deadline(&self) -> Option<Instant> {
        self.neighbours.iter().filter_map(|neighbour| neighbour.repeat_at).min()
    }

    /// An item precedes the queue.
    fn put_first(&mut self, item: Item) {
        let position = self.outbox.iter().take_while(|waiting| waiting.behind <= self.taken).count();
        self.outbox.insert(position, Waiting { item, behind: self.taken });
    }

    /// An item takes its place: behind the queue if it waits there, and there is room.
    fn put(
        &mut self,
        station: StationIndex,
        item: Item,
        size: u32,
        precedes_queue: bool,
        io: &mut MediumIo<'_>,
    ) {
        if !precedes_queue {
            return self.put_first(item);
        }
        if io.has_room(station, self.outbox.len() as u64, size) {
            let behind = self.taken + io.backlog(station).packets;
            return self.outbox.push_back(Waiting { item, behind });
        }
        self.stats.overflowed += 1;
        if let Item::Packet(packet) = item {
            io.lose(packet.frame, MediumLoss::Unresolved);
        }
    }

    /// The first item, if no packet of the queue precedes it.
    fn next(&mut self, has_backlog: bool) -> Option<Item> {
        let is_next = self.outbox.front().is_some_and(|first| first.behind <= self.taken || !has_backlog);
        if is_next { self.outbox.pop_front().map(|first| first.item) } else { None }
    }

    /// Gives a packet up for lack of an address. The station observes it as a failure without attempts.
    fn give_up(&mut self, now: Instant, held: Held, io: &mut MediumIo<'_>) {
        self.stats.unresolved += 1;
        let station = held.frame.sender;
        let report = io.report(&held.frame, 0, now - held.since);
        io.lose(held.frame, MediumLoss::Unresolved);
        io.observe(station, Observation::Failed(report));
    }
}

/// The address resolution of all stations.
pub(super) struct Arp {
    config: ArpConfig,
    resolvers: Vec<Resolver>,
    /// Times of the next repetitions, by station.
    pub(super) deadlines: Deadlines,
    /// Messages in service or on the air.
    pub(super) messages: InFlight<ArpMessage>,
    /// `true` if a station has given a packet up since the last call of [`take_failure`](Self::take_failure).
    has_failed: bool,
}

impl Arp {
    pub(super) fn new(config: ArpConfig) -> Self {
        Self {
            config,
            resolvers: Vec::new(),
            deadlines: Deadlines::default(),
            messages: InFlight::default(),
            has_failed: false,
        }
    }

    /// Bytes of a message as the payload of a frame.
    pub(super) const fn message_size(&self) -> u32 {
        self.config.message_size
    }

    /// A station was added.
    pub(super) fn add_station(&mut self) {
        self.resolvers.push(Resolver::default());
        self.deadlines.add();
    }

    pub(super) fn stats(&self, station: StationIndex) -> ArpStats {
        self.resolvers[station.index()].stats
    }

    /// `true` if packets are to be offered to [`hold`](Self::hold) before they are queued.
    pub(super) const fn precedes_queue(&self) -> bool {
        self.config.precedes_queue
    }

    /// `true` if a station has an entry for another one.
    pub(super) fn knows(&self, now: Instant, station: StationIndex, to: StationIndex) -> bool {
        self.resolvers[station.index()].knows(now, to)
    }

    /// Packets that a station holds, and resolved ones that wait for its MAC.
    pub(super) fn held(&self, station: StationIndex) -> usize {
        let resolver = &self.resolvers[station.index()];
        let is_packet = |waiting: &&Waiting| matches!(waiting.item, Item::Packet(_));
        resolver.neighbours.iter().filter(|neighbour| neighbour.held.is_some()).count()
            + resolver.outbox.iter().filter(is_packet).count()
    }

    /// The next item for a station's MAC: what waits here, then packets of the queue. `None` if there is
    /// none, or if the station has just given a packet up.
    pub(super) fn next(
        &mut self,
        now: Instant,
        station: StationIndex,
        io: &mut MediumIo<'_>,
    ) -> Option<Item> {
        loop {
            let resolver = &mut self.resolvers[station.index()];
            if !resolver.outbox.is_empty()
                && let Some(item) = resolver.next(io.backlog(station).packets > 0)
            {
                return Some(item);
            }
            let Some(frame) = io.take(station) else {
                // All packets of the queue were dropped.
                return resolver.next(false);
            };
            resolver.taken += 1;
            let packet = Held { frame, since: now };
            let Some(to) = packet.frame.receiver else { return Some(Item::Packet(packet)) };
            if resolver.knows(now, to) {
                return Some(Item::Packet(packet));
            }
            self.hold(now, station, to, packet, io);
            if self.has_failed {
                return None;
            }
        }
    }

    /// Holds a packet for a neighbour without an entry, and requests its address.
    pub(super) fn hold(
        &mut self,
        now: Instant,
        station: StationIndex,
        to: StationIndex,
        packet: Held,
        io: &mut MediumIo<'_>,
    ) {
        let ArpConfig { max_requests, repeat_interval, precedes_queue, message_size, .. } = self.config;
        let resolver = &mut self.resolvers[station.index()];
        let neighbour = resolver.neighbour(to);
        neighbour.known_until = None;
        let replaced = neighbour.held.take();
        if neighbour.repeat_at.is_none() && neighbour.requests >= max_requests {
            neighbour.requests = 0;
            for packet in replaced.into_iter().chain([packet]) {
                resolver.give_up(now, packet, io);
            }
            self.has_failed = true;
            return;
        }
        neighbour.held = Some(packet);
        // Between repetitions, a further packet sends no request of its own.
        if neighbour.repeat_at.is_none() {
            neighbour.requests += 1;
            neighbour.repeat_at = repeat_interval.map(|interval| now + interval);
            let request = ArpMessage { is_reply: false, sender: station, target: to };
            resolver.put(station, Item::Message(request), message_size, precedes_queue, io);
            self.deadlines.set(station.index(), resolver.deadline());
        }
        if let Some(replaced) = replaced {
            resolver.stats.replaced += 1;
            io.lose(replaced.frame, MediumLoss::Unresolved);
        }
    }

    /// Repeats the requests of a station that are due, or gives their packets up.
    pub(super) fn handle_timeout(&mut self, now: Instant, station: StationIndex, io: &mut MediumIo<'_>) {
        let resolver = &mut self.resolvers[station.index()];
        for position in 0..resolver.neighbours.len() {
            let neighbour = &mut resolver.neighbours[position];
            if neighbour.repeat_at.is_none_or(|at| now < at) {
                continue;
            }
            if neighbour.requests < self.config.max_requests {
                neighbour.requests += 1;
                neighbour.repeat_at = self.config.repeat_interval.map(|interval| now + interval);
                let request = ArpMessage { is_reply: false, sender: station, target: neighbour.station };
                // A busy medium may still hold the previous request back.
                let waits =
                    |waiting: &Waiting| matches!(waiting.item, Item::Message(message) if message == request);
                if !resolver.outbox.iter().any(waits) {
                    resolver.put_first(Item::Message(request));
                }
            } else {
                (neighbour.requests, neighbour.repeat_at) = (0, None);
                if let Some(packet) = neighbour.held.take() {
                    resolver.give_up(now, packet, io);
                    self.has_failed = true;
                }
            }
        }
        self.deadlines.set(station.index(), resolver.deadline());
    }

    /// Returns `true` if a station has given a packet up since the last call.
    pub(super) fn take_failure(&mut self) -> bool {
        core::mem::take(&mut self.has_failed)
    }

    /// A station has received the message with this handle.
    pub(super) fn handle_message(
        &mut self,
        now: Instant,
        station: StationIndex,
        handle: u64,
        io: &mut MediumIo<'_>,
    ) {
        let Some(&message) = self.messages.get(handle & !ARP) else { return };
        let resolver = &mut self.resolvers[station.index()];
        let is_target = message.target == station;
        if !is_target && !self.config.learns_from_all && resolver.position(message.sender).is_err() {
            return;
        }
        let ArpConfig { lifetime, precedes_queue, message_size, .. } = self.config;
        let neighbour = resolver.neighbour(message.sender);
        neighbour.known_until = Some(lifetime.map_or(Instant::FAR_FUTURE, |lifetime| now + lifetime));
        neighbour.requests = 0;
        if neighbour.repeat_at.take().is_some() {
            self.deadlines.set(station.index(), resolver.deadline());
        }
        if let Some(packet) = resolver.neighbour(message.sender).held.take() {
            // Messages of routing agents precede the others in the queue.
            let waits = precedes_queue && packet.frame.flow.flow != FlowId::ROUTING;
            let size = packet.frame.size;
            resolver.put(station, Item::Packet(packet), size, waits, io);
        }
        if is_target && !message.is_reply {
            let reply = ArpMessage { is_reply: true, sender: station, target: message.sender };
            resolver.put(station, Item::Message(reply), message_size, precedes_queue, io);
        }
    }

    /// A station's MAC has sent a message, or has given it up.
    pub(super) fn finish_message(&mut self, station: StationIndex, handle: u64, is_sent: bool) {
        let handle = handle & !ARP;
        let is_reply = self.messages.get(handle).is_some_and(|message| message.is_reply);
        let stats = &mut self.resolvers[station.index()].stats;
        *match (is_reply, is_sent) {
            (false, _) => &mut stats.requests,
            (true, true) => &mut stats.replies,
            (true, false) => &mut stats.failed_replies,
        } += 1;
        self.messages.end_service(handle);
    }
}
