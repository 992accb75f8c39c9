#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| whimbrel_fuzzing::repair::check(data));
