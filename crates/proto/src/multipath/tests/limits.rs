//! The limits of an endpoint against clients that do not exist, or ask for too much.

use core::net::SocketAddr;

use whimbrel_units::Duration;
use whimbrel_wire::{Kind, Packet, PacketType, ResetCode, SeqNo};

use super::world::{End, Line, PORT, World, config};
use crate::multipath::{MultipathConfig, MultipathEndpoint, MultipathEvent, Path};
use crate::{EndpointConfig, InitCookies, ReceiveMeta};

const FORGED: u32 = 1_024;

/// Two ends with these limits at the server. The client's Request has not left.
fn world(limits: EndpointConfig) -> World {
    let settings = MultipathConfig::default();
    let lines = [Line::of(10), Line::of(20)];
    let mut world = World::new(&lines, config(), config(), [settings.clone(), settings.clone()]);
    world.server = MultipathEndpoint::with_entropy(limits, [2; 32]);
    world.server.listen(PORT, config(), settings).expect("a valid configuration");
    world
}

/// The Request of a client of multipath connections at that address.
fn request(world: &World, number: u32, remote: SocketAddr) -> (Path, Packet) {
    let mut client = MultipathEndpoint::with_entropy(EndpointConfig::default(), [number as u8; 32]);
    let local = SocketAddr::from(([192, 0, 2, 1], 0));
    let path = Path { local: remote, remote: local };
    client.connect(world.now, path, PORT, config(), MultipathConfig::default()).expect("a free port");
    let (_, transmit) = client.poll_transmit(world.now).expect("a Request");
    let sequence = SeqNo::new(transmit.packet.sequence.value() + u64::from(number));
    (Path { local, remote }, Packet { sequence, ..transmit.packet })
}

/// Gives the server Requests in the names of hosts that do not exist, and returns the answers.
fn flood(world: &mut World, source: impl Fn(u32) -> [u8; 4]) -> Vec<Packet> {
    let mut answers = Vec::new();
    for number in 0..FORGED {
        let remote = SocketAddr::from((source(number), 1_000 + number as u16));
        let (path, packet) = request(world, number, remote);
        world.server.handle_packet(world.now, path, ReceiveMeta::default(), packet);
        while let Some((_, transmit)) = world.server.poll_transmit(world.now) {
            answers.push(transmit.packet);
        }
        while world.server.poll_event().is_some() {}
        world.now += Duration::from_millis(2);
    }
    answers
}

/// The client connects and a second subflow joins.
fn check_service(world: &mut World) {
    world.run_for(Duration::from_secs(1));
    let established = MultipathEvent::Established { is_multipath: true };
    assert!(world.events(End::Client).contains(&established), "{:?}", world.client_events);
    world.join(1);
    world.run_for(Duration::from_secs(1));
    let up = |event: &MultipathEvent| matches!(event, MultipathEvent::SubflowUp(_));
    for end in [End::Client, End::Server] {
        assert!(world.events(end).iter().any(up), "{end:?}");
    }
    world.send(End::Client, 7);
    world.run_for(Duration::from_secs(1));
    assert_eq!(world.received(End::Server), [7]);
}

fn many_sources(number: u32) -> [u8; 4] {
    let [_, _, c, d] = number.to_be_bytes();
    [203, 0, c, d]
}

#[test]
fn forged_requests_exclude_no_client() {
    let limits = EndpointConfig::default().max_half_open(FORGED as usize / 2);
    let mut world = world(limits);
    let answers = flood(&mut world, many_sources);
    assert_eq!(answers.len(), FORGED as usize);
    assert!(answers.iter().all(|answer| answer.packet_type() == PacketType::Response));
    let seen = world.server.snapshot();
    assert_eq!((seen.half_open, seen.connections), (FORGED as usize / 2, FORGED as usize / 2));
    check_service(&mut world);
}

#[test]
fn forged_requests_in_the_name_of_one_source_concern_that_source_only() {
    let limits = EndpointConfig::default().max_half_open_per_source(16).init_cookies(InitCookies::Never);
    let mut world = world(limits);
    let answers = flood(&mut world, |_| [203, 0, 113, 1]);
    let is_busy = |answer: &&Packet| matches!(answer.kind, Kind::Reset { reset, .. } if reset.code == ResetCode::TooBusy);
    assert_eq!(answers.iter().filter(is_busy).count(), FORGED as usize - 16);
    assert_eq!(world.server.snapshot().half_open, 16);
    check_service(&mut world);
}

#[test]
fn a_server_that_keeps_no_state_gets_the_same_connection() {
    let mut world = world(EndpointConfig::default().init_cookies(InitCookies::Always));
    world.run_for(Duration::from_millis(15));
    assert!(world.server.is_empty(), "no state before the cookie has returned");
    check_service(&mut world);
    assert_eq!(world.server.snapshot().accepted, 1);
}

#[test]
fn a_cookie_counts_on_its_path_only() {
    let mut world = world(EndpointConfig::default().init_cookies(InitCookies::Always));
    world.run_for(Duration::from_millis(500));
    let acknowledgement =
        world.sent_by(End::Client, 0).find(|sent| sent.packet.packet_type() == PacketType::Ack);
    let packet = acknowledgement.expect("it returns the cookie").packet.clone();
    let elsewhere = super::world::reversed(super::world::path(1));
    world.server.handle_packet(world.now, elsewhere, ReceiveMeta::default(), packet);
    let answer = world.server.poll_transmit(world.now).expect("a Reset").1.packet;
    assert!(matches!(answer.kind, Kind::Reset { reset, .. } if reset.code == ResetCode::BadInitCookie));
    assert_eq!(world.server.len(), 1);
}
