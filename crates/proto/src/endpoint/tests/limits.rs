//! Bounds on an endpoint's places and memory under attack.

use whimbrel_wire::DccpOption;

use super::*;

/// A client that implements the protocol without state: it takes all places that a server gives it, from one
/// address.
struct Attacker {
    address: SocketAddr,
    port: u16,
}

impl Attacker {
    fn new(address: impl Into<SocketAddr>) -> Self {
        Self { address: address.into(), port: 0 }
    }

    fn give(&self, net: &mut Net, packet: Packet) -> Vec<Packet> {
        let now = net.now;
        let server = net.at(1);
        server.handle_packet(now, self.address, ReceiveMeta::default(), packet);
        let answers: Vec<_> =
            core::iter::from_fn(|| server.poll_transmit(now)).map(|(_, transmit)| transmit.packet).collect();
        while server.poll_event().is_some() {}
        answers
    }

    /// Requests a further connection. Returns the answer: none if there were too many lately.
    fn ask(&mut self, net: &mut Net) -> Option<Packet> {
        self.port += 1;
        let request = Packet { source_port: self.port, ..request(42, PORT) };
        self.give(net, request).pop()
    }

    /// Completes a handshake. Returns `true` if there is a further connection.
    fn open(&mut self, net: &mut Net) -> bool {
        let Some(response) = self.ask(net) else { return false };
        if response.packet_type() != PacketType::Response {
            assert_eq!(code(&response), Some(ResetCode::TooBusy));
            return false;
        }
        let is_cookie = |option: &&DccpOption| matches!(option, DccpOption::InitCookie(_));
        let options = response.options.iter().filter(is_cookie).cloned().collect();
        let ack = Packet {
            source_port: self.port,
            options,
            ..packet(Kind::Ack { ack: response.sequence }, 101, PORT)
        };
        self.give(net, ack).iter().all(|answer| answer.packet_type() != PacketType::Reset)
    }
}

fn serving(limits: EndpointConfig, timers: TimerConfig) -> Net {
    let mut net = Net::new(2, limits);
    net.at(1).listen(PORT, Config { timers, ..free() }).unwrap();
    net
}

/// `true` if an honest client at host 2 gets a connection.
fn serves_others(net: &mut Net) -> bool {
    let client = net.connect(2, 1);
    net.run_for(millis(100));
    let now = net.now;
    let is_open = net.at(2).send(now, client, datagram(1)).is_ok();
    net.run_for(millis(100));
    is_open && net.at(2).connection(client).is_some_and(|connection| connection.state() == State::Open)
}

#[test]
fn one_address_cannot_take_the_places_of_all_others() {
    let limits =
        EndpointConfig { max_accepted: 300, max_accepted_per_source: 50, ..EndpointConfig::default() };
    let mut net = serving(limits, TimerConfig::default());
    let mut attacker = Attacker::new(([192, 0, 2, 1], 6511));
    let opened = (0..1_000).filter(|_| attacker.open(&mut net)).count();
    assert_eq!((opened, net.at(1).snapshot().accepted), (50, 50));
    assert!(serves_others(&mut net));
}

#[test]
fn an_ipv6_network_of_64_bits_is_one_source_and_an_ipv4_address_is_one() {
    let limits = EndpointConfig { max_accepted_per_source: 5, ..EndpointConfig::default() };
    let mut net = serving(limits, TimerConfig::default());
    let v6 = |network: u16, host: u16| ([0x2001, 0xdb8, 0, network, 0, 0, 0, host], 6511);
    let opened = (1..=100).filter(|host| Attacker::new(v6(1, *host)).open(&mut net)).count();
    assert_eq!(opened, 5);
    assert!(Attacker::new(v6(2, 1)).open(&mut net), "another network");
    // A dual-stack socket's name for it is the same IPv4 address.
    let mapped = ([0, 0, 0, 0, 0, 0xffff, 0xc000, 0x0201], 7000);
    for n in 0..6 {
        let port = 6511 + n;
        let opened = if n % 2 == 0 {
            Attacker::new(([192, 0, 2, 1], port)).open(&mut net)
        } else {
            Attacker::new((mapped.0, mapped.1 + n)).open(&mut net)
        };
        assert_eq!(opened, n < 5);
    }
    assert!(Attacker::new(([192, 0, 2, 2], 6511)).open(&mut net), "its neighbour");
}

#[test]
fn attackers_that_have_gone_leave_nothing_behind_once_the_idle_limit_has_passed() {
    let limits = EndpointConfig { max_accepted: 500, ..EndpointConfig::default() };
    let mut net = serving(limits, TimerConfig::default());
    let mut host = 0;
    while net.at(1).snapshot().accepted < 500 {
        host += 1;
        Attacker::new(([192, 0, 2, host], 6511)).open(&mut net);
        Attacker::new(([192, 0, 2, host], 6512)).open(&mut net);
    }
    assert!(!serves_others(&mut net), "it is full");
    net.run_for(Duration::from_secs(61));
    let seen = net.at(1).snapshot();
    assert_eq!((seen.connections, seen.accepted, seen.half_open, seen.sources), (0, 0, 0, 0), "{seen:?}");
    assert!(serves_others(&mut net));
}

