//! The channels of 802.11 media in a record.

use whimbrel_netsim::Simulator;
use whimbrel_netsim::medium::{ChannelUsage, QosMedium, WifiMedium};
use whimbrel_units::Duration;

use super::super::{Parts, Run};
use crate::metrics::seconds;
use crate::record::Table;
use crate::transport::FlowAgent;

/// The use of the channels of each medium since the beginning of the run.
pub(in super::super) fn usage(
    simulator: &Simulator<FlowAgent>,
    parts: &Parts,
) -> Vec<Vec<(u8, ChannelUsage)>> {
    let of_medium = |stations: &Vec<whimbrel_netsim::StationId>| {
        let Some(id) = stations.first().map(|first| first.medium()) else { return Vec::new() };
        let qos = simulator.medium::<QosMedium>(id).map(QosMedium::usage);
        let usage = simulator.medium::<WifiMedium>(id).map(WifiMedium::usage).or(qos);
        usage.map_or_else(Vec::new, <[_]>::to_vec)
    };
    parts.stations.iter().map(of_medium).collect()
}

/// A row for each channel on which a frame was transmitted, in the order of the media.
pub(super) fn channels(run: &Run<'_>) -> Table {
    let mut rows: Vec<(&str, u8, ChannelUsage)> = Vec::new();
    let before = &run.samples.channels_before;
    for (medium, now) in usage(&run.simulator, &run.parts).iter().enumerate() {
        let before = before.get(medium).map_or(&[][..], Vec::as_slice);
        rows.extend(now.iter().map(|(channel, usage)| {
            let earlier =
                before.iter().find(|(other, _)| other == channel).map_or_else(Default::default, |e| e.1);
            (run.plan.wifi[medium].name.as_str(), *channel, usage.since(&earlier))
        }));
    }
    let time = seconds(run.plan.measured());
    let share = |duration: Duration| seconds(duration) / time;
    let mut table = Table::new("channels");
    table.words("wifi", rows.iter().map(|row| row.0));
    table.integers("channel", rows.iter().map(|row| u64::from(row.1)));
    table.floats("measured_s", rows.iter().map(|_| time));
    table.integers("frames", rows.iter().map(|row| row.2.frames));
    table.integers("retries", rows.iter().map(|row| row.2.retries));
    table.integers("overlapping_frames", rows.iter().map(|row| row.2.overlapping));
    // The sum of all stations' shares, which exceeds 1 where distant stations transmit at once, and the share
    // with any frame.
    table.floats("air_time", rows.iter().map(|row| share(row.2.air_time)));
    table.floats("busy", rows.iter().map(|row| share(row.2.busy)));
    table
}
