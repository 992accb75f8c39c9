//! The plan of a test, agreed by the two ends.

mod reception;
mod times;

use serde::{Deserialize, Serialize};
use whimbrel_lab::traffic::Schedule;
use whimbrel_net::{
    Ccid, Config, Mechanism, OverflowPolicy, Scheme, SendQueueConfig, ServiceCode, TimerConfig,
};
use whimbrel_relay::mechanisms;
use whimbrel_units::{DataRate, Duration};

use super::tcp::LARGEST_WRITE;
pub use reception::{Detection, Reception};
pub use times::Times;

/// The least application data per datagram, in bytes: room for the head. The most is what fits a packet of
/// 1500 bytes with all headers and options.
pub const MIN_SIZE: u32 = 40;
/// The most application data per datagram, in bytes.
pub const MAX_SIZE: u32 = 1400;

/// Time after which a server without any packet on its data connection counts as dead and the test ends, in
/// addition to the time for which the link may be down. After half of it the server is probed.
pub(crate) const IDLE_LIMIT: Duration = Duration::from_secs(10);

/// The protocol that carries the measured data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// DCCP, over UDP or natively.
    Dccp,
    /// Plain UDP.
    Udp,
    /// The kernel's TCP.
    Tcp,
}

/// The sending ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Client to server.
    Up,
    /// Server to client.
    Down,
    /// Both.
    Both,
}

impl Direction {
    /// `true` if the client sends.
    pub fn client_sends(self) -> bool {
        self != Self::Down
    }

    /// `true` if the server sends.
    pub fn server_sends(self) -> bool {
        self != Self::Up
    }
}

/// The DCCP connections of a test.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct DccpUse {
    /// The CCID of both directions.
    pub ccid: u8,
    /// The Service Code of the server.
    pub service_code: u32,
    /// ECN is requested.
    pub ecn: bool,
    /// IP protocol 33 instead of UDP.
    #[serde(default)]
    pub native: bool,
    /// Encrypted and authenticated: DTLS over DCCP (RFC 5238).
    #[serde(default)]
    pub secured: bool,
}

/// The data that each stream sends.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Load {
    /// Application data per datagram (TCP: per write), in bytes.
    pub size: u32,
    /// Application data per stream in bit/s; `None`: as fast as allowed.
    pub rate_bps: Option<f64>,
    /// Application data per stream after which the test ends; `None`: after the time.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// The schedule to send, at the end that sends it, instead of datagrams of one size.
    #[serde(skip)]
    pub media: Option<Schedule>,
}

impl Load {
    /// The time between two datagrams of a stream; `None`: as fast as allowed.
    pub(crate) fn spacing(&self) -> Option<Duration> {
        self.rate_bps.map(|rate| {
            whimbrel_units::ByteCount::new(u64::from(self.size)) / DataRate::from_bits_per_second(rate)
        })
    }
}

/// A test, as requested by the client. On the control channel the parts are one flat object.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Identifies the test: the first field on each of its data connections.
    pub token: u64,
    /// The protocol that carries the data.
    pub transport: Transport,
    /// Direction.
    pub direction: Direction,
    /// Parallel connections.
    pub streams: u16,
    /// Congestion control of the kernel's TCP at the ends that send; `None`: the system's.
    #[serde(default)]
    pub congestion: Option<String>,
    /// Its DCCP connections.
    #[serde(flatten)]
    pub dccp: DccpUse,
    /// Reception options.
    #[serde(flatten)]
    pub reception: Reception,
    /// The data that each stream sends.
    #[serde(flatten)]
    pub load: Load,
    /// Its times.
    #[serde(flatten)]
    pub times: Times,
}

