//! LTE and NR: the machines of [`whimbrel_cell`] as a medium.
//!
//! The medium is an operator's network of base stations. Its first station is the gateway, the node behind
//! which the base stations stand, and the others are terminals: everything goes between the gateway and a
//! terminal, over the cell that serves the terminal. A handover therefore changes no route, and moves queues
//! within the medium. A packet leaves its station's queue at once and waits in the bearer of its terminal,
//! where limit, discard timer and marks are.

mod managed;

use whimbrel_cell::amc::lte::Direction;
use whimbrel_cell::cell::{Fate, LossCause};
use whimbrel_cell::handover::InvalidHandover;
use whimbrel_cell::network::{Change, Mobility, Network, NetworkConfig, NetworkEvent, TerminalConfig};
use whimbrel_cell::packet::{Packet, PacketId};
use whimbrel_cell::radio::{Metres, Place};
use whimbrel_cell::scheduler::UserIndex;
use whimbrel_units::{ByteCount, Instant};
use whimbrel_wifi::mobility::Path;

use self::managed::{ManagedBearer, packet_id, place_of};
use super::{Medium, MediumIo, MediumLoss, Observation, TakenPacket};
use crate::queue::{Discipline, DisciplineError};
use crate::random::RandomStreams;
use crate::{QueueLimit, StationIndex};

/// The station of the gateway.
const GATEWAY: StationIndex = StationIndex(0);

/// The paths of the terminals.
struct Walks {
    paths: Vec<Path>,
    /// Metres travelled at the beginning of each leg.
    travelled: Vec<Vec<f64>>,
}

impl Walks {
    fn new(paths: Vec<Path>) -> Self {
        let distances = |path: &Path| {
            let legs = path.legs();
            let mut sum = 0.0;
            let mut distances = vec![0.0];
            for (leg, next) in legs.iter().zip(&legs[1..]) {
                sum += leg.origin.distance(next.origin);
                distances.push(sum);
            }
            distances
        };
        Self { travelled: paths.iter().map(distances).collect(), paths }
    }
}

impl Mobility for Walks {
    fn place(&self, terminal: UserIndex, now: Instant) -> Place {
        let position = self.paths[terminal.0 as usize].position(now);
        Place { x: position.x, y: position.y }
    }

    fn travelled(&self, terminal: UserIndex, now: Instant) -> Metres {
        let path = &self.paths[terminal.0 as usize];
        let legs = path.legs();
        let number = legs.partition_point(|leg| leg.start <= now).max(1) - 1;
        let own = legs[number].origin.distance(path.position(now));
        Metres(self.travelled[terminal.0 as usize][number] + own)
    }
}

/// An operator's network: a gateway and terminals, which are added in the order of their paths.
pub struct CellularMedium {
    network: Network<Walks>,
    /// Packets in the network, by their numbers in it.
    frames: Vec<Option<TakenPacket>>,
    free: Vec<u32>,
    events: Vec<NetworkEvent>,
}

impl CellularMedium {
    /// The medium of these terminals and their paths.
    ///
    /// # Errors
    /// If a terminal is to be served by a cell that does not exist.
    pub fn new(
        config: NetworkConfig,
        terminals: &[TerminalConfig],
        paths: Vec<Path>,
    ) -> Result<Self, InvalidHandover> {
        let network = Network::new(config, terminals, Walks::new(paths))?;
        Ok(Self { network, frames: Vec::new(), free: Vec::new(), events: Vec::new() })
    }

    /// Everything that has happened to terminals so far, in the order of time.
    pub fn events(&self) -> &[NetworkEvent] {
        &self.events
    }

