//! A window law in a configuration.

use alloc::boxed::Box;
use alloc::format;
use core::fmt;

use super::WindowLaw;

/// Copies of a law behind the trait; implemented for all laws that are `Clone`.
pub trait CloneLaw {
    /// A copy of the law.
    fn boxed_clone(&self) -> Box<dyn WindowLaw>;
}

impl<L: WindowLaw + Clone + 'static> CloneLaw for L {
    fn boxed_clone(&self) -> Box<dyn WindowLaw> {
        Box::new(self.clone())
    }
}

/// A law as a configuration holds it: each sender starts with a copy.
pub struct LawPrototype(Box<dyn WindowLaw>);

impl LawPrototype {
    /// The prototype of senders under that law.
    pub fn new(law: impl WindowLaw + 'static) -> Self {
        Self(Box::new(law))
    }

    /// The law.
    pub fn law(&self) -> &dyn WindowLaw {
        &*self.0
    }

    /// The law of a new sender.
    pub fn build(&self) -> Box<dyn WindowLaw> {
        self.0.boxed_clone()
    }
}

impl<L: WindowLaw + 'static> From<L> for LawPrototype {
    fn from(law: L) -> Self {
        Self::new(law)
    }
}

impl Clone for LawPrototype {
    fn clone(&self) -> Self {
        Self(self.build())
    }
}

impl fmt::Debug for LawPrototype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Two prototypes are equal if their laws have the same type name and parameters, as printed by
/// [`Debug`](fmt::Debug).
impl PartialEq for LawPrototype {
    fn eq(&self, other: &Self) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}
