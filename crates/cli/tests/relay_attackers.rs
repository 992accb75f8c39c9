//! Attackers against an encrypted relay: on the path, and at its port.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_types, reason = "it measures real time")]

use std::collections::{BTreeMap, VecDeque};
use std::thread;
use std::time::{Duration, Instant};

use whimbrel_net::{Ccid, Config, Host, ServiceCode};

use crate::ends;
use crate::hostile_path;
use crate::support_relay as relay;
use ends::{Carried, socket};
use hostile_path::HostilePath;
use relay::{Path, Relay};

/// The DCCP port of relays.
const PORT: u16 = 5004;

/// A word that depends on the one before it.
fn next(word: &mut u64) -> u64 {
    *word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *word >> 33
}

#[test]
fn records_that_are_changed_repeated_or_truncated_on_the_path_are_not_delivered() {
    let carried = Carried::listen();
    let path = HostilePath::to(carried.at);
    let (_near, port) = carried.connect(path.at);
    carried.until_seen(port, 900);
    let (mut dice, mut old) = (1, Vec::<Vec<u8>>::new());
    path.obey(move |up, packet| {
        let mut passed = vec![packet.to_vec()];
        if up && packet.len() > 200 {
            // The tail of a packet is DTLS's: record changed, and cut. An earlier packet with this header.
            let header = packet.len() - 222;
            let mut changed = packet.to_vec();
            let at = header + next(&mut dice) as usize % 222;
            changed[at] ^= 1 + next(&mut dice) as u8 % 255;
            let cut = packet[..packet.len() - 1 - next(&mut dice) as usize % 200].to_vec();
            match next(&mut dice) % 4 {
                0 => passed.push(cut),
                1 => passed.insert(0, changed),
                2 => passed.extend(old.first().cloned()),
                _ => {
                    let mut spliced = packet[..header].to_vec();
                    spliced.extend(old.last().map_or(&[][..], |old| &old[old.len() - 222..]));
                    passed.insert(0, spliced);
                }
            }
            old.push(packet.to_vec());
            if old.len() > 20 {
                old.remove(0);
            }
        }
        passed
    });
    carried.drain();
    // Each datagram has a number and a pattern that follows from it.
    let datagram = |number: u16| -> Vec<u8> {
        (0..198u16)
            .flat_map(|at| if at == 0 { number.to_be_bytes().to_vec() } else { vec![(number ^ at) as u8] })
            .collect()
    };
    let mut seen = BTreeMap::<u16, u32>::new();
    let mut buffer = [0; 2048];
    for number in 0..600 {
        carried.camera.send_to(&datagram(number), port).expect("loopback");
        thread::sleep(Duration::from_millis(3));
        carried.viewer.set_nonblocking(true).expect("a mode");
        while let Ok(size) = carried.viewer.recv(&mut buffer) {
            let number = u16::from_be_bytes([buffer[0], buffer[1]]);
            assert_eq!(buffer[..size], datagram(number), "a changed datagram is delivered");
            *seen.entry(number).or_default() += 1;
        }
        carried.viewer.set_nonblocking(false).expect("a mode");
    }
    let status = carried.status();
    let forged = status["connections"][0]["forged"].as_u64().expect("a number");
    println!("{} of 600 datagrams arrived, {forged} records had no effect", seen.len());
    assert!(seen.values().all(|count| *count == 1), "a datagram is delivered twice");
    // Packets that were replaced by a forgery with their number are lost.
    assert!(seen.len() > 200, "{}", seen.len());
    assert!(forged > 50, "{status}");
    assert_eq!(status["established"], 1);
}

