//! One direction of the path.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use whimbrel_proto::{ConnectionHandle, ReceiveMeta, Transmit};
use whimbrel_units::{ByteCount, Duration, Instant};
use whimbrel_wire::checksum::PseudoHeader;
use whimbrel_wire::{DccpOption, Ecn, Packet};

use crate::damage;
use crate::plan::{Dice, IcmpPolicy, PathPlan};
use crate::tally::Tally;

/// The longest queueing delay at the bottleneck.
const BUFFER: Duration = Duration::from_millis(500);
/// Headers below DCCP's, in bytes.
const HEADERS: usize = 28;

/// A packet that leaves an end.
#[derive(Clone, Debug)]
pub(crate) struct Leaving {
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    /// The path, from 0.
    pub(crate) path: usize,
    /// The connection that it belongs to, if that is known.
    pub(crate) handle: Option<ConnectionHandle>,
    pub(crate) transmit: Transmit,
}

/// A packet in flight.
#[derive(Clone, Debug)]
pub(crate) struct InFlightPacket {
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    pub(crate) meta: ReceiveMeta,
    pub(crate) packet: Packet,
}

/// One direction of the path.
#[derive(Debug)]
pub(crate) struct Path {
    plan: PathPlan,
    dice: Dice,
    /// Packets in flight, by the time of their arrival and the order in which they left.
    in_flight: BTreeMap<(Instant, u64), InFlightPacket>,
    order: u64,
    /// The far host receives the packets that arrive within this time together.
    coalesces: Option<Duration>,
    /// Time at which the bottleneck is free.
    free_at: Instant,
    /// The path is cut until then.
    pub(crate) cut_until: Instant,
    /// The largest packet that it carries, in bytes from the DCCP header on.
    pub(crate) mtu: usize,
}

/// The treatment of a packet by the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Treatment {
    /// A remark for the capture; `None` if the packet was not affected.
    pub(crate) remark: Option<&'static str>,
    /// The other end may receive data that was never sent.
    pub(crate) is_corrupt: bool,
    /// The other end may receive a packet that was never sent.
    pub(crate) is_hostile: bool,
    /// The packet was too large: the largest size that fits, in bytes.
    pub(crate) too_large_for: Option<usize>,
}

impl Path {
    pub(crate) fn new(plan: PathPlan, coalesces: Option<Duration>, dice: Dice) -> Self {
        Self {
            plan,
            dice,
            in_flight: BTreeMap::new(),
            order: 0,
            coalesces,
            free_at: Instant::ZERO,
            cut_until: Instant::ZERO,
            mtu: usize::MAX,
        }
    }

    /// From now on, each packet arrives as it was sent, after the same time.
    pub(crate) fn heal(&mut self) {
        self.plan = PathPlan { delay: self.plan.delay, ..PathPlan::default() };
        self.cut_until = Instant::ZERO;
    }

