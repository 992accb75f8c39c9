use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use whimbrel_wire::option::data_dropped::{DropCode, runs};
use whimbrel_wire::{DccpOption, Ecn, OptionBytes, Options, SeqNo};

use super::{Invalid, Reader, Recorder};
use crate::ack_vector;
use crate::ccid::DroppedPacket;

const ROOM: usize = 255;

fn seq(n: u64) -> SeqNo {
    SeqNo::new(n)
}

fn dropped(n: u64, code: DropCode) -> DroppedPacket {
    DroppedPacket { sequence: seq(n), code }
}

fn blocks(options: &Options) -> Vec<u8> {
    options
        .iter()
        .flat_map(|option| match option {
            DccpOption::DataDropped(blocks) => blocks.to_vec(),
            other => panic!("{other:?}"),
        })
        .collect()
}

fn written(recorder: &mut Recorder, sequence: u64, ack: u64) -> Vec<u8> {
    let mut options = Options::new();
    recorder.write(seq(sequence), seq(ack), ROOM, &mut options);
    blocks(&options)
}

fn options_of(blocks: &[u8]) -> Options {
    Options::from_vec(vec![DccpOption::DataDropped(OptionBytes::from_slice(blocks))])
}

fn read(reader: &mut Reader, ack: u64, blocks: &[u8]) -> Vec<DroppedPacket> {
    let mut news = Vec::new();
    reader.read(seq(ack), &options_of(blocks), &mut news).unwrap();
    news
}

#[test]
fn the_example_of_the_rfc() {
    // RFC 4340, Section 11.7: Acknowledgement Number 100 and 0, 160, 3, 162. Packets 98 to 95 are four in
    // a run of length 3, so those dropped after them are 94 to 92.
    let mut recorder = Recorder::new();
    for packet in [92, 93, 94, 99] {
        recorder.record(seq(packet), DropCode::ReceiveBuffer);
    }
    assert_eq!(written(&mut recorder, 7, 100), [0, 160, 3, 162]);
    let mut reader = Reader::new(seq(1));
    let expected = [92, 93, 94, 99].map(|packet| dropped(packet, DropCode::ReceiveBuffer));
    assert_eq!(read(&mut reader, 100, &[0, 160, 3, 162]), expected);
    assert_eq!(read(&mut reader, 100, &[0, 160, 3, 162]), [], "what is repeated is not news");
}

#[test]
fn without_drops_there_is_no_option() {
    let mut recorder = Recorder::new();
    assert_eq!(written(&mut recorder, 7, 100), []);
    recorder.record(seq(101), DropCode::Corrupt);
    assert_eq!(written(&mut recorder, 8, 100), [], "nor about packets that are not acknowledged yet");
    assert_eq!(written(&mut recorder, 9, 101), [0xb0]);
}

#[test]
fn a_drop_is_reported_until_a_report_is_acknowledged() {
    let mut recorder = Recorder::new();
    recorder.record(seq(10), DropCode::Corrupt);
    written(&mut recorder, 1, 10);
    written(&mut recorder, 2, 12);
    recorder.on_acked(seq(3));
    assert!(!recorder.is_empty(), "packet 3 reported nothing");
    // Known only after report 2: an acknowledgement of that says nothing of it.
    recorder.record(seq(9), DropCode::ReceiveBuffer);
    written(&mut recorder, 4, 12);
    recorder.on_acked(seq(2));
    assert_eq!(recorder.drops().collect::<Vec<_>>(), [dropped(9, DropCode::ReceiveBuffer)]);
    recorder.on_acked(seq(4));
    assert!(recorder.is_empty());
}

#[test]
fn a_code_never_becomes_less_serious_and_never_changes_once_reported() {
    let mut recorder = Recorder::new();
    assert!(recorder.record(seq(5), DropCode::DeliveredCorrupt));
    assert!(recorder.record(seq(5), DropCode::Corrupt), "the application found it useless after all");
    assert!(!recorder.record(seq(5), DropCode::DeliveredCorrupt));
    assert!(!recorder.record(seq(5), DropCode::ReceiveBuffer));
    assert!(recorder.record(seq(6), DropCode::DeliveredCorrupt));
    assert_eq!(written(&mut recorder, 1, 6), [0xf0, 0xb0]);
    assert!(!recorder.record(seq(6), DropCode::Corrupt), "that would change a packet's status");
    assert_eq!(written(&mut recorder, 2, 6), [0xf0, 0xb0]);
}

