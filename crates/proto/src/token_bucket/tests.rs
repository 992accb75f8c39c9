use super::*;

fn at(millis: u64) -> Instant {
    Instant::from_secs(10) + Duration::from_millis(millis)
}

fn taken(bucket: &mut TokenBucket, now: Instant) -> usize {
    (0..100).take_while(|_| bucket.take(now)).count()
}

#[test]
fn it_holds_its_capacity_and_regains_one_per_interval() {
    let mut bucket = TokenBucket::new(3, Duration::from_millis(100));
    assert_eq!(taken(&mut bucket, at(0)), 3);
    assert_eq!(taken(&mut bucket, at(99)), 0);
    assert_eq!(taken(&mut bucket, at(100)), 1);
    assert_eq!(taken(&mut bucket, at(350)), 2);
    // Half an interval was left over.
    assert_eq!(taken(&mut bucket, at(400)), 1);
    assert_eq!(taken(&mut bucket, at(10_000)), 3, "never more than its capacity");
}

#[test]
fn without_capacity_there_is_nothing_to_take() {
    assert!(!TokenBucket::new(0, Duration::from_millis(1)).take(at(0)));
}
