use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const TIME: Duration = Duration::from_millis(400);

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn joiner() -> Joiner {
    Joiner::new(TIME, Room::default())
}

/// A datagram of the connection, of port 1 and flow 7.
fn datagram(size: usize, seed: u8) -> Vec<u8> {
    [1, 7].into_iter().chain((0..size).map(|byte| (byte as u8).wrapping_mul(31) ^ seed)).collect()
}

fn divide(number: u16, datagram: &[u8], limit: usize) -> Vec<Bytes> {
    let mut division = Division::new(number, datagram, limit, false).expect("few parts");
    let mut parts = Vec::new();
    loop {
        parts.push(division.part(datagram));
        if division.advance() {
            return parts;
        }
    }
}

#[test]
fn a_transport_stream_of_1316_bytes_takes_two_equal_parts_on_a_path_of_1280() {
    let whole = datagram(1316, 0);
    let parts = divide(0x0203, &whole, 1180);
    assert_eq!(parts.iter().map(Bytes::len).collect::<Vec<_>>(), [664, 664]);
    assert_eq!(parts[1][..6], [0x41, 7, 2, 3, 1, 2]);
    assert!(parts.iter().all(|part| is_part(part)) && !is_part(&whole));
    let mut joiner = joiner();
    assert_eq!(joiner.accept(at(0), &parts[0]), None);
    assert_eq!(joiner.accept(at(1), &parts[1]).as_deref(), Some(&whole[..]));
    assert_eq!((joiner.incomplete.len(), joiner.cost), (0, 0));
}

#[test]
fn what_does_not_fit_255_parts_is_not_divided() {
    assert!(Division::new(0, &datagram(65_507, 0), 263, false).is_some());
    assert_eq!(Division::new(0, &datagram(65_507, 0), 262, false), None);
    assert_eq!(Division::new(0, &datagram(100, 0), 6, false), None);
    assert_eq!(Division::new(0, &[1], 100, false), None);
}

/// A transport with room for `room` datagrams of up to `limit` bytes.
fn transport(
    room: usize,
    limit: usize,
    sent: &mut Vec<Bytes>,
) -> impl FnMut(Bytes, Option<Instant>, Mark) -> Result<Handed, std::convert::Infallible> {
    let most = sent.len() + room;
    move |datagram, _, _| {
        Ok(match datagram.len() {
            size if size > limit => Handed::TooLarge(limit),
            _ if sent.len() == most => Handed::Later,
            _ => {
                sent.push(datagram);
                Handed::Accepted
            }
        })
    }
}

#[test]
fn parts_wait_for_the_transport_and_follow_a_path_that_becomes_narrower() {
    let whole = Bytes::from(datagram(4000, 5));
    let (mut divider, mut sent) = (Divider::default(), Vec::new());
    assert_eq!(
        divider.hand(Lane::Media, &whole, at(9), Mark::SINGLE, transport(9, 4002, &mut sent)),
        Ok(Handed::Accepted)
    );
    assert_eq!(sent.pop().as_ref(), Some(&whole));
    assert_eq!(
        divider.hand(Lane::Media, &whole, at(9), Mark::SINGLE, transport(2, 1200, &mut sent)),
        Ok(Handed::Later)
    );
    assert_eq!(
        divider.hand(Lane::Media, &whole, at(9), Mark::SINGLE, transport(9, 1200, &mut sent)),
        Ok(Handed::Accepted)
    );
    assert_eq!(sent.len(), 4);
    let mut joiner = joiner();
    let joined: Vec<_> = sent.drain(..).filter_map(|part| joiner.accept(at(0), &part)).collect();
    assert_eq!(joined, std::slice::from_ref(&whole));
    // Two parts of 1200 bytes, and then all of it again in smaller ones.
    assert_eq!(
        divider.hand(Lane::Media, &whole, at(9), Mark::SINGLE, transport(2, 1200, &mut sent)),
        Ok(Handed::Later)
    );
    assert_eq!(
        divider.hand(Lane::Media, &whole, at(9), Mark::SINGLE, transport(9, 700, &mut sent)),
        Ok(Handed::Accepted)
    );
    assert_eq!(sent.len(), 2 + 6);
    let joined: Vec<_> = sent.drain(..).filter_map(|part| joiner.accept(at(0), &part)).collect();
    assert_eq!(joined, std::slice::from_ref(&whole));
    // One that was given up in the middle does not continue as another.
    assert_eq!(
        divider.hand(Lane::Media, &whole, at(9), Mark::SINGLE, transport(2, 1200, &mut sent)),
        Ok(Handed::Later)
    );
    let other = Bytes::from(datagram(4000, 6));
    assert_eq!(
        divider.hand(Lane::Media, &other, at(9), Mark::SINGLE, transport(9, 1200, &mut sent)),
        Ok(Handed::Accepted)
    );
    let joined: Vec<_> = sent.drain(..).filter_map(|part| joiner.accept(at(0), &part)).collect();
    assert_eq!(joined, [other]);
    assert_eq!(
        divider.hand(Lane::Media, &whole, at(9), Mark::SINGLE, transport(9, 5, &mut sent)),
        Ok(Handed::TooLarge(5))
    );
}

