//! Multipath connections (RFC 9897): any bytes as the data of the option; and two hosts with three paths, on
//! which packets are lost, repeated, delayed, changed, and replayed from any address.

use core::net::SocketAddr;

use arbitrary::{Result, Unstructured};
use whimbrel_inspect::names::option_description;
use whimbrel_proto::multipath::{
    MultipathConfig, MultipathEndpoint, Path, PathPriority, SchedulerKind, SubflowId,
};
use whimbrel_proto::{Config, ConnectionHandle, Datagram, EndpointConfig, EndpointEvent, ReceiveMeta};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::multipath::MultipathOption;
use whimbrel_wire::{DccpOption, OptionBytes, Packet, Payload};

/// The generic header of a Data packet with short sequence numbers.
const HEADER: [u8; 12] = [0x12, 0x34, 0x56, 0x78, 0, 0, 0, 0, 2 << 1, 0, 0, 9];
/// The most data of an option.
const LONGEST: usize = 253;
const PORT: u16 = 5_001;
/// Packets that an endpoint may send at one instant.
const MAX_BURST: usize = 400;
/// The most packets in flight.
const MAX_FLYING: usize = 100;
/// The most that a connection remembers: addresses, datasets and confirmations.
const MAX_REMEMBERED: usize = 512;

/// One input.
///
/// # Panics
///
/// If the code under test is wrong.
pub fn check(data: &[u8]) {
    check_option(data);
    // The end of the bytes is the end of the trial.
    let _ = run(&mut Unstructured::new(data));
}

fn check_option(data: &[u8]) {
    let data = &data[..data.len().min(LONGEST)];
    let mut bytes = [&HEADER[..], &[46, 2 + data.len() as u8], data].concat();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes[4] = (bytes.len() / 4) as u8;
    let packet = Packet::decode_slice(&bytes).expect("no option makes a packet invalid");
    let mut written = Vec::new();
    packet.encode(&mut written).expect("what was read can be written");
    assert_eq!(written, bytes, "options keep their bytes");
    let Some(option) = packet.options.first() else { return };
    assert!(!option_description(option).is_empty());
    let Some(read) = MultipathOption::parse(option) else {
        assert!(matches!(option, DccpOption::Unknown { kind: 46, .. }));
        return;
    };
    let again = DccpOption::from(read.clone());
    assert_eq!(again.encoded_len(), option.encoded_len());
    assert_eq!(
        MultipathOption::parse(&again),
        Some(read.clone()),
        "an option means the same when encoded again"
    );
    if let MultipathOption::Confirm(list) = read {
        assert!(list.iter().all(|(_, option)| MultipathOption::parse(&option).is_some()));
    }
}

/// A path, as the client sees it.
fn path(number: u8) -> Path {
    let local = SocketAddr::from(([10, 0, number % 3, 1], 0));
    Path { local, remote: SocketAddr::from(([192, 0, 2, 1], 0)) }
}

fn reversed(path: Path) -> Path {
    Path { local: path.remote, remote: path.local }
}

struct Net {
    now: Instant,
    hosts: [MultipathEndpoint; 2],
    handles: [Option<ConnectionHandle>; 2],
    /// The receiving host, its path, and the packet.
    flying: Vec<(usize, Path, Packet)>,
}

impl Net {
    fn drain(&mut self) {
        for host in 0..2 {
            let mut burst = 0;
            while let Some((path, transmit)) = self.hosts[host].poll_transmit(self.now) {
                burst += 1;
                assert!(burst < MAX_BURST, "a livelock at {}", self.now);
                assert!(transmit.packet.encode(&mut Vec::new()).is_ok());
                self.flying.push((1 - host, reversed(path), transmit.packet));
            }
            while let Some((handle, event)) = self.hosts[host].poll_event() {
                if let EndpointEvent::Accepted { .. } = event {
                    self.handles[host].get_or_insert(handle);
                }
            }
            let due = self.hosts[host].poll_timeout();
            assert!(due.is_none_or(|due| due > self.now), "drained at {}, to be woken at {due:?}", self.now);
            let connection = self.handles[host].and_then(|handle| self.hosts[host].connection(handle));
            if let Some(connection) = connection {
                let snapshot = connection.snapshot();
                assert!(snapshot.remembered <= MAX_REMEMBERED, "{snapshot:?}");
                assert!(snapshot.subflows.len() <= 4 * 8, "{} subflows", snapshot.subflows.len());
            }
        }
        self.flying.truncate(MAX_FLYING);
    }

    fn deliver(&mut self, (host, path, packet): (usize, Path, Packet)) {
        self.hosts[host].handle_packet(self.now, path, ReceiveMeta::default(), packet);
    }
}

