//! Attackers against `whimbrel perf`, the built program: clients that aim its server at others or hold it,
//! and servers that hold a client.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::processes;
use processes::{Server, connect_from, finish, stderr, stdout, whimbrel};

/// A client's control connection, message by message.
struct Control(BufReader<TcpStream>);

impl Control {
    fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a time");
        Self(BufReader::new(stream))
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.0.get_mut(), "{message}").expect("it reads");
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("in time");
        serde_json::from_str(&line).unwrap_or(Value::Null)
    }

    /// The server's answer to the request of a test that it sends over UDP at 50 Mbit/s.
    fn request(port: u16, token: u64) -> (Self, Value) {
        Self::request_from([127, 0, 0, 1], port, token)
    }

    fn request_from(source: [u8; 4], port: u16, token: u64) -> (Self, Value) {
        let mut control = Self::new(connect_from(source, port));
        let plan = json!({ "token": token, "transport": "udp", "direction": "down", "streams": 1, "ccid": 3, "service_code": 0,
            "ecn": true, "loss_detection": "automatic", "reorder_s": null, "lda": null, "reorder_adapts": false,
            "deliver_late": false, "size": 1200, "rate_bps": 5e7, "time_s": 5.0, "interval_s": 1.0 });
        control.send(&json!({ "is": "hello", "version": 7, "plan": plan }));
        let answer = control.next();
        (control, answer)
    }
}

#[test]
fn a_client_that_holds_all_places_gives_one_up_to_another() {
    let server = Server::start(&["--max-tests", "2"]);
    let hog = [127, 0, 0, 9];
    let (_first, answer) = Control::request_from(hog, server.port, 1);
    assert_eq!(answer["is"], "welcome", "{answer}");
    let (_second, answer) = Control::request_from(hog, server.port, 2);
    assert_eq!(answer["is"], "welcome", "{answer}");
    let (_third, answer) = Control::request_from(hog, server.port, 3);
    assert_eq!(answer["is"], "refusal", "{answer}");
    // With --json, so that it is the built client that has a whole test.
    let at = format!("127.0.0.1:{}", server.port);
    let output = finish(
        whimbrel(&["perf", "client", &at, "--tcp", "--time", "0.2", "--json"]).spawn().expect("it starts"),
    );
    assert!(output.status.success(), "{output:?}");
    // A third address has none to take: each of the two others has one.
    let (_own, answer) = Control::request(server.port, 4);
    assert_eq!(answer["is"], "welcome", "{answer}");
    let (_other, answer) = Control::request_from([127, 0, 0, 8], server.port, 5);
    assert_eq!(answer["is"], "refusal", "{answer}");
}

/// A greeting of a UDP stream, with the nonce of the server.
fn greeting(token: u64, nonce: u64) -> Vec<u8> {
    let mut bytes = 0x57_48_49_4d_u32.to_be_bytes().to_vec();
    bytes.extend(token.to_be_bytes());
    bytes.extend([0, 0, 0, 1]);
    bytes.extend(0_u64.to_be_bytes());
    bytes.extend(nonce.to_be_bytes());
    bytes
}

fn received(socket: &UdpSocket, time: Duration) -> usize {
    socket.set_read_timeout(Some(time)).expect("a time");
    let mut buffer = [0; 2048];
    std::iter::from_fn(|| socket.recv(&mut buffer).ok()).sum()
}

#[test]
fn a_server_sends_nothing_to_an_address_that_has_not_asked_for_it() {
    let server = Server::start(&[]);
    let (_control, answer) = Control::request(server.port, 77);
    let port = answer["udp_ports"][0].as_u64().unwrap_or_else(|| panic!("{answer}")) as u16;
    // The source addresses of datagrams are easily forged: another host's, and the client's own.
    let (third, own) =
        (UdpSocket::bind("127.0.0.2:0").expect("bound"), UdpSocket::bind("127.0.0.1:0").expect("bound"));
    for _ in 0..5 {
        for victim in [&third, &own] {
            victim.send_to(&greeting(77, 0), ("127.0.0.1", port)).expect("sent");
        }
    }
    assert_eq!(received(&third, Duration::from_millis(500)), 0, "another host");
    let sent = 5 * greeting(77, 0).len();
    let answered = received(&own, Duration::from_millis(300));
    assert!((1..=sent).contains(&answered), "{answered} bytes for {sent}");
    // A client that has received the nonce repeats it, and gets its test.
    own.send_to(&greeting(77, 0), ("127.0.0.1", port)).expect("sent");
    let mut buffer = [0; 64];
    own.set_read_timeout(Some(Duration::from_secs(5))).expect("a time");
    own.recv(&mut buffer).expect("an answer");
    let nonce = u64::from_be_bytes(buffer[24..32].try_into().expect("eight bytes"));
    own.send_to(&greeting(77, nonce), ("127.0.0.1", port)).expect("sent");
    let mut data = [0; 2048];
    assert_eq!(own.recv(&mut data).expect("data"), 1200);
}

