//! Repair on a path that an attacker controls, between ends of which either may lie: datagrams are dropped,
//! repeated, delayed, changed and made up, and reports claim anything. Datagrams are delivered in order
//! and once; without changes, they are as sent. A sender keeps its granted rate, and its coded bytes stay
//! below the source's bytes.

use std::collections::VecDeque;

use arbitrary::{Result, Unstructured};
use whimbrel_repair::channel::Cause;
use whimbrel_repair::receiver::{Delivery, Receiver, ReceiverConfig};
use whimbrel_repair::sender::{Mark, Sender, SenderConfig, SenderEvent, Sent};
use whimbrel_repair::wire::{Datagram, Report, Role};
use whimbrel_units::{DataRate, Duration, Instant};

/// The most bytes of a datagram.
const PACKET: u16 = 700;
/// The granted rate in bytes per second, if there is one.
const RATE: f64 = 50_000.0;
/// The most datagrams under way in one direction.
const MOST_FLYING: usize = 256;
/// The most datagrams of one end at one time: its queue of 64, and answers for all that can be repaired.
const MOST_AT_ONCE: usize = 4_096;

/// One input.
///
/// # Panics
///
/// If the code under test is wrong.
pub fn check(data: &[u8]) {
    is_read_or_refused(data);
    // The end of the bytes is the end of the trial.
    let _ = run(&mut Unstructured::new(data));
}

/// Any bytes are a datagram or an error, and a report survives the wire.
fn is_read_or_refused(data: &[u8]) {
    if let Ok(Datagram::Report(report)) = Datagram::decode(data) {
        let mut bytes = Vec::new();
        report.encode(&mut bytes);
        assert!(bytes.len() <= data.len(), "{} bytes from {}", bytes.len(), data.len());
        assert_eq!(Datagram::decode(&bytes), Ok(Datagram::Report(report)));
    }
}

/// Both ends and the path between them.
struct Trial {
    now: Instant,
    sender: Sender,
    receiver: Receiver,
    to_receiver: VecDeque<Vec<u8>>,
    to_sender: VecDeque<Vec<u8>>,
    buffer: Vec<u8>,
    start: Instant,
    is_limited: bool,
    /// Datagrams of the application: each has its number, so that another one is not mistaken for it.
    accepted: u32,
    /// The next symbol that may be delivered, counted without wrapping.
    delivered: Option<u32>,
    /// Something on the way to the receiver was changed or made up.
    is_forged: bool,
    in_parts: bool,
    bytes: usize,
    coded: usize,
    source: usize,
}

fn payload(number: u32) -> Vec<u8> {
    // If datagrams go in parts, some have several.
    let length = 4 + (number.wrapping_mul(2_654_435_761) >> 23) as usize;
    number.to_be_bytes().into_iter().cycle().take(length).collect()
}

impl Trial {
    fn new(input: &mut Unstructured<'_>) -> Result<Self> {
        let latency = Duration::from_millis(input.int_in_range(0..=300)?);
        let delivery = if input.arbitrary()? { Delivery::Constant } else { Delivery::Early };
        let round_trip = Duration::from_millis(input.int_in_range(0..=400)?);
        let (in_parts, start) = (input.arbitrary()?, Instant::from_secs(1));
        let of_sender =
            SenderConfig { round_trip, in_parts, queue: 64, ..SenderConfig::new(PACKET, latency) };
        let of_receiver =
            ReceiverConfig { delivery, round_trip, in_parts, ..ReceiverConfig::new(PACKET, latency) };
        let mut sender = Sender::new(of_sender);
        let is_limited = input.arbitrary()?;
        if is_limited {
            sender.set_granted_rate(start, Some(DataRate::from_bytes_per_second(RATE)));
        }
        Ok(Self {
            now: start,
            sender,
            receiver: Receiver::new(of_receiver),
            to_receiver: VecDeque::new(),
            to_sender: VecDeque::new(),
            buffer: Vec::new(),
            start,
            is_limited,
            accepted: 0,
            delivered: None,
            is_forged: false,
            in_parts,
            bytes: 0,
            coded: 0,
            source: 0,
        })
    }

    /// Lets both ends do what is due, and checks it.
    fn settle(&mut self) {
        self.sender.handle_timeout(self.now);
        self.receiver.handle_timeout(self.now);
        let mut count = 0;
        while let Some(sent) = self.sender.poll_transmit(self.now, &mut self.buffer) {
            count += 1;
            assert!(count <= MOST_AT_ONCE, "the sender does not stop");
            assert!(self.buffer.len() <= usize::from(PACKET), "{} bytes", self.buffer.len());
            self.bytes += self.buffer.len();
            match sent {
                Sent::Source(_) => self.source += self.buffer.len(),
                Sent::Parity | Sent::Surplus => self.coded += self.buffer.len(),
                Sent::Repeat(_) => {}
            }
            if self.to_receiver.len() < MOST_FLYING {
                self.to_receiver.push_back(self.buffer.clone());
            }
        }
        assert!(self.coded <= self.source, "{} coded bytes for {}", self.coded, self.source);
        let elapsed = (self.now - self.start).as_secs_f64();
        let granted = RATE * (elapsed + 0.011) + 2.0 * f64::from(PACKET);
        assert!(!self.is_limited || self.bytes as f64 <= granted, "{} bytes in {elapsed} s", self.bytes);
        let mut events = 0;
        while let Some(event) = self.sender.poll_event() {
            events += 1;
            assert!(events <= 128, "one event more: {event:?}");
            if let SenderEvent::OutOfReach { missed } = event {
                assert!((0.0..=1.0).contains(&missed), "{missed}");
            }
        }
        while let Some(got) = self.receiver.poll_delivery(self.now, &mut self.buffer) {
            let is_later = self.delivered.is_none_or(|before| got.esi.0.wrapping_sub(before) as i32 > 0);
            assert!(is_later, "{:?} after {:?}", got.esi, self.delivered);
            self.delivered = Some(got.esi.0);
            if !self.is_forged {
                let bytes: [u8; 4] = self.buffer[..4].try_into().expect("it has a number");
                let number = u32::from_be_bytes(bytes);
                assert!(
                    number < self.accepted && self.buffer == payload(number),
                    "altered: {:?}",
                    self.buffer
                );
            }
        }
        let mut reports = 0;
        while self.receiver.poll_transmit(self.now, &mut self.buffer).is_some() {
            reports += 1;
            assert!(reports <= 1, "one report at a time");
            assert!(self.buffer.len() <= whimbrel_repair::wire::MAX_REPORT);
            if self.to_sender.len() < MOST_FLYING {
                self.to_sender.push_back(self.buffer.clone());
            }
        }
    }

