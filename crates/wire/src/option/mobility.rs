//! Options for changing a client's address: experimental, with numbers reserved for experiments (RFC 4340,
//! Section 19.3: 120 to 126).
//!
//! On the wire they are [`DccpOption::Mobility`]; `docs/mobility.md` describes their use. Modelled on
//! draft-kohler-dccp-mobility-02: a key from each end on the handshake, then an identifier, a challenge, and
//! proof.

use super::{DccpOption, OptionBytes};
use crate::SeqNo;

#[cfg(test)]
mod tests;

/// Type of [`MobilityOption::Key`].
pub const KEY: u8 = 122;
/// Type of [`MobilityOption::Move`].
pub const MOVE: u8 = 123;
/// Type of [`MobilityOption::Challenge`].
pub const CHALLENGE: u8 = 124;
/// Type of [`MobilityOption::Moved`].
pub const MOVED: u8 = 125;

/// A mobility option, decoded from its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MobilityOption {
    /// 122, on Request and Response: the keys from which the ends derive their secret.
    Key(MobilityKey),
    /// 123, from the client: this packet comes from the client's current address.
    Move(Move),
    /// 124, from the server: the end at this address must return this number on a [`Move`].
    Challenge(u64),
    /// 125, from the server: packets are sent to the source of that packet of the client.
    Moved(SeqNo),
}

/// One end's part of the secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MobilityKey {
    /// The client's: a fresh number. The server's: the connection's identifier.
    pub identifier: u64,
    /// A public key of X25519 (RFC 7748).
    pub public: [u8; 32],
}

/// The identity of a client that moved, with an authenticator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    /// The connection's identifier.
    pub identifier: u64,
    /// The challenge that is answered, if there is one.
    pub echo: Option<u64>,
    /// The authenticator.
    pub tag: u128,
}

impl MobilityOption {
    /// Decodes an option; `None` if it is none of these.
    pub fn parse(option: &DccpOption) -> Option<Self> {
        let DccpOption::Mobility { kind, data } = option else { return None };
        Self::from_data(*kind, data)
    }

    pub(crate) fn from_data(kind: u8, data: &[u8]) -> Option<Self> {
        let (first, rest) = match kind {
            KEY | MOVE => {
                data.split_first_chunk::<8>().map(|(first, rest)| (u64::from_be_bytes(*first), rest))?
            }
            CHALLENGE => return Some(Self::Challenge(u64::from_be_bytes(data.try_into().ok()?))),
            MOVED => {
                let [a, b, c, d, e, f] = data.try_into().ok()?;
                return Some(Self::Moved(SeqNo::new(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))));
            }
            _ => return None,
        };
        if kind == KEY {
            return Some(Self::Key(MobilityKey { identifier: first, public: rest.try_into().ok()? }));
        }
        let (echo, tag) = match rest.len() {
            16 => (None, rest),
            24 => rest.split_first_chunk::<8>().map(|(echo, tag)| (Some(u64::from_be_bytes(*echo)), tag))?,
            _ => return None,
        };
        let tag = u128::from_be_bytes(tag.try_into().ok()?);
        Some(Self::Move(Move { identifier: first, echo, tag }))
    }
}

impl From<MobilityOption> for DccpOption {
    fn from(option: MobilityOption) -> Self {
        let mut data = OptionBytes::new();
        let kind = match option {
            MobilityOption::Key(MobilityKey { identifier, public }) => {
                data.extend_from_slice(&identifier.to_be_bytes());
                data.extend_from_slice(&public);
                KEY
            }
            MobilityOption::Move(Move { identifier, echo, tag }) => {
                data.extend_from_slice(&identifier.to_be_bytes());
                data.extend_from_slice(echo.map(u64::to_be_bytes).as_ref().map_or(&[], |echo| &echo[..]));
                data.extend_from_slice(&tag.to_be_bytes());
                MOVE
            }
            MobilityOption::Challenge(challenge) => {
                data.extend_from_slice(&challenge.to_be_bytes());
                CHALLENGE
            }
            MobilityOption::Moved(sequence) => {
                data.extend_from_slice(&sequence.value().to_be_bytes()[2..]);
                MOVED
            }
        };
        Self::Mobility { kind, data }
    }
}