    /// Arrival time of the next packet.
    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        self.in_flight.keys().next().map(|(at, _)| *at)
    }

    /// The next packet that has arrived.
    pub(crate) fn take_arrived(&mut self, now: Instant) -> Option<InFlightPacket> {
        let first = self.in_flight.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(first.remove())
    }

    /// Time at which the report that a packet is too large reaches the sender, if it does.
    pub(crate) fn icmp_time(&mut self, now: Instant) -> Option<Instant> {
        match self.plan.icmp {
            IcmpPolicy::None => None,
            IcmpPolicy::Router => (!self.dice.chance(self.plan.lose)).then(|| now + self.plan.delay),
            IcmpPolicy::Host => Some(now),
        }
    }

    /// The source of reports that a packet is too large.
    pub(crate) fn icmp_policy(&self) -> IcmpPolicy {
        self.plan.icmp
    }

    /// Accepts a packet that a host sent.
    pub(crate) fn offer(
        &mut self,
        now: Instant,
        source: SocketAddr,
        destination: SocketAddr,
        transmit: &Transmit,
        tally: &mut Tally,
    ) -> Treatment {
        let befell = |remark| Treatment { remark: Some(remark), ..Treatment::default() };
        let plan = self.plan;
        if now < self.cut_until {
            tally.count("path: cut off");
            return befell("cut off");
        }
        if transmit.packet.encoded_len() > self.mtu {
            tally.count("path: too large");
            return Treatment { too_large_for: Some(self.mtu), ..befell("too large") };
        }
        let mut at = now + plan.delay;
        if let Some(rate) = plan.rate {
            if self.free_at > now + BUFFER {
                tally.count("path: queue overflow");
                return befell("queue overflow");
            }
            let size = ByteCount::new((transmit.packet.encoded_len() + HEADERS) as u64);
            self.free_at = self.free_at.max(now) + size / rate;
            at = self.free_at + plan.delay;
        }
        if self.dice.chance(plan.lose) {
            tally.count("path: lost");
            return befell("lost");
        }
        let mut ecn = transmit.ecn;
        if ecn.is_capable() && self.dice.chance(plan.mark) {
            tally.count("path: marked");
            ecn = Ecn::Ce;
        }
        if !plan.jitter.is_zero() {
            at += self.dice.time(Duration::ZERO, plan.jitter);
        }
        let mut treatment = Treatment::default();
        if self.dice.chance(plan.reorder) {
            tally.count("path: reordered");
            treatment = befell("reordered");
            at += self.dice.time(Duration::from_millis(1), Duration::from_secs(1));
        }
        if self.dice.chance(plan.long_delay) {
            tally.count("path: delayed by minutes");
            treatment = befell("delayed by minutes");
            at += self.dice.time(Duration::from_secs(10), Duration::from_secs(400));
        }
        let mut in_flight = InFlightPacket {
            source,
            destination,
            meta: ReceiveMeta { ecn, ..ReceiveMeta::default() },
            packet: transmit.packet.clone(),
        };
        if self.dice.chance(plan.stray) {
            tally.count("path: from an unknown address");
            treatment = befell("from an unknown address");
            in_flight.source = SocketAddr::from(([203, 0, 113, 99], 1 + self.dice.below(9) as u16));
        }
        if self.dice.chance(plan.duplicate) {
            tally.count("path: duplicated");
            treatment = befell("duplicated");
            let later = self.dice.time(Duration::ZERO, Duration::from_secs(2));
            self.launch(at + later, in_flight.clone());
        }
        match self.corrupt(&mut in_flight.packet, source, destination, tally) {
            Corruption::None => self.launch(at, in_flight),
            Corruption::Dropped => return befell("damaged, and detected"),
            Corruption::DataChanged => {
                // A Data Checksum reveals it to the receiver (RFC 4340, Section 9.3).
                let is_told =
                    in_flight.packet.options.iter().any(|it| matches!(it, DccpOption::DataChecksum(_)));
                self.launch(at, in_flight);
                return Treatment { remark: Some("data corrupted"), is_corrupt: !is_told, ..treatment };
            }
            Corruption::Forged => {
                self.launch(at, in_flight);
                return Treatment { is_corrupt: true, is_hostile: true, ..befell("forged") };
            }
        }
        treatment
    }

    fn corrupt(
        &mut self,
        packet: &mut Packet,
        source: SocketAddr,
        destination: SocketAddr,
        tally: &mut Tally,
    ) -> Corruption {
        let Some(addresses) = PseudoHeader::between(source.ip(), destination.ip()) else {
            return Corruption::None;
        };
        let dice = &mut self.dice;
        let (name, changed) = if dice.chance(self.plan.damage) {
            ("path: bits flipped", damage::flip(packet, &addresses, dice))
        } else if dice.chance(self.plan.truncate) {
            ("path: truncated", damage::truncate(packet, &addresses, dice))
        } else if dice.chance(self.plan.forge) {
            ("path: forged", damage::forge(packet, &addresses, self.plan.saturate, dice))
        } else {
            return Corruption::None;
        };
        tally.count(name);
        match changed {
            // Flipped bits may cancel each other.
            Some(changed) if changed == *packet => Corruption::None,
            Some(changed) => {
                tally.count("path: damage that passed the checksum");
                let only_data = Packet { payload: packet.payload.clone(), ..changed.clone() } == *packet;
                *packet = changed;
                if only_data { Corruption::DataChanged } else { Corruption::Forged }
            }
            None => Corruption::Dropped,
        }
    }

    fn launch(&mut self, at: Instant, in_flight: InFlightPacket) {
        let at = match self.coalesces {
            Some(time) => Instant::from_nanos(at.as_nanos().next_multiple_of(time.as_nanos().max(1))),
            None => at,
        };
        self.order += 1;
        self.in_flight.insert((at, self.order), in_flight);
    }
}

enum Corruption {
    None,
    Dropped,
    DataChanged,
    Forged,
}
