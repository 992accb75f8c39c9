//! IEEE 802.11 as machines without I/O: PHY timing, the medium, the distributed coordination function.
//!
//! Nothing here reads a clock, opens a file or draws entropy: `now` is the first argument, deadlines are
//! absolute and random numbers come from a [`Random`] stream that the driver supplies. The crate knows no
//! transport.
//!
//! - [`phy`]: rates, preambles, interframe spaces, the time of a frame on the air.
//! - [`frame`]: frames as typed values.
//! - [`aggregation`]: A-MSDU, A-MPDU, block acknowledgements.
//! - [`airtime`]: how much may wait at a MAC.
//! - [`dcf`]: one station's MAC.
//! - [`edca`]: one station's MAC with access categories and aggregation.
//! - [`medium`]: reception, carrier sense, capture and collisions.
//! - [`site`]: the stations of a network and the links between them.
//! - [`deadlines`]: the earliest of many machines' deadlines.
//! - [`infrastructure`]: access points, scanning, association, handover.
//! - [`mobility`]: positions as functions of time.
//! - [`propagation`]: received power, fading, error rates, the nodes within a range.
//! - [`rate_control`]: rate adaptation.
//! - [`routing`]: DSDV and AODV.
//!
//! # Design
//!
//! - `wifi` is 802.11 without a network: `dcf` is one station's MAC with the verbs of a connection, `medium`
//!   decides which stations sense and receive a transmission and states the cause of each loss, `phy`
//!   computes durations. A backoff is one deadline, not an event per slot; a transmission costs its receivers
//!   only, and frames allocate nothing. A station that has nothing to send is not notified of each edge of
//!   carrier sense: it gets a summary with the next frame for it. Arrivals at such stations change one cache
//!   line each and take a short way of their own (`medium::receiver`); delays and powers at the neighbours of
//!   a sender are lists, which the compiler computes in pairs (`propagation::measurement`). A busy edge at
//!   the instant of a grant does not revoke it, so two stations that reach a slot together collide in
//!   any order of processing. `MacRules` lists each point in which ns-2 differs from the standard.
//! - From 50 to 500 nodes of one density, the medium takes the same instructions for the beginning and end of
//!   a frame at a station (184 and 194 by callgrind, AODV) with more misses of a data cache of 32 KiB (0.7
//!   and 2.3), because the state of fewer stations fits. The rest of a transmission grows with the network
//!   where its routing does: a DSDV update has an entry for each node.
//! - `wifi::rate_control` chooses rates per receiver from the outcomes of data frames alone (ARF,
//!   Minstrel-like); it draws from its station's stream. Protection of OFDM frames is a matter of the frame
//!   that opens an exchange (`dcf::Protection`). Access points announce whether it is needed
//!   (`infrastructure::ErpInformation`), and the medium sets it at their MACs and their clients'.
//! - `edca` is the MAC of 802.11n, ac and ax, a machine on the same medium as `dcf`: four access categories
//!   whose counters move at every slot boundary, transmission opportunities, A-MPDUs. `aggregation` has the
//!   sender's window, the scoreboard, the reorder buffer and the limits, each without the others. A
//!   transmission is one frame on the medium and a list of MPDUs (`edca::Ppdu`) at the driver; the medium
//!   reports the parts of an A-MPDU that others damaged, so that each MPDU has a fate of its own.
//!   `phy::Mode` is two bytes with everything that the standard makes of format, scheme, streams, width and
//!   guard interval.
//! - Linux divides airtime where a driver asks for the next packet; `edca` divides it where the next
//!   transmission begins, so that deficits and what is on the air agree however much waits at the MAC.
//!   What may wait there is a rule of its own (`airtime`), which the driver of the machine applies, because
//!   the queues are the driver's.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod aggregation;
pub mod airtime;
pub mod dcf;
pub mod deadlines;
pub mod edca;
pub mod frame;
mod id;
pub mod infrastructure;
pub mod medium;
pub mod mobility;
pub mod phy;
pub mod propagation;
pub mod rate_control;
pub mod routing;
pub mod site;

pub use dcf::{Dcf, MacConfig, MacRules};
pub use frame::{Addressing, Frame, FrameKind, MacAddress};
pub use id::{PacketId, StationIndex};
pub use phy::{Phy, Preamble, Rate, RateSet};
pub use rate_control::RateControl;
pub use whimbrel_units::random::{self, Random, SplitMix64};
