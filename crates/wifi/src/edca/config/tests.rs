use super::{AccessCategory, priority_of_dscp};

/// Linux, `cfg80211_classify8021d`, and the categories of RFC 8325.
#[test]
fn dscp_leads_to_the_priority_and_category_of_linux() {
    use AccessCategory::{Background, BestEffort, Video, Voice};
    let groups: [(&[u8], u8, AccessCategory); 8] = [
        // DF, LE, AF1x, CS2.
        (&[0, 1, 10, 12, 14, 16], 0, BestEffort),
        (&[8], 1, Background),
        (&[18, 20, 22], 3, BestEffort),
        // CS3, AF3x, CS4, AF4x.
        (&[24, 26, 28, 30, 32, 34, 36, 38], 4, Video),
        (&[40, 45], 5, Video),
        (&[46, 44], 6, Voice),
        (&[48, 56], 7, Voice),
        (&[63], 7, Voice),
    ];
    for (codes, priority, category) in groups {
        for &code in codes {
            assert_eq!(
                (priority_of_dscp(code), AccessCategory::of_dscp(code)),
                (priority, category),
                "{code}"
            );
        }
    }
    // Others: the first three bits.
    assert_eq!([2, 9, 17, 47, 62].map(priority_of_dscp), [0, 1, 2, 5, 7]);
    assert!(
        AccessCategory::ALL.map(|category| AccessCategory::of_priority(category.identifier()))
            == AccessCategory::ALL
    );
}
