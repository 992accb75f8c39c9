use proptest::prelude::*;

use super::*;
use crate::capacity::tests::any_kind;

/// One exchange of 1500 bytes at 11 Mbit/s with the long preamble and control frames at 1 Mbit/s. RTS 352 us,
/// CTS and ACK 304 us, DATA 192 + 1116 us, SIFS 10 us: the RTS ends at 352, the CTS at 666, the data at 1984
/// and the ACK at 2298 us. The RTS reserves 1946 us, the CTS 1632 us.
const FRAMES: [(FrameKind, u64, u64, u64); 4] = [
    (FrameKind::Rts, 352, 352, 1946),
    (FrameKind::Cts, 666, 304, 1632),
    (FrameKind::Data, 1984, 1308, 314),
    (FrameKind::Ack, 2298, 304, 0),
];

fn micros(us: u64) -> Instant {
    Instant::from_nanos(1000 * us)
}

/// The frames of `kinds` of an exchange that begins at `begin` us, as a station in `state` observes them.
fn exchange(
    winf: &mut RtWinf,
    state: StationState,
    begin: u64,
    kinds: &[FrameKind],
    change: impl Fn(&mut Heard),
) {
    for &(kind, end, airtime, nav) in FRAMES.iter().filter(|frame| kinds.contains(&frame.0)) {
        let mut heard = Heard::overheard(kind, micros(begin + end), Duration::from_micros(airtime));
        let is_forward = matches!(kind, FrameKind::Rts | FrameKind::Data);
        heard.from_self = state == if is_forward { StationState::Sender } else { StationState::Receiver };
        heard.to_self = state == if is_forward { StationState::Receiver } else { StationState::Sender };
        heard.nav = Duration::from_micros(nav);
        heard.size = ByteCount::new(if kind == FrameKind::Data { 1500 } else { 0 });
        heard.backoff = (kind == FrameKind::Rts && heard.from_self).then_some(Duration::from_micros(310));
        change(&mut heard);
        winf.on_heard(&heard);
    }
}

const ALL: [FrameKind; 4] = [FrameKind::Rts, FrameKind::Cts, FrameKind::Data, FrameKind::Ack];

fn observe(config: RtWinfConfig, state: StationState, kinds: &[FrameKind]) -> RtWinf {
    let mut winf = RtWinf::new(config, Instant::ZERO);
    exchange(&mut winf, state, 0, kinds, |_| ());
    winf
}

fn rate(bits: f64, us: f64) -> f64 {
    bits / us * 1e6
}

fn assert_estimate(winf: &RtWinf, state: StationState, capacity: f64, idle: f64) {
    let estimate = winf.estimate(state).unwrap();
    assert!((estimate.capacity.as_bits_per_second() - capacity).abs() < 1e-3, "{estimate:?} {capacity}");
    assert!((estimate.available.as_bits_per_second() - capacity * idle).abs() < 1e-3, "{estimate:?} {idle}");
}

#[test]
fn the_three_states_infer_the_capacity_and_the_idle_share_of_figure_1() {
    let config = RtWinfConfig::hr_dsss();
    // Sender: 12,000 bits in 2298 - 666 - 20 us, the times of DATA and ACK: 7.444 Mbit/s. NAV of the CTS in
    // 2298 us.
    let winf = observe(config, StationState::Sender, &ALL);
    assert_estimate(&winf, StationState::Sender, rate(12e3, 1612.0), 1.0 - 1632.0 / 2298.0);
    // Receiver: 1984 - 352 - 30 us: 7.491 Mbit/s. NAV of the RTS.
    let winf = observe(config, StationState::Receiver, &ALL);
    assert_estimate(&winf, StationState::Receiver, rate(12e3, 1602.0), 1.0 - 1946.0 / 2298.0);
    // Onlooker: as the sender, with the NAV of the RTS.
    let winf = observe(config, StationState::Onlooker, &ALL);
    assert_estimate(&winf, StationState::Onlooker, rate(12e3, 1612.0), 1.0 - 1946.0 / 2298.0);
}

