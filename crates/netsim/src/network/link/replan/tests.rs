use proptest::prelude::*;
use whimbrel_units::{DataRate, Duration, Instant};

use crate::DownPolicy;
use crate::network::Count;
use crate::network::link::tests::{Bench, megabyte_per_second, micros};
use crate::network::{LinkConfig, LinkRate, Verdict};
use crate::packets::PacketSlot;
use crate::trace::DeliveryTrace;
use whimbrel_units::Ecn;

fn rate(bytes_per_microsecond: f64) -> LinkRate {
    DataRate::from_bytes_per_second(1e6 * bytes_per_microsecond).into()
}

/// Packets of 1000 bytes offered at time 0 to a link of 1 byte per microsecond and 5 ms.
fn loaded(packets: u32) -> Bench {
    let mut bench = Bench::new(LinkConfig::new(megabyte_per_second(), Duration::from_millis(5)));
    for _ in 0..packets {
        assert!(bench.offer(Instant::ZERO, 1_000));
    }
    bench
}

fn departures(bench: &Bench) -> Vec<Instant> {
    bench.plan().iter().map(|&(_, departure, _)| departure).collect()
}

fn arrivals(bench: &Bench) -> Vec<Instant> {
    bench.plan().iter().map(|&(_, _, arrival)| arrival).collect()
}

#[test]
fn the_packet_in_service_goes_on_at_the_new_rate() {
    let mut bench = loaded(3);
    bench.link.set_rate(micros(1_500), rate(0.5));
    // 500 bytes of the second packet are left and take 1000 us, the third takes 2000 us.
    assert_eq!(departures(&bench), [1_000, 2_500, 4_500].map(micros));
    assert_eq!(arrivals(&bench), [6_000, 7_500, 9_500].map(micros));
    bench.link.set_rate(micros(2_000), rate(1.0));
    assert_eq!(departures(&bench), [1_000, 2_250, 3_250].map(micros));
    assert!(bench.offer(micros(2_000), 100));
    assert_eq!(departures(&bench)[3], micros(3_350));
}

#[test]
fn a_link_that_stands_still_goes_on_where_it_stopped() {
    let mut bench = loaded(2);
    bench.link.set_rate(micros(400), LinkRate::Constant(DataRate::ZERO));
    assert_eq!(departures(&bench), [Instant::FAR_FUTURE; 2]);
    assert_eq!(bench.link.next_arrival(), None);
    bench.link.set_rate(micros(700), LinkRate::Constant(DataRate::ZERO));
    assert!(bench.offer(micros(800), 300));
    bench.link.set_rate(micros(10_000), rate(2.0));
    assert_eq!(departures(&bench), [10_300, 10_800, 10_950].map(micros));
}

#[test]
fn a_packet_that_came_to_a_standing_link_is_sent_whole() {
    let mut bench = Bench::new(LinkConfig::new(DataRate::ZERO, Duration::ZERO));
    assert!(bench.offer(micros(5), 1_000));
    bench.link.set_rate(micros(100), rate(1.0));
    assert_eq!(departures(&bench), [micros(1_100)]);
}

#[test]
fn a_packet_begun_on_a_delivery_trace_starts_anew() {
    let mut bench = loaded(3);
    let trace = DeliveryTrace::parse("1\n").unwrap();
    bench.link.set_rate(micros(900), trace.into());
    // At 1 ms the 100 bytes left of the first, the second and 400 bytes of the third; the rest at 2 ms.
    assert_eq!(departures(&bench), [1_000, 1_000, 2_000].map(micros));
    bench.link.set_rate(micros(1_100), rate(1.0));
    assert_eq!(departures(&bench), [1_000, 1_000, 2_100].map(micros));
}

#[test]
fn a_new_delay_is_for_those_not_yet_under_way() {
    let mut bench = loaded(3);
    bench.link.set_delay(micros(1_500), Duration::from_millis(9));
    assert_eq!(arrivals(&bench), [6_000, 11_000, 12_000].map(micros));
    assert!(bench.offer(micros(3_000), 1_000));
    assert_eq!(arrivals(&bench)[3], micros(13_000));
}

#[test]
fn a_shorter_delay_lets_no_packet_overtake() {
    let mut bench = loaded(3);
    bench.link.set_delay(micros(1_500), Duration::from_millis(1));
    // The second could be there at 3 ms, but the first arrives at 6 ms.
    assert_eq!(arrivals(&bench), [6_000, 6_000, 6_000].map(micros));
    assert!(bench.offer(micros(3_000), 1_000));
    assert!(bench.offer(micros(3_000), 3_000));
    assert_eq!(arrivals(&bench)[3..], [6_000, 8_000].map(micros));
}

