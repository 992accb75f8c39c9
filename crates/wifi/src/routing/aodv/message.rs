//! The messages of AODV (RFC 3561 section 5).

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use whimbrel_units::Duration;

use super::AodvRule;
use crate::routing::Address;

/// A route request (RREQ, section 5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteRequest {
    /// The D flag: only the destination may answer.
    pub destination_only: bool,
    /// The G flag: an intermediate node that answers informs the destination.
    pub gratuitous_reply: bool,
    /// Hops from the originator to the sender of this copy.
    pub hops: u8,
    /// Identifier of the request, unique with the originator.
    pub id: u32,
    /// The destination searched for.
    pub destination: Address,
    /// The last known sequence number of the destination; `None` if none is known (the U flag).
    pub destination_sequence: Option<u32>,
    /// The node that searches.
    pub originator: Address,
    /// Its sequence number.
    pub originator_sequence: u32,
    /// Remaining hop limit: a field of the network layer's header.
    pub ttl: u8,
}

/// A route reply (RREP, section 5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteReply {
    /// Hops from the sender of this copy to the destination.
    pub hops: u8,
    /// The destination of the route.
    pub destination: Address,
    /// Its sequence number.
    pub destination_sequence: u32,
    /// The node that the reply is for.
    pub originator: Address,
    /// Lifetime of the route, in whole milliseconds on the wire.
    pub lifetime: Duration,
    /// The A flag: the next hop sends an acknowledgement.
    pub is_acknowledged: bool,
}

/// A route error (RERR, section 5.3). Cloning shares the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RouteError {
    /// The N flag: the sender has repaired the route; it must not be deleted.
    pub no_delete: bool,
    /// Destinations that are unreachable over the sender, with their sequence numbers.
    pub unreachable: Arc<[(Address, u32)]>,
}

/// A message of AODV.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AodvMessage {
    /// A route request.
    Request(RouteRequest),
    /// A route reply.
    Reply(RouteReply),
    /// A hello: a reply about the sender itself that is broadcast with hop limit 1 (section 6.9).
    Hello {
        /// The sender's sequence number.
        sequence: u32,
        /// Time for which the link may be regarded as up.
        lifetime: Duration,
    },
    /// A route error.
    Error(RouteError),
    /// A route reply acknowledgement (RREP-ACK, section 5.4).
    ReplyAck,
}

/// Bytes that hold no message of AODV.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MalformedAodv {
    /// Too few bytes for the message.
    Truncated,
    /// A type that is none of 1 (request), 2 (reply), 3 (error), 4 (reply acknowledgement).
    UnknownType(u8),
    /// A route error without destinations.
    NoDestinations,
}

impl fmt::Display for MalformedAodv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("an AODV message that is cut off"),
            Self::UnknownType(kind) => write!(f, "an AODV message of type {kind}, expected 1 to 4"),
            Self::NoDestinations => f.write_str("an AODV route error without destinations"),
        }
    }
}

impl core::error::Error for MalformedAodv {}

impl AodvMessage {
    /// Bytes of the packet with its network and transport headers.
    pub fn size(&self, rule: AodvRule) -> u32 {
        // IPv4 and UDP; ns-2 counts no UDP header, and a timestamp in requests.
        let (headers, request) = match rule {
            AodvRule::Rfc3561 => (28, 24),
            AodvRule::Ns2 => (20, 28),
        };
        headers
            + match self {
                Self::Request(_) => request,
                Self::Reply(_) | Self::Hello { .. } => 20,
                Self::Error(error) => 4 + 8 * error.unreachable.len() as u32,
                Self::ReplyAck => 2,
            }
    }

