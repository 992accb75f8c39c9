//! The sending end: frames in, datagrams out, reports in.
//!
//! A report states what the receiver has. The sender knows when it sent what, so that it also finds what the
//! receiver cannot miss yet: the end of a frame, or a whole one. For each frame it counts what is missing and
//! not under way again, and the rounds that are left before the deadline; the plan ([`crate::decision`]) says
//! how many packets answer. Missing originals go first, coded packets are the surplus only: random
//! coefficients fail once in 255 where exactly enough arrive.
//!
//! - A frame is answered at most once per round trip, by the times in the reports.
//! - Nothing is sent that would arrive after the deadline.
//! - Where the channel's losses have a memory and the newest packets are all lost, answers wait for a sign of
//!   life: a fade swallows repeats, too.
//! - All is paid from the granted rate. Coded packets never exceed the source (RFC 6363, Section 8.2), and
//!   repeats never eight times the source.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use whimbrel_units::{DataRate, Duration, Instant};

use crate::channel::{Channel, Estimator};
use crate::decision::Planner;
use crate::encoder::Encoder;
use crate::fecframe::{ADUI_HEADER, Esi};
use crate::frames::{Groups, Recent, StreamFrame, of_all};
use crate::wire::{self, AduHeader, Answer, Datagram, Report, Role, WireError};

mod answers;
mod cadence;
mod config;
mod flight;
mod given_up;
mod parity;
mod path_rate;
mod rate;
mod reported;
mod round_trip;

pub(crate) use config::WINDOW;
pub use config::{Mark, SendError, SenderConfig, SenderCounts, SenderEvent, Sent};
pub use parity::Policy;

use flight::{Flight, Frame};
use given_up::GivenUp;
use rate::{Grant, Pace, Share};

/// Time that an encoder has for a key frame: two frames of a camera at 20 frames a second.
const FRAME_TIME: Duration = Duration::from_millis(100);
/// From its capture, a datagram that was sent later was held: by the application, or by the granted rate.
const HELD: Duration = Duration::from_millis(1);

#[derive(Debug)]
struct Queued {
    header: AduHeader,
    captured: Instant,
    /// When the application handed it over: much later in a frame that takes long.
    taken: Instant,
    bytes: Vec<u8>,
}

/// A repair packet that is to be sent.
#[derive(Clone, Copy, Debug)]
struct Repair {
    what: What,
    answer: Option<Answer>,
    deadline: Instant,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Repeat(Esi),
    Coded { first: Esi, end: Esi, ends_parity: bool },
}

/// The sending end.
///
/// After [`Sender::send`], [`Sender::handle_packet`] or [`Sender::handle_timeout`], call
/// [`Sender::poll_transmit`] until it returns `None`, then [`Sender::poll_event`], and wait until
/// [`Sender::poll_timeout`].
#[derive(Debug)]
pub struct Sender {
    config: SenderConfig,
    encoder: Encoder,
    planner: Planner,
    estimator: Estimator,
    groups: Groups,
    recent: Recent,
    flight: Flight,
    given_up: GivenUp,
    queue: VecDeque<Queued>,
    repairs: VecDeque<Repair>,
    spare: Vec<Vec<u8>>,
    scratch: Vec<u8>,
    divided: Vec<u8>,
    grant: Grant,
    pace: Pace,
    share: Share,
    /// The frame that is being queued: its number, when it was captured, and its datagrams so far.
    opened: Option<(u16, Instant, u32)>,
    /// The opened frame was dropped: its rest is refused.
    is_abandoned: bool,
    lost: Option<u16>,
    out_of_reach: bool,
    events: VecDeque<SenderEvent>,
    counts: SenderCounts,
}

impl Sender {
    /// A sender whose first symbol has the identifier 0.
    #[must_use]
    pub fn new(config: SenderConfig) -> Self {
        Self::starting_at(config, Esi(0))
    }

