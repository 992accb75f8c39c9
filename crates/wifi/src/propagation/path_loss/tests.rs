use super::super::{LinkBudget, Radio, from_decibels, to_decibels};
use super::*;

fn budget(path_loss: PathLoss) -> LinkBudget {
    LinkBudget::new(&path_loss, &Radio::NS2, &Radio::NS2)
}

fn power(path_loss: PathLoss, distance: f64) -> f64 {
    budget(path_loss).power(distance * distance)
}

#[test]
fn free_space_loss_at_2_4_ghz_is_that_of_the_textbooks() {
    // 20 log10(4 pi d f / c): 40.05 dB at 1 m and 2.4 GHz with c = 3e8, and 20 dB per decade.
    let radio = Radio { frequency: 2.4e9, transmit_power: 0.1, ..Radio::NS2 };
    let budget = LinkBudget::new(&PathLoss::Friis, &radio, &radio);
    for (distance, loss) in [(1.0, 40.05), (10.0, 60.05), (100.0, 80.05)] {
        let measured = to_decibels(0.1 / budget.power(distance * distance));
        assert!((measured - loss).abs() < 0.005, "{measured} dB at {distance} m");
    }
}

#[test]
fn two_ray_ground_is_free_space_up_to_the_crossover_and_continuous_there() {
    let crossover = PathLoss::crossover_distance(&Radio::NS2, &Radio::NS2);
    // 4 pi 1.5^2 / (3e8 / 914e6).
    assert!((crossover - 86.142).abs() < 0.001, "{crossover}");
    assert_eq!(power(PathLoss::TwoRayGround, 80.0), power(PathLoss::Friis, 80.0));
    let (before, after) = (
        power(PathLoss::TwoRayGround, crossover * (1.0 - 1e-9)),
        power(PathLoss::TwoRayGround, crossover * (1.0 + 1e-9)),
    );
    assert!((before / after - 1.0).abs() < 1e-7);
    // Beyond: a factor of 16 for twice the distance.
    let ratio = power(PathLoss::TwoRayGround, 200.0) / power(PathLoss::TwoRayGround, 400.0);
    assert!((ratio - 16.0).abs() < 1e-12, "{ratio}");
}

#[test]
fn two_ray_ground_gives_ns2s_powers() {
    // Pt ht^2 hr^2 / d^4 with ns-2's constants: the thresholds of ns-default.tcl for 250 m and 550 m, to
    // their digits.
    assert!((power(PathLoss::TwoRayGround, 250.0) - 3.652_622e-10).abs() < 1e-16);
    assert!((power(PathLoss::TwoRayGround, 550.0) - 1.559_244e-11).abs() < 1e-17);
}

#[test]
fn log_distance_falls_by_ten_times_the_exponent_per_decade() {
    let law = PathLoss::LogDistance { exponent: 3.5, reference: 2.0 };
    assert_eq!(power(law, 2.0), power(PathLoss::Friis, 2.0));
    assert_eq!(power(law, 1.0), power(law, 2.0));
    let decade = to_decibels(power(law, 10.0) / power(law, 100.0));
    assert!((decade - 35.0).abs() < 1e-9, "{decade}");
}

#[test]
fn an_exponent_of_two_is_free_space() {
    let law = PathLoss::LogDistance { exponent: 2.0, reference: 1.0 };
    for distance in [1.0, 7.0, 300.0] {
        let ratio = power(law, distance) / power(PathLoss::Friis, distance);
        assert!((ratio - 1.0).abs() < 1e-12);
    }
}

#[test]
fn received_power_never_exceeds_the_power_sent() {
    for law in
        [PathLoss::Friis, PathLoss::TwoRayGround, PathLoss::LogDistance { exponent: 3.0, reference: 1e-4 }]
    {
        for distance in [0.0, 1e-9, 1e-3] {
            assert_eq!(power(law, distance), Radio::NS2.transmit_power, "{law:?}");
        }
    }
}

#[test]
fn the_range_is_the_inverse_of_the_power() {
    for law in
        [PathLoss::Friis, PathLoss::TwoRayGround, PathLoss::LogDistance { exponent: 3.3, reference: 1.0 }]
    {
        for distance in [5.0, 50.0, 86.0, 87.0, 250.0, 5_000.0] {
            let range = budget(law).range(power(law, distance));
            assert!((range / distance - 1.0).abs() < 1e-9, "{law:?}: {range} for {distance}");
        }
        assert_eq!(budget(law).range(1.0), 0.0, "more power than is sent");
    }
}

#[test]
fn antenna_gains_and_system_loss_scale_the_power() {
    let strong = Radio { antenna_gain: from_decibels(3.0), ..Radio::NS2 };
    let lossy = Radio { system_loss: from_decibels(2.0), ..strong };
    let reference = power(PathLoss::TwoRayGround, 100.0);
    let gain = LinkBudget::new(&PathLoss::TwoRayGround, &strong, &strong).power(1e4);
    assert!((to_decibels(gain / reference) - 6.0).abs() < 1e-9);
    let loss = LinkBudget::new(&PathLoss::TwoRayGround, &lossy, &strong).power(1e4);
    assert!((to_decibels(loss / reference) - 4.0).abs() < 1e-9);
}
