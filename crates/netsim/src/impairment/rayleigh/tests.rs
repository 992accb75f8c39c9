mod decoder;

use super::*;
use crate::random::{RandomStream, RandomStreams};

/// The channel of `lda`, Section 5.2, with its high loss: 381 bytes in 20.32 ms at 150 kbit/s, and
/// f_D times the symbol's time 2.62e-4.
fn high() -> Rayleigh {
    Rayleigh {
        doppler_hz: 78.6,
        frames: Frames {
            duration: Duration::from_micros(20_320),
            bytes: 381,
            symbols: 6096,
            code_memory: 4,
            interleaved: 2,
            columns: 108,
        },
        reception: Reception { paths: 4, eb_n0_db: 4.0, users: 5, spreading_gain: 16 },
    }
}

fn stream(run: u64) -> RandomStream {
    RandomStreams::new(5, run).stream("radio", "loss")
}

/// Verdicts on packets of this size that leave one frame apart, over several runs.
fn verdicts(model: &Rayleigh, size: u32, runs: u64, packets: u64) -> Vec<bool> {
    let step = model.frames.duration;
    let verdict = |run| {
        let mut random = stream(run);
        let mut radio = Radio::new(model, &mut random);
        (1..=packets).map(|k| radio.loses(Instant::ZERO + step * k, size, &mut random)).collect::<Vec<_>>()
    };
    (0..runs).flat_map(verdict).collect()
}

fn share(verdicts: &[bool]) -> f64 {
    verdicts.iter().filter(|&&lost| lost).count() as f64 / verdicts.len() as f64
}

#[test]
fn pursleys_noise_by_hand() {
    // 4 dB are 2.5119; four paths and half a bit give E_s/N_0 = 5.0238, so 1 / 2E_s = 0.09953; four other
    // users and three quarters of the own signal over 3 * 16 chips are 4.75 / 48 = 0.09896.
    assert!((high().reception.noise() - 0.19849).abs() < 1e-5);
    let alone = Reception { paths: 1, users: 1, ..high().reception };
    assert!((alone.noise() - 1.0 / 2.5119).abs() < 1e-5);
}

#[test]
fn more_chips_and_more_interleaving_lose_less() {
    let loss = |change: fn(&mut Rayleigh)| {
        let mut model = high();
        change(&mut model);
        share(&verdicts(&model, 381, 20, 590))
    };
    let (high, medium, low) = (
        loss(|_| {}),
        loss(|model| model.frames.interleaved = 3),
        loss(|model| model.reception.spreading_gain = 32),
    );
    assert!(high > medium && medium > low && low > 0.0, "{high} {medium} {low}");
}

#[test]
fn packets_share_frames_and_long_ones_take_several() {
    // 5 ms apart, four packets leave within each frame of 20 ms, the last at its end, and share its fate.
    let mut model = high();
    model.frames.duration = Duration::from_millis(20);
    let mut random = stream(0);
    let mut radio = Radio::new(&model, &mut random);
    let lost: Vec<bool> =
        (1..=8_000).map(|k| radio.loses(Instant::from_millis(5 * k), 90, &mut random)).collect();
    let frames: Vec<bool> = lost.chunks(4).map(|four| four[0]).collect();
    assert!(lost.chunks(4).all(|four| four.iter().all(|&one| one == four[0])));
    assert!((20..400).contains(&frames.iter().filter(|&&lost| lost).count()));
    // The same frames, taken two by two or three by three by packets that need as many: 382 bytes need two,
    // 381 do not.
    for (size, needed) in [(382, 2), (762, 2), (763, 3), (381, 1)] {
        let mut random = stream(0);
        let mut radio = Radio::new(&model, &mut random);
        let step = 20 * needed as u64;
        for (k, frames) in (0..).zip(frames.chunks_exact(needed)) {
            let departure = Instant::from_millis(step * (k + 1));
            assert_eq!(
                radio.loses(departure, size, &mut random),
                frames.contains(&true),
                "{size} bytes, {k}"
            );
        }
    }
}

/// A packet never asks for a frame that was judged for earlier ones.
#[test]
fn a_long_packet_right_behind_a_short_one_does_not_reach_back() {
    let mut random = stream(3);
    let mut radio = Radio::new(&high(), &mut random);
    radio.loses(Instant::from_secs(1), 40, &mut random);
    let (frame, lost) = radio.judged.unwrap();
    let twin = radio.clone();
    assert_eq!(radio.loses(Instant::from_secs(1), 1500, &mut random), lost);
    assert_eq!(radio.judged, twin.judged, "frame {frame} was the last for both");
}

#[test]
fn silence_costs_nothing_and_the_channel_moves_on() {
    // A packet a minute: its frame is judged, and no other; losses are independent by then.
    let model = high();
    let mut random = stream(1);
    let mut radio = Radio::new(&model, &mut random);
    let lost: Vec<bool> =
        (0..20_000).map(|k| radio.loses(Instant::from_secs(60 * k), 381, &mut random)).collect();
    let dense = share(&verdicts(&model, 381, 40, 590));
    // Of independent packets five standard errors; half as much again for the mean of the dense ones.
    let error = (dense * (1.0 - dense) / 20_000.0).sqrt();
    assert!((share(&lost) - dense).abs() < 7.5 * error, "{} is not {dense} +- {error}", share(&lost));
    let after: Vec<bool> = lost.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect();
    assert!((share(&after) - dense).abs() < 5.0 * (dense * (1.0 - dense) / after.len() as f64).sqrt());
}

#[test]
fn what_cannot_be_is_named() {
    let message = |change: fn(&mut Rayleigh)| {
        let mut model = high();
        change(&mut model);
        model.check().unwrap_err().to_string()
    };
    assert!(high().check().is_ok());
    let memory = message(|model| model.frames.code_memory = 9);
    assert_eq!(memory, "the code's memory is 9, not from 2 to 8 bits");
    let columns = message(|model| model.frames.columns = 7);
    assert_eq!(columns, "the number of columns is 7, not even and from 2 to a frame's symbols");
    assert!(message(|model| model.doppler_hz = f64::NAN).starts_with("Doppler shift times frame is NaN"));
    assert!(message(|model| model.frames.duration = Duration::ZERO).contains("duration is 0"));
    assert!(message(|model| model.reception.users = 0).contains("users"));
}

/// Recorded once: another machine, or another version, must not lose other frames.
#[test]
fn the_same_frames_are_lost_on_every_machine() {
    let verdicts = verdicts(&high(), 381, 1, 300);
    let lost: Vec<usize> = (0..verdicts.len()).filter(|&frame| verdicts[frame]).collect();
    let recorded =
        [0, 32, 33, 50, 74, 76, 86, 99, 128, 152, 162, 163, 175, 184, 185, 202, 203, 226, 227, 279];
    assert_eq!(lost, recorded);
}
