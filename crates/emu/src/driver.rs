//! The loop that passes packets between devices and the simulated network.
//!
//! One turn of the loop handles the events that are due, writes the packets that have arrived, waits until a
//! packet is there or the next event is due, and reads. There is one thread. A packet enters the network at
//! the time at which it was read. Packets that have left it lend their memory to the next ones, so that a
//! packet costs no allocation.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use whimbrel_lab::emulation::{Arrival, BoxedPacket};
use whimbrel_lab::runner::{Emulation, Refusal};
use whimbrel_units::{Duration, Instant};

use crate::clock::Clock;
use crate::lateness::Lateness;
use crate::namespace::Switch;
use crate::readiness::Readiness;
use crate::tun::{Pool, Read, Tun};

/// Packets read from a device before the events that have become due are handled.
const BATCH: usize = 64;

/// Settings of the loop.
#[derive(Clone, Copy, Debug)]
pub struct DriverConfig {
    /// The longest packet.
    pub mtu: u32,
    /// The time before an event in which the loop does not sleep: sleeping is off by some tens of
    /// microseconds.
    pub spin: Duration,
    /// Packets in the network at which no more are read, which bounds the memory.
    pub most_packets: usize,
}

/// Counters in addition to the network's.
#[derive(Clone, Debug, Default)]
pub struct DriverCounters {
    /// Packets of programs that were not for the network, by reason.
    pub refused: BTreeMap<Refusal, u64>,
    /// Packets that the kernel did not take, as a device was down.
    pub not_taken: u64,
    /// Turns in which no packet was read, as too many were in the network.
    pub full: u64,
}

/// A device that is up while its end has a link.
#[derive(Debug)]
struct Followed {
    end: usize,
    switch: Switch,
    is_up: bool,
}

/// The devices, the network and the clock.
pub struct Driver<'a> {
    emulation: Emulation<'a>,
    devices: Vec<Tun>,
    readiness: Readiness,
    clock: Clock,
    config: DriverConfig,
    arrived: VecDeque<Arrival>,
    /// Packets that were read, and packets that are being written as one.
    batch: Vec<BoxedPacket>,
    pool: Pool,
    /// Lateness of the events of the network.
    events: Lateness,
    /// Lateness of the packets written to devices, of several written as one the first, since their arrival
    /// in the network.
    deliveries: Lateness,
    counters: DriverCounters,
    /// The switches of devices that follow the links of their ends.
    switches: Vec<Followed>,
}

impl<'a> Driver<'a> {
    /// Starts the clock of the network; the devices are in the order of its ends.
    ///
    /// # Errors
    /// The system refuses to watch them.
    pub(crate) fn start(
        emulation: Emulation<'a>,
        devices: Vec<Tun>,
        config: DriverConfig,
    ) -> io::Result<Self> {
        let readiness = Readiness::of(devices.iter().map(|device| device.file().as_fd()))?;
        Ok(Self {
            emulation,
            devices,
            readiness,
            clock: Clock::start(),
            config,
            arrived: VecDeque::new(),
            batch: Vec::new(),
            pool: Pool::default(),
            events: Lateness::default(),
            deliveries: Lateness::default(),
            counters: DriverCounters::default(),
            switches: Vec::new(),
        })
    }

    /// From now on, the devices with these switches, by the numbers of their ends, are up while a link of
    /// their nodes is.
    pub(crate) fn follow_links(&mut self, switches: Vec<(usize, Switch)>) {
        self.switches =
            switches.into_iter().map(|(end, switch)| Followed { end, switch, is_up: true }).collect();
    }

    /// Sets the switches.
    fn set_switches(&mut self) -> io::Result<()> {
        for Followed { end, switch, is_up } in &mut self.switches {
            let now = self.emulation.has_link(*end);
            if std::mem::replace(is_up, now) != now {
                switch.set(now)?;
            }
        }
        Ok(())
    }

    /// The network.
    pub fn emulation(&self) -> &Emulation<'a> {
        &self.emulation
    }

    /// The network, for captures.
    pub fn emulation_mut(&mut self) -> &mut Emulation<'a> {
        &mut self.emulation
    }

    /// The present time.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// The lateness of events, and of packets that left the network.
    pub fn lateness(&mut self) -> [&mut Lateness; 2] {
        [&mut self.events, &mut self.deliveries]
    }

    /// The counters.
    pub fn counters(&self) -> &DriverCounters {
        &self.counters
    }

    /// The network, when the clock has stopped.
    pub(crate) fn into_emulation(self) -> Emulation<'a> {
        self.emulation
    }

    /// One turn. It ends at `until` at the latest, or when `other` is readable; returns `true` in that case.
    ///
    /// # Errors
    /// A device fails.
    pub fn turn(&mut self, until: Instant, other: BorrowedFd<'_>) -> io::Result<bool> {
        self.advance();
        self.set_switches()?;
        self.deliver()?;
        let is_full = self.emulation.run().simulator().packets_in_network() >= self.config.most_packets;
        self.counters.full += u64::from(is_full);
        let next = self.emulation.next_event_at().min(until);
        let now = self.clock.now();
        let wait =
            if next <= now + self.config.spin { Duration::ZERO } else { next - now - self.config.spin };
        let is_over = self.readiness.wait(wait, !is_full, other)?;
        while let Some(end) = self.readiness.next() {
            self.read(end)?;
        }
        Ok(is_over)
    }

    /// Handles the events that are due.
    fn advance(&mut self) {
        let (clock, events) = (self.clock, &mut self.events);
        self.emulation.advance(clock.now(), |due| events.record(due, clock.now()));
    }

    /// Writes the packets that have arrived.
    fn deliver(&mut self) -> io::Result<()> {
        self.emulation.receive(&mut self.arrived, &mut self.pool.packets);
        while let Some(Arrival { end, at, mut packet }) = self.arrived.pop_front() {
            let device = &mut self.devices[end as usize];
            let following = self.arrived.iter().take_while(|arrival| arrival.end == end);
            let run = std::iter::once(&*packet).chain(following.map(|arrival| &*arrival.packet));
            let others = device.run(run) - 1;
            self.batch.extend(self.arrived.drain(..others).map(|arrival| arrival.packet));
            let is_taken = device.write(&mut packet, &self.batch)?;
            self.counters.not_taken += if is_taken { 0 } else { others as u64 + 1 };
            self.deliveries.record(at, self.clock.now());
            self.pool.put(packet);
            self.pool.packets.append(&mut self.batch);
        }
        Ok(())
    }

    /// Reads packets from a device into the network.
    fn read(&mut self, end: usize) -> io::Result<()> {
        let mut count = 0;
        while count < BATCH {
            match self.devices[end].read(&mut self.pool, &mut self.batch)? {
                Read::Nothing => break,
                Read::Packets => {}
                Read::Malformed => *self.counters.refused.entry(Refusal::Malformed).or_default() += 1,
            }
            self.advance();
            count += self.batch.len().max(1);
            for packet in self.batch.drain(..) {
                if let Err((refusal, packet)) = self.emulation.send(end, packet) {
                    *self.counters.refused.entry(refusal).or_default() += 1;
                    self.pool.put(packet);
                }
            }
        }
        Ok(())
    }
}
