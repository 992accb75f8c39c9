//! Enhanced distributed channel access (IEEE Std 802.11-2020, 10.23.2) with aggregation: the MAC of a station
//! of 802.11n, ac or ax as a machine.
//!
//! An [`Edca`] has the shape of a [`Dcf`](crate::Dcf) and shares the medium with such stations. The driver
//! passes what the station's receiver notices ([`Edca::handle_busy`], [`Edca::handle_idle`],
//! [`Edca::handle_ppdu`], [`Edca::handle_error`]), packets ([`Edca::enqueue`], as long as [`Edca::has_room`])
//! and the time ([`Edca::handle_timeout`]). It takes transmissions ([`Edca::poll_transmit`]), events
//! ([`Edca::poll_event`]) and the next deadline ([`Edca::poll_timeout`]). The contract of the inputs at one
//! instant is the same as for [`Dcf`](crate::dcf).
//!
//! A sender aggregates for the receivers that have agreed to block acknowledgements, and a receiver keeps the
//! order of the senders that it has agreed with: [`Edca::agree_to_send`] and [`Edca::agree_to_receive`]. The
//! frames of the agreement (ADDBA) are not on the air.

mod adaptation;
mod config;
mod contention;
mod event;
mod exchange;
mod management;
mod ppdu;
mod receive;
mod transmit;
mod turns;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use whimbrel_units::{Duration, Instant};

pub use config::{
    ACCESS_POINT_CATEGORIES, AccessCategory, Adaptation, CategoryParameters, EdcaConfig, MissedBlockAck,
    OCB_CATEGORIES, Reservation, STATION_CATEGORIES, TransmitRate, priority_of_dscp,
};
pub use event::{CategoryCounters, Event};
pub use management::Withdrawn;
pub use ppdu::{Ppdu, Received};
pub use turns::{DEFAULT_WEIGHT, Turns};

use self::adaptation::Controls;
use self::contention::Contention;
use self::exchange::{Exchange, Opportunity};
use self::receive::Reception;
use self::transmit::Session;
use crate::aggregation::{AggregateLimits, Packet};
use crate::frame::{Addressing, Frame, FrameKind, MacAddress};
use crate::phy::Rate;
use crate::random::Random;

/// An own transmission.
#[derive(Clone, Copy, Debug)]
struct OnAir {
    end: Instant,
    kind: FrameKind,
    needs_response: bool,
}

/// The driver's next frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outbox {
    Empty,
    /// A frame without MPDUs.
    Control(Frame),
    /// A response with the bitmap of a reception.
    BlockAck(Frame, usize),
    /// The prepared MPDUs.
    Prepared,
}

/// One station's MAC.
#[derive(Clone, Debug)]
pub struct Edca<R> {
    address: MacAddress,
    config: EdcaConfig,
    random: R,
    contention: Contention,
    /// Contention window by category.
    windows: [u16; 4],
    /// Failed accesses since the last success, by category (QSRC).
    failures: [u16; 4],
    sessions: Vec<Session>,
    controls: Controls,
    /// Sessions with traffic, in turn, by category.
    active: [VecDeque<u32>; 4],
    /// Packets that are not done, by category.
    backlog: [usize; 4],
    receptions: Vec<Reception>,
    /// The last single MPDU of each sender and traffic identifier without an agreement.
    singles: Vec<((MacAddress, u8), u16)>,
    opportunity: Option<Opportunity>,
    exchange: Exchange,
    prepared: Ppdu,
    timeout_at: Option<Instant>,
    /// The timeout passed while a reception was in progress, whose outcome decides.
    awaits_reception: bool,
    last_end: Instant,
    on_air: Option<OnAir>,
    /// A response to another station that is due; with the number of the reception, a block acknowledgement.
    response: Option<(Instant, Frame, Option<usize>)>,
    /// Instant at which the reservation of an RTS is void.
    nav_reset_at: Option<Instant>,
    next_timer: Instant,
    outbox: Outbox,
    events: VecDeque<(Instant, Event)>,
    counters: [CategoryCounters; 4],
    air_time: Duration,
}

