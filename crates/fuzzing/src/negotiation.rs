//! Feature negotiation: arbitrary options do no harm, and two honest ends agree regardless of losses.

use arbitrary::{Result, Unstructured};
use whimbrel_proto::config::CcidPreference;
use whimbrel_proto::feature::{
    Location, Negotiation, Preferences, ReceivedFeatures, SendContext, is_understood,
};
use whimbrel_proto::{Ccid, Config, Role};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::{FeatureAction, FeatureNumber, FeatureOption};
use whimbrel_wire::{DccpOption, OptionBytes, Options, PacketType, SeqNo};

/// A whole handshake's options fit into that.
const ROOM: usize = 256;

/// One input.
///
/// # Panics
///
/// If the code under test is wrong.
pub fn check(data: &[u8]) {
    let input = &mut Unstructured::new(data);
    // Too few bytes are no trial.
    let _ = match input.arbitrary() {
        Ok(true) => attack(input),
        _ => converge(input),
    };
}

struct End {
    negotiation: Negotiation,
    next: SeqNo,
    newest: SeqNo,
}

#[derive(Clone)]
struct Sent {
    packet_type: PacketType,
    sequence: SeqNo,
    ack: SeqNo,
    options: Options,
}

fn config(input: &mut Unstructured<'_>) -> Result<Config> {
    let lists: [&[u8]; 5] = [&[2], &[2, 3], &[3, 2], &[4, 2], &[3, 4, 2]];
    let mut list =
        || -> Result<CcidPreference> { Ok(input.choose(&lists)?.iter().copied().map(Ccid).collect()) };
    let (sender_ccids, receiver_ccids) = (list()?, list()?);
    Ok(Config::default()
        .sender_ccids(sender_ccids)
        .receiver_ccids(receiver_ccids)
        .ecn(input.arbitrary()?)
        .short_sequence_numbers(input.arbitrary()?)
        .sequence_window(input.int_in_range(32..=100_000)?))
}

impl End {
    fn new(role: Role, config: &Config, first: u64) -> Self {
        let negotiation = Negotiation::new(role, Preferences::new(config));
        Self { negotiation, next: SeqNo::new(first), newest: SeqNo::ZERO }
    }

    fn send(&mut self, now: Instant, packet_type: PacketType) -> Sent {
        let (sequence, ack) = (self.next, self.newest);
        self.next = self.next.next();
        let mut options = Options::new();
        if packet_type != PacketType::Data {
            let rtt = Some(Duration::from_millis(20));
            let departure = SendContext { packet_type, sequence, rtt, room: ROOM };
            self.negotiation.write_options(now, departure, &mut options);
            let length: usize = options.iter().map(DccpOption::encoded_len).sum();
            assert!(length <= ROOM, "{length} bytes of options");
        }
        Sent { packet_type, sequence, ack, options }
    }

    /// Returns `true` if the connection continues.
    fn receive(&mut self, sent: &Sent) -> bool {
        self.newest = self.newest.max(sent.sequence);
        self.negotiation.on_greatest_received(self.newest);
        let Sent { packet_type, sequence, ack, options } = sent;
        let ack = packet_type.has_ack().then_some(*ack);
        let arrival = ReceivedFeatures { packet_type: *packet_type, sequence: *sequence, ack, options };
        let goes_on = self.negotiation.handle_options(arrival, is_understood).is_ok();
        while self.negotiation.poll_event().is_some() {}
        // Features 1 to 9 at both ends, the features of two CCIDs, and refusals.
        assert!(self.negotiation.entries() <= 18 + 8 + 64);
        goes_on
    }
}

