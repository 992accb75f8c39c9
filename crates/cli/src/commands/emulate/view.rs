//! The live view of an emulation on standard error.

use std::fmt::Write as _;
use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use whimbrel_emu::driver::Driver;
use whimbrel_lab::Plan;
use whimbrel_units::{DataRate, Duration, Instant};

use super::EmulateArgs;
use crate::print;

/// Links and stations that are shown: those with the most packets.
const SHOWN: usize = 8;
/// The time between two lines of the view among the output of programs.
const LINE: Duration = Duration::from_secs(1);

/// Output of the live view.
enum Form {
    /// Nowhere.
    Hidden,
    /// Drawn again in place.
    InPlace(ProgressBar),
    /// A line at a time.
    Lines,
}

/// The view.
pub(super) struct View {
    form: Form,
    links: Vec<String>,
    /// The media's stations, in the order of the media.
    stations: Vec<Vec<String>>,
    /// Time, and bytes and packets of each row, when the view was last made.
    at: Instant,
    before: Vec<u64>,
}

/// A link or a station now.
struct Row<'a> {
    name: &'a str,
    /// Bytes that have left it.
    bytes: u64,
    queue: u64,
    /// Packets lost, by cause.
    lost: [(&'static str, u64); 3],
}

impl View {
    #[allow(clippy::disallowed_methods, reason = "it only asks what they are")]
    pub(super) fn new(args: &EmulateArgs, plan: &Plan) -> Self {
        let is_alone = !args.command.is_empty() && !std::io::stdout().is_terminal();
        let form = if args.quiet {
            Form::Hidden
        } else if args.view {
            Form::Lines
        } else if is_alone && std::io::stderr().is_terminal() {
            let style =
                ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
            Form::InPlace(ProgressBar::new_spinner().with_style(style))
        } else {
            Form::Hidden
        };
        let stations = plan.wifi.iter();
        let stations = stations
            .map(|wifi| wifi.stations.iter().map(|station| plan.nodes[station.node].clone()).collect());
        Self {
            form,
            links: plan.links.iter().map(|link| link.name.clone()).collect(),
            stations: stations.collect(),
            at: Instant::ZERO,
            before: Vec::new(),
        }
    }

    /// Shows the network as it is now.
    pub(super) fn update(&mut self, driver: &mut Driver<'_>) {
        let now = driver.now();
        let is_line = match self.form {
            Form::Hidden => return,
            Form::Lines => true,
            Form::InPlace(_) => false,
        };
        if is_line && now - self.at < LINE {
            return;
        }
        let text = self.text(driver, now, if is_line { "; " } else { "\n" });
        match &self.form {
            Form::InPlace(bar) => bar.set_message(whimbrel_relay::text::printable(&text).into_owned()),
            _ => print::aside(text),
        }
    }

    /// Removes the view.
    pub(super) fn clear(&self) {
        if let Form::InPlace(bar) = &self.form {
            bar.finish_and_clear();
        }
    }

    fn text(&mut self, driver: &mut Driver<'_>, now: Instant, separator: &str) -> String {
        let late =
            driver.lateness().map(|lateness| lateness.take_recent()).into_iter().max().unwrap_or_default();
        let simulator = driver.emulation().run().simulator();
        let mut text = format!(
            "{:.1} s: {} events, {} packets inside, at most {:.3} ms late",
            now.as_secs_f64(),
            simulator.events_handled(),
            simulator.packets_in_network(),
            late.as_secs_f64() * 1e3,
        );
        let rows = self.rows(driver);
        let elapsed = (now - self.at).as_secs_f64().max(1e-9);
        let rates: Vec<f64> = rows
            .iter()
            .enumerate()
            .map(|(row, each)| {
                (each.bytes - self.before.get(row).copied().unwrap_or(0)) as f64 * 8.0 / elapsed
            })
            .collect();
        let mut order: Vec<usize> = (0..rows.len()).filter(|&row| rows[row].bytes > 0).collect();
        order.sort_by(|&a, &b| rows[b].bytes.cmp(&rows[a].bytes));
        for &row in order.iter().take(SHOWN) {
            let Row { name, queue, lost, .. } = &rows[row];
            let rate = DataRate::from_bits_per_second(rates[row]);
            // Writing to a string cannot fail.
            let _ = write!(text, "{separator}{name}: {rate}, {queue} queued");
            for (cause, count) in lost.iter().filter(|(_, count)| *count > 0) {
                let _ = write!(text, ", {count} lost {cause}");
            }
        }
        self.before = rows.iter().map(|row| row.bytes).collect();
        self.at = now;
        text
    }

    fn rows(&self, driver: &Driver<'_>) -> Vec<Row<'_>> {
        let run = driver.emulation().run();
        let simulator = run.simulator();
        let links = self.links.iter().zip(run.links()).map(|(name, &link)| {
            let stats = simulator.link_stats(link);
            Row {
                name,
                bytes: stats.departed.bytes,
                queue: simulator.queue_snapshot(link).queued.packets,
                lost: [
                    ("in the queue", stats.dropped.packets),
                    ("by the radio", stats.wireless_lost.packets),
                    ("while down", stats.down_lost.packets),
                ],
            }
        });
        let stations = self.stations.iter().flatten().zip(run.stations().iter().flatten());
        let stations = stations.map(|(name, &station)| {
            let stats = simulator.station_stats(station);
            Row {
                name,
                bytes: stats.taken.bytes,
                queue: simulator.station_backlog(station).packets,
                lost: [("in the queue", stats.dropped.packets), ("on the air", stats.lost.packets), ("", 0)],
            }
        });
        links.chain(stations).collect()
    }
}
