use whimbrel_wifi::phy::{Format, GuardInterval, Mode, Width};

use super::{BatchMeans, Point, STATIONS, draw, modes};
use crate::theory::HeSingleUser;

/// The Monte Carlo and the model of another program, for modes of one stream and of two.
#[test]
fn the_model_and_the_monte_carlo_have_the_figures_of_the_table() {
    let mut rows = 0;
    for row in include_str!("../../../wifi/tests/data/today/aggregate.csv").lines().skip(1) {
        let columns: Vec<&str> = row.split(',').collect();
        let number = |column: usize| columns[column].parse::<f64>().unwrap();
        if columns[0] != "he" || columns[6] != "0" {
            continue;
        }
        let mode = Mode::new(Format::He, 11, 2, Width::Mhz80, GuardInterval::Ns800).unwrap();
        let point = Point { mode, stations: number(5) as u32 };
        let (model, drawn) = (point.model(), draw(point.stations as usize, 400_000, 5));
        let drawn = point.of_drawn(&drawn);
        assert!((model.throughput / number(11) - 1.0).abs() < 1e-4, "{row}: {model:?}");
        assert!((model.collision - number(12)).abs() < 1e-4, "{row}: {model:?}");
        assert!((drawn.throughput / number(8) - 1.0).abs() < 0.003, "{row}: {drawn:?}");
        assert!((drawn.collision - number(10)).abs() < 0.002, "{row}: {drawn:?}");
        rows += 1;
    }
    assert_eq!(rows, 4);
    assert_eq!(modes().count() * STATIONS.len(), 480);
}

/// A few of the 480 points, the widest and the narrowest among them; the validation has all.
#[test]
fn saturated_cells_agree_with_the_model() {
    for (mcs, width, stations) in [(0, Width::Mhz20, 5), (11, Width::Mhz160, 10), (7, Width::Mhz40, 20)] {
        let mode = Mode::new(Format::He, mcs, 1, width, GuardInterval::Ns800).unwrap();
        let point = Point { mode, stations };
        let measured = point.measure(0.004, 11);
        let (model, drawn) = (point.model(), point.of_drawn(&draw(stations as usize, 1_000_000, 1)));
        println!("{mode}, {stations}: {measured:?}, {model:?}, {drawn:?}");
        assert!((measured.throughput / model.throughput - 1.0).abs() < 0.012, "{mode}, {stations}");
        assert!((measured.throughput / drawn.throughput - 1.0).abs() < 0.008, "{mode}, {stations}");
        assert!((measured.collision - drawn.collision).abs() < 0.006, "{mode}, {stations}");
    }
}

/// The mean of 100 batches with a standard deviation of 1 % is known to 0.2 %, and no better.
#[test]
fn sampling_ends_when_the_interval_is_short_enough() {
    let mut batches = BatchMeans::default();
    for _ in 0..50 {
        [99.0, 101.0].into_iter().for_each(|value| batches.add(value));
    }
    assert!((batches.mean() - 100.0).abs() < 1e-9);
    assert!(batches.is_known_to(0.002_02) && !batches.is_known_to(0.001_98));
    let mut few = BatchMeans::default();
    (0..39).for_each(|_| few.add(100.0));
    assert!(!few.is_known_to(0.5));
}

/// The simulator and the model compute the times of aggregates apart from each other.
#[test]
fn both_tables_of_times_agree_exactly() {
    for mode in modes() {
        let (scheme, megahertz) = (mode.mcs(), mode.width().megahertz());
        let model = HeSingleUser { scheme, streams: 1, megahertz };
        for bytes in (100..100_000).step_by(317) {
            let micros = mode.duration(bytes).as_nanos() as f64 / 1e3;
            assert!((micros - model.duration(bytes)).abs() < 1e-6, "{mode}, {bytes} B");
        }
    }
}
