//! `whimbrel schedule`: converts a video file or a capture to a schedule of datagrams.

mod media;
mod recorded;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use serde_json::json;
use whimbrel_units::Duration;

use super::capture_file::open_if_capture;
use crate::exit::Failure;
use crate::print;

/// Application data per datagram of a video, in bytes, as of `perf` without `--size`.
const VIDEO_DATAGRAM: u32 = 1200;
/// The largest datagram that `perf` sends, in bytes.
const LARGEST_DATAGRAM: u32 = 1400;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  whimbrel schedule examples/captures/camera.mp4 -o camera.csv\n  \
                  whimbrel perf client 192.0.2.7 --schedule camera.csv\n  \
                  whimbrel schedule examples/captures/call.pcapng.gz --list\n  \
                  whimbrel schedule examples/captures/call.pcapng.gz -o call.csv\n\n\
                  Of a video (MP4, Matroska, MPEG-TS and whatever else ffmpeg reads), each coded frame becomes the datagrams\n\
                  that carry it, at its decoding time. Of a capture (pcap or pcapng), each UDP datagram of one direction of one\n\
                  flow, or the application data of each DCCP packet or TCP segment, becomes a datagram at its capture time; what TCP sent\n\
                  again is left out. Of several points of a capture, the one next to the sender counts.")]
pub(crate) struct ScheduleArgs {
    /// The video or the capture.
    file: PathBuf,
    /// The schedule to write; printed if not given.
    #[arg(long, short = 'o', value_name = "FILE.csv")]
    out: Option<PathBuf>,
    /// The largest datagram in bytes; a larger frame or datagram is divided [default: 1200 for a video, 1400
    /// for a capture]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(40..=i64::from(LARGEST_DATAGRAM)))]
    datagram: Option<u32>,
    /// The flow of a capture, as --list prints it [default: that with the most bytes]
    #[arg(long, value_name = "SOURCE>DESTINATION")]
    flow: Option<String>,
    /// List the flows of a capture.
    #[arg(long, conflicts_with_all = ["flow", "out", "datagram"])]
    list: bool,
    /// A UDP port that carries DCCP, in addition to 6511. May be repeated.
    #[arg(long, value_name = "PORT")]
    udp_port: Vec<u16>,
    /// Read only this interface of a pcapng file, by name or number. May be repeated.
    #[arg(long, value_name = "NAME")]
    interface: Vec<String>,
    /// The ffmpeg program that reads videos.
    #[arg(long, value_name = "PROGRAM", default_value = "ffmpeg")]
    ffmpeg: PathBuf,
    /// Print what was written as JSON.
    #[arg(long)]
    json: bool,
}

/// A datagram or a coded frame before it is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Piece {
    at: Duration,
    size: u32,
    /// `I`, `P` or `B` of a video's frame.
    kind: Option<char>,
}

/// The pieces of a file, and the reason why it was not read to its end, if it was not.
#[derive(Debug)]
struct Pieces {
    pieces: Vec<Piece>,
    failure: Option<anyhow::Error>,
}

/// Runs the verb.
pub(crate) fn run(args: &ScheduleArgs) -> Result<(), Failure> {
    let (name, capture) = open_if_capture(&args.file)?;
    let (read, largest) = match capture {
        Some(reader) if args.list => {
            return recorded::list(args, reader).map_err(|error| error.context(name).into());
        }
        Some(reader) => (recorded::read(args, reader), LARGEST_DATAGRAM),
        None => {
            if let Some(option) = args.option_for_captures() {
                return Err(anyhow!("{option}: {name} is no pcap or pcapng file").into());
            }
            (media::read(args), VIDEO_DATAGRAM)
        }
    };
    let Pieces { pieces, failure } = read.with_context(|| name.clone())?;
    let text = csv(&pieces, args.datagram.unwrap_or(largest));
    if let Some(path) = &args.out {
        write(path, &text).with_context(|| path.display().to_string())?;
        summarize(args, path, &pieces, text.lines().count() - 1)?;
    } else {
        print::line(text.trim_end())?;
    }
    failure.map_or(Ok(()), |error| Err(error.context(name).into()))
}

impl ScheduleArgs {
    /// The first option given that is valid for captures only.
    fn option_for_captures(&self) -> Option<&'static str> {
        let given = [
            (self.flow.is_some(), "--flow"),
            (self.list, "--list"),
            (!self.udp_port.is_empty(), "--udp-port"),
            (!self.interface.is_empty(), "--interface"),
        ];
        given.into_iter().find_map(|(is_given, name)| is_given.then_some(name))
    }
}

/// The schedule's text.
fn csv(pieces: &[Piece], largest: u32) -> String {
    let is_video = pieces.iter().any(|piece| piece.kind.is_some());
    let mut text =
        String::from(if is_video { "time_s,size_bytes,frame,type\n" } else { "time_s,size_bytes\n" });
    for (frame, piece) in pieces.iter().enumerate() {
        let nanos = piece.at.as_nanos();
        let tail = piece.kind.map_or(String::new(), |kind| format!(",{frame},{kind}"));
        for size in divided(piece.size, largest) {
            let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
            text.push_str(&format!("{seconds}.{rest:09},{size}{tail}\n"));
        }
    }
    text
}

/// The sizes of the datagrams that carry `size` bytes: all but the last are equal.
fn divided(size: u32, largest: u32) -> impl Iterator<Item = u32> {
    let parts = size.div_ceil(largest).max(1);
    let each = size.div_ceil(parts);
    // Rounding up may fill the last datagrams before their turn.
    (0..parts).map(move |part| each.min(size - (each * part).min(size))).filter(|size| *size > 0)
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(text.as_bytes())?;
    file.flush()
}

fn summarize(args: &ScheduleArgs, path: &Path, pieces: &[Piece], datagrams: usize) -> Result<(), Failure> {
    let bytes: u64 = pieces.iter().map(|piece| u64::from(piece.size)).sum();
    let last = pieces.last().map_or(Duration::ZERO, |piece| piece.at).as_secs_f64();
    let frames = pieces.iter().filter(|piece| piece.kind.is_some()).count();
    if args.json {
        let summary = json!({
            "file": path, "datagrams": datagrams, "bytes": bytes, "last_s": last,
            "frames": (frames > 0).then_some(frames),
        });
        print::line(summary)?;
    } else {
        let of_frames = if frames > 0 { format!(" of {frames} frames") } else { String::new() };
        let rate =
            if last > 0.0 { format!(", {:.0} kbit/s", bytes as f64 * 8e-3 / last) } else { String::new() };
        print::line(format!(
            "{}: {datagrams} datagrams{of_frames}, {bytes} bytes in {last:.3} s{rate}",
            path.display()
        ))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
