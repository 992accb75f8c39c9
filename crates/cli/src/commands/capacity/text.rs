//! Estimates as text.

use std::fmt::Write;

use whimbrel_inspect::capacity::{CapacityReport, ChannelReport, EstimateReport, StationReport};

use crate::table::Table;

/// The estimates of the capture called `name`.
pub(super) fn report(name: &str, report: &CapacityReport) -> String {
    let mut out = Text(String::new());
    out.line(format_args!(
        "{name}: {} 802.11 frames in {:.3} s; {}",
        report.frames,
        report.duration_s,
        stamps(report)
    ));
    for (count, meaning) in [
        (report.other_links, "records of another link type"),
        (report.malformed, "frames with an invalid or truncated header"),
        (report.damaged, "frames with a wrong check sequence"),
        (report.without_rate, "frames without a rate of 802.11a, b or g"),
        (report.without_time, "frames without a time on the air, not used"),
        (report.beyond_limit, "frames of transmitters or channels beyond the maximum"),
    ] {
        if count > 0 {
            out.line(format_args!("  {count} {meaning}"));
        }
    }
    for channel in &report.channels {
        out.line("");
        out.channel(channel);
    }
    out.0
}

fn stamps(report: &CapacityReport) -> String {
    let Some(stamps) = &report.stamps else { return "no time stamps".to_owned() };
    let clock = if stamps.clock == "tsft" { "the MAC's clock" } else { "the capture's clock" };
    let moment = match stamps.moment {
        "begin" => "the beginnings of frames",
        "mpdu" => "the ends of PLCP headers",
        _ => "the ends of frames",
    };
    match stamps.error_us {
        Some(error) => format!("times are {moment} by {clock} (responses are {error:.1} us off)"),
        None => format!("times are taken for {moment} by {clock}: no response shows it"),
    }
}

struct Text(String);

impl Text {
    fn line(&mut self, line: impl std::fmt::Display) {
        // Writing to a text cannot fail.
        let _ = writeln!(self.0, "{line}");
    }

    fn channel(&mut self, channel: &ChannelReport) {
        let frequency =
            channel.frequency_mhz.map_or("unknown frequency".to_owned(), |mhz| format!("{mhz} MHz"));
        self.line(format_args!(
            "{frequency}: {} frames, {:.1} % busy",
            channel.frames,
            100.0 * channel.busy_share
        ));
        self.line(format_args!("  {:<32}{:>16}{:>16}", "estimate, Mbit/s", "capacity", "available"));
        for (name, estimate) in [
            ("rt-Winf, onlooker", &channel.onlooker),
            ("rt-Winf, data and ACK", &channel.data_ack),
            ("IdleGap", &channel.idle_gap),
        ] {
            self.line(format_args!("  {name:<32}{}", pair(estimate.as_ref())));
        }
        for station in &channel.stations {
            self.station(station);
        }
        if channel.intervals.is_empty() {
            return;
        }
        self.line("  capacity and available, Mbit/s");
        let mut table =
            Table::new(&["time", "rt-Winf, onlooker", "rt-Winf, data and ACK", "IdleGap", "sender"], &[4])
                .indented("  ");
        for interval in &channel.intervals {
            let [onlooker, data_ack, idle_gap] =
                [&interval.onlooker, &interval.data_ack, &interval.idle_gap].map(|one| short(one.as_ref()));
            let senders: Vec<String> = interval
                .senders
                .iter()
                .map(|(address, estimate)| format!("{address} {}", short(Some(estimate))))
                .collect();
            let time = format!("{:.3} s", interval.time_s);
            table.row([time, onlooker, data_ack, idle_gap, senders.join(", ")]);
        }
        self.line(table.for_stdout().trim_end());
    }

    fn station(&mut self, station: &StationReport) {
        let share =
            |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.1} %", 100.0 * share));
        self.line(format_args!(
            "  {}: {} frames, {} of data with {} bytes; {} without response of {} attempts; backoff {} of a cycle",
            station.address,
            station.frames,
            station.data_frames,
            station.data_bytes,
            share(station.failure_probability),
            station.attempts,
            share(station.backoff_share)
        ));
        for (name, estimate) in
            [("rt-Winf, sender", &station.sender), ("rt-Winf, receiver", &station.receiver)]
        {
            if estimate.is_some() {
                self.line(format_args!("    {name:<30}{}", pair(estimate.as_ref())));
            }
        }
    }
}

/// Capacity and available bandwidth in Mbit/s, in one column.
fn short(estimate: Option<&EstimateReport>) -> String {
    match estimate {
        Some(EstimateReport { capacity_bps, available_bps }) => {
            format!("{:.3} {:.3}", capacity_bps / 1e6, available_bps / 1e6)
        }
        None => "- -".to_owned(),
    }
}

/// Capacity and available bandwidth in Mbit/s, in two columns.
fn pair(estimate: Option<&EstimateReport>) -> String {
    match estimate {
        Some(EstimateReport { capacity_bps, available_bps }) => {
            format!("{:>16.3}{:>16.3}", capacity_bps / 1e6, available_bps / 1e6)
        }
        None => format!("{:>16}{:>16}", "-", "-"),
    }
}
