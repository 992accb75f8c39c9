use proptest::collection::vec;
use proptest::prelude::*;
use whimbrel_repair::encoder::Encoder;

use super::*;
use crate::tests_support::File;
use crate::{FollowConfig, Inspector};

const SOURCE: u16 = 30_000;
const REPAIR: u16 = 30_002;

/// Reads a capture of both flows with symbols of `symbol_size` bytes.
fn report(file: &File, symbol_size: u16) -> FecReport {
    let text = format!(
        "v=0\nc=IN IP4 192.0.2.2\na=group:FEC-FR S R\nm=video {SOURCE} RTP/AVP 96\na=fec-source-flow: id=0; tag-len=4\n\
         a=mid:S\nm=application {REPAIR} UDP/FEC\na=fec-repair-flow: encoding-id=10; ss-fssi=E:{symbol_size},WSR:191\na=mid:R\n"
    );
    let mut reader = crate::capture::CaptureReader::new(file.bytes()).expect("a capture");
    let mut inspector = Inspector::new(FollowConfig::default(), &[]);
    inspector.follow_repair(sdp::parse(&text).expect("a description"));
    inspector.read(&mut reader, |_| true, |_, _| {}).expect("a whole capture");
    inspector.report().fecframe.pop().expect("one source")
}

fn source(adu: &[u8], esi: Esi) -> Vec<u8> {
    let mut packet = adu.to_vec();
    esi.encode(&mut packet);
    packet
}

fn repair(id: RepairId, symbols: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    id.encode(&mut packet);
    packet.extend_from_slice(symbols);
    packet
}

/// Numbers 10 to 19 in two blocks of five: 12 is lost, which one repair symbol restores, then 16 and 17, for
/// which there is one, too.
#[test]
fn one_repair_symbol_restores_one_lost_symbol() {
    let mut file = File::new();
    for block in 0..2 {
        let first = Esi(10 + 5 * block);
        for esi in (0..5).map(|at| first.plus(at)).filter(|esi| ![12, 16, 17].contains(&esi.0)) {
            file.udp(u64::from(esi.0), SOURCE, &source(&[7; 60], esi));
        }
        let id = RepairId { key: block as u16, density: Density::FULL, count: 5, first };
        file.udp(u64::from(first.plus(4).0), REPAIR, &repair(id, &[1; 100]));
    }
    let report = report(&file, 100);
    assert_eq!((report.symbols, report.lost, report.restored), (10, 3, 1));
    let runs =
        [LostRun { first: 12, symbols: 1, restored: 1 }, LostRun { first: 16, symbols: 2, restored: 0 }];
    assert_eq!(report.runs, runs);
    assert_eq!((report.source_packets, report.source_bytes), (7, 7 * 64));
    assert_eq!((report.repair_packets, report.repair_symbols, report.repair_bytes), (2, 2, 2 * 108));
    assert_eq!(report.overhead, Some(216.0 / 448.0));
    assert_eq!((report.redundant, report.stale, report.invalid, report.unread), (0, 0, 0, 0));
}

/// Datagrams of one to three symbols, over the wrap of their numbers; two repair symbols in a packet.
#[test]
fn what_is_restored_is_what_a_decoder_with_the_data_restores() {
    const SIZE: u16 = 200;
    let config =
        CodeConfig { code: Code::Gf256, density: Density::FULL, symbol_size: SIZE, window: MAX_WINDOW };
    let (mut random, mut total) = (1_u32, 0);
    let mut draw = |below: u32| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) % below
    };
    let start = Esi(u32::MAX - 100);
    let (mut encoder, mut decoder) = (Encoder::new(config, start), Decoder::new(config, start, 64));
    let (mut file, mut solved) = (File::new(), 0);
    for nth in 0..200 {
        let adu: Vec<u8> = (0..100 + draw(400)).map(|at| (at * nth) as u8).collect();
        let esi = encoder.push(0, &adu).expect("a datagram that fits");
        total += (adu.len() + ADUI_HEADER).div_ceil(usize::from(SIZE)) as u64;
        // The first and the last arrive, so that both know of the same symbols.
        if nth == 0 || nth == 199 || draw(8) > 0 {
            decoder.on_source(esi, 0, &adu);
            file.udp(u64::from(nth) * 10, SOURCE, &source(&adu, esi));
        }
        if nth % 8 == 7 {
            let (end, mut symbols) = (encoder.next(), Vec::new());
            let first = end.plus(20_u32.wrapping_neg());
            let first = if first.since(start) < 0 { start } else { first };
            let id = encoder.combine(first, end, &mut symbols).expect("a window");
            symbols.resize(usize::from(SIZE), 0);
            let next = encoder.combine(first, end, &mut symbols).expect("a window");
            assert_eq!(next, RepairId { key: id.key + 1, ..id });
            decoder.on_repair(id, &symbols);
            file.udp(u64::from(nth) * 10 + 1, REPAIR, &repair(id, &symbols));
        }
        solved += std::iter::from_fn(|| decoder.poll_solved()).count() as u64;
    }
    let report = report(&file, SIZE);
    assert_eq!((report.symbols, report.restored), (total, solved));
    assert!(report.lost > solved && solved > 10, "{report:?}");
}

#[test]
fn foreign_numbers_and_packets_without_any_are_counted() {
    let mut file = File::new();
    let id = RepairId { key: 0, density: Density::FULL, count: 3, first: Esi(5) };
    file.udp(0, REPAIR, &repair(id, &[1; 100]));
    file.udp(1, SOURCE, &source(&[7; 60], Esi(8)));
    file.udp(2, SOURCE, &source(&[7; 60], Esi(1 << 20)));
    file.udp(3, SOURCE, &[1, 2]);
    file.udp(4, REPAIR, &[0; 8]);
    file.udp(5, REPAIR, &repair(RepairId { count: 0, ..id }, &[1; 100]));
    file.udp(6, REPAIR, &repair(RepairId { first: Esi(1 << 24), ..id }, &[1; 100]));
    let report = report(&file, 100);
    assert_eq!((report.symbols, report.lost), (1, 0));
    assert_eq!((report.stale, report.invalid, report.unread), (1, 4, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_the_numbers_are_each_symbol_counts_once(
        start in any::<u32>(),
        packets in vec((any::<bool>(), 0u32..20_000, any::<u16>(), vec(any::<u8>(), 0..24)), 1..40),
    ) {
        let mut file = File::new();
        for (at, (is_repair, ahead, window, bytes)) in (0..).zip(&packets) {
            let esi = Esi(start.wrapping_add(*ahead));
            let mut packet = esi.0.to_be_bytes().to_vec();
            if *is_repair {
                packet.splice(0..0, [0, 0, (window >> 8) as u8, *window as u8]);
                packet.extend(bytes);
            } else {
                packet.splice(0..0, bytes.iter().copied());
            }
            file.udp(at, if *is_repair { REPAIR } else { SOURCE }, &packet);
        }
        let report = report(&file, 4);
        prop_assert!(report.lost <= report.symbols && report.restored <= report.lost, "{report:?}");
        let runs: u64 = report.runs.iter().map(|run| run.symbols).sum();
        prop_assert!(runs <= report.lost && report.symbols < 25_000, "{report:?}");
    }
}
