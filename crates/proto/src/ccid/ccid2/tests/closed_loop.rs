//! Both ends with a path between them: long-term behaviour.

use std::collections::VecDeque;

use super::*;
use crate::ack_vector::{Reader, Recorder};
use crate::ccid::window_laws;

/// Treatment of a packet by the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Treatment {
    Pass,
    Lose,
    Mark,
    /// The packet arrives that many milliseconds later.
    Delay(u64),
}

/// A sender that always has data, a receiver, and a path of 50 ms each way without a queue.
struct Loop {
    sender: Sender,
    receiver: Receiver,
    recorder: Recorder,
    reader: Reader,
    now: Instant,
    next_data: u64,
    next_ack: u64,
    /// Data packets in flight: arrival time, number, type, mark, Acknowledgement Number.
    forth: VecDeque<(Instant, u64, PacketType, Ecn, u64)>,
    /// Acknowledgements in flight: arrival time, number, Acknowledgement Number, options.
    back: VecDeque<(Instant, u64, u64, Options)>,
    newest_ack: u64,
    received: u64,
    acks_sent: u64,
    /// Treatment of the n-th data packet and of the n-th acknowledgement.
    on_data: Box<dyn FnMut(u64) -> Treatment>,
    on_ack: Box<dyn FnMut(u64) -> Treatment>,
    /// A pending change of the Ack Ratio: the time at which it takes effect at both ends.
    change: Option<(Instant, u64)>,
    /// The average of the window over time, in packet seconds.
    window_time: f64,
}

const ONE_WAY: Duration = Duration::from_millis(50);
const START: u64 = 1_000;
const ACK_START: u64 = 5_000;

impl Loop {
    fn new(
        on_data: impl FnMut(u64) -> Treatment + 'static,
        on_ack: impl FnMut(u64) -> Treatment + 'static,
    ) -> Self {
        Self::under(&ccid2(None), on_data, on_ack)
    }

    fn under(
        mechanism: &Ccid2,
        on_data: impl FnMut(u64) -> Treatment + 'static,
        on_ack: impl FnMut(u64) -> Treatment + 'static,
    ) -> Self {
        let mut sender = sender_of(1_000, Some(ONE_WAY * 2), mechanism);
        // Large enough for any rate here.
        sender.on_feature(at(0), FeatureNumber::SequenceWindow, 100_000);
        Self {
            sender,
            receiver: Receiver::new(Some(ONE_WAY * 2)),
            recorder: Recorder::new(),
            reader: Reader::new(seq(START)),
            now: at(0),
            next_data: START,
            next_ack: ACK_START,
            forth: VecDeque::new(),
            back: VecDeque::new(),
            newest_ack: 0,
            received: 0,
            acks_sent: 0,
            on_data: Box::new(on_data),
            on_ack: Box::new(on_ack),
            change: None,
            window_time: 0.0,
        }
    }

    fn run(&mut self, duration: Duration) {
        let end = self.now + duration;
        while self.now < end {
            self.drain();
            let timers = [self.sender.poll_timeout(), self.receiver.poll_timeout()];
            let packets = [self.forth.front().map(|p| p.0), self.back.front().map(|p| p.0)];
            let change = self.change.map(|change| change.0);
            let next =
                timers.into_iter().chain(packets).chain([change]).flatten().min().unwrap_or(end).min(end);
            assert!(next > self.now || next == end, "no spinning");
            self.window_time +=
                f64::from(self.sender.snapshot().cwnd.unwrap()) * (next - self.now).as_secs_f64();
            self.now = next;
            self.arrive();
        }
    }

