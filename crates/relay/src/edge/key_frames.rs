//! Requests to the encoders of local programs for key frames: a frame is lost that others refer to.
//!
//! The first is a Picture Loss Indication (RFC 4585), which asks for what the decoder needs. An encoder whose
//! stream has shown key frames and makes none is asked again, by a Full Intra Request (RFC 5104): it may know
//! only that. One that answers neither, as most without a return path, is left alone until the next loss.

use std::collections::BTreeMap;

use whimbrel_rtp::{FullIntraRequest, PictureLoss};
use whimbrel_units::{Duration, Instant};

use super::flow::Flow;
use super::flow_kind;

/// Time that an encoder has for a key frame: two frames of a camera at 20 frames a second.
const FRAME_TIME: Duration = Duration::from_millis(100);
/// Requests for one loss.
const REQUESTS: u8 = 3;
/// Videos whose requests are remembered.
const MAX_VIDEOS: usize = 64;

/// A video that a local program sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Video {
    pub(crate) flow: Flow,
    /// SSRC.
    pub(crate) source: u32,
    /// When its last key frame began; `None` if it has shown none.
    pub(crate) last_start: Option<Instant>,
}

/// Request to a video's encoder.
#[derive(Clone, Copy, Debug)]
struct Asked {
    first: Instant,
    last: Instant,
    requests: u8,
    /// Number of the Full Intra Request (RFC 5104, Section 4.3.1.2).
    number: u8,
}

impl Asked {
    /// The encoder may be asked again, and has made no key frame since the first request.
    fn is_open(&self, last_start: Option<Instant>) -> bool {
        self.requests < REQUESTS && last_start.is_some_and(|start| start < self.first)
    }
}

/// The requests of a connection.
#[derive(Debug, Default)]
pub(crate) struct KeyFrames {
    /// SSRC of this end in messages.
    sender: u32,
    asked: BTreeMap<(Flow, u32), Asked>,
    sent: u64,
}

impl KeyFrames {
    pub(crate) fn new(sender: u32) -> Self {
        Self { sender, ..Self::default() }
    }

    /// Requests so far.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// `true` while an encoder may be asked again.
    pub(crate) fn is_waiting(&self) -> bool {
        self.asked.values().any(|asked| asked.requests < REQUESTS)
    }

    /// A frame of that stream is lost that others refer to. Returns the message to the program that sends it,
    /// among `videos`; none if the encoder was asked and has not answered: [`Self::repeat`] asks again. How
    /// often a stream needs a start is known where losses are ([`whimbrel_net::Groups`]).
    pub(crate) fn ask(&mut self, now: Instant, stream: u64, videos: &[Video]) -> Option<(Flow, Vec<u8>)> {
        let mut videos = videos.iter();
        let video = videos.find(|video| flow_kind::stream(video.flow.id(), video.source) == stream)?;
        let key = (video.flow, video.source);
        let before = self.asked.get(&key).copied();
        if before.is_some_and(|asked| asked.is_open(video.last_start)) {
            return None;
        }
        if self.asked.len() == MAX_VIDEOS && before.is_none() {
            self.asked.pop_first();
        }
        let number = before.map_or(0, |asked| asked.number.wrapping_add(1));
        self.asked.insert(key, Asked { first: now, last: now, requests: 1, number });
        let mut bytes = Vec::new();
        PictureLoss { sender: self.sender, media: video.source }.encode(&mut bytes);
        self.sent += 1;
        Some((video.flow, bytes))
    }

    /// Asks again for the videos that have key frames, and none since the first request.
    pub(crate) fn repeat(&mut self, now: Instant, rtt: Duration, videos: &[Video]) -> Vec<(Flow, Vec<u8>)> {
        let mut messages = Vec::new();
        for Video { flow, source, last_start } in videos {
            let Some(asked) = self.asked.get_mut(&(*flow, *source)) else { continue };
            if !asked.is_open(*last_start) {
                asked.requests = REQUESTS;
                continue;
            }
            if now < asked.last + rtt + FRAME_TIME {
                continue;
            }
            (asked.last, asked.requests) = (now, asked.requests + 1);
            let streams = vec![(*source, asked.number)];
            let mut bytes = Vec::new();
            if (FullIntraRequest { sender: self.sender, streams }).encode(&mut bytes).is_ok() {
                messages.push((*flow, bytes));
            }
        }
        self.sent += messages.len() as u64;
        messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(50);

    fn video(number: u8, last_start: Option<u64>) -> Video {
        let last_start = last_start.map(Instant::from_millis);
        Video { flow: Flow { port: 0, number }, source: 9, last_start }
    }

    fn stream(number: u8) -> u64 {
        flow_kind::stream(number.into(), 9)
    }

    #[test]
    fn one_loss_asks_the_encoder_of_its_stream_and_an_answer_ends_it() {
        let mut key_frames = KeyFrames::new(7);
        let at = Instant::from_millis;
        let videos = [video(1, Some(500)), video(0, Some(500))];
        assert_eq!(key_frames.ask(at(1000), stream(2), &videos), None);
        let (flow, bytes) = key_frames.ask(at(1000), stream(0), &videos).expect("a message");
        assert_eq!((flow.number, PictureLoss::decode(&bytes)), (0, Ok(PictureLoss { sender: 7, media: 9 })));
        // Without an answer, the encoder is asked with the other message, no matter which frame is lost.
        assert_eq!(key_frames.ask(at(1020), stream(0), &videos), None);
        // The key frame is lost.
        let videos = [video(0, Some(1033))];
        assert!(key_frames.ask(at(1040), stream(0), &videos).is_some());
        assert_eq!(key_frames.repeat(at(1300), RTT, &[video(0, Some(1050))]), []);
        assert!(!key_frames.is_waiting());
        assert_eq!(key_frames.repeat(at(2000), RTT, &[video(0, Some(1050))]), []);
        assert_eq!(key_frames.sent(), 2);
    }

    #[test]
    fn an_encoder_without_an_answer_is_asked_by_the_other_message_a_few_times() {
        let mut key_frames = KeyFrames::new(7);
        let at = Instant::from_millis;
        let videos = [video(0, Some(500)), video(1, None)];
        assert!([0, 1].iter().all(|each| key_frames.ask(at(1000), stream(*each), &videos).is_some()));
        assert_eq!(key_frames.repeat(at(1149), RTT, &videos), []);
        let mut repeated = Vec::new();
        for time in (1150..5000).step_by(10) {
            repeated.extend(key_frames.repeat(at(time), RTT, &videos).into_iter().map(|(flow, bytes)| {
                let request = FullIntraRequest::decode(&bytes).expect("a request");
                (time, flow.number, request.sender, request.streams)
            }));
        }
        // The stream that has shown no key frame is not asked again: whether it has answered cannot be known.
        assert_eq!(repeated, [(1150, 0, 7, vec![(9, 0)]), (1300, 0, 7, vec![(9, 0)])]);
        assert!(!key_frames.is_waiting());
        // The next loss is another request.
        assert!(key_frames.ask(at(5000), stream(0), &videos[..1]).is_some());
        let again = key_frames.repeat(at(5150), RTT, &videos[..1]);
        let again = FullIntraRequest::decode(&again[0].1).expect("a request");
        assert_eq!((again.streams, key_frames.sent()), (vec![(9, 1)], 6));
    }
}