#[test]
fn with_the_two_spacings_that_precede_the_data_sender_and_receiver_agree() {
    let config = RtWinfConfig { receiver_spacing: ReceiverSpacing::Counted, ..RtWinfConfig::hr_dsss() };
    let winf = observe(config, StationState::Receiver, &ALL);
    assert_estimate(&winf, StationState::Receiver, rate(12e3, 1612.0), 1.0 - 1946.0 / 2298.0);
}

#[test]
fn with_the_times_of_equation_3_the_capacity_is_that_of_whole_exchanges() {
    // DIFS, the mean backoff, RTS, CTS and three SIFS, and DATA and ACK.
    let overhead = Duration::from_micros(50 + 310 + 352 + 304 + 30);
    let config = RtWinfConfig { overhead, ..RtWinfConfig::hr_dsss() };
    let cycle = 1046.0 + 1308.0 + 304.0;
    for state in [StationState::Sender, StationState::Receiver, StationState::Onlooker] {
        let estimate = observe(config, state, &ALL).estimate(state).unwrap();
        let expected = rate(12_000.0, cycle);
        assert!((estimate.capacity.as_bits_per_second() - expected).abs() < 1e-3, "{state:?} {estimate:?}");
    }
}

#[test]
fn the_frames_that_each_state_captures_suffice() {
    let config = RtWinfConfig::hr_dsss();
    let sender = [FrameKind::Cts, FrameKind::Data, FrameKind::Ack];
    let winf = observe(config, StationState::Sender, &sender);
    assert_estimate(&winf, StationState::Sender, rate(12e3, 1612.0), 1.0 - 1632.0 / 2298.0);
    let winf = observe(config, StationState::Receiver, &[FrameKind::Rts, FrameKind::Data]);
    assert_estimate(&winf, StationState::Receiver, rate(12e3, 1602.0), 1.0 - 1946.0 / 2298.0);
}

#[test]
fn an_onlooker_that_misses_the_rts_uses_the_nav_of_the_cts() {
    let config = RtWinfConfig::hr_dsss();
    let kinds = [FrameKind::Cts, FrameKind::Data, FrameKind::Ack];
    let winf = observe(config, StationState::Onlooker, &kinds);
    assert_estimate(&winf, StationState::Onlooker, rate(12e3, 1612.0), 1.0 - 1632.0 / 2298.0);
    // Hidden from the sender altogether: the time counts, the size is unknown.
    let winf = observe(config, StationState::Onlooker, &[FrameKind::Cts, FrameKind::Ack]);
    assert_eq!(winf.estimate(StationState::Onlooker), None);
    assert!((winf.idle_share() - (1.0 - 1632.0 / 2298.0)).abs() < 1e-12);
}

#[test]
fn an_rts_that_is_not_answered_does_not_count() {
    let mut winf = observe(RtWinfConfig::hr_dsss(), StationState::Sender, &ALL);
    exchange(&mut winf, StationState::Sender, 5000, &[FrameKind::Rts], |_| ());
    exchange(&mut winf, StationState::Sender, 10_000, &ALL, |_| ());
    assert_estimate(&winf, StationState::Sender, rate(12e3, 1612.0), 1.0 - 2.0 * 1632.0 / 12_298.0);
    // A late ACK belongs to no exchange.
    let ack = Heard { to_self: true, ..Heard::overheard(FrameKind::Ack, micros(90_000), Duration::ZERO) };
    winf.on_heard(&ack);
    assert_estimate(&winf, StationState::Sender, rate(12e3, 1612.0), 1.0 - 2.0 * 1632.0 / 12_298.0);
}

