//! Requests to the encoders of local programs for key frames: a frame is lost that others refer to.
//!
//! The first is a Picture Loss Indication (RFC 4585), which asks for what the decoder needs. An encoder whose stream has shown key frames
//! and makes none is asked again, by a Full Intra Request (RFC 5104): it may know only that. One that answers neither, as most
//! without a return path, is left alone until the next loss.

use std::collections::BTreeMap;

use whimbrel_rtp::{FullIntraRequest, PictureLoss};
use whimbrel_units::{Duration, Instant};

use super::flow::Flow;

/// Time that an encoder has for a key frame: two frames of a camera at 20 frames a second.
const FRAME_TIME: Duration = Duration::from_millis(100);
/// Requests for one loss.
const REQUESTS: u8 = 3;
/// Flows whose requests are remembered.
const MAX_FLOWS: usize = 64;

/// The videos that a local program sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Video {
    pub(crate) flow: Flow,
    /// SSRCs.
    pub(crate) streams: Vec<u32>,
    /// When its last key frame began; `None` if it has shown none.
    pub(crate) last_start: Option<Instant>,
}

/// What a flow's program was asked for.
#[derive(Clone, Copy, Debug)]
struct Asked {
    first: Instant,
    last: Instant,
    requests: u8,
    /// Number of the Full Intra Request (RFC 5104, Section 4.3.1.2).
    number: u8,
}

/// The requests of a connection.
#[derive(Debug, Default)]
pub(crate) struct KeyFrames {
    /// SSRC of this end in messages.
    sender: u32,
    asked: BTreeMap<Flow, Asked>,
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

    /// A frame is lost that others refer to. Returns the messages to the programs that send `videos`, but not to those that were asked
    /// less than a round trip and a frame ago: what is lost until then was sent before the key frame.
    pub(crate) fn ask(&mut self, now: Instant, rtt: Duration, videos: &[Video]) -> Vec<(Flow, Vec<u8>)> {
        let mut messages = Vec::new();
        for Video { flow, streams, .. } in videos {
            let before = self.asked.get(flow).copied();
            if before.is_some_and(|asked| now < asked.last + rtt + FRAME_TIME) {
                continue;
            }
            if self.asked.len() == MAX_FLOWS && before.is_none() {
                self.asked.pop_first();
            }
            let number = before.map_or(0, |asked| asked.number.wrapping_add(1));
            self.asked.insert(*flow, Asked { first: now, last: now, requests: 1, number });
            let mut bytes = Vec::new();
            for &media in streams {
                PictureLoss { sender: self.sender, media }.encode(&mut bytes);
            }
            messages.push((*flow, bytes));
        }
        self.sent += messages.len() as u64;
        messages
    }

    /// Asks programs again whose streams have key frames, and none since the first request.
    pub(crate) fn repeat(&mut self, now: Instant, rtt: Duration, videos: &[Video]) -> Vec<(Flow, Vec<u8>)> {
        let mut messages = Vec::new();
        for Video { flow, streams, last_start } in videos {
            let Some(asked) = self.asked.get_mut(flow).filter(|asked| asked.requests < REQUESTS) else {
                continue;
            };
            if last_start.is_none_or(|start| start >= asked.first) {
                asked.requests = REQUESTS;
                continue;
            }
            if now < asked.last + rtt + FRAME_TIME {
                continue;
            }
            (asked.last, asked.requests) = (now, asked.requests + 1);
            let streams = streams.iter().map(|stream| (*stream, asked.number)).collect();
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
        Video { flow: Flow { port: 0, number }, streams: vec![9], last_start }
    }

    #[test]
    fn one_loss_asks_once_and_an_answer_ends_it() {
        let mut key_frames = KeyFrames::new(7);
        let at = Instant::from_millis;
        let asked = key_frames.ask(at(1000), RTT, &[video(0, Some(500))]);
        let [(flow, bytes)] = &asked[..] else { panic!("{asked:?}") };
        assert_eq!((flow.number, PictureLoss::decode(bytes)), (0, Ok(PictureLoss { sender: 7, media: 9 })));
        // What was sent before the key frame is lost as well.
        assert_eq!(key_frames.ask(at(1149), RTT, &[video(0, Some(500))]), []);
        assert_eq!(key_frames.repeat(at(1300), RTT, &[video(0, Some(1033))]), []);
        assert!(!key_frames.is_waiting());
        assert_eq!(key_frames.repeat(at(2000), RTT, &[video(0, Some(1033))]), []);
        assert_eq!(key_frames.ask(at(2000), RTT, &[video(0, Some(1033))]).len(), 1);
        assert_eq!(key_frames.sent(), 2);
    }

    #[test]
    fn an_encoder_without_an_answer_is_asked_by_the_other_message_a_few_times() {
        let mut key_frames = KeyFrames::new(7);
        let at = Instant::from_millis;
        let videos = [video(0, Some(500)), video(1, None)];
        assert_eq!(key_frames.ask(at(1000), RTT, &videos).len(), 2);
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
        assert_eq!(key_frames.ask(at(5000), RTT, &videos[..1]).len(), 1);
        let again = key_frames.repeat(at(5150), RTT, &videos[..1]);
        let again = FullIntraRequest::decode(&again[0].1).expect("a request");
        assert_eq!((again.streams, key_frames.sent()), (vec![(9, 1)], 6));
    }
}
