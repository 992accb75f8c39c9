//! The examples in C are compiled and exchange a file.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

#[path = "examples/repair.rs"]
mod repair;

/// The folder with the libraries that belong to this test.
fn libraries() -> PathBuf {
    let program = std::env::current_exe().expect("a path");
    program.parent().expect("a folder").to_owned()
}

/// Copies the examples, and compiles them with the shared library.
fn compile_examples(to: &Path) {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/c");
    for file in ["Makefile", "send.c", "receive.c", "rtp.c"] {
        std::fs::copy(examples.join(file), to.join(file)).expect("an example");
    }
    compile(to, &shared(), &["all"]);
}

fn compile(to: &Path, libraries: &str, targets: &[&str]) {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let made = Command::new("make")
        .args(["-f", "Makefile", "-C"])
        .arg(to)
        .env("WHIMBREL_CFLAGS", format!("-I{}", include.display()))
        .args(targets)
        .env("WHIMBREL_LIBS", libraries)
        .output()
        .expect("make and a C compiler");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// The shared library of this test.
fn shared() -> String {
    format!("-L{0} -lwhimbrel -Wl,-rpath,{0}", libraries().display())
}

/// Compiles a program with the library.
fn build_program(folder: &Path, name: &str, source: &str, libraries: &str) -> PathBuf {
    std::fs::write(folder.join(format!("{name}.c")), source).expect("a file");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/c");
    std::fs::copy(examples.join("Makefile"), folder.join("Makefile")).expect("an example");
    compile(folder, libraries, &[name]);
    folder.join(name)
}

/// Runs a program under valgrind. Access outside of its memory fails the program, and so do leaks.
fn under_valgrind(program: &Path) -> Command {
    if Command::new("valgrind").arg("--version").output().is_err() {
        assert_ne!(std::env::var("REQUIRE_ALL").as_deref(), Ok("1"), "valgrind is missing");
        eprintln!("without valgrind, which is missing");
        return Command::new(program);
    }
    let mut command = Command::new("valgrind");
    command.args([
        "--quiet",
        "--error-exitcode=99",
        "--leak-check=full",
        "--errors-for-leak-kinds=definite",
        "--show-leak-kinds=definite",
    ]);
    command.arg(program);
    command
}

fn run_to_success(mut command: Command) {
    let ran = command.output().expect("a program");
    let (output, errors) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{} {output} {errors}", ran.status);
}

#[test]
fn the_sender_carries_a_file_to_the_receiver() {
    let folder = tempfile::tempdir().expect("a folder");
    compile_examples(folder.path());
    let data: Vec<u8> = (0..300_500u32).map(|n| (n * 7 % 251) as u8).collect();
    for secret in ["a secret of twenty-six bytes", "plaintext"] {
        let mut receiver = Command::new(folder.path().join("receive"))
            .args(["127.0.0.1:0", secret])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the example");
        let mut lines = BufReader::new(receiver.stderr.take().expect("a pipe")).lines();
        let line = lines.next().expect("a line").expect("text");
        let address = line.strip_prefix("listening on ").expect("the address");
        let mut sender = Command::new(folder.path().join("send"))
            .args([address, secret])
            .stdin(Stdio::piped())
            .spawn()
            .expect("the example");
        sender.stdin.take().expect("a pipe").write_all(&data).expect("it reads");
        let mut received = Vec::new();
        receiver.stdout.take().expect("a pipe").read_to_end(&mut received).expect("output");
        let others: Vec<String> = lines.map_while(Result::ok).collect();
        assert!(sender.wait().expect("it ends").success());
        assert!(receiver.wait().expect("it ends").success(), "{others:?}");
        assert!(received == data, "{} of {} bytes; {others:?}", received.len(), data.len());
        assert!(others[0].contains("Connected"), "{others:?}");
    }
}

/// Misuse is answered by a code and a message, never by a crash.
#[test]
fn misuse_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = r#"
#include <stdio.h>
#include <string.h>
#include <whimbrel.h>
#define CHECK(holds) do { if (!(holds)) { printf("line %d: %s\n", __LINE__, whimbrel_last_error()); return 1; } } while (0)
int main(void) {
    whimbrel_event event;
    whimbrel_stats stats;
    char text[64];
    CHECK(whimbrel_recv(NULL, NULL, 0, NULL) == WHIMBREL_ERROR_ARGUMENT);
    CHECK(strcmp(whimbrel_last_error(), "socket is NULL") == 0);
    CHECK(whimbrel_last_error_code() == WHIMBREL_ERROR_ARGUMENT);
    CHECK(whimbrel_connect(NULL, NULL, NULL, 1) == NULL);
    whimbrel_free(NULL);
    whimbrel_config_free(NULL);
    CHECK(whimbrel_runtime_close(NULL, 0) == 1);

    whimbrel_runtime *runtime = whimbrel_runtime_new();
    whimbrel_config *config = whimbrel_config_new();
    /* Nothing is sent in the clear unless that is chosen. */
    CHECK(whimbrel_connect(runtime, config, "127.0.0.1:9", 1) == NULL);
    CHECK(whimbrel_last_error_code() == WHIMBREL_ERROR_CONFIG);
    CHECK(strstr(whimbrel_last_error(), "nothing secures"));
    CHECK(whimbrel_config_secret(config, (const uint8_t *)"short", 5) == WHIMBREL_ERROR_CONFIG);
    CHECK(whimbrel_config_key_file(config, "/nonexistent/key", NULL) == WHIMBREL_ERROR_SYSTEM);
    CHECK(strstr(whimbrel_last_error(), "/nonexistent/key"));
    CHECK(whimbrel_config_trust_fingerprint(config, "SHA256:xyz") == WHIMBREL_ERROR_CONFIG);
    CHECK(whimbrel_config_ccid(config, 77) == WHIMBREL_ERROR_CONFIG);
    CHECK(whimbrel_config_fingerprint(config, text, sizeof text) == WHIMBREL_ERROR_CONFIG);
    CHECK(whimbrel_config_plaintext(config) == 0);
    CHECK(whimbrel_connect(runtime, config, "no address", 1) == NULL);
    CHECK(whimbrel_last_error_code() == WHIMBREL_ERROR_ARGUMENT);
    /* A name is resolved in the background. */
    whimbrel_socket *unknown = whimbrel_connect(runtime, config, "no-such-host.invalid:9", 1);
    CHECK(unknown);
    while (whimbrel_state(unknown) == WHIMBREL_AGAIN)
        CHECK(whimbrel_wait(unknown, 20000) == 1);
    CHECK(whimbrel_state(unknown) == WHIMBREL_ERROR_SYSTEM);
    CHECK(strstr(whimbrel_last_error(), "no-such-host.invalid cannot be resolved: "));
    whimbrel_free(unknown);

    whimbrel_listener *listener = whimbrel_listen(runtime, config, "127.0.0.1:0", 5001);
    CHECK(listener);
    CHECK(whimbrel_accept(listener) == NULL && whimbrel_last_error_code() == WHIMBREL_AGAIN);
    CHECK(whimbrel_listener_address(listener, text, 3) == WHIMBREL_ERROR_ARGUMENT);
    CHECK(whimbrel_listener_address(listener, text, sizeof text) == 0);
    whimbrel_socket *refused = whimbrel_connect(runtime, config, text, 5002);
    CHECK(refused);
    while (whimbrel_state(refused) == WHIMBREL_AGAIN)
        CHECK(whimbrel_wait(refused, 20000) == 1);
    CHECK(whimbrel_state(refused) == WHIMBREL_ERROR_CONNECTION);
    CHECK(whimbrel_get_stats(refused, &stats) == WHIMBREL_ERROR_CONNECTION);
    CHECK(whimbrel_next_event(refused, &event) == WHIMBREL_ERROR_CONNECTION);
    whimbrel_free(refused);

    whimbrel_socket *client = whimbrel_connect(runtime, config, text, 5001), *server;
    CHECK(client);
    while (!(server = whimbrel_accept(listener)))
        CHECK(whimbrel_listener_wait(listener, 20000) == 1);
    while (whimbrel_state(client) == WHIMBREL_AGAIN)
        CHECK(whimbrel_wait(client, 20000) == 1);
    static uint8_t large[100000];
    CHECK(whimbrel_send(client, large, sizeof large, -1, NULL) == WHIMBREL_ERROR_TOO_LARGE);
    CHECK(whimbrel_send(client, NULL, 1, -1, NULL) == WHIMBREL_ERROR_ARGUMENT);
    CHECK(whimbrel_freeze(client, 4) == WHIMBREL_ERROR_ARGUMENT);
    CHECK(whimbrel_send(client, (const uint8_t *)"0123456789", 10, -1, NULL) == 0);
    int64_t size;
    uint8_t start[4];
    whimbrel_datagram datagram;
    while ((size = whimbrel_recv(server, start, sizeof start, &datagram)) == WHIMBREL_AGAIN)
        CHECK(whimbrel_wait(server, 20000) == 1);
    /* What does not fit is cut off, and the size says so. */
    CHECK(size == 10 && memcmp(start, "0123", 4) == 0 && datagram.arrival_ns > 0);
    CHECK(whimbrel_get_stats(server, &stats) == 0 && stats.datagrams_received == 1 && stats.bytes_received == 10);
    CHECK(whimbrel_peer(server, text, sizeof text) == 0 && text[0] == 0);
    /* A datagram that is dropped is named by the number that sending gave. */
    uint64_t number = UINT64_MAX;
    CHECK(whimbrel_freeze(client, WHIMBREL_FREEZE_LOCAL) == 0);
    CHECK(whimbrel_send(client, (const uint8_t *)"stale", 5, 10, &number) == 0);
    do {
        while ((size = whimbrel_next_event(client, &event)) == WHIMBREL_AGAIN)
            CHECK(whimbrel_wait_event(client, 20000) == 1);
        CHECK(size == 0);
    } while (event.kind != WHIMBREL_EVENT_DROPPED);
    CHECK(event.detail == 1 && event.value == number);
    CHECK(whimbrel_unfreeze(client, WHIMBREL_FREEZE_LOCAL) == 0);
    whimbrel_free(client);
    while ((size = whimbrel_recv(server, start, sizeof start, NULL)) == WHIMBREL_AGAIN)
        CHECK(whimbrel_wait(server, 20000) == 1);
    CHECK(size == WHIMBREL_CLOSED);
    whimbrel_free(server);
    whimbrel_listener_free(listener);
    whimbrel_config_free(config);
    CHECK(whimbrel_runtime_close(runtime, 20000) == 1);
    return 0;
}
"#;
    // The static library, with the system's libraries that whimbrel.pc names.
    let pc = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("whimbrel.pc.in"))
        .expect("a file");
    let private = pc.lines().find_map(|line| line.strip_prefix("Libs.private: ")).expect("libraries");
    let library = format!("{} {private}", libraries().join("libwhimbrel.a").display());
    run_to_success(under_valgrind(&build_program(folder.path(), "misuse", program, &library)));
}

