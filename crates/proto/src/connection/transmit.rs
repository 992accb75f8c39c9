//! Transmission: the order of pending packets, and those with data or acknowledgements.

use whimbrel_units::Instant;
use whimbrel_wire::{Ecn, Kind, Options, PacketType, Payload, SeqNo};

use super::outbound::Urgent;
use super::room::{ELAPSED_TIME_LEN, MAX_ECHO_LEN, options_len};
use super::timer::Timer;
use super::{Connection, State, Transmit};
use crate::send_queue::Queued;

impl Connection {
    /// Returns the next packet: Resets, Syncs and the handshake first, then data or feedback.
    pub(super) fn next_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if self.fx.outbound.is_urgent() {
            let urgent = self.urgent_packet(now);
            if urgent.is_some() {
                return urgent;
            }
        }
        if !self.cx.state.may_send_data() {
            return None;
        }
        if self.subflow.owes_ack() {
            return Some(self.ack_packet(now));
        }
        if self.mtu.probe().is_some()
            && !self.freezing.is_quiet()
            && let Some(probe) = self.path_probe(now)
        {
            return Some(probe);
        }
        let size = self.fx.queue.front_size(now, &mut self.fx.events);
        if size.is_none() && self.closing.is_requested() {
            self.cx.state = self.closing.start(&self.cx, &mut self.fx);
            return self.urgent_packet(now);
        }
        // Data of a frozen end stay in the queue, and the HC-sender is not called for them.
        let size = size.filter(|_| !self.freezing.is_frozen());
        if size.is_none() {
            // Most calls: without data only an acknowledgement can be due. The effects of a call with data
            // that have gone must still be undone: a running probe timer, and the time at which they might
            // have left.
            self.is_within_window(now, None);
            self.congestion.may_send(now, None);
            return self.is_ack_due(now).then(|| self.ack_packet(now));
        }
        let is_within_window = self.is_within_window(now, size);
        let is_held = self.fx.timers.is_running(Timer::Constraint)
            || self.congestion.awaits_ack_vectors(&self.cx)
            || size.is_some_and(|size| self.mtu.is_on_trial(size));
        let fits = size.is_none_or(|size| self.fits_beside_constants(now, size));
        if !fits {
            // The announcement leaves no room for the queued data: sends it without them.
            self.mobility.announce(now, &self.cx, &mut self.fx, false);
        }
        let size = size.filter(|_| is_within_window && !is_held && fits);
        let may_send = self.congestion.may_send(now, size);
        let ack_due = self.is_ack_due(now);
        match size {
            Some(size) if may_send => self.data_packet(now, size, ack_due),
            _ if ack_due => Some(self.ack_packet(now)),
            _ => None,
        }
    }

    /// `true` if the connection, the negotiation of features or congestion control requires an
    /// acknowledgement now.
    #[inline]
    fn is_ack_due(&self, now: Instant) -> bool {
        self.fx.outbound.is_ack_requested()
            || self.cx.features.next_deadline(self.freezing.is_quiet()) <= now
            || self.congestion.feedback_due(now)
    }

    /// `true` if the Sequence Window has room for data. If it stays full, the acknowledgements are lost, and
    /// a Sync elicits one (RFC 4340, Section 11.2).
    fn is_within_window(&mut self, now: Instant, size: Option<usize>) -> bool {
        let is_full = size.is_some() && !self.cx.sequence.may_send_data();
        match (is_full, self.fx.timers.is_running(Timer::Probe)) {
            (true, false) => {
                let backoff = self.fx.outbound.syncs().start_probing(self.cx.rtt.or_default());
                self.fx.timers.set(Timer::Probe, now + backoff);
            }
            (false, true) => self.fx.timers.stop(Timer::Probe),
            _ => {}
        }
        !is_full
    }

    fn urgent_packet(&mut self, now: Instant) -> Option<Transmit> {
        let transmit = match self.fx.outbound.take_urgent(self.subflow.holds_close())? {
            Urgent::Reset(reset, ack) => self.reset_packet(now, reset, ack),
            Urgent::Refusal(packet) => {
                self.fx.statistics.packets_sent += 1;
                Transmit { packet, ecn: Ecn::NotEct }
            }
            Urgent::Sync(packet_type, ack) => self.sync_packet(now, packet_type, ack),
            Urgent::Request => self.request_packet(now),
            Urgent::Listen => self.listen_packet(now),
            Urgent::Response => self.response_packet(now),
            Urgent::Close => self.close_packet(now),
        };
        Some(transmit)
    }

    /// Creates a Data packet, or a DataAck if an acknowledgement is pending (RFC 4340, Section 8.2).
    fn data_packet(&mut self, now: Instant, size: usize, ack_due: bool) -> Option<Transmit> {
        let must_acknowledge = self.cx.state == State::PartOpen;
        // The options of a usual acknowledgement.
        let feedback = |ack| self.reports_len(ack) + ELAPSED_TIME_LEN;
        let ack = self.cx.sequence.numbers.acknowledgeable();
        let piggybacks = !ack_due
            && self.congestion.has_news()
            && self.room(now, PacketType::DataAck).fits(size, feedback(ack));
        let acknowledges_acks = !self.fx.outbound.has_ack_gone_ahead()
            && (self.congestion.needs_ack_of_ack(now) || self.dropped.owes_ack());
        if !ack_due && !must_acknowledge && !piggybacks && !acknowledges_acks {
            let mut options = Options::new();
            if self.cx.rtt.owes_echo() && self.room(now, PacketType::Data).fits(size, MAX_ECHO_LEN) {
                self.cx.rtt.write_echo(now, &mut options);
            }
            let queued = self.fx.queue.pop(&mut self.fx.events)?;
            return Some(self.emit_datagram(now, queued, Kind::Data, options));
        }
        let mut options = Options::new();
        self.write_features(now, PacketType::DataAck, &mut options);
        if must_acknowledge {
            // A datagram that leaves no room for them is sent without.
            let mut all = self.handshake.answers_besides(&options);
            all.extend(options.iter().cloned());
            if self.has_room_for_reports(now, ack, size, &all) {
                options.extend(self.handshake.answers_besides(&options));
            }
        }
        if ack_due || piggybacks {
            self.write_feedback(now, ack, &mut options);
        }
        let has_room = self.room(now, PacketType::DataAck).fits(size, options_len(&options));
        // RFC 4340, Section 11.5: Ack Vectors go with every acknowledgement.
        let reports_always = self.ack_vectors.is_sending();
        if self.has_room_for_reports(now, ack, size, &options) {
            self.write_reports(now, PacketType::DataAck, ack, &mut options);
        } else if ack_due || !options.is_empty() || !has_room || (reports_always && !must_acknowledge) {
            // RFC 4340, Section 11.2: two packets, where one would be too large.
            self.write_reports(now, PacketType::Ack, ack, &mut options);
            self.fx.outbound.set_ack_gone_ahead(true);
            return Some(self.emit(
                now,
                Kind::Ack { ack },
                options,
                Payload::EMPTY,
                self.congestion.ack_ecn(&self.cx),
            ));
        }
        let queued = self.fx.queue.pop(&mut self.fx.events)?;
        Some(self.emit_datagram(now, queued, Kind::DataAck { ack }, options))
    }

    /// `true` if a DataAck has room for a datagram of `size` bytes, these options and all pending reports.
    fn has_room_for_reports(&self, now: Instant, ack: SeqNo, size: usize, options: &Options) -> bool {
        self.room(now, PacketType::DataAck).fits(size, options_len(options) + self.reports_len(ack))
    }

    #[inline]
    fn emit_datagram(&mut self, now: Instant, queued: Queued, kind: Kind, options: Options) -> Transmit {
        let size = queued.payload.len();
        let ecn = self.congestion.data_ecn(&self.cx);
        let sequence = self.cx.sequence.numbers.gss().next();
        self.fx.outbound.set_ack_gone_ahead(false);
        self.fx.on_datagram_sent(queued.id, size, sequence);
        self.mtu.on_datagram_sent(now, &self.cx, &mut self.fx, size);
        self.emit(now, kind, options, queued.payload, ecn)
    }

    /// Creates an Ack.
    fn ack_packet(&mut self, now: Instant) -> Transmit {
        let ack = self.cx.sequence.numbers.acknowledgeable();
        let mut options = Options::new();
        self.write_features(now, PacketType::Ack, &mut options);
        if self.cx.state == State::PartOpen {
            let again = self.handshake.answers_besides(&options);
            options.extend(again);
        }
        self.write_feedback(now, ack, &mut options);
        self.write_reports(now, PacketType::Ack, ack, &mut options);
        if self.cx.rtt.needs_timestamp(now) {
            options.push(self.cx.rtt.timestamp(now));
        }
        self.emit(now, Kind::Ack { ack }, options, Payload::EMPTY, self.congestion.ack_ecn(&self.cx))
    }

    /// Time of the next packet that depends neither on a received one nor on a timer.
    #[inline]
    pub(super) fn next_transmission(&self) -> Instant {
        if !self.cx.state.may_send_data() {
            return Instant::FAR_FUTURE;
        }
        let pacing = if self.fx.queue.is_empty() { Instant::FAR_FUTURE } else { self.congestion.send_at() };
        pacing.min(self.cx.features.next_deadline(self.freezing.is_quiet()))
    }
}
