//! The decoder that the radio's loss probability stands for, symbol by symbol.

use super::*;

const STATES: usize = 16;

/// A path through the trellis of the code (23, 35) that ends in some state.
#[derive(Clone, Copy)]
struct Survivor {
    /// Log-likelihood deficit against the sent path, the one of zeros.
    cost: f64,
    is_sent: bool,
}

/// Sends a frame of zeros over symbols with these signal-to-noise ratios, one after the other, and
/// decodes it by Viterbi's algorithm. Returns whether it came out wrong.
fn decodes_wrongly(ratios: impl Iterator<Item = f64>, random: &mut RandomStream) -> bool {
    let nowhere = Survivor { cost: f64::INFINITY, is_sent: false };
    let mut survivors = [nowhere; STATES];
    survivors[0] = Survivor { cost: 0.0, is_sent: true };
    // A symbol that differs costs twice the received amplitude, in units of the noise.
    let mut costs = ratios.map(|ratio| 2.0 * (ratio + ratio.sqrt() * random.normal(0.0, 1.0)));
    while let (Some(first), Some(second)) = (costs.next(), costs.next()) {
        let mut next = [nowhere; STATES];
        for (register, next_state) in (0..2 * STATES).map(|register| (register, register >> 1)) {
            let from = survivors[register % STATES];
            let differs = |generator: usize| f64::from((register & generator).count_ones() % 2);
            let cost = from.cost + first * differs(0o23) + second * differs(0o35);
            if cost < next[next_state].cost {
                next[next_state] = Survivor { cost, is_sent: from.is_sent && next_state == 0 };
            }
        }
        survivors = next;
    }
    // The tail brings the encoder back to state 0.
    !survivors[0].is_sent
}

/// Blocks of the high level and of a poorer signal, where losses are many. The union bound counts an error
/// more than once where several paths could have beaten the sent one: the decoder loses less than
/// predicted, by up to four tenths in the worst blocks.
#[test]
fn a_viterbi_decoder_loses_as_many_frames_as_predicted() {
    let mut model = high();
    model.frames.symbols = 2032;
    for eb_n0_db in [2.0, 4.0] {
        model.reception.eb_n0_db = eb_n0_db;
        let (mut predicted, mut variance, mut lost) = (0.0, 0.0, 0);
        for run in 0..30 {
            let mut random = stream(run);
            let mut radio = Radio::new(&model, &mut random);
            for block in 0..40 {
                let loss = radio.loss_in_block(block);
                let ratios: Vec<f64> = radio.sixth.iter().map(|&sixth| -6.0 * libm::log(sixth)).collect();
                for frame in 0..2 {
                    let symbols = (0..2032).map(|symbol| ratios[(frame * 2032 + symbol) % ratios.len()]);
                    lost += u32::from(decodes_wrongly(symbols, &mut random));
                    predicted += loss;
                    variance += loss * (1.0 - loss);
                }
            }
        }
        let (lost, error) = (f64::from(lost), 3.0 * f64::sqrt(variance));
        let holds = lost < predicted + error && lost > 0.65 * predicted - error;
        assert!(holds, "{eb_n0_db} dB: {lost} lost of {predicted} predicted");
    }
}
