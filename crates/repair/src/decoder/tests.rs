use std::vec;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::encoder::Encoder;
use crate::rlc::{Code, Density};
use crate::tinymt::TinyMt32;

fn config() -> CodeConfig {
    CodeConfig { symbol_size: 16, window: 64, ..CodeConfig::new(24) }
}

/// Symbol 0 and 2 are lost, the repair symbols with the keys 1 and 2 arrive: the worked example of the sheet.
#[test]
fn two_symbols_of_the_worked_example_are_solved() {
    let mut encoder = Encoder::new(config(), Esi(0));
    for (flow, adu) in [(0, "whimbrel"), (1, "curlew"), (0, "godwit")] {
        encoder.push(flow, adu.as_bytes()).unwrap();
    }
    let mut decoder = Decoder::new(config(), Esi(0), 64);
    assert!(decoder.on_source(Esi(1), 1, b"curlew"));
    let mut repair = |decoder: &mut Decoder| {
        let mut out = Vec::new();
        let id = encoder.combine(Esi(0), Esi(3), &mut out).unwrap();
        if id.key > 0 {
            decoder.on_repair(id, &out);
        }
    };
    repair(&mut decoder);
    repair(&mut decoder);
    assert_eq!((decoder.rank(), decoder.poll_solved()), (1, None));
    // Symbol 2 follows from symbol 0, so that only that is asked for.
    assert_eq!(decoder.wanted().collect::<Vec<_>>(), [Esi(0)]);
    repair(&mut decoder);
    let solved: Vec<Esi> = core::iter::from_fn(|| decoder.poll_solved()).collect();
    assert!(solved.len() == 2 && solved.contains(&Esi(0)) && solved.contains(&Esi(2)), "{solved:?}");
    assert_eq!(fecframe::adu(decoder.symbol(Esi(0)).unwrap()), Some((0, &b"whimbrel"[..])));
    assert_eq!(fecframe::adu(decoder.symbol(Esi(2)).unwrap()), Some((0, &b"godwit"[..])));
    repair(&mut decoder);
    let counts = decoder.counts();
    assert_eq!((counts.source, counts.solved, counts.useful, counts.redundant), (1, 2, 2, 1));
}

#[test]
fn a_solved_subset_is_delivered() {
    let mut encoder = Encoder::new(config(), Esi(0));
    for n in 0..6_u8 {
        encoder.push(0, &[n; 5]).unwrap();
    }
    let mut decoder = Decoder::new(config(), Esi(0), 64);
    let mut out = Vec::new();
    // Two unknown symbols in the first window, one in the second.
    for (first, end) in [(Esi(0), Esi(3)), (Esi(3), Esi(6))] {
        out.clear();
        let id = encoder.combine(first, end, &mut out).unwrap();
        for esi in [Esi(1), Esi(3), Esi(5)] {
            decoder.on_source(esi, 0, &[esi.0 as u8; 5]);
        }
        decoder.on_repair(id, &out);
    }
    assert_eq!((decoder.poll_solved(), decoder.poll_solved()), (Some(Esi(4)), None));
    // A late original solves the rest.
    decoder.on_source(Esi(0), 0, &[0; 5]);
    assert_eq!(decoder.poll_solved(), Some(Esi(2)));
    assert_eq!(decoder.symbol(Esi(2)), Some(&[0, 0, 5, 2, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0][..]));
}

#[test]
fn an_unknown_symbol_that_leaves_the_window_takes_one_equation() {
    let mut encoder = Encoder::new(config(), Esi(0));
    for n in 0..4_u8 {
        encoder.push(0, &[n; 5]).unwrap();
    }
    let mut decoder = Decoder::new(config(), Esi(0), 64);
    // Three unknown symbols, two equations; the oldest is forgotten; a third equation determines the others.
    let mut repair = |decoder: &mut Decoder| {
        let mut out = Vec::new();
        let id = encoder.combine(Esi(0), Esi(4), &mut out).unwrap();
        decoder.on_repair(id, &out);
    };
    decoder.on_source(Esi(1), 0, &[1; 5]);
    repair(&mut decoder);
    repair(&mut decoder);
    decoder.forget_before(Esi(1));
    assert_eq!((decoder.rank(), decoder.counts().dropped_rows), (1, 1));
    assert_eq!(decoder.wanted().count(), 1);
    repair(&mut decoder);
    assert_eq!(decoder.counts().stale, 1);
    decoder.on_source(Esi(2), 0, &[2; 5]);
    assert_eq!(decoder.poll_solved(), Some(Esi(3)));
    assert_eq!(decoder.symbol(Esi(3)), Some(&[0, 0, 5, 3, 3, 3, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0][..]));
}

