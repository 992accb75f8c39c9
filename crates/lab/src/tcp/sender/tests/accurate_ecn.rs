//! Feedback that counts marks (RFC 9768), and the response of a scalable law.

use std::sync::{Arc, Mutex};

use whimbrel_control::window::{
    Acknowledgement, CongestionCause, CongestionSignal, Delivery, Prague, Window,
};

use super::*;
use crate::tcp::segment::EcnCounters;

/// Calls of a law: delivered, marked and acknowledged segments, and signals.
#[derive(Clone, Default, Debug)]
struct Calls {
    delivered: f64,
    marked: f64,
    acked: f64,
    signals: Vec<CongestionCause>,
}

#[derive(Clone, Debug)]
struct Recording(Arc<Mutex<Calls>>);

impl WindowLaw for Recording {
    fn name(&self) -> &'static str {
        "recording"
    }

    fn is_scalable(&self) -> bool {
        true
    }

    fn on_delivery(&mut self, delivery: &Delivery) {
        let mut calls = self.0.lock().unwrap();
        calls.delivered += delivery.delivered;
        calls.marked += delivery.marked;
    }

    fn on_ack(&mut self, _: &mut Window, ack: &Acknowledgement) {
        self.0.lock().unwrap().acked += ack.acked;
    }

    fn on_congestion(&mut self, _: &mut Window, signal: &CongestionSignal) {
        self.0.lock().unwrap().signals.push(signal.cause);
    }

    fn on_timeout(&mut self, _: &mut Window, _: &CongestionSignal, _: bool) {}
}

fn recorded(variant: Variant, window: u32) -> (Script, Arc<Mutex<Calls>>) {
    let calls = Arc::new(Mutex::new(Calls::default()));
    let mut config = Script::rfc(variant, window);
    config.ecn = EcnMode::Accurate;
    config.window.law = Recording(calls.clone()).into();
    (Script::fill(config, window), calls)
}

/// An acknowledgement of all before `next` that reports `packets` marks of 1000 bytes so far.
fn feedback(next: u64, packets: u32, has_option: bool) -> Segment {
    Segment {
        ack: next * 1000,
        window: 1 << 30,
        flags: Flags::ACK.with_ace(5 + u64::from(packets)),
        ecn: has_option.then_some(EcnCounters { ect1: 1, ce: packets * 1000 }),
        ..Segment::default()
    }
}

#[test]
fn a_scalable_law_has_ect1_on_new_data_only() {
    for (law, ect) in [(Some(Prague::new()), Flags::ECT1), (None, Flags::ECT)] {
        let mut config = Script::rfc(Variant::Sack, 5);
        config.ecn = EcnMode::Accurate;
        if let Some(law) = law {
            config.window.law = law.into();
        }
        let mut script = Script::new(config);
        script.flags = Flags::ACK.with_ace(5);
        let first = script.sender.poll_transmit(script.now).expect("data");
        assert_eq!(first.flags, Flags::ACK | ect);
        script.sends(1..5).sack(0, &[(1, 2)]).sack(0, &[(1, 3)]).sack(0, &[(1, 4)]);
        let again = script.sender.poll_transmit(script.now).expect("a retransmission");
        assert_eq!((again.seq, again.flags), (0, Flags::ACK));
    }
}

#[test]
fn each_mark_reaches_a_scalable_law_once() {
    let (mut script, calls) = recorded(Variant::Sack, 40);
    script.receive(&feedback(1, 0, true)).receive(&feedback(2, 1, true)).receive(&feedback(4, 1, false));
    // Several acknowledgements were lost: ACE has passed eight, and the option shows it.
    script
        .receive(&feedback(20, 12, true))
        .receive(&feedback(21, 13, false))
        .receive(&feedback(22, 13, true));
    let calls = calls.lock().unwrap().clone();
    assert_eq!((calls.delivered, calls.marked), (22.0, 13.0));
    assert_eq!(calls.acked, 22.0 - 13.0, "marked data do not open the window");
    assert_eq!(calls.signals, [CongestionCause::Mark; 3]);
    assert_eq!(script.sender.snapshot().congestion_marks, 3);
}

#[test]
fn an_option_corrects_an_estimate_from_packets() {
    let (mut script, calls) = recorded(Variant::Sack, 10);
    script.receive(&feedback(1, 1, false));
    // The packet had 400 bytes.
    let mut corrected = feedback(2, 1, true);
    corrected.ecn = Some(EcnCounters { ect1: 1, ce: 400 });
    script.receive(&corrected);
    let mut next = feedback(3, 2, true);
    next.ecn = Some(EcnCounters { ect1: 1, ce: 1400 });
    script.receive(&next);
    assert_eq!(calls.lock().unwrap().marked, 2.0);
}

#[test]
fn marks_during_a_recovery_are_counted_without_a_signal() {
    let (mut script, calls) = recorded(Variant::Sack, 10);
    script.flags = Flags::ACK.with_ace(5);
    script.sack(0, &[(1, 2)]).sack(0, &[(1, 3)]).sack(0, &[(1, 4)]);
    let mut marked = feedback(0, 1, true);
    marked.sack = [ByteRange::new(1000, 5000)].into_iter().collect();
    script.receive(&marked);
    let calls = calls.lock().unwrap().clone();
    assert_eq!((calls.marked, calls.signals), (1.0, vec![CongestionCause::Loss]));
}

/// With counted marks a law that is not scalable responds as to an echo.
#[test]
fn another_law_is_called_once_for_a_window_of_data() {
    let mut config = Script::rfc(Variant::Sack, 10);
    config.ecn = EcnMode::Accurate;
    let mut script = Script::fill(config, 10);
    script.receive(&feedback(1, 1, true)).receive(&feedback(2, 2, true)).receive(&feedback(3, 3, true));
    let snapshot = script.sender.snapshot();
    assert_eq!((snapshot.cwnd, snapshot.congestion_marks), (5.0, 1));
}

/// RFC 9768, Section 3.1.1.
#[test]
fn the_handshake_offers_and_accepts_accurate_ecn() {
    let mut config = Script::rfc(Variant::Sack, 10);
    config.ecn = EcnMode::Accurate;
    config.handshake = true;
    let mut script = Script::new(config.clone());
    let syn = script.sender.poll_transmit(script.now).expect("a SYN");
    assert!(syn.flags.contains(Flags::AE | Flags::CWR | Flags::ECE));
    let mut receiver = crate::tcp::TcpReceiver::new(&config);
    receiver.handle_segment(script.now, &syn);
    let answer = receiver.poll_transmit(script.now).expect("a SYN-ACK");
    assert_eq!(answer.flags.without(Flags::SACK_PERMITTED), Flags::SYN | Flags::ACK | Flags::CWR);
}
