//! The losses of a run's table of packets (`run --out`, with `record.packets`).

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use anyhow::{Context, bail};
use whimbrel_inspect::loss_fit::LossRuns;

use crate::bounded_lines::BoundedLines;

/// Fates of packets that arrived.
const ARRIVED: [&str; 4] = ["received", "damaged", "late", "refused"];
/// Rows of datagrams without a packet of their own.
const WITHOUT_PACKET: [&str; 3] = ["expired", "send-queue", "repaired"];

/// The packets of a flow in the order of their sending: that named, or the one with the most. Returns its
/// name, too.
pub(super) fn read(file: &Path, wanted: Option<&str>) -> anyhow::Result<(String, LossRuns)> {
    let mut reader = csv::Reader::from_reader(BoundedLines::new(File::open(file)?));
    let header = reader.headers()?.clone();
    let column = |name: &str| {
        let place = header.iter().position(|column| column == name);
        place.with_context(|| format!("expected the column `{name}`, as in the packets.csv of a run"))
    };
    let (flow, sent, sequence, fate) =
        (column("flow")?, column("sent_s")?, column("sequence")?, column("fate")?);
    let mut flows: BTreeMap<String, Vec<(f64, u64, bool)>> = BTreeMap::new();
    for row in reader.records() {
        let row = row?;
        let line = row.position().map_or(0, csv::Position::line);
        let cell = |index: usize| row.get(index).unwrap_or("");
        if WITHOUT_PACKET.contains(&cell(fate)) {
            continue;
        }
        let (Ok(sent), Ok(number)) = (cell(sent).parse(), cell(sequence).parse()) else {
            bail!("line {line}: expected numbers in `sent_s` and `sequence`");
        };
        let packet = (sent, number, !ARRIVED.contains(&cell(fate)));
        match flows.get_mut(cell(flow)) {
            Some(packets) => packets.push(packet),
            None => drop(flows.insert(cell(flow).to_owned(), vec![packet])),
        }
    }
    let names: Vec<String> = flows.keys().cloned().collect();
    let chosen = match wanted {
        Some(name) => flows.remove_entry(name),
        // The first of equal ones.
        None => flows.into_iter().rev().max_by_key(|(_, packets)| packets.len()),
    };
    let Some((name, mut packets)) = chosen else {
        match wanted {
            Some(name) => bail!("--flow {name}: expected one of {}", names.join(", ")),
            None => bail!("the table has no packets"),
        }
    };
    packets.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    Ok((name, packets.into_iter().map(|(_, _, lost)| lost).collect()))
}
