//! Traffic identifiers and A-MPDUs of 802.11n and later, from the QoS data frames of a capture in monitor
//! mode.
//!
//! Radiotap's A-MPDU status numbers the A-MPDUs: frames of one of them have one number (radiotap.org). A
//! frame without the field was sent alone, or by a driver that does not report it.

use std::collections::BTreeMap;

use serde::Serialize;
use whimbrel_units::Instant;
use whimbrel_wifi::MacAddress;
use whimbrel_wifi::frame::bytes::{Flags, Header, PayloadHeader};
use whimbrel_wifi::frame::radiotap::Radiotap;

use crate::capture::Record;
use crate::link::wireless_frame;

/// Maximum number of streams listed. Frames of further ones are counted.
const MAX_STREAMS: usize = 1000;
/// QoS control: the traffic identifier, and the presence of an A-MSDU (IEEE Std 802.11-2020, 9.2.4.5.1).
const IDENTIFIER: u16 = 0x000f;
const AMSDU: u16 = 0x0080;
/// Subtypes of data frames with this bit carry no data.
const NO_DATA: u8 = 0x4;

/// The access category of a traffic identifier (IEEE Std 802.11-2020, Table 10-1); `None` above 7.
pub const fn category(identifier: u8) -> Option<&'static str> {
    match identifier {
        1 | 2 => Some("background"),
        0 | 3 => Some("best effort"),
        4 | 5 => Some("video"),
        6 | 7 => Some("voice"),
        _ => None,
    }
}

/// QoS data frames of a capture in monitor mode.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct TrafficReport {
    /// The streams, by transmitter, receiver and traffic identifier.
    pub streams: Vec<StreamReport>,
    /// Frames of streams beyond the limit.
    pub beyond_limit: u64,
}

/// QoS data frames of one station to another with one traffic identifier.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StreamReport {
    /// The transmitter's address.
    pub transmitter: String,
    /// The receiver's address.
    pub receiver: String,
    /// Traffic identifier.
    pub identifier: u8,
    /// Access category; `None` for identifiers above 7.
    pub category: Option<&'static str>,
    /// Frames: MPDUs with data.
    pub frames: u64,
    /// Their length with MAC headers, in bytes.
    pub bytes: u64,
    /// Of these frames, repetitions.
    pub retries: u64,
    /// Frames with an A-MSDU.
    pub amsdus: u64,
    /// A-MPDUs.
    pub ampdus: u64,
    /// Frames in A-MPDUs.
    pub aggregated: u64,
    /// The longest A-MPDU, in frames.
    pub longest: u64,
    /// Frames in an A-MPDU, on average; `None` without one.
    pub frames_per_ampdu: Option<f64>,
    /// A-MPDUs per second, from the first frame of the stream to its last; `None` of fewer than two A-MPDUs.
    pub ampdus_per_s: Option<f64>,
}

/// Transmitter, receiver and traffic identifier.
type Key = (MacAddress, MacAddress, u8);

/// Counts the frames of streams.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    streams: BTreeMap<Key, Stream>,
    beyond_limit: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    frames: u64,
    bytes: u64,
    retries: u64,
    amsdus: u64,
    ampdus: u64,
    aggregated: u64,
    longest: u64,
    /// Interface and number of the last A-MPDU, and its frames so far.
    current: Option<(u32, u32, u64)>,
    span: Option<(Instant, Instant)>,
}

impl Traffic {
    /// Processes a frame of a capture. Frames of other links, damaged ones and frames without data are
    /// ignored.
    pub fn on_record(&mut self, record: &Record<'_>) {
        let Ok((radiotap, frame)) = wireless_frame(record.link_type, record.data) else { return };
        let flags = radiotap.flags.unwrap_or_default();
        if flags & Radiotap::BAD_FCS != 0 {
            return;
        }
        let Ok((Header::Data(header), _)) = Header::parse(frame) else { return };
        let Some(qos) = header.qos.filter(|_| header.subtype & NO_DATA == 0) else { return };
        let key = (header.transmitter, header.receiver, (qos & IDENTIFIER) as u8);
        if self.streams.len() >= MAX_STREAMS && !self.streams.contains_key(&key) {
            self.beyond_limit += 1;
            return;
        }
        let missing = u64::from(record.original_length).saturating_sub(record.data.len() as u64);
        let stream = self.streams.entry(key).or_default();
        stream.count(record.at, &header, frame.len() as u64 + missing);
        if let Some((number, _)) = radiotap.ampdu {
            stream.aggregate(record.interface, number);
        }
    }

    /// Counters.
    pub fn report(&self) -> TrafficReport {
        let streams = self.streams.iter().map(|(key, stream)| stream.report(*key)).collect();
        TrafficReport { streams, beyond_limit: self.beyond_limit }
    }
}

impl Stream {
    fn count(&mut self, now: Instant, header: &PayloadHeader, bytes: u64) {
        self.frames += 1;
        self.bytes += bytes;
        self.retries += u64::from(header.flags.contains(Flags::RETRY));
        self.amsdus += u64::from(header.qos.unwrap_or_default() & AMSDU != 0);
        let (first, last) = self.span.unwrap_or((now, now));
        self.span = Some((first.min(now), last.max(now)));
    }

    fn aggregate(&mut self, interface: u32, number: u32) {
        self.aggregated += 1;
        let frames = match self.current {
            Some((at, current, frames)) if (at, current) == (interface, number) => frames + 1,
            _ => {
                self.ampdus += 1;
                1
            }
        };
        self.current = Some((interface, number, frames));
        self.longest = self.longest.max(frames);
    }

    fn report(&self, (transmitter, receiver, identifier): Key) -> StreamReport {
        let span = self.span.map_or(0.0, |(first, last)| last.saturating_since(first).as_secs_f64());
        StreamReport {
            transmitter: transmitter.to_string(),
            receiver: receiver.to_string(),
            identifier,
            category: category(identifier),
            frames: self.frames,
            bytes: self.bytes,
            retries: self.retries,
            amsdus: self.amsdus,
            ampdus: self.ampdus,
            aggregated: self.aggregated,
            longest: self.longest,
            frames_per_ampdu: (self.ampdus > 0).then(|| self.aggregated as f64 / self.ampdus as f64),
            ampdus_per_s: (self.ampdus > 1 && span > 0.0).then(|| self.ampdus as f64 / span),
        }
    }
}

#[cfg(test)]
mod tests;
