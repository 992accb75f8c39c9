//! The `whimbrel` command as a plain binary.

fn main() {
    std::process::exit(whimbrel_cli::run(std::env::args().collect()));
}
