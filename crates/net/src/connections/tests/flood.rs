//! A flood of handshakes from one address, in simulated time.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use whimbrel_proto::{Config, Endpoint, EndpointConfig, ReceiveMeta};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::Packet;

use super::{Connections, PORT, address};
use crate::dtls::{Identity, Security, Trust};
use crate::layers::Above;
use crate::mailbox::Mailbox;

/// Handshakes of the flood in a second, and its round-trip time to the server.
const FLOOD: u64 = 875;
const NEAR: Duration = Duration::from_millis(10);
/// The round-trip times of the clients: a satellite's, and one in which the flood fills all places.
const FAR: [Duration; 2] = [Duration::from_millis(600), Duration::from_millis(1_300)];
/// The hosts; each further one is a client.
const SERVER: usize = 0;
const ATTACKER: usize = 1;
const FIRST_CLIENT: usize = 2;

fn above(security: &Security) -> Above {
    Above { security: Some(security.clone()), repair: None }
}

/// Hosts around a server, each on a path of its own.
struct World {
    now: Instant,
    hosts: Vec<Connections>,
    /// Packets on their way: when they arrive, and where from and to.
    packets: BTreeMap<(Instant, u64), (usize, usize, Packet)>,
    count: u64,
    /// Bytes of DCCP that the attacker has sent.
    attack: usize,
}

impl World {
    fn new(server: &Security) -> Self {
        let host = |seed| Connections::new(Endpoint::new(EndpointConfig::default(), seed), 8);
        let mut hosts: Vec<Connections> = (1..=(FIRST_CLIENT + FAR.len()) as u64).map(host).collect();
        hosts[SERVER].endpoint.listen(PORT, Config::default()).expect("a free port");
        hosts[SERVER].serve(PORT, Config::default().service_code, above(server));
        Self { now: Instant::from_secs(1), hosts, packets: BTreeMap::new(), count: 0, attack: 0 }
    }

    fn at(host: usize) -> SocketAddr {
        address(u8::try_from(host).expect("few hosts"))
    }

    fn connect(&mut self, host: usize, with: Above) -> Arc<Mailbox> {
        let server = Self::at(SERVER);
        let client = &mut self.hosts[host];
        let handle = client.endpoint.connect(self.now, server, PORT, Config::default()).expect("a free port");
        let mailbox = client.add_client(handle, server, with);
        self.poll(host);
        mailbox
    }

    /// Takes what a host sends.
    fn poll(&mut self, host: usize) {
        loop {
            self.hosts[host].deliver_events(self.now);
            let Some((to, transmit)) = self.hosts[host].endpoint.poll_transmit(self.now) else { return };
            let to = (SERVER..self.hosts.len()).find(|it| Self::at(*it) == to).expect("one of the hosts");
            if host == ATTACKER {
                self.attack += transmit.packet.encoded_len();
            }
            let rtt = FAR.get(host.max(to).wrapping_sub(FIRST_CLIENT)).copied().unwrap_or(NEAR);
            self.count += 1;
            self.packets.insert((self.now + rtt / 2, self.count), (host, to, transmit.packet));
        }
    }

    /// Time passes; the attacker sends nothing on its own.
    fn run_until(&mut self, end: Instant) {
        loop {
            let hosts = self.hosts.iter().enumerate().filter(|(host, _)| *host != ATTACKER);
            let timer = hosts.filter_map(|(_, host)| host.poll_timeout()).min();
            let packet = self.packets.first_key_value().map(|((at, _), _)| *at);
            let Some(next) = timer.into_iter().chain(packet).min().filter(|at| *at <= end) else { break };
            self.now = self.now.max(next);
            while let Some(first) = self.packets.first_entry().filter(|it| it.key().0 <= self.now) {
                let (from, to, packet) = first.remove();
                let meta = ReceiveMeta::default();
                self.hosts[to].endpoint.handle_packet(self.now, Self::at(from), meta, packet);
                self.poll(to);
            }
            for host in (SERVER..self.hosts.len()).filter(|host| *host != ATTACKER) {
                if self.hosts[host].poll_timeout().is_some_and(|at| at <= self.now) {
                    self.hosts[host].endpoint.handle_timeout(self.now);
                    self.hosts[host].handle_timeouts(self.now);
                    self.poll(host);
                }
            }
        }
        self.now = end;
    }

    fn flood_for(&mut self, seconds: u64) {
        for _ in 0..seconds * FLOOD {
            self.connect(ATTACKER, Above::default());
            self.run_until(self.now + Duration::from_secs(1) / FLOOD);
        }
    }
}

/// Less than a megabit per second completes DCCP's handshakes and fills the places for DTLS handshakes faster
/// than a distant client can complete one.
#[test]
fn a_flood_of_handshakes_from_one_address_keeps_no_distant_client_out() {
    let identity = || Identity::generate().expect("a key");
    let (client, server) = (identity(), identity());
    let pinned = Trust::Pinned(vec![server.fingerprint()]);
    let client = Security::new(client, pinned);
    let mut world = World::new(&Security::new(server, Trust::Any));
    world.flood_for(2);
    let [first, second] = [FIRST_CLIENT, FIRST_CLIENT + 1];
    let early = world.connect(first, above(&client));
    world.flood_for(1);
    let later = world.connect(second, above(&client));
    world.flood_for(5);
    let rate = world.attack as u64 * 8 / (2 + 1 + 5);
    assert!((600_000..800_000).contains(&rate), "the attack takes {rate} bit/s");
    for mailbox in [early, later] {
        let inbox = mailbox.inbox();
        assert!(inbox.is_open && inbox.unread.closed().is_none(), "{:?}", inbox.unread.end());
    }
    let accepted: Vec<_> = std::iter::from_fn(|| world.hosts[SERVER].claim()).collect();
    let accepted: Vec<_> = accepted.iter().map(|(_, mailbox)| mailbox.remote()).collect();
    assert_eq!(accepted, [World::at(first), World::at(second)]);
}
