//! Explicit-rate control: routers that write into the headers of the packets that pass them.

use whimbrel_units::{DataRate, Duration, Instant};

use super::medium::Observation;
use crate::Count;
use crate::queue::FlowKey;

/// A header between the network's and the transport's that routers read and write, as in XCP and RCP.
///
/// The header lies in the payload of the packets that have one ([`Agent::shim`](crate::Agent::shim)); other
/// packets carry nothing for it, and egresses without a [`Controller`] do not look for it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shim {
    /// The sender's estimate of its round-trip time.
    pub rtt: Duration,
    /// The rate at which the sender sends.
    pub rate: DataRate,
    /// The allocation in bit/s: as requested by the sender, and reduced by routers on the path. A change of
    /// the rate (XCP), or a rate (RCP).
    pub allocation: f64,
}

/// A packet as a controller sees it.
#[derive(Debug)]
pub struct ControlledPacket<'a> {
    /// Bytes of the packet.
    pub size: u32,
    /// The packet's flow.
    pub flow: FlowKey,
    /// The header to read and write; `None` for packets of other transports.
    pub shim: Option<&'a mut Shim>,
}

/// The controller of an egress: sees each packet come and go, and has timers, such as a control interval.
pub trait Controller: Send {
    /// A packet is offered to the egress. It may be dropped afterwards.
    fn handle_arrival(&mut self, now: Instant, packet: &mut ControlledPacket<'_>, backlog: Count);

    /// A packet leaves the queue to be transmitted; `backlog` is what it leaves behind.
    fn handle_departure(&mut self, now: Instant, packet: &mut ControlledPacket<'_>, backlog: Count);

    /// The time last returned by [`poll_timeout`](Self::poll_timeout) was reached.
    fn handle_timeout(&mut self, now: Instant, backlog: Count);

    /// The time at which [`handle_timeout`](Self::handle_timeout) is due; `None` for never.
    fn poll_timeout(&self) -> Option<Instant>;

    /// The station has observed its medium. Links have nothing to observe.
    fn handle_observation(&mut self, now: Instant, observation: &Observation) {
        let _ = (now, observation);
    }
}

/// A controller in a network.
pub(crate) struct ControllerSlot {
    pub(crate) controller: Box<dyn Controller>,
    pub(crate) egress: crate::Egress,
    pub(crate) source: crate::events::EventSource,
    pub(crate) expected: Option<Instant>,
}
