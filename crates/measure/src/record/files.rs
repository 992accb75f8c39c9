//! The files of a recording.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};

use super::Mode;
use super::analysis::{Direction, Summary};
use super::clocks::ClockFit;
use super::probe::Class;

/// A recording of both directions.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The server, as named on the command line.
    pub(super) host: String,
    pub(super) mode: Mode,
    pub(super) load_s: f64,
    pub(super) rate_limit_bps: f64,
    pub(super) clocks: ClockFit,
    /// To the server.
    pub(super) up: Direction,
    /// From the server.
    pub(super) down: Direction,
}

/// Shares of the rate limit above which saturation was not reached for certain.
const LIMITED: f64 = 0.95;

/// Makes the directory.
///
/// # Errors
/// The directory cannot be made.
pub fn prepare(out: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(out).with_context(|| out.display().to_string())
}

fn rates(direction: &Direction) -> String {
    let mut text = String::from("# seconds, Mbit/s\n");
    for (at, rate) in direction.rates() {
        let _ = writeln!(text, "{at:.6}\t{:.6}", rate * 1e-6);
    }
    text
}

fn loss_spans(direction: &Direction) -> String {
    let mut text = String::from("from_s,to_s\n");
    for (from, to) in direction.losses().iter().flat_map(|losses| &losses.spans) {
        let _ = writeln!(text, "{:.6},{:.6}", from.as_secs_f64(), to.as_secs_f64());
    }
    text
}

/// `0` for a probe that arrived and `1` for a lost one, a hundred per line.
fn loss_marks(direction: &Direction) -> String {
    let mut text = String::new();
    let mut column = 0;
    let losses = direction.losses();
    for (lost, length) in losses.iter().flat_map(|losses| losses.runs.iter()) {
        for _ in 0..length {
            text.push(if lost { '1' } else { '0' });
            column += 1;
            if column % 100 == 0 {
                text.push('\n');
            }
        }
    }
    text.push('\n');
    text
}

fn delays(path: &Path, direction: &Direction) -> std::io::Result<()> {
    let mut file = BufWriter::new(fs::File::create(path)?);
    writeln!(file, "sent_s,delay_s,class")?;
    let mut packets: Vec<_> = direction.packets.iter().collect();
    packets.sort_by_key(|packet| packet.sent_us);
    for packet in packets {
        let class = match packet.class {
            Class::Ping => "ping",
            Class::Load => "load",
            Class::Train => "train",
        };
        let delay = (packet.arrived_us - packet.sent_us) as f64 * 1e-6;
        writeln!(file, "{:.6},{delay:.6},{class}", packet.sent_us as f64 * 1e-6)?;
    }
    file.flush()
}

impl Recording {
    /// Writes all files.
    ///
    /// # Errors
    /// One of them cannot be written.
    pub fn write(&self, out: &Path) -> anyhow::Result<()> {
        let save = |name: &str, text: String| {
            let path = out.join(name);
            fs::write(&path, text).with_context(|| path.display().to_string())
        };
        for (name, direction) in [("up", &self.up), ("down", &self.down)] {
            if self.mode == Mode::Saturate {
                let stamps = direction.deliveries();
                save(
                    &format!("{name}.mahimahi"),
                    stamps.iter().fold(String::new(), |mut text, stamp| {
                        let _ = writeln!(text, "{stamp}");
                        text
                    }),
                )?;
            }
            save(&format!("{name}.rate"), rates(direction))?;
            save(&format!("{name}.losses.csv"), loss_spans(direction))?;
            save(&format!("{name}.losses.txt"), loss_marks(direction))?;
            let path = out.join(format!("{name}.delays.csv"));
            delays(&path, direction).with_context(|| path.display().to_string())?;
        }
        save("record.json", format!("{:#}\n", self.document()))?;
        save("scenario.toml", self.scenario())
    }

    /// The summary as JSON.
    pub fn document(&self) -> Value {
        let one = |direction: &Direction| {
            let mut value = json!(direction.summary());
            value["is_rate_limited"] = self.is_limited(&direction.summary()).into();
            value
        };
        json!({
            "host": self.host,
            "mode": self.mode,
            "load_s": self.load_s,
            "rate_limit_bps": self.rate_limit_bps,
            "clock_offset_s": self.clocks.offset,
            "clock_skew": self.clocks.skew,
            "up": one(&self.up),
            "down": one(&self.down),
        })
    }

