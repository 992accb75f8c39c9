//! Messages of routing protocols as contents of packets.

use whimbrel_netsim::NodeId;
use whimbrel_wifi::routing::Address;
use whimbrel_wifi::routing::aodv::AodvMessage;
use whimbrel_wifi::routing::dsdv::DsdvUpdate;

use crate::transport::{Content, IpHeaders};

/// A message of a routing protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The neighbour that sent it.
    pub sender: NodeId,
    /// The message as such.
    pub body: Body,
}

/// A message of one of the protocols.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// An update of DSDV.
    Dsdv(DsdvUpdate),
    /// A message of AODV.
    Aodv(AodvMessage),
}

/// The IP protocol number of UDP.
const UDP: u8 = 17;
/// The IP protocol number for experiments (RFC 3692): DSDV has none of its own.
const EXPERIMENT: u8 = 253;
/// The UDP port of AODV (RFC 3561 section 13).
const AODV_PORT: u16 = 654;

impl Content for Message {
    fn data_length(&self) -> u32 {
        0
    }

    fn routing_message(&self) -> Option<&Message> {
        Some(self)
    }

    fn numbers(&self) -> (u64, u64) {
        (0, 0)
    }

    fn capture_bytes(&self, headers: &IpHeaders, out: &mut Vec<u8>) -> u8 {
        match &self.body {
            Body::Dsdv(update) => {
                update.encode(out);
                EXPERIMENT
            }
            Body::Aodv(message) => {
                let start = out.len();
                out.extend(AODV_PORT.to_be_bytes());
                out.extend(AODV_PORT.to_be_bytes());
                // Length and checksum; a checksum of zero: the sender made none (RFC 768).
                out.extend([0; 4]);
                message.encode(Address(headers.source.to_bits()), out);
                let length = (out.len() - start) as u16;
                out[start + 4..start + 6].copy_from_slice(&length.to_be_bytes());
                UDP
            }
        }
    }
}

#[cfg(test)]
mod tests;
