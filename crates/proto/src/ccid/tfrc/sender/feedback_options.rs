//! The options of an acknowledgement that TFRC reads.

use whimbrel_control::tfrc::LossEventRate;
use whimbrel_units::{DataRate, Duration};
use whimbrel_wire::DccpOption;
use whimbrel_wire::option::Elapsed;
use whimbrel_wire::option::tfrc::{EcnCounts, TfrcOption};

/// The options that make an acknowledgement a feedback packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FeedbackOptions {
    /// X_recv.
    pub(super) receive_rate: Option<DataRate>,
    /// p.
    pub(super) loss_event_rate: Option<LossEventRate>,
    /// Time from the arrival of the packet to the report.
    pub(super) elapsed: Duration,
    /// The Elapsed Time saturates its field.
    pub(super) elapsed_is_saturated: bool,
    /// `true` if the receiver waits for an acknowledgement of Ack Vectors or Data Dropped.
    pub(super) has_state: bool,
    /// Unfrozen.
    pub(super) unfrozen: bool,
    /// Numbers of marked and of received packets.
    pub(super) ecn_counts: Option<EcnCounts>,
}

impl FeedbackOptions {
    /// Reads the options of an acknowledgement.
    pub(super) fn read(options: &[DccpOption]) -> Self {
        let mut read = Self::default();
        for option in options {
            match option {
                DccpOption::ElapsedTime(elapsed) | DccpOption::TimestampEcho { elapsed, .. } => {
                    read.elapsed = read.elapsed.max(Duration::from_nanos(Elapsed::nanos(*elapsed)));
                    read.elapsed_is_saturated |= !elapsed.is_exact();
                }
                DccpOption::AckVector { .. } | DccpOption::DataDropped(_) => read.has_state = true,
                DccpOption::CcidSpecific { .. } => match TfrcOption::parse(option) {
                    Some(TfrcOption::ReceiveRate(rate)) => {
                        read.receive_rate = Some(DataRate::from_bytes_per_second(rate.into()));
                    }
                    Some(TfrcOption::LossEventRate(inverse)) => {
                        read.loss_event_rate = Some(LossEventRate::from_inverse(inverse));
                    }
                    Some(TfrcOption::Unfrozen) => read.unfrozen = true,
                    Some(TfrcOption::EcnCounts(counts)) => read.ecn_counts = Some(counts),
                    _ => {}
                },
                _ => {}
            }
        }
        read
    }
}
