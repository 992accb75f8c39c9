//! Schedulers and priorities at work.

use whimbrel_units::Duration;

use super::world::{End, Line, World, config, ordered};
use crate::multipath::{MultipathConfig, MultipathEvent, PathPriority, SchedulerKind, SubflowId};

fn data(world: &World, end: End, line: usize) -> usize {
    world.sent_by(end, line).filter(|sent| !sent.packet.payload.is_empty()).count()
}

fn run(scheduler: SchedulerKind, prepare: impl FnOnce(&mut World)) -> World {
    let lines = [Line::of(60), Line::of(15)];
    let mut world = World::joined(&lines, ordered(200), MultipathConfig::default().scheduler(scheduler));
    prepare(&mut world);
    world.forget();
    world.stream(End::Client, 0, 300, Duration::from_millis(10));
    world.run_for(Duration::from_millis(500));
    assert_eq!(world.received(End::Server), (0..300).collect::<Vec<_>>(), "{scheduler:?}");
    world
}

#[test]
fn the_lower_round_trip_time_carries_the_data_and_the_other_is_probed() {
    let world = run(SchedulerKind::LowestRtt, |_| {});
    assert_eq!(data(&world, End::Client, 1), 300);
    // Copies, about one a second.
    assert!((2..=5).contains(&data(&world, End::Client, 0)), "{}", data(&world, End::Client, 0));
    assert!(world.connection(End::Server).snapshot().duplicates >= 2);
}

#[test]
fn the_faster_path_is_found_when_it_becomes_the_slower_one() {
    let lines = [Line::of(60), Line::of(15)];
    let mut world = World::joined(&lines, config(), MultipathConfig::default());
    world.stream(End::Client, 0, 100, Duration::from_millis(10));
    world.lines[0].delay = Duration::from_millis(5);
    world.lines[1].delay = Duration::from_millis(90);
    world.stream(End::Client, 100, 1_000, Duration::from_millis(10));
    world.forget();
    world.stream(End::Client, 1_100, 100, Duration::from_millis(10));
    assert!(data(&world, End::Client, 0) >= 95, "{}", data(&world, End::Client, 0));
}

#[test]
fn weights_divide_the_data() {
    let world = run(SchedulerKind::Weighted, |world| {
        world.command(End::Client, |connection, _| connection.set_shares(SubflowId(0), 3, 0));
    });
    assert!((215..=235).contains(&data(&world, End::Client, 0)), "{}", data(&world, End::Client, 0));
}

#[test]
fn redundant_data_survive_the_loss_of_a_path_at_any_time() {
    let lines = [Line::of(60), Line::of(15)];
    let settings = MultipathConfig::default().scheduler(SchedulerKind::Redundant);
    let mut world = World::joined(&lines, ordered(200), settings);
    world.forget();
    world.stream(End::Client, 0, 100, Duration::from_millis(10));
    world.lines[1].is_dead = true;
    world.stream(End::Client, 100, 200, Duration::from_millis(10));
    world.run_for(Duration::from_millis(500));
    assert_eq!(world.received(End::Server), (0..300).collect::<Vec<_>>());
}

#[test]
fn the_cheaper_path_comes_first() {
    let world = run(SchedulerKind::CheapestFirst, |world| {
        world.command(End::Client, |connection, _| connection.set_shares(SubflowId(1), 1, 10));
    });
    assert!(data(&world, End::Client, 0) >= 280, "{}", data(&world, End::Client, 0));
}

#[test]
fn a_standby_path_carries_data_in_neither_direction() {
    let mut world = World::joined(&[Line::of(60), Line::of(15)], config(), MultipathConfig::default());
    world.command(End::Client, |connection, now| {
        connection.set_priority(now, SubflowId(1), PathPriority::STANDBY)
    });
    world.run_for(Duration::from_millis(300));
    let changed = MultipathEvent::PriorityChanged { subflow: SubflowId(1), priority: PathPriority::STANDBY };
    assert!(world.server_events.contains(&changed));
    world.forget();
    for end in [End::Client, End::Server] {
        world.stream(end, 0, 100, Duration::from_millis(10));
        assert_eq!((data(&world, end, 0), data(&world, end, 1)), (100, 0));
    }
    // Section 3.2.10: until no other is available.
    world.lines[0].is_dead = true;
    world.stream(End::Server, 100, 200, Duration::from_millis(10));
    assert!(data(&world, End::Server, 1) > 100);
}

#[test]
fn a_path_at_its_least_rate_carries_a_stream_a_round_trip_time_after_it_is_needed() {
    let settings = MultipathConfig::default().scheduler(SchedulerKind::Handover);
    let step = Duration::from_millis(50);
    for outage in [30_000, 60_000] {
        let mut world = World::joined(&[Line::of(20), Line::of(35)], config(), settings.clone());
        world.lines.iter_mut().for_each(|line| line.is_dead = true);
        world.stream(End::Client, 0, outage / 50, step);
        world.lines.iter_mut().for_each(|line| line.is_dead = false);
        world.stream(End::Client, 10_000, 600, step);
        // The scheduler has used one path since; the rate of the other is the outage's, 500 bytes in 8 s or
        // more.
        let rate = |world: &World| {
            let subflow = &world.connection(End::Client).snapshot().subflows[1];
            subflow.connection.sender.allowed_rate.expect("CCID 3").as_bits_per_second()
        };
        assert!(data(&world, End::Client, 0) > 0 && rate(&world) < 500.0, "{}", rate(&world));
        world.forget();
        world.lines[0].is_dead = true;
        world.stream(End::Client, 20_000, 40, step);
        let of_other = world.sent_by(End::Client, 1).filter(|sent| !sent.packet.payload.is_empty());
        let times: Vec<_> = of_other.map(|sent| sent.at).collect();
        // RFC 5348, Section 4.3: the first feedback raises X to the initial rate at least. Its packet leaves
        // at once, as that rate has permitted it for long.
        assert!(times[1] - times[0] <= Duration::from_millis(70), "{times:?}");
        assert!(rate(&world) > 200_000.0, "{}", rate(&world));
        // Only what was sent before the failure was found is lost: 200 ms.
        assert_eq!(world.received(End::Server).len(), 36);
    }
}
