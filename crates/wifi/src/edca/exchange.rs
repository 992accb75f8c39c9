//! Transmission opportunities and their exchanges.

use whimbrel_units::{Duration, Instant};

use super::config::{MissedBlockAck, Reservation};
use super::{Edca, Event, OnAir, Outbox};
use crate::aggregation::{BLOCK_ACK_REQUEST_BYTES, BlockAck, Fate};
use crate::dcf::MissingResponse;
use crate::frame::{Frame, FrameKind, MacAddress};
use crate::phy::RTS_BYTES;
use crate::random::Random;

/// An access to the medium of one category.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opportunity {
    pub(super) category: usize,
    pub(super) session: usize,
    /// End of the opportunity; `None` for one exchange.
    end: Option<Instant>,
    /// No frame was answered so far.
    is_first: bool,
}

/// State of the exchange of the opportunity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Exchange {
    /// None, or a frame of it is on the air.
    None,
    AwaitingCts,
    AwaitingAck,
    AwaitingBlockAck,
    /// The answer to a request.
    AwaitingAnswer,
    /// The prepared MPDUs follow at this instant.
    DataDue(Instant),
    /// A request for a block acknowledgement follows.
    RequestDue(Instant),
    /// The rest of the opportunity is given back.
    EndDue(Instant),
}

impl Exchange {
    pub(super) const fn due(self) -> Option<Instant> {
        match self {
            Self::DataDue(at) | Self::RequestDue(at) | Self::EndDue(at) => Some(at),
            _ => None,
        }
    }
}

impl<R: Random> Edca<R> {
    /// Counters of one or more categories have ended: the highest one transmits, and the others have collided
    /// with it.
    pub(super) fn handle_grant(&mut self, now: Instant) {
        let due = self.contention.take_grants(now);
        let Some(category) = due.iter().rposition(|&is_due| is_due) else { return };
        let is_open = self.open(now, category);
        for number in (0..category).filter(|&number| due[number]) {
            self.counters[number].internal_collisions += 1;
            self.widen_window(number);
            self.draw_backoff(now, number);
        }
        if !is_open {
            self.contention.set_traffic(category, now, false);
        }
    }

    /// Begins an opportunity. `false` if there is nothing to send.
    fn open(&mut self, now: Instant, category: usize) -> bool {
        let limit = self.config.categories[category].txop_limit;
        let end = (!limit.is_zero()).then(|| now + limit);
        let Some(session) = self.next_session(category) else { return false };
        self.opportunity = Some(Opportunity { category, session, end, is_first: true });
        self.contention.hold();
        if self.sessions[session].owes_request {
            self.counters[category].attempts += 1;
            self.send_request(now, session);
            return true;
        }
        if !self.prepare(session, now, end, true) {
            self.opportunity = None;
            self.contention.release(now);
            return false;
        }
        let is_group = self.prepared.frame.receiver.is_group();
        self.counters[category].attempts += u64::from(!is_group);
        let is_long = self.prepared.frame.size > self.config.rts_threshold;
        if !is_group && (is_long || self.is_later_stage(session)) {
            self.open_by_rts(now, session, end);
        } else {
            self.send_prepared(now);
        }
        true
    }

    /// An RTS takes its time from the opportunity, which the prepared MPDUs may then exceed.
    fn open_by_rts(&mut self, now: Instant, session: usize, end: Option<Instant>) {
        if end.is_some() {
            self.sessions[session].window.withdraw();
            let start = now + self.rts_time(session);
            self.prepare(session, start, end, true);
        }
        self.charge(session, self.rts_time(session));
        let rts = self.rts(session);
        self.transmit(now, rts, Outbox::Control(rts));
    }

    fn send_prepared(&mut self, now: Instant) {
        let frame = self.prepared.frame;
        if let Some(Opportunity { category, session, .. }) = self.opportunity {
            let counters = &mut self.counters[category];
            counters.mpdus += self.prepared.mpdus.len() as u64;
            counters.transmissions += 1;
            self.charge(session, frame.air_time + self.prepared_response());
        }
        self.exchange = Exchange::None;
        self.transmit(now, frame, Outbox::Prepared);
    }

    fn send_request(&mut self, now: Instant, session: usize) {
        let phy = &self.config.phy;
        let rate = self.control_rate(session);
        let to = self.sessions[session].receiver;
        let answer = BlockAck::frame_bytes(self.sessions[session].limits.window);
        let frame = self.control_frame(
            to,
            FrameKind::BlockAckRequest,
            rate,
            BLOCK_ACK_REQUEST_BYTES,
            phy.sifs + phy.duration(rate, answer),
        );
        self.prepared.block_ack.start = self.sessions[session].window.start();
        self.prepared.identifier = self.sessions[session].category.identifier();
        self.exchange = Exchange::None;
        self.transmit(now, frame, Outbox::Control(frame));
    }

