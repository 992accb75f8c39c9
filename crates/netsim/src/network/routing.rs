//! Routes: the next hop towards each destination.
//!
//! Packets are forwarded by a [`RouteTable`]. A [`Routing`] policy fills it from the [`Topology`] before the
//! first event and whenever [`Command::Reroute`](crate::Command::Reroute) asks for it; routes set by commands
//! or by routing agents ([`RoutingRequest`](crate::RoutingRequest)) replace the policy's.

mod shortest_path;
mod spread;
mod table;
mod topology;

pub use shortest_path::ShortestPath;
pub(crate) use spread::Spreading;
pub use spread::{Spread, SpreadBy};
pub use table::RouteTable;
pub(crate) use table::{Other, Route};
pub use topology::Topology;

/// A policy that computes routes.
pub trait Routing: Send {
    /// Enters the routes over `topology` into `table`, which is empty.
    fn compute(&mut self, topology: &Topology, table: &mut RouteTable);

    /// `false` if the policy looks at no hops: its topology has the nodes alone. To find the hops over shared
    /// media takes a time that grows with the square of the number of stations.
    fn uses_hops(&self) -> bool {
        true
    }
}

/// No routes but those set by commands or by agents.
#[derive(Clone, Copy, Default, Debug)]
pub struct FixedRoutes;

impl Routing for FixedRoutes {
    fn compute(&mut self, _: &Topology, _: &mut RouteTable) {}

    fn uses_hops(&self) -> bool {
        false
    }
}
