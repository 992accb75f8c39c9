//! Router laws at the egresses of a network.

use std::collections::BTreeMap;
use std::sync::Arc;

use whimbrel_control::capacity::{
    Estimate, FrameKind, Heard, IdleGap, ProbeWinf, ProbeWinfConfig, RtWinf, RtWinfConfig, StationState,
};
use whimbrel_control::explicit_rate::{FlowHeader, RouterLaw};
use whimbrel_netsim::medium::Observation;
use whimbrel_netsim::{ControlledPacket, Controller, Count};
use whimbrel_scenario::controller::ControllerPlan;
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};
use whimbrel_wifi::MacAddress;
use whimbrel_wifi::dcf::Step;
use whimbrel_wifi::frame;

use crate::transport::explicit::{CrossLayer, Position};

/// A router law at a link.
pub(super) struct LawController {
    law: Box<dyn RouterLaw>,
    /// Changes of the capacity, the last one first.
    changes: Vec<(Instant, DataRate)>,
}

impl LawController {
    /// The controller of a plan with the changes of the link's rate.
    pub(super) fn new(plan: &ControllerPlan, mut changes: Vec<(Instant, DataRate)>) -> Self {
        changes.retain(|_| plan.follows_rate);
        changes.sort_by_key(|change| std::cmp::Reverse(change.0));
        Self { law: plan.build(), changes }
    }
}

fn bytes(backlog: Count) -> ByteCount {
    ByteCount::new(backlog.bytes)
}

/// Calls `law` with the header of a packet, and writes the allocation back.
fn arrive(law: &mut dyn RouterLaw, now: Instant, packet: &ControlledPacket<'_>, backlog: Count) {
    let header = packet.shim.as_deref().map(|shim| header(*shim));
    law.on_arrival(now, packet.size, header.as_ref(), bytes(backlog));
}

fn depart(law: &mut dyn RouterLaw, now: Instant, packet: &mut ControlledPacket<'_>, backlog: Count) {
    let mut header = packet.shim.as_deref().map(|shim| header(*shim));
    law.on_departure(now, packet.size, header.as_mut(), bytes(backlog));
    if let (Some(shim), Some(header)) = (packet.shim.as_deref_mut(), header) {
        shim.allocation = header.allocation;
    }
}

fn header(shim: whimbrel_netsim::Shim) -> FlowHeader {
    FlowHeader { rtt: shim.rtt, rate: shim.rate, allocation: shim.allocation }
}

impl Controller for LawController {
    fn handle_arrival(&mut self, now: Instant, packet: &mut ControlledPacket<'_>, backlog: Count) {
        arrive(&mut *self.law, now, packet, backlog);
    }

    fn handle_departure(&mut self, now: Instant, packet: &mut ControlledPacket<'_>, backlog: Count) {
        depart(&mut *self.law, now, packet, backlog);
    }

    fn handle_timeout(&mut self, now: Instant, backlog: Count) {
        while let Some((_, rate)) = self.changes.pop_if(|change| change.0 <= now) {
            self.law.set_capacity(rate);
        }
        self.law.on_timeout(now, bytes(backlog));
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let change = self.changes.last().map(|change| change.0);
        [self.law.poll_timeout(), change].into_iter().flatten().min()
    }
}

/// The longest acknowledgement: at 1 Mbit/s with the long preamble.
const LONGEST_ACK: Duration = Duration::from_micros(304);

/// The observation of a station: rt-Winf and IdleGap.
#[derive(Clone, Debug)]
pub(super) struct Observer {
    address: MacAddress,
    header_bytes: u32,
    winf: RtWinf,
    /// rt-Winf from data and ACK, for networks without RTS and CTS.
    data_ack: ProbeWinf,
    /// `true` if the stations send probes: `data_ack` then replaces `winf`.
    uses_probes: bool,
    gap: IdleGap,
    /// Slots drawn for the frame in service, and the length of a slot.
    backoff: Duration,
    slot: Duration,
    /// The receiver of the last own data frame.
    peer: Option<MacAddress>,
}

impl Observer {
    pub(super) fn new(
        address: MacAddress,
        config: RtWinfConfig,
        slot: Duration,
        header_bytes: u32,
        uses_probes: bool,
    ) -> Self {
        Self {
            address,
            header_bytes,
            winf: RtWinf::new(config, Instant::ZERO),
            data_ack: ProbeWinf::new(
                ProbeWinfConfig {
                    nominal: config.nominal,
                    averaging: config.averaging,
                    ack_timeout: config.sifs + LONGEST_ACK + slot,
                    ..ProbeWinfConfig::hr_dsss()
                },
                Instant::ZERO,
            ),
            uses_probes,
            gap: IdleGap::new(config.nominal, Instant::ZERO),
            backoff: Duration::ZERO,
            slot,
            peer: None,
        }
    }

    /// Discards all observations.
    fn restart(&mut self, now: Instant) {
        self.winf = RtWinf::new(*self.winf.config(), now);
        self.data_ack = ProbeWinf::new(*self.data_ack.config(), now);
        self.gap = IdleGap::new(self.winf.config().nominal, now);
        self.peer = None;
    }

