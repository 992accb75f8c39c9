use serde::Deserialize;
use serde_json::json;
use whimbrel_units::{ByteCount, DataRate, Duration};

use super::*;

fn read<'de, T: Deserialize<'de>>(value: serde_json::Value) -> Option<T> {
    T::deserialize(value).ok()
}

#[test]
fn quantities_are_read_in_their_units() {
    assert_eq!(read(json!("10 ms")), Some(Time(Duration::from_millis(10))));
    assert_eq!(read(json!("1.5e1ms")), Some(Time(Duration::from_millis(15))));
    assert_eq!(read(json!("2 min")), Some(Time(Duration::from_secs(120))));
    assert_eq!(read(json!("150 kbit/s")), Some(Rate(DataRate::from_kilobits_per_second(150.0))));
    assert_eq!(read(json!("1 MB/s")), Some(Rate(DataRate::from_megabits_per_second(8.0))));
    assert_eq!(read(json!("1_000 Mbit/s")), Some(Rate(DataRate::from_megabits_per_second(1000.0))));
    assert_eq!(read(json!("762 B")), Some(Size(ByteCount::new(762))));
    assert_eq!(read(json!("1.5 KiB")), Some(Size(ByteCount::new(1536))));
    assert_eq!(read(json!("6 packets")), Some(QueueLimit::Packets(6)));
    assert_eq!(read(json!("1 packet")), Some(QueueLimit::Packets(1)));
    assert_eq!(read(json!("64 kB")), Some(QueueLimit::Bytes(ByteCount::new(64_000))));
    assert_eq!(read(json!("unlimited")), Some(QueueLimit::Unlimited));
    assert_eq!(read(json!(0.25)), Some(Probability(0.25)));
    assert_eq!(read(json!(1)), Some(Probability(1.0)));
    assert_eq!(read(json!("50 %")), Some(Probability(0.5)));
}

#[test]
fn numbers_without_units_are_refused() {
    assert_eq!(read::<Time>(json!(10)), None);
    assert_eq!(read::<Time>(json!("10")), None);
    assert_eq!(read::<Rate>(json!(150_000)), None);
    assert_eq!(read::<Size>(json!(762)), None);
    assert_eq!(read::<QueueLimit>(json!("6")), None);
}

#[test]
fn wrong_units_and_impossible_amounts_are_refused() {
    assert_eq!(read::<Time>(json!("10 kbit/s")), None);
    assert_eq!(read::<Time>(json!("-1 s")), None);
    assert_eq!(read::<Time>(json!("-0 s")), None);
    assert_eq!(read::<Time>(json!("inf s")), None);
    assert_eq!(read::<Rate>(json!("1 kBps")), None);
    assert_eq!(read::<Rate>(json!("1 mb/s")), None);
    assert_eq!(read::<Size>(json!("0.5 B")), None);
    assert_eq!(read::<Size>(json!("1 e B")), None);
    assert_eq!(read::<QueueLimit>(json!("0 packets")), None);
    assert_eq!(read::<QueueLimit>(json!("2.5 packets")), None);
    assert_eq!(read::<QueueLimit>(json!("0 B")), None);
    assert_eq!(read::<Probability>(json!(1.5)), None);
    assert_eq!(read::<Probability>(json!(-1)), None);
    assert_eq!(read::<Probability>(json!("101 %")), None);
}
