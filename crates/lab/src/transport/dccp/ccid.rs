//! The CCID of a flow, as a scenario names it.

use core::fmt;
use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde_json::{Value, json};
use whimbrel_proto::Ccid;

use super::configuration::mechanisms;

/// A CCID by its number or name: `3` or `"tfrc"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CcidKey(pub(super) u8);

struct CcidVisitor;

impl Visitor<'_> for CcidVisitor {
    type Value = CcidKey;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the number or the name of a CCID: {}", mechanisms().describe(|_| true))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<CcidKey, E> {
        // The CCID is checked with the rest of the configuration.
        let number =
            u8::try_from(number).map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))?;
        Ok(CcidKey(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<CcidKey, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<CcidKey, E> {
        match mechanisms().parse(name) {
            Some(Ccid(number)) => Ok(CcidKey(number)),
            None => Err(E::invalid_value(Unexpected::Str(name), &self)),
        }
    }
}

impl<'de> Deserialize<'de> for CcidKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CcidVisitor)
    }
}

impl JsonSchema for CcidKey {
    fn schema_name() -> Cow<'static, str> {
        "Ccid".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let registry = mechanisms();
        let mut ccids: Vec<Ccid> = registry.ccids().collect();
        ccids.sort();
        let number = |ccid: Ccid| {
            let name = registry.mechanism(ccid).map_or("", |mechanism| mechanism.name());
            json!({ "const": ccid.0, "title": format!("{name} ({})", ccid.0) })
        };
        let forms: Vec<Value> = ccids.into_iter().map(number).chain([json!({ "type": "string" })]).collect();
        json_schema!({ "description": "CCID by its number or name.", "anyOf": forms })
    }
}
