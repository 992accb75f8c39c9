//! Other window laws than the standard one, in CCID 2 and in TCP.

use whimbrel_control::window::{Acknowledgement, CongestionSignal, LawPrototype, Window, WindowLaw};
use whimbrel_lab::run;
use whimbrel_lab::transport::dccp::DccpFlow;
use whimbrel_lab::transport::tcp::TcpFlow;
use whimbrel_proto::Ccid;
use whimbrel_proto::ccid::ccid2::Ccid2;

use crate::simulation;
use simulation::{document, number};

/// AIMD(1, `decrease`): a segment more for each window acknowledged, and on congestion less by a fraction.
#[derive(Clone, Debug)]
struct Aimd {
    decrease: f64,
}

impl WindowLaw for Aimd {
    fn name(&self) -> &'static str {
        "AIMD"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Acknowledgement) {
        window.cwnd += if window.in_slow_start() { ack.acked / 2.0 } else { ack.acked / window.cwnd };
    }

    fn on_congestion(&mut self, window: &mut Window, _signal: &CongestionSignal) {
        window.cwnd = (window.cwnd * (1.0 - self.decrease)).max(1.0);
        window.ssthresh = window.cwnd;
    }

    fn on_timeout(&mut self, window: &mut Window, signal: &CongestionSignal, repeated: bool) {
        if !repeated {
            self.on_congestion(window, signal);
        }
        window.cwnd = 1.0;
    }
}

/// One packet in five hundred is lost at random; the rate is no limit.
const PATH: &str = r#"
[simulation]
duration = "500 s"
warm_up = "20 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "path"
between = ["a", "b"]
rate = "50 Mbit/s"
delay = "50 ms"
queue = "500 packets"
loss = { model = "bernoulli", rate = 0.002 }
reverse = { loss = { model = "none" } }
[[flow]]
name = "flow"
from = "a"
to = "b"
packet_size = "1000 B"
"#;

/// Mean throughput with the given law, or with the scenario's, in bit/s.
fn throughput(transport: &str, law: Option<Aimd>) -> f64 {
    let changes: &[(&str, &str)] = match transport {
        "tcp" => &[("flow.flow.transport", "tcp"), ("flow.flow.tcp", "{ variant = \"sack\" }")],
        _ => &[("flow.flow.transport", "dccp"), ("flow.flow.ccid", "2")],
    };
    let mut plan = document(PATH, changes).plan().unwrap_or_else(|error| panic!("{error}"));
    let flow = &mut plan.flows[0].transport;
    if let Some(law) = law {
        if let Some(TcpFlow(tcp)) = flow.get_mut() {
            tcp.window.law = LawPrototype::new(law);
        } else if let Some(dccp) = flow.get_mut::<DccpFlow>() {
            let ccid = Ccid(252);
            dccp.ccid = ccid.0;
            dccp.config.ccids = dccp.config.ccids.with(Ccid2::with_law(ccid, law));
            dccp.config.sender_ccids = [ccid].into();
            dccp.config.receiver_ccids = [ccid].into();
        }
    }
    number(&run(&plan, 1), "throughput_bps")
}

/// The mean window of AIMD(a, b) at loss rate p is sqrt(a (2 - b) / (2 b p)) (Floyd, Handley and Padhye, "A
/// Comparison of Equation-Based and AIMD Congestion Control", 2000, Section 2), so with b = 1/8 it is sqrt(5)
/// times as large as with b = 1/2. Timeouts, which the formula leaves out, are rarer with the larger window.
#[test]
fn a_gentler_decrease_multiplies_the_window_by_the_square_root_of_five() {
    for transport in ["tcp", "dccp"] {
        let half = throughput(transport, Some(Aimd { decrease: 0.5 }));
        let eighth = throughput(transport, Some(Aimd { decrease: 0.125 }));
        let ratio = eighth / half;
        assert!((2.0..2.45).contains(&ratio), "{transport}: {ratio}, {eighth} to {half} bit/s");
    }
}

