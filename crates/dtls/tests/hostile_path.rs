//! Handshakes and data on a path that loses, doubles, reorders, narrows and is silent, in simulated time.

use crate::world;

use whimbrel_dtls::{Identity, RECORD_OVERHEAD, Security, SecurityError, Trust};
use whimbrel_proto::{
    Ccid, Config, ConnectionError, Event, FreezeScope, PathMtuDiscovery, SendError, SendQueueConfig,
};
use whimbrel_units::Duration;
use whimbrel_wire::ResetCode;
use world::{End, Path, World, pair};

fn second(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn config(ccid: Ccid) -> Config {
    let queue = SendQueueConfig::default().max_datagrams(200);
    Config::default().sender_ccids([ccid]).receiver_ccids([ccid]).send_queue(queue)
}

fn world(path: Path) -> World {
    World::new(7, path, config(Ccid::TFRC), pair(7))
}

#[test]
fn on_a_clean_path_both_handshakes_take_three_round_trips() {
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC] {
        let mut world = World::new(1, Path::clean(), config(ccid), pair(1));
        let began = world.now;
        assert!(world.connect(second(5)));
        // One of DCCP, one to the server's flight, one to its confirmation of the client's, which fits the
        // first rate.
        let trips = (world.now - began).as_secs_f64() / 0.040;
        assert!((2.9..=3.6).contains(&trips), "{ccid}: {trips} round trips");
        let peers = (world.client.layer.peer(), world.server().layer.peer());
        assert!(peers.0.is_some() && peers.1.is_some() && peers.0 != peers.1);
    }
}

#[test]
fn handshakes_succeed_under_loss_duplication_and_reordering() {
    let mut longest: f64 = 0.0;
    for seed in 0..40 {
        let jitter = Duration::from_millis(5 * (seed % 20));
        let path = Path { jitter, lost: 15, doubled: 15, ..Path::clean() };
        let ccid = if seed % 2 == 0 { Ccid::TFRC } else { Ccid::TCP_LIKE };
        // 47 of these packets leave in the first round-trip time, and the jitter reorders all of them. The
        // Sequence Window of 100, which DCCP starts with, ends 25 packets below the greatest number (RFC
        // 4340, Section 7.5.1).
        let mut world = World::new(seed, path, config(ccid).sequence_window(400), pair(seed));
        let began = world.now;
        assert!(world.connect(second(30)), "seed {seed}: {:?} {:?}", world.client, world.server);
        longest = longest.max((world.now - began).as_secs_f64());
        // Data: what arrives is what was sent, once.
        for n in 0..100u8 {
            world.send(&[n; 300]).expect("open");
        }
        world.run(second(120), |world| world.client.connection.queued_datagrams() == 0);
        world.run(second(1), |_| false);
        let received = world.server().received.clone();
        let mut numbers: Vec<u8> = received.iter().map(|data| data[0]).collect();
        assert!(received.iter().all(|data| data[..] == [data[0]; 300]));
        numbers.sort_unstable();
        let all = numbers.len();
        numbers.dedup();
        assert_eq!(numbers.len(), all, "seed {seed}: datagrams arrived twice");
        // 85 % pass the path.
        assert!((70..=98).contains(&all), "seed {seed}: {all} of 100 arrived");
    }
    println!("the longest handshake took {longest:.2} s");
    assert!(longest < 15.0);
}

#[test]
fn no_record_is_sent_again_while_the_first_copy_waits_for_congestion_control() {
    let mut world = world(Path::clean());
    // A handover stops the client as soon as DCCP has connected: its ClientHello waits in the send queue.
    let is_open = |world: &World| world.client.connection.state() != whimbrel_proto::State::Request;
    assert!(world.run(second(1), is_open));
    let now = world.now;
    world.client.connection.freeze(now, FreezeScope::Local);
    world.run(second(15), |_| false);
    let queued = world.client.connection.queued_datagrams();
    assert!(queued <= 1, "{queued} ClientHellos wait");
    let now = world.now;
    world.client.connection.unfreeze(now, FreezeScope::Local);
    assert!(world.connect(second(5)));
    // ClientHello, and the last flight in one or two datagrams.
    assert!((2..=3).contains(&world.client.sent), "{} datagrams", world.client.sent);
}

#[test]
fn the_handshake_passes_a_path_of_750_bytes() {
    let mut world = world(Path { mtu: 750, ..Path::clean() });
    // 0.7 s; in one of four runs, whose keys and signatures are random, up to 5.3 s.
    assert!(world.connect(second(10)));
}

/// The largest datagram according to the last event of the client.
fn reported(world: &World) -> Option<usize> {
    world.client.events.iter().rev().find_map(|event| match event {
        Event::MaxDatagramChanged { max_datagram } => Some(*max_datagram),
        _ => None,
    })
}

