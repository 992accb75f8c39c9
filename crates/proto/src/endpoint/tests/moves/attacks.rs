//! Attacks on address changes: off-path, observing, and racing.

use super::*;

/// Destination of the attacker's packets.
fn eve() -> SocketAddr {
    SocketAddr::from(([203, 0, 113, 66], 6666))
}

impl Pair {
    /// Gives the server a packet as if from that address, and returns what it sends at once, with the
    /// destinations.
    fn inject(&mut self, from: SocketAddr, packet: Packet) -> Vec<(SocketAddr, Packet)> {
        let now = self.net.now;
        let server = self.net.at(1);
        server.handle_packet(now, from, ReceiveMeta::default(), packet);
        let sent = core::iter::from_fn(|| server.poll_transmit(now));
        sent.map(|(to, transmit)| (to, transmit.packet)).collect()
    }

    /// Packets that the client sends next, which the server does not get.
    fn intercept(&mut self, count: usize) -> Vec<Packet> {
        let before = self.net.sent.len();
        for _ in 0..count {
            self.net.lost.insert(self.net.sent.len());
            self.sent += 1;
            self.send_from_client();
            self.net.drain();
        }
        let sent = self.net.sent[before..].iter().filter(|(from, _)| *from == address(2));
        sent.map(|(_, packet)| packet.clone()).collect()
    }

    /// The client announces its address, which the server already has.
    fn announcing() -> (Self, Vec<Packet>) {
        let mut pair = Self::new();
        pair.tell_client(PathChange::Keep);
        pair.net.lost.insert(pair.net.sent.len());
        pair.net.drain();
        let packets = pair.intercept(3);
        assert!(packets.iter().all(|packet| has(packet, mobility::MOVE)));
        (pair, packets)
    }

    fn assert_stayed(&mut self) {
        self.net.run_for(Duration::from_secs(5));
        assert_eq!(self.server_thinks(), outside(1));
        assert!(!self.net.events_at(1).iter().any(|event| moved(event).is_some()));
        let before = (self.net.datagrams_at(1), self.net.datagrams_at(2));
        self.exchange(5);
        assert_eq!((self.net.datagrams_at(1), self.net.datagrams_at(2)), (before.0 + 5, before.1 + 5));
    }
}

fn challenges(sent: &[(SocketAddr, Packet)], to: SocketAddr) -> usize {
    sent.iter().filter(|(at, packet)| *at == to && has(packet, mobility::CHALLENGE)).count()
}

#[test]
fn a_copy_of_a_packet_that_has_arrived_moves_nothing() {
    let (mut pair, packets) = Pair::announcing();
    for packet in &packets {
        pair.inject(outside(1), packet.clone());
    }
    for packet in packets {
        assert!(pair.inject(eve(), packet).is_empty());
    }
    pair.assert_stayed();
}

#[test]
fn an_older_packet_that_has_not_arrived_moves_nothing() {
    let (mut pair, packets) = Pair::announcing();
    pair.inject(outside(1), packets[2].clone());
    pair.net.drain();
    let before = pair.net.datagrams_at(1);
    // Its data is genuine, and is taken.
    let sent = pair.inject(eve(), packets[1].clone());
    assert!(sent.iter().all(|(to, _)| *to == outside(1)), "{sent:?}");
    assert_eq!(challenges(&sent, eve()), 0);
    pair.net.drain();
    assert_eq!(pair.net.datagrams_at(1), before + 1);
    pair.assert_stayed();
}

#[test]
fn an_attacker_that_races_the_client_gets_one_challenge_and_no_data() {
    let (mut pair, packets) = Pair::announcing();
    let (mut got, mut gave) = (0, 0);
    for packet in packets {
        gave += packet.encoded_len();
        for (to, packet) in pair.inject(eve(), packet.clone()) {
            if to == eve() {
                assert!(has(&packet, mobility::CHALLENGE) && packet.payload.is_empty());
                got += packet.encoded_len();
            }
        }
        // The client's own comes second.
        assert_eq!(challenges(&pair.inject(outside(1), packet), eve()), 0);
    }
    assert!(0 < got && got < gave, "{got} bytes for {gave}");
    pair.assert_stayed();
}

#[test]
fn an_echo_counts_only_from_the_challenged_address() {
    let (mut pair, packets) = Pair::announcing();
    let sent = pair.inject(eve(), packets[2].clone());
    let question = |to| sent.iter().find(|(at, packet)| *at == to && has(packet, mobility::CHALLENGE));
    let (there, here) = (question(eve()).unwrap().1.clone(), question(outside(1)).unwrap().1.clone());
    // The attacker forwards its challenge, as if from the server: the client answers, from its own address.
    let now = pair.net.now;
    pair.net.at(2).handle_packet(now, address(1), ReceiveMeta::default(), there);
    let (_, answer) = pair.net.at(2).poll_transmit(now).unwrap();
    assert!(move_of(&answer.packet).unwrap().echo.is_some());
    pair.inject(outside(1), answer.packet.clone());
    assert_eq!(pair.server_thinks(), outside(1));
    // From somewhere else again.
    pair.inject(SocketAddr::from(([203, 0, 113, 67], 6666)), answer.packet);
    assert_eq!(pair.server_thinks(), outside(1));
    // The echo of the client's own challenge ends the attack.
    pair.net.at(2).handle_packet(now, address(1), ReceiveMeta::default(), here);
    pair.assert_stayed();
}

