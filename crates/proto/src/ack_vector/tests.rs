//! The receiver's history against a list of all packets, and the two ends against each other.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;
use whimbrel_wire::option::ack_vector::{AckState, runs};
use whimbrel_wire::{DccpOption, Ecn, OptionBytes, Options};

use super::*;

fn seq(n: u64) -> SeqNo {
    SeqNo::new(n)
}

fn record(recorder: &mut Recorder, packets: &[u64]) {
    for packet in packets {
        recorder.record(seq(*packet), Ecn::Ect0);
    }
}

/// The cells of the only vector that the history makes.
fn cells(recorder: &Recorder) -> Vec<u8> {
    let mut options = Options::new();
    let newest = recorder.newest().unwrap();
    recorder.clone().write(seq(1), newest, 1_000, &mut options);
    match &options[..] {
        [DccpOption::AckVector { nonce: false, cells }] => cells.to_vec(),
        other => panic!("{other:?}"),
    }
}

fn vector(cells: &[u8]) -> DccpOption {
    DccpOption::AckVector { nonce: false, cells: OptionBytes::from_slice(cells) }
}

const MISSING: u8 = 3 << 6;
const MARKED: u8 = 1 << 6;

#[test]
fn the_example_of_the_rfc_is_recorded_as_printed() {
    // RFC 4340, Section 11.4: 0,192,3,64,5 for Acknowledgement Number 100.
    let mut recorder = Recorder::new();
    record(&mut recorder, &[88, 89, 90, 91, 92, 93]);
    recorder.record(seq(94), Ecn::Ce);
    record(&mut recorder, &[95, 96, 97, 98, 100]);
    assert_eq!(cells(&recorder), [0, 192, 3, 64, 5]);
    assert_eq!(recorder.packets(), 13);
}

#[test]
fn the_example_buffer_of_the_appendix_goes_through_its_states() {
    // RFC 4340, Appendix A. Gaps are one cell here, where the appendix has one for each packet.
    let mut example = Recorder::new();
    example.record(seq(0), Ecn::Ect0);
    example.record(seq(1), Ecn::Ce);
    record(&mut example, &[2, 3, 4, 5, 6, 10]);
    assert_eq!(cells(&example), [0, MISSING | 2, 4, MARKED, 0]);

    // A.1.1: packet 11, marked or not; packet 12.
    let mut marked = example.clone();
    assert_eq!(marked.record(seq(11), Ecn::Ce), Recorded::New);
    assert_eq!(cells(&marked), [MARKED, 0, MISSING | 2, 4, MARKED, 0]);
    let mut next = example.clone();
    record(&mut next, &[11]);
    assert_eq!(cells(&next), [1, MISSING | 2, 4, MARKED, 0]);
    record(&mut next, &[13]);
    assert_eq!(cells(&next), [0, MISSING, 1, MISSING | 2, 4, MARKED, 0]);

    // A.1.2: packet 8 was late.
    let mut late = example.clone();
    assert_eq!(late.record(seq(8), Ecn::Ect0), Recorded::Late);
    assert_eq!(cells(&late), [0, MISSING, 0, MISSING, 4, MARKED, 0]);
    assert_eq!(late.record(seq(8), Ecn::Ect0), Recorded::Duplicate);
    assert_eq!(late.record(seq(1), Ecn::Ect0), Recorded::Duplicate);

    // A.3: ack 59 had covered up to packet 3, and is acknowledged.
    let mut clearing = Recorder::new();
    clearing.record(seq(0), Ecn::Ect0);
    clearing.record(seq(1), Ecn::Ce);
    record(&mut clearing, &[2, 3]);
    clearing.write(seq(59), seq(3), 100, &mut Options::new());
    record(&mut clearing, &[4, 5, 6, 10]);
    clearing.write(seq(60), seq(10), 100, &mut Options::new());
    let mut acked = clearing.clone();
    acked.on_acked(seq(59));
    assert_eq!(cells(&acked), [0, MISSING | 2, 2]);
    assert_eq!(acked.packets(), 7);
    // Ack 60 would clear all but the newest packet.
    let mut all = clearing.clone();
    all.on_acked(seq(60));
    assert_eq!(cells(&all), [0]);

    // A.3, last example: packet 9 arrives after ack 60 said that it is missing.
    record(&mut clearing, &[9]);
    clearing.on_acked(seq(60));
    assert_eq!(cells(&clearing), [1]);
    assert_eq!(clearing.packets(), 2);
}

