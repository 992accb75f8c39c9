//! Explicit rate control at an egress: the scenario key `controller` and its resolution.

use schemars::JsonSchema;
use serde::Deserialize;
use whimbrel_control::capacity::Averaging;
use whimbrel_control::explicit_rate::blind::BlindConfig;
use whimbrel_control::explicit_rate::xcp_winf::WinfReading;
use whimbrel_control::explicit_rate::{
    AbcConfig, AbcRouter, RcpConfig, RcpRouter, RouterLaw, XcpConfig, XcpRouter, rcp_winf, xcp_winf,
};
use whimbrel_netsim::QueueLimit;
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::error::ScenarioError;
use super::quantity::Rate;

/// Explicit rate control of an egress: a router law that writes allocations into the headers of packets.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Controller")]
pub struct ControllerKeys {
    /// The law.
    pub law: Law,
    /// The description of the law to follow. XCP: `draft` (the default), `sigcomm` or `ns-2`; RCP: `authors`
    /// (the default), `thesis` or `netfpga`; XCP-Winf and RCP-Winf: `sensible` (the default) or `literal`,
    /// and RCP-Winf also `undivided`.
    #[serde(default)]
    pub reading: Option<Reading>,
    /// The capacity that the law assumes; by default the rate of the link and its changes by events, or the
    /// rate of data frames of the medium.
    #[serde(default)]
    pub capacity: Option<Rate>,
    /// Gain of the spare bandwidth; by default, the reading's.
    #[serde(default)]
    pub alpha: Option<f64>,
    /// Gain of the queue; by default, the reading's.
    #[serde(default)]
    pub beta: Option<f64>,
    /// `true` to reduce the available bandwidth that a station estimates as a sender by the share of its
    /// backoff (paper `winf`, equations 7 to 9); `xcp-winf` and `rcp-winf` only. `false` by default.
    #[serde(default)]
    pub collision_correction: Option<bool>,
    /// `true` to reduce the capacity as well: the paper's text names it, equation 9 does not. It needs
    /// `collision_correction`. `false` by default.
    #[serde(default)]
    pub capacity_correction: Option<bool>,
    /// `true` to add DIFS, the mean of the smallest backoff, RTS, CTS and three SIFS to the time of each
    /// exchange from which rt-Winf computes the capacity, as in equation 3 of paper `winf`; `xcp-winf` and
    /// `rcp-winf` only. `false` by default.
    #[serde(default)]
    pub whole_cycle: Option<bool>,
    /// The exchanges from which rt-Winf computes the capacity; `xcp-winf` and `rcp-winf` only. `latest` by
    /// default.
    #[serde(default)]
    pub averaging: Option<CapacityAveraging>,
}

/// The exchanges from which a capacity is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CapacityAveraging {
    /// The latest one, also of an acknowledgement of a transport.
    Latest,
    /// The latest one whose packet is at least as large as all before.
    Largest,
    /// All of them: the sum of their sizes over the sum of their times.
    Total,
}

impl From<CapacityAveraging> for Averaging {
    fn from(averaging: CapacityAveraging) -> Self {
        match averaging {
            CapacityAveraging::Latest => Self::Latest,
            CapacityAveraging::Largest => Self::Largest,
            CapacityAveraging::Total => Self::Total,
        }
    }
}

/// A router law.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// XCP (Katabi, Handley and Rohrs 2002; draft-falk-xcp-spec-03).
    Xcp,
    /// RCP (Dukkipati 2007).
    Rcp,
    /// XCP with the capacity and the available bandwidth that rt-Winf estimates; 802.11 stations only.
    XcpWinf,
    /// RCP with the capacity that rt-Winf estimates; 802.11 stations only.
    RcpWinf,
    /// XCP that infers the spare bandwidth from the growth of the queue.
    BlindXcp,
    /// ABC, one bit per packet (Goyal et al. 2020).
    Abc,
}

/// The description of a law that is followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// XCP: draft-falk-xcp-spec-03.
    Draft,
    /// XCP: SIGCOMM 2002.
    Sigcomm,
    /// XCP: the router of ns-2.35.
    #[serde(rename = "ns-2")]
    Ns2,
    /// RCP: the authors' code for ns-2.
    Authors,
    /// RCP: the gains of Dukkipati's thesis.
    Thesis,
    /// RCP: the router on NetFPGA.
    Netfpga,
    /// Winf: names exchanged where the printed algorithm does not work.
    Sensible,
    /// Winf: as printed.
    Literal,
    /// RCP-Winf: as printed, without the divisor of the rate equation.
    Undivided,
}

