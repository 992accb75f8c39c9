use super::super::{
    Guard, GuardConfig, LossClass, LossDifferentiation, LossGap, Omniscient, Overruled, PacketArrival, Scheme,
};
use super::{at, packet, verdict};
use std::boxed::Box;
use whimbrel_units::Duration;

/// A classifier that returns wireless for every loss.
#[derive(Debug, Default)]
struct AlwaysWireless {
    path_changes: u32,
}

impl LossDifferentiation for AlwaysWireless {
    fn on_arrival(&mut self, _: &PacketArrival) {}
    fn classify(&mut self, _: &LossGap) -> LossClass {
        LossClass::Wireless
    }

    fn on_path_change(&mut self) {
        self.path_changes += 1;
    }
}

fn guarded(config: GuardConfig) -> Guard {
    Guard::new(config, Some(Box::new(AlwaysWireless::default())))
}

/// `count` arrivals from `from` on, 10 ms apart.
fn arrive(guard: &mut Guard, from: u64, count: u64) {
    for sequence in from..from + count {
        guard.on_arrival(&packet(sequence, 10.0 * sequence as f64, 5.0));
    }
}

const LENIENT: GuardConfig =
    GuardConfig { young_packets: 0, young_time: Duration::ZERO, discounted_share: 1.0, discounted_loss: 1.0 };

#[test]
fn a_guard_is_young_until_enough_packets_have_arrived() {
    let mut guard = guarded(GuardConfig { young_packets: 100, ..LENIENT });
    arrive(&mut guard, 0, 99);
    assert_eq!(verdict(&mut guard, 1, 0.0, 20.0), LossClass::Congestion);
    assert_eq!(guard.overruled(), Some(Overruled::Young));
    arrive(&mut guard, 99, 1);
    assert_eq!(verdict(&mut guard, 1, 0.0, 20.0), LossClass::Wireless);
    assert_eq!((guard.overruled(), guard.overruled_packets()), (None, 1));
}

#[test]
fn a_guard_is_young_until_enough_time_has_passed() {
    let mut guard = guarded(GuardConfig { young_time: Duration::from_secs(2), ..LENIENT });
    arrive(&mut guard, 0, 200);
    assert_eq!(at(1990.0) - at(0.0), Duration::from_millis(1990));
    assert_eq!(verdict(&mut guard, 1, 0.0, 20.0), LossClass::Congestion);
    arrive(&mut guard, 200, 1);
    assert_eq!(verdict(&mut guard, 1, 0.0, 20.0), LossClass::Wireless);
}

#[test]
fn a_fraction_of_the_losses_always_counts() {
    let mut guard = guarded(GuardConfig { discounted_share: 0.5, ..LENIENT });
    arrive(&mut guard, 0, 100);
    // Of one loss, one is more than half; afterwards every other loss is discounted.
    for n in 0..10 {
        let expected = LossClass::wireless_if(n % 2 == 1);
        assert_eq!(verdict(&mut guard, 1, 0.0, 20.0), expected, "{n}");
    }
    assert_eq!(guard.overruled_packets(), 5);
}

#[test]
fn a_tenth_of_rare_losses_counts_too() {
    let mut guard = guarded(GuardConfig { discounted_share: 0.9, ..LENIENT });
    // 1 % of losses: five in the 512 recent packets.
    for n in 0..100 {
        arrive(&mut guard, 100 * n, 99);
        verdict(&mut guard, 1, 0.0, 20.0);
    }
    assert_eq!(guard.overruled_packets(), 10);
}

#[test]
fn with_standing_no_share_of_the_losses_counts_for_its_own_sake() {
    let mut guard = guarded(GuardConfig::of(Scheme::Standing));
    // One of 4 packets is lost, the third first.
    let mut packets = 0;
    for n in 0..2000 {
        let arrived = if n == 0 { 2 } else { 3 };
        arrive(&mut guard, packets, arrived);
        packets += arrived + 1;
        verdict(&mut guard, 1, 0.0, 20.0);
    }
    assert_eq!(guard.overruled_packets(), 0);
    // Two in five are too many.
    for n in 0..200 {
        let arrived = 1 + n % 2;
        arrive(&mut guard, packets, arrived);
        packets += arrived + 1;
        verdict(&mut guard, 1, 0.0, 20.0);
    }
    assert!(guard.overruled_packets() > 20, "{}", guard.overruled_packets());
}

