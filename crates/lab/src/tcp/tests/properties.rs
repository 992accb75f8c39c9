//! All data arrives over any network, and the windows are respected.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use whimbrel_control::window::Prague;
use whimbrel_units::{DataRate, Duration, Instant};

use super::pipe::{Network, PacketOutcome};
use crate::tcp::{
    DelayedAck, EcnMode, IdleRestart, LimitedTransmit, LossDetection, PartialAckTimer, SackRecovery,
    SenderPhase, TcpConfig, Variant,
};

/// The effects of the network on packets.
#[derive(Clone, Copy, Debug)]
struct PathConditions {
    seed: u64,
    loss: f64,
    ack_loss: f64,
    reorder: f64,
    mark: f64,
}

impl PathConditions {
    fn outcome(&self, random: &mut Pcg64Mcg, loss: f64) -> PacketOutcome {
        let draw = random.random::<f64>();
        if draw < loss {
            PacketOutcome::Drop
        } else if draw < loss + self.reorder {
            PacketOutcome::Delay(Duration::from_micros(random.random_range(1..60_000)))
        } else if draw < loss + self.reorder + self.mark {
            PacketOutcome::Mark
        } else {
            PacketOutcome::Pass
        }
    }
}

fn conditions() -> impl Strategy<Value = PathConditions> {
    (any::<u64>(), 0.0..0.3f64, 0.0..0.3f64, 0.0..0.3f64, 0.0..0.1f64).prop_map(
        |(seed, loss, ack_loss, reorder, mark)| PathConditions { seed, loss, ack_loss, reorder, mark },
    )
}

fn config() -> impl Strategy<Value = TcpConfig> {
    let variant = prop_oneof![1 => Just(Variant::Tahoe), 1 => Just(Variant::Reno), 1 => Just(Variant::NewReno), 3 => Just(Variant::Sack)];
    (variant, any::<[bool; 14]>(), 1u32..200, prop::option::of(1.0..30.0f64)).prop_map(
        |(variant, flags, size, limit)| {
            let [
                ns2,
                handshake,
                ecn,
                timestamps,
                delayed,
                nagle,
                steady,
                keep,
                counter,
                limited,
                accurate,
                rack,
                probes,
                bbr,
            ] = flags;
            let mut config = if ns2 { TcpConfig::ns2(variant) } else { TcpConfig::rfc(variant) };
            config.segment_size = size;
            config.handshake = handshake;
            config.ecn = match (ecn, accurate) {
                (false, _) => EcnMode::Off,
                (true, false) => EcnMode::Classic,
                (true, true) => EcnMode::Accurate,
            };
            if ecn && accurate && !keep {
                config.window.law = Prague::new().into();
            }
            config.timestamps = timestamps;
            config.sending.nagle = nagle;
            config.window.limit = limit;
            config.receiver.delayed_ack = delayed.then_some(DelayedAck::STANDARD);
            config.recovery.keep_sack_on_timeout = keep;
            config.window.idle = if keep { IdleRestart::Keep } else { IdleRestart::OneSegment };
            if steady {
                config.recovery.partial_ack_timer = PartialAckTimer::SlowButSteady;
            }
            if counter {
                config.recovery.sack = SackRecovery::Counter;
            }
            if rack {
                config.recovery.detection = LossDetection::Rack;
                config.recovery.rate_reduction = limited;
                config.recovery.loss_probe = probes;
            }
            if limited {
                config.recovery.limited_transmit = LimitedTransmit::On;
            }
            if bbr && !ns2 && variant == Variant::Sack {
                config = config.with_bbr();
            }
            config
        },
    )
}

/// The data received, byte by byte.
struct Reference {
    arrived: Vec<bool>,
    in_order: usize,
}

