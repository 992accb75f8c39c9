//! Forwarding between local programs and one connection, in both directions.

use std::net::SocketAddr;

use tokio::sync::oneshot;
use tokio::time::sleep;
use whimbrel_net::{NetError, Received, SendError};
use whimbrel_rtp::Remb;
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::Options;
use super::encoder::{EncoderRate, Room};
use super::feedback::Feedback;
use super::link::{Link, View};
use super::notices::{Lines, Measured, Notice};
use super::pace::{Due, Pace};
use super::ports::Ports;
use super::status::{Connection, Entry, FlowFrames, Status};
use super::whep::Viewing;
use crate::edge::carriage::{Arrival, Carriage, Delivery, Handed};
use crate::edge::flow::{Flow, HEADER};
use crate::edge::flow_kind::Announcement;
use crate::edge::key_frames::KeyFrames;
use crate::edge::local_socket::OWN_SSRC;
use crate::stop::Stop;

mod told;
mod watch;

use told::Told;
pub(super) use watch::Watch;

/// Datagrams moved in one direction before the other has its turn.
const BATCH: usize = 32;
/// Bytes of RTP's fixed header, and of a DTLS record without its data.
const RTP_HEADER: f64 = 12.0;
const RECORD: f64 = 22.0;
/// Time without packets after which a stream has ended.
const ACTIVE: Duration = Duration::from_secs(1);
/// With a longer packet time at the allowed rate, the transport gets one packet at a time if some are urgent.
const LONG: Duration = Duration::from_millis(5);
/// Longest time between two looks whether the transport has sent it.
const PATIENCE: Duration = Duration::from_millis(20);
/// Time between two questions to the system for what it has dropped: calls for each socket.
const SETTLE_TIME: Duration = Duration::from_millis(500);
/// The round-trip time until one is known.
const RTT: Duration = Duration::from_millis(100);

/// The end of one connection.
pub(super) enum Ending {
    /// The program asks for it.
    Stopped,
    /// The connection has ended.
    Over(NetError),
    /// A newer connection takes its place.
    Replaced,
}

/// Forwards between local programs and a connection.
pub(super) struct Engine<'a> {
    link: &'a Link,
    ports: &'a mut Ports,
    options: &'a Options,
    peer: SocketAddr,
    carriage: Carriage,
    /// After the carriage, whose end the ledger has to know first.
    entry: Entry,
    /// The arrivals of the peer's packets, if its programs expect reports.
    feedback: Option<Feedback>,
    /// Time of the last message to encoders.
    updated: Instant,
    /// Time of the last question to the system for what it has dropped.
    settled: Instant,
    told: Told,
    encoder: EncoderRate,
    /// The rate for encoders at the last update.
    encoder_rate_bps: Option<f64>,
    key_frames: KeyFrames,
    /// The browsers that watch.
    viewing: Viewing,
    /// Until then nothing is handed to the transport, whose queue is short enough: what is urgent may come.
    held_until: Option<Instant>,
    /// The time of a packet at the allowed rate.
    packet_time: Duration,
}

impl<'a> Engine<'a> {
    pub(super) fn new(link: &'a Link, ports: &'a mut Ports, options: &'a Options, status: &Status) -> Self {
        let ledger = ports.ledger().clone();
        let announced = Announcement {
            sends: ports.sends(options.video),
            receives_rtp: options.transport_cc.is_some(),
            udp_ports: ports.udp_ports(),
            streams: ports.streams(),
        };
        let is_near = ports.is_near();
        let entry = status.add(ledger.clone());
        let viewing = Viewing::new(status.screen.clone(), entry.number());
        Self {
            link,
            options,
            peer: link.remote(),
            entry,
            carriage: Carriage::new(options.stale, announced, is_near, ledger, options.room.clone()),
            ports,
            feedback: options.transport_cc.map(|extension| Feedback::new(extension, OWN_SSRC)),
            updated: link.now(),
            settled: Instant::ZERO,
            told: Told::default(),
            encoder: EncoderRate::default(),
            encoder_rate_bps: None,
            key_frames: KeyFrames::new(OWN_SSRC),
            viewing,
            held_until: None,
            packet_time: Duration::ZERO,
        }
    }

