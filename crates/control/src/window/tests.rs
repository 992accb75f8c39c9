use super::*;

#[test]
fn the_initial_window_follows_the_table_of_rfc_5681() {
    for (size, segments) in [(536, 4.0), (1095, 4.0), (1096, 3.0), (1460, 3.0), (2190, 3.0), (2191, 2.0)] {
        assert_eq!(InitialWindow::Rfc5681.segments(size), segments, "{size} bytes");
    }
}

#[test]
fn the_initial_window_of_rfc_3390_is_4380_bytes_for_ethernet_segments() {
    // min(4 MSS, max(2 MSS, 4380)): 536 -> 2144 B, 1000 -> 4000 B, 1460 -> 4380 B, 4000 -> 8000 B.
    for (size, segments) in [(536, 4.0), (1000, 4.0), (1460, 3.0), (1500, 2.0), (4000, 2.0)] {
        assert_eq!(InitialWindow::Rfc3390.segments(size), segments, "{size} bytes");
    }
}

#[test]
fn an_initial_window_is_never_empty() {
    assert_eq!(InitialWindow::Segments(0).segments(1460), 1.0);
    assert_eq!(InitialWindow::Segments(10).segments(1460), 10.0);
}

#[test]
fn a_window_in_bytes_is_rounded_down() {
    assert_eq!(Window::new(2.9999).bytes(1000), 2999);
    assert_eq!(Window::new(3.0).bytes(1460), 4380);
}

#[test]
fn slow_start_ends_where_the_threshold_is_reached() {
    let mut window = Window::new(3.0);
    assert!(window.in_slow_start());
    window.ssthresh = 3.0;
    assert!(!window.in_slow_start());
}
