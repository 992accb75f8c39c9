//! The management of a station.

mod dozing;
mod event;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use whimbrel_units::{Duration, Instant};

pub use self::event::StationEvent;
use super::power_save::PowerSave;
use super::{
    Announcement, HandoverReport, ManagementMessage, ManagementTransmit, Scan, StationConfig, Status, Uapsd,
};
use crate::Random;
use crate::frame::MacAddress;

/// An access point that was found.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Candidate {
    address: MacAddress,
    channel: u8,
    beacon_interval: Duration,
    power: f64,
    /// The access point announced that OFDM frames are to be protected.
    uses_protection: bool,
}

/// The step of a scan on a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ScanStep {
    Switching,
    Delay,
    /// Waiting for a first activity, until which the channel is left after MinChannelTime.
    FirstWait,
    /// Waiting for the rest of the time on the channel.
    FullWait,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Idle,
    /// A search has led to no association; the next one follows.
    Pausing,
    Scanning {
        position: usize,
        step: ScanStep,
        since: Instant,
    },
    /// The radio changes to the channel of the candidate.
    Tuning(Candidate),
    Authenticating(Candidate, u32),
    Associating(Candidate, u32),
    /// Keys are exchanged with the candidate.
    Securing(Candidate),
    Associated(Candidate),
}

/// The management of a station: scanning, authentication, association, and when to leave an access point.
#[derive(Clone, Debug)]
pub struct Client<R> {
    config: StationConfig,
    random: R,
    state: State,
    deadline: Option<Instant>,
    /// The access points found, the one to be tried next at the end.
    candidates: Vec<Candidate>,
    /// All access points of the first scan, for [`StationConfig::scans_once`].
    known: Vec<Candidate>,
    /// The access point that the station has left, or is about to leave if it finds a better one.
    previous: Option<Candidate>,
    keeps_previous: bool,
    last_contact: Instant,
    failures: u32,
    /// Searches without success since the last association.
    fruitless_searches: u32,
    /// The station protects its OFDM frames.
    protects: bool,
    power_save: Option<PowerSave>,
    /// The association identifier.
    id: u16,
    detected: Instant,
    scanned: Instant,
    authenticated: Instant,
    outgoing: VecDeque<ManagementTransmit>,
    events: VecDeque<StationEvent>,
}

