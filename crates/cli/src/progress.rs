//! Progress of long work on a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar on standard error of the share `of` something that takes `length_ms`. Hidden where standard error is
/// not a terminal.
pub(crate) fn bar(length_ms: u64, of: &str) -> ProgressBar {
    let template = format!("{{elapsed_precise}} [{{wide_bar}}] {{percent}} % of {of}, {{eta}} left");
    let style = ProgressStyle::with_template(&template);
    ProgressBar::new(length_ms).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
