use std::net::UdpSocket;
use std::time::Duration;

use super::super::address::parse_from;
#[cfg(target_os = "linux")]
use super::super::address::parse_to;
use super::*;

/// A datagram that arrives at a socket within some seconds.
async fn received(socket: &LocalSocket) -> (Vec<u8>, SocketAddr) {
    let mut room = [0; 2048];
    let reading = async {
        loop {
            socket.readable().await.expect("a socket");
            match socket.try_recv(&mut room) {
                Ok((size, source)) => return (room[..size].to_vec(), source),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), reading).await.expect("a datagram in time")
}

async fn opened(place: &str) -> Vec<LocalSocket> {
    let reader = Reader::get().expect("a thread");
    LocalSocket::open_from(&parse_from(place).expect(place), &reader).await.expect(place)
}

fn plain() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a time");
    socket
}

#[tokio::test]
async fn every_address_of_a_name_is_listened_at_with_one_port() {
    let sockets = opened("localhost:0").await;
    let addresses: Vec<_> = sockets.iter().map(|socket| socket.local_addr().expect("bound")).collect();
    assert!(addresses.iter().any(SocketAddr::is_ipv4), "{addresses:?}");
    assert!(addresses.iter().all(|address| address.port() == addresses[0].port()), "{addresses:?}");
    for (socket, address) in sockets.iter().zip(&addresses) {
        let program = UdpSocket::bind((address.ip(), 0)).expect("loopback");
        program.send_to(b"frame", address).expect("loopback");
        let (data, source) = received(socket).await;
        assert_eq!((&data[..], source), (&b"frame"[..], program.local_addr().expect("bound")));
    }
    // All addresses need one socket, where the host has IPv6.
    let any = opened(":0").await;
    assert_eq!(any.len(), 1);
    plain().send_to(b"v4", ("127.0.0.1", any[0].local_addr().expect("bound").port())).expect("loopback");
    assert_eq!(received(&any[0]).await.0, b"v4");
}

#[tokio::test]
async fn a_port_that_another_program_uses_is_refused() {
    let other = plain();
    let place = parse_from(&other.local_addr().expect("bound").to_string()).expect("an address");
    let error = LocalSocket::open_from(&place, &Reader::get().expect("a thread")).await.expect_err("in use");
    let text = format!("{error:#}");
    assert_eq!(text.matches("os error").count(), 1, "{text}");
    let foreign = parse_from("192.0.2.1:5004").expect("an address");
    let error =
        LocalSocket::open_from(&foreign, &Reader::get().expect("a thread")).await.expect_err("not ours");
    assert!(format!("{error:#}").contains("UDP 192.0.2.1:5004"), "{error:#}");
}

#[tokio::test]
async fn a_program_is_found_at_whichever_address_of_its_name_it_listens() {
    let reader = Reader::get().expect("a thread");
    // The program listens at 127.0.0.1 alone, and localhost may be ::1 first.
    let program = plain();
    let port = program.local_addr().expect("bound").port();
    let mut addresses = vec![SocketAddr::from(([127, 0, 0, 1], port))];
    if UdpSocket::bind("[::1]:0").is_ok() {
        addresses.insert(0, (Ipv6Addr::LOCALHOST, port).into());
    }
    let known = Program { addresses, interface: None, ttl: None, stream: Default::default() };
    let socket = LocalSocket::open_to(&known, &reader).expect("loopback");
    let mut room = [0; 16];
    program.set_read_timeout(Some(Duration::from_millis(50))).expect("a time");
    let mut source = None;
    for _ in 0..100 {
        let _ = socket.send(b"frame");
        if let Ok((_, from)) = program.recv_from(&mut room) {
            source = Some(from);
            break;
        }
    }
    assert_eq!(socket.refusals(), [known.addresses.len() as u64 - 1, 0]);
    // The program's answer is let in; strangers' datagrams are not.
    plain().send_to(b"stranger", source.expect("a datagram arrives")).expect("loopback");
    program.send_to(b"answer", source.expect("seen")).expect("loopback");
    assert_eq!(received(&socket).await.0, b"answer");
}

