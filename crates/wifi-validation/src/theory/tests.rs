use whimbrel_units::Duration;
use whimbrel_wifi::dcf::{AfterCollision, MacConfig};
use whimbrel_wifi::phy::{ACK_BYTES, Phy, Preamble, Rate};

use super::{BackoffChain, ExchangeTimes, MonteCarlo, SingleSender, monte_carlo, saturation};

fn rows(csv: &str) -> impl Iterator<Item = Vec<&str>> {
    csv.lines().skip(1).map(|row| row.split(',').collect())
}

fn number(text: &str) -> f64 {
    text.parse().unwrap()
}

/// The PHY and the rate of a name in the tables of ns-3, such as `DsssRate5_5Mbps`.
fn mode(name: &str) -> (Phy, Rate) {
    let digits: String = name.chars().skip_while(|c| !c.is_ascii_digit()).collect();
    let mbps = digits.trim_end_matches("Mbps").replace('_', ".").parse().unwrap();
    let phy = if name.starts_with("Erp") { Phy::erp_ofdm() } else { Phy::hr_dsss(Preamble::Long) };
    (phy, Rate::from_megabits_per_second(mbps).unwrap())
}

fn micros(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e3
}

/// Data and acknowledgement times of the table of saturation throughputs: 1536 bytes at each rate.
#[test]
fn data_and_acknowledgement_times_are_those_of_the_saturation_table() {
    let mut count = 0;
    for row in rows(include_str!("../../tests/data/bianchi-ns3-80211bg.csv")) {
        let (phy, rate) = mode(row[0]);
        let ack = phy.duration(phy.response_rate(rate), ACK_BYTES);
        assert_eq!(format!("{:.2}", micros(phy.duration(rate, 1_536))), row[2], "{row:?}");
        assert_eq!(format!("{:.2}", micros(ack)), row[3], "{row:?}");
        count += 1;
    }
    assert_eq!(count, 120);
}

/// Bianchi's own system: 8184 bits of payload at 1 Mbit/s, frequency hopping.
#[test]
fn bianchis_own_system_has_its_published_operating_points() {
    let mut count = 0;
    for row in rows(include_str!("../../tests/data/bianchi-2000-fhss.csv")) {
        let chain = BackoffChain { window: number(row[0]), stages: row[1].parse().unwrap() };
        let stations = row[2].parse().unwrap();
        let basic = ExchangeTimes { slot: 50.0, success: 8982.0, collision: 8713.0 };
        let rts = ExchangeTimes { slot: 50.0, success: 9568.0, collision: 417.0 };
        let normalised = |times| saturation(chain, times, stations).classic * 8184e-6;
        let operation = chain.solve(stations);
        assert!((operation.transmission - number(row[3])).abs() < 6e-7, "{row:?}: {operation:?}");
        assert!((operation.collision - number(row[4])).abs() < 6e-7, "{row:?}: {operation:?}");
        assert!((normalised(basic) - number(row[5])).abs() < 6e-6, "{row:?}: {}", normalised(basic));
        assert!((normalised(rts) - number(row[6])).abs() < 6e-6, "{row:?}: {}", normalised(rts));
        count += 1;
    }
    assert_eq!(count, 36);
}

fn megabits(payloads_per_second: f64) -> f64 {
    payloads_per_second * 1500.0 * 8e-6
}

#[test]
fn the_refined_model_has_the_exact_throughputs_of_all_rates() {
    let mut count = 0;
    for row in rows(include_str!("../../tests/data/bianchi-ns3-80211bg.csv")) {
        let (phy, rate) = mode(row[0]);
        let chain = BackoffChain::new(phy.cw_min, phy.cw_max);
        // The EIFS column of the table allows 0.1 us of propagation in each exchange, the DIFS column none.
        for (after, column, propagation) in [(AfterCollision::Difs, 5, 0.0), (AfterCollision::Eifs, 7, 0.1)] {
            let config = MacConfig::synchronous(phy.clone(), rate, after);
            let times = ExchangeTimes::new(&config, 1536, after).with_propagation(propagation);
            let exact = megabits(saturation(chain, times, row[1].parse().unwrap()).refined);
            assert_eq!(format!("{exact:.4}"), row[column], "{row:?} {after:?}");
        }
        count += 1;
    }
    assert_eq!(count, 120);
}

/// The table was computed by another program from 3.2 million busy periods a row; the differences that remain
/// are due to the drawn numbers.
#[test]
fn the_monte_carlo_has_the_throughputs_and_collision_probabilities_of_the_table() {
    let mut count = 0;
    for row in rows(include_str!("../../tests/data/dcf-montecarlo.csv")) {
        let (phy, rate) = match row[0] {
            "11b-11" => (Phy::hr_dsss(Preamble::Long), Rate::Hr11),
            "11g-54" => (Phy::erp_ofdm(), Rate::Ofdm54),
            other => panic!("{other}"),
        };
        let after = if row[2] == "difs" { AfterCollision::Difs } else { AfterCollision::Eifs };
        let retry_limit = if row[3] == "0" { None } else { Some(row[3].parse().unwrap()) };
        let cell = MonteCarlo {
            stations: row[1].parse().unwrap(),
            cw_min: phy.cw_min,
            cw_max: phy.cw_max,
            retry_limit,
            near: 0,
        };
        let config = MacConfig::synchronous(phy, rate, after);
        let result = monte_carlo(cell, 400_000, 1);
        let throughput = megabits(result.payload_rate(ExchangeTimes::new(&config, 1536, after)));
        let deviation = throughput / number(row[4]) - 1.0;
        assert!(deviation.abs() < 0.002, "{row:?}: {throughput}");
        let p = result.collision_probability();
        assert!((p - number(row[8])).abs() < 0.002, "{row:?}: {p}");
        count += 1;
    }
    assert_eq!(count, 16);
}

/// Coefficients and throughputs of the table of maximum throughputs, to the printed digits.
#[test]
fn one_sender_has_the_maximum_throughput_of_equation_3() {
    let phy = Phy::hr_dsss(Preamble::Long);
    let table = [
        (Rate::Dsss1, [8.0, 1138.0, 0.913, 0.783], [1814.0, 0.869, 0.693]),
        (Rate::Dsss2, [4.0, 1002.0, 1.714, 1.343], [1678.0, 1.563, 1.099]),
        (Rate::Hr5_5, [1.45455, 915.45, 3.874, 2.467], [1591.45, 3.180, 1.753]),
        (Rate::Hr11, [0.72727, 890.73, 6.056, 3.243], [1566.73, 4.515, 2.112]),
    ];
    for (rate, basic, rts) in table {
        let plain = SingleSender::new(&phy, rate, Rate::Dsss1, 34, false);
        assert!((plain.per_byte - basic[0]).abs() < 5.1e-6, "{rate}: {plain:?}");
        assert!((plain.per_payload - basic[1]).abs() < 5.1e-3, "{rate}: {plain:?}");
        let protected = SingleSender::new(&phy, rate, Rate::Dsss1, 34, true);
        assert!((protected.per_payload - rts[0]).abs() < 5.1e-3, "{rate}: {protected:?}");
        for (model, expected) in [(plain, &basic[2..]), (protected, &rts[1..])] {
            let computed = [model.megabits_per_second(1500), model.megabits_per_second(512)];
            let printed =
                |numbers: &[f64]| numbers.iter().map(|number| format!("{number:.3}")).collect::<Vec<_>>();
            assert_eq!(printed(&computed), printed(expected), "{rate}");
        }
    }
}
