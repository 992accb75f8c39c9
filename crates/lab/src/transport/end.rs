//! The ends of flows.

use std::fmt;

use whimbrel_control::reordering::LatenessSummary;
use whimbrel_netsim::medium::Observation;
use whimbrel_netsim::{Ecn, LinkId, LossCause, Packet, StationId};
use whimbrel_scenario::signals::{Command, Scope};
use whimbrel_units::{DataRate, Instant};

use crate::emulation::EmulatedEnd;
use crate::metrics::{FrameSummary, Meter};
use crate::payload::Envelope;

/// Estimates of the congestion control of a flow's sender; NaN if it has none or none yet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SenderEstimate {
    /// The congestion window in packets.
    pub cwnd: f64,
    /// The rate allowed, in bit/s.
    pub allowed_rate: f64,
    /// The smoothed round-trip time in seconds.
    pub rtt: f64,
    /// The loss event rate, 0 to 1.
    pub loss_event_rate: f64,
    /// X_recv, as the receiver last reported it, in bit/s.
    pub receive_rate: f64,
    /// The freeze state in a handover; empty without one.
    pub freeze: &'static str,
}

impl SenderEstimate {
    /// No estimates.
    pub const NONE: Self = Self {
        cwnd: f64::NAN,
        allowed_rate: f64::NAN,
        rtt: f64::NAN,
        loss_event_rate: f64::NAN,
        receive_rate: f64::NAN,
        freeze: "",
    };
}

/// One end of a flow: an agent of the simulator that counts.
pub trait FlowEnd: fmt::Debug + Send {
    /// The meter of this end.
    fn meter(&self) -> &Meter;

    /// The meter of this end for a flow, by its position in the plan. An end of one flow has one meter.
    fn meter_of(&self, flow: usize) -> &Meter {
        let _ = flow;
        self.meter()
    }

    /// The end of an emulated network that this is, if it is one.
    fn emulated(&mut self) -> Option<&mut EmulatedEnd> {
        None
    }

    /// A packet of `size` bytes for this end arrived. The end may take what it keeps of the content.
    fn handle_packet(&mut self, now: Instant, size: u32, ecn: Ecn, envelope: &mut Envelope);

    /// The deadline last returned by [`poll_timeout`](Self::poll_timeout) was reached.
    fn handle_timeout(&mut self, now: Instant) {
        let _ = now;
    }

    /// The next packet to send at `now`, if any.
    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Envelope>> {
        let _ = now;
        None
    }

    /// The time at which [`handle_timeout`](Self::handle_timeout) is due; `None` for never.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// A packet for this end was lost. It is to be counted; no transport may learn it from the network.
    fn handle_loss(&mut self, now: Instant, packet: Packet<Envelope>, cause: LossCause) {
        let _ = (now, packet, cause);
    }

    /// A packet for this end arrived with data that the medium of `link` has damaged: a loss, where a
    /// checksum covers everything.
    fn handle_damaged(&mut self, now: Instant, packet: Packet<Envelope>, link: LinkId) {
        self.handle_loss(now, packet, LossCause::Wireless(link));
    }

    /// Packets that arrived here and are neither delivered nor discarded: those in the receiver's reorder
    /// buffer, and those that the connection did not accept.
    fn undelivered(&self) -> [u64; 2] {
        [0; 2]
    }

    /// Notifies this end of a handover.
    fn handle_command(&mut self, now: Instant, command: Command, scope: Scope) {
        let _ = (now, command, scope);
    }

    /// Processes an observation of a station of this end's paths, if the transport
    /// [observes](super::FlowTransport::observes_station) them.
    fn handle_observation(&mut self, now: Instant, station: StationId, observation: &Observation) {
        let _ = (now, station, observation);
    }

    /// Lateness of the overtaken packets at this end.
    fn lateness(&self) -> LatenessSummary {
        LatenessSummary::default()
    }

    /// The frames that this end has sent, or that it has received; `None` if it does not watch them.
    fn frames(&self) -> Option<FrameSummary> {
        None
    }

    /// The capacity of the path that this end infers from pairs of packets.
    fn path_capacity(&self) -> Option<DataRate> {
        None
    }

    /// The estimates of this end's congestion control for the data that it sends.
    fn estimate(&self) -> SenderEstimate {
        SenderEstimate::NONE
    }
}
