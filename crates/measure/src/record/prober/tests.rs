use super::super::protocol::VERSION;
use super::*;

/// An end that is busy while probes arrive records their dispersion on the path.
#[tokio::test]
async fn probes_that_wait_for_a_busy_end_have_their_times_of_arrival() {
    const APART: std::time::Duration = std::time::Duration::from_millis(50);
    let [near, far] = ["127.0.0.1:0"; 2].map(|at| bind(at.parse().expect("an address")).expect("loopback"));
    let [near_at, far_at] = [&near, &far].map(|socket| socket.local_addr().expect("bound"));
    let plan = Plan { version: VERSION, mode: Mode::Gentle, load_ms: 1000, rate_bps: 1e6 };
    let (plan, figures) = (Cell::new(plan), Cell::default());
    let mut prober = Prober::new(&far, near_at, (7, true), &plan, &figures, Clock::start());
    // The kernel begins to note times a moment after it was first asked to.
    std::thread::sleep(2 * APART);
    for number in 0..4 {
        let mut bytes = [0; FULL];
        Header { kind: Kind::Probe(Class::Train), token: 7, number, sent_us: 0 }.write(&mut bytes);
        send_to(&near, &bytes, far_at).expect("loopback");
        // Not this task's time: nothing can be received meanwhile.
        std::thread::sleep(APART);
    }
    far.readable().await.expect("watched");
    prober.receive(&mut [0; 2048]).expect("no error");
    let at: Vec<i64> = prober.log.iter().map(|arrival| arrival.arrived_us).collect();
    // The two clocks are read to within some microseconds.
    let is_apart = |pair: &[i64]| pair[1] - pair[0] + 200 >= APART.as_micros() as i64;
    assert!(at.len() == 4 && at.windows(2).all(is_apart), "{at:?}");
}
