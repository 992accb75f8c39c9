//! Addresses and priorities, and their confirmations.

use core::net::{IpAddr, Ipv4Addr};

use whimbrel_units::Duration;
use whimbrel_wire::option::multipath::{self, MultipathOption};
use whimbrel_wire::{DccpOption, PacketType};

use super::world::{End, Line, World, config, options, path};
use crate::multipath::{Dialect, MultipathConfig, MultipathEvent, PathPriority, SubflowId};

const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7));

fn two() -> World {
    World::joined(&[Line::of(20), Line::of(35)], config(), MultipathConfig::default())
}

fn added(id: u8, address: IpAddr, port: Option<u16>) -> MultipathEvent {
    MultipathEvent::AddressAdded { address_id: id, address, port }
}

/// The packets of an end that carry an option with that MP_OPT.
fn with(world: &World, end: End, mp_opt: u8) -> Vec<Vec<MultipathOption>> {
    let of = world.sent.iter().filter(|sent| sent.from == end).map(|sent| options(&sent.packet));
    of.filter(|options| options.iter().any(|option| option.mp_opt() == mp_opt)).collect()
}

fn unconfirmed(world: &World, end: End) -> usize {
    world.connection(end).snapshot().unconfirmed_signals
}

#[test]
fn an_address_is_announced_with_number_and_code_and_confirmed() {
    let mut world = two();
    let id = world
        .command(End::Server, |connection, now| connection.announce_address(now, ADDRESS, Some(5009)))
        .expect("an ID");
    world.run_for(Duration::from_millis(300));
    assert_eq!(world.client_events, [added(id, ADDRESS, Some(5009))]);
    let announced = with(&world, End::Server, multipath::ADD_ADDRESS);
    assert_eq!(announced.len(), 1);
    let [MultipathOption::Sequence(sequence), address, MultipathOption::Hmac(_)] = &announced[0][..] else {
        panic!("{announced:?}")
    };
    // Section 3.2.1: the number, and the option as it was received.
    let confirmed = with(&world, End::Client, multipath::CONFIRM);
    let [MultipathOption::Confirm(list)] = &confirmed[0][..] else { panic!("{confirmed:?}") };
    assert_eq!(list.iter().collect::<Vec<_>>(), [(*sequence, DccpOption::from(address.clone()))]);
    assert_eq!(unconfirmed(&world, End::Server), 0);
    // The announced address is known; the same one again, with another port, is an update.
    world.forget();
    let again = world.command(End::Server, |connection, now| connection.announce_address(now, ADDRESS, None));
    world.run_for(Duration::from_millis(300));
    assert_eq!(again, Ok(id));
    assert_eq!(world.client_events, [added(id, ADDRESS, None)]);
}

#[test]
fn signals_are_repeated_until_they_are_confirmed() {
    let mut world = two();
    // Neither the first two announcements nor the first two confirmations arrive.
    let (mut announced, mut confirmed) = (0, 0);
    world.script = Box::new(move |sent| {
        let has = |mp_opt| options(&sent.packet).iter().any(|option| option.mp_opt() == mp_opt);
        announced += u32::from(has(multipath::ADD_ADDRESS));
        confirmed += u32::from(has(multipath::CONFIRM));
        let is_lost =
            (has(multipath::ADD_ADDRESS) && announced <= 2) || (has(multipath::CONFIRM) && confirmed <= 2);
        (!is_lost).then_some(sent.packet)
    });
    world
        .command(End::Client, |connection, now| connection.announce_address(now, ADDRESS, None))
        .expect("an ID");
    world.run_for(Duration::from_secs(20));
    assert_eq!(with(&world, End::Client, multipath::ADD_ADDRESS).len(), 5);
    assert_eq!(unconfirmed(&world, End::Client), 0);
    // Reported once per announcement that arrived; numbers differ from packet to packet.
    let numbers: Vec<_> =
        with(&world, End::Client, multipath::ADD_ADDRESS).iter().map(|it| it[0].clone()).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] != pair[1]));
    assert!(world.server_events.contains(&added(2, ADDRESS, None)));
}

