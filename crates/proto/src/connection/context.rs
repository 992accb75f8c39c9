//! The two halves of a connection that its concerns share: what they read, and where their effects go.
//!
//! A concern owns its state. Its methods take [`Context`] by shared reference, change only their own state
//! and
//! [`Effects`], and return an outcome where another concern has to act: [`Connection`](super::Connection)
//! composes them.

use std::collections::VecDeque;

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::SeqNo;

use super::features::Features;
use super::outbound::Outbound;
use super::profile::Profile;
use super::rtt::RoundTripTime;
use super::sequence::Sequencing;
use super::statistics::Statistics;
use super::timer::{Timer, Timers};
use super::{Role, State};
use crate::config::DataChecksumUse;
use crate::feature::Location;
use crate::send_queue::SendQueue;
use crate::{Ccid, Config, DatagramId, Event};

/// Minimum time between changes of a CCID (RFC 4340, Section 10.5).
const CCID_HOLD: Duration = Duration::from_secs(60);

/// Role and ports of this end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ports {
    pub(super) role: Role,
    pub(super) source: u16,
    pub(super) destination: u16,
}

/// The state that every concern may read. Only [`Connection`](super::Connection) changes it.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) ports: Ports,
    pub(super) state: State,
    pub(super) config: Profile,
    pub(super) sequence: Sequencing,
    pub(super) rtt: RoundTripTime,
    pub(super) features: Features,
}

impl Context {
    pub(super) fn new(now: Instant, config: Profile, ports: Ports, state: State, iss: SeqNo) -> Self {
        Self {
            ports,
            state,
            sequence: Sequencing::new(now, iss),
            rtt: RoundTripTime::default(),
            features: Features::new(ports.role, &config),
            config,
        }
    }

    /// Holds a CCID after a change on an established connection. Each change restarts congestion control, so
    /// repeated renegotiation would evade it: the next change has to wait (RFC 4340, Section 10.5).
    pub(super) fn hold_ccid(&mut self, now: Instant, timers: &mut Timers, location: Location, ccid: Ccid) {
        let acceptable = match location {
            Location::Local => &self.config.sender_ccids,
            Location::Remote => &self.config.receiver_ccids,
        };
        // A CCID that this end does not accept is already being renegotiated.
        if acceptable.len() > 1 && acceptable.contains(&ccid) {
            self.features.negotiation.hold_ccid(location);
            timers.set(Timer::CcidHold, now + CCID_HOLD);
        }
    }

    /// `true` if packets with data carry a Data Checksum option.
    #[inline]
    pub(super) fn sends_data_checksum(&self) -> bool {
        self.config.integrity.data_checksum != DataChecksumUse::Off
    }

    /// `true` if packets may be ECN-capable (RFC 4340, Section 12).
    #[inline]
    pub(super) fn uses_ecn(&self) -> bool {
        self.config.ecn && !self.features.in_force.ecn_incapable
    }

    /// Called for each packet sent: requests a larger Sequence Window if the rate has outgrown it (RFC 4340,
    /// Section 7.5.2).
    #[inline]
    pub(super) fn on_sent(&mut self, now: Instant, sequence: SeqNo, has_data: bool) {
        let rtt = self.rtt.or_default();
        if let Some(wanted) = self.sequence.on_sent(now, sequence, has_data, rtt) {
            self.features.request_window(wanted);
        }
    }
}

/// The effects of the concerns: timers, packets to send, events for the application, and counters.
#[derive(Debug)]
pub(super) struct Effects {
    pub(super) timers: Timers,
    pub(super) outbound: Outbound,
    /// The application's datagrams.
    pub(super) queue: SendQueue,
    /// Events for the application, oldest first.
    pub(super) events: VecDeque<Event>,
    pub(super) statistics: Statistics,
}

impl Effects {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            timers: Timers::new(),
            outbound: Outbound::new(),
            queue: SendQueue::new(config.send_queue),
            events: VecDeque::new(),
            statistics: Statistics::default(),
        }
    }

    /// Returns memory that the handshake, or traffic, has left behind.
    pub(super) fn shrink_to_fit(&mut self) {
        self.queue.shrink_to_fit();
        self.events.shrink_to_fit();
    }

    /// Queues an event of which only the latest matters: it replaces an earlier one not yet polled. Otherwise
    /// a peer could accumulate events for an application that does not poll.
    pub(super) fn report_latest(&mut self, event: Event) {
        if let Some(earlier) = self.events.iter().rposition(|earlier| event.supersedes(earlier)) {
            self.events.remove(earlier);
        }
        self.events.push_back(event);
    }

    /// Accounts for a datagram being sent, and reports it.
    #[inline]
    pub(super) fn on_datagram_sent(&mut self, id: DatagramId, size: usize, sequence: SeqNo) {
        self.statistics.datagrams_sent += 1;
        self.statistics.bytes_sent += size as u64;
        self.events.push_back(Event::DatagramSent { id, sequence });
    }
}