impl<R: Random + Clone> Client<R> {
    /// A station that does nothing until [`join`](Self::join). The pauses between its searches are drawn from
    /// `random`.
    pub fn new(config: StationConfig, random: R) -> Self {
        Self {
            power_save: config.power_save.map(PowerSave::new),
            id: 0,
            config,
            random,
            state: State::Idle,
            deadline: None,
            candidates: Vec::new(),
            known: Vec::new(),
            previous: None,
            keeps_previous: false,
            last_contact: Instant::ZERO,
            failures: 0,
            fruitless_searches: 0,
            protects: false,
            detected: Instant::ZERO,
            scanned: Instant::ZERO,
            authenticated: Instant::ZERO,
            outgoing: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// The parameters.
    pub const fn config(&self) -> &StationConfig {
        &self.config
    }

    /// The access point of the present association.
    pub fn access_point(&self) -> Option<MacAddress> {
        if let State::Associated(candidate) = self.state { Some(candidate.address) } else { None }
    }

    /// Begins to search for an access point.
    pub fn join(&mut self, now: Instant) {
        if self.state == State::Idle {
            (self.last_contact, self.detected) = (now, now);
            self.search(now);
        }
    }

    /// The station is switched off: it forgets everything but its parameters, and does nothing until it
    /// [joins](Self::join) again.
    pub fn stop(&mut self) {
        let mut events = core::mem::take(&mut self.events);
        if let State::Associated(candidate) = self.state {
            events.push_back(StationEvent::LinkDown { access_point: candidate.address });
        }
        if self.protects {
            events.push_back(StationEvent::Protection { is_used: false });
        }
        let (config, random) = (self.config.clone(), self.random.clone());
        *self = Self { events, ..Self::new(config, random) };
    }

    /// A message arrived from an access point with this power in watts.
    pub fn handle_packet(&mut self, now: Instant, from: MacAddress, power: f64, message: &ManagementMessage) {
        self.handle_activity(now);
        match *message {
            ManagementMessage::Beacon(announcement) => {
                self.learn(from, power, announcement);
                self.handle_beacon(now, from, power, announcement);
            }
            ManagementMessage::ProbeResponse(announcement) => self.learn(from, power, announcement),
            ManagementMessage::AuthenticationResponse(status) => {
                if let State::Authenticating(candidate, _) = self.state
                    && candidate.address == from
                {
                    if status == Status::Success {
                        self.authenticated = now;
                        self.request(now, State::Associating(candidate, 0));
                    } else {
                        self.try_next(now);
                    }
                }
            }
            ManagementMessage::AssociationResponse { status, id } => {
                if let State::Associating(candidate, _) = self.state
                    && candidate.address == from
                {
                    self.id = id;
                    if status == Status::Success { self.secure(now, candidate) } else { self.try_next(now) }
                }
            }
            ManagementMessage::Disassociation | ManagementMessage::Deauthentication => match self.state {
                State::Associated(candidate) if candidate.address == from => {
                    self.leave(now, candidate, false)
                }
                State::Authenticating(candidate, _)
                | State::Associating(candidate, _)
                | State::Securing(candidate)
                    if candidate.address == from =>
                {
                    self.try_next(now);
                }
                _ => {}
            },
            ManagementMessage::ProbeRequest { .. }
            | ManagementMessage::AuthenticationRequest
            | ManagementMessage::AssociationRequest { .. }
            | ManagementMessage::Null { .. }
            | ManagementMessage::ServiceEnd => {}
        }
    }

    /// The medium was busy: there is activity on the channel.
    pub fn handle_activity(&mut self, _: Instant) {
        if let (State::Scanning { step, since, .. }, Scan::Active { max_channel_time, .. }) =
            (&mut self.state, self.config.scan)
            && *step == ScanStep::FirstWait
        {
            *step = ScanStep::FullWait;
            self.deadline = Some(*since + max_channel_time);
        }
    }

    /// A data frame to the access point was acknowledged.
    pub fn handle_success(&mut self, now: Instant) {
        if let State::Associated(_) = self.state {
            self.failures = 0;
            self.handle_contact(now);
        }
    }

    /// A data frame of the access point arrived.
    pub fn handle_data(&mut self, now: Instant) {
        if let State::Associated(_) = self.state {
            self.handle_contact(now);
        }
    }

    /// An attempt to send a data frame to the access point got no acknowledgement.
    pub fn handle_failure(&mut self, now: Instant) {
        if let State::Associated(candidate) = self.state {
            self.failures += 1;
            if self.config.trigger.failed_attempts.is_some_and(|limit| self.failures >= limit) {
                self.leave(now, candidate, false);
            }
        }
    }

    /// The deadline last returned by [`poll_timeout`](Self::poll_timeout) was reached.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.follow_power_save(now);
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return;
        }
        self.deadline = None;
        match self.state {
            State::Idle => {}
            State::Pausing => self.begin_channel(now, 0),
            State::Scanning { position, step, .. } => self.continue_scan(now, position, step),
            State::Tuning(candidate) => self.request(now, State::Authenticating(candidate, 0)),
            State::Authenticating(candidate, tries) if tries < self.config.retries => {
                self.request(now, State::Authenticating(candidate, tries + 1));
            }
            State::Associating(candidate, tries) if tries < self.config.retries => {
                self.request(now, State::Associating(candidate, tries + 1));
            }
            State::Authenticating(..) | State::Associating(..) => self.try_next(now),
            State::Securing(candidate) => self.arrive(now, candidate),
            // The beacons have failed to arrive. Data and acknowledgements show as well that the access point
            // is in reach: in a crowded cell, beacons collide for longer than that.
            State::Associated(candidate) => match self.silence_ends(candidate) {
                Some(end) if end > now => self.deadline = Some(end),
                _ => self.leave(now, candidate, false),
            },
        }
    }

    /// The next message to send, if any.
    pub fn poll_transmit(&mut self) -> Option<ManagementTransmit> {
        self.outgoing.pop_front()
    }

    /// The time at which [`handle_timeout`](Self::handle_timeout) is due; `None` for never.
    pub fn poll_timeout(&self) -> Option<Instant> {
        [self.deadline, self.wake_up()].into_iter().flatten().min()
    }

    /// The next change, if any.
    pub fn poll_event(&mut self) -> Option<StationEvent> {
        self.events.pop_front()
    }

