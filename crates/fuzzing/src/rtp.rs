//! RTP and its feedback: any bytes are a packet or none, a message that survives the wire or an error, and
//! any arrivals are reported once.

use std::collections::BTreeMap;

use whimbrel_rtp::{
    ArrivalLog, Codec, ControlPacket, FullIntraRequest, Kind, PictureLoss, Recognizer, Remb, RtpPacket,
    TransportFeedback,
};
use whimbrel_units::Instant;

/// The longest report (`ArrivalLog::poll`).
const LONGEST_REPORT: usize = 1100;

/// Reads `data` as a datagram and as each message, and as a script of arrivals.
///
/// # Panics
/// If a frame differs from the header's fields, an unknown codec has contents, a message changes on the wire
/// or is longer than its packets explain, or an arrival is not reported, or twice.
pub fn check(data: &[u8]) {
    datagram(data);
    if let Ok(message) = Remb::decode(data) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes).expect("it was decoded");
        assert!(bytes.len() <= data.len(), "{} bytes from {}", bytes.len(), data.len());
        assert_eq!(Remb::decode(&bytes), Ok(message));
    }
    if let Ok(message) = PictureLoss::decode(data) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        assert_eq!((bytes.len(), PictureLoss::decode(&bytes)), (12, Ok(message)));
    }
    if let Ok(message) = FullIntraRequest::decode(data) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes).expect("it was decoded");
        assert!(bytes.len() <= data.len(), "{} bytes from {}", bytes.len(), data.len());
        assert_eq!(FullIntraRequest::decode(&bytes), Ok(message));
    }
    if let Ok(message) = TransportFeedback::decode(data) {
        let packets = message.received.len();
        assert!(packets <= data.len() && packets <= usize::from(message.count));
        assert_eq!(message.arrivals().count(), packets);
        let mut bytes = Vec::new();
        message.encode(&mut bytes).expect("it was decoded");
        assert!(bytes.len() <= 20 + 6 * packets + 2 * 9 + 3, "{} bytes for {packets} packets", bytes.len());
        assert_eq!(TransportFeedback::decode(&bytes), Ok(message));
    }
    arrivals(data);
}

fn datagram(data: &[u8]) {
    for codec in [None].into_iter().chain(Codec::ALL.map(Some)) {
        let kind = Recognizer::new(true).classify(Instant::ZERO, data, codec);
        let packet = RtpPacket::parse(data).filter(RtpPacket::has_whole_header);
        assert_eq!(matches!(kind, Kind::Media(_)), packet.is_some());
        assert_eq!(
            matches!(kind, Kind::Control(_)),
            packet.is_none() && ControlPacket::parse(data).is_some()
        );
        let Kind::Media(media) = kind else { continue };
        assert_eq!(media.frame.source.to_be_bytes(), data[8..12]);
        let content = media.content;
        assert!(
            codec.is_some() || !(content.has_parameters || content.begins_keyframe || content.is_disposable)
        );
        // Referenced data is never dropped first.
        assert!(
            !(content.is_disposable && (content.has_parameters || content.begins_keyframe)),
            "{content:?}"
        );
    }
    // As datagrams of one flow: any stream that is not announced takes six packets to be recognized.
    let mut flow = Recognizer::new(false);
    for (n, datagram) in (0..).zip(data.chunks(16)) {
        let kind = flow.classify(Instant::from_millis(10 * n), datagram, None);
        assert!(n >= 5 || !matches!(kind, Kind::Media(_)));
    }
    let Some(packet) = RtpPacket::parse(data) else { return };
    let payload = packet.payload().map_or(0, <[u8]>::len);
    for id in 0..=u8::MAX {
        if let Some(element) = packet.extension(id) {
            assert!(12 + 4 + element.len() + payload <= data.len());
        }
    }
}

/// Three bytes each: the step of the sequence number, the time since the packet before in ms, and whether
/// reports are due.
fn arrivals(data: &[u8]) {
    let (mut log, mut number, mut latest, mut now) = (ArrivalLog::new(), 0_i64, 0, Instant::from_secs(1));
    let mut waiting: BTreeMap<u16, i64> = BTreeMap::new();
    let drain = |log: &mut ArrivalLog, waiting: &mut BTreeMap<u16, i64>| {
        while log.has_arrivals() {
            let report = log.poll(1, 2).expect("an arrival to report");
            let mut bytes = Vec::new();
            report.encode(&mut bytes).expect("a valid report");
            assert!(bytes.len() <= LONGEST_REPORT, "{}", bytes.len());
            assert_eq!(TransportFeedback::decode(&bytes).as_ref(), Ok(&report));
            for (sequence, time) in report.arrivals() {
                assert_eq!(waiting.remove(&sequence), Some(time), "{sequence}");
            }
        }
        assert_eq!(log.poll(1, 2), None);
        assert!(waiting.is_empty(), "not reported: {waiting:?}");
    };
    for step in data.chunks_exact(3) {
        // Mostly ahead, and less far behind the latest one than what a log takes for a new beginning.
        number = (number + i64::from(step[0]) - 64).max(latest - 2_900);
        latest = latest.max(number);
        let sequence = number as u16;
        now += whimbrel_units::Duration::from_millis(u64::from(step[1]) << (step[2] & 7));
        waiting.entry(sequence).or_insert((now.as_nanos() / 250_000) as i64);
        log.record(sequence, now);
        if step[2] & 0x80 != 0 || waiting.len() >= 16 {
            drain(&mut log, &mut waiting);
        }
    }
    drain(&mut log, &mut waiting);
}
