//! Encryption and authentication of `whimbrel perf`, and `whimbrel key`, the built program.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::processes;
use processes::{Server, finish, number, stderr, stdout, whimbrel};

const SHORT: [&str; 4] = ["--time", "0.4", "--rate", "2M"];

/// The program with a home of its own.
fn at_home(home: &Path, arguments: &[&str]) -> Command {
    let mut command = whimbrel(arguments);
    command.env("XDG_CONFIG_HOME", home);
    command
}

fn run(home: &Path, arguments: &[&str]) -> Output {
    finish(at_home(home, arguments).spawn().expect("it starts"))
}

#[track_caller]
fn succeed(home: &Path, arguments: &[&str]) -> String {
    let output = run(home, arguments);
    assert!(output.status.success(), "{output:?}");
    stdout(&output).trim().to_owned()
}

#[track_caller]
fn fail(home: &Path, arguments: &[&str], code: i32) -> String {
    let output = run(home, arguments);
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    stderr(&output)
}

/// A client's arguments for a server on this host.
fn client<'a>(port: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    [&["perf", "client", "127.0.0.1", "--port", port, "--json"], options, &SHORT].concat()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

#[test]
fn a_shared_secret_encrypts_and_another_one_is_refused() {
    let home = TempDir::new().expect("a folder");
    let (ours, theirs) = (home.path().join("ours"), home.path().join("theirs"));
    for path in [&ours, &theirs] {
        succeed(home.path(), &["key", "secret", "--file", text(path)]);
    }
    let server = Server::start(&["--secret-file", text(&ours)]);
    let port = server.port.to_string();
    let record = succeed(home.path(), &client(&port, &["--secret-file", text(&ours)]));
    let record: serde_json::Value = serde_json::from_str(&record).expect("JSON");
    assert_eq!(record["plan"]["secured"], true);
    assert!(number(&record, "summary.up.goodput_bps") > 1e6, "{record}");
    assert_eq!(number(&record, "summary.up.lost"), 0.0);
    // Both ends count data, without the records' overhead: 1200 bytes each.
    let sent = |key: &str| number(&record, &format!("summary.up.sent.{key}"));
    assert!((sent("bytes") / sent("datagrams") - 1200.0).abs() < 1.0, "{record}");

    let error = fail(home.path(), &client(&port, &["--secret-file", text(&theirs)]), 1);
    assert!(error.contains("the secrets of the two ends differ"), "{error}");
    // Without the secret.
    let error = fail(home.path(), &client(&port, &[]), 1);
    assert!(error.contains("it serves encrypted tests only"), "{error}");
    let error = fail(home.path(), &client(&port, &["--insecure-plaintext"]), 1);
    assert!(error.contains("it serves encrypted tests only"), "{error}");
    // The kernel's transports are measured as they are, if the server permits that to everyone.
    let error = fail(home.path(), &client(&port, &["--tcp"]), 1);
    assert!(error.contains("it has keys and serves encrypted DCCP only"), "{error}");
    let server = Server::start(&["--secret-file", text(&ours), "--allow-kernel-transports"]);
    succeed(home.path(), &client(&server.port.to_string(), &["--tcp"]));
}

#[test]
fn keys_are_pinned_at_both_ends() {
    let home = TempDir::new().expect("a folder");
    let file = |name: &str| home.path().join(name);
    let make = |name: &str| succeed(home.path(), &["key", "generate", "--file", text(&file(name))]);
    let (server_key, client_key, stranger_key) =
        (make("server.pem"), make("client.pem"), make("stranger.pem"));
    assert_eq!(succeed(home.path(), &["key", "show", "--file", text(&file("client.pem"))]), client_key);
    fs::write(file("peers"), format!("# cameras\n{client_key} the one at the gate\n")).expect("written");

    let (key, peers) = (file("server.pem"), file("peers"));
    let server = Server::start(&["--key", text(&key), "--peers", text(&peers)]);
    let port = server.port.to_string();
    let connect = |key: &str, peer: &str| {
        let key = file(key);
        let options = ["--key", text(&key), "--peer-fingerprint", peer];
        run(home.path(), &client(&port, &options))
    };
    assert!(connect("client.pem", &server_key).status.success());
    let refused = stderr(&connect("stranger.pem", &server_key));
    assert!(refused.contains("has refused this end's key"), "{refused}");
    let refused = stderr(&connect("client.pem", &stranger_key));
    assert!(refused.contains(&server_key) && refused.contains("not trusted"), "{refused}");
}

