//! The commands of docs/gstreamer.md work, and `gst-inspect-1.0` shows what the elements are.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::support::{has, init, until};

/// The end of the viewer's address, 127.0.0.1:6519, as the kernel lists it.
const PORT: &str = "0100007F:1977 ";

/// A folder with the plugin alone: GStreamer loads all libraries of one.
pub(crate) fn plugin_folder() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let program = std::env::current_exe().expect("a program");
    let built = program.parent().expect("a folder").join("libgstwhimbrel.so");
    assert!(built.exists(), "{}: the plugin is built with the tests", built.display());
    symlink(built, folder.path().join("libgstwhimbrel.so")).expect("a new file");
    folder
}

/// The commands of the page, and those with elements of the recipe for a camera, with continued lines joined.
fn commands() -> Vec<String> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let page = |name: &str| fs::read_to_string(docs.join(name)).expect("a page").replace("\\\n", " ");
    let carry = page("relay.md");
    let recipe =
        carry.split("### In a GStreamer pipeline").nth(1).and_then(|rest| rest.split("\n### ").next());
    let pages = page("gstreamer.md") + recipe.expect("a recipe");
    let blocks = pages.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.flat_map(str::lines).map(str::to_owned).filter(|line| line.starts_with("gst-")).collect()
}

#[test]
fn the_pages_pipelines_carry_a_video() {
    if !has(&["x264enc", "vp8enc", "opusenc", "avdec_h264", "rtpjitterbuffer", "videoconvert", "mpegtsmux"]) {
        return;
    }
    let plugins = plugin_folder();
    let folder = TempDir::new().expect("a folder");
    let secret = folder.path().join("camera.secret");
    fs::write(&secret, "0123456789012345678901234567890123456789\n").expect("room");
    fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("an owner");
    // A camera and a screen are the hardware that a test lacks. The streams are short.
    let adapted = |command: &str| {
        command
            .replace("v4l2src", "videotestsrc num-buffers=100 is-live=true")
            .replace("alsasrc", "audiotestsrc num-buffers=200 is-live=true")
            .replace("autovideosink", "filesink location=pictures")
            .replace("autoaudiosink", "fakesink")
            .replace("VIEWER", "127.0.0.1:6519")
            .replace("wlan0;wwan0", "127.0.0.2;127.0.0.3")
            .replace("whimbrelsrc ", "whimbrelsrc one-off=true address=127.0.0.1:6519 ")
    };
    let run = |command: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec {}", adapted(command))]).current_dir(folder.path());
        shell.env("GST_PLUGIN_PATH", plugins.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        shell.spawn().expect("a shell")
    };
    let commands = commands();
    let pipelines: Vec<&String> = commands.iter().filter(|line| line.starts_with("gst-launch")).collect();
    assert!(
        pipelines.len() >= 8 && pipelines.len().is_multiple_of(2),
        "viewer and camera in turns: {pipelines:#?}"
    );
    for pair in pipelines.chunks(2) {
        assert!(pair[0].contains("whimbrelsrc") && pair[1].contains("whimbrelsink"), "{pair:?}");
        let viewer = run(pair[0]);
        // Packets that the camera sends before this are lost.
        until("a port", || fs::read_to_string("/proc/net/udp").is_ok_and(|all| all.contains(PORT)));
        let camera = run(pair[1]);
        for (command, program) in [(pair[1], camera), (pair[0], viewer)] {
            let done = program.wait_with_output().expect("a program");
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "{command}\n{said}");
            if command.contains("autovideosink") {
                let pictures = folder.path().join("pictures");
                let size = fs::metadata(&pictures).expect("a file").len();
                // At least one picture.
                assert!(size > 100_000, "{command}: {size} bytes\n{said}");
                fs::remove_file(pictures).expect("a file");
            }
        }
    }
}

#[test]
fn every_property_is_described() {
    init();
    let plugins = plugin_folder();
    for line in commands().iter().filter(|line| line.starts_with("gst-inspect-1.0")) {
        let mut words = line.split_whitespace().skip(1);
        let element = words.next().expect("an element");
        let inspect =
            Command::new("gst-inspect-1.0").arg(element).env("GST_PLUGIN_PATH", plugins.path()).output();
        let inspect = inspect.expect("gstreamer1.0-tools");
        let text = String::from_utf8_lossy(&inspect.stdout);
        assert!(inspect.status.success(), "{line}");
        for expected in ["  whimbrel\n", "latency", "secret-file", "stats", "Whimbrel "] {
            assert!(text.contains(expected), "{element}: {expected}\n{text}");
        }
    }
    use gst::prelude::*;
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/gstreamer.md"));
    let page = page.expect("a page");
    for factory in ["whimbrelsink", "whimbrelsrc"] {
        let element = gst::ElementFactory::make(factory).build().expect("an element");
        for property in element.list_properties() {
            if property.owner_type() == element.type_() {
                assert!(property.blurb().is_some_and(|blurb| blurb.len() > 20), "{}", property.name());
                assert!(
                    page.contains(&format!("`{}`", property.name())),
                    "the page lacks {}",
                    property.name()
                );
            }
        }
    }
}