#[test]
fn a_newer_priority_replaces_an_older_one_that_is_not_confirmed() {
    let mut world = two();
    let set = |world: &mut World, priority: u8| {
        let priority = PathPriority::new(priority);
        world.command(End::Client, |connection, now| connection.set_priority(now, SubflowId(1), priority));
    };
    // The example of Section 3.2.1: the third signal and two confirmations are lost.
    let (mut signals, mut confirmations) = (0, 0);
    world.script = Box::new(move |sent| {
        let has = |mp_opt| options(&sent.packet).iter().any(|option| option.mp_opt() == mp_opt);
        signals += u32::from(has(multipath::PRIORITY));
        confirmations += u32::from(has(multipath::CONFIRM));
        let is_lost =
            (has(multipath::PRIORITY) && signals == 3) || (has(multipath::CONFIRM) && confirmations == 2);
        (!is_lost).then_some(sent.packet)
    });
    for priority in [0, 1, 0] {
        set(&mut world, priority);
        world.run_for(Duration::from_millis(30));
    }
    world.run_for(Duration::from_secs(3));
    assert_eq!(unconfirmed(&world, End::Client), 0);
    let server = world.connection(End::Server).snapshot();
    assert_eq!(server.subflows[1].priority, PathPriority::UNUSABLE);
    // The signals are about the subflow that carries them.
    assert_eq!(server.subflows[0].priority, PathPriority::default());
    let lines = world.sent.iter().filter(|sent| {
        sent.from == End::Client && options(&sent.packet).iter().any(|it| it.mp_opt() == multipath::PRIORITY)
    });
    assert!(lines.map(|sent| sent.line).all(|line| line == 1));
}

#[test]
fn an_outdated_priority_is_ignored() {
    let mut world = two();
    let mut held = None;
    let mut count = 0;
    let (sender, receiver) = std::sync::mpsc::channel();
    world.script = Box::new(move |sent| {
        if options(&sent.packet).iter().any(|option| option.mp_opt() == multipath::PRIORITY) {
            count += 1;
            if count == 1 {
                sender.send(sent.packet).expect("a test");
                return None;
            }
        }
        Some(sent.packet)
    });
    for priority in [4, 1] {
        let priority = PathPriority::new(priority);
        world.command(End::Client, |connection, now| connection.set_priority(now, SubflowId(1), priority));
        world.run_for(Duration::from_millis(20));
    }
    world.run_for(Duration::from_millis(100));
    held.get_or_insert(receiver.recv().expect("the first signal"));
    world.deliver(End::Server, super::world::reversed(path(1)), held.take().expect("the first signal"));
    world.run_for(Duration::from_millis(500));
    let server = world.connection(End::Server).snapshot();
    assert_eq!(server.subflows[1].priority, PathPriority::STANDBY);
}

#[test]
fn a_removed_address_takes_its_subflows_with_it() {
    let mut world = two();
    let address = path(1).local.ip();
    assert!(world.command(End::Client, |connection, now| connection.remove_address(now, address)));
    world.run_for(Duration::from_millis(500));
    assert!(world.server_events.contains(&MultipathEvent::AddressRemoved { address_id: 1 }));
    for end in [End::Client, End::Server] {
        let subflows: Vec<_> = world.connection(end).subflows().map(|(id, _)| id).collect();
        assert_eq!(subflows, [SubflowId(0)], "{end:?}");
    }
    let removed = with(&world, End::Client, multipath::REMOVE_ADDRESS);
    assert!(matches!(
        removed[0][..],
        [MultipathOption::Sequence(_), MultipathOption::RemoveAddress(it), MultipathOption::Hmac(_)]
            if it.nonce.is_some() && it.address_id == 1
    ));
    assert_eq!(unconfirmed(&world, End::Client), 0);
    // The ID is free, and may be used again.
    world.join(1);
    world.run_for(Duration::from_millis(500));
    assert_eq!(world.connection(End::Server).subflows().count(), 2);
    // An address that this host never had.
    assert!(!world.command(End::Client, |connection, now| connection.remove_address(now, ADDRESS)));
}

