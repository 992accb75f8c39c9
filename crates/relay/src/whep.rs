//! The video itself for browsers: WHEP (draft-ietf-wish-whep) at the address of the live page.
//!
//! A browser offers a session by POST, and gets the packets of the newest connection's video as they arrive, over SRTP from a UDP port
//! of its own at the same address. What the browser cannot decode it asks for: its requests for key frames go to the encoder as
//! Picture Loss Indications (RFC 4585), not more often than [`BETWEEN_REQUESTS`].

mod clock;
mod viewer;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::{Notify, mpsc, oneshot};
use whimbrel_live::accept::Places;
use whimbrel_live::server::{Asked, Changed, StatusCode};
use whimbrel_rtp::{Codec, PictureLoss, RtpPacket};
use whimbrel_units::{Duration, Instant};

use super::Options;
use crate::edge::flow::Flow;
use crate::edge::local_socket::OWN_SSRC;

/// The path of the page.
pub(super) const PATH: &str = "/whep";
/// Browsers at a time. Another one takes the place of one of the host that has most.
const MAX_VIEWERS: usize = 8;
/// Packets that wait for a browser: some 20 ms of a video. What comes then is lost, and asked for again.
const QUEUE: usize = 256;
/// Time without packets after which another video is shown.
const SILENCE: Duration = Duration::from_secs(1);
/// Least time between two requests for key frames.
const BETWEEN_REQUESTS: Duration = Duration::from_millis(500);

/// The browsers that watch, shared by the connections and the HTTP server.
#[derive(Clone, Debug)]
pub(super) struct Screen(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    codec: Codec,
    places: Places,
    /// The number of viewers, so that a packet costs nothing without.
    count: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    shown: Option<Shown>,
    viewers: Vec<Viewer>,
}

/// The video that is shown.
#[derive(Debug)]
struct Shown {
    /// Number of its connection.
    connection: u64,
    flow: Flow,
    /// SSRC.
    source: u32,
    last: Instant,
    /// Wakes the connection, which asks the encoder for a key frame.
    ask: Arc<Notify>,
}

#[derive(Debug)]
struct Viewer {
    name: String,
    packets: mpsc::Sender<Bytes>,
    /// Ends it when dropped.
    _end: oneshot::Sender<()>,
}

/// A connection's part: its packets for browsers, and their requests for key frames.
#[derive(Debug)]
pub(super) struct Viewing {
    screen: Option<Screen>,
    /// Number of the connection.
    connection: u64,
    ask: Arc<Notify>,
    asked: Option<Instant>,
}

impl Viewing {
    pub(super) fn new(screen: Option<Screen>, connection: u64) -> Self {
        Self { screen, connection, ask: Arc::default(), asked: None }
    }
    /// A packet of RTP has arrived.
    pub(super) fn pass(&self, now: Instant, flow: Flow, datagram: &Bytes) {
        if let Some(screen) = &self.screen {
            screen.pass(now, self, flow, datagram);
        }
    }
    /// Waits until a browser needs a key frame. Cancel safe.
    pub(super) async fn request(&self) {
        self.ask.notified().await;
    }
    /// The request for a key frame, and the flow of the video, if its encoder may be asked now.
    pub(super) fn message(&mut self, now: Instant) -> Option<(Flow, Vec<u8>)> {
        if self.asked.is_some_and(|asked| now < asked + BETWEEN_REQUESTS) {
            return None;
        }
        let (flow, media) = self.screen.as_ref()?.shown(self.connection)?;
        self.asked = Some(now);
        let mut message = Vec::new();
        PictureLoss { sender: OWN_SSRC, media }.encode(&mut message);
        Some((flow, message))
    }
}

impl Screen {
    /// Shows videos of the codec of an end, by default H.264, if it has a page.
    pub(super) fn of(options: &Options) -> Option<Self> {
        options.http?;
        let shared = Shared {
            codec: options.video.unwrap_or(Codec::H264),
            places: Places::new(MAX_VIEWERS),
            count: AtomicUsize::new(0),
            state: Mutex::default(),
        };
        Some(Self(Arc::new(shared)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A packet of RTP of a connection has arrived.
    fn pass(&self, now: Instant, viewing: &Viewing, flow: Flow, datagram: &Bytes) {
        if self.0.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let Some(packet) = RtpPacket::parse(datagram).filter(RtpPacket::has_whole_header) else { return };
        let (connection, source) = (viewing.connection, packet.source());
        let mut state = self.lock();
        match &mut state.shown {
            Some(shown) if (shown.connection, shown.flow, shown.source) == (connection, flow, source) => {
                shown.last = now;
            }
            // The newest connection goes first, and a video that has ended gives way.
            Some(shown)
                if connection < shown.connection
                    || (connection == shown.connection && now < shown.last + SILENCE) =>
            {
                return;
            }
            _ => {
                // Audio has no key frames.
                let content = self.0.codec.content(packet.payload().unwrap_or_default());
                if !content.begins_keyframe && !content.has_parameters {
                    return;
                }
                state.shown = Some(Shown { connection, flow, source, last: now, ask: viewing.ask.clone() });
            }
        }
        for viewer in &state.viewers {
            // A browser that does not keep up loses packets, and no other waits for it.
            let _ = viewer.packets.try_send(datagram.clone());
        }
    }

    /// The video that is shown, its flow and its SSRC, if it is of that connection.
    fn shown(&self, connection: u64) -> Option<(Flow, u32)> {
        let state = self.lock();
        let shown = state.shown.as_ref().filter(|shown| shown.connection == connection);
        shown.map(|shown| (shown.flow, shown.source))
    }

    /// A browser needs a key frame.
    fn ask(&self) {
        if let Some(shown) = &self.lock().shown {
            shown.ask.notify_one();
        }
    }

    /// What a browser asks for by HTTP.
    pub(super) fn change(&self, asked: &Asked) -> Changed {
        let Some(name) = &asked.removes else { return self.open(asked) };
        let mut state = self.lock();
        let before = state.viewers.len();
        state.viewers.retain(|viewer| viewer.name != *name);
        if state.viewers.len() < before {
            Changed::Done
        } else {
            Changed::Refused(StatusCode::NOT_FOUND, "there is no such viewer\n".into())
        }
    }

    /// Answers an offer, and sends the video from then on.
    fn open(&self, asked: &Asked) -> Changed {
        let refused = |reason: String| Changed::Refused(StatusCode::BAD_REQUEST, reason);
        let session = match viewer::Session::answer(&asked.body, SocketAddr::new(asked.at, 0), self.0.codec) {
            Ok(session) => session,
            Err(error) => return refused(format!("{error:#}\n")),
        };
        let (packets, taken) = mpsc::channel(QUEUE);
        let (end, ended) = oneshot::channel();
        let (name, answer) = (session.name.clone(), session.answer.clone());
        let mut place = self.0.places.take(asked.from);
        let location = format!("{PATH}/{name}");
        let mut state = self.lock();
        state.viewers.push(Viewer { name: name.clone(), packets, _end: end });
        self.0.count.store(state.viewers.len(), Ordering::Relaxed);
        drop(state);
        let screen = self.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = session.run(&screen, taken) => {}
                _ = ended => {}
                () = place.taken() => {}
            }
            screen.remove(&name);
        });
        Changed::Created(location, "application/sdp", answer)
    }

    fn remove(&self, name: &str) {
        let mut state = self.lock();
        state.viewers.retain(|viewer| viewer.name != name);
        self.0.count.store(state.viewers.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
