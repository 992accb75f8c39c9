//! An emulation from its start to its record.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::io::{self, Seek};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use nix::libc;
use nix::sys::prctl::set_timerslack;
use nix::sys::signal::Signal;
use whimbrel_lab::emulation::AddressPlan;
use whimbrel_lab::runner::{Emulation, Refusal, emulated_plan};
use whimbrel_lab::{Plan, Record};
use whimbrel_units::{Duration, Instant};

use crate::EmulateError;
use crate::clock::Clock;
use crate::command::{Program, Running, Terminal};
use crate::driver::{Driver, DriverConfig};
use crate::hosts::{LEVEL, environment, hosts_file};
use crate::interfaces::{Host, check_hosts, is_member};
use crate::lateness::LatenessSummary;
use crate::namespace::{Attached, EndConfig, Made, Maker, Namespace, Switch, attach};
use crate::tun::Tun;

/// The most ends of an emulation.
pub const MOST_ENDS: usize = 64;
/// The longest time between two looks at programs and observer.
const GRAIN: Duration = Duration::from_millis(50);
/// The time between two calls of [`Observer::observe`].
const OBSERVED: Duration = Duration::from_millis(500);
/// The time after which programs that were asked to end are asked more firmly.
const PATIENCE: Duration = Duration::from_secs(2);

/// A command for an end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndCommand {
    /// The node, by its position in the plan.
    pub node: usize,
    /// The program and its arguments.
    pub arguments: Vec<OsString>,
}

/// The settings of an emulation.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The nodes with a namespace, by their positions in the plan.
    pub ends: Vec<usize>,
    /// The node that is the present namespace, if there is one: the router to its networks.
    pub host: Option<usize>,
    /// The number of the address range ([`AddressPlan::new`]).
    pub level: u8,
    /// The flows that remain simulated, by their positions in the plan.
    pub simulated: Vec<usize>,
    /// Ends that share a namespace.
    pub hosts: Vec<Host>,
    /// Commands that run at the same time as the main one and end with it.
    pub others: Vec<EndCommand>,
    /// The command that the emulation lasts as long as.
    pub main: EndCommand,
    /// Seed of the network's randomness.
    pub seed: u64,
    /// The longest emulation.
    pub limit: Option<Duration>,
    /// The longest time to wait until the other commands listen for connections or datagrams.
    pub wait: Duration,
    /// `true` if standard output of the main command goes to standard error.
    pub redirects_output: bool,
    /// The loop's settings.
    pub driver: DriverConfig,
}

/// Observer of a running emulation.
pub trait Observer {
    /// The network is ready, and the commands are about to start.
    fn start(&mut self, emulation: &mut Emulation<'_>, warnings: &[String]) -> io::Result<()> {
        let _ = (emulation, warnings);
        Ok(())
    }

    /// Called twice a second.
    ///
    /// # Errors
    /// A capture cannot be written; it ends the emulation.
    fn observe(&mut self, driver: &mut Driver<'_>) -> io::Result<()> {
        let _ = driver;
        Ok(())
    }

    /// The command at the node with that index in [`Plan::nodes`] has ended before the main one.
    fn command_ended(&mut self, node: usize, exit_code: i32) {
        let _ = (node, exit_code);
    }

    /// `true` if the emulation is to end.
    fn is_interrupted(&self) -> bool {
        false
    }
}

/// Result of an emulation.
#[derive(Debug)]
pub struct Outcome {
    /// The same tables as of a simulated run.
    pub record: Record,
    /// The exit code of the main command.
    pub exit_code: i32,
    /// The reason for the end, unless the main command ended.
    pub ended_by: Option<Ending>,
    /// The time that the network ran.
    pub elapsed: Duration,
    /// Lateness of the network's events.
    pub events: LatenessSummary,
    /// Lateness of the packets written to devices.
    pub deliveries: LatenessSummary,
    /// Packets of programs that were not for the network, by reason.
    pub refused: BTreeMap<Refusal, u64>,
    /// Packets that a device has discarded because they were not read in time, by node.
    pub overrun: Vec<(String, u64)>,
    /// Turns of the loop in which no packet was read, as too many were in the network.
    pub full: u64,
}

/// A reason for the end of an emulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// The observer interrupted it.
    Interrupted,
    /// The limit was reached.
    Limit,
}

