//! The examples run, and the READMEs show them.

mod quinn;
mod rtp;
mod str0m;

/// The blocks of Rust in a README.
fn blocks(readme: &str) -> Vec<&str> {
    let parts = readme.split("```rust\n").skip(1);
    parts.map(|part| part.split("```").next().expect("an end")).collect()
}

#[test]
fn the_readmes_show_the_examples() {
    let control = blocks(include_str!("../../../crates/control/README.md"));
    let repair = blocks(include_str!("../../../crates/repair/README.md"));
    for (shown, files) in [
        (control, [include_str!("quinn_window.rs"), include_str!("rtp_rate.rs")].as_slice()),
        (repair, [include_str!("quinn_repair.rs")].as_slice()),
    ] {
        assert_eq!(shown.len(), files.len());
        for (block, file) in shown.iter().zip(files) {
            assert!(file.contains(block), "not in the example:\n{block}");
        }
    }
}
