//! Elements worked by hand (IEEE Std 802.11-2020, 9.4.2.5).

use std::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::TrafficIndication;

const INTERVAL: Duration = Duration::from_micros(102_400);

fn element(number: u64, has_group: bool, ids: &[u16]) -> Vec<u8> {
    let mut indication = TrafficIndication::new(Instant::ZERO + INTERVAL * number, INTERVAL, 3);
    indication.has_group = has_group;
    ids.iter().for_each(|&id| indication.add(id));
    let mut bytes = Vec::new();
    indication.encode(&mut bytes);
    assert_eq!(bytes.len() as u32, indication.size());
    bytes
}

#[test]
fn the_map_is_cut_at_an_even_byte() {
    assert_eq!(element(0, false, &[]), [5, 4, 0, 3, 0, 0]);
    assert_eq!(element(1, false, &[17]), [5, 4, 2, 3, 2, 0x02]);
    assert_eq!(element(2, false, &[25]), [5, 5, 1, 3, 2, 0, 0x02]);
    assert_eq!(element(3, false, &[5, 17]), [5, 6, 0, 3, 0, 0x20, 0, 0x02]);
}

/// Group frames are announced in beacons with a count of 0 only.
#[test]
fn the_first_bit_of_control_announces_group_frames() {
    assert_eq!(element(1, true, &[17])[4], 2);
    assert_eq!(element(3, true, &[17])[4], 3);
}
