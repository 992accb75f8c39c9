//! Loss differentiation.

use whimbrel_control::loss_differentiation::{Differentiation, Evidence, LossClass, Overruled, Scheme};
use whimbrel_wire::DccpOption;
use whimbrel_wire::option::FeatureNumber;

use super::*;
use crate::ccid::{CcidProfile, FeaturePreference, HalfConnection, HalfEnd, HcReceiver, HcSender, Mechanism};
use crate::connection::tests::pair::SentPacket;
use crate::{Event, LossVerdict, PathChange};

fn telling_apart(differentiation: Differentiation) -> Config {
    config(TfrcConfig { differentiation: Some(differentiation), ..all() })
}

fn is_data(sent: &SentPacket) -> bool {
    sent.from == End::Client && matches!(sent.packet.packet_type(), PacketType::Data | PacketType::DataAck)
}

/// Sends a datagram every 25 ms, `count` of them. Of these, counted from 0, those in `lost` are lost, and
/// numbers 40 to 47 find a queue of 40 ms. The verdicts, with the losses by their count.
fn stream(pair: &mut Pair, count: u64, lost: &'static [u64]) -> Vec<(u64, LossVerdict)> {
    let (mut number, (sender, numbers)) = (0, std::sync::mpsc::channel());
    pair.script = Box::new(move |sent| {
        if !is_data(sent) {
            return Treatment::Deliver;
        }
        number += 1;
        sender.send((sent.packet.sequence, number - 1)).unwrap();
        match number - 1 {
            number if lost.contains(&number) => Treatment::Lose,
            40..48 => Treatment::Delay(Duration::from_millis(40)),
            _ => Treatment::Deliver,
        }
    });
    for _ in 0..count {
        pair.send(End::Client, 0);
        pair.run_for(Duration::from_millis(25));
    }
    pair.run_for(Duration::from_millis(100));
    let numbers: Vec<(SeqNo, u64)> = numbers.try_iter().collect();
    let number_of = |sequence| numbers.iter().find(|(of, _)| *of == sequence).unwrap().1;
    let verdicts = pair.server_events.iter().filter_map(|event| match event {
        Event::LossClassified(verdict) => Some((number_of(verdict.first), *verdict)),
        _ => None,
    });
    verdicts.collect()
}

fn causes(verdicts: &[(u64, LossVerdict)]) -> Vec<(u64, LossClass)> {
    verdicts.iter().map(|(number, verdict)| (*number, verdict.cause)).collect()
}

/// Number of Timestamps on the client's data packets; all have the same.
fn timestamps_on_data(pair: &Pair) -> usize {
    let is_timestamp = |option: &&DccpOption| matches!(option, DccpOption::Timestamp(_));
    let data = pair.sent.iter().filter(|sent| is_data(sent));
    let counts: Vec<usize> = data.map(|s| s.packet.options.iter().filter(is_timestamp).count()).collect();
    assert!(counts.windows(2).all(|pair| pair[0] == pair[1]), "{counts:?}");
    counts[0]
}

#[test]
fn losses_are_classified_by_the_timestamps_requested_from_the_sender() {
    let server = telling_apart(Differentiation::unguarded(Scheme::Spike));
    let mut pair = Pair::connected_with(config(all()), server);
    let verdicts = stream(&mut pair, 200, &[44, 100, 150]);
    let [wireless, congestion] = [LossClass::Wireless, LossClass::Congestion];
    // Packet 45 reveals the loss of 44, and found a queue as long as any before.
    assert_eq!(causes(&verdicts), [(44, congestion), (100, wireless), (150, wireless)]);
    let Evidence::Spike { rott, minimum, maximum, in_spike } = verdicts[1].1.evidence else { panic!() };
    assert_eq!((maximum - minimum, in_spike), (40e6, false));
    assert!(rott - minimum <= 1e4, "the clock counts 10 microseconds");
    assert_eq!(timestamps_on_data(&pair), 1);
    let receiver = pair.server().snapshot().receiver;
    assert_eq!((receiver.lost, receiver.lost_wireless), (3, 2));
    assert!(receiver.loss_event_rate > Some(0.0));
}

#[test]
fn a_client_that_receives_gets_the_timestamps_that_it_requests() {
    let client = telling_apart(Differentiation::unguarded(Scheme::Spike));
    let mut pair = Pair::connected_with(client, config(all()));
    for _ in 0..20 {
        pair.send(End::Server, 0);
        pair.run_for(Duration::from_millis(25));
    }
    let of_server =
        |sent: &&SentPacket| sent.from == End::Server && sent.packet.packet_type() == PacketType::Data;
    let newest = pair.sent.iter().rev().find(of_server).unwrap();
    let is_timestamp = |option: &DccpOption| matches!(option, DccpOption::Timestamp(_));
    assert!(newest.packet.options.iter().any(is_timestamp), "{:?}", newest.packet.options);
}

