use whimbrel_netsim::random::RandomStreams;
use whimbrel_units::{Duration, Instant};

use super::*;

/// All datagrams of a source until `end`, with their times.
fn play(mut source: TrafficSource, end: Instant) -> Vec<(Instant, Emission)> {
    let mut emitted = Vec::new();
    while let Some(now) = source.poll_timeout().filter(|now| *now < end) {
        assert_eq!(source.poll_emission(now.saturating_sub(Duration::from_nanos(1))), None);
        while let Some(emission) = source.poll_emission(now) {
            emitted.push((now, emission));
        }
    }
    emitted
}

#[test]
fn a_constant_rate_has_equal_steps_and_no_drift() {
    // A third of a second is no whole number of nanoseconds per packet at this interval.
    let cbr = Cbr::new(Instant::from_millis(500), Duration::from_nanos(333_333_333), 100);
    let emitted = play(TrafficSource::new(Pattern::Cbr(cbr), Instant::from_secs(2)), Instant::FAR_FUTURE);
    let times: Vec<u64> = emitted.iter().map(|(now, _)| now.as_nanos()).collect();
    assert_eq!(times, [500_000_000, 833_333_333, 1_166_666_666, 1_499_999_999, 1_833_333_332]);
    let tags: Vec<u64> = emitted.iter().map(|(_, emission)| emission.tag).collect();
    assert_eq!(tags, [0, 1, 2, 3, 4]);
}

#[test]
fn a_source_stops_at_its_stop() {
    let cbr = Cbr::new(Instant::ZERO, Duration::from_secs(1), 100);
    let mut source = TrafficSource::new(Pattern::Cbr(cbr), Instant::from_secs(2));
    assert_eq!(source.poll_emission(Instant::from_secs(2)), None);
    let mut bulk =
        TrafficSource::new(Pattern::Bulk(Bulk::new(Instant::from_secs(1), 100)), Instant::from_secs(2));
    assert_eq!(bulk.poll_emission(Instant::ZERO), None);
    assert_eq!(bulk.poll_emission(Instant::from_secs(1)).map(|emission| emission.tag), Some(0));
    assert_eq!(bulk.poll_emission(Instant::from_secs(1)).map(|emission| emission.tag), Some(1));
    assert_eq!(bulk.poll_emission(Instant::from_secs(2)), None);
}

#[test]
fn bursts_and_pauses_have_their_means() {
    let random = RandomStreams::new(1, 0).stream("test", "traffic");
    let half = Duration::from_millis(500);
    let interval = Duration::from_millis(10);
    let source = OnOff::new(Instant::ZERO, interval, 100, half, half, random);
    let span = Duration::from_secs(20_000);
    let emitted = play(TrafficSource::new(Pattern::OnOff(source), Instant::ZERO + span), Instant::FAR_FUTURE);
    let gaps: Vec<Duration> = emitted.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    let pauses: Vec<f64> =
        gaps.iter().filter(|gap| **gap > interval).map(|gap| (*gap - interval).as_secs_f64()).collect();
    assert!(gaps.iter().all(|gap| *gap >= interval));
    // About 20 000 cycles of a second: the means are known to about a percent (three deviations: 2 %).
    let mean_pause = pauses.iter().sum::<f64>() / pauses.len() as f64;
    let mean_burst = emitted.len() as f64 / pauses.len() as f64;
    assert!((mean_pause - 0.5).abs() < 0.015, "{mean_pause}");
    // 50 packets; rounding and the floor of one packet add less than 0.01.
    assert!((mean_burst - 50.0).abs() < 1.5, "{mean_burst}");
}

#[test]
fn random_intervals_have_their_distributions() {
    let random = || RandomStreams::new(1, 0).stream("test", "traffic");
    let (start, mean) = (Instant::from_secs(1), Duration::from_millis(10));
    let gaps = |process: Renewal| -> Vec<f64> {
        let emitted =
            play(TrafficSource::new(Pattern::Renewal(process), Instant::from_secs(201)), Instant::FAR_FUTURE);
        assert!(emitted.iter().all(|(_, emission)| emission.size == 100 && emission.deadline.is_none()));
        assert!(emitted.iter().map(|(_, emission)| emission.tag).eq(0..emitted.len() as u64));
        let times = std::iter::once(start).chain(emitted.iter().map(|&(now, _)| now)).collect::<Vec<_>>();
        times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64() / 0.01).collect()
    };
    // About 20,000 intervals: means are known to 0.4 % and 0.7 %, one standard deviation.
    let moments = |gaps: &[f64]| {
        let count = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / count;
        (mean, gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / count)
    };
    let uniform = gaps(Renewal::jittered(start, mean, Duration::from_millis(5), 100, random()));
    assert_eq!(uniform[0], 0.0, "the first one at the start");
    assert!(uniform[1..].iter().all(|gap| (0.5..1.5).contains(gap)));
    let (average, variance) = moments(&uniform[1..]);
    assert!((average - 1.0).abs() < 0.01 && (variance - 1.0 / 12.0).abs() < 0.004, "{average}, {variance}");
    let exponential = gaps(Renewal::poisson(start, mean, 100, random()));
    let (average, variance) = moments(&exponential);
    assert!((average - 1.0).abs() < 0.03 && (variance - 1.0).abs() < 0.1, "{average}, {variance}");
    let long = exponential.iter().filter(|gap| **gap > 3.0).count() as f64 / exponential.len() as f64;
    assert!((long - 0.0498).abs() < 0.006, "exp(-3): {long}");
}

