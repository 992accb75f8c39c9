//! Handover signalling of a connection: freezes, restarts, address changes. All of it uses experimental
//! options of this implementation (`whimbrel_wire::option`).

use serde::Serialize;
use whimbrel_units::Instant;
use whimbrel_wire::option::mobility::MobilityOption;
use whimbrel_wire::option::tfrc::{ProbeRule, TfrcOption};
use whimbrel_wire::{DccpOption, Packet};

use super::Endpoint;
use super::side::Side;

/// Maximum number of steps kept per connection.
const MOST: usize = 1000;

/// Kind of a handover step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HandoverKind {
    /// Requests the other end to send no data (Freeze).
    Freeze,
    /// Allows the other end to send data again (Unfreeze).
    Unfreeze,
    /// No longer requests the freeze, on a packet that would carry the request.
    FreezeOver,
    /// Sends at the rate from before a freeze (Restoring).
    Restoring,
    /// Probes for a higher rate (Probing).
    Probing,
    /// Has found the capacity of the path and requests a loss history that fits it.
    Settling,
    /// Returns to normal operation.
    Normal,
    /// Has measured a round-trip time of the restored rate (Unfrozen).
    Unfrozen,
    /// A client announces that its address may have changed (Move).
    Move,
    /// A server requests a proof of the address from which a Move came (Move Challenge).
    Challenge,
    /// A server confirms the client's address (Moved), and sends there.
    Moved,
}

impl HandoverKind {
    /// Description of the step, with the end that sent the packet as its subject.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Freeze => "requests the other end to send no data",
            Self::Unfreeze => "allows the other end to send data again",
            Self::FreezeOver => "no longer requests the other end to send no data",
            Self::Restoring => "sends again at its previous rate",
            Self::Probing => "probes for a higher rate",
            Self::Settling => "has found the capacity of the path and requests a loss history that fits it",
            Self::Normal => "returns to normal rate control",
            Self::Unfrozen => "has measured a round-trip time of the restored rate",
            Self::Move => "announces that its address may have changed",
            Self::Challenge => "requests a proof of the client's address",
            Self::Moved => "confirms the client's address",
        }
    }
}

/// A step of a handover.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HandoverStep {
    /// Number in the capture of the packet with the signal.
    pub packet: u64,
    /// Capture time, in seconds since the capture's first frame.
    pub at_s: f64,
    /// The sending end.
    pub by: Side,
    /// Kind of the step.
    pub kind: HandoverKind,
    /// Source of a Move, if it differs from the client's previous address.
    pub client: Option<Endpoint>,
}

/// A step with the time of its packet.
#[derive(Clone, Debug)]
struct Step {
    at: Instant,
    step: HandoverStep,
}

/// The latest signals of one end.
#[derive(Clone, Copy, Debug, Default)]
struct AnnouncedState {
    /// Requests the other end to freeze.
    freezes: bool,
    /// Allows the other end to send, on every packet until this is acknowledged.
    unfreezes: bool,
    restart: Option<HandoverKind>,
    /// Signals that its receive rate is valid again.
    unfrozen: bool,
    /// Announces an address change, or challenges one.
    moves: bool,
}

/// Handover signalling of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handovers {
    announced: [AnnouncedState; 2],
    steps: Vec<Step>,
}

impl Handovers {
    /// Processes a packet that counts; `client` is its source, if it differs from the client's previous
    /// address.
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
        // Signals that only acknowledgements carry are not ended by other packets.
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

    /// The steps, with times relative to `zero`.
    pub(crate) fn steps(&self, zero: Instant) -> Vec<HandoverStep> {
        let since = |at: Instant| crate::names::seconds(at.saturating_since(zero));
        self.steps.iter().map(|Step { at, step }| HandoverStep { at_s: since(*at), ..step.clone() }).collect()
    }
}

/// The restart step signalled by a sender's options.
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

/// `true` if the packet has the option of that step of an address change.
pub(crate) fn has_option(packet: &Packet, kind: HandoverKind) -> bool {
    let options = packet.options.iter().filter(|option| option.counts_on(packet.packet_type()));
    options.filter_map(MobilityOption::parse).filter_map(of_move).any(|found| found == kind)
}

/// The connection's identifier, sent by the server and by a client that has moved.
pub(crate) fn identifier(packet: &Packet) -> Option<u64> {
    packet.options.iter().find_map(|option| match MobilityOption::parse(option)? {
        MobilityOption::Key(key) if packet.packet_type() == whimbrel_wire::PacketType::Response => {
            Some(key.identifier)
        }
        MobilityOption::Move(moved) => Some(moved.identifier),
        _ => None,
    })
}
