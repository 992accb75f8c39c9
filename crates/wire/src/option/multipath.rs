//! The Multipath option (RFC 9897, Section 3.2).
//!
//! On the wire all of them are one option, [`DccpOption::Multipath`], with data that begin with a number of
//! their own, MP_OPT. [`MultipathOption::parse`] decodes it. An option of an unassigned MP_OPT or with data
//! of an invalid length is decoded as [`DccpOption::Unknown`], which the receiver ignores.
//!
//! MP_ADDADDR and MP_REMOVEADDR without a nonce are the form of the drafts up to 2024, which Linux kernels
//! with MP-DCCP send. Their lengths differ from the RFC's, so that both are decoded.

use core::net::IpAddr;

use super::{DccpOption, OptionBytes};
use crate::SeqNo;

mod confirm;
mod key;
#[cfg(test)]
mod tests;

pub use confirm::Confirmations;
pub use key::{Key, KeyType, MultipathKey};

/// MP_OPT of [`MultipathOption::Confirm`].
pub const CONFIRM: u8 = 0;
/// MP_OPT of [`MultipathOption::Join`].
pub const JOIN: u8 = 1;
/// MP_OPT of [`MultipathOption::FastClose`].
pub const FAST_CLOSE: u8 = 2;
/// MP_OPT of [`MultipathOption::Key`].
pub const KEY: u8 = 3;
/// MP_OPT of [`MultipathOption::Sequence`].
pub const SEQ: u8 = 4;
/// MP_OPT of [`MultipathOption::Hmac`].
pub const HMAC: u8 = 5;
/// MP_OPT of [`MultipathOption::Rtt`].
pub const RTT: u8 = 6;
/// MP_OPT of [`MultipathOption::AddAddress`].
pub const ADD_ADDRESS: u8 = 7;
/// MP_OPT of [`MultipathOption::RemoveAddress`].
pub const REMOVE_ADDRESS: u8 = 8;
/// MP_OPT of [`MultipathOption::Priority`].
pub const PRIORITY: u8 = 9;
/// MP_OPT of [`MultipathOption::Close`].
pub const CLOSE: u8 = 10;
/// MP_OPT of [`MultipathOption::Experimental`].
pub const EXPERIMENTAL: u8 = 11;

/// The version of RFC 9897 as a value of the feature Multipath Capable: the version is in the high four bits,
/// and the others are zero (Section 3.1).
pub const VERSION_0: u8 = 0;
/// Length of the code in [`MultipathOption::Hmac`], in bytes.
pub const HMAC_LEN: usize = 20;
/// Length of [`MultipathOption::Sequence`] in the option area, in bytes.
pub const SEQ_LEN: usize = 9;

/// Length of MP_OPT.
const HEAD: usize = 1;

/// A Multipath option, decoded from its data.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MultipathOption {
    /// 0, MP_CONFIRM: options that were received and processed (Section 3.2.1).
    Confirm(Confirmations),
    /// 1, MP_JOIN, on Request and Response: adds a subflow (Section 3.2.2).
    Join(Join),
    /// 2, MP_FAST_CLOSE, on Reset: ends the multipath connection; the data is the receiver's key (Section
    /// 3.2.3).
    FastClose(OptionBytes),
    /// 3, MP_KEY, on Request and Response: begins a multipath connection (Section 3.2.4).
    Key(MultipathKey),
    /// 4, MP_SEQ: the packet's number in the multipath connection (Section 3.2.5).
    Sequence(SeqNo),
    /// 5, MP_HMAC: authenticates the option before it (Section 3.2.6).
    Hmac([u8; HMAC_LEN]),
    /// 6, MP_RTT: the sender's round-trip time on this path (Section 3.2.7).
    Rtt(RttReport),
    /// 7, MP_ADDADDR: an address at which the sender can be reached (Section 3.2.8).
    AddAddress(AddAddress),
    /// 8, MP_REMOVEADDR: an address at which the sender can no longer be reached (Section 3.2.9).
    RemoveAddress(RemoveAddress),
    /// 9, MP_PRIO: the priority of this path (Section 3.2.10).
    Priority(PathPriority),
    /// 10, MP_CLOSE, on CloseReq and Close: ends the multipath connection in order; the data is the
    /// receiver's key (Section 3.2.11).
    Close(OptionBytes),
    /// 11, MP_EXP: for private use (Section 3.2.12).
    Experimental(OptionBytes),
}

/// Contents of MP_JOIN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Join {
    /// Identifier of the sender's address.
    pub address_id: u8,
    /// The Connection Identifier that the receiver chose.
    pub connection: u32,
    /// A random number.
    pub nonce: u32,
}

