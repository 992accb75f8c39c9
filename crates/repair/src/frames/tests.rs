use super::*;

fn group(first: u16, roles: &[Role]) -> Groups {
    let mut groups = Groups::new();
    for (number, &role) in (0..).zip(roles) {
        assert!(groups.on_frame(first.wrapping_add(number), role));
    }
    groups
}

#[test]
fn the_rest_of_a_group_is_useless_until_a_new_start() {
    let mut groups = group(65_534, &[Role::Start, Role::Inner, Role::Disposable, Role::Inner]);
    assert!(!groups.on_lost(0), "no other refers to it");
    assert!(groups.on_lost(65_535));
    assert!(!groups.on_lost(1), "asked once");
    assert!(!groups.on_frame(2, Role::Inner));
    assert!(groups.on_frame(3, Role::Start) && groups.on_frame(4, Role::Inner));
    // Reported again, late.
    assert!(!groups.on_lost(65_535) && !groups.is_broken());
    assert!(groups.on_lost(3), "the start itself");
}

#[test]
fn unknown_frames_break_nothing() {
    let mut groups = group(0, &[Role::Start; 3]);
    assert!(!groups.on_lost(77) && !groups.on_lost(0));
    for number in 3..400 {
        groups.on_frame(number, Role::Inner);
    }
    assert!(!groups.on_lost(5), "forgotten");
    assert!(groups.on_lost(300));
}
