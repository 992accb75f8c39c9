//! The management of one station: its machine, its channel, and its frames that wait for the MAC.

use std::collections::VecDeque;

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::dcf::Outgoing;
use whimbrel_wifi::infrastructure::{AccessPoint, Client, ManagementTransmit};
use whimbrel_wifi::mobility::Presence;
use whimbrel_wifi::{MacAddress, SplitMix64};

use super::role::StationRole;
use crate::StationIndex;

/// Counters of a station's management since the beginning of the run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ManagementStats {
    /// Management frames sent: acknowledged, or broadcast. Without beacons.
    pub sent: u64,
    /// Beacons sent.
    pub beacons_sent: u64,
    /// Management frames given up: after their last retry, because the station left the channel, or because
    /// nobody waited for them any more.
    pub dropped: u64,
    /// Management frames received. Without beacons.
    pub received: u64,
    /// Beacons received, of any network.
    pub beacons_received: u64,
    /// Associations: of a client with access points, or of clients with an access point.
    pub associations: u64,
    /// Associations of a client that followed another one.
    pub handovers: u64,
    /// Associations that ended.
    pub disassociations: u64,
}

/// The management machine of a station.
pub(super) enum Machine {
    None,
    AccessPoint(Box<AccessPoint>),
    Client(Box<Client<SplitMix64>>),
}

/// A change of the channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Change {
    pub(super) to: u8,
    pub(super) duration: Duration,
    /// Its end; `None` while a frame or response of the MAC has to end before.
    pub(super) until: Option<Instant>,
}

/// One station.
pub(super) struct Managed {
    pub(super) machine: Machine,
    /// The channel on which the station sends and receives; `None` while the radio changes it.
    pub(super) channel: Option<u8>,
    pub(super) change: Option<Change>,
    /// The channel to which a dozing client returns.
    pub(super) dozes: Option<u8>,
    /// `true` unless the station is in an outage.
    pub(super) is_on: bool,
    /// The next beginning or end of an outage.
    pub(super) next_outage_edge: Option<Instant>,
    /// Time at which a client begins to search.
    pub(super) joins_at: Option<Instant>,
    /// Management messages that wait for the MAC.
    pub(super) messages: VecDeque<ManagementTransmit>,
    /// Broadcasts of clients that an access point is to repeat.
    pub(super) relays: VecDeque<u64>,
    /// The packet that the MAC of a client has given back.
    pub(super) held: Option<Outgoing>,
    /// The access point of a client's present or last association.
    pub(super) uplink: Option<StationIndex>,
    /// The access point whose data frames a client accepts: its last association's, also while it searches.
    pub(super) accepted: Option<MacAddress>,
    /// `true` if the MAC has a data frame of a client in service.
    pub(super) serves_data: bool,
    /// Failed attempts of the MAC that the machine has been notified of.
    pub(super) failures: u64,
    pub(super) stats: ManagementStats,
}

impl Managed {
    pub(super) fn new(role: &StationRole, presence: &Presence, random: SplitMix64) -> Self {
        let (machine, channel) = match role {
            StationRole::AdHoc { channel } => (Machine::None, *channel),
            StationRole::AccessPoint(config) => {
                (Machine::AccessPoint(Box::new(AccessPoint::new(*config))), config.channel)
            }
            StationRole::Client { config, .. } => {
                let channel = config.channels.first().copied().unwrap_or_default();
                (Machine::Client(Box::new(Client::new(config.clone(), random))), channel)
            }
        };
        let joins_at = if let StationRole::Client { joins_at, .. } = role { Some(*joins_at) } else { None };
        Self {
            machine,
            channel: Some(channel),
            change: None,
            dozes: None,
            is_on: presence.is_on(Instant::ZERO),
            next_outage_edge: presence.next_change(Instant::ZERO),
            joins_at,
            messages: VecDeque::new(),
            relays: VecDeque::new(),
            held: None,
            uplink: None,
            accepted: None,
            serves_data: false,
            failures: 0,
            stats: ManagementStats::default(),
        }
    }

    /// Queues the messages of the machine. A message takes the place of one to the same receiver that still
    /// waits: the answer to a request that was repeated, a beacon, or the answer to a request that the
    /// station has left behind.
    pub(super) fn collect(&mut self) {
        loop {
            let transmit = match &mut self.machine {
                Machine::None => None,
                Machine::AccessPoint(access_point) => access_point.poll_transmit(),
                Machine::Client(client) => client.poll_transmit(),
            };
            let Some(transmit) = transmit else { return };
            match self.messages.iter_mut().find(|waiting| waiting.to == transmit.to) {
                Some(waiting) => *waiting = transmit,
                None => self.messages.push_back(transmit),
            }
        }
    }

    /// The next message for the MAC.
    pub(super) fn next_message(&mut self, now: Instant) -> Option<ManagementTransmit> {
        while let Some(message) = self.messages.pop_front() {
            if message.expires > now {
                return Some(message);
            }
            self.stats.dropped += 1;
        }
        None
    }

    /// The time at which something is due: for the machine, the radio, or because the station is switched on
    /// or off.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let machine = match &self.machine {
            _ if !self.is_on => None,
            Machine::None => None,
            Machine::AccessPoint(access_point) => access_point.poll_timeout(),
            Machine::Client(client) => client.poll_timeout(),
        };
        let join = self.joins_at.filter(|_| self.is_on);
        let change = self.change.and_then(|change| change.until);
        [machine, join, change, self.next_outage_edge].into_iter().flatten().min()
    }

    /// `true` if the MAC may be given a frame: the station is on, and its radio stays on the channel.
    pub(super) const fn is_supplied(&self) -> bool {
        self.is_on && self.change.is_none()
    }

    /// The radio is to leave its channel as soon as the MAC allows. Messages for the channel are dropped.
    /// Returns `false` if it is leaving already.
    pub(super) fn leave_channel(&mut self, to: u8, duration: Duration) -> bool {
        self.stats.dropped += self.messages.drain(..).count() as u64;
        self.dozes = None;
        let is_leaving = self.change.is_some_and(|change| change.until.is_none());
        self.change = Some(Change { to, duration, until: None });
        !is_leaving
    }

    /// The radio has left its channel at `now`. Returns `true` if it is on the other one.
    pub(super) fn begin_change(&mut self, now: Instant) -> bool {
        self.channel = None;
        if let Some(change) = &mut self.change {
            change.until = Some(now + change.duration);
        }
        self.end_change(now)
    }

    /// Ends a change of the channel that is due. Returns `true` if there was one.
    pub(super) fn end_change(&mut self, now: Instant) -> bool {
        match self.change {
            Some(Change { to, until: Some(until), .. }) if until <= now => {
                (self.channel, self.change) = (Some(to), None);
                true
            }
            _ => false,
        }
    }
}