/// Two frames with a lost symbol each, and one repair symbol over both: asks for the older, then the newer.
#[test]
fn others_do_not_wait_for_an_abandoned_symbol() {
    let mut encoder = Encoder::new(config(), Esi(0));
    for n in 0..4_u8 {
        encoder.push(0, &[n; 5]).unwrap();
    }
    let mut decoder = Decoder::new(config(), Esi(0), 64);
    for n in [1, 3_u8] {
        decoder.on_source(Esi(n.into()), 0, &[n; 5]);
    }
    let mut out = Vec::new();
    let id = encoder.combine(Esi(0), Esi(4), &mut out).unwrap();
    decoder.on_repair(id, &out);
    assert_eq!(decoder.wanted().collect::<Vec<_>>(), [Esi(0)]);
    decoder.abandon_before(Esi(2));
    assert_eq!(decoder.wanted().collect::<Vec<_>>(), [Esi(2)]);
    decoder.on_source(Esi(2), 0, &[2; 5]);
    assert_eq!(decoder.poll_solved(), Some(Esi(0)));
    assert_eq!(decoder.symbol(Esi(0)), Some(&[0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..]));
}

#[test]
fn identifiers_wrap_and_a_great_gap_begins_anew() {
    let mut decoder = Decoder::new(config(), Esi(u32::MAX), 64);
    for n in 0..1_000 {
        assert!(decoder.on_source(Esi(u32::MAX).plus(n), 0, b"x"));
    }
    assert_eq!((decoder.first(), decoder.next()), (Esi(935), Esi(999)));
    assert!(!decoder.on_source(Esi(934), 0, b"x"));
    assert!(!decoder.on_source(Esi(935), 0, b"x"));
    assert_eq!((decoder.counts().stale, decoder.counts().duplicate), (1, 1));
    assert!(decoder.on_source(Esi(1_000_000), 0, b"x"));
    assert_eq!((decoder.first(), decoder.next()), (Esi(1_000_001 - 64), Esi(1_000_001)));
    assert_eq!(decoder.wanted().count(), 63);
}

/// The probability that n repair symbols solve for n lost symbols is the same as for a random matrix over
/// GF(256) without zeros in it, and with one more symbol it is 255 times closer to one.
#[test]
fn the_probability_of_success_is_that_of_random_matrices() {
    let config = CodeConfig { symbol_size: 4, window: 16, ..CodeConfig::new(24) };
    let mut random = TinyMt32::new(7);
    for lost in [1_usize, 2, 4, 8] {
        let (trials, mut failed, mut failed_with_one_more) = (20_000, 0, 0);
        let mut encoder = Encoder::new(config, Esi(0));
        for n in 0..16_u8 {
            encoder.push(0, &[n]).unwrap();
        }
        for _ in 0..trials {
            let mut decoder = Decoder::new(config, Esi(0), 16);
            let mut missing = [false; 16];
            while missing.iter().filter(|&&is| is).count() < lost {
                missing[usize::from(random.next_16())] = true;
            }
            for (n, _) in (0..16_u8).zip(missing).filter(|(_, is_missing)| !is_missing) {
                decoder.on_source(Esi(u32::from(n)), 0, &[n]);
            }
            for spare in 0..2 {
                for _ in 0..if spare == 0 { lost } else { 1 } {
                    let mut out = Vec::new();
                    let id = encoder.combine(Esi(0), Esi(16), &mut out).unwrap();
                    decoder.on_repair(id, &out);
                }
                let is_solved = decoder.wanted().next().is_none() && decoder.rank() == 0;
                if spare == 0 {
                    failed += u32::from(!is_solved);
                } else {
                    failed_with_one_more += u32::from(!is_solved);
                }
            }
        }
        // P(singular) of an n x n matrix over GF(256): 1 - (1 - 1/256)(1 - 1/256^2)...; the entries have no
        // zeros, which makes it 1/255 for n = 2 and nearly the same for larger n; 0 for n = 1.
        let expected = if lost == 1 { 0.0 } else { f64::from(trials) / 255.0 };
        let deviation = (f64::from(failed) - expected).abs();
        assert!(deviation <= 4.0 * expected.sqrt(), "{lost} lost: {failed} failed, {expected} expected");
        assert!(failed_with_one_more <= 3, "{lost} lost: {failed_with_one_more}");
    }
}

