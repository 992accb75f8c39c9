use std::vec::Vec;

use super::{Environment, Hertz, Metres, PathLoss, Sight};

/// Model, GHz, metres, LOS and NLOS in dB.
const VALUES: &str = include_str!("../../../tests/data/path-loss.csv");
const RURAL: Environment = Environment::RuralMacro { buildings: Metres(5.0), streets: Metres(20.0) };

fn close(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() < 1e-3, "{what}: {found}, expected {expected}");
}

fn loss(environment: Environment, gigahertz: f64, metres: f64, sight: Sight) -> f64 {
    PathLoss::new(environment, Hertz::from_gigahertz(gigahertz)).loss(Metres(metres), sight).0
}

#[test]
fn losses_are_those_of_tr_38_901() {
    let mut rows = 0;
    for line in VALUES.lines().skip(1) {
        let (model, numbers) = line.split_once(',').unwrap();
        let numbers: Vec<f64> = numbers.split(',').map(|number| number.parse().unwrap()).collect();
        let environment = match model {
            "uma" => Environment::UrbanMacro,
            "umi" => Environment::UrbanMicro,
            _ => RURAL,
        };
        close(loss(environment, numbers[0], numbers[1], Sight::Line), numbers[2], line);
        close(loss(environment, numbers[0], numbers[1], Sight::Obstructed), numbers[3], line);
        rows += 1;
    }
    assert_eq!(rows, 63);
}

/// ns-3's vectors at 5 GHz.
#[test]
fn losses_at_5_ghz_are_those_of_ns3() {
    let distances = [10.0, 100.0, 1000.0, 5000.0];
    let rows = [
        (Environment::UrbanMacro, Sight::Line, [72.9380, 86.2362, 109.7252, 137.6794]),
        (Environment::UrbanMacro, Sight::Obstructed, [82.5131, 106.1356, 144.7641, 172.0753]),
        (Environment::UrbanMicro, Sight::Line, [69.8591, 88.4122, 119.3114, 147.2696]),
        (Environment::UrbanMicro, Sight::Obstructed, [76.7563, 107.9432, 143.1886, 167.8617]),
    ];
    for (environment, sight, expected) in rows {
        for (distance, expected) in distances.into_iter().zip(expected) {
            close(loss(environment, 5.0, distance, sight), expected, "5 GHz");
        }
    }
    close(loss(RURAL, 2.0, 5000.0, Sight::Line), 123.5472, "RMa, 5 km");
    close(loss(RURAL, 2.0, 5000.0, Sight::Obstructed), 152.5581, "RMa, 5 km");
}

#[test]
fn losses_of_the_studies_of_lte() {
    let rows = [
        (Environment::Macro36942, [100.0, 250.0, 1000.0], [90.5, 105.4625, 128.1]),
        (Environment::ItuUrbanMacro, [100.0, 500.0, 1000.0], [97.7381, 125.0583, 136.8245]),
        (Environment::ItuUrbanMicro, [50.0, 100.0, 200.0], [92.8790, 103.9268, 114.9746]),
    ];
    for (environment, distances, expected) in rows {
        for (distance, expected) in distances.into_iter().zip(expected) {
            close(loss(environment, 2.0, distance, Sight::Obstructed), expected, "2 GHz");
        }
    }
}