#[test]
fn a_server_has_a_place_for_so_many_tests_and_none_for_plain_ones_if_it_has_keys() {
    let server = Server::start(&["--max-tests", "1"]);
    let (_first, answer) = Control::request(server.port, 1);
    assert_eq!(answer["is"], "welcome", "{answer}");
    let (_second, answer) = Control::request(server.port, 2);
    assert!(answer["reason"].as_str().is_some_and(|text| text.contains("1 tests already")), "{answer}");
    drop(server);
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret");
    let file = secret.to_str().expect("text");
    assert!(whimbrel(&["key", "secret", "--file", file]).status().expect("it runs").success());
    let server = Server::start(&["--secret-file", file]);
    let (_control, answer) = Control::request(server.port, 3);
    assert!(answer["reason"].as_str().is_some_and(|text| text.contains("encrypted DCCP only")), "{answer}");
}

/// A server that welcomes a client of TCP and then does as told. Returns its address.
fn hostile(after: impl FnOnce(&mut Control) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("an address");
    thread::spawn(move || {
        let mut control = Control::new(listener.accept().expect("a client").0);
        control.next();
        after(&mut control);
        // The data connection stays open.
        let _data = listener.accept();
        thread::sleep(Duration::from_secs(30));
    });
    at
}

fn client(at: SocketAddr) -> (Option<i32>, String, String) {
    let output = finish(
        whimbrel(&["perf", "client", &at.to_string(), "--tcp", "--time", "0.2"]).spawn().expect("it starts"),
    );
    (output.status.code(), stdout(&output), stderr(&output))
}

#[test]
fn a_server_neither_commands_the_terminal_of_a_client_nor_fills_nor_keeps_it() {
    let at = hostile(|control| {
        control.send(&json!({ "is": "refusal", "reason": "\u{1b}]0;owned\u{7}\nwhimbrel: forged" }))
    });
    let (code, _, error) = client(at);
    assert_eq!(code, Some(1));
    assert!(
        !error.contains('\u{1b}') && error.contains("\\u001b]0;owned") && error.lines().count() == 1,
        "{error:?}"
    );

    let figures = json!({ "datagrams": 1, "bytes": 1, "lost": 0, "out_of_order": 0, "duplicates": 0, "ecn_marked": 0,
        "jitter_s": 0.0, "delay_variation_p50_s": 0.0, "delay_variation_p99_s": 0.0, "seconds": 0.1 });
    let sent = json!({ "datagrams": 0, "bytes": 0, "dropped": 0, "rtt_s": null, "loss_event_rate": null,
        "allowed_rate_bps": null, "cwnd": null, "seconds": 0.1 });
    let at = hostile(move |control| {
        control.send(&json!({ "is": "welcome", "udp_ports": [], "dccp_port": 0, "native": [] }));
        control.send(&json!({ "is": "start" }));
        let interval = json!({ "is": "interval", "received": figures, "sent": sent });
        for _ in 0..1000 {
            if writeln!(control.0.get_mut(), "{interval}").is_err() {
                return;
            }
        }
    });
    let (code, out, error) = client(at);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("more intervals than the test has") && out.lines().count() < 20, "{error} {out}");

    let at = hostile(|control| {
        control.send(&json!({ "is": "welcome", "udp_ports": [], "dccp_port": 0, "native": [] }));
        control.send(&json!({ "is": "start" }));
        let mut stream = control.0.get_ref().try_clone().expect("a descriptor");
        thread::spawn(move || {
            // Each message would renew a time limit of single messages.
            while writeln!(stream, "{}", json!({ "is": "sent" })).is_ok() {
                thread::sleep(Duration::from_millis(300));
            }
        });
    });
    let (code, _, error) = client(at);
    assert!(code == Some(1) && error.contains("the server does not report"), "{error}");
}
