use std::format;

use proptest::prelude::*;
use whimbrel_units::{Duration, Instant};

use super::super::{AfterCollision, Dcf, MacConfig, Outgoing, Protection, ReceptionError};
use super::{ME, OTHER, PEER, frame};
use crate::frame::{FrameKind, MacAddress};
use crate::phy::{Phy, Preamble, Rate};
use crate::random::SplitMix64;
use crate::rate_control::{Arf, Minstrel, RateControl};

/// An input, after a pause in microseconds.
#[derive(Clone, Copy, Debug)]
enum Input {
    Enqueue { is_group: bool, bytes: u32 },
    Busy,
    Idle,
    Frame { kind: FrameKind, to_me: bool, is_retry: bool },
    Error(ReceptionError),
    Captured,
    Wake,
}

fn input() -> impl Strategy<Value = Input> {
    let kind = prop_oneof![
        Just(FrameKind::Data),
        Just(FrameKind::Rts),
        Just(FrameKind::Cts),
        Just(FrameKind::Ack),
        Just(FrameKind::Management)
    ];
    let error = prop_oneof![Just(ReceptionError::Corrupted), Just(ReceptionError::Undecodable)];
    prop_oneof![
        3 => (any::<bool>(), 0..3_000_u32).prop_map(|(is_group, bytes)| Input::Enqueue { is_group, bytes }),
        3 => Just(Input::Busy),
        3 => Just(Input::Idle),
        6 => (kind, any::<bool>(), any::<bool>())
            .prop_map(|(kind, to_me, is_retry)| Input::Frame { kind, to_me, is_retry }),
        1 => error.prop_map(Input::Error),
        1 => Just(Input::Captured),
        4 => Just(Input::Wake),
    ]
}

fn config() -> impl Strategy<Value = MacConfig> {
    let phy = || Phy::hr_dsss(Preamble::Long);
    let mixed = |protection| MacConfig {
        protection,
        rts_threshold: 2_000,
        is_traced: true,
        ..MacConfig::standard(Phy::erp_mixed(Preamble::Long), Rate::Ofdm54)
    };
    prop_oneof![
        Just(MacConfig::standard(phy(), Rate::Hr11)),
        Just(MacConfig {
            rts_threshold: 500,
            is_traced: true,
            ..MacConfig::standard(Phy::erp_ofdm(), Rate::Ofdm54)
        }),
        Just(MacConfig::ns2()),
        Just(MacConfig { rts_threshold: 500, is_traced: true, ..MacConfig::ns2() }),
        Just(MacConfig::synchronous(phy(), Rate::Dsss2, AfterCollision::Difs)),
        Just(MacConfig::synchronous(phy(), Rate::Dsss2, AfterCollision::Eifs)),
        Just(MacConfig { rate_control: RateControl::Arf(Arf::default()), ..mixed(Protection::None) }),
        Just(mixed(Protection::CtsToSelf { rate: Rate::Hr11 })),
        Just(MacConfig {
            rate_control: RateControl::Minstrel(Minstrel::default()),
            ..mixed(Protection::RtsCts { rate: Rate::Dsss2 })
        }),
    ]
}

fn apply(machine: &mut Dcf<SplitMix64>, now: Instant, input: Input) {
    match input {
        Input::Enqueue { is_group, bytes } => {
            let receiver = if is_group { MacAddress::BROADCAST } else { PEER };
            let is_ready = machine.is_ready();
            assert_eq!(machine.enqueue(now, Outgoing::data(receiver, bytes, 1)).is_ok(), is_ready);
        }
        Input::Busy => machine.handle_busy(now),
        Input::Idle => machine.handle_idle(now),
        Input::Frame { kind, to_me, is_retry } => {
            let mut frame = frame(kind, PEER, if to_me { ME } else { OTHER }, 700);
            frame.is_retry = is_retry;
            machine.handle_frame(now, &frame);
        }
        Input::Error(error) => machine.handle_error(now, error),
        Input::Captured => machine.handle_captured(now, Duration::from_micros(300)),
        Input::Wake => {}
    }
}

/// Wakes and drains. Returns the number of transmissions.
fn drain(machine: &mut Dcf<SplitMix64>, now: Instant) -> usize {
    machine.handle_timeout(now);
    let mut transmissions = 0;
    while let Some(transmit) = machine.poll_transmit(now) {
        assert!(!transmit.frame.air_time.is_zero());
        transmissions += 1;
    }
    while machine.poll_event().is_some() {}
    transmissions
}

proptest! {
    /// For any arrivals in any order: the next deadline lies in the future, an early wake-up changes nothing,
    /// a second drain yields nothing, and at most one frame at a time is on the air.
    #[test]
    fn deadlines_lie_in_the_future_and_early_wake_ups_have_no_effect(
        config in config(),
        inputs in proptest::collection::vec((0..400_u64, input()), 1..200),
        seed in any::<u64>(),
    ) {
        let mut machine = Dcf::new(ME, config, SplitMix64::new(seed));
        let mut now = Instant::ZERO;
        let mut on_air_until = Instant::ZERO;
        for (pause, input) in inputs {
            let next = now + Duration::from_micros(pause);
            // Deadlines before the input are served in time.
            while let Some(deadline) = machine.poll_timeout().filter(|&deadline| deadline < next) {
                prop_assert!(deadline > now || now == Instant::ZERO);
                machine.handle_timeout(deadline);
                while let Some(transmit) = machine.poll_transmit(deadline) {
                    prop_assert!(deadline >= on_air_until, "two frames on the air");
                    on_air_until = deadline + transmit.frame.air_time;
                }
                now = deadline;
            }
            now = next;
            let before = format!("{machine:?}");
            if machine.poll_timeout().is_none_or(|deadline| deadline > now) {
                machine.handle_timeout(now);
                prop_assert_eq!(before, format!("{machine:?}"), "an early wake-up at {}", now);
            }
            apply(&mut machine, now, input);
            machine.handle_timeout(now);
            while let Some(transmit) = machine.poll_transmit(now) {
                prop_assert!(now >= on_air_until, "two frames on the air");
                on_air_until = now + transmit.frame.air_time;
            }
            while machine.poll_event().is_some() {}
            prop_assert!(machine.poll_timeout().is_none_or(|deadline| deadline > now), "{machine:?}");
            let drained = format!("{machine:?}");
            prop_assert_eq!(drain(&mut machine, now), 0);
            prop_assert_eq!(drained, format!("{machine:?}"), "a second drain");
        }
    }

    /// A station on a medium that becomes idle and stays so is rid of every payload in bounded time.
    #[test]
    fn every_payload_is_sent_or_dropped_in_bounded_time(
        config in config(),
        inputs in proptest::collection::vec((0..400_u64, input()), 1..60),
        seed in any::<u64>(),
    ) {
        let mut machine = Dcf::new(ME, config, SplitMix64::new(seed));
        let mut now = Instant::ZERO;
        for (pause, input) in inputs {
            now += Duration::from_micros(pause);
            drain(&mut machine, now);
            apply(&mut machine, now, input);
            drain(&mut machine, now);
        }
        machine.handle_idle(now);
        drain(&mut machine, now);
        let end = now + Duration::from_secs(2);
        while let Some(deadline) = machine.poll_timeout() {
            now = deadline;
            prop_assert!(now <= end, "{machine:?}");
            drain(&mut machine, now);
        }
        prop_assert!(machine.is_ready(), "{machine:?}");
        let counters = machine.counters();
        prop_assert_eq!(counters.enqueued, counters.sent + counters.dropped);
    }
}
