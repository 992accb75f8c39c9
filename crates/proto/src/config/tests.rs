use super::*;

/// Every limit of a configuration, with a value on either side of it.
#[test]
fn each_limit_refuses_the_value_beyond_it_and_names_its_field() {
    type Change = fn(&mut Config);
    let limits: [(&str, Change, Change); 17] = [
        ("sender_ccids", |c| c.sender_ccids = [].into(), |c| c.sender_ccids = [Ccid(2)].into()),
        ("receiver_ccids", |c| c.receiver_ccids = [Ccid(99)].into(), |c| c.receiver_ccids = [Ccid(4)].into()),
        (
            "service_code",
            |c| c.service_code = ServiceCode(u32::MAX),
            |c| c.service_code = ServiceCode(u32::MAX - 1),
        ),
        (
            "sequence_window",
            |c| c.sequence_window = MIN_SEQUENCE_WINDOW - 1,
            |c| c.sequence_window = MIN_SEQUENCE_WINDOW,
        ),
        (
            "sequence_window",
            |c| c.sequence_window = MAX_SEQUENCE_WINDOW + 1,
            |c| c.sequence_window = MAX_SEQUENCE_WINDOW,
        ),
        ("send_queue.max_datagrams", |c| c.send_queue.max_datagrams = 0, |c| c.send_queue.max_datagrams = 1),
        ("send_queue.max_bytes", |c| c.send_queue.max_bytes = 0, |c| c.send_queue.max_bytes = 1),
        ("max_datagram", |c| c.max_datagram = 0, |c| c.max_datagram = 1),
        ("max_datagram", |c| c.max_datagram = 65_536, |c| c.max_datagram = 65_535),
        ("receive.max_datagrams", |c| c.receive.max_datagrams = 0, |c| c.receive.max_datagrams = 1),
        ("receive.max_bytes", |c| c.receive.max_bytes = 0, |c| c.receive.max_bytes = 1),
        (
            "receive.reorder_delay",
            |c| c.receive.reorder_delay = Some(Duration::ZERO),
            |c| c.receive.reorder_delay = Some(Duration::from_nanos(1)),
        ),
        (
            "receive.reorder_delay",
            |c| c.receive.reorder_delay = Some(MAX_REORDER_DELAY + Duration::from_nanos(1)),
            |c| c.receive.reorder_delay = Some(MAX_REORDER_DELAY),
        ),
        (
            "receive.reorder_size",
            |c| c.receive.reorder_size = BufferSize::Fixed(0),
            |c| c.receive.reorder_size = BufferSize::Fixed(1),
        ),
        (
            "integrity.checksum_coverage",
            |c| c.integrity.checksum_coverage = MAX_COVERAGE + 1,
            |c| c.integrity.checksum_coverage = MAX_COVERAGE,
        ),
        (
            "timers.idle",
            |c| c.timers.idle = Some(Duration::ZERO),
            |c| c.timers.idle = Some(Duration::from_nanos(1)),
        ),
        (
            "timers.close",
            |c| c.timers.close = Some(Duration::ZERO),
            |c| c.timers.close = Some(Duration::from_nanos(1)),
        ),
    ];
    for (field, invalid, valid) in limits {
        let mut config = Config::default();
        invalid(&mut config);
        let error = config.validate().expect_err(field).to_string();
        assert!(error.contains(field), "{error}");
        let mut config = Config::default();
        valid(&mut config);
        assert_eq!(config.validate(), Ok(()), "{field}");
    }
}
