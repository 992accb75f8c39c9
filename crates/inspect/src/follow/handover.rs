//! What a connection's ends say of handovers: freezes, restarts, moves to other addresses. All of it is by experiments
//! of this implementation (`whimbrel_wire::option`).

use serde::Serialize;
use whimbrel_units::Instant;
use whimbrel_wire::option::mobility::MobilityOption;
use whimbrel_wire::option::tfrc::{ProbeRule, TfrcOption};
use whimbrel_wire::{DccpOption, Packet};

use super::Endpoint;
use super::side::Side;

/// Steps that are kept of each connection.
const MOST: usize = 1000;

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HandoverKind {
    /// Asks the other end to send no data (Freeze).
    Freeze,
    /// Lets the other end go on (Unfreeze).
    Unfreeze,
    /// No longer asks for the freeze, on a packet that would say so.
    FreezeOver,
    /// Sends at the rate that it had before a freeze (Restoring).
    Restoring,
    /// Probes for a higher rate (Probing).
    Probing,
    /// Has found the path's end and asks for a loss history that fits it.
    Settling,
    /// Sends as ever again.
    Normal,
    /// Has measured a round-trip time of the restored rate (Unfrozen).
    Unfrozen,
    /// A client says that it may be at another address (Move).
    Move,
    /// A server asks the client to prove that it is where a Move came from (Move Challenge).
    Challenge,
    /// A server confirms where the client is (Moved), and sends there.
    Moved,
}

impl HandoverKind {
    /// In words, of the end that sent the packet.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Freeze => "asks the other end to send no data",
            Self::Unfreeze => "lets the other end send data again",
            Self::FreezeOver => "no longer asks the other end to send no data",
            Self::Restoring => "sends again, at the rate of before",
            Self::Probing => "probes for a higher rate",
            Self::Settling => "has found the path's end, and asks for a loss history that fits it",
            Self::Normal => "has its ordinary rate control again",
            Self::Unfrozen => "has measured a round-trip time of the restored rate",
            Self::Move => "says that it may be at another address",
            Self::Challenge => "asks the client to prove its address",
            Self::Moved => "confirms the client's address",
        }
    }
}

/// A step of a handover.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HandoverStep {
    /// The packet that said so: its number in the capture.
    pub packet: u64,
    /// When it passed, in seconds since the capture's first frame.
    pub at_s: f64,
    /// Who sent it.
    pub by: Side,
    /// What happened.
    pub kind: HandoverKind,
    /// Where a Move came from, where that is another place than the client's before.
    pub client: Option<Endpoint>,
}

/// A step with the time of its packet.
#[derive(Clone, Debug)]
struct Step {
    at: Instant,
    step: HandoverStep,
}

/// What one end was last heard to do.
#[derive(Clone, Copy, Debug, Default)]
struct AnnouncedState {
    /// It asks the other to freeze.
    freezes: bool,
    /// It lets the other go on, on every packet until it knows that it was heard.
    unfreezes: bool,
    restart: Option<HandoverKind>,
    /// It says that its receive rate is good again.
    unfrozen: bool,
    /// It tells of a move, or asks about one.
    moves: bool,
}

/// What has been said of handovers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handovers {
    announced: [AnnouncedState; 2],
    steps: Vec<Step>,
}

impl Handovers {
    /// A packet that counts; `client`: where it came from, where that is another place than the client's before.
    pub(crate) fn on_packet(
        &mut self,
        by: Side,
        number: u64,
        at: Instant,
        packet: &Packet,
        client: Option<Endpoint>,
    ) {
        let before = self.announced[by.index()];
        let mut now =
            AnnouncedState { freezes: false, unfreezes: false, unfrozen: false, moves: false, ..before };
        let mut steps = Vec::new();
        let kind = packet.packet_type();
        for option in packet.options.iter().filter(|option| option.counts_on(kind)) {
            match option {
                DccpOption::Freeze => now.freezes = true,
                DccpOption::Unfreeze => now.unfreezes = true,
                _ => {}
            }
            if let Some(kind) = MobilityOption::parse(option).and_then(of_move) {
                now.moves = true;
                if !before.moves || kind == HandoverKind::Moved || client.is_some() {
                    steps.push(kind);
                }
            }
            now.unfrozen |= matches!(TfrcOption::parse(option), Some(TfrcOption::Unfrozen));
        }
        // What is said on acknowledgements only is not taken back by others.
        let speaks = kind.has_ack();
        if !speaks {
            (now.freezes, now.unfreezes) = (before.freezes, before.unfreezes);
        }
        if now.freezes && !before.freezes {
            steps.push(HandoverKind::Freeze);
        }
        if now.unfreezes && !before.unfreezes {
            steps.push(HandoverKind::Unfreeze);
        }
        if before.freezes && !now.freezes && !now.unfreezes {
            steps.push(HandoverKind::FreezeOver);
        }
        if now.unfrozen && !before.unfrozen {
            steps.push(HandoverKind::Unfrozen);
        }
        if kind.carries_data() && !packet.payload.is_empty() {
            now.restart = restart(packet);
            if now.restart != before.restart {
                steps.push(now.restart.unwrap_or(HandoverKind::Normal));
            }
        }
        self.announced[by.index()] = now;
        for kind in steps {
            if self.steps.len() < MOST {
                let step = HandoverStep { packet: number, at_s: 0.0, by, kind, client };
                self.steps.push(Step { at, step });
            }
        }
    }

    /// The steps, with times since `zero`.
    pub(crate) fn steps(&self, zero: Instant) -> Vec<HandoverStep> {
        let since = |at: Instant| crate::report::seconds(at.saturating_since(zero));
        self.steps.iter().map(|Step { at, step }| HandoverStep { at_s: since(*at), ..step.clone() }).collect()
    }
}

/// What a sender's options say of its restart.
fn restart(packet: &Packet) -> Option<HandoverKind> {
    packet.options.iter().find_map(|option| match TfrcOption::parse(option)? {
        TfrcOption::Restoring(ProbeRule::Settle { .. }) | TfrcOption::Probing(ProbeRule::Settle { .. }) => {
            Some(HandoverKind::Settling)
        }
        TfrcOption::Restoring(_) => Some(HandoverKind::Restoring),
        TfrcOption::Probing(_) => Some(HandoverKind::Probing),
        _ => None,
    })
}

fn of_move(option: MobilityOption) -> Option<HandoverKind> {
    match option {
        MobilityOption::Key(_) => None,
        MobilityOption::Move(_) => Some(HandoverKind::Move),
        MobilityOption::Challenge(_) => Some(HandoverKind::Challenge),
        MobilityOption::Moved(_) => Some(HandoverKind::Moved),
    }
}

/// True if the packet has the option of that step of a move.
pub(crate) fn says(packet: &Packet, kind: HandoverKind) -> bool {
    let options = packet.options.iter().filter(|option| option.counts_on(packet.packet_type()));
    options.filter_map(MobilityOption::parse).filter_map(of_move).any(|found| found == kind)
}

/// The connection's identifier, which the server names and a client that has moved.
pub(crate) fn identifier(packet: &Packet) -> Option<u64> {
    packet.options.iter().find_map(|option| match MobilityOption::parse(option)? {
        MobilityOption::Key(key) if packet.packet_type() == whimbrel_wire::PacketType::Response => {
            Some(key.identifier)
        }
        MobilityOption::Move(moved) => Some(moved.identifier),
        _ => None,
    })
}
