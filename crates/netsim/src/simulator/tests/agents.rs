use core::cell::Cell;
use core::ops::ControlFlow;

use whimbrel_units::{Duration, Instant};

use super::{FLOW, micros, pair, sender, slow};
use crate::{
    Agent, Command, Ecn, FlowId, LinkConfig, LossCause, NodeId, Packet, PacketId, RunOutcome,
    SimulationConfig, Simulator,
};

/// Counts how often it is called, and has a deadline that others move.
#[derive(Default)]
struct Sleeper {
    deadline: Option<Instant>,
    put_off_by: Duration,
    timeouts: Vec<Instant>,
    asked: Cell<u32>,
}

impl Agent for Sleeper {
    type Payload = ();

    fn handle_packet(&mut self, now: Instant, _: Packet<()>) {
        self.deadline = Some(now + self.put_off_by);
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.deadline = None;
            self.timeouts.push(now);
        }
    }

    fn poll_transmit(&mut self, _: Instant) -> Option<Packet<()>> {
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.asked.set(self.asked.get() + 1);
        self.deadline
    }
}

fn sleeper(deadline: Option<Instant>) -> (Simulator<Sleeper>, crate::AgentId) {
    let mut simulator = Simulator::new(SimulationConfig::default());
    let node = simulator.add_node("bed");
    let agent = simulator.add_agent(node, FLOW, Sleeper { deadline, ..Sleeper::default() });
    (simulator, agent)
}

fn move_deadline(simulator: &mut Simulator<Sleeper>, agent: crate::AgentId, at: u64, deadline: Option<u64>) {
    let command =
        Command::agent(agent, move |sleeper: &mut Sleeper, _| sleeper.deadline = deadline.map(micros));
    simulator.schedule(micros(at), command);
}

#[test]
fn a_deadline_is_met_to_the_nanosecond() {
    let (mut simulator, agent) = sleeper(Some(Instant::from_nanos(12_345)));
    simulator.run_until(Instant::from_nanos(12_344));
    assert!(simulator.agent(agent).timeouts.is_empty());
    simulator.run_until(Instant::from_nanos(12_345));
    assert_eq!(simulator.agent(agent).timeouts, [Instant::from_nanos(12_345)]);
}

#[test]
fn a_deadline_that_moves_is_met_where_it_is() {
    let (mut simulator, agent) = sleeper(Some(micros(100)));
    move_deadline(&mut simulator, agent, 10, Some(300));
    move_deadline(&mut simulator, agent, 150, Some(200));
    move_deadline(&mut simulator, agent, 250, Some(400));
    move_deadline(&mut simulator, agent, 350, None);
    move_deadline(&mut simulator, agent, 500, Some(450));
    simulator.run_until(Instant::from_secs(1));
    // The last one was past when it was set.
    assert_eq!(simulator.agent(agent).timeouts, [200, 500].map(micros));
}

#[test]
fn a_deadline_put_off_again_and_again_costs_one_wake_up() {
    let (mut simulator, agent) = sleeper(Some(micros(1_000)));
    for k in 1..100 {
        move_deadline(&mut simulator, agent, k, Some(1_000 + k));
    }
    simulator.run_until(micros(999));
    let (events, asked) = (simulator.events_handled(), simulator.agent(agent).asked.get());
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(simulator.agent(agent).timeouts, [micros(1_099)]);
    // An early wake-up at 1000, the timeout at 1099.
    assert_eq!(simulator.events_handled() - events, 2);
    assert!(simulator.agent(agent).asked.get() - asked <= 3);
}

#[test]
fn an_agent_touched_between_runs_is_heard() {
    let (mut simulator, agent) = sleeper(None);
    simulator.run_until(micros(50));
    simulator.agent_mut(agent).deadline = Some(micros(70));
    simulator.run_until(micros(100));
    assert_eq!(simulator.agent(agent).timeouts, [micros(70)]);
}

/// Always wants something at once.
struct Nag {
    sends: bool,
}

impl Agent for Nag {
    type Payload = ();

