use super::*;

fn packet(class: Class, number: u64, sent_us: i64, arrived_us: i64, bytes: u32) -> Arrival {
    Arrival { class, number, sent_us, arrived_us, bytes }
}

/// A link of 12 Mbit/s and 20 ms under saturation for 2 s: a probe of 1500 bytes per millisecond, the first
/// after a ping.
fn saturated() -> Direction {
    let mut packets = vec![packet(Class::Ping, 0, -500_000, -480_000, 92)];
    packets.extend((0..2_100).map(|number: u64| {
        packet(Class::Load, number, 0, 20_000 + 1_000 * number.cast_signed() + 500, 1_500)
    }));
    Direction { mode: Mode::Saturate, packets, sent: [1, 2_100, 0], load_us: 2_000_000 }
}

#[test]
fn deliveries_are_those_of_the_link() {
    let stamps = saturated().deliveries();
    assert_eq!((stamps.len(), stamps[0], *stamps.last().unwrap()), (2_000, 1, 2_000));
    assert!(stamps.windows(2).all(|pair| pair[1] == pair[0] + 1));
    // Probes of 1428 bytes: 2,000 of them are 1,904 opportunities, the last of which is the end.
    let mut smaller = saturated();
    smaller.packets.iter_mut().for_each(|packet| packet.bytes = 1_428);
    assert_eq!(smaller.deliveries().len(), 2_000 * 1_428 / 1_500);
}

#[test]
fn an_outage_stays_in_the_trace() {
    let mut direction = saturated();
    direction.packets.retain(|packet| !(520_000..1_520_000).contains(&packet.arrived_us));
    let stamps = direction.deliveries();
    assert_eq!(stamps.len(), 1_000);
    assert!(stamps.windows(2).any(|pair| pair == [500, 1_501]));
    let rates: Vec<f64> = direction.rates().into_iter().map(|(_, rate)| rate * 1e-6).collect();
    assert_eq!(rates, [12.0, 0.0, 0.0, 12.0]);
    assert_eq!(direction.summary().rate_bps, Some(6e6));
}

#[test]
fn trains_give_the_capacity_and_the_load_the_losses() {
    let mut packets = Vec::new();
    for train in 0..3u64 {
        let sent = train.cast_signed() * 1_000_000;
        packets.extend((0..16u64).map(|index| {
            let arrived = sent + 30_000 + 2_856 * index.cast_signed();
            packet(Class::Train, 16 * train + index, sent, arrived, 1_428)
        }));
    }
    // Of 300 probes, each 10 ms, the numbers 100 to 104 and 200 are lost.
    let lost = |number: u64| (100..105).contains(&number) || number == 200;
    packets.extend((0..300u64).filter(|number| !lost(*number)).map(|number| {
        let sent = 10_000 * number.cast_signed();
        packet(Class::Load, number, sent, sent + 25_000, 228)
    }));
    let direction = Direction { mode: Mode::Gentle, packets, sent: [0, 300, 48], load_us: 3_000_000 };
    let summary = direction.summary();
    assert!((summary.rate_bps.unwrap() - 4e6).abs() < 1.0, "{summary:?}");
    assert_eq!((summary.sent, summary.lost, summary.mean_burst), (300, 6, Some(3.0)));
    assert_eq!((summary.delay_min_s, summary.delay_max_s), (0.025, Some(0.025)));
    let losses = direction.losses().unwrap();
    assert_eq!((losses.lost, losses.spans.len()), (6, 2));
    // Five packets of 10 ms.
    let (from, to) = losses.spans[0];
    assert!(((to - from).as_secs_f64() - 0.05).abs() < 1e-6, "{from} {to}");
}

#[test]
fn a_direction_without_packets_has_no_figures() {
    let nothing =
        Direction { mode: Mode::Saturate, packets: Vec::new(), sent: [0, 10, 0], load_us: 1_000_000 };
    assert_eq!(nothing.deliveries(), Vec::<u64>::new());
    let summary = nothing.summary();
    assert_eq!((summary.sent, summary.lost, summary.delay_p50_s), (10, 10, None));
    assert!(nothing.losses().is_none());
}
