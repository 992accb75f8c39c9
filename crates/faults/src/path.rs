//! One direction of the path.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use whimbrel_proto::{ReceiveMeta, Transmit};
use whimbrel_units::{ByteCount, Duration, Instant};
use whimbrel_wire::checksum::PseudoHeader;
use whimbrel_wire::{DccpOption, Ecn, Packet};

use crate::damage;
use crate::plan::{Advice, Dice, PathPlan};
use crate::tally::Tally;

/// How long a packet waits for the bottleneck at most.
const BUFFER: Duration = Duration::from_millis(500);
/// Headers below DCCP's, in bytes.
const HEADERS: usize = 28;

/// A packet on its way.
#[derive(Clone, Debug)]
pub(crate) struct Flying {
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
    flying: BTreeMap<(Instant, u64), Flying>,
    order: u64,
    /// The far host gets what arrives within that time together.
    coalesces: Option<Duration>,
    /// When the bottleneck has carried what it has.
    free_at: Instant,
    /// It carries nothing.
    pub(crate) is_cut: bool,
    /// The largest packet that it carries, in bytes from DCCP's header on.
    pub(crate) mtu: usize,
}

/// What the path did with a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Treatment {
    /// For the capture; `None` where nothing befell it.
    pub(crate) remark: Option<&'static str>,
    /// The other end may get data that were never sent.
    pub(crate) is_corrupt: bool,
    /// The other end may get a packet that was never sent.
    pub(crate) is_hostile: bool,
    /// It was too large: packets of so many bytes would not be.
    pub(crate) too_large_for: Option<usize>,
}

impl Path {
    pub(crate) fn new(plan: PathPlan, coalesces: Option<Duration>, dice: Dice) -> Self {
        Self {
            plan,
            dice,
            flying: BTreeMap::new(),
            order: 0,
            coalesces,
            free_at: Instant::ZERO,
            is_cut: false,
            mtu: usize::MAX,
        }
    }
    /// When the next packet arrives.
    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        self.flying.keys().next().map(|(at, _)| *at)
    }
    /// Whether nothing is on its way.
    pub(crate) fn is_empty(&self) -> bool {
        self.flying.is_empty()
    }
    /// The next packet that has arrived.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Flying> {
        let first = self.flying.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(first.remove())
    }
    /// When advice reaches the sender that a packet is too large, if it does.
    pub(crate) fn advises(&mut self, now: Instant) -> Option<Instant> {
        match self.plan.advice {
            Advice::None => None,
            Advice::Router => (!self.dice.chance(self.plan.lose)).then(|| now + self.plan.delay),
            Advice::Host => Some(now),
        }
    }
    /// Who advises the sender.
    pub(crate) fn adviser(&self) -> Advice {
        self.plan.advice
    }
    /// Takes a packet that a host sent.
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
        if self.is_cut {
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
        if self.dice.chance(plan.linger) {
            tally.count("path: delayed by minutes");
            treatment = befell("delayed by minutes");
            at += self.dice.time(Duration::from_secs(10), Duration::from_secs(400));
        }
        let mut flying = Flying {
            source,
            destination,
            meta: ReceiveMeta { ecn, ..ReceiveMeta::default() },
            packet: transmit.packet.clone(),
        };
        if self.dice.chance(plan.stray) {
            tally.count("path: from a strange address");
            treatment = befell("from a strange address");
            flying.source = SocketAddr::from(([203, 0, 113, 99], 1 + self.dice.below(9) as u16));
        }
        if self.dice.chance(plan.duplicate) {
            tally.count("path: duplicated");
            treatment = befell("duplicated");
            let later = self.dice.time(Duration::ZERO, Duration::from_secs(2));
            self.launch(at + later, flying.clone());
        }
        match self.harm(&mut flying.packet, source, destination, tally) {
            Harm::None => self.launch(at, flying),
            Harm::Dropped => return befell("damaged, and found so"),
            Harm::Corrupt => {
                // A Data Checksum tells the receiver (RFC 4340, Section 9.3).
                let is_told =
                    flying.packet.options.iter().any(|it| matches!(it, DccpOption::DataChecksum(_)));
                self.launch(at, flying);
                return Treatment { remark: Some("data corrupted"), is_corrupt: !is_told, ..treatment };
            }
            Harm::Forged => {
                self.launch(at, flying);
                return Treatment { is_corrupt: true, is_hostile: true, ..befell("forged") };
            }
        }
        treatment
    }
    fn harm(
        &mut self,
        packet: &mut Packet,
        source: SocketAddr,
        destination: SocketAddr,
        tally: &mut Tally,
    ) -> Harm {
        let Some(addresses) = PseudoHeader::between(source.ip(), destination.ip()) else { return Harm::None };
        let dice = &mut self.dice;
        let (name, harmed) = if dice.chance(self.plan.damage) {
            ("path: bits flipped", damage::flip(packet, &addresses, dice))
        } else if dice.chance(self.plan.truncate) {
            ("path: truncated", damage::truncate(packet, &addresses, dice))
        } else if dice.chance(self.plan.forge) {
            ("path: forged", damage::forge(packet, &addresses, self.plan.saturate, dice))
        } else {
            return Harm::None;
        };
        tally.count(name);
        match harmed {
            // Flipped bits may cancel each other.
            Some(harmed) if harmed == *packet => Harm::None,
            Some(harmed) => {
                tally.count("path: damage that passed the checksum");
                let only_data = Packet { payload: packet.payload.clone(), ..harmed.clone() } == *packet;
                *packet = harmed;
                if only_data { Harm::Corrupt } else { Harm::Forged }
            }
            None => Harm::Dropped,
        }
    }
    fn launch(&mut self, at: Instant, flying: Flying) {
        self.order += 1;
        let at = match self.coalesces {
            Some(time) => Instant::from_nanos(at.as_nanos().next_multiple_of(time.as_nanos().max(1))),
            None => at,
        };
        self.flying.insert((at, self.order), flying);
    }
}

enum Harm {
    None,
    Dropped,
    Corrupt,
    Forged,
}
