//! The page: one file with its style, its scripts and, offline, its recording.

use serde_json::Value;

use crate::recording::Recording;

const PAGE: &str = include_str!("page/page.html");
const STYLES: [&str; 2] = [include_str!("page/uplot/uplot.css"), include_str!("page/page.css")];
const UPLOT: &str = include_str!("page/uplot/uplot.js");
/// `run.js` makes all of them strict; `page.js` starts the page.
const SCRIPTS: [&str; 10] = [
    include_str!("page/run.js"),
    include_str!("page/canvas.js"),
    include_str!("page/state.js"),
    include_str!("page/recording.js"),
    include_str!("page/charts.js"),
    include_str!("page/map.js"),
    include_str!("page/air.js"),
    include_str!("page/tables.js"),
    include_str!("page/video.js"),
    include_str!("page/page.js"),
];

/// The page with a recording, which works without a server.
pub fn document(recording: &Recording) -> String {
    page(&recording.json())
}

/// The page that takes its recording from the server that sends it, or in messages from the page around it.
pub fn live_page() -> String {
    page(&Value::Null)
}

fn page(data: &Value) -> String {
    // Within a script, `</script` or `<!--` in a name would end or change it.
    let data = data.to_string().replace('<', "\\u003c");
    let parts = [
        ("/*STYLE*/", STYLES.concat()),
        ("/*UPLOT*/", UPLOT.to_owned()),
        ("/*DATA*/null", data),
        ("/*SCRIPT*/", SCRIPTS.concat()),
    ];
    // In one pass: a name in the data may have the form of a place.
    let mut text =
        String::with_capacity(PAGE.len() + parts.iter().map(|(_, part)| part.len()).sum::<usize>());
    let mut rest = PAGE;
    for (place, part) in &parts {
        if let Some((before, after)) = rest.split_once(place) {
            text += before;
            text += part;
            rest = after;
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_contains_style_script_and_data_and_needs_nothing_else() {
        let mut recording = Recording::new("</script><b> /*SCRIPT*/");
        recording.track("flow", "<!--");
        let page = document(&recording);
        assert!(page.contains("\\u003c/script>\\u003cb> /*SCRIPT*/") && page.contains("\\u003c!--"));
        assert_eq!(page.matches("/*SCRIPT*/").count(), 1, "the scripts are in their place once");
        assert!(!page.contains("/*DATA*/") && !page.contains("/*STYLE*/") && !page.contains("/*UPLOT*/"));
        let known =
            page.replace("http://www.w3.org/2000/svg", "").replace("https://github.com/leeoniya/uPlot", "");
        assert!(!known.contains("http://") && !known.contains("https://"), "the page needs no network");
        assert!(page.contains("default-src 'none'"), "the page loads nothing");
        assert!(page.len() < 200_000, "{} bytes", page.len());
    }
}
