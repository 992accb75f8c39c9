//! Reassembly of fragmented IP datagrams (RFC 791, Section 3.2; RFC 8200, Section 4.5).
//!
//! Memory is bounded: the oldest datagrams are given up first. Bytes that the capture has cut off stay
//! unknown: the payload of a datagram ends before the first of them, and its length is the true one.

use core::net::IpAddr;
use std::collections::{BTreeMap, VecDeque};

use whimbrel_units::{Duration, Instant};

use super::IpPacket;

#[cfg(test)]
mod tests;

/// Maximum number of datagrams that wait for fragments, and of their bytes.
const MAX_DATAGRAMS: usize = 256;
const MAX_BYTES: usize = 1 << 22;
/// Maximum number of fragments of a datagram: enough for the largest datagram in the smallest fragments that
/// IPv4 allows to be useful.
const MAX_FRAGMENTS: usize = 512;
/// Time after the first fragment at which a datagram is given up (RFC 8200, Section 4.5).
const TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of frames that are named.
const MAX_NAMED: usize = 20;

/// Source, destination, protocol, identification and the place of the capture.
type Key = (IpAddr, IpAddr, u8, u32, (u32, u64));

#[derive(Clone, Debug)]
struct Datagram {
    key: Key,
    begun: Instant,
    /// Number of the frame with the first fragment captured.
    number: u64,
    /// Offset, original length and captured bytes of each fragment, in order of their offsets.
    fragments: BTreeMap<u16, (usize, Vec<u8>)>,
    /// Length of the datagram, once its last fragment is known.
    length: Option<usize>,
    /// Offset of the payload in its first fragment.
    header_len: usize,
}

/// A datagram that is complete.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reassembled {
    /// Its payload, up to the first byte that was not captured.
    pub payload: Vec<u8>,
    /// Its original length.
    pub length: usize,
    /// Offset of the payload from the start of the IP header of the first fragment.
    pub offset: usize,
}

/// Datagrams that wait for fragments.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    waiting: VecDeque<Datagram>,
    bytes: usize,
    completed: u64,
    /// Fragments of datagrams that were given up, and the frame numbers of the first.
    given_up: u64,
    given_up_first: Vec<u64>,
}

impl Reassembly {
    /// Processes a fragment that was captured in frame `number` at `at` and `place`. Returns the datagram
    /// that it completes.
    pub fn on_fragment(
        &mut self,
        number: u64,
        at: Instant,
        place: (u32, u64),
        ip: &IpPacket<'_>,
    ) -> Option<Reassembled> {
        let fragment = ip.fragment?;
        self.expire(at);
        let key = (ip.source, ip.destination, ip.protocol, fragment.identification, place);
        let index = match self.waiting.iter().rposition(|datagram| datagram.key == key) {
            Some(index) => index,
            None => {
                self.waiting.push_back(Datagram {
                    key,
                    begun: at,
                    number,
                    fragments: BTreeMap::new(),
                    length: None,
                    header_len: 0,
                });
                self.waiting.len() - 1
            }
        };
        let datagram = &mut self.waiting[index];
        if !fragment.more {
            datagram.length = Some(usize::from(fragment.offset) + ip.length);
        }
        if fragment.offset == 0 {
            datagram.header_len = ip.offset;
        }
        if datagram.fragments.len() < MAX_FRAGMENTS && !datagram.fragments.contains_key(&fragment.offset) {
            self.bytes += ip.payload.len();
            datagram.fragments.insert(fragment.offset, (ip.length, ip.payload.to_vec()));
        }
        if datagram.is_complete()
            && let Some(datagram) = self.waiting.remove(index)
        {
            self.bytes -= datagram.bytes();
            self.completed += 1;
            return Some(datagram.join());
        }
        while self.waiting.len() > MAX_DATAGRAMS || self.bytes > MAX_BYTES {
            self.give_up();
        }
        None
    }

    fn expire(&mut self, at: Instant) {
        while self.waiting.front().is_some_and(|oldest| at.saturating_since(oldest.begun) > TIMEOUT) {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        let Some(oldest) = self.waiting.pop_front() else { return };
        self.bytes -= oldest.bytes();
        self.given_up += oldest.fragments.len() as u64;
        if self.given_up_first.len() < MAX_NAMED {
            self.given_up_first.push(oldest.number);
        }
    }

    /// Number of datagrams put together.
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// Number of fragments whose datagrams are incomplete, and the frames of the first: one for each
    /// datagram.
    pub fn incomplete(&self) -> (u64, Vec<u64>) {
        let waiting: u64 = self.waiting.iter().map(|datagram| datagram.fragments.len() as u64).sum();
        let numbers = self.waiting.iter().map(|datagram| datagram.number);
        let first = self.given_up_first.iter().copied().chain(numbers).take(MAX_NAMED).collect();
        (self.given_up + waiting, first)
    }
}

impl Datagram {
    fn bytes(&self) -> usize {
        self.fragments.values().map(|(_, bytes)| bytes.len()).sum()
    }

    /// `true` if the fragments cover the whole length.
    fn is_complete(&self) -> bool {
        let Some(length) = self.length else { return false };
        let mut end = 0;
        for (offset, (fragment, _)) in &self.fragments {
            if usize::from(*offset) > end {
                return false;
            }
            end = end.max(usize::from(*offset) + fragment);
        }
        end >= length
    }

    fn join(self) -> Reassembled {
        let length = self.length.unwrap_or_default();
        let mut payload: Vec<u8> = Vec::with_capacity(length.min(1 << 16));
        for (offset, (_, bytes)) in &self.fragments {
            let offset = usize::from(*offset);
            if offset > payload.len() {
                // The fragment before was cut off.
                break;
            }
            // Of overlapping fragments the first counts.
            let known = payload.len() - offset;
            payload.extend_from_slice(bytes.get(known..).unwrap_or_default());
        }
        payload.truncate(length);
        Reassembled { payload, length, offset: self.header_len }
    }
}
