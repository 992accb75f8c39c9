//! The scenario of a run, kept with its tables: they outlive the place of the file that they are of.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;
use whimbrel_lab::Document;
use whimbrel_lab::scenario::FILE_KEYS;

/// Writes `scenario/run.json` below a directory, and the files that the scenario names below
/// `scenario/files`. Relative names start in `base`.
pub(super) fn write(document: &Document, base: &Path, directory: &Path) -> anyhow::Result<()> {
    let folder = directory.join("scenario");
    let context = || format!("keeping the scenario in {}", folder.display());
    let mut scenario = document.resolved()?;
    let mut files = Vec::new();
    rename(&mut scenario, base, &mut files);
    fs::create_dir_all(folder.join("files")).with_context(context)?;
    for (file, copy) in files {
        fs::copy(&file, folder.join(copy)).with_context(context)?;
    }
    fs::write(folder.join("run.json"), serde_json::to_string_pretty(&scenario)? + "\n").with_context(context)
}

/// Replaces the names of files by the names of their copies, and lists both.
fn rename(value: &mut Value, base: &Path, files: &mut Vec<(PathBuf, String)>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, base, files)),
        Value::Object(table) => {
            for (key, item) in table {
                match item {
                    Value::String(name) if FILE_KEYS.contains(&key.as_str()) => copied(name, base, files),
                    _ => rename(item, base, files),
                }
            }
        }
        _ => {}
    }
}

fn copied(name: &mut String, base: &Path, files: &mut Vec<(PathBuf, String)>) {
    let file = base.join(&*name);
    let known = files.iter().position(|(from, _)| *from == file);
    let index = known.unwrap_or_else(|| {
        let last = file.file_name().unwrap_or_default().to_string_lossy();
        let copy = format!("files/{}-{last}", files.len());
        files.push((file, copy));
        files.len() - 1
    });
    name.clone_from(&files[index].1);
}