    /// `true` if the path may carry more than it was offered.
    fn is_limited(&self, summary: &Summary) -> bool {
        self.mode == Mode::Saturate
            && summary.rate_bps.is_some_and(|rate| rate > LIMITED * self.rate_limit_bps)
    }

    /// The summary for a reader.
    pub fn text(&self, out: &Path) -> String {
        let mut text = String::new();
        for (name, direction) in [("to", &self.up), ("from", &self.down)] {
            let summary = direction.summary();
            let rate = summary.rate_bps.map_or("unknown".into(), |rate| format!("{:.3} Mbit/s", rate * 1e-6));
            let _ = write!(text, "{name} {}: {rate}", self.host);
            if self.is_limited(&summary) {
                let _ = write!(text, " (limited by --rate)");
            }
            let _ = write!(
                text,
                ", {} of {} probes lost, one-way delay {:.1} ms at least",
                summary.lost,
                summary.sent,
                summary.delay_min_s * 1e3
            );
            if let (Some(median), Some(p95)) = (summary.delay_p50_s, summary.delay_p95_s) {
                let _ = write!(text, ", under load {:.1} (median), {:.1} (95 %)", median * 1e3, p95 * 1e3);
            }
            text.push('\n');
        }
        let _ = write!(
            text,
            "clocks: {:+.1} ppm; delays suppose equal least delays in both directions\nwritten to {}",
            self.clocks.skew * 1e6,
            out.join("scenario.toml").display()
        );
        text
    }

    /// A scenario that replays the path.
    pub fn scenario(&self) -> String {
        let keys = |direction: &Direction, name: &str| {
            let summary = direction.summary();
            let mut keys = Vec::new();
            let rates = direction.rates();
            keys.push(match self.mode {
                Mode::Saturate if direction.deliveries().len() > 1 => {
                    format!("trace = {{ file = \"{name}.mahimahi\", format = \"mahimahi\" }}")
                }
                Mode::Gentle if rates.iter().any(|(_, rate)| *rate > 0.0) => {
                    format!("trace = {{ file = \"{name}.rate\", format = \"rate\" }}")
                }
                // Nothing is known of the rate: use the rate of the probes, which passed.
                Mode::Saturate | Mode::Gentle => format!("rate = \"{:.0} bit/s\"", self.rate_limit_bps),
            });
            // Under saturation, the delays are caused by the probes' own queue.
            keys.push(match self.mode {
                Mode::Gentle if !direction.packets.is_empty() => {
                    format!("delay_trace = {{ file = \"{name}.delays.csv\" }}")
                }
                Mode::Saturate | Mode::Gentle => format!("delay = \"{:.3} ms\"", summary.delay_min_s * 1e3),
            });
            keys.extend(self.queue(&summary).map(|bytes| format!("queue = \"{bytes} B\"")));
            if self.mode == Mode::Gentle && direction.losses().is_some_and(|losses| losses.lost > 0) {
                keys.push(format!(
                    "loss = {{ model = \"trace\", file = \"{name}.losses.csv\", length = \"{} s\", repeat = true }}",
                    self.load_s
                ));
            }
            keys
        };
        format!(
            "# Recorded by `whimbrel record`: the path from `client` to `server` and back.\n\
             title = \"A recorded path\"\n\n[simulation]\nduration = \"{} s\"\n\n[[node]]\nname = \"client\"\n\
             [[node]]\nname = \"server\"\n\n[[link]]\nname = \"path\"\nbetween = [\"client\", \"server\"]\n{}\n\
             reverse = {{ {} }}\n\n[[flow]]\nname = \"stream\"\nfrom = \"client\"\nto = \"server\"\n\
             transport = \"dccp\"\nccid = 3\n",
            self.load_s,
            keys(&self.up, "up").join("\n"),
            keys(&self.down, "down").join(", "),
        )
    }

    /// The length of the queue in bytes that delayed the probes most, if probes were lost to it.
    fn queue(&self, summary: &Summary) -> Option<u64> {
        let (rate, longest) = (summary.rate_bps?, summary.delay_max_s?);
        let overflowed = self.mode == Mode::Saturate && summary.lost > 0;
        let bytes = (rate / 8.0 * (longest - summary.delay_min_s)) as u64;
        overflowed.then(|| bytes.max(3_000))
    }
}
