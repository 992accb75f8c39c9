//! One end of an MP-DCCP connection as IP protocol 33, on Whimbrel's stack behind a TUN device.
//!
//! Its counterpart on the sockets of the Linux kernels with MP-DCCP is interop/guest/multipath.c.
//!
//! ```text
//! interop_multipath server 5001 tun=tun0 local=10.45.1.2,10.45.2.2
//! interop_multipath client 5001 tun=tun0 local=10.45.1.2,10.45.2.2 peer=10.44.1.1 at=0.3:join:1 at=2:close
//! ```
//!
//! `local` lists the addresses behind the device. `dialect` is `2024` (the default) or `rfc`; `key` the key
//! type, 0 or 255; `count`, `size`, `interval` and `after` describe the datagrams that this end sends, as for
//! the counterpart; `ccid` and `wait` are as there. `at=S:COMMAND` gives a command S seconds after the
//! handshake:
//!
//! | command | meaning |
//! |---|---|
//! | `join:N` | a subflow from the local address number N |
//! | `follow:N` | a subflow from the local address number N to the address that the peer announced last |
//! | `announce:N` | announces that address |
//! | `remove:N` | withdraws that address |
//! | `priority:N:P` | sets the priority of subflow N |
//! | `end:N` | closes subflow N alone |
//! | `close` | closes the connection |
//! | `abort` | ends it at once |
//!
//! Prints the events as text, and a line of JSON at the end.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("interop_multipath: needs Linux");
}

