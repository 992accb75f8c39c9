//! Frames of the relay's flows, and the kinds of datagrams that its queue distinguishes.

use whimbrel_rtp::{Codec, classify};

/// A frame of a flow: the packets of a stream with the same timestamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Frame {
    /// The flow's number.
    pub(super) flow: u16,
    /// The stream's SSRC.
    pub(super) source: u32,
    pub(super) timestamp: u32,
}

impl Frame {
    /// `true` if both are of the same stream.
    pub(super) fn is_of_stream(self, other: Self) -> bool {
        (self.flow, self.source) == (other.flow, other.source)
    }
}

/// The kind of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Not RTP.
    Other,
    /// RTCP, or parameter sets, without which nothing later can be decoded.
    Essential,
    /// A part of a frame. `disposable`: no other frame refers to it.
    Part { frame: Frame, disposable: bool },
}

impl Kind {
    /// The kind of a datagram of that flow.
    pub(super) fn of(flow: u16, datagram: &[u8], codec: Option<Codec>) -> Self {
        match classify(datagram, codec) {
            whimbrel_rtp::Kind::Other => Self::Other,
            whimbrel_rtp::Kind::Control => Self::Essential,
            whimbrel_rtp::Kind::Media(media) if media.content.has_parameters => Self::Essential,
            whimbrel_rtp::Kind::Media(media) => {
                let frame = Frame { flow, source: media.frame.source, timestamp: media.frame.timestamp };
                Self::Part { frame, disposable: media.content.is_disposable }
            }
        }
    }
}

#[cfg(test)]
mod tests;
