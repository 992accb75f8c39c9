//! Laws: two ends reach the same values for any behaviour of the network, and then stop sending.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// A packet in the network.
#[derive(Clone, Debug)]
struct Flying {
    arrives: u64,
    packet_type: PacketType,
    sequence: SeqNo,
    ack: Option<SeqNo>,
    options: Options,
}

/// The event of one step of 10 ms.
#[derive(Clone, Debug)]
enum Step {
    /// An end requests a change.
    Ask { client: bool, feature: F, location: Location, values: Vec<u64> },
    /// An end sends a packet, which arrives after these delays: not at all, once or twice.
    Send { client: bool, data: bool, delays: Vec<u64> },
    /// Nothing.
    Wait,
}

struct Network {
    ends: [End; 2],
    /// Towards the client, towards the server.
    flying: [Vec<Flying>; 2],
    now: u64,
    packets: usize,
}

impl Network {
    fn new(client: Preferences, server: Preferences) -> Self {
        let mut ends = [End::new(Role::Client, client), End::new(Role::Server, server)];
        // Each has heard the other's first packet.
        (ends[0].gsr, ends[1].gsr) = (ends[1].next.previous(), ends[0].next.previous());
        Self { ends, flying: [Vec::new(), Vec::new()], now: 0, packets: 0 }
    }

    fn send(&mut self, from: usize, packet_type: PacketType, delays: &[u64]) {
        let end = &mut self.ends[from];
        let (sequence, ack) = (end.next, packet_type.has_ack().then_some(end.gsr));
        let options: Options = end.send(self.now, packet_type).into();
        for delay in delays {
            let arrives = self.now + delay;
            let options = options.clone();
            self.flying[1 - from].push(Flying { arrives, packet_type, sequence, ack, options });
        }
        self.packets += 1;
    }

    fn deliver(&mut self) -> Result<(), TestCaseError> {
        for to in 0..2 {
            let now = self.now;
            let (due, later) = self.flying[to].drain(..).partition(|packet| packet.arrives <= now);
            self.flying[to] = later;
            let mut due: Vec<Flying> = due;
            due.sort_by_key(|packet| packet.arrives);
            for packet in due {
                let end = &mut self.ends[to];
                end.gsr = end.gsr.max(packet.sequence);
                let Flying { packet_type, sequence, ack, .. } = packet;
                let received = ReceivedFeatures { packet_type, sequence, ack, options: &packet.options };
                let result = end.negotiation.handle_options(received, is_understood);
                prop_assert_eq!(result, Ok(()), "honest ends do not reset each other: {:?}", packet);
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Ask { client, feature, location, values } => {
                let end = &mut self.ends[usize::from(!client)];
                // Features of a CCID that is not in force cannot be asked for.
                let _ = end.negotiation.request_change(*feature, *location, values, false);
            }
            Step::Send { client, data, delays } => {
                let packet_type = if *data { PacketType::Data } else { PacketType::Ack };
                self.send(usize::from(!client), packet_type, delays);
            }
            Step::Wait => {}
        }
        self.now += 10;
        self.deliver()
    }

    /// Runs with a lossless network until no end has anything to send.
    fn settle(&mut self) -> Result<(), TestCaseError> {
        let last = self.flying.iter().flatten().map(|packet| packet.arrives).max();
        let (packets, end) = (self.packets, self.now.max(last.unwrap_or(0)) + 400_000);
        while self.now < end {
            self.deliver()?;
            for from in 0..2 {
                let due = self.ends[from].negotiation.poll_timeout();
                if due.is_some_and(|due| due <= Instant::from_millis(self.now)) {
                    self.send(from, PacketType::Ack, &[7]);
                    let due = self.ends[from].negotiation.poll_timeout();
                    prop_assert!(due.is_none_or(|due| due > Instant::from_millis(self.now)), "no spinning");
                }
            }
            self.now += 1;
            if self.flying.iter().all(Vec::is_empty) && self.ends.iter().all(|end| end.negotiation.is_quiet())
            {
                break;
            }
        }
        let extra = self.packets - packets;
        prop_assert!(extra <= 24, "{} packets to settle", extra);
        for end in &self.ends {
            prop_assert!(end.negotiation.is_quiet());
        }
        Ok(())
    }

    fn agree(&self) -> Result<(), TestCaseError> {
        let [client, server] = &self.ends;
        for feature in (1..=9).chain([128, 192]).map(F::from) {
            prop_assert_eq!(client.local(feature), server.remote(feature), "{:?} at the client", feature);
            prop_assert_eq!(client.remote(feature), server.local(feature), "{:?} at the server", feature);
        }
        Ok(())
    }
}

fn ccids() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(vec![vec![2, 3], vec![3, 2], vec![2, 4, 3], vec![3, 4, 2]])
}

