//! The key `repair` of flows: what brings lost datagrams back, within which time.

mod viewer;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
pub use whimbrel_proto::repair::{Policy, RepairCounts, RepairLayer};
use whimbrel_scenario::ScenarioError;
use whimbrel_scenario::quantity::Time;

use crate::repair_models::{Ends, Plain, blocks, fec_rate, hairpin, nack, rist, srt, tambur};
pub(super) use viewer::Viewer;

/// Repair of lost datagrams within a latency budget.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Repair {
    /// The time from the arrival of the fastest datagrams to delivery, which repair may use. A frame is in
    /// time if it is whole by then.
    pub latency: Time,
    /// Scheme: `"whimbrel"`, the layer of the sockets, and `"external"`, the same as a program sets it, in
    /// DCCP flows; models of other programs in UDP and media flows; or `"none"`, to count the frames of a
    /// flow without repair.
    #[serde(default)]
    pub kind: RepairKind,
    /// DCCP only: if true, datagrams are delivered as soon as all before them are, not at a constant latency.
    #[serde(default)]
    pub early: bool,
    /// SRT only: the share of the input rate that repeats may add. Without, the rate has no limit.
    #[serde(default)]
    pub overhead: Option<f64>,
}

/// Repair scheme.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RepairKind {
    /// Repeats and coded packets by the layer of the sockets.
    #[default]
    Whimbrel,
    /// The same layer with parity and repeats as a program sets them, nothing before.
    External,
    /// Nothing.
    None,
    /// SRT in live mode.
    Srt,
    /// RIST, by librist's rules.
    Rist,
    /// libwebrtc's requests.
    Nack,
    /// libwebrtc's requests and its share of parity.
    NackFec,
    /// The blocks of wfb-ng: four coded packets for eight datagrams.
    WfbNg,
    /// Tambur's streaming code.
    Tambur,
    /// Hairpin: coded packets with each round of repeats.
    Hairpin,
}

impl RepairKind {
    /// Its name in scenarios and records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Whimbrel => "whimbrel",
            Self::External => "external",
            Self::None => "none",
            Self::Srt => "srt",
            Self::Rist => "rist",
            Self::Nack => "nack",
            Self::NackFec => "nack-fec",
            Self::WfbNg => "wfb-ng",
            Self::Tambur => "tambur",
            Self::Hairpin => "hairpin",
        }
    }
}

impl Repair {
    /// The ends of the model.
    pub(super) fn ends(&self) -> Ends {
        let latency = self.latency.0;
        match self.kind {
            RepairKind::Srt => srt::ends(latency, self.overhead),
            RepairKind::Rist => rist::ends(latency),
            RepairKind::Nack => nack::ends(),
            RepairKind::NackFec => fec_rate::ends(),
            RepairKind::WfbNg => blocks::ends(blocks::VIDEO),
            RepairKind::Tambur => tambur::ends(),
            RepairKind::Hairpin => hairpin::ends(latency),
            RepairKind::None | RepairKind::Whimbrel | RepairKind::External => {
                [Box::new(Plain), Box::new(Plain)]
            }
        }
    }

    /// Refuses what the flow whose table has the key `key` does not have: kinds other than these, and keys of
    /// other kinds.
    pub(super) fn expect(&self, key: &str, kinds: &[RepairKind]) -> Result<(), ScenarioError> {
        let refuse = |name: &str, value: Value, expected: String| {
            Err(ScenarioError::invalid(format!("{key}.repair.{name}"), value, expected))
        };
        if !kinds.contains(&self.kind) {
            let names: Vec<String> = kinds.iter().map(|kind| format!("\"{}\"", kind.name())).collect();
            return refuse(
                "kind",
                Value::from(self.kind.name()),
                format!("{} with this transport", names.join(", ")),
            );
        }
        if self.early && self.kind != RepairKind::Whimbrel {
            return refuse("early", Value::from(true), "false: only kind = \"whimbrel\" has it".to_owned());
        }
        match self.overhead {
            Some(share) if self.kind != RepairKind::Srt => {
                refuse("overhead", Value::from(share), "nothing: only kind = \"srt\" has it".to_owned())
            }
            Some(share) if !(0.05..=1.0).contains(&share) => {
                refuse("overhead", Value::from(share), "a share from 0.05 to 1".to_owned())
            }
            _ => Ok(()),
        }
    }
}
