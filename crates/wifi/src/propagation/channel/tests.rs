use super::*;
use crate::SplitMix64;
use crate::mobility::{Path, Position, RandomWaypoint, Start};
use crate::propagation::counted::Counted;
use crate::propagation::{NoiseFloor, SPEED_OF_LIGHT};
use whimbrel_units::Duration;

const AREA: Area = Area::new(2_000.0, 2_000.0);

fn row(distances: &[f64]) -> Vec<Path> {
    distances.iter().map(|&x| Path::fixed(Position::new(x, 0.0))).collect()
}

fn links(config: ChannelConfig, paths: &Vec<Path>, sender: usize) -> Vec<Link> {
    let mut channel = Channel::new(config, AREA, Instant::ZERO, paths.len(), paths).unwrap();
    let mut links = Vec::new();
    channel.links(Instant::ZERO, StationIndex::new(sender), paths, &mut links);
    links
}

#[test]
fn the_default_channel_reaches_what_ns2_reaches() {
    let paths = row(&[0.0, 250.0, 251.0, 550.0, 551.0]);
    let links = links(ChannelConfig::ns2(), &paths, 0);
    let stations: Vec<u32> = links.iter().map(|link| link.station.0).collect();
    assert_eq!(stations, [1, 2, 3]);
    let decodable: Vec<bool> = links.iter().map(|link| f64::from(link.power) >= 3.652e-10).collect();
    assert_eq!(decodable, [true, false, false]);
    // 250 m / 3e8 m/s = 833.3 ns.
    assert_eq!(links.iter().map(|link| link.delay).collect::<Vec<_>>(), [834, 837, 1834]);
}

#[test]
fn two_stations_at_one_place_receive_all_the_power_without_delay() {
    let paths = row(&[7.0, 7.0]);
    let links = links(ChannelConfig::ns2(), &paths, 0);
    let [Link { station: StationIndex(1), delay: 0, power, is_corrupted: false }] = links[..] else {
        panic!("{links:?}")
    };
    // No antenna receives more than was sent.
    assert_eq!(f64::from(power), f64::from(Radio::NS2.transmit_power as f32));
}

#[test]
fn fading_moves_stations_in_and_out_of_reach_and_is_reciprocal() {
    let paths = row(&[0.0, 450.0, 650.0, 2_000.0]);
    let fading = BlockFading::new(Fading::Rayleigh, Duration::from_millis(1), 3);
    let config = ChannelConfig { fading, fading_margin: 10.0, ..ChannelConfig::ns2() };
    let mut channel = Channel::new(config, AREA, Instant::ZERO, 4, &paths).unwrap();
    // The fourth power: 10 dB are a factor of 1.778.
    assert!((channel.range() / 550.02 - 1.778).abs() < 0.001);
    let mut counts = [0; 4];
    let mut links = Vec::new();
    for milli in 0..2_000 {
        let now = Instant::from_millis(milli);
        channel.links(now, StationIndex(0), &paths, &mut links);
        for link in &links {
            counts[link.station.index()] += 1;
            let back = channel.power(now, link.station, StationIndex(0), &paths);
            assert_eq!(link.power, back as f32);
        }
    }
    // P(gain >= (d / 550)^4): exp(-0.448) = 0.639, exp(-1.951) = 0.142.
    assert!((counts[1] as f64 / 2_000.0 - 0.639).abs() < 0.035, "{counts:?}");
    assert!((counts[2] as f64 / 2_000.0 - 0.142).abs() < 0.026, "{counts:?}");
    assert_eq!((counts[0], counts[3]), (0, 0));
}

#[test]
fn an_impossible_radio_is_refused() {
    let config = ChannelConfig { radio: Radio { frequency: 0.0, ..Radio::NS2 }, ..ChannelConfig::ns2() };
    let paths = row(&[0.0]);
    assert_eq!(Channel::new(config, AREA, Instant::ZERO, 1, &paths).unwrap_err().field, "frequency");
}

