//! The library's part of a session: the handshake.

use dimpl::{Dtls, DtlsCertificate};
use whimbrel_proto::Role;
use whimbrel_units::{Duration, Instant};

use super::repeats::Repeats;
use crate::Security;
use crate::clock::SessionClock;
use crate::observer::Observed;
use crate::simulation::SeededKeys;

/// Time limit for the handshake, retransmissions included.
pub(super) const HANDSHAKE_LIMIT: Duration = Duration::from_secs(30);
/// The longest interval between two retransmissions of a flight of the handshake. RFC 9147, Section 5.8.2
/// doubles intervals up to 60 s "or more"; after a few losses on a path with bursts of loss, nothing would be
/// sent while it would carry data.
pub(super) const LONGEST_INTERVAL: Duration = Duration::from_secs(2);

/// A handshake that the library performs.
#[derive(Debug)]
pub(super) struct Handshake {
    pub(super) dtls: Dtls,
    /// Keys for key exchanges, in simulations.
    keys: Option<SeededKeys>,
    pub(super) observed: Observed,
    /// The end of its time.
    pub(super) limit: Instant,
    pub(super) timer: Option<Instant>,
    pub(super) repeats: Repeats,
    /// Bytes received.
    pub(super) heard: usize,
}

impl Handshake {
    pub(super) fn new(
        now: Instant,
        role: Role,
        security: &Security,
        rtt: Option<Duration>,
        clock: &SessionClock,
    ) -> Self {
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
        Self {
            dtls,
            keys,
            observed: Observed::default(),
            limit: now + HANDSHAKE_LIMIT,
            timer: None,
            repeats: Repeats::new(role, rtt),
            heard: 0,
        }
    }

    /// Calls the library, which finds the keys that are lent and is observed.
    pub(super) fn call<T>(&mut self, call: impl FnOnce(&mut Dtls) -> T) -> T {
        let Self { dtls, keys, observed, .. } = self;
        observed.during(|| SeededKeys::lend(keys, || call(dtls)))
    }
}
