use super::*;

/// Segments sent for each of the acknowledgements of RFC 6937, Section 3.1: 22 segments are outstanding, two
/// of them by limited transmit, and the target is 11. Acknowledgements 3 to 19 deliver one each; `pipe` are
/// in the network before the first of them.
fn sent(mut pipe: u64, acks: usize) -> Vec<u64> {
    let mut reduction = RateReduction::new(22, 11.0);
    (0..acks)
        .map(|_| {
            // One has left the network.
            pipe -= 1;
            reduction.on_ack(&RecoveryAck { delivered: 1, pipe, ssthresh: 11, segment: 1, is_safe: false });
            let count = reduction.allowance();
            reduction.on_sent(count);
            pipe += count;
            count
        })
        .collect()
}

/// The first figure: one segment is lost. `pipe` is 18 at acknowledgement 3.
#[test]
fn a_single_loss_sends_every_other_time() {
    assert_eq!(sent(19, 17), [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1]);
}

/// The second figure, PRR-CRB: fifteen are lost, and `pipe` is 4.
#[test]
fn the_conservative_bound_sends_what_is_delivered() {
    assert_eq!(sent(5, 3), [1, 1, 1]);
}

/// The same for acknowledgements that advance (PRR-SSRB): one more each.
#[test]
fn a_safe_acknowledgement_sends_one_more() {
    let mut reduction = RateReduction::new(22, 11.0);
    for pipe in [4, 5, 6] {
        reduction.on_ack(&RecoveryAck { delivered: 1, pipe, ssthresh: 11, segment: 1, is_safe: true });
        assert_eq!(reduction.allowance(), 2);
        reduction.on_sent(2);
    }
}

#[test]
fn the_window_in_recovery_never_exceeds_the_target() {
    let mut reduction = RateReduction::new(100, 50.0);
    reduction.on_ack(&RecoveryAck { delivered: 90, pipe: 48, ssthresh: 50, segment: 1, is_safe: true });
    assert_eq!(reduction.allowance(), 2);
    reduction.on_sent(2);
    reduction.on_ack(&RecoveryAck { delivered: 0, pipe: 50, ssthresh: 50, segment: 1, is_safe: false });
    assert_eq!(reduction.allowance(), 0);
}