#[test]
fn a_held_link_loses_nothing_and_starts_again() {
    let mut bench = loaded(3);
    assert!(bench.link.take_down(micros(1_500), DownPolicy::Hold).is_empty());
    assert!(bench.offer(micros(2_000), 10));
    assert_eq!(departures(&bench)[0], micros(1_000));
    assert_eq!(departures(&bench)[1..], [Instant::FAR_FUTURE; 3]);
    bench.link.bring_up(micros(20_000));
    assert_eq!(departures(&bench), [1_000, 21_000, 22_000, 22_010].map(micros));
    assert_eq!(bench.link.stats(micros(20_000)).down_lost, Count::default());
}

#[test]
fn a_held_queue_still_has_its_limit() {
    let config = LinkConfig::new(megabyte_per_second(), Duration::ZERO).with_packet_limit(2);
    let mut bench = Bench::new(config);
    bench.link.take_down(micros(1), DownPolicy::Hold);
    assert!(bench.offer(micros(2), 1_000));
    assert!(bench.offer(micros(3), 1_000));
    assert!(!bench.offer(Instant::from_secs(9), 1_000));
    assert_eq!(bench.link.stats(micros(4)).dropped.packets, 1);
}

#[test]
fn dropping_the_queue_spares_what_is_being_sent() {
    let mut bench = loaded(4);
    let lost = bench.link.take_down(micros(1_500), DownPolicy::DropQueue);
    assert_eq!(lost, [2, 3].map(PacketSlot));
    assert_eq!(arrivals(&bench), [6_000, 7_000].map(micros));
    assert_eq!(bench.offer_with(micros(1_600), 10, &mut Ecn::NotEct), Verdict::Down);
    bench.link.bring_up(micros(1_700));
    assert!(bench.offer(micros(1_700), 500));
    assert_eq!(departures(&bench), [1_000, 2_000, 2_500].map(micros));
    assert_eq!(arrivals(&bench)[2], micros(7_500));
    assert_eq!(bench.link.stats(micros(1_700)).down_lost, Count { packets: 3, bytes: 2_010 });
}

#[test]
fn dropping_all_empties_the_link() {
    let mut bench = loaded(3);
    assert_eq!(bench.link.take_down(micros(1_500), DownPolicy::DropAll), [0, 1, 2].map(PacketSlot));
    assert!(bench.plan().is_empty());
    let stats = bench.link.stats(micros(1_500));
    assert_eq!((stats.departed.packets, stats.delivered.packets, stats.down_lost.packets), (1, 0, 3));
    bench.link.bring_up(micros(1_600));
    assert!(bench.offer(micros(1_600), 1_000));
    assert_eq!(departures(&bench), [micros(2_600)]);
}

#[test]
fn a_link_emptied_while_it_stands_still_remembers_nothing() {
    let mut bench = loaded(2);
    bench.link.set_rate(micros(400), LinkRate::Constant(DataRate::ZERO));
    bench.link.take_down(micros(500), DownPolicy::DropAll);
    bench.link.bring_up(micros(600));
    assert!(bench.offer(micros(700), 1_000));
    bench.link.set_rate(micros(800), rate(1.0));
    assert_eq!(departures(&bench), [micros(1_800)]);
}

#[test]
fn a_held_link_on_a_delivery_trace_uses_the_opportunities_after_it_is_up() {
    let trace = DeliveryTrace::parse("1\n").unwrap();
    let mut bench = Bench::new(LinkConfig::new(trace, Duration::ZERO));
    for _ in 0..6 {
        assert!(bench.offer(Instant::ZERO, 1_500));
    }
    bench.link.take_down(micros(2_500), DownPolicy::Hold);
    bench.link.bring_up(micros(3_000));
    assert_eq!(departures(&bench), [1_000, 2_000, 4_000, 5_000, 6_000, 7_000].map(micros));
}

#[test]
fn a_queue_dropped_on_a_delivery_trace_gives_its_opportunities_back() {
    let trace = DeliveryTrace::parse("1\n").unwrap();
    let mut bench = Bench::new(LinkConfig::new(trace, Duration::ZERO));
    for _ in 0..6 {
        assert!(bench.offer(Instant::ZERO, 1_500));
    }
    assert_eq!(bench.link.take_down(micros(2_500), DownPolicy::DropQueue), [3, 4, 5].map(PacketSlot));
    bench.link.bring_up(micros(2_600));
    assert!(bench.offer(micros(2_600), 1_500));
    assert_eq!(departures(&bench), [1_000, 2_000, 3_000, 4_000].map(micros));
}

