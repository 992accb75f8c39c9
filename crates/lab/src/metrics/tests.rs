use whimbrel_control::loss_differentiation::{Evidence, LossClass};
use whimbrel_netsim::random::RandomStreams;
use whimbrel_netsim::{Agent, Ecn, LinkConfig, LossCause, SimulationConfig, Simulator};
use whimbrel_units::{DataRate, Duration, Instant};

use super::*;
use crate::transport::FlowAgent;

#[test]
fn jitter_is_the_smoothed_change_of_delay() {
    let mut jitter = Jitter::default();
    assert_eq!(jitter.seconds(), None);
    // RFC 3550: J += (|D| - J) / 16.
    for (delay, expected) in [(20, 0.0), (36, 0.001), (36, 0.000_937_5), (20, 0.001_878_906_25)] {
        jitter.on_packet(Duration::from_millis(delay));
        assert!((jitter.seconds().unwrap() - expected).abs() < 1e-12);
    }
}

#[test]
fn delays_keep_their_moments_and_quantiles() {
    let mut delays = DelayStatistics::default();
    assert_eq!((delays.mean(), delays.quantile(0.5), delays.least()), (None, None, None));
    for millis in 1..=1000 {
        delays.add(Duration::from_millis(millis));
    }
    assert!((delays.mean().unwrap() - 0.5005).abs() < 1e-9);
    // The variance of 1..n is (n^2 - 1) / 12.
    assert!((delays.standard_deviation().unwrap() - ((1e6f64 - 1.0) / 12.0).sqrt() * 1e-3).abs() < 1e-9);
    assert_eq!((delays.least(), delays.greatest()), (Some(0.001), Some(1.0)));
    for (share, expected) in [(0.5, 0.5), (0.95, 0.95), (0.99, 0.99)] {
        let quantile = delays.quantile(share).unwrap();
        assert!((quantile / expected - 1.0).abs() < 0.016, "{share}: {quantile}");
    }
    assert_eq!(delays.quantile(1.0), Some(1.0));
}

#[test]
fn quantiles_have_the_documented_accuracy_over_many_magnitudes() {
    let mut random = RandomStreams::new(1, 0).stream("test", "delays");
    let mut delays = DelayStatistics::default();
    let mut all: Vec<u64> = (0..20_000)
        .map(|_| (libm::exp2(random.uniform_between(0.0, 40.0))) as u64)
        .inspect(|nanos| delays.add(Duration::from_nanos(*nanos)))
        .collect();
    all.sort_unstable();
    for share in [0.001, 0.1, 0.25, 0.5, 0.9, 0.999] {
        let exact = all[(share * all.len() as f64).ceil() as usize - 1] as f64 * 1e-9;
        let quantile = delays.quantile(share).unwrap();
        assert!((quantile - exact).abs() <= 0.016 * exact + 1e-9, "{share}: {quantile} for {exact}");
    }
}

/// Two links in a row, as the network names them.
fn links() -> [whimbrel_netsim::LinkId; 2] {
    let mut simulator: Simulator<FlowAgent> = Simulator::new(SimulationConfig::default());
    let [a, b, c] = ["a", "b", "c"].map(|name| simulator.add_node(name));
    let config = || LinkConfig::new(DataRate::from_megabits_per_second(1.0), Duration::ZERO);
    [simulator.add_link(a, b, config()), simulator.add_link(b, c, config())]
}

fn packet_info(sequence: u64, sent: u64) -> PacketInfo {
    PacketInfo { sequence, tag: sequence, sent: Instant::from_millis(sent), size: 100 }
}

