//! Measurements of connections.

use std::ffi::{c_char, c_int};

use whimbrel_net::multipath::{SubflowSnapshot, SubflowStage};
use whimbrel_net::{ConnectionSnapshot, RepairCounts};

use crate::failure::{Failure, WHIMBREL_AGAIN};
use crate::socket::{open, whimbrel_socket};
use crate::{failure, pointers};

/// Measurements of a connection. Over several paths, rates and counts are sums over all paths.
#[repr(C)]
pub struct whimbrel_stats {
    /// The rate at which congestion control lets this end send, in bit/s; NaN if it has none, or does not
    /// know it yet.
    pub allowed_rate: f64,
    /// The rate at which the peer receives, in bit/s; NaN if unknown.
    pub receive_rate: f64,
    /// The loss event rate of the data that this end sends, 0 to 1 (RFC 5348); NaN if unknown.
    pub loss_event_rate: f64,
    /// The round-trip time in nanoseconds; 0 if unknown.
    pub rtt_ns: u64,
    /// The largest datagram that can be sent now, in bytes.
    pub max_datagram: u64,
    /// Datagrams in the send queue.
    pub queued_datagrams: u64,
    /// Their bytes.
    pub queued_bytes: u64,
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Datagrams received.
    pub datagrams_received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Datagrams that were dropped instead of sent.
    pub datagrams_dropped: u64,
    /// Data packets of this end that were found lost.
    pub packets_lost: u64,
    /// Data packets of the peer that were found lost.
    pub packets_lost_here: u64,
    /// Received datagrams that were dropped because the application has not read them in time.
    pub receive_overflows: u64,
    /// Datagrams that the kernel dropped at this end's UDP socket, as they came faster than they were read or
    /// had a wrong checksum; connections of one listener share it. 0 on systems other than Linux.
    pub kernel_drops: u64,
    /// Received datagrams that were not authentic, and discarded.
    pub forgeries: u64,
    /// This end is frozen, by its application or by the peer.
    pub is_frozen: bool,
}

/// Reads the measurements of a connection.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_get_stats(
    socket: *const whimbrel_socket,
    stats: *mut whimbrel_stats,
) -> c_int {
    failure::number(|| {
        // SAFETY: the caller's promise.
        let (socket, stats) = unsafe { (open(socket)?, pointers::object_mut(stats, "stats")?) };
        let snapshot = socket.snapshot().ok_or_else(|| Failure::closed("the connection is over"))?;
        *stats = converted(&snapshot);
        stats.receive_overflows = socket.receive_overflows();
        stats.kernel_drops = socket.kernel_drops();
        stats.forgeries = socket.forgeries();
        Ok(0)
    })
}

/// Counters of repair (whimbrel_config_latency) since the start of the connection, in datagrams unless stated
/// otherwise.
#[repr(C)]
pub struct whimbrel_repair {
    /// Repeats that this end sent.
    pub repeats_sent: u64,
    /// Coded packets that this end sent.
    pub coded_sent: u64,
    /// Bytes of this end's datagrams, with repair's headers.
    pub data_bytes: u64,
    /// Bytes of the repeats, coded packets and reports that this end sent.
    pub repair_bytes: u64,
    /// Frames of this end that were dropped before they were sent, because they were late. A datagram of
    /// whimbrel_send is a frame.
    pub frames_dropped: u64,
    /// Frames of this end of which no repeat could arrive in time: the latency is below the round-trip time.
    pub without_round: u64,
    /// Frames of this end for which no choice of repeats and coded packets is enough.
    pub out_of_reach: u64,
    /// Repeats and coded packets that were not sent, because they exceeded their share of the data.
    pub over_share: u64,
    /// Reports of the peer on what it misses.
    pub reports: u64,
    /// Datagrams of the peer that repeats brought in time.
    pub repeated: u64,
    /// Datagrams of the peer that coded packets restored in time.
    pub restored: u64,
    /// Datagrams of the peer that were not repaired in time, and given up.
    pub given_up: u64,
    /// Datagrams of the peer that arrived after they were given up.
    pub late: u64,
    /// Datagrams of the peer delivered before their time, because the window was full.
    pub hurried: u64,
    /// The age up to which this end sends a datagram, in nanoseconds: the latency less the queueing delay of
    /// the path.
    pub budget_ns: u64,
}

/// Reads the counters of repair. Returns 0, or WHIMBREL_AGAIN if the ends have not agreed on repair.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_get_repair(
    socket: *const whimbrel_socket,
    repair: *mut whimbrel_repair,
) -> c_int {
    failure::number(|| {
        // SAFETY: the caller's promise.
        let (socket, repair) = unsafe { (open(socket)?, pointers::object_mut(repair, "repair")?) };
        match socket.repair() {
            Some(counts) => *repair = converted_repair(counts),
            None if socket.snapshot().is_some() => return Ok(WHIMBREL_AGAIN),
            None => return Err(Failure::closed("the connection is over")),
        }
        Ok(0)
    })
}

