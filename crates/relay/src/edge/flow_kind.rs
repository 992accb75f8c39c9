//! Kinds of the flows' datagrams: parts of RTP's frames, RTCP, or others.
//!
//! Only a flow with evidence of RTP ([`Recognizer`]) has frames. RTCP is known by its structure, in flows
//! with such evidence in either direction (RFC 5761), and at the port that follows one of theirs (RFC 3550,
//! Section 11).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use whimbrel_net::{FrameRole, Mark, StreamFrame};
use whimbrel_rtp::{Codec, Content, ControlPacket, FrameId, Media, Recognizer, RtpPacket};
use whimbrel_units::Instant;

use super::flow::{Flow, MAX_PORTS};
use super::frames::{FrameCounts, Frames};
use super::key_frames::Video;
use super::stream::Stream;
use crate::embedded::Payload;

/// The most flows that are followed; the one that was silent for longest makes room.
const MAX_FOLLOWED: usize = 256;
/// Datagrams with the first header of encrypted RTCP and the same sender after which they are taken for it.
const SAME_SENDER: u8 = 3;
/// Streams of a flow whose key frames are remembered.
const MAX_VIDEOS: usize = 8;

/// A frame of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Frame {
    /// The flow's number.
    pub(crate) flow: u16,
    pub(crate) id: FrameId,
}

impl Frame {
    /// Its stream: the flow's number and the SSRC.
    pub(crate) fn stream(self) -> u64 {
        stream(self.flow, self.id.source)
    }

    pub(crate) fn of_stream(self) -> StreamFrame {
        StreamFrame { stream: self.stream(), number: self.id.number }
    }

    /// `true` if both are of the same stream.
    pub(crate) fn is_of_stream(self, other: Self) -> bool {
        self.stream() == other.stream()
    }
}

/// The stream of a flow with that SSRC.
pub(super) fn stream(flow: u16, source: u32) -> u64 {
    u64::from(flow) << 32 | u64::from(source)
}

/// The kind of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Not known to be RTP.
    Other,
    /// RTCP, or parameter sets, without which nothing later can be decoded.
    Essential,
    /// A part of a frame. `disposable`: no other frame refers to it.
    Part { frame: Frame, disposable: bool },
}

/// Announced kinds of the datagrams that local programs send at each port.
#[derive(Clone, Debug)]
pub(crate) enum Sends {
    /// The datagrams of all ports are alike: RTP if a codec is given.
    All(Option<Codec>),
    /// A program of this process says so: for each port 0 for nothing, 1 for RTP, and then the codecs in
    /// their order.
    Each(Arc<[AtomicU8; MAX_PORTS]>),
}

impl Default for Sends {
    fn default() -> Self {
        Self::All(None)
    }
}

impl Sends {
    /// Of a program of this process, which has said nothing yet.
    pub(crate) fn each() -> Self {
        Self::Each(Arc::new([const { AtomicU8::new(0) }; MAX_PORTS]))
    }

    /// A program of this process says what it sends at a port.
    pub(crate) fn set(&self, port: u8, payload: Payload) {
        let Self::Each(ports) = self else { return };
        let number = match payload {
            Payload::Unknown => 0,
            Payload::Rtp => 1,
            Payload::Video(codec) => {
                (2u8..).zip(Codec::ALL).find(|(_, it)| *it == codec).map_or(1, |(n, _)| n)
            }
        };
        if let Some(port) = ports.get(usize::from(port)) {
            port.store(number, Ordering::Relaxed);
        }
    }

    /// Kind of a port's datagrams.
    pub(crate) fn of(&self, port: u8) -> Payload {
        match self {
            Self::All(video) => video.map_or(Payload::Unknown, Payload::Video),
            Self::Each(ports) => {
                let number = ports.get(usize::from(port)).map_or(0, |port| port.load(Ordering::Relaxed));
                match number {
                    0 => Payload::Unknown,
                    number => {
                        let codec = usize::from(number).checked_sub(2).and_then(|n| Codec::ALL.get(n));
                        codec.map_or(Payload::Rtp, |codec| Payload::Video(*codec))
                    }
                }
            }
        }
    }
}