/// The ends that a plan needs: the nodes at which the flows that do not remain simulated begin and end,
/// starting with the first flow's.
pub fn flow_ends(plan: &Plan, simulated: &[usize]) -> Vec<usize> {
    let mut ends = Vec::new();
    let replaced = plan.flows.iter().enumerate().filter(|(flow, _)| !simulated.contains(flow));
    for node in replaced.flat_map(|(_, flow)| [flow.from, flow.to]) {
        if !ends.contains(&node) {
            ends.push(node);
        }
    }
    ends
}

/// The number of emulations around this process.
pub fn level() -> u8 {
    std::env::var(LEVEL).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// An end that was made.
struct End {
    node: usize,
    /// `None` for the present one. Interfaces of one host share it.
    namespace: Option<Arc<Namespace>>,
    counters: OwnedFd,
    device: String,
}

impl End {
    /// The packets of programs that the device has discarded.
    fn discarded(&self) -> Option<u64> {
        /// Their position in a line of `/proc/net/dev`.
        const DROPPED: usize = 11;
        let mut text = String::new();
        let mut file = std::fs::File::from(self.counters.try_clone().ok()?);
        file.rewind().and_then(|()| file.read_to_string(&mut text)).ok()?;
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(self.device.as_str())?.strip_prefix(':'))?;
        line.split_whitespace().nth(DROPPED)?.parse().ok()
    }
}

/// All ends that were made.
struct Ends {
    ends: Vec<End>,
    devices: Vec<Tun>,
    /// The switches of the devices that follow the links of their ends, by the ends' numbers.
    switches: Vec<(usize, Switch)>,
    /// Warnings about features that the ends lack.
    warnings: Vec<String>,
}

/// Runs an emulation.
///
/// # Errors
/// The system refuses namespaces, devices or commands, or a device fails.
pub fn emulate(
    plan: &Plan,
    settings: &Settings,
    observer: &mut dyn Observer,
) -> Result<Outcome, EmulateError> {
    let addresses = check(plan, settings)?;
    let emulated = emulated_plan(plan, &settings.ends, &settings.simulated);
    let mut emulation = Emulation::new(&emulated, &settings.ends, addresses, settings.seed);
    if let Some(gateway) = settings.host.and_then(|host| settings.ends.iter().position(|&end| end == host)) {
        emulation.set_gateway(gateway);
    }
    let mut maker = Maker::new();
    let Ends { ends, devices, switches, warnings } = make_ends(plan, settings, addresses, &mut maker)?;
    observer.start(&mut emulation, &warnings).map_err(EmulateError::system("writing a capture"))?;

    let terminal = Terminal::of_this_process();
    let start = |command: &EndCommand, is_foreground: bool| {
        let end = ends.iter().find(|end| end.node == command.node);
        let Some(namespace) = end.and_then(|end| end.namespace.as_ref()) else {
            return Err(EmulateError::Ends("a command has no end".to_owned()));
        };
        let program = Program {
            arguments: command.arguments.clone(),
            environment: environment(plan, &settings.ends, addresses, command.node, settings.level + 1),
            is_foreground,
            redirects_output: settings.redirects_output,
        };
        Running::start(&program, &plan.nodes[command.node], namespace, &maker)
    };
    // The kernel itself sends when a device comes up, before anything reads.
    let discarded: Vec<u64> = ends.iter().map(|end| end.discarded().unwrap_or(0)).collect();
    let mut programs =
        settings.others.iter().map(|other| start(other, false)).collect::<Result<Vec<_>, _>>()?;
    wait_for_listeners(&mut programs, settings.wait, observer);
    programs.insert(0, start(&settings.main, terminal.is_some())?);

    // Timers of this thread may otherwise be 50 us late.
    let _ = set_timerslack(1);
    let mut driver = Driver::start(emulation, devices, settings.driver)
        .map_err(EmulateError::system("watching TUN devices"))?;
    driver.follow_links(switches);
    let ended_by = run(&mut driver, &mut programs, settings, observer)?;
    let exit_code = programs[0].exit_code().unwrap_or(1);
    observer.observe(&mut driver).map_err(EmulateError::system("writing a capture"))?;
    let overrun = overruns(plan, &ends, &discarded);
    let [events, deliveries] = driver.lateness().map(|lateness| lateness.summary());
    let counters = driver.counters().clone();
    let emulation = driver.into_emulation();
    let elapsed = emulation.run().simulator().now() - Instant::ZERO;
    let record = emulation.finish(plan);
    drop(terminal);
    end_all(programs);
    Ok(Outcome {
        record,
        exit_code,
        ended_by,
        elapsed,
        events,
        deliveries,
        refused: counters.refused,
        overrun,
        full: counters.full,
    })
}