/// Waits until a socket has counted so many refusals, and no more follow.
#[cfg(target_os = "linux")]
async fn counts(socket: &LocalSocket, expected: u64) {
    for _ in 0..1000 {
        socket.note_pending();
        if socket.refusals() == [expected, 0] {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    socket.note_pending();
    assert_eq!(socket.refusals(), [expected, 0]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn each_refusal_is_counted_wherever_a_datagram_was_sent_from() {
    let (here, gone) = (plain(), plain());
    let (open, closed) = (here.local_addr().expect("bound"), gone.local_addr().expect("bound"));
    drop(gone);
    let reader = Reader::get().expect("a thread");
    let known = |addresses| Program { addresses, interface: None, ttl: None, stream: Default::default() };
    // A socket of both families sends to addresses of IPv4 as well.
    let both = vec![closed, SocketAddr::from((Ipv6Addr::LOCALHOST, closed.port()))];
    for program in [known(vec![closed]), known(both)] {
        let socket = LocalSocket::open_to(&program, &reader).expect("loopback");
        (0..20).for_each(|_| socket.send(b"frame").expect("room"));
        counts(&socket, 20).await;
    }
    // One that is connected to no program, as those that listen.
    for place in ["127.0.0.1:0", ":0"] {
        let socket = &opened(place).await[0];
        let is_ipv6 = socket.local_addr().expect("bound").is_ipv6();
        let [open, closed] = [open, closed].map(|at| if is_ipv6 { mapped(at) } else { at });
        for _ in 0..20 {
            socket.send_to(b"frame", closed).expect("room");
            socket.send_to(b"frame", open).expect("room");
        }
        (0..20).for_each(|_| assert_eq!(here.recv(&mut [0; 16]).expect("in time"), 5));
        counts(socket, 20).await;
        assert_eq!(socket.refused(), Some(SocketAddr::new(closed.ip().to_canonical(), closed.port())));
        // Datagrams not from the peer are no losses.
        let mut message = Vec::new();
        let remb = whimbrel_rtp::Remb { sender: OWN_SSRC, bitrate: 1, streams: vec![7] };
        remb.encode(&mut message).expect("one stream");
        socket.send_to(&message, closed).expect("room");
        counts(socket, 20).await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_multicast_group_is_joined_by_every_reader_and_reached() {
    let reader = Reader::get().expect("a thread");
    let free = plain().local_addr().expect("bound").port();
    let place = format!("239.255.77.5:{free},interface=lo");
    let (first, second) = (opened(&place).await, opened(&place).await);
    let chosen = opened(&format!("{place},source=127.0.0.1")).await;
    let others = opened(&format!("{place},source=127.0.0.99")).await;
    let program = parse_to(&place).expect("a group").resolve_to().await.expect("no name");
    assert!(program.is_group());
    let sender = LocalSocket::open_to(&program, &reader).expect("a group");
    sender.send(b"frame").expect("room");
    for socket in [&first[0], &second[0], &chosen[0]] {
        assert_eq!(received(socket).await.0, b"frame");
    }
    assert_eq!(
        others[0].try_recv(&mut [0; 16]).expect_err("another source").kind(),
        io::ErrorKind::WouldBlock
    );
    // A datagram to the port alone is none of the group.
    plain().send_to(b"unicast", ("127.0.0.1", free)).expect("loopback");
    sender.send(b"second").expect("room");
    assert_eq!(received(&first[0]).await.0, b"second");
    let no_interface = parse_from(&format!("239.255.77.5:{free},interface=nowhere0")).expect("a group");
    let error = LocalSocket::open_from(&no_interface, &reader).await.expect_err("no interface");
    assert!(format!("{error:#}").contains("interface=nowhere0"), "{error:#}");
}

/// A group of a link is another one on each link: the system binds none without its interface.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_group_of_a_link_is_joined_by_the_interface_of_its_option_or_zone() {
    let free = plain().local_addr().expect("bound").port();
    for place in [format!("[ff02::4d:5]:{free},interface=lo"), format!("[ff02::4d:6%lo]:{free}")] {
        assert_eq!(opened(&place).await.len(), 1, "{place}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn broadcasts_are_received_and_sent() {
    let reader = Reader::get().expect("a thread");
    let free = plain().local_addr().expect("bound").port();
    // The loopback interface has a broadcast address in its own network.
    let here = opened(&format!("127.255.255.255:{free}")).await;
    let program = parse_to(&format!("127.255.255.255:{free}")).expect("an address");
    let program = program.resolve_to().await.expect("no name");
    LocalSocket::open_to(&program, &reader).expect("allowed").send(b"frame").expect("room");
    assert_eq!(received(&here[0]).await.0, b"frame");
}
