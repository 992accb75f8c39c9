use super::*;

fn seq(n: u64) -> SeqNo {
    SeqNo::new(n)
}

/// The packets that, arriving in this order, reveal a loss.
fn revealing(arrivals: &[u64]) -> Vec<u64> {
    let mut losses = AckLosses::default();
    arrivals.iter().copied().filter(|number| losses.on_packet(seq(*number), None)).collect()
}

#[test]
fn three_later_packets_reveal_a_loss() {
    assert_eq!(revealing(&[1, 2, 3, 4, 5, 6]), []);
    // Packet 3 is lost once 4, 5 and 6 are there.
    assert_eq!(revealing(&[1, 2, 4, 5, 6, 7, 8]), [6]);
    // Two losses in one stretch, and one for each of two.
    assert_eq!(revealing(&[1, 4, 5, 6, 7]), [6]);
    assert_eq!(revealing(&[1, 3, 5, 6, 7, 8]), [6, 7]);
    // A late packet is no lost one, if it is not too late.
    assert_eq!(revealing(&[1, 2, 4, 5, 3, 6, 7, 8]), []);
    assert_eq!(revealing(&[1, 2, 4, 5, 6, 3, 7, 8]), [6]);
    // Holes too wide to keep track of.
    assert_eq!(revealing(&[1, 100, 101, 102, 103]), [102]);
    assert_eq!(revealing(&[1, 62, 63, 64, 65]), [64]);
    assert_eq!(revealing(&[1, 63, 64, 65, 66]), [65]);
    // Copies count once.
    assert_eq!(revealing(&[1, 3, 4, 4, 4, 5]), [5]);
}

#[test]
fn an_ndp_count_distinguishes_lost_data_from_lost_acknowledgements() {
    // Number and NDP Count, which is zero if absent, but only once there was one.
    let reveals = |arrivals: &[(u64, u64)]| {
        let mut losses = AckLosses::default();
        let mut arrive =
            |(number, count): (u64, u64)| losses.on_packet(seq(number), (count > 0).then_some(count));
        arrive((1, 0));
        arrive((2, 1));
        let found: Vec<bool> = arrivals.iter().map(|packet| arrive(*packet)).collect();
        found.contains(&true)
    };
    // Packet 3 is lost. The one after it counts no packets without data before it: 3 had data.
    assert!(!reveals(&[(4, 0), (5, 0), (6, 0)]));
    // Packet 4 counts one: 3 was an acknowledgement.
    assert!(reveals(&[(4, 1), (5, 0), (6, 0)]));
    // 3 and 4 are lost; 4 was an acknowledgement, 3 had data. Or 4 had data, and 3 is unknown.
    assert!(reveals(&[(5, 1), (6, 0), (7, 0)]));
    assert!(reveals(&[(5, 0), (6, 0), (7, 0)]));
    // The count reaches back to packets that arrived.
    assert!(reveals(&[(4, 3), (5, 4), (6, 5)]));
    // One loss of data after the other.
    assert!(!reveals(&[(4, 0), (6, 0), (8, 0), (9, 0), (10, 1), (11, 2)]));
    assert!(reveals(&[(4, 0), (6, 1), (8, 0), (9, 0), (10, 1), (11, 2)]));
}

#[test]
fn losses_are_found_as_a_naive_list_finds_them() {
    // Every set of losses and one delayed packet among twelve.
    for pattern in 0u32..1 << 10 {
        let mut arrivals: Vec<u64> = vec![0];
        arrivals.extend((1..=10).filter(|n| pattern >> (n - 1) & 1 == 1));
        arrivals.extend([11, 12, 13]);
        let found = revealing(&arrivals);
        let naive: Vec<u64> = arrivals
            .iter()
            .enumerate()
            .filter(|(at, newest)| {
                let so_far = &arrivals[..=*at];
                let lost = |n: &u64| {
                    !so_far.contains(n) && so_far.iter().filter(|later| *later > n).count() == NUMDUPACK
                };
                (0..**newest).any(|n| lost(&n))
            })
            .map(|(_, newest)| *newest)
            .collect();
        assert_eq!(found, naive, "{arrivals:?}");
    }
}