impl Reference {
    fn receive(&mut self, start: u64, length: u32) -> u64 {
        self.arrived[start as usize..start as usize + length as usize].fill(true);
        while self.arrived.get(self.in_order) == Some(&true) {
            self.in_order += 1;
        }
        self.in_order as u64
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn everything_arrives_in_order_and_once(
        config in config(), conditions in conditions(), writes in prop::collection::vec(1u64..3000, 1..8),
    ) {
        let rate = DataRate::from_megabits_per_second(2.0);
        let mut network = Network::new(&config, rate, Duration::from_millis(15), 30);
        let (mut data, mut acks) = (Pcg64Mcg::seed_from_u64(conditions.seed), Pcg64Mcg::seed_from_u64(!conditions.seed));
        let mut total = 0;
        let mut pending = writes.into_iter();
        let size = u64::from(config.segment_size);
        let rounded = |bytes: u64| if config.sending.whole_segments { bytes.div_ceil(size) * size } else { bytes };
        let mut reference = Reference { arrived: vec![false; 60_000], in_order: 0 };
        let (mut steps, mut seen, mut sent, mut closed) = (0, 0, 0, false);
        loop {
            // The application writes now and then, and closes at the end.
            if steps % 40 == 0 {
                match pending.next() {
                    Some(bytes) => {
                        total += rounded(bytes);
                        network.sender.send(bytes);
                    }
                    None => {
                        network.sender.close();
                        closed = true;
                    }
                }
            }
            let before = network.sender.snapshot();
            let moved = network.step(
                Instant::FAR_FUTURE,
                &mut |_, _| conditions.outcome(&mut data, conditions.loss),
                &mut |_| conditions.outcome(&mut acks, conditions.ack_loss),
            );
            steps += 1;
            prop_assert!(steps < 400_000, "no progress: {:?}", network.sender.snapshot());
            for segment in &network.received[seen..] {
                if segment.length > 0 {
                    reference.receive(segment.seq, segment.length);
                }
            }
            seen = network.received.len();
            prop_assert_eq!(network.receiver.snapshot().delivered, reference.in_order as u64);
            let after = network.sender.snapshot();
            prop_assert!(after.acknowledged <= reference.in_order as u64, "acknowledged before it arrived");
            prop_assert!(after.cwnd >= 1.0 && after.ssthresh >= 2.0 && after.inflation >= 0.0);
            let new_data = network.sent[sent..].iter().any(|(_, segment)| segment.end() > before.highest_sent);
            sent = network.sent.len();
            if new_data && after.acknowledged == before.acknowledged && after.phase == before.phase
                && before.phase != SenderPhase::FastRecovery
            {
                // Nothing has happened since it was sent but, at most, duplicates: two allow a segment each
                // beyond the window.
                let allowed = (before.cwnd.max(after.cwnd) + before.inflation.max(after.inflation) + 2.0) * size as f64;
                prop_assert!(after.pipe as f64 <= allowed + 1.0, "{:?} {:?}", before, after);
            }
            if let Some(limit) = config.window.limit {
                // Of new data: the limit counts from the acknowledgement that the sender had when it sent.
                let highest = before.acknowledged.max(after.acknowledged) as f64 + limit * size as f64;
                prop_assert!(after.highest_sent as f64 <= highest.max(before.highest_sent as f64) + 1.0);
            }
            if !moved && closed {
                break;
            }
        }
        prop_assert!(network.sender.is_finished());
        let receiver = network.receiver.snapshot();
        prop_assert_eq!(receiver.delivered, total);
        prop_assert!(receiver.finished);
        prop_assert_eq!(receiver.buffered, 0);
        prop_assert_eq!(network.sender.snapshot().acknowledged, total);
        prop_assert_eq!(network.sender.poll_timeout(), None, "nothing runs on after the end");
    }

    #[test]
    fn the_same_seed_gives_the_same_segments(config in config(), conditions in conditions()) {
        let run = || {
            let mut network = Network::new(&config, DataRate::from_megabits_per_second(2.0), Duration::from_millis(15), 30);
            network.sender.send_forever();
            let mut data = Pcg64Mcg::seed_from_u64(conditions.seed);
            network.run(Instant::from_secs(3), |_, _| conditions.outcome(&mut data, conditions.loss));
            network.sent
        };
        prop_assert_eq!(run(), run());
    }
}