#[test]
fn the_sender_takes_the_smaller_values_of_its_own_and_the_receivers() {
    let mbit = DataRate::from_megabits_per_second;
    let received = |capacity, available| {
        let mut winf = RtWinf::new(RtWinfConfig::hr_dsss(), Instant::ZERO);
        let estimate = Some(Estimate { capacity: mbit(capacity), available: mbit(available) });
        exchange(&mut winf, StationState::Sender, 0, &ALL, |heard| {
            if heard.kind == FrameKind::Ack {
                heard.estimate = estimate;
            }
        });
        let estimate = winf.estimate(StationState::Sender).unwrap();
        (estimate.capacity.as_bits_per_second() / 1e6, estimate.available.as_bits_per_second() / 1e6)
    };
    let own = (12e3 / 1612.0, 12e3 / 1612.0 * (1.0 - 1632.0 / 2298.0));
    let close = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).abs() < 1e-9 && (a.1 - b.1).abs() < 1e-9;
    assert!(close(received(9.0, 9.0), own));
    assert!(close(received(9.0, 1.0), (own.0, 1.0)));
    assert!(close(received(5.0, 0.5), (5.0, 0.5)));
}

#[test]
fn only_the_sender_corrects_for_collisions() {
    let config = RtWinfConfig { corrects_collisions: true, ..RtWinfConfig::hr_dsss() };
    // T(m) = 100 + 30 + 310 + 304 + 352 + 1308 = 2404 us, K = 360 / 2404.
    let kept = 1.0 - 360.0 / 2404.0;
    let winf = observe(config, StationState::Sender, &ALL);
    assert_estimate(&winf, StationState::Sender, rate(12e3, 1612.0), (1.0 - 1632.0 / 2298.0) * kept);
    let winf = observe(config, StationState::Onlooker, &ALL);
    assert_estimate(&winf, StationState::Onlooker, rate(12e3, 1612.0), 1.0 - 1946.0 / 2298.0);
    // Of the capacity too: the available bandwidth is the same.
    let config = RtWinfConfig { corrects_capacity: true, ..config };
    let winf = observe(config, StationState::Sender, &ALL);
    assert_estimate(&winf, StationState::Sender, rate(12e3, 1612.0) * kept, 1.0 - 1632.0 / 2298.0);
    let winf = observe(config, StationState::Onlooker, &ALL);
    assert_estimate(&winf, StationState::Onlooker, rate(12e3, 1612.0), 1.0 - 1946.0 / 2298.0);
}

#[test]
fn a_station_uses_the_onlookers_capacity_until_it_has_its_own() {
    let mut winf = observe(RtWinfConfig::hr_dsss(), StationState::Onlooker, &ALL);
    assert_estimate(&winf, StationState::Sender, rate(12e3, 1612.0), 1.0 - 1946.0 / 2298.0);
    exchange(&mut winf, StationState::Receiver, 10_000, &ALL, |_| ());
    assert_estimate(&winf, StationState::Receiver, rate(12e3, 1602.0), 1.0 - 2.0 * 1946.0 / 12_298.0);
    assert_eq!(winf.state(micros(20_000)), StationState::Onlooker);
    exchange(&mut winf, StationState::Sender, 20_000, &[FrameKind::Rts], |_| ());
    assert_eq!(winf.state(micros(20_400)), StationState::Sender);
    assert_eq!(winf.state(micros(22_400)), StationState::Onlooker);
}

#[test]
fn a_small_packet_sets_the_capacity_of_the_latest_exchange_only() {
    let capacity = |averaging| {
        let config = RtWinfConfig { averaging, ..RtWinfConfig::hr_dsss() };
        let mut winf = observe(config, StationState::Sender, &ALL);
        exchange(&mut winf, StationState::Sender, 5000, &ALL, |heard| {
            if heard.kind == FrameKind::Data {
                heard.size = ByteCount::new(300);
            }
        });
        winf.estimate(StationState::Sender).unwrap().capacity.as_bits_per_second()
    };
    assert!((capacity(Averaging::Latest) - rate(2400.0, 1612.0)).abs() < 1e-3);
    assert!((capacity(Averaging::Largest) - rate(12_000.0, 1612.0)).abs() < 1e-3);
    assert!((capacity(Averaging::Total) - rate(14_400.0, 3224.0)).abs() < 1e-3);
}

