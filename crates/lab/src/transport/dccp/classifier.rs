//! The loss classifier of a flow's receiver, as a scenario names it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Unexpected};
use whimbrel_control::loss_differentiation::Scheme;

/// The scheme by which a receiver distinguishes wireless from congestion losses, or `"none"`: every loss is
/// a sign of congestion.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Classifier(pub Option<Scheme>);

impl Classifier {
    /// No classifier.
    pub const NONE: Self = Self(None);
    const NONE_NAME: &'static str = "none";

    /// The name in scenarios.
    pub const fn name(self) -> &'static str {
        match self.0 {
            None => Self::NONE_NAME,
            Some(scheme) => scheme.name(),
        }
    }
}

impl<'de> Deserialize<'de> for Classifier {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(deserializer)?;
        if name == Self::NONE_NAME {
            return Ok(Self::NONE);
        }
        name.parse().map(|scheme| Self(Some(scheme))).map_err(|_| {
            let known: Vec<&str> = Scheme::ALL.iter().map(|scheme| scheme.name()).collect();
            let expected = format!("none, or one of {}", known.join(", "));
            D::Error::invalid_value(Unexpected::Str(&name), &expected.as_str())
        })
    }
}

impl JsonSchema for Classifier {
    fn schema_name() -> Cow<'static, str> {
        "Classifier".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> =
            core::iter::once(Self::NONE_NAME).chain(Scheme::ALL.iter().map(|scheme| scheme.name())).collect();
        json_schema!({
            "description": "Scheme by which a receiver distinguishes wireless from congestion losses, or \"none\".",
            "type": "string",
            "enum": names,
        })
    }
}
