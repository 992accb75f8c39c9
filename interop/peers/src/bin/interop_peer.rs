//! One end of a DCCP connection as IP protocol 33, on Whimbrel's sockets.
//!
//! Its counterpart on the kernel's sockets, interop/guest/peer.c, documents the arguments and prints the same
//! JSON. Two more arguments select the carrier: `tun=NAME` with `local=ADDRESS`, else a raw socket.
//! For a server ADDRESS is its own, for a client the server's.
//!
//! ```text
//! interop_peer server 10.45.0.2 5001 tun=tun0 ccid=3
//! interop_peer client 10.44.0.1 5001 tun=tun0 local=10.45.0.2 ccid=2 sends=1 count=100 closes=1
//! ```
#![cfg_attr(not(target_os = "linux"), allow(unused))]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use rustix::time::{ClockId, clock_gettime};
use tokio::time::{sleep, timeout};
use whimbrel_net::{
    Ccid, Config, ConnectionError, FreezeConfig, FreezeScope, Host, MobilityConfig, NetError, OverflowPolicy,
    SendQueueConfig, ServiceCode, Socket,
};
use whimbrel_proto::config::ReceiveConfig;

/// Seconds on the clock that the whole system shares.
fn now() -> f64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The arguments.
struct Options(BTreeMap<String, String>);

impl Options {
    fn text(&self, key: &str, default: &str) -> String {
        self.0.get(key).cloned().unwrap_or_else(|| default.to_owned())
    }

    fn number(&self, key: &str, default: f64) -> f64 {
        self.0.get(key).map_or(default, |value| value.parse().unwrap_or(default))
    }

    fn flag(&self, key: &str, default: bool) -> bool {
        self.number(key, f64::from(u8::from(default))) != 0.0
    }

    /// `true` if it offers features that the kernel does not have, and freezes in the middle.
    fn freezes(&self) -> bool {
        self.number("freezes", 0.0) > 0.0
    }

    fn config(&self) -> Config {
        let ccids: Vec<Ccid> =
            self.text("ccid", "2").split(',').filter_map(|n| n.parse().ok()).map(Ccid).collect();
        let reorder_delay = Some(whimbrel_net::Duration::from_secs_f64(self.number("orders", 0.0)));
        let receive = ReceiveConfig::default().reorder_delay(reorder_delay.filter(|delay| !delay.is_zero()));
        Config::default()
            .receive(receive)
            .service_code(ServiceCode(self.number("code", 42.0) as u32))
            .sender_ccids(ccids.as_slice())
            .receiver_ccids(ccids.as_slice())
            // As many as the counterpart's queue holds.
            .send_queue(SendQueueConfig::default().max_datagrams(20).overflow(OverflowPolicy::Refuse))
            .server_sends_close_request(!self.flag("timewait", false))
            .freeze(FreezeConfig::default().offer(self.freezes()))
            .mobility(self.freezes().then(MobilityConfig::default))
    }
}

/// Counts of datagrams.
#[derive(Default)]
struct Counts {
    sent: u64,
    received: u64,
    corrupt: u64,
    duplicates: u64,
    /// Datagrams that came after one that was sent later.
    disordered: u64,
    /// Measurements by tenths of the test, which show their spread.
    measured: [u64; 10],
    first: f64,
    last: f64,
    seen: Vec<bool>,
    tx: String,
    rx: String,
    syncs: u64,
}

/// The datagram numbered `n`: the number, then bytes that follow from it.
fn datagram(n: u32, size: usize) -> Bytes {
    let head = n.to_be_bytes();
    (0..size)
        .map(|i| head.get(i).copied().unwrap_or_else(|| (n * 31).wrapping_add(i as u32 * 7 + 13) as u8))
        .collect()
}