/// Two paths over loopback, by the same calls as one.
#[test]
fn a_connection_has_the_paths_of_its_config() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = r#"
#include <stdio.h>
#include <string.h>
#include <whimbrel.h>
#define CHECK(holds) do { if (!(holds)) { printf("line %d: %s\n", __LINE__, whimbrel_last_error()); return 1; } } while (0)
int main(void) {
    whimbrel_runtime *runtime = whimbrel_runtime_new();
    whimbrel_config *config = whimbrel_config_new();
    char text[64];
    whimbrel_event event;
    whimbrel_path path;
    whimbrel_stats stats;
    whimbrel_datagram datagram;
    CHECK(whimbrel_config_plaintext(config) == 0);
    CHECK(whimbrel_config_multipath(config, "fastest") == WHIMBREL_ERROR_CONFIG);
    CHECK(strstr(whimbrel_last_error(), "lowest-rtt, weighted"));
    CHECK(whimbrel_config_add_path(config, "localhost") == WHIMBREL_ERROR_CONFIG);
    CHECK(whimbrel_config_multipath(config, "redundant") == 0);
    whimbrel_listener *listener = whimbrel_listen(runtime, config, "127.0.0.1:0", 5001);
    CHECK(listener && whimbrel_listener_address(listener, text, sizeof text) == 0);
    CHECK(whimbrel_config_add_path(config, "127.0.0.2") == 0 && whimbrel_config_add_path(config, "127.0.0.3:0") == 0);
    whimbrel_socket *client = whimbrel_connect(runtime, config, text, 5001), *server;
    CHECK(client);
    while (!(server = whimbrel_accept(listener)))
        CHECK(whimbrel_listener_wait(listener, 20000) == 1);
    int code, has_connected = 0;
    do {
        while ((code = whimbrel_next_event(client, &event)) == WHIMBREL_AGAIN)
            CHECK(whimbrel_wait_event(client, 20000) == 1);
        CHECK(code == 0);
        has_connected |= event.kind == WHIMBREL_EVENT_CONNECTED && event.value == 3;
    } while (event.kind != WHIMBREL_EVENT_PATH_UP);
    CHECK(has_connected && event.value == 1);
    CHECK(whimbrel_get_path(client, 0, &path) == 0 && strncmp(path.local, "127.0.0.2:", 10) == 0);
    CHECK(whimbrel_get_path(client, 1, &path) == 0 && strncmp(path.local, "127.0.0.3:", 10) == 0);
    CHECK(path.number == 1 && path.state == WHIMBREL_PATH_UP && strcmp(path.remote, text) == 0);
    CHECK(whimbrel_get_path(client, 2, &path) == WHIMBREL_AGAIN);
    /* A copy takes each path; the application gets one. */
    for (int n = 0; n < 3; n++)
        CHECK(whimbrel_send(client, "copied", 6, -1, NULL) == 0);
    for (int n = 0; n < 3; n++) {
        while ((code = (int)whimbrel_recv(server, text, sizeof text, &datagram)) == WHIMBREL_AGAIN)
            CHECK(whimbrel_wait(server, 20000) == 1);
        CHECK(code == 6 && datagram.path < 2);
    }
    CHECK(whimbrel_get_stats(server, &stats) == 0 && stats.datagrams_received == 3 && stats.bytes_received == 18);
    whimbrel_free(client);
    do {
        while ((code = (int)whimbrel_recv(server, text, sizeof text, NULL)) == WHIMBREL_AGAIN)
            CHECK(whimbrel_wait(server, 20000) == 1);
    } while (code >= 0);
    CHECK(code == WHIMBREL_CLOSED);
    whimbrel_free(server);
    whimbrel_listener_free(listener);
    whimbrel_config_free(config);
    CHECK(whimbrel_runtime_close(runtime, 20000) == 1);
    return 0;
}
"#;
    run_to_success(under_valgrind(&build_program(folder.path(), "paths", program, &shared())));
}