#[test]
fn packets_that_leave_the_bottleneck_count_whatever_their_outcome() {
    let [bottleneck, behind] = links();
    let mut meter = Meter::new(Instant::ZERO, &[bottleneck, behind], Recording::default());
    let now = Instant::from_millis(50);
    meter.on_received(now, packet_info(1, 10), 80, Ecn::Ce);
    meter.on_lost(now, packet_info(2, 20), LossCause::QueueOverflow(bottleneck));
    meter.on_lost(now, packet_info(3, 30), LossCause::Wireless(bottleneck));
    meter.on_lost(now, packet_info(4, 30), LossCause::LinkDown(bottleneck));
    meter.on_lost(now, packet_info(5, 30), LossCause::QueueOverflow(behind));
    let counters = meter.counters();
    assert_eq!((counters.received_packets, counters.delivered_bytes, counters.marked_packets), (1, 80, 1));
    assert_eq!((counters.lost_queue, counters.lost_wireless, counters.lost_down), (2, 1, 1));
    assert_eq!((counters.bottleneck_packets, counters.bottleneck_bytes), (3, 300));
}

/// A packet lost to the radio, one to a queue, and one to the radio.
fn three_losses(meter: &mut Meter) {
    let [link, _] = links();
    let causes = [LossCause::Wireless(link), LossCause::QueueOverflow(link), LossCause::Wireless(link)];
    for (sequence, cause) in (0..).zip(causes) {
        meter.on_lost(Instant::from_secs(1), packet_info(sequence, 0), cause);
    }
}

/// For congestion and for wireless losses: the number classified, and the number of these classified wrongly.
fn classified(meter: &Meter) -> [(u64, u64); 2] {
    let counters = meter.counters();
    [
        (counters.congestion_judged, counters.congestion_misclassified),
        (counters.wireless_judged, counters.wireless_misclassified),
    ]
}

fn losses_on_record() -> Meter {
    Meter::new(Instant::ZERO, &[], Recording { losses: true, packets: false })
}

#[test]
fn without_a_classifier_every_loss_counts_as_congestion() {
    let mut meter = losses_on_record();
    three_losses(&mut meter);
    assert_eq!(classified(&meter), [(1, 0), (2, 2)]);
    assert!(meter.losses().iter().all(|row| row.classification == Some(ClassifiedLoss::UNCLASSIFIED)));
}

#[test]
fn verdicts_are_compared_with_the_true_cause_on_arrival() {
    let mut meter = losses_on_record().with_verdicts();
    three_losses(&mut meter);
    assert_eq!(classified(&meter), [(0, 0), (0, 0)]);
    let [right, wrong] = [LossClass::Wireless, LossClass::Congestion].map(|cause| ClassifiedLoss {
        cause,
        evidence: Evidence::InterArrival {
            interval: Duration::from_millis(20),
            minimum: Duration::from_millis(10),
            count: 1,
        },
        overruled: None,
    });
    meter.on_classified(0, right);
    meter.on_classified(1, right);
    // A packet that was not lost, and one that was classified before.
    meter.on_classified(7, wrong);
    meter.on_classified(0, wrong);
    assert_eq!(classified(&meter), [(1, 1), (1, 0)]);
    meter.on_classified(2, wrong);
    assert_eq!(classified(&meter), [(1, 1), (2, 1)]);
    let judgements: Vec<_> = meter.losses().iter().map(|row| row.classification).collect();
    assert_eq!(judgements, [Some(right), Some(right), Some(wrong)]);
}

#[test]
fn the_warm_up_stays_out_of_the_distributions_and_late_packets_are_reordered() {
    let mut meter = Meter::new(Instant::from_secs(1), &[], Recording::default());
    meter.on_received(Instant::from_millis(900), packet_info(0, 100), 10, Ecn::NotEct);
    meter.on_received(Instant::from_millis(1100), packet_info(2, 1050), 10, Ecn::NotEct);
    meter.on_received(Instant::from_millis(1100), packet_info(1, 1040), 10, Ecn::NotEct);
    assert_eq!(meter.delay().count(), 2);
    assert_eq!(meter.delay().greatest(), Some(0.06));
    assert_eq!(meter.counters().reordered_packets, 1);
    assert_eq!(meter.counters().received_packets, 3);
}

#[test]
fn an_idle_agent_requests_no_wake_up() {
    let meter = Meter::new(Instant::ZERO, &[], Recording::default());
    let mut sink = FlowAgent::UdpSink(crate::transport::udp::UdpSink::new(meter));
    assert!(sink.poll_transmit(Instant::ZERO).is_none());
    assert_eq!(sink.poll_timeout(), None);
}
