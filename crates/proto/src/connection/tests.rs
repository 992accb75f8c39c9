//! Two connections with a scripted path between them; and one connection against scripted packets.

mod audit;
mod closing;
pub(super) mod concern;
mod conduct;
mod dropped_data;
mod feedback;
pub(crate) mod fixed_rate;
mod freeze;
mod integrity;
mod laws;
mod linux;
mod listening;
mod mechanisms;
mod opening;
mod options;
mod ordering;
mod packets;
pub(crate) mod pair;
mod path_mtu;
mod repair;
mod requests;
mod room;
mod steps;
mod synchronizing;
mod transmission;
mod window_laws;
