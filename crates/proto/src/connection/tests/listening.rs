//! Listen packets at ends that process them, and at others (RFC 5596, Section 2.2).

use whimbrel_units::Duration;
use whimbrel_wire::{DccpOption, Kind, OptionBytes, Packet, PacketType, Payload, SeqNo, ServiceCode};

use super::pair::{End, Pair, config};
use crate::{Config, State};

fn free() -> Config {
    config(Duration::ZERO)
}

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A Listen with a number, options and data, none of which count (RFC 5596, Section 2.2.1).
fn listen(pair: &Pair, from: End) -> Packet {
    let unknown = DccpOption::Unknown { kind: 77, data: OptionBytes::new() };
    Packet {
        options: [DccpOption::Mandatory, unknown].into_iter().collect(),
        payload: Payload::Opaque { length: 100, tag: 1 },
        ..pair.forge(from, Kind::Listen { service_code: ServiceCode(42) }, SeqNo::new(0x1234_5678_9abc))
    }
}

#[test]
fn only_its_service_code_counts() {
    let mut pair = Pair::new(free());
    pair.lose(|_| true);
    pair.client.connect(pair.now);
    pair.run_for(millis(300));
    let listen = listen(&pair, End::Server);
    pair.inject(End::Client, listen);
    pair.run_for(millis(1));
    assert_eq!(pair.types(), [(End::Client, PacketType::Request); 2]);
    assert_eq!(pair.client.state(), State::Request);
    assert_eq!(pair.client_events, []);
}

/// Gives Listens to both ends, but not to a client in REQUEST. The ends' states.
fn neither_minds(pair: &mut Pair) -> [State; 2] {
    let look = |pair: &Pair| {
        let states = [pair.client.state(), pair.server().state()];
        (states, pair.types(), pair.client_events.clone(), pair.server_events.clone())
    };
    let before = look(pair);
    for (to, from) in [(End::Client, End::Server), (End::Server, End::Client)] {
        if pair.end(to).state() != State::Request {
            let listen = listen(pair, from);
            pair.inject(to, listen);
        }
    }
    pair.drain();
    assert_eq!(look(pair), before);
    before.0
}

#[test]
fn elsewhere_it_is_discarded_in_silence() {
    let mut pair = Pair::new(free());
    pair.client.connect(pair.now);
    pair.run_for(millis(60));
    assert_eq!(neither_minds(&mut pair), [State::Request, State::Respond]);
    pair.run_for(millis(50));
    assert_eq!(neither_minds(&mut pair), [State::PartOpen, State::Respond]);
    let mut pair = Pair::connected(free());
    assert_eq!(neither_minds(&mut pair), [State::Open, State::Open]);
    pair.client.close(pair.now);
    pair.run_for(millis(200));
    assert_eq!(neither_minds(&mut pair), [State::TimeWait, State::Closed]);
}
