//! Frames of RTP streams: which packets belong together, and which a decoder cannot do without.

/// The codec of a video, whose NAL units show what can be dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(in crate::commands) enum Codec {
    /// H.264 (RFC 6184).
    H264,
    /// H.265 (RFC 7798).
    H265,
}

/// A frame of a flow: the packets with the same timestamp.
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
    /// RTCP (RFC 5761, Section 4), or parameter sets, without which nothing later can be decoded.
    Essential,
    /// A part of a frame. `disposable`: no other frame refers to it.
    Part { frame: Frame, disposable: bool },
}

/// Bytes of the fixed header (RFC 3550, Section 5.1).
const HEADER: usize = 12;

/// The kind of a datagram of that flow.
pub(super) fn classify(flow: u16, datagram: &[u8], codec: Option<Codec>) -> Kind {
    let Some(header) = datagram.first_chunk::<HEADER>() else { return Kind::Other };
    if header[0] >> 6 != 2 {
        return Kind::Other;
    }
    if (192..=223).contains(&header[1]) {
        return Kind::Essential;
    }
    let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let frame = Frame { flow, source: word(8), timestamp: word(4) };
    let (essential, disposable) = match (payload(datagram), codec) {
        (Some(payload), Some(Codec::H264)) => h264(payload),
        (Some(payload), Some(Codec::H265)) => h265(payload),
        _ => (false, false),
    };
    if essential { Kind::Essential } else { Kind::Part { frame, disposable } }
}

/// The payload of an RTP packet, after contributing sources and a header extension.
fn payload(datagram: &[u8]) -> Option<&[u8]> {
    let rest = datagram.get(HEADER + 4 * usize::from(datagram[0] & 0x0f)..)?;
    if datagram[0] & 0x10 == 0 {
        return Some(rest);
    }
    let words = u16::from_be_bytes([*rest.get(2)?, *rest.get(3)?]);
    rest.get(4 + 4 * usize::from(words)..)
}

/// Properties of a payload: it has a parameter set, and it can be dropped without effect on others.
fn h264(payload: &[u8]) -> (bool, bool) {
    let Some(first) = payload.first() else { return (false, false) };
    let is_set = |kind: u8| matches!(kind & 0x1f, 7 | 8);
    let disposable = (first >> 5) & 3 == 0;
    let is_essential = match first & 0x1f {
        // STAP-A: units with their lengths. STAP-B, MTAPs: rare, and treated as frames.
        24 => units(&payload[1..]).any(|unit| unit.first().is_some_and(|kind| is_set(*kind))),
        // FU-A: the type is in the second byte.
        28 => payload.get(1).is_some_and(|header| is_set(*header)),
        _ => is_set(*first),
    };
    (is_essential, disposable && !is_essential)
}

/// The same for H.265.
fn h265(payload: &[u8]) -> (bool, bool) {
    let [first, _, ..] = payload else { return (false, false) };
    let is_set = |kind: u8| (32..=34).contains(&kind);
    let kind = |byte: u8| (byte >> 1) & 0x3f;
    // Even types below 16: sub-layer non-reference pictures.
    let is_disposable = |kind: u8| kind < 16 && kind.is_multiple_of(2);
    match kind(*first) {
        48 => {
            let kinds: Vec<u8> =
                units(&payload[2..]).filter_map(|unit| unit.first().map(|byte| kind(*byte))).collect();
            let essential = kinds.iter().any(|kind| is_set(*kind));
            (essential, !essential && !kinds.is_empty() && kinds.iter().all(|kind| is_disposable(*kind)))
        }
        // FU: the type is in the third byte.
        49 => payload.get(2).map_or((false, false), |header| {
            let kind = header & 0x3f;
            (is_set(kind), is_disposable(kind))
        }),
        kind => (is_set(kind), is_disposable(kind)),
    }
}

/// The units of an aggregation packet, each after its length of two bytes.
fn units(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, after) = rest.split_first_chunk::<2>()?;
        let unit = after.get(..usize::from(u16::from_be_bytes(*length)))?;
        rest = &after[unit.len()..];
        Some(unit)
    })
}

#[cfg(test)]
mod tests;
