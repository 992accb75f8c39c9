//! Changes of the channel.

use super::*;

fn config() -> MacConfig {
    MacConfig { is_traced: true, ..MacConfig::standard(Phy::hr_dsss(Preamble::Long), Rate::Hr11) }
}

/// The data frame is on the air from 50 us to 1360 us; the acknowledgement would end at 1618 us, the wait for
/// it ends at 1582 us.
#[test]
fn a_station_that_leaves_gives_back_the_payload_in_service() {
    let mut machine = station(config(), &[3, 4, 5]);
    machine.enqueue(at(0), payload(7)).unwrap();
    assert_eq!(times(&run(&mut machine, 60)), [(50, FrameKind::Data)]);
    assert!(machine.is_engaged());
    assert_eq!(run(&mut machine, 1_400), []);
    assert!(!machine.is_engaged() && !machine.is_ready());
    assert_eq!(machine.leave_channel(at(1_400)), Some(Outgoing { rate: Some(Rate::Hr11), ..payload(7) }));
    assert!(machine.is_ready());
    assert_eq!((machine.leave_channel(at(1_400)), run(&mut machine, 100_000)), (None, Vec::new()));
    assert_eq!(outcomes(&mut machine), []);
    let counters = machine.counters();
    assert_eq!((counters.withdrawn, counters.sent, counters.dropped), (1, 0, 0));
    // The medium is idle, but the first access has a backoff, of 3 slots after DIFS.
    machine.enter_channel(at(200_000));
    machine.enqueue(at(200_010), payload(8)).unwrap();
    assert_eq!(times(&run(&mut machine, 201_000)), [(200_110, FrameKind::Data)]);
}

/// A reservation of the channel before does not hold on the next one, and no response is given there.
#[test]
fn reservations_and_sensed_energy_stay_on_the_channel() {
    let mut machine = station(config(), &[0]);
    let other = MacAddress::station(50);
    let end = receive(&mut machine, 0, &frame(FrameKind::Rts, other, PEER, 20_000));
    assert!(machine.nav_end() > at(20_000));
    machine.handle_busy(at(end + 10));
    assert_eq!(machine.leave_channel(at(1_000)), None);
    assert!(machine.nav_end() <= at(1_000));
    machine.enter_channel(at(1_000));
    machine.enqueue(at(1_000), payload(1)).unwrap();
    assert_eq!(times(&run(&mut machine, 1_100)), [(1_050, FrameKind::Data)]);
}

#[test]
fn a_station_that_owes_a_response_is_engaged_until_it_has_sent_it() {
    let mut machine = station(config(), &[]);
    let end = receive(&mut machine, 0, &frame(FrameKind::Data, PEER, ME, 314));
    assert!(machine.is_engaged());
    assert_eq!(times(&run(&mut machine, end + 100)), [(end + 10, FrameKind::Ack)]);
    assert!(machine.is_engaged());
    run(&mut machine, end + 1_000);
    assert!(!machine.is_engaged());
}
