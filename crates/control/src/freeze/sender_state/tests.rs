use super::SenderInput::{Carried, Ended, Freeze, Lagging, Probe, Silent, Unfreeze};
use super::SenderState::{self, Frozen, Normal, Probing, Restoring, Settling};

#[test]
fn every_state_and_input_follows_the_state_table() {
    let inputs = [Freeze, Unfreeze, Probe, Carried, Ended, Lagging, Silent];
    // One row per state, one column per input, in the order above.
    let table = [
        (Normal, [Frozen, Normal, Probing, Normal, Normal, Normal, Normal]),
        (Frozen, [Frozen, Restoring, Frozen, Frozen, Frozen, Frozen, Frozen]),
        (Restoring, [Frozen, Restoring, Restoring, Probing, Normal, Settling, Restoring]),
        (Probing, [Frozen, Probing, Probing, Probing, Normal, Settling, Normal]),
        (Settling, [Frozen, Settling, Settling, Settling, Normal, Settling, Normal]),
    ];
    assert_eq!(table.map(|(state, _)| state), SenderState::ALL);
    for (state, row) in table {
        for (input, expected) in inputs.into_iter().zip(row) {
            assert_eq!(state.after(input), expected, "{state:?} on {input:?}");
        }
    }
}
