//! One DTLS connection over any datagrams.

mod handshake;
mod records;
mod repeats;

use std::collections::VecDeque;

use bytes::Bytes;
use dimpl::Output;
use whimbrel_proto::Role;
use whimbrel_units::{Duration, Instant};

use self::handshake::{Handshake, LONGEST_INTERVAL};
use self::records::Records;
use crate::clock::{SessionClock, today};
use crate::observer::DATA;
use crate::protection::{Exhausted, Meaning, Protection, epoch_bits};
use crate::{Fingerprint, Security, SecurityError};

/// The largest datagram of a record: RFC 9147, Section 4.
pub(crate) const LARGEST: usize = 1 << 14;
/// Content types of the plaintext records with which a handshake begins (alert, handshake), and their
/// versions.
const FIRST_TYPES: [u8; 2] = [21, 22];
const LEGACY_VERSIONS: [[u8; 2]; 2] = [[0xfe, 0xfd], [0xfe, 0xff]];
/// The low bits of the epoch of the first data (RFC 9147, Section 6.1).
const DATA_EPOCH: u8 = 3;
/// The most bytes of a handshake, repetitions included: certificates beyond it are refused.
const LARGEST_HANDSHAKE: usize = 1 << 16;
/// Least time between two acknowledgements of handshake records for which no datagram has arrived: a quarter
/// of the least retransmission time (RFC 9147, Section 7.1).
const ACK_INTERVAL: Duration = Duration::from_millis(50);

/// An event of a [`Session`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SessionEvent {
    /// Both ends have authenticated each other, and each has seen that the other has: datagrams can be sent.
    Established {
        /// Fingerprint of the peer's key.
        peer: Fingerprint,
    },
    /// An authentic datagram.
    Datagram(Bytes),
    /// The peer sends no more: it closed the session (close_notify).
    Closed,
    /// The session has ended. Nothing that was not authenticated has been delivered.
    Failed(SecurityError),
}

/// Progress of the handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Nothing of the peer has arrived.
    Opening,
    Handshake,
    /// A client has sent all messages and waits for the server's confirmation, which follows its check of the
    /// client.
    Confirming,
    Established,
    /// This end has sent its last record, and still receives.
    Receiving,
    Over,
}

/// One DTLS connection, without I/O: the verbs are a DCCP connection's.
///
/// Create it when DCCP's handshake is complete: its timers run from then on (RFC 5238, Section 3.2).
#[derive(Debug)]
pub struct Session {
    security: Security,
    role: Role,
    stage: Stage,
    clock: SessionClock,
    /// `None` when it is complete, or has failed.
    handshake: Option<Box<Handshake>>,
    /// Protection of data: from the time at which the secrets are known.
    protection: Option<Box<Protection>>,
    peer: Option<Fingerprint>,
    outgoing: VecDeque<Bytes>,
    events: VecDeque<SessionEvent>,
    ignored: u64,
}

impl Session {
    /// Begins a session as client or server. `rtt`: the round-trip time, if it is known.
    pub fn new(now: Instant, role: Role, security: Security, rtt: Option<Duration>) -> Self {
        let clock = SessionClock::default();
        let handshake = Handshake::new(now, role, &security, rtt, &clock);
        let mut session = Self {
            security,
            role,
            stage: Stage::Opening,
            clock,
            handshake: Some(Box::new(handshake)),
            protection: None,
            peer: None,
            outgoing: VecDeque::new(),
            events: VecDeque::new(),
            ignored: 0,
        };
        session.advance(now);
        session
    }

    /// `true` once datagrams can be sent.
    pub fn is_established(&self) -> bool {
        self.stage == Stage::Established
    }

