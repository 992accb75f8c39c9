//! The surroundings of a running emulation: signals, captures, the live view.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use whimbrel_emu::driver::Driver;
use whimbrel_emu::session::Observer;
use whimbrel_lab::Plan;
use whimbrel_lab::runner::Emulation;

use super::EmulateArgs;
use super::view::View;
use crate::commands::run_scenario::capture::CaptureFile;
use crate::print;

/// Watches an emulation.
pub(super) struct Watcher {
    interrupted: Arc<AtomicBool>,
    pcap: Option<PathBuf>,
    links: Vec<String>,
    capture: Option<CaptureFile>,
    view: View,
    is_quiet: bool,
}

impl Watcher {
    pub(super) fn new(args: &EmulateArgs, plan: &Plan) -> anyhow::Result<Self> {
        CaptureFile::check(plan, &args.pcap_link)?;
        Ok(Self {
            interrupted: interrupt_flag()?,
            pcap: args.pcap.clone(),
            links: args.pcap_link.clone(),
            capture: None,
            view: View::new(args, plan),
            is_quiet: args.quiet,
        })
    }

    /// Completes the capture.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        self.view.clear();
        self.capture.map_or(Ok(()), CaptureFile::finish)
    }

    fn write_capture(&mut self, emulation: &mut Emulation<'_>) -> io::Result<()> {
        let Some(file) = &mut self.capture else { return Ok(()) };
        file.write(emulation.run_mut().take_capture()).map_err(io::Error::other)
    }
}

impl Observer for Watcher {
    fn start(&mut self, emulation: &mut Emulation<'_>, warnings: &[String]) -> io::Result<()> {
        if !self.is_quiet {
            warnings.iter().for_each(print::note);
        }
        if let Some(path) = &self.pcap {
            let file = CaptureFile::open(path, emulation.run_mut(), &self.links);
            self.capture = Some(file.map_err(io::Error::other)?);
        }
        Ok(())
    }

    fn observe(&mut self, driver: &mut Driver<'_>) -> io::Result<()> {
        self.view.update(driver);
        self.write_capture(driver.emulation_mut())
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

/// Becomes true at Ctrl-C, SIGTERM and SIGHUP. The emulation then ends its programs.
fn interrupt_flag() -> anyhow::Result<Arc<AtomicBool>> {
    use tokio::signal::unix::{SignalKind, signal};
    let flag = Arc::new(AtomicBool::new(false));
    let raised = flag.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let _guard = runtime.enter();
    let [mut interrupt, mut terminate, mut hang_up] =
        [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?];
    drop(_guard);
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        runtime.block_on(async {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    _ = hang_up.recv() => {}
                }
                raised.store(true, Ordering::Relaxed);
            }
        });
    })?;
    Ok(flag)
}
