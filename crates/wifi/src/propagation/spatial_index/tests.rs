use super::*;
use crate::mobility::{Path, RandomWaypoint, Start};
use crate::propagation::counted::Counted;
use crate::{Random, SplitMix64};
use proptest::prelude::*;

fn scan(paths: &[Path], now: Instant, centre: Position, radius: f64) -> Vec<(StationIndex, f64)> {
    let distance = |node: StationIndex| (node, paths[node.index()].position(now).distance_squared(centre));
    (0..paths.len())
        .map(StationIndex::new)
        .map(distance)
        .filter(|&(_, squared)| squared <= radius * radius)
        .collect()
}

fn waypoints(area: Area, speed: (f64, f64)) -> RandomWaypoint {
    RandomWaypoint { area, speed, pause: (Duration::ZERO, Duration::from_secs(5)), start: Start::Stationary }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The index finds what a scan of all nodes finds: for moving, resting and straying nodes, at any radius,
    /// for points in and out of the area.
    #[test]
    fn the_index_finds_what_a_scan_finds(
        seed in any::<u64>(),
        nodes in 0usize..60,
        width in 1.0..3_000.0f64,
        height in 1.0..3_000.0f64,
        range in 1.0..800.0f64,
        fastest in 0.1..200.0f64,
        // Nodes move in a larger area than the index was made for.
        stray in 1.0..1.5f64,
        steps in prop::collection::vec(0u64..20_000, 1..40),
    ) {
        let mut random = SplitMix64::new(seed);
        let area = Area::new(width, height);
        let world = waypoints(Area::new(width * stray, height * stray), (0.05, fastest));
        let horizon = Instant::from_secs(500);
        let paths: Vec<Path> = (0..nodes)
            .map(|node| match node % 4 {
                0 => Path::fixed(Position::new(random.uniform_between(-50.0, width), random.uniform_between(0.0, height))),
                _ => world.path(horizon, &mut random).unwrap(),
            })
            .collect();
        let mut index = SpatialIndex::new(area, range, Instant::ZERO, nodes, &paths);
        let mut now = Instant::ZERO;
        let mut found = Vec::new();
        for step in steps {
            now += Duration::from_millis(step);
            let centre = Position::new(
                random.uniform_between(-0.3 * width, 1.3 * width),
                random.uniform_between(-0.3 * height, 1.3 * height),
            );
            for radius in [range, range * 0.3, range * 3.0, 0.0] {
                index.within(now, centre, radius, &paths, &mut found);
                found.sort_unstable_by_key(|&(node, _)| node);
                prop_assert_eq!(&found, &scan(&paths, now, centre, radius));
            }
            if nodes > 0 {
                let of = random.below(nodes as u64) as usize;
                let centre = paths[of].position(now);
                index.within(now, centre, range, &paths, &mut found);
                found.sort_unstable_by_key(|&(node, _)| node);
                prop_assert!(found.contains(&(StationIndex::new(of), 0.0)), "a node is within every range of itself");
                prop_assert_eq!(&found, &scan(&paths, now, centre, range));
            }
        }
    }
}

/// Evaluations of positions per query of `nodes` nodes at a density of 50 per square kilometre.
fn cost(nodes: usize, speed: Option<(f64, f64)>) -> f64 {
    let mut random = SplitMix64::new(7);
    let side = 1_000.0 * libm::sqrt(nodes as f64 / 50.0);
    // At uniform positions: the stationary distribution would gather the nodes in the middle.
    let model = RandomWaypoint {
        start: Start::Ns2,
        pause: (Duration::ZERO, Duration::ZERO),
        ..waypoints(Area::new(side, side), speed.unwrap_or((1.0, 20.0)))
    };
    let paths: Vec<Path> = (0..nodes)
        .map(|_| {
            let path = model.path(Instant::from_secs(30), &mut random).unwrap();
            if speed.is_some() { path } else { Path::fixed(path.position(Instant::ZERO)) }
        })
        .collect();
    let counted = Counted::new(&paths);
    let mut index = SpatialIndex::new(model.area, 250.0, Instant::ZERO, nodes, &counted);
    let mut found = Vec::new();
    let queries = 2_000;
    counted.take();
    for query in 0..queries {
        let now = Instant::ZERO + Duration::from_micros(query * 1_000);
        // Around the middle, where the border saves nothing.
        let centre =
            Position::new(side * random.uniform_between(0.4, 0.6), side * random.uniform_between(0.4, 0.6));
        index.within(now, centre, 250.0, &counted, &mut found);
    }
    counted.take() as f64 / queries as f64
}

#[test]
fn a_query_costs_what_is_near_and_not_all_nodes() {
    let (few, many) = (cost(400, Some((1.0, 20.0))), cost(6_400, Some((1.0, 20.0))));
    // 9.8 nodes are in range on average; the cells of a query hold about twice as many.
    assert!(few < 40.0, "{few}");
    // The renewals of all nodes are spread over the queries: 6400 nodes at up to 20 m/s for 2 s pass about
    // one slack each.
    assert!(many < few + 6.0, "{many} for {few}");
}

#[test]
fn standing_still_costs_no_renewals() {
    let (few, many) = (cost(400, None), cost(6_400, None));
    assert!((few - many).abs() < 3.0, "{few}, {many}");
}

#[test]
fn an_enormous_area_does_not_make_an_enormous_grid() {
    let area = Area::new(1e12, 1e12);
    let paths: Vec<Path> = (0..10).map(|n| Path::fixed(Position::new(f64::from(n) * 1e11, 5.0))).collect();
    let mut index = SpatialIndex::new(area, 250.0, Instant::ZERO, paths.len(), &paths);
    assert!(index.cells.len() < 100, "{}", index.cells.len());
    let mut found = Vec::new();
    index.within(Instant::ZERO, Position::new(3e11, 0.0), 250.0, &paths, &mut found);
    assert_eq!(found, [(StationIndex(3), 25.0)]);
}
