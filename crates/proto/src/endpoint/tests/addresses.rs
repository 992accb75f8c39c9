//! Demultiplexing of connections (RFC 6773, Section 3.8).

use super::*;

/// Two hosts behind one address translator: one IP address, the same DCCP ports.
#[test]
fn peers_that_differ_in_nothing_but_their_udp_port_have_connections_of_their_own() {
    let mut net = Net::serving();
    let [one, other] = [40_001, 40_002].map(|port| SocketAddr::from(([10, 0, 0, 9], port)));
    let now = net.now;
    let server = net.at(1);
    // The second of the first host's Requests repeats the first.
    for (remote, sequence) in [(one, 100), (other, 500), (one, 101)] {
        let request = packet(Kind::Request { service_code: ServiceCode(42) }, sequence, PORT);
        server.handle_packet(now, remote, ReceiveMeta::default(), request);
        let (to, Transmit { packet, .. }) = server.poll_transmit(now).expect("an answer");
        assert_eq!((to, packet.packet_type()), (remote, PacketType::Response));
        assert_eq!(packet.ack(), Some(SeqNo::new(sequence)));
    }
    assert_eq!(server.len(), 2);
}
