use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Heap;

#[test]
fn it_counts_what_is_kept_and_nothing_else() {
    let mut heap = Heap::default();
    let outside = vec![0_u8; 1_000];
    let kept = heap.within(|| {
        drop(vec![0_u8; 5_000]);
        (vec![0_u8; 300], Box::new(1_u64))
    });
    assert_eq!(heap.bytes(), 300 + 8);
    drop(outside);
    assert_eq!(heap.bytes(), 308);
    let (bytes, number) = kept;
    heap.within(|| drop(bytes));
    assert_eq!(heap.bytes(), 8);
    heap.within(|| drop(number));
    assert_eq!(heap.bytes(), 0);
}

#[test]
fn it_continues_after_panics() {
    // More often than measurements may be nested.
    for _ in 0..100 {
        let mut heap = Heap::default();
        let panics = || heap.within(|| panic!("a law is broken"));
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    }
    let mut heap = Heap::default();
    let kept = heap.within(|| vec![0_u8; 70]);
    assert_eq!(heap.bytes(), kept.len() as i64);
}
