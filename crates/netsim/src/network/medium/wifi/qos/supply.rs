//! From a station's queues to its MAC.

use std::collections::BTreeSet;

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::aggregation::Packet;
use whimbrel_wifi::airtime::{self, QueueLimits};
use whimbrel_wifi::edca::{AccessCategory, Edca};
use whimbrel_wifi::{MacAddress, SplitMix64};

use super::super::payloads::{Charge, Payloads};
use super::LLC_BYTES;
use super::roaming::{Passage, Roaming};
use crate::StationIndex;
use crate::medium::{Lane, MediumIo, MediumLoss, TakenPacket};

/// Multicast may wait for longer (`IEEE80211_DEFAULT_MC_AQL_TXQ_LIMIT`): its rate is low.
const GROUP_LIMIT: Duration = Duration::from_millis(50);

/// The airtime that waits at a station's MAC.
#[derive(Clone, Default, Debug)]
struct Pending {
    all: Duration,
    /// By receiver, groups first, and category.
    of: Vec<Duration>,
    /// The lane that is asked first, so that none has always the better of the others.
    first_lane: usize,
}

impl Pending {
    fn of(&self, account: u32) -> Duration {
        self.of.get(account as usize).copied().unwrap_or(Duration::ZERO)
    }

    fn add(&mut self, account: u32, time: Duration) {
        let account = account as usize;
        if self.of.len() <= account {
            self.of.resize(account + 1, Duration::ZERO);
        }
        self.of[account] += time;
        self.all += time;
    }

    fn remove(&mut self, account: u32, time: Duration) {
        if let Some(of) = self.of.get_mut(account as usize) {
            *of = of.saturating_sub(time);
        }
        self.all = self.all.saturating_sub(time);
    }
}

/// The MACs that are supplied, and what they have in service.
pub(super) struct Macs<'a> {
    pub(super) machines: &'a mut [Edca<SplitMix64>],
    pub(super) payloads: &'a mut Payloads,
    pub(super) roaming: Option<&'a mut Roaming>,
}

/// The supply of all stations.
#[derive(Clone, Debug)]
pub(super) struct Supply {
    /// `None` if a MAC takes packets while there is room.
    limits: Option<QueueLimits>,
    pending: Vec<Pending>,
    /// Pairs of stations that have agreed to block acknowledgements, and in which category.
    agreed: BTreeSet<(u32, u32, AccessCategory)>,
}

fn address(receiver: Option<StationIndex>) -> MacAddress {
    receiver.map_or(MacAddress::BROADCAST, |to| MacAddress::station(to.0))
}

impl Supply {
    pub(super) fn new(limits: Option<QueueLimits>, stations: usize) -> Self {
        Self { limits, pending: vec![Pending::default(); stations], agreed: BTreeSet::new() }
    }

    fn account(receiver: Option<StationIndex>, category: AccessCategory) -> u32 {
        receiver.map_or(0, |to| to.0 + 1) * 4 + category as u32
    }

    fn admits(&self, machine: &Edca<SplitMix64>, from: StationIndex, lane: &Lane) -> bool {
        let category = AccessCategory::ALL[usize::from(lane.class)];
        let Some(limits) = &self.limits else { return machine.has_room(category) };
        let pending = &self.pending[from.index()];
        let of_receiver = pending.of(Self::account(lane.receiver, category));
        match lane.receiver {
            Some(_) => limits.admit(of_receiver, pending.all),
            None => of_receiver < GROUP_LIMIT,
        }
    }

    /// Packets of all lanes go to the MAC of a station as far as the limits let them.
    pub(super) fn refill(
        &mut self,
        now: Instant,
        station: StationIndex,
        macs: &mut Macs<'_>,
        io: &mut MediumIo<'_>,
    ) {
        let lanes = io.lanes(station);
        let first = self.pending[station.index()].first_lane;
        for number in 0..lanes {
            self.refill_lane(now, station, (first + number) % lanes, macs, io);
        }
        self.pending[station.index()].first_lane = first + 1;
    }

    /// The same for one lane.
    pub(super) fn refill_lane(
        &mut self,
        now: Instant,
        station: StationIndex,
        number: usize,
        macs: &mut Macs<'_>,
        io: &mut MediumIo<'_>,
    ) {
        let lane = io.lane(station, number);
        if lane.backlog.packets == 0 {
            return;
        }
        let category = AccessCategory::ALL[usize::from(lane.class)];
        let passage = macs
            .roaming
            .as_deref()
            .map_or(Passage::AsRouted, |roaming| roaming.passage(station, lane.receiver));
        while self.admits(&macs.machines[station.index()], station, &lane) {
            let mut frame = match passage {
                Passage::Wait => break,
                Passage::AsRouted | Passage::To(_) | Passage::Lost => {
                    let Some(frame) = io.take_from(station, number) else { break };
                    frame
                }
            };
            match passage {
                Passage::Lost => {
                    io.lose(frame, MediumLoss::NotAssociated);
                    continue;
                }
                Passage::To(point) if frame.receiver.is_some() => frame.receiver = Some(point),
                _ => {}
            }
            if let Some(roaming) = &mut macs.roaming {
                let Some(awaited) = roaming.keep(now, station, category, frame, io) else { continue };
                frame = awaited;
            }
            self.hand_over(now, station, category, frame, macs, io);
        }
    }

    /// A packet goes to the MAC of a station.
    pub(super) fn hand_over(
        &mut self,
        now: Instant,
        station: StationIndex,
        category: AccessCategory,
        frame: TakenPacket,
        macs: &mut Macs<'_>,
        io: &MediumIo<'_>,
    ) {
        let Macs { machines, payloads, .. } = macs;
        let (receiver, size) = (frame.receiver, frame.size + LLC_BYTES);
        let handle = payloads.insert(now, frame, receiver, io);
        if let Some(to) = receiver {
            self.agree(station, to, category, machines);
        }
        let machine = &mut machines[station.index()];
        if self.limits.is_some() {
            let time = match machine.rate(address(receiver), category).mode() {
                Some(mode) => airtime::expected(mode, size),
                None => machine.config().phy.duration(machine.config().phy.basic.lowest(), size),
            };
            let account = Self::account(receiver, category);
            self.pending[station.index()].add(account, time);
            payloads.set_charge(handle, Charge { account, micros: time.as_micros() as u32 });
        }
        machine.enqueue(now, address(receiver), category, Packet { handle, size });
    }

    /// A MAC is done with a packet of its own.
    pub(super) fn finish(&mut self, station: StationIndex, charge: Charge) {
        let time = Duration::from_micros(u64::from(charge.micros));
        self.pending[station.index()].remove(charge.account, time);
    }

    /// Two stations that exchange packets of a category for the first time agree to block acknowledgements,
    /// as Linux does for all categories but voice.
    pub(super) fn agree(
        &mut self,
        from: StationIndex,
        to: StationIndex,
        category: AccessCategory,
        machines: &mut [Edca<SplitMix64>],
    ) {
        if category == AccessCategory::Voice || !self.agreed.insert((from.0, to.0, category)) {
            return;
        }
        let sender = &mut machines[from.index()];
        let (rate, limits) = (sender.config().rate, sender.config().limits);
        if rate.mode().is_some() && limits.ampdu_bytes > 0 {
            sender.agree_to_send(MacAddress::station(to.0), category, rate, limits);
            let from = MacAddress::station(from.0);
            machines[to.index()].agree_to_receive(from, category, limits.window);
        }
    }
}