#[test]
fn a_lost_confirmation_of_a_removal_is_sent_again() {
    let mut world = two();
    let mut confirmations = 0;
    world.script = Box::new(move |sent| {
        let confirms = options(&sent.packet).iter().any(|option| option.mp_opt() == multipath::CONFIRM);
        confirmations += u32::from(confirms);
        (!confirms || confirmations > 1).then_some(sent.packet)
    });
    let address = path(1).local.ip();
    world.command(End::Client, |connection, now| connection.remove_address(now, address));
    world.run_for(Duration::from_secs(3));
    assert_eq!(unconfirmed(&world, End::Client), 0);
    assert_eq!(with(&world, End::Client, multipath::REMOVE_ADDRESS).len(), 2);
}

/// Sends a signal whose options were changed on the way; none of it may have an effect.
fn assert_ignored(mp_opt: u8, change: impl Fn(&mut Vec<DccpOption>) + 'static) {
    let mut world = two();
    world.script = Box::new(move |mut sent| {
        let has = options(&sent.packet).iter().any(|option| option.mp_opt() == mp_opt);
        if has && sent.from == End::Client {
            let mut options = sent.packet.options.to_vec();
            change(&mut options);
            sent.packet.options = options.into_iter().collect();
        }
        Some(sent.packet)
    });
    if mp_opt == multipath::ADD_ADDRESS {
        world.command(End::Client, |it, now| it.announce_address(now, ADDRESS, None)).expect("an ID");
    } else {
        // An address that no subflow uses, so that no Close is sent.
        world.command(End::Client, |it, now| it.announce_address(now, ADDRESS, None)).expect("an ID");
        world.run_for(Duration::from_millis(300));
        assert!(world.server_events.contains(&added(2, ADDRESS, None)));
        world.forget();
        world.command(End::Client, |it, now| it.remove_address(now, ADDRESS));
    }
    world.run_for(Duration::from_secs(2));
    let of_address = |event: &MultipathEvent| {
        matches!(event, MultipathEvent::AddressAdded { .. } | MultipathEvent::AddressRemoved { .. })
    };
    assert!(!world.server_events.iter().any(of_address), "{:?}", world.server_events);
    // Silently: there is neither a confirmation nor a Reset.
    assert!(with(&world, End::Server, multipath::CONFIRM).is_empty());
    assert!(!world.sent.iter().any(|sent| sent.packet.packet_type() == PacketType::Reset));
    assert_eq!(unconfirmed(&world, End::Client), 1);
}

#[test]
fn signals_without_the_right_code_or_a_number_are_ignored_silently() {
    let is =
        |option: &DccpOption, mp_opt: u8| matches!(option, DccpOption::Multipath(data) if data[0] == mp_opt);
    for mp_opt in [multipath::ADD_ADDRESS, multipath::REMOVE_ADDRESS] {
        let flip = move |options: &mut Vec<DccpOption>, which: u8| {
            for option in options.iter_mut() {
                if let DccpOption::Multipath(data) = option
                    && data[0] == which
                {
                    let last = data.len() - 1;
                    data[last] ^= 1;
                }
            }
        };
        assert_ignored(mp_opt, move |options| flip(options, multipath::HMAC));
        // The code covers all of the option.
        assert_ignored(mp_opt, move |options| flip(options, mp_opt));
        assert_ignored(mp_opt, move |options| options.retain(|option| !is(option, multipath::HMAC)));
        assert_ignored(mp_opt, move |options| options.retain(|option| !is(option, multipath::SEQ)));
        // Section 3.2.6: the code directly follows its option.
        assert_ignored(mp_opt, move |options| {
            if let Some(place) = options.iter().position(|option| is(option, multipath::HMAC)) {
                let code = options.remove(place);
                options.push(MultipathOption::Experimental(Default::default()).into());
                options.push(code);
            }
        });
    }
}

