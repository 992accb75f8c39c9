//! The computed part of the validation page: tables that compare the machines' figures with theory, as
//! Markdown.
//!
//! `cargo run --release -p whimbrel-wifi-validation [-- --quick]` prints the tables and fails if a bound is
//! exceeded. With `--quick` the saturation tables have a few of their rows, or none, and the other tables
//! all. All runs are deterministic: a row has the same text in both forms and on every machine.
//! `scripts/validation.py` makes the page. With `--ax` the program prints the saturated cells of 802.11ax
//! alone, with `--edca` the mixes of classes.

mod saturated_ax;
mod saturation;

use std::process::ExitCode;

use whimbrel_wifi::phy::{Phy, Preamble};
use whimbrel_wifi::{MacConfig, Rate};
use whimbrel_wifi_validation::{
    adaptation, airtime, convergence, exchange, minstrel_ht, mixes, ns2, scenes, waypoint,
};

/// A table of the page.
struct Table {
    /// Rows that exceed their bounds.
    exceeded: Vec<String>,
}

impl Table {
    fn new(columns: &[&str]) -> Self {
        let numbers = columns.len() - 1;
        println!("| {} |", columns.join(" | "));
        println!("|---|{}", "--:|".repeat(numbers));
        Self { exceeded: Vec::new() }
    }

    fn row(&mut self, cells: &[String], holds: bool) {
        let row = format!("| {} |", cells.join(" | "));
        println!("{row}");
        if !holds {
            self.exceeded.push(row);
        }
    }

    /// Ends the table. Returns the rows that exceed their bounds.
    fn end(self) -> Vec<String> {
        println!();
        self.exceeded
    }
}

fn percent(ratio: f64) -> String {
    format!("{:+.3}", 100.0 * ratio)
}

fn durations() -> Vec<String> {
    println!("## Durations\n");
    println!("Published times on the air in microseconds (`crates/wifi/tests/data/frame-durations.csv`).\n");
    let mut table = Table::new(&["frame", "published, us", "computed, us"]);
    for row in include_str!("../../wifi/tests/data/frame-durations.csv").lines().skip(1) {
        let columns: Vec<&str> = row.split(',').collect();
        let [name, bytes, mbps, preamble, part, published, _] = columns[..] else { panic!("{row}") };
        let phy = match name {
            "OFDM (11a)" => Phy::ofdm(),
            "ERP-OFDM (11g)" => Phy::erp_ofdm(),
            _ => Phy::hr_dsss(Preamble::Long),
        };
        let rate = mbps.parse().ok().and_then(Rate::from_megabits_per_second).expect("a rate");
        let length = bytes.parse().expect("a length");
        let is_part = part == "payload only";
        let computed = if is_part { Phy::payload_duration(rate, length) } else { phy.duration(rate, length) };
        let preamble = if preamble == "-" { String::new() } else { format!(", {preamble} preamble") };
        let part = if is_part { ", without PLCP" } else { "" };
        let computed = computed.as_micros().to_string();
        let holds = computed == published;
        table.row(
            &[format!("{name}, {bytes} B at {rate}{preamble}{part}"), published.to_owned(), computed],
            holds,
        );
    }
    table.end()
}

fn scene(title: &str, text: &str, comparisons: Vec<scenes::Comparison>) -> Vec<String> {
    println!("## {title}\n\n{text}\n");
    let mut table = Table::new(&["scene", "quantity", "measured", "theory", "deviation, %", "bound, %"]);
    for one in comparisons {
        let cells = [
            one.scene.clone(),
            one.quantity.to_owned(),
            format!("{:.4}", one.measured),
            format!("{:.4}", one.theory),
            percent(one.deviation()),
            format!("{}", 100.0 * one.bound),
        ];
        table.row(&cells, one.holds());
    }
    table.end()
}