impl Counts {
    fn check(&mut self, payload: &[u8], options: &Options) {
        let time = now();
        if self.received == 0 {
            self.first = time;
        }
        self.received += 1;
        self.last = time;
        let start = self.first + options.number("warm", 0.0);
        let part = (time - start) / options.number("measure", 1e9) * self.measured.len() as f64;
        if let Some(part) = self.measured.get_mut(part as usize).filter(|_| part >= 0.0) {
            *part += payload.len() as u64;
        }
        let number = payload.first_chunk().map(|head| u32::from_be_bytes(*head));
        match number.filter(|n| datagram(*n, options.number("size", 500.0) as usize) == payload) {
            None => self.corrupt += 1,
            Some(number) => {
                let number = number as usize;
                self.disordered += u64::from(number < self.seen.len());
                if self.seen.len() <= number && number < 1 << 20 {
                    self.seen.resize(number + 1, false);
                }
                if let Some(seen) = self.seen.get_mut(number) {
                    self.duplicates += u64::from(std::mem::replace(seen, true));
                }
            }
        }
    }

    /// Records the state of both congestion controls.
    fn look(&mut self, socket: &Socket) {
        let Some(snapshot) = socket.snapshot() else { return };
        self.syncs = snapshot.statistics.syncs_sent;
        let rate = |rate: Option<whimbrel_net::DataRate>| {
            rate.map_or(0.0, |rate| rate.as_bits_per_second() / 8.0).min(1e12)
        };
        let seconds = |time: Option<whimbrel_net::Duration>| time.map_or(0.0, |time| time.as_secs_f64());
        let add = |list: &mut String, x: f64, x_recv: f64, p: Option<f64>, rtt: f64| {
            let comma = if list.is_empty() { "" } else { "," };
            let p = p.unwrap_or(0.0);
            let _ = write!(list, "{comma}[{:.3},{x:.0},{x_recv:.0},{p:.7},{rtt:.7}]", now());
        };
        let tx = &snapshot.sender;
        let rx = &snapshot.receiver;
        add(&mut self.tx, rate(tx.allowed_rate), rate(tx.receive_rate), tx.loss_event_rate, seconds(tx.rtt));
        add(&mut self.rx, 0.0, rate(rx.receive_rate), rx.loss_event_rate, seconds(rx.rtt));
    }
}

/// The end of a connection, in the terms of the counterpart if it has one.
fn ending(error: &NetError) -> (&'static str, String) {
    match error {
        NetError::Connection(ConnectionError::ClosedLocally) => ("closed", String::new()),
        NetError::Connection(ConnectionError::ClosedByPeer) => ("eof", String::new()),
        NetError::Connection(ConnectionError::Reset(reset)) => ("reset", format!("{:?}", reset.code)),
        NetError::Connection(ConnectionError::ResetLocally(reset)) => {
            ("reset locally", format!("{:?}", reset.code))
        }
        error => ("failed", error.to_string()),
    }
}

async fn transfer(
    socket: Rc<Socket>,
    options: Rc<Options>,
    counts: Rc<RefCell<Counts>>,
) -> (&'static str, String) {
    let (sends, echoes) = (options.flag("sends", false), options.flag("echo", false));
    let (seconds, count) = (options.number("seconds", 0.0), options.number("count", 0.0) as u64);
    let begin = now();
    let sending = async {
        let size = options.number("size", 500.0) as usize;
        while sends
            && (count == 0 || counts.borrow().sent < count)
            && (seconds == 0.0 || now() - begin < seconds)
        {
            let n = counts.borrow().sent as u32;
            if options.freezes() && u64::from(n) == count / 2 {
                socket.freeze(FreezeScope::Both);
                sleep(Duration::from_secs_f64(options.number("freezes", 0.0))).await;
                socket.unfreeze(FreezeScope::Both);
            }
            let left = if seconds == 0.0 { 1e6 } else { (begin + seconds - now()).max(0.0) };
            match timeout(Duration::from_secs_f64(left), socket.send(datagram(n, size))).await {
                Ok(Ok(_)) => counts.borrow_mut().sent += 1,
                Ok(Err(error)) => return Err(error),
                Err(_) => break,
            }
        }
        while !sends
            && ((seconds == 0.0 && (count == 0 || counts.borrow().received < count))
                || (seconds > 0.0 && now() - begin < seconds))
        {
            sleep(Duration::from_millis(10)).await;
        }
        // The echoing end and the end that counts echoes wait for the last of them.
        while sends
            && echoes
            && counts.borrow().received < count
            && now() - counts.borrow().last.max(begin) < 2.0
        {
            sleep(Duration::from_millis(10)).await;
        }
        if !options.flag("closes", false) {
            std::future::pending::<()>().await;
        }
        // Datagrams still queued here would leave right before the Close, and might be overtaken by it.
        while socket.snapshot().is_some_and(|snapshot| snapshot.queued_datagrams > 0) {
            sleep(Duration::from_millis(10)).await;
        }
        sleep(Duration::from_millis(300)).await;
        counts.borrow_mut().look(&socket);
        // The peer may have ended the connection otherwise: `recv` reports it.
        let _ = socket.close().await;
        Ok(())
    };
    let receiving = async {
        if !options.flag("reads", true) {
            std::future::pending::<()>().await;
        }
        loop {
            match socket.recv().await {
                Ok(datagram) => {
                    counts.borrow_mut().check(&datagram.payload, &options);
                    if echoes && !sends && socket.try_send(datagram.payload, None).is_ok() {
                        counts.borrow_mut().sent += 1;
                    }
                }
                Err(error) => return error,
            }
        }
    };
    let looking = async {
        loop {
            sleep(Duration::from_millis(200)).await;
            counts.borrow_mut().look(&socket);
        }
    };
    let both = async {
        tokio::select! {
            biased;
            error = receiving => error,
            result = sending => match result {
                Err(error) => error,
                // Closed: the event has the reason.
                Ok(()) => loop {
                    if let Err(error) = socket.recv().await {
                        break error;
                    }
                },
            },
        }
    };
    let error = tokio::select! {
        error = both => error,
        () = looking => unreachable!(),
        () = sleep(Duration::from_secs_f64(options.number("wait", 60.0))) => return ("timeout", String::new()),
    };
    ending(&error)
}