    pub(crate) fn starting_at(config: SenderConfig, first: Esi) -> Self {
        let estimator = Estimator::new();
        Self {
            config,
            encoder: Encoder::new(config.code(), first),
            planner: Planner::new(config.planner, estimator.model()),
            estimator,
            groups: Groups::default(),
            recent: Recent::default(),
            flight: Flight::new(config.latency, config.round_trip, first),
            given_up: GivenUp::default(),
            queue: VecDeque::new(),
            repairs: VecDeque::new(),
            spare: Vec::new(),
            scratch: Vec::new(),
            divided: Vec::new(),
            grant: Grant::unlimited(),
            pace: Pace::new(),
            share: Share::new(),
            opened: None,
            is_abandoned: false,
            lost: None,
            out_of_reach: false,
            events: VecDeque::new(),
            counts: SenderCounts::default(),
        }
    }

    /// Sender's counters.
    #[must_use]
    pub fn counts(&self) -> SenderCounts {
        self.counts
    }

    /// Datagrams of the application that wait.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// The channel as estimated.
    #[must_use]
    pub fn channel(&self) -> Channel {
        self.estimator.model()
    }

    /// The round-trip time that decides how many rounds are left.
    #[must_use]
    pub fn round_trip(&self) -> Duration {
        self.flight.round_trip()
    }

    /// Age up to which a packet can be sent and arrives in time: the shorter latency of both ends, less the
    /// queueing delay of the path.
    ///
    /// At least a quarter of the latency: fresh data is always sent, since without it no report would show
    /// that the queue is gone.
    #[must_use]
    pub fn budget(&self) -> Duration {
        let latency = self.config.latency;
        self.flight.reported().budget.map_or(latency, |budget| budget.clamp(latency / 4, latency))
    }

    /// The [budget](Self::budget) of the next report, if the queue grows as it did between the last two:
    /// known reports earlier than the budget, which is an average, and less certain.
    #[must_use]
    pub fn prospect(&self) -> Duration {
        let latency = self.config.latency;
        self.flight.reported().prospect.map_or(latency, |prospect| prospect.min(latency))
    }

    /// The rate of the path by the last two reports; `None` where no queue shows it.
    #[must_use]
    pub fn path_rate(&self) -> Option<DataRate> {
        self.flight.reported().path_rate.get()
    }

    /// The rate that the congestion control grants to source and repair together; `None` for no limit.
    pub fn set_granted_rate(&mut self, now: Instant, rate: Option<DataRate>) {
        self.grant.set(now, rate);
    }

    /// Takes a datagram.
    ///
    /// # Errors
    /// If it is too long, if too many wait, or if the datagram is of no use to the receiver.
    pub fn send(&mut self, now: Instant, payload: &[u8], mark: Mark) -> Result<(), SendError> {
        let most = self.config.most_payload();
        if payload.len() > most {
            return Err(SendError::TooLong { bytes: payload.len(), most });
        }
        if self.queue.len() >= self.config.queue {
            return Err(SendError::QueueFull);
        }
        let (frame, captured, index) = match self.opened {
            Some(opened) => opened,
            None => {
                let frame = self.recent.push(mark.stream, mark.role);
                self.groups.on_packet(StreamFrame { stream: mark.stream, number: of_all(frame) }, mark.role);
                self.is_abandoned = false;
                (frame, mark.captured.unwrap_or(now), 0)
            }
        };
        self.opened = (!mark.ends_frame).then_some((frame, captured, index + 1));
        if self.is_abandoned {
            self.counts.dropped += 1;
            return Err(SendError::LateFrame);
        }
        let header = AduHeader {
            frame,
            time: AduHeader::time_of(captured),
            index: index.min(255) as u8,
            count: mark.count,
            is_last: mark.ends_frame,
            role: mark.role,
            has_parity: false,
            has_waited: false,
        };
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(payload);
        self.queue.push_back(Queued { header, captured, taken: now, bytes });
        Ok(())
    }

    /// Takes a datagram from the receiver.
    ///
    /// # Errors
    /// If it is no report; it is counted.
    pub fn handle_packet(&mut self, now: Instant, bytes: &[u8]) -> Result<(), WireError> {
        let report = match wire::decode(bytes, self.config.in_parts) {
            Ok(Datagram::Report(report)) => report,
            Ok(_) => {
                self.counts.invalid += 1;
                return Err(WireError::Invalid("direction"));
            }
            Err(error) => {
                self.counts.invalid += 1;
                return Err(error);
            }
        };
        self.on_report(now, &report);
        Ok(())
    }