#[test]
fn records_shrink_with_the_path() {
    let config = config(Ccid::TFRC).path_mtu(PathMtuDiscovery::FromLargest);
    let mut world = World::new(5, Path::clean(), config, pair(5));
    assert!(world.connect(second(5)));
    let End { connection, layer, .. } = &world.client;
    let most = layer.seen(connection.snapshot()).max_datagram;
    assert_eq!(most + RECORD_OVERHEAD, connection.snapshot().max_datagram);
    // The path carries less from now on, and drops the rest without a word.
    world.path.mtu = 1300;
    let mut size = most;
    for _ in 0..200 {
        match world.send(&vec![1; size]) {
            Err(SendError::TooLarge { limit, .. }) => size = limit,
            other => other.expect("open"),
        }
        world.run(Duration::from_millis(50), |_| false);
    }
    assert!((1100..1300 - RECORD_OVERHEAD).contains(&size), "{size}");
    let End { connection, layer, .. } = &world.client;
    let now_most = layer.seen(connection.snapshot()).max_datagram;
    // Discovery goes on upwards.
    assert_eq!(reported(&world), Some(now_most));
    assert!((size..1300).contains(&now_most), "{now_most}");
    let arrived = world.server().received.iter().filter(|data| data.len() == size).count();
    assert!(arrived > 50, "{arrived} datagrams of {size} bytes");
    assert_eq!(world.server().failure, None);
}

#[test]
fn an_untrusted_end_ends_both_connections_at_once() {
    let (client, server) = pair(3);
    let stranger = Identity::generate().expect("a key");
    let key = stranger.fingerprint();
    let any = Security::new(stranger, Trust::Any);
    // At the server.
    let mut world = World::new(3, Path::clean(), config(Ccid::TFRC), (any.clone(), server));
    let over = |world: &World| world.client.closed.is_some();
    assert!(world.run(second(1), over));
    let end = world.server();
    assert_eq!((&end.failure, end.is_connected()), (&Some(SecurityError::UntrustedKey(key)), false));
    assert_eq!(
        (&world.client.failure, world.client.is_connected()),
        (&Some(SecurityError::EndedByPeer), false)
    );
    let Some(ConnectionError::Reset(reset)) = world.client.closed else {
        panic!("{:?}", world.client.closed)
    };
    assert_eq!(reset.code, ResetCode::Aborted);
    // At the client, which sends nothing after it has seen the server's key but the Reset.
    let mut world = World::new(3, Path::clean(), config(Ccid::TFRC), (client, any));
    let over = |world: &World| world.server.as_ref().is_some_and(|server| server.closed.is_some());
    assert!(world.run(second(1), over));
    assert_eq!(world.client.failure, Some(SecurityError::UntrustedKey(key)));
    assert_eq!(world.client.sent, 1, "one ClientHello");
}

#[test]
fn a_peer_that_is_silent_after_the_handshake_of_dccp_is_given_up() {
    let mut world = world(Path::clean());
    let is_open = |world: &World| world.server.is_some();
    assert!(world.run(second(1), is_open));
    // From now on only packets without data pass.
    world.path.mtu = 100;
    let began = world.now;
    assert!(world.run(second(60), |world| world.server.as_ref().is_some_and(|end| end.closed.is_some())));
    let waited = (world.now - began).as_secs_f64();
    assert!((29.0..31.0).contains(&waited), "{waited} s");
    // The client's time began first; its Reset reaches the server.
    assert_eq!(world.client.failure, Some(SecurityError::TimedOut));
    assert_eq!(world.server().failure, Some(SecurityError::EndedByPeer));
    // As many as congestion control lets pass.
    assert!((12..30).contains(&world.client.sent), "{} ClientHellos", world.client.sent);
}

#[test]
fn clear_data_beside_dtls_reach_no_application() {
    let mut world = world(Path::clean());
    assert!(world.connect(second(5)));
    world.send(b"authentic").expect("open");
    world.inject(b"in the clear");
    world.inject(&[0x2f; 400]);
    world.inject(&[22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0]);
    world.send(b"authentic").expect("open");
    world.run(second(2), |_| false);
    let server = world.server();
    assert_eq!(server.received, [&b"authentic"[..], b"authentic"]);
    assert_eq!(server.layer.ignored(), 3);
    assert_eq!((&server.failure, &server.closed), (&None, &None));
}

/// An identity whose certificate has a name of that many bytes.
fn named(length: usize) -> Identity {
    let key = rcgen::KeyPair::generate().expect("a key");
    let mut parameters = rcgen::CertificateParams::default();
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters.distinguished_name.push(rcgen::DnType::CommonName, "n".repeat(length));
    let certificate = parameters.self_signed(&key).expect("a certificate");
    Identity::from_pem_with_certificate(&key.serialize_pem(), &certificate.pem())
        .expect("they belong together")
}

/// The place of each message in the datagrams of a flight depends on the size of the certificate, and is
/// another one when a part of the flight is repeated.
#[test]
fn handshakes_with_certificates_of_any_size_succeed_under_loss() {
    let trust = |identity: &Identity| Trust::Pinned(vec![identity.fingerprint()]);
    for length in (1..=131).step_by(10) {
        for seed in 0..20 {
            let (client, server) = (named(length), named(length));
            let (of_client, of_server) = (trust(&server), trust(&client));
            let pair = (
                Security::new(client, of_client).seeded(seed),
                Security::new(server, of_server).seeded(seed),
            );
            let jitter = Duration::from_millis(5 * seed);
            let path = Path { jitter, lost: 15, doubled: 15, ..Path::clean() };
            let mut world = World::new(seed, path, config(Ccid::TCP_LIKE), pair);
            assert!(world.connect(second(30)), "a name of {length} bytes, seed {seed}");
        }
    }
}
