use proptest::prelude::*;
use std::vec::Vec;

use super::*;

proptest! {
    /// Within any time no more than the rate, a burst and one packet.
    #[test]
    fn the_grant_is_never_exceeded(
        steps in proptest::collection::vec((0..30_u64, 1..1500_usize), 1..200), rate in 10_000.0..1e6_f64,
    ) {
        let mut grant = Grant::unlimited();
        grant.set(Instant::ZERO, Some(DataRate::from_bytes_per_second(rate)));
        let (mut now, mut sent) = (Instant::ZERO, Vec::new());
        for (step, bytes) in steps {
            now += Duration::from_millis(step);
            if grant.is_open(now) {
                grant.on_sent(bytes);
                sent.push((now, bytes));
                prop_assert!(grant.opens() <= now + Duration::from_secs(1));
            } else {
                prop_assert!(grant.opens() > now);
            }
        }
        for (i, &(from, _)) in sent.iter().enumerate() {
            let mut sum = 0;
            for &(at, bytes) in &sent[i..] {
                sum += bytes;
                let allowed = rate * ((at - from).as_secs_f64() + 0.01) + 1501.0;
                prop_assert!(sum as f64 <= allowed, "{sum} bytes, {allowed} allowed");
            }
        }
    }

    /// Over any second that ends with a coded packet, the coded bytes are at most the source's, or the
    /// repeated ones their multiple of it.
    #[test]
    fn repair_never_exceeds_its_share_of_the_source(
        steps in proptest::collection::vec((0..400_u64, any::<bool>(), 1..1500_usize), 1..200),
        repeats: bool,
    ) {
        let mut share = Share::new();
        let (mut now, mut source, mut repair) = (Instant::from_secs(5), Vec::new(), Vec::new());
        let times = if repeats { Share::REPEATS as usize } else { 1 };
        for (step, is_source, bytes) in steps {
            now += Duration::from_millis(step);
            if is_source {
                share.on_source(now, bytes);
                source.push((now, bytes));
                continue;
            }
            let most = if repeats { 20 } else { 1 };
            for _ in 0..most {
                let is_allowed =
                    if repeats { share.take_repeat(now, bytes) } else { share.take_coded(now, bytes) };
                if !is_allowed {
                    break;
                }
                repair.push((now, bytes));
                // The second of the law has the resolution of its parts.
                let within = |sent: &[(Instant, usize)], time: Duration| -> usize {
                    sent.iter().filter(|(at, _)| now.saturating_since(*at) < time).map(|(_, bytes)| bytes).sum()
                };
                let shorter = Duration::from_nanos(63 * PART);
                prop_assert!(within(&repair, shorter) <= times * within(&source, Duration::from_secs(1)));
            }
        }
    }
}