/// A program that is ended with the test.
struct Running(Child);

impl Running {
    /// Starts an example, and waits for a line on its standard error; returns what follows `start` there.
    fn start(folder: &Path, arguments: &[&str], start: &str) -> (Self, String) {
        let mut program = Command::new(folder.join("rtp"));
        let mut child = program.args(arguments).stderr(Stdio::piped()).spawn().expect("the example");
        let errors = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut lines = errors.lines().map_while(Result::ok);
        let found = lines.find_map(|line| line.strip_prefix(start).map(str::to_owned)).expect(start);
        std::thread::spawn(move || lines.for_each(drop));
        (Self(child), found)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_stream_of_ffmpeg_is_carried() {
    if Command::new("ffmpeg").arg("-version").output().is_err() {
        assert_ne!(std::env::var("REQUIRE_ALL").as_deref(), Ok("1"), "ffmpeg is missing");
        return eprintln!("skipped: ffmpeg is missing");
    }
    let folder = tempfile::tempdir().expect("a folder");
    compile_examples(folder.path());
    let viewer = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let viewer_port = viewer.local_addr().expect("an address").port().to_string();
    let free = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("loopback");
    let (secret, camera_port) = ("a secret of twenty-six bytes", free.port().to_string());
    let listening = ["receive", "127.0.0.1:0", secret, &viewer_port];
    let (_receiver, address) = Running::start(folder.path(), &listening, "listening on ");
    let sending = ["send", &address, secret, &camera_port];
    let (_sender, _) = Running::start(folder.path(), &sending, "connected");
    let encoded = Command::new("ffmpeg")
        .args(["-v", "error", "-re", "-f", "lavfi", "-i", "testsrc=size=160x120:rate=10:duration=1"])
        .args(["-c:v", "mpeg4", "-f", "rtp", &format!("rtp://127.0.0.1:{camera_port}?pkt_size=1100")])
        .stdout(Stdio::null())
        .status()
        .expect("ffmpeg");
    assert!(encoded.success());
    viewer.set_read_timeout(Some(Duration::from_millis(500))).expect("a timeout");
    let (mut packet, mut sequence, mut frames) = ([0; 2000], Vec::new(), 0);
    while let Ok(size) = viewer.recv(&mut packet) {
        assert!(size > 12 && packet[0] >> 6 == 2, "RTP");
        sequence.push(u16::from_be_bytes([packet[2], packet[3]]));
        // The marker of a frame's last packet.
        frames += u32::from(packet[1] >> 7);
    }
    assert!(frames >= 9, "{frames} of 10 frames in {} packets", sequence.len());
    assert!(sequence.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1)), "{sequence:?}");
}