    /// Notes an access point of the network.
    fn learn(&mut self, address: MacAddress, power: f64, announcement: Announcement) {
        let Announcement { ssid, channel, beacon_interval, erp, .. } = announcement;
        if ssid != self.config.ssid || !matches!(self.state, State::Scanning { .. }) {
            return;
        }
        let uses_protection = erp.is_some_and(|erp| erp.uses_protection);
        let candidate = Candidate { address, channel, beacon_interval, power, uses_protection };
        match self.candidates.iter_mut().find(|other| other.address == address) {
            Some(known) => *known = candidate,
            None => self.candidates.push(candidate),
        }
    }

    fn handle_beacon(&mut self, now: Instant, from: MacAddress, power: f64, announcement: Announcement) {
        let State::Associated(mut candidate) = self.state else { return };
        if candidate.address != from {
            return;
        }
        candidate.power = power;
        candidate.uses_protection = announcement.erp.is_some_and(|erp| erp.uses_protection);
        self.state = State::Associated(candidate);
        self.protect(candidate.uses_protection);
        self.last_contact = now;
        self.deadline = self.silence_ends(candidate);
        self.handle_indication(now, candidate.beacon_interval, announcement.traffic.as_ref());
        let is_weak = self.config.trigger.weak_signal.is_some_and(|(threshold, _)| power < threshold);
        if is_weak && self.detected + self.config.search_interval <= now {
            self.leave(now, candidate, true);
        }
    }

    /// OFDM frames are to be protected or not, as the access point has announced.
    fn protect(&mut self, is_used: bool) {
        if self.protects != is_used {
            self.protects = is_used;
            self.events.push_back(StationEvent::Protection { is_used });
        }
    }

    /// The time at which the access point has been silent for as many beacons as the station waits for.
    fn silence_ends(&self, Candidate { beacon_interval, .. }: Candidate) -> Option<Instant> {
        let missed = self.config.trigger.missed_beacons?;
        // Half an interval more: beacons are delayed by a busy medium.
        Some(
            self.last_contact
                + beacon_interval * u64::from(missed) * self.beacons_apart()
                + beacon_interval / 2,
        )
    }

    /// Leaves an access point; `keeps` if the station returns to it unless it finds a better one.
    fn leave(&mut self, now: Instant, candidate: Candidate, keeps: bool) {
        self.end_power_save();
        self.events.push_back(StationEvent::LinkDown { access_point: candidate.address });
        (self.previous, self.keeps_previous) = (Some(candidate), keeps);
        self.detected = now;
        self.search(now);
    }

    fn search(&mut self, now: Instant) {
        self.candidates.clear();
        if self.config.scans_once && !self.known.is_empty() {
            let left = self.previous.map(|previous| previous.address);
            self.candidates.extend(self.known.iter().filter(|candidate| Some(candidate.address) != left));
            self.finish_scan(now);
        } else {
            self.begin_channel(now, 0);
        }
    }

    fn begin_channel(&mut self, now: Instant, position: usize) {
        let Some(&channel) = self.config.channels.get(position) else { return self.finish_scan(now) };
        self.events.push_back(StationEvent::SwitchChannel { channel });
        self.state = State::Scanning { position, step: ScanStep::Switching, since: now };
        if self.config.switch_time.is_zero() {
            self.continue_scan(now, position, ScanStep::Switching);
        } else {
            self.deadline = Some(now + self.config.switch_time);
        }
    }

    /// Ends the present step of the scan.
    fn continue_scan(&mut self, now: Instant, position: usize, step: ScanStep) {
        let (next, wait) = match (step, self.config.scan) {
            (ScanStep::Switching, Scan::Passive { channel_time }) => (ScanStep::FullWait, channel_time),
            (ScanStep::Switching, Scan::Active { probe_delay, .. }) if !probe_delay.is_zero() => {
                (ScanStep::Delay, probe_delay)
            }
            (ScanStep::Switching | ScanStep::Delay, Scan::Active { min_channel_time, .. }) => {
                let message = ManagementMessage::ProbeRequest { ssid: Some(self.config.ssid) };
                self.outgoing.push_back(ManagementTransmit::new(MacAddress::BROADCAST, message));
                (ScanStep::FirstWait, min_channel_time)
            }
            _ => return self.begin_channel(now, position + 1),
        };
        self.state = State::Scanning { position, step: next, since: now };
        self.deadline = Some(now + wait);
    }