    /// Sends all packets that may leave.
    fn drain(&mut self) {
        let now = self.now;
        if self.receiver.feedback_due(now) {
            self.acknowledge();
        }
        while self.sender.poll_send(now, 1_000) == SendVerdict::Now {
            let is_ack = self.sender.needs_ack_of_ack(now);
            let packet_type = if is_ack { PacketType::DataAck } else { PacketType::Data };
            let number = self.next_data;
            let packet = SentPacket { sequence: seq(number), packet_type, payload: 1_000, more_queued: true };
            let marks = SenderMarks { ccval: &mut 0, options: &mut Options::new() };
            self.sender.on_sent(now, packet, marks);
            self.next_data += 1;
            let treatment = (self.on_data)(number - START);
            if treatment != Treatment::Lose {
                let ecn = if treatment == Treatment::Mark { Ecn::Ce } else { Ecn::Ect0 };
                let acknowledged = if is_ack { self.newest_ack } else { 0 };
                let later = if let Treatment::Delay(millis) = treatment { millis } else { 0 };
                let at = now + ONE_WAY + Duration::from_millis(later);
                let place = self.forth.partition_point(|other| other.0 <= at);
                self.forth.insert(place, (at, number, packet_type, ecn, acknowledged));
            }
        }
        while let Some(request) = self.sender.poll_feature_request(now) {
            assert_eq!(request.feature, ACK_RATIO);
            self.change = Some((now + ONE_WAY * 2, request.value));
        }
    }

    fn acknowledge(&mut self) {
        let newest = self.recorder.newest().unwrap();
        let (number, mut options) = (self.next_ack, Options::new());
        self.receiver.write_feedback(self.now, newest, &mut options);
        self.recorder.write(seq(number), newest, 900, &mut options);
        self.next_ack += 1;
        self.acks_sent += 1;
        if (self.on_ack)(number - ACK_START) != Treatment::Lose {
            self.back.push_back((self.now + ONE_WAY, number, newest.value(), options));
        }
    }

    /// Delivers all packets that are due.
    fn arrive(&mut self) {
        let now = self.now;
        if let Some((_, ratio)) = self.change.take_if(|change| change.0 <= now) {
            self.sender.on_feature(now, ACK_RATIO, ratio);
            self.receiver.on_feature(now, ACK_RATIO, ratio);
        }
        while let Some((_, number, packet_type, ecn, ack)) = take_due(&mut self.forth, |p| p.0 <= now) {
            self.received += 1;
            if packet_type == PacketType::DataAck {
                self.recorder.on_acked(seq(ack));
            }
            self.recorder.record(seq(number), ecn);
            let packet = ReceivedPacket { ecn, ..received(number, packet_type) };
            self.receiver.on_received(now, packet);
            if self.receiver.feedback_due(now) {
                self.acknowledge();
            }
        }
        while let Some((_, number, ack, options)) = take_due(&mut self.back, |p| p.0 <= now) {
            self.newest_ack = number;
            let mut news = Vec::new();
            self.reader.read(seq(ack), &options, &mut news).unwrap();
            let feedback = Feedback {
                ack: seq(ack),
                sequence: seq(number),
                packet_type: PacketType::Ack,
                options: &options,
                ack_vector: &news,
                data_dropped: &[],
                timestamp_rtt: None,
            };
            self.sender.on_received(now, &received(number, PacketType::Ack));
            self.sender.on_feedback(now, &feedback);
        }
        self.sender.handle_timeout(now);
        self.receiver.handle_timeout(now);
    }

    /// The average window while the next `duration` passes.
    fn average_window(&mut self, duration: Duration) -> f64 {
        self.window_time = 0.0;
        self.run(duration);
        self.window_time / duration.as_secs_f64()
    }
}

fn take_due<T>(queue: &mut VecDeque<T>, is_due: impl Fn(&T) -> bool) -> Option<T> {
    if queue.front().is_some_and(is_due) { queue.pop_front() } else { None }
}

/// Every `n`-th packet is treated like that.
fn every(n: u64, treatment: Treatment) -> impl FnMut(u64) -> Treatment {
    move |number| if number % n == n - 1 { treatment } else { Treatment::Pass }
}

fn pass(_: u64) -> Treatment {
    Treatment::Pass
}

