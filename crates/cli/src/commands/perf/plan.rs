//! The plan of a test, agreed by the two ends.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use whimbrel_lab::traffic::Schedule;
use whimbrel_net::{
    Ccid, Config, Differentiation, LatePolicy, LossDetection, Mechanism, OverflowPolicy, Registry, Scheme,
    SendQueueConfig, ServiceCode, TimerConfig,
};
use whimbrel_units::{DataRate, Duration};

use super::tcp::LARGEST_WRITE;

/// Application data per datagram, in bytes: room for the head, and what fits a packet of 1500 bytes
/// with all headers and options.
pub(crate) const MIN_SIZE: u32 = 40;
pub(crate) const MAX_SIZE: u32 = 1400;

/// Time after which a server without any packet on its data connection counts as dead, and the test is over, besides the
/// time for which the link may be down. After half of it the server is probed.
pub(crate) const IDLE_LIMIT: Duration = Duration::from_secs(10);

/// The protocol that carries the measured data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Transport {
    Dccp,
    Udp,
    Tcp,
}

/// The sending ends.
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

/// The loss detection of a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Detection {
    /// By the reorder buffer if there is one, otherwise after three later packets.
    #[default]
    Automatic,
    /// After three later packets (RFC 5348, Section 5.1).
    Packets,
    /// After a time that adapts to the reordering seen (RACK, RFC 8985).
    Rack,
}

/// A test, as requested by the client.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// Identifies the test: the first field on each of its data connections.
    pub(crate) token: u64,
    pub(crate) transport: Transport,
    pub(crate) ccid: u8,
    pub(crate) service_code: u32,
    pub(crate) ecn: bool,
    /// IP protocol 33 instead of UDP.
    #[serde(default)]
    pub(crate) native: bool,
    /// The name of the scheme by which receivers classify losses.
    #[serde(default)]
    pub(crate) lda: Option<String>,
    /// The longest time for which receivers hold datagrams for earlier ones, in seconds.
    #[serde(default)]
    pub(crate) reorder_s: Option<f64>,
    /// `true` if that delay is an upper bound, below which receivers follow the lateness that they measure.
    #[serde(default)]
    pub(crate) reorder_adapts: bool,
    /// `true` if receivers deliver datagrams that arrive later than that, out of order, rather than discard them.
    #[serde(default)]
    pub(crate) deliver_late: bool,
    /// The loss detection of receivers.
    #[serde(default)]
    pub(crate) loss_detection: Detection,
    pub(crate) direction: Direction,
    pub(crate) streams: u16,
    /// Application data per datagram (TCP: per write), in bytes.
    pub(crate) size: u32,
    /// Application data per stream in bit/s; `None`: as fast as allowed.
    pub(crate) rate_bps: Option<f64>,
    /// Length of the measured part of the test, in seconds.
    pub(crate) time_s: f64,
    /// Length of the part before that, which the summary leaves out, in seconds.
    #[serde(default)]
    pub(crate) omit_s: f64,
    /// Application data per stream after which the test ends; `None`: after the time.
    #[serde(default)]
    pub(crate) bytes: Option<u64>,
    /// Congestion control of the kernel's TCP at the ends that send; `None`: the system's.
    #[serde(default)]
    pub(crate) congestion: Option<String>,
    pub(crate) interval_s: f64,
    /// Time for which the ends wait for each other while the link is down, in seconds.
    #[serde(default)]
    pub(crate) patience_s: f64,
    /// The schedule to send, at the end that sends it, instead of datagrams of one size.
    #[serde(skip)]
    pub(crate) media: Option<Schedule>,
}

