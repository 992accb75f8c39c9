//! Conditions on every direction's figures.

use serde_json::Value;

use crate::processes::number;

/// Checks a direction's figures over about `seconds`.
pub(crate) fn check_span(span: &Value, seconds: f64) {
    let at = |path: &str| number(span, path);
    let (sent, received, lost) = (at("sent.datagrams"), at("received.datagrams"), at("lost"));
    assert!(received > 0.0, "{span}");
    assert_eq!(at("received.bytes"), received * 1200.0);
    assert_eq!(at("sent.bytes"), sent * 1200.0);
    // Datagrams in transit at the time of the count are neither received nor lost.
    assert!(received + lost <= sent && received + lost >= sent - 300.0, "{span}");
    assert!(at("goodput_bps") <= at("send_rate_bps") * 1.15, "{span}");
    assert!((at("goodput_bps") - at("received.bytes") * 8.0 / at("received.seconds")).abs() < 1.0);
    assert!((at("loss") - lost / (received + lost)).abs() < 1e-9);
    let jitter = at("received.jitter_s");
    assert!(jitter > 0.0 && jitter < 0.5, "{span}");
    let (p50, p99) = (at("received.delay_variation_p50_s"), at("received.delay_variation_p99_s"));
    assert!((0.0..=p99).contains(&p50) && p99 < 1.0, "{span}");
    for length in [at("sent.seconds"), at("received.seconds")] {
        assert!(length > 0.8 * seconds && length < seconds + 1.5, "{span}");
    }
}