#[test]
fn a_flood_at_the_port_costs_a_bounded_amount_and_the_stream_goes_on() {
    let carried = Carried::listen();
    let path = HostilePath::to(carried.at);
    let captured = std::sync::Arc::new(std::sync::Mutex::new(Vec::<Vec<u8>>::new()));
    let keep = captured.clone();
    path.obey(move |up, packet| {
        let mut kept = keep.lock().expect("no panic");
        if up && kept.len() < 200 {
            kept.push(packet.to_vec());
        }
        vec![packet.to_vec()]
    });
    let (_near, port) = carried.connect(path.at);
    carried.until_seen(port, 700);
    let captured = captured.lock().expect("no panic").clone();
    let (memory, cpu) = (carried.far.memory(), carried.far.cpu());
    let attackers: Vec<_> = (0..50).map(|_| socket()).collect();
    let (mut dice, mut sent, mut sent_bytes, mut got_bytes) = (7, 0u64, 0u64, 0u64);
    let mut buffer = [0; 2048];
    let began = Instant::now();
    let (mut arrived, mut offered) = (0, 0);
    carried.drain();
    while began.elapsed() < Duration::from_secs(3) {
        for _ in 0..40 {
            // Packets of the stream from elsewhere, whole or damaged, among them its Request; and noise.
            let mut packet = captured[next(&mut dice) as usize % captured.len()].clone();
            match next(&mut dice) % 4 {
                0 => {}
                1 => packet.iter_mut().for_each(|byte| *byte = next(&mut dice) as u8),
                2 => packet.truncate(next(&mut dice) as usize % packet.len()),
                _ => {
                    let at = next(&mut dice) as usize % packet.len();
                    packet[at] ^= 1 << (next(&mut dice) % 8);
                }
            }
            // With the address and the ports of the connection, as an attacker off the path may guess them.
            // Its types, sequence and acknowledgement numbers it can only draw.
            if next(&mut dice).is_multiple_of(8) && packet.len() > 24 {
                packet[..4].copy_from_slice(&captured[0][..4]);
                packet[4..24].iter_mut().for_each(|byte| *byte = next(&mut dice) as u8);
                path.inject(&packet);
            }
            let attacker = &attackers[next(&mut dice) as usize % attackers.len()];
            let _ = attacker.send_to(&packet, carried.at);
            (sent, sent_bytes) = (sent + 1, sent_bytes + packet.len() as u64);
        }
        for attacker in &attackers {
            attacker.set_nonblocking(true).expect("a mode");
            while let Ok(size) = attacker.recv(&mut buffer) {
                got_bytes += size as u64;
            }
        }
        let _ = carried.camera.send_to(&[0x77; 300], port);
        offered += 1;
        carried.viewer.set_nonblocking(true).expect("a mode");
        while carried.viewer.recv(&mut buffer).is_ok_and(|size| size == 300) {
            arrived += 1;
        }
        carried.viewer.set_nonblocking(false).expect("a mode");
        thread::sleep(Duration::from_millis(2));
    }
    let cost = (carried.far.cpu() - cpu).as_secs_f64() / sent as f64;
    let grown = carried.far.memory().saturating_sub(memory);
    println!(
        "{:.0} packets a second: {:.1} us of processor time each, {:.1} MB more memory, {:.2} bytes of answers per byte; {arrived} of {offered} datagrams of the stream arrived",
        sent as f64 / began.elapsed().as_secs_f64(),
        cost * 1e6,
        grown as f64 / 1e6,
        got_bytes as f64 / sent_bytes as f64,
    );
    assert!(cost < 100e-6, "{cost} s for each packet");
    assert!(grown < 16 << 20, "{grown} bytes");
    assert!(got_bytes < sent_bytes, "{got_bytes} bytes of answers to {sent_bytes}");
    assert!(arrived * 10 > offered * 8, "{arrived} of {offered}");
    carried.until_seen(port, 600);
    assert_eq!(carried.established(), 1);
}

/// Handshakes are begun from one address, at 0.7 Mbit/s. A client at another address, with a round-trip time
/// of 600 ms, connects at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_handshakes_does_not_keep_a_distant_client_out() {
    /// Begun in a second: a Request and an acknowledgement of 100 bytes together, with IPv4 and UDP headers.
    const RATE: u64 = 875;
    let carried = Carried::listen();
    let code = ServiceCode::from_letters("wrls").expect("four letters");
    let config = Config::default().service_code(code).sender_ccids([Ccid::TFRC]).receiver_ccids([Ccid::TFRC]);
    let at = carried.at;
    let (begun, full) = tokio::sync::watch::channel(0);
    let flood = tokio::spawn(async move {
        let host = Host::udp("127.0.0.3:0".parse().expect("an address")).await.expect("loopback");
        let (mut open, began) = (VecDeque::new(), Instant::now());
        for count in 0_u64.. {
            let due = Duration::from_micros(count * 1_000_000 / RATE);
            tokio::time::sleep(due.saturating_sub(began.elapsed())).await;
            // The server has ended the oldest.
            if open.len() == 1200 {
                open.pop_front();
            }
            open.extend(host.connect(at, PORT, config.clone()).await);
            begun.send_replace(count);
        }
    });
    // All places are held.
    full.clone().wait_for(|count| *count > 1024).await.expect("it goes on");
    let path = Path { rate_bps: 1e9, queue: 1e6, delay: Duration::from_millis(300), lose_each: 0 };
    let distant = Relay::start(at.port(), path, path);
    let (before, began) = (*full.borrow(), Instant::now());
    let near = carried.near(([127, 0, 0, 1], distant.port).into());
    let first = near.outcome();
    let rate = (*full.borrow() - before) as f64 / began.elapsed().as_secs_f64();
    println!("{rate:.0} handshakes a second; after {:?}: {first:?}", began.elapsed());
    flood.abort();
    assert_eq!(first.0, "connected", "{first:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn handshakes_that_are_never_finished_take_bounded_memory_and_give_way() {
    let carried = Carried::listen();
    let (_near, port) = carried.connect(carried.at);
    carried.until_seen(port, 700);
    let memory = carried.far.memory();
    // DCCP connects; DTLS is never begun.
    let code = ServiceCode::from_letters("wrls").expect("four letters");
    let config = Config::default().service_code(code).sender_ccids([Ccid::TFRC]).receiver_ccids([Ccid::TFRC]);
    let host = Host::udp("127.0.0.3:0".parse().expect("an address")).await.expect("loopback");
    let mut half_open = Vec::new();
    for _ in 0..1500 {
        half_open.extend(host.connect(carried.at, PORT, config.clone()).await);
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let alive = half_open.iter().filter(|socket| socket.snapshot().is_some()).count();
    let grown = carried.far.memory().saturating_sub(memory);
    println!(
        "{} half-open connections, of which {alive} are left: {:.1} MB more memory, {} bytes each",
        half_open.len(),
        grown as f64 / 1e6,
        grown / alive.max(1) as u64
    );
    assert_eq!(half_open.len(), 1500);
    assert!((900..=1024).contains(&alive), "{alive}");
    assert!(grown < 48 << 20, "{grown} bytes");
    // The stream goes on, and others that have the secret are admitted.
    carried.until_seen(port, 600);
    let began = Instant::now();
    let (_other, port) = carried.connect(carried.at);
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    carried.until_seen(port, 500);
}