impl Plan {
    /// A test of 10 s over one connection with CCID 3, in which the client sends as fast as it may.
    ///
    /// # Errors
    /// The system has no random numbers for its token.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {
            // Few enough bits for programs that read JSON numbers as floating point.
            token: whimbrel_net::entropy()? >> 11,
            transport: Transport::Dccp,
            direction: Direction::Up,
            streams: 1,
            congestion: None,
            dccp: DccpUse {
                ccid: Ccid::TFRC.0,
                service_code: ServiceCode::from_letters(super::SERVICE_CODE).unwrap_or_default().0,
                ecn: true,
                native: false,
                secured: false,
            },
            reception: Reception::default(),
            load: Load { size: 1200, rate_bps: None, bytes: None, media: None },
            times: Times { time_s: 10.0, omit_s: 0.0, interval_s: 1.0, patience_s: 0.0 },
        })
    }

    /// The reason why a server should refuse the plan, if any. It came from the network.
    pub(crate) fn objection(&self) -> Option<String> {
        let finite = |value: f64, low: f64, high: f64| value.is_finite() && (low..=high).contains(&value);
        let wrong = |what: &str, expected: &str| Some(format!("{what}: expected {expected}"));
        let mechanisms = mechanisms();
        let classifies = |mechanism: &dyn Mechanism| mechanism.profile().classifies_losses;
        if !(1..=1000).contains(&self.streams) {
            wrong("streams", "1 to 1000")
        } else if !(MIN_SIZE..=self.largest_size()).contains(&self.load.size) {
            wrong("size", &format!("{MIN_SIZE} to {} bytes", self.largest_size()))
        } else if !finite(self.times.omit_s, 0.0, 1e6) {
            wrong("omitted time", "0 to 1000000 seconds")
        } else if self.load.bytes.is_some_and(|bytes| bytes == 0) {
            wrong("bytes", "1 or more")
        } else if self.congestion.is_some() && self.transport != Transport::Tcp {
            wrong("congestion control of the kernel", "TCP")
        } else if !finite(self.times.time_s, 1e-3, 1e6) || !finite(self.times.interval_s, 1e-2, 1e6) {
            wrong("time", "0.001 to 1000000 seconds, intervals of 0.01 s at least")
        } else if !finite(self.times.patience_s, 0.0, 1e6) {
            wrong("patience", "0 to 1000000 seconds")
        } else if self.reception.reorder_s.is_some_and(|delay| !finite(delay, 1e-6, 60.0)) {
            wrong("reordering delay", "0.000001 to 60 seconds")
        } else if self.reception.latency_s.is_some_and(|latency| !finite(latency, 1e-3, 60.0)) {
            wrong("latency", "0.001 to 60 seconds")
        } else if self.reception.latency_s.is_some() && self.transport != Transport::Dccp {
            wrong("repair within a latency", "DCCP")
        } else if self.load.rate_bps.is_some_and(|rate| !finite(rate, 1.0, 1e12)) {
            wrong("rate", "1 to 10^12 bit/s")
        } else if mechanisms.mechanism(Ccid(self.dccp.ccid)).is_none() {
            wrong("CCID", &mechanisms.describe(|_| true))
        } else if self.reception.lda.is_some()
            && !mechanisms.mechanism(Ccid(self.dccp.ccid)).is_some_and(classifies)
        {
            wrong("loss differentiation", &format!("CCID {}", mechanisms.describe(classifies)))
        } else if self.reception.lda.is_some()
            && self.reception.scheme().is_none_or(|scheme| scheme == Scheme::Omniscient)
        {
            wrong("loss differentiation", "a scheme that both ends support, and that needs no simulator")
        } else {
            None
        }
    }

    /// The largest datagram, or the largest write, in bytes.
    pub fn largest_size(&self) -> u32 {
        if self.transport == Transport::Tcp { LARGEST_WRITE } else { MAX_SIZE }
    }

    /// The client's DCCP configuration.
    pub(crate) fn dccp_config(&self) -> Config {
        let ccid = Ccid(self.dccp.ccid);
        self.reception.applied_to(
            Config::default()
                .ccids(mechanisms())
                .service_code(ServiceCode(self.dccp.service_code))
                .sender_ccids([ccid])
                .receiver_ccids([ccid])
                .ecn(self.dccp.ecn)
                .send_queue(SendQueueConfig::default().overflow(OverflowPolicy::Refuse))
                .timers(TimerConfig::default().idle(Some(IDLE_LIMIT + self.times.patience()))),
        )
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The plan of a client without options.
    pub(crate) fn plan() -> Plan {
        let mut plan = Plan::new().expect("random numbers");
        (plan.token, plan.dccp.service_code) = (1, 0);
        plan
    }

    /// The same plan with a change.
    pub(crate) fn plan_with(change: impl FnOnce(&mut Plan)) -> Plan {
        let mut plan = plan();
        change(&mut plan);
        plan
    }

    #[test]
    fn the_last_interval_ends_with_the_test() {
        let ticks = |omit_s, time_s, interval_s| Times { time_s, omit_s, interval_s, ..plan().times }.ticks();
        for (time_s, interval_s, expected) in
            [(10.0, 1.0, 9), (0.5, 1.0, 0), (1.0, 0.25, 3), (1.0, 0.3, 3), (1.0, 0.1, 9), (3.0, 1.5, 1)]
        {
            assert_eq!(ticks(0.0, time_s, interval_s), expected, "{time_s} / {interval_s}");
        }
        assert_eq!(ticks(2.0, 3.0, 1.0), 4);
    }

    #[test]
    fn a_dead_server_is_detected_within_ten_seconds_and_the_patience() {
        for (patience_s, expected) in [(0.0, 10.0), (60.0, 70.0)] {
            let plan = plan_with(|plan| plan.times.patience_s = patience_s);
            assert_eq!(plan.dccp_config().timers.idle.map(Duration::as_secs_f64), Some(expected));
        }
    }

    /// Clients and servers of other versions exchange the same keys, at one level; some may be missing.
    #[test]
    fn a_plan_is_one_flat_object() {
        let text = r#"{"token":9007199254740993,"transport":"dccp","direction":"both","streams":2,"ccid":4,
            "service_code":7,"ecn":false,"reorder_s":0.05,"loss_detection":"rack","size":160,"rate_bps":64000,
            "bytes":18014398509481985,"time_s":10,"interval_s":1}"#;
        let read: Plan = serde_json::from_str(text).expect("a plan");
        let expected = plan_with(|plan| {
            (plan.token, plan.direction, plan.streams) = ((1 << 53) + 1, Direction::Both, 2);
            plan.dccp = DccpUse { ccid: 4, service_code: 7, ecn: false, native: false, secured: false };
            plan.reception.reorder_s = Some(0.05);
            plan.reception.loss_detection = Detection::Rack;
            plan.load = Load { size: 160, rate_bps: Some(64e3), bytes: Some((1 << 54) + 1), media: None };
        });
        assert_eq!(read, expected);
        let written = serde_json::to_value(&expected).expect("JSON");
        let keys: Vec<_> = written.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(keys.len(), 23, "{keys:?}");
        assert!(written["patience_s"] == 0.0 && written["lda"].is_null() && written["native"] == false);
    }

    #[test]
    fn a_server_refuses_invalid_plans() {
        assert_eq!(plan().objection(), None);
        let wrong = [
            (plan_with(|plan| plan.streams = 0), "streams"),
            (plan_with(|plan| plan.load.size = 1401), "40 to 1400 bytes"),
            (
                plan_with(|plan| {
                    plan.load.size = 1_048_577;
                    plan.transport = Transport::Tcp
                }),
                "40 to 1048576 bytes",
            ),
            (plan_with(|plan| plan.times.omit_s = f64::INFINITY), "omitted time"),
            (plan_with(|plan| plan.load.bytes = Some(0)), "bytes: expected 1 or more"),
            (plan_with(|plan| plan.congestion = Some("reno".into())), "expected TCP"),
            (plan_with(|plan| plan.times.time_s = f64::NAN), "time"),
            (plan_with(|plan| plan.times.interval_s = 0.0), "time"),
            (plan_with(|plan| plan.times.patience_s = -1.0), "patience"),
            (plan_with(|plan| plan.load.rate_bps = Some(-1.0)), "rate"),
            (plan_with(|plan| plan.reception.reorder_s = Some(61.0)), "reordering delay"),
            (plan_with(|plan| plan.reception.reorder_s = Some(0.0)), "reordering delay"),
            (plan_with(|plan| plan.reception.latency_s = Some(0.0)), "latency: expected 0.001 to 60 seconds"),
            (
                plan_with(|plan| {
                    plan.reception.latency_s = Some(0.15);
                    plan.transport = Transport::Udp
                }),
                "repair within a latency: expected DCCP",
            ),
            (plan_with(|plan| plan.dccp.ccid = 5), "CCID"),
            (
                plan_with(|plan| {
                    plan.dccp.ccid = 2;
                    plan.reception.lda = Some("zbs3".into())
                }),
                "CCID 3 (TFRC), 4 (TFRC-SP) or 252",
            ),
            (plan_with(|plan| plan.reception.lda = Some("oracle".into())), "a scheme that both ends support"),
            (plan_with(|plan| plan.reception.lda = Some("omniscient".into())), "needs no simulator"),
        ];
        for (plan, expected) in wrong {
            let objection = plan.objection().expect("an objection");
            assert!(objection.contains(expected), "{objection}");
        }
    }
}
