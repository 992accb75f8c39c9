//! Scenario keys of 802.11n, ac and ax.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::quantity::{Size, Time};

/// The band of an 802.11n or ax medium.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
pub enum Band {
    /// 2.4 GHz.
    #[serde(rename = "2.4 GHz")]
    Ghz2_4,
    /// 5 GHz.
    #[default]
    #[serde(rename = "5 GHz")]
    Ghz5,
}

/// Limits of A-MPDUs, all of which hold at once.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ampdu {
    /// The longest A-MPDU; the longest of the standard by default.
    pub size: Option<Size>,
    /// The longest time on the air; 5484 us by default.
    pub time: Option<Time>,
    /// Frames that may be outstanding, the bits of a block acknowledgement: 64 by default, 256 with 802.11ax; 1 for single frames.
    pub window: Option<u16>,
}

/// Parameters of access categories.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Edca {
    /// Best effort, which all packets are.
    pub best_effort: Option<Category>,
}

/// Parameters of an access category. By default those of Linux and, at access points, of hostapd.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Category {
    /// Slots between SIFS and the backoff; 3 by default.
    pub aifsn: Option<u8>,
    /// The smallest contention window in slots, a power of two minus one; 15 by default.
    pub cw_min: Option<u16>,
    /// The largest contention window; 1023 by default, at access points 63.
    pub cw_max: Option<u16>,
    /// Time for which a station uses the medium after an access; none by default: one exchange.
    pub txop_limit: Option<Time>,
}
