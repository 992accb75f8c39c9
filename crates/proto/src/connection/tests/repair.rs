//! The agreement on repair.

use whimbrel_units::Duration;

use super::pair::Pair;
use crate::layer::{Agreed, Transport};
use crate::{Config, Event};

#[test]
fn repair_is_agreed_where_both_ends_offer_it_before_either_is_connected() {
    use Agreed::{InParts, No, Whole};
    let offers = |what| Config::default().repair(what != No).repair_in_parts(what == InParts);
    for (client, server, agreed) in [
        (Whole, Whole, Whole),
        (Whole, No, No),
        (No, Whole, No),
        (No, No, No),
        (InParts, InParts, InParts),
        (InParts, Whole, Whole),
        (Whole, InParts, Whole),
        (InParts, No, No),
    ] {
        let mut pair = Pair::with(offers(client), offers(server));
        let now = pair.now;
        pair.client.connect(now);
        let is_connected =
            |events: &[Event]| events.iter().any(|event| matches!(event, Event::Connected { .. }));
        let mut seen = 0;
        while seen < 2 {
            pair.run_for(Duration::from_millis(1));
            if is_connected(&pair.client_events) {
                seen += 1;
                pair.client_events.clear();
                assert_eq!(pair.client.repairs(), Some(agreed), "{client:?} {server:?}");
            }
            if is_connected(&pair.server_events) {
                seen += 1;
                pair.server_events.clear();
                assert_eq!(pair.server().repairs(), Some(agreed), "{client:?} {server:?}");
            }
            assert!(pair.now < now + Duration::from_secs(1));
        }
    }
}
