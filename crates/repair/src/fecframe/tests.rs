use std::vec;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::kernel::Kernel;
use crate::rlc::{Code, Coefficients};

const S0: &str = "0000087768696d6272656c0000000000";
const S1: &str = "0100066375726c657700000000000000";
const S2: &str = "000006676f6477697400000000000000";

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().map(|c| c.to_digit(16).expect("a digit") as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn symbols() -> Vec<Vec<u8>> {
    [(0, "whimbrel"), (1, "curlew"), (0, "godwit")]
        .into_iter()
        .map(|(flow, adu)| {
            let mut out = Vec::new();
            assert_eq!(source_symbols(flow, adu.as_bytes(), 16, &mut out), Some(1));
            out
        })
        .collect()
}

/// Payload identifiers, coefficients and symbols, computed with another implementation (swif-codec).
#[test]
fn the_worked_example() {
    let symbols = symbols();
    assert_eq!(symbols, [hex(S0), hex(S1), hex(S2)]);
    for (id, key, threshold, coefficients, payload_id, expected) in [
        (10, 0, 15, "272a99", "0000f00300000000", "2a00a8b0f00b6f70ea1a180000000000"),
        (10, 1, 15, "25e1b1", "0001f00300000000", "e100c8951a8d995220d0c00000000000"),
        (10, 2, 15, "f98c62", "0002f00300000000", "8c00c53742a9914fe7c0a20000000000"),
        (10, 65_535, 15, "34c74c", "fffff00300000000", "c700a0c48c59db0097ab220000000000"),
        (10, 0, 7, "2a00b0", "0000700300000000", "0000ca98707ed4ee18f99e0000000000"),
        (10, 2, 3, "000058", "0002300300000000", "0000cdd9233130eed800000000000000"),
        (9, 0, 15, "010101", "0000f00300000000", "01000873727f766e71656c0000000000"),
        (9, 5, 7, "010100", "0005700300000000", "01000e141d1b010705656c0000000000"),
    ] {
        let (code, density) = (Code::from_encoding_id(id).unwrap(), Density::new(threshold).unwrap());
        let factors: Vec<u8> = Coefficients::new(code, key, density).take(3).collect();
        assert_eq!(factors, hex(coefficients), "id {id}, key {key}, DT {threshold}");
        let mut sum = vec![0; 16];
        for (symbol, factor) in symbols.iter().zip(factors) {
            Kernel::new().multiply_add(&mut sum, symbol, factor);
        }
        assert_eq!(sum, hex(expected), "id {id}, key {key}, DT {threshold}");
        let id = RepairId { key, density, count: 3, first: Esi(0) };
        let mut packet = Vec::new();
        id.encode(&mut packet);
        assert_eq!(packet, hex(payload_id));
        packet.extend_from_slice(&sum);
        assert_eq!(RepairId::decode(&packet), Some((id, &sum[..])));
    }
}

#[test]
fn an_adu_longer_than_a_symbol_makes_two() {
    let mut out = Vec::new();
    assert_eq!(source_symbols(0, b"bar-tailed godwit", 16, &mut out), Some(2));
    let expected =
        [hex("0000116261722d7461696c656420676f"), hex("64776974000000000000000000000000")].concat();
    assert_eq!(out, expected);
    assert_eq!(adu(&out), Some((0, &b"bar-tailed godwit"[..])));
    assert_eq!(adu(&out[..16]), None);
    assert_eq!(source_symbols(0, &[0; 65_536], 16, &mut out), None);
    assert_eq!(source_symbols(0, b"x", 0, &mut out), None);
}

#[test]
fn source_packets_end_with_their_identifier() {
    let mut packet = b"curlew".to_vec();
    Esi(0x0102_0304).encode(&mut packet);
    assert_eq!(packet, b"curlew\x01\x02\x03\x04");
    assert_eq!(Esi::decode(&packet), Some((&b"curlew"[..], Esi(0x0102_0304))));
    assert_eq!(Esi::decode(b"abc"), None);
}

proptest! {
    #[test]
    fn identifiers_survive_the_wire(key: u16, threshold in 0..16_u8, count in 1..=MAX_WINDOW, first: u32, rest: Vec<u8>) {
        let id = RepairId { key, density: Density::new(threshold).unwrap(), count, first: Esi(first) };
        let mut packet = Vec::new();
        id.encode(&mut packet);
        packet.extend_from_slice(&rest);
        prop_assert_eq!(RepairId::decode(&packet), Some((id, &rest[..])));
        prop_assert_eq!(id.end().since(id.first), i32::from(count));
    }

    #[test]
    fn symbols_contain_their_adu(flow: u8, bytes in proptest::collection::vec(any::<u8>(), 0..300), symbol_size in 1..200_usize) {
        let mut out = Vec::new();
        let count = source_symbols(flow, &bytes, symbol_size, &mut out).unwrap();
        prop_assert_eq!(out.len(), count * symbol_size);
        prop_assert!(count * symbol_size < bytes.len() + ADUI_HEADER + symbol_size);
        prop_assert_eq!(adu(&out), Some((flow, &bytes[..])));
    }

    #[test]
    fn bytes_are_an_identifier_or_none(bytes: Vec<u8>) {
        let _ = (RepairId::decode(&bytes), Esi::decode(&bytes), adu(&bytes));
    }
}
