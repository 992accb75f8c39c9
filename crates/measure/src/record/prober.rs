//! One end of a recording: sends probes by the plan, logs and echoes the other end's probes.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;

use socket2::SockRef;
use tokio::io::Interest;
use whimbrel_net::{Clock, TimedReceiver, WatchedSocket, enlarge_receive_buffer, is_refusal};
use whimbrel_units::{Duration, Instant};

use super::Mode;
use super::probe::{Arrival, Class, ECHO, FULL, HEADER, Header, Kind, LEAST, PING};
use super::protocol::{MAX_PROBES, Plan};

/// Time between pings.
const PING_INTERVAL: Duration = Duration::from_millis(50);
/// Grain of the runtime's timers.
const TICK: Duration = Duration::from_millis(1);
/// Time after the last probe in which others may arrive.
pub(super) const DRAIN: Duration = Duration::from_millis(1_500);
/// Packets of a train.
const TRAIN: u64 = 16;
const TRAIN_INTERVAL: Duration = Duration::from_secs(1);
/// Queueing delay below which the window grows, and above which it shrinks.
const LOW_QUEUE: Duration = Duration::from_millis(150);
const HIGH_QUEUE: Duration = Duration::from_millis(600);
/// Probes of an epoch, and the share of them whose echoes must return for the window to keep its size.
const EPOCH: u64 = 64;
const LEAST_ECHOED: f64 = 0.85;
/// The least window, and the time after which a probe is sent beyond it: an outage answers nothing.
const LEAST_WINDOW: f64 = 10.0;
const OUTAGE_PROBE: Duration = Duration::from_millis(50);

/// Totals of an end so far.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Figures {
    /// Probes sent.
    pub sent: u64,
    /// Their bytes, with the headers of UDP and IP.
    pub sent_bytes: u64,
    /// Probes received.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Probes that are missing among those received, by their numbers: lost, or overtaken.
    pub missing: u64,
    /// The round-trip time of the last probe whose echo came; only a saturated path is probed with echoes.
    pub rtt: Option<Duration>,
    /// Delay of the last probe beyond the fastest one.
    pub queueing: Option<Duration>,
}

/// A socket for probes at an address of this host.
///
/// # Errors
/// The system refuses it.
pub(super) fn bind(at: SocketAddr) -> io::Result<WatchedSocket> {
    let socket = std::net::UdpSocket::bind(at)?;
    socket.set_nonblocking(true)?;
    enlarge_receive_buffer(&socket)?;
    WatchedSocket::new(socket)
}

/// Sends a datagram. It does not wait.
///
/// # Errors
/// There is no room now, or the system refuses it.
pub(super) fn send_to(socket: &WatchedSocket, bytes: &[u8], peer: SocketAddr) -> io::Result<()> {
    SockRef::from(socket).send_to(bytes, &peer.into()).map(drop)
}

/// One end.
pub(super) struct Prober<'a> {
    socket: &'a WatchedSocket,
    timed: TimedReceiver,
    peer: SocketAddr,
    token: u64,
    clock: Clock,
    start: Instant,
    /// Its load may become shorter.
    plan: &'a Cell<Plan>,
    figures: &'a Cell<Figures>,
    /// Of the probes received: the numbers below which they are, and how many have come, by class.
    arrived: [(u64, u64); 3],
    /// The least difference of the two ends' clocks at a probe's arrival, in microseconds.
    least_us: i64,
    from_server: bool,
    /// Bytes of the headers of UDP and IP.
    headers: usize,
    log: Vec<Arrival>,
    /// Numbers of probes are below this.
    numbers: u64,
    sent: [u64; 3],
    window: Window,
    last_ping: Option<Instant>,
    last_train: Option<Instant>,
    last_load: Instant,
    /// Probes of a constant rate that were due so far.
    due: u64,
}

/// Probes of the load that may be on their way.
#[derive(Clone, Copy, Debug)]
struct Window {
    size: f64,
    /// The number after the highest that was echoed.
    echoed: u64,
    base_rtt: Option<Duration>,
    /// The number at which the current epoch began, and the echoes since then.
    epoch: (u64, u64),
}

