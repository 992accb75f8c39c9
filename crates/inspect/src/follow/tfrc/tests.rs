use whimbrel_wire::option::tfrc::{NO_LOSS_EVENT, loss_event_rate, loss_intervals, receive_rate};

use super::*;

fn interval(data_length: u32) -> LossInterval {
    LossInterval { lossless_length: data_length, nonce: false, loss_length: 1, data_length }
}

fn rate(lengths: &[u32]) -> f64 {
    let options: Vec<DccpOption> = loss_intervals(0, lengths.iter().copied().map(interval)).collect();
    TfrcFeedback::read(&options).loss_event_rate.unwrap()
}

#[test]
fn loss_intervals_give_the_rate_of_rfc_5348() {
    // Before any loss there is one interval, and it is open.
    assert_eq!(rate(&[]), 0.0);
    assert_eq!(rate(&[500]), 0.0);
    // Equal intervals of 100 packets, a short open one: one in a hundred.
    assert!((rate(&[10, 100, 100, 100, 100, 100, 100, 100, 100]) - 0.01).abs() < 1e-12);
    // A long open interval counts: (700 + 100 + 100 + 100 + 80 + 60 + 40 + 20) / 6 = 200.
    assert!((rate(&[700, 100, 100, 100, 100, 100, 100, 100, 100]) - 0.005).abs() < 1e-12);
    // Fewer than eight: (50 + 30) / 2.
    assert!((rate(&[1, 50, 30]) - 1.0 / 40.0).abs() < 1e-12);
    assert_eq!(rate(&[0, 0]), 1.0);
}

#[test]
fn options_are_read_together() {
    let options = [loss_event_rate(NO_LOSS_EVENT), receive_rate(1234)];
    let feedback = TfrcFeedback::read(&options);
    assert_eq!((feedback.loss_event_rate, feedback.receive_rate), (Some(0.0), Some(1234)));
    assert_eq!(TfrcFeedback::read(&[loss_event_rate(0)]).loss_event_rate, Some(1.0));
    assert_eq!(TfrcFeedback::read(&[]), TfrcFeedback::default());
}
