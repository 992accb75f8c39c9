//! The distributed coordination function (IEEE Std 802.11-2012, clause 9.3): one station's MAC as a machine.
//!
//! A [`Dcf`] has the shape of a sans-IO connection. The driver passes what the station's receiver notices
//! ([`Dcf::handle_busy`], [`Dcf::handle_idle`], [`Dcf::handle_frame`], [`Dcf::handle_error`]), one payload at
//! a time ([`Dcf::enqueue`]) and the time ([`Dcf::handle_timeout`]). It takes frames to be transmitted
//! ([`Dcf::poll_transmit`]), events ([`Dcf::poll_event`]) and the next deadline ([`Dcf::poll_timeout`]).
//!
//! Contract of the inputs at one instant: timeouts first, except that the order of timeouts and busy edges
//! does not matter; the outcome of a reception before the idle edge of its signal. The station does not sense
//! its own transmission: the machine computes its end.
//!
//! Configurable points on which IEEE 802.11 leaves room, or from which ns-2 deviates, are listed in
//! [`MacRules`].

pub mod access;
mod config;
mod drive;
mod duplicates;
mod event;
mod passive;
mod receive;
mod retune;
mod transmit;

use alloc::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

pub use config::{
    AfterCollision, ErrorSpacing, ImmediateAccess, InvalidMac, MacConfig, MacRules, MissingResponse,
    ProbeConfig, Protection, ResponseTimeout,
};
pub use event::{DropCause, Event, Outgoing, ReceptionError, Step, Transmit};
pub use passive::Sensed;

use self::access::ChannelAccess;
use self::config::Opening;
use self::duplicates::Duplicates;
use crate::frame::{Addressing, Frame, FrameKind, MacAddress};
use crate::phy::Rate;
use crate::random::Random;
use crate::rate_control::RateController;

/// State of the exchange of the payload in service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Exchange {
    /// No payload, or it is on the air.
    None,
    /// Waiting for access.
    Contending,
    /// An RTS was sent.
    AwaitingCts,
    /// A CTS was received, or sent to the station itself: the data frame follows at this instant.
    DataDue(Instant),
    /// The data frame was sent.
    AwaitingAck,
}

/// The payload in service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct InService {
    /// Its frame with a payload.
    frame: Frame,
    opening: Opening,
    /// Its rate is subject to rate adaptation.
    is_adapted: bool,
}

/// An own transmission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct OnAir {
    end: Instant,
    kind: FrameKind,
    needs_response: bool,
    /// A CTS to the station itself.
    is_to_self: bool,
    rate: Rate,
    /// CTS: the reservation that it announces.
    nav: Duration,
}

/// Counters of a station since its beginning.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DcfCounters {
    /// Payloads taken into service.
    pub enqueued: u64,
    /// Payloads acknowledged or, to a group, transmitted.
    pub sent: u64,
    /// Payloads dropped at a retry limit.
    pub dropped: u64,
    /// Payloads given back because the radio changed the channel.
    pub withdrawn: u64,
    /// Payloads delivered.
    pub delivered: u64,
    /// Payloads received again and not delivered.
    pub duplicates: u64,
    /// Accesses to the medium that expected a response: an RTS, or a data frame without RTS.
    pub attempts: u64,
    /// Accesses among `attempts` without a response.
    pub failed_attempts: u64,
    /// Data frames after a CTS without an acknowledgement.
    pub failed_after_cts: u64,
    /// Own time on the air.
    pub air_time: Duration,
}

/// One station's MAC.
#[derive(Clone, Debug)]
pub struct Dcf<R> {
    address: MacAddress,
    config: MacConfig,
    access: ChannelAccess,
    random: R,
    rates: RateController,
    window: u16,
    sequence: u16,
    short_retries: u16,
    long_retries: u16,
    /// Failed attempts of the payload in service.
    retries: u16,
    in_service: Option<InService>,
    /// The payload that waits for the end of a probe.
    behind_probe: Option<Outgoing>,
    /// End of the last own or received frame other than management frames.
    last_traffic: Option<Instant>,
    exchange: Exchange,
    /// End of the wait for a response.
    timeout_at: Option<Instant>,
    /// The timeout passed while a reception was in progress, whose outcome decides.
    awaits_reception: bool,
    /// End of the last own frame.
    last_end: Instant,
    on_air: Option<OnAir>,
    /// CTS or acknowledgement that is due at this instant.
    response: Option<(Instant, Frame)>,
    /// Instant at which the reservation of an RTS is void.
    nav_reset_at: Option<Instant>,
    /// ns-2: end of the wait for the data frame after an own CTS.
    data_until: Option<Instant>,
    /// The earliest deadline other than the grant; [`Instant::FAR_FUTURE`] for none.
    next_timer: Instant,
    outbox: Option<Transmit>,
    events: VecDeque<(Instant, Event)>,
    duplicates: Duplicates,
    counters: DcfCounters,
}

