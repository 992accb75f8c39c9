//! Congestion control for live media: the rate at which an encoder may send.
//!
//! A [`MediaController`] is fed with the packets that its sender sent and with the receiver's reports on
//! them, and returns an [`Allowance`]: the rate for the encoder, the rate of the pacer and, for some laws, a
//! window. It parses nothing and reads no clock, so that the same law serves RTP with RFC 8888 or
//! transport-wide feedback, QUIC datagrams and DCCP.
//!
//! Arrival times are on the receiver's clock. Its offset from the sender's clock is unknown but constant:
//! laws use differences, or the excess over a minimum.

use alloc::boxed::Box;
use core::any::Any;
use core::fmt;

use whimbrel_units::{ByteCount, DataRate, Duration, Ecn, Instant};

mod bbr;
#[cfg(test)]
mod buffer_filler;
mod constant;
mod copa;
mod delay_aware_tfrc;
mod external;
pub mod gcc;
#[cfg(test)]
mod hostile;
mod missing;
mod nada;
#[cfg(test)]
mod path;
#[cfg(test)]
mod report_fates;
mod scream;
mod sent_packets;
mod stall;
pub(crate) mod windowed;

pub use bbr::{Bbr, BbrConfig};
pub use constant::Constant;
pub use copa::{Copa, CopaConfig};
pub use delay_aware_tfrc::{DelayAwareTfrc, DelayAwareTfrcConfig};
pub use external::External;
pub use gcc::{Gcc, GccConfig};
pub use nada::{Nada, NadaConfig};
pub use scream::{MarkAverage, Scream, ScreamConfig, ScreamEcn};
pub use sent_packets::SentPackets;

/// A packet handed to the network.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SentPacket {
    /// Sequence number: consecutive over all packets of the flow, padding and retransmissions included.
    pub sequence: u64,
    /// Time of sending.
    pub sent_at: Instant,
    /// Time at which its media were captured, as in the RTP timestamp. For padding the time of sending.
    pub captured_at: Instant,
    /// Size on the wire as the law counts it: the same for sending and reports.
    pub size: ByteCount,
    /// The probe that the packet belongs to.
    pub probe: Option<ProbeId>,
}

/// The receiver's observation of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reception {
    /// The packet arrived.
    Arrived {
        /// Arrival time on the receiver's clock.
        at: Instant,
        /// The ECN field on arrival.
        ecn: Ecn,
    },
    /// The packet had not arrived when the report was sent, while a later one had.
    Missing,
}

/// A sent packet and its reception.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PacketReport {
    /// The packet as it was sent.
    pub sent: SentPacket,
    /// Its reception.
    pub reception: Reception,
}

impl PacketReport {
    /// Arrival time on the receiver's clock, if the packet arrived.
    pub const fn arrival(&self) -> Option<Instant> {
        match self.reception {
            Reception::Arrived { at, .. } => Some(at),
            Reception::Missing => None,
        }
    }

    /// `true` if a router marked the packet.
    pub const fn is_marked(&self) -> bool {
        matches!(self.reception, Reception::Arrived { ecn: Ecn::Ce, .. })
    }
}

/// A report of the receiver.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Feedback<'a> {
    /// Arrival time of the report at the sender.
    pub now: Instant,
    /// The packets reported for the first time, and those reported missing before that have arrived since, in
    /// the order of their sequence numbers.
    pub packets: &'a [PacketReport],
    /// Time from the sending of the newest arrived packet to `now`, without the time for which the receiver
    /// held the report; `None` if no packet arrived.
    pub rtt: Option<Duration>,
    /// Bytes of the packets sent after the highest that a report covered, this one included. Packets before
    /// it whose report was lost are not in flight.
    pub in_flight: ByteCount,
}

