use std::net::SocketAddr;

use whimbrel_proto::{Config, Endpoint, EndpointConfig, ReceiveMeta};
use whimbrel_units::Instant;

use super::{Connections, MAX_WAITING};
use crate::layers::Above;

#[cfg(feature = "dtls")]
mod flood;

const NOW: Instant = Instant::from_secs(9);
const PORT: u16 = 5_001;

fn address(host: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, host], 6_511))
}

/// Passes packets between a client and a server until none are left.
fn run(client: &mut Endpoint, server: &mut Connections) {
    loop {
        let mut is_quiet = true;
        while let Some((_, transmit)) = client.poll_transmit(NOW) {
            server.endpoint.handle_packet(NOW, address(1), ReceiveMeta::default(), transmit.packet);
            is_quiet = false;
        }
        server.deliver_events(NOW);
        while let Some((_, transmit)) = server.endpoint.poll_transmit(NOW) {
            client.handle_packet(NOW, address(2), ReceiveMeta::default(), transmit.packet);
        }
        while client.poll_event().is_some() {}
        if is_quiet {
            return;
        }
    }
}

#[test]
fn connections_that_end_before_the_application_accepts_them_do_not_pile_up() {
    let limits = EndpointConfig::default();
    let (mut client, endpoint) = (Endpoint::new(limits, 1), Endpoint::new(limits, 2));
    let mut server: Connections = Connections::new(endpoint, 8);
    server.endpoint.listen(PORT, Config::default()).expect("a free port");
    server.serve(PORT, Config::default().service_code, Above::default());
    let mut connect = |server: &mut Connections, is_aborted: bool| {
        let handle = client.connect(NOW, address(2), PORT, Config::default()).expect("a free port");
        run(&mut client, server);
        if is_aborted {
            client.abort(NOW, handle);
            run(&mut client, server);
        }
    };
    connect(&mut server, false);
    (0..MAX_WAITING + 50).for_each(|_| connect(&mut server, true));
    connect(&mut server, false);
    let waiting: Vec<_> = std::iter::from_fn(|| server.claim()).collect();
    assert_eq!(waiting.len(), MAX_WAITING);
    let is_open = |place: usize| waiting[place].1.inbox().unread.closed().is_none();
    assert!(is_open(0) && is_open(MAX_WAITING - 1), "those that are open are kept");
    assert!((1..MAX_WAITING - 1).all(|place| !is_open(place)));
}
