//! Streams of clients that move: time until the rate is restored.

use whimbrel_wire::Payload;

use super::*;
use crate::{Ccid, Datagram, PathMtuDiscovery};

const CCIDS: [Ccid; 3] = [Ccid::TCP_LIKE, Ccid::TFRC, Ccid::TFRC_SP];

fn streaming(ccid: Ccid, on_move: PathChange) -> Config {
    Config {
        service_code: whimbrel_wire::ServiceCode(42),
        sender_ccids: [ccid].into(),
        receiver_ccids: [ccid].into(),
        path_mtu: PathMtuDiscovery::FromLargest,
        mobility: Some(MobilityConfig { on_move }),
        ..Config::default()
    }
}

impl Pair {
    /// One end sends a datagram of `size` bytes every `interval`; returns the number that arrive at the
    /// other.
    fn stream(&mut self, from: u8, datagrams: u64, size: u32, interval: Duration) -> usize {
        let to = 3 - from;
        let before = self.net.datagrams_at(to);
        let handle = if from == 1 { self.server } else { self.client };
        for tag in 0..datagrams {
            let now = self.net.now;
            let datagram = Datagram::new(Payload::Opaque { length: size, tag });
            let _ = self.net.at(from).send(now, handle, datagram);
            self.net.run_for(interval);
        }
        self.net.datagrams_at(to) - before
    }
}

/// A client whose NAT loses its mapping one or several times, with and without the Resets of a server that
/// does not recognize it.
#[test]
fn a_stream_continues_after_its_nat_lost_the_mapping() {
    for ccid in CCIDS {
        for case in 0..16 {
            let (from, loses_resets, is_told) = (1 + (case & 1), case & 2 != 0, case & 4 != 0);
            let rebinds = if case & 8 != 0 { 5 } else { 1 };
            let config = streaming(ccid, PathChange::Keep);
            let mut pair = Pair::with(EndpointConfig::default(), config.clone(), config);
            (pair.net.path_mtu, pair.net.loses_resets) = (1452, loses_resets);
            pair.net.delay = millis(if case & 1 == 0 { 75 } else { 10 });
            pair.stream(from, 2000, 1400, millis(10));
            for n in 0..rebinds {
                pair.net.rebind(2, outside(2 + n));
                if is_told {
                    pair.tell_client(PathChange::Keep);
                }
                pair.stream(from, 30, 1400, millis(10));
            }
            // CCID 4 counts the packets lost in short loss intervals (RFC 4828, Section 4.4), of which five
            // outages within two seconds make several: p comes close to 1.
            let wait = if ccid == Ccid::TFRC_SP && rebinds > 1 { 6000 } else { 1000 };
            pair.stream(from, wait, 1400, millis(10));
            let arrived = pair.stream(from, 500, 1400, millis(10));
            assert!(arrived >= 490, "{ccid}, case {case}: {arrived} of 500");
        }
    }
}

/// A handover that ends an outage of some seconds, in which the nofeedback timer has halved the rate many
/// times: the server's answers show that the path works, before any datagram has left.
#[test]
fn an_answer_at_the_new_address_ends_a_silence() {
    for ccid in CCIDS {
        for outage in [1, 5, 30] {
            let mut config = streaming(ccid, PathChange::Keep);
            config.freeze.offer = true;
            config.freeze.silence = Some(crate::config::Silence::RoundTrips(4.0));
            let mut pair = Pair::with(EndpointConfig::default(), config.clone(), config);
            pair.net.delay = millis(25);
            pair.stream(2, 1000, 1000, millis(10));
            pair.net.is_down = true;
            pair.stream(2, outage * 100, 1000, millis(10));
            pair.net.is_down = false;
            pair.net.rebind(2, outside(2));
            pair.tell_client(PathChange::Keep);
            // The announcement and its answers take 100 ms, a datagram 25. CCID 2 begins with a window of
            // one.
            let wait = if ccid == Ccid::TCP_LIKE { 50 } else { 15 };
            pair.stream(2, wait, 1000, millis(10));
            let arrived = pair.stream(2, 100, 1000, millis(10));
            assert!(arrived >= 95, "{ccid} after {outage} s: {arrived} of 100");
        }
    }
}

