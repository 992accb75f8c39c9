//! A session and the library alone at the other end.
#![allow(clippy::disallowed_types, reason = "the library's instants")]

use std::sync::Arc;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use dimpl::crypto::aws_lc_rs::default_provider;
use dimpl::{Config, Dtls, DtlsCertificate, Output};

use whimbrel_units::Duration;
use zeroize::Zeroizing;

use super::*;
use crate::{Identity, Security, Session, SessionEvent, Trust};

const NOW: Instant = Instant::from_secs(10);

/// The library, whose records nothing of this crate protects.
struct Library {
    dtls: Dtls,
    began: StdInstant,
    received: Vec<Vec<u8>>,
    is_connected: bool,
    is_closed: bool,
}

impl Library {
    fn new(is_client: bool, rekey_after: u64) -> (Self, Identity) {
        let identity = Identity::generate().expect("a key");
        let certificate = DtlsCertificate {
            certificate: identity.certificate().to_vec(),
            private_key: identity.key().der().to_vec(),
        };
        let config = Config::builder()
            .with_crypto_provider(default_provider())
            .require_client_certificate(true)
            .use_server_cookie(false)
            .dtls12_cipher_suites(&[])
            .aead_encryption_limit(rekey_after)
            .build()
            .expect("a configuration");
        let began = StdInstant::now();
        let mut dtls = Dtls::new_13(Arc::new(config), certificate, began);
        dtls.set_active(is_client);
        dtls.handle_timeout(began).expect("its clock is set");
        let library = Self { dtls, began, received: Vec::new(), is_connected: false, is_closed: false };
        (library, identity)
    }

    /// Lets its time pass, and takes its datagrams.
    fn datagrams(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let time = self.began + StdDuration::from(now.saturating_since(NOW));
        self.dtls.handle_timeout(time).expect("it goes on");
        let (mut room, mut datagrams) = (vec![0; 1 << 15], Vec::new());
        loop {
            match self.dtls.poll_output(&mut room) {
                Output::Packet(packet) => datagrams.push(packet.to_vec()),
                Output::ApplicationData(data) => self.received.push(data.to_vec()),
                Output::Connected => self.is_connected = true,
                Output::CloseNotify => self.is_closed = true,
                Output::Timeout(_) => return datagrams,
                _ => {}
            }
        }
    }
}

fn session(role: Role, identity: &Identity, rekey_after: u64) -> Session {
    let trust = Trust::Pinned(vec![identity.fingerprint()]);
    let security = Security::new(Identity::generate().expect("a key"), trust).rekey_after(rekey_after);
    Session::new(NOW, role, security, Some(Duration::from_millis(50)))
}

/// Passes all datagrams in both directions, except the library's at the places `lost`.
fn exchange(now: Instant, session: &mut Session, library: &mut Library, lost: &[usize]) -> Vec<SessionEvent> {
    let mut count = 0;
    loop {
        let up: Vec<_> = std::iter::from_fn(|| session.poll_transmit()).collect();
        up.iter().for_each(|datagram| library.dtls.handle_packet(datagram).expect("it is accepted"));
        let down = library.datagrams(now);
        if up.is_empty() && down.is_empty() {
            return std::iter::from_fn(|| session.poll_event()).collect();
        }
        for datagram in down {
            if !lost.contains(&count) {
                session.handle_datagram(now, &datagram);
            }
            count += 1;
        }
    }
}

fn established(role: Role, [ours, theirs]: [u64; 2]) -> (Session, Library) {
    let (mut library, identity) = Library::new(role == Role::Server, theirs);
    let mut session = session(role, &identity, ours);
    let events = exchange(NOW, &mut session, &mut library, &[]);
    assert_eq!(events, [SessionEvent::Established { peer: identity.fingerprint() }]);
    assert!(library.is_connected);
    (session, library)
}