/// The law of a [`ControllerPlan`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum LawPlan {
    /// XCP, XCP-Winf or blind XCP.
    Xcp(XcpConfig),
    /// RCP or RCP-Winf.
    Rcp(RcpConfig),
    /// ABC.
    Abc(AbcConfig),
}

/// The controller of an egress, resolved.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ControllerPlan {
    /// The law.
    pub law: LawPlan,
    /// The capacity at the start.
    pub capacity: DataRate,
    /// `true` if the capacity follows changes of the link's rate.
    pub follows_rate: bool,
    /// `true` if rt-Winf estimates the capacity.
    pub is_estimated: bool,
    /// `true` if rt-Winf corrects the available bandwidth of a sender for collisions.
    pub corrects_collisions: bool,
    /// `true` if rt-Winf corrects the capacity of a sender by the same factor.
    pub corrects_capacity: bool,
    /// `true` if rt-Winf counts the time of whole exchanges, with the access to the medium and the handshake.
    pub counts_whole_cycle: bool,
    /// The exchanges from which rt-Winf computes the capacity.
    pub averaging: Averaging,
}

impl ControllerPlan {
    /// The law of an egress from the start of the simulation.
    pub fn build(&self) -> Box<dyn RouterLaw> {
        match self.law {
            LawPlan::Xcp(config) => Box::new(XcpRouter::new(config, self.capacity, Instant::ZERO)),
            LawPlan::Rcp(config) => Box::new(RcpRouter::new(config, self.capacity, Instant::ZERO)),
            LawPlan::Abc(config) => Box::new(AbcRouter::new(config, self.capacity, Instant::ZERO)),
        }
    }
}

/// Bytes per packet of a queue limit in packets, for the buffer of blind XCP.
const PACKET: u64 = 1500;

/// Resolves `controller` of the table at `key` for an egress of `rate` and `limit`. `propagation` is the
/// delay of a link, and `None` for 802.11 stations.
pub(crate) fn plan(
    key: &str,
    keys: Option<&ControllerKeys>,
    rate: DataRate,
    limit: QueueLimit,
    propagation: Option<Duration>,
) -> Result<Option<ControllerPlan>, ScenarioError> {
    let Some(keys) = keys else { return Ok(None) };
    let key = format!("{key}.controller");
    let is_estimated = matches!(keys.law, Law::XcpWinf | Law::RcpWinf);
    if is_estimated && propagation.is_some() {
        let expected = "a law without an estimate: rt-Winf observes 802.11 stations (`[[wifi]]`)";
        return Err(ScenarioError::invalid(format!("{key}.law"), name(keys.law), expected));
    }
    let estimate_keys = [
        ("collision_correction", keys.collision_correction.map(|given| given.to_string())),
        ("capacity_correction", keys.capacity_correction.map(|given| given.to_string())),
        ("whole_cycle", keys.whole_cycle.map(|given| given.to_string())),
        ("averaging", keys.averaging.map(|given| format!("{given:?}").to_lowercase())),
    ];
    for (name, given) in estimate_keys {
        if let Some(given) = given.filter(|_| !is_estimated) {
            let expected = "nothing: only \"xcp-winf\" and \"rcp-winf\" estimate the available bandwidth";
            return Err(ScenarioError::invalid(format!("{key}.{name}"), given, expected));
        }
    }
    if keys.capacity_correction == Some(true) && keys.collision_correction != Some(true) {
        let expected = "false without `collision_correction`";
        return Err(ScenarioError::invalid(format!("{key}.capacity_correction"), true, expected));
    }
    for (name, gain) in [("alpha", keys.alpha), ("beta", keys.beta)] {
        if let Some(gain) = gain.filter(|gain| !(gain.is_finite() && (0.0..=10.0).contains(gain))) {
            return Err(ScenarioError::invalid(format!("{key}.{name}"), gain, "a gain from 0 to 10"));
        }
    }
    let capacity = match keys.capacity {
        Some(Rate(capacity)) if capacity.is_zero() => {
            return Err(ScenarioError::invalid(
                format!("{key}.capacity"),
                "\"0 bit/s\"",
                "a rate above zero",
            ));
        }
        Some(Rate(capacity)) => capacity,
        None => rate,
    };
    let mut law = law(&key, keys, limit)?;
    if let (LawPlan::Xcp(config), Some(delay)) = (&mut law, propagation) {
        *config = config.for_propagation_delay(delay);
    }
    Ok(Some(ControllerPlan {
        law,
        capacity,
        follows_rate: keys.capacity.is_none(),
        is_estimated,
        corrects_collisions: keys.collision_correction.unwrap_or(false),
        corrects_capacity: keys.capacity_correction.unwrap_or(false),
        counts_whole_cycle: keys.whole_cycle.unwrap_or(false),
        averaging: keys.averaging.map_or_else(Averaging::default, Averaging::from),
    }))
}