#[test]
fn a_classifier_based_on_interarrival_times_requests_no_timestamps() {
    let server = telling_apart(Differentiation::unguarded(Scheme::ModifiedBiaz));
    let mut pair = Pair::connected_with(config(all()), server);
    let verdicts = stream(&mut pair, 200, &[100]);
    assert_eq!(timestamps_on_data(&pair), 0);
    assert_eq!(verdicts.len(), 1);
    assert!(matches!(verdicts[0].1.evidence, Evidence::InterArrival { count: 1, .. }));
}

/// CCID 3 as in other implementations.
#[derive(Debug)]
struct WithoutTimestamps;

impl Mechanism for WithoutTimestamps {
    fn ccid(&self) -> Ccid {
        Ccid::TFRC
    }

    fn sender(&self, half: &HalfConnection) -> Box<dyn HcSender> {
        mechanism().sender(half)
    }

    fn receiver(&self, half: &HalfConnection) -> Box<dyn HcReceiver> {
        mechanism().receiver(half)
    }

    fn profile(&self) -> CcidProfile {
        mechanism().profile()
    }

    fn features(&self, end: HalfEnd) -> Vec<FeaturePreference> {
        let mut features = mechanism().features(end);
        features.retain(|preference| preference.feature != FeatureNumber::SendTimestamps);
        features
    }
}

#[test]
fn without_timestamps_every_loss_is_congestion() {
    let client = Config { ccids: Registry::empty().with(WithoutTimestamps), ..config(all()) };
    let asking = telling_apart(Differentiation::unguarded(Scheme::Spike));
    let mut pair = Pair::connected_with(client, asking);
    let verdicts = stream(&mut pair, 200, &[100, 150]);
    assert_eq!(causes(&verdicts), [(100, LossClass::Congestion), (150, LossClass::Congestion)]);
    assert!(verdicts.iter().all(|(_, verdict)| verdict.evidence == Evidence::None));
    assert_eq!(timestamps_on_data(&pair), 0);
}

#[test]
fn the_guard_ignores_young_statistics_and_those_of_another_path() {
    let server = telling_apart(Differentiation::guarded(Scheme::Spike));
    let mut pair = Pair::connected_with(config(all()), server);
    let verdicts = stream(&mut pair, 250, &[20, 200]);
    let reported: Vec<_> = verdicts.iter().map(|(number, v)| (*number, v.cause, v.overruled)).collect();
    let (wireless, congestion) = (LossClass::Wireless, LossClass::Congestion);
    assert_eq!(reported, [(20, congestion, Some(Overruled::Young)), (200, wireless, None)]);

    pair.forget();
    let now = pair.now;
    pair.server_mut().path_changed(now, PathChange::Keep);
    let verdicts = stream(&mut pair, 20, &[10]);
    let reported: Vec<_> = verdicts.iter().map(|(number, v)| (*number, v.cause, v.overruled)).collect();
    assert_eq!(reported, [(10, congestion, Some(Overruled::Young))]);
}

#[test]
fn without_it_there_are_no_verdicts() {
    let mut pair = Pair::connected(config(all()));
    assert_eq!(stream(&mut pair, 100, &[50]), []);
    assert_eq!(pair.server().snapshot().receiver.lost, 1);
}

#[test]
fn losses_known_to_be_wireless_do_not_reduce_the_rate() {
    let rate_with = |omniscient: bool| {
        let differentiation = omniscient.then_some(Differentiation::unguarded(Scheme::Omniscient));
        let mut pair = Pair::connected(config(TfrcConfig { differentiation, ..all() }));
        let mut lcg = Lcg(9);
        let mut lost: Vec<SeqNo> = Vec::new();
        let (sender, reported) = std::sync::mpsc::channel();
        pair.script = Box::new(move |sent| {
            if sent.from == End::Client && lcg.fraction() < 0.03 {
                sender.send(sent.packet.sequence).unwrap();
                return Treatment::Lose;
            }
            Treatment::Deliver
        });
        for _ in 0..1600 {
            // The rate is bounded by what is offered: 20 packets per round-trip time.
            for _ in 0..5 {
                let now = pair.now;
                let datagram = Datagram::new(Payload::Opaque { length: SIZE as u32, tag: 0 });
                pair.end(End::Client).send(now, datagram).unwrap();
            }
            pair.run_for(Duration::from_millis(25));
            for sequence in reported.try_iter() {
                lost.push(sequence);
                pair.server_mut().inform_loss(sequence, LossClass::Wireless);
            }
        }
        let receiver = pair.server().snapshot().receiver;
        assert!(receiver.lost > 20);
        assert_eq!(receiver.lost_wireless, if omniscient { receiver.lost } else { 0 });
        pair.server().snapshot().statistics.datagrams_received
    };
    let (knowing, ignorant) = (rate_with(true), rate_with(false));
    assert!(knowing as f64 > 1.5 * ignorant as f64, "{knowing} against {ignorant}");
}
