//! Text on data that did not reach the application.

use whimbrel_lab::record::Table;

/// Columns of the table `flows`, and the text for packets with that outcome.
const ENDS: [(&str, &str); 10] = [
    ("late_packets", "late at the reordering buffer"),
    ("refused_packets", "not accepted by the receiver"),
    ("lost_host", "lost in the send queue of the sending host"),
    ("lost_queue", "lost in full queues"),
    ("lost_wireless", "lost on the medium"),
    ("lost_down", "lost while a link was down"),
    ("lost_other", "lost without a route or a receiver"),
    ("retransmitted_packets", "sent again"),
    ("waiting_packets", "waiting in the reordering buffer at the end"),
    ("under_way_packets", "still in transit at the end"),
];

/// Datagrams that were never sent.
const UNSENT: [(&str, &str); 2] = [
    ("expired_datagrams", "expired in the send queue"),
    ("overflowed_datagrams", "found the send queue full"),
];

/// Lines on the flow in a row of the table `flows`: its packets that were not delivered, if its transport
/// `delivers_packets`, and its datagrams that were not sent. None if all arrived.
pub(crate) fn lines(flows: &Table, row: usize, delivers_packets: bool) -> Vec<String> {
    let flow = flows.text("flow", row).unwrap_or_default();
    let number = |column: &str| flows.number(column, row).unwrap_or(0.0);
    let list = |columns: &[(&str, &str)]| -> Vec<String> {
        let there = columns.iter().filter(|(column, _)| number(column) > 0.0);
        there.map(|(column, words)| format!("{:.0} {words}", number(column))).collect()
    };
    let mut lines = Vec::new();
    let reasons = list(&ENDS);
    if !reasons.is_empty() {
        let sent = number("sent_packets") + number("carried_over_packets");
        let missing = sent - number("delivered_packets");
        let what = match delivers_packets {
            true => format!("{missing:.0} of {sent:.0} packets ({:.2} %): ", 100.0 * missing / sent),
            false => format!("of {sent:.0} packets "),
        };
        let before = match number("carried_over_packets") {
            0.0 => String::new(),
            carried => format!("; {carried:.0} of them were sent before the measured time"),
        };
        lines.push(format!("{flow}: {what}{}{before}", reasons.join(", ")));
    }
    let unsent = list(&UNSENT);
    if !unsent.is_empty() {
        let all: f64 = UNSENT.iter().map(|(column, _)| number(column)).sum();
        lines.push(format!("{flow}: {all:.0} datagrams were not sent: {}", unsent.join(", ")));
    }
    lines
}