    /// Transport blocks that each cell has sent, with repetitions.
    pub fn blocks(&self) -> impl Iterator<Item = u64> + '_ {
        self.network.cells().iter().map(whimbrel_cell::Cell::blocks)
    }

    /// Groups of resource blocks that each cell has used in a direction.
    pub fn used(&self, direction: Direction) -> impl Iterator<Item = u64> + '_ {
        self.network.cells().iter().map(move |cell| cell.used(direction))
    }

    /// The paths of the terminals.
    pub fn paths(&self) -> &[Path] {
        &self.network.mobility().paths
    }

    /// Place of a terminal, in metres.
    pub fn place(&self, terminal: UserIndex, now: Instant) -> Place {
        self.network.mobility().place(terminal, now)
    }

    /// Bytes that wait in the bearer of a terminal.
    pub fn backlog(&self, terminal: UserIndex, direction: Direction) -> ByteCount {
        self.network.backlog(terminal, direction)
    }

    /// Has the queues of a terminal's bearers managed by a discipline, with this limit on what waits.
    ///
    /// # Errors
    /// If a parameter of the discipline is out of range.
    pub fn manage(
        &mut self,
        terminal: UserIndex,
        discipline: &Discipline,
        limit: QueueLimit,
        streams: RandomStreams,
    ) -> Result<(), DisciplineError> {
        for (direction, name) in [(Direction::Down, "downlink"), (Direction::Up, "uplink")] {
            let random = streams.stream(&format!("terminal {}", terminal.0), name);
            if let Some(built) = discipline.build(limit, random)? {
                self.network.manage(terminal, direction, Box::new(ManagedBearer::new(built)));
            }
        }
        Ok(())
    }

    fn insert(&mut self, frame: TakenPacket) -> PacketId {
        let place = self.free.pop().unwrap_or_else(|| {
            self.frames.push(None);
            self.frames.len() as u32 - 1
        });
        let id = packet_id(place, frame.flow.flow);
        self.frames[place as usize] = Some(frame);
        id
    }

    /// Reports what has come of packets and terminals.
    fn flush(&mut self, io: &mut MediumIo<'_>) {
        while let Some(outcome) = self.network.poll_outcome() {
            let place = place_of(outcome.packet.id) as usize;
            let Some(frame) = self.frames.get_mut(place).and_then(Option::take) else { continue };
            self.free.push(place as u32);
            let to = match outcome.direction {
                Direction::Up => GATEWAY,
                Direction::Down => StationIndex(outcome.user.0 + 1),
            };
            match outcome.fate {
                Fate::Delivered => io.deliver(TakenPacket { ecn: outcome.packet.ecn, ..frame }, to),
                Fate::Lost(cause) => io.lose(frame, loss(cause)),
            }
        }
        while let Some(event) = self.network.poll_event() {
            if let Change::Handover(change) = event.change {
                io.observe(StationIndex(event.terminal.0 + 1), Observation::Cell(change));
            }
            self.events.push(event);
        }
    }
}

const fn loss(cause: LossCause) -> MediumLoss {
    match cause {
        LossCause::Queue => MediumLoss::BearerQueue,
        LossCause::Discard => MediumLoss::Discard,
        LossCause::Harq => MediumLoss::Harq,
        LossCause::Rlc => MediumLoss::Rlc,
        LossCause::Order => MediumLoss::Order,
        LossCause::Handover => MediumLoss::Handover,
    }
}

impl Medium for CellularMedium {
    fn handle_backlog(&mut self, now: Instant, station: StationIndex, io: &mut MediumIo<'_>) {
        while let Some(frame) = io.take(station) {
            let (user, direction) = match (station, frame.receiver) {
                (GATEWAY, Some(receiver)) if receiver != GATEWAY => (receiver.0 - 1, Direction::Down),
                (GATEWAY, _) => {
                    io.lose(frame, MediumLoss::OutOfRange);
                    continue;
                }
                (terminal, _) => (terminal.0 - 1, Direction::Up),
            };
            let (size, ecn) = (ByteCount::new(u64::from(frame.size)), frame.ecn);
            let packet = Packet { id: self.insert(frame), size, ecn };
            self.network.handle_packet(now, UserIndex(user), direction, packet);
        }
        self.flush(io);
    }

    fn handle_timeout(&mut self, now: Instant, io: &mut MediumIo<'_>) {
        let mut now = now;
        loop {
            self.network.handle_timeout(now);
            self.flush(io);
            match self.network.poll_timeout() {
                Some(next) if io.advance(next) => now = next,
                _ => return,
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.network.poll_timeout()
    }

    fn reaches(&self, _: Instant, from: StationIndex, to: StationIndex) -> bool {
        (from == GATEWAY) != (to == GATEWAY)
    }
}