    /// `true` once the session has failed or was closed by this end.
    pub fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Receiving | Stage::Over)
    }

    /// Fingerprint of the key that the peer has proved; `None` before.
    pub fn peer(&self) -> Option<Fingerprint> {
        self.peer.filter(|_| matches!(self.stage, Stage::Established | Stage::Receiving | Stage::Over))
    }

    /// Number of datagrams of the peer that had no effect: forged, damaged or replayed ones, and clear data.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Passes a received datagram.
    pub fn handle_datagram(&mut self, now: Instant, datagram: &[u8]) {
        match self.stage {
            Stage::Opening if !self.begins_handshake(datagram) => self.fail(SecurityError::NotDtls),
            Stage::Opening | Stage::Handshake | Stage::Confirming => self.handle_flight(now, datagram),
            Stage::Established | Stage::Receiving => self.handle_records(now, datagram),
            Stage::Over => {}
        }
    }

    /// Runs timers that are due. An early call does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.poll_timeout().is_none_or(|timer| timer > now) {
            return;
        }
        if let Some(protection) = self.protection.as_mut().filter(|_| self.handshake.is_none()) {
            protection.handle_timeout(now, &mut self.outgoing);
        }
        let Some(handshake) = &mut self.handshake else { return };
        if now >= handshake.limit {
            self.fail(SecurityError::TimedOut);
        } else if handshake.timer.is_some_and(|timer| timer <= now) {
            self.clock.expire();
            self.advance(now);
        } else if handshake.repeats.is_due(now) {
            self.outgoing.extend(handshake.repeats.take_due(now));
        }
    }

    /// Stops the timers for retransmission while records wait to be sent, or lets them go on: RFC 5238,
    /// Section 3.3.
    pub fn set_waiting(&mut self, now: Instant, waits: bool) {
        if self.clock.is_stopped() == waits || self.is_over() {
            return;
        }
        self.clock.set_stopped(now, waits);
        if let Some(protection) = &mut self.protection {
            protection.restart_timer(now);
        }
        if let Some(handshake) = &mut self.handshake {
            handshake.repeats.restart(now);
            if handshake.timer.is_some() {
                self.drain(now);
            }
        }
    }

    /// The next handshake datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Bytes> {
        self.outgoing.pop_front()
    }

    /// `true` if handshake datagrams wait to be sent.
    pub fn has_transmits(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Latest time of the next call to [`Session::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.is_over() {
            return None;
        }
        let (limit, timers) = match (&self.handshake, &self.protection) {
            (Some(handshake), _) => (Some(handshake.limit), [handshake.timer, handshake.repeats.due()]),
            (None, Some(protection)) => (None, [protection.poll_timeout(), None]),
            (None, None) => (None, [None, None]),
        };
        limit.into_iter().chain(timers.into_iter().flatten().filter(|_| !self.clock.is_stopped())).min()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<SessionEvent> {
        self.events.pop_front()
    }

    /// Encrypts a datagram; returns its record. `None` if the session is not established, or the datagram has
    /// more than 2^14 bytes.
    pub fn seal(&mut self, now: Instant, datagram: &[u8]) -> Option<Bytes> {
        if !self.is_established() || datagram.len() > LARGEST {
            return None;
        }
        let sealed = self.protection.as_mut()?.seal(now, datagram, &mut self.outgoing);
        sealed.map_err(|why| self.exhaust(why)).ok()
    }

    /// Returns memory that a handshake, or traffic, has left behind.
    pub fn shrink_to_fit(&mut self) {
        self.outgoing.shrink_to_fit();
        self.events.shrink_to_fit();
    }

    /// Ends the session: a last record (close_notify) says so, if it was established. It ends one direction:
    /// data of the peer is still decrypted (RFC 8446, Section 6.1).
    pub fn close(&mut self) {
        if let Some(protection) = self.protection.as_mut().filter(|_| self.stage == Stage::Established) {
            self.outgoing.push_back(protection.close());
            self.stage = Stage::Receiving;
        }
    }

    /// Passes a datagram of the handshake to the library, but for data that has overtaken its end.
    fn handle_flight(&mut self, now: Instant, datagram: &[u8]) {
        let Some(handshake) = &mut self.handshake else { return };
        handshake.heard += datagram.len();
        if handshake.heard > LARGEST_HANDSHAKE {
            return self.fail(SecurityError::Protocol("the handshake is too large".into()));
        }
        if self.stage == Stage::Opening {
            self.stage = Stage::Handshake;
        }
        let reading = self.clock.reading(now);
        // The library reads the time from here only.
        let mut result = handshake.call(|dtls| dtls.handle_timeout(reading));
        let mut data = Vec::new();
        // The library takes a datagram for a repetition if its first message is one. It would discard the
        // messages after it, which may have been lost with another datagram.
        for record in Records(datagram) {
            let protection = self.protection.as_mut().filter(|_| epoch_bits(record) == Some(DATA_EPOCH));
            match protection.and_then(|protection| protection.open(record)) {
                Some(opened) if opened.kind == DATA => data.push(opened.content),
                _ => result = result.and_then(|()| handshake.call(|dtls| dtls.handle_packet(record))),
            }
        }
        if let Err(error) = result {
            return self.fail(SecurityError::Protocol(error.to_string()));
        }
        self.drain(now);
        // A server sends data only after it has accepted this client.
        if self.stage == Stage::Confirming && !data.is_empty() {
            self.establish();
        }
        if self.is_established() {
            self.events.extend(data.into_iter().map(SessionEvent::Datagram));
        }
    }

    /// Opens the records of a datagram, and counts it if none has an effect.
    fn handle_records(&mut self, now: Instant, datagram: &[u8]) {
        let before = self.outgoing.len();
        let mut has_effect = false;
        for record in Records(datagram) {
            let Some(protection) = &mut self.protection else { return };
            match protection.process(now, record, &mut self.outgoing) {
                Ok(Meaning::Data(data)) => self.events.push_back(SessionEvent::Datagram(data)),
                Ok(Meaning::Closed) => self.events.push_back(SessionEvent::Closed),
                Ok(Meaning::Control) => {}
                Ok(Meaning::Nothing) => continue,
                Ok(Meaning::Alert(description)) => {
                    let text = format!("the peer ended the session with alert {description}");
                    return self.fail(SecurityError::Protocol(text));
                }
                Err(why) => return self.exhaust(why),
            }
            has_effect = true;
        }
        if let Some(protection) = self.protection.as_mut().filter(|_| !has_effect) {
            has_effect = protection.acknowledge_flight(Records(datagram), &mut self.outgoing);
        }
        if !has_effect {
            self.ignored += 1;
        }
        // Nothing follows the record that has ended what this end sends.
        if self.stage == Stage::Receiving {
            self.outgoing.truncate(before);
        }
    }

    /// Lets the library's time pass, and takes its output.
    fn advance(&mut self, now: Instant) {
        let Some(handshake) = &mut self.handshake else { return };
        let reading = self.clock.reading(now);
        let result = handshake.call(|dtls| dtls.handle_timeout(reading));
        match result {
            Ok(()) => self.drain(now),
            Err(dimpl::Error::Timeout(_)) => return self.fail(SecurityError::TimedOut),
            Err(error) => return self.fail(SecurityError::Protocol(error.to_string())),
        }
        // While a message is missing, the library has an acknowledgement due at once, always.
        if let Some(timer) = self.handshake.as_mut().and_then(|handshake| handshake.timer.as_mut()) {
            *timer = if *timer <= now { now + ACK_INTERVAL } else { *timer };
        }
    }

    /// Takes the library's output.
    fn drain(&mut self, now: Instant) {
        let before = self.outgoing.len();
        let mut room = Vec::new();
        loop {
            let Some(handshake) = &mut self.handshake else { return };
            if self.protection.is_none() {
                let protection =
                    Protection::new(&handshake.observed, self.role, self.security.records_per_key());
                self.protection = protection.map(Box::new);
            }
            // The library panics without room for the peer's certificate, which is shorter than what has
            // arrived.
            if room.len() < handshake.heard {
                room.resize(handshake.heard, 0);
            }
            match handshake.dtls.poll_output(&mut room) {
                Output::Packet(packet) => {
                    if let Some(protection) = &mut self.protection {
                        Records(packet).for_each(|record| protection.note_sent(record));
                    }
                    self.outgoing.push_back(Bytes::copy_from_slice(packet));
                }
                Output::PeerCert(certificate) => {
                    let peer = if self.role == Role::Client { Role::Server } else { Role::Client };
                    match self.security.trust().check(peer, certificate, today()) {
                        Ok(fingerprint) => self.peer = Some(fingerprint),
                        // Nothing that the library has prepared for this peer leaves.
                        Err(error) => return self.fail(error),
                    }
                }
                Output::Connected if self.peer.is_none() => {
                    return self.fail(SecurityError::Protocol("the peer has no certificate".into()));
                }
                Output::Connected => self.stage = Stage::Confirming,
                Output::CloseNotify => self.events.push_back(SessionEvent::Closed),
                Output::BufferTooSmall { needed } => room = vec![0; needed],
                Output::Timeout(deadline) => {
                    handshake.timer = self.clock.timer(now, deadline, LONGEST_INTERVAL);
                    break;
                }
                _ => {}
            }
        }
        let Some(handshake) = &mut self.handshake else { return };
        // A server has seen all. The library retransmits a client's last flight until the server has
        // confirmed it.
        let is_confirmed = self.role == Role::Server || handshake.timer.is_none();
        if self.stage == Stage::Confirming && is_confirmed {
            self.establish();
        } else if self.outgoing.len() > before {
            handshake.repeats.set(now, self.outgoing.range(before..).cloned());
        }
    }

    /// The handshake is complete: the library is not needed any more.
    fn establish(&mut self) {
        let Some(peer) = self.peer else { return };
        let observed = self.handshake.take().map(|handshake| handshake.observed);
        match (&mut self.protection, observed) {
            (Some(protection), Some(observed)) => protection.take_over(self.role, observed),
            _ => return self.fail(SecurityError::Protocol("the handshake left no keys".into())),
        }
        self.stage = Stage::Established;
        self.events.push_back(SessionEvent::Established { peer });
    }

    fn exhaust(&mut self, why: Exhausted) {
        let text = match why {
            Exhausted::Key => "the peer does not acknowledge new keys",
            Exhausted::Forged => "too many records were forged",
        };
        self.fail(SecurityError::Protocol(text.into()));
    }

    /// Gives the session up.
    pub(crate) fn fail(&mut self, error: SecurityError) {
        if !self.is_over() {
            self.outgoing.clear();
            self.peer = None;
            self.stage = Stage::Over;
            (self.handshake, self.protection) = (None, None);
            self.events.push_back(SessionEvent::Failed(error));
        }
    }

    /// `true` if a datagram may be the first of the peer.
    fn begins_handshake(&self, datagram: &[u8]) -> bool {
        match datagram {
            [kind, a, b, ..] if FIRST_TYPES.contains(kind) => LEGACY_VERSIONS.contains(&[*a, *b]),
            // An encrypted record may overtake a server's first one.
            _ => self.role == Role::Client && epoch_bits(datagram).is_some(),
        }
    }
}

#[cfg(test)]
mod tests;