impl Plan {
    /// The reason why a server should refuse the plan, if any. It came from the network.
    pub(crate) fn objection(&self) -> Option<String> {
        let finite = |value: f64, low: f64, high: f64| value.is_finite() && (low..=high).contains(&value);
        let wrong = |what: &str, expected: &str| Some(format!("{what}: expected {expected}"));
        let mechanisms = Registry::default();
        let classifies = |mechanism: &dyn Mechanism| mechanism.profile().classifies_losses;
        if !(1..=1000).contains(&self.streams) {
            wrong("streams", "1 to 1000")
        } else if !(MIN_SIZE..=self.largest_size()).contains(&self.size) {
            wrong("size", &format!("{MIN_SIZE} to {} bytes", self.largest_size()))
        } else if !finite(self.omit_s, 0.0, 1e6) {
            wrong("omitted time", "0 to 1000000 seconds")
        } else if self.bytes.is_some_and(|bytes| bytes == 0) {
            wrong("bytes", "1 or more")
        } else if self.congestion.is_some() && self.transport != Transport::Tcp {
            wrong("congestion control of the kernel", "TCP")
        } else if !finite(self.time_s, 1e-3, 1e6) || !finite(self.interval_s, 1e-2, 1e6) {
            wrong("time", "0.001 to 1000000 seconds, intervals of 0.01 s at least")
        } else if !finite(self.patience_s, 0.0, 1e6) {
            wrong("patience", "0 to 1000000 seconds")
        } else if self.reorder_s.is_some_and(|delay| !finite(delay, 1e-6, 60.0)) {
            wrong("reordering delay", "0.000001 to 60 seconds")
        } else if self.rate_bps.is_some_and(|rate| !finite(rate, 1.0, 1e12)) {
            wrong("rate", "1 to 10^12 bit/s")
        } else if mechanisms.mechanism(Ccid(self.ccid)).is_none() {
            wrong("CCID", &mechanisms.describe(|_| true))
        } else if self.lda.is_some() && !mechanisms.mechanism(Ccid(self.ccid)).is_some_and(classifies) {
            wrong("loss differentiation", &format!("CCID {}", mechanisms.describe(classifies)))
        } else if self.lda.is_some() && self.scheme().is_none_or(|scheme| scheme == Scheme::Omniscient) {
            wrong("loss differentiation", "a scheme that both ends support, and that needs no simulator")
        } else {
            None
        }
    }

    /// The largest datagram, or the largest write, in bytes.
    pub(crate) fn largest_size(&self) -> u32 {
        if self.transport == Transport::Tcp { LARGEST_WRITE } else { MAX_SIZE }
    }

    /// The number of intervals that end before the test does; the last one ends with it.
    pub(crate) fn ticks(&self) -> u64 {
        (((self.omit_s + self.time_s) / self.interval_s - 1e-6).ceil() as u64).saturating_sub(1)
    }

    pub(crate) fn interval(&self) -> Duration {
        Duration::from_secs_f64(self.interval_s)
    }

    /// Duration of the test, the omitted part included.
    pub(crate) fn time(&self) -> Duration {
        Duration::from_secs_f64(self.omit_s + self.time_s)
    }