#[test]
fn the_rate_falls_with_the_square_root_of_the_losses() {
    // One packet of N is lost. From one loss to the next the window rests for a round trip at W/2, while
    // the loss is noticed, and then goes up to W by one per round trip: N = W/2 + 3 W^2 / 8 packets
    // in W/2 + 1 round trips. Small windows lose more to the rounding down.
    for (n, least) in [(100.0_f64, 0.92), (400.0, 0.97), (1_600.0, 0.97)] {
        let mut path = Loop::new(every(n as u64, Treatment::Lose), pass);
        path.run(Duration::from_secs(60));
        let average = path.average_window(Duration::from_secs(600));
        let top = ((0.25 + 1.5 * n).sqrt() - 0.5) / 0.75;
        let expected = n / (top / 2.0 + 1.0);
        assert!((least..1.01).contains(&(average / expected)), "N = {n}: {average}, not {expected}");
    }
}

#[test]
fn marks_slow_the_sender_as_losses_do() {
    let goodput = |treatment| {
        let mut path = Loop::new(every(300, treatment), pass);
        path.run(Duration::from_secs(300));
        let snapshot = path.sender.snapshot();
        match treatment {
            Treatment::Lose => {
                // The last one may not be known yet.
                assert!(snapshot.lost.abs_diff((path.next_data - START) / 300) <= 1);
                assert_eq!(snapshot.marked, 0);
            }
            _ => assert_eq!(snapshot.lost, 0),
        }
        path.received as f64
    };
    let (lost, marked) = (goodput(Treatment::Lose), goodput(Treatment::Mark));
    // A mark is noticed with the packet itself, a loss three packets later.
    assert!((0.93..1.07).contains(&(marked / lost)), "{marked} with marks, {lost} with losses");
}

#[test]
fn without_losses_the_window_doubles_about_every_second_round_trip() {
    // One packet for two acknowledged: a factor of 3/2 per round trip.
    let mut path = Loop::new(pass, pass);
    path.run(Duration::from_millis(50));
    let mut last = path.sender.snapshot().cwnd.unwrap();
    for _ in 0..12 {
        path.run(Duration::from_millis(100));
        let cwnd = path.sender.snapshot().cwnd.unwrap();
        assert!((last * 3 / 2 - 1..=last * 3 / 2 + 1).contains(&cwnd), "{last} to {cwnd}");
        last = cwnd;
    }
}

#[test]
fn lost_acknowledgements_reduce_their_rate_and_loss_free_windows_restore_it() {
    // Losses keep the window at about 40 packets. From the 200th second to the 400th one
    // acknowledgement of five is lost, too.
    let mut path = Loop::new(every(1_100, Treatment::Lose), pass);
    path.run(Duration::from_secs(200));
    assert_eq!(path.sender.snapshot().ack_ratio, Some(2));
    let per_ack = |path: &mut Loop| {
        let (received, acks) = (path.received, path.acks_sent);
        path.run(Duration::from_secs(200));
        (path.received - received) as f64 / (path.acks_sent - acks) as f64
    };
    path.on_ack = Box::new(every(5, Treatment::Lose));
    let congested = per_ack(&mut path);
    assert!(congested > 8.0, "{congested} packets per acknowledgement");
    // No data is wrongly taken for lost.
    assert!(path.sender.snapshot().lost.abs_diff((path.next_data - START) / 1_100) <= 1);
    path.on_ack = Box::new(pass);
    path.run(Duration::from_secs(100));
    assert_eq!(path.sender.snapshot().ack_ratio, Some(2));
    let clean = per_ack(&mut path);
    assert!((1.8..2.0).contains(&clean), "{clean} packets per acknowledgement");
}

#[test]
fn the_receivers_state_stays_small_because_the_sender_acknowledges_it() {
    let mut path = Loop::new(every(50, Treatment::Lose), every(7, Treatment::Lose));
    for _ in 0..100 {
        path.run(Duration::from_secs(1));
        // Two windows of data or so.
        assert!(path.recorder.packets() < 60, "{} packets", path.recorder.packets());
    }
}

#[test]
fn the_sender_recovers_from_an_outage() {
    let mut path = Loop::new(pass, pass);
    path.run(Duration::from_secs(1));
    path.on_data = Box::new(|_| Treatment::Lose);
    path.run(Duration::from_secs(30));
    assert_eq!(path.sender.snapshot().cwnd, Some(1));
    // The sender tries less and less often: after 0.35 s, 0.7 s and so on; after 44 s and 89 s, and then
    // 64 s later.
    let received = path.received;
    let before = path.next_data;
    path.run(Duration::from_secs(60));
    assert_eq!((path.received - received, path.next_data - before), (0, 2));
    path.on_data = Box::new(pass);
    path.run(Duration::from_secs(70));
    assert!(path.received - received > 100, "{}", path.received - received);
}

