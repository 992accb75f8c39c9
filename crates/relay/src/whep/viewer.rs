//! A browser that watches: its session of WebRTC, and the socket from which it is sent.
#![allow(clippy::disallowed_types, reason = "see clock.rs")]

use std::net::SocketAddr;

use anyhow::Context;
use bytes::Bytes;
use str0m::change::SdpOffer;
use str0m::format::Codec as Format;
use str0m::media::{Mid, Pt};
use str0m::net::{Protocol, Receive};
use str0m::rtp::RtpWrite;
use str0m::{Candidate, Event, IceConnectionState, Input, Output, Rtc, RtcConfig};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use whimbrel_rtp::{Codec, RtpPacket};

use super::Screen;
use super::clock::{Duration, Instant, now, sleep_until};

/// Time for ICE and DTLS.
const SETUP_TIME: Duration = Duration::from_secs(10);
/// Time without a datagram after which the browser is gone: it confirms its consent every 5 s (RFC 7675,
/// Section 5.1).
const SILENCE: Duration = Duration::from_secs(20);
/// The longest datagram.
const LONGEST: usize = 2048;
/// The longest payload that is sent on: the library has 2,000 bytes for a packet, and panics beyond.
const LONGEST_PAYLOAD: usize = 1_900;
/// Numbers before the newest one that may still be sent, each once.
const LATE: u64 = 128;
/// A greater step of a source's numbers is a new beginning, also with the same SSRC.
const GREATEST_STEP: i16 = 3_000;
/// Time between the last picture of a source and the first of the next one, on RTP's clock of 90 kHz.
const BETWEEN_SOURCES: u32 = 3_000;

/// A session that was answered.
pub(super) struct Session {
    /// Names it, and cannot be guessed: the user fragment of ICE.
    pub(super) name: String,
    /// The answer.
    pub(super) answer: String,
    rtc: Rtc,
    socket: UdpSocket,
    at: SocketAddr,
    format: Format,
    media: Option<Mid>,
    kind: Option<Pt>,
    is_connected: bool,
    numbers: Numbers,
}

/// The numbers and times of a session's packets, which go on when its source changes. No number is given
/// twice: SRTP derives the key stream from it.
#[derive(Debug, Default)]
struct Numbers {
    /// SSRC, and the newest number of its own.
    source: Option<(u32, u16)>,
    /// The newest number given, and a bit for each from it back that was given.
    newest: u64,
    given: u128,
    time: u32,
    /// Lead of the session's times over the source's.
    ahead: u32,
}

impl Numbers {
    /// The number and the time of a packet in the session; `None` if it must not be sent.
    fn place(&mut self, source: u32, number: u16, time: u32) -> Option<(u64, u32)> {
        let step = match self.source {
            Some((known, own)) if known == source => Some(number.wrapping_sub(own).cast_signed()),
            _ => None,
        };
        let step = step.filter(|step| (-(LATE as i16)..=GREATEST_STEP).contains(step));
        let step = step.unwrap_or_else(|| {
            self.ahead = self.time.wrapping_add(BETWEEN_SOURCES).wrapping_sub(time);
            1
        });
        if step > 0 {
            self.source = Some((source, number));
            self.newest += u64::from(step.unsigned_abs());
            self.given = self.given.checked_shl(step.unsigned_abs().into()).unwrap_or(0) | 1;
            self.time = time.wrapping_add(self.ahead);
            return Some((self.newest, self.time));
        }
        let back = u64::from(step.unsigned_abs());
        let bit = 1_u128.checked_shl(back as u32)?;
        // Before the first one are the numbers of another source, or none.
        let is_free = self.given & bit == 0 && back < self.newest && self.given >> back != 0;
        self.given |= if is_free { bit } else { 0 };
        is_free.then_some((self.newest - back, time.wrapping_add(self.ahead)))
    }
}

/// The first video of an answer.
fn media_of(answer: &str) -> Option<Mid> {
    let (_, video) = answer.split_once("m=video")?;
    let name = video.lines().find_map(|line| line.strip_prefix("a=mid:"))?;
    Some(name.trim().into())
}

