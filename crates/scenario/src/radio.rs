//! Scenario keys of a radio with a fading channel.

use schemars::JsonSchema;
use serde::Deserialize;
use whimbrel_netsim::impairment::{Frames, Rayleigh, Reception};

use super::quantity::{Frequency, Size, Time};

/// A CDMA radio over a Rayleigh-fading channel with Jakes' Doppler spectrum, in continuous time. The defaults
/// come from the paper `lda`, Section 5.2, with its high loss.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Radio {
    /// The largest Doppler shift: speed times carrier frequency over the speed of light.
    pub doppler: Frequency,
    /// Duration of a frame.
    pub frame: Time,
    /// Bytes of packets that a frame carries. A longer packet takes several frames, and is lost with
    /// any of them; packets that leave within a frame share it.
    pub frame_size: Size,
    /// Code symbols per frame; by default 16 per byte, as the code's rate is 1/2.
    #[serde(default)]
    pub symbols: Option<u32>,
    /// The code's memory in bits, from 2 to 8.
    #[serde(default = "Radio::default_code_memory")]
    pub code_memory: u32,
    /// Number of frames that are interleaved together.
    #[serde(default = "Radio::default_interleaved")]
    pub interleaved: u32,
    /// The interleaver's columns: the number of consecutive symbols spread over the interleaved frames. Even.
    #[serde(default = "Radio::default_columns")]
    pub columns: u32,
    /// Number of paths that the receiver resolves and combines.
    #[serde(default = "Radio::default_paths")]
    pub paths: u32,
    /// Mean energy per information bit over noise density of each path, in decibels.
    #[serde(default = "Radio::default_eb_n0_db")]
    pub eb_n0_db: f64,
    /// Number of users that send at the same time, this one included.
    #[serde(default = "Radio::default_users")]
    pub users: u32,
    /// Chips per symbol.
    #[serde(default = "Radio::default_spreading_gain")]
    pub spreading_gain: u32,
}

impl Radio {
    const fn default_code_memory() -> u32 {
        4
    }

    const fn default_interleaved() -> u32 {
        2
    }

    const fn default_columns() -> u32 {
        108
    }

    const fn default_paths() -> u32 {
        4
    }

    const fn default_eb_n0_db() -> f64 {
        4.0
    }

    const fn default_users() -> u32 {
        5
    }

    const fn default_spreading_gain() -> u32 {
        16
    }

    /// The same for the simulator. A frame beyond 4 GB becomes one of 0 bytes, which the simulator refuses.
    pub(crate) fn model(&self) -> Rayleigh {
        let bytes = u32::try_from(self.frame_size.0.as_u64()).unwrap_or(0);
        Rayleigh {
            doppler_hz: self.doppler.0,
            frames: Frames {
                duration: self.frame.0,
                bytes,
                symbols: self.symbols.unwrap_or(bytes.saturating_mul(16)),
                code_memory: self.code_memory,
                interleaved: self.interleaved,
                columns: self.columns,
            },
            reception: Reception {
                paths: self.paths,
                eb_n0_db: self.eb_n0_db,
                users: self.users,
                spreading_gain: self.spreading_gain,
            },
        }
    }
}