/// Contents of MP_RTT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RttReport {
    /// The kind of estimate.
    pub kind: RttKind,
    /// The round-trip time, in milliseconds.
    pub rtt_millis: u32,
    /// Time since the measurement, in milliseconds; 0 if there was none.
    pub age_millis: u32,
}

/// Kinds of estimates of a round-trip time (RFC 9897, Section 3.2.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RttKind {
    /// 0: the last packet's.
    Raw,
    /// 1: the minimum over a period.
    Minimum,
    /// 2: the maximum over a period.
    Maximum,
    /// 3: an average.
    Smoothed,
    /// Any other.
    Other(u8),
}

impl From<u8> for RttKind {
    fn from(number: u8) -> Self {
        match number {
            0 => Self::Raw,
            1 => Self::Minimum,
            2 => Self::Maximum,
            3 => Self::Smoothed,
            other => Self::Other(other),
        }
    }
}

impl From<RttKind> for u8 {
    fn from(kind: RttKind) -> Self {
        match kind {
            RttKind::Raw => 0,
            RttKind::Minimum => 1,
            RttKind::Maximum => 2,
            RttKind::Smoothed => 3,
            RttKind::Other(number) => number,
        }
    }
}

/// Contents of MP_ADDADDR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddAddress {
    /// Identifier of the address, chosen by the sender.
    pub address_id: u8,
    /// A random number; `None` in the form of the drafts.
    pub nonce: Option<u32>,
    /// The address.
    pub address: IpAddr,
    /// The DCCP port; `None` if it is the one in use by the subflow that carries the option.
    pub port: Option<u16>,
}

/// Contents of MP_REMOVEADDR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RemoveAddress {
    /// Identifier of the address.
    pub address_id: u8,
    /// A random number; `None` in the form of the drafts.
    pub nonce: Option<u32>,
}

/// Priority of a path (RFC 9897, Section 3.2.10): four bits, of which a greater number is preferred.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct PathPriority(u8);

impl PathPriority {
    /// 0: the path must not be used.
    pub const UNUSABLE: Self = Self(0);
    /// 1: the path is used only if no secondary or primary one is established.
    pub const STANDBY: Self = Self(1);
    /// 3, the lowest primary priority: the path is used. The priority of paths without MP_PRIO.
    pub const PRIMARY: Self = Self(3);

    /// The priority with that number; the four high bits are reserved and ignored.
    pub const fn new(number: u8) -> Self {
        Self(number & 0xf)
    }

    /// The number, 0 to 15.
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl Default for PathPriority {
    fn default() -> Self {
        Self::PRIMARY
    }
}

impl MultipathOption {
    /// Decodes an option; `None` if it is not a valid Multipath option.
    pub fn parse(option: &DccpOption) -> Option<Self> {
        let DccpOption::Multipath(data) = option else { return None };
        Self::from_data(data)
    }

    pub(crate) fn from_data(data: &[u8]) -> Option<Self> {
        let (&mp_opt, body) = data.split_first()?;
        Some(match mp_opt {
            CONFIRM => Self::Confirm(Confirmations::from_body(body)?),
            JOIN => {
                let [address_id, words @ ..]: [u8; 9] = body.try_into().ok()?;
                let (connection, nonce) = two_words(&words)?;
                Self::Join(Join { address_id, connection, nonce })
            }
            FAST_CLOSE if !body.is_empty() => Self::FastClose(OptionBytes::from_slice(body)),
            KEY => Self::Key(MultipathKey::from_body(body)?),
            SEQ => {
                let [a, b, c, d, e, f] = body.try_into().ok()?;
                Self::Sequence(SeqNo::new(u64::from_be_bytes([0, 0, a, b, c, d, e, f])))
            }
            HMAC => Self::Hmac(body.try_into().ok()?),
            RTT => {
                let [kind, words @ ..]: [u8; 9] = body.try_into().ok()?;
                let (rtt_millis, age_millis) = two_words(&words)?;
                Self::Rtt(RttReport { kind: kind.into(), rtt_millis, age_millis })
            }
            ADD_ADDRESS => Self::AddAddress(AddAddress::from_body(body)?),
            REMOVE_ADDRESS => {
                let (&address_id, nonce) = body.split_first()?;
                let nonce = match nonce {
                    [] => None,
                    nonce => Some(u32::from_be_bytes(nonce.try_into().ok()?)),
                };
                Self::RemoveAddress(RemoveAddress { address_id, nonce })
            }
            PRIORITY => {
                let [priority] = body.try_into().ok()?;
                Self::Priority(PathPriority::new(priority))
            }
            CLOSE if !body.is_empty() => Self::Close(OptionBytes::from_slice(body)),
            EXPERIMENTAL => Self::Experimental(OptionBytes::from_slice(body)),
            _ => return None,
        })
    }

