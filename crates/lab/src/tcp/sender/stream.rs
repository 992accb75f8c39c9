//! The data of the application.

/// The amount of data, now and in all.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Stream {
    end: u64,
    closed: bool,
}

impl Stream {
    /// The end of an unlimited stream: after a thousand years at 1 Gbit/s, with room to add to it.
    const FOREVER: u64 = 1 << 62;

    pub(super) fn write(&mut self, bytes: u64) {
        if !self.closed {
            self.end = self.end.saturating_add(bytes).min(Self::FOREVER);
        }
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// The end of the data.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The end of the data and of the FIN after it, if there is one.
    pub(super) fn end_with_fin(&self) -> u64 {
        self.end + u64::from(self.closed)
    }
}
