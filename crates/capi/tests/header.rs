//! The header that is checked in matches the sources.

use std::path::Path;

#[test]
fn the_header_is_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).expect("a configuration");
    let mut generated = Vec::new();
    let builder = cbindgen::Builder::new().with_config(config).with_src(folder.join("src/lib.rs"));
    builder.generate().expect("a header").write(&mut generated);
    let generated = String::from_utf8(generated).expect("text");
    // Rust's section on unsafe functions is not for C.
    let lines = generated.lines().collect::<Vec<_>>();
    let mut kept = Vec::new();
    let mut is_skipping = false;
    for line in lines {
        is_skipping = (is_skipping || line == "// # Safety") && line.starts_with("//");
        if is_skipping {
            while kept.last() == Some(&"//") {
                kept.pop();
            }
        } else {
            kept.push(line);
        }
    }
    let generated = kept.join("\n") + "\n";
    let path = folder.join("include/whimbrel.h");
    if std::env::var_os("WHIMBREL_BLESS").is_some() {
        std::fs::write(&path, &generated).expect("the header is written");
    }
    let current = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(generated == current, "WHIMBREL_BLESS=1 cargo test -p whimbrel-capi --test header writes it");
}
