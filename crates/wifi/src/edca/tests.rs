use std::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::{
    AccessCategory, Adaptation, Edca, EdcaConfig, Event, MissedBlockAck, Ppdu, Received, TransmitRate,
};
use crate::aggregation::{AggregateLimits, Fate, Packet};
use crate::frame::{FrameKind, MacAddress};
use crate::phy::{Format, GuardInterval, Mode, Phy, Width};
use crate::random::Random;

const ME: MacAddress = MacAddress::station(1);
const PEER: MacAddress = MacAddress::station(2);

/// Backoffs of no slots.
#[derive(Clone, Debug)]
struct Zero;

impl Random for Zero {
    fn next_u64(&mut self) -> u64 {
        0
    }
}

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

/// HT MCS 7, windows of 8.
fn config() -> EdcaConfig {
    let mode = Mode::new(Format::Ht, 7, 1, Width::Mhz20, GuardInterval::Ns800).unwrap();
    let config = EdcaConfig::station(Phy::ofdm(), TransmitRate::Mode(mode));
    EdcaConfig { limits: AggregateLimits { window: 8, ..config.limits }, ..config }
}

fn pair(config: &EdcaConfig) -> (Edca<Zero>, Edca<Zero>) {
    let mut sender = Edca::new(ME, config.clone(), Zero);
    let mut receiver = Edca::new(PEER, config.clone(), Zero);
    sender.agree_to_send(PEER, AccessCategory::BestEffort, config.rate, config.limits);
    receiver.agree_to_receive(ME, AccessCategory::BestEffort, config.limits.window);
    (sender, receiver)
}

fn nothing(machine: &Edca<Zero>) -> Ppdu {
    Ppdu::new(machine.prepared.frame)
}

/// The next transmission of a machine, with the time.
fn next(machine: &mut Edca<Zero>) -> Option<(Instant, Ppdu)> {
    let mut out = nothing(machine);
    while let Some(now) = machine.poll_timeout() {
        machine.handle_timeout(now);
        if machine.poll_transmit(now, &mut out) {
            return Some((now, out));
        }
    }
    None
}

/// A transmission reaches another machine, which has lost some MPDUs. Returns its end.
fn pass(to: &mut Edca<Zero>, (start, ppdu): &(Instant, Ppdu), lost: &[usize]) -> Instant {
    let mut received = Received::ALL;
    lost.iter().for_each(|&place| received.lose(place));
    let end = *start + ppdu.frame.air_time;
    while let Some(due) = to.poll_timeout().filter(|due| due <= start) {
        to.handle_timeout(due);
    }
    to.handle_busy(*start);
    to.handle_ppdu(end, ppdu, &received);
    to.handle_idle(end);
    end
}

fn delivered(machine: &mut Edca<Zero>) -> Vec<u64> {
    let packet = |(_, event)| if let Event::Delivered { packet, .. } = event { Some(packet) } else { None };
    core::iter::from_fn(|| machine.poll_event()).filter_map(packet).collect()
}

fn fill(machine: &mut Edca<Zero>, packets: core::ops::Range<u64>) {
    for handle in packets {
        machine.enqueue(at(100), PEER, AccessCategory::BestEffort, Packet { handle, size: 1_508 });
    }
}

fn sequences(ppdu: &Ppdu) -> Vec<u16> {
    ppdu.mpdus.iter().map(|mpdu| mpdu.sequence).collect()
}

#[test]
fn a_hole_holds_back_what_follows_until_it_is_repeated() {
    let (mut sender, mut receiver) = pair(&config());
    fill(&mut sender, 0..10);
    let first = next(&mut sender).unwrap();
    assert_eq!((first.1.frame.kind, sequences(&first.1)), (FrameKind::Aggregate, (0..8).collect()));
    let end = pass(&mut receiver, &first, &[2]);
    assert_eq!(delivered(&mut receiver), [0, 1]);
    let answer = next(&mut receiver).unwrap();
    assert_eq!((answer.0, answer.1.frame.kind), (end + Duration::from_micros(16), FrameKind::BlockAck));
    // 32 us at 24 Mbit/s.
    let end = pass(&mut sender, &answer, &[]);
    assert_eq!(end - answer.0, Duration::from_micros(32));
    // The window begins with 2: 8 and 9 are within it.
    let second = next(&mut sender).unwrap();
    assert_eq!(second.0, end + Duration::from_micros(43));
    assert_eq!(sequences(&second.1), [2, 8, 9]);
    assert!(second.1.mpdus[0].is_retry && !second.1.mpdus[1].is_retry);
    pass(&mut receiver, &second, &[]);
    assert_eq!(delivered(&mut receiver), (2..10).collect::<Vec<_>>());
}

