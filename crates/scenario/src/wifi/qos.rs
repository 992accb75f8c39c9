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
    /// Frames that may be outstanding, the bits of a block acknowledgement: 64 by default, 256 with 802.11ax;
    /// 1 for single frames.
    pub window: Option<u16>,
}

/// Parameters of access categories.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Edca {
    /// Background: DSCP CS1.
    pub background: Option<Category>,
    /// Best effort: all packets of flows without a `dscp`.
    pub best_effort: Option<Category>,
    /// Video: DSCP CS3 to CS5, AF3x and AF4x.
    pub video: Option<Category>,
    /// Voice: DSCP EF, VA, CS6 and CS7.
    pub voice: Option<Category>,
}

/// Parameters of an access category. The defaults are Linux's and, at access points, hostapd's.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Category {
    /// Slots between SIFS and the backoff; by default 7, 3, 2 and 2, from background to voice, at access
    /// points 7, 3, 1 and 1.
    pub aifsn: Option<u8>,
    /// The smallest contention window in slots, a power of two minus one; by default 15, 15, 7 and 3.
    pub cw_min: Option<u16>,
    /// The largest contention window; by default 1023, 1023, 15 and 7, of best effort at access points 63.
    pub cw_max: Option<u16>,
    /// Time for which a station uses the medium after an access; by default none for background and best
    /// effort, which is one exchange, 3.008 ms for video and 1.504 ms for voice.
    pub txop_limit: Option<Time>,
}

/// Airtime that may wait at a MAC before its packets wait in the queues: Linux's airtime queue limits.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Aql {
    /// For one receiver and category at any time; 5 ms by default.
    pub low: Option<Time>,
    /// For one receiver and category while all have less than `threshold`; 12 ms by default.
    pub high: Option<Time>,
    /// For all receivers; 24 ms by default.
    pub threshold: Option<Time>,
}
