//! Scripts: the answers of one end to given packets.

use smallvec::smallvec;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::{FeatureAction, FeatureNumber, FeatureOption};
use whimbrel_wire::{DccpOption, OptionBytes, Options, PacketType, Reset, ResetCode, SeqNo};

use super::*;
use crate::ccid::Ccid;
use crate::{Config, Role};
use FeatureAction::{ChangeL, ChangeR, ConfirmL, ConfirmR};
use FeatureNumber as F;

mod convergence;
mod experimental;
mod linux;
mod refusals;

const RTT: Duration = Duration::from_millis(100);

/// One end with the numbers that its connection would keep.
struct End {
    negotiation: Negotiation,
    next: SeqNo,
    gsr: SeqNo,
}

impl End {
    fn new(role: Role, preferences: Preferences) -> Self {
        let next = SeqNo::new(if role == Role::Client { 100 } else { 9_000 });
        Self { negotiation: Negotiation::new(role, preferences), next, gsr: SeqNo::ZERO }
    }

    fn client() -> Self {
        Self::new(Role::Client, preferences(&[2], &[2]))
    }

    /// A client whose initial wishes were all granted.
    fn settled_client() -> Self {
        let mut client = Self::client();
        client.send(0, PacketType::Request);
        let confirm =
            |action, feature: F, value| FeatureOption::confirmation(action, feature, value, &[value]);
        let answers = [
            confirm(ConfirmR, F::Ccid, 2),
            confirm(ConfirmL, F::Ccid, 2),
            confirm(ConfirmR, F::SendAckVector, 1),
            confirm(ConfirmL, F::SendAckVector, 1),
        ];
        client.receive(8_000, PacketType::Response, &answers.map(DccpOption::Feature)).unwrap();
        assert!(client.negotiation.is_quiet());
        while client.negotiation.poll_event().is_some() {}
        client
    }

    /// Sends a packet at `millis` and returns its options.
    fn send(&mut self, millis: u64, packet_type: PacketType) -> Vec<DccpOption> {
        let context = SendContext { packet_type, sequence: self.next, rtt: Some(RTT), room: 900 };
        let mut options = Options::new();
        let size = self.negotiation.write_options(Instant::from_millis(millis), context, &mut options);
        assert_eq!(size, options.iter().map(DccpOption::encoded_len).sum::<usize>());
        self.next = self.next.next();
        options.into_vec()
    }

    /// Receives a packet that acknowledges the last one sent.
    fn receive(
        &mut self,
        sequence: u64,
        packet_type: PacketType,
        options: &[DccpOption],
    ) -> Result<(), Reset> {
        self.receive_acking(sequence, packet_type, self.next.previous(), options)
    }

    fn receive_acking(
        &mut self,
        sequence: u64,
        packet_type: PacketType,
        ack: SeqNo,
        options: &[DccpOption],
    ) -> Result<(), Reset> {
        let sequence = SeqNo::new(sequence);
        self.gsr = self.gsr.max(sequence);
        let ack = packet_type.has_ack().then_some(ack);
        let received = ReceivedFeatures { packet_type, sequence, ack, options };
        self.negotiation.handle_options(received, is_understood)
    }

    fn local(&self, feature: F) -> u64 {
        self.negotiation.value(feature, Location::Local)
    }

    fn remote(&self, feature: F) -> u64 {
        self.negotiation.value(feature, Location::Remote)
    }
}

fn preferences(sender: &[u8], receiver: &[u8]) -> Preferences {
    let ccid = |number: &u8| Ccid(*number);
    Preferences {
        sender_ccids: sender.iter().map(ccid).map(|c| choice(c, Location::Local)).collect(),
        receiver_ccids: receiver.iter().map(ccid).map(|c| choice(c, Location::Remote)).collect(),
        wishes: smallvec![],
        sequence_window: 100,
    }
}

fn choice(ccid: Ccid, data_from: Location) -> CcidChoice {
    let config = Config::default();
    let mechanism = config.ccids.mechanism(ccid);
    let wishes = mechanism.map_or_else(Wishes::new, |m| preferences::wishes_of(m, data_from));
    CcidChoice { ccid, wishes }
}

fn option(action: FeatureAction, feature: u8, values: &[u8]) -> DccpOption {
    DccpOption::Feature(FeatureOption { action, feature, values: OptionBytes::from_slice(values) })
}