fn compared_with_ns2() -> Vec<String> {
    println!("## ns-2\n");
    println!(
        "Frames per second of saturated senders under `mac = \"ns-2\"`, from the first half of the senders (with capture \
         the near ones) and from the others; in a ring each sends to the next one. ns-2.35's recorded figures \
         (`crates/wifi/tests/data/ns2-saturation.csv`, made by the script beside it: means of three runs of 300 s, of the \
         ring of five runs of 60 s) and the machines' in 120 s.\n"
    );
    let mut table = Table::new(&["layout", "recorded", "measured", "deviation of the sum, %", "bound, %"]);
    for row in ns2::rows() {
        let access = if row.uses_rts { "RTS/CTS" } else { "basic" };
        let pair = |[first, second]: [f64; 2]| format!("{first:.2} + {second:.2}");
        let layout = format!(
            "{}, senders: {}, {}, {access}, {} B",
            row.layout, row.senders, row.rate, row.payload_bytes
        );
        let cells = [
            layout,
            pair(row.recorded),
            pair(row.measured),
            percent(row.deviation()),
            format!("{}", 100.0 * row.bound()),
        ];
        table.row(&cells, row.holds());
    }
    table.end()
}

/// The quick form has no rows.
fn mixes(is_quick: bool) -> Vec<String> {
    const SECONDS: f64 = 400.0;
    println!("## Classes of EDCA\n");
    println!(
        "Saturated classes of 802.11a at 54 Mbit/s with 1472 B of UDP in one cell, {SECONDS} s, and a Monte Carlo of the rule by \
         another program. Bounds: a class with more than 2 Mbit/s 1 % of the rate and 0.003 of p, else 4 % of the rate; internal \
         collisions 5 %.\n"
    );
    let columns = [
        "mix, class",
        "Mbit/s",
        "Monte Carlo",
        "deviation, %",
        "p",
        "Monte Carlo",
        "internal/s",
        "Monte Carlo",
    ];
    let mut table = Table::new(&columns);
    let rows = if is_quick { Vec::new() } else { mixes::rows(SECONDS) };
    for row in rows {
        let number = |value: f64| if value.is_nan() { "-".to_owned() } else { format!("{value:.4}") };
        let [internal, expected] = row.internal.unwrap_or([f64::NAN; 2]);
        let cells = [
            format!("EDCA: {}: {}", row.case, row.class),
            number(row.rate[0]),
            number(row.rate[1]),
            if row.rate[1] > 0.0 { percent(row.rate[0] / row.rate[1] - 1.0) } else { "-".to_owned() },
            number(row.collision[0]),
            number(row.collision[1]),
            number(internal),
            number(expected),
        ];
        table.row(&cells, row.holds(1.0));
    }
    table.end()
}

fn rate_adaptation() -> Vec<String> {
    /// Least shares of the best fixed rate's throughput.
    const ARF: f64 = 0.84;
    const MINSTREL: f64 = 0.94;
    println!("## Rate adaptation\n");
    println!(
        "One sender over a link of constant signal-to-noise ratio, payloads of 1500 B, 10 s after 5 s that do not count; every \
         frame is lost with the error probability of its rate and length. Shares of the throughput of the best fixed rate; \
         bounds: ARF at least {} %, Minstrel-like at least {} %. where the next \
         rate fails, ARF loses one frame after every ten; Minstrel's lookaround at slower rates costs nothing while the \
         best rate works.\n",
        100.0 * ARF,
        100.0 * MINSTREL
    );
    let columns = ["PHY, SNR", "best rate", "its throughput, Mbit/s", "ARF, %", "Minstrel-like, %"];
    let mut table = Table::new(&columns);
    let b = MacConfig::standard(Phy::hr_dsss(Preamble::Long), Rate::Hr11);
    let g = MacConfig::standard(Phy::erp_ofdm(), Rate::Ofdm54);
    let cases = [("802.11b", b, -4..=10_i16), ("802.11g", g, 4..=26)];
    for (name, config, decibels) in cases {
        for decibels in decibels.step_by(2) {
            let found = adaptation(&config, f64::from(decibels));
            let share = |throughput: f64| format!("{:.1}", 100.0 * throughput / found.best);
            let cells = [
                format!("{name}, {decibels} dB"),
                found.best_rate.to_string(),
                format!("{:.3}", found.best),
                share(found.arf),
                share(found.minstrel),
            ];
            let holds = found.arf >= ARF * found.best && found.minstrel >= MINSTREL * found.best;
            table.row(&cells, holds);
        }
    }
    table.end()
}