/// Telemetry that is given up in the middle, time and again, and more urgent datagrams: bulk data continue.
#[test]
fn bulk_data_that_others_interrupt_do_not_begin_anew() {
    let whole = Bytes::from(datagram(8000, 1));
    let (mut divider, mut sent) = (Divider::default(), Vec::new());
    divider.set_knows_bulk();
    let bulk = |divider: &mut Divider, room, sent: &mut Vec<Bytes>| {
        divider.hand(Lane::Bulk, &whole, at(30_000), Mark::SINGLE, transport(room, 1200, sent))
    };
    for room in [3, 2] {
        assert_eq!(bulk(&mut divider, room, &mut sent), Ok(Handed::Later));
        for value in 0..6 {
            let value = Bytes::from(datagram(2400, value));
            let interrupted =
                divider.hand(Lane::Newest, &value, at(9), Mark::SINGLE, transport(1, 1200, &mut sent));
            assert_eq!(interrupted, Ok(Handed::Later));
        }
    }
    assert_eq!(bulk(&mut divider, 9, &mut sent), Ok(Handed::Accepted));
    // The parts of 10 s are in time for bulk data, and not for others.
    let mut joiner = joiner();
    let parts = (0..).zip(&sent);
    let joined: Vec<_> = parts.filter_map(|(n, part)| joiner.accept(at(n * 500), part)).collect();
    assert_eq!(joined, std::slice::from_ref(&whole));
    assert_eq!(sent.len(), 7 + 12);
    joiner.expire(at(60_000));
    assert_eq!((joiner.incomplete.len(), joiner.cost), (0, 0));
}

#[test]
fn parts_of_bulk_data_are_marked_for_an_end_that_knows_it_and_are_no_report() {
    let mark = |port: u8, is_bulk| {
        let whole = [&[port, 7][..], &[0; 3000]].concat();
        Division::new(1, &whole, 1200, is_bulk).expect("parts").part(&whole)[0]
    };
    assert_eq!((mark(5, false), mark(5, true), mark(63, true)), (0x45, 0xc5, 0x7f));
    assert!(!is_part(&[report::HEADER.port, report::HEADER.number]) && !is_part(&[0x85, 7]));
}

#[test]
fn a_datagram_is_lost_with_a_part_when_its_time_is_over() {
    let mut joiner = joiner();
    let parts = divide(1, &datagram(3000, 0), 1200);
    assert_eq!(joiner.accept(at(0), &parts[0]), None);
    assert_eq!(joiner.accept(at(400), &parts[1]), None);
    assert_eq!(joiner.accept(at(401), &parts[2]), None, "too late");
    joiner.expire(at(2_000));
    assert_eq!((joiner.incomplete.len(), joiner.cost, joiner.room.0.load(Ordering::Relaxed)), (0, 0, 0));
}

