//! One DTLS connection over any datagrams.

mod records;

use std::collections::VecDeque;

use bytes::Bytes;
use dimpl::{Dtls, DtlsCertificate, Output};
use whimbrel_proto::Role;
use whimbrel_units::{Duration, Instant};

use self::records::Records;
use crate::clock::{SessionClock, today};
use crate::simulation::SeededKeys;
use crate::{Fingerprint, Security, SecurityError};

/// Bytes by which a record is longer than its datagram: 5 of the header (RFC 9147, Section 4), the content
/// type, 16 of the authentication tag.
pub const RECORD_OVERHEAD: usize = 22;
/// The largest datagram of a record: RFC 9147, Section 4.
pub(crate) const LARGEST: usize = 1 << 14;
/// Time limit for the handshake, retransmissions included.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(30);
/// The longest interval between two retransmissions of a flight of the handshake. RFC 9147, Section 5.8.2
/// doubles intervals up to 60 s "or more"; after a few losses on a path with bursts of loss, nothing would be
/// sent while it would carry data.
const LONGEST_INTERVAL: Duration = Duration::from_secs(2);
/// Time after which the last flight is repeated as it was, in between. A burst of losses that lasts for a
/// number of packets ends the sooner, the more packets there are. The library doubles its own intervals, and
/// so cannot repeat a flight that often.
const REPEAT_INTERVAL: Duration = Duration::from_millis(500);
/// Content types of the plaintext records with which a handshake begins (alert, handshake), and their
/// versions.
const FIRST_TYPES: [u8; 2] = [21, 22];
const LEGACY_VERSIONS: [[u8; 2]; 2] = [[0xfe, 0xfd], [0xfe, 0xff]];
/// First byte of encrypted records (RFC 9147, Section 4), which may overtake a server's first one.
const UNIFIED_HEADERS: core::ops::RangeInclusive<u8> = 0x20..=0x3f;
/// Time between two settings of the library's clock, in an established session that receives.
const REFRESH_TIME: Duration = Duration::from_millis(10);
/// The most bytes of a handshake, repetitions included: certificates beyond it are refused.
const LARGEST_HANDSHAKE: usize = 1 << 16;
/// Least time between two acknowledgements of handshake records for which no datagram has arrived: a quarter
/// of the least retransmission time (RFC 9147, Section 7.1).
const ACK_INTERVAL: Duration = Duration::from_millis(50);
/// Records sealed between two occasions to change keys.
const SEALS_PER_ADVANCE: u32 = 64;

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
    dtls: Option<Dtls>,
    /// Keys for key exchanges, in simulations.
    keys: Option<SeededKeys>,
    security: Security,
    role: Role,
    stage: Stage,
    clock: SessionClock,
    /// End of the handshake's time.
    limit: Instant,
    timer: Option<Instant>,
    repeats: Repeats,
    peer: Option<Fingerprint>,
    outgoing: VecDeque<Bytes>,
    events: VecDeque<SessionEvent>,
    ignored: u64,
    /// Bytes received in the handshake.
    heard: usize,
    /// Records sealed.
    sealed: u32,
    /// The library's time, when a datagram last set it.
    refreshed: Instant,
}

impl Session {
    /// Begins a session as client or server. `rtt`: the round-trip time, if it is known.
    pub fn new(now: Instant, role: Role, security: Security, rtt: Option<Duration>) -> Self {
        let clock = SessionClock::default();
        let identity = security.identity();
        // The private key is lent instead.
        let certificate =
            DtlsCertificate { certificate: identity.certificate().to_vec(), private_key: Vec::new() };
        let mut keys = security.seeded_keys(role);
        let config = security.config(rtt);
        let mut dtls = SeededKeys::lend(&mut keys, || {
            identity.key().lend(|| Dtls::new_13(config, certificate, clock.reading(now)))
        });
        dtls.set_active(role == Role::Client);
        let mut session = Self {
            dtls: Some(dtls),
            keys,
            security,
            role,
            stage: Stage::Opening,
            clock,
            limit: now + HANDSHAKE_LIMIT,
            timer: None,
            repeats: Repeats::default(),
            peer: None,
            outgoing: VecDeque::new(),
            events: VecDeque::new(),
            ignored: 0,
            heard: 0,
            sealed: 0,
            refreshed: now,
        };
        session.advance(now);
        session
    }

