//! A host behind a TUN device that sends invalid DCCP packets, to record the reaction of Linux.
//!
//! ```text
//! interop_probe client 10.44.0.1 5001 tun=tun0 local=10.45.0.2 sends=option
//! ```
//!
//! `sends` is one of `option` (a Request with a Timestamp option of a wrong length), `mandatory` (a Request
//! with a Mandatory Change of an unknown feature), and, as a server, `ack` (an Ack in answer to a Request).
//! Prints the Reset that comes back as JSON, in the form of interop_peer.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("interop_probe: needs Linux");
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;
    use std::error::Error;
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use bytes::Bytes;
    use tun_rs::{DeviceBuilder, SyncDevice};
    use whimbrel_wire::checksum::{PROTOCOL, PseudoHeader, fill, internet_checksum};
    use whimbrel_wire::{Kind, Packet, PacketType};

    /// The probe's DCCP port when it is the client.
    const CLIENT_PORT: u16 = 40_000;
    const IP_HEADER: usize = 20;
    /// Timestamp, one byte instead of four.
    const SHORT_TIMESTAMP: &[u8] = &[41, 3, 0];
    /// Mandatory, Change L(feature 100, 1).
    const MANDATORY_UNKNOWN: &[u8] = &[1, 32, 4, 100, 1];

    /// A packet from the DCCP header on, its checksum still zero.
    fn packet(ports: (u16, u16), kind: PacketType, sequence: u64, ack: Option<u64>, rest: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(ports.0.to_be_bytes());
        out.extend(ports.1.to_be_bytes());
        out.extend([0, 0, 0, 0, (kind as u8) << 1 | 1, 0]);
        out.extend(&sequence.to_be_bytes()[2..]);
        if let Some(ack) = ack {
            out.extend(ack.to_be_bytes());
        }
        out.extend(rest);
        out.resize(out.len().next_multiple_of(4), 0);
        out[4] = (out.len() / 4) as u8;
        out
    }

    fn send(device: &SyncDevice, from: Ipv4Addr, to: Ipv4Addr, mut packet: Vec<u8>) -> std::io::Result<()> {
        fill(&mut packet, &PseudoHeader::v4(from, to));
        let mut out = vec![0x45, 0];
        out.extend(((IP_HEADER + packet.len()) as u16).to_be_bytes());
        out.extend([0, 0, 0x40, 0, 64, PROTOCOL, 0, 0]);
        out.extend(from.octets());
        out.extend(to.octets());
        let checksum = internet_checksum(&out);
        out[10..12].copy_from_slice(&checksum.to_be_bytes());
        out.extend(packet);
        device.send(&out).map(drop)
    }

    /// The next DCCP packet that arrives.
    fn receive(device: &SyncDevice) -> Result<Packet, Box<dyn Error>> {
        let mut buffer = [0; 2048];
        loop {
            let length = device.recv(&mut buffer)?;
            if buffer[0] == 0x45 && buffer[9] == PROTOCOL {
                return Ok(Packet::decode(&Bytes::copy_from_slice(&buffer[IP_HEADER..length]))?);
            }
        }
    }

    fn report(role: &str, end: &str, error: &str) {
        println!(
            "{{\"who\":\"probe\",\"role\":\"{role}\",\"end\":\"{end}\",\"error\":\"{error}\",\
             \"corrupt\":0,\"duplicates\":0}}"
        );
    }

    pub(super) fn main() -> Result<(), Box<dyn Error>> {
        let mut words = std::env::args().skip(1);
        let role = words.next().unwrap_or_default();
        let (Some(address), Some(port)) = (words.next(), words.next()) else {
            return Err("interop_probe client|server ADDRESS PORT tun=NAME local=ADDRESS sends=WHAT".into());
        };
        let port: u16 = port.parse()?;
        let options: BTreeMap<String, String> = words
            .filter_map(|word| word.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())))
            .collect();
        let option = |key: &str| options.get(key).ok_or_else(|| format!("{key}= is missing"));
        let local: Ipv4Addr = option("local")?.parse()?;
        let what = option("sends")?.as_str();
        let wait = options.get("wait").map_or(Ok(3.0), |wait| wait.parse())?;
        let device = DeviceBuilder::new().name(option("tun")?).inherit_enable_state().build_sync()?;
        let waiting = role.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs_f64(wait));
            report(&waiting, "timeout", "");
            std::process::exit(0);
        });
        let code = 42u32.to_be_bytes();
        if role == "client" {
            let extra = if what == "option" { SHORT_TIMESTAMP } else { MANDATORY_UNKNOWN };
            let rest = [&code, extra].concat();
            let request = packet((CLIENT_PORT, port), PacketType::Request, 1000, None, &rest);
            send(&device, local, address.parse()?, request)?;
        } else {
            eprintln!("listening");
            let request = receive(&device)?;
            let ports = (request.destination_port, request.source_port);
            let ack = packet(ports, PacketType::Ack, 1000, Some(request.sequence.value()), &[]);
            send(&device, local, options.get("peer").ok_or("peer= is missing")?.parse()?, ack)?;
        }
        let answer = receive(&device)?;
        match answer.kind {
            Kind::Reset { reset, .. } => report(&role, "reset", &format!("{:?}", reset.code)),
            _ => report(&role, "answer", &format!("{:?}", answer.packet_type())),
        }
        Ok(())
    }
}
