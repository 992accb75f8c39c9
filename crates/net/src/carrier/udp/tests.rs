use std::net::SocketAddr;

use bytes::Bytes;
use whimbrel_proto::Transmit;
use whimbrel_wire::{ChecksumCoverage, Ecn, Kind, Options, Packet, Payload, SeqNo};

use super::UdpCarrier;
use crate::carrier::{Arrival, Carrier, PathError, path_error};

fn data(sequence: u64, length: usize, ecn: Ecn) -> Transmit {
    let packet = Packet {
        source_port: 1,
        destination_port: 2,
        ccval: 0,
        checksum_coverage: ChecksumCoverage::ALL,
        extended: true,
        sequence: SeqNo::new(sequence),
        kind: Kind::Data,
        options: Options::new(),
        payload: Payload::Bytes(Bytes::from(vec![sequence as u8; length])),
    };
    Transmit { packet, ecn }
}

async fn pair() -> (Carrier, Carrier, SocketAddr) {
    let bind = || {
        Carrier::from(UdpCarrier::bind("127.0.0.1:0".parse().expect("an address"), None).expect("loopback"))
    };
    let (a, b) = (bind(), bind());
    let to = b.local_addr().expect("bound");
    // The runtime learns that a socket is writable only once asked.
    a.writable().await.expect("a socket");
    (a, b, to)
}

fn send(carrier: &mut Carrier, to: SocketAddr, transmit: &Transmit) {
    if carrier.add(to, transmit) {
        carrier.flush().expect("room");
    }
}

/// All that arrives within a second, until `wanted` packets are there: (sequence, length, ECN), and the
/// largest coalesced receive.
async fn receive(carrier: &mut Carrier, wanted: usize) -> (Vec<(u64, usize, Ecn)>, usize) {
    let mut packets = Vec::new();
    let mut most = 0;
    while packets.len() < wanted {
        let ready = tokio::time::timeout(std::time::Duration::from_secs(1), carrier.readable()).await;
        ready.expect("packets within a second").expect("a socket");
        while let Ok(Arrival::Datagrams { ecn, stamp, mut bytes, stride, .. }) = carrier.receive() {
            // There is a timestamp with the ECN field, also where datagrams were coalesced.
            assert_eq!(stamp.is_some(), cfg!(target_os = "linux"));
            most = most.max(bytes.len().div_ceil(stride));
            while !bytes.is_empty() {
                let packet = carrier.decode(bytes.split_to(stride.min(bytes.len()))).expect("a packet");
                packets.push((packet.sequence.value(), packet.payload.len(), ecn));
            }
        }
    }
    (packets, most)
}

#[tokio::test]
async fn ecn_survives_coalesced_receives() {
    for mark in [Ecn::Ect0, Ecn::Ce, Ecn::NotEct] {
        let (mut a, mut b, to) = pair().await;
        for sequence in 0..40 {
            send(&mut a, to, &data(sequence, 1200, mark));
        }
        a.flush().expect("room");
        let (packets, most) = receive(&mut b, 40).await;
        assert_eq!(packets, (0..40).map(|n| (n, 1200, mark)).collect::<Vec<_>>());
        if cfg!(target_os = "linux") {
            assert!(most > 1, "the kernel did not coalesce: the test does not show what it should");
        }
    }
}

#[tokio::test]
async fn batches_break_where_size_mark_or_destination_change() {
    let (mut a, mut b, to) = pair().await;
    let (_, mut c, elsewhere) = pair().await;
    let sizes = [1200, 1200, 300, 1200, 1300, 1300, 20, 20];
    for (sequence, size) in (0..).zip(sizes) {
        send(&mut a, to, &data(sequence, size, Ecn::Ect0));
    }
    send(&mut a, elsewhere, &data(8, 20, Ecn::Ect0));
    send(&mut a, to, &data(9, 20, Ecn::Ect0));
    send(&mut a, to, &data(10, 20, Ecn::Ce));
    a.flush().expect("room");
    let mut expected: Vec<_> = (0..).zip(sizes).map(|(n, size)| (n, size, Ecn::Ect0)).collect();
    expected.extend([(9, 20, Ecn::Ect0), (10, 20, Ecn::Ce)]);
    assert_eq!(receive(&mut b, 10).await.0, expected);
    assert_eq!(receive(&mut c, 1).await.0, [(8, 20, Ecn::Ect0)]);
}

