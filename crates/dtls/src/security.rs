//! The security of a connection: an identity, and the peers to trust.

use std::sync::{Arc, OnceLock};
use std::time::Duration as StdDuration;

use dimpl::crypto::Dtls13CipherSuite;
use dimpl::{Config, NamedGroup};
use whimbrel_proto::Role;
use whimbrel_units::Duration;

use crate::simulation::{self, SeededKeys};
use crate::{Fingerprint, Identity, Trust, provider};

/// The largest handshake datagram in bytes. Smaller than any path that DCCP uses, so that a smaller path MTU
/// in the middle of a handshake, for which the library could not fragment messages anew, does not end it. A
/// ClientHello is padded to it.
const HANDSHAKE_DATAGRAM: usize = 700;
/// Bounds of the first retransmission time, which is three round trips: RFC 9147, Section 5.8.2, allows less
/// than the default of a second where the round-trip time is known.
///
/// The timeout is a multiple of `TIMEOUT_STEP`, so that sessions can share a few configurations: the library
/// checks the cryptography that a configuration names when it is built, which takes as long as a handshake,
/// and keeps it as long as the session.
const LEAST_TIMEOUT: Duration = Duration::from_millis(200);
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(1);
const TIMEOUT_STEP: Duration = Duration::from_millis(100);
const TIMEOUTS: usize = 11;
/// Retransmissions of one flight, those in answer to the peer's included. The session's own limit comes
/// first.
const RETRIES: usize = 24;
/// Records that may wait, undelivered, in either direction: handshake messages in fragments that arrive out
/// of order.
const QUEUE: usize = 64;

/// The identity of this end and the peers that it accepts.
///
/// Cheap to clone: connections share it.
#[derive(Clone, Debug)]
pub struct Security(Arc<Parts>);

#[derive(Clone, Debug)]
struct Parts {
    identity: Identity,
    trust: Trust,
    seed: Option<u64>,
    rekey_after: Option<u64>,
    /// The library's configurations, by first retransmission time in steps.
    configs: [OnceLock<Arc<Config>>; TIMEOUTS],
}

impl Security {
    /// Mutual authentication: this end proves `identity`, and accepts the peers of `trust`.
    pub fn new(identity: Identity, trust: Trust) -> Self {
        let configs = Default::default();
        Self(Arc::new(Parts { identity, trust, seed: None, rekey_after: None, configs }))
    }

    /// **For simulations and tests only**: draws the jitter of timers, the random fields of messages and the
    /// keys of the key exchange from `seed`, so that whoever knows it can read the connection. With a key of
    /// the curve P-256 and the feature `simulation` the same calls give the same records; other signatures
    /// vary.
    pub fn seeded(self, seed: u64) -> Self {
        self.with(|parts| parts.seed = Some(seed))
    }

    /// Number of records after which an end changes its key for sending; 2^23 unless set.
    pub fn rekey_after(self, records: u64) -> Self {
        self.with(|parts| parts.rekey_after = Some(records))
    }

    fn with(self, change: impl FnOnce(&mut Parts)) -> Self {
        let mut parts = Arc::unwrap_or_clone(self.0);
        change(&mut parts);
        parts.configs = Default::default();
        Self(Arc::new(parts))
    }

    /// The fingerprint of this end's key.
    pub fn fingerprint(&self) -> Fingerprint {
        self.0.identity.fingerprint()
    }

    /// Keys for the key exchanges of a session, if they come from a seed.
    pub(crate) fn seeded_keys(&self, role: Role) -> Option<SeededKeys> {
        self.0.seed.map(|seed| SeededKeys::new(seed, role))
    }

    /// Records per key, if set.
    pub(crate) fn records_per_key(&self) -> Option<u64> {
        self.0.rekey_after
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.0.identity
    }

    pub(crate) fn trust(&self) -> &Trust {
        &self.0.trust
    }

    /// The library's configuration for a connection with that round-trip time.
    pub(crate) fn config(&self, rtt: Option<Duration>) -> Arc<Config> {
        let timeout = rtt.map_or(DEFAULT_TIMEOUT, |rtt| (rtt * 3).clamp(LEAST_TIMEOUT, DEFAULT_TIMEOUT));
        let steps = timeout.as_nanos().div_ceil(TIMEOUT_STEP.as_nanos()) as usize;
        self.0.configs[steps].get_or_init(|| self.build(TIMEOUT_STEP * steps as u64)).clone()
    }

    fn build(&self, timeout: Duration) -> Arc<Config> {
        let mut builder = Config::builder()
            .with_crypto_provider(provider::provider())
            .mtu(HANDSHAKE_DATAGRAM)
            .max_queue_rx(QUEUE)
            .max_queue_tx(QUEUE)
            .require_client_certificate(true)
            // DCCP's handshake has proved the client's address.
            .use_server_cookie(false)
            .flight_start_rto(timeout.into())
            .flight_retries(RETRIES)
            // The session has a limit of its own, by a clock that neither stops nor is put forward.
            .handshake_timeout(StdDuration::from_secs(3650 * 24 * 3600))
            // No DTLS 1.2: one set of properties to document and test.
            .dtls12_cipher_suites(&[])
            // The one that each end has to implement (RFC 8446, Section 9.1).
            .dtls13_cipher_suites(&[Dtls13CipherSuite::AES_128_GCM_SHA256])
            .kx_groups(&[NamedGroup::X25519, NamedGroup::Secp256r1]);
        if let Some(seed) = self.0.seed {
            builder = builder
                .dangerously_set_rng_seed(seed)
                .with_crypto_provider(simulation::provider())
                .kx_groups(&[NamedGroup::X25519]);
        }
        Arc::new(builder.build().expect("a valid configuration"))
    }
}