impl Feedback<'_> {
    /// The packets that arrived, each with the round-trip time that an immediate report on it would have
    /// shown: the path of the newest packet's report is taken for all.
    pub fn round_trips(&self) -> impl Iterator<Item = (&PacketReport, Duration)> {
        let one_way = |packet: &PacketReport| {
            let at = packet.arrival()?.as_nanos();
            Some(i128::from(at) - i128::from(packet.sent.sent_at.as_nanos()))
        };
        let newest = self.packets.iter().filter(|packet| packet.arrival().is_some());
        let newest = newest.max_by_key(|packet| packet.arrival()).and_then(one_way);
        let rest = self.rtt.zip(newest).map(|(rtt, newest)| i128::from(rtt.as_nanos()) - newest);
        self.packets.iter().filter_map(move |packet| {
            let nanos = u64::try_from(rest? + one_way(packet)?).unwrap_or(0);
            Some((packet, Duration::from_nanos(nanos)))
        })
    }
}

/// The name of a probe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProbeId(pub u32);

/// A request to send above the allowed rate for a moment, with padding where the media do not suffice.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Probe {
    /// Its name, for [`SentPacket::probe`].
    pub id: ProbeId,
    /// Rate of sending.
    pub rate: DataRate,
    /// Least bytes to be sent at that rate.
    pub size: ByteCount,
    /// Least number of packets.
    pub packets: u32,
}

/// The limits of a sender: its rates and its window.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Allowance {
    /// Rate for the encoder, with the headers that [`SentPacket::size`] counts.
    pub target: DataRate,
    /// Rate of the pacer, at least `target`: it drains what an encoder produces in bursts.
    pub pacing: DataRate,
    /// Most bytes that may be sent and not yet reported; `None` for laws without a window.
    pub window: Option<ByteCount>,
}

/// Limits of the target rate, given by the encoder.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateLimits {
    /// Least rate at which the encoder is of use.
    pub min: DataRate,
    /// Rate at the start, before any feedback.
    pub start: DataRate,
    /// Greatest rate of the encoder.
    pub max: DataRate,
}

/// A congestion control law for media.
pub trait MediaController: CloneController + Any + fmt::Debug + Send + Sync {
    /// Name of the law, as used in tables.
    fn name(&self) -> &'static str;

    /// The codepoint for the packets of the flow: ECT(1) for a law that answers L4S marks in proportion,
    /// not-ECT for one that ignores marks.
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    /// Records a packet that was sent.
    fn on_sent(&mut self, packet: &SentPacket);

    /// Processes a report.
    fn on_feedback(&mut self, feedback: &Feedback<'_>);

    /// Time of the next call of [`on_timer`](Self::on_timer); `None` if there is none until another call.
    fn next_timer(&self) -> Option<Instant>;

    /// Processes the passage of time. A call before [`next_timer`](Self::next_timer) has no effect.
    fn on_timer(&mut self, now: Instant);

    /// The current limits of the sender.
    fn allowance(&self) -> Allowance;

    /// The probe to be sent next. It is returned once.
    fn poll_probe(&mut self, now: Instant) -> Option<Probe> {
        let _ = now;
        None
    }

    /// Reports that the encoder produced less than the allowance (`true`), or as much again (`false`).
    fn on_application_limited(&mut self, now: Instant, limited: bool) {
        let _ = (now, limited);
    }

    /// Reports the bytes that wait in the pacer.
    fn on_pacer_queue(&mut self, now: Instant, waiting: ByteCount) {
        let _ = (now, waiting);
    }

    /// Rate up to which the sender fills with padding what the media leave; zero for none.
    fn padding(&self) -> DataRate {
        DataRate::ZERO
    }

    /// The path has changed, as in a handover: measurements of the old path are void.
    fn on_path_change(&mut self, now: Instant);
}

/// Cloning of a boxed controller; implemented for all that are `Clone`.
pub trait CloneController {
    /// A copy in a box.
    fn clone_box(&self) -> Box<dyn MediaController>;
}

impl<T: MediaController + Clone + 'static> CloneController for T {
    fn clone_box(&self) -> Box<dyn MediaController> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn MediaController> {
    fn clone(&self) -> Self {
        (**self).clone_box()
    }
}
