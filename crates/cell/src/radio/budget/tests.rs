use super::{Interferer, PowerControl, effective_sinr, noise, sinr};
use crate::amc::lte::{Direction, LteMcs};
use crate::amc::nr::{Allocation, Block};
use crate::amc::{Adaptation, Cqi, Mcs, McsTable, SelectionRule};
use crate::level::{Decibels, PowerLevel};
use crate::numerology::ResourceBlocks;
use crate::radio::{Environment, Hertz, Metres, PathLoss, Sight};

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-3, "{found}, expected {expected}");
}

#[test]
fn noise_grows_with_the_bandwidth() {
    for (hertz, expected) in
        [(180e3, -121.447), (4.5e6, -107.468), (9e6, -104.458), (18e6, -101.447), (98.28e6, -94.075)]
    {
        close(noise(Hertz(hertz), Decibels::ZERO).0, expected);
    }
}

/// LTE at 2 GHz, 10 MHz: a terminal 150 m from its site, six neighbours in 500 m at full load.
#[test]
fn a_terminal_among_seven_lte_sites() {
    let loss = PathLoss::new(Environment::Macro36942, Hertz(2e9));
    let received = |distance: f64| {
        PowerLevel(46.0) + Decibels(14.0) - loss.loss(Metres(distance), Sight::Obstructed) - Decibels(20.0)
    };
    let neighbours = (0..6).map(|number| {
        let angle = f64::from(number) * core::f64::consts::PI / 3.0;
        let (x, y) = (500.0 * libm::cos(angle) - 150.0, 500.0 * libm::sin(angle));
        Interferer { received: received(libm::hypot(x, y)), load: 1.0 }
    });
    let floor = noise(Hertz(9e6), Decibels(9.0));
    close(received(150.0).0, -57.1210);
    close(neighbours.clone().next().unwrap().received.0, -70.9570);
    close(floor.0, -95.4576);
    close(sinr(received(150.0), floor, []).0, 38.3365);
    let found = sinr(received(150.0), floor, neighbours.clone());
    close(found.0, 10.4165);

    let tables = LteMcs { direction: Direction::Down, table: McsTable::Qam64 };
    let adaptation = Adaptation::lte(SelectionRule::Ns3, tables);
    let cqi = adaptation.cqi(found).unwrap();
    assert_eq!((cqi, adaptation.mcs(cqi)), (Cqi(7), Mcs(12)));
    assert_eq!(tables.block_size(Mcs(12), ResourceBlocks(50)).as_u64(), 1239);

    // Neighbours that use half of their blocks: half of their power, so nearly 3 dB.
    let half = neighbours.map(|other| Interferer { load: 0.5, ..other });
    let gained = sinr(received(150.0), floor, half) - found;
    assert!((2.9..3.0103).contains(&gained.0), "{gained:?}");
}

/// NR at 3.5 GHz, 100 MHz: UMa without line of sight over 300 m, one layer, `DDDSU`.
#[test]
fn a_terminal_of_a_wide_nr_carrier() {
    let loss = PathLoss::new(Environment::UrbanMacro, Hertz(3.5e9)).loss(Metres(300.0), Sight::Obstructed);
    close(loss.0, 121.2792);
    let floor = noise(Hertz(98.28e6), Decibels(7.0)) + Decibels(3.0);
    let found = sinr(PowerLevel(44.0) + Decibels(8.0) - loss, floor, []);
    close(found.0, 14.7962);
    let adaptation = Adaptation::nr(SelectionRule::Ns3, McsTable::Qam256);
    let scheme = McsTable::Qam256.scheme(adaptation.mcs(adaptation.cqi(found).unwrap()));
    let bits = |symbols| {
        let blocks = ResourceBlocks(273);
        Block::new(Allocation { blocks, symbols, reference: 12, layers: 1 }, scheme).bits
    };
    let rate = (3 * bits(12) + bits(8)) as f64 / 2.5e-3;
    assert!((rate - 125.3696e6).abs() < 1.0, "{rate}");
}

/// LTE's uplink on 4 resource blocks: UMa with line of sight over 1 km.
#[test]
fn a_terminal_whose_power_is_controlled() {
    let loss = PathLoss::new(Environment::UrbanMacro, Hertz(2e9)).loss(Metres(1000.0), Sight::Line);
    close(loss.0, 108.9117);
    let control = PowerControl { target: PowerLevel(-78.0), compensation: 0.8, limit: PowerLevel(23.0) };
    let power = control.power(ResourceBlocks(4), loss);
    close(power.0, 15.1499);
    let floor = noise(Hertz(4.0 * 180e3), Decibels(5.0)) + Decibels(6.0);
    let found = sinr(power - loss + Decibels(14.0), floor, []);
    close(found.0, 24.6649);
    let tables = LteMcs { direction: Direction::Up, table: McsTable::Qam64 };
    let cqi = Adaptation::lte(SelectionRule::Ns3, tables).cqi(found).unwrap();
    assert_eq!(cqi, Cqi(15));
    // Terminals of that time have 16QAM, up to MCS 20.
    assert_eq!(tables.block_size(Mcs(20), ResourceBlocks(4)).as_u64(), 217);
    // Twenty decibels farther the terminal has no more power.
    assert_eq!(control.power(ResourceBlocks(4), loss + Decibels(20.0)), PowerLevel(23.0));
}

#[test]
fn a_fade_costs_more_than_its_share_of_decibels() {
    let even = effective_sinr([Decibels(10.0); 4]);
    assert!((even.0 - 10.0).abs() < 1e-9);
    // By hand: log2(101) and log2(1.1) have the mean 3.3979 bit, of 9.80 dB; the mean of the decibels is 5.
    let uneven = effective_sinr([Decibels(20.0), Decibels(-10.0)]);
    assert!((uneven.0 - 9.7957).abs() < 1e-3, "{uneven:?}");
}
