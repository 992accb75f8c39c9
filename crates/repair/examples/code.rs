//! Encodes frames of 20 datagrams of 1,200 bytes with four repair symbols, loses four datagrams of each, and
//! solves for them. Prints the number of datagrams, and a profiler gives the cost:
//!
//! ```text
//! cargo build --release -p whimbrel-repair --example code
//! valgrind --tool=callgrind target/release/examples/code datagrams 20000
//! ```

#[path = "../benches/support/frame.rs"]
mod frame;

use std::hint::black_box;

use frame::{FRAME, PARITY, SIZE, send_frame};
use whimbrel_repair::decoder::Decoder;
use whimbrel_repair::encoder::{CodeConfig, Encoder};
use whimbrel_repair::fecframe::Esi;

fn main() {
    let number = std::env::args().nth(2).and_then(|text| text.parse().ok()).unwrap_or(1_000_000_u32);
    let config = CodeConfig { window: 64, ..CodeConfig::new(1220) };
    let mut encoder = Encoder::new(config, Esi(0));
    let mut decoder = Decoder::new(config, Esi(0), 64);
    let adu = [9; SIZE];
    let (mut repairs, mut solved) = (Vec::new(), 0);
    for _ in 0..number / FRAME {
        repairs.clear();
        let first = send_frame(&mut encoder, 1, &adu, |encoder| {
            let mut symbol = Vec::with_capacity(SIZE + 20);
            let id = encoder.close(&mut symbol).expect("an open symbol");
            repairs.push((id, symbol));
        });
        for n in PARITY..FRAME {
            decoder.on_source(first.plus(n), 0, &adu);
        }
        for (id, symbol) in &repairs {
            decoder.on_repair(*id, symbol);
        }
        while let Some(esi) = decoder.poll_solved() {
            black_box(decoder.symbol(esi));
            solved += 1;
        }
    }
    println!("datagrams solved\n{} {solved}", number / FRAME * FRAME);
}
