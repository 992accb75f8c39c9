//! Packets: as agents see them, and as the network stores them.

mod id;
mod packet;
mod store;

pub use id::{AgentId, FlowId, LinkId, MediumId, NodeId};
pub(crate) use id::{ControllerId, HostId, PacketSlot};
pub use packet::{Packet, StoredPacket};
pub(crate) use store::{Header, PacketStore};
