//! Clients that move from address to address while packets are lost, repeated, delayed, changed and replayed
//! from any address: a server follows to addresses of the client, and to no others.

use core::net::SocketAddr;

use arbitrary::{Result, Unstructured};
use whimbrel_proto::{
    Config, ConnectionHandle, Datagram, Endpoint, EndpointConfig, EndpointEvent, MobilityConfig, PathChange,
    ReceiveMeta,
};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{DccpOption, Packet, Payload};

const PORT: u16 = 5_001;
/// Packets that an endpoint may send at one instant.
const MAX_BURST: usize = 300;
/// The most packets in flight.
const MAX_FLYING: usize = 100;

/// One input.
///
/// # Panics
///
/// If the code under test is wrong.
pub fn check(data: &[u8]) {
    // The end of the bytes is the end of the trial.
    let _ = run(&mut Unstructured::new(data));
}

/// Addresses that the client can have, and the addresses of an attacker.
fn client_at(place: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1 + place % 4], 6_511))
}

fn stranger_at(place: u8) -> SocketAddr {
    SocketAddr::from(([203, 0, 113, 1 + place % 4], 6_511))
}

fn server_at() -> SocketAddr {
    SocketAddr::from(([198, 51, 100, 1], 6_511))
}

struct Net {
    now: Instant,
    client: Endpoint,
    server: Endpoint,
    place: u8,
    /// `true` for packets to the server, the source address, and the packet.
    flying: Vec<(bool, SocketAddr, Packet)>,
    accepted: Option<ConnectionHandle>,
}

impl Net {
    fn drain(&mut self) {
        let here = client_at(self.place);
        for is_client in [true, false] {
            let mut burst = 0;
            loop {
                let endpoint = if is_client { &mut self.client } else { &mut self.server };
                let Some((to, transmit)) = endpoint.poll_transmit(self.now) else { break };
                burst += 1;
                assert!(burst < MAX_BURST, "a livelock at {}", self.now);
                assert!(transmit.packet.encode(&mut Vec::new()).is_ok());
                let arrives = if is_client { to == server_at() } else { to == here };
                if arrives {
                    let from = if is_client { here } else { server_at() };
                    self.flying.push((is_client, from, transmit.packet));
                }
            }
            let endpoint = if is_client { &mut self.client } else { &mut self.server };
            while let Some((handle, event)) = endpoint.poll_event() {
                if !is_client && matches!(event, EndpointEvent::Accepted { .. }) {
                    self.accepted = Some(handle);
                }
            }
            let due = endpoint.poll_timeout();
            assert!(due.is_none_or(|due| due > self.now), "drained at {}, to be woken at {due:?}", self.now);
        }
        self.flying.truncate(MAX_FLYING);
    }

    fn deliver(&mut self, (is_for_server, from, packet): (bool, SocketAddr, Packet)) {
        let endpoint = if is_for_server { &mut self.server } else { &mut self.client };
        endpoint.handle_packet(self.now, from, ReceiveMeta::default(), packet);
    }
}

fn change(input: &mut Unstructured<'_>) -> Result<PathChange> {
    Ok(*input.choose(&[PathChange::Keep, PathChange::Reset, PathChange::Restore])?)
}

fn run(input: &mut Unstructured<'_>) -> Result<()> {
    let mut configs = Vec::new();
    for _ in 0..2 {
        configs.push(Config::default().mobility(Some(MobilityConfig::default().on_move(change(input)?))));
    }
    let limits = EndpointConfig::default();
    let now = Instant::from_secs(1_000);
    let mut server = Endpoint::new(limits, 1);
    server.listen(PORT, configs[0].clone()).expect("the default configuration is valid");
    let mut client = Endpoint::new(limits, 2);
    let connected = client.connect(now, server_at(), PORT, configs[1].clone()).expect("a free port");
    let mut net = Net { now, client, server, place: 0, flying: Vec::new(), accepted: None };
    // The handshake is another target's.
    for _ in 0..6 {
        net.drain();
        for packet in core::mem::take(&mut net.flying) {
            net.deliver(packet);
        }
        net.now += Duration::from_millis(10);
    }
    let mut places = vec![client_at(0)];
    for _ in 0..300 {
        net.drain();
        if input.is_empty() {
            break;
        }
        match input.int_in_range(0..=11)? {
            0..=3 if !net.flying.is_empty() => {
                let at = input.choose_index(net.flying.len())?;
                let packet = net.flying.remove(at);
                net.deliver(packet);
            }
            4 if !net.flying.is_empty() => drop(net.flying.remove(0)),
            // A copy, perhaps with another address or a change.
            5 | 6 if !net.flying.is_empty() => {
                let at = input.choose_index(net.flying.len())?;
                let (is_for_server, mut from, mut packet) = net.flying[at].clone();
                if is_for_server && input.arbitrary()? {
                    from = stranger_at(input.arbitrary()?);
                }
                tamper(input, &mut packet)?;
                net.deliver((is_for_server, from, packet));
            }
            7 => net.now += Duration::from_millis(input.int_in_range(0..=2_000)?),
            8 => {
                let now = net.now;
                let due = [net.client.poll_timeout(), net.server.poll_timeout()];
                net.now = due.into_iter().flatten().min().unwrap_or(now).max(now);
                net.client.handle_timeout(net.now);
                net.server.handle_timeout(net.now);
            }
            9 => {
                let now = net.now;
                let (from_client, length) = (input.arbitrary()?, input.int_in_range(0..=1_200)?);
                let datagram = Datagram::new(Payload::Opaque { length, tag: 1 });
                if from_client {
                    let _ = net.client.send(now, connected, datagram);
                } else if let Some(handle) = net.accepted {
                    let _ = net.server.send(now, handle, datagram);
                }
            }
            _ => {
                net.place = input.arbitrary()?;
                places.push(client_at(net.place));
                let (now, is_known) = (net.now, input.arbitrary()?);
                let change = change(input)?;
                if let Some(connection) = net.client.connection_mut(connected).filter(|_| is_known) {
                    connection.path_changed(now, change);
                }
                net.client.wake(connected);
            }
        }
        if let Some(there) = net.accepted.and_then(|handle| net.server.remote(handle)) {
            assert!(places.contains(&there), "the server sends to {there}, where the client never was");
        }
    }
    Ok(())
}

/// Changes something that an authenticator covers, or nothing.
fn tamper(input: &mut Unstructured<'_>, packet: &mut Packet) -> Result<()> {
    match input.int_in_range(0..=3)? {
        0 => packet.sequence = packet.sequence.add(input.int_in_range(1..=100)?),
        1 => {
            for option in &mut packet.options {
                if let DccpOption::Mobility { data, .. } = option
                    && !data.is_empty()
                {
                    let at = input.choose_index(data.len())?;
                    data[at] ^= input.arbitrary::<u8>()?;
                }
            }
        }
        2 => packet.options.clear(),
        _ => {}
    }
    Ok(())
}
