//! Other window laws than the standard one, in CCID 2 and in TCP.

use whimbrel_control::window::{Acknowledgement, CongestionSignal, LawPrototype, Window, WindowLaw};
use whimbrel_lab::run;
use whimbrel_lab::transport::dccp::DccpFlow;
use whimbrel_lab::transport::tcp::TcpFlow;
use whimbrel_proto::Ccid;
use whimbrel_proto::ccid::ccid2::Ccid2;

#[path = "support/simulation.rs"]
mod simulation;
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

/// Mean throughput with another law, or with that of the scenario, in bit/s.
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

/// The mean window of AIMD(a, b) at loss rate p is sqrt(a (2 - b) / (2 b p)) (Floyd, Handley and Padhye, "A Comparison of
/// Equation-Based and AIMD Congestion Control", 2000, Section 2), so that of b = 1/8 is sqrt(5) times that of b = 1/2.
/// Timeouts, which the formula leaves out, are rarer with the larger window.
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

/// RFC 9438, Section 5.2: at a loss rate of 1e-4 and a round-trip time of 0.1 s the mean window is 1.054 (RTT / p)^(3/4) = 187
/// segments; at 2e-3 CUBIC is in its Reno-friendly region. Losses at random moments instead of equal distances change the mean by some percent.
#[test]
fn cubic_has_the_window_of_its_rfc() {
    let window = tcp_throughput("cubic", "0.0001") * 0.1 / 8e3;
    assert!((170.0..200.0).contains(&window), "{window} segments");
    let ratio = tcp_throughput("cubic", "0.002") / tcp_throughput("reno", "0.002");
    assert!((0.9..1.25).contains(&ratio), "{ratio}");
}

/// All losses are random, and the queue is empty. Veno keeps four fifths of its window: by the formula above its window is sqrt(3) times
/// that of one that keeps a half, if losses come at equal distances. At random moments Reno's mean is 8 % above the formula, and Veno's on it. Westwood+ sets
/// its window to the bandwidth-delay product that it has measured, and so hardly reduces it.
#[test]
fn veno_and_westwood_withstand_random_losses() {
    let reno = tcp_throughput("reno", "0.002");
    let veno = tcp_throughput("veno", "0.002") / reno;
    assert!((1.5..1.75).contains(&veno), "{veno}");
    let westwood = tcp_throughput("westwood", "0.002") / reno;
    assert!((5.0..12.0).contains(&westwood), "{westwood}");
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
