//! Scenario keys of TCP.

use schemars::JsonSchema;
use serde::Deserialize;
use whimbrel_control::window::{
    BandwidthFilter, Cubic, Growth, LawPrototype, NewReno, Prague, Reduction, Veno, Westwood,
};
use whimbrel_scenario::quantity::Time;
use whimbrel_units::Duration;

/// Details of the simulated TCP. A preset and a variant give all values; further keys change single ones.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Tcp")]
pub struct Details {
    /// The implementation to follow.
    pub preset: TcpPreset,
    /// Loss recovery; `sack` by default.
    pub variant: TcpVariant,
    /// The law of the congestion window; `reno` by default.
    pub congestion: TcpCongestion,
    /// Leave the first slow start before a loss, where the round-trip time rises (HyStart++, RFC 9406; with
    /// `preset = "linux"` Linux's HyStart); `cubic` only, `true` by default.
    pub hystart: Option<bool>,
    /// The most segments outstanding, even if the receiver's window is larger; in ns-2 also the initial
    /// threshold.
    pub window_limit: Option<f64>,
    /// The first window in segments.
    pub initial_window: Option<u32>,
    /// Detect losses by the times of transmissions (RACK, RFC 8985); `variant = "sack"` only, `true` in
    /// Linux and with `bbr`.
    pub rack: Option<bool>,
    /// Send tail loss probes (RFC 8985, Section 7); with `rack` only, `true` in Linux.
    pub loss_probe: Option<bool>,
    /// Spread the window reduction over the recovery (PRR, RFC 9937); with `rack` only, `true` in Linux.
    pub rate_reduction: Option<bool>,
    /// Undo reductions for segments that were only late, and tolerate more reordering after each (D-SACK, RFC
    /// 2883 and RFC 3708; RFC 8985, Section 6.2, Step 4); with `rack` only, `true` in Linux.
    pub undo: Option<bool>,
    /// Open with a SYN.
    pub handshake: Option<bool>,
    /// Reference of RTT independence: shorter paths have the rate of one with this round-trip time; `prague`
    /// only, none by default, `25 ms` in its draft.
    pub virtual_rtt: Option<Time>,
    /// Use ECN: RFC 3168, and with `prague` counted marks and ECT(1) (RFC 9768, RFC 9331); `false` by
    /// default, `true` with `prague`.
    pub ecn: Option<bool>,
    /// Use timestamps (RFC 7323).
    pub timestamps: Option<bool>,
    /// Acknowledge every second segment (RFC 5681, Section 4.2).
    pub delayed_acks: Option<bool>,
    /// The least retransmission timeout.
    pub min_rto: Option<Time>,
    /// The grain of the clock that measures round-trip times.
    pub clock_tick: Option<Time>,
    /// Send at a random moment within this time of being allowed to (ns-2's `overhead_`). The time that a
    /// packet takes at the bottleneck breaks the synchrony by which packets clocked by acknowledgements
    /// otherwise find the one free place of a full DropTail queue, at the cost of paced flows.
    pub jitter: Option<Time>,
}

/// A set of TCP parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TcpPreset {
    /// The protocol of the RFCs.
    #[default]
    Rfc,
    /// The defaults of ns-2.35.
    Ns2,
    /// Near Linux's of today: an initial window of 10 segments, RACK-TLP, PRR, timestamps, delayed
    /// acknowledgements, its windows. SACK only.
    Linux,
}

/// The law of a congestion window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TcpCongestion {
    /// RFC 5681, or ns-2's with that preset.
    #[default]
    Reno,
    /// RFC 9438.
    Cubic,
    /// Fu and Liew, 2003.
    Veno,
    /// Westwood+: Grieco and Mascolo, 2004, with the filter of ns-3.
    Westwood,
    /// Scalable, for L4S: draft-briscoe-iccrg-prague-congestion-control.
    Prague,
    /// BBR version 3: draft-ietf-ccwg-bbr. It has `rack`, and neither `rate_reduction` nor `ecn`.
    Bbr,
}

impl TcpCongestion {
    /// The law; `None` for the preset's, and for BBR. `hystart` applies to CUBIC, `virtual_rtt` to Prague.
    pub(super) fn law(self, preset: TcpPreset, hystart: bool, virtual_rtt: Duration) -> Option<LawPrototype> {
        if preset == TcpPreset::Linux {
            let reno =
                || NewReno::new(Growth::Counted { share: 1.0, limit: f64::INFINITY }, Reduction::Rfc5681);
            match self {
                Self::Cubic if hystart => return Some(Cubic::linux().into()),
                Self::Cubic => return Some(Cubic::linux().without_hystart().into()),
                Self::Veno => return Some(Veno::over(reno()).into()),
                Self::Westwood => return Some(Westwood::linux(reno()).into()),
                Self::Reno | Self::Prague | Self::Bbr => {}
            }
        }
        match self {
            Self::Reno | Self::Bbr => None,
            Self::Cubic if hystart => Some(Cubic::rfc9438().with_hystart().into()),
            Self::Cubic => Some(Cubic::rfc9438().into()),
            Self::Veno => Some(Veno::new().into()),
            Self::Westwood => Some(Westwood::plus(BandwidthFilter::Tustin).into()),
            Self::Prague => Some(Prague::new().with_rtt_independence(virtual_rtt).into()),
        }
    }
}

/// The loss recovery of TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TcpVariant {
    /// Fast retransmit, then slow start.
    Tahoe,
    /// RFC 5681.
    Reno,
    /// RFC 6582.
    NewReno,
    /// RFC 6675.
    #[default]
    Sack,
}

impl TcpVariant {
    /// The name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tahoe => "tahoe",
            Self::Reno => "reno",
            Self::NewReno => "new-reno",
            Self::Sack => "sack",
        }
    }
}