#[test]
fn a_video_is_played_as_scheduled() {
    let text = "time_s,size_bytes,frame,type\n0,1200,0,I\n0.00,300,0,I\n0.04,500,1,P\n";
    let schedule = Schedule::parse_video(text).unwrap();
    assert_eq!(schedule.largest(), 1200);
    let start = Instant::from_secs(1);
    let playout = Some(Duration::from_millis(200));
    let once = Playback::new(schedule.clone(), start, playout, false);
    let emitted = play(TrafficSource::new(Pattern::Playback(once), Instant::FAR_FUTURE), Instant::FAR_FUTURE);
    let seen: Vec<(u64, u32, u64)> = emitted
        .iter()
        .map(|(now, emission)| (now.as_nanos() / 1_000_000, emission.size, emission.tag))
        .collect();
    assert_eq!(seen, [(1000, 1200, 0), (1000, 300, 1), (1040, 500, 2)]);
    assert_eq!(emitted[2].1.deadline, Some(Instant::from_millis(1240)));
    // Repeated, the last frame lasts as long as the others: 40 ms.
    let again = Playback::new(schedule, start, None, true);
    let emitted =
        play(TrafficSource::new(Pattern::Playback(again), Instant::FAR_FUTURE), Instant::from_millis(1200));
    let times: Vec<u64> = emitted.iter().map(|(now, _)| now.as_nanos() / 1_000_000).collect();
    assert_eq!(times, [1000, 1000, 1040, 1080, 1080, 1120, 1160, 1160]);
}

#[test]
fn a_schedule_with_a_mistake_is_refused_with_its_line() {
    let error = |text: &str| Schedule::parse_video(text).unwrap_err().to_string();
    let header = "time_s,size_bytes,frame,type\n";
    assert_eq!(error(""), "line 1: expected the header `time_s,size_bytes,frame,type`, found ``");
    assert_eq!(error(header), "expected at least one datagram");
    let line = |line: &str| error(&format!("{header}0.5,100,3,I\n{line}\n"));
    assert_eq!(line("1,100,3"), "line 3: expected as many fields as the header has, found `1,100,3`");
    assert_eq!(line("-1,100,3,P"), "line 3: expected a time in seconds, not negative, found `-1`");
    assert_eq!(line("NaN,100,3,P"), "line 3: expected a time in seconds, not negative, found `NaN`");
    assert_eq!(line("1,0,3,P"), "line 3: expected a size from 1 to 65507 bytes, found `0`");
    assert_eq!(line("0.4,100,3,P"), "line 3: expected a time not before the previous line's, found `0.4`");
    assert_eq!(line("1,100,2,P"), "line 3: expected a frame number not below the previous line's, found `2`");
    assert_eq!(line("1,100,4,"), "line 3: expected a frame type such as I, P or B, found ``");
    assert!(Schedule::parse_trace("time_s,size_bytes\n0,10\n").is_ok());
    assert!(Schedule::parse_trace("time_s,size_bytes,frame,type\n0,10,0,I\n").is_err());
}

#[test]
fn an_application_ends_when_it_stops_but_not_with_the_simulation() {
    let cbr = || Pattern::Cbr(Cbr::new(Instant::ZERO, Duration::from_secs(1), 100));
    let (stop, now) = (Instant::from_secs(2), Instant::from_millis(1500));
    let mut ending = TrafficSource::new(cbr(), stop);
    let mut endless = TrafficSource::endless(cbr(), stop);
    for source in [&mut ending, &mut endless] {
        assert!(!source.has_ended(Instant::ZERO));
        assert_eq!(std::iter::from_fn(|| source.poll_emission(now)).count(), 2);
        assert_eq!(source.poll_timeout(), None);
        assert_eq!(source.poll_emission(stop), None);
    }
    assert_eq!((ending.has_ended(now), ending.stop()), (true, Some(stop)));
    assert_eq!((endless.has_ended(now), endless.stop()), (false, None));
    let schedule = Schedule::parse_trace("time_s,size_bytes\n0,10\n").unwrap();
    let mut clip =
        TrafficSource::endless(Pattern::Playback(Playback::new(schedule, Instant::ZERO, None, false)), stop);
    assert!(clip.poll_emission(Instant::ZERO).is_some() && clip.has_ended(Instant::ZERO));
}

/// RFC 8868, Section 5.1: 30 to 50 kB, and 10 s from start to start on average.
#[test]
fn downloads_have_random_sizes_and_times() {
    let random = || RandomStreams::new(1, 0).stream("flow", "traffic");
    let start = Instant::from_secs(5);
    let downloads = |begins_idle| {
        let idle = Duration::from_secs(10);
        let pattern = Pattern::Downloads(Downloads::new(start, 30_000, 50_000, idle, begins_idle, random()));
        play(TrafficSource::new(pattern, Instant::FAR_FUTURE), Instant::from_secs(20_005))
    };
    let emitted = downloads(false);
    assert_eq!(emitted[0].0, start);
    assert!(downloads(true)[0].0 > start);
    assert!((1_800..2_200).contains(&emitted.len()), "{}", emitted.len());
    let sizes = || emitted.iter().map(|(_, emission)| f64::from(emission.size));
    assert!(sizes().all(|size| (30_000.0..=50_000.0).contains(&size)));
    let mean = sizes().sum::<f64>() / emitted.len() as f64;
    assert!((mean - 40_000.0).abs() < 500.0, "{mean}");
    // A tenth of equally distributed sizes is in each tenth of the range.
    let low = sizes().filter(|size| *size < 32_000.0).count();
    assert!((150..250).contains(&low), "{low}");
}