    fn handle_packet(&mut self, _: Instant, _: Packet<()>) {}
    fn handle_timeout(&mut self, _: Instant) {}
    fn poll_transmit(&mut self, _: Instant) -> Option<Packet<()>> {
        let destination = NodeId::default();
        self.sends.then_some(Packet {
            id: PacketId(0),
            flow: FLOW,
            source: destination,
            destination,
            size: 1,
            ecn: Ecn::NotEct,
            payload: (),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Some(micros(5))
    }
}

fn run_nag(sends: bool) {
    let mut simulator = Simulator::new(SimulationConfig::default());
    let node = simulator.add_node("nag");
    simulator.add_agent(node, FlowId(0), Nag { sends });
    simulator.run_until(Instant::from_secs(1));
}

#[test]
#[should_panic(expected = "agent 0 times out at 0.000005000s for ever")]
fn an_agent_that_never_sleeps_is_found_out() {
    run_nag(false);
}

#[test]
#[should_panic(expected = "agent 0 sends without end at 0.000000000s")]
fn an_agent_that_never_stops_sending_is_found_out() {
    run_nag(true);
}

/// Answers the loss of a packet with a packet of its own.
struct Reactor {
    peer: NodeId,
    sends: u32,
    heard: Vec<Instant>,
}

impl Agent for Reactor {
    type Payload = ();

    fn handle_packet(&mut self, now: Instant, _: Packet<()>) {
        self.heard.push(now);
    }

    fn handle_timeout(&mut self, _: Instant) {}
    fn poll_transmit(&mut self, _: Instant) -> Option<Packet<()>> {
        self.sends = self.sends.checked_sub(1)?;
        let destination = self.peer;
        Some(Packet {
            id: PacketId(0),
            flow: FLOW,
            source: destination,
            destination,
            size: 1_000,
            ecn: Ecn::NotEct,
            payload: (),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn handle_loss(&mut self, _: Instant, _: Packet<()>, _: LossCause) {
        self.sends += 1;
    }
}

#[test]
fn an_agent_notified_of_a_loss_may_answer_at_once() {
    let mut simulator = Simulator::new(SimulationConfig::default());
    let (a, b) = (simulator.add_node("a"), simulator.add_node("b"));
    simulator.add_link(a, b, slow().with_packet_limit(1));
    simulator.add_link(b, a, LinkConfig::new(slow().rate, Duration::from_millis(5)));
    let sender = simulator.add_agent(a, FLOW, Reactor { peer: b, sends: 0, heard: Vec::new() });
    simulator.add_agent(b, FLOW, Reactor { peer: a, sends: 0, heard: Vec::new() });
    simulator.schedule(micros(100), Command::agent(sender, |sender: &mut Reactor, _| sender.sends = 2));
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(simulator.agent(sender).heard, [micros(6_100)]);
}

#[test]
fn a_run_can_be_watched_and_broken_off() {
    let times: Vec<u64> = (0..100).map(|k| 10 * k).collect();
    let (mut simulator, _, sink) = pair(slow(), &times);
    let mut seen = Vec::new();
    let outcome = simulator.run_with(Instant::from_secs(1), 30, |progress| {
        seen.push(progress.events);
        if progress.events >= 90 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((outcome, seen), (RunOutcome::Interrupted, vec![30, 60, 90]));
    assert!(simulator.now() < Instant::from_secs(1));
    let outcome = simulator.run_with(Instant::from_secs(1), 1_000, |_| ControlFlow::Break(()));
    assert_eq!((outcome, simulator.now()), (RunOutcome::Finished, Instant::from_secs(1)));

    let (mut at_once, _, same_sink) = pair(slow(), &times);
    at_once.run_until(Instant::from_secs(1));
    assert_eq!(simulator.agent(sink).received, at_once.agent(same_sink).received);
}

#[test]
fn an_agent_added_in_mid_run_receives_what_is_under_way() {
    let (mut simulator, link, _) = pair(slow(), &[]);
    let (a, b) = simulator.link_ends(link);
    let mut script = sender(b, &[0]);
    script.sends[0].flow = FlowId(5);
    simulator.add_agent(a, FlowId(5), script);
    simulator.run_until(micros(100));
    let late = simulator.add_agent(b, FlowId(5), super::Script::default());
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(simulator.agent(late).received, [(micros(6_000), 0)]);
}

/// A driver that sleeps until the next event and runs up to it handles each event at its time.
#[test]
fn stepping_from_event_to_event_is_running_through() {
    let times = [0, 700, 2_500, 2_500, 9_000];
    let (mut whole, link, sink) = pair(slow().with_packet_limit(2), &times);
    whole.run_until(Instant::from_secs(1));
    let (mut stepped, _, _) = pair(slow().with_packet_limit(2), &times);
    let mut steps = Vec::new();
    while let Some(at) = stepped.next_event_at() {
        assert!(at >= stepped.now());
        steps.push(at);
        stepped.run_until(at);
    }
    assert_eq!(stepped.agent(sink).received, whole.agent(sink).received);
    assert_eq!(stepped.link_stats(link), whole.link_stats(link));
    assert!(steps.is_sorted_by(|a, b| a < b), "{steps:?}");
    // Sends at 0.7, 2.5 and 9 ms; arrivals 6 ms after each service begins.
    assert_eq!(steps.last(), Some(&micros(15_000)));
}
