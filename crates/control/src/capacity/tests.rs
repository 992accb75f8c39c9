use proptest::prelude::*;

use super::*;

fn micros(us: u64) -> Instant {
    Instant::from_nanos(1000 * us)
}

fn mbit(rate: f64) -> DataRate {
    DataRate::from_megabits_per_second(rate)
}

/// A data frame of 1500 bytes at 11 Mbit/s, long preamble, that ends at `at` us.
fn data(at: u64) -> Heard {
    Heard {
        size: ByteCount::new(1500),
        nav: Duration::from_micros(314),
        ..Heard::overheard(FrameKind::Data, micros(at), Duration::from_micros(1308))
    }
}

fn ack(at: u64) -> Heard {
    Heard::overheard(FrameKind::Ack, micros(at), Duration::from_micros(304))
}

#[test]
fn states_follow_from_the_addresses() {
    let state =
        |from_self, to_self, is_forward| state_of(&Heard { from_self, to_self, ..data(0) }, is_forward);
    assert_eq!(state(true, false, true), StationState::Sender);
    assert_eq!(state(false, true, true), StationState::Receiver);
    assert_eq!(state(false, true, false), StationState::Sender);
    assert_eq!(state(true, false, false), StationState::Receiver);
    assert_eq!(state(false, false, true), StationState::Onlooker);
}

#[test]
fn the_cycle_of_equation_8_lacks_the_acknowledgement() {
    let times = CollisionTimes {
        difs: Duration::from_micros(50),
        sifs: Duration::from_micros(10),
        backoff: Duration::from_micros(310),
        rts: Duration::from_micros(352),
        cts: Duration::from_micros(304),
        data: Duration::from_micros(1308),
    };
    let share = backoff_share(&times);
    assert!((share - 360.0 / 2404.0).abs() < 1e-15);
    assert!((without_collisions(mbit(4.0), share) / mbit(4.0) - 2044.0 / 2404.0).abs() < 1e-12);
    let zero = Duration::ZERO;
    let nothing = CollisionTimes { difs: zero, sifs: zero, backoff: zero, rts: zero, cts: zero, data: zero };
    assert_eq!(backoff_share(&nothing), 0.0);
}

#[test]
fn probe_packets_measure_from_the_beginning_of_the_data_to_the_end_of_the_acknowledgement() {
    let mut winf = ProbeWinf::new(ProbeWinfConfig::hr_dsss(), Instant::ZERO);
    assert!(winf.should_probe(Instant::ZERO));
    // The probe from 1000 to 2308 us, its ACK to 2622 us: 12,000 bits in 1622 us, 7.398 Mbit/s.
    winf.on_heard(&Heard { kind: FrameKind::Probe, from_self: true, ..data(2308) });
    assert_eq!(winf.estimate(StationState::Sender), None);
    winf.on_heard(&Heard { to_self: true, ..ack(2622) });
    let first = winf.estimate(StationState::Sender).unwrap();
    assert!((first.capacity / mbit(12e3 / 1622.0) - 1.0).abs() < 1e-9, "{first:?}");
    assert!((first.available / first.capacity - 1000.0 / 2622.0).abs() < 1e-9, "{first:?}");
    assert!(!winf.should_probe(micros(50_000)) && winf.should_probe(micros(102_622)));
    // Later, the exchange of two other stations.
    winf.on_heard(&data(8308));
    winf.on_heard(&ack(8622));
    let second = winf.estimate(StationState::Onlooker).unwrap();
    assert!((second.available / second.capacity - (1.0 - 3244.0 / 8622.0)).abs() < 1e-9, "{second:?}");
    // A data frame that is not acknowledged in time does not count.
    winf.on_heard(&data(12_000));
    winf.on_heard(&ack(12_335));
    assert_eq!(winf.estimate(StationState::Onlooker), Some(second));
    // The receiver's estimate wins if it is lower.
    winf.on_heard(&Heard { from_self: true, ..data(20_000) });
    let estimate = Some(Estimate { capacity: mbit(5.0), available: mbit(9.0) });
    winf.on_heard(&Heard { to_self: true, estimate, ..ack(20_314) });
    let third = winf.estimate(StationState::Sender).unwrap();
    assert_eq!(third.capacity, mbit(5.0));
    assert!(third.available < mbit(7.0));
}

#[test]
fn idle_gap_multiplies_the_nominal_rate_by_the_idle_share() {
    let mut gap = IdleGap::new(mbit(11.0), Instant::ZERO);
    assert_eq!(gap.estimate(Instant::ZERO), Estimate { capacity: mbit(11.0), available: mbit(11.0) });
    // RTS from 1000 to 1352 us with a NAV to 3298 us; the data and the ACK lie in it.
    let rts = Heard {
        nav: Duration::from_micros(1946),
        ..Heard::overheard(FrameKind::Rts, micros(1352), Duration::from_micros(352))
    };
    gap.on_heard(&rts);
    // At 2000 us, 1000 us were busy: the rest of the reservation lies ahead.
    assert!((gap.idle_rate(micros(2000)) - 0.5).abs() < 1e-12);
    gap.on_heard(&data(2984));
    gap.on_heard(&ack(3298));
    assert!((gap.idle_rate(micros(4596)) - 0.5).abs() < 1e-12);
    let estimate = gap.estimate(micros(4596));
    assert!((estimate.available / mbit(5.5) - 1.0).abs() < 1e-12 && estimate.capacity == mbit(11.0));
    // A data frame at another rate, which control frames do not change.
    gap.on_heard(&Heard { rate: Some(mbit(1.0)), ..ack(4000) });
    assert_eq!(gap.estimate(micros(5000)).capacity, mbit(11.0));
    gap.on_heard(&Heard { rate: Some(mbit(5.5)), ..data(6308) });
    assert_eq!(gap.estimate(micros(7000)).capacity, mbit(5.5));
}

