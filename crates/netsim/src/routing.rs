//! Which link leads to which node.

mod shortest_path;

pub(crate) use shortest_path::{Edge, Routes};
