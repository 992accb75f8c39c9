//! Parameters of infrastructure networks.

use alloc::vec::Vec;
use core::fmt;

use whimbrel_units::Duration;

use super::message::TIME_UNIT;
use super::{AccessPointConfig, PowerSaveConfig, Ssid};
use crate::frame::MacAddress;

/// The procedure by which a station finds access points (IEEE 802.11-2007 section 11.1.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scan {
    /// The station sends probe requests.
    Active {
        /// ProbeDelay: wait before the probe request on a channel.
        probe_delay: Duration,
        /// MinChannelTime: wait for the first activity after it.
        min_channel_time: Duration,
        /// MaxChannelTime: wait on a channel with activity.
        max_channel_time: Duration,
    },
    /// The station waits for beacons.
    Passive {
        /// Time on each channel.
        channel_time: Duration,
    },
}

/// The conditions on which a station leaves its access point. Any of them suffices.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HandoverTrigger {
    /// Number of consecutive attempts to send data that got no acknowledgement; `None` to ignore them.
    pub failed_attempts: Option<u32>,
    /// Number of consecutive beacons that were not received, without data or acknowledgements of the access
    /// point in the meantime; `None` to ignore them.
    pub missed_beacons: Option<u32>,
    /// Power of a beacon in watts below which the station looks for another access point, and the ratio by
    /// which that must be stronger; `None` to ignore the power.
    pub weak_signal: Option<(f64, f64)>,
}

/// Parameters of a [`Client`](super::Client).
#[derive(Clone, PartialEq, Debug)]
pub struct StationConfig {
    /// The station's address.
    pub address: MacAddress,
    /// The network that it joins.
    pub ssid: Ssid,
    /// The channels to be scanned, in this order.
    pub channels: Vec<u8>,
    /// The scanning procedure.
    pub scan: Scan,
    /// Time to change the channel.
    pub switch_time: Duration,
    /// Time to wait for the answer to an authentication or association request.
    pub response_timeout: Duration,
    /// Repetitions of such a request, after which the next access point is tried.
    pub retries: u32,
    /// Bounds of the pause after a search that led to no association: its length is uniform from zero to a
    /// bound, which is the first value, doubles with each further search in vain, and does not exceed the
    /// second value. Zero for no pause.
    pub search_pause: (Duration, Duration),
    /// The conditions for leaving an access point.
    pub trigger: HandoverTrigger,
    /// Shortest time between two searches because of a weak signal.
    pub search_interval: Duration,
    /// Time of the authentication on higher layers and of the exchange of keys, from the association to the
    /// first data.
    pub key_exchange: Duration,
    /// The same time after a change of the access point, where it is another one (802.11r).
    pub fast_transition: Option<Duration>,
    /// Power saving; `None` for a station that is always awake.
    pub power_save: Option<PowerSaveConfig>,
    /// `true` if the station decodes OFDM frames, `false` for an 802.11b station.
    pub is_erp: bool,
    /// `true` if the station scans only once and later chooses among the access points found then (ns-2).
    pub scans_once: bool,
}

impl StationConfig {
    /// ns-2.35's station: active scanning with ProbeDelay 0.1 ms, MinChannelTime 5 ms and MaxChannelTime 11
    /// ms; it leaves an access point after the third failed retry of a data frame, and learns the access
    /// points only once.
    pub fn ns2(address: MacAddress, ssid: Ssid, channels: Vec<u8>) -> Self {
        Self {
            scan: Scan::Active {
                probe_delay: Duration::from_micros(100),
                min_channel_time: Duration::from_millis(5),
                max_channel_time: Duration::from_millis(11),
            },
            switch_time: Duration::ZERO,
            search_pause: (Duration::ZERO, Duration::ZERO),
            trigger: HandoverTrigger { failed_attempts: Some(3), missed_beacons: None, weak_signal: None },
            scans_once: true,
            ..Self::new(address, ssid, channels)
        }
    }

    /// ns-2.35's passive scanning: 120 ms per channel.
    pub const NS2_PASSIVE: Scan = Scan::Passive { channel_time: Duration::from_millis(120) };

