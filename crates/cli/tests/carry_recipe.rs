//! The recipe of docs/relay.md, "From nothing to a picture": its commands between two ends of the loopback
//! interface, with a test picture in place of a camera and a file in place of a screen. gst/tests has those
//! with elements.

use std::fs;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::relay_players::has_elements;
use crate::relays;
use relays::{get, secret};

/// The size of a picture of 320 by 240 points in 12 bits each, with its header.
const PICTURE: u64 = 6 + 320 * 240 * 3 / 2;
/// Steps of a tenth of a second for which something that has to happen is waited for.
const PATIENCE: usize = 600;

/// The commands of the recipe below a heading of that text.
fn commands(heading: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/relay.md");
    let page = fs::read_to_string(page).expect("a page");
    let part = page.split(&format!("### {heading}\n")).nth(1).unwrap_or_else(|| panic!("no {heading}"));
    let part = part.split("\n## ").next().and_then(|part| part.split("\n### ").next()).unwrap_or_default();
    let blocks = part.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.flat_map(str::lines).map(str::to_owned).collect()
}

/// The camera's film for the emulated radio, in pictures.
#[cfg(target_os = "linux")]
const FILM: usize = 250;

/// The tutorial "Try your camera on a bad radio before you fly": its scenario, and its lines with a test
/// picture for ten seconds.
#[cfg(target_os = "linux")]
#[test]
fn the_picture_crosses_an_emulated_radio_with_and_without_relays() {
    let Some(folder) = crate::emulate::directory().filter(|_| has_elements()) else { return };
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/relay.md");
    let page = fs::read_to_string(page).expect("a page");
    let part = page.split("## Try your camera on a bad radio before you fly\n").nth(1).expect("the tutorial");
    let block = |kind: &str| {
        let rest = part.split(&format!("```{kind}\n")).nth(1).unwrap_or_else(|| panic!("no {kind}"));
        rest.split("```").next().unwrap_or_default().to_owned()
    };
    fs::write(folder.path().join("fly.toml"), block("toml")).expect("it is written");
    let made = secret(&folder);
    fs::rename(made, folder.path().join("camera.secret")).expect("a file");
    let commands = block("sh");
    assert_eq!(commands.lines().count(), 2, "one without relays, one with");
    for (number, command) in commands.lines().enumerate() {
        let pictures = folder.path().join(format!("pictures{number}"));
        let source = format!(
            "videotestsrc is-live=true num-buffers={FILM} ! video/x-raw,width=320,height=240,framerate=25/1"
        );
        let sink = format!("y4menc ! filesink buffer-mode=unbuffered location={}", pictures.display());
        let [page] = free_ports();
        let changes = [
            ("v4l2src", source.as_str()),
            ("autovideosink", &sink),
            ("127.0.0.1:9613", &format!("127.0.0.1:{page}")),
            ("whimbrel ", concat!(env!("CARGO_BIN_EXE_whimbrel"), " ")),
        ];
        let mut adapted = command.to_owned();
        for (old, new) in changes {
            assert!(adapted.contains(old), "no {old:?} in {command:?}");
            adapted = adapted.replace(old, new);
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", &adapted]).current_dir(folder.path());
        let output = shell.stdin(Stdio::null()).output().expect("a shell");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.contains("lost on the medium"), "{command}: {text}");
        let seen = fs::metadata(pictures).map_or(0, |file| file.len()) / PICTURE;
        println!("{seen} of {FILM} pictures");
        assert!(seen > 25, "{seen} pictures of {FILM}: {text}");
    }
}

/// Two machines that are one: its ports are free ones.
struct Place {
    folder: TempDir,
    /// Of the viewer's player, of the camera's relay, of the connection, and of both pages.
    player: u16,
    program: u16,
    connection: u16,
    pages: [u16; 2],
    running: Vec<Child>,
}

fn free_ports<const N: usize>() -> [u16; N] {
    let sockets: [UdpSocket; N] = std::array::from_fn(|_| UdpSocket::bind("127.0.0.1:0").expect("loopback"));
    sockets.map(|socket| socket.local_addr().expect("bound").port())
}

