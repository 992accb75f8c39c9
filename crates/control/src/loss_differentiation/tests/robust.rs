//! T_min on real links: duplicates, coalesced receives, jitter.

use std::vec::Vec;

use super::super::{LossClass, LossDifferentiation, PacketArrival, Parameters, Scheme, classify};
use super::packet;

/// Knuth's MMIX linear congruential generator.
struct Lcg(u64);

impl Lcg {
    fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

const SCHEMES: [Scheme; 2] = [Scheme::Biaz, Scheme::ModifiedBiaz];

fn robust(scheme: Scheme) -> std::boxed::Box<dyn LossDifferentiation> {
    scheme.build_with(&Parameters::ROBUST)
}

/// A packet every 10 ms from a link that is always busy; every 20th is lost on the wireless link. `late_ms`
/// delays each.
fn busy_link(count: u64, mut late_ms: impl FnMut(u64) -> f64) -> Vec<PacketArrival> {
    let arrives = |number: &u64| number % 20 != 19;
    (0..count)
        .filter(arrives)
        .map(|number| packet(number, 10.0 * number as f64 + late_ms(number), 20.0))
        .collect()
}

/// Fraction of the losses classified as wireless after the first 300 packets.
fn wireless_share(algorithm: &mut dyn LossDifferentiation, arrivals: Vec<PacketArrival>) -> f64 {
    let losses: Vec<_> = classify(algorithm, arrivals).into_iter().filter(|loss| loss.first > 300).collect();
    let wireless = losses.iter().filter(|loss| loss.cause == LossClass::Wireless).count();
    wireless as f64 / losses.len() as f64
}

#[test]
fn a_single_duplicate_does_not_affect_t_min() {
    for scheme in SCHEMES {
        let mut arrivals = busy_link(2000, |_| 0.0);
        // The fifth packet is duplicated, and so is the one directly before a packet that reveals a loss.
        let repeated = [(5, arrivals[5]), (400, arrivals[400])];
        for (place, one) in repeated.into_iter().rev() {
            arrivals.insert(place, one);
        }
        assert_eq!(wireless_share(&mut *robust(scheme), arrivals.clone()), 1.0, "{scheme}");
        // As published, the duplicate has a permanent effect.
        assert_eq!(wireless_share(&mut *scheme.build(), arrivals), 0.0, "{scheme}");
    }
}

#[test]
fn a_duplicate_before_the_revealing_packet_is_not_the_packet_before_the_gap() {
    let mut arrivals = busy_link(600, |_| 0.0);
    // A duplicate of the packet before each loss arrives 1 ms before the packet that reveals it.
    for number in (319..600u64).step_by(20) {
        let place = arrivals.iter().position(|one| one.sequence == number + 1);
        if let Some(place) = place {
            let copy = packet(number - 1, 10.0 * (number + 1) as f64 - 1.0, 20.0);
            arrivals.insert(place, copy);
        }
    }
    for scheme in SCHEMES {
        assert_eq!(wireless_share(&mut *robust(scheme), arrivals.clone()), 1.0, "{scheme}");
    }
}

#[test]
fn receives_that_are_coalesced_do_not_make_t_min_zero() {
    // In the second half of the first 300 packets, four at a time are delivered with the arrival time of the
    // fourth.
    let late = |number: u64| if (160..280).contains(&number) { 10.0 * (3 - number % 4) as f64 } else { 0.0 };
    for scheme in SCHEMES {
        assert_eq!(wireless_share(&mut *robust(scheme), busy_link(2000, late)), 1.0, "{scheme}");
        assert_eq!(wireless_share(&mut *scheme.build(), busy_link(2000, late)), 0.0, "{scheme}");
    }
}

#[test]
fn jitter_widens_the_window_by_its_spread() {
    for (jitter_ms, least) in [(0.25, 0.97), (0.5, 0.95), (1.0, 0.85)] {
        let mut random = Lcg(5);
        let arrivals = busy_link(6000, |_| jitter_ms * (2.0 * random.fraction() - 1.0));
        let found = wireless_share(&mut *robust(Scheme::ModifiedBiaz), arrivals.clone());
        assert!(found >= least, "{jitter_ms} ms: {found}");
        if jitter_ms >= 0.5 {
            let published = wireless_share(&mut *Scheme::ModifiedBiaz.build(), arrivals);
            assert!(published < 0.7, "{jitter_ms} ms: {published} as published");
        }
    }
}

#[test]
fn with_jitter_a_packet_dropped_by_a_full_queue_is_still_recognised() {
    // The queue dropped every 20th before it was sent: the next arrives 10 ms after the previous one, not 20.
    let mut random = Lcg(6);
    let arrivals: Vec<_> = (0..6000u64)
        .filter(|number| number % 20 != 19)
        .enumerate()
        .map(|(place, number)| packet(number, 10.0 * place as f64 + 2.0 * random.fraction(), 20.0))
        .collect();
    for scheme in SCHEMES {
        assert_eq!(wireless_share(&mut *robust(scheme), arrivals.clone()), 0.0, "{scheme}");
    }
}

#[test]
fn every_loss_is_congestion_if_jitter_hides_the_packet_time() {
    let mut random = Lcg(7);
    let mut arrivals = busy_link(6000, |_| 12.0 * random.fraction());
    arrivals.sort_by_key(|arrival| arrival.at);
    let found = wireless_share(&mut *robust(Scheme::ModifiedBiaz), arrivals);
    assert!(found < 0.2, "{found}");
}

#[test]
fn without_jitter_the_estimate_is_the_minimum_interval() {
    for scheme in SCHEMES {
        let [robust, published] = [robust(scheme), scheme.build()]
            .map(|mut algorithm| classify(&mut *algorithm, busy_link(3000, |_| 0.0)));
        let causes = |losses: &[super::super::ClassifiedLoss]| {
            losses.iter().map(|loss| loss.cause).collect::<Vec<_>>()
        };
        assert_eq!(causes(&robust), causes(&published), "{scheme}");
    }
}

#[test]
fn resequenced_packets_yield_no_inter_arrival_time() {
    // Packets that waited for preceding ones are presented after these, with earlier times.
    let mut arrivals = busy_link(2000, |_| 0.0);
    for pair in arrivals.chunks_exact_mut(50) {
        let at = pair[10].at;
        (pair[10].at, pair[11].at) = (pair[11].at, at);
    }
    for scheme in SCHEMES {
        let share = wireless_share(&mut *robust(scheme), arrivals.clone());
        assert!(share > 0.9, "{scheme}: {share}");
    }
}