/// Checks the ends, and chooses the addresses.
fn check(plan: &Plan, settings: &Settings) -> Result<AddressPlan, EmulateError> {
    let wrong = |text: String| Err(EmulateError::Ends(text));
    match settings.ends.len() {
        0 | 1 => {
            return wrong("an emulation needs two ends: flows between two nodes, or --ends A,B".to_owned());
        }
        count if count > MOST_ENDS => {
            return wrong(format!(
                "the scenario's flows have {count} ends, and an emulation at most {MOST_ENDS}: name those that get \
                 a namespace with --ends A,B,..."
            ));
        }
        _ => {}
    }
    check_hosts(&settings.hosts, plan, &settings.ends).map_err(EmulateError::Ends)?;
    if plan.nodes.len() > AddressPlan::MOST {
        let most = AddressPlan::MOST;
        return wrong(format!(
            "the scenario has {} nodes, and there are addresses for {most}",
            plan.nodes.len()
        ));
    }
    if settings.level == u8::MAX {
        return wrong("there are 255 emulations around this one, and no address range is left".to_owned());
    }
    let commands = settings.others.iter().chain([&settings.main]);
    if let Some(host) = settings.host.filter(|&host| commands.into_iter().any(|command| command.node == host))
    {
        return wrong(format!("\"{}\" is this host (--host): no command is started there", plan.nodes[host]));
    }
    Ok(AddressPlan::new(settings.level))
}

/// Makes the namespaces and devices of all ends, with the switches of those that follow their links, and
/// warnings on what they lack.
fn make_ends(
    plan: &Plan,
    settings: &Settings,
    addresses: AddressPlan,
    maker: &mut Maker,
) -> Result<Ends, EmulateError> {
    let own = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    let hosts = hosts_file(plan, &settings.ends, addresses, &own);
    let (mut ends, mut devices, mut warnings) = (Vec::<End>::new(), Vec::new(), Vec::new());
    let mut switches = Vec::new();
    for &node in &settings.ends {
        let (name, position, first) = Host::interface(&settings.hosts, plan, node);
        let host = ends.iter().find(|end| Some(end.node) == first).and_then(|end| end.namespace.clone());
        let (v4_prefix, v6_prefix) = match is_member(&settings.hosts, node) {
            // The default routes alone decide on the interface.
            true => (32, 128),
            false => (AddressPlan::V4_PREFIX, AddressPlan::V6_PREFIX),
        };
        let own =
            vec![(IpAddr::V4(addresses.v4(node)), v4_prefix), (IpAddr::V6(addresses.v6(node)), v6_prefix)];
        let mtu = settings.driver.mtu;
        if settings.host == Some(node) {
            let Attached { device, name } = attach(&own, mtu)?;
            let counters = std::fs::File::open("/proc/self/net/dev")
                .map_err(EmulateError::system("reading counters"))?;
            ends.push(End { node, namespace: None, counters: counters.into(), device: name });
            devices.push(Tun::new(device, mtu as usize));
            continue;
        }
        let config = EndConfig { device: name.clone(), position, addresses: own, hosts: hosts.clone(), mtu };
        let Made { namespace, device, switch, counters, has_v6, hosts_error } =
            maker.make(&config, host.as_deref())?;
        if ends.is_empty() {
            if !has_v6 {
                warnings.push("this system has no IPv6: the ends have IPv4 addresses only".to_owned());
            }
            if let Some(error) = hosts_error {
                warnings.push(format!("names of nodes do not resolve ({error}): use WHIMBREL_ADDRESS_NODE"));
            }
        }
        if is_member(&settings.hosts, node) {
            switches.push((ends.len(), switch));
        }
        let namespace = host.unwrap_or_else(|| Arc::new(namespace));
        ends.push(End { node, namespace: Some(namespace), counters, device: name });
        devices.push(Tun::new(device, settings.driver.mtu as usize));
    }
    Ok(Ends { ends, devices, switches, warnings })
}

