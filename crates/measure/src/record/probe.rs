//! The datagrams of a recording.

/// Bytes of a header.
pub(super) const HEADER: usize = 32;
/// Bytes of an echo, less than of any probe.
pub(super) const ECHO: usize = 40;
/// Bytes of a probe that only asks for an echo.
pub(super) const PING: usize = 64;
/// Bytes of the probes that load a path: with their headers less than 1500.
pub(super) const FULL: usize = 1400;

/// Bytes of the smallest probes that load a path, which are sent at a constant rate.
pub(super) const LEAST: usize = 200;

const MAGIC: [u8; 4] = *b"WhRc";

/// Purpose of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// The client's address, for the server.
    Hello,
    /// A probe of a class.
    Probe(Class),
    /// The answer to a probe of a class.
    Echo(Class),
}

/// Probes of one purpose, which are numbered together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Class {
    /// Small, twenty per second.
    Ping,
    /// The load: as much as fits, or a constant rate.
    Load,
    /// Back to back.
    Train,
}

impl Class {
    pub(super) const ALL: [Self; 3] = [Self::Ping, Self::Load, Self::Train];

    pub(super) fn index(self) -> usize {
        match self {
            Self::Ping => 0,
            Self::Load => 1,
            Self::Train => 2,
        }
    }
}

/// A datagram's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub(super) kind: Kind,
    /// Of the TCP connection.
    pub(super) token: u64,
    /// Within its class, from 0.
    pub(super) number: u64,
    /// By the sender's clock, in microseconds; in an echo the probe's.
    pub(super) sent_us: u64,
}

impl Header {
    /// Writes the header to the beginning of `bytes`, which has at least [`HEADER`] of them.
    pub(super) fn write(&self, bytes: &mut [u8]) {
        let (kind, class) = match self.kind {
            Kind::Hello => (0, 0),
            Kind::Probe(class) => (1, class.index()),
            Kind::Echo(class) => (2, class.index()),
        };
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = kind;
        bytes[5] = class as u8;
        bytes[6..8].fill(0);
        bytes[8..16].copy_from_slice(&self.token.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_be_bytes());
        bytes[24..32].copy_from_slice(&self.sent_us.to_be_bytes());
    }

    /// Reads a header; `None` if the datagram is none of these.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let header: &[u8; HEADER] = bytes.first_chunk()?;
        let word = |at: usize| u64::from_be_bytes(std::array::from_fn(|index| header[at + index]));
        let class = *Class::ALL.get(usize::from(header[5]))?;
        let kind = match header[4] {
            0 => Kind::Hello,
            // An echo must be shorter than what it answers.
            1 if bytes.len() >= PING => Kind::Probe(class),
            2 => Kind::Echo(class),
            _ => return None,
        };
        (header[..4] == MAGIC).then(|| Self { kind, token: word(8), number: word(16), sent_us: word(24) })
    }
}

/// The latest time of a clock that started with a recording, in microseconds: more than a day.
const MAX_TIME_US: i64 = 100_000_000_000;
/// The most bytes of a probe with its headers.
const MAX_BYTES: u32 = 2_048 + 48;

/// A probe that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Arrival {
    pub(super) class: Class,
    /// Within its class, from 0.
    pub(super) number: u64,
    /// By the sender's clock, in microseconds.
    pub(super) sent_us: i64,
    /// By the receiver's clock, in microseconds.
    pub(super) arrived_us: i64,
    /// Bytes with the headers of UDP and IP.
    pub(super) bytes: u32,
}

impl Arrival {
    /// `false` if no end can have sent or received such a probe, with `numbers` as the bound of its plan. All
    /// of this is a peer's word, and the losses between two numbers are written one by one.
    pub(super) fn is_plausible(&self, numbers: u64) -> bool {
        self.number < numbers
            && self.bytes <= MAX_BYTES
            && [self.sent_us, self.arrived_us].iter().all(|at| (0..MAX_TIME_US).contains(at))
    }
}

#[cfg(test)]
mod tests;