impl Place {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        let made = secret(&folder);
        fs::rename(made, folder.path().join("camera.secret")).expect("a file");
        let [player, program, connection, one, other] = free_ports();
        Self { folder, player, program, connection, pages: [one, other], running: Vec::new() }
    }

    /// A command of the page with what a test lacks, a camera, a screen and another machine, replaced.
    fn adapted(&self, command: &str) -> String {
        let Self { player, program, connection, pages: [viewer, camera], .. } = self;
        let pictures = self.folder.path().join("pictures");
        command
            .replace(
                "relay server --to 127.0.0.1:5004",
                &format!("relay server --bind 127.0.0.1:{connection} --to 127.0.0.1:{player}"),
            )
            .replace(
                "client VIEWER --from 127.0.0.1:5004",
                &format!("client 127.0.0.1:{connection} --from 127.0.0.1:{program}"),
            )
            .replace("udpsrc port=5004", &format!("udpsrc port={player}"))
            .replace("127.0.0.1 port=5004", &format!("127.0.0.1 port={program}"))
            .replace("127.0.0.1:9611", &format!("127.0.0.1:{viewer}"))
            .replace("127.0.0.1:9612", &format!("127.0.0.1:{camera}"))
            .replace("--path wlan0 --path wwan0", "--path 127.0.0.2 --path 127.0.0.3")
            .replace("v4l2src", "videotestsrc is-live=true ! video/x-raw,width=320,height=240,framerate=25/1")
            .replace(
                "autovideosink",
                &format!("y4menc ! filesink buffer-mode=unbuffered location={}", pictures.display()),
            )
            .replace("whimbrel ", concat!(env!("CARGO_BIN_EXE_whimbrel"), " "))
    }

    /// Runs a command in the background, as in a terminal of its own.
    fn start(&mut self, command: &str) {
        let adapted = self.adapted(command);
        let changed = ["VIEWER", "v4l2src", "autovideosink", ":5004", "=5004", ":961"];
        assert!(!changed.iter().any(|each| adapted.contains(each)), "{adapted}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec {adapted}")]).current_dir(self.folder.path());
        self.running.push(shell.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a shell"));
    }

    /// Ends what was started last.
    fn stop_last(&mut self) {
        if let Some(mut child) = self.running.pop() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn until(what: &str, mut holds: impl FnMut() -> bool) {
        for _ in 0..PATIENCE {
            if holds() {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
        panic!("{what}");
    }

    /// Waits until pictures are decoded that were not there before.
    fn see(&self, what: &str) {
        let size = || fs::metadata(self.folder.path().join("pictures")).map_or(0, |file| file.len());
        let before = size();
        Self::until(what, || size() >= before + 10 * PICTURE);
    }

    /// The state of an end, as its page has it.
    fn state(&self, end: usize) -> Value {
        let at = SocketAddr::from(([127, 0, 0, 1], self.pages[end]));
        // The program may not listen yet.
        if TcpStream::connect(at).is_err() {
            return Value::Null;
        }
        serde_json::from_str(&get(at, "/").1).unwrap_or_default()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        while !self.running.is_empty() {
            self.stop_last();
        }
    }
}

#[test]
fn the_command_lines_lead_to_a_picture_with_one_modem_and_with_two() {
    if !has_elements() {
        return;
    }
    let [listen, play, connect, film, bonded] =
        <[String; 5]>::try_from(commands("By command line")).expect("five commands");
    let mut place = Place::new();
    [listen, play, film, connect].iter().for_each(|command| place.start(command));
    place.see("a picture");
    // States at both ends.
    Place::until("frames at the viewer", || {
        place.state(0)["connections"][0]["frames"][0]["whole"].as_u64() > Some(25)
    });
    Place::until("frames at the camera", || {
        place.state(1)["connections"][0]["frames"][0]["sent"].as_u64() > Some(25)
    });
    place.stop_last();
    place.start(&bonded);
    Place::until("two paths", || {
        let paths = place.state(1)["connections"][0]["paths"].as_array().cloned().unwrap_or_default();
        paths.len() == 2 && paths.iter().all(|path| path["state"] == "up")
    });
    place.see("a picture over two modems");
}

/// `systemctl` and `sudo` are played by the test: the unit's command runs with the unit's credential.
#[test]
fn the_service_leads_to_a_picture() {
    if !has_elements() {
        return;
    }
    let mut place = Place::new();
    let root = place.folder.path().to_str().expect("a plain path").to_owned();
    let [copy, key, unit, enable] = <[String; 4]>::try_from(commands("As a service")).expect("four commands");
    // A verb of the Python package, which copies this folder.
    assert_eq!(copy, "whimbrel examples --copy");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    std::os::unix::fs::symlink(examples, format!("{root}/examples")).expect("a new file");
    for command in [key, unit] {
        let command =
            command.strip_prefix("sudo ").expect("sudo").replace(" /etc/", &format!(" {root}/etc/"));
        let mut shell = Command::new("sh");
        assert!(
            shell.args(["-c", &command]).current_dir(&root).status().expect("a shell").success(),
            "{command}"
        );
    }
    let name = enable.strip_prefix("sudo systemctl enable --now ").expect("the name of the unit");
    let unit = fs::read_to_string(format!("{root}/etc/systemd/system/{name}.service")).expect("a unit");
    let unit = unit.replace("\\\n", " ");
    let value = |key: &str| {
        let found = unit.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        found.unwrap_or_else(|| panic!("no {key}")).to_owned()
    };
    let (credential, file) = value("LoadCredential")
        .split_once(':')
        .map(|(name, file)| (name.to_owned(), file.to_owned()))
        .expect("a file");
    assert_eq!(file, "/etc/whimbrel/relay.secret");
    let command = value("ExecStart")
        .replace("/usr/local/bin/whimbrel", "whimbrel")
        .replace(&format!("${{CREDENTIALS_DIRECTORY}}/{credential}"), &format!("{root}{file}"))
        // RTCP's port; the test has no use for it.
        .replace("--to 127.0.0.1:5005 ", "");
    place.start(&command);
    let [_, play, connect, film, _] =
        <[String; 5]>::try_from(commands("By command line")).expect("five commands");
    [play, film, connect].iter().for_each(|command| place.start(command));
    place.see("a picture");
    Place::until("the page", || place.state(0)["connections"][0]["frames"][0]["whole"].as_u64() > Some(0));
}
