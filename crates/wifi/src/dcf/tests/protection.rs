//! 802.11g stations in a network with 802.11b stations. A data frame of 1536 bytes lasts 254 us at 54 Mbit/s,
//! its acknowledgement 34 us at 24 Mbit/s; at 11 Mbit/s an RTS lasts 207 us and a CTS 203 us. DIFS is 50 us.

use std::vec::Vec;

use whimbrel_units::Duration;

use super::super::{Event, MacConfig, Outgoing, Protection, ReceptionError, Step};
use super::{ME, OTHER, PEER, at, frame, outcomes, payload, receive, run, station, steps, times};
use crate::frame::{Frame, FrameKind, MacAddress};
use crate::phy::{Phy, Preamble, Rate};

fn mixed(protection: Protection) -> MacConfig {
    let phy = Phy::erp_mixed(Preamble::Long);
    MacConfig { protection, is_traced: true, ..MacConfig::standard(phy, Rate::Ofdm54) }
}

const CTS_TO_SELF: Protection = Protection::CtsToSelf { rate: Rate::Hr11 };
const RTS_CTS: Protection = Protection::RtsCts { rate: Rate::Hr11 };

fn ack() -> Frame {
    let air_time = Duration::from_micros(34);
    Frame { rate: Rate::Ofdm24, air_time, ..frame(FrameKind::Ack, PEER, ME, 0) }
}

/// Kind, start, time on the air, rate and reservation of each frame, in microseconds.
fn described(sent: &[(u64, Frame)]) -> Vec<(FrameKind, u64, u64, Rate, u64)> {
    let one = |(start, frame): &(u64, Frame)| {
        (frame.kind, *start, frame.air_time.as_micros(), frame.rate, frame.nav.as_micros())
    };
    sent.iter().map(one).collect()
}

#[test]
fn a_cts_to_self_reserves_the_medium_for_the_data_frame_and_its_acknowledgement() {
    let mut machine = station(mixed(CTS_TO_SELF), &[3]);
    machine.enqueue(at(1_000), payload(1)).unwrap();
    let sent = run(&mut machine, 1_050 + 203 + 10 + 254);
    let expected = [
        (FrameKind::Cts, 1_050, 203, Rate::Hr11, 10 + 254 + 10 + 34),
        (FrameKind::Data, 1_050 + 203 + 10, 254, Rate::Ofdm54, 10 + 34),
    ];
    assert_eq!(described(&sent), expected);
    assert_eq!((sent[0].1.receiver, sent[0].1.size), (ME, 14));
    let end = receive(&mut machine, 1_050 + 203 + 10 + 254 + 10, &ack());
    assert_eq!(outcomes(&mut machine), [Event::Sent { payload: 1, receiver: PEER, retries: 0 }]);
    assert_eq!(end, 1_050 + 203 + 10 + 254 + 10 + 34);
    let counters = machine.counters();
    assert_eq!((counters.attempts, counters.failed_attempts), (1, 0));
}

#[test]
fn a_retry_is_protected_again() {
    let mut machine = station(mixed(CTS_TO_SELF), &[0, 0]);
    machine.enqueue(at(0), payload(1)).unwrap();
    let kinds: Vec<FrameKind> = times(&run(&mut machine, 1_430)).into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(kinds, [FrameKind::Cts, FrameKind::Data, FrameKind::Cts, FrameKind::Data]);
    let counters = machine.counters();
    assert_eq!((counters.attempts, counters.failed_attempts, counters.failed_after_cts), (2, 1, 0));
}

#[test]
fn rts_and_cts_of_a_protected_frame_are_sent_at_a_rate_of_80211b() {
    for config in [
        mixed(RTS_CTS),
        // Above the threshold the RTS takes the place of the CTS to itself.
        MacConfig { rts_threshold: 0, ..mixed(CTS_TO_SELF) },
    ] {
        let mut machine = station(config, &[0]);
        machine.enqueue(at(0), payload(1)).unwrap();
        let sent = run(&mut machine, 50 + 207);
        let reserved = 10 + 203 + 10 + 254 + 10 + 34;
        assert_eq!(described(&sent), [(FrameKind::Rts, 50, 207, Rate::Hr11, reserved)]);
        let air_time = Duration::from_micros(203);
        let cts = Frame { rate: Rate::Hr11, air_time, ..frame(FrameKind::Cts, PEER, ME, 308) };
        let end = receive(&mut machine, 50 + 207 + 10, &cts);
        let data = run(&mut machine, end + 10);
        assert_eq!(described(&data), [(FrameKind::Data, end + 10, 254, Rate::Ofdm54, 44)]);
    }
    // The responder derives the CTS from the RTS.
    let mut responder = station(mixed(RTS_CTS), &[]);
    let air_time = Duration::from_micros(207);
    let rts = Frame { rate: Rate::Hr11, air_time, ..frame(FrameKind::Rts, PEER, ME, 10 + 203 + 308) };
    receive(&mut responder, 0, &rts);
    assert_eq!(described(&run(&mut responder, 217)), [(FrameKind::Cts, 217, 203, Rate::Hr11, 308)]);
}

#[test]
fn frames_that_every_station_decodes_are_not_protected() {
    for protection in [CTS_TO_SELF, RTS_CTS] {
        let mut machine = station(mixed(protection), &[0, 0]);
        machine.enqueue(at(0), Outgoing { rate: Some(Rate::Hr11), ..payload(1) }).unwrap();
        assert_eq!(times(&run(&mut machine, 51)), [(50, FrameKind::Data)]);
        let mut beacon = station(mixed(protection), &[0, 0]);
        beacon.enqueue(at(0), Outgoing::data(MacAddress::BROADCAST, 100, 1)).unwrap();
        assert_eq!(times(&run(&mut beacon, 51)), [(50, FrameKind::Data)]);
    }
    let ofdm_group = MacConfig { group_rate: Rate::Ofdm6, ..mixed(CTS_TO_SELF) };
    let mut machine = station(ofdm_group, &[0]);
    machine.enqueue(at(0), Outgoing::data(MacAddress::BROADCAST, 100, 1)).unwrap();
    let sent = run(&mut machine, 1_000);
    // 128 bytes at 6 Mbit/s: 20 + 44 symbols + 6. Nothing follows it.
    let expected =
        [(FrameKind::Cts, 50, 203, Rate::Hr11, 10 + 202), (FrameKind::Data, 263, 202, Rate::Ofdm6, 0)];
    assert_eq!(described(&sent), expected);
}

#[test]
fn an_80211b_station_reads_the_cts_to_self_and_not_the_data_frame() {
    let mut machine = station(super::config(), &[]);
    let air_time = Duration::from_micros(254);
    let data = Frame { rate: Rate::Ofdm54, air_time, ..frame(FrameKind::Data, OTHER, PEER, 44) };
    receive(&mut machine, 0, &data);
    assert_eq!(machine.nav_end(), at(0));
    assert_eq!(steps(&mut machine), [Step::ReceivedInError(ReceptionError::Undecodable)]);
    let air_time = Duration::from_micros(203);
    let cts = Frame { rate: Rate::Hr11, air_time, ..frame(FrameKind::Cts, OTHER, OTHER, 308) };
    let end = receive(&mut machine, 1_000, &cts);
    assert_eq!(machine.nav_end(), at(end + 308));
}
