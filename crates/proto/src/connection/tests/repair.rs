//! The agreement on repair.

use whimbrel_units::Duration;

use super::pair::Pair;
use crate::layer::Transport;
use crate::{Config, Event};

#[test]
fn repair_is_agreed_where_both_ends_offer_it_before_either_is_connected() {
    for (client, server, agreed) in
        [(true, true, true), (true, false, false), (false, true, false), (false, false, false)]
    {
        let mut pair = Pair::with(Config::default().repair(client), Config::default().repair(server));
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
                assert_eq!(pair.client.repairs(), Some(agreed), "{client} {server}");
            }
            if is_connected(&pair.server_events) {
                seen += 1;
                pair.server_events.clear();
                assert_eq!(pair.server().repairs(), Some(agreed), "{client} {server}");
            }
            assert!(pair.now < now + Duration::from_secs(1));
        }
    }
}
