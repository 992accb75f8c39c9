//! The draw of a multipath trial.

use whimbrel_proto::config::TimerConfig;
use whimbrel_proto::multipath::SchedulerKind;
use whimbrel_proto::{Ccid, Config};
use whimbrel_units::Duration;

use crate::plan::{Dice, PathPlan};

/// A moment of the handshake of a joining subflow (RFC 9897, Section 3.3), at which its path dies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinPhase {
    /// The Request with MP_JOIN is lost, and all that follows.
    Request,
    /// The Response with the code of the accepting host.
    Response,
    /// The Ack with the code of the joining host.
    Code,
    /// The Ack that completes the handshake.
    Completion,
    /// The first packet with data.
    Data,
}

impl JoinPhase {
    /// All of them, in order.
    pub const ALL: [Self; 5] = [Self::Request, Self::Response, Self::Code, Self::Completion, Self::Data];

    /// The name in counts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "Request",
            Self::Response => "Response",
            Self::Code => "Ack with a code",
            Self::Completion => "last Ack",
            Self::Data => "first data",
        }
    }
}

/// A path that does no harm, or one that loses, repeats, reorders and damages packets, in both directions.
fn line(dice: &mut Dice, is_clean: bool, forges: bool) -> PathPlan {
    if is_clean {
        let delay = dice.time(Duration::from_millis(1), Duration::from_millis(120));
        return PathPlan { delay, ..PathPlan::default() };
    }
    let mut share = |most: f64| if dice.chance(0.6) { dice.between(0.0, most) } else { 0.0 };
    let (lose, duplicate, damage, forge) = (share(0.3), share(0.3), share(0.2), share(0.1));
    let jitter =
        if dice.chance(0.6) { dice.time(Duration::ZERO, Duration::from_millis(200)) } else { Duration::ZERO };
    let forge = if forges { forge } else { 0.0 };
    PathPlan { jitter, lose, duplicate, damage, forge, saturate: 0.1, ..line(dice, true, false) }
}

/// The death of a path.
#[derive(Clone, Copy, Debug)]
pub struct Death {
    /// The path, not the first one.
    pub line: usize,
    /// The packet by which it dies.
    pub phase: JoinPhase,
    /// Only the direction of that packet dies.
    pub is_one_way: bool,
    /// Time until it works again.
    pub lasts: Duration,
}

/// A multipath trial.
#[derive(Clone, Debug)]
pub struct MultipathPlan {
    /// Its number.
    pub seed: u64,
    /// The paths. The first one is clean, unless all are hostile.
    pub lines: Vec<PathPlan>,
    /// Also the first path is hostile.
    pub is_hostile_everywhere: bool,
    /// A path dies while it joins.
    pub death: Option<Death>,
    /// Besides data, ends add and remove subflows and addresses, and set priorities, at random.
    pub has_commands: bool,
    /// The scheduler of both ends.
    pub scheduler: SchedulerKind,
    /// Congestion control of all paths.
    pub ccid: Ccid,
    /// Longest time in the reorder buffer.
    pub reorder_delay: Option<Duration>,
    /// Time between two datagrams of each end.
    pub interval: Duration,
    /// Time for which they send.
    pub duration: Duration,
    /// The server closes the connection, not the client.
    pub server_closes: bool,
}

impl MultipathPlan {
    /// Draws the trial with that number.
    pub fn draw(seed: u64) -> Self {
        let mut dice = Dice::of_multipath(seed, "plan");
        let is_hostile_everywhere = dice.chance(0.4);
        let forges = dice.chance(0.3);
        let count = 2 + dice.below(2) as usize;
        let mut lines: Vec<_> = (0..count).map(|_| line(&mut dice, false, forges)).collect();
        if !is_hostile_everywhere {
            lines[0] = line(&mut dice, true, false);
        }
        let death = dice.chance(0.6).then(|| Death {
            line: 1,
            phase: *dice.pick(&JoinPhase::ALL),
            is_one_way: dice.chance(0.4),
            lasts: dice.time(Duration::from_millis(100), Duration::from_secs(15)),
        });
        Self {
            seed,
            lines,
            is_hostile_everywhere,
            death,
            has_commands: dice.chance(0.4),
            scheduler: *dice.pick(&SchedulerKind::ALL),
            ccid: *dice.pick(&[Ccid(2), Ccid(3)]),
            reorder_delay: dice
                .chance(0.5)
                .then(|| dice.time(Duration::from_millis(10), Duration::from_millis(500))),
            interval: dice.time(Duration::from_millis(15), Duration::from_millis(60)),
            duration: dice.time(Duration::from_secs(2), Duration::from_secs(30)),
            server_closes: dice.chance(0.5),
        }
    }

    /// `true` if an attacker forges packets.
    pub fn has_attacker(&self) -> bool {
        self.lines.iter().any(|line| line.forge > 0.0)
    }

    /// `true` if nothing but the applications may end the connection: its first path is clean, and neither
    /// commands nor an attacker end subflows.
    pub fn must_live(&self) -> bool {
        !self.is_hostile_everywhere && !self.has_commands && !self.has_attacker()
    }

    /// The configuration of both ends.
    pub(super) fn config(&self) -> Config {
        let mut config = Config::default()
            .sender_ccids([self.ccid])
            .receiver_ccids([self.ccid])
            .timers(TimerConfig::rfc4340());
        config.receive.reorder_delay = self.reorder_delay;
        config
    }
}