impl Window {
    /// An echo of a probe: grow while the queue is short, shrink when it is long.
    fn on_echo(&mut self, number: u64, rtt: Duration, most: f64) {
        self.echoed = self.echoed.max(number + 1);
        let base = self.base_rtt.map_or(rtt, |base| base.min(rtt));
        self.base_rtt = Some(base);
        let queue = rtt - base;
        self.epoch.1 += 1;
        let (begin, echoes) = self.epoch;
        if self.echoed - begin >= EPOCH {
            self.epoch = (self.echoed, 0);
            // A short buffer overflows before the queue is long: more load would only be lost.
            if (echoes as f64) < LEAST_ECHOED * (self.echoed - begin) as f64 {
                self.size = (self.size * 0.8).max(LEAST_WINDOW);
                return;
            }
        }
        if queue < LOW_QUEUE {
            self.size = (self.size + 1.0).min(most);
        } else if queue > HIGH_QUEUE {
            self.size = (self.size - 1.0).max(LEAST_WINDOW);
        }
    }
}

impl<'a> Prober<'a> {
    pub(super) fn new(
        socket: &'a WatchedSocket,
        peer: SocketAddr,
        (token, from_server): (u64, bool),
        plan: &'a Cell<Plan>,
        figures: &'a Cell<Figures>,
        clock: Clock,
    ) -> Self {
        let start = clock.now();
        let mapped = matches!(peer, SocketAddr::V6(v6) if v6.ip().to_ipv4_mapped().is_some());
        Self {
            socket,
            timed: TimedReceiver::new(socket, clock),
            peer,
            token,
            clock,
            start,
            plan,
            figures,
            arrived: [(0, 0); 3],
            least_us: i64::MAX,
            from_server,
            headers: if peer.is_ipv4() || mapped { 28 } else { 48 },
            log: Vec::new(),
            numbers: plan.get().numbers(),
            sent: [0; 3],
            window: Window { size: LEAST_WINDOW, echoed: 0, base_rtt: None, epoch: (0, 0) },
            last_ping: None,
            last_train: None,
            last_load: start,
            due: 0,
        }
    }

    /// Sends and receives to the end of the plan; returns the log and the numbers of probes sent by class.
    pub(super) async fn run(mut self) -> io::Result<(Vec<Arrival>, [u64; 3])> {
        let mut buffer = [0; 2048];
        loop {
            let now = self.clock.now();
            let end = self.start + self.plan.get().length();
            if now >= end + DRAIN {
                return Ok((self.log, self.sent));
            }
            if now < end {
                self.send_due(now)?;
            }
            tokio::select! {
                () = self.clock.sleep_until(now + TICK) => {}
                ready = self.socket.readable() => {
                    ready?;
                }
            }
            self.receive(&mut buffer)?;
        }
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        // Bounded, so that a flood does not keep this end from sending.
        for _ in 0..256 {
            let Self { socket, timed, .. } = self;
            let received = socket.try_read(Interest::READABLE, |socket| timed.receive(socket, buffer));
            let (length, from, arrival) = match received {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // An ICMP error of an earlier datagram.
                Err(error) if is_refusal(&error) || is_outage(&error) => {
                    continue;
                }
                Err(error) => return Err(error),
            };
            let Some(header) = Header::read(&buffer[..length]) else { continue };
            if from != self.peer || header.token != self.token {
                continue;
            }
            match header.kind {
                Kind::Hello => {}
                Kind::Probe(class) => self.on_probe(class, &header, length, arrival),
                Kind::Echo(Class::Load) => {
                    let sent = Instant::from_nanos(header.sent_us.saturating_mul(1000));
                    // Only numbers that were sent, so that a wrong echo cannot open the window.
                    if header.number < self.sent[Class::Load.index()] && sent <= self.clock.now() {
                        let (most, rtt) = (self.plan.get().rate_bps / 8.0 / FULL as f64, arrival - sent);
                        self.window.on_echo(header.number, rtt, most.max(LEAST_WINDOW));
                        self.figures.set(Figures { rtt: Some(rtt), ..self.figures.get() });
                    }
                }
                Kind::Echo(Class::Ping | Class::Train) => {}
            }
        }
        Ok(())
    }

    fn on_probe(&mut self, class: Class, header: &Header, length: usize, at: Instant) {
        if self.log.len() as u64 >= 2 * MAX_PROBES {
            return;
        }
        let arrival = Arrival {
            class,
            number: header.number,
            sent_us: i64::try_from(header.sent_us).unwrap_or(i64::MAX),
            arrived_us: (at.as_nanos() / 1000).cast_signed(),
            bytes: (length + self.headers) as u32,
        };
        if !arrival.is_plausible(self.numbers) {
            return;
        }
        self.count(&arrival);
        self.log.push(arrival);
        // The load of a constant rate needs no echoes.
        if class == Class::Load && self.plan.get().mode == Mode::Saturate {
            let mut echo = [0; ECHO];
            Header { kind: Kind::Echo(class), ..*header }.write(&mut echo);
            let _ = send_to(self.socket, &echo, self.peer);
        }
    }

