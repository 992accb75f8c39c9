//! Explicit rate control: routers that compute the rates of the flows and write them into packets.
//!
//! A router law sees the sizes, the headers and the queue of one egress, and reduces the
//! [allocation](FlowHeader) in each header to what the egress can grant. The receiver returns the allocation,
//! and the sender applies it.
//!
//! | law | allocation | needs the capacity | source |
//! |---|---|---|---|
//! | [`XcpRouter`] | change of the rate | yes | Katabi, Handley and Rohrs, SIGCOMM 2002; draft-falk-xcp-spec-03 |
//! | [`RcpRouter`] | rate | yes | Dukkipati's thesis (2007) and the authors' code for ns-2 |
//! | [`xcp_winf`] | change of the rate | estimated at the MAC | Barreto, "XCP-Winf and RCP-Winf", algorithms 1 to 5 |
//! | [`rcp_winf`] | rate | estimated at the MAC | the same, algorithms 6 and 7 |
//! | [`blind`] | change of the rate | no | Abrantes and Ricardo, "XCP for shared-access multi-rate media", CCR 36(3), 2006 |
//! | [`AbcRouter`] | one bit | yes | Goyal et al., "ABC", NSDI 2020 |
//!
//! Rates are in bit/s, times in seconds and amounts in bits throughout, so that XCP's bytes per second carry
//! no factor.
//!
//! ```
//! use whimbrel_control::explicit_rate::{FlowHeader, RouterLaw, XcpConfig, XcpRouter};
//! use whimbrel_units::{ByteCount, DataRate, Duration, Instant};
//!
//! let capacity = DataRate::from_megabits_per_second(10.0);
//! let mut router = XcpRouter::new(XcpConfig::draft(), capacity, Instant::ZERO);
//! let rate = DataRate::from_megabits_per_second(1.0);
//! let mut header = FlowHeader { rtt: Duration::from_millis(40), rate, allocation: f64::INFINITY };
//! router.on_arrival(Instant::ZERO, 1000, Some(&header), ByteCount::ZERO);
//! let end_of_interval = router.poll_timeout().unwrap();
//! router.on_timeout(end_of_interval, ByteCount::ZERO);
//! router.on_departure(end_of_interval, 1000, Some(&mut header), ByteCount::ZERO);
//! assert!(header.allocation > 0.0 && header.allocation < 10e6);
//! ```

use core::fmt;

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use crate::capacity::Estimate;

mod abc;
pub mod blind;
mod egress;
mod rcp;
pub mod rcp_winf;
mod xcp;
pub mod xcp_winf;

pub use abc::{AbcConfig, AbcRouter, AbcWindow};
pub use rcp::{RcpConfig, RcpRouter, RcpSender, RttAveraging, TrafficSource};
pub use xcp::{
    Demand, LossResponse, PacketWeight, SpareBandwidth, XcpConfig, XcpReading, XcpReceiver, XcpRouter,
    XcpSender,
};

/// The fields of a packet that routers read and write.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlowHeader {
    /// The sender's estimate of its round-trip time; zero if it has none.
    pub rtt: Duration,
    /// The sender's rate; zero if it is unknown.
    pub rate: DataRate,
    /// The allocation in bit/s: as requested by the sender, reduced by routers on the path. A change of the
    /// rate (XCP), a rate (RCP), or a mark, which is positive for "accelerate" (ABC).
    pub allocation: f64,
}

/// The law of one egress.
///
/// Packets without a header ([`None`]) are of other transports; they take part of the capacity.
pub trait RouterLaw: fmt::Debug + Send {
    /// Processes a packet of `size` bytes that is offered to the queue, which holds `backlog`. The packet may
    /// be dropped afterwards.
    fn on_arrival(&mut self, now: Instant, size: u32, header: Option<&FlowHeader>, backlog: ByteCount);

    /// Processes a packet that leaves the queue to be transmitted and leaves `backlog` behind. Reduces the
    /// allocation in its header.
    fn on_departure(&mut self, now: Instant, size: u32, header: Option<&mut FlowHeader>, backlog: ByteCount);

    /// Processes the timers that are due.
    fn on_timeout(&mut self, now: Instant, backlog: ByteCount);

    /// The time of the next timer; `None` without timers.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Sets the capacity of the egress.
    fn set_capacity(&mut self, capacity: DataRate);

    /// Sets the capacity and the available bandwidth that were estimated at the MAC. Laws that do not use the
    /// available bandwidth take the capacity alone.
    fn set_estimate(&mut self, estimate: Estimate) {
        self.set_capacity(estimate.capacity);
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod state;
