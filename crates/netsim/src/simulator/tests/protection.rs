//! Protection of OFDM frames in an access point's network, while an 802.11b station is associated with it.

use whimbrel_wifi::dcf::{MacConfig, Protection};
use whimbrel_wifi::infrastructure::AccessPointConfig;
use whimbrel_wifi::mobility::Presence;
use whimbrel_wifi::phy::{Phy, Preamble, Rate};
use whimbrel_wifi::{FrameKind, MacAddress};

use super::infrastructure::every;
use super::wireless::{add, at_metre, client, mac, moving, site, ssid};
use super::*;
use crate::StationIndex;
use crate::medium::{AirFrame, InfrastructureConfig, StationRole, WifiConfig, WifiMedium};

/// The stations: two access points, an 802.11g client of the first, an 802.11b client that walks from the
/// first to the second.
const FIRST: usize = 0;
const SECOND: usize = 1;
const FAST: usize = 2;
const OLD: usize = 3;

fn announcing(number: usize, channel: u8) -> StationRole {
    let address = MacAddress::station(number as u32);
    let config = AccessPointConfig::new(address, ssid(), channel);
    StationRole::AccessPoint(AccessPointConfig { announces_erp: true, ..config })
}

fn older(number: usize) -> StationRole {
    let StationRole::Client { mut config, .. } = client(number as u32, &[1, 6]) else { unreachable!() };
    config.is_erp = false;
    StationRole::Client { config, joins_at: Instant::from_secs(5) }
}

/// A packet every 20 ms in both directions between the first access point and its 802.11g client, for 50 s.
/// The older client joins after 5 s, and walks from 20 s to 40 s.
fn cell() -> (Simulator<Script>, crate::MediumId) {
    let older_mac = mac();
    let phy = Phy { basic: older_mac.phy.basic, ..Phy::erp_mixed(Preamble::Long) };
    let mac = MacConfig { group_rate: Rate::Dsss1, ..MacConfig::standard(phy, Rate::Ofdm54) };
    let paths = [at_metre(0.0), at_metre(400.0), at_metre(20.0), moving((50.0, 20), (350.0, 40))];
    let roles = vec![announcing(FIRST, 1), announcing(SECOND, 6), client(FAST as u32, &[1]), older(OLD)];
    let roles = InfrastructureConfig {
        protection: Some(Protection::CtsToSelf { rate: Rate::Dsss1 }),
        ..InfrastructureConfig::new(roles).with_staggered_beacons()
    };
    let site = site(paths.into_iter().map(|path| (path, Presence::ALWAYS)));
    let mut medium = WifiMedium::with_infrastructure(site, WifiConfig::standard(mac, 1), &roles).unwrap();
    medium.set_mac(StationIndex::new(OLD), older_mac);
    medium.monitor(100_000);
    let mut simulator = simulator();
    let (medium, nodes, _) = add(&mut simulator, medium, 50);
    for (flow, from, to) in [(1, FIRST, FAST), (2, FAST, FIRST)] {
        let mut script = sender(nodes[to], &every(20_000, 1_000_000, 2_450));
        script.sends.iter_mut().for_each(|send| send.flow = FlowId(flow));
        simulator.add_agent(nodes[from], FlowId(flow), script);
        simulator.add_agent(nodes[to], FlowId(flow), Script::default());
    }
    (simulator, medium)
}

/// The OFDM data frames of a station that begin in an interval of seconds, and those that follow a CTS of the
/// station to itself.
fn protected(frames: &[AirFrame], station: usize, from: f64, until: f64) -> (usize, usize) {
    let own: Vec<&AirFrame> =
        frames.iter().filter(|frame| frame.sender == StationIndex::new(station)).collect();
    let (mut fast, mut after_cts) = (0, 0);
    for pair in own.windows(2) {
        let [before, frame] = pair else { continue };
        let is_counted = (from..until).contains(&(frame.at.as_nanos() as f64 * 1e-9));
        if is_counted && frame.kind == FrameKind::Data && frame.rate == Rate::Ofdm54 {
            fast += 1;
            let is_to_itself =
                before.kind == FrameKind::Cts && before.receiver == Some(StationIndex::new(station));
            let sifs = Duration::from_micros(10);
            after_cts += usize::from(is_to_itself && before.at + before.air_time + sifs == frame.at);
        }
    }
    (fast, after_cts)
}

#[test]
fn ofdm_frames_are_protected_while_an_older_client_is_associated() {
    let (mut simulator, medium) = cell();
    simulator.run_until(Instant::from_secs(50));
    let wifi: &WifiMedium = simulator.medium(medium).unwrap();
    let [(_, joined), (_, moved)] =
        wifi.handovers().iter().filter(|(station, _)| *station == StationIndex::new(OLD)).collect::<Vec<_>>()
            [..]
    else {
        panic!("{:?}", wifi.handovers())
    };
    assert_eq!(
        [joined.to, moved.to],
        [FIRST, SECOND].map(|station| wifi.address(StationIndex::new(station)))
    );
    let (joined, moved) = (joined.associated.as_secs_f64(), moved.associated.as_secs_f64());
    assert!(joined > 5.0 && joined < 6.0 && moved > 25.0 && moved < 45.0, "{joined} {moved}");
    // The first access point changes with the association, which precedes the older client's notice of it,
    // and its client with the next beacon that it receives.
    let notice = 0.01;
    for (station, delay) in [(FIRST, notice), (FAST, 0.35)] {
        for (from, until, is_protected) in [
            (1.5, joined - notice, false),
            (joined + delay, moved - notice, true),
            (moved + delay, 50.0, false),
        ] {
            let (fast, protections) = protected(wifi.frames(), station, from, until);
            assert!(fast > 100, "station {station} sent {fast} OFDM frames from {from} s to {until} s");
            assert_eq!(protections, if is_protected { fast } else { 0 }, "station {station} at {from} s");
        }
        assert_eq!(wifi.mac(StationIndex::new(station)).config().protection, Protection::None);
    }
    // The older client is with the second one now.
    let with_older = Protection::CtsToSelf { rate: Rate::Dsss1 };
    assert_eq!(wifi.mac(StationIndex::new(SECOND)).config().protection, with_older);
}