#[test]
fn neighbours_grow_together_again() {
    let mut recorder = Recorder::new();
    record(&mut recorder, &[1, 2, 4, 6, 8]);
    assert_eq!(cells(&recorder), [0, MISSING, 0, MISSING, 0, MISSING, 1]);
    record(&mut recorder, &[7]);
    assert_eq!(cells(&recorder), [2, MISSING, 0, MISSING, 1]);
    record(&mut recorder, &[3]);
    assert_eq!(cells(&recorder), [2, MISSING, 3]);
    record(&mut recorder, &[5]);
    assert_eq!(cells(&recorder), [7]);
}

#[test]
fn runs_end_at_64_packets() {
    let mut recorder = Recorder::new();
    record(&mut recorder, &(1..=65).collect::<Vec<_>>());
    assert_eq!(cells(&recorder), [0, 63]);
    record(&mut recorder, &[65 + 66]);
    assert_eq!(cells(&recorder), [0, MISSING, MISSING | 63, 0, 63]);
}

#[test]
fn a_long_history_takes_several_options_and_its_newest_part_goes_first() {
    let mut recorder = Recorder::new();
    // Every second packet: two cells each. The first of 299 is the oldest.
    record(&mut recorder, &(0..150).map(|n| 2 * n).collect::<Vec<_>>());
    let mut options = Options::new();
    assert_eq!(recorder.encoded_len(), 299 + 4);
    assert_eq!(recorder.write(seq(1), seq(298), 1_000, &mut options), 299 + 4);
    assert_eq!(options.len(), 2);
    let whole: Vec<_> = runs(seq(298), &options).collect();
    assert_eq!((whole.len(), whole[298].oldest), (299, seq(0)));

    let mut options = Options::new();
    assert_eq!(recorder.write(seq(2), seq(298), 100, &mut options), 100);
    assert_eq!(runs(seq(298), &options).collect::<Vec<_>>(), whole[..98]);
    // No room for as much as one cell, or another Acknowledgement Number: nothing.
    assert_eq!(recorder.write(seq(3), seq(298), 2, &mut options), 0);
    assert_eq!(recorder.write(seq(3), seq(297), 100, &mut options), 0);
}

#[test]
fn a_history_of_medium_length_is_held_in_place() {
    for (packets, options_wanted) in [(16 * 64, 1), (16 * 64 + 1, 2), (32 * 64, 2), (32 * 64 + 1, 1)] {
        let mut recorder = Recorder::new();
        record(&mut recorder, &(1..=packets).collect::<Vec<_>>());
        let mut options = Options::new();
        let size = recorder.write(seq(1), seq(packets), 1_000, &mut options);
        assert_eq!((options.len(), size), (options_wanted, recorder.encoded_len()));
        let learned: u64 =
            runs(seq(packets), &options).map(|run| run.newest.distance_from(run.oldest) as u64 + 1).sum();
        assert_eq!(learned, packets);
        let in_place =
            |option: &DccpOption| matches!(option, DccpOption::AckVector { cells, .. } if !cells.spilled());
        assert_eq!(options.iter().all(in_place), packets <= 32 * 64);
    }
}

#[test]
fn the_history_is_bounded() {
    let mut recorder = Recorder::new();
    for n in 0..10_000 {
        recorder.record(seq(2 * n), Ecn::NotEct);
    }
    assert_eq!(recorder.encoded_len(), 506 + 4);
    assert_eq!(recorder.record(seq(1), Ecn::NotEct), Recorded::TooOld);
    recorder.record(seq(1 << 45), Ecn::NotEct);
    assert!(recorder.encoded_len() <= 510);
    assert_eq!(recorder.packets(), 505 * 64 + 1);
}

#[test]
fn each_packet_is_reported_once() {
    let mut reader = Reader::new(seq(80));
    let mut news = Vec::new();
    reader.read(seq(100), &[vector(&[0, 192, 3, 64, 5])], &mut news).unwrap();
    let learned: Vec<_> = news.iter().map(|packet| packet.sequence.value()).collect();
    assert_eq!(learned, [88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 100]);
    let marked: Vec<_> = news.iter().filter(|packet| packet.outcome == PacketArrival::Marked).collect();
    assert_eq!(marked, [&AckedPacket { sequence: seq(94), outcome: PacketArrival::Marked }]);

    // The same again, one packet more, and contradictions: 94 unmarked, 98 missing, 97 marked.
    news.clear();
    reader.read(seq(101), &[vector(&[1, 192, MISSING, MARKED, 11])], &mut news).unwrap();
    assert_eq!(
        news,
        [
            AckedPacket { sequence: seq(85), outcome: PacketArrival::Received },
            AckedPacket { sequence: seq(86), outcome: PacketArrival::Received },
            AckedPacket { sequence: seq(87), outcome: PacketArrival::Received },
            AckedPacket { sequence: seq(101), outcome: PacketArrival::Received },
        ]
    );
    // State 2 means nothing.
    news.clear();
    reader.read(seq(102), &[vector(&[2 << 6])], &mut news).unwrap();
    assert_eq!(news, []);
}

