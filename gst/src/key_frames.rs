//! Requests for key frames: RTCP on the connection, events in the pipeline.

use whimbrel_rtp::{FullIntraRequest, PictureLoss};

/// The name of the event, as GStreamer's encoders and depayloaders know it.
const EVENT: &str = "GstForceKeyUnit";

/// The event by which an encoder is asked for a key frame, with its parameter sets.
pub(crate) fn request(count: u32) -> gst::Event {
    let structure = gst::Structure::builder(EVENT)
        .field("running-time", gst::ClockTime::NONE)
        .field("all-headers", true)
        .field("count", count)
        .build();
    gst::event::CustomUpstream::new(structure)
}

/// `true` if a decoder or depayloader asks for a key frame.
pub(crate) fn is_request(event: &gst::EventRef) -> bool {
    event.type_() == gst::EventType::CustomUpstream && event.structure().is_some_and(|it| it.name() == EVENT)
}

/// `true` if a datagram is RTCP that asks for a key frame, alone or among other packets.
pub(crate) fn is_asked_for(mut datagram: &[u8]) -> bool {
    while let [first, _, high, low, ..] = datagram {
        let length = 4 * (1 + usize::from(u16::from_be_bytes([*high, *low])));
        if first >> 6 != 2 || length > datagram.len() {
            return false;
        }
        let (packet, rest) = datagram.split_at(length);
        if PictureLoss::decode(packet).is_ok() || FullIntraRequest::decode(packet).is_ok() {
            return true;
        }
        datagram = rest;
    }
    false
}

/// The SSRC of an RTP packet.
pub(crate) fn source_of(datagram: &[u8]) -> Option<u32> {
    let bytes = datagram.get(8..12).filter(|_| datagram[0] >> 6 == 2)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

/// RTCP that asks the encoder of a stream for a key frame. This end sends no stream, so it takes the stream's
/// number as its own.
pub(crate) fn picture_loss(media: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    PictureLoss { sender: media, media }.encode(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_found_among_other_packets_and_in_no_other_datagram() {
        let report = [0x80, 201, 0, 1, 0, 0, 0, 9];
        let loss = picture_loss(7);
        assert!(is_asked_for(&loss) && is_asked_for(&[&report[..], &loss].concat()));
        let mut intra = report.to_vec();
        let request = FullIntraRequest { sender: 1, streams: vec![(7, 0)] };
        request.encode(&mut intra).expect("short");
        assert!(is_asked_for(&intra));
        let video = [0x80, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0x65];
        for other in [&report[..], b"", b"$GPGGA", &video, &loss[..8], &[0x80, 206, 0xff, 0xff]] {
            assert!(!is_asked_for(other), "{other:02x?}");
        }
        assert_eq!(
            (source_of(&video), source_of(&video[..11]), source_of(b"$GPGGA,12345")),
            (Some(7), None, None)
        );
    }

    #[test]
    fn the_event_is_that_of_gstreamer() {
        gst::init().expect("GStreamer");
        let event = request(3);
        assert!(is_request(&event));
        let structure = event.structure().expect("a structure");
        assert_eq!(structure.get::<u32>("count"), Ok(3));
        assert_eq!(structure.get::<Option<gst::ClockTime>>("running-time"), Ok(None));
        assert!(!is_request(&gst::event::Reconfigure::new()));
    }
}