fn run(input: &mut Unstructured<'_>) -> Result<()> {
    let settings = MultipathConfig::default().scheduler(*input.choose(&SchedulerKind::ALL)?);
    let mut config = Config::default();
    config.receive.reorder_delay = input.arbitrary::<bool>()?.then_some(Duration::from_millis(50));
    let limits = EndpointConfig::default();
    let now = Instant::from_secs(1_000);
    let mut server = MultipathEndpoint::with_entropy(limits, [1; 32]);
    server.listen(PORT, config.clone(), settings.clone()).expect("a valid configuration");
    let mut client = MultipathEndpoint::with_entropy(limits, [2; 32]);
    let connected = client.connect(now, path(0), PORT, config, settings).expect("a free port");
    let mut net = Net { now, hosts: [client, server], handles: [Some(connected), None], flying: Vec::new() };
    for _ in 0..300 {
        net.drain();
        if input.is_empty() {
            break;
        }
        step(input, &mut net, connected)?;
    }
    Ok(())
}

fn step(input: &mut Unstructured<'_>, net: &mut Net, connected: ConnectionHandle) -> Result<()> {
    let now = net.now;
    match input.int_in_range(0..=11)? {
        0..=4 if !net.flying.is_empty() => {
            let at = input.choose_index(net.flying.len())?;
            let packet = net.flying.remove(at);
            net.deliver(packet);
        }
        5 if !net.flying.is_empty() => drop(net.flying.remove(0)),
        // A copy, perhaps from another address or with a change.
        6 | 7 if !net.flying.is_empty() => {
            let at = input.choose_index(net.flying.len())?;
            let (host, mut way, mut packet) = net.flying[at].clone();
            if input.arbitrary()? {
                way = if host == 0 { path(input.arbitrary()?) } else { reversed(path(input.arbitrary()?)) };
            }
            tamper(input, &mut packet)?;
            net.deliver((host, way, packet));
        }
        8 => net.now += Duration::from_millis(input.int_in_range(0..=2_000)?),
        9 => {
            let due = [net.hosts[0].poll_timeout(), net.hosts[1].poll_timeout()];
            net.now = due.into_iter().flatten().min().unwrap_or(now).max(now);
            let now = net.now;
            net.hosts.iter_mut().for_each(|host| host.handle_timeout(now));
        }
        10 => {
            let _ = net.hosts[0].join(now, connected, path(input.arbitrary()?), None);
        }
        _ => {
            let host = usize::from(input.arbitrary::<bool>()?);
            let (choice, number) = (input.int_in_range(0..=7)?, input.arbitrary::<u8>()?);
            let Some(handle) = net.handles[host] else { return Ok(()) };
            let Some(connection) = net.hosts[host].connection_mut(handle) else { return Ok(()) };
            let subflow = SubflowId(u32::from(number % 4));
            match choice {
                0..=2 => {
                    let length = u32::from(number) * 4;
                    let _ = connection.send(now, Datagram::new(Payload::Opaque { length, tag: 1 }));
                }
                3 => drop(connection.set_priority(now, subflow, PathPriority::new(number))),
                4 => drop(connection.announce_address(now, [198, 51, 100, number].into(), None)),
                5 => drop(connection.remove_address(now, path(number).local.ip())),
                6 => drop(connection.close_subflow(now, subflow)),
                _ if number < 16 => connection.abort(now),
                _ if number < 64 => connection.close(now),
                _ => drop(connection.abandon_subflow(now, subflow)),
            }
            net.hosts[host].wake(handle);
        }
    }
    Ok(())
}

/// Changes a Multipath option, adds one, moves the packet in its sequence, or nothing.
fn tamper(input: &mut Unstructured<'_>, packet: &mut Packet) -> Result<()> {
    match input.int_in_range(0..=4)? {
        0 => packet.sequence = packet.sequence.add(input.int_in_range(1..=100)?),
        1 => {
            for option in &mut packet.options {
                if let DccpOption::Multipath(data) = option {
                    let mut changed = data.clone();
                    let at = input.choose_index(changed.len())?;
                    changed[at] ^= input.arbitrary::<u8>()?;
                    *option = decoded(&changed);
                }
            }
        }
        2 => packet.options.clear(),
        3 => {
            let length = input.int_in_range(1..=40)?;
            let option = decoded(input.bytes(length)?);
            packet.options.push(option);
        }
        _ => {}
    }
    Ok(())
}

/// An option 46 with these data, as decoding returns it.
fn decoded(data: &[u8]) -> DccpOption {
    let data = OptionBytes::from_slice(data);
    let option = DccpOption::Multipath(data.clone());
    if MultipathOption::parse(&option).is_some() { option } else { DccpOption::Unknown { kind: 46, data } }
}
