//! Packets that wait for those before them.

use proptest::prelude::*;
use smallvec::smallvec;
use whimbrel_units::Duration;
use whimbrel_wire::PacketType;

use super::pair::{End, Pair, Sent, Treatment, config};
use crate::ccid::Registry;
use crate::config::LossDetection;
use crate::{Ccid, Config, Event};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A packet every 10 ms; whoever comes too early waits for 100 ms.
fn ordered() -> Config {
    let mut config = config(ms(10));
    config.receive.reorder_delay = Some(ms(100));
    config
}

/// The client's n-th datagram, from 1 on, is treated like that.
fn treat(pair: &mut Pair, (treated, treatment): (u32, Treatment)) {
    let mut count = 0;
    pair.script = Box::new(move |sent: &Sent| {
        let is_data = matches!(sent.packet.packet_type(), PacketType::Data | PacketType::DataAck);
        if sent.from == End::Server || !is_data {
            return Treatment::Deliver;
        }
        count += 1;
        if count == treated { treatment } else { Treatment::Deliver }
    });
}

/// Datagrams 1 to 8 leave the client, 10 ms apart.
fn eight(config: Config, treated: (u32, Treatment)) -> Pair {
    let mut pair = Pair::connected(config);
    treat(&mut pair, treated);
    (1..=8).for_each(|tag| {
        pair.send(End::Client, tag);
    });
    pair
}

#[test]
fn datagrams_reach_the_application_in_order() {
    // The third comes 35 ms late, behind three others.
    let treated = (3, Treatment::Delay(ms(35)));
    let mut pair = eight(ordered(), treated);
    pair.run_for(ms(100));
    assert_eq!(pair.received(End::Server), [1, 2], "1 to 6 are there, but for 3");
    pair.run_for(ms(200));
    assert_eq!(pair.received(End::Server), [1, 2, 3, 4, 5, 6, 7, 8]);
    let reordering = pair.server().reordering().unwrap();
    assert_eq!((reordering.reordered, reordering.expired, reordering.late), (3, 0, 0));
    // Without, they come as they come.
    let mut pair = eight(config(ms(10)), treated);
    pair.run_for(ms(300));
    assert_eq!(pair.received(End::Server), [1, 2, 4, 5, 6, 3, 7, 8]);
    assert_eq!(pair.server().reordering(), None);
}

#[test]
fn nobody_waits_longer_than_the_application_bears() {
    let mut pair = eight(ordered(), (3, Treatment::Lose));
    // The fourth leaves after 30 ms, arrives after 80, and has waited long enough after 180.
    pair.run_for(ms(179));
    assert_eq!(pair.received(End::Server), [1, 2]);
    pair.run_for(ms(2));
    assert_eq!(pair.received(End::Server), [1, 2, 4, 5, 6, 7, 8], "one deadline for all that follow");
    assert_eq!(pair.server().reordering().unwrap().expired, 1);
}

#[test]
fn what_comes_later_than_that_is_discarded() {
    let mut pair = eight(ordered(), (3, Treatment::Delay(ms(150))));
    pair.run_for(ms(500));
    assert_eq!(pair.received(End::Server), [1, 2, 4, 5, 6, 7, 8]);
    assert_eq!(pair.server().reordering().unwrap().late, 1);
    assert_eq!(pair.server().snapshot().statistics.datagrams_received, 7);
}

#[test]
fn the_end_of_the_connection_keeps_nobody_waiting() {
    for closes in [true, false] {
        let mut pair = eight(ordered(), (3, Treatment::Lose));
        pair.run_for(ms(75));
        let now = pair.now;
        if closes {
            pair.client.close(now)
        } else {
            pair.client.abort(now)
        }
        pair.run_for(ms(52));
        assert_eq!(pair.received(End::Server), [1, 2, 4, 5, 6, 7, 8]);
        let closed = pair.server_events.iter().position(|event| matches!(event, Event::Closed(_)));
        let last = pair.server_events.iter().rposition(|event| matches!(event, Event::Datagram { .. }));
        assert!(last < closed, "nothing follows the end");
    }
}

#[test]
fn packets_without_data_fill_their_places_and_are_not_missed_where_it_is_known() {
    let mut config = Config { ccids: Registry::default(), ..ordered() };
    (config.sender_ccids, config.receiver_ccids) = (smallvec![Ccid::TFRC], smallvec![Ccid::TFRC]);
    let mut pair = Pair::connected(config);
    // Both ends send: acknowledgements of one half-connection stand between the data of the other; every third is lost.
    let mut acks = 0;
    pair.lose(move |sent| {
        let is_ack = sent.packet.packet_type() == PacketType::Ack;
        acks += u32::from(is_ack);
        is_ack && acks.is_multiple_of(3)
    });
    for tag in 1..=200 {
        pair.send(End::Client, tag);
        if tag < 100 {
            pair.send(End::Server, tag);
        }
        pair.run_for(ms(20));
    }
    pair.run_for(ms(1000));
    assert_eq!(pair.received(End::Server), (1..=200).collect::<Vec<_>>());
    let reordering = pair.server().reordering().unwrap();
    assert_eq!((reordering.expired, reordering.late), (0, 0), "the NDP Count tells of lost acknowledgements");
}