#[test]
fn a_few_losses_at_first_are_no_excessive_loss() {
    let mut guard = guarded(GuardConfig { discounted_loss: 0.15, ..LENIENT });
    arrive(&mut guard, 0, 2);
    let discounted = (0..50).take_while(|_| verdict(&mut guard, 1, 0.0, 20.0) == LossClass::Wireless).count();
    assert_eq!((discounted, guard.overruled()), (15, Some(Overruled::Loss)), "of the first 100 packets");
}

#[test]
fn what_congestion_losses_leave_unused_is_limited() {
    let mut guard = guarded(GuardConfig { discounted_share: 0.9, ..LENIENT });
    // Forty losses in a row are too many, and count.
    arrive(&mut guard, 0, 500);
    assert_eq!(verdict(&mut guard, 40, 0.0, 20.0), LossClass::Congestion);
    let discounted =
        (0..100).take_while(|_| verdict(&mut guard, 1, 0.0, 20.0) == LossClass::Wireless).count();
    assert_eq!(discounted, 20, "and not nine for each of the forty");
}

#[test]
fn excessive_loss_counts_regardless_of_its_class() {
    let mut guard = guarded(GuardConfig { discounted_loss: 0.1, ..LENIENT });
    arrive(&mut guard, 0, 90);
    // 10 of 100 may be discounted.
    assert_eq!(verdict(&mut guard, 10, 0.0, 20.0), LossClass::Wireless);
    assert_eq!(verdict(&mut guard, 1, 0.0, 20.0), LossClass::Congestion);
    assert_eq!(guard.overruled(), Some(Overruled::Loss));
    // Two periods later the losses are no longer counted.
    arrive(&mut guard, 90, 2 * 256);
    assert_eq!(verdict(&mut guard, 10, 0.0, 20.0), LossClass::Wireless);
}

#[test]
fn a_guard_is_young_again_after_a_path_change() {
    let mut guard = guarded(GuardConfig { young_packets: 10, ..LENIENT });
    arrive(&mut guard, 0, 10);
    assert_eq!(verdict(&mut guard, 1, 0.0, 20.0), LossClass::Wireless);
    guard.on_path_change();
    assert_eq!(verdict(&mut guard, 1, 0.0, 20.0), LossClass::Congestion);
    assert_eq!(guard.overruled(), Some(Overruled::Young));
}

#[test]
fn a_guard_does_not_change_congestion_losses() {
    let mut guard = Guard::new(LENIENT, None);
    arrive(&mut guard, 0, 10);
    assert_eq!(verdict(&mut guard, 1, 0.0, 20.0), LossClass::Congestion);
    assert_eq!((guard.overruled(), guard.overruled_packets()), (None, 0));
}

#[test]
fn a_guard_also_bounds_the_omniscient_classifier() {
    let config = GuardConfig { discounted_loss: 0.1, ..LENIENT };
    let mut guard = Guard::new(config, Some(Box::new(Omniscient::new())));
    arrive(&mut guard, 0, 85);
    for sequence in 100..120 {
        guard.inform(sequence, LossClass::Wireless);
    }
    let class = verdict(&mut guard, 15, 0.0, 20.0);
    assert_eq!(class, LossClass::Congestion, "it bounds the class when the packet is declared lost");
    // 10 of 85 + 15 may be discounted.
    for sequence in 100..115 {
        let expected = LossClass::wireless_if(sequence < 110);
        assert_eq!(guard.final_class(sequence, class), expected, "{sequence}");
    }
    assert_eq!((guard.overruled(), guard.overruled_packets()), (Some(Overruled::Loss), 5));
}
