//! A DTLS handshake and data on a path that an attacker controls: datagrams are dropped, repeated, delayed,
//! changed and made up. Only what the authentic peer has sent is delivered, once at most.

use std::collections::{BTreeSet, VecDeque};
use std::sync::LazyLock;

use arbitrary::{Result, Unstructured};
use bytes::Bytes;
use whimbrel_dtls::{Fingerprint, Identity, Security, Session, SessionEvent, Trust};
use whimbrel_proto::Role;
use whimbrel_units::{Duration, Instant};

/// Datagrams that a session may send in answer to one, or at one time: its last flight and acknowledgements.
const MAX_BURST: usize = 64;
/// The most datagrams in flight in one direction.
const MAX_FLYING: usize = 64;

/// Client, server and a stranger.
static IDENTITIES: LazyLock<[Identity; 3]> =
    LazyLock::new(|| [(); 3].map(|()| Identity::generate().expect("a key")));

/// One input.
///
/// # Panics
///
/// If the code under test is wrong.
pub fn check(data: &[u8]) {
    // The end of the bytes is the end of the trial.
    let _ = run(&mut Unstructured::new(data));
}

/// One end, and the datagrams that fly to it.
struct End {
    session: Session,
    flying: VecDeque<Bytes>,
    /// Data that the other end has sent and that were not delivered.
    expected: BTreeSet<Bytes>,
    /// The key of the authentic peer.
    peer: Fingerprint,
    sealed: u32,
}

impl End {
    fn new(role: Role, own: usize, peer: usize, is_impostor: bool) -> Self {
        let key = |of: usize| IDENTITIES[of].fingerprint();
        // An impostor has another key, and trusts anyone.
        let (identity, trust) = if is_impostor {
            (&IDENTITIES[2], Trust::Any)
        } else {
            (&IDENTITIES[own], Trust::Pinned(vec![key(peer)]))
        };
        let security = Security::new(identity.clone(), trust).seeded(own as u64).rekey_after(4);
        Self {
            session: Session::new(Instant::ZERO, role, security, None),
            flying: VecDeque::new(),
            expected: BTreeSet::new(),
            peer: key(peer),
            sealed: 0,
        }
    }

    /// Passes what it sends to `other`, and checks what it has received.
    fn settle(&mut self, now: Instant, other: &mut Self, is_deceived: bool) {
        let mut sent = 0;
        while let Some(datagram) = self.session.poll_transmit() {
            sent += 1;
            assert!(sent <= MAX_BURST, "so many answers to one datagram");
            if other.flying.len() < MAX_FLYING {
                other.flying.push_back(datagram);
            }
        }
        while let Some(event) = self.session.poll_event() {
            match event {
                SessionEvent::Established { peer } => {
                    assert!(!is_deceived, "the impostor is trusted");
                    assert_eq!(peer, self.peer);
                }
                SessionEvent::Datagram(data) => {
                    assert!(self.expected.remove(&data), "data that were not sent, or twice: {data:?}");
                }
                SessionEvent::Failed(_) => assert_eq!(self.session.poll_transmit(), None),
                _ => {}
            }
        }
        assert!(self.session.poll_timeout().is_none_or(|timer| timer > now), "a timer in the past");
    }
}

fn run(input: &mut Unstructured<'_>) -> Result<()> {
    let impostor = input.int_in_range(0..=7)?;
    let mut ends = [End::new(Role::Client, 0, 1, impostor == 1), End::new(Role::Server, 1, 0, impostor == 2)];
    let mut now = Instant::ZERO;
    for _ in 0..200 {
        for at in [0, 1] {
            let [client, server] = &mut ends;
            let (end, other) = if at == 0 { (client, server) } else { (server, client) };
            end.session.handle_timeout(now);
            // The honest end faces the impostor.
            let is_deceived = impostor == 2 - at;
            // An impostor's events are irrelevant.
            if impostor == 1 + at {
                while let Some(datagram) = end.session.poll_transmit() {
                    other.flying.push_back(datagram);
                }
                while end.session.poll_event().is_some() {}
            } else {
                end.settle(now, other, is_deceived);
            }
        }
        if input.is_empty() {
            return Ok(());
        }
        let at = usize::from(input.arbitrary::<bool>()?);
        match input.int_in_range(0..=15)? {
            // Delivered in order.
            0..=7 => {
                let arrived: Vec<_> = ends[at].flying.drain(..).collect();
                for datagram in arrived {
                    ends[at].session.handle_datagram(now, &datagram);
                }
            }
            // Delivered, and again later.
            8 => {
                if let Some(datagram) = ends[at].flying.front().cloned() {
                    ends[at].session.handle_datagram(now, &datagram);
                }
            }
            9 => drop(ends[at].flying.pop_front()),
            10 => ends[at].flying.rotate_left(usize::from(ends[at].flying.len() > 1)),
            // Changed.
            11 => {
                if let Some(datagram) = ends[at].flying.pop_front() {
                    let mut bytes = datagram.to_vec();
                    let place = input.choose_index(bytes.len().max(1))?;
                    if let Some(byte) = bytes.get_mut(place) {
                        *byte ^= input.arbitrary::<u8>()? | 1;
                    }
                    bytes.truncate(bytes.len() - input.int_in_range(0..=3)?.min(bytes.len()));
                    ends[at].session.handle_datagram(now, &bytes);
                }
            }
            // Made up.
            12 => {
                let length = input.int_in_range(0..=40)?;
                let bytes = input.bytes(length.min(input.len()))?.to_vec();
                ends[at].session.handle_datagram(now, &bytes);
            }
            13 => now += Duration::from_millis(input.int_in_range(1..=2_000)?),
            // Data of this end.
            14 => {
                ends[at].sealed += 1;
                let data = Bytes::from(format!("{} of end {at}", ends[at].sealed));
                if let Some(record) = ends[at].session.seal(now, &data) {
                    ends[1 - at].expected.insert(data);
                    ends[1 - at].flying.push_back(record);
                }
            }
            _ => {
                let waits = input.arbitrary()?;
                ends[at].session.set_waiting(now, waits);
            }
        }
    }
    Ok(())
}