/// Feeds windows of data with or without a lost acknowledgement, and returns the requests.
struct Script {
    ratio: AckRatio,
    /// The next data packet, and the next acknowledgement.
    next: u64,
    next_ack: u64,
}

impl Script {
    fn new() -> Self {
        Self { ratio: AckRatio::new(), next: 1, next_ack: 1 }
    }

    /// One window of `cwnd` packets. Returns the requested ratio, if any.
    fn window(&mut self, cwnd: u32, congested: bool) -> Option<u64> {
        self.ratio.on_packet(seq(self.next_ack), None, congested);
        self.next_ack += 1;
        // The first packet of this window is acknowledged, and the whole was sent.
        let (ack, last) = (self.next, self.next + u64::from(cwnd) - 1);
        self.ratio.on_ack(seq(ack), seq(last), cwnd);
        self.next += u64::from(cwnd);
        self.ratio.take_request()
    }

    fn windows(&mut self, cwnd: u32, congested: &[bool]) -> Vec<Option<u64>> {
        congested.iter().map(|congested| self.window(cwnd, *congested)).collect()
    }
}

#[test]
fn each_congested_window_doubles_the_ratio_up_to_half_the_window() {
    let mut script = Script::new();
    assert_eq!(
        script.windows(21, &[false, true, true, true, true]),
        [None, Some(4), Some(8), Some(11), None]
    );
}

#[test]
fn a_ratio_comes_down_after_as_many_clean_windows_as_the_rfc_says() {
    // K = cwnd / (R^2 - R): 24 / 12 = 2 windows from 4 to 3, 24 / 6 = 4 from 3 to 2, and no lower.
    let mut script = Script::new();
    assert_eq!(script.windows(24, &[false, true]), [None, Some(4)]);
    assert_eq!(script.windows(24, &[false; 2]), [None, Some(3)]);
    assert_eq!(script.windows(24, &[false; 4]), [None, None, None, Some(2)]);
    assert_eq!(script.windows(24, &[false; 50]), [None; 50]);
    // Congestion starts the count again.
    assert_eq!(script.windows(24, &[true, false, true]), [Some(4), None, Some(8)]);
}

#[test]
fn a_shrinking_window_takes_the_ratio_along_at_once() {
    let mut script = Script::new();
    script.windows(40, &[false, true, true, true]);
    assert_eq!(script.ratio.wanted, 16);
    // Within the same window of data: half of 9, rounded up.
    script.ratio.on_ack(seq(1), seq(script.next), 9);
    assert_eq!(script.ratio.take_request(), Some(5));
    script.ratio.on_ack(seq(1), seq(script.next), 1);
    assert_eq!(script.ratio.take_request(), Some(2));
}

#[test]
fn every_packet_is_acknowledged_while_the_window_stays_tiny() {
    let mut script = Script::new();
    assert_eq!(script.windows(2, &[false; 4]), [None, None, None, Some(1)]);
    assert_eq!(script.windows(3, &[false; 4]), [None; 4]);
    assert_eq!(script.window(4, false), Some(2));
}

#[test]
fn many_acknowledgements_of_one_window_count_once() {
    let mut ratio = AckRatio::new();
    for ack in 1..=10 {
        ratio.on_packet(seq(ack), None, true);
        ratio.on_ack(seq(ack), seq(20), 20);
    }
    assert_eq!(ratio.take_request(), Some(4));
    ratio.on_ack(seq(20), seq(39), 20);
    assert_eq!(ratio.take_request(), None);
    ratio.on_ack(seq(21), seq(40), 20);
    assert_eq!(ratio.take_request(), Some(8));
}