/// Announced kinds of the flows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Announcement {
    /// The datagrams that local programs send.
    pub(crate) sends: Sends,
    /// The peer's programs send RTP.
    pub(crate) receives_rtp: bool,
    /// The UDP ports, by the number of the port on the connection.
    pub(crate) udp_ports: Vec<u16>,
    /// The user's streams, by the number of the port that local programs send to.
    pub(crate) streams: Vec<Stream>,
}

/// The kinds of the datagrams of a connection.
#[derive(Debug)]
pub(crate) struct FlowKinds {
    announced: Announcement,
    flows: BTreeMap<Flow, State>,
}

/// A flow in both directions.
#[derive(Debug)]
struct State {
    sent: Recognizer,
    received: Recognizer,
    /// The sender of what may be encrypted RTCP, and how often it was the same.
    control: (u32, u8),
    used: Instant,
    /// The streams that have shown key frames, and when the last one began that was sent. The one without a
    /// new one for longest makes room.
    starts: Vec<(u32, Instant)>,
    frames: Frames,
}

impl State {
    fn is_rtp(&self) -> bool {
        self.sent.is_rtp() || self.received.is_rtp()
    }

    /// `true` if a datagram with the structure of RTCP is RTCP, in a flow where there may be some.
    fn is_control(&mut self, packet: ControlPacket) -> bool {
        if packet.is_whole || self.sent.has_source(packet.sender) {
            return true;
        }
        let seen = if self.control.0 == packet.sender { self.control.1 } else { 0 };
        self.control = (packet.sender, seen.saturating_add(1));
        self.control.1 >= SAME_SENDER
    }
}

impl FlowKinds {
    pub(crate) fn new(announced: Announcement) -> Self {
        Self { announced, flows: BTreeMap::new() }
    }

    /// The kind of a datagram of a local program.
    pub(crate) fn of_sent(&mut self, now: Instant, flow: Flow, datagram: &[u8]) -> (Kind, Mark) {
        let single = Mark { captured: Some(now), ..Mark::SINGLE };
        let codec = match self.announced.sends.of(flow.port) {
            Payload::Video(codec) => Some(codec),
            Payload::Rtp | Payload::Unknown => None,
        };
        let Some(state) = self.state(now, flow, datagram) else { return (Kind::Other, single) };
        let kind = match state.sent.classify(now, datagram, codec) {
            whimbrel_rtp::Kind::Other => Kind::Other,
            whimbrel_rtp::Kind::Media(media) => {
                let mark = mark(now, flow, &media);
                state.frames.on_sent(media.frame);
                if mark.role == FrameRole::Start {
                    state.starts.retain(|(source, _)| *source != media.frame.source);
                    if state.starts.len() == MAX_VIDEOS {
                        state.starts.remove(0);
                    }
                    state.starts.push((media.frame.source, now));
                }
                return (part(flow, &media), mark);
            }
            whimbrel_rtp::Kind::Control(packet) if self.may_have_control(flow) => {
                let is_control = self.flows.get_mut(&flow).is_some_and(|state| state.is_control(packet));
                if is_control { Kind::Essential } else { Kind::Other }
            }
            whimbrel_rtp::Kind::Control(_) => Kind::Other,
        };
        (kind, single)
    }

    /// A datagram of the peer's program; `is_repaired`: the path had lost it. Returns `true` if it is RTP.
    pub(crate) fn on_received(
        &mut self,
        now: Instant,
        flow: Flow,
        datagram: &[u8],
        is_repaired: bool,
    ) -> bool {
        let Some(state) = self.state(now, flow, datagram) else { return false };
        let whimbrel_rtp::Kind::Media(media) = state.received.classify(now, datagram, None) else {
            return false;
        };
        if let Some(packet) = RtpPacket::parse(datagram) {
            state.frames.on_received(&media, &packet, is_repaired);
        }
        true
    }

    /// The frames of the flows that have some.
    pub(crate) fn frames(&self) -> impl Iterator<Item = (Flow, FrameCounts)> {
        let counts = self.flows.iter().map(|(flow, state)| (*flow, state.frames.counts()));
        counts.filter(|(_, counts)| *counts != FrameCounts::default())
    }

