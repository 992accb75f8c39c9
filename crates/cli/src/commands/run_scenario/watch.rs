//! The page that replays a run (`--watch`).

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;

const PAGE: &str = include_str!("watch/viewer.html");
const STYLE: &str = include_str!("watch/viewer.css");
/// `run.js` makes all of them strict; `viewer.js` starts the page.
const SCRIPTS: [&str; 7] = [
    include_str!("watch/run.js"),
    include_str!("watch/canvas.js"),
    include_str!("watch/state.js"),
    include_str!("watch/map.js"),
    include_str!("watch/charts.js"),
    include_str!("watch/tables.js"),
    include_str!("watch/viewer.js"),
];

/// A page that was claimed before the run, and is written after it.
pub(super) struct WatchPage {
    path: PathBuf,
}

impl WatchPage {
    /// Checks that the file can be written.
    ///
    /// # Errors
    /// If it cannot.
    pub(super) fn claim(path: &Path) -> anyhow::Result<Self> {
        let existing = std::fs::OpenOptions::new().append(true).create(true).open(path);
        existing
            .with_context(|| format!("--watch {}: expected a file that can be written", path.display()))?;
        Ok(Self { path: path.to_owned() })
    }

    /// Writes the page with this record of a run.
    pub(super) fn write(&self, replay: &Value) -> anyhow::Result<()> {
        std::fs::write(&self.path, page(replay)?)
            .with_context(|| format!("--watch {}: the page was not written", self.path.display()))
    }
}

fn page(replay: &Value) -> anyhow::Result<String> {
    // Within a script, `</script` or `<!--` in a name would end or change it.
    let data = serde_json::to_string(replay)?.replace('<', "\\u003c");
    let page = PAGE.replace("/*STYLE*/", STYLE).replace("/*SCRIPT*/", &SCRIPTS.concat());
    Ok(page.replace("/*DATA*/null", &data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_contains_style_script_and_data() {
        let page = page(&serde_json::json!({ "title": "</script><b>" })).unwrap();
        assert!(page.contains("\\u003c/script>\\u003cb>"), "names are escaped");
        assert!(!page.contains("/*DATA*/") && !page.contains("/*SCRIPT*/") && !page.contains("/*STYLE*/"));
        let rest = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!rest.contains("http://") && !rest.contains("https://"), "the page needs no network");
        assert!(page.contains("default-src 'none'"), "the page loads nothing");
    }
}