#[test]
fn noise_destroys_frames_with_the_error_probability_of_the_link() {
    let noise = NoiseFloor::DSSS.power();
    let link = |ratio: f64| Link {
        station: StationIndex(1),
        delay: 0,
        power: (ratio * noise) as f32,
        is_corrupted: false,
    };
    let mut random = SplitMix64::new(4);
    let (rate, bits) = (Rate::Hr11, 8_000.0);
    for ratio in [1.0, 3.2, 3.6, 100.0] {
        let expected = 1.0 - success_probability(rate, ratio, bits);
        let lost = (0..4_000)
            .filter(|_| {
                let mut links = [link(ratio)];
                corrupt_by_noise(&mut links, rate, bits, noise, &mut random);
                links[0].is_corrupted
            })
            .count() as f64
            / 4_000.0;
        assert!((lost - expected).abs() < 0.03, "{lost} for {expected}");
    }
}

/// Evaluations of positions per transmission at a density of 50 stations per square kilometre.
fn cost(stations: usize) -> f64 {
    let mut random = SplitMix64::new(7);
    let side = 1_000.0 * libm::sqrt(stations as f64 / 50.0);
    let model = RandomWaypoint {
        area: Area::new(side, side),
        speed: (1.0, 20.0),
        pause: (Duration::ZERO, Duration::ZERO),
        start: Start::Ns2,
    };
    let paths: Vec<Path> =
        (0..stations).map(|_| model.path(Instant::from_secs(20), &mut random).unwrap()).collect();
    let counted = Counted::new(&paths);
    let mut channel =
        Channel::new(ChannelConfig::ns2(), model.area, Instant::ZERO, stations, &counted).unwrap();
    let mut links = Vec::new();
    counted.take();
    let (transmissions, mut reached) = (4_000, 0);
    for number in 0..transmissions {
        let now = Instant::ZERO + Duration::from_millis(2) * number;
        let sender = random.below(stations as u64) as usize;
        channel.links(now, StationIndex::new(sender), &counted, &mut links);
        reached += links.len();
    }
    counted.take() as f64 / reached as f64
}

#[test]
fn the_cost_per_receiver_is_flat_at_constant_density() {
    let costs = [50, 500, 2_000].map(cost);
    assert!(costs.iter().all(|&cost| (1.0..2.6).contains(&cost)), "{costs:?}");
}

/// The links of a sender, by an examination of all stations.
fn all_links(channel: &Channel, now: Instant, sender: usize, paths: &Vec<Path>) -> Vec<Link> {
    let threshold = channel.config().radio.carrier_sense_threshold;
    let others = (0..paths.len()).filter(|&to| to != sender);
    let link = |to: usize| {
        let power = channel.power(now, StationIndex::new(sender), StationIndex::new(to), paths);
        let distance = paths[sender].position(now).distance(paths[to].position(now));
        let delay = libm::ceil(distance / SPEED_OF_LIGHT * 1e9) as u32;
        let link = Link { station: StationIndex::new(to), delay, power: power as f32, is_corrupted: false };
        (power >= threshold && distance <= channel.range()).then_some(link)
    };
    let mut links: Vec<Link> = others.filter_map(link).collect();
    links.sort_by_key(|link| (link.delay, link.station));
    links
}

#[test]
fn remembered_neighbours_give_the_links_that_an_examination_of_all_stations_gives() {
    let mut random = SplitMix64::new(5);
    let fading = BlockFading::new(Fading::Rayleigh, Duration::from_millis(40), 3);
    let faded = ChannelConfig { fading, fading_margin: 3.0, ..ChannelConfig::ns2() };
    for (config, side) in [(ChannelConfig::ns2(), 1_000.0), (ChannelConfig::ns2(), 3_000.0), (faded, 2_000.0)]
    {
        let area = Area::new(side, side);
        let pause = (Duration::ZERO, Duration::from_secs(2));
        let model = RandomWaypoint { area, speed: (1.0, 40.0), pause, start: Start::Ns2 };
        let paths: Vec<Path> =
            (0..60).map(|_| model.path(Instant::from_secs(200), &mut random).unwrap()).collect();
        let mut channel = Channel::new(config, area, Instant::ZERO, paths.len(), &paths).unwrap();
        let (mut now, mut links) = (Instant::ZERO, Vec::new());
        for _ in 0..2_000 {
            // Bursts, and pauses in which the neighbours change.
            now += Duration::from_micros(if random.below(4) == 0 { random.below(300_000) } else { 700 });
            let sender = random.below(8) as usize;
            channel.links(now, StationIndex::new(sender), &paths, &mut links);
            assert_eq!(links, all_links(&channel, now, sender, &paths));
        }
    }
}
