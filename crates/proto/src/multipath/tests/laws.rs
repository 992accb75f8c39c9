//! Laws that hold on any paths.

use proptest::prelude::*;
use whimbrel_units::Duration;

use super::world::{End, Line, World, config, datagram, ordered};
use crate::multipath::{MultipathConfig, MultipathEvent, PathPriority, SchedulerKind, SubflowId};

fn line() -> impl Strategy<Value = Line> {
    (1..120_u64, 0..90_u8, 0..60_u8, 0..90_u8).prop_map(|(millis, loss, duplication, reordering)| Line {
        loss,
        duplication,
        reordering,
        ..Line::of(millis)
    })
}

fn scheduler() -> impl Strategy<Value = SchedulerKind> {
    (0..SchedulerKind::ALL.len()).prop_map(|index| SchedulerKind::ALL[index])
}

/// An action of an end or of a path.
#[derive(Clone, Copy, Debug)]
enum Action {
    Send(bool, u8),
    Break(usize),
    Repair(usize),
    Join(usize),
    Prioritize(bool, u32, u8),
    Announce(bool, u8),
    Withdraw(bool, usize),
    Lose(usize),
    SendSoon(bool, u8, u16),
    CloseSubflow(bool, u32),
    Wait(u16),
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        5 => (any::<bool>(), 1..20_u8).prop_map(|(from, count)| Action::Send(from, count)),
        2 => (0..3_usize).prop_map(Action::Break),
        3 => (0..3_usize).prop_map(Action::Repair),
        3 => (0..3_usize).prop_map(Action::Join),
        1 => (any::<bool>(), 0..4_u32, 0..16_u8).prop_map(|(by, id, it)| Action::Prioritize(by, id, it)),
        1 => (any::<bool>(), any::<u8>()).prop_map(|(by, host)| Action::Announce(by, host)),
        1 => (any::<bool>(), 0..3_usize).prop_map(|(by, line)| Action::Withdraw(by, line)),
        1 => (any::<bool>(), 1..4_u32).prop_map(|(by, id)| Action::CloseSubflow(by, id)),
        2 => (0..3_usize).prop_map(Action::Lose),
        1 => (any::<bool>(), 1..20_u8, 1..800_u16)
            .prop_map(|(from, count, millis)| Action::SendSoon(from, count, millis)),
        6 => (1..1_500_u16).prop_map(Action::Wait),
    ]
}

fn end(is_client: bool) -> End {
    if is_client { End::Client } else { End::Server }
}

fn is_alive(world: &World, end: End) -> bool {
    let endpoint = if end == End::Client { &world.client } else { &world.server };
    world.at_server.is_some() && endpoint.connection(world.handle(end)).is_some()
}

/// Sends `count` datagrams, as far as they are accepted.
fn send(world: &mut World, from: End, count: u8, next: &mut u64) {
    if !is_alive(world, from) {
        return;
    }
    for _ in 0..count {
        let number = *next;
        *next += 1;
        world.command(from, |connection, now| {
            let _ = connection.send(now, datagram(number));
        });
    }
}

