//! Packets: as agents see them, and as the network stores them.

mod packet;
mod store;

pub use packet::{AgentId, FlowId, LinkId, NodeId, Packet, StoredPacket};
pub(crate) use store::{Header, PacketStore};
