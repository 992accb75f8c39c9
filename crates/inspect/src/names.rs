//! Names and descriptions of packet contents.

use std::fmt::Write;

use whimbrel_units::Duration;
use whimbrel_wire::option::ack_vector::{self, AckState};
use whimbrel_wire::option::mobility::{MobilityOption, Move};
use whimbrel_wire::option::multipath::MultipathOption;
use whimbrel_wire::option::tfrc::{NO_LOSS_EVENT, ProbeRule, RttEstimate, TfrcOption};
use whimbrel_wire::option::{FeatureAction, FeatureNumber, FeatureOption, Reconciliation};
use whimbrel_wire::{ChecksumCoverage, DccpOption, Ecn, Packet, PacketType, Reset, ResetCode};

use crate::option_length;

/// Seconds in printed precision: the number nearest to the given nanoseconds.
pub(crate) fn seconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e9
}

mod multipath;
#[cfg(test)]
mod tests;

pub use multipath::multipath_name;

/// The name of a feature (RFC 4340, Section 6.4).
pub fn feature_name(feature: u8) -> String {
    match FeatureNumber::from(feature) {
        FeatureNumber::Ccid => "CCID".into(),
        FeatureNumber::AllowShortSequenceNumbers => "Allow Short Sequence Numbers".into(),
        FeatureNumber::SequenceWindow => "Sequence Window".into(),
        FeatureNumber::EcnIncapable => "ECN Incapable".into(),
        FeatureNumber::AckRatio => "Ack Ratio".into(),
        FeatureNumber::SendAckVector => "Send Ack Vector".into(),
        FeatureNumber::SendNdpCount => "Send NDP Count".into(),
        FeatureNumber::MinimumChecksumCoverage => "Minimum Checksum Coverage".into(),
        FeatureNumber::CheckDataChecksum => "Check Data Checksum".into(),
        FeatureNumber::Freezing => "Freezing".into(),
        FeatureNumber::Mobility => "Mobility".into(),
        FeatureNumber::Repair => "Repair".into(),
        FeatureNumber::SendRttEstimate => "Send RTT Estimate".into(),
        FeatureNumber::SendTimestamps => "Send Timestamps".into(),
        FeatureNumber::SendLossEventRate => "Send Loss Event Rate".into(),
        FeatureNumber::MultipathCapable => "Multipath Capable".into(),
        _ => format!("feature {feature}"),
    }
}

/// The name of an action.
pub fn action_name(action: FeatureAction) -> &'static str {
    match action {
        FeatureAction::ChangeL => "Change L",
        FeatureAction::ConfirmL => "Confirm L",
        FeatureAction::ChangeR => "Change R",
        FeatureAction::ConfirmR => "Confirm R",
    }
}

/// The values of a feature option: one number, or a list.
pub fn feature_values(option: &FeatureOption) -> String {
    let number = option.feature_number();
    let is_number = match number.reconciliation() {
        Some(Reconciliation::NonNegotiable) => true,
        Some(Reconciliation::ServerPriority) => false,
        None => false,
    };
    match option.as_number() {
        Some(value) if is_number => value.to_string(),
        _ if option.values.is_empty() => "empty".into(),
        _ => {
            let values: Vec<String> = option.values.iter().take(16).map(u8::to_string).collect();
            let more = if option.values.len() > 16 { " ..." } else { "" };
            values.join(" ") + more
        }
    }
}

/// The name of an option's type (RFC 4340, Section 5.8).
pub fn option_name(kind: u8) -> String {
    match kind {
        0 => "Padding".into(),
        1 => "Mandatory".into(),
        2 => "Slow Receiver".into(),
        32 => "Change L".into(),
        33 => "Confirm L".into(),
        34 => "Change R".into(),
        35 => "Confirm R".into(),
        36 => "Init Cookie".into(),
        37 => "NDP Count".into(),
        38 => "Ack Vector (nonce 0)".into(),
        39 => "Ack Vector (nonce 1)".into(),
        40 => "Data Dropped".into(),
        41 => "Timestamp".into(),
        42 => "Timestamp Echo".into(),
        43 => "Elapsed Time".into(),
        44 => "Data Checksum".into(),
        // RFC 9897, Section 7.
        46 => "Multipath".into(),
        120 => "Freeze".into(),
        121 => "Unfreeze".into(),
        122 => "Mobility Key".into(),
        123 => "Move".into(),
        124 => "Move Challenge".into(),
        125 => "Moved".into(),
        128 => "RTT Estimate".into(),
        184 => "Restoring".into(),
        185 => "Probing".into(),
        192 => "Loss Event Rate".into(),
        193 => "Loss Intervals".into(),
        194 => "Receive Rate".into(),
        195 => "Dropped Packets".into(),
        248 => "Unfrozen".into(),
        249 => "ECN Counts".into(),
        other => format!("option {other}"),
    }
}

