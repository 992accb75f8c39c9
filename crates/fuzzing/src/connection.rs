//! A whole connection with arbitrary input: packets with numbers in and near its windows, timeouts, commands,
//! and the packets of an honest peer.

use arbitrary::{Result, Unstructured};
use bytes::Bytes;
use whimbrel_proto::config::{
    CcidPreference, DataChecksumUse, Differentiation, LossDetection, Restart, Scheme, Silence,
};
use whimbrel_proto::{
    Ccid, Config, Connection, Datagram, Event, FreezeScope, MobilityConfig, MobilitySecret, PathChange,
    PathId, PathMtuDiscovery, ReceiveMeta, SendQueueConfig,
};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::tfrc::{self, LossInterval, ProbeRule, RttEstimate};
use whimbrel_wire::option::{FeatureAction, FeatureOption};
use whimbrel_wire::{
    ChecksumCoverage, DccpOption, Ecn, Kind, OptionBytes, Packet, Payload, Reset, SeqNo, ServiceCode,
};

const CLIENT: u16 = 50_000;
const SERVER: u16 = 5_001;
/// More packets than fit into the queue.
const MAX_BURST: usize = 200;

/// One input.
///
/// # Panics
///
/// If the code under test is wrong.
pub fn check(data: &[u8]) {
    // The end of the bytes is the end of the trial.
    let _ = run(&mut Unstructured::new(data));
}

/// One end, and the state that an observer of its packets has.
struct End {
    connection: Connection,
    source: u16,
    destination: u16,
    sent: SeqNo,
    received: SeqNo,
    ended: bool,
}

fn config(input: &mut Unstructured<'_>) -> Result<Config> {
    let lists: [&[u8]; 5] = [&[2], &[3], &[4], &[3, 2], &[2, 4, 3]];
    let list: Vec<Ccid> = input.choose(&lists)?.iter().copied().map(Ccid).collect();
    let [ecn, short_sequence_numbers, data_on_handshake, server_sends_close_request, deliver_corrupt] =
        input.arbitrary()?;
    let mut config = Config::default()
        .sender_ccids(CcidPreference::from_iter(list.iter().copied()))
        .receiver_ccids(CcidPreference::from_iter(list))
        .ecn(ecn)
        .short_sequence_numbers(short_sequence_numbers)
        .data_on_handshake(data_on_handshake)
        .server_sends_close_request(server_sends_close_request)
        .sequence_window(*input.choose(&[32, 100, 10_000])?)
        .send_queue(SendQueueConfig::default().max_datagrams(32));
    config.receive.max_datagrams = 64;
    config.receive.deliver_corrupt = deliver_corrupt;
    let forgive_late = input.arbitrary()?;
    config.tune_tfrc(|tfrc| tfrc.forgive_late = forgive_late);
    match input.int_in_range(0..=3)? {
        0 => config.receive.reorder_delay = Some(Duration::from_millis(input.int_in_range(1..=1_000)?)),
        1 => config.receive.loss_detection = LossDetection::Rack,
        _ => {}
    }
    config.freeze = config
        .freeze
        .offer(input.ratio(3, 4)?)
        .restart(*input.choose(&[Restart::LossRate, Restart::Following, Restart::CarefulResume])?)
        .silence(*input.choose(&[
            None,
            Some(Silence::RoundTrips(4.0)),
            Some(Silence::Time(Duration::from_secs(1))),
        ])?)
        .local_limit(input.ratio(1, 4)?.then_some(Duration::from_secs(2)));
    config.mobility = input.ratio(1, 4)?.then_some(MobilityConfig::default().on_move(change(input)?));
    config.path_mtu = *input.choose(&[
        PathMtuDiscovery::Automatic,
        PathMtuDiscovery::FromBase,
        PathMtuDiscovery::FromLargest,
    ])?;
    config.integrity.data_checksum = *input.choose(&[DataChecksumUse::Off, DataChecksumUse::Offer])?;
    if input.ratio(1, 4)? {
        let differentiation = Differentiation::guarded(*input.choose(&Scheme::ALL)?);
        config.tune_tfrc(|tfrc| tfrc.differentiation = Some(differentiation));
    }
    let (rtt, p, damping) = (input.arbitrary()?, input.arbitrary()?, input.arbitrary()?);
    config.tune_tfrc(|tfrc| {
        tfrc.send_rtt_estimate = rtt;
        tfrc.send_loss_event_rate = p;
        tfrc.oscillation_damping = damping;
    });
    Ok(config)
}

fn change(input: &mut Unstructured<'_>) -> Result<PathChange> {
    Ok(*input.choose(&[PathChange::Keep, PathChange::Reset, PathChange::Restore])?)
}