impl<R: Random> Dcf<R> {
    /// A station with this address, on an idle medium, that draws its backoffs from `random`.
    pub fn new(address: MacAddress, config: MacConfig, random: R) -> Self {
        Self {
            address,
            access: ChannelAccess::new(config.spacing()),
            random,
            rates: RateController::new(config.rate_control, config.data_rate, config.ladder()),
            window: config.phy.cw_min,
            sequence: 0,
            short_retries: 0,
            long_retries: 0,
            retries: 0,
            in_service: None,
            behind_probe: None,
            last_traffic: None,
            exchange: Exchange::None,
            timeout_at: None,
            awaits_reception: false,
            last_end: Instant::ZERO,
            on_air: None,
            response: None,
            nav_reset_at: None,
            data_until: None,
            next_timer: Instant::FAR_FUTURE,
            outbox: None,
            events: VecDeque::new(),
            duplicates: Duplicates::new(config.duplicate_entries),
            counters: DcfCounters::default(),
            config,
        }
    }

    /// The station's address.
    pub const fn address(&self) -> MacAddress {
        self.address
    }

    /// The configuration.
    pub const fn config(&self) -> &MacConfig {
        &self.config
    }

    /// Sets the frames that precede OFDM frames. The payload in service keeps its own.
    pub const fn set_protection(&mut self, protection: Protection) {
        self.config.protection = protection;
    }

    /// Counters since the beginning.
    pub const fn counters(&self) -> DcfCounters {
        self.counters
    }

    /// The contention window.
    pub const fn window(&self) -> u16 {
        self.window
    }

    /// End of the reservation by other stations' frames.
    pub const fn nav_end(&self) -> Instant {
        self.access.nav_end()
    }

    /// `true` if no payload is in service: [`enqueue`](Self::enqueue) accepts one.
    #[inline]
    pub const fn is_ready(&self) -> bool {
        self.in_service.is_none()
    }

    /// `true` while physical carrier sense reports energy.
    pub const fn is_sensing_energy(&self) -> bool {
        self.access.is_sensed_busy()
    }

    /// `true` while the station transmits.
    pub const fn is_transmitting(&self) -> bool {
        self.on_air.is_some()
    }

    /// Recomputes the earliest deadline other than the grant, after one of them changed.
    fn refresh_timer(&mut self) {
        let mut next = Instant::FAR_FUTURE;
        let mut consider = |deadline: Option<Instant>| {
            if let Some(deadline) = deadline {
                next = next.min(deadline);
            }
        };
        consider(self.on_air.map(|on_air| on_air.end));
        consider(self.nav_reset_at);
        consider(self.data_until);
        consider(self.response.map(|(due, _)| due));
        if let Exchange::DataDue(due) = self.exchange {
            consider(Some(due));
        }
        consider(self.timeout_at);
        self.next_timer = next;
    }

    /// The next deadline; `None` if the station waits for input only.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let next = self.next_deadline();
        (next != Instant::FAR_FUTURE).then_some(next)
    }

    /// The next deadline; [`Instant::FAR_FUTURE`] if the station waits for input only.
    #[inline]
    pub fn next_deadline(&self) -> Instant {
        self.access.deadline().map_or(self.next_timer, |grant| grant.min(self.next_timer))
    }

    /// `true` if [`poll_event`](Self::poll_event) returns an event.
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// The next event, with the instant at which it happened.
    pub fn poll_event(&mut self) -> Option<(Instant, Event)> {
        self.events.pop_front()
    }

    fn draw_backoff(&mut self, now: Instant) {
        let bound = if self.config.is_ns2() { u64::from(self.window) } else { u64::from(self.window) + 1 };
        let slots = self.random.below(bound) as u32;
        self.access.start_backoff(now, slots);
        self.trace(now, Step::BackoffDrawn { slots, window: self.window });
    }

    /// Contends after a backoff (9.3.4.2).
    fn begin_backoff(&mut self, now: Instant) {
        self.draw_backoff(now);
        self.access.request(now, access::Request::Unchanged);
    }

    /// A frame without a payload from this station.
    fn control_frame(
        &self,
        (receiver, kind): (MacAddress, FrameKind),
        rate: Rate,
        (size, air_time): (u32, Duration),
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
            size,
            air_time,
            nav,
            payload: 0,
        }
    }

    fn widen_window(&mut self) {
        self.window = (self.window * 2 + 1).min(self.config.phy.cw_max);
    }

    #[inline(never)]
    fn report(&mut self, now: Instant, event: Event) {
        self.events.push_back((now, event));
    }

    #[inline]
    fn trace(&mut self, now: Instant, step: Step) {
        if self.config.is_traced {
            self.report(now, Event::Trace(step));
        }
    }
}

#[cfg(test)]
mod tests;