/// An option with its contents, for one line of a list of packets.
pub fn option_description(option: &DccpOption) -> String {
    let name = option_name(option.kind());
    match option {
        DccpOption::Feature(feature) => {
            format!("{name}({} {})", feature_name(feature.feature), feature_values(feature))
        }
        DccpOption::NdpCount(count) => format!("{name} {}", count.count()),
        DccpOption::AckVector { cells, .. } => format!("Ack Vector {}", abbreviated_cells(cells)),
        DccpOption::Timestamp(value) => format!("{name} {value}"),
        DccpOption::TimestampEcho { timestamp, elapsed } => {
            format!("{name} {timestamp} after {}", tens_of_micros(elapsed.units()))
        }
        DccpOption::ElapsedTime(elapsed) => format!("{name} {}", tens_of_micros(elapsed.units())),
        DccpOption::DataChecksum(value) => format!("{name} {value:08x}"),
        DccpOption::Multipath(data) => match MultipathOption::parse(option) {
            Some(multipath) => multipath::description(&multipath),
            None => multipath::undecoded(option, data),
        },
        DccpOption::Unknown { kind: 46, data } => multipath::undecoded(option, data),
        DccpOption::Unknown { kind, data } => match option_length::expected(*kind) {
            Some(expected) => {
                format!("{name} of wrong length ({}, expected {expected})", option.encoded_len())
            }
            None => format!("{name}? ({} bytes)", data.len()),
        },
        DccpOption::Malformed(bytes) => format!("{name} malformed ({} bytes)", bytes.len()),
        DccpOption::InitCookie(data) => format!("{name} ({} bytes)", data.len()),
        DccpOption::DataDropped(blocks) => format!("{name} ({} blocks)", blocks.len()),
        DccpOption::Mobility { data, .. } => match MobilityOption::parse(option) {
            Some(MobilityOption::Key(key)) => format!("{name} {:016x}", key.identifier),
            Some(MobilityOption::Move(Move { identifier, echo: None, .. })) => {
                format!("{name} {identifier:016x}")
            }
            Some(MobilityOption::Move(Move { identifier, echo: Some(echo), .. })) => {
                format!("{name} {identifier:016x} answers {echo:016x}")
            }
            Some(MobilityOption::Challenge(challenge)) => format!("{name} {challenge:016x}"),
            Some(MobilityOption::Moved(sequence)) => format!("{name} by {}", sequence.value()),
            None => format!("{name} ({} bytes)", data.len()),
        },
        DccpOption::CcidSpecific { data, .. } => match TfrcOption::parse(option) {
            Some(TfrcOption::LossEventRate(NO_LOSS_EVENT)) => format!("{name} 0"),
            Some(TfrcOption::LossEventRate(inverse)) => format!("{name} 1/{inverse}"),
            Some(TfrcOption::ReceiveRate(rate)) => format!("{name} {rate} B/s"),
            Some(TfrcOption::LossIntervals(intervals)) => {
                let lengths: Vec<String> =
                    intervals.iter().take(9).map(|interval| interval.data_length.to_string()).collect();
                format!("{name} {}", lengths.join(" "))
            }
            Some(TfrcOption::DroppedPackets(counts)) => {
                let counts: Vec<String> = counts.iter().take(9).map(|count| count.to_string()).collect();
                format!("{name} {}", counts.join(" "))
            }
            Some(TfrcOption::Restoring(rule) | TfrcOption::Probing(rule)) => match rule {
                ProbeRule::Loss => name,
                ProbeRule::LossOneInterval => format!("{name} by loss, one interval kept"),
                ProbeRule::ReceiveRate { rtt_micros } => format!("{name} by receive rate, {rtt_micros} us"),
                ProbeRule::Settle { rtt_micros } => format!("{name} over, {rtt_micros} us"),
            },
            Some(TfrcOption::Unfrozen) => name,
            Some(TfrcOption::EcnCounts(counts)) => {
                format!("{name} {} of {} packets", counts.marked, counts.received)
            }
            Some(TfrcOption::RttEstimate(RttEstimate::Micros(micros))) => format!("{name} {micros} us"),
            Some(TfrcOption::RttEstimate(RttEstimate::Spike)) => format!("{name} above 16.7 s"),
            Some(TfrcOption::RttEstimate(RttEstimate::None)) => format!("{name} none yet"),
            None => format!("{name} ({} bytes)", data.len()),
        },
        _ => name,
    }
}