/// A Mandatory before an option.
const MUST: DccpOption = DccpOption::Mandatory;

#[test]
fn the_servers_first_shared_value_wins() {
    // RFC 4340, Section 6.5, first example: CCID/Server = 3.
    let mut server = End::new(Role::Server, preferences(&[3, 2, 1], &[2]));
    server.receive(1, PacketType::Request, &[option(ChangeR, 1, &[2, 3, 1])]).unwrap();
    assert_eq!(server.negotiation.ccid(Location::Local), Ccid(3));
    assert_eq!(server.send(0, PacketType::Response)[0], option(ConfirmL, 1, &[3, 3, 2, 1]));

    let mut client = End::new(Role::Client, preferences(&[2], &[2, 3, 1]));
    assert!(client.send(0, PacketType::Request).contains(&option(ChangeR, 1, &[2, 3, 1])));
    client.receive(9_000, PacketType::Response, &[option(ConfirmL, 1, &[3, 3, 2, 1])]).unwrap();
    assert_eq!(client.negotiation.ccid(Location::Remote), Ccid(3));
    let event = client.negotiation.poll_event();
    let expected = FeatureChange { feature: F::Ccid, location: Location::Remote, value: 3, changed: true };
    assert_eq!(event, Some(expected));
}

#[test]
fn a_lost_change_is_repeated_as_it_was_and_answered_once_it_arrives() {
    // RFC 4340, Section 6.5, second example.
    let mut server = End::new(Role::Server, preferences(&[3, 2, 1], &[2]));
    server.receive(1, PacketType::Request, &[option(ChangeL, 1, &[2])]).unwrap();
    let first = server.send(0, PacketType::Response);
    assert!(first.contains(&option(ChangeL, 1, &[3, 2, 1])));
    let again = server.send(1_000, PacketType::Ack);
    assert!(again.contains(&option(ChangeL, 1, &[3, 2, 1])));

    let mut client = End::new(Role::Client, preferences(&[2], &[2, 3, 1]));
    client.receive(9_001, PacketType::Ack, &again).unwrap();
    assert!(client.send(0, PacketType::Ack).contains(&option(ConfirmR, 1, &[3, 2, 3, 1])));
    assert_eq!(client.negotiation.ccid(Location::Remote), Ccid(3));

    server.receive(2, PacketType::Ack, &[option(ConfirmR, 1, &[3, 2, 3, 1])]).unwrap();
    assert_eq!(server.negotiation.ccid(Location::Local), Ccid(3));
    assert!(server.negotiation.is_settled(F::Ccid, Location::Local));
}

#[test]
fn two_ends_that_ask_at_once_answer_each_other() {
    // RFC 4340, Section 6.5, the simultaneous example.
    let mut client = End::new(Role::Client, preferences(&[2], &[2, 3, 1]));
    let mut server = End::new(Role::Server, preferences(&[3, 2, 1], &[2]));
    let asked = client.send(0, PacketType::Request);
    let offered = server.send(0, PacketType::Ack);
    assert!(offered.contains(&option(ChangeL, 1, &[3, 2, 1])));
    client.receive(9_000, PacketType::Ack, &offered).unwrap();
    server.receive(100, PacketType::Ack, &asked).unwrap();
    let (from_client, from_server) = (client.send(9, PacketType::Ack), server.send(9, PacketType::Ack));
    assert!(from_client.contains(&option(ConfirmR, 1, &[3, 2, 3, 1])));
    assert!(from_server.contains(&option(ConfirmL, 1, &[3, 3, 2, 1])));
    client.receive(9_001, PacketType::Ack, &from_server).unwrap();
    server.receive(101, PacketType::Ack, &from_client).unwrap();
    assert_eq!(client.negotiation.ccid(Location::Remote), Ccid(3));
    assert_eq!(server.negotiation.ccid(Location::Local), Ccid(3));
}

#[test]
fn a_non_negotiable_value_is_adopted_as_announced() {
    let mut client = End::settled_client();
    client.receive(8_001, PacketType::Ack, &[option(ChangeL, 5, &[0, 3])]).unwrap();
    assert_eq!(client.remote(F::AckRatio), 3);
    assert_eq!(client.send(500, PacketType::Ack), [option(ConfirmR, 5, &[0, 3])]);
    // Zero is valid (erratum 1049); Linux sends it under CCID 3.
    client.receive(8_002, PacketType::Ack, &[option(ChangeL, 5, &[0, 0])]).unwrap();
    assert_eq!(client.remote(F::AckRatio), 0);
}