fn perform(world: &mut World, action: Action, next: &mut u64) {
    match action {
        Action::Send(by, count) => send(world, end(by), count, next),
        Action::Break(line) => world.lines[line].is_dead = true,
        Action::Repair(line) => world.lines[line].is_dead = false,
        Action::Join(line) => {
            let _ = world.client.join(world.now, world.at_client, super::world::path(line), None);
        }
        Action::Wait(millis) => world.run_for(Duration::from_millis(millis.into())),
        Action::Prioritize(by, id, priority) if is_alive(world, end(by)) => {
            let priority = PathPriority::new(priority.max(1));
            world.command(end(by), |it, now| it.set_priority(now, SubflowId(id), priority));
        }
        // The interface is gone, and with it the path.
        Action::Lose(line) if is_alive(world, End::Client) => {
            let address = super::world::path(line).local.ip();
            world.command(End::Client, |it, now| it.lose_address(now, address));
        }
        Action::SendSoon(by, count, millis) if is_alive(world, end(by)) => {
            for _ in 0..count {
                let number = *next;
                *next += 1;
                world.command(end(by), |connection, now| {
                    let deadline = now + Duration::from_millis(millis.into());
                    let _ = connection.send(now, datagram(number).with_deadline(deadline));
                });
            }
        }
        Action::Announce(by, host) if is_alive(world, end(by)) => {
            let address = core::net::IpAddr::from([198, 51, 100, host]);
            let _ = world.command(end(by), |it, now| it.announce_address(now, address, None));
        }
        Action::Withdraw(true, line) if line > 0 && is_alive(world, End::Client) => {
            let address = super::world::path(line).local.ip();
            world.command(End::Client, |it, now| it.remove_address(now, address));
        }
        Action::CloseSubflow(by, id) if is_alive(world, end(by)) => {
            world.command(end(by), |it, now| it.close_subflow(now, SubflowId(id)));
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Under any events, datagrams arrive at most once and in order; nothing loops (the world checks that
    /// each drain ends, that timeouts lie ahead, and that waking early changes nothing); and once a path
    /// works, data arrives, for any addresses lost before.
    #[test]
    fn datagrams_arrive_at_most_once_in_order_and_progress_continues(
        lines in proptest::collection::vec(line(), 3),
        scheduler in scheduler(),
        actions in proptest::collection::vec(action(), 1..40),
        seed: u64,
    ) {
        let settings = MultipathConfig::default().scheduler(scheduler);
        let mut world = World::new(&lines, ordered(150), ordered(150), [settings.clone(), settings]);
        world.seed(seed);
        world.run_for(Duration::from_secs(20));
        let is_up = is_alive(&world, End::Client) && world.connection(End::Client).is_multipath();
        prop_assume!(is_up);
        let mut next = 0;
        for action in actions {
            perform(&mut world, action, &mut next);
        }
        for end in [End::Client, End::Server] {
            let received = world.received(end);
            prop_assert!(received.windows(2).all(|pair| pair[0] < pair[1]), "{end:?} received {received:?}");
        }
        // The first path works, and no datagram waits any longer.
        for line in &mut world.lines {
            *line = Line::of(20);
        }
        // Paths that were left are used again.
        for line in 0..3 {
            let _ = world.client.join(world.now, world.at_client, super::world::path(line), None);
        }
        world.run_for(Duration::from_secs(150));
        // An end whose last path was closed or reset has ended the connection.
        let over = |event: &MultipathEvent| matches!(event, MultipathEvent::Closed(_));
        let is_over = world.client_events.iter().chain(&world.server_events).any(over);
        if !is_over {
            world.forget();
            for _ in 0..20 {
                for from in [End::Client, End::Server] {
                    send(&mut world, from, 1, &mut next);
                }
                world.run_for(Duration::from_millis(500));
            }
            world.run_for(Duration::from_secs(5));
            // This scheduler does not leave a path on which congestion control has become slow.
            let least = if scheduler == SchedulerKind::Handover { 1 } else { 15 };
            for end in [End::Client, End::Server] {
                prop_assert!(world.received(end).len() >= least, "{end:?}: {:?}", world.received(end));
            }
        }
        // Subflows that are gone leave nothing behind.
        prop_assert!(world.client.snapshot().addresses <= 60 && world.server.snapshot().addresses <= 60);
    }

    /// The state of both ends is bounded for any arrivals.
    #[test]
    fn any_multipath_options_are_harmless(
        options in proptest::collection::vec(
            (any::<bool>(), 0..12_u8, proptest::collection::vec(any::<u8>(), 0..40)),
            1..60,
        ),
    ) {
        use whimbrel_wire::DccpOption;
        let mut world = World::joined(&[Line::of(20), Line::of(35)], config(), MultipathConfig::default());
        let mut pending = options.into_iter();
        world.script = Box::new(move |mut sent| {
            if let Some((is_client, mp_opt, data)) = pending.next() {
                let mut whole = vec![mp_opt];
                whole.extend(data);
                let mut bytes = vec![46, 2 + whole.len() as u8];
                bytes.extend(&whole);
                if is_client == (sent.from == End::Client) {
                    sent.packet.options.push(DccpOption::Unknown { kind: 46, data: whole.into_iter().collect() });
                    // As decoding returns it.
                    if let Some(DccpOption::Unknown { kind, data }) = sent.packet.options.pop() {
                        let option = DccpOption::Multipath(data.clone());
                        let is_valid = whimbrel_wire::option::multipath::MultipathOption::parse(&option).is_some();
                        let unknown = DccpOption::Unknown { kind, data };
                        sent.packet.options.push(if is_valid { option } else { unknown });
                    }
                }
            }
            Some(sent.packet)
        });
        for step in 0..40 {
            for from in [End::Client, End::Server] {
                if is_alive(&world, from) {
                    world.command(from, |it, now| { let _ = it.send(now, datagram(step)); });
                }
            }
            world.run_for(Duration::from_millis(50));
        }
        for end in [End::Client, End::Server] {
            if is_alive(&world, end) {
                let snapshot = world.connection(end).snapshot();
                prop_assert!(snapshot.remembered < 100, "{snapshot:?}");
                prop_assert!(snapshot.subflows.len() <= 32);
            }
        }
    }
}
