use std::net::UdpSocket as Plain;
use std::time::Duration;

use super::super::address::{parse_from, parse_to};
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

fn plain() -> Plain {
    let socket = Plain::bind("127.0.0.1:0").expect("loopback");
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
        let program = Plain::bind((address.ip(), 0)).expect("loopback");
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
    // It listens at 127.0.0.1 alone, and localhost may be ::1 first.
    let program = plain();
    let port = program.local_addr().expect("bound").port();
    let mut addresses = vec![SocketAddr::from(([127, 0, 0, 1], port))];
    if Plain::bind("[::1]:0").is_ok() {
        addresses.insert(0, (Ipv6Addr::LOCALHOST, port).into());
    }
    let known = Program { addresses, interface: None, ttl: None };
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
    assert_eq!(socket.refusals() as usize, known.addresses.len() - 1);
    // Its answer is let in, and those of strangers are not.
    plain().send_to(b"stranger", source.expect("a datagram arrives")).expect("loopback");
    program.send_to(b"answer", source.expect("seen")).expect("loopback");
    assert_eq!(received(&socket).await.0, b"answer");
    // A refusal is counted where nothing listens any more.
    drop(program);
    let before = socket.refusals();
    for _ in 0..4 {
        let _ = socket.send(b"frame");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(socket.refusals() > before);
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