#[test]
fn a_period_forgets_the_busy_time_before_the_last_one() {
    let config = RtWinfConfig { period: Some(Duration::from_millis(100)), ..RtWinfConfig::hr_dsss() };
    let mut winf = RtWinf::new(config, Instant::ZERO);
    // 200 ms with an exchange each 2.5 ms, then 400 ms with one each 20 ms.
    for count in 0..80 {
        exchange(&mut winf, StationState::Onlooker, 2500 * count, &ALL, |_| ());
    }
    assert!((winf.idle_share() - (1.0 - 1946.0 / 2500.0)).abs() < 0.01, "{}", winf.idle_share());
    for count in 0..20 {
        exchange(&mut winf, StationState::Onlooker, 200_000 + 20_000 * count, &ALL, |_| ());
    }
    assert!((winf.idle_share() - (1.0 - 1946.0 / 20_000.0)).abs() < 0.02, "{}", winf.idle_share());
}

fn any_heard() -> impl Strategy<Value = Heard> {
    (any_kind(), 0u64..20_000, 0u64..5000, any::<bool>(), any::<bool>(), 0u64..40_000, 0u64..70_000).prop_map(
        |(kind, at, airtime, from_self, to_self, nav, size)| Heard {
            from_self,
            to_self,
            nav: Duration::from_micros(nav),
            size: ByteCount::new(size),
            backoff: (from_self && size % 2 == 0).then_some(Duration::from_micros(size)),
            ..Heard::overheard(kind, micros(at), Duration::from_micros(airtime))
        },
    )
}

proptest! {
    #[test]
    fn estimates_are_within_the_nominal_rate_for_any_order_of_frames(
        frames in proptest::collection::vec(any_heard(), 0..60),
        total in any::<bool>(),
        period in proptest::option::of(1u64..5000),
    ) {
        let averaging = if total { Averaging::Total } else { Averaging::Latest };
        let period = period.map(Duration::from_micros);
        let config = RtWinfConfig { averaging, period, corrects_collisions: true, ..RtWinfConfig::hr_dsss() };
        let mut winf = RtWinf::new(config, Instant::ZERO);
        for heard in &frames {
            winf.on_heard(heard);
            for state in [StationState::Onlooker, StationState::Sender, StationState::Receiver] {
                let Some(estimate) = winf.estimate(state) else { continue };
                prop_assert!(estimate.capacity <= config.nominal && !estimate.capacity.is_zero());
                prop_assert!(estimate.available <= estimate.capacity);
            }
            prop_assert!((0.0..=1.0).contains(&winf.idle_share()));
        }
    }

    /// Longer reservations never raise the available bandwidth.
    #[test]
    fn the_available_bandwidth_falls_with_the_busy_time(
        state in 0usize..3,
        pauses in proptest::collection::vec((0u64..10_000, 0u64..2000), 1..40),
    ) {
        let state = [StationState::Onlooker, StationState::Sender, StationState::Receiver][state];
        let run = |longer: bool| {
            let mut winf = RtWinf::new(RtWinfConfig::hr_dsss(), Instant::ZERO);
            let mut begin = 0;
            for &(pause, extra) in &pauses {
                begin += pause + 2298;
                exchange(&mut winf, state, begin, &ALL, |heard| {
                    heard.nav += Duration::from_micros(if longer { extra } else { 0 });
                });
            }
            winf.estimate(state).unwrap()
        };
        let (shorter, longer) = (run(false), run(true));
        prop_assert_eq!(shorter.capacity, longer.capacity);
        // A receiver's elapsed time ends with the reservation, too.
        let tolerance = if state == StationState::Receiver { 1.0 + 2000.0 / 2298.0 } else { 1.0 };
        prop_assert!(longer.available.as_bits_per_second() <= shorter.available.as_bits_per_second() * tolerance);
    }
}