#[test]
fn an_attacker_on_the_path_keeps_its_place_only_until_the_client_sends() {
    // As in the draft and RFC 9000, Section 9.3.3: the attacker gets the client's packets first, forwards the
    // server's, and takes the answer. It has gained nothing. Once it stops, the client is found again.
    let (mut pair, packets) = Pair::announcing();
    let sent = pair.inject(eve(), packets[2].clone());
    let there =
        sent.into_iter().find(|(to, packet)| *to == eve() && has(packet, mobility::CHALLENGE)).unwrap().1;
    let now = pair.net.now;
    pair.net.at(2).handle_packet(now, address(1), ReceiveMeta::default(), there);
    let (_, answer) = pair.net.at(2).poll_transmit(now).unwrap();
    pair.inject(eve(), answer.packet);
    assert_eq!(pair.server_thinks(), eve());
    pair.net.run_for(Duration::from_secs(5));
    assert_eq!(pair.server_thinks(), outside(1));
    pair.net.forget();
    pair.exchange(5);
    assert_eq!((pair.net.datagrams_at(1), pair.net.datagrams_at(2)), (5, 5));
}

#[test]
fn forged_moves_belong_to_no_connection() {
    let (mut pair, packets) = Pair::announcing();
    let genuine = move_of(&packets[0]).unwrap();
    let before = pair.net.at(1).snapshot();
    let forge = |moved: Move, packet: &Packet| {
        let mut forged = packet.clone();
        forged.options = [DccpOption::from(MobilityOption::Move(moved))].into_iter().collect();
        forged
    };
    for (name, moved) in [
        ("identifier", Move { identifier: genuine.identifier ^ 1, ..genuine }),
        ("authenticator", Move { tag: genuine.tag ^ 1, ..genuine }),
        ("challenge", Move { echo: Some(1), ..genuine }),
    ] {
        let sent = pair.inject(eve(), forge(moved, &packets[0]));
        let codes: Vec<_> = sent.iter().map(|(to, packet)| (*to, code(packet))).collect();
        assert_eq!(codes, [(eve(), Some(ResetCode::NoConnection))], "{name}");
    }
    // The authenticator of another packet, or from other ports.
    let sent = pair.inject(eve(), forge(genuine, &packets[1]));
    assert_eq!(code(&sent[0].1), Some(ResetCode::NoConnection));
    let mut other = packets[0].clone();
    other.source_port ^= 1;
    let sent = pair.inject(eve(), other);
    assert_eq!(code(&sent[0].1), Some(ResetCode::NoConnection));
    assert_eq!(pair.net.at(1).snapshot(), before, "nothing is kept");
    pair.assert_stayed();
}

#[test]
fn an_invalid_move_does_not_invalidate_a_packet_from_the_current_address() {
    let (mut pair, _) = Pair::announcing();
    let mut packet = pair.intercept(1).pop().unwrap();
    packet.options =
        [MobilityOption::Move(Move { identifier: 1, echo: None, tag: 2 }).into()].into_iter().collect();
    let before = pair.net.datagrams_at(1);
    pair.inject(outside(1), packet);
    pair.net.drain();
    assert_eq!(pair.net.datagrams_at(1), before + 1);
}

#[test]
fn a_forged_reset_only_causes_an_announcement() {
    let mut pair = Pair::new();
    let now = pair.net.now;
    let last = pair.net.endpoints[&address(1)].connection(pair.server).unwrap().snapshot();
    assert!(last.statistics.packets_sent > 0);
    // Blind, as far as the sequence numbers go.
    let reset = Reset::new(ResetCode::NoConnection);
    let mut forged = packet(Kind::Reset { ack: SeqNo::new(77), reset }, 99, 0);
    let client = pair.net.at(2).connection(pair.client).unwrap();
    (forged.source_port, forged.destination_port) = (PORT, client.source_port());
    for _ in 0..100 {
        pair.net.at(2).handle_packet(now, address(1), ReceiveMeta::default(), forged.clone());
    }
    pair.net.run_for(millis(100));
    assert!(!pair.is_announcing());
    assert!(pair.sent_by_client().len() < 10, "{}", pair.sent_by_client().len());
    pair.assert_stayed();
}

#[test]
fn an_unchallenged_address_gets_no_more_bytes_than_it_sent() {
    let mut pair = Pair::new();
    pair.net.rebind(2, outside(2));
    pair.tell_client(PathChange::Keep);
    // The path to the new address carries nothing, so the client never answers.
    let mut gave = 0;
    let mut got = 0;
    for _ in 0..40 {
        pair.sent += 1;
        pair.send_from_server();
        for packet in pair.intercept(1) {
            gave += packet.encoded_len();
            for (to, packet) in pair.inject(outside(2), packet) {
                got += if to == outside(2) { packet.encoded_len() } else { 0 };
            }
            assert!(got <= 3 * gave, "{got} bytes for {gave}");
        }
        pair.net.now += millis(7);
    }
    assert!(got > 0);
    assert_eq!(pair.server_thinks(), outside(1));
}