    /// MP_OPT.
    pub fn mp_opt(&self) -> u8 {
        match self {
            Self::Confirm(_) => CONFIRM,
            Self::Join(_) => JOIN,
            Self::FastClose(_) => FAST_CLOSE,
            Self::Key(_) => KEY,
            Self::Sequence(_) => SEQ,
            Self::Hmac(_) => HMAC,
            Self::Rtt(_) => RTT,
            Self::AddAddress(_) => ADD_ADDRESS,
            Self::RemoveAddress(_) => REMOVE_ADDRESS,
            Self::Priority(_) => PRIORITY,
            Self::Close(_) => CLOSE,
            Self::Experimental(_) => EXPERIMENTAL,
        }
    }

    /// The option's data, with MP_OPT. Key data and experimental data beyond 252 bytes, the most that an
    /// option holds, are cut off.
    fn to_data(&self) -> OptionBytes {
        let mut data = OptionBytes::new();
        data.push(self.mp_opt());
        match self {
            Self::Confirm(confirmations) => data.extend_from_slice(confirmations.as_bytes()),
            Self::Join(join) => {
                data.push(join.address_id);
                data.extend_from_slice(&join.connection.to_be_bytes());
                data.extend_from_slice(&join.nonce.to_be_bytes());
            }
            Self::FastClose(bytes) | Self::Close(bytes) | Self::Experimental(bytes) => {
                data.extend_from_slice(&bytes[..bytes.len().min(super::MAX_DATA_LEN - HEAD)]);
            }
            Self::Key(key) => key.write(&mut data),
            Self::Sequence(sequence) => data.extend_from_slice(&sequence.value().to_be_bytes()[2..]),
            Self::Hmac(code) => data.extend_from_slice(code),
            Self::Rtt(report) => {
                data.push(report.kind.into());
                data.extend_from_slice(&report.rtt_millis.to_be_bytes());
                data.extend_from_slice(&report.age_millis.to_be_bytes());
            }
            Self::AddAddress(address) => address.write(&mut data),
            Self::RemoveAddress(RemoveAddress { address_id, nonce }) => {
                data.push(*address_id);
                push_word(&mut data, *nonce);
            }
            Self::Priority(priority) => data.push(priority.number()),
        }
        data
    }
}

impl From<MultipathOption> for DccpOption {
    fn from(option: MultipathOption) -> Self {
        Self::Multipath(option.to_data())
    }
}

impl AddAddress {
    fn from_body(body: &[u8]) -> Option<Self> {
        let (&address_id, rest) = body.split_first()?;
        // Address and port take 4, 6, 16 or 18 bytes, the nonce four more: all lengths differ.
        let (nonce, rest) = match rest.len() {
            8 | 10 | 20 | 22 => {
                let (nonce, rest) = rest.split_first_chunk()?;
                (Some(u32::from_be_bytes(*nonce)), rest)
            }
            4 | 6 | 16 | 18 => (None, rest),
            _ => return None,
        };
        let (address, port) = if rest.len() <= 6 {
            let (address, port) = rest.split_first_chunk::<4>()?;
            (IpAddr::from(*address), port)
        } else {
            let (address, port) = rest.split_first_chunk::<16>()?;
            (IpAddr::from(*address), port)
        };
        let port = port.try_into().ok().map(u16::from_be_bytes);
        Some(Self { address_id, nonce, address, port })
    }

    fn write(&self, data: &mut OptionBytes) {
        data.push(self.address_id);
        push_word(data, self.nonce);
        match self.address {
            IpAddr::V4(address) => data.extend_from_slice(&address.octets()),
            IpAddr::V6(address) => data.extend_from_slice(&address.octets()),
        }
        if let Some(port) = self.port {
            data.extend_from_slice(&port.to_be_bytes());
        }
    }
}

fn push_word(data: &mut OptionBytes, word: Option<u32>) {
    if let Some(word) = word {
        data.extend_from_slice(&word.to_be_bytes());
    }
}

fn two_words(bytes: &[u8; 8]) -> Option<(u32, u32)> {
    let (first, second) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*first), u32::from_be_bytes(second.try_into().ok()?)))
}