/// Preferences with which every pair of ends is compatible: every list has CCID 2, nothing is required.
fn any_preferences() -> impl Strategy<Value = Preferences> {
    (ccids(), ccids(), prop_oneof![Just(100), 32u64..5_000]).prop_map(|(sender, receiver, window)| {
        let mut preferences = preferences(&sender, &receiver);
        preferences.sequence_window = window;
        let choices = preferences.sender_ccids.iter_mut().chain(&mut preferences.receiver_ccids);
        choices.flat_map(|choice| &mut choice.wishes).for_each(|wish| wish.required = false);
        preferences
    })
}

fn ask() -> impl Strategy<Value = Step> {
    let location = prop_oneof![Just(Location::Local), Just(Location::Remote)];
    let server_priority = (1u8..=11, vec(0u64..5, 1..4)).prop_map(|(number, values)| {
        let feature = match number {
            10 => F::SendRttEstimate,
            11 => F::SendLossEventRate,
            number => F::from(number),
        };
        match feature {
            F::Ccid => (feature, values.iter().map(|value| 2 + value % 3).chain([2]).collect()),
            F::SequenceWindow => (feature, vec![32 + values[0]]),
            F::AckRatio => (feature, vec![values[0]]),
            F::MinimumChecksumCoverage => (feature, values),
            _ => (feature, values.iter().map(|value| value % 2).collect()),
        }
    });
    (any::<bool>(), location, server_priority).prop_map(|(client, location, (feature, values))| Step::Ask {
        client,
        feature,
        location,
        values,
    })
}

fn send() -> impl Strategy<Value = Step> {
    let delays = prop_oneof![
        2 => Just(vec![]),
        6 => vec(1u64..80, 1..2),
        2 => vec(1u64..400, 1..3),
    ];
    (any::<bool>(), prop::bool::weighted(0.2), delays).prop_map(|(client, data, delays)| Step::Send {
        client,
        data,
        delays,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn both_ends_come_to_the_same_values(
        client in any_preferences(),
        server in any_preferences(),
        steps in vec(prop_oneof![2 => ask(), 5 => send(), 2 => Just(Step::Wait)], 0..60),
    ) {
        let mut network = Network::new(client, server);
        for step in &steps {
            network.step(step)?;
        }
        network.settle()?;
        network.agree()?;
    }

    #[test]
    fn the_matching_rule_is_the_naive_one(
        server in vec(0u8..6, 0..6),
        client in vec(0u8..6, 0..6),
    ) {
        let mut naive = None;
        for ours in server.iter().rev() {
            for theirs in &client {
                if ours == theirs {
                    naive = Some(*ours);
                }
            }
        }
        prop_assert_eq!(reconcile(&server, &client), naive);
    }

    /// Arbitrary options on arbitrary packets: no panic, and no more answers than a packet holds.
    #[test]
    fn any_options_are_survived(
        packets in vec((0u64..40, prop::bool::ANY, vec((32u8..36, any::<u8>(), vec(any::<u8>(), 0..8)), 0..30)), 0..20),
    ) {
        let mut end = End::new(Role::Server, preferences(&[2, 3], &[3, 2]));
        for (sequence, is_ack, options) in packets {
            let options: Vec<_> = options
                .into_iter()
                .map(|(kind, feature, values)| option(FeatureAction::from_kind(kind).unwrap(), feature, &values))
                .collect();
            let packet_type = if is_ack { PacketType::Ack } else { PacketType::Request };
            if end.receive(sequence, packet_type, &options).is_err() {
                break;
            }
            end.send(sequence * 100, PacketType::Ack);
            while end.negotiation.poll_event().is_some() {}
        }
    }
}
