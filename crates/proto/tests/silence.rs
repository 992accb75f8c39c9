//! The end of a silence: while feedback is missing, the nofeedback timer halves the rate, and a sender that
//! waits for the next datagram at that rate learns late that the path carries packets again.

use crate::stream;

use stream::{DataSource, Stream, StreamPlan, Trouble};
use whimbrel_proto::Ccid;
use whimbrel_units::{DataRate, Duration};

/// Milliseconds from the return of a path with a round-trip time of 40 ms, after a fade of `fade` ms, until a
/// datagram arrives, and until half of the rate of 1.3 Mbit/s does.
fn waits(fade: u64, probes: bool) -> [u64; 2] {
    let source = DataSource { from: 0, size: 1000, interval: Duration::from_nanos(6_153_846) };
    let back = 10_000 + fade;
    let plan = StreamPlan {
        ccid: Ccid::TFRC,
        rate: DataRate::from_megabits_per_second(4.0),
        one_way: Duration::from_millis(20),
        queue: 50,
        sources: vec![source],
        troubles: vec![(10_000, back, Trouble::Fade)],
    };
    let mut stream = Stream::new(plan, |config| config.tune_tfrc(|tfrc| tfrc.probes_silence = probes));
    stream.run_until(back);
    let mut waits = [None; 2];
    for ms in (10..5_000).step_by(10) {
        let rate = stream.run_until(back + ms).as_bytes_per_second();
        for (wait, least) in waits.iter_mut().zip([1.0, 81_250.0]) {
            if rate >= least {
                wait.get_or_insert(ms);
            }
        }
    }
    waits.map(|wait| wait.expect("the stream goes on"))
}

#[test]
fn a_datagram_arrives_within_two_round_trips_and_a_half_of_the_paths_return() {
    let (mut latest, mut latest_without) = ([0; 2], [0; 2]);
    // The phases of the return, in the time between two probes.
    for fade in (0..8).map(|n| 2_000 + 35 * n) {
        let (with, without) = (waits(fade, true), waits(fade, false));
        latest = [0, 1].map(|n| with[n].max(latest[n]));
        latest_without = [0, 1].map(|n| without[n].max(latest_without[n]));
    }
    // A probe each round-trip time, its answer, and the way of the datagram; a round trip later its report.
    assert!(latest[0] <= 110 && latest[1] <= 200, "{latest:?} and {latest_without:?} ms without probes");
    assert!(latest_without[0] > 150, "{latest_without:?} ms without probes");
}
