use std::vec::Vec;

use super::{Field, Place, Shadowing};
use crate::level::Decibels;
use crate::radio::Metres;

const SEEDS: u64 = 4_000;

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn the_correlation_falls_exponentially_with_the_distance() {
    // Steps of a second's fiftieth at 30 km/h, of 1 m, and of the correlation distance in another direction.
    for (step, correlation, expected) in [
        ((1.0 / 6.0, 0.0), 50.0, 0.996_672),
        ((1.0, 0.0), 37.0, 0.973_335),
        ((0.0, 1.0), 10.0, 0.904_837),
        ((22.2, 29.6), 37.0, 0.367_879),
    ] {
        let product = |seed| {
            let field = Field::new(Metres(correlation), seed);
            let origin = Place { x: 120.0, y: -40.0 };
            field.value(origin) * field.value(Place { x: origin.x + step.0, y: origin.y + step.1 })
        };
        let variance = |seed| {
            let field = Field::new(Metres(correlation), seed);
            let value = field.value(Place { x: 120.0, y: -40.0 });
            value * value
        };
        let found = mean((0..SEEDS).map(product)) / mean((0..SEEDS).map(variance));
        // The error of a correlation r of n pairs is about sqrt((1 - r^2) / n).
        let bound = 4.0 * libm::sqrt((1.0 - expected * expected) / SEEDS as f64);
        assert!(
            (found - expected).abs() < bound,
            "{step:?} of {correlation} m: {found}, expected {expected}"
        );
    }
}

#[test]
fn values_are_normal() {
    let values: Vec<f64> =
        (0..SEEDS).map(|seed| Field::new(Metres(50.0), seed).value(Place { x: 3.0, y: 4.0 })).collect();
    let variance = mean(values.iter().map(|value| value * value));
    assert!(mean(values.iter().copied()).abs() < 4.0 / libm::sqrt(SEEDS as f64));
    assert!((variance - 1.0).abs() < 0.09, "{variance}");
    // 2.5 % are below -1.96, 15.87 % above 1.
    let share =
        |test: fn(f64) -> bool| values.iter().filter(|value| test(**value)).count() as f64 / SEEDS as f64;
    assert!((share(|value| value < -1.96) - 0.025).abs() < 0.01);
    assert!((share(|value| value > 1.0) - 0.1587).abs() < 0.024);
}

#[test]
fn sites_share_a_part_of_the_shadow() {
    let pairs: Vec<(f64, f64)> = (0..SEEDS)
        .map(|seed| {
            let shadowing = Shadowing::new(Decibels(8.0), Metres(50.0), 0.5, seed);
            let loss = |site| shadowing.loss(&shadowing.site(site), Place { x: 10.0, y: 20.0 }).0;
            (loss(0), loss(1))
        })
        .collect();
    let variance = mean(pairs.iter().map(|(first, _)| first * first));
    assert!((libm::sqrt(variance) - 8.0).abs() < 0.4, "{variance}");
    let correlation = mean(pairs.iter().map(|(first, second)| first * second)) / variance;
    assert!((correlation - 0.5).abs() < 0.06, "{correlation}");
}

#[test]
fn a_place_has_one_shadow() {
    let shadowing = Shadowing::new(Decibels(6.0), Metres(50.0), 0.5, 7);
    let site = shadowing.site(3);
    let place = Place { x: 7.0, y: 9.0 };
    let first = shadowing.loss(&site, place);
    shadowing.loss(&site, Place { x: 500.0, y: 0.0 });
    assert_eq!(shadowing.loss(&site, place), first);
    assert_ne!(shadowing.loss(&shadowing.site(4), place), first);
}
