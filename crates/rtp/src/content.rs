//! The contents of payloads, by codec.

mod av1;
mod h264;
mod h265;
mod vp8;

#[cfg(test)]
mod tests;

/// A video codec, whose payload format shows what can be dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Codec {
    /// H.264 (RFC 6184).
    H264,
    /// H.265 (RFC 7798).
    H265,
    /// VP8 (RFC 7741).
    Vp8,
    /// AV1 (RTP Payload Format For AV1, version 1.0).
    Av1,
}

/// The contents of a payload, as far as one packet shows them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Content {
    /// The payload has a parameter set, without which no later frame can be decoded: SPS, PPS, VPS, or AV1's
    /// sequence header. VP8 has none.
    pub has_parameters: bool,
    /// A key frame begins in it: one that is decoded without others.
    pub begins_keyframe: bool,
    /// The payload belongs to a frame to which no other frame refers. AV1's payload format does not show it.
    pub is_disposable: bool,
}

impl Codec {
    /// All codecs.
    pub const ALL: [Self; 4] = [Self::H264, Self::H265, Self::Vp8, Self::Av1];

    /// The name in options and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::H264 => "h264",
            Self::H265 => "h265",
            Self::Vp8 => "vp8",
            Self::Av1 => "av1",
        }
    }

    /// The codec of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|codec| codec.name() == name)
    }

    /// The contents of the payload of one packet. A payload that the format does not permit has none.
    pub fn content(self, payload: &[u8]) -> Content {
        match self {
            Self::H264 => h264::content(payload),
            Self::H265 => h265::content(payload),
            Self::Vp8 => vp8::content(payload),
            Self::Av1 => av1::content(payload),
        }
    }
}

/// The NAL units of a payload.
#[derive(Clone, Copy, Default)]
struct Units {
    content: Content,
    has_slice: bool,
    has_reference: bool,
}

impl Units {
    fn add_parameters(&mut self) {
        self.content.has_parameters = true;
    }

    fn add_slice(&mut self, is_key: bool, is_reference: bool) {
        self.content.begins_keyframe |= is_key;
        self.has_slice = true;
        self.has_reference |= is_reference;
    }

    /// A payload is disposable if it has slices and none of them is of a reference picture. Units other than
    /// slices, such as delimiters and SEI messages, are neutral: they may precede a key frame.
    fn content(self) -> Content {
        let is_disposable = self.has_slice && !self.has_reference && !self.content.has_parameters;
        Content { is_disposable, ..self.content }
    }
}

/// The units of an aggregation packet, each after its length of two bytes.
fn aggregated(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    core::iter::from_fn(move || {
        let (length, after) = rest.split_first_chunk::<2>()?;
        let unit = after.get(..usize::from(u16::from_be_bytes(*length)))?;
        rest = &after[unit.len()..];
        Some(unit)
    })
}
