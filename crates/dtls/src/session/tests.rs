//! Two sessions that exchange datagrams directly.

use super::handshake::HANDSHAKE_LIMIT;
use super::repeats::REPEAT_INTERVAL;
use super::*;
use crate::protection::REACH;
use crate::{Identity, KeyError, RECORD_OVERHEAD, Trust};

const NOW: Instant = Instant::from_secs(10);

/// Security of two ends that pin each other's key: client, server.
fn pair() -> (Security, Security) {
    let identity = || Identity::generate().expect("a key");
    let (client, server) = (identity(), identity());
    let trust = |identity: &Identity| Trust::Pinned(vec![identity.fingerprint()]);
    let (of_client, of_server) = (trust(&server), trust(&client));
    (Security::new(client, of_client), Security::new(server, of_server))
}

fn sessions((client, server): (Security, Security)) -> (Session, Session) {
    let rtt = Some(Duration::from_millis(50));
    (Session::new(NOW, Role::Client, client, rtt), Session::new(NOW, Role::Server, server, rtt))
}

/// Passes all handshake datagrams; returns their number.
fn exchange(now: Instant, client: &mut Session, server: &mut Session) -> usize {
    let mut passed = 0;
    loop {
        let (up, down) = (client.poll_transmit(), server.poll_transmit());
        if up.is_none() && down.is_none() {
            return passed;
        }
        passed += up.iter().len() + down.iter().len();
        assert!(passed < 100, "they go on for ever");
        up.into_iter().for_each(|datagram| server.handle_datagram(now, &datagram));
        down.into_iter().for_each(|datagram| client.handle_datagram(now, &datagram));
    }
}

fn events(session: &mut Session) -> Vec<SessionEvent> {
    std::iter::from_fn(|| session.poll_event()).collect()
}

/// Two established sessions.
fn established(securities: (Security, Security)) -> (Session, Session) {
    let (mut client, mut server) = sessions(securities);
    exchange(NOW, &mut client, &mut server);
    assert!(client.is_established() && server.is_established());
    events(&mut client);
    events(&mut server);
    (client, server)
}

#[test]
fn the_ends_authenticate_each_other_in_three_flights() {
    let securities = pair();
    let (client_key, server_key) = (securities.0.fingerprint(), securities.1.fingerprint());
    let (mut client, mut server) = sessions(securities);
    let hello = client.poll_transmit().expect("a ClientHello");
    assert!(client.poll_transmit().is_none() && server.poll_transmit().is_none());
    // As long as any answer to it: an attacker gains nothing by sending it under another's address.
    assert_eq!(hello.len(), 700);
    server.handle_datagram(NOW, &hello);
    let flight: Vec<_> = std::iter::from_fn(|| server.poll_transmit()).collect();
    assert!(flight.iter().all(|datagram| datagram.len() <= 700), "{flight:?}");
    flight.iter().for_each(|datagram| client.handle_datagram(NOW, datagram));
    assert!(!client.is_established(), "the server has not accepted it yet");
    let flight: Vec<_> = std::iter::from_fn(|| client.poll_transmit()).collect();
    flight.iter().for_each(|datagram| server.handle_datagram(NOW, datagram));
    assert_eq!(events(&mut server), [SessionEvent::Established { peer: client_key }]);
    let confirmation = server.poll_transmit().expect("an acknowledgement");
    assert_eq!(events(&mut client), []);
    client.handle_datagram(NOW, &confirmation);
    assert_eq!(events(&mut client), [SessionEvent::Established { peer: server_key }]);
    assert_eq!(
        (client.poll_timeout(), server.poll_timeout()),
        (None, None),
        "an idle session needs no timer"
    );
}

#[test]
fn a_record_is_longer_than_its_datagram_by_the_overhead_and_unreadable() {
    let (mut client, mut server) = established(pair());
    for size in [0, 1, 15, 16, 1200, 1400, 9000, LARGEST] {
        let data = vec![b'x'; size];
        let record = client.seal(NOW, &data).expect("established");
        assert_eq!(record.len(), size + RECORD_OVERHEAD);
        assert!(!record.windows(8).any(|window| window == b"xxxxxxxx"));
        server.handle_datagram(NOW, &record);
        assert_eq!(events(&mut server), [SessionEvent::Datagram(data.into())]);
    }
    assert!(client.seal(NOW, &vec![0; LARGEST + 1]).is_none());
}

