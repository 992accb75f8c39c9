//! The stations of an 802.11 medium: their MACs, and the packets and messages that they have in service.

use whimbrel_units::Instant;
use whimbrel_wifi::dcf::{Event, Outgoing};
use whimbrel_wifi::deadlines::Deadlines;
use whimbrel_wifi::phy::Rate;
use whimbrel_wifi::rate_control::RateControl;
use whimbrel_wifi::{Dcf, Frame, FrameKind, MacAddress, SplitMix64};

use super::arp::{ARP, Arp, Held};
use super::infrastructure::{Infrastructure, MESSAGE};
use super::managed::Machine;
use super::monitor::Monitor;
use super::payloads::Payloads;
use super::supply::Supply;
use crate::medium::{MediumIo, MediumLoss, Observation};
use crate::queue::QueuedPacket;
use crate::{NodeId, StationIndex};

/// The MACs of a medium, and what they have in service.
pub(super) struct Stations {
    pub(super) machines: Vec<Dcf<SplitMix64>>,
    pub(super) deadlines: Deadlines,
    pub(super) payloads: Payloads,
    pub(super) llc_bytes: u32,
    /// Some stations have a MAC of their own.
    pub(super) has_own_macs: bool,
    /// Stations that have just given a frame up, and the time. They take their next packet in the next call:
    /// the routing agent may flush the queue before.
    pub(super) paused: Vec<StationIndex>,
    pub(super) paused_at: Instant,
    /// `None` if the stations know all addresses.
    pub(super) arp: Option<Box<Arp>>,
    /// `None` if all stations are equal.
    pub(super) infrastructure: Option<Box<Infrastructure>>,
    /// Notes of the frames on the air, if there is to be any.
    pub(super) monitor: Option<Box<Monitor>>,
}

/// `true` if the frame carries an ARP message.
pub(super) const fn is_arp(frame: &Frame) -> bool {
    matches!(frame.kind, FrameKind::Data) && frame.payload & ARP != 0
}

impl Stations {
    pub(super) fn address(&self, station: StationIndex) -> MacAddress {
        self.infrastructure
            .as_ref()
            .map_or(MacAddress::station(station.0), |infrastructure| infrastructure.address(station))
    }

    /// The station with an address.
    pub(super) fn station(&self, address: MacAddress) -> Option<StationIndex> {
        match &self.infrastructure {
            Some(infrastructure) => infrastructure.number(address),
            None => {
                address.number().map(StationIndex).filter(|station| station.index() < self.machines.len())
            }
        }
    }

    /// Rate of a data frame to a station that does not support all rates of the sender; `None` for the rate
    /// of the sender.
    fn common_rate(&self, from: StationIndex, outgoing: &Outgoing) -> Option<Rate> {
        if outgoing.kind != FrameKind::Data || outgoing.rate.is_some() {
            return None;
        }
        let to = self.station(outgoing.receiver)?;
        let (own, other) = (self.machines[from.index()].config(), self.machines[to.index()].config());
        let supported = other.phy.supported;
        let is_fixed = own.rate_control == RateControl::Fixed;
        let suffices = if is_fixed {
            supported.contains(own.data_rate)
        } else {
            own.phy.supported.iter().all(|rate| supported.contains(rate))
        };
        if suffices {
            return None;
        }
        let limit = own.data_rate.bits_per_second();
        let common = own.phy.supported.iter().filter(|&rate| supported.contains(rate));
        let below = common.filter(|rate| rate.bits_per_second() <= limit);
        below.max_by_key(|rate| rate.bits_per_second())
    }

    /// Processes a MAC's events, gives it the next packet, and notes its deadline.
    pub(super) fn settle(&mut self, now: Instant, station: StationIndex, io: &mut MediumIo<'_>) {
        if let Some(infrastructure) = &mut self.infrastructure {
            let counters = self.machines[station.index()].counters();
            let failures = counters.failed_attempts + counters.failed_after_cts;
            infrastructure.handle_attempts(now, station, failures, io);
        }
        loop {
            while let Some((at, event)) = self.machines[station.index()].poll_event() {
                self.handle_event(at, station, event, io);
            }
            if !self.machines[station.index()].is_ready() || self.paused.contains(&station) {
                break;
            }
            let Some(outgoing) = self.next_outgoing(now, station, io) else { break };
            let accepted = self.machines[station.index()].enqueue(now, outgoing);
            debug_assert!(accepted.is_ok(), "the MAC was ready");
        }
        self.deadlines.set(station.index(), self.machines[station.index()].poll_timeout());
    }

    /// `true` if a MAC has something to report. One that has not is not ready, or has found its queue empty.
    #[inline]
    pub(super) fn is_to_settle(&self, station: StationIndex) -> bool {
        self.infrastructure.is_some() || self.machines[station.index()].has_events()
    }

