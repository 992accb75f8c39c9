//! Packets in service at the MACs and on the air.

use whimbrel_units::{Duration, Instant};

use super::in_flight::InFlight;
use crate::medium::{FrameReport, MediumIo, MediumLoss, TakenPacket};
use crate::packets::PacketSlot;
use crate::queue::FlowKey;
use crate::{PacketId, StationIndex};

/// A packet from its service at the MAC until its last transmission has ended everywhere.
struct Payload {
    /// The packet; `None` after its delivery to its one receiver.
    frame: Option<TakenPacket>,
    /// The station that sends it.
    sender: StationIndex,
    /// The station whose MAC is to receive it; `None` for a broadcast.
    receiver: Option<StationIndex>,
    /// Time at which the MAC took it.
    taken: Instant,
    /// Report on it, with the transmissions so far.
    report: FrameReport,
    /// Cause of the last loss at its receiver.
    last_loss: Option<MediumLoss>,
    /// Its receiver has it, and waits for earlier ones.
    is_held: bool,
    /// Airtime that it is expected to take, and an account of its sender.
    charge: Charge,
}

/// Airtime on an account.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Charge {
    pub(super) account: u32,
    pub(super) micros: u32,
}

/// All packets in service or on the air, by handle.
#[derive(Default)]
pub(super) struct Payloads(InFlight<Payload>);

impl Payloads {
    /// Stores a packet that a MAC takes at `now` for the MAC of `receiver`, and returns its handle.
    pub(super) fn insert(
        &mut self,
        now: Instant,
        frame: TakenPacket,
        receiver: Option<StationIndex>,
        io: &MediumIo<'_>,
    ) -> u64 {
        let report = io.report(&frame, 0, Duration::ZERO);
        let sender = frame.sender;
        self.0.insert(Payload {
            frame: Some(frame),
            sender,
            receiver,
            taken: now,
            report,
            last_loss: None,
            is_held: false,
            charge: Charge::default(),
        })
    }

    /// The station whose MAC is to receive the packet; `None` for a broadcast.
    pub(super) fn receiver(&self, handle: u64) -> Option<StationIndex> {
        self.0.get(handle)?.receiver
    }

    /// The station that sends the packet.
    pub(super) fn sender(&self, handle: u64) -> Option<StationIndex> {
        self.0.get(handle).map(|payload| payload.sender)
    }

    /// Notes the airtime that the packet is expected to take.
    pub(super) fn set_charge(&mut self, handle: u64, charge: Charge) {
        if let Some(payload) = self.0.get_mut(handle) {
            payload.charge = charge;
        }
    }

    /// The airtime that the packet was expected to take.
    pub(super) fn charge(&self, handle: u64) -> Charge {
        self.0.get(handle).map_or(Charge::default(), |payload| payload.charge)
    }

    /// Place of the packet in the store; `None` if it has left it.
    pub(super) fn slot(&self, handle: u64) -> Option<PacketSlot> {
        self.0.get(handle)?.frame.as_ref().map(|frame| frame.slot)
    }

    /// Number and flow of the packet.
    pub(super) fn packet(&self, handle: u64) -> Option<(PacketId, FlowKey)> {
        self.0.get(handle).map(|payload| (payload.report.packet, payload.report.flow))
    }

    /// Bytes of the packet.
    pub(super) fn size(&self, handle: u64) -> u32 {
        self.0.get(handle).map_or(0, |payload| payload.report.size)
    }

    /// `true` if the packet is for all neighbours.
    pub(super) fn is_broadcast(&self, handle: u64) -> bool {
        self.0.get(handle).is_some_and(|payload| payload.report.to.is_none())
    }

    /// A packet that its MAC has given back goes to another station.
    pub(super) fn redirect(&mut self, handle: u64, receiver: StationIndex, io: &MediumIo<'_>) {
        let Some(payload) = self.0.get_mut(handle) else { return };
        payload.receiver = Some(receiver);
        if payload.report.to.is_some() {
            payload.report.to = Some(io.node(receiver));
        }
        if let Some(frame) = &mut payload.frame
            && frame.receiver.is_some()
        {
            frame.receiver = Some(receiver);
        }
    }

    /// The packet is to be sent again by another station, for all stations of its network.
    pub(super) fn relay(&mut self, handle: u64) {
        self.0.add_service(handle);
    }

    /// A transmission begins, which ends later if a station `is_reached`. Its receiver is out of reach for
    /// the cause of `miss`.
    pub(super) fn begin_transmission(&mut self, handle: u64, is_reached: bool, miss: Option<MediumLoss>) {
        let Some(payload) = self.0.get_mut(handle) else { return };
        payload.report.attempts += 1;
        if miss.is_some() {
            payload.last_loss = miss;
        }
        if is_reached {
            self.0.begin_transmission(handle);
        }
    }

    /// A transmission has ended at all stations.
    pub(super) fn end_transmission(&mut self, handle: u64, io: &mut MediumIo<'_>) {
        if let Some(payload) = self.0.end_transmission(handle) {
            payload.settle(io);
        }
    }

    /// A transmission was lost at the packet's receiver.
    pub(super) fn lose(&mut self, handle: u64, cause: MediumLoss) {
        if let Some(payload) = self.0.get_mut(handle) {
            payload.last_loss = Some(cause);
        }
    }

    /// The packet's receiver has it, but delivers it later.
    pub(super) fn hold(&mut self, handle: u64) {
        if let Some(payload) = self.0.get_mut(handle)
            && !payload.is_held
        {
            payload.is_held = true;
            self.0.add_service(handle);
        }
    }

    /// The receiver is done with a packet that it may have held.
    pub(super) fn release(&mut self, handle: u64, io: &mut MediumIo<'_>) {
        let Some(payload) = self.0.get_mut(handle).filter(|payload| payload.is_held) else { return };
        payload.is_held = false;
        if let Some(payload) = self.0.end_service(handle) {
            payload.settle(io);
        }
    }

    /// The MAC of a receiver delivers the packet.
    pub(super) fn deliver(&mut self, handle: u64, station: StationIndex, io: &mut MediumIo<'_>) {
        let Some(payload) = self.0.get_mut(handle) else { return };
        if payload.report.to.is_none() {
            if let Some(frame) = &payload.frame {
                io.deliver_copy(frame, station);
            }
        } else if let Some(frame) = payload.frame.take() {
            io.deliver(frame, station);
        }
    }

    /// A MAC is done with the packet at `at`. Returns the report on it.
    pub(super) fn finish(&mut self, at: Instant, handle: u64, io: &mut MediumIo<'_>) -> Option<FrameReport> {
        let payload = self.0.get(handle)?;
        let report = FrameReport { service: at - payload.taken, ..payload.report };
        if let Some(payload) = self.0.end_service(handle) {
            payload.settle(io);
        }
        Some(report)
    }
}

impl Payload {
    /// Nothing refers to the packet any more. A packet to one station that was not delivered is lost.
    fn settle(self, io: &mut MediumIo<'_>) {
        match self.frame {
            Some(frame) if self.report.to.is_none() => io.release(frame),
            // Without a loss at its receiver, no transmission began: the exchange failed before.
            Some(frame) => io.lose(frame, self.last_loss.unwrap_or(MediumLoss::NoResponse)),
            None => {}
        }
    }
}