#[test]
fn replayed_forged_and_clear_datagrams_have_no_effect() {
    let (mut client, mut server) = established(pair());
    let record = client.seal(NOW, b"once").expect("established");
    for at in 0..record.len() {
        let mut forged = record.to_vec();
        forged[at] ^= 0x40;
        server.handle_datagram(NOW, &forged);
        server.handle_datagram(NOW, &record[..at]);
    }
    server.handle_datagram(NOW, b"GET / HTTP/1.1");
    server.handle_datagram(NOW, &[0; 1400]);
    assert_eq!(events(&mut server), []);
    assert_eq!(server.ignored(), 2 * record.len() as u64 + 2);
    server.handle_datagram(NOW, &record);
    server.handle_datagram(NOW, &record);
    assert_eq!(events(&mut server), [SessionEvent::Datagram(Bytes::from_static(b"once"))]);
    assert_eq!(server.ignored(), 2 * record.len() as u64 + 3);
}

#[test]
fn records_may_overtake_each_other_by_hundreds() {
    let (mut client, mut server) = established(pair());
    let last = REACH as usize;
    let records: Vec<_> =
        (0..=last).map(|n| client.seal(NOW, &n.to_be_bytes()).expect("established")).collect();
    for n in [last, 1, 0, 1] {
        server.handle_datagram(NOW, &records[n]);
    }
    let arrived = |n: usize| SessionEvent::Datagram(n.to_be_bytes().to_vec().into());
    assert_eq!(events(&mut server), [arrived(last), arrived(1)]);
}

/// A path with bursts of loss carries some of the retransmissions, if they go on for as long as the handshake
/// may take.
#[test]
fn a_flight_is_sent_again_twice_per_second_at_least() {
    let (mut client, _) = sessions(pair());
    let mut sent = Vec::new();
    let mut now = NOW;
    while !client.is_over() {
        if std::iter::from_fn(|| client.poll_transmit()).count() > 0 {
            sent.push(now);
        }
        now = client.poll_timeout().expect("a handshake has timers");
        client.handle_timeout(now);
    }
    assert_eq!(now, NOW + HANDSHAKE_LIMIT);
    assert_eq!(events(&mut client), [SessionEvent::Failed(SecurityError::TimedOut)]);
    let mut waits = sent.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(waits.all(|wait| wait <= REPEAT_INTERVAL), "{sent:?}");
    assert!(
        (60..90).contains(&sent.len()) && now - *sent.last().expect("some") <= REPEAT_INTERVAL,
        "{sent:?}"
    );
}

/// Datagrams and bytes that a session sends until it has ended, to a peer that sends `said` each second.
fn sent_until_over(session: &mut Session, said: &[Bytes]) -> (usize, usize) {
    let (mut next, mut sent) = (NOW, (0, 0));
    loop {
        for datagram in std::iter::from_fn(|| session.poll_transmit()) {
            sent = (sent.0 + 1, sent.1 + datagram.len());
        }
        let Some(timer) = session.poll_timeout() else { return sent };
        let now = if said.is_empty() { timer } else { timer.min(next) };
        if now == next {
            said.iter().for_each(|datagram| session.handle_datagram(now, datagram));
            next += Duration::from_secs(1);
        }
        session.handle_timeout(now);
        assert!(now <= NOW + HANDSHAKE_LIMIT, "it goes on");
    }
}

/// A peer that has proved its address, but has no key, begins a handshake and falls silent, or says the same
/// again and again.
#[test]
fn a_peer_without_a_key_gets_six_datagrams_a_second_for_half_a_minute_at_most() {
    let hello = sessions(pair()).0.poll_transmit().expect("a ClientHello");
    for repeated in [0, 1, 2, 3, 20] {
        let (_, mut server) = sessions(pair());
        server.handle_datagram(NOW, &hello);
        let (datagrams, bytes) = sent_until_over(&mut server, &vec![hello.clone(); repeated]);
        assert!(
            datagrams <= 6 * 30 && bytes <= LARGEST_HANDSHAKE,
            "{repeated}: {datagrams} of {bytes} bytes"
        );
        assert!(matches!(events(&mut server)[..], [SessionEvent::Failed(_)]));
    }
}

#[test]
fn a_lost_flight_is_sent_again_after_three_round_trips() {
    for lost in 0..3 {
        let (mut client, mut server) = sessions(pair());
        let mut now = NOW;
        for flight in 0..100 {
            let up: Vec<_> = std::iter::from_fn(|| client.poll_transmit()).collect();
            let down: Vec<_> = std::iter::from_fn(|| server.poll_transmit()).collect();
            if up.is_empty() && down.is_empty() {
                break;
            }
            if flight != lost {
                up.iter().for_each(|datagram| server.handle_datagram(now, datagram));
                down.iter().for_each(|datagram| client.handle_datagram(now, datagram));
            } else {
                now = client.poll_timeout().expect("it waits for an answer");
                // A quarter of jitter; the clamp applies.
                let waited = (now - NOW).as_secs_f64();
                assert!((0.15..=0.25).contains(&waited), "{waited}");
                client.handle_timeout(now);
                assert!(client.has_transmits());
            }
        }
        assert!(client.is_established() && server.is_established(), "flight {lost}");
    }
}

