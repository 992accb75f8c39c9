//! Encrypts datagrams of 1,200 bytes, and decrypts them at the other end. Prints their number, and a profiler
//! gives the cost:
//!
//! ```text
//! cargo build --release -p whimbrel-dtls --example records
//! valgrind --tool=callgrind target/release/examples/records datagrams 20000
//! ```

use whimbrel_dtls::{Session, SessionEvent, simulated};
use whimbrel_proto::Role;
use whimbrel_units::{Duration, Instant};

const SIZE: usize = 1_200;

fn main() {
    let number = std::env::args().nth(2).and_then(|text| text.parse().ok()).unwrap_or(1_000_000_u32);
    let (now, rtt) = (Instant::from_secs(1), Some(Duration::from_millis(50)));
    let [client, server] = simulated([1, 2]);
    let mut client = Session::new(now, Role::Client, client, rtt);
    let mut server = Session::new(now, Role::Server, server, rtt);
    loop {
        let (up, down) = (client.poll_transmit(), server.poll_transmit());
        if up.is_none() && down.is_none() {
            break;
        }
        up.into_iter().for_each(|datagram| server.handle_datagram(now, &datagram));
        down.into_iter().for_each(|datagram| client.handle_datagram(now, &datagram));
    }
    while server.poll_event().is_some() {}
    let data = [9; SIZE];
    let mut opened = 0;
    for _ in 0..number {
        let record = client.seal(now, &data).expect("the session is established");
        server.handle_datagram(now, &record);
        while let Some(event) = server.poll_event() {
            opened += u32::from(matches!(event, SessionEvent::Datagram(_)));
        }
    }
    println!("datagrams\n{opened}");
}