#[test]
fn what_was_given_up_is_announced_by_a_request() {
    let (mut sender, mut receiver) = pair(&EdcaConfig { retry_limit: Some(1), ..config() });
    fill(&mut sender, 0..4);
    let first = next(&mut sender).unwrap();
    pass(&mut receiver, &first, &[0]);
    assert!(delivered(&mut receiver).is_empty());
    let answer = next(&mut receiver).unwrap();
    let end = pass(&mut sender, &answer, &[]);
    // In the same access, SIFS later.
    let request = next(&mut sender).unwrap();
    assert_eq!(
        (request.0, request.1.frame.kind),
        (end + Duration::from_micros(16), FrameKind::BlockAckRequest)
    );
    assert_eq!(request.1.block_ack.start, 4);
    pass(&mut receiver, &request, &[]);
    assert_eq!(delivered(&mut receiver), [1, 2, 3]);
    let answer = next(&mut receiver).unwrap();
    pass(&mut sender, &answer, &[]);
    let fates: Vec<_> = core::iter::from_fn(|| sender.poll_event())
        .map(|(_, event)| match event {
            Event::Done { packet, fate, .. } => (packet, fate),
            other => panic!("{other:?} at the sender"),
        })
        .collect();
    assert_eq!(fates.iter().filter(|(_, fate)| *fate == Fate::GivenUp).count(), 1);
    assert!(fates.contains(&(0, Fate::GivenUp)));
    assert_eq!(sender.backlog(AccessCategory::BestEffort), 0);
}

/// A station out of reach does not keep the others from the medium.
#[test]
fn requests_without_an_answer_end_at_the_retry_limit() {
    let (mut sender, mut receiver) = pair(&EdcaConfig { retry_limit: Some(2), ..config() });
    fill(&mut sender, 0..2);
    let mut kinds = Vec::new();
    while let Some((_, ppdu)) = next(&mut sender) {
        kinds.push(ppdu.frame.kind);
        assert!(kinds.len() < 20, "{kinds:?}");
    }
    use FrameKind::{Aggregate, BlockAckRequest};
    assert_eq!(kinds, [Aggregate, Aggregate, BlockAckRequest, BlockAckRequest]);
    // The next answer shows that the receiver is there: it learns where the window begins.
    fill(&mut sender, 2..4);
    let sent = next(&mut sender).unwrap();
    assert_eq!(sequences(&sent.1), [2, 3]);
    pass(&mut receiver, &sent, &[]);
    let answer = next(&mut receiver).unwrap();
    pass(&mut sender, &answer, &[]);
    let request = next(&mut sender).unwrap();
    assert_eq!((request.1.frame.kind, request.1.block_ack.start), (BlockAckRequest, 4));
    pass(&mut receiver, &request, &[]);
    assert_eq!(delivered(&mut receiver), [2, 3]);
}

#[test]
fn an_rts_without_a_cts_lowers_the_rate_and_ends_at_the_retry_limit() {
    let adaptive = EdcaConfig { rts_threshold: 0, adaptation: Adaptation::MinstrelHt, ..config() };
    let mut sender = Edca::new(ME, adaptive.clone(), Zero);
    sender.agree_to_send(PEER, AccessCategory::BestEffort, adaptive.rate, adaptive.limits);
    fill(&mut sender, 0..1);
    let sent: Vec<Ppdu> = core::iter::from_fn(|| next(&mut sender)).map(|(_, ppdu)| ppdu).take(50).collect();
    let kinds: Vec<FrameKind> = sent.iter().map(|ppdu| ppdu.frame.kind).collect();
    // The requests announce what was given up.
    assert_eq!(kinds, [[FrameKind::Rts; 7], [FrameKind::BlockAckRequest; 7]].concat());
    // An RTS lasts for 36 us at 12 Mbit/s, and for 52 us at 6.
    let times = [sent[0].frame.air_time, sent[6].frame.air_time];
    assert_eq!(times, [36, 52].map(Duration::from_micros));
    let fates = core::iter::from_fn(|| sender.poll_event());
    let given_up = fates.filter(|(_, event)| matches!(event, Event::Done { fate: Fate::GivenUp, .. }));
    assert_eq!((given_up.count(), sender.backlog(AccessCategory::BestEffort)), (1, 0));
}

