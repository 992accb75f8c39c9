//! `whimbrel relay` at the other end: its own functions, with the options of the command.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use whimbrel_net::Ccid;
use whimbrel_relay::{Far, Near, Notice, Observer, Options, Protection, Stop};

use crate::support::{PATIENCE, Running, init, of, receiver, until};

fn options() -> Options {
    Options { latency: Some(whimbrel_units::Duration::from_millis(150)), ..Options::default() }
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time");
    socket
}

#[test]
fn the_sink_sends_to_a_listening_relay() {
    init();
    let program = socket();
    let far = Far {
        options: options(),
        to: vec![program.local_addr().expect("bound").into()].into(),
        bind: Some("127.0.0.1:0".parse().expect("an address")),
        socket: None,
        lda: None,
        reorder: None,
        max_peers: 8,
        one_off: true,
        protection: Protection::default(),
    };
    let (told, address) = channel();
    let observer: Observer = Arc::new(move |_, notice: &Notice<'_>| {
        if let Notice::Listening { at, .. } = notice {
            told.send(*at)?;
        }
        Ok(())
    });
    let relay = thread::spawn(move || {
        let (_never, stop) = Stop::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(whimbrel_relay::listen(far, observer, stop))
    });
    let address = address.recv_timeout(PATIENCE).expect("an address");
    let text = format!(
        "fakesrc sizetype=fixed sizemax=500 format=time datarate=50000 ! whimbrelsink name=w address={address}"
    );
    let from = Running::new(&text).play();
    let mut buffer = [0; 2048];
    for _ in 0..100 {
        assert_eq!(program.recv(&mut buffer).expect("a datagram"), 500);
    }
    // The relay ends with its connection, which the element closes.
    drop(from);
    relay.join().expect("no panic").expect("a relay");
}

#[test]
fn the_source_has_what_a_connecting_relay_sends() {
    init();
    let (to, address) = receiver("", "! fakesink name=end sync=false");
    let arrived = to.count("end", "sink");
    let near = Near {
        options: options(),
        host: address.parse().expect("an address"),
        from: vec!["127.0.0.1:0".parse::<std::net::SocketAddr>().expect("an address").into()].into(),
        ccid: Ccid::TFRC,
        freezes: false,
        follows: false,
        paths: Vec::new(),
        outages: tokio::sync::broadcast::channel(1).0,
        protection: Protection::default(),
    };
    let (told, at) = channel();
    let observer: Observer = Arc::new(move |_, notice: &Notice<'_>| {
        if let Notice::Taking { at, .. } = notice {
            told.send(at[0])?;
        }
        Ok(())
    });
    let (end, stop) = Stop::new();
    let relay = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(whimbrel_relay::connect(near, observer, stop))
    });
    let at = at.recv_timeout(PATIENCE).expect("a port");
    let program = socket();
    until("datagrams", || {
        program.send_to(&[7; 500], at).expect("loopback");
        thread::sleep(Duration::from_millis(10));
        of(&arrived) > 100
    });
    end.send_replace(true);
    relay.join().expect("no panic").expect("a relay");
    to.set(gst::State::Null);
}
