//! The course of a trial: its clock, its paths, its counts, and what it leaves.

use core::fmt::Write;

use whimbrel_units::Instant;
use whimbrel_wire::PacketType;

use crate::capture::{Capture, Direction, Passage};
use crate::path::{InFlightPacket, Leaving, Path, Treatment};
use crate::plan::Side;
use crate::tally::Tally;

/// The clock, the paths, the counts and the record of a trial, of any kind.
#[derive(Debug)]
pub(crate) struct Course {
    pub(crate) now: Instant,
    /// From the client, from the server.
    pub(crate) paths: Vec<[Path; 2]>,
    pub(crate) tally: Tally,
    /// A number that depends on every packet sent.
    pub(crate) digest: u64,
    /// Packets that were tampered with, and those with changed data that the receiver cannot detect.
    pub(crate) forged: u64,
    pub(crate) corrupted: u64,
    /// The ends find data that a path has changed, by checksums of their own.
    pub(crate) finds_damage: bool,
    /// The ends to which something has happened since they were drained.
    pub(crate) awake: [bool; 2],
    /// Events so far.
    pub(crate) steps: u64,
    /// Packets that each end has sent at the last instant at which it sent any.
    bursts: [(Instant, u64); 2],
    /// If requested: a capture with an interface for each host, path and direction; and a line for each
    /// packet, event and action.
    record: Option<(Capture, String)>,
}

impl Course {
    /// A trial that begins. `records`: keeps a capture and a log of it.
    pub(crate) fn new(now: Instant, records: bool, paths: Vec<[Path; 2]>) -> Self {
        let record = records.then(|| (Capture::new(paths.len()), String::new()));
        Self {
            now,
            paths,
            tally: Tally::default(),
            digest: 0,
            forged: 0,
            corrupted: 0,
            finds_damage: false,
            awake: [true; 2],
            steps: 0,
            bursts: [(Instant::ZERO, 0); 2],
            record,
        }
    }

    /// Something has happened to an end.
    pub(crate) fn wake(&mut self, side: Side) {
        self.awake[side as usize] = true;
    }

    /// An end sends one more packet. Returns the number that it has sent at this instant.
    pub(crate) fn count_burst(&mut self, side: Side) -> u64 {
        let burst = &mut self.bursts[side as usize];
        if burst.0 != self.now {
            *burst = (self.now, 0);
        }
        burst.1 += 1;
        burst.1
    }

    /// A packet leaves: its treatment by its path.
    pub(crate) fn offer(&mut self, from: Side, leaving: &Leaving) -> Treatment {
        let Leaving { source, destination, path, ref transmit, .. } = *leaving;
        let packet = &transmit.packet;
        let parts = [
            self.now.as_nanos(),
            from as u64 | (path as u64) << 1,
            packet.packet_type() as u64,
            packet.sequence.value(),
            packet.ack().map_or(0, |ack| ack.value()),
            packet.encoded_len() as u64,
        ];
        for part in parts {
            // FNV-1a, by words.
            self.digest = (self.digest ^ part).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
        }
        self.tally.count(match packet.packet_type() {
            PacketType::Request => "sent: Request",
            PacketType::Response => "sent: Response",
            PacketType::Data => "sent: Data",
            PacketType::Ack => "sent: Ack",
            PacketType::DataAck => "sent: DataAck",
            PacketType::CloseReq => "sent: CloseReq",
            PacketType::Close => "sent: Close",
            PacketType::Reset => "sent: Reset",
            PacketType::Sync => "sent: Sync",
            PacketType::SyncAck => "sent: SyncAck",
            PacketType::Listen => "sent: Listen",
        });
        let treatment =
            self.paths[path][from as usize].offer(self.now, source, destination, transmit, &mut self.tally);
        self.forged += u64::from(treatment.is_hostile);
        self.corrupted += u64::from(treatment.is_corrupt && (treatment.is_hostile || !self.finds_damage));
        let remark = treatment.remark;
        self.log(|| format!("from {from:?} to {destination} on path {path}, {remark:?}: {packet:?}"));
        if let Some((capture, _)) = &mut self.record {
            let at = Passage { side: from, path, way: Direction::Out };
            capture.packet(self.now, at, (source, destination), transmit.ecn, packet, remark);
        }
        treatment
    }

    /// A packet arrives.
    pub(crate) fn on_arrival(&mut self, to: Side, path: usize, arrived: &InFlightPacket) {
        let InFlightPacket { source, destination, meta, ref packet } = *arrived;
        self.tally.count("packets arrived");
        self.log(|| format!("to {to:?} from {source} on path {path}, {:?}: {packet:?}", meta.ecn));
        if let Some((capture, _)) = &mut self.record {
            let at = Passage { side: to, path, way: Direction::In };
            capture.packet(self.now, at, (source, destination), meta.ecn, packet, None);
        }
    }

    /// Arrival time of the next packet.
    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        self.paths.iter().flatten().filter_map(Path::next_arrival).min()
    }

    /// The next packet that has arrived on a path.
    pub(crate) fn take_arrived(&mut self, path: usize, from: Side) -> Option<InFlightPacket> {
        self.paths[path][from as usize].take_arrived(self.now)
    }

    /// Adds a line to the log.
    pub(crate) fn log(&mut self, line: impl FnOnce() -> String) {
        if let Some((_, log)) = &mut self.record {
            // Writing to a string cannot fail.
            let _ = writeln!(log, "{} {}", self.now, line());
        }
    }

    /// The capture file and the log.
    pub(crate) fn take_record(&mut self) -> Option<(Vec<u8>, String)> {
        self.record.take().map(|(mut capture, log)| (capture.take(), log))
    }
}