#[test]
fn a_window_of_ones_own_counts_once_it_is_confirmed() {
    let mut client = End::settled_client();
    client.negotiation.request_change(F::SequenceWindow, Location::Local, &[1024], false).unwrap();
    assert!(client.negotiation.poll_timeout().is_some());
    // RFC 4340, Section 6.5: 32,9,3,0,0,0,0,4,0.
    assert_eq!(client.send(500, PacketType::Ack), [option(ChangeL, 3, &[0, 0, 0, 0, 4, 0])]);
    assert_eq!(client.local(F::SequenceWindow), 100);
    client.receive(8_001, PacketType::Ack, &[option(ConfirmR, 3, &[0, 0, 0, 0, 4, 0])]).unwrap();
    assert_eq!(client.local(F::SequenceWindow), 1024);
    assert!(client.negotiation.is_quiet());
}

#[test]
fn ccid_specific_features_exist_only_under_their_ccid() {
    let mut client = End::settled_client();
    client.receive(8_001, PacketType::Ack, &[option(ChangeR, 192, &[1])]).unwrap();
    assert_eq!(client.send(500, PacketType::Ack), [option(ConfirmL, 192, &[])]);

    let mut client = End::new(Role::Client, preferences(&[3, 2], &[2]));
    assert!(
        !client
            .send(0, PacketType::Request)
            .iter()
            .any(|option| matches!(option, DccpOption::Feature(f) if f.feature >= 128))
    );
    // Our data under CCID 3: RTT Estimate is located here, Loss Event Rate there, and we ask for both.
    client.receive(8_000, PacketType::Response, &[option(ConfirmR, 1, &[3, 3])]).unwrap();
    let options = client.send(500, PacketType::Ack);
    assert!(options.contains(&option(ChangeL, 128, &[1, 0])), "{options:?}");
    assert!(options.contains(&option(ChangeR, 192, &[1, 0])), "{options:?}");
    // The other half-connection is under CCID 2.
    let change = [option(ChangeL, 128, &[1])];
    // While that is open, there is no answer.
    client.receive(8_001, PacketType::Ack, &change).unwrap();
    assert!(!client.send(600, PacketType::Ack).contains(&option(ConfirmR, 128, &[])));
    client.receive(8_002, PacketType::Ack, &[option(ConfirmL, 1, &[2, 2])]).unwrap();
    client.receive(8_003, PacketType::Ack, &change).unwrap();
    assert!(client.send(700, PacketType::Ack).contains(&option(ConfirmR, 128, &[])));
}

#[test]
fn a_late_answer_to_an_earlier_change_is_no_reason_to_reset() {
    let mut client = End::settled_client();
    for (millis, ratio) in [(500, 4), (510, 6)] {
        client.negotiation.request_change(F::AckRatio, Location::Local, &[ratio], false).unwrap();
        client.send(millis, PacketType::Ack);
    }
    // The second Change was lost, but a packet after it arrived: the acknowledgement number passes.
    client.send(520, PacketType::Ack);
    client.receive(8_001, PacketType::Ack, &[option(ConfirmR, 5, &[0, 4])]).unwrap();
    assert_eq!(client.local(F::AckRatio), 2);
    assert_eq!(client.send(800, PacketType::Ack), [option(ChangeL, 5, &[0, 6])]);
    client.receive(8_002, PacketType::Ack, &[option(ConfirmR, 5, &[0, 6])]).unwrap();
    assert_eq!(client.local(F::AckRatio), 6);
}

#[test]
fn reordered_options_are_ignored() {
    let mut client = End::settled_client();
    client.receive(8_005, PacketType::Ack, &[option(ChangeL, 5, &[0, 7])]).unwrap();
    // An older packet, the same packet again, a Mandatory one: nothing happens (Section 6.6.9).
    client.receive(8_004, PacketType::Ack, &[option(ChangeL, 5, &[0, 8])]).unwrap();
    client.receive(8_005, PacketType::Ack, &[option(ChangeL, 5, &[0, 8])]).unwrap();
    client.receive(8_004, PacketType::Ack, &[MUST, option(ChangeL, 3, &[0])]).unwrap();
    assert_eq!(client.remote(F::AckRatio), 7);
    assert_eq!(client.send(500, PacketType::Ack), [option(ConfirmR, 5, &[0, 7])]);
}