fn random_waypoint() -> Vec<String> {
    println!("## Random waypoint\n");
    println!(
        "Kolmogorov-Smirnov statistic, times the square root of 4000 nodes, of speeds (1 to 20 m/s, no pauses) and of x \
         coordinates against the stationary distributions (Navidi and Camp 2004; Hyytiä, Lassila and Virtamo 2006). A \
         stationary start must stay below {} (significance 0.001) at all times, ns-2's start must exceed it.\n",
        waypoint::BOUND
    );
    let mut table = Table::new(&["sample", "statistic"]);
    for (name, statistic) in waypoint::statistics().expect("a movement") {
        let is_stationary = name.starts_with("stationary");
        table.row(&[name, format!("{statistic:.3}")], (statistic < waypoint::BOUND) == is_stationary);
    }
    table.end()
}

fn main() -> ExitCode {
    let is_quick = match std::env::args().nth(1).as_deref() {
        None => false,
        Some("--quick") => true,
        Some("--ax") => return finish(&saturated_ax::table(false)),
        Some("--edca") => return finish(&mixes(false)),
        Some(other) => {
            eprintln!("validation: unknown argument `{other}`: expected --quick, --ax, --edca or nothing");
            return ExitCode::FAILURE;
        }
    };
    println!("## An exchange, drawn\n");
    println!(
        "Three stations in a row, 300 m (1 us) apart: 0 sends 1508 B at 11 Mbit/s to 1 by RTS/CTS with control frames at \
         1 Mbit/s; 2 receives only 1 and is reserved by its CTS. The payload arrives at 100 us. A column is 25 us, `=` a frame \
         on the air, `.` a reservation (NAV).\n"
    );
    println!("```text\n{}```\n", exchange::draw(&exchange::three_stations()));
    let mut exceeded = durations();
    exceeded.extend(saturation::tables(is_quick));
    exceeded.extend(scene(
        "Maximum throughput of one sender",
        "Equation 3 of the paper `winf`: 8 x / (a x + b) Mbit/s for payloads of x = 1500 B with 34 B of header, mean backoff \
         310 us, control frames at 1 Mbit/s, long preamble. The equation does not round times to microseconds; the machines do.",
        scenes::single_sender(),
    ));
    exceeded.extend(scene(
        "Protection in networks of 802.11b and 802.11g",
        "One sender at 54 Mbit/s: the long slot, and frames at 11 Mbit/s that reserve the medium. Theory: DIFS, 7.5 slots, the \
         frames with SIFS between them.",
        scenes::protection(),
    ));
    exceeded.extend(scene(
        "Hidden senders",
        "Two saturated senders that do not sense each other, frames without acknowledgements. Theory: each is a renewal \
         process, and a frame is received if it lies in a gap of the other one (`theory::HiddenPair`). With \
         acknowledgements and RTS/CTS no closed form is known to us: see the comparison with ns-2.",
        scenes::hidden(),
    ));
    exceeded.extend(scene(
        "Exposed senders",
        "Two senders that sense each other, with receivers that sense their own sender only. Both could send at once; \
         they share one channel, with RTS/CTS and without. Theory: the Markov chain of the counters, solved exactly \
         (`theory::SharingPair`). The sum has little noise, the division between the two more.",
        scenes::exposed(),
    ));
    exceeded.extend(scene(
        "Unfairness by EIFS",
        "The same two pairs, but the second sender cannot decode the frames of the first pair and waits for EIFS after \
         each, 15.7 slots more than DIFS; the first sender decodes everything. Theory: the same chain with that wait.",
        scenes::extended_space(),
    ));
    exceeded.extend(scene(
        "Capture: near and far senders",
        "Near senders are received in spite of far ones' frames (20 dB), DIFS after a collision, no retry limit. Theory: \
         the slotted Monte Carlo with capture, and Bianchi's chain of two classes (`theory::NearFar`), which assumes \
         independence.",
        scenes::capture(),
    ));
    exceeded.extend(rate_adaptation());
    exceeded.extend(scene(
        "Convergence of routing",
        "Agents on links of 1 ms without losses. Theory: under ns-2's rules DSDV advertises a route after two settling times of \
         6 s and loses a neighbour after three periods of 15 s; for the 4x4 grid, the mean of 40 runs of Debian's ns-2.35 beside \
         that of 20. AODV searches rings of 1, 3, 5 and 7 hops, each for 80 ms times its hops and 2, and then three times the \
         whole network for 2.8, 5.6 and 11.2 s (RFC 3561, sections 6.3 and 6.4).",
        convergence::convergence(),
    ));
    exceeded.extend(saturated_ax::table(is_quick));
    exceeded.extend(mixes(is_quick));
    exceeded.extend(scene(
        "Airtime of fast and slow receivers",
        "An access point that always has packets of 1500 B for three stations of 802.11n (20 MHz, guard interval 0.4 us): two with \
         MCS 15, the third with MCS 0; aggregates of at most 4 ms and 32 frames. Theory: the deficits computed on paper, with the \
         mean backoff (airtime as Linux counts it, 256 us in a turn).",
        airtime::comparisons(),
    ));
    exceeded.extend(scene(
        "Minstrel-HT",
        "One saturated sender (1472 B of UDP), 1 s after 5 s that do not count; every MPDU is lost with the probability of its mode and \
         length. Theory: the best fixed mode of the format, width and streams; 94 % of the sum is required, 92 % of 802.11ac. Linux's estimate counts probabilities above 90 % as 90 %, and prefers MCS 9 with 17 % of losses to MCS 8 with 0.5 % (28 dB): without that limit, 97 % are reached, with a window of 256 instead of 64, 95 %.",
        minstrel_ht::comparisons(),
    ));
    exceeded.extend(compared_with_ns2());
    println!("## ns-3\n\n{NS3}\n");
    exceeded.extend(random_waypoint());
    finish(&exceeded)
}

