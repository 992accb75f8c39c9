//! Chainable setters of configurations.

/// Defines a setter for each field of a configuration, named after the field, which takes and returns the
/// configuration.
///
/// Configurations are `#[non_exhaustive]`, so that a new field breaks no application; other crates therefore
/// cannot write them as literals. Fields are public, to be read and assigned.
#[macro_export]
#[doc(hidden)]
macro_rules! config_setters {
    ($type:ident { $($field:ident: $kind:ty),+ $(,)? }) => {
        impl $type {
            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](#structfield.", stringify!($field), ").")]
                #[must_use]
                pub fn $field(mut self, $field: $kind) -> Self {
                    self.$field = $field;
                    self
                }
            )+
        }
    };
}