#[test]
fn with_probe_packets_each_state_has_its_own_capacity() {
    let mut winf = ProbeWinf::new(ProbeWinfConfig::hr_dsss(), Instant::ZERO);
    winf.on_heard(&Heard { from_self: true, ..data(2308) });
    winf.on_heard(&Heard { to_self: true, ..ack(2622) });
    let capacity = |winf: &ProbeWinf, state| winf.estimate(state).unwrap().capacity;
    assert_eq!(capacity(&winf, StationState::Receiver), capacity(&winf, StationState::Sender));
    // An acknowledgement of TCP that the station receives: 40 bytes at 11 Mbit/s.
    let small = Heard { to_self: true, size: ByteCount::new(40), ..data(10_000) };
    winf.on_heard(&Heard { airtime: Duration::from_micros(245), ..small });
    winf.on_heard(&Heard { from_self: true, ..ack(10_314) });
    assert!((capacity(&winf, StationState::Receiver) / mbit(320.0 / 559.0) - 1.0).abs() < 1e-9);
    assert!((capacity(&winf, StationState::Sender) / mbit(12e3 / 1622.0) - 1.0).abs() < 1e-9);
}

#[test]
fn adhoc_probe_uses_the_pair_with_the_least_sum_of_delays() {
    let mut probe = AdHocProbe::new(ByteCount::new(1500));
    // The receiver's clock is 5 s behind.
    let mut pair = |number: u64, sent: u64, first: u64, second: u64| {
        for (is_second, at) in [(false, first), (true, second)] {
            let sent = micros(10_000_000 + sent);
            let received = micros(5_000_000 + sent_plus(number, at));
            probe.on_arrival(&ProbeArrival { pair: number, is_second, sent, received });
        }
        probe.capacity()
    };
    fn sent_plus(number: u64, at: u64) -> u64 {
        number * 250_000 + at
    }
    // Dispersion of 3000 us, the second packet having waited.
    assert_eq!(pair(0, 0, 2000, 5000), Some(mbit(4.0)));
    // The least delayed pair: 2000 us.
    assert_eq!(pair(1, 250_000, 2000, 4000), Some(mbit(6.0)));
    // Compressed behind other traffic: the first packet waited, the sum is larger.
    assert_eq!(pair(2, 500_000, 9000, 10_000), Some(mbit(6.0)));
    assert_eq!(probe.pairs(), 3);
    // Half a pair, and a pair whose packets arrive at once.
    let arrival = |pair, is_second| ProbeArrival { pair, is_second, sent: micros(0), received: micros(0) };
    for (number, is_second) in [(4, false), (5, true), (6, false), (6, true)] {
        probe.on_arrival(&arrival(number, is_second));
    }
    assert_eq!((probe.pairs(), probe.capacity()), (3, Some(mbit(6.0))));
    probe.restart();
    assert_eq!((probe.pairs(), probe.capacity()), (0, None));
}

pub(super) fn any_kind() -> impl Strategy<Value = FrameKind> {
    prop_oneof![
        Just(FrameKind::Rts),
        Just(FrameKind::Cts),
        Just(FrameKind::Data),
        Just(FrameKind::Ack),
        Just(FrameKind::Probe)
    ]
}

fn any_heard() -> impl Strategy<Value = Heard> {
    (any_kind(), 0u64..20_000, 0u64..5000, any::<bool>(), 0u64..40_000).prop_map(
        |(kind, at, airtime, from_self, nav)| Heard {
            from_self,
            nav: Duration::from_micros(nav),
            size: ByteCount::new(nav),
            ..Heard::overheard(kind, micros(at), Duration::from_micros(airtime))
        },
    )
}

proptest! {
    #[test]
    fn estimates_are_within_the_nominal_rate_for_any_order_of_frames(
        frames in proptest::collection::vec(any_heard(), 0..60),
    ) {
        let nominal = mbit(11.0);
        let mut gap = IdleGap::new(nominal, Instant::ZERO);
        let mut probes = ProbeWinf::new(ProbeWinfConfig::hr_dsss(), Instant::ZERO);
        for heard in &frames {
            gap.on_heard(heard);
            probes.on_heard(heard);
            prop_assert!((0.0..=1.0).contains(&gap.idle_rate(heard.at)), "{gap:?}");
            for estimate in probes.estimate(StationState::Sender).into_iter().chain([gap.estimate(heard.at)]) {
                prop_assert!(estimate.available <= estimate.capacity && estimate.capacity <= nominal);
            }
        }
    }

    /// Longer reservations never raise IdleGap's estimate.
    #[test]
    fn the_idle_rate_falls_with_the_busy_time(frames in proptest::collection::vec((0u64..5000, 0u64..3000, 0u64..3000), 1..40)) {
        let run = |longer: bool| {
            let mut gap = IdleGap::new(mbit(11.0), Instant::ZERO);
            let mut now = 0;
            for &(pause, nav, extra) in &frames {
                now += pause;
                let nav = Duration::from_micros(nav + if longer { extra } else { 0 });
                let frame = Heard::overheard(FrameKind::Cts, micros(now), Duration::from_micros(pause / 2));
                gap.on_heard(&Heard { nav, ..frame });
            }
            gap.idle_rate(micros(now + 1))
        };
        prop_assert!(run(true) <= run(false) + 1e-12);
    }
}
