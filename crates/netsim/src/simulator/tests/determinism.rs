use whimbrel_units::{DataRate, Duration, Instant};

use super::{FLOW, Script, Send, micros, sender};
use crate::{Command, DownPolicy, FlowId, Impairment, LinkConfig, LossCause, SimulationConfig, Simulator};

/// FNV-1a over 64-bit words.
struct Digest(u64);

impl Digest {
    fn word(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// A network with a bit of everything, and the digest of all that its agents heard.
fn digest(seed: u64, run: u64) -> u64 {
    let mut simulator = Simulator::new(SimulationConfig { seed, run });
    let (left, right) = (simulator.add_node("left"), simulator.add_node("right"));
    let bottleneck = LinkConfig::new(DataRate::from_megabits_per_second(1.7), Duration::from_millis(10));
    let bottleneck =
        bottleneck.with_packet_limit(8).with_marking_at(5).with_impairment(Impairment::GilbertElliott {
            good_to_bad: 0.05,
            bad_to_good: 0.3,
            loss_in_good: 0.001,
            loss_in_bad: 0.4,
        });
    let (there, _) = simulator.add_duplex(left, right, bottleneck);
    let access = LinkConfig::new(DataRate::from_megabits_per_second(10.0), Duration::from_micros(333));
    let timed = Impairment::TimedGilbertElliott {
        mean_good: Duration::from_millis(90),
        mean_bad: Duration::from_millis(7),
        loss_in_good: 0.0,
        loss_in_bad: 0.9,
    };
    for k in 0..5u32 {
        let source = simulator.add_node(&format!("source {k}"));
        let sink = simulator.add_node(&format!("sink {k}"));
        simulator.add_duplex(source, left, access.clone());
        simulator.add_duplex(right, sink, access.clone().with_impairment(timed.clone()));
        let mut random = simulator.streams().stream(&format!("source {k}"), "traffic");
        let mut at = Instant::ZERO;
        let sends = (0..400).map(|tag| {
            at += random.exponential_duration(Duration::from_millis(20));
            let size = random.geometric(1.0 / 600.0).clamp(40, 1_500) as u32;
            Send { at, flow: FlowId(k), to: sink, size, tag }
        });
        simulator.add_agent(source, FlowId(k), Script { sends: sends.collect(), ..Script::default() });
        simulator.add_agent(sink, FlowId(k), Script::default());
    }
    simulator.schedule(Instant::from_secs(2), Command::LinkDown { link: there, policy: DownPolicy::Hold });
    simulator.schedule(Instant::from_millis(2_300), Command::LinkUp { link: there });
    simulator
        .schedule(Instant::from_secs(3), Command::set_rate(there, DataRate::from_megabits_per_second(0.9)));
    simulator.run_until(Instant::from_secs(20));

    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    for (id, agent) in simulator.agents() {
        digest.word(id.index() as u64);
        for (&(at, tag), ecn) in agent.received.iter().zip(&agent.marks) {
            digest.word(at.as_nanos());
            digest.word(tag << 2 | u64::from(ecn.bits()));
        }
        for &(at, tag, cause) in &agent.losses {
            digest.word(at.as_nanos());
            digest.word(tag << 1 | u64::from(cause.is_congestion()));
        }
    }
    digest.0
}

#[test]
fn the_same_seed_gives_the_same_packets() {
    assert_eq!(digest(1, 0), digest(1, 0));
    assert_ne!(digest(1, 0), digest(2, 0));
    assert_ne!(digest(1, 0), digest(1, 1));
}

/// A change of this digest changes all results, and belongs in the changelog.
#[test]
fn the_packets_of_seed_1_are_these() {
    assert_eq!(digest(1, 0), 5_672_412_991_279_566_963);
}

/// Tags of a flow's packets that a lossy link destroyed, with or without other parts of the network.
fn lost_tags(neighbours: u32) -> Vec<u64> {
    let mut simulator = Simulator::new(SimulationConfig { seed: 5, run: 0 });
    let lossy = LinkConfig::new(DataRate::from_megabits_per_second(10.0), Duration::from_millis(1))
        .with_impairment(Impairment::Bernoulli { loss: 0.3 });
    let times: Vec<u64> = (0..200).map(|k| 1_000 * k).collect();
    for k in 0..neighbours {
        let (c, d) = (simulator.add_node(&format!("c{k}")), simulator.add_node(&format!("d{k}")));
        simulator.add_link(c, d, lossy.clone());
        simulator.add_agent(c, FLOW, sender(d, &times));
        simulator.add_agent(d, FLOW, Script::default());
    }
    let (a, b) = (simulator.add_node("a"), simulator.add_node("b"));
    let link = simulator.add_link(a, b, lossy);
    simulator.add_agent(a, FLOW, sender(b, &times));
    let sink = simulator.add_agent(b, FLOW, Script::default());
    simulator.run_until(micros(300_000));
    let losses = &simulator.agent(sink).losses;
    assert!(losses.iter().all(|&(_, _, cause)| cause == LossCause::Wireless(link)));
    losses.iter().map(|&(_, tag, _)| tag).collect()
}

#[test]
fn an_additional_node_changes_no_other_draws() {
    let alone = lost_tags(0);
    assert!((40..80).contains(&alone.len()), "{} of 200 lost", alone.len());
    assert_eq!(lost_tags(1), alone);
    assert_eq!(lost_tags(7), alone);
}