#[test]
fn a_confirm_must_acknowledge_the_latest_change() {
    let mut client = End::settled_client();
    let before = client.next.previous();
    client.negotiation.request_change(F::AckRatio, Location::Local, &[4], false).unwrap();
    client.send(500, PacketType::Ack);
    let confirm = [option(ConfirmR, 5, &[0, 4])];
    client.receive_acking(8_001, PacketType::Ack, before, &confirm).unwrap();
    assert_eq!(client.local(F::AckRatio), 2);
    // A packet type without an Acknowledgement Number confirms nothing.
    client.receive(8_002, PacketType::Request, &confirm).unwrap();
    assert_eq!(client.local(F::AckRatio), 2);
    client.receive(8_003, PacketType::Ack, &confirm).unwrap();
    assert_eq!(client.local(F::AckRatio), 4);
}

#[test]
fn an_unstable_end_ignores_confirms_until_it_has_sent_a_new_change() {
    let mut client = End::settled_client();
    let ask = |client: &mut End, values: &[u64]| {
        client
            .negotiation
            .request_change(F::MinimumChecksumCoverage, Location::Local, values, false)
            .unwrap();
    };
    ask(&mut client, &[1, 2]);
    client.send(500, PacketType::Ack);
    ask(&mut client, &[2]);
    // UNSTABLE (Section 6.6.5).
    client.receive(8_001, PacketType::Ack, &[option(ConfirmR, 8, &[1, 1, 2])]).unwrap();
    client.receive(8_002, PacketType::Ack, &[option(ChangeR, 8, &[1, 2])]).unwrap();
    assert_eq!(client.local(F::MinimumChecksumCoverage), 0);
    assert_eq!(client.send(510, PacketType::Ack), [option(ChangeL, 8, &[2, 0])]);
    client.receive(8_003, PacketType::Ack, &[option(ConfirmR, 8, &[2, 1, 2])]).unwrap();
    assert_eq!(client.local(F::MinimumChecksumCoverage), 2);
}

#[test]
fn data_packets_neither_carry_nor_count() {
    let mut client = End::settled_client();
    client.negotiation.request_change(F::AckRatio, Location::Local, &[4], false).unwrap();
    assert_eq!(client.send(500, PacketType::Data), []);
    client.receive(8_001, PacketType::Data, &[MUST, MUST, option(ChangeL, 5, &[0, 9])]).unwrap();
    assert_eq!(client.remote(F::AckRatio), 2);
    assert_eq!(client.send(500, PacketType::DataAck), [option(ChangeL, 5, &[0, 4])]);
}

#[test]
fn an_end_that_cannot_read_ecn_says_so_until_confirmed() {
    let mut preferences = preferences(&[2], &[2]);
    preferences.wishes.push(Wish {
        feature: F::EcnIncapable,
        location: Location::Local,
        values: smallvec![1],
        ask: true,
        required: true,
    });
    let mut client = End::new(Role::Client, preferences);
    let options = client.send(0, PacketType::Request);
    let change = option(ChangeL, 4, &[1]);
    let at = options.iter().position(|option| *option == change).unwrap();
    assert_eq!(options[at - 1], MUST);
    assert!(!client.negotiation.is_settled(F::EcnIncapable, Location::Local));
    assert!(client.send(1_000, PacketType::Request).contains(&change));
    client.receive(8_000, PacketType::Response, &[option(ConfirmR, 4, &[1, 1])]).unwrap();
    assert!(client.negotiation.is_on(F::EcnIncapable, Location::Local));
    assert!(client.negotiation.is_settled(F::EcnIncapable, Location::Local));
}

#[test]
fn repetitions_back_off_to_one_in_64_seconds() {
    let mut client = End::settled_client();
    client.negotiation.request_change(F::AckRatio, Location::Local, &[4], false).unwrap();
    client.send(1_000, PacketType::Ack);
    let mut sent_at = Instant::from_millis(1_000);
    let mut gaps = Vec::new();
    for _ in 0..11 {
        let due = client.negotiation.poll_timeout().unwrap();
        // Packets that leave earlier do not repeat it.
        assert_eq!(client.send(due.as_nanos() / 1_000_000 - 1, PacketType::Ack), []);
        assert_eq!(client.send(due.as_nanos() / 1_000_000, PacketType::Ack).len(), 1);
        gaps.push((due - sent_at).as_millis());
        sent_at = due;
    }
    assert_eq!(gaps, [200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200, 64_000, 64_000]);
}

