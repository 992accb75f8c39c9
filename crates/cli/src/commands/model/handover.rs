//! `whimbrel model handover`: Table 4 of the paper `freeze`, for its networks and the user's.

use std::fmt::Write as _;

use anyhow::{Context, anyhow};
use clap::Args;
use serde::de::value::{Error as ValueError, StrDeserializer};
use serde::{Deserialize, de::IntoDeserializer};
use serde_json::{Value, json};
use whimbrel_control::handover_model::networks::{by_name, table_3};
use whimbrel_control::handover_model::{Handover, Network, Prediction, predict};
use whimbrel_lab::scenario::quantity::{Rate, Time};
use whimbrel_units::ByteCount;

use crate::exit::Failure;
use crate::print;
use crate::table::Table;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  whimbrel model handover\n  \
                  whimbrel model handover --network home=1.2MB/s,50ms --network train=300kB/s,120ms\n  \
                  whimbrel model handover --network cell=2MB/s,60ms --network umts --only --json\n\n\
                  A handover takes t_ho = 2.5 s + R of the new network (Mobile IPv6). The networks of the paper are umts,\n\
                  802.16, 802.11b and 802.11g, with the rate and round-trip time that a TFRC sender measured there (Table 3).")]
pub(crate) struct HandoverArgs {
    /// A network: its name, the rate that TFRC reaches there and the round-trip time; or the name of one of
    /// the paper's. May be repeated.
    #[arg(long, value_name = "NAME=RATE,RTT", value_parser = parse_network)]
    network: Vec<Named>,
    /// Leave out the paper's networks that `--network` does not name.
    #[arg(long, requires = "network")]
    only: bool,
    /// Size of a packet in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 500)]
    segment_size: u64,
    /// Print JSON, with the full prediction for each handover.
    #[arg(long)]
    json: bool,
}

/// A network with its display name.
#[derive(Clone, Debug)]
struct Named {
    name: String,
    network: Network,
}

/// Reads `home=1.2MB/s,50ms`, or the name of a network of the paper.
fn parse_network(text: &str) -> Result<Named, String> {
    let expected = || {
        format!(
            "{text:?} is no network: expected NAME=RATE,RTT such as home=1.2MB/s,50ms, or one of {}",
            known()
        )
    };
    let Some((name, values)) = text.split_once('=') else {
        let network = by_name(text).ok_or_else(expected)?;
        return Ok(Named { name: text.to_owned(), network });
    };
    let (rate, rtt) = values.split_once(',').ok_or_else(expected)?;
    if name.is_empty() {
        return Err(expected());
    }
    let Rate(rate) = quantity(rate).map_err(|error| format!("rate of {name}: {error}"))?;
    let Time(rtt) = quantity(rtt).map_err(|error| format!("round-trip time of {name}: {error}"))?;
    Ok(Named { name: name.to_owned(), network: Network { rate, rtt } })
}

/// A number with its unit, as in scenarios.
fn quantity<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, ValueError> {
    let text: StrDeserializer<'_, ValueError> = text.trim().into_deserializer();
    T::deserialize(text)
}

fn known() -> String {
    table_3().map(|(name, _)| name).join(", ")
}

/// Runs the verb.
pub(super) fn run(args: &HandoverArgs) -> Result<(), Failure> {
    let networks = chosen(args)?;
    let size = ByteCount::new(args.segment_size);
    let mut rows = Vec::new();
    for old in &networks {
        let mut row = Vec::new();
        for new in &networks {
            let handover = Handover::mobile_ipv6(old.network, new.network, size);
            let predicted =
                predict(&handover).with_context(|| format!("from {} to {}", old.name, new.name))?;
            row.push(predicted);
        }
        rows.push(row);
    }
    if args.json {
        print::line(as_json(&networks, size, &rows))?;
    } else {
        print::line(tables(&networks, size, &rows).trim_end())?;
    }
    Ok(())
}

/// The paper's networks and the user's.
fn chosen(args: &HandoverArgs) -> Result<Vec<Named>, Failure> {
    let mut networks: Vec<Named> = Vec::new();
    if !args.only {
        networks.extend(table_3().map(|(name, network)| Named { name: name.to_owned(), network }));
    }
    for network in &args.network {
        match networks.iter().find(|known| known.name == network.name) {
            None => networks.push(network.clone()),
            Some(known) if known.network == network.network => {}
            Some(known) => {
                let other = &known.network;
                let predicted = format!("{}, {} s", other.rate, other.rtt.as_secs_f64());
                return Err(anyhow!(
                    "--network {}: another network has this name ({predicted})",
                    network.name
                )
                .into());
            }
        }
    }
    Ok(networks)
}

