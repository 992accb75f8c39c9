//! Two connections, and a path that treats one packet in twenty specially.

use whimbrel_units::Duration;

use super::*;
use crate::ccid::Registry;
use crate::config::{DataChecksumUse, IntegrityConfig, ReceiveConfig};
use crate::connection::tests::pair::{End, Pair, Treatment};
use crate::{Config, Event};

const EVERY: u64 = 20;
const PACKETS: u64 = 1_000;

fn config(ccid: Ccid, deliver_corrupt: bool) -> Config {
    Config {
        sender_ccids: [ccid].into(),
        receiver_ccids: [ccid].into(),
        ccids: Registry::default().with(mechanism()),
        integrity: IntegrityConfig { data_checksum: DataChecksumUse::Require, ..IntegrityConfig::default() },
        receive: ReceiveConfig { deliver_corrupt, ..ReceiveConfig::default() },
        ..Config::default()
    }
}

/// Sends a datagram every 50 ms, of which every twentieth is treated so: ten round-trip times apart. Returns
/// the sender's final p, and the Drop Codes reported to it.
fn run(config: Config, treat: fn() -> Treatment) -> (Pair, f64, Vec<DropCode>) {
    let ccid = config.sender_ccids[0];
    let mut pair = Pair::connected(config);
    assert_eq!(pair.client.snapshot().sender_ccid, ccid);
    let mut number = 0;
    pair.script = Box::new(move |sent| {
        if sent.from == End::Server || sent.packet.payload.is_empty() {
            return Treatment::Deliver;
        }
        number += 1;
        if number % EVERY == 0 { treat() } else { Treatment::Deliver }
    });
    for tag in 0..PACKETS {
        pair.send(End::Client, tag);
        pair.run_for(Duration::from_millis(50));
    }
    pair.run_for(Duration::from_millis(500));
    let codes = pair.client_events.iter().filter_map(|event| match event {
        Event::DataDropped { code, .. } => Some(*code),
        _ => None,
    });
    let codes = codes.collect();
    let p = pair.client.snapshot().sender.loss_event_rate.unwrap();
    (pair, p, codes)
}

/// Intervals of twenty packets: p is 1/20.
fn assert_counts(p: f64) {
    assert!((19.0..21.0).contains(&(1.0 / p)), "an average interval of {} packets", 1.0 / p);
}

#[test]
fn corruption_counts_with_ccid_3_as_rfc_4340_demands() {
    let (pair, p, codes) = run(config(Ccid::TFRC, false), || Treatment::Damage);
    assert_counts(p);
    assert_eq!(codes, vec![DropCode::Corrupt; (PACKETS / EVERY) as usize]);
    assert_eq!(pair.received(End::Server).len() as u64, PACKETS - PACKETS / EVERY);
}

#[test]
fn reported_corruption_does_not_reduce_the_rate() {
    for (deliver, code) in [(false, DropCode::Corrupt), (true, DropCode::DeliveredCorrupt)] {
        let (pair, p, codes) = run(config(Ccid::TFRC_EXPLICIT, deliver), || Treatment::Damage);
        assert_eq!(p, 0.0);
        assert_eq!(codes, vec![code; (PACKETS / EVERY) as usize]);
        let is_corrupt = |event: &&Event| matches!(event, Event::CorruptDatagram { .. });
        let delivered = pair.server_events.iter().filter(is_corrupt).count() as u64;
        assert_eq!(delivered, if deliver { PACKETS / EVERY } else { 0 });
        assert_eq!(pair.server().snapshot().receiver.lost, 0);
    }
}

#[test]
fn losses_and_marks_count_as_ever() {
    for treat in [(|| Treatment::Lose) as fn() -> Treatment, || Treatment::Mark] {
        let (_, p, codes) = run(config(Ccid::TFRC_EXPLICIT, false), treat);
        assert_counts(p);
        assert_eq!(codes, []);
    }
}

#[test]
fn other_drop_codes_have_the_standard_reaction() {
    for code in [
        DropCode::ProtocolConstraints,
        DropCode::ApplicationNotListening,
        DropCode::ReceiveBuffer,
        DropCode::Reserved(4),
    ] {
        assert_eq!(corruption_is_no_congestion(code), drop_reaction::standard(code));
    }
}

#[test]
fn it_is_not_available_by_default() {
    assert!(Registry::default().mechanism(Ccid::TFRC_EXPLICIT).is_none());
    let mut asking = config(Ccid::TFRC_EXPLICIT, false);
    asking.receiver_ccids = [Ccid::TFRC_EXPLICIT, Ccid::TFRC].into();
    asking.sender_ccids = [Ccid::TFRC_EXPLICIT, Ccid::TFRC].into();
    let pair = Pair::connected_with(asking, Config::default());
    assert_eq!(pair.client.snapshot().sender_ccid, Ccid::TFRC);
}
