//! The configuration of a simulated TCP.
//!
//! [`TcpConfig::rfc`] is the protocol of the RFCs, [`TcpConfig::ns2`] the one that ns-2.35 simulates when
//! nothing is changed in its scripts. A study sets what it varies on top of one of them; every difference
//! between the two is a field below, so that a result that depends on one can be traced to it.

use whimbrel_control::bbr;
use whimbrel_control::window::rto::RtoConfig;
use whimbrel_control::window::{InitialWindow, LawPrototype};
use whimbrel_units::Duration;

use super::segment::HeaderModel;

mod presets;

/// The loss recovery of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Variant {
    /// Fast retransmit, then slow start from one segment. (ns-2's plain `Agent/TCP`.)
    Tahoe,
    /// Fast retransmit and fast recovery up to the next new acknowledgement (RFC 5681, Section 3.2).
    Reno,
    /// Fast recovery up to the acknowledgement of all that was outstanding (RFC 6582).
    NewReno,
    /// Recovery by selective acknowledgements (RFC 2018, RFC 6675).
    Sack,
}

/// The use of ECN by both ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum EcnMode {
    /// Not ECN-capable.
    #[default]
    Off,
    /// The receiver echoes that there were marks, until the sender has signalled its response (RFC 3168).
    Classic,
    /// The receiver counts marks (AccECN, RFC 9768). A sender with a scalable law sends ECT(1).
    Accurate,
}

/// The configuration of both ends of a connection.
#[derive(Clone, PartialEq, Debug)]
pub struct TcpConfig {
    /// Loss recovery.
    pub variant: Variant,
    /// SMSS: bytes of payload in a full segment. Headers come on top.
    pub segment_size: u32,
    /// The size of segments on a link.
    pub headers: HeaderModel,
    /// Open with a SYN and wait for its acknowledgement. Without it both ends start as if it had happened.
    pub handshake: bool,
    /// ECN. Without the handshake both ends have agreed on it.
    pub ecn: EcnMode,
    /// Use timestamps (RFC 7323): every new acknowledgement measures the round-trip time. Otherwise one
    /// segment at a time is timed, none of them retransmitted (Karn's algorithm).
    pub timestamps: bool,
    /// The congestion window.
    pub window: WindowConfig,
    /// Loss recovery.
    pub recovery: RecoveryConfig,
    /// The retransmission timer.
    pub rto: RtoConfig,
    /// Segmentation and pacing of the data.
    pub sending: SendingConfig,
    /// The receiving end.
    pub receiver: ReceiverConfig,
}

/// The congestion window of a sender. Windows are in segments.
#[derive(Clone, PartialEq, Debug)]
pub struct WindowConfig {
    /// `cwnd` before the first acknowledgement of data. One segment if the SYN had to be repeated.
    pub initial: InitialWindow,
    /// `ssthresh` before the first loss; none for no limit.
    pub initial_threshold: Option<f64>,
    /// The sender never has more than this outstanding (ns-2's `window_`), even if the receiver offers more.
    pub limit: Option<f64>,
    /// The increase per acknowledgement and the reduction on a loss.
    pub law: LawPrototype,
    /// BBR version 3 instead of `law`, with [`LossDetection::Rack`] ([`TcpConfig::with_bbr`]).
    pub bbr: Option<bbr::Parameters>,
    /// The quantity that a loss halves.
    pub basis: ReductionBasis,
    /// Hold `ssthresh` when the timer expires again for the same segment (RFC 5681, Section 3.1).
    pub hold_threshold: bool,
    /// Let the window grow while the sender does not fill it, as RFC 5681 does and RFC 7661 advises against.
    pub grow_unused: bool,
    /// The window after an idle period.
    pub idle: IdleRestart,
}

/// The quantity that is halved on loss.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReductionBasis {
    /// FlightSize, without what limited transmit sent (RFC 5681, Section 3.2, step 2).
    FlightSize,
    /// The window in force, used or not (ns-2).
    Window,
    /// The window in force in whole segments, and its reductions are rounded down to whole segments: integer
    /// arithmetic (Linux).
    WholeWindow,
}

/// The window after a pause longer than the retransmission timeout.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IdleRestart {
    /// As before the pause.
    Keep,
    /// At most the initial window, if nothing was *sent* for that time (RFC 5681, Section 4.1).
    InitialWindow,
    /// One segment, if nothing was *acknowledged* for that time (ns-2's `slow_start_restart_`).
    OneSegment,
}

/// Loss recovery at the sender.
#[derive(Clone, PartialEq, Debug)]
pub struct RecoveryConfig {
    /// DupThresh: the number of duplicate acknowledgements that indicate a loss.
    pub duplicate_threshold: u32,
    /// New data on the duplicates before that.
    pub limited_transmit: LimitedTransmit,
    /// Restart of the timer by partial acknowledgements (NewReno).
    pub partial_ack_timer: PartialAckTimer,
    /// The window after fast recovery (Reno and NewReno).
    pub exit: RecoveryExit,
    /// No second fast retransmit for losses of the same window: the acknowledgement must have passed what was
    /// outstanding at the first (RFC 6582, Section 3.2, step 2; always so after a timeout).
    pub once_per_window: bool,
    /// Restart the timer with a fast retransmit. RFC 6298 leaves it running.
    pub restart_timer: bool,
    /// The estimate of the data in the network in SACK recovery.
    pub sack: SackRecovery,
    /// Detection of losses in SACK recovery with `sack: Pipe`.
    pub detection: LossDetection,
    /// Tail loss probes (RFC 8985, Section 7), with [`LossDetection::Rack`].
    pub loss_probe: bool,
    /// Proportional Rate Reduction (RFC 9937), with [`LossDetection::Rack`]: what is sent during a recovery
    /// follows what is delivered.
    pub rate_reduction: bool,
    /// Response to evidence that retransmissions were spurious, with [`LossDetection::Rack`]: the reduction
    /// is undone (RFC 3708; RFC 4015 for the detection by timestamps), and the reordering window and the
    /// threshold for duplicates grow (RFC 8985, Section 6.2, Step 4), as in Linux.
    pub undo: bool,
    /// A last retransmission at the end of the window (RFC 6675, Section 4, NextSeg rule 4).
    pub rescue: bool,
    /// Trust selective acknowledgements beyond a timeout. RFC 2018, Section 8 forbids it, Linux does it.
    pub keep_sack_on_timeout: bool,
    /// The most segments one duplicate acknowledgement releases before recovery and one acknowledgement
    /// during it (ns-2), not counting retransmissions that it calls for.
    pub bursts: BurstLimits,
}

