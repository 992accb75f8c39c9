//! One run: two endpoints, one connection, and a network that follows a list of choices.

use std::collections::VecDeque;
use std::net::SocketAddr;

use bytes::Bytes;
use whimbrel_faults::{disagreement, fit};
use whimbrel_proto::{
    Config, Connection, ConnectionError, ConnectionHandle, Datagram, Endpoint, EndpointConfig, EndpointEvent,
    Event, ReceiveMeta, State, Transmit,
};
use whimbrel_units::{Duration, Instant};

const CLIENT: usize = 0;
const SERVER: usize = 1;
/// One-way delay of a packet.
const DELAY: Duration = Duration::from_millis(20);
/// More steps than any terminating run takes.
const MAX_STEPS: usize = 600;

/// The end that closes the connection, once it is connected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Closer {
    Client,
    Server,
    Both,
}

/// The behaviour of the applications.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) closer: Closer,
    pub(crate) client: Config,
    pub(crate) server: Config,
    /// Time for which the connection stays open before it is closed.
    pub(crate) pause: Duration,
    /// The client sends a datagram before it closes.
    pub(crate) send: bool,
}

/// A choice that was there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) taken: u8,
    pub(crate) alternatives: u8,
}

/// The outcome of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) steps: Vec<Step>,
    pub(crate) log: Vec<String>,
    pub(crate) is_endless: bool,
    /// Connections that are neither over nor about to be.
    pub(crate) left_over: usize,
    /// Reasons for the end of connections at the client and at the server.
    pub(crate) ends: [Vec<ConnectionError>; 2],
    /// Incompatible states of the ends, or different values of a feature.
    pub(crate) disagreement: Option<String>,
    /// Number of times both ends were open and agreed on all features.
    pub(crate) agreements: usize,
    /// Number of arrivals of the datagram.
    pub(crate) delivered: usize,
}

/// The network's choices for the oldest packet; all but the first are faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Choice {
    Deliver,
    Lose,
    Duplicate,
    Overtake,
    Hold,
}

struct World<'a> {
    scenario: &'a Scenario,
    now: Instant,
    endpoints: [Endpoint; 2],
    /// Packets with their receiver and earliest arrival time.
    network: VecDeque<(usize, Instant, Transmit)>,
    handles: [Option<ConnectionHandle>; 2],
    /// Times at which applications close.
    closing: [Option<(Instant, ConnectionHandle)>; 2],
    outcome: Outcome,
}

fn address(end: usize) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1 + end as u8], 6511))
}

