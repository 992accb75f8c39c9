//! The exchange of the payload in service: access, RTS, data, responses awaited, retries.

use whimbrel_units::{Duration, Instant};

use super::access::Request;
use super::config::Opening;
use super::event::{DropCause, Event, Outgoing, Step, Transmit};
use super::{Dcf, Exchange, ImmediateAccess, InService, MissingResponse, OnAir};
use crate::frame::{Addressing, Frame, FrameKind, PROBE_SUBTYPE};
use crate::phy::{ACK_BYTES, CTS_BYTES, RTS_BYTES, Rate};
use crate::random::Random;

impl<R: Random> Dcf<R> {
    /// Takes a payload into service, after a probe if one is due.
    pub(super) fn accept(&mut self, now: Instant, outgoing: Outgoing) {
        match self.due_probe(now, &outgoing) {
            Some(probe) => {
                self.behind_probe = Some(outgoing);
                self.serve(now, probe);
            }
            None => self.serve(now, outgoing),
        }
    }

    /// The probe that precedes a payload: unicast data in absence of traffic.
    fn due_probe(&self, now: Instant, outgoing: &Outgoing) -> Option<Outgoing> {
        let config = self.config.probe?;
        let is_quiet = self.last_traffic.is_none_or(|last| now.saturating_since(last) >= config.quiet);
        let is_data = outgoing.kind == FrameKind::Data && !outgoing.receiver.is_group();
        (is_quiet && is_data).then_some(Outgoing {
            size: config.size,
            payload: 0,
            kind: FrameKind::Probe,
            addressing: Addressing { subtype: PROBE_SUBTYPE, ..outgoing.addressing },
            ..*outgoing
        })
    }

    /// A probe is acknowledged or given up: the payload behind it follows.
    fn end_probe(&mut self, now: Instant) {
        if let Some(outgoing) = self.behind_probe.take() {
            self.serve(now, outgoing);
        }
    }

    /// Notes an own or a received frame as traffic, for probes.
    pub(super) fn note_traffic(&mut self, now: Instant, kind: FrameKind) {
        if self.config.probe.is_some() && kind != FrameKind::Management {
            self.last_traffic = Some(now);
        }
    }

    fn serve(&mut self, now: Instant, outgoing: Outgoing) {
        let is_adapted = self.rates.is_adaptive()
            && outgoing.kind == FrameKind::Data
            && outgoing.rate.is_none()
            && !outgoing.receiver.is_group();
        let mut frame = self.payload_frame(outgoing);
        if is_adapted {
            let rate = self.rates.begin(now, frame.receiver, &mut self.random);
            self.set_rate(&mut frame, rate);
        }
        self.sequence = (self.sequence + 1) % 4096;
        let opening = self.opening(&frame);
        self.in_service = Some(InService { frame, opening, is_adapted });
        self.retries = 0;
        if !self.config.is_ns2() {
            self.short_retries = 0;
            self.long_retries = 0;
        }
        self.exchange = Exchange::Contending;
        self.first_access(now);
    }

    /// Requests access for a new payload.
    fn first_access(&mut self, now: Instant) {
        if self.access.is_backing_off(now) {
            self.access.request(now, Request::Unchanged);
            return;
        }
        let is_idle = self.access.is_idle(now) && self.on_air.is_none() && self.response.is_none();
        if self.config.is_ns2() {
            if is_idle {
                self.access.restart_spacing(now);
            }
        } else if is_idle {
            let wait = match self.config.immediate_access {
                ImmediateAccess::AfterDifs => self.config.phy.difs(),
                ImmediateAccess::AtOnce => Duration::ZERO,
            };
            self.access.request(now, Request::Immediate { wait });
            return;
        }
        self.begin_backoff(now);
    }

    fn payload_frame(&self, outgoing: Outgoing) -> Frame {
        let config = &self.config;
        let is_group = outgoing.receiver.is_group();
        let rate = outgoing.rate.unwrap_or(if is_group { config.group_rate } else { config.data_rate });
        let size = outgoing.size.saturating_add(config.header_bytes);
        let mut frame = Frame {
            receiver: outgoing.receiver,
            transmitter: self.address,
            kind: outgoing.kind,
            addressing: outgoing.addressing,
            rate,
            mode: None,
            is_retry: false,
            sequence: self.sequence,
            size,
            air_time: Duration::ZERO,
            nav: Duration::ZERO,
            payload: outgoing.payload,
        };
        self.set_rate(&mut frame, rate);
        frame
    }

    /// Sets the rate of a frame with a payload, with the times that follow from it.
    fn set_rate(&self, frame: &mut Frame, rate: Rate) {
        let config = &self.config;
        frame.rate = rate;
        frame.air_time = config.phy.duration(rate, frame.size);
        if !frame.receiver.is_group() {
            frame.nav = config.phy.sifs + config.phy.duration(config.response_rate(rate), ACK_BYTES);
        }
    }

