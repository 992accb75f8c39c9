//! Numbers of commands on a path that loses, repeats and reorders.

use proptest::prelude::*;

use super::*;

fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

fn command(n: u64) -> Bytes {
    [&[3, 7][..], &n.to_be_bytes()].concat().into()
}

/// Deliveries once a datagram has come.
fn delivered(inbox: &mut Inbox, now: Instant, datagram: &[u8]) -> Vec<Bytes> {
    inbox.accept(now, datagram);
    std::iter::from_fn(|| inbox.poll(now)).collect()
}

#[test]
fn an_end_that_says_nothing_of_commands_gets_them_once_and_as_they_are() {
    let mut outbox = Outbox::default();
    outbox.on_report(ms(0), None);
    assert_eq!(outbox.number(&command(1), 0), None);
    outbox.on_report(ms(0), Some(Received::default()));
    assert!(outbox.number(&command(1), 0).is_some_and(|numbered| is_numbered(&numbered)));
}

#[test]
fn a_command_is_repeated_until_it_is_reported_or_useless() {
    let (mut outbox, mut inbox) = (Outbox::default(), Inbox::default());
    outbox.on_report(ms(0), Some(inbox.state()));
    let sent = outbox.number(&command(1), 0).expect("a number");
    outbox.on_handed(ms(0), sent.clone(), ms(5000), Duration::from_millis(40));
    assert_eq!((outbox.due(ms(299)), outbox.due(ms(300))), (None, Some(sent.clone())));
    outbox.on_repeated(ms(300));
    assert_eq!((outbox.due(ms(899)), outbox.due(ms(900))), (None, Some(sent.clone())));
    outbox.on_report(ms(0), Some(inbox.state()));
    assert!(!outbox.is_empty());
    assert_eq!(delivered(&mut inbox, ms(950), &sent), [command(1)]);
    assert!(delivered(&mut inbox, ms(950), &sent).is_empty());
    outbox.on_report(ms(0), Some(inbox.state()));
    assert!(outbox.is_empty());
    let second = outbox.number(&command(2), 0).expect("a number");
    outbox.on_handed(ms(1000), second, ms(6000), Duration::ZERO);
    assert!(outbox.due(ms(6000)).is_none() && outbox.is_empty());
}

#[test]
fn a_command_is_repeated_as_soon_as_a_later_one_has_come() {
    let (mut outbox, mut inbox) = (Outbox::default(), Inbox::default());
    outbox.on_report(ms(0), Some(inbox.state()));
    // The last one leaves within a quarter of a round-trip time of the one before: it may have overtaken it.
    let sent = [0, 800, 1000].map(|at| {
        let sent = outbox.number(&command(at), 0).expect("a number");
        outbox.on_handed(ms(at), sent.clone(), ms(at + 5000), Duration::from_millis(1000));
        sent
    });
    inbox.accept(ms(1300), &sent[2]);
    outbox.on_report(ms(1400), Some(inbox.state()));
    assert_eq!(outbox.due(ms(1400)), Some(sent[0].clone()), "before one and a half round trips");
    outbox.on_repeated(ms(1400));
    // The same report causes no other repeat.
    outbox.on_report(ms(1410), Some(inbox.state()));
    assert_eq!((outbox.due(ms(2299)), outbox.due(ms(2300))), (None, Some(sent[1].clone())));
    // A command that was repeated tells nothing of those sent between its first time and its last.
    outbox.on_repeated(ms(2300));
    inbox.accept(ms(2600), &sent[1]);
    outbox.on_report(ms(2700), Some(inbox.state()));
    assert_eq!((outbox.due(ms(2899)), outbox.due(ms(2900))), (None, Some(sent[0].clone())));
}

