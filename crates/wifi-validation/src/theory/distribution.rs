//! Distributions of random waypoint, and the statistic by which samples are compared with a distribution.

/// The Kolmogorov-Smirnov statistic of a sample against a distribution function, times the square root of the
/// sample's size. Above 1.95 the distribution is rejected at a significance of 0.001.
pub fn kolmogorov(mut sample: Vec<f64>, distribution: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let distance = sample.iter().enumerate().fold(0.0_f64, |worst, (i, &x)| {
        let f = distribution(x);
        worst.max(f - i as f64 / n).max((i + 1) as f64 / n - f)
    });
    distance * libm::sqrt(n)
}

/// The stationary distribution function of the speed of a moving node whose speeds are drawn uniformly
/// between `lowest` and `highest`, both in m/s: a speed lasts for a time proportional to 1 / speed (W.
/// Navidi, T. Camp, "Stationary distributions for the random waypoint mobility model", IEEE Trans. Mobile
/// Computing 3(1), 2004).
pub fn waypoint_speed(speed: f64, (lowest, highest): (f64, f64)) -> f64 {
    libm::log(speed / lowest) / libm::log(highest / lowest)
}

/// The stationary distribution function of a moving node's x coordinate in the unit square, tabulated from
/// the density f(r) ~ integral over angles 0..pi of a1 a2 (a1 + a2), with a1 and a2 the distances from r to
/// the border forwards and backwards (E. Hyytiä, P. Lassila, J. Virtamo, "Spatial node distribution of the
/// random waypoint mobility model with applications", IEEE Trans. Mobile Computing 5(6), 2006, equation 8).
pub fn waypoint_coordinate() -> impl Fn(f64) -> f64 {
    const CELLS: usize = 60;
    const ANGLES: usize = 90;
    let to_border = |x: f64, y: f64, cos: f64, sin: f64| {
        let along_x = if cos > 0.0 { (1.0 - x) / cos } else { x / -cos };
        let along_y = if sin > 0.0 { (1.0 - y) / sin } else { y / -sin };
        along_x.min(along_y)
    };
    let mut cumulative = vec![0.0];
    for column in 0..CELLS {
        let x = (column as f64 + 0.5) / CELLS as f64;
        let mut density = 0.0;
        for row in 0..CELLS {
            let y = (row as f64 + 0.5) / CELLS as f64;
            for angle in 0..ANGLES {
                let phi = (angle as f64 + 0.5) / ANGLES as f64 * std::f64::consts::PI;
                let (sin, cos) = (libm::sin(phi), libm::cos(phi));
                let (forward, back) = (to_border(x, y, cos, sin), to_border(x, y, -cos, -sin));
                density += forward * back * (forward + back);
            }
        }
        cumulative.push(cumulative[column] + density);
    }
    move |x| {
        let place = (x * CELLS as f64).clamp(0.0, CELLS as f64);
        let cell = (place as usize).min(CELLS - 1);
        let fraction = place - cell as f64;
        (cumulative[cell] + (cumulative[cell + 1] - cumulative[cell]) * fraction) / cumulative[CELLS]
    }
}
