//! Evidence that the datagrams of a flow are RTP.
//!
//! RTP has no mark of its own: a datagram of 12 bytes that begins with the bits `10` is RTP, or CBOR,
//! MessagePack, SRT's control, or a random identifier. Only several packets show it: sequence numbers that
//! advance by one, a constant SSRC, and a timestamp that moves as a clock of media does. Datagrams that RFC
//! 7983 allows together with RTP at one port, such as STUN and DTLS, are neither for nor against it.

mod stream;

#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use whimbrel_units::Instant;

use crate::{Codec, Content, ControlPacket, RtpPacket};
use stream::{Fit, Stream};

/// The most streams of a flow that are followed: more than a bundle of WebRTC has with its repairs and
/// layers.
const MAX_STREAMS: usize = 32;
/// Datagrams without a sign of RTP in a row after which a flow that was said to be one of RTP counts as any
/// other.
const MAX_DOUBT: u8 = 16;

/// A frame: the packets of a stream with the same timestamp, to the marker bit, for a limited time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FrameId {
    /// SSRC of the stream.
    pub source: u32,
    /// The frame's number in the stream.
    pub number: u32,
}

/// A packet of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Media {
    /// The frame to which the packet belongs.
    pub frame: FrameId,
    /// The contents of its payload, as far as one packet shows them; nothing without a codec.
    pub content: Content,
    /// `true` for the last packet of the frame; `None` in a stream whose frames have no marker bit at their
    /// ends.
    pub ends_frame: Option<bool>,
}

/// The kind of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Not known to be RTP.
    Other,
    /// The datagram has the structure of RTCP.
    Control(ControlPacket),
    /// RTP.
    Media(Media),
}

/// Recognizes the RTP streams among the datagrams of one flow in one direction.
///
/// A stream is recognized after five packets with consecutive sequence numbers and a moving timestamp, and
/// not any more after as many in a row that contradict. The state is bounded: 32 streams.
#[derive(Clone, Debug)]
pub struct Recognizer {
    /// The flow is said to be one of RTP.
    is_announced: bool,
    doubt: u8,
    streams: Vec<Stream>,
}

impl Recognizer {
    /// For a new flow. `is_announced`: somebody has said that it is one of RTP, so that its packets are RTP
    /// until they contradict.
    pub fn new(is_announced: bool) -> Self {
        Self { is_announced, doubt: 0, streams: Vec::new() }
    }

    /// The kind of the next datagram. `codec`: the payload format, if it is known.
    pub fn classify(&mut self, now: Instant, datagram: &[u8], codec: Option<Codec>) -> Kind {
        let Some(packet) = RtpPacket::parse(datagram).filter(RtpPacket::has_whole_header) else {
            return ControlPacket::parse(datagram).map_or(Kind::Other, Kind::Control);
        };
        let is_announced = self.is_announced;
        let (stream, fit) = self.follow(now, &packet);
        let number = stream.is_recognized(is_announced).then(|| stream.frame(now, &packet));
        let ends_frame = stream.has_markers().then(|| packet.marker());
        self.weigh(fit);
        let Some(number) = number else { return Kind::Other };
        let content = codec.zip(packet.payload()).map(|(codec, payload)| codec.content(payload));
        let frame = FrameId { source: packet.source(), number };
        Kind::Media(Media { frame, content: content.unwrap_or_default(), ends_frame })
    }

    /// `true` if there is a recognized stream, or the flow is said to be one of RTP.
    pub fn is_rtp(&self) -> bool {
        self.is_announced || self.streams.iter().any(Stream::has_evidence)
    }

    /// `true` if that is the SSRC of a recognized stream.
    pub fn has_source(&self, source: u32) -> bool {
        self.recognized().any(|stream| stream.source == source)
    }

    /// The SSRCs of the recognized streams that had packets since then.
    pub fn active_sources(&self, since: Instant) -> impl Iterator<Item = u32> {
        self.recognized().filter(move |stream| stream.used >= since).map(|stream| stream.source)
    }

    fn recognized(&self) -> impl Iterator<Item = &Stream> {
        self.streams.iter().filter(|stream| stream.is_recognized(self.is_announced))
    }

    /// The stream of a packet, with the packet's evidence. The one that was silent for longest makes room,
    /// first among those without evidence.
    fn follow(&mut self, now: Instant, packet: &RtpPacket<'_>) -> (&mut Stream, Fit) {
        let known = self.streams.iter().position(|stream| stream.source == packet.source());
        if let Some(index) = known {
            let stream = &mut self.streams[index];
            let fit = stream.on_packet(now, packet);
            return (stream, fit);
        }
        if self.streams.len() == MAX_STREAMS {
            let oldest = self.streams.iter().enumerate();
            let oldest = oldest.min_by_key(|(_, stream)| (stream.has_evidence(), stream.used));
            self.streams.swap_remove(oldest.map_or(0, |(index, _)| index));
        }
        self.streams.push(Stream::new(now, packet));
        let last = self.streams.len() - 1;
        (&mut self.streams[last], Fit::Unknown)
    }

    /// An announcement does not outlive what contradicts it.
    fn weigh(&mut self, fit: Fit) {
        match fit {
            Fit::Good => self.doubt = 0,
            Fit::Neutral => {}
            Fit::Repeated | Fit::Unknown | Fit::Bad => self.doubt = self.doubt.saturating_add(1),
        }
        self.is_announced &= self.doubt < MAX_DOUBT;
    }
}