#[test]
fn a_held_queue_that_is_dropped_after_all_is_dropped_whole() {
    let mut bench = loaded(3);
    bench.link.take_down(micros(1_500), DownPolicy::Hold);
    assert_eq!(bench.link.take_down(micros(1_600), DownPolicy::DropQueue), [1, 2].map(PacketSlot));
    bench.link.bring_up(micros(1_700));
    assert!(bench.offer(micros(1_700), 1_000));
    assert_eq!(departures(&bench), [1_000, 2_700].map(micros));
}

#[derive(Clone, Debug)]
enum Change {
    Offer(u32),
    Rate(f64),
    Deliveries,
    Delay(u64),
    Down(DownPolicy),
    Up,
}

fn changes() -> impl Strategy<Value = Vec<(u64, Change)>> {
    let policy = prop_oneof![Just(DownPolicy::Hold), Just(DownPolicy::DropQueue), Just(DownPolicy::DropAll)];
    let change = prop_oneof![
        10 => (1u32..2_000).prop_map(Change::Offer),
        2 => prop_oneof![Just(0.0), 0.1f64..3.0].prop_map(Change::Rate),
        1 => Just(Change::Deliveries),
        1 => (0u64..5_000).prop_map(Change::Delay),
        1 => policy.prop_map(Change::Down),
        2 => Just(Change::Up),
    ];
    prop::collection::vec((0u64..1_000, change), 1..80)
}

proptest! {
    /// Under any changes of a link, packets stay in order, none arrives in the past, and every one that was
    /// accepted arrives or is lost.
    #[test]
    fn no_change_disorders_or_loses_count(changes in changes()) {
        let mut bench = Bench::new(LinkConfig::new(megabyte_per_second(), Duration::from_micros(700)).with_packet_limit(9));
        let mut now = 0;
        let (mut delivered, mut last_slot) = (Count::default(), None);
        let (mut offered, mut lost) = (0, 0);
        for (gap, change) in changes {
            now += gap;
            let at = micros(now);
            while bench.link.next_arrival().is_some_and(|(arrival, _)| arrival <= at) {
                let first = bench.link.take_first().unwrap();
                prop_assert!(last_slot < Some(first.slot), "{:?} after {last_slot:?}", first.slot);
                last_slot = Some(first.slot);
                delivered.add_packet(first.size);
            }
            match change {
                Change::Offer(size) => {
                    offered += 1;
                    bench.offer(at, size);
                }
                Change::Rate(factor) => bench.link.set_rate(at, rate(factor)),
                Change::Deliveries => bench.link.set_rate(at, DeliveryTrace::parse("1\n3\n").unwrap().into()),
                Change::Delay(delay) => bench.link.set_delay(at, Duration::from_micros(delay)),
                Change::Down(policy) => lost += bench.link.take_down(at, policy).len(),
                Change::Up => bench.link.bring_up(at),
            }
            let plan = bench.plan();
            let sorted = plan.windows(2).all(|pair| pair[0].1 <= pair[1].1 && pair[0].2 <= pair[1].2);
            prop_assert!(sorted, "{plan:?}");
            prop_assert!(plan.iter().all(|&(_, departure, arrival)| arrival >= at && departure <= arrival));

            let (stats, snapshot) = (bench.link.stats(at), bench.link.snapshot(at));
            prop_assert_eq!(stats.delivered, delivered);
            prop_assert_eq!(stats.enqueued.packets as usize, delivered.packets as usize + plan.len() + lost);
            prop_assert_eq!((snapshot.queued.packets + snapshot.under_way.packets) as usize, plan.len());
            let refused = stats.dropped.packets + stats.down_lost.packets - lost as u64;
            prop_assert_eq!(stats.enqueued.packets + refused, offered);
            prop_assert!(snapshot.queued.packets <= 9);
        }
    }

    /// A new plan at the old rate is the old plan, but for the rounding of the packet in service.
    #[test]
    fn replanning_at_the_same_rate_changes_nothing(sizes in prop::collection::vec(1u32..2_000, 1..20), at in 0u64..20_000) {
        let mut bench = Bench::new(LinkConfig::new(megabyte_per_second(), Duration::from_millis(50)));
        for size in sizes {
            bench.offer(Instant::ZERO, size);
        }
        let before = departures(&bench);
        bench.link.set_rate(micros(at), rate(1.0));
        for (old, new) in before.iter().zip(departures(&bench)) {
            prop_assert!(old.as_nanos().abs_diff(new.as_nanos()) <= 1, "{old} became {new}");
        }
    }
}