    /// Duration of the part that the summary leaves out.
    pub(crate) fn omitted(&self) -> Duration {
        Duration::from_secs_f64(self.omit_s)
    }

    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs_f64(self.patience_s)
    }

    /// The time between two datagrams of a stream; `None`: as fast as allowed.
    pub(crate) fn spacing(&self) -> Option<Duration> {
        self.rate_bps.map(|rate| {
            whimbrel_units::ByteCount::new(u64::from(self.size)) / DataRate::from_bits_per_second(rate)
        })
    }

    /// The scheme by which receivers classify losses.
    fn scheme(&self) -> Option<Scheme> {
        self.lda.as_ref()?.parse().ok()
    }

    /// `true` if the receiving end needs a configuration other than its usual one.
    pub(crate) fn wants_own_port(&self) -> bool {
        self.lda.is_some() || self.reorder_s.is_some() || self.loss_detection != Detection::Automatic
    }

    /// The configuration by which this test's data are received at an end whose usual one is `config`.
    pub(crate) fn receiving(&self, mut config: Config) -> Config {
        config.tune_tfrc(|tfrc| tfrc.differentiation = self.scheme().map(Differentiation::guarded));
        config.receive.reorder_delay = self.reorder_s.map(Duration::from_secs_f64);
        config.receive.reorder_adapts = self.reorder_adapts;
        config.receive.late = if self.deliver_late { LatePolicy::Deliver } else { LatePolicy::Discard };
        config.receive.loss_detection = match self.loss_detection {
            Detection::Automatic => LossDetection::Automatic,
            Detection::Packets => LossDetection::Packets,
            Detection::Rack => LossDetection::Rack,
        };
        config
    }

    /// The client's DCCP configuration.
    pub(crate) fn dccp_config(&self) -> Config {
        let ccid = Ccid(self.ccid);
        self.receiving(
            Config::default()
                .service_code(ServiceCode(self.service_code))
                .sender_ccids([ccid])
                .receiver_ccids([ccid])
                .ecn(self.ecn)
                .send_queue(SendQueueConfig::default().overflow(OverflowPolicy::Refuse))
                .timers(TimerConfig::default().idle(Some(IDLE_LIMIT + self.patience()))),
        )
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The plan of a client without options.
    pub(crate) fn plan() -> Plan {
        Plan {
            token: 1,
            transport: Transport::Dccp,
            ccid: 3,
            service_code: 0,
            ecn: true,
            native: false,
            lda: None,
            reorder_s: None,
            reorder_adapts: false,
            deliver_late: false,
            loss_detection: Detection::Automatic,
            direction: Direction::Up,
            streams: 1,
            size: 1200,
            rate_bps: None,
            time_s: 10.0,
            omit_s: 0.0,
            bytes: None,
            congestion: None,
            interval_s: 1.0,
            patience_s: 0.0,
            media: None,
        }
    }

    #[test]
    fn the_last_interval_ends_with_the_test() {
        for (time_s, interval_s, ticks) in
            [(10.0, 1.0, 9), (0.5, 1.0, 0), (1.0, 0.25, 3), (1.0, 0.3, 3), (1.0, 0.1, 9), (3.0, 1.5, 1)]
        {
            assert_eq!(Plan { time_s, interval_s, ..plan() }.ticks(), ticks, "{time_s} / {interval_s}");
        }
        assert_eq!(Plan { time_s: 3.0, omit_s: 2.0, ..plan() }.ticks(), 4);
    }

    #[test]
    fn a_dead_server_is_detected_within_ten_seconds_and_the_patience() {
        for (patience_s, expected) in [(0.0, 10.0), (60.0, 70.0)] {
            let timers = Plan { patience_s, interval_s: 3600.0, ..plan() }.dccp_config().timers;
            assert_eq!(timers.idle.map(Duration::as_secs_f64), Some(expected));
        }
    }

    #[test]
    fn a_server_refuses_invalid_plans() {
        assert_eq!(plan().objection(), None);
        let wrong = [
            (Plan { streams: 0, ..plan() }, "streams"),
            (Plan { size: 1401, ..plan() }, "40 to 1400 bytes"),
            (Plan { size: 1_048_577, transport: Transport::Tcp, ..plan() }, "40 to 1048576 bytes"),
            (Plan { omit_s: f64::INFINITY, ..plan() }, "omitted time"),
            (Plan { bytes: Some(0), ..plan() }, "bytes: expected 1 or more"),
            (Plan { congestion: Some("reno".into()), ..plan() }, "expected TCP"),
            (Plan { time_s: f64::NAN, ..plan() }, "time"),
            (Plan { interval_s: 0.0, ..plan() }, "time"),
            (Plan { patience_s: -1.0, ..plan() }, "patience"),
            (Plan { rate_bps: Some(-1.0), ..plan() }, "rate"),
            (Plan { reorder_s: Some(61.0), ..plan() }, "reordering delay"),
            (Plan { reorder_s: Some(0.0), ..plan() }, "reordering delay"),
            (Plan { ccid: 5, ..plan() }, "CCID"),
            (Plan { ccid: 2, lda: Some("zbs3".into()), ..plan() }, "CCID 3 (TFRC) or 4"),
            (Plan { lda: Some("oracle".into()), ..plan() }, "a scheme that both ends support"),
            (Plan { lda: Some("omniscient".into()), ..plan() }, "needs no simulator"),
        ];
        for (plan, expected) in wrong {
            let objection = plan.objection().expect("an objection");
            assert!(objection.contains(expected), "{objection}");
        }
    }
}