/// Runs the scenario with these choices first and the first of all afterwards.
pub(crate) fn run(scenario: &Scenario, faults: usize, choices: &[u8]) -> Outcome {
    let mut world = World::new(scenario);
    let mut faults_left = faults;
    let mut planned = choices.iter().copied();
    world.drain();
    for _ in 0..MAX_STEPS {
        let Some(possible) = world.possible(faults_left) else { return world.finish(false) };
        let taken = planned.next().unwrap_or(0);
        let choice = possible[usize::from(taken)];
        world.outcome.steps.push(Step { taken, alternatives: possible.len() as u8 });
        faults_left -= usize::from(choice != Choice::Deliver);
        world.take(choice);
        world.drain();
    }
    world.finish(true)
}

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let now = Instant::from_secs(1);
        let mut endpoints = [1, 2].map(|seed| Endpoint::new(EndpointConfig::default(), seed));
        endpoints[SERVER].listen(5001, scenario.server.clone()).expect("a usable configuration");
        let client = endpoints[CLIENT]
            .connect(now, address(SERVER), 5001, scenario.client.clone())
            .expect("a usable configuration");
        let outcome = Outcome {
            steps: Vec::new(),
            log: Vec::new(),
            is_endless: false,
            left_over: 0,
            ends: [Vec::new(), Vec::new()],
            disagreement: None,
            agreements: 0,
            delivered: 0,
        };
        let handles = [Some(client), None];
        Self { scenario, now, endpoints, network: VecDeque::new(), handles, closing: [None; 2], outcome }
    }

    /// The choices for the next step; `None` if there are none.
    fn possible(&self, faults: usize) -> Option<Vec<Choice>> {
        let timer = self.next_timer();
        if self.network.is_empty() {
            // Time passes; there is no choice about that.
            return timer.map(|_| vec![Choice::Deliver]);
        }
        let mut possible = vec![Choice::Deliver];
        if faults > 0 {
            possible.extend([Choice::Lose, Choice::Duplicate]);
            let first_to = self.network[0].0;
            if self.network.iter().skip(1).any(|(to, ..)| *to == first_to) {
                possible.push(Choice::Overtake);
            }
            if timer.is_some() {
                possible.push(Choice::Hold);
            }
        }
        Some(possible)
    }

    fn next_timer(&self) -> Option<Instant> {
        let timers = self.endpoints.iter().filter_map(Endpoint::poll_timeout);
        timers.chain(self.closing.iter().flatten().map(|(at, _)| *at)).min()
    }

    fn take(&mut self, choice: Choice) {
        if self.network.is_empty() || choice == Choice::Hold {
            let Some(at) = self.next_timer() else { return };
            self.now = self.now.max(at);
            self.outcome.log.push(format!("{:?} {choice:?}: time passes", self.now));
            self.run_timers();
            return;
        }
        let to = self.network[0].0;
        let place = match choice {
            Choice::Overtake => (1..self.network.len()).find(|i| self.network[*i].0 == to).unwrap_or(0),
            _ => 0,
        };
        let Some((to, due, transmit)) = self.network.remove(place) else { return };
        self.outcome.log.push(format!("{:?} {choice:?} to {to}: {:?}", self.now, transmit.packet));
        if choice == Choice::Lose {
            return;
        }
        self.now = self.now.max(due);
        if choice == Choice::Duplicate {
            self.network.push_back((to, due + DELAY, transmit.clone()));
        }
        // A timer that is due by now comes first, as with any driver.
        self.run_timers();
        let meta = ReceiveMeta { ecn: transmit.ecn, ..ReceiveMeta::default() };
        self.endpoints[to].handle_packet(self.now, address(1 - to), meta, transmit.packet);
    }

    fn run_timers(&mut self) {
        for end in [CLIENT, SERVER] {
            self.endpoints[end].handle_timeout(self.now);
            if let Some((_, handle)) = self.closing[end].take_if(|(at, _)| *at <= self.now) {
                self.endpoints[end].close(self.now, handle);
            }
        }
    }

    /// Drains both ends.
    fn drain(&mut self) {
        for end in [CLIENT, SERVER] {
            loop {
                let mut is_quiet = true;
                while let Some((to, transmit)) = self.endpoints[end].poll_transmit(self.now) {
                    assert_eq!(to, address(1 - end));
                    self.network.push_back((1 - end, self.now + DELAY, transmit));
                    is_quiet = false;
                }
                while let Some((handle, event)) = self.endpoints[end].poll_event() {
                    self.on_event(end, handle, event);
                    is_quiet = false;
                }
                if is_quiet {
                    break;
                }
            }
        }
        self.compare();
    }

    fn connection(&self, end: usize) -> Option<&Connection> {
        self.endpoints[end].connection(self.handles[end]?)
    }

    /// Checks that the two ends' states are compatible, and their features once no packet is in flight.
    fn compare(&mut self) {
        let Some(client) = self.connection(CLIENT) else { return };
        let server = self.connection(SERVER);
        let states = (client.state(), server.map(Connection::state));
        let mut wrong = None;
        if !fit(states.0, states.1, self.handles[SERVER].is_some(), false) {
            wrong = Some(format!("client {}, server {:?}", states.0, states.1));
        }
        let mut agree = false;
        if let Some(server) = server
            && states == (State::Open, Some(State::Open))
        {
            let is_quiet = client.negotiation().is_quiet() && server.negotiation().is_quiet();
            let difference = disagreement(client, server);
            agree = is_quiet && difference.is_none();
            // Packets in flight may complete the negotiation.
            wrong = wrong.or(difference.filter(|_| self.network.is_empty()));
        }
        self.outcome.agreements += usize::from(agree);
        if self.outcome.disagreement.is_none() {
            self.outcome.disagreement = wrong;
        }
    }

    fn on_event(&mut self, end: usize, handle: ConnectionHandle, event: EndpointEvent) {
        let EndpointEvent::Connection(event) = event else {
            self.handles[end].get_or_insert(handle);
            return;
        };
        self.outcome.log.push(format!("{:?} {end}: {event:?}", self.now));
        match event {
            Event::Connected { .. } => self.act(end, handle),
            Event::Datagram { .. } => self.outcome.delivered += 1,
            Event::Closed(error) => self.outcome.ends[end].push(error),
            _ => {}
        }
    }

    /// The application is notified of the connection.
    fn act(&mut self, end: usize, handle: ConnectionHandle) {
        let (now, endpoint) = (self.now, &mut self.endpoints[end]);
        if end == CLIENT && self.scenario.send {
            let sent = endpoint.send(now, handle, Datagram::new(Bytes::from_static(b"once")));
            sent.expect("room for one datagram");
        }
        let closes = match self.scenario.closer {
            Closer::Client => end == CLIENT,
            Closer::Server => end == SERVER,
            Closer::Both => true,
        };
        if closes {
            self.closing[end] = Some((now + self.scenario.pause, handle));
        }
    }

    fn finish(mut self, is_endless: bool) -> Outcome {
        self.outcome.is_endless = is_endless;
        self.outcome.left_over = self.endpoints.iter().map(Endpoint::len).sum();
        self.outcome
    }
}