#[test]
fn runs_longer_than_a_block_take_several() {
    let mut recorder = Recorder::new();
    for packet in 1..=20 {
        recorder.record(seq(packet), DropCode::ReceiveBuffer);
    }
    // 200 normal packets are 128 and 72; 20 dropped ones are 16 and 4.
    assert_eq!(written(&mut recorder, 1, 220), [127, 71, 0xaf, 0xa3]);
    assert_eq!(recorder.encoded_len(seq(220), ROOM), 6);
}

#[test]
fn reports_that_do_not_fit_are_old_and_dropped() {
    let mut recorder = Recorder::new();
    for packet in 0..300 {
        recorder.record(seq(2 * packet), DropCode::Corrupt);
    }
    let mut options = Options::new();
    // Two bytes of header, one block for the newest and two for each of the others.
    recorder.write(seq(1), seq(598), 2 + 1 + 2 * 4, &mut options);
    assert_eq!(blocks(&options), [0xb0, 0, 0xb0, 0, 0xb0, 0, 0xb0, 0, 0xb0]);
    assert_eq!(recorder.drops().count(), 5);
    recorder.on_acked(seq(1));
    assert!(recorder.is_empty());
}

#[test]
fn memory_is_bounded() {
    let mut recorder = Recorder::new();
    for packet in 0..100_000 {
        recorder.record(seq(packet), DropCode::Corrupt);
        assert!(recorder.drops().count() <= 1024);
    }
    for report in 0..100_000 {
        recorder.record(seq(100_000 + report), DropCode::Corrupt);
        written(&mut recorder, report, 100_000 + report);
    }
    assert!(recorder.reports.len() <= 256);
}

#[test]
fn reports_of_packets_never_sent_are_ignored() {
    let mut reader = Reader::new(seq(96));
    let mut news = Vec::new();
    let result = reader.read(seq(100), &options_of(&[0, 160, 3, 162]), &mut news);
    assert_eq!(result, Err(Invalid::BeforeStart));
    assert_eq!(news, []);
}

#[test]
fn a_packet_cannot_be_dropped_and_missing() {
    // The example of RFC 4340, Section 11.7: "not yet received" and "dropped in the receive buffer".
    let vector = |cells: &[u8]| DccpOption::AckVector { nonce: false, cells: OptionBytes::from_slice(cells) };
    let drops = DccpOption::DataDropped(OptionBytes::from_slice(&[0, 160, 3, 162]));
    let result =
        |cells: &[u8]| Reader::new(seq(1)).read(seq(100), &[vector(cells), drops.clone()], &mut Vec::new());
    assert_eq!(result(&[9]), Ok(()));
    // 98 to 95 are missing, which no Drop Block speaks of.
    assert_eq!(result(&[1, 0xc3, 2]), Ok(()));
    // 99 is missing; 94 is.
    assert_eq!(result(&[0, 0xc0, 5]), Err(Invalid::Contradiction));
    assert_eq!(result(&[5, 0xc0, 5]), Err(Invalid::Contradiction));
    // Of 92 the Ack Vector says nothing.
    assert_eq!(result(&[7]), Ok(()));
}

fn code() -> impl Strategy<Value = DropCode> {
    (0u8..8).prop_map(DropCode::from_bits)
}