#[test]
fn peers_share_a_room_and_leave_it() {
    let room = Room::default();
    let mut joiners: Vec<_> = (0..100).map(|_| Joiner::new(TIME, room.clone())).collect();
    for joiner in &mut joiners {
        for number in 0..64 {
            let whole = datagram(60_000, 0);
            for part in &divide(number, &whole, 1200)[1..] {
                assert_eq!(joiner.accept(at(0), part), None);
            }
            assert!(joiner.cost <= MAX_BYTES && joiner.incomplete.len() <= MAX_DATAGRAMS);
        }
    }
    assert!(room.0.load(Ordering::Relaxed) <= MAX_BYTES_OF_ALL);
    assert!(room.0.load(Ordering::Relaxed) > MAX_BYTES_OF_ALL / 2);
    joiners.clear();
    assert_eq!(room.0.load(Ordering::Relaxed), 0);
}

proptest! {
    /// In any order, with any losses and repetitions: each datagram whose parts have all arrived is delivered
    /// once, as it was, and no other.
    #[test]
    fn datagrams_are_joined_once_or_lost(
        sizes in vec(0_usize..5000, 1..8),
        limit in 100_usize..1500,
        order in vec((any::<prop::sample::Index>(), 0_u8..10), 0..300),
    ) {
        let datagrams: Vec<_> =
            (0_u8..).zip(&sizes).map(|(seed, size)| datagram(*size, seed)).collect();
        let parts: Vec<(usize, usize, Bytes)> = (0_u16..)
            .zip(&datagrams)
            .flat_map(|(number, whole)| {
                let parts = divide(number, whole, limit);
                parts.into_iter().enumerate().map(move |(index, part)| (usize::from(number), index, part))
            })
            .collect();
        for (_, _, part) in &parts {
            prop_assert!(part.len() <= limit);
        }
        let mut joiner = joiner();
        let mut missing: Vec<std::collections::BTreeSet<usize>> = datagrams.iter().map(|_| Default::default()).collect();
        for (number, index, _) in &parts {
            missing[*number].insert(*index);
        }
        let mut delivered = vec![0; datagrams.len()];
        for (index, _) in &order {
            let (number, index, part) = index.get(&parts);
            missing[*number].remove(index);
            if let Some(joined) = joiner.accept(at(1), part) {
                prop_assert_eq!(&joined[..], &datagrams[*number][..]);
                delivered[*number] += 1;
            }
        }
        for (number, missing) in missing.iter().enumerate() {
            prop_assert_eq!(delivered[number], usize::from(missing.is_empty()));
        }
        joiner.expire(at(10_000));
        prop_assert_eq!(joiner.cost, 0);
    }

    /// For any datagrams of a peer, memory is bounded, and no datagram is larger than UDP's.
    #[test]
    fn hostile_parts_are_harmless(parts in vec((vec(any::<u8>(), 0..40), 0_u64..300, any::<bool>()), 0..400)) {
        let mut joiner = joiner();
        let mut now = 0;
        for (mut part, later, long) in parts {
            now += later;
            if let Some(port) = part.first_mut() {
                *port |= MARK;
                // The header of a report is none.
                if *port == REPORT {
                    *port = BULK_MARK;
                }
            }
            if long {
                part.resize(16_000, 0);
            }
            if let Some(joined) = joiner.accept(at(now), &part) {
                prop_assert!(joined.len() <= LARGEST + FLOW);
            }
            let held: usize = joiner.incomplete.iter().map(|each| each.cost).sum();
            prop_assert_eq!((held, held), (joiner.cost, joiner.room.0.load(Ordering::Relaxed)));
            prop_assert!(held <= MAX_BYTES && joiner.incomplete.len() <= MAX_DATAGRAMS);
        }
    }
}
