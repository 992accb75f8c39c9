//! A server without state of its clients: only the exact cookie that it made, from the address to which it
//! was sent, with the numbers of the handshake, opens a connection.

use core::net::SocketAddr;

use arbitrary::{Result, Unstructured};
use whimbrel_proto::endpoint::InitCookies;
use whimbrel_proto::{Config, Endpoint, EndpointConfig, ReceiveMeta};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{
    ChecksumCoverage, DccpOption, Kind, OptionBytes, Options, Packet, Payload, SeqNo, ServiceCode,
};

const CLIENT: u16 = 50_000;
const SERVER: u16 = 5_001;

/// One input.
///
/// # Panics
///
/// If the code under test is wrong.
pub fn check(data: &[u8]) {
    // Too few bytes are no trial.
    let _ = run(&mut Unstructured::new(data));
}

fn packet(kind: Kind, sequence: SeqNo, options: Options) -> Packet {
    Packet {
        source_port: CLIENT,
        destination_port: SERVER,
        ccval: 0,
        checksum_coverage: ChecksumCoverage::ALL,
        extended: true,
        sequence,
        kind,
        options,
        payload: Payload::EMPTY,
    }
}

fn run(input: &mut Unstructured<'_>) -> Result<()> {
    let mut now = Instant::from_secs(100);
    let here = SocketAddr::from(([10, 0, 0, 1], 6511));
    let limits = EndpointConfig::default().init_cookies(InitCookies::Always);
    let mut server = Endpoint::new(limits, 7);
    server.listen(SERVER, Config::default()).expect("the default configuration is valid");

    let sequence = SeqNo::new(input.arbitrary()?);
    let request = packet(Kind::Request { service_code: ServiceCode(0) }, sequence, Options::new());
    server.handle_packet(now, here, ReceiveMeta::default(), request);
    let (_, answer) = server.poll_transmit(now).expect("a Response");
    let ack = answer.packet.sequence;
    let is_cookie = |option: &DccpOption| match option {
        DccpOption::InitCookie(cookie) => Some(cookie.clone()),
        _ => None,
    };
    let cookie: OptionBytes = answer.packet.options.iter().find_map(is_cookie).expect("a cookie");
    assert!(server.is_empty(), "nothing is kept");

    // Other cookies, or this one with changes.
    let mut bytes = if input.ratio(1, 4)? { OptionBytes::new() } else { cookie.clone() };
    for _ in 0..input.int_in_range(0..=4)? {
        match input.int_in_range(0..=3)? {
            0 => bytes.truncate(input.int_in_range(0..=bytes.len())?),
            1 if bytes.len() < 250 => bytes.push(input.arbitrary()?),
            2 if !bytes.is_empty() => {
                let at = input.choose_index(bytes.len())?;
                bytes[at] ^= input.arbitrary::<u8>()?;
            }
            _ => {}
        }
    }
    let mut is_true = bytes == cookie;
    let mut reply = packet(Kind::Ack { ack }, sequence.next(), Options::new());
    let mut from = here;
    let change = input.int_in_range(0..=11)?;
    match change {
        0 => from.set_port(6512),
        1 => from = SocketAddr::from(([10, 0, 0, 2], 6511)),
        2 => reply.source_port ^= 1,
        3 => reply.kind = Kind::Ack { ack: ack.add(input.int_in_range(1..=1 << 40)?) },
        // Cookies expire.
        4 => now += Duration::from_secs(input.int_in_range(31..=1_000)?),
        // A cookie of another endpoint, or of this one before a restart.
        5 => {
            server = Endpoint::new(limits, 8);
            server.listen(SERVER, Config::default()).expect("the default configuration is valid");
        }
        _ => {}
    }
    is_true &= change > 5;
    reply.options.push(DccpOption::InitCookie(bytes));
    server.handle_packet(now, from, ReceiveMeta::default(), reply);
    assert_eq!(server.len(), usize::from(is_true), "only the true cookie opens a connection");
    let answers = core::iter::from_fn(|| server.poll_transmit(now)).take(10).count();
    assert!(answers < 10, "so many answers to one packet");
    Ok(())
}