#[test]
fn a_command_waits_for_an_earlier_one_until_its_sender_has_given_that_up() {
    let (mut outbox, mut inbox) = (Outbox::default(), Inbox::default());
    outbox.on_report(ms(0), Some(inbox.state()));
    let [first, second, third] = [1, 2, 3].map(|n| {
        let sent = outbox.number(&command(n), 0).expect("a number");
        outbox.on_handed(ms(0), sent.clone(), ms(5000), Duration::ZERO);
        sent
    });
    assert!(delivered(&mut inbox, ms(20), &second).is_empty());
    assert_eq!(delivered(&mut inbox, ms(320), &first), [command(1), command(2)]);
    assert_eq!(delivered(&mut inbox, ms(330), &third), [command(3)]);
    let lost = outbox.number(&command(4), 0).expect("a number");
    outbox.on_handed(ms(400), lost.clone(), ms(5400), Duration::ZERO);
    let last = outbox.number(&command(5), 0).expect("a number");
    assert!(delivered(&mut inbox, ms(420), &last).is_empty() && inbox.poll(ms(5419)).is_none());
    assert_eq!(inbox.poll(ms(5420)), Some(command(5)));
    assert!(delivered(&mut inbox, ms(5430), &lost).is_empty(), "too late");
}

/// 32 numbers under way, with 40 bits: what an earlier version knows.
#[test]
fn an_end_of_an_earlier_version_has_few_commands_under_way() {
    let mut outbox = Outbox::default();
    let mut words = [0].into_iter();
    outbox.on_report(ms(0), Received::decode(|| words.next()));
    let mut count = 0;
    while !outbox.is_full(0) {
        let sent = outbox.number(&command(count), 0).expect("a number");
        outbox.on_handed(ms(0), sent, ms(5000), Duration::ZERO);
        count += 1;
    }
    assert_eq!(count, 32);
}

proptest! {
    /// Over any losses and orders each command arrives once, in their order; work and memory are bounded.
    #[test]
    fn each_command_arrives_once(fates in prop::collection::vec(0..4_u8, 400), count in 1..200_u64) {
        let (mut outbox, mut inbox) = (Outbox::default(), Inbox::default());
        outbox.on_report(ms(0), Some(inbox.state()));
        let (mut next, mut arrived, mut held) = (0, Vec::new(), Vec::new());
        let far = ms(1_000_000_000);
        for step in 0..4000_u64 {
            let now = ms(step * 100);
            // In the end nothing is lost.
            let fate = fates.get(step as usize).copied().unwrap_or(0);
            let mut sent = Vec::new();
            if next < count && !outbox.is_full(0) {
                let bytes = outbox.number(&command(next), 0).expect("a number");
                outbox.on_handed(now, bytes.clone(), far, Duration::ZERO);
                sent.push(bytes);
                next += 1;
            }
            while let Some(repeat) = outbox.due(now) {
                outbox.on_repeated(now);
                sent.push(repeat);
            }
            match fate {
                0 => {}
                1 => sent.clear(),
                2 => held.append(&mut sent),
                _ => sent.append(&mut held),
            }
            // For the inbox no time passes, so that it gives nothing up.
            arrived.extend(sent.iter().flat_map(|bytes| delivered(&mut inbox, ms(0), bytes)));
            if fate != 1 {
                outbox.on_report(now, Some(inbox.state()));
            }
            prop_assert!(outbox.under_way.len() <= MOST);
        }
        prop_assert_eq!(arrived, (0..count).map(command).collect::<Vec<_>>());
        prop_assert!(outbox.is_empty());
    }

    #[test]
    fn any_bytes_are_a_command_or_none(all in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..=48), 0..50)) {
        let (mut outbox, mut inbox) = (Outbox::default(), Inbox::default());
        for bytes in all {
            let _ = delivered(&mut inbox, ms(0), &bytes);
            prop_assert!(inbox.held.len() < usize::from(BEFORE));
            let mut words = bytes.chunks(8).map(|word| word.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)));
            outbox.on_report(ms(0), Received::decode(|| words.next()));
        }
    }
}