fn tables(networks: &[Named], size: ByteCount, rows: &[Vec<Prediction>]) -> String {
    let mut text = String::new();
    table(&mut text, "Packets lost", networks, rows, |predicted| predicted.lost_packets.to_string());
    text.push('\n');
    let heading = format!("Capacity wasted, in packets of {} B", size.as_u64());
    table(&mut text, &heading, networks, rows, |predicted| significant(predicted.wasted.total()));
    text
}

fn table(
    text: &mut String,
    heading: &str,
    networks: &[Named],
    rows: &[Vec<Prediction>],
    cell: impl Fn(&Prediction) -> String,
) {
    let names = networks.iter().map(|network| network.name.as_str());
    let mut table = Table::new(&std::iter::once("from \\ to").chain(names).collect::<Vec<_>>(), &[0]);
    for (network, row) in networks.iter().zip(rows) {
        table.row(std::iter::once(network.name.clone()).chain(row.iter().map(&cell)));
    }
    let _ = write!(text, "{heading}\n{}", table.for_stdout());
}

/// Whole packets, with at most three significant digits: the model is no more precise.
fn significant(packets: f64) -> String {
    if packets.abs() < 1e3 { format!("{packets:.0}") } else { format!("{packets:.2e}") }
}

fn as_json(networks: &[Named], size: ByteCount, rows: &[Vec<Prediction>]) -> Value {
    let listed: Vec<Value> = networks
        .iter()
        .map(|Named { name, network }| {
            json!({
                "name": name,
                "rate_bytes_per_second": network.rate.as_bytes_per_second(),
                "rtt_s": network.rtt.as_secs_f64(),
            })
        })
        .collect();
    let handovers: Vec<Value> = networks
        .iter()
        .zip(rows)
        .flat_map(|(old, row)| {
            networks.iter().zip(row).map(|(new, predicted)| handover_json(&old.name, &new.name, predicted))
        })
        .collect();
    json!({ "segment_size_bytes": size.as_u64(), "networks": listed, "handovers": handovers })
}

fn handover_json(from: &str, to: &str, predicted: &Prediction) -> Value {
    json!({
        "from": from,
        "to": to,
        "disconnection_s": predicted.disconnection.as_secs_f64(),
        "lost_packets": predicted.lost_packets,
        "timeouts": predicted.timeouts,
        "rate_on_return_bytes_per_second": predicted.rate_on_return.as_bytes_per_second(),
        "idle_s": predicted.idle.as_secs_f64(),
        "slow_start_rtts": predicted.slow_start_rtts,
        "loss_event_rate": predicted.loss_event_rate.as_f64(),
        "recovery_s": predicted.recovery.as_secs_f64(),
        "growth_rtts": predicted.growth_rtts,
        "wasted_packets": predicted.wasted.total(),
        "wasted_restart_packets": predicted.wasted.restart,
        "wasted_plateau_packets": predicted.wasted.plateau,
        "wasted_growth_packets": predicted.wasted.growth,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_parsed_in_all_their_forms() {
        let home = parse_network("home=1.2MB/s,50ms").unwrap();
        assert_eq!((home.name.as_str(), home.network.rtt.as_millis()), ("home", 50));
        assert_eq!(home.network.rate.as_bytes_per_second(), 1.2e6);
        assert_eq!(parse_network("a=9.6 Mbit/s, 0.05 s").unwrap().network, home.network);
        assert_eq!(parse_network("802.11g").unwrap().network.rtt.as_millis(), 40);
        for (wrong, expected) in [
            ("wimax", "umts, 802.16, 802.11b, 802.11g"),
            ("=1MB/s,1ms", "NAME=RATE,RTT"),
            ("home=1.2MB/s", "NAME=RATE,RTT"),
            ("home=1.2,50ms", "rate of home"),
            ("home=1.2MB/s,50", "round-trip time of home"),
        ] {
            let error = parse_network(wrong).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn large_numbers_are_short() {
        assert_eq!([0.4, 798.75, 449_612.0].map(significant), ["0", "799", "4.50e5"]);
    }
}
