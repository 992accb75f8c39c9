//! The edge between a relay and the programs of its host.

pub(crate) mod address;
pub(crate) mod local_socket;