impl<R: Random> Edca<R> {
    /// A station with this address, on an idle medium, that draws its backoffs from `random`.
    pub fn new(address: MacAddress, config: EdcaConfig, random: R) -> Self {
        let nothing = Frame {
            receiver: address,
            transmitter: address,
            kind: FrameKind::Data,
            addressing: Addressing::default(),
            rate: Rate::Ofdm6,
            mode: None,
            is_retry: false,
            sequence: 0,
            size: 0,
            air_time: Duration::ZERO,
            nav: Duration::ZERO,
            payload: 0,
        };
        Self {
            address,
            random,
            contention: Contention::new(&config),
            windows: config.categories.map(|category| category.cw_min),
            failures: [0; 4],
            sessions: Vec::new(),
            controls: Controls::default(),
            active: [const { VecDeque::new() }; 4],
            backlog: [0; 4],
            receptions: Vec::new(),
            singles: Vec::new(),
            opportunity: None,
            exchange: Exchange::None,
            prepared: Ppdu::new(nothing),
            timeout_at: None,
            awaits_reception: false,
            last_end: Instant::ZERO,
            on_air: None,
            response: None,
            nav_reset_at: None,
            next_timer: Instant::FAR_FUTURE,
            outbox: Outbox::Empty,
            events: VecDeque::new(),
            counters: [CategoryCounters::default(); 4],
            air_time: Duration::ZERO,
            config,
        }
    }

    /// The station's address.
    pub const fn address(&self) -> MacAddress {
        self.address
    }

    /// The configuration.
    pub const fn config(&self) -> &EdcaConfig {
        &self.config
    }

    /// Counters of a category since the beginning.
    pub const fn counters(&self, category: AccessCategory) -> CategoryCounters {
        self.counters[category as usize]
    }

    /// Own time on the air since the beginning.
    pub const fn air_time(&self) -> Duration {
        self.air_time
    }

    /// Packets of a category that are neither acknowledged nor given up.
    pub const fn backlog(&self, category: AccessCategory) -> usize {
        self.backlog[category as usize]
    }

    /// The rate of frames for a receiver in a category; with adaptation, the one of most throughput.
    pub fn rate(&self, receiver: MacAddress, category: AccessCategory) -> TransmitRate {
        self.find(receiver, category).map_or(self.config.rate, |session| self.best_rate(session))
    }

    fn find(&self, receiver: MacAddress, category: AccessCategory) -> Option<&Session> {
        let is_it = |session: &&Session| {
            session.receiver == receiver && session.category == category && !session.is_management
        };
        self.sessions.iter().find(is_it)
    }

    /// Packets for a receiver in a category that are neither acknowledged nor given up.
    pub fn waiting(&self, receiver: MacAddress, category: AccessCategory) -> usize {
        self.find(receiver, category).map_or(0, |session| session.window.packets())
    }

    /// `true` if the station takes another packet of a category.
    pub const fn has_room(&self, category: AccessCategory) -> bool {
        self.backlog[category as usize] < self.config.buffer
    }

    /// The rate and the limits of aggregates to a receiver that has agreed to block acknowledgements in a
    /// category. Without an agreement, each MPDU has an acknowledgement of its own.
    pub fn agree_to_send(
        &mut self,
        receiver: MacAddress,
        category: AccessCategory,
        rate: TransmitRate,
        limits: AggregateLimits,
    ) {
        let number = self.session(receiver, category);
        let session = &mut self.sessions[number];
        (session.rate, session.limits) = (rate, limits);
    }

    /// Agrees to block acknowledgements of a window of MPDUs from a sender in a category.
    pub fn agree_to_receive(&mut self, transmitter: MacAddress, category: AccessCategory, window: u16) {
        let identifier = category.identifier();
        self.receptions.push(Reception::new(transmitter, identifier, window));
    }

    /// Takes a packet for a receiver, or a group.
    pub fn enqueue(&mut self, now: Instant, receiver: MacAddress, category: AccessCategory, packet: Packet) {
        let session = self.session(receiver, category);
        self.push(now, session, category as usize, packet);
    }

    fn push(&mut self, now: Instant, session: usize, number: usize, packet: Packet) {
        self.backlog[number] += 1;
        let Session { window, owes_request, is_paused, .. } = &mut self.sessions[session];
        // A session that owes a request is served already.
        let is_new = !window.has_traffic() && !*owes_request;
        window.push(packet);
        if *is_paused {
            return;
        }
        if is_new {
            self.join(now, number, session);
        }
        self.request_access(now, number);
    }

    /// A category has traffic.
    fn request_access(&mut self, now: Instant, number: usize) {
        let is_served = self.opportunity.as_ref().is_some_and(|served| served.category == number);
        if !is_served && self.contention.set_traffic(number, now, true) {
            self.draw_backoff(now, number);
        }
    }

    fn session(&mut self, receiver: MacAddress, category: AccessCategory) -> usize {
        let is_known = |session: &Session| {
            session.receiver == receiver && session.category == category && !session.is_management
        };
        self.sessions.iter().position(is_known).unwrap_or_else(|| {
            let adaptive = self.adaptive(receiver);
            let rate = if receiver.is_group() {
                TransmitRate::Legacy(self.config.phy.basic.lowest())
            } else {
                self.config.rate
            };
            let limits = AggregateLimits { ampdu_bytes: 0, ..self.config.limits };
            self.sessions.push(Session { adaptive, ..Session::new(receiver, category, rate, limits) });
            self.sessions.len() - 1
        })
    }