#[test]
fn the_library_reads_our_records_and_we_read_its_own() {
    for role in [Role::Client, Role::Server] {
        let (mut session, mut library) = established(role, [1 << 20; 2]);
        for size in [0, 1, 15, 16, 17, 1200, 9000] {
            let data = vec![size as u8; size];
            let record = session.seal(NOW, &data).expect("established");
            library.dtls.handle_packet(&record).expect("it is authentic");
            library.dtls.send_application_data(&data).expect("connected");
            let datagrams = library.datagrams(NOW);
            assert_eq!(library.received.pop(), Some(data.clone()));
            assert_eq!(datagrams[0].len(), size + RECORD_OVERHEAD);
            session.handle_datagram(NOW, &datagrams[0]);
            assert_eq!(session.poll_event(), Some(SessionEvent::Datagram(data.into())));
        }
        session.close();
        assert_eq!(exchange(NOW, &mut session, &mut library, &[]), []);
        assert!(library.is_closed, "{role:?}");
        library.dtls.close().expect("connected");
        assert_eq!(exchange(NOW, &mut session, &mut library, &[]), [SessionEvent::Closed]);
    }
}

/// With 256 changes of keys the two bits of the epoch in a header wrap often.
#[test]
fn keys_change_with_the_library_in_both_directions() {
    for role in [Role::Client, Role::Server] {
        let (mut session, mut library) = established(role, [270, 330]);
        for n in 0..70_000_u32 {
            let data = n.to_be_bytes();
            let record = session.seal(NOW, &data).expect("established");
            library.dtls.handle_packet(&record).expect("it is authentic");
            library.dtls.send_application_data(&data).expect("connected");
            let events = exchange(NOW, &mut session, &mut library, &[]);
            assert_eq!(events, [SessionEvent::Datagram(Bytes::copy_from_slice(&data))], "{role:?} {n}");
            assert_eq!(library.received.pop(), Some(data.to_vec()), "{role:?} {n}");
        }
        assert_eq!(session.ignored(), 0);
    }
}

#[test]
fn numbers_beyond_16_bits_are_reconstructed() {
    let (mut session, mut library) = established(Role::Client, [1 << 22; 2]);
    for n in 0..140_000_u32 {
        let record = session.seal(NOW, &n.to_be_bytes()).expect("established");
        library.dtls.send_application_data(&n.to_be_bytes()).expect("connected");
        // Each third one arrives.
        if n % 3 == 0 {
            library.dtls.handle_packet(&record).expect("it is authentic");
            let datagram = library.datagrams(NOW).pop().expect("a record");
            session.handle_datagram(NOW, &datagram);
            let data = n.to_be_bytes();
            assert_eq!(library.received.pop(), Some(data.to_vec()));
            assert_eq!(session.poll_event(), Some(SessionEvent::Datagram(Bytes::copy_from_slice(&data))));
        } else {
            library.datagrams(NOW);
        }
    }
}

#[test]
fn new_keys_are_sent_again_until_they_are_acknowledged() {
    let (mut session, mut library) = established(Role::Client, [4, 1 << 20]);
    for n in 0..4 {
        let record = session.seal(NOW, &[n]).expect("established");
        library.dtls.handle_packet(&record).expect("it is authentic");
    }
    // Both the message and the acknowledgement of its second copy are lost.
    let record = session.seal(NOW, b"old key").expect("established");
    let lost = session.poll_transmit().expect("new keys");
    assert_eq!(session.poll_timeout(), Some(NOW + Duration::from_secs(1)));
    session.handle_timeout(NOW + Duration::from_secs(1));
    assert_eq!(exchange(NOW + Duration::from_secs(1), &mut session, &mut library, &[0]), []);
    library.dtls.handle_packet(&record).expect("it is authentic");
    library.datagrams(NOW);
    assert_eq!(library.received.last(), Some(&b"old key".to_vec()));
    let next = session.poll_timeout().expect("it goes on");
    assert_eq!(next, NOW + Duration::from_secs(3));
    session.handle_timeout(next);
    assert_eq!(exchange(next, &mut session, &mut library, &[]), []);
    assert_eq!(session.poll_timeout(), None);
    let record = session.seal(next, b"new key").expect("established");
    assert_eq!(record[0] & 3, 0, "epoch 4");
    // The first copy arrives late: it changes nothing.
    for datagram in [&record, &lost] {
        library.dtls.handle_packet(datagram).expect("it is authentic");
    }
    exchange(next, &mut session, &mut library, &[]);
    assert_eq!(library.received.last(), Some(&b"new key".to_vec()));
    // While a message waits in the send queue, nothing is sent again.
    for n in 0..4 {
        session.seal(next, &[n]).expect("established");
    }
    session.set_waiting(next, true);
    assert_eq!(session.poll_timeout(), None);
}

