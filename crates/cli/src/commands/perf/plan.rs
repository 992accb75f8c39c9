//! What the two ends agree to do.

use serde::{Deserialize, Serialize};
use whimbrel_net::{Ccid, Config, OverflowPolicy, SendQueueConfig, ServiceCode};
use whimbrel_units::{DataRate, Duration};

/// Which protocol carries the measured data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Transport {
    Dccp,
    Udp,
    Tcp,
}

/// Who sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    /// Client to server.
    Up,
    /// Server to client.
    Down,
    /// Both.
    Both,
}

impl Direction {
    pub(crate) fn client_sends(self) -> bool {
        self != Self::Down
    }
    pub(crate) fn server_sends(self) -> bool {
        self != Self::Up
    }
}

/// A test, as the client wants it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// Names the test: the first thing on each of its data connections.
    pub(crate) token: u64,
    pub(crate) transport: Transport,
    pub(crate) ccid: u8,
    pub(crate) service_code: u32,
    pub(crate) ecn: bool,
    pub(crate) direction: Direction,
    pub(crate) streams: u16,
    /// Application data per datagram, in bytes.
    pub(crate) size: u32,
    /// Application data per stream in bit/s; `None`: as fast as allowed.
    pub(crate) rate: Option<f64>,
    pub(crate) time_s: f64,
    pub(crate) interval_s: f64,
}

impl Plan {
    /// Why a server should not do this, if so. It came from the network.
    pub(crate) fn objection(&self) -> Option<String> {
        let finite = |value: f64, low: f64, high: f64| value.is_finite() && (low..=high).contains(&value);
        let wrong = |what: &str, expected: &str| Some(format!("{what}: expected {expected}"));
        if !(1..=1000).contains(&self.streams) {
            wrong("streams", "1 to 1000")
        } else if !(40..=1440).contains(&self.size) {
            wrong("size", "40 to 1440 bytes")
        } else if !finite(self.time_s, 1e-3, 1e6) || !finite(self.interval_s, 1e-2, 1e6) {
            wrong("time", "0.001 to 1000000 seconds, intervals of 0.01 s at least")
        } else if self.rate.is_some_and(|rate| !finite(rate, 1.0, 1e12)) {
            wrong("rate", "1 to 10^12 bit/s")
        } else if !(2..=3).contains(&self.ccid) {
            wrong("CCID", "2 or 3")
        } else {
            None
        }
    }

    pub(crate) fn interval(&self) -> Duration {
        Duration::from_secs_f64(self.interval_s)
    }

    pub(crate) fn time(&self) -> Duration {
        Duration::from_secs_f64(self.time_s)
    }

    /// The time between two datagrams of a stream; `None`: as fast as allowed.
    pub(crate) fn spacing(&self) -> Option<Duration> {
        self.rate.map(|rate| {
            whimbrel_units::ByteCount::new(u64::from(self.size)) / DataRate::from_bits_per_second(rate)
        })
    }

    /// The DCCP configuration of both ends.
    pub(crate) fn dccp_config(&self) -> Config {
        let ccid = Ccid(self.ccid);
        Config {
            service_code: ServiceCode(self.service_code),
            sender_ccids: [ccid].into_iter().collect(),
            receiver_ccids: [ccid].into_iter().collect(),
            ecn: self.ecn,
            max_datagram: 1440,
            send_queue: SendQueueConfig { overflow: OverflowPolicy::Refuse, ..SendQueueConfig::default() },
            ..Config::default()
        }
    }
}
