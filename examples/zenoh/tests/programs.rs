//! Programs in the background.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Time limit of everything that is waited for.
#[allow(clippy::disallowed_types, reason = "the programs run in real time")]
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = std::time::Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(90), "time is over: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A running program, killed when dropped.
pub(crate) struct Program {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Program {
    pub(crate) fn start(program: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let lines = Arc::default();
        collect(child.stdout.take().expect("piped"), &lines);
        collect(child.stderr.take().expect("piped"), &lines);
        Self { child, lines }
    }

    /// The built bridge.
    pub(crate) fn bridge(arguments: &[&str]) -> Self {
        Self::start(Path::new(env!("CARGO_BIN_EXE_whimbrel-zenoh")), arguments)
    }

    /// The lines so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().expect("no panic").clone()
    }

    /// The first line with `part`.
    pub(crate) fn line(&mut self, part: &str) -> String {
        let mut look = || {
            let has_ended = self.child.try_wait().expect("its state").is_some();
            let found = self.lines().into_iter().find(|line| line.contains(part));
            assert!(found.is_some() || !has_ended, "it has ended before {part:?}: {:?}", self.lines());
            found
        };
        wait_for(part, &mut look)
    }

    /// The address of UDP in the first line that has one.
    pub(crate) fn address(&mut self) -> SocketAddr {
        let line = self.line("at UDP ");
        let after = line.split("at UDP ").nth(1).unwrap_or_default();
        let end = after.find([';', ',', ' ']).unwrap_or(after.len());
        after[..end].parse().unwrap_or_else(|_| panic!("no address in {line:?}"))
    }

    /// Interrupts it, and returns its last line.
    pub(crate) fn end(mut self) -> String {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill runs").success());
        let status = wait_for("its end", || self.child.try_wait().expect("its state"));
        assert!(status.success(), "{status}: {:?}", self.lines());
        // The line may be read after the end.
        wait_for("its last line", || self.lines().pop().filter(|line| line.contains("samples put")))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn collect(from: impl Read + Send + 'static, lines: &Arc<Mutex<Vec<String>>>) {
    let lines = lines.clone();
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            lines.lock().expect("no panic").push(line);
        }
    });
}

/// The relay's program: the variable WHIMBREL, or the one that was built. `None` skips a test.
pub(crate) fn whimbrel() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let named = std::env::var_os("WHIMBREL").map(PathBuf::from);
    let built = ["target/debug/whimbrel", ".venv/bin/whimbrel"].map(|path| folder.join(path));
    let found = named.into_iter().chain(built).find(|path| path.is_file());
    if found.is_none() {
        let reason = "no whimbrel: set WHIMBREL to its path, or build it with cargo build";
        assert!(std::env::var("REQUIRE_ALL").as_deref() != Ok("1"), "{reason}");
        println!("skipped: {reason}");
    }
    found
}