    /// `true` once datagrams can be sent.
    pub fn is_established(&self) -> bool {
        self.stage == Stage::Established
    }
    fn is_shaking_hands(&self) -> bool {
        matches!(self.stage, Stage::Opening | Stage::Handshake | Stage::Confirming)
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
        let is_first = self.stage == Stage::Opening;
        if is_first && !self.begins_handshake(datagram) {
            self.fail(SecurityError::NotDtls);
            return;
        }
        let is_shaking_hands = self.is_shaking_hands();
        if is_shaking_hands {
            self.heard += datagram.len();
            if self.heard > LARGEST_HANDSHAKE {
                self.fail(SecurityError::Protocol("the handshake is too large".into()));
                return;
            }
        }
        let Some(dtls) = &mut self.dtls else { return };
        // The library reads the time from here only, which an established session needs for its rare
        // retransmissions.
        let refreshed =
            if self.stage != Stage::Established || now.saturating_since(self.refreshed) >= REFRESH_TIME {
                self.refreshed = now;
                dtls.handle_timeout(self.clock.reading(now))
            } else {
                Ok(())
            };
        let result = refreshed.and_then(|()| {
            SeededKeys::lend(&mut self.keys, || {
                // The library takes a datagram for a repetition if its first message is one, and discards the
                // messages behind it, which may have been in another datagram before, and lost.
                if is_shaking_hands {
                    Records(datagram).try_for_each(|record| dtls.handle_packet(record))
                } else {
                    dtls.handle_packet(datagram)
                }
            })
        });
        if is_first {
            self.stage = Stage::Handshake;
        }
        if let Err(error) = result {
            self.fail(SecurityError::Protocol(error.to_string()));
            return;
        }
        if self.stage == Stage::Receiving {
            let last = self.outgoing.len();
            self.drain_into(now, room_for(datagram));
            self.outgoing.truncate(last);
            self.timer = None;
            return;
        }
        // An acknowledgement stops the timer.
        let before = (self.events.len(), self.outgoing.len(), self.timer.is_some());
        self.drain_into(now, room_for(datagram));
        let after = (self.events.len(), self.outgoing.len(), self.timer.is_some());
        if self.stage == Stage::Established && before == after {
            self.ignored += 1;
        }
    }

