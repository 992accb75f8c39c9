//! Inference of the capacity and the available bandwidth of an 802.11 medium from observed frames.
//!
//! The estimators are passive but for [`AdHocProbe`] and the first packets of [`ProbeWinf`], and are fed with
//! the frames that a station sends and receives ([`Heard`]). The source is paper `winf` (Barreto, "Advanced
//! wireless congestion control techniques: XCP-Winf and RCP-Winf"), Sections 2.1, 3 and 4.3.
//!
//! | estimator | input | capacity | available bandwidth |
//! |---|---|---|---|
//! | [`RtWinf`] | RTS, CTS, DATA, ACK | size / time of the exchange after the CTS | capacity x share of time without NAV |
//! | [`ProbeWinf`] | DATA or probe, ACK | size / (ACK - DATA) | capacity x share of time without transfers |
//! | [`IdleGap`] | all frames | the nominal rate | nominal rate x share of idle time |
//! | [`AdHocProbe`] | packet pairs | size / dispersion of the least delayed pair | - |
//!
//! The upper bound to compare with, the theoretical maximum of equation 3, is `SingleSender` in
//! `whimbrel-wifi`.
//!
//! Times of frames are the *ends* of their reception or transmission. The formulae of Figure 1 follow from
//! it: between the ends of a CTS and of the ACK lie SIFS, DATA, SIFS and ACK, of which two SIFS are
//! subtracted.

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

mod adhoc_probe;
mod averaging;
mod busy_time;
mod collision;
mod idle_gap;
mod probe_winf;
mod rt_winf;

pub use adhoc_probe::{AdHocProbe, ProbeArrival};
pub use averaging::Averaging;
pub use collision::{CollisionTimes, backoff_share, without_collisions};
pub use idle_gap::IdleGap;
pub use probe_winf::{ProbeWinf, ProbeWinfConfig};
pub use rt_winf::{ReceiverSpacing, RtWinf, RtWinfConfig};

/// An estimate of the medium: what the MAC hands to XCP-Winf and RCP-Winf, and a receiver to its sender in
/// the ACK.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// C: the rate of data if the medium were used by the estimated exchanges alone.
    pub capacity: DataRate,
    /// AB: the part of the capacity that is not in use.
    pub available: DataRate,
}

impl Estimate {
    /// The smaller capacity and the smaller available bandwidth of the two.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self { capacity: self.capacity.min(other.capacity), available: self.available.min(other.available) }
    }
}

/// The kind of an observed frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FrameKind {
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// A data frame.
    Data,
    /// An acknowledgement.
    Ack,
    /// A data frame of the reserved subtype 1001 (paper `winf`, Section 3.2).
    Probe,
}

/// A frame that a station sends or receives. A frame of its own may be reported when it begins, with its end
/// in the future.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Heard {
    /// End of the frame.
    pub at: Instant,
    /// Time of the frame on the air.
    pub airtime: Duration,
    /// Its kind.
    pub kind: FrameKind,
    /// The station sends it.
    pub from_self: bool,
    /// The frame is addressed to the station.
    pub to_self: bool,
    /// The time after the frame for which its Duration field reserves the medium (NAV).
    pub nav: Duration,
    /// Payload (MSDU) of a data frame.
    pub size: ByteCount,
    /// Rate of the frame's payload, if the station reports it (`DataRate`).
    pub rate: Option<DataRate>,
    /// Time for which the station has counted down its backoff before it sent the frame; `None` for other
    /// stations' frames.
    pub backoff: Option<Duration>,
    /// The receiver's estimate in an ACK.
    pub estimate: Option<Estimate>,
}

impl Heard {
    /// A frame of another station to a third one that ends at `at`, without payload and reservation.
    pub fn overheard(kind: FrameKind, at: Instant, airtime: Duration) -> Self {
        Self {
            at,
            airtime,
            kind,
            from_self: false,
            to_self: false,
            nav: Duration::ZERO,
            size: ByteCount::ZERO,
            rate: None,
            backoff: None,
            estimate: None,
        }
    }
}

/// The state of a station towards an exchange of frames (paper `winf`, Figure 2). A station that takes no
/// part in one is an onlooker.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum StationState {
    /// The station takes no part.
    #[default]
    Onlooker,
    /// The station sends the data.
    Sender,
    /// The station receives the data.
    Receiver,
}

/// The state of the station that a frame belongs to. `is_forward` for frames in the direction of the data
/// (RTS, DATA).
fn state_of(heard: &Heard, is_forward: bool) -> StationState {
    match (heard.from_self, heard.to_self) {
        (false, false) => StationState::Onlooker,
        (from_self, _) if from_self == is_forward => StationState::Sender,
        _ => StationState::Receiver,
    }
}

#[cfg(test)]
mod tests;
