//! Features that exist only if an end has a wish for them, regardless of the congestion control.

use super::*;

fn wish(location: Location, ask: bool) -> Wish {
    Wish { feature: F::Mobility, location, values: smallvec![1, 0], ask, required: false }
}

#[test]
fn an_experimental_feature_is_refused_without_a_wish() {
    let mut end = End::settled_client();
    end.receive(8_001, PacketType::Ack, &[option(ChangeL, 121, &[1, 0])]).unwrap();
    assert_eq!(end.send(1_000, PacketType::Ack), [option(ConfirmR, 121, &[])]);
    assert!(!end.negotiation.is_on(F::Mobility, Location::Remote));
}

#[test]
fn an_experimental_feature_is_on_where_both_ends_wish_for_it() {
    let mut end = End::settled_client();
    end.negotiation.wish(&wish(Location::Local, true));
    assert_eq!(end.send(1_000, PacketType::Ack), [option(ChangeL, 121, &[1, 0])]);
    end.receive(8_001, PacketType::Ack, &[option(ConfirmR, 121, &[1, 1, 0])]).unwrap();
    assert!(end.negotiation.is_on(F::Mobility, Location::Local));
    // An empty Confirm leaves it as it was.
    let mut end = End::settled_client();
    end.negotiation.wish(&wish(Location::Local, true));
    end.send(1_000, PacketType::Ack);
    end.receive(8_001, PacketType::Ack, &[option(ConfirmR, 121, &[])]).unwrap();
    assert!(!end.negotiation.is_on(F::Mobility, Location::Local) && end.negotiation.is_quiet());
}

#[test]
fn another_congestion_control_leaves_experimental_features_as_they_are() {
    let mut end = End::new(Role::Server, preferences(&[2, 3], &[2, 3]));
    end.negotiation.wish(&wish(Location::Remote, false));
    end.receive(8_000, PacketType::Request, &[option(ChangeL, 121, &[1, 0])]).unwrap();
    assert!(end.negotiation.is_on(F::Mobility, Location::Remote));
    end.send(0, PacketType::Response);
    for (sequence, ccid) in [(8_001, 3), (8_002, 2)] {
        end.receive(sequence, PacketType::Ack, &[option(ChangeL, 1, &[ccid])]).unwrap();
        assert_eq!(end.negotiation.ccid(Location::Remote), Ccid(ccid));
        assert!(end.negotiation.is_on(F::Mobility, Location::Remote));
        end.send(1_000, PacketType::Ack);
    }
}