/// A new path that drops packets of the old one's size: datagrams that fit arrive within the round-trip times
/// of the move and one more.
#[test]
fn a_stream_that_moves_to_a_narrower_path_goes_on_within_round_trips() {
    for ccid in CCIDS {
        for change in [PathChange::Keep, PathChange::Reset, PathChange::Restore] {
            for from in [1, 2] {
                let config = streaming(ccid, change);
                let mut pair = Pair::with(EndpointConfig::default(), config.clone(), config);
                pair.net.delay = millis(25);
                pair.stream(from, 500, 1400, millis(10));
                pair.net.rebind(2, SocketAddr::from(([198, 51, 100, 7], 7)));
                pair.net.path_mtu = 1300;
                pair.tell_client(change);
                let before = pair.net.datagrams_at(3 - from);
                let start = pair.net.now;
                while pair.net.datagrams_at(3 - from) < before + 10 {
                    let handle = if from == 1 { pair.server } else { pair.client };
                    let size = pair.net.at(from).connection(handle).unwrap().snapshot().max_datagram;
                    pair.stream(from, 1, size as u32, millis(10));
                    assert!(pair.net.now - start < millis(1000), "{ccid} {change:?} from {from}");
                }
            }
        }
    }
}

#[test]
fn a_client_that_moves_while_it_requests_connects_from_its_new_address() {
    for after in [1, 11, 19] {
        let mut net = Net::new(3, EndpointConfig::default());
        net.at(1).listen(PORT, mobile()).unwrap();
        net.put_behind_nat(2, Some(Filter::AddressAndPort));
        net.rebind(2, outside(1));
        let now = net.now;
        let client = net.at(2).connect(now, address(1), PORT, mobile()).unwrap();
        net.run_for(millis(after));
        net.rebind(2, outside(2));
        let now = net.now;
        net.at(2).connection_mut(client).unwrap().path_changed(now, PathChange::Reset);
        net.at(2).wake(client);
        // One round trip, not the second after which a Request is repeated.
        net.run_for(millis(25));
        let state = net.at(2).connection(client).unwrap().state();
        assert_eq!(state, State::PartOpen, "{after} ms");
        net.run_for(millis(200));
        let now = net.now;
        net.at(2).send(now, client, datagram(1)).unwrap();
        net.run_for(millis(50));
        assert_eq!(net.datagrams_at(1), 1, "{after} ms");
    }
}

/// The client has its Response; the server's next packet from it comes from another address.
#[test]
fn a_client_that_moves_before_the_server_has_its_acknowledgement_is_followed() {
    let mut net = Net::new(3, EndpointConfig::default());
    net.at(1).listen(PORT, mobile()).unwrap();
    net.put_behind_nat(2, Some(Filter::AddressAndPort));
    net.rebind(2, outside(1));
    let now = net.now;
    let client = net.at(2).connect(now, address(1), PORT, mobile()).unwrap();
    // Request and Response arrive, and nothing that follows.
    net.lost.extend(2..20);
    net.run_for(millis(150));
    assert_eq!(net.at(2).connection(client).unwrap().state(), State::PartOpen);
    net.lost.clear();
    net.rebind(2, outside(2));
    let now = net.now;
    net.at(2).connection_mut(client).unwrap().path_changed(now, PathChange::Keep);
    net.at(2).wake(client);
    net.run_for(millis(100));
    let server = net.accepted(1, 0);
    assert_eq!(net.endpoints[&address(1)].remote(server), Some(outside(2)));
    let mut pair = Pair { net, client, server, sent: 0 };
    pair.exchange(5);
    assert_eq!((pair.net.datagrams_at(1), pair.net.datagrams_at(2)), (5, 5));
    assert_eq!(pair.net.endpoints[&address(1)].len(), 1);
}