/// Causes of differences, found by changing one parameter at a time.
const NS3: &str = "Saturated stations of 802.11ax that upload 1472 B (80 MHz, two streams, MCS 11) deliver 87.2 thousand packets a second with 2 stations, and 86.9 with 10, in \
     ns-3.37 with `HeConfiguration::GuardInterval` of 800 ns and `MpduBufferSize` of 256, whose defaults are 3200 ns and 64 (one station: 27.6 thousand in 0.6 s instead of 40.6). The simulator \
     delivers 87.9 and 86.0 with `rts_threshold = \"65535 B\"`, the default of ns-3, and 84.3 and 69.4 without RTS, where a collision costs whole A-MPDUs; ns-3 then delivers 61.7 with 10, the mean of four runs of 0.6 s (59.3 to 65.0). \
     The cause is the requests (BlockAckReq) that ns-3 sends after missed block acknowledgements: without them (`QosTxop::UseExplicitBarAfterMissedBlockAck`) it delivers 67.4 (65.3 to 72.3). \
     In a cell of the simulator's MACs alone, such requests change 71.2 to 60.6; EIFS, the beginning of the backoff after a missing response, its timeout and the limits of repetitions change less than 0.3 %, and a window of 200 instead of 256 1.2 %.";

/// Names the rows that exceed their bounds.
fn finish(exceeded: &[String]) -> ExitCode {
    for row in exceeded {
        eprintln!("bound exceeded: {row}");
    }
    if exceeded.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