fn converted_repair(RepairCounts { sent, received, budget, .. }: RepairCounts) -> whimbrel_repair {
    whimbrel_repair {
        repeats_sent: sent.repeats,
        coded_sent: sent.parity + sent.surplus,
        data_bytes: sent.source_bytes,
        repair_bytes: sent.repair_bytes + received.report_bytes,
        frames_dropped: sent.dropped_frames,
        without_round: sent.without_round,
        out_of_reach: sent.out_of_reach,
        over_share: sent.over_share,
        reports: sent.reports,
        repeated: received.repeated,
        restored: received.restored,
        given_up: received.lost,
        late: received.late,
        hurried: received.hurried,
        budget_ns: budget.as_nanos(),
    }
}

/// The handshake of a path is under way.
pub const WHIMBREL_PATH_JOINING: c_int = 1;
/// A path carries data.
pub const WHIMBREL_PATH_UP: c_int = 2;
/// A path does not answer.
pub const WHIMBREL_PATH_FAILED: c_int = 3;
/// A path is closed, or being closed.
pub const WHIMBREL_PATH_ENDED: c_int = 4;

/// Room for an address as text, with the zero behind it.
pub const WHIMBREL_ADDRESS_TEXT: usize = 64;

/// A path of a connection over several.
#[repr(C)]
pub struct whimbrel_path {
    /// Its number, by which events and datagrams name it.
    pub number: u32,
    /// A WHIMBREL_PATH_ constant.
    pub state: c_int,
    /// This end's address, such as "192.0.2.10:6511".
    pub local: [c_char; WHIMBREL_ADDRESS_TEXT],
    /// The peer's address.
    pub remote: [c_char; WHIMBREL_ADDRESS_TEXT],
    /// Its measurements.
    pub stats: whimbrel_stats,
}

/// Reads the state of a path, those from 0 on in turn. Returns 0, or WHIMBREL_AGAIN if there are no more; a
/// connection over one path has none.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_get_path(
    socket: *const whimbrel_socket,
    index: usize,
    path: *mut whimbrel_path,
) -> c_int {
    failure::number(|| {
        // SAFETY: the caller's promise.
        let (socket, path) = unsafe { (open(socket)?, pointers::object_mut(path, "path")?) };
        let subflows = socket.paths().map(|paths| paths.subflows).unwrap_or_default();
        let Some(subflow) = subflows.get(index) else { return Ok(WHIMBREL_AGAIN) };
        *path = converted_path(subflow);
        Ok(0)
    })
}

fn converted_path(subflow: &SubflowSnapshot) -> whimbrel_path {
    let text = |address: std::net::SocketAddr| {
        let mut text = [0; WHIMBREL_ADDRESS_TEXT];
        // An address is shorter: the last zero stays.
        for (to, from) in text[..WHIMBREL_ADDRESS_TEXT - 1].iter_mut().zip(address.to_string().bytes()) {
            *to = from as c_char;
        }
        text
    };
    whimbrel_path {
        number: subflow.id.0,
        state: match (subflow.stage, subflow.is_alive) {
            (SubflowStage::Joining, _) => WHIMBREL_PATH_JOINING,
            (SubflowStage::Established, true) => WHIMBREL_PATH_UP,
            (SubflowStage::Established, false) => WHIMBREL_PATH_FAILED,
            _ => WHIMBREL_PATH_ENDED,
        },
        local: text(subflow.path.local),
        remote: text(subflow.path.remote),
        stats: converted(&subflow.connection),
    }
}

fn converted(snapshot: &ConnectionSnapshot) -> whimbrel_stats {
    let (sender, statistics) = (&snapshot.sender, &snapshot.statistics);
    let rate = |rate: Option<whimbrel_net::DataRate>| rate.map_or(f64::NAN, |rate| rate.as_bits_per_second());
    whimbrel_stats {
        allowed_rate: rate(sender.allowed_rate),
        receive_rate: rate(sender.receive_rate),
        loss_event_rate: sender.loss_event_rate.unwrap_or(f64::NAN),
        rtt_ns: sender.rtt.or(snapshot.rtt).map_or(0, |rtt| rtt.as_nanos()),
        max_datagram: snapshot.max_datagram as u64,
        queued_datagrams: snapshot.queued_datagrams as u64,
        queued_bytes: snapshot.queued_bytes as u64,
        datagrams_sent: statistics.datagrams_sent,
        bytes_sent: statistics.bytes_sent,
        datagrams_received: statistics.datagrams_received,
        bytes_received: statistics.bytes_received,
        datagrams_dropped: statistics.datagrams_dropped,
        packets_lost: sender.lost,
        packets_lost_here: snapshot.receiver.lost,
        receive_overflows: 0,
        kernel_drops: 0,
        forgeries: 0,
        is_frozen: snapshot.freeze.local || snapshot.freeze.by_peer,
    }
}
