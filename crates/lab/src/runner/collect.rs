//! The results of a run, as tables.

mod associations;
mod capacity;
mod cells;
mod channels;
mod hosts;
mod stations;

use whimbrel_control::loss_differentiation::{Evidence, Overruled};
use whimbrel_control::reordering::LatenessSummary;
use whimbrel_netsim::{LinkId, LinkStats};
use whimbrel_units::{DataRate, Duration, Instant};

use super::Run;
use super::sample::{IntervalRow, all_counters};
use crate::metrics::{
    ClassifiedLoss, Counters, DelayStatistics, FrameSummary, LossRow, Meter, PacketOutcome, PacketRow,
    cause_name, seconds,
};
use crate::record::{Record, Table};
use crate::scenario::{FlowPlan, LinkCapacity, Note, TrafficPlan};
pub(crate) use associations::associating;
pub(super) use cells::gaps as cell_gaps;
pub(super) use channels::usage as channel_usage;
pub(super) use hosts::counters as host_counters;
pub(super) use stations::StationCounters;
pub(crate) use stations::mac_counters;

/// Makes the tables.
pub(super) fn record(run: Run<'_>) -> Record {
    let mut record = Record::default();
    record.add(flows(&run));
    record.add(links(&run));
    if !run.parts.stations.is_empty() {
        record.add(stations::stations(&run));
        record.add(channels::channels(&run));
        if let Some(table) = capacity::capacity(&run) {
            record.add(table);
        }
        if run.plan.wifi.iter().any(|wifi| wifi.infrastructure.is_some()) {
            record.add(associations::associations(&run));
        }
    }
    if !run.plan.cellular.is_empty() {
        record.add(cells::cells(&run));
        record.add(cells::changes(&run));
    }
    if !run.plan.hosts.is_empty() {
        record.add(hosts::hosts(&run));
    }
    if !run.gaps.is_empty() {
        record.add(handovers(&run));
    }
    if run.plan.record.interval.is_some() {
        record.add(intervals(&run));
    }
    if run.plan.record.losses {
        record.add(losses(&run));
    }
    if run.plan.record.packets {
        record.add(packets(&run));
    }
    let notes = notes(&run);
    if !notes.is_empty() {
        let mut table = Table::new("notes");
        table.floats(
            "time_s",
            notes.iter().map(|note| note.at.map_or(f64::NAN, |at| seconds(at - Instant::ZERO))),
        );
        table.words("subject", notes.iter().map(|note| note.subject.as_str()));
        table.words("note", notes.iter().map(|note| note.text.as_str()));
        record.add(table);
    }
    record
}

/// The notes for a reader of the tables: first the plan's, then the run's.
fn notes(run: &Run<'_>) -> Vec<Note> {
    let ended = run.plan.links.iter().zip(&run.samples.losses_exceeded).filter_map(|(link, ended)| {
        let text =
            "its recorded losses have come to an end: nothing is lost any more (`repeat` starts them again)";
        ended.map(|at| Note::since(at, &link.name, text))
    });
    run.plan
        .notes
        .iter()
        .cloned()
        .chain(ended)
        .chain(associations::notes(run))
        .chain(cells::notes(run))
        .collect()
}

fn bits_per_second(bytes: u64, time: Duration) -> f64 {
    bytes as f64 * 8.0 / seconds(time)
}

/// A number of the delay distribution; NaN without any delay.
fn number(value: Option<f64>) -> f64 {
    value.unwrap_or(f64::NAN)
}