#[tokio::test]
async fn datagrams_without_a_packet_are_only_counted() {
    let (_, mut b, to) = pair().await;
    let other = std::net::UdpSocket::bind("127.0.0.1:0").expect("loopback");
    for rubbish in [&b""[..], b"x", &[0xff; 40], &[0; 1000]] {
        other.send_to(rubbish, to).expect("loopback");
    }
    b.readable().await.expect("a socket");
    let mut seen = 0;
    while let Ok(Arrival::Datagrams { mut bytes, stride, .. }) = b.receive() {
        while !bytes.is_empty() {
            assert!(b.decode(bytes.split_to(stride.min(bytes.len()))).is_none());
            seen += 1;
        }
    }
    assert_eq!((seen, b.malformed), (3, 3));
}

#[tokio::test]
async fn a_packet_that_is_too_large_is_reported_and_does_not_stop_the_others() {
    let (mut a, mut b, to) = pair().await;
    send(&mut a, to, &data(0, 65_500, Ecn::Ect0));
    send(&mut a, to, &data(1, 100, Ecn::Ect0));
    a.flush().expect("room");
    assert_eq!(a.take_path_errors(), [(to, PathError::TooLarge(None))]);
    assert_eq!(receive(&mut b, 1).await.0, [(1, 100, Ecn::Ect0)]);
}

