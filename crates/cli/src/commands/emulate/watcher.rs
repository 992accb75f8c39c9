//! The surroundings of a running emulation: signals, captures, the live view.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use whimbrel_emu::driver::Driver;
use whimbrel_emu::session::Observer;
use whimbrel_lab::Plan;
use whimbrel_lab::runner::Emulation;
use whimbrel_lab::watch::Watch;
use whimbrel_live::simulation::Network;
use whimbrel_live::{Feed, Recording, server};

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
    page: Option<Page>,
    nodes: Vec<String>,
    is_quiet: bool,
}

/// The live page.
struct Page {
    feed: Feed,
    /// Since the network is there.
    network: Option<(Network, Watch)>,
}

impl Page {
    /// Serves the page from now on.
    fn open(at: SocketAddr, plan: &Plan) -> anyhow::Result<Self> {
        let title = if plan.title.is_empty() { "an emulation" } else { &plan.title };
        let feed = Feed::new(Recording::new(title));
        print::live_page(&server::spawn(at, feed.clone(), feed.clone())?);
        Ok(Self { feed, network: None })
    }

    fn start(&mut self, emulation: &Emulation<'_>) {
        let run = emulation.run();
        let network = self.feed.update(|recording| {
            let network = Network::new(recording, run.plan(), &[]);
            network.mark_links(recording, run.plan(), run.link_events());
            network
        });
        self.network = Some((network, Watch::new(run.plan())));
    }

    fn observe(&mut self, emulation: &Emulation<'_>) {
        let Some((network, watch)) = &mut self.network else { return };
        if let Some(sample) = emulation.run().watch(watch) {
            let gaps = emulation.run().cell_gaps();
            self.feed.update(|recording| network.push(recording, &sample, &gaps));
        }
    }
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
            // After the thread of signals: the server is a thread as well.
            page: args.http.map(|at| Page::open(at, plan)).transpose()?,
            nodes: plan.nodes.clone(),
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
        if let Some(page) = &mut self.page {
            page.start(emulation);
        }
        Ok(())
    }

    fn observe(&mut self, driver: &mut Driver<'_>) -> io::Result<()> {
        self.view.update(driver);
        if let Some(page) = &mut self.page {
            page.observe(driver.emulation());
        }
        self.write_capture(driver.emulation_mut())
    }

    fn command_ended(&mut self, node: usize, exit_code: i32) {
        if !self.is_quiet {
            let name = self.nodes.get(node).map_or("an end", String::as_str);
            print::note(format_args!(
                "the command at {name} has ended with the exit code {exit_code}, and all that it started with it"
            ));
        }
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