    /// Physical carrier sense reports energy.
    pub fn handle_busy(&mut self, now: Instant) {
        if self.nav_reset_at.take().is_some() {
            self.refresh_timer();
        }
        self.contention.handle_busy(now);
    }

    /// Physical carrier sense reports that the energy is gone.
    pub fn handle_idle(&mut self, now: Instant) {
        self.contention.handle_idle(now);
        if self.awaits_reception {
            self.response_missing(now);
            self.refresh_timer();
        }
    }

    /// Processes every deadline up to `now`. A call before the next deadline has no effect.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.next_timer <= now {
            self.handle_timers(now);
            self.refresh_timer();
        }
        if self.contention.deadline() <= now {
            self.handle_grant(now);
            self.refresh_timer();
        }
    }

    fn handle_timers(&mut self, now: Instant) {
        if let Some(on_air) = self.on_air
            && on_air.end <= now
        {
            self.finish_transmission(on_air.end, on_air);
        }
        if self.nav_reset_at.is_some_and(|at| at <= now) {
            self.nav_reset_at = None;
            self.contention.reset_nav(now);
        }
        if let Some((due, frame, reception)) = self.response
            && due <= now
        {
            self.response = None;
            self.send_response(now, frame, reception);
        }
        if self.exchange.due().is_some_and(|due| due <= now) {
            self.continue_exchange(now);
        }
        if self.timeout_at.is_some_and(|at| at <= now) {
            self.timeout_at = None;
            if self.contention.is_sensed_busy() {
                self.awaits_reception = true;
            } else {
                self.response_missing(now);
            }
        }
        self.skip_holes(now);
    }

    fn refresh_timer(&mut self) {
        let deadlines = [
            self.on_air.map(|on_air| on_air.end),
            self.nav_reset_at,
            self.response.map(|(due, _, _)| due),
            self.exchange.due(),
            self.timeout_at,
            self.receptions.iter().filter_map(Reception::poll_timeout).min(),
        ];
        self.next_timer = deadlines.into_iter().flatten().min().unwrap_or(Instant::FAR_FUTURE);
    }

    /// The next deadline; `None` if the station waits for input only.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let next = self.next_timer.min(self.contention.deadline());
        (next != Instant::FAR_FUTURE).then_some(next)
    }

    /// Writes the transmission that begins now to `out`; `false` if there is none. The driver drains it after
    /// every call that passes `now`, and sets the payload of the frame as it needs it.
    pub fn poll_transmit(&mut self, _now: Instant, out: &mut Ppdu) -> bool {
        match core::mem::replace(&mut self.outbox, Outbox::Empty) {
            Outbox::Empty => return false,
            Outbox::Prepared => out.assign(&self.prepared),
            Outbox::Control(frame) => {
                out.frame = frame;
                out.mpdus.clear();
                out.packets.clear();
                out.block_ack.start = self.prepared.block_ack.start;
                out.identifier = self.prepared.identifier;
            }
            Outbox::BlockAck(frame, reception) => {
                out.frame = frame;
                out.mpdus.clear();
                out.packets.clear();
                let reception = &self.receptions[reception];
                (out.block_ack, out.identifier) = (reception.answer(), reception.identifier);
            }
        }
        true
    }

    /// The next event, with the instant at which it happened.
    pub fn poll_event(&mut self) -> Option<(Instant, Event)> {
        self.events.pop_front()
    }

    fn draw_backoff(&mut self, now: Instant, number: usize) {
        let slots = self.random.below(u64::from(self.windows[number]) + 1) as u32;
        self.contention.draw(number, now, slots);
    }

    fn widen_window(&mut self, number: usize) {
        let parameters = &self.config.categories[number];
        self.failures[number] += 1;
        if self.config.window_retry_limit.is_some_and(|limit| self.failures[number] >= limit) {
            self.failures[number] = 0;
            self.windows[number] = parameters.cw_min;
        } else {
            self.windows[number] = (self.windows[number] * 2 + 1).min(parameters.cw_max);
        }
    }

    fn control_frame(
        &self,
        receiver: MacAddress,
        kind: FrameKind,
        rate: Rate,
        bytes: u32,
        nav: Duration,
    ) -> Frame {
        Frame {
            receiver,
            transmitter: self.address,
            kind,
            addressing: Addressing::default(),
            rate,
            mode: None,
            is_retry: false,
            sequence: 0,
            size: bytes,
            air_time: self.config.phy.duration(rate, bytes),
            nav,
            payload: 0,
        }
    }
}

#[cfg(test)]
mod tests;
