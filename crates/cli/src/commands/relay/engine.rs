//! Forwarding between local programs and one connection, in both directions.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration as StdDuration;

use bytes::Bytes;
use tokio::sync::oneshot;
use tokio::time::timeout;
use whimbrel_net::multipath::MultipathEvent;
use whimbrel_net::{NetError, SendError};
use whimbrel_rtp::Remb;
use whimbrel_units::{DataRate, Duration};

use super::Options;
use super::feedback::Feedback;
use super::follow::{Change, Follow};
use super::frames::Kind;
use super::link::{Link, View};
use super::output::{Counts, Lines};
use super::pace::Pace;
use super::paths::{self, PathChange, Paths};
use super::ports::{Flow, HEADER, Ports};
use super::queue::{Queue, Waiting};
use super::status::{Connection, Entry, Totals};
use crate::interrupt::Interrupt;

/// Datagrams moved in one direction before the other has its turn.
const BATCH: usize = 32;
/// Time for a connection to close.
const CLOSE_TIME: StdDuration = StdDuration::from_secs(2);
/// Weight of the last datagram in the average size.
const SIZE_WEIGHT: f64 = 1.0 / 64.0;
/// Bytes of RTP's fixed header, and of a record of DTLS beside its data.
const RTP_HEADER: f64 = 12.0;
const RECORD: f64 = 22.0;
/// The SSRC of this end in messages to encoders. No stream has it: it is one in 2^32.
const OWN_SSRC: u32 = 0x5748_494d;

/// The end of one connection.
pub(super) enum Ending {
    /// Ctrl-C was pressed.
    Interrupted,
    /// The connection is over.
    Over(NetError),
    /// A newer connection takes its place.
    Replaced,
}

/// Forwards between local programs and a connection.
pub(super) struct Engine<'a> {
    link: &'a Link,
    ports: &'a mut Ports,
    options: &'a Options,
    entry: Entry,
    peer: SocketAddr,
    queue: Queue,
    totals: Totals,
    /// The arrivals of the peer's packets, if its programs expect reports.
    feedback: Option<Feedback>,
    /// The streams of local programs, by flow.
    streams: BTreeMap<Flow, u32>,
    /// Average size of datagrams to send.
    size: f64,
}

impl<'a> Engine<'a> {
    pub(super) fn new(link: &'a Link, ports: &'a mut Ports, options: &'a Options, entry: Entry) -> Self {
        Self {
            link,
            ports,
            options,
            entry,
            peer: link.remote(),
            queue: Queue::new(options.stale),
            totals: Totals::default(),
            feedback: options.transport_cc.map(|extension| Feedback::new(extension, OWN_SSRC)),
            streams: BTreeMap::new(),
            size: 1200.0,
        }
    }

    /// Forwards until the connection ends.
    ///
    /// # Errors
    /// The output or the link monitor fails.
    pub(super) async fn run(
        &mut self,
        lines: &mut Lines,
        interrupt: &mut Interrupt,
        mut watch: Watch,
        mut replaced: oneshot::Receiver<()>,
    ) -> anyhow::Result<Ending> {
        self.ports.discard_old();
        let mut pace = Pace::new(lines.rest());
        let mut received = Vec::new();
        let link = self.link;
        loop {
            let has_waiting = !self.queue.is_empty();
            tokio::select! {
                (flow, payload) = self.ports.next(|| link.now()) => {
                    pace.mark();
                    self.take(flow, &payload);
                }
                room = link.writable(1), if has_waiting => {
                    let result = match room {
                        Ok(()) => self.send(lines),
                        Err(error) => Err(error),
                    };
                    if let Err(error) = result {
                        self.report(lines)?;
                        return Ok(Ending::Over(error));
                    }
                }
                taken = link.recv_many(&mut received, BATCH) => {
                    if let Err(error) = taken {
                        self.report(lines)?;
                        return Ok(Ending::Over(error));
                    }
                    pace.mark();
                    for datagram in received.drain(..) {
                        self.deliver(datagram);
                    }
                }
                () = pace.due() => {
                    let is_idle = pace.is_idle() && self.queue.is_empty();
                    self.update();
                    self.line(lines, is_idle)?;
                    if is_idle {
                        received.shrink_to_fit();
                        self.rest();
                    }
                    watch.discard(link);
                    pace.next(lines.until_due());
                }
                change = watch.next(link) => {
                    pace.mark();
                    for line in Box::pin(watch.apply(change?, link)).await {
                        lines.path(&line)?;
                    }
                    // What has ended is not left in the state for programs.
                    self.update();
                }
                _ = &mut replaced => return Ok(Ending::Replaced),
                () = interrupt.raised() => {
                    self.report(lines)?;
                    return Ok(Ending::Interrupted);
                }
            }
        }
    }

