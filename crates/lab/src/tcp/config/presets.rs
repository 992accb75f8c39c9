//! The protocol as specified, and as ns-2 simulates it.

use whimbrel_control::bbr;
use whimbrel_control::window::rto::RtoConfig;
use whimbrel_control::window::{Growth, InitialWindow, NewReno, Reduction};
use whimbrel_units::Duration;

use super::{
    BurstLimits, DelayedAck, EcnMode, HeaderModel, IdleRestart, LimitedTransmit, LossDetection,
    PartialAckTimer, ReceiverConfig, RecoveryConfig, RecoveryExit, ReductionBasis, SackRecovery,
    SendingConfig, TcpConfig, Variant, WindowConfig,
};

impl TcpConfig {
    /// The protocol of the RFCs, with the choices they leave:
    ///
    /// - segments of 1460 bytes, no handshake, no ECN, no timestamps;
    /// - an initial window and growth by RFC 5681, equation (3), and no growth of a window that is not used
    ///   (RFC 7661);
    /// - NewReno is impatient and leaves recovery without a burst; limited transmit with SACK only (RFC 6675
    ///   builds on it);
    /// - a timeout of at least 1 s (RFC 6298); 200 ms, as in most systems, is `rto.minimum`;
    /// - every segment is acknowledged at once, in a window of 1 GiB.
    ///
    /// There is no RFC for [`Variant::Tahoe`]: it is RFC 5681 without fast recovery.
    pub fn rfc(variant: Variant) -> Self {
        let sack = variant == Variant::Sack;
        Self {
            variant,
            segment_size: 1460,
            headers: HeaderModel::Standard,
            handshake: false,
            ecn: EcnMode::Off,
            timestamps: false,
            window: WindowConfig {
                initial: InitialWindow::Rfc5681,
                initial_threshold: None,
                limit: None,
                law: NewReno::rfc5681().into(),
                bbr: None,
                basis: ReductionBasis::FlightSize,
                hold_threshold: true,
                grow_unused: false,
                idle: IdleRestart::InitialWindow,
            },
            recovery: RecoveryConfig {
                duplicate_threshold: 3,
                limited_transmit: if sack { LimitedTransmit::On } else { LimitedTransmit::Off },
                partial_ack_timer: PartialAckTimer::Impatient,
                exit: if variant == Variant::NewReno {
                    RecoveryExit::Flight
                } else {
                    RecoveryExit::Threshold
                },
                // RFC 5681 lets Reno cut its window twice for two losses of one window.
                once_per_window: variant != Variant::Reno,
                restart_timer: false,
                sack: SackRecovery::Pipe,
                detection: LossDetection::Sequence,
                loss_probe: false,
                rate_reduction: false,
                undo: false,
                rescue: true,
                keep_sack_on_timeout: false,
                bursts: BurstLimits::NONE,
            },
            rto: RtoConfig::RFC6298,
            sending: SendingConfig {
                nagle: false,
                whole_segments: false,
                max_burst: u32::MAX,
                jitter: Duration::ZERO,
                jitter_seed: 0,
            },
            receiver: ReceiverConfig {
                window: 1 << 30,
                delayed_ack: None,
                sack_blocks: if sack { 4 } else { 0 },
                duplicate_sack: false,
            },
        }
    }

    /// Linux's TCP of the 6.x kernels, as far as it bears on throughput:
    ///
    /// - an initial window of 10 segments (RFC 6928), growth by what is acknowledged;
    /// - SACK with RACK, tail loss probes (RFC 8985) and Proportional Rate Reduction (RFC 9937);
    /// - duplicate SACKs and timestamps undo the reductions for segments that were only late, and lengthen
    ///   the reordering window;
    /// - timestamps; every second segment is acknowledged, or after 40 ms; a timeout from 200 ms to 120 s;
    /// - a loss reduces the window in force, in whole segments.
    ///
    /// The law is Reno's unless another is set. Not modelled: F-RTO (with timestamps, the Eifel detection
    /// finds the same), pacing, segmentation offload, the acknowledgement of every segment at the beginning,
    /// and the limits of socket buffers.
    pub fn linux() -> Self {
        let mut config = Self::rfc(Variant::Sack);
        config.segment_size = 1448;
        config.timestamps = true;
        config.window.initial = InitialWindow::Segments(10);
        let growth = Growth::Counted { share: 1.0, limit: f64::INFINITY };
        config.window.law = NewReno::new(growth, Reduction::Rfc5681).into();
        config.window.basis = ReductionBasis::WholeWindow;
        config.recovery.detection = LossDetection::Rack;
        config.recovery.loss_probe = true;
        config.recovery.rate_reduction = true;
        config.recovery.undo = true;
        config.receiver.duplicate_sack = true;
        config.rto.minimum = Duration::from_millis(200);
        config.rto.maximum = Duration::from_secs(120);
        config.receiver.delayed_ack = Some(DelayedAck::LINUX);
        config
    }