#[cfg(target_os = "linux")]
mod linux {
    use std::error::Error;
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};

    use bytes::Bytes;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::time::{ClockId, clock_gettime};
    use tun_rs::{DeviceBuilder, SyncDevice};
    use whimbrel_net::multipath::{
        Dialect, KeyType, MultipathConfig, MultipathEvent, Path, PathPriority, SchedulerKind, SubflowId,
    };
    use whimbrel_net::{Ccid, Config, ConnectionError, Duration, EndpointConfig, ServiceCode};
    use whimbrel_proto::multipath::MultipathEndpoint;
    use whimbrel_proto::{ConnectionHandle, Datagram, EndpointEvent, ReceiveMeta};
    use whimbrel_units::Instant;
    use whimbrel_wire::checksum::{PROTOCOL, PseudoHeader, internet_checksum};
    use whimbrel_wire::{Ecn, Packet};

    const IP_HEADER: usize = 20;
    /// Time for the last packets after the end.
    const LINGER: Duration = Duration::from_secs(1);

    fn now() -> Instant {
        let time = clock_gettime(ClockId::Monotonic);
        Instant::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }

    /// The arguments.
    struct Options(Vec<(String, String)>);

    impl Options {
        fn get(&self, key: &str) -> Option<&str> {
            self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
        }

        fn number(&self, key: &str, default: f64) -> Result<f64, Box<dyn Error>> {
            let parsed = self.get(key).map(str::parse).transpose();
            Ok(parsed.map_err(|_| format!("{key}: expected a number"))?.unwrap_or(default))
        }

        fn seconds(&self, key: &str, default: f64) -> Result<Duration, Box<dyn Error>> {
            self.number(key, default).map(Duration::from_secs_f64)
        }

        fn addresses(&self, key: &str) -> Result<Vec<Ipv4Addr>, Box<dyn Error>> {
            let list = self.get(key).ok_or_else(|| format!("{key}= is missing"))?;
            list.split(',')
                .map(|one| one.parse().map_err(|_| format!("{one}: expected an IPv4 address").into()))
                .collect()
        }

        /// The commands with their times, the earliest first.
        fn commands(&self) -> Result<Vec<(Duration, String)>, Box<dyn Error>> {
            let mut commands = Vec::new();
            for (_, value) in self.0.iter().filter(|(name, _)| name == "at") {
                let (time, command) = value.split_once(':').ok_or("at=: expected S:COMMAND")?;
                commands.push((Duration::from_secs_f64(time.parse()?), command.to_owned()));
            }
            commands.sort();
            Ok(commands)
        }

        fn config(&self) -> Result<Config, Box<dyn Error>> {
            let ccids = [Ccid(self.number("ccid", 2.0)? as u8)];
            let code = ServiceCode(self.number("code", 42.0)? as u32);
            Ok(Config::default()
                .service_code(code)
                .sender_ccids(ccids.as_slice())
                .receiver_ccids(ccids.as_slice()))
        }

        fn settings(&self) -> Result<MultipathConfig, Box<dyn Error>> {
            let dialect = match self.get("dialect").unwrap_or("2024") {
                "2024" => Dialect::Draft2024,
                "rfc" => Dialect::Rfc9897,
                other => return Err(format!("dialect={other}: expected 2024 or rfc").into()),
            };
            let key_type = match self.number("key", 0.0)? as u8 {
                0 => KeyType::PlainText,
                _ => KeyType::Experimental,
            };
            // Equal shares, so that data use all paths.
            let settings = MultipathConfig::default().dialect(dialect).scheduler(SchedulerKind::Weighted);
            Ok(settings.key_types(vec![key_type]))
        }
    }

    /// The datagram numbered `n`: the number, then bytes that follow from it.
    fn datagram(n: u32, size: usize) -> Bytes {
        let head = n.to_be_bytes();
        (0..size)
            .map(|i| head.get(i).copied().unwrap_or_else(|| (n * 31).wrapping_add(i as u32 * 7 + 13) as u8))
            .collect()
    }

    struct End {
        endpoint: MultipathEndpoint,
        device: SyncDevice,
        locals: Vec<Ipv4Addr>,
        handle: Option<ConnectionHandle>,
        established: Option<Instant>,
        error: Option<ConnectionError>,
        begin: Instant,
        size: usize,
        sent: u32,
        received: u32,
        corrupt: u32,
        empty: u32,
        seen: Vec<bool>,
        /// The address that the peer announced last.
        announced: Option<IpAddr>,
        /// Number of signals that the peer had not confirmed, and of repeated packets, before the end.
        before_end: [u64; 2],
        is_multipath: bool,
        /// Number of datagrams received on each subflow, and of those sent.
        by_subflow: Vec<[u32; 2]>,
    }

    impl End {
        fn send(&self, path: Path, packet: &Packet, ecn: Ecn) -> Result<(), Box<dyn Error>> {
            let (IpAddr::V4(from), IpAddr::V4(to)) = (path.local.ip(), path.remote.ip()) else {
                return Ok(());
            };
            let mut out = vec![0x45, ecn as u8];
            out.extend(((IP_HEADER + packet.encoded_len()) as u16).to_be_bytes());
            out.extend([0, 0, 0x40, 0, 64, PROTOCOL, 0, 0]);
            out.extend(from.octets());
            out.extend(to.octets());
            let checksum = internet_checksum(&out);
            out[10..12].copy_from_slice(&checksum.to_be_bytes());
            packet.encode_with_checksum(&PseudoHeader::v4(from, to), &mut out)?;
            self.device.send(&out)?;
            Ok(())
        }

        /// Passes the packets of the device to the endpoint.
        fn receive(&mut self) {
            let mut buffer = [0; 4096];
            while let Ok(length) = self.device.recv(&mut buffer) {
                let ip = &buffer[..length];
                if length < IP_HEADER || ip[0] >> 4 != 4 || ip[9] != PROTOCOL {
                    continue;
                }
                let address =
                    |at: usize| Ipv4Addr::from(<[u8; 4]>::try_from(&ip[at..at + 4]).unwrap_or_default());
                let (from, to) = (address(12), address(16));
                let body = &ip[usize::from(ip[0] & 15) * 4..];
                let Ok(packet) = Packet::decode(&Bytes::copy_from_slice(body)) else {
                    println!("{} undecodable {body:02x?}", self.time());
                    continue;
                };
                let path =
                    Path { local: SocketAddr::new(to.into(), 0), remote: SocketAddr::new(from.into(), 0) };
                let meta = ReceiveMeta { ecn: Ecn::from_bits(ip[1]), arrival: None };
                self.endpoint.handle_packet(now(), path, meta, packet);
            }
        }

        fn time(&self) -> String {
            format!("{:.3}", (now() - self.begin).as_secs_f64())
        }

        fn count(&mut self, subflow: SubflowId, way: usize) {
            let place = subflow.0 as usize;
            if self.by_subflow.len() <= place {
                self.by_subflow.resize(place + 1, [0, 0]);
            }
            self.by_subflow[place][way] += 1;
        }

        fn check(&mut self, payload: &[u8]) {
            if payload.is_empty() {
                self.empty += 1;
                return;
            }
            self.received += 1;
            let number = payload.first_chunk().map(|head| u32::from_be_bytes(*head));
            match number.filter(|n| *n < 1 << 16 && datagram(*n, self.size) == payload) {
                None => self.corrupt += 1,
                Some(number) => {
                    let number = number as usize;
                    if self.seen.len() <= number {
                        self.seen.resize(number + 1, false);
                    }
                    self.seen[number] = true;
                }
            }
        }

        fn on_event(&mut self, handle: ConnectionHandle, event: EndpointEvent<Path, MultipathEvent>) {
            let time = self.time();
            match event {
                EndpointEvent::Accepted { from: path, .. } => {
                    println!("{time} accepted {path:?}");
                    self.handle = Some(handle);
                }
                EndpointEvent::Connection(event) => match event {
                    MultipathEvent::Datagram { payload, subflow, .. } => {
                        self.check(&payload.to_bytes());
                        self.count(subflow, 0);
                    }
                    MultipathEvent::DatagramSent { subflow, .. } => self.count(subflow, 1),
                    event => {
                        println!("{time} {event:?}");
                        match event {
                            MultipathEvent::Established { .. } => self.established = Some(now()),
                            MultipathEvent::Closed(error) => self.error = Some(error),
                            MultipathEvent::AddressAdded { address, .. } => self.announced = Some(address),
                            _ => {}
                        }
                    }
                },
                _ => {}
            }
        }

        fn command(&mut self, command: &str) -> Result<(), Box<dyn Error>> {
            let words: Vec<&str> = command.split(':').collect();
            let number = |at: usize| -> Result<u32, Box<dyn Error>> {
                Ok(words.get(at).ok_or_else(|| format!("{command}: a number is missing"))?.parse()?)
            };
            let Some(handle) = self.handle else { return Ok(()) };
            let local = |end: &Self| -> Result<IpAddr, Box<dyn Error>> {
                Ok((*end.locals.get(number(1)? as usize).ok_or("no such address")?).into())
            };
            println!("{} {command}", self.time());
            let time = now();
            if matches!(words[0], "join" | "follow") {
                let Some(remote) = self.endpoint.connection(handle).and_then(|it| it.subflows().next())
                else {
                    return Ok(());
                };
                let mut path = Path { local: SocketAddr::new(local(self)?, 0), remote: remote.1.remote };
                if words[0] == "follow" {
                    path.remote.set_ip(self.announced.ok_or("no address was announced")?);
                }
                let joined = self.endpoint.join(time, handle, path, None);
                println!("{} join: {joined:?}", self.time());
                return Ok(());
            }
            let address = matches!(words[0], "announce" | "remove").then(|| local(self)).transpose()?;
            let Some(connection) = self.endpoint.connection_mut(handle) else { return Ok(()) };
            match (words[0], address) {
                ("announce", Some(address)) => {
                    connection.announce_address(time, address, None)?;
                }
                ("remove", Some(address)) => {
                    connection.remove_address(time, address);
                }
                ("priority", _) => {
                    connection.set_priority(time, SubflowId(number(1)?), PathPriority::new(number(2)? as u8));
                }
                ("end", _) => {
                    connection.close_subflow(time, SubflowId(number(1)?));
                }
                ("close", _) => connection.close(time),
                ("abort", _) => connection.abort(time),
                _ => return Err(format!("{command}: unknown command").into()),
            }
            self.endpoint.wake(handle);
            Ok(())
        }

        /// Sends and reports what is due.
        fn pump(&mut self) -> Result<(), Box<dyn Error>> {
            self.endpoint.handle_timeout(now());
            while let Some((path, transmit)) = self.endpoint.poll_transmit(now()) {
                self.send(path, &transmit.packet, transmit.ecn)?;
            }
            while let Some((handle, event)) = self.endpoint.poll_event() {
                self.on_event(handle, event);
            }
            Ok(())
        }

        /// Records the state before the end.
        fn observe(&mut self) {
            let connection = self.handle.and_then(|handle| self.endpoint.connection(handle));
            if let Some(connection) = connection.filter(|_| self.error.is_none()) {
                let snapshot = connection.snapshot();
                self.is_multipath = snapshot.is_multipath;
                self.before_end = [snapshot.unconfirmed_signals as u64, snapshot.duplicates];
            }
        }

        fn report(&self, role: &str) {
            let [unconfirmed, duplicates] = self.before_end;
            let end = match (self.established, self.error) {
                (None, _) => "idle",
                (_, None) => "timeout",
                (_, Some(ConnectionError::ClosedLocally | ConnectionError::AbortedLocally)) => "closed",
                (_, Some(ConnectionError::ClosedByPeer)) => "eof",
                _ => "reset",
            };
            let error = self.error.map(|error| error.to_string()).unwrap_or_default();
            println!(
                "{{\"who\":\"whimbrel\",\"role\":\"{role}\",\"multipath\":{},\"end\":\"{end}\",\"error\":{error:?},\"sent\":{},\"received\":{},\
                 \"corrupt\":{},\"empty\":{},\"distinct\":{},\"by_subflow\":{:?},\"duplicates\":{duplicates},\
                 \"unconfirmed\":{unconfirmed}}}",
                self.is_multipath,
                self.sent,
                self.received,
                self.corrupt,
                self.empty,
                self.seen.iter().filter(|seen| **seen).count(),
                self.by_subflow,
            );
        }
    }

    fn run(role: &str, port: u16, options: &Options) -> Result<(), Box<dyn Error>> {
        let device = DeviceBuilder::new()
            .name(options.get("tun").ok_or("tun= is missing")?)
            .inherit_enable_state()
            .build_sync()?;
        device.set_nonblocking(true)?;
        // Sequence numbers and keys are the same in each run.
        let mut secret = [7; 32];
        secret[0] = options.number("seed", 1.0)? as u8;
        let (interval, after) = (options.seconds("interval", 0.02)?, options.seconds("after", 0.0)?);
        let (wait, count) = (options.seconds("wait", 20.0)?, options.number("count", 0.0)? as u32);
        let mut commands = options.commands()?;
        let mut end = End {
            endpoint: MultipathEndpoint::with_entropy(EndpointConfig::default(), secret),
            device,
            locals: options.addresses("local")?,
            handle: None,
            established: None,
            error: None,
            begin: now(),
            size: options.number("size", 500.0)? as usize,
            sent: 0,
            received: 0,
            corrupt: 0,
            empty: 0,
            seen: Vec::new(),
            announced: None,
            before_end: [0; 2],
            is_multipath: false,
            by_subflow: Vec::new(),
        };
        if role == "server" {
            end.endpoint.listen(port, options.config()?, options.settings()?)?;
            eprintln!("listening");
        } else {
            let local = SocketAddr::new(end.locals[0].into(), 0);
            let peer = *options.addresses("peer")?.first().ok_or("peer= is missing")?;
            let path = Path { local, remote: SocketAddr::new(peer.into(), 0) };
            end.handle =
                Some(end.endpoint.connect(now(), path, port, options.config()?, options.settings()?)?);
        }
        let (mut ended, mut next) = (None, None);
        while now() < end.begin + wait && ended.is_none_or(|at| now() < at + LINGER) {
            end.receive();
            end.pump()?;
            if let Some(established) = end.established.filter(|_| end.error.is_none()) {
                let next = next.get_or_insert(established + after);
                while end.sent < count && now() >= *next {
                    let payload = datagram(end.sent, end.size);
                    let handle = end.handle.ok_or("no connection")?;
                    if let Some(connection) = end.endpoint.connection_mut(handle)
                        && connection.send(now(), Datagram::new(payload)).is_ok()
                    {
                        end.sent += 1;
                    }
                    end.endpoint.wake(handle);
                    *next += interval;
                }
                while let Some((at, command)) = commands.first().filter(|(at, _)| now() >= established + *at)
                {
                    let _ = at;
                    let command = command.clone();
                    commands.remove(0);
                    end.command(&command)?;
                }
                end.pump()?;
                end.observe();
            }
            if end.error.is_some() && ended.is_none() {
                ended = Some(now());
            }
            let due = end
                .endpoint
                .poll_timeout()
                .map_or(Duration::from_millis(5), |due| due.saturating_since(now()));
            let time = Timespec { tv_sec: 0, tv_nsec: due.min(Duration::from_millis(5)).as_nanos() as _ };
            poll(&mut [PollFd::new(&end.device, PollFlags::IN)], Some(&time))?;
        }
        end.report(role);
        Ok(())
    }

    pub(super) fn main() -> Result<(), Box<dyn Error>> {
        let mut words = std::env::args().skip(1);
        let (Some(role), Some(port)) = (words.next(), words.next()) else {
            return Err("interop_multipath client|server PORT [key=value]...".into());
        };
        let options = words
            .map(|word| {
                word.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())).ok_or(word)
            })
            .collect::<Result<_, _>>()
            .map_err(|word| format!("{word}: expected key=value"))?;
        run(&role, port.parse()?, &Options(options))
    }
}
