//! Keys of a multipath connection, and the codes that they make (RFC 9897, Sections 3.2.4 and 3.2.6).

use core::fmt;
use core::net::IpAddr;

use hmac::{Hmac, Mac};
use sha2::Sha256;
use whimbrel_wire::OptionBytes;
use whimbrel_wire::option::multipath::{AddAddress, HMAC_LEN, Join, RemoveAddress};
use zeroize::Zeroizing;

use super::Dialect;
use super::entropy::keyed;

/// The host that makes a code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Host {
    /// This host.
    Own,
    /// The peer.
    Peer,
}

/// The selected keys of both hosts.
pub(super) struct Keys {
    own: Zeroizing<Vec<u8>>,
    peer: Zeroizing<Vec<u8>>,
    /// HMAC under the derived key of this host: its own key, then the peer's.
    own_mac: Hmac<Sha256>,
    /// HMAC under the derived key of the peer.
    peer_mac: Hmac<Sha256>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys")
    }
}

/// A code: the leftmost 20 bytes of an HMAC.
pub(super) type Code = [u8; HMAC_LEN];

impl Keys {
    pub(super) fn new(own: &[u8], peer: &[u8]) -> Self {
        let derived = |first: &[u8], second: &[u8]| keyed(&Zeroizing::new([first, second].concat()));
        Self {
            own_mac: derived(own, peer),
            peer_mac: derived(peer, own),
            own: Zeroizing::new(own.to_vec()),
            peer: Zeroizing::new(peer.to_vec()),
        }
    }

    /// The peer's key, which proves that this host took part in the handshake.
    pub(super) fn peer_key(&self) -> OptionBytes {
        OptionBytes::from_slice(&self.peer)
    }

    /// `true` if the data of MP_CLOSE or MP_FAST_CLOSE are this host's key.
    pub(super) fn is_own_key(&self, data: &[u8]) -> bool {
        is_equal(&self.own, data)
    }

    /// The code of a joining subflow. `own` and `other`: the MP_JOIN that `host` sent, and the one that it
    /// received. `accepting`: the Connection Identifier of the host that accepts the subflow.
    pub(super) fn join_code(
        &self,
        dialect: Dialect,
        host: Host,
        own_nonce: u32,
        other_nonce: u32,
        accepting: u32,
    ) -> Code {
        match dialect {
            Dialect::Rfc9897 => self.code(host, &[&own_nonce.to_be_bytes(), &other_nonce.to_be_bytes()]),
            Dialect::Draft2024 => self.code(host, &[&accepting.to_be_bytes(), &other_nonce.to_be_bytes()]),
        }
    }

    /// The code of MP_ADDADDR.
    pub(super) fn address_code(&self, host: Host, option: &AddAddress) -> Code {
        let port = option.port.unwrap_or(0).to_be_bytes();
        let id = [option.address_id];
        let nonce = nonce_bytes(option.nonce);
        match option.address {
            IpAddr::V4(address) => self.code(host, &[&id, &nonce, &address.octets(), &port]),
            IpAddr::V6(address) => self.code(host, &[&id, &nonce, &address.octets(), &port]),
        }
    }

    /// The code of MP_REMOVEADDR: over Address ID and nonce, as the formula of Section 3.2.6 has it.
    pub(super) fn removal_code(&self, host: Host, option: &RemoveAddress) -> Code {
        self.code(host, &[&[option.address_id], &nonce_bytes(option.nonce)])
    }

    fn code(&self, host: Host, message: &[&[u8]]) -> Code {
        let mut mac = match host {
            Host::Own => self.own_mac.clone(),
            Host::Peer => self.peer_mac.clone(),
        };
        for part in message {
            mac.update(part);
        }
        let whole: [u8; 32] = mac.finalize().into_bytes().into();
        let mut code = Code::default();
        code.copy_from_slice(&whole[..HMAC_LEN]);
        code
    }
}

fn nonce_bytes(nonce: Option<u32>) -> OptionBytes {
    nonce.map_or_else(OptionBytes::new, |nonce| OptionBytes::from_slice(&nonce.to_be_bytes()))
}

/// Compares whole values, so that timing does not reveal the length of a correct prefix.
pub(super) fn is_equal(left: &[u8], right: &[u8]) -> bool {
    let differences = left.iter().zip(right).fold(0, |all, (left, right)| all | (left ^ right));
    left.len() == right.len() && core::hint::black_box(differences) == 0
}

/// An MP_JOIN for that Connection Identifier.
pub(super) fn join(address_id: u8, connection: u32, nonce: u32) -> Join {
    Join { address_id, connection, nonce }
}