/// A client whose last flight was acknowledged in vain repeats it to a server that has no library any more.
#[test]
fn the_acknowledgement_of_a_handshake_is_repeated() {
    let (mut library, identity) = Library::new(true, 1 << 20);
    let mut session = session(Role::Server, &identity, 1 << 20);
    let (mut confirmations, mut now, mut last) = (0, NOW, Vec::new());
    while confirmations < 3 {
        for datagram in library.datagrams(now) {
            session.handle_datagram(now, &datagram);
            last = datagram;
        }
        let sent: Vec<_> = std::iter::from_fn(|| session.poll_transmit()).collect();
        if session.is_established() && !sent.is_empty() {
            confirmations += 1;
        }
        for datagram in sent {
            // The first two are lost.
            if !session.is_established() || confirmations == 3 {
                library.dtls.handle_packet(&datagram).expect("it is accepted");
            }
        }
        now += Duration::from_millis(100);
        assert!(now < NOW + Duration::from_secs(20), "{confirmations} confirmations");
    }
    // The client repeats nothing more.
    for _ in 0..200 {
        assert_eq!(library.datagrams(now), [] as [Vec<u8>; 0]);
        now += Duration::from_millis(100);
    }
    // Forged repetitions get no answer, and those before the client's first data none after them.
    for n in 0..300 {
        session.handle_datagram(now, &vec![0x2e; n]);
        assert_eq!(session.poll_transmit(), None);
    }
    session.handle_datagram(now, &last);
    assert!(session.poll_transmit().is_some(), "an authentic one");
    library.dtls.send_application_data(b"data").expect("connected");
    let data = library.datagrams(now).pop().expect("a record");
    session.handle_datagram(now, &data);
    session.handle_datagram(now, &last);
    assert_eq!(session.poll_transmit(), None);
}

#[test]
fn an_alert_ends_the_session_and_what_follows_a_close_is_not_the_peers() {
    let observed = |fill: u8| Observed {
        client: Some(Zeroizing::new([fill; 32])),
        server: Some(Zeroizing::new([9; 32])),
        ..Observed::default()
    };
    let ends = || {
        [Role::Client, Role::Server].map(|role| Protection::new(&observed(1), role, None).expect("secrets"))
    };
    let mut answers = VecDeque::new();
    for (alert, meaning) in [
        (&[2, 40][..], Meaning::Alert(40)),
        (&[1, USER_CANCELED], Meaning::Nothing),
        (&[1, CLOSE_NOTIFY], Meaning::Closed),
        (&[1], Meaning::Nothing),
    ] {
        let [mut client, mut server] = ends();
        let earlier = client.sending.seal(b"earlier", DATA);
        let alert = client.sending.seal(alert, ALERT);
        let later = client.sending.seal(b"later", DATA);
        assert_eq!(server.process(NOW, &alert, &mut answers), Ok(meaning));
        let data = |text: &'static str| Ok(Meaning::Data(Bytes::from_static(text.as_bytes())));
        assert_eq!(server.process(NOW, &earlier, &mut answers), data("earlier"));
        let is_closed = server.closed_at.is_some();
        let expected = if is_closed { Ok(Meaning::Nothing) } else { data("later") };
        assert_eq!(server.process(NOW, &later, &mut answers), expected);
    }
    assert!(answers.is_empty());
}

#[test]
fn keys_that_have_reached_a_limit_protect_nothing() {
    let observed = Observed {
        client: Some(Zeroizing::new([1; 32])),
        server: Some(Zeroizing::new([2; 32])),
        ..Observed::default()
    };
    let mut client = Protection::new(&observed, Role::Client, Some(u64::MAX)).expect("secrets");
    let mut outgoing = VecDeque::new();
    client.sending.next = REKEY_AFTER - 1;
    client.seal(NOW, b"data", &mut outgoing).expect("a record");
    assert!(outgoing.is_empty());
    client.seal(NOW, b"data", &mut outgoing).expect("a record");
    assert_eq!(outgoing.len(), 1, "new keys, whatever was asked for");
    client.sending.next = LAST_NUMBER;
    assert_eq!(client.seal(NOW, b"data", &mut outgoing), Err(Exhausted::Key));
    let mut server = Protection::new(&observed, Role::Server, None).expect("secrets");
    server.forged = MOST_FORGED - 1;
    let mut record = client.close().to_vec();
    *record.last_mut().expect("a record") ^= 1;
    assert_eq!(server.process(NOW, &record, &mut outgoing), Err(Exhausted::Forged));
}
