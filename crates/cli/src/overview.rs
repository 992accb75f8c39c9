//! The overview: what the commands are for, before their list, and examples after it.

#[cfg(feature = "laboratory")]
pub(crate) const TEMPLATE: &str = "{about-with-newline}
  carry    relay: a camera, or any program that sends UDP; pipe: standard input
  measure  perf: the path to another host; record: the same, for simulations
  explain  inspect: a capture; classify, fit, capacity: its losses and its Wi-Fi
  try      run: a network simulated from a file; emulate: real programs over it

{usage-heading} {usage}

{all-args}{after-help}";

#[cfg(feature = "laboratory")]
pub(crate) const EXAMPLES: &str = "Examples:\n  whimbrel perf server\n  whimbrel perf client 192.0.2.7 --ccid 3 --time 10\n  \
    whimbrel run examples/scenarios/wb.toml --seed 1\n\nThe Python package adds: examples, reproduce, sweep, report, pack, verify, compare, contest, quality, testbed.";

/// The commands that the Python package adds, as in the last line of the examples.
const OF_PYTHON: [&str; 10] = [
    "examples",
    "reproduce",
    "sweep",
    "report",
    "pack",
    "verify",
    "compare",
    "contest",
    "quality",
    "testbed",
];

/// The place of a command that this program does not have; `None` if the Python package has none either.
pub(crate) fn elsewhere(verb: &str) -> Option<String> {
    let has = OF_PYTHON.contains(&verb);
    // The relay alone has none.
    let has_files = verb == "examples" && cfg!(feature = "laboratory");
    let files = if has_files { "; the files are in the folder `examples` of this one" } else { "" };
    has.then(|| format!("`{verb}` is a command of the Python package{files} (docs/install.md)"))
}

#[cfg(not(feature = "laboratory"))]
pub(crate) const TEMPLATE: &str = "{about-with-newline}
  carry    relay: a camera, or any program that sends UDP; pipe: standard input

{usage-heading} {usage}

{all-args}{after-help}";

#[cfg(not(feature = "laboratory"))]
pub(crate) const EXAMPLES: &str = "Examples:\n  whimbrel key secret --file relay.secret             # and copy it to the other host\n  \
    whimbrel relay server --to 127.0.0.1:5004 --secret-file relay.secret\n  \
    whimbrel relay client 192.0.2.7 --from 127.0.0.1:5004 --secret-file relay.secret\n\n\
    This is the relay alone: the whole command also measures paths, explains captures and simulates networks.";

#[cfg(all(test, feature = "laboratory"))]
mod tests {
    use super::*;

    #[test]
    fn commands_of_the_python_package_are_named() {
        assert!(EXAMPLES.ends_with(&format!("The Python package adds: {}.", OF_PYTHON.join(", "))));
        assert!(elsewhere("examples").is_some_and(|place| place.contains("the folder `examples`")));
        assert_eq!(elsewhere("example"), None);
    }
}
