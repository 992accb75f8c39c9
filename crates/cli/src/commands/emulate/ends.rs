//! The ends and commands that a command line names.

use std::ffi::OsString;

use anyhow::{anyhow, bail};
use whimbrel_emu::driver::DriverConfig;
use whimbrel_emu::interfaces::Host;
use whimbrel_emu::session::{EndCommand, Settings, flow_ends, level};
use whimbrel_lab::Plan;
use whimbrel_units::{Duration, Instant};

use super::EmulateArgs;
use crate::quantity::parse_seconds;

/// Names that an error message lists.
const SHOWN: usize = 12;
/// Bytes of packets that may be in the network.
const MEMORY: usize = 256 << 20;
/// Bytes of a packet in the network in addition to its own.
const OVERHEAD: usize = 256;

/// The settings of an emulation.
pub(super) fn settings(args: &EmulateArgs, plan: &Plan) -> anyhow::Result<Settings> {
    let simulated = simulated(args, plan)?;
    let flow_ends = flow_ends(plan, &simulated);
    let mut ends = if args.ends.is_empty() {
        flow_ends.clone()
    } else {
        args.ends.iter().map(|name| node("--ends", plan, name)).collect::<Result<Vec<_>, _>>()?
    };
    if let Some(twice) = ends.iter().enumerate().find(|(place, end)| ends[..*place].contains(end)) {
        bail!("--ends: \"{}\" is named twice", plan.nodes[*twice.1]);
    }
    let mut others = Vec::new();
    for text in &args.ends_with_commands {
        let (name, command) = text.split_once('=').ok_or_else(|| {
            anyhow!("--end {text}: expected NODE=COMMAND, such as --end server='iperf3 -s'")
        })?;
        if command.trim().is_empty() {
            bail!("--end {text}: there is no command after the `=`");
        }
        let node = node(&format!("--end {text}"), plan, name.trim())?;
        let arguments = ["/bin/sh", "-c", command].map(OsString::from).to_vec();
        others.push(EndCommand { node, arguments });
    }
    let main = match &args.at {
        Some(name) => node("--at", plan, name)?,
        None => *flow_ends.iter().chain(&ends).find(|&&end| ends.contains(&end) && args.host.as_ref() != Some(&plan.nodes[end])).ok_or_else(|| {
            anyhow!(
                "the scenario has no flow whose ends could become namespaces: name two nodes with --ends A,B"
            )
        })?,
    };
    let host = args.host.as_deref().map(|name| node("--host", plan, name)).transpose()?;
    for node in others.iter().map(|other| other.node).chain([main]).chain(host) {
        if !ends.contains(&node) {
            ends.push(node);
        }
    }
    let hosts = hosts(args, plan)?;
    for node in hosts.iter().flat_map(|host| &host.ends) {
        // In the order of the hosts.
        ends.retain(|end| end != node);
        ends.push(*node);
    }
    let arguments = if args.command.is_empty() { vec![shell()] } else { args.command.clone() };
    let limit = match args.limit.as_deref() {
        None => None,
        Some("scenario") => Some(plan.end - Instant::ZERO),
        Some(text) => {
            Some(parse_seconds(text).map_err(|error| anyhow!("--for {text}: {error}, or `scenario`"))?)
        }
    };
    if args.spin > Duration::from_secs(1) {
        bail!("--spin {}: expected at most a second; a millisecond is enough", args.spin);
    }
    Ok(Settings {
        ends,
        host,
        level: args.level.unwrap_or_else(level),
        simulated,
        hosts,
        others,
        main: EndCommand { node: main, arguments },
        seed: args.seed.unwrap_or(plan.seed),
        limit,
        wait: args.wait,
        redirects_output: args.json,
        driver: DriverConfig {
            mtu: args.mtu,
            spin: args.spin,
            most_packets: MEMORY / (args.mtu as usize + OVERHEAD),
        },
    })
}

/// The flows that remain simulated: those in the background, and those that the command line names.
fn simulated(args: &EmulateArgs, plan: &Plan) -> anyhow::Result<Vec<usize>> {
    let flows = || plan.flows.iter().enumerate();
    if let Some(unknown) = args.simulate.iter().find(|name| !flows().any(|(_, flow)| flow.name == **name)) {
        let names: Vec<&str> = plan.flows.iter().take(SHOWN).map(|flow| flow.name.as_str()).collect();
        let more = if plan.flows.len() > SHOWN { ", ..." } else { "" };
        bail!(
            "--simulate: the scenario has no flow \"{unknown}\"; expected one of: {}{more}",
            names.join(", ")
        );
    }
    Ok(flows()
        .filter(|(_, flow)| flow.background || args.simulate.contains(&flow.name))
        .map(|(flow, _)| flow)
        .collect())
}

/// The hosts with several interfaces.
fn hosts(args: &EmulateArgs, plan: &Plan) -> anyhow::Result<Vec<Host>> {
    let host = |text: &String| {
        let (_, names) = text
            .split_once('=')
            .filter(|(host, names)| !host.is_empty() && !names.is_empty())
            .ok_or_else(|| {
            anyhow!("--interfaces {text}: expected HOST=NODE,NODE, such as --interfaces phone=wifi,cell")
        })?;
        let nodes = names.split(',').map(|name| node(&format!("--interfaces {text}"), plan, name.trim()));
        Ok(Host { ends: nodes.collect::<anyhow::Result<_>>()? })
    };
    args.hosts.iter().map(host).collect()
}

fn shell() -> OsString {
    std::env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".into())
}

/// The position of a node.
fn node(option: &str, plan: &Plan, name: &str) -> anyhow::Result<usize> {
    plan.nodes.iter().position(|node| node == name).ok_or_else(|| {
        let more = if plan.nodes.len() > SHOWN { ", ..." } else { "" };
        let names = plan.nodes[..plan.nodes.len().min(SHOWN)].join(", ");
        anyhow!("{option}: the scenario has no node \"{name}\"; expected one of: {names}{more}")
    })
}
