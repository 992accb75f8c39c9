//! Packets in service at the MACs and on the air.

use whimbrel_units::{Duration, Instant};

use crate::medium::{Frame, FrameReport, MediumIo, MediumLoss};

/// A packet from its service at the MAC until its last transmission has ended everywhere.
struct Payload {
    /// The packet; `None` after its delivery to its one receiver.
    frame: Option<Frame>,
    /// Time at which the MAC took it.
    taken: Instant,
    /// Report on it, with the transmissions so far.
    report: FrameReport,
    /// `true` until the sender's MAC is done with it.
    is_in_service: bool,
    /// Transmissions that have not ended at all receivers.
    on_air: u32,
    /// Cause of the last loss at its receiver.
    last_loss: Option<MediumLoss>,
}

/// All packets in service or on the air, by handle.
#[derive(Default)]
pub(super) struct Payloads {
    slots: Vec<Option<Payload>>,
    free: Vec<u32>,
}

impl Payloads {
    /// Stores a packet that a MAC takes at `now`, and returns its handle.
    pub(super) fn insert(&mut self, now: Instant, frame: Frame, io: &MediumIo<'_>) -> u64 {
        let report = io.report(&frame, 0, Duration::ZERO);
        let payload = Payload {
            frame: Some(frame),
            taken: now,
            report,
            is_in_service: true,
            on_air: 0,
            last_loss: None,
        };
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(payload);
                u64::from(slot)
            }
            None => {
                self.slots.push(Some(payload));
                self.slots.len() as u64 - 1
            }
        }
    }

    fn get_mut(&mut self, handle: u64) -> Option<&mut Payload> {
        self.slots.get_mut(handle as usize)?.as_mut()
    }

    /// A transmission begins, which ends later if a station `is_reached`.
    pub(super) fn begin_transmission(&mut self, handle: u64, is_reached: bool) {
        let Some(payload) = self.get_mut(handle) else { return };
        payload.report.attempts += 1;
        payload.on_air += u32::from(is_reached);
        if !is_reached {
            payload.last_loss = Some(MediumLoss::OutOfRange);
        }
    }

    /// A transmission has ended at all stations.
    pub(super) fn end_transmission(&mut self, handle: u64, io: &mut MediumIo<'_>) {
        if let Some(payload) = self.get_mut(handle) {
            payload.on_air -= 1;
        }
        self.release_if_done(handle, io);
    }

    /// A transmission was lost at the packet's receiver.
    pub(super) fn lose(&mut self, handle: u64, cause: MediumLoss) {
        if let Some(payload) = self.get_mut(handle) {
            payload.last_loss = Some(cause);
        }
    }

    /// The MAC of a receiver delivers the packet.
    pub(super) fn deliver(&mut self, handle: u64, station: usize, io: &mut MediumIo<'_>) {
        let Some(payload) = self.get_mut(handle) else { return };
        if payload.report.to.is_none() {
            if let Some(frame) = &payload.frame {
                io.deliver_copy(frame, station);
            }
        } else if let Some(frame) = payload.frame.take() {
            io.deliver(frame, station);
        }
    }

    /// The sender's MAC is done with the packet at `at`. Returns the report on it.
    pub(super) fn finish(&mut self, at: Instant, handle: u64, io: &mut MediumIo<'_>) -> Option<FrameReport> {
        let payload = self.get_mut(handle)?;
        payload.is_in_service = false;
        let report = FrameReport { service: at - payload.taken, ..payload.report };
        self.release_if_done(handle, io);
        Some(report)
    }

    /// Frees the packet's handle if nothing refers to it any more. A packet to one station that was not delivered is
    /// lost then.
    fn release_if_done(&mut self, handle: u64, io: &mut MediumIo<'_>) {
        let Some(slot) = self.slots.get_mut(handle as usize) else { return };
        let Some(payload) = slot.take_if(|payload| !payload.is_in_service && payload.on_air == 0) else {
            return;
        };
        self.free.push(handle as u32);
        match payload.frame {
            Some(frame) if payload.report.to.is_none() => io.release(frame),
            // Without a loss at its receiver, no transmission began: the exchange failed before.
            Some(frame) => io.lose(frame, payload.last_loss.unwrap_or(MediumLoss::NoResponse)),
            None => {}
        }
    }
}
