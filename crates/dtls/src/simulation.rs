//! Sessions for simulations: everything that an end draws comes from a seed, so that a run can be repeated
//! byte by byte.
//!
//! The library takes its random fields and the jitter of its timers from a seed of its own. The two other
//! sources are the key exchange and the signatures, for which this module has replacements: private keys from
//! a seed, and `signatures` that RFC 6979 derives from the key and the message, with the feature
//! `simulation`. Anyone who knows the seed can read such a connection.

use std::cell::Cell;

use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use aws_lc_rs::hmac;
use dimpl::crypto::{ActiveKeyExchange, Buf, CryptoProvider, NamedGroup, SupportedKxGroup};
use dimpl::{CryptoError, CryptoOperation};
use whimbrel_proto::Role;

use crate::provider as real;

#[cfg(feature = "simulation")]
mod signatures;

#[cfg(feature = "simulation")]
pub use signatures::simulated;

/// Private keys for key exchanges, from a seed.
#[derive(Clone, Debug)]
pub(crate) struct SeededKeys {
    seed: u64,
    role: Role,
    drawn: u64,
}

thread_local! {
    /// The keys of the session whose library is being called: the library's interface has no place to pass
    /// them by.
    static LENT: Cell<Option<SeededKeys>> = const { Cell::new(None) };
}

impl SeededKeys {
    pub(crate) fn new(seed: u64, role: Role) -> Self {
        Self { seed, role, drawn: 0 }
    }

    /// Calls the library, whose key exchanges take their keys from `keys`, if there are any.
    pub(crate) fn lend<T>(keys: &mut Option<Self>, call: impl FnOnce() -> T) -> T {
        LENT.set(keys.take());
        let result = call();
        *keys = LENT.take();
        result
    }

    fn draw(&mut self) -> [u8; 32] {
        let role = u8::from(self.role == Role::Client);
        let mut key = [0; 32];
        let seed = hmac::Key::new(hmac::HMAC_SHA256, &self.seed.to_be_bytes());
        let tag = hmac::sign(&seed, &[&[role][..], &self.drawn.to_be_bytes()].concat());
        key.copy_from_slice(tag.as_ref());
        self.drawn += 1;
        key
    }
}

/// The library's cryptography with keys and signatures that can be repeated.
pub(crate) fn provider() -> CryptoProvider {
    CryptoProvider {
        kx_groups: &[&SeededX25519],
        #[cfg(feature = "simulation")]
        key_provider: &signatures::RepeatableKeys,
        ..real::provider()
    }
}

/// X25519 with keys that the session lends.
#[derive(Debug)]
struct SeededX25519;

#[derive(Debug)]
struct Exchange {
    private: PrivateKey,
    public: Buf,
}

impl SupportedKxGroup for SeededX25519 {
    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }

    fn start_exchange(&self, mut buf: Buf) -> Result<Box<dyn ActiveKeyExchange>, CryptoError> {
        let failed = CryptoError::OperationFailed(CryptoOperation::GenerateEphemeralKey);
        let mut lent = LENT.take();
        // The library tries the exchange before any session exists; those keys are not used.
        let key = lent.as_mut().map_or([1; 32], SeededKeys::draw);
        LENT.set(lent);
        let Ok(private) = PrivateKey::from_private_key(&X25519, &key) else { return Err(failed) };
        let Ok(public) = private.compute_public_key() else { return Err(failed) };
        buf.clear();
        buf.extend_from_slice(public.as_ref());
        Ok(Box::new(Exchange { private, public: buf }))
    }
}

impl ActiveKeyExchange for Exchange {
    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn complete(self: Box<Self>, peer_pub: &[u8], out: &mut Buf) -> Result<(), CryptoError> {
        let peer = UnparsedPublicKey::new(&X25519, peer_pub);
        agree(&self.private, peer, CryptoError::InvalidPublicKey(NamedGroup::X25519), |secret| {
            out.clear();
            out.extend_from_slice(secret);
            Ok(())
        })
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}