async fn run(role: &str, address: IpAddr, port: u16, options: Rc<Options>) -> Result<(), Box<dyn Error>> {
    let wait = Duration::from_secs_f64(options.number("wait", 60.0));
    let local = if role == "server" { address } else { options.text("local", "::").parse()? };
    let host = match options.0.get("tun") {
        Some(name) => Host::tun(name, &[local]).await?,
        None => Host::raw(local).await?,
    };
    let begin = now();
    let opened = if role == "server" {
        let listener = host.listen(port, options.config())?;
        eprintln!("listening");
        timeout(wait, listener.accept()).await
    } else {
        timeout(wait, host.connect(SocketAddr::new(address, 0), port, options.config())).await
    };
    let connect_ms = (now() - begin) * 1e3;
    let counts = Rc::new(RefCell::new(Counts::default()));
    let mut ccids = (-1, -1);
    let (end, error) = match opened {
        Err(_) => ("idle", String::new()),
        Ok(Err(error)) => ending(&error),
        Ok(Ok(socket)) => {
            if let Some(snapshot) = socket.snapshot() {
                ccids = (i32::from(snapshot.sender_ccid.0), i32::from(snapshot.receiver_ccid.0));
            }
            let end = transfer(Rc::new(socket), options.clone(), counts.clone()).await;
            // The last packets leave before the driver ends.
            sleep(Duration::from_millis(500)).await;
            end
        }
    };
    let c = counts.borrow();
    println!(
        "{{\"who\":\"whimbrel\",\"role\":\"{role}\",\"end\":\"{end}\",\"error\":\"{error}\",\
         \"connect_ms\":{connect_ms:.3},\"tx_ccid\":{},\"rx_ccid\":{},\"sent\":{},\"received\":{},\
         \"corrupt\":{},\"duplicates\":{},\"disordered\":{},\"measured\":{:?},\"first\":{:.6},\"last\":{:.6},\"syncs\":{},\
         \"tx\":[{}],\"rx\":[{}]}}",
        ccids.0,
        ccids.1,
        c.sent,
        c.received,
        c.corrupt,
        c.duplicates,
        c.disordered,
        c.measured,
        c.first,
        c.last,
        c.syncs,
        c.tx,
        c.rx,
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(role), Some(address), Some(port)) = (words.next(), words.next(), words.next()) else {
        return Err("interop_peer client|server ADDRESS PORT [key=value]...".into());
    };
    let options = words
        .map(|word| word.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())).ok_or(word))
        .collect::<Result<_, _>>()
        .map_err(|word| format!("{word}: expected key=value"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run(&role, address.parse()?, port.parse()?, Rc::new(Options(options))))
}