    fn finish_scan(&mut self, now: Instant) {
        self.scanned = now;
        if self.known.is_empty() {
            self.known.clone_from(&self.candidates);
        }
        // The strongest at the end; of equal ones that with the lowest address.
        self.candidates.sort_by(|a, b| a.power.total_cmp(&b.power).then(b.address.cmp(&a.address)));
        if let (true, Some(previous)) = (self.keeps_previous, self.previous) {
            let hysteresis = self.config.trigger.weak_signal.map_or(1.0, |(_, ratio)| ratio);
            let is_better = |candidate: &Candidate| {
                candidate.address != previous.address && candidate.power > previous.power * hysteresis
            };
            if !self.candidates.iter().any(is_better) {
                return self.stay(now, previous);
            }
            self.candidates.retain(is_better);
        }
        self.try_next(now);
    }

    /// Returns to the access point that was not given up.
    fn stay(&mut self, now: Instant, previous: Candidate) {
        self.events.push_back(StationEvent::SwitchChannel { channel: previous.channel });
        self.events.push_back(StationEvent::Stayed { access_point: previous.address });
        (self.state, self.previous, self.last_contact) = (State::Associated(previous), None, now);
        self.begin_power_save();
        self.deadline = self.silence_ends(previous);
    }

    /// Searches again after a pause, which grows with the searches in vain: stations that ask at the same
    /// times, again and again, leave no time on the channel for answers.
    fn pause(&mut self, now: Instant) {
        let (first, longest) = self.config.search_pause;
        let doublings = self.fruitless_searches.min(31);
        let bound = Duration::from_nanos(first.as_nanos().saturating_mul(1 << doublings)).min(longest);
        if bound.is_zero() {
            return self.begin_channel(now, 0);
        }
        self.fruitless_searches += 1;
        self.state = State::Pausing;
        self.deadline = Some(now + Duration::from_nanos(1) + self.random.duration_below(bound));
    }

    /// Tries the next access point found, or scans again.
    fn try_next(&mut self, now: Instant) {
        let Some(candidate) = self.candidates.pop() else {
            // Nothing found, or none of those found answers: what was learnt before is out of date.
            self.known.clear();
            self.keeps_previous = false;
            return self.pause(now);
        };
        self.events.push_back(StationEvent::SwitchChannel { channel: candidate.channel });
        if self.config.switch_time.is_zero() {
            self.request(now, State::Authenticating(candidate, 0));
        } else {
            self.state = State::Tuning(candidate);
            self.deadline = Some(now + self.config.switch_time);
        }
    }

    /// Sends the request of a state and waits for the response.
    fn request(&mut self, now: Instant, state: State) {
        let (candidate, message) = match state {
            State::Authenticating(candidate, _) => (candidate, ManagementMessage::AuthenticationRequest),
            State::Associating(candidate, _) => {
                let previous = self.previous.map(|previous| previous.address);
                let StationConfig { ssid, is_erp, power_save, .. } = self.config;
                let listen_interval = power_save.map_or(1, |power_save| power_save.listen_interval);
                let uapsd = power_save.map_or(Uapsd::default(), |power_save| power_save.uapsd);
                let message =
                    ManagementMessage::AssociationRequest { ssid, previous, is_erp, listen_interval, uapsd };
                (candidate, message)
            }
            _ => return,
        };
        self.outgoing.push_back(ManagementTransmit::new(candidate.address, message));
        self.state = state;
        self.deadline = Some(now + self.config.response_timeout);
    }

    /// The access point has accepted the station, whose data waits for the keys.
    fn secure(&mut self, now: Instant, candidate: Candidate) {
        let StationConfig { key_exchange, fast_transition, .. } = self.config;
        let time = fast_transition.filter(|_| self.previous.is_some()).unwrap_or(key_exchange);
        if time.is_zero() {
            return self.arrive(now, candidate);
        }
        (self.state, self.deadline) = (State::Securing(candidate), Some(now + time));
    }

    fn arrive(&mut self, now: Instant, candidate: Candidate) {
        let report = HandoverReport {
            from: self.previous.map(|previous| previous.address),
            to: candidate.address,
            last_contact: self.last_contact,
            detected: self.detected,
            scanned: self.scanned,
            authenticated: self.authenticated,
            associated: now,
        };
        self.events.push_back(StationEvent::LinkUp(report));
        self.protect(candidate.uses_protection);
        (self.state, self.previous, self.keeps_previous) = (State::Associated(candidate), None, false);
        (self.failures, self.fruitless_searches, self.last_contact) = (0, 0, now);
        self.begin_power_save();
        self.deadline = self.silence_ends(candidate);
    }
}

#[cfg(test)]
mod tests;