#[test]
fn a_packet_for_negotiation_alone_leaves_at_most_once_per_round_trip() {
    let mut client = End::settled_client();
    client.receive(8_001, PacketType::Ack, &[option(ChangeL, 5, &[0, 3])]).unwrap();
    assert!(client.negotiation.poll_timeout().unwrap() <= Instant::from_millis(500));
    client.send(500, PacketType::Ack);
    assert_eq!(client.negotiation.poll_timeout(), None);
    client.receive(8_002, PacketType::Ack, &[option(ChangeL, 5, &[0, 4])]).unwrap();
    assert_eq!(client.negotiation.poll_timeout(), Some(Instant::from_millis(600)));
    // A packet that leaves anyway takes the answer along.
    assert_eq!(client.send(520, PacketType::DataAck), [option(ConfirmR, 5, &[0, 4])]);
}

#[test]
fn without_room_the_options_wait_and_the_timer_does_not_spin() {
    let mut client = End::settled_client();
    client.negotiation.request_change(F::AckRatio, Location::Local, &[4], false).unwrap();
    let now = Instant::from_millis(500);
    let context =
        SendContext { packet_type: PacketType::Ack, sequence: client.next, rtt: Some(RTT), room: 4 };
    let mut options = Options::new();
    assert_eq!(client.negotiation.write_options(now, context, &mut options), 0);
    assert_eq!(client.negotiation.poll_timeout(), Some(now + RTT));
    assert_eq!(client.send(600, PacketType::Ack), [option(ChangeL, 5, &[0, 4])]);
}

#[test]
fn requests_are_checked() {
    let mut client = End::settled_client();
    let mut ask = |feature, location, values: &[u64]| {
        client.negotiation.request_change(feature, location, values, false)
    };
    use Location::{Local, Remote};
    assert_eq!(ask(F::SequenceWindow, Local, &[31]), Err(ChangeError::Invalid(F::SequenceWindow)));
    assert_eq!(ask(F::SequenceWindow, Local, &[32, 33]), Err(ChangeError::Invalid(F::SequenceWindow)));
    assert_eq!(ask(F::SequenceWindow, Remote, &[64]), Err(ChangeError::NotNegotiable(F::SequenceWindow)));
    assert_eq!(ask(F::SendNdpCount, Remote, &[]), Err(ChangeError::Invalid(F::SendNdpCount)));
    assert_eq!(ask(F::SendNdpCount, Remote, &[2]), Err(ChangeError::Invalid(F::SendNdpCount)));
    assert_eq!(ask(F::SendLossEventRate, Remote, &[1]), Err(ChangeError::Unknown(F::SendLossEventRate)));
    assert_eq!(ask(F::Other(11), Remote, &[1]), Err(ChangeError::Unknown(F::Other(11))));
    // A value already in force is not requested.
    assert_eq!(ask(F::SendNdpCount, Remote, &[0]), Ok(()));
    assert!(client.negotiation.is_quiet());
}

#[test]
fn fixed_ccids_cannot_be_changed() {
    let mut server = End::new(Role::Server, preferences(&[2, 3], &[2, 3]));
    server.receive(1, PacketType::Request, &[option(ChangeL, 1, &[3, 2]), option(ChangeR, 1, &[2])]).unwrap();
    assert_eq!(server.negotiation.ccid(Location::Remote), Ccid(2));
    server.send(0, PacketType::Response);
    Location::BOTH.into_iter().for_each(|location| server.negotiation.hold_ccid(location));
    server.receive(2, PacketType::Ack, &[option(ChangeL, 1, &[3])]).unwrap();
    assert_eq!(server.negotiation.ccid(Location::Remote), Ccid(2));
    assert!(server.send(500, PacketType::Ack).contains(&option(ConfirmR, 1, &[2, 2])));
}

#[test]
fn the_newest_packet_stays_the_newest_when_numbers_wrap() {
    let mut client = End::settled_client();
    let far = 8_001 + (1 << 47) - 10;
    client.negotiation.on_greatest_received(SeqNo::new(far));
    // Half the circle further on, 8,000 would seem to lie ahead.
    client.receive(far + 20, PacketType::Ack, &[option(ChangeL, 5, &[0, 3])]).unwrap();
    assert_eq!(client.remote(F::AckRatio), 3);
}
