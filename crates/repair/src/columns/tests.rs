use std::vec;
use std::vec::Vec;

use super::*;
use crate::encoder::Encoder;
use crate::sender::SenderConfig;
use crate::tests_support::Random;
use crate::wire::parts::divide;
use crate::wire::{Datagram, Role, begin_repair, begin_source, parts};

/// Frames of 16 datagrams of 1,000 bytes, and 25 % of parity over each.
const SOURCE: u32 = 16;
const PARITY: u32 = 4;
const SIZE: usize = 1_000;

fn code() -> CodeConfig {
    let latency = whimbrel_units::Duration::from_millis(100);
    SenderConfig { in_parts: true, ..SenderConfig::new(1_200, latency) }.code()
}

fn payload(random: &mut Random) -> Vec<u8> {
    (0..SIZE).map(|_| random.word() as u8).collect()
}

fn header() -> AduHeader {
    let (frame, time, index, count) = (0, 0, 0, None);
    AduHeader {
        frame,
        time,
        index,
        count,
        is_last: false,
        role: Role::Inner,
        has_parity: false,
        has_waited: false,
    }
}

/// The packets of a frame in parts, and its payloads.
fn frame(encoder: &mut Encoder, random: &mut Random) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let (first, mut packets, mut payloads) = (encoder.next(), vec![], vec![]);
    for _ in 0..SOURCE {
        let (mut adu, mut whole, mut divided) = (vec![], vec![], vec![]);
        payloads.push(payload(random));
        header().encode(&mut adu);
        adu.extend_from_slice(&payloads[payloads.len() - 1]);
        let esi = encoder.push(0, &adu).expect("it fits");
        begin_source(None, &mut whole);
        whole.extend_from_slice(&adu);
        esi.encode(&mut whole);
        divide(&whole, &mut divided).expect("a datagram");
        packets.push(divided);
    }
    for _ in 0..PARITY {
        let (mut whole, mut symbol, mut divided) = (vec![], vec![], vec![]);
        let id = encoder.combine(first, encoder.next(), &mut symbol).expect("a window");
        begin_repair(None, false, &mut whole);
        id.encode(&mut whole);
        whole.extend_from_slice(&symbol);
        divide(&whole, &mut divided).expect("a datagram");
        packets.push(divided);
    }
    (packets, payloads)
}

/// Other bytes from a random place on, up to 200.
fn damage(packet: &mut [u8], random: &mut Random) {
    let start = (random.unit() * packet.len() as f64) as usize;
    let length = 1 + (random.unit() * 200.0) as usize;
    for byte in packet.iter_mut().skip(start).take(length) {
        *byte ^= 1 + (random.word() % 255) as u8;
    }
}

fn take(columns: &mut Columns, packet: &[u8]) {
    match Datagram::decode(packet) {
        Ok(Datagram::Parts(parts)) => match parts.head {
            parts::Head::Source { header, esi } => {
                columns.on_source_parts(esi, header, &parts);
            }
            parts::Head::Repair { id, .. } => columns.on_repair_parts(id, &parts),
        },
        Ok(other) => panic!("{other:?}"),
        Err(_) => {}
    }
}

/// The shares of datagrams and of frames that are whole where that share of the packets is damaged. What is
/// damaged is lost, or used in parts.
fn whole(damaged: f64, uses_parts: bool, frames: u32) -> (f64, f64) {
    let (mut random, mut encoder) = (Random(7), Encoder::new(code(), Esi(0)));
    let mut columns = Columns::new(code(), Esi(0), 128, true);
    let (mut datagrams, mut all) = (0, 0);
    for _ in 0..frames {
        let first = encoder.next();
        let (packets, payloads) = frame(&mut encoder, &mut random);
        encoder.forget_before(encoder.next());
        for mut packet in packets {
            let is_damaged = random.unit() < damaged;
            if is_damaged {
                damage(&mut packet, &mut random);
            }
            if !is_damaged || uses_parts {
                take(&mut columns, &packet);
            }
        }
        let mut of_frame = 0;
        for (esi, expected) in (0..).map(|i| first.plus(i)).zip(&payloads) {
            let mut out = vec![];
            if columns.header(esi).is_some() {
                columns.payload(esi, &mut out).expect("it is known");
                assert_eq!(out, *expected, "altered");
                of_frame += 1;
            }
        }
        datagrams += of_frame;
        all += u32::from(of_frame == SOURCE);
        columns.forget_before(encoder.next());
        while columns.poll_solved().is_some() {}
    }
    (f64::from(datagrams) / f64::from(frames * SOURCE), f64::from(all) / f64::from(frames))
}

/// One packet in five is damaged, as much as the parity is.
#[test]
fn whole_parts_save_what_damaged_packets_would_cost() {
    let frames = 1_500;
    let [(datagrams, with), (fewer, without)] =
        [true, false].map(|uses_parts| whole(0.2, uses_parts, frames));
    std::println!(
        "in parts {datagrams:.4} of the datagrams, {with:.4} of the frames; as a whole {fewer:.4}, {without:.4}"
    );
    // Three standard errors.
    let error = |share: f64| 3.0 * (share * (1.0 - share) / f64::from(frames)).sqrt();
    assert!(with - error(with) >= 0.93, "{with}");
    // The binomial distribution has .630 for an ideal code.
    assert!((without - 0.630).abs() <= error(0.63) + 0.01, "{without}");
}

#[test]
fn a_symbol_is_known_once_all_of_its_columns_are() {
    let (mut random, mut encoder) = (Random(3), Encoder::new(code(), Esi(0)));
    let mut columns = Columns::new(code(), Esi(0), 128, true);
    let (packets, payloads) = frame(&mut encoder, &mut random);
    let wanted = |columns: &Columns| columns.wanted().map(|esi| esi.0).collect::<Vec<_>>();
    for (at, packet) in packets.iter().enumerate() {
        let mut packet = packet.clone();
        match at {
            // The last column of one, the first of another, and all of a third.
            2 => *packet.last_mut().expect("a byte") ^= 1,
            5 => packet[40] ^= 1,
            9 => continue,
            16 => {
                assert_eq!(wanted(&columns), [2, 5, 9]);
                assert!(!columns.has_rows());
            }
            17 => {
                // One equation for each column.
                assert_eq!((wanted(&columns), columns.has_rows()), (vec![2, 5], true));
            }
            _ => {}
        }
        take(&mut columns, &packet);
    }
    let mut solved: Vec<u32> = core::iter::from_fn(|| columns.poll_solved()).map(|esi| esi.0).collect();
    solved.sort_unstable();
    assert_eq!((solved, wanted(&columns)), (vec![2, 5, 9], vec![]));
    for (esi, payload) in (0..).map(Esi).zip(&payloads) {
        let mut out = vec![];
        columns.payload(esi, &mut out).expect("known");
        assert_eq!(out, *payload);
    }
}