type CounterField = (&'static str, fn(&Counters) -> u64);

/// The counters that the `flows` table shows as they are.
const FLOW_COUNTERS: &[CounterField] = &[
    ("sent_packets", |c| c.sent_packets),
    ("sent_bytes", |c| c.sent_bytes),
    ("received_packets", |c| c.received_packets),
    ("received_bytes", |c| c.received_bytes),
    ("delivered_bytes", |c| c.delivered_bytes),
    ("delivered_packets", |c| c.delivered_packets),
    ("bottleneck_packets", |c| c.bottleneck_packets),
    ("bottleneck_bytes", |c| c.bottleneck_bytes),
    ("lost_queue", |c| c.lost_queue),
    ("lost_wireless", |c| c.lost_wireless),
    ("lost_down", |c| c.lost_down),
    ("lost_other", |c| c.lost_other),
    ("marked_packets", |c| c.marked_packets),
    ("reordered_packets", |c| c.reordered_packets),
    ("retransmitted_packets", |c| c.retransmitted_packets),
    ("timeouts", |c| c.timeouts),
    ("feedback_packets", |c| c.feedback_packets),
    ("feedback_bytes", |c| c.feedback_bytes),
    ("lost_feedback", |c| c.lost_feedback),
    ("expired_datagrams", |c| c.expired_datagrams),
    ("overflowed_datagrams", |c| c.overflowed_datagrams),
    ("congestion_judged", |c| c.congestion_judged),
    ("wireless_judged", |c| c.wireless_judged),
    ("congestion_misclassified", |c| c.congestion_misclassified),
    ("wireless_misclassified", |c| c.wireless_misclassified),
    ("damaged_packets", |c| c.damaged_packets),
    ("reported_corrupt", |c| c.reported_corrupt),
];

fn flows(run: &Run<'_>) -> Table {
    let time = run.plan.measured();
    let plans = || run.plan.flows.iter();
    let totals = all_counters(&run.simulator, &run.parts.flows);
    let counts: Vec<Counters> =
        totals.iter().zip(&run.samples.flows_before).map(|(total, before)| *total - *before).collect();
    let schemes: Vec<String> = plans().map(|flow| flow.transport.scheme()).collect();
    let receivers: Vec<&Meter> = run
        .parts
        .flows
        .iter()
        .enumerate()
        .map(|(flow, ends)| run.simulator.agent(ends[1]).end().meter_of(flow))
        .collect();
    let beliefs = || run.samples.beliefs.iter();
    let rates = |bytes: fn(&Counters) -> u64| -> Vec<f64> {
        counts.iter().map(|count| bits_per_second(bytes(count), time)).collect()
    };

    let mut table = Table::new("flows");
    table.words("flow", plans().map(|flow| flow.name.as_str()));
    table.words("scheme", schemes.iter().map(String::as_str));
    table.words("classifier", plans().map(|flow| flow.transport.classifier()));
    table.words(
        "bottleneck",
        plans().map(|flow| flow.bottleneck.map_or("", |link| run.plan.links[flow.path[link]].name.as_str())),
    );
    table.integers("background", plans().map(|flow| u64::from(flow.background)));
    table.floats("measured_s", plans().map(|_| seconds(time)));
    table.floats("goodput_bps", rates(|c| c.delivered_bytes).into_iter());
    if plans().any(|flow| matches!(flow.traffic, TrafficPlan::Transfer { .. })) {
        let times = receivers.iter().map(|meter| meter.completion_time().map_or(f64::NAN, seconds));
        table.floats("completion_s", times);
    }
    if plans().any(|flow| matches!(flow.traffic, TrafficPlan::ProbePairs { .. })) {
        let ends = run.parts.flows.iter().map(|ends| run.simulator.agent(ends[1]).end());
        let rates = ends.map(|end| end.path_capacity().map_or(f64::NAN, DataRate::as_bits_per_second));
        table.floats("adhoc_probe_bps", rates);
    }
    table.floats("throughput_bps", rates(|c| c.bottleneck_bytes).into_iter());
    table.floats("send_rate_bps", rates(|c| c.sent_bytes).into_iter());
    let undelivered: Vec<[u64; 2]> =
        run.parts.flows.iter().map(|ends| run.simulator.agent(ends[1]).end().undelivered()).collect();
    let refused =
        counts.iter().zip(&undelivered).map(|(count, [_, not_taken])| count.refused_packets + not_taken);
    table.integers("refused_packets", refused);
    table.integers("waiting_packets", undelivered.iter().map(|[held, _]| *held));
    table.integers("under_way_packets", totals.iter().map(Counters::pending));
    table.integers("carried_over_packets", run.samples.carried_over.iter().copied());
    let more = if run.records_reordering() { REORDERING_COUNTERS } else { &[] };
    for (name, field) in FLOW_COUNTERS.iter().chain(more).chain(host_columns(run)) {
        table.integers(name, counts.iter().map(field));
    }
    let delays: [DelayField; 7] = [
        ("delay_mean_s", DelayStatistics::mean),
        ("delay_deviation_s", DelayStatistics::standard_deviation),
        ("delay_min_s", DelayStatistics::least),
        ("delay_p50_s", |delay| delay.quantile(0.50)),
        ("delay_p95_s", |delay| delay.quantile(0.95)),
        ("delay_p99_s", |delay| delay.quantile(0.99)),
        ("delay_max_s", DelayStatistics::greatest),
    ];
    for (name, statistic) in delays {
        table.floats(name, receivers.iter().map(|meter| number(statistic(meter.delay()))));
    }
    if run.records_reordering() {
        let lateness: Vec<LatenessSummary> =
            run.parts.flows.iter().map(|ends| run.simulator.agent(ends[1]).end().lateness()).collect();
        let fields: [LatenessField; 4] = [
            ("lateness_p50_s", |lateness| lateness.median),
            ("lateness_p95_s", |lateness| lateness.p95),
            ("lateness_p99_s", |lateness| lateness.p99),
            ("lateness_max_s", |lateness| lateness.maximum),
        ];
        for (name, field) in fields {
            table.floats(name, lateness.iter().map(|lateness| seconds(field(lateness))));
        }
    }
    if run.records_frames() {
        frames(run, &mut table);
    }
    if !run.parts.stations.is_empty() {
        let hops = |count: &Counters| count.network_hops as f64 / count.network_packets as f64;
        table.floats("hops_mean", counts.iter().map(hops));
    }
    table.floats("jitter_s", receivers.iter().map(|meter| number(meter.jitter().seconds())));
    table.floats("rtt_mean_s", beliefs().map(|means| means.rtt.value()));
    table.floats("cwnd_mean_packets", beliefs().map(|means| means.cwnd.value()));
    table.floats("allowed_rate_mean_bps", beliefs().map(|means| means.allowed_rate.value()));
    table.floats("loss_event_rate_mean", beliefs().map(|means| means.loss_event_rate.value()));
    table
}

/// Columns added if the frames of a flow are watched. They are empty for other flows.
fn frames(run: &Run<'_>, table: &mut Table) {
    let summaries: Vec<Option<FrameSummary>> = run
        .parts
        .flows
        .iter()
        .map(|ends| {
            let [sender, receiver] = ends.map(|end| run.simulator.agent(end).end().frames());
            let (sender, receiver) = (sender?, receiver?);
            let (repair_bytes, source_bytes) = (sender.repair_bytes, sender.source_bytes);
            Some(FrameSummary { sent: sender.sent, repair_bytes, source_bytes, ..receiver })
        })
        .collect();
    let mut floats = |name: &'static str, field: &dyn Fn(&FrameSummary) -> f64| {
        table.floats(name, summaries.iter().map(|summary| summary.as_ref().map_or(f64::NAN, field)));
    };
    floats("frames", &|it| it.sent as f64);
    floats("frames_in_time", &|it| it.in_time as f64);
    floats("frames_decodable", &|it| it.decodable as f64);
    floats("freezes", &|it| it.freezes.len() as f64);
    floats("frozen_s", &|it| seconds(it.frozen()));
    floats("freeze_p50_s", &|it| seconds(it.freeze(0.5)));
    floats("freeze_p95_s", &|it| seconds(it.freeze(0.95)));
    floats("freeze_max_s", &|it| seconds(it.freeze(1.0)));
    floats("repaired_datagrams", &|it| it.repaired as f64);
    floats("repair_overhead", &|it| it.repair_bytes as f64 / (it.source_bytes as f64).max(1.0));
}