fn law(key: &str, keys: &ControllerKeys, limit: QueueLimit) -> Result<LawPlan, ScenarioError> {
    let refuse = |expected: &str| {
        let found = keys.reading.map_or_else(String::new, |reading| format!("{reading:?}").to_lowercase());
        Err(ScenarioError::invalid(format!("{key}.reading"), found, expected.to_owned()))
    };
    let mut law = match (keys.law, keys.reading) {
        (Law::Xcp, None | Some(Reading::Draft)) => LawPlan::Xcp(XcpConfig::draft()),
        (Law::Xcp, Some(Reading::Sigcomm)) => LawPlan::Xcp(XcpConfig::sigcomm()),
        (Law::Xcp, Some(Reading::Ns2)) => LawPlan::Xcp(XcpConfig::ns2()),
        (Law::Xcp, Some(_)) => return refuse("\"draft\", \"sigcomm\" or \"ns-2\" for XCP"),
        (Law::Rcp, None | Some(Reading::Authors)) => LawPlan::Rcp(RcpConfig::authors()),
        (Law::Rcp, Some(Reading::Thesis)) => LawPlan::Rcp(RcpConfig::thesis()),
        (Law::Rcp, Some(Reading::Netfpga)) => LawPlan::Rcp(RcpConfig::netfpga()),
        (Law::Rcp, Some(_)) => return refuse("\"authors\", \"thesis\" or \"netfpga\" for RCP"),
        (Law::XcpWinf, None | Some(Reading::Sensible)) => {
            LawPlan::Xcp(xcp_winf::router(WinfReading::Sensible))
        }
        (Law::XcpWinf, Some(Reading::Literal)) => LawPlan::Xcp(xcp_winf::router(WinfReading::Literal)),
        (Law::XcpWinf, Some(_)) => return refuse("\"sensible\" or \"literal\" for XCP-Winf"),
        (Law::RcpWinf, None | Some(Reading::Sensible)) => {
            LawPlan::Rcp(rcp_winf::router(WinfReading::Sensible))
        }
        (Law::RcpWinf, Some(Reading::Literal)) => LawPlan::Rcp(rcp_winf::router(WinfReading::Literal)),
        (Law::RcpWinf, Some(Reading::Undivided)) => LawPlan::Rcp(rcp_winf::undivided()),
        (Law::RcpWinf, Some(_)) => return refuse("\"sensible\", \"literal\" or \"undivided\" for RCP-Winf"),
        (Law::BlindXcp, None) => {
            let buffer = match limit {
                QueueLimit::Packets(packets) => ByteCount::new(u64::from(packets) * PACKET),
                QueueLimit::Bytes(bytes) => ByteCount::new(bytes),
                QueueLimit::Unlimited => {
                    let expected = "another law: blind XCP needs a limited `queue`";
                    return Err(ScenarioError::invalid(format!("{key}.law"), name(keys.law), expected));
                }
            };
            LawPlan::Xcp(BlindConfig::for_buffer(buffer).router())
        }
        (Law::Abc, None) => LawPlan::Abc(AbcConfig::default()),
        (Law::BlindXcp | Law::Abc, Some(_)) => return refuse("nothing: the law has one reading"),
    };
    match &mut law {
        LawPlan::Xcp(config) => {
            config.alpha = keys.alpha.unwrap_or(config.alpha);
            config.beta = keys.beta.unwrap_or(config.beta);
        }
        LawPlan::Rcp(config) => {
            config.alpha = keys.alpha.unwrap_or(config.alpha);
            config.beta = keys.beta.unwrap_or(config.beta);
        }
        LawPlan::Abc(_) => {
            if let Some((name, gain)) =
                [("alpha", keys.alpha), ("beta", keys.beta)].into_iter().find_map(|(n, g)| Some((n, g?)))
            {
                return Err(ScenarioError::invalid(
                    format!("{key}.{name}"),
                    gain,
                    "nothing: ABC has no gains",
                ));
            }
        }
    }
    Ok(law)
}

/// The name in scenarios, in quotation marks.
const fn name(law: Law) -> &'static str {
    match law {
        Law::Xcp => "\"xcp\"",
        Law::Rcp => "\"rcp\"",
        Law::XcpWinf => "\"xcp-winf\"",
        Law::RcpWinf => "\"rcp-winf\"",
        Law::BlindXcp => "\"blind-xcp\"",
        Law::Abc => "\"abc\"",
    }
}
