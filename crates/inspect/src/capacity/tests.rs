use whimbrel_wifi::frame::bytes::{Header, PayloadHeader};
use whimbrel_wifi::frame::radiotap::Radiotap;
use whimbrel_wifi::phy::{Phy, Rate};

use super::*;
use crate::air::{Clock, Moment};

const SIFS: u64 = 10;

fn address(station: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, station])
}

/// Frames of 802.11b with the long preamble as bytes; times in microseconds.
struct Air {
    now: u64,
    moment: Moment,
    /// The record's timestamps are a busy host's.
    is_late: bool,
    /// Preamble of data frames.
    preamble: Preamble,
    records: Vec<(u64, Vec<u8>)>,
}

impl Air {
    fn new(moment: Moment, is_late: bool) -> Self {
        Self { now: 1000, moment, is_late, preamble: Preamble::Long, records: Vec::new() }
    }

    fn send(&mut self, header: &Header, body: usize, rate: Rate) {
        let mut frame = Vec::new();
        header.encode(&mut frame);
        frame.resize(frame.len() + body + 4, 0);
        let is_short = self.preamble == Preamble::Short && rate == Rate::Hr11;
        let phy = Phy::erp_mixed(if is_short { Preamble::Short } else { Preamble::Long });
        let airtime = phy.duration(rate, frame.len() as u32).as_nanos() / 1000;
        let stamp = match self.moment {
            Moment::Begin => self.now,
            Moment::End => self.now + airtime,
            Moment::Mpdu => self.now + phy.plcp(rate).as_nanos() / 1000,
        };
        // The MAC's clock has another origin.
        let flags = Radiotap::HAS_FCS | if is_short { Radiotap::SHORT_PREAMBLE } else { 0 };
        let tsft = Some(stamp + 77_000_000);
        let radiotap = Radiotap { tsft, flags: Some(flags), ..Radiotap::new(0, rate, 6, -40) };
        let mut bytes = Vec::new();
        radiotap.encode(&mut bytes);
        bytes.extend(frame);
        let late = if self.is_late { 500 + 37 * (self.records.len() as u64 % 11) } else { 0 };
        self.records.push((stamp + late, bytes));
        self.now += airtime;
    }

    /// RTS, CTS, DATA and ACK after `idle` us.
    fn exchange(&mut self, from: u8, to: u8, body: usize, idle: u64) {
        self.handshake(from, to, body, idle, true);
        self.data(from, to, body, true);
    }

    fn handshake(&mut self, from: u8, to: u8, body: usize, idle: u64, is_answered: bool) {
        self.now += idle;
        let data = data_time(body);
        let (receiver, transmitter) = (address(to), address(from));
        let duration = |us: u64| us as u16;
        let rts = Header::Rts { duration: duration(3 * SIFS + 304 + data + 304), receiver, transmitter };
        self.send(&rts, 0, Rate::Dsss1);
        if is_answered {
            self.now += SIFS;
            let cts = Header::Cts { duration: duration(2 * SIFS + data + 304), receiver: transmitter };
            self.send(&cts, 0, Rate::Dsss1);
            self.now += SIFS;
        }
    }

    fn data(&mut self, from: u8, to: u8, body: usize, is_answered: bool) {
        let header = PayloadHeader {
            subtype: 0,
            flags: Default::default(),
            duration: (SIFS + 304) as u16,
            receiver: address(to),
            transmitter: address(from),
            address3: address(9),
            sequence: 1,
            fragment: 0,
            address4: None,
            qos: None,
        };
        self.send(&Header::Data(header), body, Rate::Hr11);
        if is_answered {
            self.now += SIFS;
            self.send(&Header::Ack { duration: 0, receiver: address(from) }, 0, Rate::Dsss1);
        }
    }

    fn analyse(&self, config: CapacityConfig) -> CapacityReport {
        let mut analysis = CapacityAnalysis::new(config);
        for (at, bytes) in &self.records {
            analysis.on_record(&record(*at, 127, bytes));
        }
        analysis.finish()
    }
}

fn record(at: u64, link_type: u16, data: &[u8]) -> Record<'_> {
    Record {
        number: 1,
        offset: 0,
        at: Instant::from_nanos(1000 * at),
        interface: 0,
        interface_name: None,
        link_type,
        data,
        original_length: data.len() as u32,
    }
}

/// Time of a data frame with header and check sequence of 28 bytes.
fn data_time(body: usize) -> u64 {
    192 + ((body as u64 + 28) * 80).div_ceil(110)
}

/// Capacity of an exchange in bit/s, over DATA and ACK (paper `winf`, Figure 1).
fn capacity(body: usize) -> f64 {
    8e6 * body as f64 / (data_time(body) + 304) as f64
}