    /// The next frame of the exchange is due.
    pub(super) fn continue_exchange(&mut self, now: Instant) {
        match self.exchange {
            Exchange::DataDue(_) => self.send_prepared(now),
            Exchange::RequestDue(_) => {
                if let Some(Opportunity { session, .. }) = self.opportunity {
                    self.send_request(now, session);
                }
            }
            Exchange::EndDue(_) => {
                let rate = self.config.phy.basic.lowest();
                let kind = FrameKind::CfEnd;
                let frame = self.control_frame(MacAddress::BROADCAST, kind, rate, RTS_BYTES, Duration::ZERO);
                self.exchange = Exchange::None;
                self.transmit(now, frame, Outbox::Control(frame));
            }
            _ => {}
        }
    }

    pub(super) fn transmit(&mut self, now: Instant, frame: Frame, outbox: Outbox) {
        self.contention.handle_transmit_start(now);
        self.nav_reset_at = None;
        self.air_time += frame.air_time;
        let needs_response = !frame.receiver.is_group();
        self.on_air = Some(OnAir { end: now + frame.air_time, kind: frame.kind, needs_response });
        self.outbox = outbox;
    }

    pub(super) fn finish_transmission(&mut self, now: Instant, on_air: OnAir) {
        self.on_air = None;
        self.last_end = now;
        self.contention.handle_transmit_end(now);
        self.exchange = match on_air.kind {
            FrameKind::Rts => Exchange::AwaitingCts,
            FrameKind::Aggregate => Exchange::AwaitingBlockAck,
            FrameKind::BlockAckRequest => Exchange::AwaitingAnswer,
            FrameKind::Data | FrameKind::Management if on_air.needs_response => Exchange::AwaitingAck,
            FrameKind::Data | FrameKind::Management => {
                self.acknowledge_last(now);
                return self.end_exchange(now);
            }
            FrameKind::CfEnd => return self.close(now, true),
            // Responses to other stations.
            _ => return,
        };
        self.timeout_at = Some(now + self.config.timeout());
    }

    pub(super) fn stop_waiting(&mut self) {
        self.timeout_at = None;
        self.awaits_reception = false;
    }

    /// The CTS arrived.
    pub(super) fn handle_cts(&mut self, now: Instant) {
        self.stop_waiting();
        if let Some(Opportunity { session, .. }) = self.opportunity {
            self.sessions[session].missed_cts = 0;
        }
        self.exchange = Exchange::DataDue(now + self.config.phy.sifs);
    }

    pub(super) fn acknowledge_last(&mut self, now: Instant) {
        if let Some(Opportunity { session, .. }) = self.opportunity {
            self.report_rate(now, session, 1);
        }
        self.conclude(now, |window, report| {
            window.acknowledge_last(report);
            false
        });
    }

    /// A block acknowledgement arrived.
    pub(super) fn handle_block_ack(&mut self, now: Instant, block_ack: &BlockAck) {
        let limit = self.config.retry_limit;
        if self.exchange == Exchange::AwaitingAnswer
            && let Some(Opportunity { session, .. }) = self.opportunity
        {
            let session = &mut self.sessions[session];
            (session.owes_request, session.unanswered) = (false, 0);
        } else if let Some(Opportunity { session, .. }) = self.opportunity {
            let sent = self.prepared.mpdus.iter();
            let received = sent.filter(|mpdu| block_ack.contains(mpdu.sequence)).count() as u32;
            self.report_rate(now, session, received);
        }
        let is_owed = self.conclude(now, |window, report| window.acknowledge(block_ack, limit, report));
        if is_owed || self.take_given_up_request() {
            self.owe_request();
        }
        self.end_exchange(now);
    }

    /// Returns `true` once if requests were given up before the frame that is answered now.
    fn take_given_up_request(&mut self) -> bool {
        let Some(Opportunity { session, .. }) = self.opportunity else { return false };
        core::mem::take(&mut self.sessions[session].unanswered) > 0
    }

    /// Processes an RTS without a CTS. The rate has failed: a distant receiver may not decode the RTS at
    /// its control rate. At the retry limit the prepared MPDUs are given up.
    fn cts_missing(&mut self, now: Instant, session: usize) {
        self.report_rate(now, session, 0);
        let limit = self.config.retry_limit;
        let missed = &mut self.sessions[session].missed_cts;
        *missed = missed.saturating_add(1);
        if limit.is_none_or(|limit| *missed < limit) {
            return self.sessions[session].window.withdraw();
        }
        *missed = 0;
        if self.conclude(now, |window, report| window.fail(Some(1), report)) {
            self.owe_request();
        }
    }

