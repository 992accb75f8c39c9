//! Transports whose rates are allocated by routers: XCP, RCP and ABC.
//!
//! All of them are reliable by the simulated TCP with selective acknowledgements and timestamps. Its window
//! is set by the allocations that the receiver returns. RCP also repairs as the agent of its authors. Between
//! the IP header and the TCP header lies one for the routers.

mod control;
mod ends;
mod store;

use schemars::JsonSchema;
use serde::Deserialize;
use whimbrel_control::explicit_rate::LossResponse;
use whimbrel_control::explicit_rate::xcp_winf::WinfReading;
use whimbrel_control::window::InitialWindow;
use whimbrel_scenario::ScenarioError;
use whimbrel_units::Duration;

pub use ends::{ExplicitContent, ExplicitReceiver, ExplicitSender, HeaderFormat};
pub use store::{CrossLayer, Position};

use super::{FlowAgent, FlowSetup, FlowTransport, Transport};
use crate::tcp::{ExternalWindow, IdleRestart, LossDetection, Segment, TcpConfig, Timestamps, Variant};
use control::{Control, PacketSizes};

/// Bytes of the IP header.
const IP_HEADER: u32 = 20;

/// XCP.
#[derive(Clone, Copy, Debug)]
pub struct Xcp;

/// RCP.
#[derive(Clone, Copy, Debug)]
pub struct Rcp;

/// ABC.
#[derive(Clone, Copy, Debug)]
pub struct Abc;

/// The keys of a flow that only XCP has.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct XcpKeys {
    /// XCP only: details.
    #[serde(default)]
    xcp: Option<XcpDetails>,
}

/// Details of XCP's sender.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "XcpDetails")]
pub struct XcpDetails {
    /// Reaction to a loss.
    pub loss: LossReaction,
    /// XCP-Winf: the request is computed from the estimate of the sender's own station; otherwise XCP.
    pub winf: Option<Winf>,
    /// The largest window in segments, as TCP's `window_` in ns-2, of which XCP's agent is a subclass; no
    /// limit by default.
    pub window_limit: Option<f64>,
}

/// Reaction of XCP to a loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossReaction {
    /// The window is halved, and XCP continues (ns-2).
    #[default]
    Halve,
    /// TCP's congestion control replaces XCP (draft-falk-xcp-spec-03, Section 4.1.3.2).
    FallBack,
}

/// A reading of the algorithms of XCP-Winf's sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Winf {
    /// Names exchanged where the printed algorithm does not work.
    Sensible,
    /// As printed.
    Literal,
}

/// The keys of a flow that only RCP has.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RcpKeys {
    /// RCP only: details.
    #[serde(default)]
    rcp: Option<RcpDetails>,
}

/// Details of RCP's sender.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "RcpDetails")]
pub struct RcpDetails {
    /// RCP-Winf: the rate is at most the capacity that the sender's own station estimates, and a window
    /// limits the data in the network.
    pub winf: bool,
    /// The largest number of segments that are sent and not acknowledged; no limit by default.
    pub window_limit: Option<f64>,
    /// Repair of losses.
    pub reliability: Reliability,
}

/// Repair of losses under RCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reliability {
    /// The simulated TCP's: losses are repaired at once, and data is delivered in order.
    #[default]
    Tcp,
    /// The agent of RCP's authors for ns-2. Each packet is acknowledged by its number, and delivered in
    /// the order of arrival. None is sent again before the application has ended and all data was sent. The
    /// goodput of an endless source is the data of distinct packets.
    AtTheEnd,
}

/// ABC has no keys of its own.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AbcKeys {}

/// The sender of a flow under explicit rate control.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scheme {
    /// XCP, and the reading of XCP-Winf if it is that.
    Xcp(LossResponse, Option<WinfReading>),
    /// RCP; `true` for RCP-Winf.
    Rcp(bool),
    /// ABC.
    Abc,
}

impl Scheme {
    /// The header for routers.
    const fn format(self) -> HeaderFormat {
        match self {
            Self::Xcp(..) => HeaderFormat::Xcp,
            Self::Rcp(_) => HeaderFormat::Rcp,
            Self::Abc => HeaderFormat::None,
        }
    }
}

/// A limit of the window in the table at `key`.
fn checked_limit(key: &str, limit: Option<f64>) -> Result<Option<f64>, ScenarioError> {
    match limit {
        Some(limit) if !(1.0..1e9).contains(&limit) => {
            Err(ScenarioError::invalid(format!("{key}.window_limit"), limit, "at least one segment"))
        }
        limit => Ok(limit),
    }
}

