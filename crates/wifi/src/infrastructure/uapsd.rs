//! Unscheduled automatic power save delivery (IEEE Std 802.11-2020, 11.2.3.5).
//!
//! A frame of a dozing client in one of these categories triggers a service period: the access point sends
//! the packets that it keeps in them, and the client dozes again after the frame that ends the period (EOSP).

use alloc::vec::Vec;

use crate::edca::AccessCategory;

/// The bit of QoS control that ends a service period.
pub const END_OF_SERVICE: u8 = 0x10;

/// A set of access categories whose frames trigger service periods, and whose packets are delivered in them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Uapsd(u8);

impl Uapsd {
    /// All categories.
    pub const ALL: Self = Self(0xf);
    /// Bytes of the element that requests delivery.
    pub(super) const ELEMENT_BYTES: u32 = 9;

    /// The same and another category.
    #[must_use]
    pub const fn with(self, category: AccessCategory) -> Self {
        Self(self.0 | 1 << category as u8)
    }

    /// `true` if a category belongs to the set.
    pub const fn contains(self, category: AccessCategory) -> bool {
        self.0 >> category as u8 & 1 == 1
    }

    /// `true` without a category.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The categories whose packets the traffic indication map announces: those that triggers do not deliver,
    /// or all if triggers deliver all.
    #[must_use]
    pub const fn announced(self) -> Self {
        if self.0 == Self::ALL.0 { Self::ALL } else { Self(!self.0 & Self::ALL.0) }
    }

    /// Appends the WMM information element of an association request: QoS Info has a bit for voice, video,
    /// background and best effort.
    pub(super) fn encode(self, out: &mut Vec<u8>) {
        use AccessCategory::{Background, BestEffort, Video, Voice};
        const VENDOR_SPECIFIC: u8 = 221;
        let order = [Voice, Video, Background, BestEffort];
        let info = (0..).zip(order).map(|(bit, category)| u8::from(self.contains(category)) << bit).sum();
        // The OUI of Microsoft, type and subtype of WMM information, version 1.
        out.extend([VENDOR_SPECIFIC, 7, 0x00, 0x50, 0xf2, 2, 0, 1, info]);
    }
}