#[test]
fn several_options_are_one_vector() {
    let mut reader = Reader::new(seq(1));
    let mut news = Vec::new();
    reader.read(seq(4), &[vector(&[0]), DccpOption::SlowReceiver, vector(&[MISSING, 0])], &mut news).unwrap();
    assert_eq!(news.iter().map(|packet| packet.sequence.value()).collect::<Vec<_>>(), [2, 4]);
}

#[test]
fn a_vector_from_before_the_start_is_ignored() {
    let mut reader = Reader::new(seq(10));
    let mut news = Vec::new();
    assert_eq!(reader.read(seq(12), &[vector(&[3])], &mut news), Err(BeforeStart));
    assert_eq!(news, []);
    assert_eq!(reader.read(seq(12), &[vector(&[2])], &mut news), Ok(()));
    assert_eq!(news.len(), 3);
}

#[test]
fn reports_on_old_packets_are_ignored() {
    let mut reader = Reader::new(seq(0));
    let mut learned = |ack| {
        let mut news = Vec::new();
        reader.read(seq(ack), &[vector(&[0])], &mut news).unwrap();
        news.len()
    };
    assert_eq!(learned(100_000), 1);
    // 65,536 packets are remembered, in words of 64.
    assert_eq!(learned(100_000 - 65_536), 0);
    assert_eq!(learned(100_000 - 65_000), 1);
}

#[test]
fn numbers_wrap() {
    let start = SeqNo::MODULUS - 3;
    let mut recorder = Recorder::new();
    record(&mut recorder, &[start, start + 1, start + 4, start + 5]);
    let mut reader = Reader::new(seq(start));
    let (mut options, mut news) = (Options::new(), Vec::new());
    recorder.write(seq(0), seq(start + 5), 99, &mut options);
    reader.read(seq(start + 5), &options, &mut news).unwrap();
    let learned: Vec<_> = news.iter().map(|packet| packet.sequence).collect();
    assert_eq!(learned, [seq(start), seq(start + 1), seq(1), seq(2)]);
    recorder.on_acked(seq(0));
    assert_eq!(recorder.packets(), 1);
}

/// An event at a receiver or, across a lossy network, at the sender that it reports to.
#[derive(Clone, Debug)]
enum Step {
    /// The packet at that distance from the newest (before it, if negative) arrives.
    Packet { ahead: i64, marked: bool },
    /// An acknowledgement is sent; whether it arrives, and how many steps late.
    Ack { delay: Option<usize> },
    /// The sender acknowledges the newest acknowledgement it has; whether that arrives.
    AckOfAck { arrives: bool },
}

fn step() -> impl Strategy<Value = Step> {
    let ahead = prop_oneof![10 => Just(1i64), 3 => 1i64..4, 3 => -20i64..1, 1 => 1i64..200];
    prop_oneof![
        8 => (ahead, prop::bool::weighted(0.1)).prop_map(|(ahead, marked)| Step::Packet { ahead, marked }),
        4 => prop_oneof![3 => (0usize..6).prop_map(Some), 1 => Just(None)].prop_map(|delay| Step::Ack { delay }),
        2 => any::<bool>().prop_map(|arrives| Step::AckOfAck { arrives }),
    ]
}

const START: u64 = 1_000;

