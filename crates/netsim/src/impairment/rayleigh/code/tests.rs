use super::*;

fn assert_close(value: f64, expected: f64, relative: f64) {
    assert!((value / expected - 1.0).abs() < relative, "{value} is not {expected}");
}

/// `Q(sqrt(x))` summed over a series of weights, by the two exponentials.
fn by_both(sixth: f64, series: impl Fn(f64) -> f64) -> f64 {
    series(sixth.powi(3)) / 12.0 + series(sixth.powi(4)) / 4.0
}

/// The textbook code (5, 7) has T(D) = D^5 / (1 - 2D) (Proakis, Section 8.2.1).
#[test]
fn a_steady_channel_gives_the_codes_transfer_function() {
    let mut events = ErrorEvents::new(2);
    for sixth in [0.1, 0.3, 0.5] {
        let per_branch = events.per_row(&[sixth; 40]) / 20.0;
        assert_close(per_branch, by_both(sixth, |d| d.powi(5) / (1.0 - 2.0 * d)), 1e-6);
    }
}

/// The distance spectra of the best codes (J. Conan, "The weight spectra of some short low-rate
/// convolutional codes", 1984): 2, 3, 4, 16, 37, ... from distance 7 at memory 4, and 11, 0, 38, 0, 193
/// from distance 10 at memory 6.
#[test]
fn longer_codes_have_their_distance_spectra() {
    let sixth = 0.3;
    let spectrum = |first: i32, numbers: &[f64]| {
        let numbers = numbers.to_vec();
        move |d: f64| (first..).zip(&numbers).map(|(distance, number)| number * d.powi(distance)).sum::<f64>()
    };
    let memory_4 = ErrorEvents::new(4).per_row(&[sixth; 100]) / 50.0;
    let numbers = [2.0, 3.0, 4.0, 16.0, 37.0, 68.0, 176.0, 432.0];
    assert_close(memory_4, by_both(sixth, spectrum(7, &numbers)), 1e-7);
    let memory_6 = ErrorEvents::new(6).per_row(&[sixth; 100]) / 50.0;
    assert_close(memory_6, by_both(sixth, spectrum(10, &[11.0, 0.0, 38.0, 0.0, 193.0, 0.0, 1331.0])), 1e-7);
}

/// Sums over paths one by one, as the definition has it: from a state of the code (5, 7) back to state 0.
fn enumerate(values: &[f64], branch: usize, state: u32, left: u32) -> f64 {
    if state == 0 || left == 0 {
        return f64::from(u8::from(state == 0));
    }
    let value = |symbol: usize| values[(2 * branch + symbol) % values.len()];
    let paths = [0, 4].map(|input| {
        let register = input | state;
        let first = if (register & 0b101).count_ones() % 2 == 1 { value(0) } else { 1.0 };
        let second = if (register & 0b111).count_ones() % 2 == 1 { value(1) } else { 1.0 };
        first * second * enumerate(values, branch + 1, register >> 1, left - 1)
    });
    paths[0] + paths[1]
}

#[test]
fn a_channel_that_changes_along_the_row_gives_the_sum_over_all_paths() {
    // Eight columns, one of them bad; paths run on into the next row.
    let sixth = [0.5, 0.9, 0.4, 0.3, 0.6, 0.2, 0.55, 0.35];
    let leaving = |power: i32| {
        let values = sixth.map(|value: f64| value.powi(power));
        // An input of 1 leaves state 0 for state 2, and differs in both symbols.
        let from = |branch: usize| {
            values[2 * branch] * values[2 * branch + 1] * enumerate(&values, branch + 1, 2, 18)
        };
        (0..4).map(from).sum::<f64>()
    };
    let expected = leaving(3) / 12.0 + leaving(4) / 4.0;
    assert_close(ErrorEvents::new(2).per_row(&sixth), expected, 1e-4);
}

#[test]
fn without_any_signal_every_branch_is_an_event() {
    let hopeless = ErrorEvents::new(4).per_row(&[1.0; 32]);
    assert_close(hopeless, 16.0 * (1.0 / 12.0 + 1.0 / 4.0), 1e-12);
}