/// Without the block acknowledgement, everything is repeated, or asked for.
#[test]
fn a_missed_block_acknowledgement_is_repeated_or_asked_for() {
    for (missed_block_ack, kind) in [
        (MissedBlockAck::Repeat, FrameKind::Aggregate),
        (MissedBlockAck::Request, FrameKind::BlockAckRequest),
    ] {
        let (mut sender, mut receiver) = pair(&EdcaConfig { missed_block_ack, ..config() });
        fill(&mut sender, 0..4);
        let first = next(&mut sender).unwrap();
        pass(&mut receiver, &first, &[1]);
        assert_eq!(delivered(&mut receiver), [0]);
        // The answer is lost.
        next(&mut receiver).unwrap();
        let second = next(&mut sender).unwrap();
        assert_eq!(second.1.frame.kind, kind);
        pass(&mut receiver, &second, &[]);
        let answer = next(&mut receiver).unwrap();
        pass(&mut sender, &answer, &[]);
        if kind == FrameKind::BlockAckRequest {
            let third = next(&mut sender).unwrap();
            assert_eq!(sequences(&third.1), [1]);
            pass(&mut receiver, &third, &[]);
        }
        // Nothing comes twice.
        assert_eq!(delivered(&mut receiver), [1, 2, 3]);
    }
}

#[test]
fn a_hole_that_is_not_filled_is_skipped_after_100_ms() {
    let (mut sender, mut receiver) = pair(&config());
    fill(&mut sender, 0..3);
    let first = next(&mut sender).unwrap();
    let end = pass(&mut receiver, &first, &[0]);
    next(&mut receiver).unwrap();
    while let Some(now) = receiver.poll_timeout() {
        receiver.handle_timeout(now);
        assert!(now <= end + Duration::from_millis(100));
    }
    assert_eq!(delivered(&mut receiver), [1, 2]);
}

/// Without an agreement, each MPDU has an acknowledgement.
#[test]
fn single_mpdus_are_acknowledged_and_repetitions_are_not_delivered() {
    let config = config();
    let (mut sender, mut receiver) = (Edca::new(ME, config.clone(), Zero), Edca::new(PEER, config, Zero));
    fill(&mut sender, 0..2);
    for repetition in 0..2 {
        let sent = next(&mut sender).unwrap();
        assert_eq!((sent.1.frame.kind, sequences(&sent.1)), (FrameKind::Data, std::vec![0]));
        assert_eq!(sent.1.frame.is_retry, repetition == 1);
        pass(&mut receiver, &sent, &[]);
        let acknowledgement = next(&mut receiver).unwrap();
        assert_eq!(acknowledgement.1.frame.kind, FrameKind::Ack);
        if repetition == 1 {
            pass(&mut sender, &acknowledgement, &[]);
        }
    }
    assert_eq!(delivered(&mut receiver), [0]);
    assert_eq!(sequences(&next(&mut sender).unwrap().1), [1]);
}

#[test]
fn an_interfered_part_costs_the_mpdus_under_it() {
    let (mut sender, _) = pair(&config());
    fill(&mut sender, 0..8);
    let (start, ppdu) = next(&mut sender).unwrap();
    let end = start + ppdu.frame.air_time;
    // Preamble 36 us, then 8 MPDUs of about 190 us each.
    let part = (start + Duration::from_micros(36 + 400), start + Duration::from_micros(36 + 600));
    let received = ppdu.undamaged(end, &[part]);
    let lost: Vec<usize> = (0..8).filter(|&place| !received.contains(place)).collect();
    assert_eq!(lost, [2, 3]);
    assert_eq!(ppdu.undamaged(end, &[]), Received::ALL);
}
