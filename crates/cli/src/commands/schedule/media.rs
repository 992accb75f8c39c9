//! Schedules from video files.
//!
//! ffmpeg reads the file, in a process of its own: containers are many, their parsers are large, and files
//! may be damaged or hostile. Its `framecrc` format is a line per coded frame.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, anyhow, bail};
use whimbrel_units::Duration;

use super::{Piece, Pieces, ScheduleArgs};

/// Length of the part of ffmpeg's messages that is kept.
const MESSAGES: u64 = 64 << 10;
/// The largest frame, in bytes.
const LARGEST_FRAME: u32 = 1 << 28;
/// Longest time from the first frame to the last.
const LONGEST_S: f64 = 1e9;

/// The frames of the first video stream.
pub(super) fn read(args: &ScheduleArgs) -> anyhow::Result<Pieces> {
    // The prefix keeps names such as `concat:a` or `-o` from being read as something else.
    let mut input = OsString::from("file:");
    input.push(&args.file);
    let mut child = Command::new(&args.ffmpeg)
        .args(["-hide_banner", "-nostdin", "-v", "error", "-protocol_whitelist", "file", "-i"])
        .arg(input)
        .args(["-map", "0:v:0", "-c", "copy", "-f", "framecrc", "-"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| {
            format!(
                "starting {} (it reads videos: install ffmpeg, or name the program by --ffmpeg)",
                args.ffmpeg.display()
            )
        })?;
    let (Some(output), Some(mut messages)) = (child.stdout.take(), child.stderr.take()) else {
        bail!("ffmpeg has no output");
    };
    // A full pipe of messages would stop it.
    let messages = thread::spawn(move || {
        let mut text = Vec::new();
        let _ = messages.by_ref().take(MESSAGES).read_to_end(&mut text);
        let _ = std::io::copy(&mut messages, &mut std::io::sink());
        String::from_utf8_lossy(&text).into_owned()
    });
    let frames = frames(BufReader::new(output));
    if frames.is_err() {
        let _ = child.kill();
    }
    let status = child.wait()?;
    let messages = messages.join().unwrap_or_default();
    let pieces = frames?;
    let failed = !status.success() || !messages.trim().is_empty();
    let failure = failed.then(|| {
        let last = messages.lines().rev().find(|line| !line.trim().is_empty());
        anyhow!("ffmpeg: {}", last.map_or_else(|| status.to_string(), |line| line.trim().to_owned()))
    });
    match failure {
        Some(error) if pieces.is_empty() => Err(error),
        None if pieces.is_empty() => bail!("it contains no video frames"),
        failure => Ok(Pieces { pieces, failure }),
    }
}

/// Reads ffmpeg's output: a line `#tb 0: 1/12800` with the unit of time, and one of the form
/// `0, dts, pts, duration, size, 0xchecksum` per frame, with `F=0x0` unless the frame is a key frame.
pub(super) fn frames(output: impl BufRead) -> anyhow::Result<Vec<Piece>> {
    let mut unit_s = None;
    let mut first = None;
    let mut latest_shown = i64::MIN;
    let mut pieces: Vec<Piece> = Vec::new();
    for line in output.lines() {
        let line = line.context("reading ffmpeg's output")?;
        if let Some(unit) = line.strip_prefix("#tb 0:") {
            unit_s = Some(fraction(unit).ok_or_else(|| unexpected(&line))?);
        }
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        let frame = frame(&line).ok_or_else(|| unexpected(&line))?;
        let unit_s = unit_s.ok_or_else(|| anyhow!("ffmpeg states no unit of time"))?;
        let start = *first.get_or_insert(frame.decoded);
        let seconds = (frame.decoded as f64 - start as f64) * unit_s;
        if seconds > LONGEST_S {
            bail!("the frame of {seconds} s is too far from the first");
        }
        // A frame that is shown before an earlier one refers to it.
        let kind = match (frame.is_key, frame.shown < latest_shown) {
            (true, _) => 'I',
            (false, true) => 'B',
            (false, false) => 'P',
        };
        latest_shown = latest_shown.max(frame.shown);
        let earliest = pieces.last().map_or(Duration::ZERO, |piece| piece.at);
        pieces.push(Piece {
            at: Duration::from_secs_f64(seconds).max(earliest),
            size: frame.size,
            kind: Some(kind),
        });
    }
    pieces.retain(|piece| piece.size > 0);
    Ok(pieces)
}

/// A line of ffmpeg's output, with times in its unit.
struct Frame {
    decoded: i64,
    shown: i64,
    size: u32,
    is_key: bool,
}

fn frame(line: &str) -> Option<Frame> {
    const KEY: u32 = 1;
    let mut fields = line.split(',').map(str::trim);
    let _stream = fields.next()?;
    let decoded = fields.next()?.parse().ok()?;
    let shown = fields.next()?.parse().ok()?;
    let _duration = fields.next()?;
    let size = fields.next()?.parse().ok().filter(|size| *size <= LARGEST_FRAME)?;
    let _checksum = fields.next()?;
    let flags = match fields.find_map(|field| field.strip_prefix("F=0x")) {
        Some(flags) => u32::from_str_radix(flags, 16).ok()?,
        None => KEY,
    };
    Some(Frame { decoded, shown, size, is_key: flags & KEY != 0 })
}

/// `1/12800`, above zero.
fn fraction(text: &str) -> Option<f64> {
    let (numerator, denominator) = text.trim().split_once('/')?;
    let (numerator, denominator): (u32, u32) = (numerator.parse().ok()?, denominator.parse().ok()?);
    (numerator > 0 && denominator > 0).then(|| f64::from(numerator) / f64::from(denominator))
}

fn unexpected(line: &str) -> anyhow::Error {
    anyhow!("ffmpeg printed an unexpected line: {line:?}")
}
