//! The configuration of the CCIDs based on TFRC.

use whimbrel_control::loss_differentiation::Differentiation;
use whimbrel_control::tfrc::{LossEventRate, RetransmitTimeout};
use whimbrel_control::window::InitialWindow;
use whimbrel_units::Duration;

use crate::error::check;
use crate::{ConfigError, config_setters};

/// Parameters of the CCIDs based on TFRC.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct TfrcConfig {
    /// Reduce oscillations by the square root of recent RTTs, which RFC 5348, Section 4.5, recommends. Off by
    /// default.
    ///
    /// On a drop-tail link of 4 Mbit/s with a path of 50 ms and queues of 10, 25 and 200 packets, damping
    /// makes the delay of a CCID 3 stream alone, or of two, vary 2 to 7 times less, and a quarter to nine
    /// tenths fewer packets get lost, as the recommendation promises. But the rate then stays where it just
    /// fills the queue: the mean delay of a stream alone rises from 36, 50 and 276 to 41, 70 and 368 ms, and
    /// at the queue of 25 packets a competing TCP flow is left 0.40 instead of 0.75 Mbit/s. Goodput alone
    /// does not change. The section itself warns of paths whose round-trip time does not follow the queue,
    /// such as radio links. Intended for streams that need an even delay more than a short one.
    pub oscillation_damping: bool,
    /// After an idle or data-limited period, increase fourfold instead of twofold per round-trip time up to a
    /// rate that worked recently; the value is the time for which that rate is fully trusted (DecayTime; the
    /// draft uses two minutes). `None`: off. [An experiment](whimbrel_control::tfrc::faster_restart), which
    /// concerns the sender alone.
    pub faster_restart: Option<Duration>,
    /// Request Loss Event Rate options from the receiver besides Loss Intervals (RFC 4342, Section 8.4).
    pub send_loss_event_rate: bool,
    /// Send the sender's round-trip time to the receiver (RFC 6323).
    pub send_rtt_estimate: bool,
    /// As a receiver of data, distinguish wireless losses from congestion losses, and treat the former as if
    /// the packets had arrived (Cen, Cosman and Voelker, Section 1). Each verdict is reported as an
    /// [`Event::LossClassified`](crate::Event::LossClassified). `None`: off.
    ///
    /// Schemes based on one-way delays request timestamps from the sender of the data; if it does not support
    /// them, every loss counts as congestion.
    pub differentiation: Option<Differentiation>,
    /// As a receiver of data, revoke a loss if the packet arrives later, which RFC 5348, Section 5.1, allows.
    /// If `true`, reordering does little harm to the rate; if `false`, a loss stays a loss, as in older
    /// implementations.
    pub forgive_late: bool,
    /// As a receiver of data, let a long loss-free interval reduce the weight of the earlier ones (history
    /// discounting, optional in RFC 5348, Section 5.5).
    pub history_discounting: bool,
    /// As a receiver of data, send feedback when the feedback timer expires (RFC 5348, Section 6.2). If
    /// `false`, only the arrival of data packets triggers feedback, as in Linux and in ns-2's DCCP: then no
    /// report is sent into an outage, and the first one after it also covers the time before.
    pub feedback_timer: bool,
    /// Follow a path whose rate falls to a fraction and rises again. A receiver of data merges the loss
    /// events that a much too short round-trip time had separated, and adopts a much longer estimate of the
    /// sender. A sender halves the round-trip time after two samples in a row of less than half of it. If
    /// `false`, RFC 5348 as it stands: an estimate of a queue that has left holds the rate down for seconds.
    /// Not for a stream that fills a long queue alone, which it leaves unused for longer.
    pub follow_fades: bool,
    /// Lower bound on p in the throughput equation, as in implementations that use a lookup table; zero, the
    /// default, for none.
    pub least_loss_event_rate: LossEventRate,
    /// Amount allowed in the first round-trip time: ten segments (RFC 6928) by default, as TCP senders start
    /// today. RFC 5348, Section 4.2 has four, "based on RFC 3390".
    pub initial_window: InitialWindow,
    /// t_RTO of the throughput equation.
    pub retransmit_timeout: RetransmitTimeout,
    /// Limit the rate to the capacity of the local link, as far as the application
    /// [provides](crate::Connection::set_link_estimate) an estimate.
    pub link_cap: bool,
}

impl TfrcConfig {
    /// `true` if the receiver needs the sending times of packets.
    pub(super) fn needs_timestamps(&self) -> bool {
        self.differentiation.is_some_and(|differentiation| differentiation.scheme.needs_send_times())
    }

    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let decay = self.faster_restart;
        check(
            decay.is_none_or(|decay| !decay.is_zero()),
            "tfrc.faster_restart",
            0,
            "a positive duration, or none",
        )?;
        let guard = self.differentiation.and_then(|differentiation| differentiation.guard);
        check(
            guard.is_none_or(|guard| guard.is_valid()),
            "tfrc.differentiation.guard",
            0,
            "fractions from 0 to 1",
        )
    }
}

impl Default for TfrcConfig {
    fn default() -> Self {
        Self {
            oscillation_damping: false,
            faster_restart: None,
            send_loss_event_rate: true,
            send_rtt_estimate: true,
            differentiation: None,
            forgive_late: true,
            history_discounting: true,
            feedback_timer: true,
            follow_fades: false,
            least_loss_event_rate: LossEventRate::ZERO,
            initial_window: InitialWindow::Rfc6928,
            retransmit_timeout: RetransmitTimeout::FourRoundTrips,
            link_cap: false,
        }
    }
}

config_setters!(TfrcConfig {
    oscillation_damping: bool,
    faster_restart: Option<Duration>,
    send_loss_event_rate: bool,
    send_rtt_estimate: bool,
    differentiation: Option<Differentiation>,
    forgive_late: bool,
    history_discounting: bool,
    feedback_timer: bool,
    follow_fades: bool,
    least_loss_event_rate: LossEventRate,
    initial_window: InitialWindow,
    retransmit_timeout: RetransmitTimeout,
    link_cap: bool,
});