#[derive(Default)]
struct Model {
    /// State of every packet that arrived.
    arrived: BTreeMap<u64, AckState>,
    /// Packets that a vector reported which the sender is known to have.
    settled: BTreeSet<u64>,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_packet_is_omitted_or_reported_twice(steps in vec(step(), 1..200)) {
        let mut recorder = Recorder::new();
        let mut reader = Reader::new(seq(START));
        let mut model = Model::default();
        let mut newest = START;
        recorder.record(seq(START), Ecn::NotEct);
        model.arrived.insert(START, AckState::Received);
        let mut next_ack = 1u64;
        // Acknowledgements by number: (due, ack, options, reported packets).
        let mut flying: Vec<(usize, u64, u64, Options, Vec<u64>)> = Vec::new();
        let mut reports: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        let mut newest_ack_at_sender = None;
        let mut learned = BTreeMap::new();
        let mut news = Vec::new();
        for (now, step) in steps.iter().enumerate() {
            match step {
                Step::Packet { ahead, marked } => {
                    let packet = (newest as i64 + ahead).max(START as i64) as u64;
                    let state = if *marked { AckState::ReceivedEcnMarked } else { AckState::Received };
                    let is_known = model.arrived.contains_key(&packet);
                    let is_covered = packet + recorder.packets() > newest;
                    let ecn = if *marked { Ecn::Ce } else { Ecn::Ect0 };
                    let recorded = recorder.record(seq(packet), ecn);
                    prop_assert_eq!(recorded, match () {
                        () if packet > newest => Recorded::New,
                        () if !is_covered => Recorded::TooOld,
                        () if is_known => Recorded::Duplicate,
                        () => Recorded::Late,
                    });
                    if matches!(recorded, Recorded::New | Recorded::Late) {
                        model.arrived.insert(packet, state);
                    }
                    newest = newest.max(packet);
                }
                Step::Ack { delay } => {
                    let mut options = Options::new();
                    let size = recorder.write(seq(next_ack), seq(newest), 2_000, &mut options);
                    prop_assert_eq!(size, recorder.encoded_len());
                    prop_assert_eq!(size, options.iter().map(DccpOption::encoded_len).sum::<usize>());
                    let mut reported = Vec::new();
                    let mut covered = 0;
                    for run in runs(seq(newest), &options) {
                        for packet in run.oldest.value()..=run.newest.value() {
                            let expected =
                                model.arrived.get(&packet).copied().unwrap_or(AckState::NotReceived);
                            prop_assert_eq!(run.state, expected, "packet {}", packet);
                            if run.state.is_received() {
                                reported.push(packet);
                            }
                            covered += 1;
                        }
                    }
                    prop_assert_eq!(covered, recorder.packets());
                    // The report holds every packet that may be unknown to the sender.
                    for packet in model.arrived.keys().filter(|packet| !model.settled.contains(packet)) {
                        prop_assert!(reported.contains(packet), "packet {} is not reported", packet);
                    }
                    reports.insert(next_ack, reported.clone());
                    if let Some(delay) = delay {
                        flying.push((now + delay, next_ack, newest, options, reported));
                    }
                    next_ack += 1;
                }
                Step::AckOfAck { arrives } => {
                    if let (Some(ack), true) = (newest_ack_at_sender, arrives) {
                        recorder.on_acked(seq(ack));
                        model.settled.extend(&reports[&ack]);
                    }
                }
            }
            let (due, later): (Vec<_>, Vec<_>) = flying.drain(..).partition(|(due, ..)| *due <= now);
            flying = later;
            for (_, number, ack, options, reported) in due {
                news.clear();
                reader.read(seq(ack), &options, &mut news).unwrap();
                let numbers: Vec<u64> = news.iter().map(|packet| packet.sequence.value()).collect();
                prop_assert!(numbers.is_sorted());
                for packet in &news {
                    let number = packet.sequence.value();
                    let before = learned.insert(number, packet.outcome);
                    prop_assert_eq!(before, None, "packet {} is reported twice", number);
                    let is_marked = model.arrived[&number] == AckState::ReceivedEcnMarked;
                    prop_assert_eq!(packet.outcome == PacketArrival::Marked, is_marked);
                }
                for packet in reported {
                    prop_assert!(learned.contains_key(&packet));
                }
                newest_ack_at_sender = newest_ack_at_sender.max(Some(number));
            }
        }
    }

    /// Arbitrary vectors: no panic, no packet twice, none outside those sent.
    #[test]
    fn lies_are_survived(
        vectors in vec((0u64..100_000, vec(vec(any::<u8>(), 0..60), 0..4)), 1..60),
    ) {
        let mut reader = Reader::new(seq(START));
        let mut known = BTreeSet::new();
        let mut news = Vec::new();
        for (sent, cells) in vectors {
            let options: Vec<_> = cells.iter().map(|cells| vector(cells)).collect();
            news.clear();
            let _ = reader.read(seq(START + sent), &options, &mut news);
            for packet in &news {
                prop_assert!(packet.sequence.is_between(seq(START), seq(START + sent)));
                prop_assert!(known.insert(packet.sequence.value()));
            }
        }
    }
}