    /// Forwards until the connection ends.
    ///
    /// # Errors
    /// The output or the link monitor fails.
    pub(super) async fn run(
        &mut self,
        lines: &mut Lines,
        stop: &mut Stop,
        mut watch: Watch,
        mut replaced: oneshot::Receiver<()>,
    ) -> anyhow::Result<Ending> {
        let mut pace = Pace::new(lines.rest());
        let mut received = Vec::new();
        let link = self.link;
        loop {
            let now = link.now();
            let held = self.held_until.filter(|until| *until > now).map(|until| until - now);
            let has_waiting = self.carriage.has_waiting(now);
            tokio::select! {
                () = self.ports.ready() => {
                    pace.mark_sent();
                    self.take_batch();
                }
                () = sleep(held.unwrap_or_default().into()), if has_waiting && held.is_some() => {}
                room = link.writable(1), if has_waiting && held.is_none() => {
                    let result = match room {
                        Ok(()) => self.send(),
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
                due = pace.due() => {
                    if due == Due::Glance && !self.has_fallen() {
                        pace.look_on();
                        continue;
                    }
                    if !self.carriage.is_at_rest() {
                        // The next update decides if bulk data may leave.
                        pace.mark();
                    }
                    let is_idle = pace.is_idle();
                    self.update(lines);
                    self.line(lines, is_idle, due == Due::Glance)?;
                    if is_idle {
                        received.shrink_to_fit();
                        self.rest();
                    }
                    watch.discard(link);
                    pace.next(lines.until_due());
                }
                change = watch.next(link) => {
                    pace.mark();
                    let change = change?;
                    if let Some(stream) = change.new_start() {
                        self.ask_for_key_frame(stream);
                    }
                    for line in Box::pin(watch.apply(change, link)).await {
                        lines.notify(&Notice::Path(&line))?;
                    }
                    // The state for programs has no ended path.
                    self.update(lines);
                }
                () = self.viewing.request() => {
                    pace.mark();
                    self.ask_for_viewers();
                }
                _ = &mut replaced => return Ok(Ending::Replaced),
                () = stop.raised() => {
                    self.report(lines)?;
                    return Ok(Ending::Stopped);
                }
            }
        }
    }

    /// Queues datagrams of local programs.
    fn take_batch(&mut self) {
        let now = self.link.now();
        for _ in 0..BATCH {
            let Some((flow, payload, age)) = self.ports.try_next(now) else { return };
            self.take(now.saturating_sub(age), flow, &payload);
        }
    }

    /// Queues a datagram of a local program, which came at that time.
    fn take(&mut self, at: Instant, flow: Flow, payload: &[u8]) {
        if let Some(flow) = self.ports.take_renewed() {
            self.carriage.kinds().forget(flow);
        }
        self.carriage.take(at, flow, payload);
        if let Some(stream) = self.carriage.take_start() {
            self.ask_for_key_frame(stream);
        }
    }

    /// Sends what may be sent now.
    fn send(&mut self) -> Result<(), NetError> {
        let link = self.link;
        let (now, mut limit) = (link.now(), BATCH);
        if self.packet_time > LONG && self.carriage.queue().is_urgent(now) {
            // Data handed over now would delay more urgent data.
            if link.view().is_some_and(|view| view.queued_datagrams > 0) {
                self.held_until = Some(now + (self.packet_time / 8).min(PATIENCE));
                return Ok(());
            }
            limit = 1;
        }
        let observe = || link.observed();
        self.carriage.send(now, limit, observe, |bytes, deadline, mark| {
            match link.try_send(bytes, deadline, mark) {
                Ok(()) => Ok(Handed::Accepted),
                Err(NetError::Send(SendError::QueueFull)) => Ok(Handed::Later),
                Err(NetError::Send(SendError::TooLarge { limit, .. })) => Ok(Handed::TooLarge(limit)),
                Err(error) => Err(error),
            }
        })
    }

    /// Passes a datagram of the peer to a local program.
    fn deliver(&mut self, Received { payload, repaired, .. }: Received) {
        let now = self.link.now();
        let arrival = self.carriage.receive(now, payload, repaired);
        self.pass_on(now, arrival);
    }

    /// Passes a datagram to a local program, those that came with it, and the commands that need not wait any
    /// longer.
    fn pass_on(&mut self, now: Instant, mut next: Option<Arrival>) {
        while let Some(Arrival { flow, payload, is_rtp }) = next.or_else(|| self.carriage.further(now)) {
            if is_rtp {
                self.viewing.pass(now, flow, &payload);
            }
            let delivery = self.ports.deliver(now, flow, &payload);
            self.carriage.on_delivery(flow, delivery);
            if let Some(feedback) = self.feedback.as_mut().filter(|_| is_rtp && delivery == Delivery::Passed)
            {
                feedback.record(now, flow, &payload);
            }
            next = None;
        }
    }

    /// Updates the state for programs, and reports the rate to encoders.
    fn update(&mut self, lines: &Lines) {
        let now = self.link.now();
        if self.settled + SETTLE_TIME <= now || lines.until_due().is_zero() {
            self.settle(lines, now);
        }
        self.pass_on(now, None);
        self.ask_for_viewers();
        let view = self.view();
        self.carriage.update(now, view.as_ref().map(|view| view.observed));
        let Some(view) = view else { return };
        if let Some(text) = self.told.of_repair(now, self.options.latency, &view) {
            let _ = lines.notify(&Notice::Repair(&text));
        }
        let allowed = view.allowed_rate_bps.map(DataRate::from_bits_per_second);
        self.carriage.set_limits(allowed, view.budget, view.rtt);
        let size = ByteCount::new(self.carriage.average_size() as u64);
        self.packet_time = allowed.map_or(Duration::ZERO, |allowed| size / allowed);
        let encoder_rate = self.encoder_rate(&view);
        self.encoder_rate_bps = encoder_rate;
        let rtt = view.rtt.unwrap_or(RTT);
        let state = self.state(view, encoder_rate);
        let rate = state.encoder_rate_bps.filter(|_| self.options.remb);
        self.entry.set(state);
        // Streams that continue are noticed again.
        let since = std::mem::replace(&mut self.updated, now);
        if let Some(rate) = rate {
            for (flow, streams) in self.carriage.kinds().active_streams(since) {
                let mut message = Vec::new();
                let remb = Remb { sender: OWN_SSRC, bitrate: rate as u64, streams };
                if remb.encode(&mut message).is_ok() {
                    self.ports.deliver(now, flow, &message);
                }
            }
        }
        if self.key_frames.is_waiting() {
            let messages =
                self.key_frames.repeat(now, rtt, &self.carriage.kinds().videos(now.saturating_sub(ACTIVE)));
            self.tell(now, messages);
        }
        for (flow, message) in self.feedback.iter_mut().flat_map(|feedback| feedback.take(now)) {
            self.carriage.take_own(now, flow, &message);
        }
    }

    /// Counts what the system has done with datagrams.
    fn settle(&mut self, lines: &Lines, now: Instant) {
        self.settled = now;
        if let Some(program) = self.ports.settle()
            && !std::mem::replace(&mut self.told.is_unheard, true)
        {
            // A program that no longer takes reports ends with the next line.
            let text = format!("nothing listens at {program}: what is sent to it is lost");
            let _ = lines.notify(&Notice::Warning(&text));
        }
    }

    /// A frame is lost that others of its stream refer to: asks the encoder for a key frame.
    fn ask_for_key_frame(&mut self, stream: u64) {
        let now = self.link.now();
        let videos = self.carriage.kinds().videos(now.saturating_sub(ACTIVE));
        let message = self.key_frames.ask(now, stream, &videos);
        self.tell(now, message);
    }

    /// A browser that watches needs a key frame: asks the other end's encoder for one.
    fn ask_for_viewers(&mut self) {
        let now = self.link.now();
        for (flow, message) in self.viewing.messages(now) {
            self.carriage.take_own(now, flow, &message);
        }
    }

    /// Passes this end's messages to local programs.
    fn tell(&mut self, now: Instant, messages: impl IntoIterator<Item = (Flow, Vec<u8>)>) {
        for (flow, message) in messages {
            self.ports.deliver(now, flow, &message);
        }
    }

    /// The state of the connection; `None` once it has ended.
    fn view(&self) -> Option<View> {
        let mut view = self.link.view()?;
        if let Some(repair) = &mut view.repair {
            repair.key_frames_asked = self.key_frames.sent();
        }
        Some(view)
    }

    /// Prints a line, if one is due. `has_fallen`: the rate for encoders.
    fn line(&self, lines: &mut Lines, is_idle: bool, has_fallen: bool) -> anyhow::Result<()> {
        let is_due = lines.until_due().is_zero() || has_fallen && lines.are_for_programs();
        if !is_due {
            return Ok(());
        }
        match self.view() {
            Some(_) if is_idle && lines.names_peers() => lines.skip(&self.carriage.ledger().sums()),
            Some(view) => lines.interval_of(&view, self.figures(&view))?,
            None => {}
        }
        Ok(())
    }

    /// Returns memory that traffic has left behind.
    fn rest(&mut self) {
        self.carriage.shrink();
        self.ports.shrink();
        self.link.shrink();
    }

    fn figures(&self, view: &View) -> Measured {
        let ledger = self.carriage.ledger();
        let delay = view.rtt.map(|rtt| self.carriage.average_wait() + rtt.as_secs_f64() / 2.0);
        let encoder_rate_bps = self.encoder_rate_bps;
        let (sums, streams) = (ledger.sums(), ledger.streams(view.rtt));
        Measured { sums, streams, delay, has_reports: ledger.has_reports(), encoder_rate_bps }
    }

    /// `true` if encoders should learn of a lower rate before the next update.
    fn has_fallen(&self) -> bool {
        let fallen = |view: View| Some(self.encoder.has_fallen(view.allowed_rate_bps?, self.room(&view)));
        self.link.view().and_then(fallen).unwrap_or(false)
    }

    fn room(&self, view: &View) -> Option<Room> {
        let path_bps = view.path_rate.map(DataRate::as_bits_per_second);
        let known = self.options.latency.zip(view.prospect);
        known.map(|(latency, budget)| Room { budget, latency, path_bps })
    }

    /// The rate for encoders, in bit/s: what the path carries in time, less headers and repair.
    fn encoder_rate(&mut self, view: &View) -> Option<f64> {
        let room = self.room(view);
        let rate = self.encoder.update(view.allowed_rate_bps?, room);
        // Commands and values leave media a share of an eighth of theirs.
        let rate = (rate - self.carriage.urgent_bps()).max(rate / 9.0);
        let around = HEADER as f64 + if self.link.peer().is_some() { RECORD } else { 0.0 };
        let size = self.carriage.average_size();
        let repair = view.repair.as_ref().map_or(0.0, |repair| repair.overhead);
        Some(rate * (size - RTP_HEADER).max(1.0) / ((size + around).max(1.0) * (1.0 + repair)))
    }

    fn state(&self, view: View, encoder_rate_bps: Option<f64>) -> Connection {
        let allowed = view.allowed_rate_bps;
        let key = self.link.peer();
        let Measured { sums, streams, delay, has_reports, .. } = self.figures(&view);
        let queue = self.carriage.queue();
        Connection {
            peer: self.peer,
            key,
            allowed_rate_bps: allowed,
            encoder_rate_bps,
            rtt_s: view.rtt.map(Duration::as_secs_f64),
            delay_s: delay,
            has_reports,
            is_frozen: view.is_frozen,
            queued_datagrams: queue.len() + view.queued_datagrams,
            queued_bytes: queue.bytes() + view.queued_bytes,
            queue_age_s: queue.age(self.link.now()).as_secs_f64(),
            frames: self.carriage.frames().map(FlowFrames::from).collect(),
            flows: self.ports.flows(),
            paths: view.paths,
            repair: view.repair,
            sums,
            streams,
        }
    }

    fn report(&mut self, lines: &mut Lines) -> anyhow::Result<()> {
        self.settle(lines, self.link.now());
        let Some(view) = self.view() else { return Ok(()) };
        lines.interval_of(&view, self.figures(&view))?;
        let encoder_rate = self.encoder_rate(&view);
        self.entry.set(self.state(view, encoder_rate));
        Ok(())
    }
}

impl Drop for Engine<'_> {
    fn drop(&mut self) {
        self.ports.settle();
        self.ports.set_connected(false);
    }
}

#[cfg(test)]
mod tests;
