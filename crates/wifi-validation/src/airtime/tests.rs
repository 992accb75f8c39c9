use whimbrel_units::Duration;

use super::CASES;

/// Shares within 0.005, rates within 1 %.
#[test]
fn shares_of_airtime_are_those_computed_on_paper() {
    for case in &CASES {
        let (rates, shares) = case.measure(Duration::from_secs(15));
        println!("{}: {rates:?} {shares:?}", case.name);
        for station in 0..3 {
            let name = case.name;
            assert!((rates[station] / case.rates[station] - 1.0).abs() < 0.01, "{name}: {rates:?}");
            if let Some(shares) = shares {
                assert!((shares[station] - case.shares[station]).abs() < 0.005, "{name}: {shares:?}");
            }
        }
    }
}