#[track_caller]
fn assert_close(estimate: Option<EstimateReport>, capacity: f64, idle: f64) {
    let EstimateReport { capacity_bps, available_bps } = estimate.expect("an estimate");
    assert!((capacity_bps / capacity - 1.0).abs() < 1e-6, "{capacity_bps} of {capacity}");
    assert!((available_bps / capacity_bps - idle).abs() < 1e-6, "{available_bps} of {capacity_bps}");
}

#[test]
fn exchanges_give_the_estimates_of_onlooker_sender_and_receiver_whatever_moment_is_stamped() {
    for moment in [Moment::Begin, Moment::End, Moment::Mpdu] {
        for is_late in [false, true] {
            let mut air = Air::new(moment, is_late);
            for _ in 0..20 {
                air.exchange(1, 2, 1500, 2000);
            }
            let report = air.analyse(CapacityConfig::default());
            let stamps = report.stamps.as_ref().unwrap();
            assert_eq!(stamps.clock, if is_late { "tsft" } else { "capture" }, "{moment:?}");
            assert_eq!(stamps.error_us, Some(0.0), "{moment:?}");
            let channel = &report.channels[0];
            assert_eq!((channel.frequency_mhz, channel.frames, report.channels.len()), (Some(2437), 80, 1));
            // From the beginning of the first RTS; each exchange reserves the time after its RTS.
            let time = air.now - 3000;
            let reserved = 20 * (3 * SIFS + 304 + data_time(1500) + 304);
            let idle = 1.0 - reserved as f64 / time as f64;
            assert_close(channel.onlooker, capacity(1500), idle);
            let [sender, receiver] = &channel.stations[..] else { panic!("{channel:?}") };
            assert_eq!((sender.address.as_str(), sender.data_frames), ("02:00:00:00:00:01", 20));
            // The receiver counts one SIFS less than its interval has, as printed.
            let received = 12e9 / (304 + data_time(1500) - SIFS) as f64;
            assert_close(receiver.receiver, received, idle);
            // The NAV of the CTS is the RTS's less SIFS and the CTS.
            let own = 1.0 - (reserved - 20 * (SIFS + 304)) as f64 / time as f64;
            let estimate = sender.sender.unwrap();
            assert!((estimate.capacity_bps / capacity(1500).min(received) - 1.0).abs() < 1e-6);
            // The receiver, which counts the NAV of the RTS, returns less.
            let returned = received * idle;
            assert!(returned < own * capacity(1500));
            assert!((estimate.available_bps / returned - 1.0).abs() < 1e-6, "{estimate:?}");
            assert_eq!((sender.receiver, receiver.sender), (None, None));
            // IdleGap: RTS and reservation are one occupation.
            let busy = reserved + 20 * 352;
            assert_close(channel.idle_gap, 11e6, 1.0 - busy as f64 / time as f64);
        }
    }
}

/// A short preamble of 96 us for data and the long one for ACKs: the moments of stamps differ by more than a
/// constant.
#[test]
fn the_flag_of_the_short_preamble_shortens_a_frame() {
    for moment in [Moment::Begin, Moment::End, Moment::Mpdu] {
        let mut air = Air::new(moment, false);
        air.preamble = Preamble::Short;
        for _ in 0..10 {
            air.now += 1000;
            air.data(1, 2, 1000, true);
        }
        let report = air.analyse(CapacityConfig::default());
        assert_eq!(report.stamps.unwrap().error_us, Some(0.0), "{moment:?}");
        let time = data_time(1000) - 96 + SIFS + 304;
        assert_close(report.channels[0].data_ack, 8e9 / time as f64, 9000.0 / (9000 + 10 * time) as f64);
    }
}

#[test]
fn a_station_that_sends_only_has_the_capacity_of_data_and_acknowledgement() {
    let mut air = Air::new(Moment::End, false);
    for _ in 0..10 {
        air.now += 1000;
        air.data(1, 2, 1000, true);
    }
    let channel = &air.analyse(CapacityConfig::default()).channels[0];
    assert_eq!(channel.onlooker, None);
    let time = data_time(1000) + SIFS + 304;
    // The first 1000 us precede the first frame.
    let idle = 9000.0 / (9000 + 10 * time) as f64;
    assert_close(channel.data_ack, 8e9 / time as f64, idle);
}