    /// Datagrams of the application.
    fn send(&mut self, input: &mut Unstructured<'_>) -> Result<()> {
        let role = [Role::Inner, Role::Start, Role::Disposable][input.choose_index(3)?];
        // Few sizes, because each needs a plan.
        let count = [1, 3, 8][input.choose_index(3)?];
        let ends = input.ratio(9, 10)?;
        for index in 0..count {
            let mark = Mark { role, ..Mark::part(index, count) };
            let mark = Mark { ends_frame: mark.ends_frame && ends, ..mark };
            if self.sender.send(self.now, &payload(self.accepted), mark).is_ok() {
                self.accepted += 1;
            }
        }
        Ok(())
    }

    /// A report of a receiver that lies.
    fn lie(&mut self, input: &mut Unstructured<'_>) -> Result<()> {
        let next = self.sender.counts().source as u32;
        let mut report = Report::new(
            input.arbitrary()?,
            whimbrel_repair::fecframe::Esi(next.wrapping_sub(input.int_in_range(0..=40)?)),
        );
        report.first = report.next.plus(input.int_in_range(0..=300_u32)?.wrapping_neg());
        let wanted: u64 = input.arbitrary()?;
        (0..64).filter(|i| wanted >> i & 1 == 1).for_each(|i| {
            report.want(report.first.plus(i));
        });
        (report.answer, report.arrivals) = (input.arbitrary()?, u128::from(input.arbitrary::<u64>()?));
        report.echo = input.arbitrary::<bool>()?.then(|| report.next.plus(u32::MAX));
        report.hold = Duration::from_micros(input.int_in_range(0..=400_000)?);
        report.lost = input.arbitrary()?;
        for _ in 0..input.int_in_range(1..=8)? {
            self.sender.on_report(self.now, &report);
        }
        Ok(())
    }
}

fn run(input: &mut Unstructured<'_>) -> Result<()> {
    let mut trial = Trial::new(input)?;
    for _ in 0..120 {
        trial.settle();
        if input.is_empty() {
            return Ok(());
        }
        match input.int_in_range(0..=15)? {
            0..=3 => trial.send(input)?,
            // Delivered in order.
            4..=6 => {
                for bytes in core::mem::take(&mut trial.to_receiver) {
                    let taken = trial.receiver.handle_packet(trial.now, &bytes);
                    assert!(taken.is_ok() || trial.is_forged, "{taken:?}: {bytes:02x?}");
                }
                for bytes in core::mem::take(&mut trial.to_sender) {
                    let _ = trial.sender.handle_packet(trial.now, &bytes);
                }
            }
            7 => drop(trial.to_receiver.pop_front()),
            8 => drop(trial.to_sender.pop_front()),
            9 => {
                let by = input.choose_index(trial.to_receiver.len().max(1))?;
                trial.to_receiver.rotate_left(by.min(trial.to_receiver.len()));
            }
            // Twice.
            10 => {
                let again = trial.to_receiver.front().cloned();
                trial.to_receiver.extend(again);
            }
            11 | 12 => trial.now += Duration::from_micros(input.int_in_range(0..=400_000)?),
            13 => trial.lie(input)?,
            // Changed, or made up.
            14 => {
                let mut bytes = trial.to_receiver.pop_front().unwrap_or_default();
                let place = input.choose_index(bytes.len().max(1))?;
                // The checksums of parts find a byte that was changed.
                trial.is_forged |= !trial.in_parts || bytes.is_empty();
                match bytes.get_mut(place) {
                    Some(byte) => *byte = input.arbitrary()?,
                    None => bytes = input.bytes(input.len().min(40))?.to_vec(),
                }
                let _ = trial.receiver.handle_packet(trial.now, &bytes);
                let _ = trial.sender.handle_packet(trial.now, &bytes);
            }
            _ => match input.int_in_range(0..=2)? {
                0 => trial
                    .receiver
                    .set_verdict([Cause::Radio, Cause::Congestion, Cause::Unknown][input.choose_index(3)?]),
                1 => trial.receiver.set_round_trip(Duration::from_micros(input.int_in_range(0..=1_000_000)?)),
                // A pause, up to longer than timestamps take to wrap.
                _ => trial.now += Duration::from_secs(input.int_in_range(0..=1_000)?),
            },
        }
    }
    Ok(())
}
