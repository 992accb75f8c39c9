//! Acknowledgements of Linux 6.1 in a captured transfer under CCID 2, read by this implementation's sender.

use std::collections::BTreeSet;
use std::path::Path;

use whimbrel_proto::Config;
use whimbrel_proto::ack_vector::{AckedPacket, PacketArrival, Reader};
use whimbrel_proto::ccid::ccid2::{Ccid2, Sender};
use whimbrel_proto::ccid::{Feedback, HcSender, ReceivedPacket, SenderMarks, SentPacket};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::ack_vector::runs;
use whimbrel_wire::{Ecn, Options, Packet, PacketType, SeqNo};

/// The port that the sender of the data dialled.
const SERVER_PORT: u16 = 5001;

/// The DCCP packets of a capture with the time since the first: little-endian pcap of Ethernet frames.
fn read(name: &str) -> Vec<(Instant, Packet)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/data").join(name);
    let file = std::fs::read(path).unwrap();
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    assert_eq!(word(0), 0xa1b2_c3d4, "microseconds, this byte order");
    let mut packets = Vec::new();
    let (mut at, start) = (24, u64::from(word(24)));
    while at < file.len() {
        let time =
            Duration::from_secs(u64::from(word(at)) - start) + Duration::from_micros(word(at + 4).into());
        let frame = &file[at + 16..at + 16 + word(at + 8) as usize];
        at += 16 + frame.len();
        let ip = &frame[14..];
        if frame[12..14] == [0x08, 0x00] && ip[9] == 33 {
            let length = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
            let packet = Packet::decode_slice(&ip[usize::from(ip[0] & 15) * 4..length]).unwrap();
            packets.push((Instant::from_secs(1) + time, packet));
        }
    }
    packets
}

/// A sender that has been through a capture.
struct Played {
    sender: Sender,
    /// All outcomes reported to it for the first time.
    news: Vec<AckedPacket>,
    /// The data packets in the capture, and those that are not, as the network lost them before it
    /// was taken.
    arrived: BTreeSet<u64>,
    lost: BTreeSet<u64>,
}

/// Plays a capture, taken where the data arrived, to a sender.
fn play(packets: &[(Instant, Packet)]) -> Played {
    let is_data = |packet: &Packet| packet.destination_port == SERVER_PORT;
    let first = packets.iter().find(|(_, packet)| is_data(packet)).unwrap().1.sequence;
    let half = Config::default().half_connection(packets[0].0, 1_000, None, first);
    let mut sender = Sender::new(&half, &Ccid2::default());
    let (mut reader, mut all) = (Reader::new(first), Vec::new());
    let (mut arrived, mut lost) = (BTreeSet::new(), BTreeSet::new());
    let mut newest = first;
    for (now, packet) in packets {
        let (sequence, packet_type) = (packet.sequence, packet.packet_type());
        if is_data(packet) {
            let mut send = |sequence, packet_type| {
                let marks = SenderMarks { ccval: &mut 0, options: &mut Options::new() };
                let sent = SentPacket { sequence, packet_type, payload: 1_000, more_queued: true };
                sender.on_sent(*now, sent, marks);
            };
            // The handshake precedes congestion control.
            if packet_type == PacketType::DataAck {
                while newest.next().is_before(sequence) {
                    newest = newest.next();
                    send(newest, PacketType::DataAck);
                    lost.insert(newest.value());
                }
                send(sequence, packet_type);
                arrived.insert(sequence.value());
            }
            newest = newest.max(sequence);
            continue;
        }
        let Some(ack) = packet.ack() else { continue };
        assert!(!ack.is_after(newest), "the capture shows all that was sent");
        let mut news = Vec::new();
        reader.read(ack, &packet.options, &mut news).unwrap();
        // All packets that this vector reports are known by now.
        for run in runs(ack, &packet.options).filter(|run| run.state.is_received()) {
            let mut number = run.oldest;
            while !number.is_after(run.newest) {
                assert!(all.iter().chain(&news).any(|known: &AckedPacket| known.sequence == number));
                number = number.next();
            }
        }
        let received = ReceivedPacket {
            sequence,
            packet_type,
            ccval: packet.ccval,
            payload: packet.payload.len(),
            ecn: Ecn::NotEct,
            corrupt: false,
            discarded: false,
            arrived: None,
            options: &packet.options,
            ndp_count: None,
            rtt_hint: None,
        };
        sender.on_received(*now, &received);
        let feedback = Feedback {
            ack,
            sequence,
            packet_type,
            options: &packet.options,
            ack_vector: &news,
            data_dropped: &[],
            timestamp_rtt: None,
        };
        sender.on_feedback(*now, &feedback);
        all.extend(news);
    }
    Played { sender, news: all, arrived, lost }
}

/// Checks that the packets reported as received did arrive, once each.
fn check(played: &Played) {
    let reported: BTreeSet<u64> = played.news.iter().map(|packet| packet.sequence.value()).collect();
    assert_eq!(reported.len(), played.news.len(), "each packet is news once");
    assert!(played.news.iter().all(|packet| packet.outcome == PacketArrival::Received), "without ECN");
    assert!(reported.is_disjoint(&played.lost));
    let unreported: Vec<_> = played.arrived.difference(&reported).collect();
    assert_eq!(unreported, Vec::<&u64>::new());
}

#[test]
fn a_clean_transfer_is_acknowledged_in_full() {
    let played = play(&read("ccid2-loss0.pcap"));
    check(&played);
    assert!(played.arrived.len() > 150 && played.lost.is_empty());
    let snapshot = played.sender.snapshot();
    assert_eq!((snapshot.lost, snapshot.marked, snapshot.pipe), (0, 0, Some(0)));
}

#[test]
fn losses_are_found_where_linux_reports_them() {
    let played = play(&read("ccid2-loss3.pcap"));
    check(&played);
    // 3 % were dropped.
    let (arrived, lost) = (played.arrived.len(), played.lost.len());
    assert!((0.01..0.06).contains(&(lost as f64 / (arrived + lost) as f64)), "{lost} and {arrived}");
    // All are found, but for those after which too little arrived.
    let snapshot = played.sender.snapshot();
    let last = SeqNo::new(*played.arrived.last().unwrap());
    let is_late = |number: &&u64| last.distance_from(SeqNo::new(**number)) < 3;
    let late = played.lost.iter().filter(is_late).count();
    assert_eq!((snapshot.lost, snapshot.pipe), ((lost - late) as u64, Some(late as u32)));
}
