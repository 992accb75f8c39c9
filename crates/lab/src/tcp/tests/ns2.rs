//! Segment for segment against ns-2.35.
//!
//! The files in `ns2/` are traces of `Agent/TCP` and its variants in Debian's ns2 2.35+dfsg-5: a line for
//! each packet, with the moment it left the agent and its number (0 is the SYN). Two nodes, a duplex link,
//! `ErrorModel/List` before the queue; all else as `ns-default.tcl` has it.

use whimbrel_units::{DataRate, Duration, Instant};

use super::pipe::{Network, PacketOutcome};
use crate::tcp::{DelayedAck, Flags, TcpConfig, Variant};

struct Run {
    config: TcpConfig,
    megabits: f64,
    delay: u64,
    /// ns-2's queue-limit, which counts the packet in transmission.
    queue: usize,
    stop: f64,
    drops: &'static [usize],
    /// A link of 100 Mbit/s and 1 ms before the bottleneck. Without it packets come to the queue at the very
    /// moments at which others leave, and rounding decides which are dropped.
    access: bool,
    trace: &'static str,
}

fn check(run: Run) {
    let mut config = run.config;
    config.rto.tick_phase = if run.drops.is_empty() { PHASE } else { PHASE_AFTER_ERROR_MODEL };
    let rate = DataRate::from_megabits_per_second(run.megabits);
    let mut network = Network::new(&config, rate, Duration::from_millis(run.delay), run.queue - 1);
    if run.access {
        network = network.with_access(DataRate::from_megabits_per_second(100.0), Duration::from_millis(1));
    }
    network.sender.send_forever();
    let stop = Instant::from_secs_f64(run.stop);
    network.run(
        stop,
        |number, _| if run.drops.contains(&number) { PacketOutcome::Drop } else { PacketOutcome::Pass },
    );

    let size = u64::from(config.segment_size);
    let expected: Vec<(f64, u64)> = run
        .trace
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(time, number)| (time.parse().unwrap(), number.parse().unwrap()))
        .collect();
    assert!(expected.len() > 100);
    for (index, (expected_at, number)) in expected.iter().enumerate() {
        let (at, segment) = network.sent[index];
        let ours = if segment.flags.contains(Flags::SYN) { 0 } else { segment.seq / size + 1 };
        let window = 8.min(index);
        let context = || {
            let ours: Vec<_> = network.sent[index - window..(index + 6).min(network.sent.len())]
                .iter()
                .map(|(at, s)| (at.as_secs_f64(), s.seq / size + 1))
                .collect();
            format!(
                "packet {index}\nns-2 {:?}\nours {ours:?}",
                &expected[index - window..(index + 6).min(expected.len())]
            )
        };
        assert_eq!(ours, *number, "{}", context());
        // ns-2 prints six digits.
        assert!((at.as_secs_f64() - expected_at).abs() < 1e-5 * expected_at.max(1.0) + 1e-9, "{}", context());
    }
    // The last packets at the very moment of the end may be missing from either side.
    assert!(
        network.sent.len().abs_diff(expected.len()) <= 2,
        "{} and {}",
        network.sent.len(),
        expected.len()
    );
}

/// The random phase of an agent's clock, in the first number that ns-2's generator draws, and in the second,
/// where an error model took the first.
const PHASE: Duration = Duration::from_nanos(3_396);
const PHASE_AFTER_ERROR_MODEL: Duration = Duration::from_nanos(5_558_807);

fn config(variant: Variant, window: f64) -> TcpConfig {
    TcpConfig::ns2(variant).with_window(window)
}

macro_rules! against_ns2 {
    ($($test:ident: $variant:ident, $trace:literal, $scenario:ident;)*) => {$(
        #[test]
        fn $test() {
            check($scenario(Variant::$variant, include_str!(concat!("ns2/", $trace, ".txt"))));
        }
    )*};
}

