//! Frames of MAVLink as pymavlink 2.4 writes them, and others.

use proptest::prelude::*;

use super::*;

/// ATTITUDE of system 1, component 1, in version 1.
pub(crate) const ATTITUDE_1: &str =
    "fe1c0701011ee8030000cdcccc3dcdcc4c3e9a99993e000000000000000000000000d8a9";
/// The same in version 2.
pub(crate) const ATTITUDE: &str = "fd1000000701011e0000e8030000cdcccc3dcdcc4c3e9a99993ebb77";
/// Another attitude.
pub(crate) const LATER: &str = "fd1000000701011e0000e80300000000003fcdcc4c3e9a99993eacff";
/// An attitude of component 2.
pub(crate) const OTHER_COMPONENT: &str = "fd1000000701021e0000e80300000000003fcdcc4c3e9a99993e18a6";
/// An attitude with a signature.
pub(crate) const SIGNED: &str =
    "fd1001000701011e0000e8030000cdcccc3dcdcc4c3e9a99993ec07301e8030000000060901455beba";
/// COMMAND_LONG of a ground station: arm.
pub(crate) const COMMAND: &str =
    "fd20000007ffbe4c00000000803f0000000000000000000000000000000000000000000000009001010105b2";
/// BATTERY_STATUS of battery 0.
pub(crate) const BATTERY_0: &str =
    "fd24000007010193000005000000060000002c01a00fa00fa00fa00fa00fa00fa00fa00fa00fa00f6400000000325c86";
/// The same later.
pub(crate) const BATTERY_0_LATER: &str =
    "fd24000007010193000005000000060000002c013c0f3c0f3c0f3c0f3c0f3c0f3c0f3c0f3c0f3c0f6400000000329598";
/// BATTERY_STATUS of battery 1.
pub(crate) const BATTERY_1: &str =
    "fd24000007010193000005000000060000002c01a00fa00fa00fa00fa00fa00fa00fa00fa00fa00f640001000032188d";
/// NAMED_VALUE_FLOAT "speed".
pub(crate) const SPEED: &str = "fd0d0000070101fb0000010000000000803f73706565645775";
/// NAMED_VALUE_FLOAT "depth".
pub(crate) const DEPTH: &str = "fd0d0000070101fb0000010000000000803f64657074683d62";
/// TIMESYNC, of which nothing is known here.
pub(crate) const TIME: &str = "fd0900000701016f000000000000000000000579b4";
/// FILE_TRANSFER_PROTOCOL, with a block of zeros and some data.
fn file() -> Vec<u8> {
    [&bytes("fdfe00000701016e0000000101")[..], &[0; 240], &[5; 11], &bytes("01c8")].concat()
}

pub(crate) fn bytes(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks_exact(2);
    digits
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap_or_default(), 16).expect("hex"))
        .collect()
}

/// The lane of a datagram of these frames, and the number of its keys.
fn lane(frames: &[&str]) -> Option<(Lane, usize)> {
    classify(&bytes(&frames.concat())).map(|(lane, keys)| (lane, keys.all().len()))
}

fn keys(frame: &str) -> Keys {
    classify(&bytes(frame)).expect("MAVLink").1
}

#[test]
fn the_messages_of_a_datagram_say_how_urgent_it_is() {
    assert_eq!(lane(&[ATTITUDE_1]), Some((Lane::Newest, 1)));
    assert_eq!(lane(&[ATTITUDE, BATTERY_0, SPEED]), Some((Lane::Newest, 3)));
    assert_eq!(lane(&[COMMAND]), Some((Lane::Command, 0)));
    assert_eq!(lane(&[ATTITUDE, COMMAND]).map(|(lane, _)| lane), Some(Lane::Command));
    assert_eq!(classify(&file()).map(|(lane, _)| lane), Some(Lane::Bulk));
    // A file's block that came with a value is not replaced with that.
    assert_eq!(classify(&[bytes(ATTITUDE), file()].concat()), Some((Lane::Newest, Keys::default())));
    // Unknown messages, and those in fixed order.
    assert_eq!(lane(&[TIME]), None);
    assert_eq!(lane(&[ATTITUDE, TIME]), None);
    assert_eq!(lane(&[SIGNED]), None);
    assert_eq!(lane(&[]), None);
    assert_eq!(lane(&[&[ATTITUDE; 17].concat()]), None);
}

#[test]
fn a_key_is_that_of_component_message_and_instance() {
    assert_eq!(keys(ATTITUDE), keys(LATER));
    assert_eq!(keys(ATTITUDE), keys(ATTITUDE_1));
    assert_eq!(keys(BATTERY_0), keys(BATTERY_0_LATER));
    let all = [ATTITUDE, OTHER_COMPONENT, BATTERY_0, BATTERY_1, SPEED, DEPTH].map(keys);
    for (n, key) in all.iter().enumerate() {
        assert!(!all[..n].contains(key), "{n}");
    }
}

#[test]
fn messages_are_in_the_order_of_their_numbers() {
    assert!(MESSAGES.is_sorted_by(|one, next| one.number < next.number));
}

proptest! {
    #[test]
    fn a_changed_or_cut_frame_is_none(at in 0..26_usize, change in 1..=u8::MAX, end in 0..26_usize) {
        let mut frame = bytes(LATER);
        prop_assert_eq!(classify(&frame[..end.min(frame.len() - 1)]), None);
        let at = at.min(frame.len() - 1);
        frame[at] ^= change;
        prop_assert_eq!(classify(&frame), None);
    }

    /// Any bytes are classified, within the bounds of their length.
    #[test]
    fn any_bytes_are_classified(rest in prop::collection::vec(any::<u8>(), 0..300), first in 0xfc..=0xff_u8) {
        let mut datagram = bytes(ATTITUDE);
        let end = datagram.len();
        datagram.push(first);
        datagram.extend(rest);
        let _ = classify(&datagram[end..]);
        let _ = classify(&datagram);
    }
}