/// Receives arbitrary options.
fn attack(input: &mut Unstructured<'_>) -> Result<()> {
    let role = if input.arbitrary()? { Role::Client } else { Role::Server };
    let mut end = End::new(role, &config(input)?, 1_000);
    let mut now = Instant::from_secs(1);
    while !input.is_empty() {
        let types = [PacketType::Request, PacketType::Response, PacketType::Ack, PacketType::DataAck];
        let packet_type = *input.choose(&types)?;
        let mut options = Options::new();
        for _ in 0..input.int_in_range(0..=8)? {
            if input.ratio(1, 8)? {
                options.push(DccpOption::Mandatory);
            }
            let action = FeatureAction::from_kind(input.int_in_range(32..=35)?).expect("one of four");
            let feature = if input.ratio(3, 4)? { input.int_in_range(0..=10)? } else { input.arbitrary()? };
            let length = input.int_in_range(0..=7)?;
            let values = OptionBytes::from_slice(input.bytes(length)?);
            options.push(DccpOption::Feature(FeatureOption { action, feature, values }));
        }
        let sequence = end.newest.add(input.int_in_range(0..=4)?).sub(1);
        let ack = end.next.sub(input.int_in_range(1..=4)?);
        if !end.receive(&Sent { packet_type, sequence, ack, options }) {
            break;
        }
        now += Duration::from_millis(input.int_in_range(0..=1_000)?);
        end.send(now, PacketType::Ack);
        assert!(end.negotiation.poll_timeout().is_none_or(|due| due > now), "a packet just left");
    }
    Ok(())
}

/// Two ends, and a network that loses, repeats and reorders.
fn converge(input: &mut Unstructured<'_>) -> Result<()> {
    let configs = [config(input)?, config(input)?];
    let mut ends = [End::new(Role::Client, &configs[0], 1_000), End::new(Role::Server, &configs[1], 9_000)];
    (ends[0].newest, ends[1].newest) = (ends[1].next.previous(), ends[0].next.previous());
    let mut now = Instant::from_secs(1);
    let mut flying: Vec<(usize, Sent)> = Vec::new();
    for _ in 0..input.int_in_range(0..=60)? {
        now += Duration::from_millis(input.int_in_range(0..=300)?);
        let from = usize::from(input.arbitrary::<bool>()?);
        match input.int_in_range(0..=7)? {
            0..=2 => {
                let sent = ends[from].send(now, PacketType::Ack);
                flying.push((1 - from, sent));
            }
            3 => {
                let feature = FeatureNumber::from(input.int_in_range(2..=9)?);
                let location = if input.arbitrary()? { Location::Local } else { Location::Remote };
                let value = input.int_in_range(0..=100)?;
                // Invalid requests are refused.
                let _ = ends[from].negotiation.request_change(feature, location, &[value], false);
            }
            4 if !flying.is_empty() => drop(flying.remove(input.choose_index(flying.len())?)),
            5 if !flying.is_empty() => flying.push(flying[input.choose_index(flying.len())?].clone()),
            _ if !flying.is_empty() => {
                let (to, sent) = flying.remove(input.choose_index(flying.len())?);
                if !ends[to].receive(&sent) {
                    return Ok(());
                }
            }
            _ => {}
        }
    }
    for (to, sent) in flying {
        if !ends[to].receive(&sent) {
            return Ok(());
        }
    }
    let mut packets = 0;
    while let Some((due, from)) =
        (0..2).filter_map(|from| Some((ends[from].negotiation.poll_timeout()?, from))).min()
    {
        now = now.max(due);
        packets += 1;
        assert!(packets < 100, "the negotiation does not end");
        let sent = ends[from].send(now, PacketType::Ack);
        now += Duration::from_millis(10);
        if !ends[1 - from].receive(&sent) {
            return Ok(());
        }
    }
    for feature in (1..=9).chain([128, 192]).map(FeatureNumber::from) {
        for location in Location::BOTH {
            let ours = ends[0].negotiation.value(feature, location);
            let theirs = ends[1].negotiation.value(feature, location.opposite());
            assert_eq!(ours, theirs, "{feature:?}, {location:?} for the client");
        }
    }
    Ok(())
}