#[test]
fn frames_without_a_response_are_failures_and_the_idle_time_before_others_is_backoff() {
    let mut air = Air::new(Moment::Begin, false);
    for number in 0..10 {
        // DIFS and 5 slots.
        let idle = 50 + 100;
        if number % 5 == 0 {
            air.handshake(1, 2, 500, 400, false);
            // The reservation of the unanswered RTS ends.
            air.now += 4000;
        }
        air.exchange(1, 2, 500, idle);
    }
    let report = air.analyse(CapacityConfig::default());
    let station = &report.channels[0].stations[0];
    assert_eq!(station.attempts, 12, "{station:?}");
    assert!((station.failure_probability.unwrap() - 2.0 / 12.0).abs() < 1e-12);
    // Equation 8: 2 DIFS + 3 SIFS + backoff + CTS + RTS + DATA, of which DIFS and backoff.
    let cycle = 2 * 50 + 3 * SIFS + 100 + 304 + 352 + data_time(500);
    assert!((station.backoff_share.unwrap() - 150.0 / cycle as f64).abs() < 1e-9, "{station:?}");
}

#[test]
fn intervals_have_the_estimates_of_their_own_frames() {
    let mut air = Air::new(Moment::Begin, false);
    for _ in 0..20 {
        air.exchange(1, 2, 1500, 3000);
    }
    air.now = 600_000;
    for _ in 0..20 {
        air.exchange(3, 2, 300, 10_000);
    }
    let config = CapacityConfig { interval: Some(Duration::from_millis(500)), ..CapacityConfig::default() };
    let report = air.analyse(config);
    let [first, last] = &report.channels[0].intervals[..] else { panic!("{report:?}") };
    assert_eq!([first.time_s, last.time_s], [0.0, 0.5]);
    assert!(first.senders.contains_key("02:00:00:00:00:01") && first.senders.len() == 1);
    assert!(last.senders.contains_key("02:00:00:00:00:03") && last.senders.len() == 1);
    let capacities = [first, last].map(|interval| interval.onlooker.unwrap().capacity_bps);
    assert!(
        (capacities[0] / capacity(1500) - 1.0).abs() < 1e-6
            && (capacities[1] / capacity(300) - 1.0).abs() < 1e-6
    );
}

#[test]
fn the_capacity_of_all_exchanges_weighs_them_by_their_times() {
    let mut air = Air::new(Moment::Begin, false);
    air.exchange(1, 2, 1500, 1000);
    air.exchange(1, 2, 300, 1000);
    let of = |averaging| {
        air.analyse(CapacityConfig { averaging, ..CapacityConfig::default() }).channels[0].onlooker.unwrap()
    };
    assert!((of(Averaging::Latest).capacity_bps / capacity(300) - 1.0).abs() < 1e-6);
    let total = 8e6 * 1800.0 / (data_time(1500) + data_time(300) + 608) as f64;
    assert!((of(Averaging::Total).capacity_bps / total - 1.0).abs() < 1e-6);
}

#[test]
fn records_that_are_no_frames_are_counted_and_transmitters_are_limited() {
    let mut air = Air::new(Moment::Begin, false);
    for station in 1..=6 {
        air.exchange(station, 9, 100, 1000);
    }
    let mut analysis = CapacityAnalysis::new(CapacityConfig { max_stations: 3, ..CapacityConfig::default() });
    for (at, bytes) in &air.records {
        analysis.on_record(&record(*at, 127, bytes));
    }
    analysis.on_record(&record(0, 1, &[0; 60]));
    analysis.on_record(&record(0, 127, &[0, 0, 200, 0, 0, 0, 0, 0]));
    analysis.on_record(&record(0, 105, &[0x08]));
    // A frame of 802.11n has no rate.
    let mut bytes = Vec::new();
    Radiotap::default().encode(&mut bytes);
    Header::Ack { duration: 0, receiver: address(1) }.encode(&mut bytes);
    analysis.on_record(&record(air.now, 127, &bytes));
    bytes.clear();
    Radiotap { flags: Some(Radiotap::BAD_FCS), ..Radiotap::default() }.encode(&mut bytes);
    analysis.on_record(&record(0, 127, &bytes));
    let report = analysis.finish();
    assert_eq!((report.records, report.frames), (29, 25));
    assert_eq!((report.other_links, report.other_link_type), (1, Some(1)));
    assert_eq!((report.malformed, report.damaged, report.without_rate), (2, 1, 1));
    assert_eq!(report.channels[0].stations.len(), 3);
    assert!(report.beyond_limit > 0);
}

#[test]
fn the_capture_clock_and_the_ends_of_frames_are_assumed_without_a_response() {
    let stamps = StampDetector::default().decide();
    assert_eq!((stamps.clock, stamps.moment, stamps.error), (Clock::Capture, Moment::End, None));
}