/// Mean window of a CCID where every `n`-th packet is treated like that, after `warm_up` seconds.
fn mean_window(mechanism: &Ccid2, n: u64, treatment: Treatment, warm_up: u64) -> f64 {
    let mut path = Loop::under(mechanism, every(n, treatment), pass);
    path.run(Duration::from_secs(warm_up));
    path.average_window(Duration::from_secs(600))
}

/// All losses are random, as there is no queue: AIMD(1, 1/5) has the mean window sqrt((2 - b) / 2b p) = 2.12
/// sqrt(N).
#[test]
fn the_window_of_ccid_249_keeps_four_fifths() {
    for n in [400.0_f64, 1_600.0] {
        let window = mean_window(&window_laws::veno(), n as u64, Treatment::Lose, 60);
        let expected = (1.8 / 0.4 * n).sqrt();
        assert!((0.93..1.01).contains(&(window / expected)), "N = {n}: {window}, not {expected}");
    }
}

/// Without a queue the bandwidth-delay product is the window itself: losses do not reduce it. (In CCID 2 they
/// do, to 45 packets.)
#[test]
fn the_window_of_ccid_253_is_what_the_path_delivers() {
    let window = mean_window(&window_laws::westwood(), 1_600, Treatment::Lose, 60);
    assert!(window > 200.0, "{window}");
}

/// The next Ack Vector reports what a lost one has reported: nothing stays in the pipe.
#[test]
fn lost_reports_do_not_narrow_the_window() {
    let window = |on_ack: Box<dyn FnMut(u64) -> Treatment>| {
        let mut path = Loop::new(every(400, Treatment::Lose), on_ack);
        path.run(Duration::from_secs(60));
        path.average_window(Duration::from_secs(300))
    };
    let (with, without) = (window(Box::new(every(100, Treatment::Lose))), window(Box::new(pass)));
    assert!((0.95..1.05).contains(&(with / without)), "{with}, and {without} with all reports");
}

/// One packet of 1,600 is lost, and one of 20 is overtaken by the packets of 30 ms.
#[test]
fn packets_that_are_only_late_do_not_reduce_the_window() {
    let treat = |number: u64| match number {
        _ if number % 1_600 == 1_599 => Treatment::Lose,
        _ if number % 20 == 3 => Treatment::Delay(30),
        _ => Treatment::Pass,
    };
    let mut path = Loop::new(treat, pass);
    path.run(Duration::from_secs(60));
    let window = path.average_window(Duration::from_secs(300));
    let without = mean_window(&Ccid2::default(), 1_600, Treatment::Lose, 60);
    assert!((0.9..1.1).contains(&(window / without)), "{window}, and {without} without reordering");
    // All losses are known, and nothing else.
    let lost = path.sender.snapshot().lost;
    assert!(lost.abs_diff((path.next_data - START) / 1_600) <= 1, "{lost} lost");
}

/// Two marks in a round-trip time, or up to sqrt(6) (see [`Prague`](whimbrel_control::window::Prague));
/// windows of whole packets are half a packet smaller.
#[test]
fn the_window_of_ccid_254_has_two_marks_in_a_round_trip_time() {
    for n in [20, 50, 100] {
        let marks = mean_window(&window_laws::prague(), n, Treatment::Mark, 60) / n as f64;
        let least = 2.0 * (1.0 - 1.0 / n as f64) - 0.5 / n as f64;
        assert!((0.93 * least..2.45).contains(&marks), "1 in {n}: {marks}");
    }
}

#[test]
fn a_loss_halves_the_window_of_ccid_254() {
    let (prague, reno) = (window_laws::prague(), Ccid2::default());
    let ratio = mean_window(&prague, 400, Treatment::Lose, 60) / mean_window(&reno, 400, Treatment::Lose, 60);
    assert!((0.97..1.06).contains(&ratio), "{ratio}");
}
