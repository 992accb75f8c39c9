//! Every target over its corpus and over mutations of it, on stable Rust and without coverage.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use whimbrel_fuzzing::TARGETS;
use whimbrel_wifi::{Random, SplitMix64};

/// Mutated inputs of each target.
const MUTATIONS: u64 = 1_500;
/// The longest input that is made.
const LONGEST: usize = 4_096;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// The names of the files in a folder below `fuzz`.
fn names(folder: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(fuzz().join(folder)).expect("a folder of the repository");
    entries
        .map(|entry| {
            entry.expect("an entry").path().file_stem().expect("a name").to_string_lossy().into_owned()
        })
        .collect()
}

/// The inputs of a target's corpus, in the order of their names.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(fuzz().join("corpus").join(target)).expect("a corpus");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("an input")).collect()
}

/// A stream that makes the same inputs on every machine.
struct Dice(SplitMix64);

impl Dice {
    fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn below(&mut self, bound: usize) -> usize {
        Random::below(&mut self.0, bound as u64) as usize
    }

    /// An input that is a mixture of others, with changes.
    fn mutate(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut input = corpus[self.below(corpus.len())].clone();
        for _ in 0..=self.below(6) {
            let at = self.below(input.len() + 1);
            match self.below(6) {
                0 if !input.is_empty() => {
                    let at = at.min(input.len() - 1);
                    input[at] ^= 1 << self.below(8);
                }
                1 if !input.is_empty() => {
                    let at = at.min(input.len() - 1);
                    input[at] = [0, 1, 0x7f, 0x80, 0xff, self.word() as u8][self.below(6)];
                }
                2 => input.truncate(at),
                3 => {
                    let extra = 1 + self.below(64);
                    input.extend((0..extra).map(|_| self.word() as u8));
                }
                4 => {
                    let other = &corpus[self.below(corpus.len())];
                    input.truncate(at);
                    input.extend_from_slice(&other[at.min(other.len())..]);
                }
                _ => input.insert(at, self.word() as u8),
            }
        }
        input.truncate(LONGEST);
        input
    }
}

#[test]
fn each_target_has_a_wrapper_and_a_corpus() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names("fuzz_targets"), targets);
    assert_eq!(names("corpus"), targets);
    let manifest = std::fs::read_to_string(fuzz().join("Cargo.toml")).expect("a manifest");
    for target in &targets {
        let wrapper = fuzz().join("fuzz_targets").join(target).with_extension("rs");
        let wrapper = std::fs::read_to_string(wrapper).expect("a wrapper");
        let whole = format!(
            "#![no_main]\n\nlibfuzzer_sys::fuzz_target!(|data: &[u8]| whimbrel_fuzzing::{target}::check(data));\n"
        );
        assert_eq!(wrapper, whole, "{target}");
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{target}.rs\"")), "{target}");
    }
}

#[test]
fn no_target_finds_a_fault_in_its_corpus_or_near_it() {
    std::thread::scope(|scope| {
        for (name, check) in TARGETS {
            scope.spawn(move || {
                let corpus = corpus(name);
                let mut dice = Dice(SplitMix64::new(1));
                let mutations = (0..MUTATIONS).map(|_| dice.mutate(&corpus));
                let random: Vec<Vec<u8>> = {
                    let mut dice = Dice(SplitMix64::new(2));
                    (0..100)
                        .map(|_| (0..1 + dice.below(2_000)).map(|_| dice.word() as u8).collect())
                        .collect()
                };
                for input in corpus.iter().cloned().chain(random).chain(mutations) {
                    let outcome = std::panic::catch_unwind(|| check(&input));
                    assert!(outcome.is_ok(), "{name}: an input breaks it: {input:02x?}");
                }
            });
        }
    });
}