#[test]
fn a_server_met_once_is_known() {
    let home = TempDir::new().expect("a folder");
    let client_key = succeed(home.path(), &["key", "generate"]);
    let server_home = TempDir::new().expect("a folder");
    let key = server_home.path().join("key.pem");
    let server_key = succeed(server_home.path(), &["key", "generate", "--file", text(&key)]);
    let server = Server::start(&["--key", text(&key), "--peer-fingerprint", &client_key]);
    let port = server.port.to_string();
    let output = run(home.path(), &client(&port, &["--trust-on-first-use"]));
    assert!(output.status.success() && stderr(&output).contains(&server_key), "{output:?}");
    assert_eq!(succeed(home.path(), &["key", "known"]), format!("127.0.0.1:{port} {server_key}"));
    let again = run(home.path(), &client(&port, &["--trust-on-first-use"]));
    assert!(again.status.success() && stderr(&again).is_empty(), "{again:?}");

    // Another key in its place is refused.
    let known = home.path().join("whimbrel/known_hosts");
    fs::write(&known, format!("127.0.0.1:{port} {client_key}\n")).expect("written");
    let error = fail(home.path(), &client(&port, &["--trust-on-first-use"]), 1);
    assert!(error.contains("not trusted"), "{error}");
    succeed(home.path(), &["key", "forget", &format!("127.0.0.1:{port}")]);
    assert_eq!(succeed(home.path(), &["key", "known"]), "");
    assert!(fail(home.path(), &["key", "forget", "127.0.0.1:1"], 1).contains("it is not known"));
}

#[test]
fn data_to_other_hosts_are_encrypted_unless_both_ends_renounce_it() {
    let home = TempDir::new().expect("a folder");
    // This host by an address that others use, too: as far as the program knows, another host.
    let own = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    });
    let Some(own) = own.ok().filter(|own| !own.ip().is_loopback()) else {
        eprintln!("left out: this host has no address but the loopback interface's");
        return;
    };
    let address = own.ip().to_string();
    let error = fail(home.path(), &["perf", "client", &address], 2);
    assert!(error.contains("would not be encrypted") && error.contains("--insecure-plaintext"), "{error}");

    // The server refuses, too: clients that ask for plaintext, and for encryption that it has no key for.
    let at = format!("{address}:0");
    let secret = home.path().join("secret");
    succeed(home.path(), &["key", "secret", "--file", text(&secret)]);
    for (option, wanted, refusal) in [
        (None, "--insecure-plaintext", "in plaintext to its own host only"),
        (None, "--secret-file", "it has no keys for encryption"),
        (Some("--insecure-plaintext"), "--insecure-plaintext", ""),
    ] {
        let mut server = at_home(home.path(), &["perf", "server", "--json", "--bind", &at]);
        let mut server = server.args(option).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(server.stdout.as_mut().expect("piped")).read_line(&mut line).expect("text");
        let ready: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let target = ready["listening"].as_str().expect("an address").to_owned();
        let mut arguments = vec!["perf", "client", &target, wanted];
        arguments.extend((wanted == "--secret-file").then_some(text(&secret)));
        let output = run(home.path(), &[&arguments[..], &SHORT].concat());
        let _ = server.kill();
        let _ = server.wait();
        assert_eq!(output.status.success(), refusal.is_empty(), "{output:?}");
        assert!(stderr(&output).contains(refusal), "{output:?}");
    }
}

#[test]
fn a_private_key_is_private_and_never_overwritten() {
    use std::os::unix::fs::PermissionsExt;
    let home = TempDir::new().expect("a folder");
    let file = home.path().join("folder/key.pem");
    let first = succeed(home.path(), &["key", "generate", "--file", text(&file), "--json"]);
    let first: serde_json::Value = serde_json::from_str(&first).expect("JSON");
    assert!(first["fingerprint"].as_str().is_some_and(|key| key.starts_with("SHA256:")), "{first}");
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    assert!(fail(home.path(), &["key", "generate", "--file", text(&file)], 1).contains("exists"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("mine");
    let error = fail(home.path(), &["key", "show", "--file", text(&file)], 1);
    assert!(error.contains("mode 640") && error.contains("chmod 600"), "{error}");

    let secret = home.path().join("secret");
    succeed(home.path(), &["key", "secret", "--file", text(&secret)]);
    assert_eq!((mode(&secret), fs::read_to_string(&secret).expect("there").len()), (0o600, 44));
    assert_ne!(succeed(home.path(), &["key", "secret"]), succeed(home.path(), &["key", "secret"]));
    fs::write(&secret, "hunter2").expect("mine");
    let error = fail(home.path(), &client("1", &["--secret-file", text(&secret)]), 1);
    assert!(error.contains("7 bytes") && error.contains("whimbrel key secret"), "{error}");
    assert!(fail(home.path(), &["perf", "client", "h", "--peer-fingerprint", "x"], 2).contains("SHA256:"));
}
