//! The message of DSDV.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::Metric;
use crate::routing::Address;

/// An advertised route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DsdvEntry {
    /// The destination.
    pub destination: Address,
    /// Length of the sender's route in hops; [`INFINITY`](super::INFINITY) if it is broken.
    pub metric: Metric,
    /// The destination's sequence number: even if the destination gave it, odd if a node on the route noticed
    /// a broken link.
    pub sequence: u32,
}

/// An update: a list of routes. Cloning shares the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DsdvUpdate {
    entries: Arc<[DsdvEntry]>,
}

/// Bytes that do not hold an update.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MalformedUpdate {
    /// Number of bytes expected.
    pub expected: usize,
    /// Number of bytes found.
    pub found: usize,
}

impl fmt::Display for MalformedUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a DSDV update of {} bytes, expected {}", self.found, self.expected)
    }
}

impl core::error::Error for MalformedUpdate {}

impl DsdvUpdate {
    /// Bytes of the header of the network layer.
    const HEADER: u32 = 20;
    /// Bytes per entry: address, metric and sequence number, 4 each.
    const ENTRY: usize = 12;

    /// An update with these entries.
    pub fn new(entries: &[DsdvEntry]) -> Self {
        Self { entries: entries.into() }
    }

    /// The entries.
    pub fn entries(&self) -> &[DsdvEntry] {
        &self.entries
    }

    /// Bytes of the packet: 20 and 12 per entry, as ns-2 counts.
    pub fn size(&self) -> u32 {
        Self::HEADER + (self.entries.len() * Self::ENTRY) as u32
    }

    /// The bytes after the network-layer header: address, metric and sequence number of each entry, 4 bytes
    /// each in network byte order. There is no standard for them; the sizes are taken from the paper and from
    /// ns-2.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        for entry in &*self.entries {
            bytes.extend(entry.destination.0.to_be_bytes());
            bytes.extend(u32::from(entry.metric).to_be_bytes());
            bytes.extend(entry.sequence.to_be_bytes());
        }
    }

    /// Reads what [`encode`](Self::encode) writes. A metric above [`INFINITY`](super::INFINITY) is read as
    /// that.
    ///
    /// # Errors
    /// If the length is not a multiple of an entry's.
    pub fn parse(bytes: &[u8]) -> Result<Self, MalformedUpdate> {
        let words = |entry: &[u8; 12]| {
            let word =
                |at: usize| u32::from_be_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]]);
            DsdvEntry {
                destination: Address(word(0)),
                metric: word(4).min(u32::from(super::INFINITY)) as Metric,
                sequence: word(8),
            }
        };
        let (entries, rest) = bytes.as_chunks();
        if rest.is_empty() {
            Ok(Self { entries: entries.iter().map(words).collect() })
        } else {
            Err(MalformedUpdate { expected: bytes.len() - rest.len() + Self::ENTRY, found: bytes.len() })
        }
    }
}
