use std::vec;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;

fn encoder() -> Encoder {
    Encoder::new(CodeConfig { symbol_size: 16, ..CodeConfig::new(24) }, Esi(0))
}

#[test]
fn an_open_symbol_is_the_one_of_the_worked_example() {
    let mut encoder = encoder();
    encoder.open(Esi(0));
    for (flow, adu) in [(0, "whimbrel"), (1, "curlew")] {
        encoder.push(flow, adu.as_bytes()).unwrap();
    }
    // Opened later, with the next key: it contains the symbols before.
    encoder.open(Esi(0));
    assert_eq!(encoder.push(0, b"godwit"), Ok(Esi(2)));
    let expected = [
        &[0x2a, 0x00, 0xa8, 0xb0, 0xf0, 0x0b, 0x6f, 0x70, 0xea, 0x1a, 0x18],
        &[0xe1, 0x00, 0xc8, 0x95, 0x1a, 0x8d, 0x99, 0x52, 0x20, 0xd0, 0xc0],
    ];
    for (key, expected) in (0..).zip(expected) {
        let mut out = Vec::new();
        let id = encoder.close(&mut out).expect("an open symbol");
        assert_eq!((id.key, id.count, id.first), (key, 3, Esi(0)));
        // The zeros that pad it are not sent.
        assert_eq!(out, expected);
    }
    assert_eq!(encoder.close(&mut Vec::new()), None);
}

#[test]
fn the_oldest_symbols_are_dropped() {
    let config = CodeConfig { symbol_size: 16, window: 4, ..CodeConfig::new(24) };
    let mut encoder = Encoder::new(config, Esi(u32::MAX - 1));
    for n in 0..6_u8 {
        assert_eq!(encoder.push(0, &[n]), Ok(Esi(u32::MAX - 1).plus(u32::from(n))));
    }
    assert_eq!((encoder.first(), encoder.next()), (Esi(0), Esi(4)));
    assert_eq!(encoder.symbol(Esi(1)), Some(&[0, 0, 1, 3][..]));
    assert_eq!(encoder.symbol(Esi(u32::MAX)), None);
    let id = encoder.combine(Esi(u32::MAX), Esi(3), &mut Vec::new()).expect("symbols");
    assert_eq!((id.first, id.count), (Esi(0), 3));
    encoder.forget_before(Esi(3));
    assert_eq!(encoder.first(), Esi(3));
    assert_eq!(encoder.combine(Esi(0), Esi(3), &mut Vec::new()), None);
    let error = encoder.push(0, &[0; 100]).expect_err("seven symbols");
    assert_eq!(std::format!("{error}"), "a datagram of 100 bytes is too long for the code's window");
}

proptest! {
    /// A window that is combined on demand equals the one that was open, regardless of drops in between.
    #[test]
    fn open_and_combined_symbols_are_equal(
        adus in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 1..20),
        opened in 0_usize..20,
    ) {
        let mut encoder = encoder();
        let opened = opened.min(adus.len() - 1);
        let mut first = Esi(0);
        for (i, adu) in adus.iter().enumerate() {
            if i == opened {
                first = encoder.next();
                encoder.open(first);
            }
            encoder.push(3, adu).unwrap();
        }
        let (mut open, mut combined) = (vec![], vec![]);
        let id = encoder.close(&mut open).unwrap();
        encoder.key = id.key;
        let end = encoder.next();
        prop_assert_eq!(encoder.combine(first, end, &mut combined), Some(id));
        prop_assert_eq!(open, combined);
    }
}