    /// A report, as decoded or as made from other feedback, such as an Ack Vector: which source symbols
    /// arrived is the request.
    pub fn on_report(&mut self, now: Instant, report: &Report) {
        self.counts.reports += 1;
        if !self.flight.on_report(now, report, self.encoder.next()) {
            self.counts.invalid += 1;
            return;
        }
        self.flight.record_losses(report, &mut self.estimator);
        self.planner.follow(&self.estimator);
        if let Some(newest) = report.lost.filter(|&frame| self.lost != Some(frame)) {
            self.lost = Some(newest);
            // The newest may be one of audio, and others one of video.
            for back in (0..=u16::from(report.lost_before)).rev() {
                self.on_lost(now, newest.wrapping_sub(back));
            }
        }
        self.give_up(now, report);
        self.answer(now, report);
        // The round-trip time has become shorter, so that a start may be due.
        self.ask_for_starts(now);
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.answer_held(now);
        self.expire(now);
        self.ask_for_starts(now);
    }

    /// When [`Sender::handle_timeout`] and [`Sender::poll_transmit`] are due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let waits = !self.queue.is_empty() || !self.repairs.is_empty();
        let grant = waits.then(|| self.grant.opens());
        let start = self.groups.start_due(self.patience());
        [grant, self.flight.held_until(), start].into_iter().flatten().min()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<SenderEvent> {
        self.events.pop_front()
    }