    /// A station that scans actively (20 ms to 40 ms per channel), changes channels in 2 ms, and leaves an
    /// access point after 20 failed attempts, or a silence of 7 beacons. It pauses between searches in vain
    /// for up to 0.1 s at first, and up to 5 s in the end, the pauses of `wpa_supplicant` after a failed
    /// connection and after a scan that has found nothing.
    pub fn new(address: MacAddress, ssid: Ssid, channels: Vec<u8>) -> Self {
        Self {
            address,
            ssid,
            channels,
            scan: Scan::Active {
                probe_delay: Duration::from_micros(100),
                min_channel_time: Duration::from_millis(20),
                max_channel_time: Duration::from_millis(40),
            },
            switch_time: Duration::from_millis(2),
            response_timeout: Duration::from_millis(50),
            retries: 3,
            search_pause: (Duration::from_millis(100), Duration::from_secs(5)),
            trigger: HandoverTrigger {
                failed_attempts: Some(20),
                missed_beacons: Some(7),
                weak_signal: None,
            },
            search_interval: Duration::from_secs(1),
            key_exchange: Duration::ZERO,
            fast_transition: None,
            power_save: None,
            is_erp: true,
            scans_once: false,
        }
    }

    /// An error for the first parameter with which the machine does not work.
    pub fn check(&self) -> Result<(), InvalidInfrastructure> {
        let invalid = |parameter, expected| Err(InvalidInfrastructure::Value { parameter, expected });
        if self.channels.is_empty() {
            return invalid("channels", "at least one channel");
        }
        let (time, parameter) = match self.scan {
            Scan::Active { min_channel_time, max_channel_time, .. }
                if min_channel_time > max_channel_time =>
            {
                return invalid("max_channel_time", "at least min_channel_time");
            }
            Scan::Active { min_channel_time, .. } => (min_channel_time, "min_channel_time"),
            Scan::Passive { channel_time } => (channel_time, "channel_time"),
        };
        if time.is_zero() {
            return invalid(parameter, "a time above 0");
        }
        if let Some(PowerSaveConfig { timeout, listen_interval, .. }) = self.power_save {
            if timeout.is_zero() {
                return invalid("power_save.timeout", "a time above 0");
            }
            if listen_interval == 0 {
                return invalid("power_save.listen_interval", "at least 1: every beacon");
            }
        }
        if self.response_timeout.is_zero() {
            return invalid("response_timeout", "a time above 0");
        }
        Ok(())
    }
}

/// Parameters with which an infrastructure network does not work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InvalidInfrastructure {
    /// A parameter has a value out of range.
    Value {
        /// Name of the parameter.
        parameter: &'static str,
        /// Description of the valid values.
        expected: &'static str,
    },
    /// Two access points have one address (BSSID).
    DuplicateAddress {
        /// The address.
        address: MacAddress,
        /// Positions of the two in the list.
        positions: (usize, usize),
    },
}

impl fmt::Display for InvalidInfrastructure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { parameter, expected } => write!(f, "{parameter}: expected {expected}"),
            Self::DuplicateAddress { address, positions: (first, second) } => write!(
                f,
                "access points {first} and {second} have one BSSID, {address}; expected an address of its own for each"
            ),
        }
    }
}

impl core::error::Error for InvalidInfrastructure {}

/// Checks the access points of a network together.
///
/// # Errors
/// If two have one address, or one has a group address or a beacon interval that beacons cannot announce.
pub fn check_access_points(configs: &[AccessPointConfig]) -> Result<(), InvalidInfrastructure> {
    for (second, config) in configs.iter().enumerate() {
        // The field of a beacon counts time units in 16 bits (7.3.1.3).
        if config.beacon_interval < TIME_UNIT || config.beacon_interval > TIME_UNIT * 65_535 {
            let (parameter, expected) = ("beacon_interval", "1.024 ms to 67.1 s (1 to 65535 time units)");
            return Err(InvalidInfrastructure::Value { parameter, expected });
        }
        if config.dtim_period == Some(0) {
            let (parameter, expected) = ("dtim_period", "1 to 255 beacons");
            return Err(InvalidInfrastructure::Value { parameter, expected });
        }
        if config.power_save_lifetime.is_zero() {
            let (parameter, expected) = ("power_save_lifetime", "a time above 0");
            return Err(InvalidInfrastructure::Value { parameter, expected });
        }
        if config.power_save_buffer == 0 {
            let (parameter, expected) = ("power_save_buffer", "at least 1 packet");
            return Err(InvalidInfrastructure::Value { parameter, expected });
        }
        if config.address.is_group() {
            let (parameter, expected) = ("address", "a unicast address");
            return Err(InvalidInfrastructure::Value { parameter, expected });
        }
        if let Some(first) = configs[..second].iter().position(|other| other.address == config.address) {
            let (address, positions) = (config.address, (first, second));
            return Err(InvalidInfrastructure::DuplicateAddress { address, positions });
        }
    }
    Ok(())
}