    /// The frame of a step of the MAC; `None` for other steps. `returned` yields the estimate in the ACK of a
    /// station.
    fn heard(
        &mut self,
        at: Instant,
        step: &Step,
        returned: impl FnOnce(MacAddress) -> Option<Estimate>,
    ) -> Option<Heard> {
        let (frame, from_self) = match step {
            Step::TransmitStarted { frame } => (frame, true),
            Step::Received { frame } => (frame, false),
            Step::BackoffDrawn { slots, .. } => {
                self.backoff = self.slot * u64::from(*slots);
                return None;
            }
            _ => return None,
        };
        let kind = match frame.kind {
            frame::FrameKind::Rts => FrameKind::Rts,
            frame::FrameKind::Cts => FrameKind::Cts,
            frame::FrameKind::Ack => FrameKind::Ack,
            frame::FrameKind::Data => FrameKind::Data,
            frame::FrameKind::Probe => FrameKind::Probe,
            _ => return None,
        };
        let to_self = !from_self && frame.receiver == self.address;
        let is_data = matches!(kind, FrameKind::Data | FrameKind::Probe);
        if from_self && is_data {
            self.peer = Some(frame.receiver);
        }
        let is_ack_to_self = to_self && kind == FrameKind::Ack;
        Some(Heard {
            at: if from_self { at + frame.air_time } else { at },
            airtime: frame.air_time,
            kind,
            from_self,
            to_self,
            nav: frame.nav,
            size: ByteCount::new(if is_data {
                u64::from(frame.size.saturating_sub(self.header_bytes))
            } else {
                0
            }),
            rate: is_data.then(|| frame.rate.data_rate()),
            backoff: from_self.then_some(self.backoff),
            estimate: self.peer.filter(|_| is_ack_to_self).and_then(returned),
        })
    }
}

/// `true` if a management frame was received.
fn is_management(step: &Step) -> bool {
    matches!(step, Step::Received { frame } if frame.kind == frame::FrameKind::Management)
}

/// The estimates of all stations of a medium by their addresses.
pub(super) type Board = Arc<BTreeMap<MacAddress, CrossLayer>>;

/// A router law at an 802.11 station, with the estimates of rt-Winf if the law uses them.
pub(super) struct StationController {
    law: Box<dyn RouterLaw>,
    observer: Option<Observer>,
    own: CrossLayer,
    board: Board,
}

impl StationController {
    pub(super) fn new(plan: &ControllerPlan, observer: Observer, own: CrossLayer, board: Board) -> Self {
        Self { law: plan.build(), observer: plan.is_estimated.then_some(observer), own, board }
    }
}

impl Controller for StationController {
    fn handle_arrival(&mut self, now: Instant, packet: &mut ControlledPacket<'_>, backlog: Count) {
        arrive(&mut *self.law, now, packet, backlog);
    }

    fn handle_departure(&mut self, now: Instant, packet: &mut ControlledPacket<'_>, backlog: Count) {
        depart(&mut *self.law, now, packet, backlog);
    }

    fn handle_timeout(&mut self, now: Instant, backlog: Count) {
        self.law.on_timeout(now, bytes(backlog));
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.law.poll_timeout()
    }

    fn handle_observation(&mut self, now: Instant, observation: &Observation) {
        if let (Some(observer), Observation::Associated(_)) = (&mut self.observer, observation) {
            // Estimates of another cell.
            observer.restart(now);
            self.own.clear();
            return;
        }
        let (Some(observer), Observation::Mac { at, step }) = (&mut self.observer, observation) else {
            return;
        };
        let board = &self.board;
        let returned = |address: MacAddress| board.get(&address)?.get(Position::Receiver);
        let at = match observer.heard(*at, step, returned) {
            Some(heard) => {
                observer.winf.on_heard(&heard);
                observer.data_ack.on_heard(&heard);
                observer.gap.on_heard(&heard);
                heard.at
            }
            // A beacon shows that time has passed.
            None if is_management(step) => {
                observer.winf.on_time(*at);
                observer.data_ack.on_time(*at);
                *at
            }
            None => return,
        };
        let estimate = |state: StationState| match observer.uses_probes {
            true => observer.data_ack.estimate(state),
            false => observer.winf.estimate(state),
        };
        self.own.set_observed(
            observer.winf.estimate(StationState::Onlooker),
            observer.data_ack.estimate(StationState::Onlooker),
            observer.gap.estimate(at),
        );
        self.own.set(Position::Sender, estimate(StationState::Sender));
        if let Some(estimate) = estimate(StationState::Receiver) {
            self.own.set(Position::Receiver, Some(estimate));
        }
        // A router is an onlooker; one that has overheard no whole exchange of others uses its own.
        if let Some(estimate) = estimate(StationState::Onlooker).or_else(|| estimate(StationState::Sender)) {
            self.law.set_estimate(estimate);
        }
    }
}

#[cfg(test)]
mod tests;
