//! Invalid datagrams are counted and end nothing.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use minicbor::Encoder;
use zenoh::Wait;

use crate::networks::Network;
use crate::programs::{Program, wait_for};

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
    socket
}

/// A valid sample, if `key` is a key.
fn sample(key: &str) -> Vec<u8> {
    let mut datagram = Vec::new();
    let mut writer = Encoder::new(&mut datagram);
    let mut write = || {
        writer.map(3)?.str("key")?.str(key)?;
        writer.str("payload")?.bytes(b"value")?.str("encoding")?.str("text/plain").map(drop)
    };
    write().expect("memory");
    datagram
}

/// Datagrams that are no samples. Together, they fit a socket's buffer.
fn bad() -> Vec<Vec<u8>> {
    let mut unknown = sample("test/a");
    unknown[0] += 1;
    unknown.extend(b"\x61x\x01");
    vec![
        vec![],
        vec![0xff; 1200],
        (0..=255).cycle().take(65_000).collect(),
        [&[0xbb][..], &[0xff; 8]].concat(),
        [&b"\xa1\x67payload\x5b"[..], &[0xff; 8]].concat(),
        vec![0x81; 1000],
        unknown,
        [&sample("test/a")[..], &[0]].concat(),
        sample("test/*"),
        sample("**"),
        sample("/test"),
        sample(""),
        sample(&"k".repeat(1000)).split_off(1),
    ]
}

/// The keys that have arrived, as soon as `key` is there.
fn keys(network: &Network, key: &str) -> Vec<String> {
    let keys = || network.arrived().iter().map(|sample| sample.key_expr().to_string()).collect::<Vec<_>>();
    wait_for(key, || Some(keys()).filter(|keys| keys.iter().any(|other| other == key)))
}

#[test]
fn bad_datagrams_are_counted_at_the_end_that_is_bound() {
    let network = Network::open("test/**", |_| {});
    let arguments = ["--bind", "127.0.0.1:0", "--connect", &network.endpoint, "--key", "test/**"];
    let mut bridge = Program::bridge(&arguments);
    let (to, relay, bad) = (bridge.address(), socket(), bad());
    network.wait_for_subscriber("test/any");

    // The bridge keeps the newest value of a key until a valid datagram shows the relay's address.
    for value in ["old", "new"] {
        network.session.put("test/held", value).wait().expect("it puts");
    }
    network.session.put("test/long", vec![0; 70_000]).wait().expect("it puts");
    bridge.line("samples not sent: 1 so far, the last one: key \"test/long\": a payload of 70000 bytes");
    let other = socket();
    for datagram in &bad {
        other.send_to(datagram, to).expect("it sends");
    }
    relay.send_to(&sample("test/good"), to).expect("it sends");
    assert_eq!(keys(&network, "test/good"), ["test/good"]);
    let mut buffer = [0; 2048];
    let length = relay.recv(&mut buffer).expect("a datagram in time");
    assert!(buffer[..length].windows(3).any(|part| part == b"new"), "{:?}", &buffer[..length]);

    let lines = bridge.lines().iter().filter(|line| line.contains("datagrams ignored")).count();
    assert_eq!(lines, bad.len().ilog2() as usize + 1, "1, 2, 4 and so on: {:?}", bridge.lines());
    let last = bridge.end();
    let expected =
        format!(": 1 datagrams sent, 1 samples not sent; 1 samples put, {} datagrams ignored", bad.len());
    assert!(last.ends_with(&expected), "{last}");
}

#[test]
fn only_the_relay_is_heard_at_the_end_that_is_connected() {
    let network = Network::open("test/**", |_| {});
    let relay = socket();
    let at = relay.local_addr().expect("bound").to_string();
    let mut bridge = Program::bridge(&["--relay", &at, "--connect", &network.endpoint]);
    let address = SocketAddr::from(([127, 0, 0, 1], bridge.address().port()));
    let mut buffer = [0; 8];
    let (length, greeter) = relay.recv_from(&mut buffer).expect("a greeting in time");
    assert_eq!((&buffer[..length], greeter), (&[0xa0][..], address));

    socket().send_to(&sample("test/other"), address).expect("it sends");
    relay.send_to(&sample("test/*"), address).expect("it sends");
    relay.send_to(&sample("test/good"), address).expect("it sends");
    assert_eq!(keys(&network, "test/good"), ["test/good"]);
    let last = bridge.end();
    assert!(last.ends_with("1 samples put, 1 datagrams ignored"), "{last}");
}
