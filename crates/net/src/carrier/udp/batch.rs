//! Encoded packets that leave in one system call.

use std::net::SocketAddr;

use whimbrel_proto::Transmit;
use whimbrel_wire::{Ecn, EncodeError};

/// The kernel refuses a batch that would not fit an IP packet.
const LARGEST_BATCH: usize = 65_000;

/// Encoded packets of one size, for one destination, with one mark, and one packet that did not fit.
#[derive(Debug)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    address: Option<(SocketAddr, Ecn)>,
    segment: usize,
    segments: usize,
    /// No further packet fits.
    full: bool,
    /// The packet that did not fit.
    extra: Vec<u8>,
    extra_address: Option<(SocketAddr, Ecn)>,
}

impl Batch {
    pub(super) fn new() -> Self {
        Self {
            // The buffer grows to the largest batch of the socket, which for most is small.
            bytes: Vec::new(),
            address: None,
            segment: 0,
            segments: 0,
            full: false,
            extra: Vec::new(),
            extra_address: None,
        }
    }

    /// Adds a packet; a batch has at most `limit`. Returns `true` if no further packet can be added.
    pub(super) fn add(
        &mut self,
        destination: SocketAddr,
        transmit: &Transmit,
        limit: usize,
    ) -> Result<bool, EncodeError> {
        let address = Some((destination, transmit.ecn));
        let size = transmit.packet.encoded_len();
        let fits = match self.address {
            None => true,
            _ => self.address == address && size <= self.segment && self.bytes.len() + size <= LARGEST_BATCH,
        };
        if !fits {
            transmit.packet.encode(&mut self.extra)?;
            self.extra_address = address;
            return Ok(true);
        }
        transmit.packet.encode(&mut self.bytes)?;
        if self.address.is_none() {
            (self.address, self.segment) = (address, size);
        }
        self.segments += 1;
        // The kernel cuts equal pieces; only the last may be smaller.
        self.full = size < self.segment || self.segments >= limit;
        Ok(self.full)
    }

    /// Destination and ECN codepoint of the batch; `None` if it is empty.
    pub(super) fn address(&self) -> Option<(SocketAddr, Ecn)> {
        self.address
    }

    pub(super) fn contents(&self) -> &[u8] {
        &self.bytes
    }

    /// The size at which the kernel is to cut, if at all.
    pub(super) fn segment_size(&self) -> Option<usize> {
        (self.segments > 1).then_some(self.segment)
    }

    /// The batch was sent: begins the next with the packet that did not fit.
    pub(super) fn next(&mut self) {
        std::mem::swap(&mut self.bytes, &mut self.extra);
        self.extra.clear();
        self.address = self.extra_address.take();
        self.segment = self.bytes.len();
        self.segments = usize::from(self.address.is_some());
        self.full = false;
    }
}