    /// Queues a datagram of a local program.
    fn take(&mut self, flow: Flow, payload: &[u8]) {
        let kind = Kind::of(flow.id(), payload, self.options.video);
        if let Kind::Part { frame, .. } = kind {
            self.streams.insert(flow, frame.source);
        }
        let bytes = flow.wrap(payload);
        self.size += (payload.len() as f64 - self.size) * SIZE_WEIGHT;
        self.queue.push(Waiting { bytes, kind, arrived: self.link.now() });
    }

    /// Sends what may be sent now.
    fn send(&mut self, lines: &Lines) -> Result<(), NetError> {
        for _ in 0..BATCH {
            let Some(waiting) = self.queue.pop(self.link.now()) else { break };
            let deadline = self.queue.deadline(&waiting);
            match self.link.try_send(waiting.bytes.clone(), Some(deadline)) {
                Ok(()) => {}
                Err(NetError::Send(SendError::QueueFull)) => {
                    self.queue.put_back(waiting);
                    break;
                }
                Err(NetError::Send(SendError::TooLarge { size, limit })) => {
                    if self.totals.too_large == 0 {
                        let (size, limit) = (size.saturating_sub(HEADER), limit.saturating_sub(HEADER));
                        lines.warn(&format!(
                            "a datagram of {size} bytes exceeds the limit of {limit} bytes: reduce the packet size of the program"
                        ));
                    }
                    self.totals.too_large += 1;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Passes a datagram of the peer to a local program.
    fn deliver(&mut self, datagram: Bytes) {
        let Some((flow, payload)) = Flow::unwrap(datagram) else {
            self.totals.unknown += 1;
            return;
        };
        let now = self.link.now();
        if !self.ports.deliver(now, flow, &payload) {
            self.totals.unknown += 1;
        } else if let Some(feedback) = &mut self.feedback {
            feedback.record(now, flow, &payload);
        }
    }

    /// Updates the state for programs, and reports the rate to encoders.
    fn update(&mut self) {
        let now = self.link.now();
        self.queue.expire(now);
        let Some(view) = self.link.view() else { return };
        let state = self.state(view);
        self.queue.set_rate(state.allowed_rate_bps.map(DataRate::from_bits_per_second));
        let rate = state.encoder_rate_bps.filter(|_| self.options.remb);
        self.entry.set(state);
        // Streams that continue are noticed again.
        for (flow, source) in std::mem::take(&mut self.streams) {
            if let Some(rate) = rate {
                let mut message = Vec::new();
                let remb = Remb { sender: OWN_SSRC, bitrate: rate as u64, streams: vec![source] };
                if remb.encode(&mut message).is_ok() {
                    self.ports.deliver(now, flow, &message);
                }
            }
        }
        for (flow, message) in self.feedback.iter_mut().flat_map(|feedback| feedback.take(now)) {
            let bytes = flow.wrap(&message);
            self.queue.push(Waiting { bytes, kind: Kind::Essential, arrived: now });
        }
    }

    /// Prints a line, if one is due.
    fn line(&self, lines: &mut Lines, is_idle: bool) -> anyhow::Result<()> {
        match self.link.view().filter(|_| lines.until_due().is_zero()) {
            Some(view) if is_idle && lines.names_peers() => lines.skip(&view),
            Some(view) => lines.interval_of(&view, self.counts())?,
            None => {}
        }
        Ok(())
    }

    /// Returns memory that traffic has left behind.
    fn rest(&mut self) {
        self.queue.shrink();
        self.ports.shrink();
        self.link.shrink();
    }

    /// Datagrams of local programs that were faster than this program, dropped by the kernel or here.
    fn overrun(&self) -> u64 {
        self.ports.lost() + self.ports.kernel_drops()
    }

    fn counts(&self) -> Counts {
        Counts {
            drops: self.queue.drops(),
            overrun: self.overrun(),
            too_large: self.totals.too_large,
            forged: self.link.forgeries(),
        }
    }

    fn state(&self, view: View) -> Connection {
        let allowed = view.allowed_rate_bps;
        let key = self.link.peer();
        let around = HEADER as f64 + if key.is_some() { RECORD } else { 0.0 };
        let share = (self.size - RTP_HEADER).max(1.0) / (self.size + around).max(1.0);
        let mut totals = Totals {
            datagrams_sent: view.datagrams_sent,
            bytes_sent: view.bytes_sent,
            datagrams_received: view.datagrams_received,
            bytes_received: view.bytes_received,
            lost: view.lost,
            overrun: self.overrun(),
            forged: self.link.forgeries(),
            dropped: self.queue.drops(),
            ..self.totals
        };
        // Those that became stale in DCCP's own short queue.
        totals.dropped.stale += view.datagrams_dropped;
        Connection {
            peer: self.peer,
            key,
            allowed_rate_bps: allowed,
            encoder_rate_bps: allowed.map(|rate| rate * share),
            rtt_s: view.rtt.map(Duration::as_secs_f64),
            is_frozen: view.is_frozen,
            queued_datagrams: self.queue.len() + view.queued_datagrams,
            queued_bytes: self.queue.bytes() + view.queued_bytes,
            queue_age_s: self.queue.age(self.link.now()).as_secs_f64(),
            flows: self.ports.flows(),
            paths: view.paths,
            totals,
        }
    }

    fn report(&self, lines: &mut Lines) -> anyhow::Result<()> {
        let Some(view) = self.link.view() else { return Ok(()) };
        lines.interval_of(&view, self.counts())?;
        self.entry.set(self.state(view));
        Ok(())
    }
}

/// Closes a connection. A peer that does not answer for a while is not waited for: the program was told to end.
pub(super) async fn close(link: &Link) {
    if timeout(CLOSE_TIME, link.close()).await.is_err() {
        link.abort();
    }
}

/// The changes below a connection that its end follows.
#[derive(Debug)]
pub(in crate::commands) enum Watch {
    /// The route of a connection over one path.
    Link(Box<Follow>),
    /// The interfaces of a connection over several paths.
    Paths(Box<Paths>),
    /// The events of the connection alone.
    Events,
}

/// A change below a connection.
pub(in crate::commands) enum Below {
    Link(Change),
    Paths(PathChange),
    Event(MultipathEvent),
}

impl Watch {
    /// The next change. Cancel safe.
    ///
    /// The futures of the ends that move are large, and are not part of this one: a server has one for each connection.
    ///
    /// # Errors
    /// The link or the interfaces cannot be followed any more.
    pub(in crate::commands) async fn next(&mut self, link: &Link) -> anyhow::Result<Below> {
        match (self, link) {
            (Self::Link(follow), Link::Single(socket)) => {
                Box::pin(follow.next(socket)).await.map(Below::Link)
            }
            (Self::Paths(paths), Link::Several { socket, .. }) => {
                Box::pin(paths.next(socket)).await.map(Below::Paths)
            }
            (_, Link::Several { socket, .. }) => match Box::pin(socket.event()).await {
                Ok(event) => Ok(Below::Event(event)),
                // The end of the connection is reported elsewhere.
                Err(_) => std::future::pending().await,
            },
            _ => std::future::pending().await,
        }
    }
    /// Drops the events of a connection over one path, of which many would be kept otherwise: nothing else takes them, unless
    /// its end moves.
    fn discard(&self, link: &Link) {
        let is_moving = matches!(self, Self::Link(follow) if follow.is_moving());
        if let (Link::Single(socket), false) = (link, is_moving) {
            while let Ok(Some(_)) = socket.try_event() {}
        }
    }
    /// Applies a change. Returns lines about it.
    pub(in crate::commands) async fn apply(&mut self, change: Below, link: &Link) -> Vec<String> {
        match (self, change, link) {
            (Self::Link(follow), Below::Link(change), Link::Single(socket)) => {
                follow.apply(change, socket).await;
                Vec::new()
            }
            (Self::Paths(paths), Below::Paths(change), Link::Several { socket, .. }) => {
                paths.apply(change, socket)
            }
            (_, Below::Event(event), Link::Several { socket, .. }) => {
                paths::line(&event, socket).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }
}