    /// The bytes of the message (RFC 3561 section 5), without headers. A hello needs the sender's address.
    pub fn encode(&self, sender: Address, bytes: &mut Vec<u8>) {
        match self {
            Self::Request(request) => {
                let mut flags = 0;
                for (bit, is_set) in [
                    (0x20, request.gratuitous_reply),
                    (0x10, request.destination_only),
                    (0x08, request.destination_sequence.is_none()),
                ] {
                    flags |= if is_set { bit } else { 0 };
                }
                bytes.extend([1, flags, 0, request.hops]);
                bytes.extend(request.id.to_be_bytes());
                bytes.extend(request.destination.0.to_be_bytes());
                bytes.extend(request.destination_sequence.unwrap_or(0).to_be_bytes());
                bytes.extend(request.originator.0.to_be_bytes());
                bytes.extend(request.originator_sequence.to_be_bytes());
            }
            Self::Reply(reply) => reply.encode(bytes),
            &Self::Hello { sequence, lifetime } => RouteReply {
                hops: 0,
                destination: sender,
                destination_sequence: sequence,
                originator: sender,
                lifetime,
                is_acknowledged: false,
            }
            .encode(bytes),
            Self::ReplyAck => bytes.extend([4, 0]),
            Self::Error(error) => {
                // The count is a byte: agents send no more destinations in a message.
                let count = error.unreachable.len().min(usize::from(u8::MAX));
                bytes.extend([3, if error.no_delete { 0x80 } else { 0 }, 0, count as u8]);
                for (destination, sequence) in &error.unreachable[..count] {
                    bytes.extend(destination.0.to_be_bytes());
                    bytes.extend(sequence.to_be_bytes());
                }
            }
        }
    }

    /// Reads a message; bytes after it are ignored. `ttl` is the hop limit of the network-layer header. A
    /// reply about its own originator is a hello.
    ///
    /// # Errors
    /// If the bytes are too few, or of another type.
    pub fn parse(bytes: &[u8], ttl: u8) -> Result<Self, MalformedAodv> {
        let word = |at: usize| -> Result<u32, MalformedAodv> {
            let field = bytes.get(at..at + 4).and_then(|field| field.first_chunk());
            field.map(|&field| u32::from_be_bytes(field)).ok_or(MalformedAodv::Truncated)
        };
        if let &[4, _, ..] = bytes {
            return Ok(Self::ReplyAck);
        }
        let &[kind, flags, _, count, ..] = bytes else { return Err(MalformedAodv::Truncated) };
        match kind {
            1 => Ok(Self::Request(RouteRequest {
                destination_only: flags & 0x10 != 0,
                gratuitous_reply: flags & 0x20 != 0,
                hops: count,
                id: word(4)?,
                destination: Address(word(8)?),
                destination_sequence: Some(word(12)?).filter(|_| flags & 0x08 == 0),
                originator: Address(word(16)?),
                originator_sequence: word(20)?,
                ttl,
            })),
            2 => {
                let reply = RouteReply {
                    hops: count,
                    destination: Address(word(4)?),
                    destination_sequence: word(8)?,
                    originator: Address(word(12)?),
                    lifetime: Duration::from_millis(u64::from(word(16)?)),
                    is_acknowledged: flags & 0x40 != 0,
                };
                Ok(if reply.destination == reply.originator && reply.hops == 0 {
                    Self::Hello { sequence: reply.destination_sequence, lifetime: reply.lifetime }
                } else {
                    Self::Reply(reply)
                })
            }
            3 if count == 0 => Err(MalformedAodv::NoDestinations),
            3 => {
                let unreachable: Result<Vec<_>, _> = (0..usize::from(count))
                    .map(|entry| Ok((Address(word(4 + 8 * entry)?), word(8 + 8 * entry)?)))
                    .collect();
                Ok(Self::Error(RouteError { no_delete: flags & 0x80 != 0, unreachable: unreachable?.into() }))
            }
            _ => Err(MalformedAodv::UnknownType(kind)),
        }
    }
}

impl RouteReply {
    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend([2, if self.is_acknowledged { 0x40 } else { 0 }, 0, self.hops]);
        bytes.extend(self.destination.0.to_be_bytes());
        bytes.extend(self.destination_sequence.to_be_bytes());
        bytes.extend(self.originator.0.to_be_bytes());
        let millis = u32::try_from(self.lifetime.as_millis()).unwrap_or(u32::MAX);
        bytes.extend(millis.to_be_bytes());
    }
}
