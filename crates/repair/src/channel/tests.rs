use super::*;

const TAMBUR: Channel = Channel { to_bad: 0.068, to_good: 0.852, loss_good: 0.04, loss_bad: 0.5 };

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-6, "{value} for {expected}");
}

/// Values of the closed form p + (v / p) mu^d.
#[test]
fn loss_after_a_loss() {
    close(TAMBUR.mean(), 0.074);
    close(TAMBUR.again(1), 0.089658);
    close(TAMBUR.again(2), 0.075253);
    let bursts = Channel::bursts(0.05, 8.0);
    close(bursts.memory(), 0.868421);
    for (distance, expected) in [(1, 0.875), (8, 0.357303), (10, 0.281754), (24, 0.082155), (48, 0.051088)] {
        close(bursts.again(distance), expected);
    }
    close(Channel::independent(0.08).again(1), 0.08);
}

#[test]
fn numbers_of_lost_packets() {
    // Nothing of a frame of 16 is lost; the values of the table of bounds.
    close(1.0 - Channel::independent(0.01).lost_up_to(16)[16][0], 0.148542);
    close(1.0 - TAMBUR.lost_up_to(16)[16][0], 0.701492);
    for lost in TAMBUR.lost_up_to(20) {
        close(lost.iter().sum(), 1.0);
        let mean: f64 = (0..).zip(&lost).map(|(n, p)| f64::from(n) * p).sum();
        close(mean, 0.074 * (lost.len() - 1) as f64);
    }
    let joint = TAMBUR.joint(3);
    close(joint[0].iter().chain(&joint[1]).flatten().sum(), 2.0);
}

#[test]
fn models_are_close_if_they_lose_alike() {
    assert!(TAMBUR.is_close(&Channel { to_bad: 0.0685, ..TAMBUR }, 0.05));
    assert!(!TAMBUR.is_close(&Channel { to_bad: 0.1, ..TAMBUR }, 0.05));
    assert!(!Channel::independent(0.05).is_close(&Channel::bursts(0.05, 8.0), 0.05));
}
