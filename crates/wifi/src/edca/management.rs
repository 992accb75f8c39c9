//! Management frames, and changes of the channel.

use whimbrel_units::Instant;

use super::contention::Contention;
use super::exchange::Exchange;
use super::transmit::Session;
use super::{AccessCategory, Edca, TransmitRate};
use crate::aggregation::{AggregateLimits, Packet, QOS_OVERHEAD_BYTES};
use crate::frame::MacAddress;
use crate::random::Random;

/// MAC header without QoS control, and frame check sequence.
const OVERHEAD_BYTES: u32 = 28;

/// A packet that a MAC gives back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Withdrawn {
    /// The packet.
    pub packet: Packet,
    /// Its category.
    pub category: AccessCategory,
    /// `true` for a management message.
    pub is_management: bool,
    /// `true` if it was sent, and no acknowledgement arrived: its receiver may have it.
    pub was_sent: bool,
}

impl<R: Random> Edca<R> {
    /// Takes a management message for a receiver, or a group. It goes in category voice, at the lowest basic
    /// rate. The size of `message` is the size of the body.
    pub fn enqueue_management(&mut self, now: Instant, receiver: MacAddress, message: Packet) {
        const CATEGORY: AccessCategory = AccessCategory::Voice;
        let is_known = |session: &Session| session.receiver == receiver && session.is_management;
        let session = self.sessions.iter().position(is_known).unwrap_or_else(|| {
            let rate = TransmitRate::Legacy(self.config.phy.basic.lowest());
            let limits = AggregateLimits { ampdu_bytes: 0, amsdu_bytes: 0, ..self.config.limits };
            let session = Session::new(receiver, CATEGORY, rate, limits);
            self.sessions.push(Session { is_management: true, ..session });
            self.sessions.len() - 1
        });
        // The window counts the header of a QoS frame.
        let size = message.size + OVERHEAD_BYTES - QOS_OVERHEAD_BYTES;
        self.push(now, session, CATEGORY as usize, Packet { size, ..message });
    }

    /// `true` if a management message is neither acknowledged nor given up.
    pub fn has_message(&self) -> bool {
        self.sessions.iter().any(|session| session.is_management && session.window.has_traffic())
    }

    /// `true` while the radio must stay on its channel: the station transmits, or owes a response.
    pub const fn is_engaged(&self) -> bool {
        self.on_air.is_some() || self.response.is_some()
    }

    /// `true` if the station has nothing to send, and neither transmits nor owes a response.
    pub fn is_idle(&self) -> bool {
        self.opportunity.is_none() && !self.is_engaged() && self.has_no_packets()
    }

    /// `true` if the station has nothing to send.
    pub fn has_no_packets(&self) -> bool {
        self.backlog == [0; 4]
    }

    /// Packets for a receiver that dozes wait, or no longer, if `categories` is true of their category.
    pub fn set_paused(
        &mut self,
        now: Instant,
        receiver: MacAddress,
        categories: impl Fn(AccessCategory) -> bool,
        is_paused: bool,
    ) {
        for number in 0..self.sessions.len() {
            let session = &mut self.sessions[number];
            if !categories(session.category)
                || session.receiver != receiver
                || session.is_management
                || session.is_paused == is_paused
            {
                continue;
            }
            session.is_paused = is_paused;
            let category = session.category as usize;
            let has_traffic = session.window.has_traffic() || session.owes_request;
            if is_paused {
                self.active[category].retain(|&other| other as usize != number);
            } else if has_traffic {
                self.join(now, category, number);
                self.request_access(now, category);
            }
        }
        self.refresh_timer();
    }

    /// `true` if physical carrier sense reports energy.
    pub const fn is_sensing_energy(&self) -> bool {
        self.contention.is_sensed_busy()
    }

    /// The radio leaves its channel, and all packets are given back to `withdraw`. Waits for responses,
    /// reservations and contention windows are void. Must not be called while the station [is
    /// engaged](Self::is_engaged).
    pub fn leave_channel(&mut self, now: Instant, withdraw: &mut dyn FnMut(Withdrawn)) {
        debug_assert!(!self.is_engaged(), "the station transmits or owes a response");
        for session in &mut self.sessions {
            let (category, is_management) = (session.category, session.is_management);
            session.window.clear(&mut |packet, was_sent| {
                withdraw(Withdrawn { packet, category, is_management, was_sent });
            });
            (session.owes_request, session.unanswered, session.missed_cts) = (false, 0, 0);
        }
        self.active.iter_mut().for_each(alloc::collections::VecDeque::clear);
        self.backlog = [0; 4];
        self.opportunity = None;
        self.exchange = Exchange::None;
        self.stop_waiting();
        self.nav_reset_at = None;
        self.windows = self.config.categories.map(|category| category.cw_min);
        self.failures = [0; 4];
        self.contention = Contention::new(&self.config);
        self.contention.restart(now);
        self.refresh_timer();
    }

    /// The radio is on another channel, which is idle as far as the station knows. The first access needs a
    /// backoff: stations that come to a channel together, because they lost one access point, do not transmit
    /// at one instant.
    pub fn enter_channel(&mut self, now: Instant) {
        self.contention.restart(now);
        (0..4).for_each(|number| self.draw_backoff(now, number));
    }

    /// A receiver belongs to another station, or to this one again. It is not asked what it has received once
    /// it is gone, as nobody would answer.
    pub fn set_gone(&mut self, receiver: MacAddress, is_gone: bool) {
        for session in self.sessions.iter_mut().filter(|session| session.receiver == receiver) {
            session.is_gone = is_gone;
        }
    }

    /// The number with which the window for a receiver in a category begins.
    pub fn window_start(&self, receiver: MacAddress, category: AccessCategory) -> u16 {
        self.find(receiver, category).map_or(0, |session| session.window.start())
    }

    /// A sender that has agreed to block acknowledgements in a category begins its window with this number.
    /// What waits for earlier ones is delivered.
    pub fn resume_reception(
        &mut self,
        now: Instant,
        transmitter: MacAddress,
        category: AccessCategory,
        start: u16,
    ) {
        if let Some(number) = self.reception_from(transmitter, category.identifier()) {
            self.move_window(now, number, start);
            self.refresh_timer();
        }
    }
}