/// A burst of losses of a number of packets, either way: the more packets there are, the sooner it ends.
#[test]
fn a_handshake_outlasts_a_burst_of_losses() {
    let is_through = |to_lose: &mut u32| {
        let is_through = *to_lose == 0;
        *to_lose = to_lose.saturating_sub(1);
        is_through
    };
    for (up, down) in [(0, 20), (20, 0), (20, 20)] {
        let (mut client, mut server) = sessions(pair());
        let (mut lost_up, mut lost_down) = (up, down);
        let mut now = NOW;
        loop {
            loop {
                let (from_client, from_server) = (client.poll_transmit(), server.poll_transmit());
                if from_client.is_none() && from_server.is_none() {
                    break;
                }
                if let Some(datagram) = from_client
                    && is_through(&mut lost_up)
                {
                    server.handle_datagram(now, &datagram);
                }
                if let Some(datagram) = from_server
                    && is_through(&mut lost_down)
                {
                    client.handle_datagram(now, &datagram);
                }
            }
            let Some(next) = client.poll_timeout().into_iter().chain(server.poll_timeout()).min() else {
                break;
            };
            now = next;
            client.handle_timeout(now);
            server.handle_timeout(now);
        }
        assert!(client.is_established() && server.is_established(), "{up} and {down}");
        // One packet each half second at least.
        assert!(now - NOW <= REPEAT_INTERVAL * u64::from(up + down), "{up} and {down}: {:?}", now - NOW);
    }
}

#[test]
fn nothing_is_sent_again_while_the_first_copy_waits() {
    let (mut client, _) = sessions(pair());
    client.poll_transmit().expect("a ClientHello");
    let before = client.poll_timeout().expect("a retransmission");
    client.set_waiting(NOW, true);
    let limit = NOW + HANDSHAKE_LIMIT;
    assert_eq!(client.poll_timeout(), Some(limit));
    client.handle_timeout(NOW + Duration::from_secs(20));
    assert!(!client.has_transmits());
    let later = NOW + Duration::from_secs(25);
    client.set_waiting(later, false);
    assert_eq!(client.poll_timeout(), Some(before + Duration::from_secs(25)));
    client.set_waiting(later, true);
    client.handle_timeout(limit);
    assert_eq!(events(&mut client), [SessionEvent::Failed(SecurityError::TimedOut)]);
}

#[test]
fn an_untrusted_peer_gets_nothing_more() {
    let ((client, server), (stranger, _)) = (pair(), pair());
    let key = stranger.fingerprint();
    // The client is a stranger that trusts any server.
    let curious = Security::new(stranger.identity().clone(), Trust::Any);
    let (mut curious, mut refusing) = sessions((curious, server));
    exchange(NOW, &mut curious, &mut refusing);
    assert_eq!(events(&mut refusing), [SessionEvent::Failed(SecurityError::UntrustedKey(key))]);
    assert!(!curious.is_established() && events(&mut curious).is_empty());
    assert_eq!(refusing.seal(NOW, b"secret"), None);
    assert_eq!(refusing.peer(), None);
    // The server is the stranger: it does not learn the client's certificate.
    let impostor = Security::new(stranger.identity().clone(), Trust::Any);
    let (mut refusing, mut impostor) = sessions((client, impostor));
    let hello = refusing.poll_transmit().expect("a ClientHello");
    impostor.handle_datagram(NOW, &hello);
    std::iter::from_fn(|| impostor.poll_transmit())
        .for_each(|datagram| refusing.handle_datagram(NOW, &datagram));
    assert_eq!(events(&mut refusing), [SessionEvent::Failed(SecurityError::UntrustedKey(key))]);
    assert_eq!(refusing.poll_transmit(), None);
    assert_eq!(refusing.poll_timeout(), None);
}

#[test]
fn keys_change_while_data_flow() {
    let (client, server) = pair();
    let (mut client, mut server) = established((client.rekey_after(64), server));
    let mut extra = 0;
    for n in 0..1000u32 {
        let record = client.seal(NOW, &n.to_be_bytes()).expect("established");
        extra += exchange(NOW, &mut client, &mut server);
        server.handle_datagram(NOW, &record);
        extra += exchange(NOW, &mut client, &mut server);
        assert_eq!(
            events(&mut server),
            [SessionEvent::Datagram(Bytes::copy_from_slice(&n.to_be_bytes()))],
            "{n}"
        );
    }
    // Every 64 records, those about keys included: the new keys, and the acknowledgement.
    assert_eq!(extra, 2 * (1000 / 63), "records about keys");
    assert_eq!(server.ignored(), 0);
}