/// CCID 2 counts what is acknowledged, as AIMD(1, 1/2) does, and rounds the window down.
#[test]
fn ccid_2_is_near_aimd_with_a_half() {
    let ratio = throughput("dccp", None) / throughput("dccp", Some(Aimd { decrease: 0.5 }));
    assert!((0.9..1.05).contains(&ratio), "{ratio}");
}

/// Mean throughput of the simulated TCP under a law of the scenario.
fn tcp_throughput(congestion: &str, loss: &str) -> f64 {
    let tcp = format!("{{ variant = \"sack\", congestion = \"{congestion}\" }}");
    let changes =
        [("flow.flow.transport", "tcp"), ("flow.flow.tcp", tcp.as_str()), ("link.path.loss.rate", loss)];
    let plan = document(PATH, &changes).plan().unwrap_or_else(|error| panic!("{error}"));
    number(&run(&plan, 1), "throughput_bps")
}

/// RFC 9438, Section 5.2: at a loss rate of 1e-4 and a round-trip time of 0.1 s the mean window is 1.054 (RTT
/// / p)^(3/4) = 187 segments; at 2e-3 CUBIC is in its Reno-friendly region. Losses at random moments instead
/// of equal distances change the mean by some percent.
#[test]
fn cubic_has_the_window_of_its_rfc() {
    let window = tcp_throughput("cubic", "0.0001") * 0.1 / 8e3;
    assert!((170.0..200.0).contains(&window), "{window} segments");
    let ratio = tcp_throughput("cubic", "0.002") / tcp_throughput("reno", "0.002");
    assert!((0.9..1.25).contains(&ratio), "{ratio}");
}

/// Mean window of AIMD(1, b) times the square root of the loss rate, where each packet is lost independently.
///
/// With X = W^2 / 2, each packet adds 1 to X, and a loss multiplies X by beta = (1 - b)^2. The moments of the
/// stationary distribution over packets satisfy s E[X^(s-1)] = p (1 - beta^s) E[X^s], whence E[X^s] = p^-s
/// Gamma(s + 1) prod_k (1 - beta^(k+s+1)) / (1 - beta^(k+1)), k >= 0. A packet takes the time RTT / W, so
/// that the mean window over time is 1 / E[1 / W], with s = -1/2.
fn random_aimd(b: f64) -> f64 {
    let beta = (1.0 - b) * (1.0 - b);
    let product: f64 = (0..200)
        .map(f64::from)
        .map(|k| (1.0 - libm::pow(beta, k + 0.5)) / (1.0 - libm::pow(beta, k + 1.0)))
        .product();
    libm::sqrt(2.0 / core::f64::consts::PI) / product
}

/// All losses are random, and the queue is empty: Veno keeps four fifths of its window, and Reno a half.
#[test]
fn veno_has_the_window_of_a_decrease_by_a_fifth() {
    let (reno, veno) = (random_aimd(0.5), random_aimd(0.2));
    assert!((1.30..1.32).contains(&reno) && (2.16..2.19).contains(&veno), "{reno} and {veno}");
    let measured = tcp_throughput("veno", "0.002") / tcp_throughput("reno", "0.002");
    // The runs have some 290 and 450 losses.
    let ratio = measured / (veno / reno);
    assert!((0.92..1.08).contains(&ratio), "{measured}, not {}", veno / reno);
}

/// A loss reduces the window of Westwood+ to the product of bandwidth and delay that it measures, which lags
/// behind the window by some round-trip times and is never below half of it. (`linux_tcp.rs` compares it with
/// Linux.)
#[test]
fn westwood_keeps_more_than_half_of_its_window() {
    let ratio = tcp_throughput("westwood", "0.002") / tcp_throughput("reno", "0.002");
    assert!(ratio > random_aimd(0.2) / random_aimd(0.5), "{ratio}");
}

#[test]
fn hystart_belongs_to_cubic() {
    let changes =
        [("flow.flow.transport", "tcp"), ("flow.flow.tcp", "{ congestion = \"veno\", hystart = true }")];
    let error = document(PATH, &changes).plan().expect_err("an error");
    assert_eq!(
        error.to_string(),
        "flow[0].tcp.hystart = true: expected nothing: only `congestion = \"cubic\"` has it"
    );
}
