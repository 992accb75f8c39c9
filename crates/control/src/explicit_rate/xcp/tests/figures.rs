//! Figures of Katabi, Handley and Rohrs, SIGCOMM 2002, with packets of 1000 bytes and the model's unlimited
//! queue.

use super::*;

#[test]
fn figure_8_thirty_flows_are_fair_with_equal_and_different_round_trip_times() {
    let equal = [(40, 0.0); 30];
    let different: [(u64, f64); 30] = core::array::from_fn(|i| (40 + 10 * i as u64, 0.0));
    for flows in [equal, different] {
        let results = dumbbell(XcpConfig::sigcomm(), 30.0, &flows).measured(20.0, 40.0);
        assert!(results.jain > 0.995 && results.utilization > 0.97, "{results:?}");
    }
}

#[test]
fn figure_10_flows_that_start_two_seconds_apart_share_at_once() {
    let flows = [(40, 0.0), (40, 2.0), (40, 4.0), (40, 6.0), (40, 8.0)];
    let mut model = dumbbell(XcpConfig::sigcomm(), 45.0, &flows);
    for count in 1..=5_usize {
        let start = 2.0 * (count - 1) as f64;
        let results = model.measured(start + 1.0, start + 2.0);
        let jain = crate::explicit_rate::model::jain(&results.rates[..count]);
        assert!(jain > 0.97 && results.utilization > 0.97, "{count}: {jain} {results:?}");
        assert!(results.mean_queue < 20.0, "{count}: {results:?}");
    }
}

#[test]
fn figure_11_a_hundred_flows_come_and_go_without_overflowing_a_bandwidth_delay_product() {
    let capacity = mbit(100.0);
    let law = XcpRouter::new(XcpConfig::sigcomm(), capacity, Instant::ZERO);
    let mut model = Model::new(Box::new(law), capacity);
    for flow in 0..110 {
        let sender = XcpSender::new(1000, 2.0, Demand::Rate(capacity), LossResponse::FallBack);
        let (start, stop) = if flow < 10 { (0, 100) } else { (4, 8) };
        let (start, stop) = (Instant::from_secs(start), Instant::from_secs(stop));
        model.add(Box::new(sender), Duration::from_millis(40), start, stop);
    }
    // 100 Mbit/s x 40 ms are 500 packets.
    let start = model.measured(1.0, 3.9);
    let crowd = model.measured(3.9, 7.9);
    let rest = model.measured(7.9, 12.0);
    for results in [&start, &crowd, &rest] {
        assert!(results.peak < 500, "{results:?}");
    }
    assert!(start.utilization > 0.97 && crowd.utilization > 0.95 && rest.utilization > 0.9, "{rest:?}");
}

/// Utilization and mean queue in bandwidth-delay products of 100 packets, with five flows of one round-trip
/// time.
fn at_rtt(config: XcpConfig, rtt_ms: u64) -> (f64, f64) {
    let rtt = rtt_ms as f64 / 1000.0;
    let mut model = dumbbell(config, 0.8 / rtt, &[(rtt_ms, 0.0); 5]);
    let results = model.measured(200.0 * rtt, 400.0 * rtt);
    (results.utilization, results.mean_queue / 100.0)
}

#[test]
fn the_controllers_are_stable_for_round_trip_times_of_a_millisecond_to_two_seconds() {
    for rtt_ms in [1, 10, 100, 500, 1000] {
        for config in READINGS {
            let (utilization, queue) = at_rtt(config(), rtt_ms);
            assert!(utilization > 0.97 && queue < 0.1, "{rtt_ms}: {utilization} {queue}");
        }
    }
    let config = XcpConfig { max_interval: Duration::from_secs(4), ..XcpConfig::draft() };
    let (utilization, queue) = at_rtt(config, 2000);
    assert!(utilization > 0.97 && queue < 0.1, "{utilization} {queue}");
    // Above the draft's MAX_INTERVAL the interval is shorter than the delay of the feedback: 95 %.
    let (utilization, queue) = at_rtt(XcpConfig::draft(), 2000);
    assert!(utilization > 0.93 && utilization < 0.97 && queue < 0.1, "{utilization} {queue}");
}