    /// Writes the next datagram into `out`, which is cleared: answers first, then parity, then the
    /// application's.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<Sent> {
        out.clear();
        self.drop_late(now);
        if (self.queue.is_empty() && self.repairs.is_empty()) || !self.grant.is_open(now) {
            return None;
        }
        while let Some(repair) = self.repairs.pop_front() {
            if let Some(sent) = self.write_repair(now, repair, out) {
                self.grant.on_sent(out.len());
                self.counts.repair_bytes += out.len() as u64;
                self.pace.on_sent(now, !self.queue.is_empty(), self.config.latency);
                return Some(sent);
            }
            out.clear();
        }
        let queued = self.queue.pop_front()?;
        let sent = self.write_source(now, &queued, out);
        self.spare.push(queued.bytes);
        self.pace.on_sent(now, !self.queue.is_empty(), self.config.latency);
        sent
    }

    /// The datagram of [`Sender::poll_transmit`] leaves now, after a wait for the pacing of congestion
    /// control. Without this call, it left when it was returned.
    ///
    /// The receiver's reports state for how long the newest packet has been there: what was sent less than
    /// that later, and is missing, is lost. Packets that leave later than they are said to would count as
    /// lost.
    pub fn on_departure(&mut self, now: Instant, sent: Sent) {
        match sent {
            Sent::Source(esi) => self.flight.on_departure(now, esi, false),
            Sent::Repeat(esi) => self.flight.on_departure(now, esi, true),
            Sent::Parity | Sent::Surplus => {}
        }
    }

    /// `true` if the frame at the head of the queue would end too late for a repeat of it at the recent pace,
    /// and a newer one waits.
    ///
    /// If the rate is too low for the video, every frame would otherwise be begun at the last instant, and
    /// end after it.
    fn is_overtaken(&self, now: Instant, queued: &Queued) -> bool {
        let header = queued.header;
        let waits = self.queue.back().is_some_and(|newest| newest.header.frame != header.frame);
        if !waits || header.role == Role::Start {
            return false;
        }
        let packets = header.count.map_or_else(
            || self.queue.iter().take_while(|other| other.header.frame == header.frame).count() as u64,
            u64::from,
        );
        let budget = self.budget();
        let repeat = self.flight.round().min(budget / 2);
        now + self.pace.time_of(packets) > queued.captured + budget.saturating_sub(repeat)
    }

    /// Frames whose deadline has passed before they were begun, or would before they end, and what is left of
    /// others after the latency are dropped.
    fn drop_late(&mut self, now: Instant) {
        let budget = self.budget();
        while let Some(queued) = self.queue.front() {
            let header = queued.header;
            // The rest of a frame has more time: the part that was sent would have been sent in vain.
            let end = match header.index {
                0 => queued.captured + budget,
                _ => queued.taken + self.config.latency,
            };
            let is_late = self.config.drops_late
                && (end < now || (header.index == 0 && self.is_overtaken(now, queued)));
            if !is_late {
                return;
            }
            while self.queue.front().is_some_and(|queued| queued.header.frame == header.frame) {
                self.spare.extend(self.queue.pop_front().map(|dropped| dropped.bytes));
                self.counts.dropped += 1;
            }
            self.is_abandoned |= self.opened.is_some_and(|(frame, ..)| frame == header.frame);
            if header.index > 0 {
                self.flight.end_newest(now);
            }
            self.counts.dropped_frames += 1;
            self.on_lost(now, header.frame);
        }
    }

    fn write_source(&mut self, now: Instant, queued: &Queued, out: &mut Vec<u8>) -> Option<Sent> {
        self.expire(now);
        let esi = self.encoder.next();
        let deadline = queued.captured + self.budget();
        let octets = self.counts.source_bytes + self.counts.repair_bytes + queued.bytes.len() as u64;
        self.flight.on_source(now, esi, &queued.header, queued.captured, deadline, octets);
        let has_parity = queued.header.is_last && self.end_frame(now, esi.plus(1), queued.header.role);
        self.scratch.clear();
        let has_waited = now > queued.captured + HELD;
        AduHeader { has_parity, has_waited, ..queued.header }.encode(&mut self.scratch);
        self.scratch.extend_from_slice(&queued.bytes);
        // The length was checked when the datagram was accepted.
        self.encoder.push(0, &self.scratch).ok()?;
        wire::begin_source(None, out);
        out.extend_from_slice(&self.scratch);
        esi.encode(out);
        self.divide(out)?;
        self.grant.on_sent(out.len());
        self.share.on_source(now, out.len());
        self.counts.source += 1;
        self.counts.source_bytes += out.len() as u64;
        Some(Sent::Source(esi))
    }

    fn write_repair(&mut self, now: Instant, repair: Repair, out: &mut Vec<u8>) -> Option<Sent> {
        // Too late to be of use. The answer's end is then noticed by time.
        if repair.deadline < now {
            return None;
        }
        match repair.what {
            What::Repeat(esi) => {
                let symbol = self.encoder.symbol(esi)?.get(ADUI_HEADER..)?;
                wire::begin_source(repair.answer, out);
                out.extend_from_slice(symbol);
                esi.encode(out);
                self.divide(out)?;
                if let Some(answer) = repair.answer {
                    self.flight.on_repeat(now, esi, answer.number, false);
                }
                if !self.share.take_repeat(now, out.len()) {
                    self.counts.over_share += 1;
                    return None;
                }
                self.counts.repeats += 1;
                Some(Sent::Repeat(esi))
            }
            What::Coded { first, end, ends_parity } => {
                self.scratch.clear();
                let id = self.encoder.combine(first, end, &mut self.scratch)?;
                wire::begin_repair(repair.answer, ends_parity, out);
                id.encode(out);
                out.extend_from_slice(&self.scratch);
                self.divide(out)?;
                let is_surplus = repair.answer.is_some();
                let is_allowed = self.share.take_coded(now, out.len());
                if is_surplus {
                    self.flight.on_surplus_left(now, first, is_allowed);
                }
                if !is_allowed {
                    self.counts.over_share += 1;
                    return None;
                }
                let counter = if is_surplus { &mut self.counts.surplus } else { &mut self.counts.parity };
                *counter += 1;
                Some(if is_surplus { Sent::Surplus } else { Sent::Parity })
            }
        }
    }

    /// Turns a datagram into one in parts, where the transport may damage it. `None` if it has too many.
    fn divide(&mut self, out: &mut Vec<u8>) -> Option<()> {
        if self.config.in_parts {
            self.divided.clear();
            wire::parts::divide(out, &mut self.divided).ok()?;
            core::mem::swap(out, &mut self.divided);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
