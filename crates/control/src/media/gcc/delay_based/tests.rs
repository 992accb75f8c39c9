//! libwebrtc's `delay_based_bwe_unittest.cc`: frames through a link that transmits one packet after the
//! other. Its times and rates are the reference's.

use super::*;
use crate::media::gcc::ThroughputRule;
use crate::media::gcc::throughput::Throughput;
use crate::media::{Reception, SentPacket};
use alloc::vec::Vec;
use whimbrel_units::{ByteCount, Ecn};

fn kbps(rate: f64) -> DataRate {
    DataRate::from_kilobits_per_second(rate)
}

struct Stream {
    estimator: DelayBased,
    throughput: Throughput,
    /// Frames in a second.
    frame_rate: f64,
    /// Capacity of the link in kbit/s, and the arrival time of its last packet in s.
    capacity: f64,
    last_arrival: f64,
    /// Time of sending of the next frame in s.
    now: f64,
    /// Offset of the receiver's clock in s.
    offset: f64,
    /// Estimate in kbit/s, once there is one.
    estimate: Option<f64>,
}

impl Stream {
    fn new(frame_rate: f64, capacity: f64) -> Self {
        Self {
            estimator: DelayBased::new(DelayConfig::default()),
            throughput: Throughput::new(ThroughputRule::Robust),
            frame_rate,
            capacity,
            last_arrival: 0.0,
            now: 100.0,
            offset: 1000.0,
            estimate: None,
        }
    }

    /// Sends a frame at `rate` kbit/s and processes the report on it; `true` if the estimate is updated.
    fn frame(&mut self, rate: f64) -> bool {
        let bits = rate * 1e3 / self.frame_rate;
        let packets = (bits / 9600.0).round().max(1.0);
        let size = ByteCount::new((bits / packets / 8.0).round() as u64);
        let mut reports = Vec::new();
        for _ in 0..packets as u64 {
            let time = size.bits() as f64 / self.capacity / 1e3;
            self.last_arrival = (self.now.max(self.last_arrival)) + time;
            let sent_at = Instant::from_secs_f64(self.now);
            let sent = SentPacket { sequence: 0, sent_at, captured_at: sent_at, size, probe: None };
            let at = Instant::from_secs_f64(self.last_arrival + self.offset);
            reports.push(PacketReport { sent, reception: Reception::Arrived { at, ecn: Ecn::NotEct } });
        }
        self.throughput.record(&reports);
        let now = Instant::from_secs_f64(self.last_arrival);
        let outcome = self.estimator.process(&reports, self.throughput.rate(), None, now);
        if let Some(rate) = outcome.rate {
            self.estimate = Some(rate.as_bits_per_second() / 1e3);
        }
        self.now += 1.0 / self.frame_rate;
        outcome.rate.is_some()
    }
}

#[test]
fn a_stream_without_congestion_grows_to_one_and_a_half_times_its_throughput() {
    // 480 kbit/s for 5 s: the reference expects 730 +- 50.
    let mut stream = Stream::new(50.0, 1e6);
    for frame in 0..253 {
        stream.frame(480.0);
        if frame == 4 {
            // The first packets are a probe.
            let now = Instant::from_secs_f64(stream.now);
            stream.estimator.aimd().set_rate(kbps(480.0), now);
        }
    }
    let estimate = stream.estimate.unwrap_or(f64::NAN);
    assert!((estimate - 730.0).abs() < 50.0, "{estimate}");
}

#[test]
fn the_estimate_grows_from_30_to_500_kbps_in_the_references_time() {
    let mut stream = Stream::new(30.0, 1000.0);
    let (mut rate, mut frames) = (30.0, 0);
    while rate < 500.0 && frames < 2000 {
        stream.frame(rate);
        rate = stream.estimate.unwrap_or(rate);
        frames += 1;
    }
    assert_eq!(frames, 617);
}

/// Time in ms from a fall of the capacity from 1000 to 500 kbit/s to the estimate below 500, where the
/// receiver's clock is set by `jump` seconds at the same time.
fn capacity_drop(jump: f64) -> f64 {
    let mut stream = Stream::new(30.0, 1000.0);
    let mut rate = 900.0;
    let mut has_decreased = false;
    for _ in 0..300 {
        let before = rate;
        let is_first = stream.estimate.is_none();
        stream.frame(rate);
        rate = stream.estimate.unwrap_or(rate);
        if !is_first && rate < before {
            assert!(rate > 800.0 && rate < 1100.0, "{rate}");
            has_decreased = true;
        }
        if has_decreased && rate > 1000.0 {
            break;
        }
    }
    assert!(has_decreased);
    assert!((rate - 1000.0).abs() < 180.0, "{rate}");
    stream.offset += jump;
    stream.capacity = 500.0;
    let began = stream.now;
    for _ in 0..100 {
        stream.frame(rate);
        rate = stream.estimate.unwrap_or(rate);
        if rate <= 500.0 {
            return (stream.now - began) * 1e3;
        }
    }
    f64::NAN
}

#[test]
fn a_fall_of_the_capacity_is_detected_in_the_references_time() {
    for (jump, expected) in [(0.0, 500.0), (30.0, 867.0), (-30.0, 933.0)] {
        // The reference's tolerance is a frame.
        let time = capacity_drop(jump);
        assert!((time - expected).abs() < 34.0, "{jump} s: {time} ms");
    }
}

#[test]
fn overuse_before_any_throughput_is_known_lowers_the_estimate() {
    // 300 kbit/s over 200 kbit/s, 90 frames in a second, 40 of them.
    let mut stream = Stream::new(90.0, 200.0);
    stream.estimator.aimd().set_start(kbps(300.0));
    let mut rate = 300.0;
    for _ in 0..40 {
        stream.frame(rate);
        let estimate = stream.estimate.unwrap_or(rate);
        if estimate < rate {
            rate = estimate;
            break;
        }
        rate = estimate;
    }
    assert!(rate <= 200.0 && rate > 160.0, "{rate}");
}
