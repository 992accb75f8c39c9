//! The dialect of the drafts of 2024, as the Linux kernels with MP-DCCP speak it.

use core::net::{IpAddr, Ipv4Addr};

use bytes::Bytes;
use whimbrel_units::Duration;
use whimbrel_wire::option::multipath::{self, MultipathOption};

use super::world::{End, Line, Sent, World, config, options, path};
use crate::Datagram;
use crate::multipath::{Dialect, MultipathConfig, MultipathEvent, PathPriority, SubflowId};

const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7));
const REVERSED: IpAddr = IpAddr::V4(Ipv4Addr::new(7, 100, 51, 198));

fn two(dialect: Dialect) -> World {
    let settings = MultipathConfig::default().dialect(dialect);
    World::joined(&[Line::of(20), Line::of(35)], config(), settings)
}

/// The places of signals among the multipath options of a packet.
fn signals(sent: &Sent) -> Vec<usize> {
    let is_signal = |option: &MultipathOption| {
        matches!(option.mp_opt(), multipath::ADD_ADDRESS | multipath::REMOVE_ADDRESS | multipath::PRIORITY)
    };
    options(&sent.packet).iter().enumerate().filter(|(_, it)| is_signal(it)).map(|(place, _)| place).collect()
}

/// The numbers of options of the MP_CONFIRMs of a packet.
fn confirmations(sent: &Sent) -> Vec<usize> {
    let count = |option: &MultipathOption| match option {
        MultipathOption::Confirm(list) => Some(list.iter().count()),
        _ => None,
    };
    options(&sent.packet).iter().filter_map(count).collect()
}

/// An address and the priorities of both paths at once.
fn signalled(dialect: Dialect) -> World {
    let mut world = two(dialect);
    world.command(End::Server, |connection, now| {
        connection.announce_address(now, ADDRESS, None).expect("an ID");
        connection.set_priority(now, SubflowId(0), PathPriority::STANDBY);
        connection.set_priority(now, SubflowId(1), PathPriority::STANDBY);
    });
    world.run_for(Duration::from_millis(500));
    for subflow in [SubflowId(0), SubflowId(1)] {
        let changed = MultipathEvent::PriorityChanged { subflow, priority: PathPriority::STANDBY };
        assert!(world.client_events.contains(&changed), "{:?}", world.client_events);
    }
    let added = MultipathEvent::AddressAdded { address_id: 1, address: ADDRESS, port: None };
    assert!(world.client_events.contains(&added), "{:?}", world.client_events);
    assert_eq!(world.connection(End::Server).snapshot().unconfirmed_signals, 0);
    world
}

/// The address in MP_ADDADDR.
fn address_sent(world: &World) -> Option<IpAddr> {
    world.sent.iter().find_map(|sent| {
        options(&sent.packet).iter().find_map(|option| match option {
            MultipathOption::AddAddress(it) => Some(it.address),
            _ => None,
        })
    })
}

#[test]
fn each_packet_of_the_drafts_has_one_signal_next_to_its_number() {
    let world = signalled(Dialect::Draft2024);
    let mut count = 0;
    for sent in &world.sent {
        let places = signals(sent);
        assert!(places.len() <= 1 && confirmations(sent).iter().all(|count| *count == 1), "{sent:?}");
        if let [place] = places[..] {
            count += 1;
            let before = place.checked_sub(1).map(|place| options(&sent.packet)[place].mp_opt());
            assert_eq!(before, Some(multipath::SEQ), "{sent:?}");
        }
    }
    assert_eq!(count, 3);
    // The RFC permits several.
    let world = signalled(Dialect::Rfc9897);
    assert!(world.sent.iter().any(|sent| signals(sent).len() > 1));
}

#[test]
fn a_priority_of_the_drafts_is_confirmed_on_its_own_subflow() {
    let world = signalled(Dialect::Draft2024);
    let lines = |from: End, mp_opt: u8| -> Vec<usize> {
        let has = |sent: &&Sent| {
            sent.from == from
                && options(&sent.packet).iter().any(|option| match option {
                    MultipathOption::Confirm(list) if mp_opt == multipath::CONFIRM => {
                        list.iter().any(|(_, of)| {
                            MultipathOption::parse(&of).is_some_and(|of| of.mp_opt() == multipath::PRIORITY)
                        })
                    }
                    option => option.mp_opt() == mp_opt,
                })
        };
        let mut lines: Vec<_> = world.sent.iter().filter(has).map(|sent| sent.line).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(lines(End::Server, multipath::PRIORITY), [0, 1]);
    assert_eq!(lines(End::Client, multipath::CONFIRM), [0, 1]);
}

#[test]
fn a_confirmation_whose_subflow_has_ended_holds_up_no_signal() {
    let mut world = two(Dialect::Draft2024);
    let (sender, receiver) = std::sync::mpsc::channel();
    world.script = Box::new(move |sent| {
        if options(&sent.packet).iter().any(|option| option.mp_opt() == multipath::PRIORITY) {
            sender.send(sent.packet).expect("a test");
            return None;
        }
        Some(sent.packet)
    });
    world.command(End::Server, |connection, now| {
        connection.set_priority(now, SubflowId(1), PathPriority::STANDBY);
    });
    world.run_for(Duration::from_millis(10));
    // The client leaves the subflow before it has answered, and has a signal of its own.
    world.deliver(End::Client, path(1), receiver.recv().expect("a signal"));
    world.command(End::Client, |connection, now| connection.abandon_subflow(now, SubflowId(1)));
    world
        .command(End::Client, |connection, now| connection.announce_address(now, ADDRESS, None))
        .expect("an ID");
    world.run_for(Duration::from_millis(500));
    let added = MultipathEvent::AddressAdded { address_id: 2, address: ADDRESS, port: None };
    assert!(world.server_events.contains(&added), "{:?}", world.server_events);
    assert_eq!(world.connection(End::Client).snapshot().unconfirmed_signals, 0);
}

#[test]
fn the_bytes_of_an_announced_ipv4_address_are_reversed_in_the_drafts() {
    assert_eq!(address_sent(&signalled(Dialect::Draft2024)), Some(REVERSED));
    assert_eq!(address_sent(&signalled(Dialect::Rfc9897)), Some(ADDRESS));
}

#[test]
fn an_empty_datagram_is_delivered_by_the_rfc_and_carries_options_in_the_drafts() {
    for (dialect, expected) in [(Dialect::Rfc9897, 2), (Dialect::Draft2024, 1)] {
        let mut world = two(dialect);
        for payload in [Bytes::new(), Bytes::from_static(b"data")] {
            world.command(End::Client, |connection, now| {
                connection.send(now, Datagram::new(payload)).expect("room");
            });
        }
        world.run_for(Duration::from_millis(300));
        let is_datagram = |event: &&MultipathEvent| matches!(event, MultipathEvent::Datagram { .. });
        assert_eq!(world.server_events.iter().filter(is_datagram).count(), expected, "{dialect:?}");
        // Neither is missing: both have a number.
        assert_eq!(world.connection(End::Server).snapshot().statistics.missing, 0);
    }
}