#[test]
fn waiting_datagrams_take_the_room_that_there_is() {
    let mut config = ordered();
    config.receive.max_datagrams = 3;
    let mut pair = eight(config, (3, Treatment::Lose));
    pair.run_for(ms(105));
    assert_eq!((pair.received(End::Server), pair.server().reordering().unwrap().held), (vec![1, 2], 3));
    // 7 finds no room for its data, and makes room by being one too many.
    pair.run_for(ms(400));
    assert_eq!(pair.received(End::Server), [1, 2, 4, 5, 6, 8]);
    assert_eq!(pair.server().reordering().unwrap().overflowed, 1);
    assert_eq!(pair.client.snapshot().statistics.datagrams_lost_at_peer, 1);
}

/// A sender may send at once what it was able to send before it had little to send, as pictures do (RFC 5348, Section 4.3,
/// Maximize X_recv_set). What it does then has room to wait.
#[test]
fn a_quiet_stretch_leaves_the_buffer_its_room() {
    let mut config = Config { ccids: Registry::default(), ..ordered() };
    (config.sender_ccids, config.receiver_ccids) = (smallvec![Ccid::TFRC], smallvec![Ccid::TFRC]);
    config.send_queue.max_datagrams = 1000;
    for lost in [None, Some(300)] {
        let mut pair = Pair::connected(config.clone());
        let mut count = 0;
        pair.script = Box::new(move |sent: &Sent| {
            count += u32::from(sent.from == End::Client && !sent.packet.payload.is_empty());
            match count {
                n if lost == Some(n) => Treatment::Lose,
                801 => Treatment::Delay(ms(70)),
                _ => Treatment::Deliver,
            }
        });
        // The scene is busy, then quiet, and then cut.
        let mut room = Vec::new();
        for tag in 1..=900 {
            if tag == 450 || tag == 800 {
                room.push(pair.server().reordering().unwrap().capacity);
            }
            pair.send(End::Client, tag);
            pair.run_for(ms(match tag {
                ..=400 => 2,
                401..=800 => 50,
                801.. => 1,
            }));
        }
        pair.run_for(ms(2000));
        assert_eq!(room[0], room[1], "{lost:?} lost, long ago");
        let reordering = pair.server().reordering().unwrap();
        assert!(reordering.reordered > 20, "{reordering:?}");
        let lost: Vec<u64> = lost.into_iter().map(u64::from).collect();
        let given_up = (reordering.expired, reordering.overflowed, reordering.late);
        assert_eq!(given_up, (lost.len() as u64, 0, 0), "{lost:?} lost");
        let all_others: Vec<u64> = (1..=900).filter(|tag| !lost.contains(tag)).collect();
        assert_eq!(pair.received(End::Server), all_others);
    }
}

#[test]
fn with_detection_after_rack_data_do_not_wait() {
    let mut config = config(ms(10));
    config.tfrc.loss_detection = LossDetection::Rack;
    let mut pair = eight(config, (3, Treatment::Delay(ms(35))));
    pair.run_for(ms(300));
    assert_eq!(pair.received(End::Server), [1, 2, 4, 5, 6, 3, 7, 8]);
    // Nothing was out of order before: after three packets it was given up.
    let reordering = pair.server().reordering().unwrap();
    assert_eq!((reordering.overflowed, reordering.late), (1, 1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// [`Pair`] checks besides that nobody wants to be woken at once, and that an early wake-up does nothing.
    #[test]
    fn whatever_happens_on_the_way_order_is_kept(
        ccid in prop_oneof![Just(Ccid::TFRC), Just(Ccid::TFRC_SP), Just(Ccid::TCP_LIKE)],
        wait in 1u64..300,
        size in prop_oneof![Just(None), (1u32..20).prop_map(Some)],
        fates in proptest::collection::vec((0u8..10, 0u64..400), 40..120),
        both: bool,
    ) {
        let mut config = Config { ccids: Registry::default(), ..ordered() };
        (config.sender_ccids, config.receiver_ccids) = (smallvec![ccid], smallvec![ccid]);
        config.receive.reorder_delay = Some(ms(wait));
        if let Some(size) = size {
            config.receive.reorder_size = crate::config::BufferSize::Fixed(size);
        }
        let mut pair = Pair::connected(config);
        let mut dice = fates.clone().into_iter().cycle();
        pair.script = Box::new(move |_| match dice.next().unwrap() {
            (0, _) => Treatment::Lose,
            (1, later) => Treatment::Duplicate(ms(later)),
            (2 | 3, later) => Treatment::Delay(ms(later)),
            _ => Treatment::Deliver,
        });
        for tag in 1..=60 {
            pair.send(End::Client, tag);
            if both {
                pair.send(End::Server, tag);
            }
            pair.run_for(ms(15));
        }
        pair.run_for(Duration::from_secs(5));
        for end in [End::Client, End::Server] {
            let received = pair.received(end);
            prop_assert!(received.is_sorted_by(|one, next| one < next), "{received:?}");
            let limit = pair.now + ms(wait);
            let held = pair.end(end).reordering().unwrap().held;
            let wakes = pair.end(end).poll_timeout().is_some_and(|wake| wake <= limit);
            prop_assert!(held == 0 || wakes, "nobody waits for ever");
        }
        pair.client.close(pair.now);
        pair.drive_bounded();
    }
}