#[test]
fn a_refusal_is_an_unreachable_destination_by_either_name() {
    for kind in [std::io::ErrorKind::ConnectionRefused, std::io::ErrorKind::ConnectionReset] {
        assert_eq!(path_error(&kind.into()), Some(PathError::Unreachable));
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_connected_socket_receives_port_unreachable() {
    let closed =
        std::net::UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("loopback");
    let local = "127.0.0.1:0".parse().expect("an address");
    let mut a = Carrier::from(UdpCarrier::bind(local, Some(closed)).expect("loopback"));
    a.writable().await.expect("a socket");
    send(&mut a, closed, &data(0, 10, Ecn::NotEct));
    a.flush().expect("room");
    // A send call returns it, too, if it is first.
    send(&mut a, closed, &data(1, 10, Ecn::NotEct));
    a.flush().expect("room");
    assert_eq!(a.take_path_errors(), [(closed, PathError::Unreachable)]);
    send(&mut a, closed, &data(2, 10, Ecn::NotEct));
    a.flush().expect("room");
    let readable = tokio::time::timeout(std::time::Duration::from_secs(1), a.readable()).await;
    readable.expect("within a second").expect("a socket");
    assert!(
        matches!(a.receive(), Ok(Arrival::PathError(remote, PathError::Unreachable)) if remote == closed)
    );
    assert!(matches!(a.receive(), Ok(Arrival::Nothing)));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn datagrams_received_together_have_their_own_arrival_times() {
    const APART: std::time::Duration = std::time::Duration::from_millis(20);
    // The kernel begins to note times a moment after it was first asked to.
    let _asking = UdpCarrier::bind("127.0.0.1:0".parse().expect("an address"), None).expect("loopback");
    std::thread::sleep(5 * APART);
    for at in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
        let bind = || UdpCarrier::bind(at.parse().expect("an address"), None).expect("loopback");
        let (mut a, mut b) = (Carrier::from(bind()), Carrier::from(bind()));
        let port = b.local_addr().expect("bound").port();
        let to =
            if at == "[::]:0" { format!("127.0.0.1:{port}") } else { at.replace(":0", &format!(":{port}")) };
        let to = to.parse().expect("an address");
        a.writable().await.expect("a socket");
        for sequence in 0..4 {
            send(&mut a, to, &data(sequence, 1200, Ecn::Ce));
            a.flush().expect("room");
            // Not this task's time: nothing may be received meanwhile.
            std::thread::sleep(APART);
        }
        b.readable().await.expect("a socket");
        let mut stamps = Vec::new();
        while let Ok(Arrival::Datagrams { ecn, stamp, .. }) = b.receive() {
            assert_eq!(ecn, Ecn::Ce, "{at}");
            stamps.push(stamp.expect("Linux reports it"));
        }
        assert_eq!(stamps.len(), 4, "{at}");
        assert!(stamps.windows(2).all(|pair| pair[1] >= pair[0] + APART), "{at}: {stamps:?}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn packets_leave_with_dont_fragment_whatever_their_size() {
    use rustix::net::sockopt::{
        Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, ip_mtu_discover, ipv6_mtu_discover,
    };
    for at in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
        let carrier = UdpCarrier::bind(at.parse().expect("an address"), None).expect("loopback");
        // With PROBE the kernel also sends packets larger than the path MTU that it has recorded.
        assert_eq!(ip_mtu_discover(&carrier.socket).expect("Linux"), Ipv4PathMtuDiscovery::PROBE, "{at}");
        if at.starts_with('[') {
            assert_eq!(ipv6_mtu_discover(&carrier.socket).expect("Linux"), Ipv6PathMtuDiscovery::PROBE);
        }
    }
}

/// A UDP datagram as a raw socket sends it: header and data, with that checksum.
#[cfg(target_os = "linux")]
fn with_checksum(from: u16, to: u16, data: &[u8], checksum: u16) -> Vec<u8> {
    let mut datagram = Vec::new();
    for field in [from, to, 8 + data.len() as u16, checksum] {
        datagram.extend(field.to_be_bytes());
    }
    datagram.extend(data);
    datagram
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_datagram_without_udp_checksum_is_dropped() {
    use socket2::{Domain, Protocol, Socket, Type};
    use whimbrel_wire::checksum::internet_checksum;
    let raw = match Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::UDP)) {
        Ok(raw) => raw,
        Err(error) => {
            let required = std::env::var("REQUIRE_ALL").is_ok_and(|value| value == "1");
            assert!(!required, "no raw socket: {error}");
            eprintln!("skipped: needs root or CAP_NET_RAW ({error})");
            return;
        }
    };
    for at in ["127.0.0.1:0", "[::]:0"] {
        let mut b = Carrier::from(UdpCarrier::bind(at.parse().expect("an address"), None).expect("loopback"));
        let port = b.local_addr().expect("bound").port();
        let to = SocketAddr::from(([127, 0, 0, 1], port));
        let mut packet = Vec::new();
        data(3, 100, Ecn::NotEct).packet.encode(&mut packet).expect("a packet");
        let without = with_checksum(9, port, &packet, 0);
        // RFC 768's pseudo-header: addresses, protocol, length.
        let mut covered = vec![127, 0, 0, 1, 127, 0, 0, 1, 0, 17];
        covered.extend((without.len() as u16).to_be_bytes());
        covered.extend(&without);
        let with = with_checksum(9, port, &packet, internet_checksum(&covered));
        // The one with a checksum comes last, so that the others have been there.
        for datagram in [&without, &without, &with] {
            raw.send_to(datagram, &to.into()).expect("loopback");
        }
        let (packets, _) = receive(&mut b, 1).await;
        assert_eq!(packets, [(3, 100, Ecn::NotEct)], "{at}");
        assert!(matches!(b.receive(), Ok(Arrival::Nothing)));
    }
}

/// The TOS byte or traffic class of the next datagram, and its length.
#[cfg(target_os = "linux")]
fn next_mark(socket: &std::net::UdpSocket) -> (u8, usize) {
    use std::os::fd::AsRawFd;

    use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};

    let mut bytes = [0; 4096];
    let mut buffers = [std::io::IoSliceMut::new(&mut bytes)];
    let mut space = nix::cmsg_space!(i32);
    let flags = MsgFlags::empty();
    let message = recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut buffers, Some(&mut space), flags)
        .expect("a datagram within a second");
    let mark = message.cmsgs().expect("room").find_map(|each| match each {
        ControlMessageOwned::Ipv4Tos(mark) => Some(mark),
        ControlMessageOwned::Ipv6TClass(mark) => Some(mark as u8),
        _ => None,
    });
    (mark.expect("a mark"), message.bytes)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_dscp_is_sent_beside_the_ecn_codepoint_of_each_packet() {
    use nix::sys::socket::{setsockopt, sockopt};

    // IPv4, IPv6, and IPv4 from a socket of both families, which chooses its source address.
    for (from, at) in [("127.0.0.1:0", "127.0.0.1:0"), ("[::1]:0", "[::1]:0"), ("[::]:0", "127.0.0.1:0")] {
        let receiver = std::net::UdpSocket::bind(at).expect("loopback");
        receiver.set_read_timeout(Some(std::time::Duration::from_secs(1))).expect("a timeout");
        if at.starts_with('[') {
            setsockopt(&receiver, sockopt::Ipv6RecvTClass, &true).expect("Linux");
        } else {
            setsockopt(&receiver, sockopt::IpRecvTos, &true).expect("Linux");
        }
        let to = receiver.local_addr().expect("bound");
        let carrier = UdpCarrier::bind(from.parse().expect("an address"), None).expect("loopback");
        let mut carrier = Carrier::from(carrier);
        carrier.set_dscp("EF".parse().expect("a name")).expect("Linux");
        carrier.writable().await.expect("a socket");
        // Two that the kernel cuts from one batch, and one with another codepoint.
        for (sequence, ecn) in [(1, Ecn::Ect0), (2, Ecn::Ect0), (3, Ecn::NotEct)] {
            send(&mut carrier, to, &data(sequence, 100, ecn));
        }
        carrier.flush().expect("room");
        let marks = [(); 3].map(|()| next_mark(&receiver));
        assert_eq!(marks.map(|(mark, _)| mark), [46 << 2 | 2, 46 << 2 | 2, 46 << 2], "{from}");
        assert!(marks.iter().all(|(_, length)| *length == marks[0].1), "{from}: {marks:?}");
    }
}