    /// ns-2.35's one-way TCP with the defaults of its `ns-default.tcl`: `Agent/TCP` (Tahoe),
    /// `Agent/TCP/Reno`, `Agent/TCP/Newreno` or `Agent/TCP/Sack1`, with the matching `Agent/TCPSink`.
    ///
    /// The differences from [`rfc`](TcpConfig::rfc), with ns-2's names:
    ///
    /// | | RFC | ns-2 |
    /// |---|---|---|
    /// | segment, header | 1460 B, 40 B and options | `packetSize_` 1000 B, 40 B and 8 B for a SACK block |
    /// | opening | none | `syn_`, `delay_growth_`: a SYN of 40 B, then the initial window |
    /// | initial window, threshold | 3 segments, none | `windowInit_` 2, `window_` |
    /// | window limit | the receiver's | `window_` 20 segments |
    /// | a loss halves | FlightSize | the window; `ssthresh` rounded down, `cwnd` not below 1 (`precisionReduce_`) |
    /// | `cwnd` not used | does not grow | grows |
    /// | NewReno leaves recovery | by FlightSize | with the window left, plus the growth of that acknowledgement |
    /// | NewReno in recovery | as the window allows | at most two segments for an acknowledgement |
    /// | limited transmit | SACK only | `singledup_`: all, a segment for each duplicate |
    /// | Reno, second loss in a window | a second fast retransmit | a timeout (`bugFix_`) |
    /// | SACK recovery | `pipe` of RFC 6675 | a counter; no rescue; go-back-N after a timeout |
    /// | a fast retransmit | leaves the timer | restarts the timer |
    /// | timeout | 1 s to 60 s, initially 1 s | `minrto_` 200 ms to `maxrto_` 60 s, initially 3 s; `tcpTick_` 10 ms |
    /// | repeated timeout | `ssthresh` held | `ssthresh` falls to 2 |
    /// | idle | initial window after RTO without sending | one segment after RTO without acknowledgement |
    ///
    /// ns-2's combination of a mark and a loss in one window (a fast retransmit without a cut, with the
    /// window inflated), its F-RTO, Quick-Start and `numdupacksFrac_` are not modelled, nor that Tahoe may
    /// follow a timeout by a fast retransmit as long as no data at all is acknowledged (`bugfix_ss_`). It
    /// draws the phase of its 10 ms clock at random; here it is `rto.tick_phase`. Setting `rto.tick` to zero
    /// gives an exact clock.
    pub fn ns2(variant: Variant) -> Self {
        let mut config = Self::rfc(variant);
        config.segment_size = 1000;
        config.headers = HeaderModel::Ns2;
        config.handshake = true;
        config.window = WindowConfig {
            initial: InitialWindow::Segments(2),
            initial_threshold: Some(20.0),
            limit: Some(20.0),
            law: NewReno::new(Growth::PerAck, Reduction::Ns2).into(),
            bbr: None,
            basis: ReductionBasis::Window,
            hold_threshold: false,
            grow_unused: true,
            idle: IdleRestart::OneSegment,
        };
        config.recovery = RecoveryConfig {
            duplicate_threshold: 3,
            limited_transmit: LimitedTransmit::Any,
            partial_ack_timer: PartialAckTimer::Impatient,
            exit: RecoveryExit::Remainder,
            once_per_window: true,
            restart_timer: true,
            sack: SackRecovery::Counter,
            detection: LossDetection::Sequence,
            loss_probe: false,
            rate_reduction: false,
            undo: false,
            rescue: false,
            keep_sack_on_timeout: false,
            bursts: BurstLimits {
                early_duplicate: 1,
                recovery: if variant == Variant::NewReno { 2 } else { u32::MAX },
            },
        };
        config.rto = RtoConfig::NS2;
        config.sending.whole_segments = true;
        config.receiver.sack_blocks = if variant == Variant::Sack { 3 } else { 0 };
        config
    }

    /// Sets BBR version 3 (draft-ietf-ccwg-bbr) with the draft's parameters and quanta, and what it needs:
    /// SACK with RACK (RFC 8985), the window kept over an idle period, no rate reduction and no ECN.
    #[must_use]
    pub fn with_bbr(mut self) -> Self {
        self.variant = Variant::Sack;
        self.window.bbr = Some(bbr::Parameters { quanta: true, ..bbr::Parameters::default() });
        self.window.idle = IdleRestart::Keep;
        self.recovery.sack = SackRecovery::Pipe;
        self.recovery.detection = LossDetection::Rack;
        self.recovery.rate_reduction = false;
        self.ecn = EcnMode::Off;
        self
    }

    /// Sets ns-2's `window_`: the limit of the window and, as there, the initial `ssthresh`, in segments.
    pub fn with_window(mut self, segments: f64) -> Self {
        self.window.limit = Some(segments);
        self.window.initial_threshold = Some(segments);
        self
    }
}
