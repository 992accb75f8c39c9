//! A user's description of a port's datagrams: their urgency, and which of them a newer one makes useless.

use std::str::FromStr;

use super::mavlink;

mod fields;

/// The most values in a datagram that are told apart.
const MOST_KEYS: usize = 16;

/// A place in the order in which waiting datagrams leave, the most urgent first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Lane {
    /// All of them matter, and at once.
    Command,
    /// The newest of each key matters.
    Newest,
    /// Media, and all else.
    Media,
    /// The remaining rate is enough.
    Bulk,
}

impl Lane {
    pub(crate) const ALL: [Self; 4] = [Self::Command, Self::Newest, Self::Media, Self::Bulk];

    /// The name in all outputs.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Newest => "newest",
            Self::Media => "media",
            Self::Bulk => "bulk",
        }
    }

    /// The lane of a number on the wire.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// The keys of the values in a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Keys {
    keys: [u64; MOST_KEYS],
    count: usize,
}

impl Keys {
    pub(crate) fn one(key: u64) -> Self {
        let mut keys = Self::default();
        keys.push(key);
        keys
    }

    /// `false`: there are too many.
    pub(crate) fn push(&mut self, key: u64) -> bool {
        let Some(place) = self.keys.get_mut(self.count) else { return false };
        *place = key;
        self.count += 1;
        true
    }

    pub(crate) fn all(&self) -> &[u64] {
        &self.keys[..self.count]
    }

    /// A bit for each of them that is in another one.
    pub(crate) fn shared(&self, others: &Self) -> u16 {
        let bits = self.all().iter().zip(0..).map(|(key, n)| u16::from(others.all().contains(key)) << n);
        bits.fold(0, |all, bit| all | bit)
    }

    /// A bit for each of them.
    pub(crate) fn bits(&self) -> u16 {
        ((1_u32 << self.count) - 1) as u16
    }
}

/// FNV-1a. Programs that send to a relay harm nobody but themselves by two keys with one hash.
pub(super) fn hash(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes
        .into_iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A user's description of a port's datagrams.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Stream {
    /// Nothing: the relay looks what they are.
    #[default]
    Recognized,
    /// Commands: before all others, and delivered if the path carries anything.
    Command,
    /// A newer datagram replaces an older one that waits, if both have this key.
    Newest(Key),
    /// The remaining rate is enough.
    Bulk,
}

/// Place of a datagram's key.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Key {
    /// All of the flow have the same one.
    #[default]
    Flow,
    /// The value of that field of the outermost object.
    Json(Box<str>),
    /// The same of a map in CBOR.
    Cbor(Box<str>),
    /// The writer of RTPS, that is, the publisher of a topic of ROS 2 or DDS, and the instance if named.
    Rtps,
}

/// The expected values of the option.
pub(super) const EXPECTED: &str =
    "command, newest, newest:json:FIELD, newest:cbor:FIELD, newest:rtps or bulk";

impl FromStr for Stream {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let field = |field: &str| if field.is_empty() { Err(()) } else { Ok(field.into()) };
        let mut parts = text.splitn(3, ':');
        match [parts.next(), parts.next(), parts.next()] {
            [Some("command"), None, _] => Ok(Self::Command),
            [Some("bulk"), None, _] => Ok(Self::Bulk),
            [Some("newest"), None, _] => Ok(Self::Newest(Key::Flow)),
            [Some("newest"), Some("rtps"), None] => Ok(Self::Newest(Key::Rtps)),
            [Some("newest"), Some("json"), Some(name)] => Ok(Self::Newest(Key::Json(field(name)?))),
            [Some("newest"), Some("cbor"), Some(name)] => Ok(Self::Newest(Key::Cbor(field(name)?))),
            _ => Err(()),
        }
    }
}

impl Stream {
    /// `true` if all datagrams of the port are of one lane.
    pub(crate) fn is_whole(&self) -> bool {
        *self != Self::Recognized
    }

    /// The lane of a datagram of a flow with that number, and the keys of its values; [`Lane::Media`] has
    /// none.
    pub(crate) fn classify(&self, flow: u16, datagram: &[u8]) -> (Lane, Keys) {
        let (lane, found) = match self {
            Self::Recognized => mavlink::classify(datagram).unwrap_or((Lane::Media, Keys::default())),
            Self::Command => (Lane::Command, Keys::default()),
            Self::Bulk => (Lane::Bulk, Keys::default()),
            Self::Newest(key) => {
                let key = match key {
                    Key::Flow => Some(0),
                    Key::Json(field) => fields::json(field, datagram),
                    Key::Cbor(field) => fields::cbor(field, datagram),
                    Key::Rtps => fields::rtps(datagram),
                };
                // No datagram replaces one without key.
                (Lane::Newest, key.map(Keys::one).unwrap_or_default())
            }
        };
        let mut keys = Keys::default();
        for key in found.all() {
            keys.push(hash(flow.to_be_bytes().into_iter().chain(key.to_be_bytes())));
        }
        (lane, keys)
    }
}

#[cfg(test)]
mod tests;
