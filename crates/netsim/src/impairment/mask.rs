//! A list of the packets to lose.

#[derive(Clone, Debug)]
pub(super) struct MaskPosition {
    lost: Vec<u64>,
    next: usize,
    transmitted: u64,
}

impl MaskPosition {
    pub(super) fn new(lost: Vec<u64>) -> Self {
        Self { lost, next: 0, transmitted: 0 }
    }

    pub(super) fn loses(&mut self) -> bool {
        let packet = self.transmitted;
        self.transmitted += 1;
        let lost = self.lost.get(self.next) == Some(&packet);
        self.next += usize::from(lost);
        lost
    }
}
