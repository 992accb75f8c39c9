//! Trials that once broke a law, by number, with the reason. Laws that were wrong have tests next to them
//! (`src/watch`), and so has code that was wrong (`whimbrel-proto`); these check the same in whole trials.

use whimbrel_faults::{Plan, run_multipath_trial, run_plan, run_repair_trial};

const ONCE_BROKEN: &[(u64, &str)] = &[
    (24_713, "a tampered Request had a newer number than the data that followed, though order was wanted"),
    (5_048_388, "an old Request made a closed connection anew, and an old copy of a datagram came on that"),
    (53_504, "a Request from an unknown address was taken for the client's"),
    (
        5_026_101,
        "two copies of a Request, one answered without state, got different keys, and the client could not move",
    ),
    (78_070, "packets were larger than the room that was measured for them"),
    (5_018_664, "a Reset of an unknown connection was taken for the sender's own number"),
    (24_020, "a search for larger packets waited for its turn, and nothing noticed that the path narrowed"),
    (45_659, "the same"),
    (50_979, "the same, with freezes"),
    (1_019_738, "the same"),
    (5_004_372, "the same"),
    (1_003_696, "a freeze held up the probes"),
    (1_008_172, "a handshake that was never completed was expected to discover sizes"),
    (5_035_460, "a client followed the Response to another copy of its Request, and stayed in PARTOPEN"),
    (5_019_198, "a size that nothing needed was expected to be confirmed"),
    (5_077_379, "a sender that always had data never probed a larger size"),
];

/// Of trials with numbers that wrap, coalesced receives, crowds and steady ends.
const EXTENDED_ONCE_BROKEN: &[(u64, &str)] = &[
    (2_015_838, "outdated deadlines of connections that had all ended at once were kept"),
    (2_044_743, "the same, where a timestamp wraps"),
    (10_004_293, "the same"),
    (10_018_010, "the same, with a connection left"),
    (
        2_024_538,
        "a Response without room for the mobility key, and the client could not say that it had moved",
    ),
    (10_013_914, "the same"),
    (10_007_748, "at s/t_mbi a packet larger than s was minutes away"),
    (10_037_750, "the same"),
    (10_050_457, "the same"),
    (10_034_998, "confirming a size below the base size put off the base size for ever"),
    (10_056_372, "a host that refused a packet of the handshake set a limit to the discovery"),
    (11_074_279, "a frozen sender was expected to discover sizes"),
    (15_000_001, "an application learnt late of a connection, after the path had changed"),
    (20_037_314, "an outage that a Sync ended was taken for a round-trip time"),
    (20_004_905, "a client changed its port, and the server's pacing was taken for a new one's"),
    (20_055_850, "the same"),
    (
        12_021_931,
        "a client came back to where an old Request had made another connection: copies reached both",
    ),
    (21_224_763, "a connection came, went and was invited again while the server did not read its events"),
    (21_313_704, "packets tampered with moved the numbers half around, where older and newer change places"),
    (21_383_923, "a late copy of a Response reported the data of the first copy as dropped"),
    (30_755_560, "the same"),
    (
        40_725_287,
        "a challenge to where an old Request had made another connection was taken for that connection's",
    ),
    (30_270_231, "a number that no packet should have had was that of one tampered with"),
    (30_688_644, "a connection made by an old Request reported data of its predecessor as dropped"),
    (
        30_837_299,
        "reports of dropped data named acknowledgements, and accumulated for an application that did not read",
    ),
    (30_847_372, "CCID 2 took the wait for an acknowledgement of an acknowledgement for a round-trip time"),
    (40_438_540, "a client used a port again whose last connection the server could not end"),
    (40_490_468, "a sender frozen by its peer was expected to discover sizes"),
    (
        40_518_172,
        "a client came back to where an old Request had made another connection: its data counted as sent on that",
    ),
    (880_001_416, "the return of the window after a needless reduction counted as growth"),
    (
        144_187,
        "an Ack Vector that was tampered with reported all packets at once, and the room for them was kept",
    ),
    (70_213_639, "a host that read pairs of datagrams with room for one was expected to get them all"),
    (90_801_136, "a size was expected to be found less than a second after its first use"),
    (90_972_501, "a peer that asked for the CCID in use gave the sender a new start"),
    (100_887_046, "all answers of a window were lost, and the peer ignored each Sync from then on"),
    (101_043_196, "a large acknowledgement after a Sync elicited a Sync that probed the path MTU, and so on"),
    (101_111_759, "the same"),
    (294_409, "a size that was confirmed less than four round-trip times ago was expected to be probed"),
];

/// Of multipath connections. Numbers from before the paths had draws of their own name other trials now.
/// `whimbrel_proto`'s tests of closing have their cases.
const MULTIPATH_ONCE_BROKEN: &[(u64, &str)] = &[
    (
        5_018_463,
        "a Close on a subflow that only the peer knew to be complete overtook the data on the other one",
    ),
    (
        95_539_022,
        "a client took a SyncAck for the acknowledgement of its code, and the server reset the path",
    ),
    (95_679_307, "the same"),
    (
        95_753_782,
        "a path whose acknowledgements were late failed with each of them, once while the end closed",
    ),
];

/// Of connections that repair losses.
const REPAIR_ONCE_BROKEN: &[(u64, &str)] = &[
    (0, "a report that waited for congestion control kept the driver awake"),
    (1_268, "a Response to a copy of a Request confirmed nothing: one end repaired, the other did not"),
    (258, "a datagram that was restored after it was given up counted as repaired"),
    (733, "an original that came after the window had forgotten it did not count as late"),
];

#[test]
fn a_trial_of_repair_that_broke_a_law_once_does_not_again() {
    for &(seed, law) in REPAIR_ONCE_BROKEN {
        assert_eq!(run_repair_trial(seed, false).broken, None, "{seed}: {law}");
    }
}

#[test]
fn a_multipath_trial_that_broke_a_law_once_does_not_again() {
    for &(seed, law) in MULTIPATH_ONCE_BROKEN {
        assert_eq!(run_multipath_trial(seed, false).broken, None, "{seed}: {law}");
    }
}

#[test]
fn an_extended_trial_that_broke_a_law_once_does_not_again() {
    for &(seed, law) in EXTENDED_ONCE_BROKEN {
        assert_eq!(run_plan(Plan::draw(seed), false).broken, None, "{seed}: {law}");
    }
}

#[test]
fn a_trial_that_broke_a_law_once_does_not_again() {
    for &(seed, law) in ONCE_BROKEN {
        assert_eq!(run_plan(Plan::draw_plain(seed), false).broken, None, "{seed}: {law}");
    }
}
