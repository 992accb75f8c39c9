use super::*;

fn acknowledge(law: &mut NewReno, window: &mut Window, acks: usize, each: f64) {
    for _ in 0..acks {
        law.on_ack(window, &Acknowledgement::of(each));
    }
}

#[test]
fn slow_start_adds_a_segment_for_each_ack() {
    let (mut law, mut window) = (NewReno::rfc5681(), Window::new(2.0));
    acknowledge(&mut law, &mut window, 2, 1.0);
    assert_eq!(window.cwnd, 4.0);
    acknowledge(&mut law, &mut window, 4, 1.0);
    assert_eq!(window.cwnd, 8.0);
}

#[test]
fn slow_start_with_an_ack_for_every_second_segment_grows_by_half() {
    let (mut law, mut window) = (NewReno::rfc5681(), Window::new(4.0));
    acknowledge(&mut law, &mut window, 2, 2.0);
    assert_eq!(window.cwnd, 6.0);
}

#[test]
fn splitting_an_ack_gains_nothing_in_slow_start() {
    // ACK division: ten acknowledgements of a tenth of a segment equal one segment.
    let (mut law, mut window) = (NewReno::rfc5681(), Window::new(4.0));
    acknowledge(&mut law, &mut window, 10, 0.1);
    assert!((window.cwnd - 5.0).abs() < 1e-12);
}

#[test]
fn congestion_avoidance_adds_about_a_segment_in_a_round_trip() {
    let (mut law, mut window) = (NewReno::rfc5681(), Window { cwnd: 10.0, ssthresh: 10.0 });
    law.on_ack(&mut window, &Acknowledgement::of(1.0));
    assert_eq!(window.cwnd, 10.1);
    law.on_ack(&mut window, &Acknowledgement::of(1.0));
    assert_eq!(window.cwnd, 10.1 + 1.0 / 10.1);
    acknowledge(&mut law, &mut window, 8, 1.0);
    // w += 1/w squared: w^2 grows by 2 + 1/w^2. Ten steps from 100 give about 120 + 10/110, whose root is
    // 10.9586.
    assert!((window.cwnd - 10.9586).abs() < 1e-4, "{}", window.cwnd);
}

#[test]
fn counting_adds_exactly_a_segment_for_each_window_acknowledged() {
    let mut law = NewReno::new(Growth::Counted { share: 1.0, limit: 1.0 }, Reduction::Rfc5681);
    let mut window = Window { cwnd: 10.0, ssthresh: 10.0 };
    acknowledge(&mut law, &mut window, 9, 1.0);
    assert_eq!(window.cwnd, 10.0);
    acknowledge(&mut law, &mut window, 1, 1.0);
    assert_eq!(window.cwnd, 11.0);
    // Delayed acknowledgements do not slow it down: 5.5 of them cover 11 segments.
    acknowledge(&mut law, &mut window, 5, 2.0);
    assert_eq!(window.cwnd, 11.0);
    acknowledge(&mut law, &mut window, 1, 2.0);
    assert_eq!(window.cwnd, 12.0);
}

#[test]
fn rfc_3465_counts_two_segments_for_a_delayed_ack_in_slow_start() {
    let mut law = NewReno::new(Growth::Counted { share: 1.0, limit: 2.0 }, Reduction::Rfc5681);
    let mut window = Window::new(4.0);
    acknowledge(&mut law, &mut window, 2, 2.0);
    assert_eq!(window.cwnd, 8.0);
    acknowledge(&mut law, &mut window, 1, 7.0); // a stretch acknowledgement is capped
    assert_eq!(window.cwnd, 10.0);
}

#[test]
fn ccid_2_adds_a_packet_for_two_acknowledged_up_to_half_the_ack_ratio() {
    let (mut law, mut window) = (NewReno::rfc4341(2), Window::new(4.0));
    law.on_ack(&mut window, &Acknowledgement::of(2.0));
    assert_eq!(window.cwnd, 5.0);
    law.on_ack(&mut window, &Acknowledgement::of(6.0)); // Ack Ratio 2: at most one packet
    assert_eq!(window.cwnd, 6.0);
    law.on_ack_ratio(8.0);
    law.on_ack(&mut window, &Acknowledgement::of(6.0));
    assert_eq!(window.cwnd, 9.0);
}

#[test]
fn loss_sets_both_numbers_to_half_of_the_flight() {
    let (mut law, mut window) = (NewReno::rfc5681(), Window::new(20.0));
    // FlightSize is used, not cwnd: the application may not have filled the window.
    law.on_congestion(&mut window, &CongestionSignal::loss(13.0));
    assert_eq!((window.cwnd, window.ssthresh), (6.5, 6.5));
}

#[test]
fn the_threshold_never_falls_below_two_segments() {
    let (mut law, mut window) = (NewReno::rfc5681(), Window::new(3.0));
    law.on_congestion(&mut window, &CongestionSignal::loss(3.0));
    assert_eq!((window.cwnd, window.ssthresh), (2.0, 2.0));
}

#[test]
fn each_reduction_has_its_own_rounding() {
    for (reduction, in_flight, cwnd, ssthresh) in [
        (Reduction::Rfc5681, 7.0, 3.5, 3.5),
        (Reduction::Rfc4341, 7.0, 3.0, 3.0),
        (Reduction::Ns2, 7.0, 3.5, 3.0),
        (Reduction::Rfc5681, 1.0, 2.0, 2.0),
        (Reduction::Rfc4341, 1.0, 1.0, 2.0),
        (Reduction::Ns2, 1.0, 1.0, 2.0),
    ] {
        let mut law = NewReno::new(Growth::PerAck, reduction);
        let mut window = Window::new(in_flight);
        law.on_congestion(&mut window, &CongestionSignal::loss(in_flight));
        assert_eq!((window.cwnd, window.ssthresh), (cwnd, ssthresh), "{reduction:?}");
    }
}

#[test]
fn a_timeout_restarts_from_one_segment() {
    let (mut law, mut window) = (NewReno::rfc5681(), Window::new(16.0));
    law.on_timeout(&mut window, &CongestionSignal::loss(16.0), false);
    assert_eq!((window.cwnd, window.ssthresh), (1.0, 8.0));
    acknowledge(&mut law, &mut window, 7, 1.0);
    assert_eq!(window.cwnd, 8.0);
    acknowledge(&mut law, &mut window, 1, 1.0); // the threshold is reached: congestion avoidance
    assert_eq!(window.cwnd, 8.125);
}

#[test]
fn a_second_timeout_of_the_same_segment_holds_the_threshold() {
    let (mut law, mut window) = (NewReno::rfc5681(), Window::new(16.0));
    law.on_timeout(&mut window, &CongestionSignal::loss(16.0), false);
    law.on_timeout(&mut window, &CongestionSignal::loss(1.0), true);
    assert_eq!((window.cwnd, window.ssthresh), (1.0, 8.0));
}

#[test]
fn congestion_discards_the_credit_for_the_next_segment() {
    let mut law = NewReno::new(Growth::Counted { share: 1.0, limit: 1.0 }, Reduction::Rfc5681);
    let mut window = Window { cwnd: 8.0, ssthresh: 8.0 };
    acknowledge(&mut law, &mut window, 7, 1.0);
    law.on_congestion(&mut window, &CongestionSignal::loss(8.0));
    acknowledge(&mut law, &mut window, 3, 1.0);
    assert_eq!(window.cwnd, 4.0);
    acknowledge(&mut law, &mut window, 1, 1.0);
    assert_eq!(window.cwnd, 5.0);
}