fn run(input: &mut Unstructured<'_>) -> Result<()> {
    let mut now = Instant::from_secs(1_000);
    let (ours, theirs) = (config(input)?, config(input)?);
    let mut client =
        Connection::client(now, ours.clone(), CLIENT, SERVER, input.arbitrary()?).expect("valid");
    client.allow_moves(&MobilitySecret::new([1; 32]), 1);
    client.connect(now);
    let request = client.poll_transmit(now).expect("a Request").packet;
    let mut server = Connection::server(now, theirs.clone(), &request, input.arbitrary()?).expect("valid");
    server.allow_moves(&MobilitySecret::new([2; 32]), 2);
    let first = request.sequence;
    server.handle_packet(now, ReceiveMeta::default(), request);
    let end = |connection, source, destination| End {
        connection,
        source,
        destination,
        sent: first,
        received: first,
        ended: false,
    };
    let mut ends = [end(client, CLIENT, SERVER), end(server, SERVER, CLIENT)];
    let mut flying: Vec<(usize, Packet)> = Vec::new();
    for _ in 0..1_000 {
        for (from, end) in ends.iter_mut().enumerate() {
            let packets = end.drain(now);
            flying.extend(packets.into_iter().map(|packet| (1 - from, packet)));
        }
        flying.truncate(500);
        if input.is_empty() {
            break;
        }
        let at = usize::from(input.arbitrary::<bool>()?);
        match input.int_in_range(0..=11)? {
            0..=3 => {
                let packet = forge(input, &ends[at])?;
                let ecn = Ecn::from_bits(input.arbitrary()?);
                ends[at].connection.handle_packet(now, ReceiveMeta { ecn, arrival: None }, packet);
            }
            4..=6 if !flying.is_empty() => {
                let (to, packet) = flying.remove(0);
                ends[to].connection.handle_packet(now, ReceiveMeta { ecn: Ecn::Ect0, arrival: None }, packet);
            }
            7 => now += Duration::from_millis(input.int_in_range(0..=400)?),
            8 => {
                if let Some(due) = ends[at].connection.poll_timeout() {
                    now = now.max(due);
                }
                ends[at].connection.handle_timeout(now);
            }
            9 => {
                for _ in 0..input.int_in_range(1..=20)? {
                    let payload = Bytes::from(vec![7; input.int_in_range(0..=1_500)?]);
                    let _ = ends[at].connection.send(now, Datagram::new(payload));
                }
            }
            10 => match input.int_in_range(0..=9)? {
                0 => ends[at].connection.close(now),
                1 => ends[at].connection.abort(now),
                2 => ends[at].connection.handle_unreachable(now),
                3 => ends[at].connection.set_max_datagram(now, input.int_in_range(0..=2_000)?),
                4 => ends[at].connection.stop_receiving(now),
                5 => ends[at].connection.set_slow_receiver(input.arbitrary()?),
                6 => ends[at].connection.freeze(now, scope(input)?),
                7 => ends[at].connection.unfreeze(now, scope(input)?),
                8 => {
                    ends[at].connection.probe(now);
                }
                _ => {
                    let [from, to] = input.arbitrary::<[bool; 2]>()?.map(|name| PathId(name.into()));
                    ends[at].connection.path_changed_between(now, change(input)?, from, to);
                }
            },
            _ => ends[at].read(),
        }
        for (end, config) in ends.iter().zip([&ours, &theirs]) {
            let seen = end.connection.snapshot();
            assert!(seen.queued_datagrams <= config.send_queue.max_datagrams);
            assert!(seen.holdings.datagrams <= config.receive.max_datagrams);
            assert!(seen.holdings.ack_vector_bytes <= 600 && seen.holdings.feature_entries <= 90);
        }
    }
    // A connection can be aborted in any state.
    for end in &mut ends {
        end.connection.abort(now);
        end.drain(now);
        while let Some(due) = end.connection.poll_timeout() {
            end.connection.handle_timeout(due);
            end.drain(due);
        }
        end.read();
        assert!(end.ended && end.connection.is_drained(), "an aborted connection lives");
    }
    Ok(())
}

impl End {
    fn drain(&mut self, now: Instant) -> Vec<Packet> {
        let mut packets = Vec::new();
        while let Some(transmit) = self.connection.poll_transmit(now) {
            let packet = transmit.packet;
            if packet.extended {
                self.sent = packet.sequence;
                self.received = packet.ack().unwrap_or(self.received);
            }
            assert_eq!((packet.source_port, packet.destination_port), (self.source, self.destination));
            assert!(packet.encode(&mut Vec::new()).is_ok(), "{packet:?} cannot be encoded");
            packets.push(packet);
            assert!(packets.len() < MAX_BURST, "a livelock at {now}");
        }
        let due = self.connection.poll_timeout();
        assert!(due.is_none_or(|due| due > now), "drained at {now}, to be woken at {due:?}");
        packets
    }

    fn read(&mut self) {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Closed(_) => assert!(!core::mem::replace(&mut self.ended, true), "it ends twice"),
                Event::Drained => assert!(self.ended, "drained without an end"),
                _ => assert!(!self.ended, "{event:?} after the end"),
            }
        }
    }
}

fn scope(input: &mut Unstructured<'_>) -> Result<FreezeScope> {
    Ok(*input.choose(&[FreezeScope::Local, FreezeScope::Remote, FreezeScope::Both])?)
}