#[test]
fn the_end_of_a_session_is_authentic() {
    let (mut client, mut server) = established(pair());
    let record = client.seal(NOW, b"last").expect("established");
    client.close();
    let end = client.poll_transmit().expect("close_notify");
    assert!(client.is_over() && client.seal(NOW, b"later").is_none());
    server.handle_datagram(NOW, &record);
    server.handle_datagram(NOW, &end);
    let last = SessionEvent::Datagram(Bytes::from_static(b"last"));
    assert_eq!(events(&mut server), [last, SessionEvent::Closed]);
}

#[test]
fn an_end_that_has_closed_its_session_still_receives() {
    let (mut client, mut server) = established(pair());
    client.close();
    let end = client.poll_transmit().expect("close_notify");
    let before = server.seal(NOW, b"before").expect("established");
    server.handle_datagram(NOW, &end);
    let mut forged = before.to_vec();
    *forged.last_mut().expect("a record") ^= 1;
    client.handle_datagram(NOW, &forged);
    assert_eq!(events(&mut client), []);
    client.handle_datagram(NOW, &before);
    client.handle_datagram(NOW, &before);
    assert_eq!(events(&mut client), [SessionEvent::Datagram(Bytes::from_static(b"before"))]);
    assert!(client.is_over() && !client.has_transmits() && client.poll_timeout().is_none());
    // More than a handshake may have.
    for _ in 0..80 {
        let record = server.seal(NOW, &[7; 1000]).expect("established");
        client.handle_datagram(NOW, &record);
        assert_eq!(events(&mut client).len(), 1);
    }
}

/// All records of two simulated ends, in order: the handshake and some data.
fn records(seeds: [u64; 2]) -> Vec<Bytes> {
    let [client, server] = crate::simulated(seeds);
    let (mut client, mut server) = sessions((client, server));
    let mut records = Vec::new();
    loop {
        let up: Vec<_> = std::iter::from_fn(|| client.poll_transmit()).collect();
        up.iter().for_each(|datagram| server.handle_datagram(NOW, datagram));
        let down: Vec<_> = std::iter::from_fn(|| server.poll_transmit()).collect();
        down.iter().for_each(|datagram| client.handle_datagram(NOW, datagram));
        if up.is_empty() && down.is_empty() {
            break;
        }
        records.extend(up.into_iter().chain(down));
    }
    assert!(client.is_established() && server.is_established());
    records.extend((0..10).filter_map(|size| client.seal(NOW, &vec![7; size * 100])));
    records
}

#[test]
fn simulated_ends_repeat_every_byte_with_the_same_seeds_and_none_of_the_secret_ones_with_others() {
    let first = records([1, 2]);
    assert!(first.len() > 14, "{}", first.len());
    assert_eq!(first, records([1, 2]));
    let other = records([3, 4]);
    // Sizes do not depend on the seeds, but for a byte or two of a signature.
    let size = |records: &[Bytes]| records.iter().map(Bytes::len).sum::<usize>();
    assert!(size(&first).abs_diff(size(&other)) <= 8, "{} and {}", size(&first), size(&other));
    assert!(first.iter().zip(&other).all(|(one, other)| one != other));
}

/// An end whose certificate has that many names.
fn with_names(number: usize) -> Result<Identity, KeyError> {
    let key = rcgen::KeyPair::generate().expect("a key");
    let names: Vec<_> = (0..number).map(|n| format!("name-{n}.example")).collect();
    let parameters = rcgen::CertificateParams::new(names).expect("names");
    let certificate = parameters.self_signed(&key).expect("a certificate");
    Identity::from_pem_with_certificate(&key.serialize_pem(), &certificate.pem())
}

#[test]
fn long_certificates_are_accepted() {
    let trust = |identity: &Identity| Trust::Pinned(vec![identity.fingerprint()]);
    for (of_client, of_server) in [(0, 130), (130, 0)] {
        let (client, server) = (with_names(of_client).expect("short"), with_names(of_server).expect("short"));
        let (of_client, of_server) = (trust(&server), trust(&client));
        established((Security::new(client, of_client), Security::new(server, of_server)));
    }
    assert!(matches!(with_names(200), Err(KeyError::Certificate(_))));
}

#[test]
fn an_endless_handshake_is_given_up() {
    let (mut client, mut server) = sessions(pair());
    let hello = client.poll_transmit().expect("a ClientHello");
    server.handle_datagram(NOW, &hello);
    for _ in 0..LARGEST_HANDSHAKE / 1000 {
        assert!(!server.is_over());
        server.handle_datagram(NOW, &[0x2e; 1000]);
    }
    assert!(server.is_over());
    assert!(matches!(events(&mut server)[..], [SessionEvent::Failed(SecurityError::Protocol(_))]));
}