impl Session {
    /// Answers an offer at an address of this host.
    pub(super) fn answer(offer: &str, at: SocketAddr, codec: Codec) -> anyhow::Result<Self> {
        let offer = SdpOffer::from_sdp_string(offer).context("the offer is no SDP")?;
        let socket = std::net::UdpSocket::bind(at).with_context(|| format!("UDP {at}"))?;
        socket.set_nonblocking(true)?;
        let socket = UdpSocket::from_std(socket)?;
        let at = socket.local_addr()?;
        let config = RtcConfig::new().set_rtp_mode(true).set_ice_lite(true).clear_codecs();
        let (config, format) = match codec {
            Codec::H264 => (config.enable_h264(true), Format::H264),
            Codec::H265 => (config.enable_h265(true), Format::H265),
            Codec::Vp8 => (config.enable_vp8(true), Format::Vp8),
            Codec::Av1 => (config.enable_av1(true), Format::Av1),
        };
        let mut rtc = config.build(now());
        rtc.add_local_candidate(Candidate::host(at, "udp")?);
        let answer = rtc.sdp_api().accept_offer(offer).context("the offer cannot be accepted")?;
        let answer = answer.to_sdp_string();
        let mut session = Self {
            name: rtc.direct_api().local_ice_credentials().ufrag,
            media: media_of(&answer),
            answer,
            rtc,
            socket,
            at,
            format,
            kind: None,
            is_connected: false,
            numbers: Numbers::default(),
        };
        // Nothing is sent before the browser does.
        while !matches!(session.rtc.poll_output()?, Output::Timeout(_)) {}
        let codec = codec.name();
        let kind = session.payload_type();
        session.kind =
            Some(kind.with_context(|| format!("expected an offer to receive a video of {codec}"))?);
        Ok(session)
    }

    /// The payload type that the browser has for the codec: for H.264, with fragments (packetization mode 1).
    fn payload_type(&self) -> Option<Pt> {
        let agreed = self.rtc.media(self.media?)?.remote_pts();
        let fits = |mode: Option<u8>| self.format != Format::H264 || mode == Some(1);
        let mut known = self.rtc.codec_config().params().iter().filter(|each| agreed.contains(&each.pt()));
        known
            .find(|each| each.spec().codec == self.format && fits(each.spec().format.packetization_mode))
            .map(|each| each.pt())
    }

    /// Sends packets until the browser is gone.
    pub(super) async fn run(mut self, screen: &Screen, mut packets: mpsc::Receiver<Bytes>) {
        let mut buffer = vec![0; LONGEST];
        let (start, mut heard) = (now(), now());
        loop {
            let Some(due) = self.poll(screen) else { return };
            let limit = if self.is_connected { heard + SILENCE } else { start + SETUP_TIME };
            if now() >= limit {
                return;
            }
            tokio::select! {
                () = sleep_until(due.min(limit)) => {
                    if self.rtc.handle_input(Input::Timeout(now())).is_err() {
                        return;
                    }
                }
                received = self.socket.recv_from(&mut buffer) => {
                    // An error belongs to an earlier datagram, to a port that is closed.
                    let Ok((size, source)) = received else { continue };
                    let Ok(contents) = buffer[..size].try_into() else { continue };
                    let receive = Receive { proto: Protocol::Udp, source, destination: self.at, contents };
                    let input = Input::Receive(now(), receive);
                    if !self.rtc.accepts(&input) {
                        continue;
                    }
                    heard = now();
                    if self.rtc.handle_input(input).is_err() {
                        return;
                    }
                }
                packet = packets.recv() => {
                    let Some(packet) = packet else { return };
                    self.write(&packet);
                }
            }
        }
    }

    /// Sends what is due. Returns the next time at which something is; `None` once the browser is gone.
    fn poll(&mut self, screen: &Screen) -> Option<Instant> {
        loop {
            match self.rtc.poll_output().ok()? {
                Output::Timeout(due) => return Some(due),
                // Datagrams the socket refuses are lost.
                Output::Transmit(it) => drop(self.socket.try_send_to(&it.contents, it.destination)),
                Output::Event(Event::Connected) => {
                    self.is_connected = true;
                    screen.ask();
                }
                Output::Event(Event::KeyframeRequest(_)) => screen.ask(),
                Output::Event(Event::IceConnectionStateChange(IceConnectionState::Disconnected)) => {
                    return None;
                }
                Output::Event(_) => {}
            }
        }
    }

    /// Sends a packet of the video, with the payload type and the SSRC of the session.
    fn write(&mut self, datagram: &[u8]) {
        if !self.is_connected {
            return;
        }
        let Some(packet) = RtpPacket::parse(datagram) else { return };
        let Some(payload) = packet.payload().filter(|payload| payload.len() <= LONGEST_PAYLOAD) else {
            return;
        };
        let (Some(kind), Some(media)) = (self.kind, self.media) else { return };
        let placed = self.numbers.place(packet.source(), packet.sequence(), packet.timestamp());
        let Some((number, time)) = placed else { return };
        let mut direct = self.rtc.direct_api();
        let Some(stream) = direct.stream_tx_by_mid(media, None) else { return };
        let write = RtpWrite::new(kind, number.into(), time, now(), payload);
        stream.write_rtp(write.marker(packet.marker()).nackable(true));
    }
}

#[cfg(test)]
pub(super) mod tests;