    fn count(&mut self, arrival: &Arrival) {
        let (below, count) = &mut self.arrived[arrival.class.index()];
        (*below, *count) = ((*below).max(arrival.number + 1), *count + 1);
        let took_us = arrival.arrived_us.saturating_sub(arrival.sent_us);
        self.least_us = self.least_us.min(took_us);
        let queueing_us = u64::try_from(took_us.saturating_sub(self.least_us)).unwrap_or_default();
        let old = self.figures.get();
        self.figures.set(Figures {
            received: old.received + 1,
            received_bytes: old.received_bytes + u64::from(arrival.bytes),
            missing: self.arrived.iter().map(|(below, count)| below.saturating_sub(*count)).sum(),
            queueing: Some(Duration::from_micros(queueing_us)),
            ..old
        });
    }

    fn send_due(&mut self, now: Instant) -> io::Result<()> {
        let since = now - self.start;
        let (begin, end) = self.plan.get().load(self.from_server);
        if self.last_ping.is_none_or(|last| now - last >= PING_INTERVAL) {
            self.last_ping = Some(now);
            self.send(Class::Ping, PING)?;
        }
        if since < begin || since >= end {
            self.last_load = now;
            return Ok(());
        }
        match self.plan.get().mode {
            Mode::Saturate => self.send_window(now),
            Mode::Gentle => {
                let bits = 8.0 * (LEAST + self.headers) as f64;
                let due = ((since - begin).as_secs_f64() * self.plan.get().rate_bps / bits) as u64;
                // After a pause of this process probes are left out, instead of a burst; numbers are not.
                for _ in self.due.max(due.saturating_sub(8))..due {
                    self.send(Class::Load, LEAST)?;
                }
                self.due = due;
                if self.last_train.is_none_or(|last| now - last >= TRAIN_INTERVAL) {
                    self.last_train = Some(now);
                    for _ in 0..TRAIN {
                        self.send(Class::Train, FULL)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Fills the window, at most at the plan's rate.
    fn send_window(&mut self, now: Instant) -> io::Result<()> {
        let sent = self.sent[Class::Load.index()];
        let spacing = 8.0 * (FULL + self.headers) as f64 / self.plan.get().rate_bps;
        let allowed = ((now - self.last_load).as_secs_f64() / spacing) as u64;
        let in_flight = sent.saturating_sub(self.window.echoed) as f64;
        let room = (self.window.size - in_flight).max(0.0) as u64;
        let mut number = allowed.min(room).min(MAX_PROBES.saturating_sub(sent));
        if room == 0 && now - self.last_load >= OUTAGE_PROBE {
            number = 1;
        }
        for _ in 0..number {
            self.send(Class::Load, FULL)?;
        }
        if number > 0 {
            // Unused credit beyond this tick's probes is kept, but no more than a few ticks of it.
            let spacing = Duration::from_secs_f64(spacing);
            let kept = (now - self.last_load).saturating_sub(spacing * number).min(TICK * 4 + spacing);
            self.last_load = Instant::ZERO + (now.saturating_since(Instant::ZERO).saturating_sub(kept));
        }
        Ok(())
    }

    fn send(&mut self, class: Class, length: usize) -> io::Result<()> {
        let mut bytes = [0; FULL];
        let number = self.sent[class.index()];
        let sent_us = self.clock.now().as_nanos() / 1000;
        Header { kind: Kind::Probe(class), token: self.token, number, sent_us }.write(&mut bytes[..HEADER]);
        match send_to(self.socket, &bytes[..length], self.peer) {
            Ok(()) => {
                self.sent[class.index()] += 1;
                let old = self.figures.get();
                let sent_bytes = old.sent_bytes + (length + self.headers) as u64;
                self.figures.set(Figures { sent: old.sent + 1, sent_bytes, ..old });
                Ok(())
            }
            // A full socket buffer is not a loss of the path: the number is used for the next probe.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock || is_refusal(&error) => Ok(()),
            // The interface has no network for now: the probe is lost as on the rest of the path.
            Err(error) if is_outage(&error) => {
                self.sent[class.index()] += 1;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// `true` if the network is gone, as it is during a handover: it may return.
fn is_outage(error: &io::Error) -> bool {
    use io::ErrorKind::{AddrNotAvailable, HostUnreachable, NetworkDown, NetworkUnreachable};
    matches!(error.kind(), AddrNotAvailable | HostUnreachable | NetworkDown | NetworkUnreachable)
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