    /// Runs timers that are due. An early call does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.poll_timeout().is_none_or(|timer| timer > now) {
            return;
        }
        if !self.is_established() && now >= self.limit {
            self.fail(SecurityError::TimedOut);
            return;
        }
        if self.timer.is_some_and(|timer| timer <= now) {
            self.clock.expire();
            self.advance(now);
        } else if self.repeats.is_due(now) {
            self.outgoing.extend(self.repeats.take_due(now));
        }
    }

    /// Stops the timers for retransmission while records wait to be sent, or lets them go on: RFC 5238,
    /// Section 3.3.
    pub fn set_waiting(&mut self, now: Instant, waits: bool) {
        if self.clock.is_stopped() != waits && !self.is_over() {
            self.clock.set_stopped(now, waits);
            self.repeats.restart(now);
            if self.timer.is_some() {
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
        let limit = (!self.is_established() && !self.is_over()).then_some(self.limit);
        let timers = self.timer.into_iter().chain(self.repeats.due);
        limit.into_iter().chain(timers.filter(|_| !self.clock.is_stopped())).min()
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
        // The library changes keys when its time passes, which nothing else ensures at an end that only
        // sends.
        self.sealed = self.sealed.wrapping_add(1);
        if self.sealed.is_multiple_of(SEALS_PER_ADVANCE) {
            self.advance(now);
        }
        let dtls = self.dtls.as_mut()?;
        let result = dtls.send_application_data(datagram);
        // Other records may wait: a request for new keys goes first.
        let before = self.outgoing.len();
        match result {
            Ok(_) => self.drain_into(now, vec![0; datagram.len() + RECORD_OVERHEAD]),
            Err(error) => self.fail(SecurityError::Protocol(error.to_string())),
        }
        if self.outgoing.len() > before { self.outgoing.pop_back() } else { None }
    }

    /// Returns memory that a handshake, or traffic, has left behind.
    pub fn shrink_to_fit(&mut self) {
        self.outgoing.shrink_to_fit();
        self.events.shrink_to_fit();
    }

    /// Ends the session: a last record (close_notify) says so, if it was established. It ends one direction:
    /// data of the peer are still decrypted (RFC 8446, Section 6.1).
    pub fn close(&mut self, now: Instant) {
        if let Some(dtls) = self.dtls.as_mut().filter(|_| self.stage == Stage::Established) {
            let is_closed = dtls.close().is_ok();
            self.stage = Stage::Receiving;
            if is_closed {
                self.drain(now);
            } else {
                self.end();
            }
            // Nothing is retransmitted any more.
            self.timer = None;
        }
    }

    /// Lets the library's time pass, and takes its output.
    fn advance(&mut self, now: Instant) {
        let Some(dtls) = &mut self.dtls else { return };
        let reading = self.clock.reading(now);
        match SeededKeys::lend(&mut self.keys, || dtls.handle_timeout(reading)) {
            Ok(()) => {
                self.drain(now);
                // While a message is missing, the library has an acknowledgement due at once, always.
                self.timer = self.timer.map(|timer| if timer <= now { now + ACK_INTERVAL } else { timer });
            }
            Err(error) => self.fail(match error {
                dimpl::Error::Timeout(_) => SecurityError::TimedOut,
                error => SecurityError::Protocol(error.to_string()),
            }),
        }
    }

    /// Takes the library's output.
    fn drain(&mut self, now: Instant) {
        self.drain_into(now, Vec::new());
    }

    /// Takes the library's output, the first datagram of it in `room`. If it has the size of that datagram,
    /// as it usually has, there is no copy.
    fn drain_into(&mut self, now: Instant, mut room: Vec<u8>) {
        let before = self.outgoing.len();
        loop {
            // The library panics without room for the peer's certificate, which is shorter than what has
            // arrived.
            if self.is_shaking_hands() && room.len() < self.heard {
                room.resize(self.heard, 0);
            }
            let Some(dtls) = &mut self.dtls else { return };
            match dtls.poll_output(&mut room) {
                Output::Packet(packet) => {
                    let size = packet.len();
                    self.outgoing.push_back(take(&mut room, size));
                }
                Output::ApplicationData(data) => {
                    let size = data.len();
                    let data = take(&mut room, size);
                    // A server sends data only after it has accepted this client.
                    self.establish();
                    self.events.push_back(SessionEvent::Datagram(data));
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
                Output::Connected if self.role == Role::Server => self.establish(),
                Output::Connected => self.stage = Stage::Confirming,
                Output::CloseNotify => self.events.push_back(SessionEvent::Closed),
                Output::BufferTooSmall { needed } => room = vec![0; needed],
                Output::Timeout(deadline) => {
                    let longest = if self.is_shaking_hands() { LONGEST_INTERVAL } else { Duration::MAX };
                    self.timer = self.clock.timer(now, deadline, longest);
                    break;
                }
                _ => {}
            }
        }
        // The library retransmits a client's last flight until the server has confirmed it.
        if self.stage == Stage::Confirming && self.timer.is_none() {
            self.establish();
        }
        if self.is_shaking_hands() && self.outgoing.len() > before {
            self.repeats.set(now, self.outgoing.range(before..).cloned());
        }
    }

    fn establish(&mut self) {
        let is_done = matches!(self.stage, Stage::Established | Stage::Receiving);
        if let Some(peer) = self.peer.filter(|_| !is_done) {
            self.stage = Stage::Established;
            self.repeats = Repeats::default();
            self.events.push_back(SessionEvent::Established { peer });
        }
    }

    /// Gives the session up.
    pub(crate) fn fail(&mut self, error: SecurityError) {
        if !self.is_over() {
            self.outgoing.clear();
            self.peer = None;
            self.end();
            self.events.push_back(SessionEvent::Failed(error));
        }
    }

    /// `true` if a datagram may be the first of the peer.
    fn begins_handshake(&self, datagram: &[u8]) -> bool {
        match datagram {
            [kind, a, b, ..] if FIRST_TYPES.contains(kind) => LEGACY_VERSIONS.contains(&[*a, *b]),
            [kind, ..] => self.role == Role::Client && UNIFIED_HEADERS.contains(kind),
            [] => false,
        }
    }

    fn end(&mut self) {
        self.stage = Stage::Over;
        self.dtls = None;
        self.timer = None;
        self.repeats = Repeats::default();
    }
}

/// The last flight of a handshake, to be repeated until the next one. Datagrams that have arrived before are
/// replays to the peer.
#[derive(Debug, Default)]
struct Repeats {
    flight: Vec<Bytes>,
    due: Option<Instant>,
}

impl Repeats {
    fn set(&mut self, now: Instant, flight: impl Iterator<Item = Bytes>) {
        self.flight.clear();
        self.flight.extend(flight);
        self.due = Some(now + REPEAT_INTERVAL);
    }
    fn restart(&mut self, now: Instant) {
        self.due = self.due.map(|_| now + REPEAT_INTERVAL);
    }
    fn is_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| due <= now)
    }
    fn take_due(&mut self, now: Instant) -> impl Iterator<Item = Bytes> {
        self.due = Some(now + REPEAT_INTERVAL);
        self.flight.iter().cloned()
    }
}

/// Room for the data of a received record.
fn room_for(record: &[u8]) -> Vec<u8> {
    vec![0; record.len().saturating_sub(RECORD_OVERHEAD)]
}

/// The first `size` bytes of `room`: itself, if it has no more.
fn take(room: &mut Vec<u8>, size: usize) -> Bytes {
    if room.len() == size { core::mem::take(room).into() } else { Bytes::copy_from_slice(&room[..size]) }
}

#[cfg(test)]
mod tests;
