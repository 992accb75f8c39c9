//! The code costs no heap allocation per packet in the steady state.

use allocation_counter::measure;
use whimbrel_repair::decoder::Decoder;
use whimbrel_repair::encoder::{CodeConfig, Encoder};
use whimbrel_repair::fecframe::Esi;

#[test]
fn the_code_does_not_allocate() {
    let config = CodeConfig { window: 64, ..CodeConfig::new(1220) };
    let (mut encoder, mut decoder) = (Encoder::new(config, Esi(0)), Decoder::new(config, Esi(0), 64));
    let (adu, mut out, mut solved) = (vec![9; 1200], Vec::new(), 0);
    let mut frame = || {
        let first = encoder.next();
        encoder.forget_before(first.plus(40_u32.wrapping_neg()));
        encoder.open(encoder.first());
        for n in 0..16 {
            let esi = encoder.push(0, &adu).expect("a datagram");
            if n % 7 != 3 {
                decoder.on_source(esi, 0, &adu);
            }
        }
        for open in [true, false, false] {
            out.clear();
            let (first, end) = (encoder.first(), encoder.next());
            let id = if open { encoder.close(&mut out) } else { encoder.combine(first, end, &mut out) };
            decoder.on_repair(id.expect("a window"), &out);
        }
        while decoder.poll_solved().is_some() {
            solved += 1;
        }
    };
    (0..20).for_each(|_| frame());
    let info = measure(|| (0..50).for_each(|_| frame()));
    assert_eq!((info.count_total, solved), (0, 70 * 2));
}