/// A packet for that end.
fn forge(input: &mut Unstructured<'_>, to: &End) -> Result<Packet> {
    let near = |input: &mut Unstructured<'_>, number: SeqNo| -> Result<SeqNo> {
        Ok(match input.int_in_range(0..=9)? {
            0..=6 => number.add(input.int_in_range(0..=8)?).sub(2),
            7 | 8 => number.add(u64::from(input.arbitrary::<u8>()?)).sub(100),
            _ => SeqNo::new(input.arbitrary()?),
        })
    };
    let sequence = near(input, to.received)?;
    let ack = near(input, to.sent)?;
    let service_code = ServiceCode(0);
    let kind = match input.int_in_range(0..=15)? {
        0 => Kind::Request { service_code },
        1 => Kind::Response { ack, service_code },
        2..=4 => Kind::Data,
        5..=7 => Kind::Ack { ack },
        8..=10 => Kind::DataAck { ack },
        11 => Kind::CloseReq { ack },
        12 => Kind::Close { ack },
        13 => {
            Kind::Reset { ack, reset: Reset::with_data(input.arbitrary::<u8>()?.into(), input.arbitrary()?) }
        }
        14 => Kind::Sync { ack },
        _ => Kind::SyncAck { ack },
    };
    let mut options = whimbrel_wire::Options::new();
    for _ in 0..input.int_in_range(0..=4)? {
        options.push(option(input)?);
    }
    let length = input.int_in_range(0..=40)?;
    Ok(Packet {
        source_port: to.destination,
        destination_port: to.source,
        ccval: input.int_in_range(0..=15)?,
        checksum_coverage: ChecksumCoverage::ALL,
        extended: input.ratio(9, 10)?,
        sequence,
        kind,
        options,
        payload: Payload::Bytes(Bytes::copy_from_slice(input.bytes(length)?)),
    })
}

fn option(input: &mut Unstructured<'_>) -> Result<DccpOption> {
    let length = input.int_in_range(0..=12)?;
    let data = OptionBytes::from_slice(input.bytes(length)?);
    Ok(match input.int_in_range(0..=17)? {
        0 => DccpOption::Mandatory,
        1 => DccpOption::SlowReceiver,
        2 => DccpOption::InitCookie(data),
        3 | 4 => DccpOption::AckVector { nonce: input.arbitrary()?, cells: data },
        5 => DccpOption::DataDropped(data),
        6 => DccpOption::Timestamp(input.arbitrary()?),
        7 => DccpOption::DataChecksum(input.arbitrary()?),
        8 | 9 => DccpOption::CcidSpecific { kind: input.int_in_range(128..=255)?, data },
        10 => DccpOption::Unknown { kind: input.int_in_range(45..=127)?, data },
        11 => DccpOption::Freeze,
        12 => DccpOption::Unfreeze,
        13 => DccpOption::Mobility { kind: input.int_in_range(122..=125)?, data },
        14 | 15 => tfrc_option(input)?,
        _ => DccpOption::Feature(FeatureOption {
            action: FeatureAction::from_kind(input.int_in_range(32..=35)?).expect("one of four"),
            feature: input.int_in_range(0..=12)?,
            values: data,
        }),
    })
}

/// A well-formed option of CCID 3 or 4, its numbers often at the end of their range.
fn tfrc_option(input: &mut Unstructured<'_>) -> Result<DccpOption> {
    const MAX_24: u32 = 0xff_ffff;
    let number = |input: &mut Unstructured<'_>| -> Result<u32> {
        let any = input.arbitrary()?;
        Ok(*input.choose(&[0, 1, 100, MAX_24 - 1, MAX_24, u32::MAX, any])?)
    };
    let rule = |input: &mut Unstructured<'_>| -> Result<ProbeRule> {
        let rtt_micros = number(input)?.min(MAX_24);
        Ok(match input.int_in_range(0..=2)? {
            0 => ProbeRule::Loss,
            1 => ProbeRule::ReceiveRate { rtt_micros },
            _ => ProbeRule::Settle { rtt_micros },
        })
    };
    let count = input.int_in_range(0..=9)?;
    Ok(match input.int_in_range(0..=7)? {
        0 => RttEstimate::from_nanos(u64::from(number(input)?) * 1_000).to_option(),
        1 => tfrc::restoring(rule(input)?),
        2 => tfrc::probing(rule(input)?),
        3 => tfrc::unfrozen(),
        4 => tfrc::loss_event_rate(number(input)?),
        5 => tfrc::receive_rate(number(input)?),
        6 => {
            let mut intervals = Vec::new();
            for _ in 0..count {
                let [lossless, loss, data] = [number(input)?, number(input)?, number(input)?];
                intervals.push(LossInterval {
                    lossless_length: lossless.min(MAX_24),
                    loss_length: loss.min(MAX_24 >> 1),
                    nonce: input.arbitrary()?,
                    data_length: data.min(MAX_24),
                });
            }
            let skip = input.arbitrary()?;
            tfrc::loss_intervals(skip, intervals).next().unwrap_or(DccpOption::SlowReceiver)
        }
        _ => {
            let mut counts = Vec::new();
            for _ in 0..count {
                counts.push(number(input)?.min(MAX_24));
            }
            tfrc::dropped_packets(counts).next().unwrap_or(DccpOption::SlowReceiver)
        }
    })
}