#[test]
fn addresses_of_no_host_and_contradictions_are_ignored() {
    for address in [Ipv4Addr::BROADCAST, Ipv4Addr::new(224, 0, 0, 9), Ipv4Addr::UNSPECIFIED] {
        let mut world = two();
        world.command(End::Client, |it, now| it.announce_address(now, address.into(), None)).expect("an ID");
        world.run_for(Duration::from_millis(500));
        assert!(world.server_events.is_empty(), "{:?}", world.server_events);
        assert_eq!(unconfirmed(&world, End::Client), 1);
    }
    let mut addresses = crate::multipath::addresses::Addresses::new(ADDRESS, ADDRESS, 3);
    use crate::multipath::addresses::Announcement;
    let other = IpAddr::from([198, 51, 100, 8]);
    assert_eq!(addresses.announce(5, other), Announcement::New);
    assert_eq!(addresses.announce(5, other), Announcement::Known);
    assert_eq!(addresses.announce(5, ADDRESS), Announcement::Invalid);
    assert_eq!(addresses.announce(6, ADDRESS), Announcement::New);
    assert_eq!(addresses.announce(7, ADDRESS), Announcement::Discarded);
    // The ID may stand for another address once it is removed.
    assert!(addresses.remove(5) && !addresses.remove(5));
    assert_eq!(addresses.announce(5, ADDRESS), Announcement::New);
}

#[test]
fn the_drafts_signal_without_nonces() {
    let settings = MultipathConfig::default().dialect(Dialect::Draft2024);
    let mut world = World::joined(&[Line::of(20), Line::of(35)], config(), settings);
    world.command(End::Client, |it, now| it.announce_address(now, ADDRESS, None)).expect("an ID");
    world.run_for(Duration::from_millis(300));
    world.command(End::Client, |it, now| it.remove_address(now, ADDRESS));
    world.run_for(Duration::from_millis(300));
    assert_eq!(unconfirmed(&world, End::Client), 0);
    assert!(world.server_events.contains(&MultipathEvent::AddressRemoved { address_id: 2 }));
    for mp_opt in [multipath::ADD_ADDRESS, multipath::REMOVE_ADDRESS] {
        let sent = with(&world, End::Client, mp_opt);
        assert!(sent.iter().flatten().all(|option| match option {
            MultipathOption::AddAddress(it) => it.nonce.is_none(),
            MultipathOption::RemoveAddress(it) => it.nonce.is_none(),
            _ => true,
        }));
    }
}

#[test]
fn numbers_wrap_at_the_end_of_their_space() {
    use crate::multipath::sending::Sending;
    use whimbrel_wire::SeqNo;
    let mut sending = Sending::new(Default::default(), SeqNo::ZERO.sub(2));
    let numbers: Vec<u64> = (0..4).map(|_| sending.number().value()).collect();
    assert_eq!(numbers, [(1 << 48) - 2, (1 << 48) - 1, 0, 1]);
    // Signals and datagrams are in order across the end.
    let mut inbound = crate::multipath::inbound_signals::InboundSignals::default();
    use crate::multipath::inbound_signals::Age;
    use crate::multipath::signals::Dataset;
    let mut age = |number: u64| inbound.on_signal(Dataset::Address(1), SeqNo::new(number));
    assert_eq!((age((1 << 48) - 1), age(1), age((1 << 48) - 1)), (Age::First, Age::Newer, Age::Outdated));
}

#[test]
fn round_trip_times_are_reported_if_configured() {
    let settings = MultipathConfig::default().rtt_interval(Some(Duration::from_millis(200)));
    let mut world = World::joined(&[Line::of(20), Line::of(35)], config(), settings);
    world.stream(End::Client, 0, 200, Duration::from_millis(10));
    let report = world.connection(End::Client).snapshot().subflows[0].peer_rtt.expect("a report");
    assert!((35..=60).contains(&report.rtt_millis), "{report:?}");
}