#[test]
fn rows_are_limited() {
    let mut decoder = Decoder::new(config(), Esi(0), 8);
    for key in 0..100 {
        let id = RepairId { key, density: Density::FULL, count: 64, first: Esi(0) };
        decoder.on_repair(id, &[1; 16]);
    }
    assert_eq!((decoder.rank(), decoder.counts().dropped_rows), (8, 92));
}

#[derive(Clone, Debug)]
enum Step {
    /// The source packet of the n-th symbol before the newest.
    Source(u8),
    /// A repair packet over a window that begins n symbols before the newest.
    Repair(u8),
    /// Not from an encoder.
    Noise(u32, u16, u16, Vec<u8>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..20_u8).prop_map(Step::Source),
        4 => (1..30_u8).prop_map(Step::Repair),
    ];
    proptest::collection::vec(step, 0..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// For any arrivals in any order, each symbol that is known is the one that was sent, and all that are
    /// determined are known.
    #[test]
    fn what_is_known_was_sent(steps in steps(), first: u32, gf2: bool, threshold in 4..16_u8) {
        let code = if gf2 { Code::Gf2 } else { Code::Gf256 };
        let config = CodeConfig { code, density: Density::new(threshold).unwrap(), ..config() };
        let first = Esi(first);
        let mut encoder = Encoder::new(config, first);
        let mut decoder = Decoder::new(config, first, 64);
        let mut sent: Vec<Vec<u8>> = vec![];
        let mut random = TinyMt32::new(first.0);
        let mut known = 0;
        for step in steps {
            // One new symbol for each step.
            let adu: Vec<u8> = (0..random.next_16() % 13).map(|_| random.next_256()).collect();
            encoder.push(1, &adu).unwrap();
            sent.push(adu);
            match step {
                Step::Source(back) => {
                    let n = sent.len().saturating_sub(1 + usize::from(back));
                    let is_new = decoder.on_source(first.plus(n as u32), 1, &sent[n]);
                    known += u64::from(is_new);
                }
                Step::Repair(back) => {
                    let mut out = vec![];
                    let n = sent.len().saturating_sub(usize::from(back));
                    let id = encoder.combine(first.plus(n as u32), encoder.next(), &mut out).unwrap();
                    decoder.on_repair(id, &out);
                }
                Step::Noise(..) => {}
            }
            while let Some(esi) = decoder.poll_solved() {
                known += 1;
                let n = esi.since(first) as usize;
                prop_assert_eq!(fecframe::adu(decoder.symbol(esi).unwrap()), Some((1, &sent[n][..])));
            }
            let counts = decoder.counts();
            prop_assert_eq!(counts.source + counts.solved, known);
            // The system is in reduced form.
            for row in &decoder.rows {
                let with_pivot = decoder.rows.iter().filter(|r| r.coefficients[decoder.place(row.pivot)] != 0);
                prop_assert_eq!(with_pivot.count(), 1);
                prop_assert!(row.coefficients.iter().filter(|&&c| c != 0).count() > 1);
            }
        }
    }

    /// Packets of no encoder are counted.
    #[test]
    fn nothing_makes_it_panic(noise in proptest::collection::vec(
        (any::<u32>(), any::<u16>(), 0..5000_u16, proptest::collection::vec(any::<u8>(), 0..60)).prop_map(|(a, b, c, d)| Step::Noise(a, b, c, d)),
        0..60,
    )) {
        let mut decoder = Decoder::new(config(), Esi(0), 16);
        for (i, step) in noise.into_iter().enumerate() {
            let Step::Noise(esi, key, count, bytes) = step else { continue };
            // Half of them near each other.
            let esi = Esi(if i % 2 == 0 { esi } else { decoder.next().0.wrapping_add(esi % 80).wrapping_sub(40) });
            if key % 2 == 0 {
                decoder.on_source(esi, key as u8, &bytes);
            } else {
                let id = RepairId { key, density: Density::FULL, count, first: esi };
                decoder.on_repair(id, &bytes);
            }
            prop_assert!(decoder.rank() <= 16);
            prop_assert!(decoder.next().since(decoder.first()) <= 64);
            prop_assert!(decoder.wanted().count() <= 64);
        }
    }
}