    fn opening(&self, frame: &Frame) -> Opening {
        self.config.opening(frame.rate, frame.size, frame.receiver.is_group())
    }

    /// The CTS to the station itself that reserves the medium for the exchange of a frame.
    fn cts_to_self(&self, data: &Frame, rate: Rate) -> Frame {
        let phy = &self.config.phy;
        let size = (CTS_BYTES, phy.duration(rate, CTS_BYTES));
        let nav = phy.sifs + data.air_time + data.nav;
        self.control_frame((self.address, FrameKind::Cts), rate, size, nav)
    }

    fn rts_frame(&self, data: &Frame, rate: Rate) -> Frame {
        let config = &self.config;
        let cts = config.phy.duration(config.response_rate(rate), CTS_BYTES);
        let size = (RTS_BYTES, config.phy.duration(rate, RTS_BYTES));
        let nav = config.duration_field(config.phy.sifs * 2 + cts + data.air_time + data.nav);
        self.control_frame((data.receiver, FrameKind::Rts), rate, size, nav)
    }

    /// The medium is granted: transmits the RTS, the CTS to itself or the frame with the payload.
    pub(super) fn handle_grant(&mut self, now: Instant) {
        self.access.take_grant();
        let Some(InService { frame, opening, .. }) = self.in_service else { return };
        self.counters.attempts += u64::from(!frame.receiver.is_group());
        let first = match opening {
            Opening::Data => frame,
            Opening::Rts(rate) => self.rts_frame(&frame, rate),
            Opening::CtsToSelf(rate) => self.cts_to_self(&frame, rate),
        };
        self.transmit(now, first);
        self.exchange = Exchange::None;
    }

    pub(super) fn send_data_after_cts(&mut self, now: Instant) {
        let Some(InService { frame, .. }) = self.in_service else { return };
        if self.config.is_ns2() && !self.access.is_idle(now) {
            // ns-2: a busy medium ends the exchange; the window grows although nothing was lost.
            self.widen_window();
            self.exchange = Exchange::Contending;
            self.begin_backoff(now);
            return;
        }
        self.exchange = Exchange::None;
        self.transmit(now, frame);
    }

    pub(super) fn transmit(&mut self, now: Instant, frame: Frame) {
        self.access.handle_transmit_start(now);
        self.nav_reset_at = None;
        self.counters.air_time += frame.air_time;
        self.on_air = Some(OnAir {
            end: now + frame.air_time,
            kind: frame.kind,
            needs_response: !frame.receiver.is_group(),
            is_to_self: frame.receiver == self.address,
            rate: frame.rate,
            nav: frame.nav,
        });
        self.outbox = Some(Transmit { frame });
        self.trace(now, Step::TransmitStarted { frame });
    }

    pub(super) fn finish_transmission(&mut self, now: Instant, on_air: OnAir) {
        self.on_air = None;
        self.last_end = now;
        self.note_traffic(now, on_air.kind);
        self.access.handle_transmit_end(now);
        match on_air.kind {
            FrameKind::Ack => {}
            FrameKind::Cts if on_air.is_to_self => {
                self.exchange = Exchange::DataDue(now + self.config.phy.sifs);
            }
            FrameKind::Cts => self.await_data(now, on_air.nav),
            FrameKind::Rts => {
                self.exchange = Exchange::AwaitingCts;
                self.timeout_at = Some(now + self.config.timeout(on_air.rate));
            }
            FrameKind::Data | FrameKind::Management | FrameKind::Probe if on_air.needs_response => {
                self.exchange = Exchange::AwaitingAck;
                self.timeout_at = Some(now + self.config.timeout(on_air.rate));
            }
            FrameKind::Data | FrameKind::Management | FrameKind::Probe => self.complete(now),
            // Frames of stations with quality of service.
            FrameKind::Aggregate | FrameKind::BlockAckRequest | FrameKind::BlockAck | FrameKind::CfEnd => {}
        }
    }

    /// ns-2: after a CTS the station waits for the data frame and does not contend. The limit is the CTS's
    /// reservation without SIFS and acknowledgement, and twice the propagation delay of 2 us.
    fn await_data(&mut self, now: Instant, nav: Duration) {
        if self.config.is_ns2() {
            let phy = &self.config.phy;
            let ack = phy.duration(self.config.response_rate(self.config.data_rate), ACK_BYTES);
            let until = now + nav.saturating_sub(phy.sifs + ack) + Duration::from_micros(4);
            self.data_until = Some(until);
            self.access.reserve(now, until);
        }
    }