    fn next_outgoing(
        &mut self,
        now: Instant,
        station: StationIndex,
        io: &mut MediumIo<'_>,
    ) -> Option<Outgoing> {
        let management_rate = self.machines[station.index()].config().group_rate;
        let arp = self.arp.as_deref_mut();
        let mut supply =
            Supply { payloads: &mut self.payloads, arp, llc_bytes: self.llc_bytes, management_rate };
        let outgoing = match &mut self.infrastructure {
            None => supply.ad_hoc(now, station, |to| MacAddress::station(to.0), io),
            Some(infrastructure) => {
                let outgoing = supply.next(now, station, infrastructure, io);
                if let Some(outgoing) = &outgoing {
                    infrastructure.stations[station.index()].serves_data = outgoing.kind == FrameKind::Data;
                }
                outgoing
            }
        };
        if self.arp.as_mut().is_some_and(|arp| arp.take_failure()) {
            self.pause(station, io);
        }
        if !self.has_own_macs {
            return outgoing;
        }
        outgoing.map(|outgoing| {
            let rate = outgoing.rate.or_else(|| self.common_rate(station, &outgoing));
            Outgoing { rate, ..outgoing }
        })
    }

    /// Holds a packet to be queued, if its receiver's address is unknown; `false` if it is to be queued.
    pub(super) fn hold(
        &mut self,
        now: Instant,
        station: StationIndex,
        packet: QueuedPacket,
        to: NodeId,
        io: &mut MediumIo<'_>,
    ) -> bool {
        let machine = self.infrastructure.as_ref().map(|all| &all.stations[station.index()].machine);
        let is_managed = machine.is_some_and(|machine| !matches!(machine, Machine::None));
        let Some(arp) = self.arp.as_mut().filter(|_| !is_managed) else { return false };
        let Some(to) = io.station(to).filter(|&to| !arp.knows(now, station, to)) else { return false };
        let frame = io.take_offered(station, packet, to);
        arp.hold(now, station, to, Held { frame, since: now }, io);
        if arp.take_failure() {
            self.pause(station, io);
        }
        true
    }

    /// The station has given a packet up. It goes on in the next call.
    fn pause(&mut self, station: StationIndex, io: &MediumIo<'_>) {
        self.paused.push(station);
        self.paused_at = io.now;
    }

    /// The first deadline of a MAC, or of a request for an address.
    pub(super) fn next_deadline(&self) -> Instant {
        let next = self.deadlines.first_at();
        self.arp.as_ref().map_or(next, |arp| next.min(arp.deadlines.first_at()))
    }

    /// Repeats the requests for addresses that are due, or gives their packets up. Returns a station that is
    /// to settle then, after which the call is to be repeated.
    pub(super) fn repeat_request(&mut self, now: Instant, io: &mut MediumIo<'_>) -> Option<StationIndex> {
        loop {
            let arp = self.arp.as_mut().filter(|arp| arp.deadlines.first_at() <= now)?;
            let (station, _) = arp.deadlines.first()?;
            arp.handle_timeout(now, StationIndex::new(station), io);
            if !arp.take_failure() {
                return Some(StationIndex::new(station));
            }
            self.pause(StationIndex::new(station), io);
        }
    }

    fn handle_event(&mut self, at: Instant, station: StationIndex, event: Event, io: &mut MediumIo<'_>) {
        match event {
            Event::Delivered { frame } => self.deliver(at, station, &frame, io),
            Event::Sent { payload, .. } => self.finish(at, station, payload, true, io),
            Event::Dropped { payload, .. } => {
                self.finish(at, station, payload, false, io);
                if payload & (MESSAGE | ARP) == 0 {
                    self.pause(station, io);
                }
            }
            Event::Trace(step) => io.observe(station, Observation::Mac { at, step }),
        }
    }

    /// A station's MAC delivers a packet.
    fn deliver(&mut self, now: Instant, station: StationIndex, frame: &Frame, io: &mut MediumIo<'_>) {
        if let Some(infrastructure) = &mut self.infrastructure {
            if frame.kind == FrameKind::Management {
                return infrastructure.handle_message(now, station, frame.transmitter, frame.payload, io);
            }
            if !infrastructure.accepts(now, station, frame.transmitter, frame.receiver.is_group(), io) {
                if !frame.receiver.is_group() && !is_arp(frame) {
                    self.payloads.lose(frame.payload, MediumLoss::NotAssociated);
                }
                return;
            }
            if !is_arp(frame) && self.payloads.is_broadcast(frame.payload) {
                if self.payloads.sender(frame.payload) == Some(station) {
                    // The access point has repeated the station's own broadcast.
                    return;
                }
                if !frame.receiver.is_group() {
                    self.payloads.relay(frame.payload);
                    infrastructure.stations[station.index()].relays.push_back(frame.payload);
                }
            }
        }
        match &mut self.arp {
            Some(arp) if is_arp(frame) => arp.handle_message(now, station, frame.payload, io),
            _ => self.payloads.deliver(frame.payload, station, io),
        }
    }

    /// A station's MAC has sent a payload, or has given it up.
    fn finish(
        &mut self,
        at: Instant,
        station: StationIndex,
        payload: u64,
        is_sent: bool,
        io: &mut MediumIo<'_>,
    ) {
        if let Some(arp) = &mut self.arp
            && payload & (MESSAGE | ARP) == ARP
        {
            return arp.finish_message(station, payload, is_sent);
        }
        if let Some(infrastructure) = &mut self.infrastructure {
            if payload & MESSAGE != 0 {
                return infrastructure.finish_message(station, payload, is_sent);
            }
            if is_sent {
                infrastructure.handle_success(at, station);
            }
        }
        let is_own = self.payloads.sender(payload) == Some(station);
        if let Some(report) = self.payloads.finish(at, payload, io)
            && is_own
        {
            let observation = if is_sent { Observation::Sent(report) } else { Observation::Failed(report) };
            io.observe(station, observation);
        }
    }
}