/// 1 Mbit/s, 20 ms: single losses, three of a window, a lost retransmission, a run of losses that ends in a
/// timeout.
fn losses(variant: Variant, trace: &'static str) -> Run {
    const DROPS: &[usize] = &[
        20, 60, 61, 63, 150, 155, 156, 157, 158, 159, 160, 161, 162, 163, 164, 165, 250, 251, 270, 300, 302,
        304, 306, 308, 310,
    ];
    Run {
        config: config(variant, 40.0),
        megabits: 1.0,
        delay: 20,
        queue: 1000,
        stop: 6.0,
        drops: DROPS,
        access: false,
        trace,
    }
}

/// 1 Mbit/s, 20 ms, a queue of ten: slow start overshoots, then a sawtooth.
fn queue(variant: Variant, trace: &'static str) -> Run {
    Run {
        config: config(variant, 64.0),
        megabits: 1.0,
        delay: 20,
        queue: 10,
        stop: 6.0,
        drops: &[],
        access: false,
        trace,
    }
}

/// With delayed acknowledgements.
fn delayed(variant: Variant, trace: &'static str) -> Run {
    const DROPS: &[usize] = &[30, 70, 71, 150, 152, 154, 200, 201, 202, 203, 204, 205];
    let mut config = config(variant, 30.0);
    config.receiver.delayed_ack = Some(DelayedAck::NS2);
    Run { config, megabits: 1.0, delay: 20, queue: 1000, stop: 5.0, drops: DROPS, access: false, trace }
}

/// 2 Mbit/s, 50 ms: losses in the first windows, where duplicates are too few.
fn start(variant: Variant, trace: &'static str) -> Run {
    Run {
        config: config(variant, 20.0),
        megabits: 2.0,
        delay: 50,
        queue: 1000,
        stop: 5.0,
        drops: &[2, 3, 9],
        access: false,
        trace,
    }
}

/// 7 Mbit/s, 31 ms, a queue of twenty, delayed acknowledgements: many losses at once.
fn narrow(variant: Variant, trace: &'static str) -> Run {
    let mut config = config(variant, 100.0);
    config.receiver.delayed_ack = Some(DelayedAck::NS2);
    Run { config, megabits: 7.0, delay: 31, queue: 20, stop: 2.0, drops: &[], access: true, trace }
}

against_ns2! {
    tahoe_repairs_losses_as_ns_2_does: Tahoe, "losses_tahoe", losses;
    reno_repairs_losses_as_ns_2_does: Reno, "losses_reno", losses;
    new_reno_repairs_losses_as_ns_2_does: NewReno, "losses_new_reno", losses;
    sack_repairs_losses_as_ns_2_does: Sack, "losses_sack", losses;
    tahoe_fills_a_short_queue_as_ns_2_does: Tahoe, "queue_tahoe", queue;
    reno_fills_a_short_queue_as_ns_2_does: Reno, "queue_reno", queue;
    new_reno_fills_a_short_queue_as_ns_2_does: NewReno, "queue_new_reno", queue;
    sack_fills_a_short_queue_as_ns_2_does: Sack, "queue_sack", queue;
    tahoe_takes_delayed_acks_as_ns_2_does: Tahoe, "delayed_tahoe", delayed;
    reno_takes_delayed_acks_as_ns_2_does: Reno, "delayed_reno", delayed;
    new_reno_takes_delayed_acks_as_ns_2_does: NewReno, "delayed_new_reno", delayed;
    sack_takes_delayed_acks_as_ns_2_does: Sack, "delayed_sack", delayed;
    tahoe_starts_as_ns_2_does: Tahoe, "start_tahoe", start;
    reno_starts_as_ns_2_does: Reno, "start_reno", start;
    new_reno_starts_as_ns_2_does: NewReno, "start_new_reno", start;
    sack_starts_as_ns_2_does: Sack, "start_sack", start;
    tahoe_overruns_a_queue_as_ns_2_does: Tahoe, "narrow_tahoe", narrow;
    reno_overruns_a_queue_as_ns_2_does: Reno, "narrow_reno", narrow;
    new_reno_overruns_a_queue_as_ns_2_does: NewReno, "narrow_new_reno", narrow;
    sack_overruns_a_queue_as_ns_2_does: Sack, "narrow_sack", narrow;
}