#[test]
fn a_client_that_returns_its_cookie_takes_the_place_of_one_that_has_not_confirmed() {
    let limits = EndpointConfig { max_accepted: 20, ..EndpointConfig::default() };
    let mut net = serving(limits, TimerConfig::default());
    for host in 1..=20 {
        Attacker::new(([192, 0, 2, host], 6511)).ask(&mut net);
    }
    let full = net.at(1).snapshot();
    assert_eq!((full.accepted, full.half_open), (20, 20));
    assert!(serves_others(&mut net));
    let seen = net.at(1).snapshot();
    assert_eq!((seen.accepted, seen.half_open), (20, 19), "one of them had to go");
    // If all have confirmed, none has to.
    for host in 1..=19 {
        assert!(Attacker::new(([198, 51, 100, host], 6511)).open(&mut net));
    }
    assert!(!Attacker::new(([198, 51, 100, 20], 6511)).open(&mut net));
    assert_eq!(net.at(1).snapshot().accepted, 20);
}

#[test]
fn forged_requests_in_the_name_of_a_source_do_not_keep_it_out() {
    for max_half_open_per_source in [4, 1_000] {
        let limits = EndpointConfig {
            max_half_open_per_source,
            max_accepted_per_source: 10,
            ..EndpointConfig::default()
        };
        let mut net = serving(limits, TimerConfig::default());
        let mut forger = Attacker::new(address(2));
        for _ in 0..200 {
            forger.ask(&mut net);
        }
        let waiting = net.at(1).snapshot().half_open;
        assert_eq!(waiting, max_half_open_per_source.min(200));
        assert!(serves_others(&mut net));
    }
}

#[test]
fn without_cookies_an_overdue_client_is_replaced() {
    let limits =
        EndpointConfig { max_half_open: 20, init_cookies: InitCookies::Never, ..EndpointConfig::default() };
    let mut net = serving(limits, TimerConfig::default());
    for host in 1..=20 {
        Attacker::new(([192, 0, 2, host], 6511)).ask(&mut net);
    }
    assert!(!serves_others(&mut net), "it had no time to answer yet");
    net.run_for(Duration::from_secs(3));
    assert!(serves_others(&mut net));
    assert_eq!(net.at(1).snapshot().half_open, 19);
}

#[test]
fn connections_that_their_clients_reset_do_not_fill_memory() {
    let limits = EndpointConfig { max_time_wait: 30, ..EndpointConfig::default() };
    let mut net = serving(limits, TimerConfig::default());
    let mut attacker = Attacker::new(([192, 0, 2, 1], 6511));
    for _ in 0..200 {
        let response = attacker.ask(&mut net).expect("a Response");
        let reset = Kind::Reset { ack: response.sequence, reset: Reset::new(ResetCode::Aborted) };
        let reset = Packet { source_port: attacker.port, ..packet(reset, 101, PORT) };
        assert!(attacker.give(&mut net, reset).is_empty());
    }
    net.drain();
    let seen = net.at(1).snapshot();
    assert_eq!((seen.connections, seen.time_wait, seen.accepted), (30, 30, 0), "{seen:?}");
    net.run_for(Duration::from_secs(241));
    let seen = net.at(1).snapshot();
    assert_eq!((seen.connections, seen.time_wait), (0, 0), "{seen:?}");
}

#[test]
fn secrets_do_not_appear_in_debug_output() {
    let secret = *b"0123456789abcdef";
    let mut endpoint = Endpoint::with_secret(EndpointConfig::default(), secret);
    endpoint.set_mobility_secret([0xa5; 32]);
    endpoint.listen(PORT, free()).unwrap();
    let shown = format!("{endpoint:?}").to_lowercase();
    let words = [&secret[..8], &secret[8..]].map(|half| {
        let word = u64::from_be_bytes(half.try_into().unwrap());
        [word.to_string(), format!("{word:x}"), u64::from_le_bytes(half.try_into().unwrap()).to_string()]
    });
    let bytes = ["165, 165, 165", "48, 49, 50, 51"].map(String::from);
    for hidden in words.iter().flatten().chain(&bytes) {
        assert!(!shown.contains(hidden), "{hidden} in {shown}");
    }
    assert!(shown.contains("secret"), "{shown}");
}

#[test]
fn another_secret_makes_other_numbers() {
    let first = |secret: [u8; 16]| {
        let mut endpoint = Endpoint::with_secret(EndpointConfig::default(), secret);
        let now = Instant::from_secs(50);
        endpoint.connect(now, address(1), PORT, free()).unwrap();
        let packet = endpoint.poll_transmit(now).unwrap().1.packet;
        (packet.sequence, packet.source_port)
    };
    // Each byte of it counts.
    let mut seen: Vec<_> = (0..16).map(|at| first(core::array::from_fn(|i| u8::from(i == at)))).collect();
    seen.push(first([0; 16]));
    assert_eq!(first([0; 16]), seen[16]);
    let mut sequences: Vec<_> = seen.iter().map(|(sequence, _)| sequence.value()).collect();
    sequences.sort_unstable();
    sequences.dedup();
    assert_eq!(sequences.len(), 17);
}
