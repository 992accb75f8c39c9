//! Packets that wait for preceding ones.

use proptest::prelude::*;
use whimbrel_units::Duration;
use whimbrel_wire::PacketType;

use super::pair::{End, Pair, SentPacket, Treatment, config};
use crate::ccid::Registry;
use crate::config::{LatePolicy, LossDetection};
use crate::{Ccid, Config, Event};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A packet every 10 ms; early packets wait for 100 ms.
fn ordered() -> Config {
    let mut config = config(ms(10));
    config.receive.reorder_delay = Some(ms(100));
    config
}

/// The client's n-th datagram, from 1 on, is treated like that.
fn treat(pair: &mut Pair, (treated, treatment): (u32, Treatment)) {
    let mut count = 0;
    pair.script = Box::new(move |sent: &SentPacket| {
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
fn no_packet_waits_longer_than_the_configured_delay() {
    let mut pair = eight(ordered(), (3, Treatment::Lose));
    // The fourth leaves after 30 ms, arrives after 80, and has waited long enough after 180.
    pair.run_for(ms(179));
    assert_eq!(pair.received(End::Server), [1, 2]);
    pair.run_for(ms(2));
    assert_eq!(pair.received(End::Server), [1, 2, 4, 5, 6, 7, 8], "one deadline for all that follow");
    assert_eq!(pair.server().reordering().unwrap().expired, 1);
}

#[test]
fn packets_later_than_that_are_discarded() {
    let mut pair = eight(ordered(), (3, Treatment::Delay(ms(150))));
    pair.run_for(ms(500));
    assert_eq!(pair.received(End::Server), [1, 2, 4, 5, 6, 7, 8]);
    assert_eq!(pair.server().reordering().unwrap().late, 1);
    assert_eq!(pair.server().snapshot().statistics.datagrams_received, 7);
}

#[test]
fn a_reset_delivers_what_waits_at_once() {
    let mut pair = eight(ordered(), (3, Treatment::Lose));
    pair.run_for(ms(75));
    pair.client.abort(pair.now);
    pair.run_for(ms(52));
    assert_eq!(pair.received(End::Server), [1, 2, 4, 5, 6, 7, 8]);
    assert_nothing_follows_the_end(&pair);
}

#[test]
fn a_close_is_processed_after_the_data_that_it_overtook() {
    // The last datagram comes 60 ms late, behind the Close.
    let mut pair = eight(ordered(), (8, Treatment::Delay(ms(60))));
    pair.run_for(ms(75));
    pair.client.close(pair.now);
    pair.run_for(ms(60));
    assert_eq!(
        pair.received(End::Server),
        [1, 2, 3, 4, 5, 6, 7],
        "the Close is there, the last datagram is not"
    );
    assert!(!pair.server_events.iter().any(|event| matches!(event, Event::Closed(_))));
    pair.run_for(ms(60));
    assert_eq!(pair.received(End::Server), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_nothing_follows_the_end(&pair);
    // A datagram that is lost delays the end by D_max.
    let mut pair = eight(ordered(), (8, Treatment::Lose));
    pair.run_for(ms(75));
    pair.client.close(pair.now);
    pair.run_for(ms(140));
    assert!(!pair.server_events.iter().any(|event| matches!(event, Event::Closed(_))));
    pair.run_for(ms(15));
    assert_nothing_follows_the_end(&pair);
}

#[test]
fn a_close_request_is_processed_after_the_data_that_it_overtook() {
    let mut server = ordered();
    server.server_sends_close_request = true;
    let mut pair = Pair::connected_with(ordered(), server);
    let mut count = 0;
    pair.script = Box::new(move |sent: &SentPacket| {
        count += u32::from(sent.from == End::Server && !sent.packet.payload.is_empty());
        let is_last = count == 8 && !sent.packet.payload.is_empty();
        if is_last { Treatment::Delay(ms(60)) } else { Treatment::Deliver }
    });
    (1..=8).for_each(|tag| {
        pair.send(End::Server, tag);
    });
    pair.run_for(ms(75));
    pair.server.as_mut().unwrap().close(pair.now);
    pair.run_for(ms(500));
    assert_eq!(pair.received(End::Client), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert!(pair.client_events.iter().any(|event| matches!(event, Event::Closed(_))));
}

fn assert_nothing_follows_the_end(pair: &Pair) {
    let closed = pair.server_events.iter().position(|event| matches!(event, Event::Closed(_)));
    let last = pair.server_events.iter().rposition(|event| matches!(event, Event::Datagram { .. }));
    assert!(closed.is_some() && last < closed, "{:?}", pair.server_events);
}

/// A CCID 3 flow of a datagram every 10 ms, of which each tenth comes 150 ms late.
fn tenth_late(change: impl FnOnce(&mut Config)) -> Pair {
    let mut config = Config { ccids: Registry::default(), ..ordered() };
    (config.sender_ccids, config.receiver_ccids) = ([Ccid::TFRC].into(), [Ccid::TFRC].into());
    config.send_queue.max_datagrams = 1000;
    change(&mut config);
    let mut pair = Pair::connected(config);
    let mut count = 0;
    pair.script = Box::new(move |sent: &SentPacket| {
        let is_data = sent.from == End::Client && !sent.packet.payload.is_empty();
        count += u32::from(is_data);
        if is_data && count % 10 == 0 { Treatment::Delay(ms(150)) } else { Treatment::Deliver }
    });
    for tag in 1..=200 {
        pair.send(End::Client, tag);
        pair.run_for(ms(10));
    }
    pair.run_for(ms(10_000));
    pair
}

#[test]
fn late_datagrams_that_are_discarded_stay_lost_to_the_congestion_control() {
    let discarded = tenth_late(|_| ());
    let late = discarded.server().reordering().unwrap().late;
    let expected = 200 - late as usize;
    assert!(
        (10..=20).contains(&late),
        "{late} of 200: the slower the flow, the fewer overtake within the delay"
    );
    assert_eq!(discarded.received(End::Server).len(), expected);
    let p = |pair: &Pair| pair.client.snapshot().sender.loss_event_rate.unwrap();
    assert!(p(&discarded) > 0.05, "the application misses a tenth: {}", p(&discarded));
    // Delivered late, they are there, and the loss is taken back.
    let delivered = tenth_late(|config| config.receive.late = LatePolicy::Deliver);
    assert_eq!(delivered.received(End::Server).len(), 200);
    assert!(!delivered.received(End::Server).is_sorted());
    assert!(p(&delivered) < p(&discarded) / 4.0, "{} {}", p(&delivered), p(&discarded));
    // A judgement of its own does not overlook what the application misses either.
    let judged = tenth_late(|config| config.receive.loss_detection = LossDetection::Rack);
    assert!(p(&judged) > 0.05, "{}", p(&judged));
}

#[test]
fn the_reorder_delay_and_loss_detection_are_separate_settings() {
    let three = |change: fn(&mut Config)| {
        let mut config = ordered();
        config.ccids = Registry::default();
        (config.sender_ccids, config.receiver_ccids) = ([Ccid::TFRC].into(), [Ccid::TFRC].into());
        config.tune_tfrc(|tfrc| tfrc.forgive_late = false);
        change(&mut config);
        let mut pair = Pair::connected(config);
        treat(&mut pair, (30, Treatment::Delay(ms(60))));
        for tag in 1..=60 {
            pair.send(End::Client, tag);
            pair.run_for(ms(10));
        }
        pair.run_for(ms(500));
        assert_eq!(pair.received(End::Server), (1..=60).collect::<Vec<_>>(), "60 ms are within D_max");
        pair.server().snapshot().receiver.lost
    };
    assert_eq!(three(|_| ()), 0, "judged by the buffer");
    assert_eq!(
        three(|config| config.receive.loss_detection = LossDetection::Packets),
        1,
        "three came before"
    );
    assert_eq!(
        three(|config| config.receive.loss_detection = LossDetection::Rack),
        1,
        "nothing was reordered before"
    );
}

#[test]
fn an_adaptive_bound_waits_no_longer_than_the_path_needs() {
    let mut delays = Vec::new();
    for adapts in [false, true] {
        let mut config = ordered();
        (config.receive.reorder_delay, config.receive.reorder_adapts) = (Some(ms(400)), adapts);
        let mut pair = Pair::connected(config);
        let mut count = 0;
        pair.script = Box::new(move |sent: &SentPacket| {
            let is_data = sent.from == End::Client && !sent.packet.payload.is_empty();
            count += u32::from(is_data);
            match count {
                // In the end a loss.
                2950 if is_data => Treatment::Lose,
                _ if is_data && count % 10 == 0 => Treatment::Delay(ms(48)),
                _ => Treatment::Deliver,
            }
        });
        for tag in 1..=3000 {
            pair.send(End::Client, tag);
            pair.run_for(ms(10));
        }
        pair.run_for(ms(1000));
        assert_eq!(pair.received(End::Server).len(), 2999);
        let lateness = pair.server().lateness();
        assert_eq!(
            lateness.overtaken, 298,
            "a tenth, but for the one lost and the last, which nothing overtook"
        );
        // The next packet arrives 10 ms after the missing one would have.
        assert!((ms(36)..=ms(39)).contains(&lateness.maximum), "{lateness:?}");
        delays.push(pair.server().reordering().unwrap().delay.unwrap());
    }
    assert_eq!(delays[0], ms(400));
    assert!((ms(45)..=ms(50)).contains(&delays[1]), "a quarter more than the longest late time: {delays:?}");
}

#[test]
fn packets_without_data_fill_their_places_and_are_not_missing_if_counted() {
    let mut config = Config { ccids: Registry::default(), ..ordered() };
    (config.sender_ccids, config.receiver_ccids) = ([Ccid::TFRC].into(), [Ccid::TFRC].into());
    let mut pair = Pair::connected(config);
    // Both ends send: acknowledgements of one half-connection stand between the data of the other; every
    // third is lost.
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
    assert_eq!((reordering.expired, reordering.late), (0, 0), "the NDP Count reveals lost acknowledgements");
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

/// A sender may send at once what it was able to send before it had little to send, as pictures do (RFC 5348,
/// Section 4.3, Maximize X_recv_set). What it does then has room to wait.
#[test]
fn a_quiet_stretch_leaves_the_buffer_its_room() {
    let mut config = Config { ccids: Registry::default(), ..ordered() };
    (config.sender_ccids, config.receiver_ccids) = ([Ccid::TFRC].into(), [Ccid::TFRC].into());
    config.send_queue.max_datagrams = 1000;
    for lost in [None, Some(300)] {
        let mut pair = Pair::connected(config.clone());
        let mut count = 0;
        pair.script = Box::new(move |sent: &SentPacket| {
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
    config.receive.loss_detection = LossDetection::Rack;
    let mut pair = eight(config, (3, Treatment::Delay(ms(35))));
    pair.run_for(ms(300));
    assert_eq!(pair.received(End::Server), [1, 2, 4, 5, 6, 3, 7, 8]);
    // Nothing was out of order before: after three packets it was given up.
    let reordering = pair.server().reordering().unwrap();
    assert_eq!((reordering.overflowed, reordering.late), (1, 1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// [`Pair`] also checks that no wake-up is immediate, and that an early wake-up does nothing.
    #[test]
    fn whatever_happens_on_the_way_order_is_kept(
        ccid in prop_oneof![Just(Ccid::TFRC), Just(Ccid::TFRC_SP), Just(Ccid::TCP_LIKE)],
        wait in 1u64..300,
        size in prop_oneof![Just(None), (1u32..20).prop_map(Some)],
        fates in proptest::collection::vec((0u8..10, 0u64..400), 40..120),
        both: bool,
    ) {
        let mut config = Config { ccids: Registry::default(), ..ordered() };
        (config.sender_ccids, config.receiver_ccids) = ([ccid].into(), [ccid].into());
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
            prop_assert!(held == 0 || wakes, "no packet waits for ever");
        }
        pair.client.close(pair.now);
        pair.drive_bounded();
    }
}