/// Waits until each of the programs listens for connections or datagrams, or has ended, up to `longest`.
fn wait_for_listeners(programs: &mut [Running], longest: Duration, observer: &dyn Observer) {
    let clock = Clock::start();
    while clock.now() < Instant::ZERO + longest && !observer.is_interrupted() {
        if programs.iter_mut().all(|program| program.status().is_some() || program.is_listening()) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Runs the network until the main program ends.
fn run(
    driver: &mut Driver<'_>,
    programs: &mut [Running],
    settings: &Settings,
    observer: &mut dyn Observer,
) -> Result<Option<Ending>, EmulateError> {
    let mut observed = Instant::ZERO + OBSERVED;
    let limit = settings.limit.map_or(Instant::FAR_FUTURE, |limit| Instant::ZERO + limit);
    let mut ending: Option<(Ending, Escalation)> = None;
    loop {
        let until = (driver.now() + GRAIN).min(limit.max(driver.now()));
        let main: BorrowedFd<'_> = programs[0].descriptor().as_fd();
        let is_over =
            driver.turn(until, main).map_err(EmulateError::system("passing packets of a TUN device"))?;
        if is_over && programs[0].status().is_some() {
            return Ok(ending.map(|(ending, _)| ending));
        }
        let now = driver.now();
        if now >= observed {
            observed = now + OBSERVED;
            observer.observe(driver).map_err(EmulateError::system("writing a capture"))?;
            if ending.is_none() {
                tell_of_ends(settings, &mut programs[1..], observer);
            }
        }
        if ending.is_none() {
            let reason = if observer.is_interrupted() {
                Some(Ending::Interrupted)
            } else {
                (now >= limit).then_some(Ending::Limit)
            };
            ending = reason.map(|reason| (reason, Escalation::start(now)));
        }
        if let Some((_, escalation)) = &mut ending
            && let Some(signal) = escalation.due(now)
        {
            programs.iter_mut().for_each(|program| program.signal(signal));
        }
    }
}

fn tell_of_ends(settings: &Settings, others: &mut [Running], observer: &mut dyn Observer) {
    for (command, program) in settings.others.iter().zip(others) {
        if let Some(code) = program.newly_ended() {
            observer.command_ended(command.node, code);
        }
    }
}

/// Signals that ask programs to end, each firmer than the one before.
#[derive(Debug)]
struct Escalation {
    signals: &'static [Signal],
    next: Instant,
}

impl Escalation {
    fn start(now: Instant) -> Self {
        Self { signals: &[Signal::SIGINT, Signal::SIGTERM, Signal::SIGKILL], next: now }
    }

    /// The signal that is due, if there is one.
    fn due(&mut self, now: Instant) -> Option<Signal> {
        let (signal, rest) = self.signals.split_first().filter(|_| now >= self.next)?;
        (self.signals, self.next) = (rest, now + PATIENCE);
        Some(*signal)
    }
}

/// Ends the programs that still run.
fn end_all(mut programs: Vec<Running>) {
    let clock = Clock::start();
    let mut escalation = Escalation { signals: &[Signal::SIGTERM, Signal::SIGKILL], next: clock.now() };
    while programs.iter_mut().any(|program| program.status().is_none()) {
        match escalation.due(clock.now()) {
            Some(signal) => programs.iter_mut().for_each(|program| program.signal(signal)),
            None if escalation.signals.is_empty() => return,
            None => std::thread::sleep(std::time::Duration::from_millis(2)),
        }
    }
}

/// The packets of programs that devices have discarded since they had discarded those, by node.
fn overruns(plan: &Plan, ends: &[End], before: &[u64]) -> Vec<(String, u64)> {
    let since = |(end, before): (&End, &u64)| {
        let count = end.discarded()?.saturating_sub(*before);
        (count > 0).then(|| (plan.nodes[end.node].clone(), count))
    };
    ends.iter().zip(before).filter_map(since).collect()
}

/// The priority that [`run_in_real_time`] sets.
const PRIORITY: i32 = 50;

/// Schedules this thread before all others of normal priority; programs that it starts get the normal one.
///
/// # Errors
/// The user has no permission (`CAP_SYS_NICE` or a limit `RLIMIT_RTPRIO`).
pub fn run_in_real_time() -> io::Result<()> {
    let priority: libc::c_int = PRIORITY;
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // The system call itself: its parameters are the priority alone, and musl's function always fails.
    // SAFETY: the system reads the priority.
    let set = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) };
    nix::errno::Errno::result(set).map(drop).map_err(Into::into)
}