/// Columns added if a receiver waits for missing packets.
const REORDERING_COUNTERS: &[CounterField] = &[
    ("held_packets", |c| c.held_packets),
    ("given_up_packets", |c| c.given_up_packets),
    ("late_packets", |c| c.late_packets),
];

/// Columns added if a node has a limited processor.
const HOST_COUNTERS: &[CounterField] = &[("lost_host", |c| c.lost_host)];

fn host_columns(run: &Run<'_>) -> &'static [CounterField] {
    if run.plan.hosts.is_empty() { &[] } else { HOST_COUNTERS }
}

type LatenessField = (&'static str, fn(&LatenessSummary) -> Duration);
type DelayField = (&'static str, fn(&DelayStatistics) -> Option<f64>);
type LinkField = (&'static str, fn(&LinkStats) -> u64);

const LINK_COUNTERS: &[LinkField] = &[
    ("enqueued_packets", |s| s.enqueued.packets),
    ("enqueued_bytes", |s| s.enqueued.bytes),
    ("departed_packets", |s| s.departed.packets),
    ("departed_bytes", |s| s.departed.bytes),
    ("delivered_packets", |s| s.delivered.packets),
    ("delivered_bytes", |s| s.delivered.bytes),
    ("dropped_packets", |s| s.dropped.packets),
    ("dropped_bytes", |s| s.dropped.bytes),
    ("wireless_lost_packets", |s| s.wireless_lost.packets),
    ("wireless_lost_bytes", |s| s.wireless_lost.bytes),
    ("damaged_packets", |s| s.damaged.packets),
    ("down_lost_packets", |s| s.down_lost.packets),
    ("marked_packets", |s| s.marked.packets),
];

fn links(run: &Run<'_>) -> Table {
    let time = run.plan.measured();
    let plans = || run.plan.links.iter();
    let stats: Vec<LinkStats> = run
        .parts
        .links
        .iter()
        .zip(&run.samples.links_before)
        .map(|(link, before)| since(run.simulator.link_stats(*link), before))
        .collect();
    let capacity: Vec<f64> = (0..run.parts.links.len())
        .map(|link| run.plan.mean_capacity(link, &run.events, run.seed).as_bits_per_second())
        .collect();
    let throughput: Vec<f64> =
        stats.iter().map(|stats| bits_per_second(stats.departed.bytes, time)).collect();

    let mut table = Table::new("links");
    table.words("link", plans().map(|link| link.name.as_str()));
    table.words("from", plans().map(|link| run.plan.nodes[link.from].as_str()));
    table.words("to", plans().map(|link| run.plan.nodes[link.to].as_str()));
    table.floats("measured_s", plans().map(|_| seconds(time)));
    table.floats("capacity_bps", capacity.iter().copied());
    table.floats("throughput_bps", throughput.iter().copied());
    table.floats("utilisation", throughput.iter().zip(&capacity).map(|(used, capacity)| used / capacity));
    for (name, field) in LINK_COUNTERS {
        table.integers(name, stats.iter().map(field));
    }
    table.floats("queue_mean_packets", run.samples.queues.iter().map(|mean| mean.value()));
    table.integers("queue_max_packets", run.samples.longest_queues.iter().copied());
    table
}

/// The times of each handover.
fn handovers(run: &Run<'_>) -> Table {
    let mut table = Table::new("handovers");
    table.words("link", run.gaps.iter().map(|gap| gap.link.as_str()));
    table.floats("down_s", run.gaps.iter().map(|gap| seconds(gap.down - Instant::ZERO)));
    table.floats("up_s", run.gaps.iter().map(|gap| seconds(gap.up - Instant::ZERO)));
    table
}

/// The statistics of a link since `before`.
fn since(mut now: LinkStats, before: &LinkStats) -> LinkStats {
    now.enqueued -= before.enqueued;
    now.departed -= before.departed;
    now.delivered -= before.delivered;
    now.dropped -= before.dropped;
    now.wireless_lost -= before.wireless_lost;
    now.duplicated -= before.duplicated;
    now.damaged -= before.damaged;
    now.down_lost -= before.down_lost;
    now.marked -= before.marked;
    now
}

type IntervalField = (&'static str, fn(&IntervalRow) -> f64);

fn intervals(run: &Run<'_>) -> Table {
    const RATES: &[IntervalField] = &[
        ("time_s", |row| seconds(row.end - Instant::ZERO)),
        ("length_s", |row| seconds(row.length)),
        ("goodput_bps", |row| bits_per_second(row.counts.delivered_bytes, row.length)),
        ("throughput_bps", |row| bits_per_second(row.counts.bottleneck_bytes, row.length)),
        ("send_rate_bps", |row| bits_per_second(row.counts.sent_bytes, row.length)),
        ("cwnd_packets", |row| row.estimate.cwnd),
        ("allowed_rate_bps", |row| row.estimate.allowed_rate),
        ("rtt_s", |row| row.estimate.rtt),
        ("loss_event_rate", |row| row.estimate.loss_event_rate),
    ];
    const COUNTS: &[CounterField] = &[
        ("sent_packets", |c| c.sent_packets),
        ("received_packets", |c| c.received_packets),
        ("delivered_packets", |c| c.delivered_packets),
        ("late_packets", |c| c.late_packets),
        ("lost_queue", |c| c.lost_queue),
        ("lost_wireless", |c| c.lost_wireless),
        ("lost_down", |c| c.lost_down),
        ("marked_packets", |c| c.marked_packets),
        ("expired_datagrams", |c| c.expired_datagrams),
        ("overflowed_datagrams", |c| c.overflowed_datagrams),
    ];
    let rows = || run.samples.intervals.iter();
    let mut table = Table::new("intervals");
    table.words("flow", rows().map(|row| run.plan.flows[row.flow].name.as_str()));
    for (name, field) in RATES {
        table.floats(name, rows().map(field));
    }
    for (name, field) in COUNTS.iter().chain(host_columns(run)) {
        table.integers(name, rows().map(|row| field(&row.counts)));
    }
    if run.plan.record.delays {
        table.floats("delay_s", rows().map(|row| row.delay.map_or(f64::NAN, seconds)));
        table.floats("jitter_s", rows().map(|row| number(row.jitter)));
    }
    table.integers("queue_packets", rows().map(|row| row.queue));
    if let Some(capacities) = varying_capacities(run) {
        table.floats(
            "capacity_bps",
            rows().map(|row| {
                let capacity = capacities[row.flow].as_ref();
                let mean =
                    capacity.map(|capacity| capacity.between(row.end.saturating_sub(row.length), row.end));
                mean.map_or(f64::NAN, DataRate::as_bits_per_second)
            }),
        );
    }
    if run.records_freezing() {
        table.floats("receive_rate_bps", rows().map(|row| row.estimate.receive_rate));
        table.words("freeze", rows().map(|row| row.estimate.freeze));
    }
    table
}

/// The capacity of each flow's bottleneck, if one of them varies.
fn varying_capacities<'a>(run: &'a Run<'_>) -> Option<Vec<Option<LinkCapacity<'a>>>> {
    let capacity = |flow: &FlowPlan| {
        let link = flow.path[flow.bottleneck?];
        Some(run.plan.capacity(link, &run.events, run.seed))
    };
    let capacities: Vec<_> = run.plan.flows.iter().map(capacity).collect();
    capacities.iter().flatten().any(LinkCapacity::varies).then_some(capacities)
}

/// The rows of all flows in the order of time, and of flows where times are equal.
fn by_time<T>(run: &Run<'_>, rows: impl Fn(&Meter) -> &[T], time: impl Fn(&T) -> Instant) -> Vec<(usize, T)>
where
    T: Copy,
{
    let mut merged: Vec<(usize, T)> = Vec::new();
    for (flow, ends) in run.parts.flows.iter().enumerate() {
        for end in ends {
            merged
                .extend(rows(run.simulator.agent(*end).end().meter_of(flow)).iter().map(|row| (flow, *row)));
        }
    }
    merged.sort_by_key(|(_, row)| time(row));
    merged
}

fn losses(run: &Run<'_>) -> Table {
    let rows: Vec<(usize, LossRow)> = by_time(run, Meter::losses, |row| row.at);
    let link_name = |link: Option<LinkId>| {
        let position = link.and_then(|link| run.parts.links.iter().position(|other| *other == link));
        position.map_or("", |position| run.plan.links[position].name.as_str())
    };
    let mut table = Table::new("losses");
    table.floats("time_s", rows.iter().map(|(_, row)| seconds(row.at - Instant::ZERO)));
    table.words("flow", rows.iter().map(|(flow, _)| run.plan.flows[*flow].name.as_str()));
    table.integers("sequence", rows.iter().map(|(_, row)| row.sequence));
    table.integers("tag", rows.iter().map(|(_, row)| row.tag));
    table.words("cause", rows.iter().map(|(_, row)| cause_name(row.cause)));
    table.integers("damaged", rows.iter().map(|(_, row)| u64::from(row.damaged)));
    table.words("link", rows.iter().map(|(_, row)| link_name(row.cause.link())));
    let classified = || rows.iter().map(|(_, row)| row.classification);
    let evidence =
        || classified().map(|classification| classification.map_or(Evidence::None, |it| it.evidence));
    table.words("verdict", classified().map(|it| it.map_or("none", |it| it.cause.name())));
    let guard = |it: Option<ClassifiedLoss>| it.and_then(|it| it.overruled).map_or("", Overruled::name);
    table.words("overruled", classified().map(guard));
    table.words("evidence", evidence().map(|evidence| evidence.scheme()));
    table.integers("gap_packets", evidence().map(|evidence| evidence.count().unwrap_or(0)));
    for (name, measure) in Evidence::MEASURES {
        table.floats(name, evidence().map(|evidence| measure(&evidence).unwrap_or(f64::NAN)));
    }
    table
}

fn packets(run: &Run<'_>) -> Table {
    let rows: Vec<(usize, PacketRow)> = by_time(run, Meter::packets, |row| row.ended);
    let at = |time: Option<Instant>| time.map_or(f64::NAN, |time| seconds(time - Instant::ZERO));
    let mut table = Table::new("packets");
    table.words("flow", rows.iter().map(|(flow, _)| run.plan.flows[*flow].name.as_str()));
    table.integers("sequence", rows.iter().map(|(_, row)| row.sequence));
    table.integers("tag", rows.iter().map(|(_, row)| row.tag));
    table.integers("size_bytes", rows.iter().map(|(_, row)| u64::from(row.size)));
    table.floats("sent_s", rows.iter().map(|(_, row)| at(row.sent)));
    let received = |row: &PacketRow| {
        let has_data =
            matches!(row.outcome, PacketOutcome::Received | PacketOutcome::Damaged | PacketOutcome::Repaired);
        has_data.then_some(row.ended)
    };
    table.floats("received_s", rows.iter().map(|(_, row)| at(received(row))));
    table.words("fate", rows.iter().map(|(_, row)| row.outcome.name()));
    table
}
