//! Classification without effect on congestion control.

use alloc::vec::Vec;

use proptest::prelude::*;
use whimbrel_units::{ByteCount, Duration, Instant};

use crate::loss_detection::ArrivedPacket;
use crate::loss_differentiation::{ClassifiedLoss, PacketArrival, Scheme, StreamClassifier, classify};

fn arrival(sequence: u64, late: u64) -> PacketArrival {
    let sent = Instant::ZERO + Duration::from_millis(10) * sequence;
    let at = sent + Duration::from_millis(20 + late);
    PacketArrival { at, sequence, size: ByteCount::new(500), sent: Some(sent) }
}

fn try_out(scheme: Scheme, arrivals: &[PacketArrival]) -> Vec<ClassifiedLoss> {
    let mut stream = StreamClassifier::new(scheme.build());
    for arrival in arrivals {
        stream.on_arrival(arrival, &ArrivedPacket::new(arrival.at, arrival.sequence));
    }
    let verdicts = core::iter::from_fn(|| stream.recording().take()).collect();
    assert!(!stream.has_verdicts());
    verdicts
}

/// Packets 4 and 5 are hidden; number 6 arrives at its expected time, (2 + 1) packet times after number 3.
#[test]
fn a_hidden_packet_is_classified_as_missing() {
    let arrivals: Vec<PacketArrival> =
        [0, 1, 2, 3, 6, 7, 8].map(|sequence| arrival(sequence, 0)).into_iter().collect();
    let verdicts = try_out(Scheme::ModifiedBiaz, &arrivals);
    let results: Vec<_> = verdicts.iter().map(|loss| (loss.first, loss.count, loss.cause.name())).collect();
    assert_eq!(results, [(4, 2, "wireless")]);
    // Two arrivals after a hole are too few to call it a loss.
    assert_eq!(try_out(Scheme::ModifiedBiaz, &arrivals[..6]), []);
}

/// Packets directly before one with an NDP Count carried no data and are not losses.
#[test]
fn packets_without_data_are_no_losses() {
    let mut stream = StreamClassifier::new(Scheme::ModifiedBiaz.build());
    for sequence in [0, 1, 2, 5, 6, 7, 8] {
        let seen = arrival(sequence, 0);
        let empty_before = if sequence == 5 { 1 } else { 0 };
        stream.on_arrival(&seen, &ArrivedPacket { empty_before, ..ArrivedPacket::new(seen.at, sequence) });
    }
    let verdict = stream.recording().take().unwrap();
    assert_eq!((verdict.first, verdict.count, stream.has_verdicts()), (3, 1, false));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// The results equal those for the recorded list of presented packets.
    #[test]
    fn a_stream_is_classified_like_a_recorded_list(
        packets in prop::collection::vec((prop::bool::weighted(0.15), 0u64..15), 10..200),
        scheme in prop::sample::select(&[Scheme::Biaz, Scheme::ModifiedBiaz, Scheme::Spike, Scheme::ZigZag, Scheme::Zbs3][..]),
    ) {
        let shown: Vec<PacketArrival> = (0..)
            .zip(&packets)
            .filter(|(_, (hidden, _))| !hidden)
            .map(|(sequence, (_, late))| arrival(sequence, *late))
            .collect();
        let shown = { let mut sorted = shown; sorted.sort_by_key(|arrival| arrival.at); sorted };
        let listed = classify(&mut *scheme.build(), shown.iter().copied());
        let expand = |losses: Vec<ClassifiedLoss>| -> Vec<_> {
            let each = |loss: ClassifiedLoss| (loss.first..loss.first + loss.count).map(move |n| (n, loss.cause));
            losses.into_iter().flat_map(each).collect()
        };
        prop_assert_eq!(expand(try_out(scheme, &shown)), expand(listed));
    }
}