proptest! {
    #[test]
    fn an_option_equals_a_naive_list(
        drops in vec((0u64..600, code()), 0..80),
        beyond in 0u64..300,
    ) {
        let mut recorder = Recorder::new();
        let mut naive = BTreeMap::new();
        for (packet, code) in drops {
            recorder.record(seq(packet), code);
            let entry = naive.entry(packet).or_insert(code);
            if *entry == DropCode::DeliveredCorrupt {
                *entry = code;
            }
        }
        let ack = 599 + beyond;
        let mut options = Options::new();
        recorder.write(seq(1), seq(ack), 2 * ROOM, &mut options);
        prop_assert_eq!(
            options.iter().map(DccpOption::encoded_len).sum::<usize>(),
            recorder.encoded_len(seq(ack), 2 * ROOM),
            "the length counted is the length written"
        );
        let mut reported = BTreeMap::new();
        for run in runs(seq(ack), &options) {
            let Some(code) = run.drop else { continue };
            for packet in run.oldest.value()..=run.newest.value() {
                prop_assert!(reported.insert(packet, code).is_none());
            }
        }
        prop_assert_eq!(&reported, &naive);
        let mut news = Vec::new();
        Reader::new(seq(0)).read(seq(ack), &options, &mut news).unwrap();
        let expected: Vec<_> = naive.iter().map(|(packet, code)| dropped(*packet, *code)).collect();
        prop_assert_eq!(news, expected, "oldest first");
    }

    #[test]
    fn every_drop_is_reported_once_despite_loss_and_delay(
        // For each packet: is it lost, are its data dropped, and is the acknowledgement that follows it
        // lost, late, or acknowledged.
        packets in vec((any::<bool>(), prop::option::of(code()), 0u8..4), 1..120),
    ) {
        let mut recorder = Recorder::new();
        let mut vectors = ack_vector::Recorder::new();
        let mut reader = Reader::new(seq(0));
        let mut expected = Vec::new();
        let mut learnt = Vec::new();
        let mut late: Option<(SeqNo, Options)> = None;
        let mut newest = None;
        let last = packets.len() as u64;
        // One more packet arrives in the end, and its acknowledgement is not lost.
        for (number, (is_lost, code, fate)) in packets.into_iter().chain([(false, None, 2)]).enumerate() {
            let number = number as u64;
            if !is_lost {
                vectors.record(seq(number), Ecn::NotEct);
                newest = Some(seq(number));
                if let Some(code) = code {
                    recorder.record(seq(number), code);
                    expected.push(dropped(number, code));
                }
            }
            let Some(ack) = newest else { continue };
            let sequence = seq(1000 + number);
            let mut options = Options::new();
            vectors.write(sequence, ack, 2 * ROOM, &mut options);
            recorder.write(sequence, ack, ROOM, &mut options);
            if fate == 0 && number < last {
                continue;
            }
            if fate == 1 && number < last && late.is_none() {
                late = Some((ack, options));
                continue;
            }
            // The sender keeps nothing from the receiver that would have to come in order.
            reader.read(ack, &options, &mut learnt).unwrap();
            if let Some((ack, options)) = late.take() {
                reader.read(ack, &options, &mut learnt).unwrap();
            }
            if fate == 3 {
                vectors.on_acked(sequence);
                recorder.on_acked(sequence);
            }
        }
        // A late report may bring nothing new, but never an old one twice.
        let mut in_order = learnt.clone();
        in_order.sort_by_key(|packet| packet.sequence.value());
        prop_assert_eq!(in_order, expected);
    }
}

/// A driver may discard a datagram long after the packet was acknowledged: it is reported with the next
/// acknowledgement, and until one of these is acknowledged, regardless of what earlier reports covered.
#[test]
fn a_late_drop_is_reported_though_newer_packets_were_reported_before() {
    let mut recorder = Recorder::new();
    recorder.record(seq(10), DropCode::Corrupt);
    recorder.record(seq(20), DropCode::Corrupt);
    written(&mut recorder, 1, 30);
    recorder.record(seq(15), DropCode::ReceiveBuffer);
    recorder.on_acked(seq(1));
    assert_eq!(recorder.drops().collect::<Vec<_>>(), [dropped(15, DropCode::ReceiveBuffer)]);
    assert_ne!(written(&mut recorder, 2, 30), []);
    recorder.on_acked(seq(2));
    assert!(recorder.is_empty());
}