/// A flow under explicit rate control.
#[derive(Clone, Debug)]
pub struct ExplicitFlow {
    scheme: Scheme,
    config: TcpConfig,
}

impl ExplicitFlow {
    fn new(scheme: Scheme, window_limit: Option<f64>) -> Self {
        let mut config = TcpConfig::rfc(Variant::Sack);
        config.handshake = true;
        config.timestamps = true;
        // The round-trip time is known before the first data, as SYN and answer measure it. As in ns-2.
        config.rto.minimum = Duration::from_millis(200);
        config.window.initial = InitialWindow::Segments(2);
        config.window.idle = IdleRestart::Keep;
        config.window.law = ExternalWindow.into();
        config.window.limit = window_limit;
        Self { scheme, config }
    }
}

impl Transport for Xcp {
    const NAME: &'static str = "xcp";
    const DESCRIPTION: &'static str = "XCP over the simulated TCP: routers allocate changes of the window.";
    const KEYS: &'static [&'static str] = &["xcp"];
    type Keys = XcpKeys;

    fn configure(&self, key: &str, keys: XcpKeys) -> Result<Box<dyn FlowTransport>, ScenarioError> {
        let XcpDetails { loss, winf, window_limit } = keys.xcp.unwrap_or_default();
        let loss = match loss {
            LossReaction::Halve => LossResponse::Halve,
            LossReaction::FallBack => LossResponse::FallBack,
        };
        let winf = winf.map(|winf| match winf {
            Winf::Sensible => WinfReading::Sensible,
            Winf::Literal => WinfReading::Literal,
        });
        let limit = checked_limit(&format!("{key}.xcp"), window_limit)?;
        Ok(Box::new(ExplicitFlow::new(Scheme::Xcp(loss, winf), limit)))
    }
}

impl Transport for Rcp {
    const NAME: &'static str = "rcp";
    const DESCRIPTION: &'static str = "RCP with the simulated TCP's reliability: routers allocate rates.";
    const KEYS: &'static [&'static str] = &["rcp"];
    type Keys = RcpKeys;

    fn configure(&self, key: &str, keys: RcpKeys) -> Result<Box<dyn FlowTransport>, ScenarioError> {
        let RcpDetails { winf, window_limit, reliability } = keys.rcp.unwrap_or_default();
        let limit = checked_limit(&format!("{key}.rcp"), window_limit)?;
        let mut flow = ExplicitFlow::new(Scheme::Rcp(winf), limit);
        if reliability == Reliability::AtTheEnd {
            flow.config.recovery.detection = LossDetection::AtTheEnd;
        }
        Ok(Box::new(flow))
    }
}

impl Transport for Abc {
    const NAME: &'static str = "abc";
    const DESCRIPTION: &'static str = "ABC over the simulated TCP: routers mark packets accelerate or brake.";
    const KEYS: &'static [&'static str] = &[];
    type Keys = AbcKeys;

    fn configure(&self, _: &str, _: AbcKeys) -> Result<Box<dyn FlowTransport>, ScenarioError> {
        Ok(Box::new(ExplicitFlow::new(Scheme::Abc, None)))
    }
}

impl FlowTransport for ExplicitFlow {
    fn scheme(&self) -> String {
        match self.scheme {
            Scheme::Xcp(_, None) => "xcp",
            Scheme::Xcp(_, Some(_)) => "xcp-winf",
            Scheme::Rcp(false) => "rcp",
            Scheme::Rcp(true) => "rcp-winf",
            Scheme::Abc => "abc",
        }
        .to_owned()
    }

    fn delivers_packets(&self) -> bool {
        false
    }

    fn headers(&self) -> u32 {
        let timestamps = Some(Timestamps::default());
        self.config.headers.size(&Segment { timestamps, ..Segment::default() }) + self.scheme.format().size()
    }

    fn fit(&mut self, _: &str, payload: u32, _: bool) -> Result<(), ScenarioError> {
        self.config.segment_size = payload;
        Ok(())
    }

    fn ends(&self, flow: &FlowSetup<'_>) -> [FlowAgent; 2] {
        let sizes = PacketSizes {
            data: self.config.segment_size,
            headers: self.headers(),
            network_headers: IP_HEADER + self.scheme.format().size(),
        };
        let control = Control::new(self.scheme, sizes, self.config.window.limit, flow.estimate(flow.from));
        [
            ExplicitSender::new(flow, &self.config, self.scheme.format(), control).into(),
            ExplicitReceiver::new(flow, &self.config, self.scheme).into(),
        ]
    }
}

#[cfg(test)]
mod tests;
