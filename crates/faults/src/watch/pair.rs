//! Both ends of a connection are in states that fit together (RFC 4340, Sections 4.3 and 8), and once nobody
//! has more to say, both have the same values of all features (Section 6).

use whimbrel_proto::feature::Location;
use whimbrel_proto::{Connection, State};
use whimbrel_wire::option::FeatureNumber;

/// Whether a server may be in that state while its client is in this one. `None`: it does not exist
/// yet, or no longer. `stateless`: servers may answer Requests without a connection (RFC 4340, Section 8.1.4).
pub fn fit(client: State, server: Option<State>, was_accepted: bool, stateless: bool) -> bool {
    use State::{
        CloseReq, Closed, Closing, Invited, Listen, Listen1, Open, PartOpen, Request, Respond, TimeWait,
    };
    let Some(server) = server.filter(|state| !matches!(state, Closed | TimeWait)) else {
        // A server that is over may be so for any reason; one that never was can have answered nothing.
        return was_accepted || stateless || matches!(client, Closed | Request | TimeWait);
    };
    match client {
        // Nobody confirmed the Response to the server yet.
        Request => matches!(server, Listen | Invited | Listen1 | Respond),
        // An invitation may come after an answer that nobody remembers.
        PartOpen | Closing if stateless && matches!(server, Invited | Listen1) => true,
        PartOpen => matches!(server, Respond | Open | CloseReq | Closing),
        // The server has spoken since the handshake, so it knew that it was over.
        Open => matches!(server, Open | CloseReq | Closing),
        Closing => matches!(server, Respond | Open | CloseReq | Closing),
        Closed | TimeWait => true,
        CloseReq | Listen | Invited | Listen1 | Respond => false,
    }
}

/// Where the two ends have different values of a feature although both take it for settled.
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
