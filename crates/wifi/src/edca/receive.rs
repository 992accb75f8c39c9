//! Receptions: responses to own frames, frames to be answered, reservations.

use whimbrel_units::{Duration, Instant};

use super::exchange::Exchange;
use super::{Edca, Event, Outbox, Ppdu, Received};
use crate::aggregation::{BlockAck, ReorderBuffer, Scoreboard, precedes};
use crate::dcf::ReceptionError;
use crate::frame::{Frame, FrameKind, MacAddress};
use crate::phy::{ACK_BYTES, CTS_BYTES};
use crate::random::Random;

/// Stands for the traffic identifier where repetitions of management frames are found.
const MANAGEMENT: u8 = 16;

/// State of a sender with which block acknowledgements are agreed, in a category.
#[derive(Clone, Debug)]
pub(super) struct Reception {
    transmitter: MacAddress,
    pub(super) identifier: u8,
    window: u16,
    board: Scoreboard,
    buffer: ReorderBuffer,
}

impl Reception {
    pub(super) fn new(transmitter: MacAddress, identifier: u8, window: u16) -> Self {
        let (board, buffer) = (Scoreboard::new(0, window), ReorderBuffer::new(0, window));
        Self { transmitter, identifier, window, board, buffer }
    }

    pub(super) fn answer(&self) -> BlockAck {
        self.board.answer()
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.buffer.poll_timeout()
    }
}

impl<R: Random> Edca<R> {
    /// A transmission, for any station, was received, or of an A-MPDU the MPDUs of `received`.
    pub fn handle_ppdu(&mut self, now: Instant, ppdu: &Ppdu, received: &Received) {
        if self.on_air.is_some() {
            // The receiver is off while the station transmits.
            return;
        }
        let frame = &ppdu.frame;
        let is_aggregate = frame.kind == FrameKind::Aggregate;
        if is_aggregate && !(0..ppdu.mpdus.len()).any(|place| received.contains(place)) {
            return self.handle_error(now, ReceptionError::Corrupted);
        }
        self.contention.handle_frame();
        let is_for_me = frame.receiver == self.address;
        if self.is_awaiting() {
            if is_for_me && self.handle_awaited(now, ppdu) {
                return self.refresh_timer();
            }
            // Any other valid frame means that the attempt failed.
            self.response_missing(now);
        }
        if is_for_me {
            self.handle_own(now, ppdu, received);
        } else if frame.kind == FrameKind::CfEnd {
            self.contention.reset_nav(now);
        } else {
            self.reserve(now, frame);
            if frame.receiver.is_group() && matches!(frame.kind, FrameKind::Data | FrameKind::Management) {
                self.deliver_all(now, ppdu);
            }
        }
        self.refresh_timer();
    }

    /// A transmission was received with errors, or only its energy was noticed.
    pub fn handle_error(&mut self, now: Instant, error: ReceptionError) {
        if self.on_air.is_some() || error != ReceptionError::Corrupted {
            return;
        }
        self.contention.handle_error(now);
        if self.is_awaiting() {
            self.response_missing(now);
        }
        self.refresh_timer();
    }

    const fn is_awaiting(&self) -> bool {
        self.timeout_at.is_some() || self.awaits_reception
    }

    fn handle_awaited(&mut self, now: Instant, ppdu: &Ppdu) -> bool {
        match (self.exchange, ppdu.frame.kind) {
            (Exchange::AwaitingCts, FrameKind::Cts) => self.handle_cts(now),
            (Exchange::AwaitingAck, FrameKind::Ack) => {
                self.acknowledge_last(now);
                self.end_exchange(now);
            }
            (Exchange::AwaitingBlockAck | Exchange::AwaitingAnswer, FrameKind::BlockAck) => {
                self.handle_block_ack(now, &ppdu.block_ack);
            }
            _ => return false,
        }
        true
    }

    fn handle_own(&mut self, now: Instant, ppdu: &Ppdu, received: &Received) {
        let frame = &ppdu.frame;
        match frame.kind {
            FrameKind::Rts if self.contention.nav_end() <= now => {
                self.answer(now, frame, FrameKind::Cts, CTS_BYTES, None);
            }
            FrameKind::Data => {
                self.charge_sender(frame.transmitter, ppdu.identifier, frame.air_time);
                self.receive_single(now, ppdu);
            }
            FrameKind::Management => {
                self.answer(now, frame, FrameKind::Ack, ACK_BYTES, None);
                if self.is_new(frame, MANAGEMENT) {
                    self.deliver_all(now, ppdu);
                }
            }
            FrameKind::Aggregate => {
                self.charge_sender(frame.transmitter, ppdu.identifier, frame.air_time);
                if let Some(number) = self.reception(ppdu) {
                    self.receive_mpdus(now, number, ppdu, received);
                    self.answer_block(now, frame, number);
                }
            }
            FrameKind::BlockAckRequest => {
                if let Some(number) = self.reception(ppdu) {
                    self.move_window(now, number, ppdu.block_ack.start);
                    self.answer_block(now, frame, number);
                }
            }
            // Responses that are not awaited, and frames of others.
            _ => {}
        }
    }

