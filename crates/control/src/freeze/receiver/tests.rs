use super::ReceiverAction::{BeginMeasuring, FitHistory, MarkAndFitHistory, None as Nothing};
use super::ReceiverInput::{Loss, Plain, Probing, Restoring, RoundTrip, Settle};
use super::ReceiverState::{Normal, Probed, Recovery, Recovery2, Restoration, Settled};
use std::vec::Vec;

use super::*;

const RTT: Duration = Duration::from_millis(100);
const RESTORING: Marking = Marking::Restoring(ProbeEnd::Loss);
const PROBING: Marking = Marking::Probing(ProbeEnd::Loss);

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

#[test]
fn every_state_and_input_follows_the_state_table() {
    let inputs = [Restoring, Probing, Settle, Plain, RoundTrip, Loss];
    let begin = (Restoration, BeginMeasuring);
    let settle = (Settled, MarkAndFitHistory);
    let to = |state| (state, Nothing);
    let table = [
        (Normal, [begin, to(Probed), settle, to(Normal), to(Normal), to(Normal)]),
        (Restoration, [to(Restoration), to(Probed), settle, to(Normal), to(Recovery), to(Recovery2)]),
        (Recovery, [to(Recovery), to(Probed), settle, to(Normal), to(Recovery), to(Recovery2)]),
        (Probed, [begin, to(Probed), settle, to(Normal), to(Probed), (Recovery2, FitHistory)]),
        (Recovery2, [to(Recovery2), to(Recovery2), settle, to(Normal), to(Recovery2), to(Recovery2)]),
        (Settled, [begin, to(Settled), to(Settled), to(Normal), to(Settled), to(Settled)]),
    ];
    assert_eq!(table.map(|(state, _)| state), ReceiverState::ALL);
    for (state, row) in table {
        for (input, expected) in inputs.into_iter().zip(row) {
            assert_eq!(state.after(input), expected, "{state:?} on {input:?}");
        }
    }
}

#[test]
fn only_the_recovery_states_signal_unfrozen() {
    let signalling: Vec<_> =
        ReceiverState::ALL.into_iter().filter(|state| state.signals_unfrozen()).collect();
    assert_eq!(signalling, [Recovery, Recovery2]);
}

#[test]
fn unfrozen_is_signalled_after_a_round_trip_time_until_the_sender_probes() {
    let mut machine = ReceiverMachine::default();
    assert_eq!(machine.on_packet(ms(0), RESTORING), BeginMeasuring);
    assert!(!machine.on_feedback(ms(0), RTT));
    assert_eq!(machine.on_packet(ms(90), RESTORING), Nothing);
    assert!(!machine.on_feedback(ms(99), RTT), "less than a round-trip time");
    assert!(machine.on_feedback(ms(100), RTT));
    machine.on_packet(ms(150), RESTORING);
    assert!(machine.on_feedback(ms(200), RTT), "the report may have been lost");
    machine.on_packet(ms(250), PROBING);
    assert!(!machine.on_feedback(ms(300), RTT));
    assert_eq!(machine.on_loss(), FitHistory);
    assert_eq!(machine.on_loss(), Nothing, "only the first loss finds the capacity");
    machine.on_packet(ms(350), Marking::None);
    assert_eq!(machine.state(), Normal);
    assert_eq!(machine.on_loss(), Nothing);
}

#[test]
fn losses_do_not_stop_a_sender_that_uses_the_receive_rate() {
    let mut machine = ReceiverMachine::default();
    machine.on_packet(ms(0), Marking::Restoring(ProbeEnd::ReceiveRate));
    assert_eq!(machine.on_loss(), Nothing);
    assert_eq!(machine.state(), Restoration);
    assert!(machine.on_feedback(ms(100), RTT));
    machine.on_packet(ms(150), Marking::Probing(ProbeEnd::ReceiveRate));
    assert_eq!(machine.on_loss(), Nothing);
    assert_eq!(machine.state(), Probed);
    assert_eq!(machine.on_packet(ms(160), Marking::Settle), MarkAndFitHistory);
    assert_eq!(machine.on_packet(ms(170), Marking::Settle), Nothing, "a single input is sufficient");
}