    /// The flows whose local programs have sent RTP since then, with the SSRCs.
    pub(crate) fn active_streams(&self, since: Instant) -> Vec<(Flow, Vec<u32>)> {
        let streams = self.flows.iter().filter(|(_, state)| state.used >= since);
        let streams = streams.map(|(flow, state)| (*flow, state.sent.active_sources(since).collect()));
        streams.filter(|(_, sources): &(Flow, Vec<u32>)| !sources.is_empty()).collect()
    }

    /// The videos that local programs have sent since then: the streams that have shown key frames, or all of
    /// RTP if none has.
    pub(crate) fn videos(&self, since: Instant) -> Vec<Video> {
        let mut videos = Vec::new();
        for (flow, sources) in self.active_streams(since) {
            let starts = self.flows.get(&flow).map_or(&[][..], |state| &state.starts);
            let start = |source| starts.iter().find(|(other, _)| *other == source).map(|(_, at)| *at);
            videos.extend(sources.into_iter().map(|source| Video {
                flow,
                source,
                last_start: start(source),
            }));
        }
        if videos.iter().any(|video| video.last_start.is_some()) {
            videos.retain(|video| video.last_start.is_some());
        }
        videos
    }

    /// Another program has taken the place of a flow's.
    pub(crate) fn forget(&mut self, flow: Flow) {
        self.flows.remove(&flow);
    }

    /// The state of a flow; none is made for a datagram that cannot be RTP.
    fn state(&mut self, now: Instant, flow: Flow, datagram: &[u8]) -> Option<&mut State> {
        let is_known = self.flows.contains_key(&flow);
        if !is_known && datagram.first().is_none_or(|first| first >> 6 != 2) {
            return None;
        }
        if !is_known && self.flows.len() == MAX_FOLLOWED {
            let oldest = self.flows.iter().min_by_key(|(_, state)| state.used).map(|(flow, _)| *flow);
            oldest.map(|oldest| self.flows.remove(&oldest));
        }
        let announced = &self.announced;
        let state = self.flows.entry(flow).or_insert_with(|| State {
            sent: Recognizer::new(announced.sends.of(flow.port) != Payload::Unknown),
            received: Recognizer::new(announced.receives_rtp),
            control: (0, 0),
            used: now,
            starts: Vec::new(),
            frames: Frames::default(),
        });
        state.used = now;
        Some(state)
    }

    /// `true` if a flow is one of RTP, or its port follows one with such a flow.
    fn may_have_control(&self, flow: Flow) -> bool {
        if self.flows.get(&flow).is_some_and(State::is_rtp) {
            return true;
        }
        let udp_port = |port: u8| self.announced.udp_ports.get(usize::from(port)).copied();
        let Some(own) = udp_port(flow.port).filter(|own| own % 2 == 1) else { return false };
        let mut others = self.flows.iter();
        others.any(|(other, state)| udp_port(other.port) == Some(own - 1) && state.is_rtp())
    }
}

/// The kind of a packet of a frame.
fn part(flow: Flow, media: &Media) -> Kind {
    if media.content.has_parameters {
        return Kind::Essential;
    }
    let frame = Frame { flow: flow.id(), id: media.frame };
    Kind::Part { frame, disposable: media.content.is_disposable }
}

/// The place of a packet in its frame. Where no packet shows the end of a frame, each is protected alone.
fn mark(now: Instant, flow: Flow, media: &Media) -> Mark {
    let Content { has_parameters, begins_keyframe, is_disposable } = media.content;
    let role = match media.ends_frame {
        None => FrameRole::Disposable,
        Some(_) if has_parameters || begins_keyframe => FrameRole::Start,
        Some(_) if is_disposable => FrameRole::Disposable,
        Some(_) => FrameRole::Inner,
    };
    let (stream, ends_frame) = (stream(flow.id(), media.frame.source), media.ends_frame.unwrap_or(true));
    Mark { stream, ends_frame, role, count: None, captured: Some(now) }
}

#[cfg(test)]
mod tests;