    /// A sender's window begins at this number from now on: earlier holes are given up.
    pub(super) fn move_window(&mut self, now: Instant, number: usize, start: u16) {
        self.receptions[number].board.request(start);
        self.release(now, number, |reception, release| reception.buffer.request(start, release));
    }

    fn reception(&self, ppdu: &Ppdu) -> Option<usize> {
        self.reception_from(ppdu.frame.transmitter, ppdu.identifier)
    }

    pub(super) fn reception_from(&self, transmitter: MacAddress, identifier: u8) -> Option<usize> {
        let is_it = |it: &Reception| it.transmitter == transmitter && it.identifier == identifier;
        self.receptions.iter().position(is_it)
    }

    fn receive_single(&mut self, now: Instant, ppdu: &Ppdu) {
        self.answer(now, &ppdu.frame, FrameKind::Ack, ACK_BYTES, None);
        match self.reception(ppdu) {
            Some(number) => self.receive_mpdus(now, number, ppdu, &Received::ALL),
            None => {
                if self.is_new(&ppdu.frame, ppdu.identifier) {
                    self.deliver_all(now, ppdu);
                }
            }
        }
    }

    fn receive_mpdus(&mut self, now: Instant, number: usize, ppdu: &Ppdu, received: &Received) {
        let mut first = 0;
        for (place, mpdu) in ppdu.mpdus.iter().enumerate() {
            let end = first + usize::from(mpdu.packets);
            let packets = ppdu.packets[first..end].iter().map(|packet| packet.handle);
            first = end;
            if received.contains(place) {
                self.receptions[number].board.receive(mpdu.sequence);
                let is_new = self.release(now, number, |reception, release| {
                    reception.buffer.receive(now, mpdu.sequence, packets.clone(), release)
                });
                let is_released = precedes(mpdu.sequence, self.receptions[number].buffer.start());
                if is_new && !is_released {
                    self.events.extend(packets.map(|packet| (now, Event::Held { packet })));
                }
            }
        }
    }

    /// Reports the packets that a reception releases.
    fn release<T>(
        &mut self,
        now: Instant,
        number: usize,
        apply: impl FnOnce(&mut Reception, &mut dyn FnMut(u64)) -> T,
    ) -> T {
        let Self { receptions, events, .. } = self;
        let reception = &mut receptions[number];
        let transmitter = reception.transmitter;
        apply(reception, &mut |packet| events.push_back((now, Event::Delivered { packet, transmitter })))
    }

    /// Skips the holes whose time has passed.
    pub(super) fn skip_holes(&mut self, now: Instant) {
        for number in 0..self.receptions.len() {
            if self.receptions[number].poll_timeout().is_some_and(|at| at <= now) {
                self.release(now, number, |reception, release| reception.buffer.handle_timeout(now, release));
            }
        }
    }

    fn deliver_all(&mut self, now: Instant, ppdu: &Ppdu) {
        let transmitter = ppdu.frame.transmitter;
        let events =
            ppdu.packets.iter().map(|packet| Event::Delivered { packet: packet.handle, transmitter });
        self.events.extend(events.map(|event| (now, event)));
    }

    /// The response to a frame for this station, unless an exchange of its own is in progress.
    fn answer(&mut self, now: Instant, to: &Frame, kind: FrameKind, bytes: u32, reception: Option<usize>) {
        if self.opportunity.is_some() || self.response.is_some() {
            return;
        }
        let phy = &self.config.phy;
        let rate = phy.response_rate(to.rate);
        let time = phy.sifs + phy.duration(rate, bytes);
        let nav = if to.nav > time { to.nav - time } else { Duration::ZERO };
        let frame = self.control_frame(to.transmitter, kind, rate, bytes, nav);
        self.response = Some((now + self.config.phy.sifs, frame, reception));
    }

    fn answer_block(&mut self, now: Instant, to: &Frame, number: usize) {
        let bytes = BlockAck::frame_bytes(self.receptions[number].window);
        self.answer(now, to, FrameKind::BlockAck, bytes, Some(number));
    }

    pub(super) fn send_response(&mut self, now: Instant, frame: Frame, reception: Option<usize>) {
        if self.on_air.is_some() {
            return;
        }
        let outbox = match reception {
            Some(number) => Outbox::BlockAck(frame, number),
            None => Outbox::Control(frame),
        };
        self.transmit(now, frame, outbox);
    }

    fn reserve(&mut self, now: Instant, frame: &Frame) {
        if frame.nav.is_zero() || !self.contention.set_nav(now + frame.nav) {
            return;
        }
        if frame.kind == FrameKind::Rts {
            let phy = &self.config.phy;
            let cts = phy.duration(phy.response_rate(frame.rate), CTS_BYTES);
            self.nav_reset_at = Some(now + phy.sifs * 2 + cts + phy.rx_start_delay() + phy.slot * 2);
        }
    }

    /// `true` unless the frame repeats the last one of its sender and category.
    fn is_new(&mut self, frame: &Frame, identifier: u8) -> bool {
        let key = (frame.transmitter, identifier);
        match self.singles.iter_mut().find(|(known, _)| *known == key) {
            Some((_, last)) => core::mem::replace(last, frame.sequence) != frame.sequence || !frame.is_retry,
            None => {
                self.singles.push((key, frame.sequence));
                true
            }
        }
    }
}
