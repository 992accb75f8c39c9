//! Both ends of a connection are in compatible states (RFC 4340, Sections 4.3 and 8), and once no packet is
//! pending, both have the same values of all features (Section 6).

use whimbrel_proto::feature::Location;
use whimbrel_proto::{Connection, State};
use whimbrel_wire::option::FeatureNumber;

/// `true` if a server may be in state `server` while its client is in `client`. `None`: it does not exist
/// yet, or no longer. `stateless`: servers may answer Requests without a connection (RFC 4340, Section
/// 8.1.4).
pub fn fit(client: State, server: Option<State>, was_accepted: bool, stateless: bool) -> bool {
    use State::{
        CloseReq, Closed, Closing, Invited, Listen, Listen1, Open, PartOpen, Request, Respond, TimeWait,
    };
    let Some(server) = server.filter(|state| !matches!(state, Closed | TimeWait)) else {
        // A server may have ended for any reason; one that never existed cannot have answered.
        return was_accepted || stateless || matches!(client, Closed | Request | TimeWait);
    };
    match client {
        // The Response has not been acknowledged yet.
        Request => matches!(server, Listen | Invited | Listen1 | Respond),
        // An invitation may come after a stateless answer.
        PartOpen | Closing if stateless && matches!(server, Invited | Listen1) => true,
        PartOpen => matches!(server, Respond | Open | CloseReq | Closing),
        // The server has sent since the handshake, so the handshake was complete there.
        Open => matches!(server, Open | CloseReq | Closing),
        Closing => matches!(server, Respond | Open | CloseReq | Closing),
        Closed | TimeWait => true,
        CloseReq | Listen | Invited | Listen1 | Respond => false,
    }
}

/// A feature with different values at the two ends although both consider it settled.
pub fn disagreement(client: &Connection, server: &Connection) -> Option<String> {
    let (client, server) = (client.negotiation(), server.negotiation());
    if !client.is_quiet() || !server.is_quiet() {
        return None;
    }
    let numbers = (1..=9).chain([128, 192]).map(FeatureNumber::from);
    for feature in numbers {
        for location in Location::BOTH {
            let (ours, theirs) =
                (client.value(feature, location), server.value(feature, location.opposite()));
            if ours != theirs {
                return Some(format!(
                    "{feature:?}, located {location:?} for the client: it has {ours}, the server {theirs}"
                ));
            }
        }
    }
    None
}
