//! A busy program receives late: its datagrams have the network's times of arrival all the same.
#![cfg(target_os = "linux")]

use std::net::UdpSocket;
use std::time::Duration;

use whimbrel_net::{Clock, TimedReceiver};

const APART: Duration = Duration::from_millis(50);

#[test]
fn datagrams_that_wait_for_a_busy_program_have_their_times_of_arrival() {
    for at in ["127.0.0.1:0", "[::1]:0"] {
        let bind = || UdpSocket::bind(at).expect("loopback");
        let (near, far) = (bind(), bind());
        far.set_nonblocking(true).expect("it does not block");
        let (clock, to) = (Clock::start(), far.local_addr().expect("bound"));
        let mut timed = TimedReceiver::new(&far, clock);
        // The kernel begins to note times a moment after it was first asked to.
        std::thread::sleep(2 * APART);
        let sent: Vec<_> = (1..=4)
            .map(|length| {
                let before = clock.now();
                near.send_to(&[7; 4][..length], to).expect("loopback");
                let after = clock.now();
                std::thread::sleep(APART);
                (before, after)
            })
            .collect();
        for (number, (before, after)) in sent.into_iter().enumerate() {
            let mut room = [0; 16];
            let (length, from, arrival) = timed.receive(&far, &mut room).expect("a datagram");
            assert_eq!((length, from), (number + 1, near.local_addr().expect("bound")), "{at}");
            // The two clocks are read to within some microseconds.
            let error = whimbrel_net::Duration::from_micros(200);
            assert!(
                arrival + error >= before && arrival <= after + error,
                "{at}: {before} {arrival} {after}"
            );
        }
        let empty = timed.receive(&far, &mut [0; 16]).expect_err("nothing");
        assert_eq!(empty.kind(), std::io::ErrorKind::WouldBlock);
    }
}
