mod biaz;
mod classify;
mod clock_skew;
mod common_size;
mod guard;
mod naive;
mod recording;
mod robust;
mod sequence_bits;
mod spike;
mod standing;
mod stream;
mod zbs;
mod zigzag;

use whimbrel_units::{ByteCount, Duration, Instant};

use super::{LossClass, LossDifferentiation, LossGap, Omniscient, PacketArrival, Scheme};

#[test]
fn the_omniscient_classifier_returns_the_reported_cause() {
    let mut oracle = Omniscient::new();
    oracle.inform(7, LossClass::Wireless);
    oracle.inform(8, LossClass::Congestion);
    assert_eq!(oracle.final_class(7, LossClass::Congestion), LossClass::Wireless);
    assert_eq!(oracle.final_class(8, LossClass::Congestion), LossClass::Congestion);
}

#[test]
fn an_unreported_loss_is_congestion() {
    let mut oracle = Omniscient::new();
    assert_eq!(oracle.final_class(7, LossClass::Congestion), LossClass::Congestion);
}

#[test]
fn the_oldest_reports_are_dropped_first() {
    let mut oracle = Omniscient::new();
    for sequence in 0..=Omniscient::MEMORY as u64 {
        oracle.inform(sequence, LossClass::Wireless);
    }
    assert_eq!(oracle.final_class(0, LossClass::Congestion), LossClass::Congestion);
    assert_eq!(oracle.final_class(1, LossClass::Congestion), LossClass::Wireless);
}

/// Milliseconds after an epoch that leaves room for negative trip times.
fn at(ms: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(100.0 + ms / 1e3)
}

/// A data packet with a trip time of `rott` milliseconds and synchronised clocks.
fn packet(sequence: u64, arrival_ms: f64, rott_ms: f64) -> PacketArrival {
    PacketArrival {
        at: at(arrival_ms),
        sequence,
        size: ByteCount::new(500),
        sent: Some(at(arrival_ms - rott_ms)),
    }
}

/// Class by `algorithm` of `count` packets missing between two arrivals.
fn verdict(algorithm: &mut dyn LossDifferentiation, count: u64, before_ms: f64, after_ms: f64) -> LossClass {
    algorithm.classify(&LossGap { first: 1, count, before: at(before_ms), after: at(after_ms) })
}

#[test]
fn names_and_schemes_correspond() {
    for scheme in Scheme::ALL {
        assert_eq!(scheme.name().parse(), Ok(scheme));
    }
    let error = "zigzig".parse::<Scheme>().unwrap_err();
    assert_eq!(
        std::format!("{error}"),
        "expected one of biaz, mbiaz, spike, zigzag, zbs, zbs2, zbs3, inherent, standing, omniscient"
    );
}

#[test]
fn an_algorithm_without_statistics_classifies_losses_as_congestion() {
    for scheme in Scheme::ALL {
        let mut algorithm = scheme.build();
        assert_eq!(verdict(&mut *algorithm, 1, 0.0, 20.0), LossClass::Congestion, "{scheme}");
    }
}

#[test]
fn without_send_times_the_schemes_that_need_them_return_congestion() {
    for scheme in Scheme::ALL.into_iter().filter(|scheme| scheme.needs_send_times()) {
        let mut algorithm = scheme.build();
        // T_narr stays below 0.95, so that the hybrids stay with ZigZag.
        for (sequence, ms) in [(0, 0.0), (2, 10.0), (4, 20.0), (6, 30.0)] {
            algorithm.on_arrival(&PacketArrival { sent: None, ..packet(sequence, ms, 0.0) });
        }
        assert_eq!(verdict(&mut *algorithm, 1, 20.0, 30.0), LossClass::Congestion, "{scheme}");
    }
}

#[test]
fn a_path_change_resets_the_statistics() {
    for scheme in Scheme::ALL.into_iter().filter(|scheme| *scheme != Scheme::Omniscient) {
        let mut algorithm = scheme.build();
        for sequence in 0..60 {
            algorithm.on_arrival(&packet(sequence, 10.0 * sequence as f64, 20.0));
        }
        algorithm.on_path_change();
        assert_eq!(verdict(&mut *algorithm, 1, 590.0, 610.0), LossClass::Congestion, "{scheme}");
    }
}
