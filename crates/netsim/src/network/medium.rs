//! Shared media: one transmission reaches several stations.
//!
//! A [`Medium`] is a sans-IO machine that decides when stations transmit and which of them receive. The
//! packets of each station wait in a queue discipline of the station's own, from which the medium
//! [takes](MediumIo::take) them one at a time. The fate of a packet goes through [`MediumIo`]: the
//! simulator then forwards, delivers or loses it.

mod cellular;
mod ideal;
mod io;
mod observation;
mod station;
mod wifi;

use core::any::Any;
use std::collections::{BTreeMap, VecDeque};

use whimbrel_units::Instant;

pub use cellular::CellularMedium;
pub use ideal::IdealMedium;
pub(crate) use io::Effect;
pub use io::{Lane, MediumIo, TakenPacket};
pub use observation::{Association, FrameReport, Observation};
pub use station::Lanes;
pub(crate) use station::Station;
pub use whimbrel_wifi::mobility::Position;
pub use wifi::{
    AirFrame, ArpConfig, ArpStats, ChannelUsage, InfrastructureConfig, InvalidRole, ManagementStats,
    QosConfig, QosMedium, ReceiverQueues, StationRole, WifiConfig, WifiMedium,
};

use crate::events::EventSource;
pub use crate::loss::MediumLoss;
use crate::queue::QueuedPacket;
use crate::{Count, NodeId, StationIndex};

/// A shared medium and the access to it of all its stations, which are numbered in the order of addition.
///
/// Every [`TakenPacket`] taken leaves exactly once: [delivered](MediumIo::deliver), [lost](MediumIo::lose),
/// or [released](MediumIo::release) after the broadcast. After every call the simulator asks for the next
/// timeout.
pub trait Medium: Any + Send {
    /// Division of a station's packets among queues; `None` for one queue.
    fn lanes(&self) -> Option<Lanes> {
        None
    }

    /// A station was added.
    fn handle_station(&mut self, station: StationIndex) {
        let _ = station;
    }

    /// `true` if packets are to be offered to [`hold`](Self::hold) before they are queued.
    fn may_hold(&self) -> bool {
        false
    }

    /// A packet is to be queued at a station for its neighbour `to`. Returns `true` if the medium takes it.
    fn hold(
        &mut self,
        now: Instant,
        station: StationIndex,
        packet: QueuedPacket,
        to: NodeId,
        io: &mut MediumIo<'_>,
    ) -> bool {
        let _ = (now, station, packet, to, io);
        false
    }

    /// A packet was queued at a station.
    fn handle_backlog(&mut self, now: Instant, station: StationIndex, io: &mut MediumIo<'_>);

    /// The time last returned by [`poll_timeout`](Self::poll_timeout) was reached.
    fn handle_timeout(&mut self, now: Instant, io: &mut MediumIo<'_>);

    /// The time at which [`handle_timeout`](Self::handle_timeout) is due; `None` for never.
    fn poll_timeout(&self) -> Option<Instant>;

    /// `true` if routes may lead from one station to another in one hop, with the stations' places at `now`.
    fn reaches(&self, now: Instant, from: StationIndex, to: StationIndex) -> bool;
}

/// A medium in a network.
pub(crate) struct MediumSlot {
    pub(crate) medium: Box<dyn Medium>,
    pub(crate) stations: Vec<Station>,
    /// The first station of each node that has one.
    pub(crate) numbers: BTreeMap<NodeId, StationIndex>,
    pub(crate) source: EventSource,
    /// Time of the medium's event.
    pub(crate) expected: Option<Instant>,
    /// Effects of calls that are not applied yet.
    pub(crate) effects: VecDeque<Effect>,
    pub(crate) is_applying: bool,
}

/// A station's counters since the beginning of the run.
///
/// `enqueued` = waiting in the queue + `taken` + those that the discipline dropped after accepting them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StationStats {
    /// Offered to the queue and not dropped at once.
    pub enqueued: Count,
    /// Dropped by the queue: because it was full, or to signal congestion.
    pub dropped: Count,
    /// Taken from the queue by the medium.
    pub taken: Count,
    /// Sent by this station and lost on the medium; of a broadcast, nothing counts.
    pub lost: Count,
    /// Received by this station and passed to its node.
    pub received: Count,
}