    /// A response is missing at the timeout, unless a reception in progress may be it.
    pub(super) fn handle_response_timeout(&mut self, now: Instant) {
        self.timeout_at = None;
        if !self.config.is_ns2() && self.access.is_sensed_busy() {
            self.awaits_reception = true;
            return;
        }
        self.response_missing(now);
    }

    /// The CTS arrived.
    pub(super) fn handle_cts(&mut self, now: Instant) {
        self.stop_waiting();
        if self.config.is_ns2() {
            self.short_retries = 0;
        }
        self.exchange = Exchange::DataDue(now + self.config.phy.sifs);
    }

    /// The payload was acknowledged, or sent to a group.
    pub(super) fn complete(&mut self, now: Instant) {
        self.stop_waiting();
        self.exchange = Exchange::None;
        let Some(InService { frame, is_adapted, .. }) = self.in_service.take() else { return };
        if is_adapted {
            self.rates.handle_success(frame.receiver);
        }
        if self.config.is_ns2() && !frame.receiver.is_group() {
            *self.data_retries(&frame) = 0;
        }
        self.window = self.config.phy.cw_min;
        if frame.kind == FrameKind::Probe {
            self.draw_backoff(now);
            return self.end_probe(now);
        }
        self.counters.sent += 1;
        let (payload, receiver, retries) = (frame.payload, frame.receiver, self.retries);
        self.report(now, Event::Sent { payload, receiver, retries });
        // A backoff follows every transmission, whether another payload waits or not (9.3.4.3).
        self.draw_backoff(now);
    }

    /// The attempt failed: retries with a larger window, or drops the payload.
    pub(super) fn response_missing(&mut self, now: Instant) {
        let was_rts = self.exchange == Exchange::AwaitingCts;
        self.stop_waiting();
        let Some(InService { frame, opening, is_adapted }) = self.in_service else { return };
        self.retries = self.retries.saturating_add(1);
        if was_rts || !matches!(opening, Opening::Rts(_)) {
            self.counters.failed_attempts += 1;
        } else {
            self.counters.failed_after_cts += 1;
        }
        let kind = if was_rts { FrameKind::Rts } else { frame.kind };
        let counter = if was_rts { &mut self.short_retries } else { self.data_retries(&frame) };
        *counter = counter.saturating_add(1);
        let failures = *counter;
        self.trace(now, Step::ResponseMissing { kind, retries: failures });
        let is_short = was_rts || !self.is_long(&frame);
        let limit = if is_short { self.config.short_retry_limit } else { self.config.long_retry_limit };
        // A missing CTS says nothing about the rate of the data frame.
        let next_rate = (is_adapted && !was_rts).then(|| self.rates.handle_failure(now, frame.receiver));
        if self.config.is_ns2() {
            self.access.restart_spacing(now);
        } else if self.config.missing_response == MissingResponse::FromEifs {
            self.access.defer_after_own_frame(now, self.last_end);
        }
        if limit.is_some_and(|limit| failures >= limit) {
            if self.config.is_ns2() {
                *(if was_rts { &mut self.short_retries } else { self.data_retries(&frame) }) = 0;
            }
            let cause = if was_rts { DropCause::NoCts } else { DropCause::NoAcknowledgement };
            self.drop_payload(now, cause);
            return;
        }
        self.widen_window();
        if !was_rts {
            let mut frame = Frame { is_retry: true, ..frame };
            if let Some(rate) = next_rate {
                self.set_rate(&mut frame, rate);
            }
            self.in_service = Some(InService { frame, opening: self.opening(&frame), is_adapted });
        }
        self.exchange = Exchange::Contending;
        self.begin_backoff(now);
    }

    fn drop_payload(&mut self, now: Instant, cause: DropCause) {
        self.exchange = Exchange::None;
        self.window = self.config.phy.cw_min;
        let Some(InService { frame, .. }) = self.in_service.take() else { return };
        if frame.kind == FrameKind::Probe {
            if !self.config.is_ns2() {
                self.draw_backoff(now);
            }
            return self.end_probe(now);
        }
        self.counters.dropped += 1;
        self.report(now, Event::Dropped { payload: frame.payload, receiver: frame.receiver, cause });
        if !self.config.is_ns2() {
            self.draw_backoff(now);
        }
    }

    pub(super) fn stop_waiting(&mut self) {
        self.timeout_at = None;
        self.awaits_reception = false;
    }

    /// `true` if the long retry limit applies to the frame with the payload.
    fn is_long(&self, frame: &Frame) -> bool {
        // ns-2 compares with "above", but decides on RTS with "at least"; at equality it counts as short.
        let is_equal = self.config.is_ns2() && !self.config.uses_rts(frame.size - 1);
        self.config.uses_rts(frame.size) && !is_equal
    }

    fn data_retries(&mut self, frame: &Frame) -> &mut u16 {
        if self.is_long(frame) { &mut self.long_retries } else { &mut self.short_retries }
    }
}
