//! The video itself for browsers: WHEP (draft-ietf-wish-whep) at the address of the live page.
//!
//! A browser offers a session by POST, and gets the packets of the newest connection's video as they arrive,
//! over SRTP from a UDP port of its own at the same address. For frames that the browser cannot decode, its
//! requests for key frames go to the encoder as Picture Loss Indications (RFC 4585), not more often than
//! [`BETWEEN_REQUESTS`].

mod clock;
mod viewer;

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
/// Sessions at a time: those that have lost their places end soon, and until then no further one is made.
const MAX_SESSIONS: usize = 2 * MAX_VIEWERS;
/// Packets that wait for a browser: some 20 ms of a video. Later ones are lost, and requested again.
const QUEUE: usize = 256;
/// Streams of which key frames are requested before one is shown: audio is not known as such.
const MAX_CANDIDATES: usize = 4;
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
    /// The number of sessions, from before one is made until its end.
    sessions: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The video that is shown, and the time of its last packet.
    shown: Option<(Source, Instant)>,
    /// Streams that may be shown once they have a key frame, at most [`MAX_CANDIDATES`].
    candidates: Vec<Source>,
    viewers: Vec<Viewer>,
}

/// A stream of RTP.
#[derive(Clone, Debug)]
struct Source {
    /// Number of its connection.
    connection: u64,
    flow: Flow,
    /// SSRC.
    source: u32,
    /// Wakes the connection, which asks the encoder for a key frame.
    ask: Arc<Notify>,
}

impl Source {
    fn is(&self, other: &Self) -> bool {
        (self.connection, self.flow, self.source) == (other.connection, other.flow, other.source)
    }
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
    /// A browser needs a key frame, and the encoder was not asked for it.
    is_pending: bool,
}

impl Drop for Viewing {
    /// Makes room on the page for other videos.
    fn drop(&mut self) {
        if let Some(screen) = &self.screen {
            let mut state = screen.lock();
            state.shown.take_if(|(shown, _)| shown.connection == self.connection);
            state.candidates.retain(|each| each.connection != self.connection);
        }
    }
}

impl Viewing {
    pub(super) fn new(screen: Option<Screen>, connection: u64) -> Self {
        Self { screen, connection, ask: Arc::default(), asked: None, is_pending: false }
    }

    /// A packet of RTP has arrived.
    pub(super) fn pass(&self, now: Instant, flow: Flow, datagram: &Bytes) {
        if let Some(screen) = &self.screen {
            screen.pass(now, self, flow, datagram);
        }
    }

    /// Waits until a browser needs a key frame. Cancel safe.
    pub(super) async fn request(&mut self) {
        self.ask.notified().await;
        self.is_pending = true;
    }

    /// The requests for key frames that are due, with the flows of the videos. Those too early
    /// stay due.
    pub(super) fn messages(&mut self, now: Instant) -> Vec<(Flow, Vec<u8>)> {
        let Some(screen) = self.screen.as_ref() else { return Vec::new() };
        if !self.is_pending || self.asked.is_some_and(|asked| now < asked + BETWEEN_REQUESTS) {
            return Vec::new();
        }
        self.is_pending = false;
        let wanted = screen.wanted(self.connection);
        if !wanted.is_empty() {
            self.asked = Some(now);
        }
        let request = |(flow, media)| {
            let mut message = Vec::new();
            PictureLoss { sender: OWN_SSRC, media }.encode(&mut message);
            (flow, message)
        };
        wanted.into_iter().map(request).collect()
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
            sessions: AtomicUsize::new(0),
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
        let source = Source { connection, flow, source, ask: viewing.ask.clone() };
        let mut state = self.lock();
        match &mut state.shown {
            Some((shown, last)) if shown.is(&source) => *last = now,
            // The newest connection goes first, and a video that has ended gives way.
            Some((shown, last))
                if connection < shown.connection
                    || (connection == shown.connection && now < *last + SILENCE) =>
            {
                return;
            }
            _ => {
                let content = self.0.codec.content(packet.payload().unwrap_or_default());
                if !content.begins_keyframe && !content.has_parameters {
                    let is_known = state.candidates.iter().any(|known| known.is(&source));
                    if !is_known {
                        // The oldest has had no key frame for longest.
                        if state.candidates.len() >= MAX_CANDIDATES {
                            state.candidates.remove(0);
                        }
                        source.ask.notify_one();
                        state.candidates.push(source);
                    }
                    return;
                }
                state.candidates.clear();
                state.shown = Some((source, now));
            }
        }
        for viewer in &state.viewers {
            // A browser that does not keep up loses packets, and no other waits for it.
            let _ = viewer.packets.try_send(datagram.clone());
        }
    }

    /// The streams of a connection of which browsers need key frames, by flow and SSRC: until one is shown,
    /// all that it may be.
    fn wanted(&self, connection: u64) -> Vec<(Flow, u32)> {
        let state = self.lock();
        let shown = state.shown.iter().map(|(shown, _)| shown);
        let all = state.candidates.iter().chain(shown).filter(|each| each.connection == connection);
        all.map(|each| (each.flow, each.source)).collect()
    }

    /// A browser needs a key frame.
    fn ask(&self) {
        let state = self.lock();
        let shown = state.shown.iter().map(|(shown, _)| shown);
        state.candidates.iter().chain(shown).for_each(|each| each.ask.notify_one());
    }

    /// Serves a browser's request.
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
        let Some(mut seat) = Seat::take(self) else {
            return Changed::Refused(StatusCode::SERVICE_UNAVAILABLE, "too many viewers: try again\n".into());
        };
        let session = match viewer::Session::answer(&asked.body, asked.at, self.0.codec) {
            Ok(session) => session,
            Err(error) => return Changed::Refused(StatusCode::BAD_REQUEST, format!("{error:#}\n")),
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
        seat.name = name;
        tokio::spawn(async move {
            tokio::select! {
                () = session.run(&seat.screen, taken) => {}
                _ = ended => {}
                () = place.taken() => {}
            }
        });
        Changed::Created(location, "application/sdp", answer)
    }

    fn remove(&self, name: &str) {
        let mut state = self.lock();
        state.viewers.retain(|viewer| viewer.name != name);
        self.0.count.store(state.viewers.len(), Ordering::Relaxed);
        if state.viewers.is_empty() {
            // Streams are followed again with the next viewer.
            state.shown = None;
            state.candidates.clear();
        }
    }
}

/// The right to a session. Removes the viewer when its task ends, in any way.
struct Seat {
    screen: Screen,
    /// The viewer's name; none before the session is made.
    name: String,
}

impl Seat {
    /// Counts a session before it is made; `None` if there are too many.
    fn take(screen: &Screen) -> Option<Self> {
        let more = |count: usize| (count < MAX_SESSIONS).then_some(count + 1);
        screen.0.sessions.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Self { screen: screen.clone(), name: String::new() })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.screen.remove(&self.name);
        self.screen.0.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
