//! Transport-wide feedback of `whimbrel relay`, the built program, to an encoder on the loopback interface.

#![allow(clippy::disallowed_types, reason = "it measures real time")]

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use whimbrel_rtp::TransportFeedback;

use crate::relays;
use relays::{Relay, secret, socket};

/// Identifier of the extension, and the packets that are sent.
const EXTENSION: u8 = 5;
const PACKETS: u16 = 200;

/// An RTP packet of 300 bytes with a transport-wide sequence number.
fn packet(sequence: u16) -> Vec<u8> {
    let [high, low] = sequence.to_be_bytes();
    // A frame each: the relay drops whole frames.
    let mut packet = vec![0x90, 96, high, low, 0, 0, high, low, 0, 0, 0, 9];
    packet.extend([0xbe, 0xde, 0, 1, EXTENSION << 4 | 1, high, low, 0]);
    packet.resize(300, 0);
    packet
}

/// A path that drops every tenth packet of that size towards the relay at `to`, but not the first ones.
/// Returns its address.
fn lossy_path(to: SocketAddr) -> SocketAddr {
    let (outside, inside) = (socket(), socket());
    inside.connect(to).expect("loopback");
    let at = outside.local_addr().expect("bound");
    let (answers, back) =
        (inside.try_clone().expect("a descriptor"), outside.try_clone().expect("a descriptor"));
    let (sender, client) = std::sync::mpsc::channel::<SocketAddr>();
    thread::spawn(move || {
        let (mut buffer, mut long) = ([0; 65_536], 0);
        while let Ok((size, source)) = outside.recv_from(&mut buffer) {
            let _ = sender.send(source);
            // Records of packets have at least their bytes; acknowledgements and the handshake's answers have
            // fewer.
            long += u32::from((300..420).contains(&size));
            if !((300..420).contains(&size) && long > 10 && long % 10 == 0) {
                let _ = inside.send(&buffer[..size]);
            }
        }
    });
    thread::spawn(move || {
        let Ok(to) = client.recv() else { return };
        let mut buffer = [0; 65_536];
        while let Ok(size) = answers.recv(&mut buffer) {
            let _ = back.send_to(&buffer[..size], to);
        }
    });
    at
}

/// The arrivals that an encoder's socket is told of, until nothing more comes, and the message numbers.
fn reports(encoder: &UdpSocket) -> (BTreeMap<u16, Option<i64>>, Vec<u8>) {
    let (mut packets, mut numbers, mut buffer) = (BTreeMap::new(), Vec::new(), [0; 2048]);
    while let Ok(size) = encoder.recv(&mut buffer) {
        let report = TransportFeedback::decode(&buffer[..size]).expect("nothing else is sent here");
        assert_eq!(report.media, 9);
        numbers.push(report.number);
        for offset in 0..report.count {
            packets.entry(report.base.wrapping_add(offset)).or_insert(None);
        }
        for (sequence, time) in report.arrivals() {
            packets.insert(sequence, Some(time));
        }
    }
    (packets, numbers)
}

#[test]
fn an_encoder_learns_which_packets_arrived_and_when() {
    let folder = TempDir::new().expect("a folder");
    let secret = secret(&folder);
    let viewer = socket();
    viewer.set_read_timeout(Some(Duration::from_millis(500))).expect("a time");
    let to = viewer.local_addr().expect("bound").to_string();
    let listen =
        ["relay", "server", "--bind", "127.0.0.1:0", "--to", &to, "--transport-cc", "5", "--latency", "0"];
    let mut far = Relay::start(&[&listen[..], &["--secret-file", &secret]].concat());
    let at = lossy_path(far.address("at UDP ")).to_string();
    let mut near = Relay::start(&["relay", "client", &at, "--from", "127.0.0.1:0", "--secret-file", &secret]);
    let port = near.address("at UDP ");
    near.event("connected");
    let arrived = thread::spawn(move || {
        let (mut arrived, mut buffer) = (Vec::new(), [0; 2048]);
        while let Ok(size) = viewer.recv(&mut buffer) {
            assert_eq!(size, 300);
            arrived.push(u16::from_be_bytes([buffer[2], buffer[3]]));
        }
        arrived
    });
    let encoder = socket();
    encoder.set_read_timeout(Some(Duration::from_millis(500))).expect("a time");
    let first = 65_500_u16;
    let start = Instant::now();
    for n in 0..PACKETS {
        encoder.send_to(&packet(first.wrapping_add(n)), port).expect("loopback");
        thread::sleep(Duration::from_millis(5));
    }
    let took = start.elapsed();
    let arrived = arrived.join().expect("no panic");
    let lasted = start.elapsed();
    let (packets, numbers) = reports(&encoder);
    println!("{} of {PACKETS} packets, {} reports", arrived.len(), numbers.len());
    // The path lost some, and what is reported as received is what the viewer has received.
    assert!(arrived.len() < usize::from(PACKETS) && arrived.len() > usize::from(PACKETS) * 3 / 4);
    let mut received: Vec<u16> =
        packets.iter().filter_map(|(sequence, time)| time.map(|_| *sequence)).collect();
    let mut expected = arrived.clone();
    received.sort_unstable();
    expected.sort_unstable();
    assert_eq!(received, expected);
    // All others up to the last one are reported as lost.
    let last = arrived.iter().map(|sequence| sequence.wrapping_sub(first)).max().expect("packets");
    let begin = arrived.iter().map(|sequence| sequence.wrapping_sub(first)).min().expect("packets");
    assert_eq!(packets.len(), usize::from(last - begin) + 1);
    // At most one in 100 ms, each with the next number.
    let most = 2 + lasted.as_millis() / 100;
    assert!((4..=most).contains(&(numbers.len() as u128)), "{} reports in {lasted:?}", numbers.len());
    assert!(numbers.iter().enumerate().all(|(index, number)| usize::from(*number) == index), "{numbers:?}");
    // The arrivals are as far apart as the packets were sent.
    let times: Vec<i64> = packets.values().filter_map(|time| *time).collect();
    let span = times.iter().max().expect("packets") - times.iter().min().expect("packets");
    let span = Duration::from_micros(250) * span as u32;
    assert!(span > took * 3 / 4 && span < took + Duration::from_millis(500), "{span:?} of {took:?}");
}
