use super::*;
use crate::SplitMix64;
use crate::mobility::next_crossing;

#[test]
fn the_public_building_has_the_numbers_of_its_table() {
    for mobile in [10, 20, 30] {
        let model = PublicBuilding::winf(mobile);
        let scene = model.draw(&mut SplitMix64::new(mobile as u64)).unwrap();
        assert_eq!((scene.paths.len(), scene.presence.len(), scene.flows.len()), (6 + mobile, 6 + mobile, 4));
        assert!(scene.paths.iter().all(|path| path.leaves(model.area).is_none()));
        let (mesh, moving) = scene.paths.split_at(6);
        assert!(mesh.iter().all(|path| path.max_speed() == 0.0));
        assert!(moving.iter().all(|path| (10.0..=30.0).contains(&path.max_speed())));
        let off: Vec<usize> =
            (0..scene.presence.len()).filter(|&node| scene.presence[node] != Presence::ALWAYS).collect();
        assert!(off.len() == 1 && off[0] < 6, "{off:?}");
        let from = scene.presence[off[0]].next_change(Instant::ZERO).unwrap();
        let until = scene.presence[off[0]].next_change(from).unwrap();
        assert_eq!(until - from, Duration::from_secs(100));
        assert!(until <= Instant::from_secs(600));
        for flow in &scene.flows {
            assert!(flow.source >= 6 && flow.destination >= 6 && flow.source != flow.destination);
            assert_eq!(flow.end - flow.start, Duration::from_secs(240));
            assert!(flow.end <= Instant::from_secs(600));
        }
    }
}

#[test]
fn destinations_are_uniform_over_the_other_nodes() {
    let model = PublicBuilding { flows: 6_000, ..PublicBuilding::winf(3) };
    let scene = model.draw(&mut SplitMix64::new(1)).unwrap();
    let mut counts = [[0; 3]; 3];
    for flow in &scene.flows {
        counts[flow.source - 6][flow.destination - 6] += 1;
    }
    for (source, row) in counts.iter().enumerate() {
        for (destination, &count) in row.iter().enumerate() {
            if source == destination {
                assert_eq!(count, 0);
            } else {
                assert!((880..1_120).contains(&count), "{counts:?}");
            }
        }
    }
}

#[test]
fn a_highest_speed_of_zero_is_no_mobility() {
    let scene = PublicBuilding { speed: (0.0, 0.0), ..PublicBuilding::winf(10) }
        .draw(&mut SplitMix64::new(2))
        .unwrap();
    assert!(scene.paths.iter().all(|path| path.max_speed() == 0.0));
}

#[test]
fn flows_need_two_mobile_nodes() {
    assert_eq!(PublicBuilding::winf(1).draw(&mut SplitMix64::new(3)).unwrap_err().parameter, "mobile_nodes");
}

#[test]
fn the_adjacent_networks_do_not_overlap_and_the_track_crosses_all_three() {
    use adjacent_networks::*;
    let mobile = path(10.0, Instant::from_secs(300)).unwrap();
    assert_eq!(mobile.leaves(AREA), None);
    let mut seen = [0; 3];
    for step in 0..1_600u64 {
        let now = Instant::from_millis(step * 200);
        let covering: Vec<usize> = (0..3)
            .filter(|&router| mobile.position(now).distance(ACCESS_ROUTERS[router]) <= CELL_RADIUS)
            .collect();
        assert!(covering.len() <= 1, "{covering:?} at {now}");
        covering.iter().for_each(|&router| seen[router] += 1);
    }
    assert!(seen.iter().all(|&seen| seen > 300), "{seen:?}");
    // At 25 m beside the routers the gap between two cells is about 1 m to 2.6 m wide.
    let first = Path::fixed(ACCESS_ROUTERS[0]);
    let leaves = next_crossing(&mobile, &first, CELL_RADIUS, Instant::ZERO).unwrap();
    let enters = next_crossing(&mobile, &Path::fixed(ACCESS_ROUTERS[1]), CELL_RADIUS, Instant::ZERO).unwrap();
    let gap = (enters.at - leaves.at).as_secs_f64() * 10.0;
    assert!(!leaves.within && enters.within && gap < 2.6, "{gap} m");
}

#[test]
fn a_track_needs_a_speed() {
    for speed in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(adjacent_networks::path(speed, Instant::from_secs(1)).is_err());
    }
}
