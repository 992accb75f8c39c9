//! Setters of configurations, which can be chained.

/// Gives each field of a configuration a setter of its name, which takes the configuration and returns it.
///
/// Configurations are `#[non_exhaustive]`, so that a new field breaks no application; other crates then cannot write them as
/// literals. Fields stay public to be read, and set in place.
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
