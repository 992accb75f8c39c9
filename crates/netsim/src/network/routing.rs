//! Routes: the link to take towards each destination.

mod shortest_path;
mod spread;

pub use shortest_path::Topology;
pub(crate) use shortest_path::{Edge, Routes};
pub(crate) use spread::Spreading;
pub use spread::{Spread, SpreadBy};