/// `12+ 1- 3+`: twelve received, one not received, three received, the newest first; `*` for marked ones.
fn abbreviated_cells(cells: &[u8]) -> String {
    let mut text = String::new();
    for cell in ack_vector::cells(cells).take(12) {
        let sign = match cell.state {
            AckState::Received => '+',
            AckState::ReceivedEcnMarked => '*',
            AckState::Reserved => '?',
            AckState::NotReceived => '-',
        };
        let space = if text.is_empty() { "" } else { " " };
        // Writing to a String cannot fail.
        let _ = write!(text, "{space}{}{sign}", cell.packets);
    }
    if cells.len() > 12 { text + " ..." } else { text }
}

fn tens_of_micros(units: u32) -> String {
    format!("{:.2} ms", f64::from(units) / 100.0)
}

/// CCVal and CsCov, unless they are zero: ` ccval 3`, ` cscov 2 (4 bytes of data covered)`.
pub fn header_fields(packet: &Packet) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    if packet.ccval != 0 {
        let _ = write!(text, " ccval {}", packet.ccval);
    }
    let coverage = packet.checksum_coverage;
    if coverage != ChecksumCoverage::ALL {
        let _ = match coverage.covered(packet.payload.len()) {
            Some(bytes) => write!(text, " cscov {} ({bytes} bytes of data covered)", coverage.field()),
            None => write!(text, " cscov {} (more than there are data: invalid)", coverage.field()),
        };
    }
    text
}

/// The name of an ECN codepoint.
pub fn ecn_name(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "not-ECT",
        Ecn::Ect1 => "ECT(1)",
        Ecn::Ect0 => "ECT(0)",
        Ecn::Ce => "CE",
    }
}

/// The name of a Reset Code.
pub fn reset_code_name(code: ResetCode) -> String {
    match code {
        ResetCode::Unspecified => "Unspecified".into(),
        ResetCode::Closed => "Closed".into(),
        ResetCode::Aborted => "Aborted".into(),
        ResetCode::NoConnection => "No Connection".into(),
        ResetCode::PacketError => "Packet Error".into(),
        ResetCode::OptionError => "Option Error".into(),
        ResetCode::MandatoryError => "Mandatory Error".into(),
        ResetCode::ConnectionRefused => "Connection Refused".into(),
        ResetCode::BadServiceCode => "Bad Service Code".into(),
        ResetCode::TooBusy => "Too Busy".into(),
        ResetCode::BadInitCookie => "Bad Init Cookie".into(),
        ResetCode::AggressionPenalty => "Aggression Penalty".into(),
        ResetCode::EncapsulatedPortReuse => "Encapsulated Port Reuse".into(),
        ResetCode::AbruptMultipathTermination => "Abrupt MP Termination".into(),
        other => format!("code {}", u8::from(other)),
    }
}

/// Description of a Reset with its data (RFC 4340, Section 5.6; RFC 6773, Section 7.2).
pub fn reset_description(reset: Reset) -> String {
    let [one, two, three] = reset.data;
    let packet = || match PacketType::from_number(one) {
        Some(packet_type) => format!("{packet_type:?}"),
        None => format!("type {one}"),
    };
    let faulty_option = || match (one, FeatureAction::from_kind(one)) {
        (0, _) => "an option".to_owned(),
        (_, Some(_)) => format!("{} of {}", option_name(one), feature_name(two)),
        _ => format!("{} (data begin with {two:02x} {three:02x})", option_name(one)),
    };
    match reset.code {
        ResetCode::Unspecified => "reset without a reason".into(),
        ResetCode::Closed => "closed normally".into(),
        ResetCode::Aborted => "gave up".into(),
        ResetCode::NoConnection => "has no such connection".into(),
        ResetCode::PacketError => format!("did not expect a {} packet", packet()),
        ResetCode::OptionError => format!("found an error in {}", faulty_option()),
        ResetCode::MandatoryError => format!("could not honour the mandatory {}", faulty_option()),
        ResetCode::ConnectionRefused => "refused the connection".into(),
        ResetCode::BadServiceCode => "does not serve that Service Code on that port".into(),
        ResetCode::TooBusy => "is too busy".into(),
        ResetCode::BadInitCookie => "missed the Init Cookie or found it wrong".into(),
        ResetCode::AggressionPenalty => "found the other end too aggressive".into(),
        ResetCode::EncapsulatedPortReuse => {
            let port = u16::from_be_bytes([two, three]);
            format!("has another connection on UDP port {port} (reported by a {})", packet())
        }
        ResetCode::AbruptMultipathTermination => "ended the multipath connection at once".into(),
        other => match u8::from(other) {
            code @ 128.. => {
                format!("reset by its congestion control (code {code}, data {one} {two} {three})")
            }
            code => format!("reset with the reserved code {code} (data {one} {two} {three})"),
        },
    }
}