    /// Processes a request without an answer. A receiver out of reach never answers, and each request delays
    /// frames to other receivers: at the retry limit requests stop until the receiver answers another frame.
    fn request_unanswered(&mut self, session: usize) {
        let limit = self.config.retry_limit;
        let session = &mut self.sessions[session];
        session.unanswered = session.unanswered.saturating_add(1);
        if session.is_gone || limit.is_some_and(|limit| session.unanswered >= limit) {
            session.owes_request = false;
        }
    }

    fn owe_request(&mut self) {
        if let Some(Opportunity { session, .. }) = self.opportunity {
            let session = &mut self.sessions[session];
            session.owes_request = session.is_agreed() && !session.is_gone;
        }
    }

    /// Applies an outcome to the session's window, and reports what became of packets.
    fn conclude(
        &mut self,
        now: Instant,
        apply: impl FnOnce(&mut crate::aggregation::TransmitWindow, &mut dyn FnMut(u64, Fate, u16)) -> bool,
    ) -> bool {
        let Some(Opportunity { category, session, .. }) = self.opportunity else { return false };
        let Self { sessions, events, backlog, counters, .. } = self;
        let counters = &mut counters[category];
        let mut report = |packet, fate, transmissions| {
            backlog[category] -= 1;
            match fate {
                Fate::Acknowledged => counters.acknowledged += 1,
                Fate::GivenUp => counters.given_up += 1,
            }
            events.push_back((now, Event::Done { packet, fate, transmissions }));
        };
        apply(&mut sessions[session].window, &mut report)
    }

    /// A frame was answered: the opportunity goes on, or ends.
    pub(super) fn end_exchange(&mut self, now: Instant) {
        self.stop_waiting();
        self.exchange = Exchange::None;
        let Some(mut opportunity) = self.opportunity else { return };
        let Opportunity { category, session, .. } = opportunity;
        if opportunity.is_first {
            opportunity.is_first = false;
            self.windows[category] = self.config.categories[category].cw_min;
            self.failures[category] = 0;
            self.opportunity = Some(opportunity);
        }
        let next = now + self.config.phy.sifs;
        if self.sessions[session].owes_request {
            self.exchange = Exchange::RequestDue(next);
            return;
        }
        self.take_turns(now, category, session);
        let Some(end) = opportunity.end else { return self.close(now, true) };
        if let Some(session) = self.next_session(category) {
            self.opportunity = Some(Opportunity { session, ..opportunity });
            if self.prepare(session, next, Some(end), false) {
                self.exchange = Exchange::DataDue(next);
                return;
            }
        }
        let phy = &self.config.phy;
        let has_time = next + phy.duration(phy.basic.lowest(), RTS_BYTES) <= end;
        if has_time && self.config.reservation == Reservation::Opportunity {
            self.exchange = Exchange::EndDue(next);
        } else {
            self.close(now, true);
        }
    }

    /// No response to the last frame: the opportunity ends, and the window widens.
    pub(super) fn response_missing(&mut self, now: Instant) {
        let exchange = self.exchange;
        self.stop_waiting();
        self.exchange = Exchange::None;
        let Some(Opportunity { category, session, is_first, .. }) = self.opportunity else { return };
        let counters = &mut self.counters[category];
        *(if is_first { &mut counters.failed_attempts } else { &mut counters.failed_later }) += 1;
        match exchange {
            Exchange::AwaitingCts => self.cts_missing(now, session),
            Exchange::AwaitingAck | Exchange::AwaitingBlockAck => {
                self.report_rate(now, session, 0);
                let limit = self.config.retry_limit;
                let is_request = exchange == Exchange::AwaitingBlockAck
                    && self.config.missed_block_ack == MissedBlockAck::Request;
                if self.conclude(now, |window, report| window.fail(limit, report)) || is_request {
                    self.owe_request();
                }
            }
            Exchange::AwaitingAnswer => self.request_unanswered(session),
            _ => {}
        }
        self.widen_window(category);
        if self.config.missing_response == MissingResponse::FromEifs {
            self.contention.defer_after_own_frame(self.last_end);
        }
        if !self.sessions[session].window.has_traffic() && !self.sessions[session].owes_request {
            self.take_turns(now, category, session);
        }
        self.close(now, false);
    }

    /// Ends the opportunity: a backoff follows, whether there is more to send or not.
    fn close(&mut self, now: Instant, is_success: bool) {
        self.exchange = Exchange::None;
        let Some(Opportunity { category, .. }) = self.opportunity.take() else { return };
        debug_assert!(!is_success || self.failures[category] == 0);
        self.contention.release(now);
        self.draw_backoff(now, category);
        let has_traffic = !self.active[category].is_empty();
        self.contention.set_traffic(category, now, has_traffic);
    }
}