/// New data on the first duplicate acknowledgements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LimitedTransmit {
    /// None.
    Off,
    /// A segment of new data for each (RFC 3042). With SACK, as much as `pipe` allows (RFC 6675, Section 5,
    /// step 3).
    On,
    /// A segment for each, also where data is sent again after a timeout (ns-2's `singledup_`).
    Any,
}

/// Restart of the retransmission timer by partial acknowledgements (RFC 3782, Section 4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PartialAckTimer {
    /// Only the first restarts it: many losses end in an early timeout (RFC 6582, Section 3.2).
    Impatient,
    /// Every one restarts it: a segment per round-trip time, but no timeout.
    SlowButSteady,
}

/// The window after fast recovery.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RecoveryExit {
    /// `min(ssthresh, max(FlightSize, SMSS) + SMSS)`: no burst (RFC 6582, Section 3.2, step 3, option 1).
    Flight,
    /// `ssthresh` (RFC 5681, Section 3.2, step 6; RFC 6582, option 2).
    Threshold,
    /// The window at the end of recovery, increased by the acknowledgement that ends it (ns-2).
    Remainder,
}

/// Detection of losses by selective acknowledgements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LossDetection {
    /// By the data received above a hole (RFC 6675).
    Sequence,
    /// By the times at which segments were sent (RACK, RFC 8985).
    Rack,
    /// None before all data was sent once: then what is not acknowledged is sent again. The receiver
    /// acknowledges each segment by its number, and hands over data in any order. (RCP's agent for ns-2.)
    AtTheEnd,
}

/// The estimate of the data in the network in SACK recovery.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SackRecovery {
    /// The scoreboard's `pipe`, computed from what is lost and retransmitted (RFC 6675).
    Pipe,
    /// A counter: one down for an acknowledgement, two for a partial one, one up for a segment sent
    /// (Fall and Floyd 1996; ns-2's `Agent/TCP/Sack1`).
    Counter,
}

/// Limits on what a single acknowledgement releases, in segments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BurstLimits {
    /// On a duplicate that is too early for a fast retransmit.
    pub early_duplicate: u32,
    /// On anything during fast recovery.
    pub recovery: u32,
}

impl BurstLimits {
    /// None.
    pub const NONE: Self = Self { early_duplicate: u32::MAX, recovery: u32::MAX };
}

/// Segmentation and pacing of the data.
#[derive(Clone, PartialEq, Debug)]
pub struct SendingConfig {
    /// Hold a part of a segment while anything is outstanding (RFC 1122, Section 4.2.3.4).
    pub nagle: bool,
    /// Round every write up to whole segments, as ns-2 does.
    pub whole_segments: bool,
    /// The most segments one acknowledgement or timeout releases (ns-2's `maxburst_`).
    pub max_burst: u32,
    /// Send at a random moment within this time of being allowed to, to break the synchrony of flows that
    /// share a queue (ns-2's `overhead_`). Fast retransmits are not delayed.
    pub jitter: Duration,
    /// The seed of that randomness.
    pub jitter_seed: u64,
}

/// The receiving end.
#[derive(Clone, PartialEq, Debug)]
pub struct ReceiverConfig {
    /// Bytes that it accepts beyond those received in order.
    pub window: u32,
    /// Acknowledge several segments at once; none: every segment at once.
    pub delayed_ack: Option<DelayedAck>,
    /// The most SACK blocks in an acknowledgement, up to [`SackBlocks::MAX`](super::SackBlocks::MAX); 0 for
    /// no SACK. With timestamps only three fit.
    pub sack_blocks: u8,
    /// Report data received twice in the first block (D-SACK, RFC 2883).
    pub duplicate_sack: bool,
}

/// Delayed acknowledgements (RFC 1122, Section 4.2.3.2; RFC 5681, Section 4.2). Segments that arrive out of
/// order or fill a gap are acknowledged at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DelayedAck {
    /// Number of segments per acknowledgement.
    pub segments: u32,
    /// Wait no longer than this; RFC 5681 allows 500 ms.
    pub timeout: Duration,
    /// Treat a second copy of the last segment in order like the first, as ns-2 does. Otherwise a duplicate
    /// is acknowledged at once.
    pub repeats_wait: bool,
}

impl DelayedAck {
    /// Every second segment, or after 200 ms.
    pub const STANDARD: Self = Self { segments: 2, timeout: Duration::from_millis(200), repeats_wait: false };
    /// Like Linux: every second segment, or after its least delay of 40 ms.
    pub const LINUX: Self = Self { timeout: Duration::from_millis(40), ..Self::STANDARD };
    /// ns-2's `TCPSink/DelAck`: every second segment, or after 100 ms.
    pub const NS2: Self = Self { segments: 2, timeout: Duration::from_millis(100), repeats_wait: true };
}

#[cfg(test)]
mod tests;
