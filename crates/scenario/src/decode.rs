//! From a document's values to the scenario's types, with the key of every mistake.
//!
//! A small serde deserializer over [`serde_json::Value`] whose errors carry the path of the value
//! at fault. Enums are tables whose `kind` names the variant (`model`, for loss models); a variant
//! that needs nothing else may be written as a plain string: `traffic = "bulk"`.

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, MapAccess,
    SeqAccess, VariantAccess, Visitor, value::StrDeserializer,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use super::error::{Problem, ScenarioError};

/// A variant with this name takes a plain string or number that names no other variant.
pub(crate) const SHORTHAND: &str = "$shorthand";

/// Decodes a value. Enums are tables with the key `kind`, or plain strings.
///
/// # Errors
/// Names the key at fault, counted from this value.
pub fn decode<T: DeserializeOwned>(value: &Value) -> Result<T, ScenarioError> {
    T::deserialize(Decoder(value))
}

/// The key that names the variant of an enum.
pub(crate) fn tag_of(type_name: &str) -> &'static str {
    if type_name == "Loss" { "model" } else { "kind" }
}

#[derive(Clone, Copy)]
struct Decoder<'de>(&'de Value);

impl<'de> Deserializer<'de> for Decoder<'de> {
    type Error = ScenarioError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ScenarioError> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(value), _) => visitor.visit_u64(value),
                (None, Some(value)) => visitor.visit_i64(value),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => visitor.visit_seq(Items { items: items.iter(), index: 0 }),
            Value::Object(table) => visitor.visit_map(Entries::new(table, "")),
        }
        .map_err(|error| error.with_value(self.0))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ScenarioError> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ScenarioError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ScenarioError> {
        let tag = tag_of(name);
        match self.0 {
            Value::String(text) if variants.contains(&text.as_str()) => {
                visitor.visit_enum(Variant { name: text, content: Content::Nothing, tag })
            }
            Value::Object(table) => match table.get(tag) {
                Some(Value::String(text)) if text != SHORTHAND => {
                    if !variants.contains(&text.as_str()) {
                        return Err(ScenarioError::unknown_variant(text, variants)
                            .with_value(&table[tag])
                            .within(tag));
                    }
                    visitor.visit_enum(Variant { name: text, content: Content::Table(table), tag })
                }
                Some(other) => {
                    Err(ScenarioError::unknown_variant("", variants).with_value(other).within(tag))
                }
                None => {
                    let expected = ScenarioError::unknown_variant("", variants);
                    let Problem::Invalid { expected, .. } = expected.problem else { return Err(expected) };
                    Err(ScenarioError::missing(tag, expected))
                }
            },
            value if variants.contains(&SHORTHAND) && (value.is_string() || value.is_number()) => {
                visitor.visit_enum(Variant { name: SHORTHAND, content: Content::Value(value), tag })
            }
            _ => Err(ScenarioError::unknown_variant("", variants)),
        }
        .map_err(|error| error.with_value(self.0))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct Items<'de> {
    items: std::slice::Iter<'de, Value>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = ScenarioError;
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ScenarioError> {
        let Some(value) = self.items.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(Decoder(value)).map(Some).map_err(|error| error.within(&format!("[{index}]")))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Entries<'de> {
    /// `None` if a plain string stands for a table without keys.
    entries: Option<serde_json::map::Iter<'de>>,
    /// A key to pass over: the tag of an enum.
    skipped: &'static str,
    current: Option<(&'de String, &'de Value)>,
}

impl<'de> Entries<'de> {
    fn new(table: &'de Map<String, Value>, skipped: &'static str) -> Self {
        Self { entries: Some(table.iter()), skipped, current: None }
    }

    fn none() -> Self {
        Self { entries: None, skipped: "", current: None }
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = ScenarioError;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ScenarioError> {
        let skipped = self.skipped;
        let entries = self.entries.as_mut();
        self.current =
            entries.and_then(|entries| entries.find(|(key, _)| skipped.is_empty() || *key != skipped));
        let Some((key, _)) = self.current else { return Ok(None) };
        let key: StrDeserializer<'de, ScenarioError> = key.as_str().into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, ScenarioError> {
        let (key, value) =
            self.current.take().ok_or_else(|| ScenarioError::custom("a key before its value"))?;
        seed.deserialize(Decoder(value)).map_err(|error| error.within(key))
    }
}

enum Content<'de> {
    Nothing,
    Table(&'de Map<String, Value>),
    Value(&'de Value),
}

struct Variant<'de> {
    name: &'de str,
    content: Content<'de>,
    tag: &'static str,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = ScenarioError;
    type Variant = Self;
    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), ScenarioError> {
        let name: StrDeserializer<'de, ScenarioError> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = ScenarioError;
    fn unit_variant(self) -> Result<(), ScenarioError> {
        if let Content::Table(table) = self.content
            && let Some(key) = table.keys().find(|key| *key != self.tag)
        {
            let expected = vec![self.tag.to_owned()];
            return Err(ScenarioError {
                file: None,
                key: key.clone(),
                problem: Problem::UnknownKey { expected },
            });
        }
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ScenarioError> {
        match self.content {
            Content::Value(value) => seed.deserialize(Decoder(value)),
            Content::Table(table) => seed.deserialize(TableDecoder(Entries::new(table, self.tag))),
            Content::Nothing => seed.deserialize(TableDecoder(Entries::none())),
        }
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ScenarioError> {
        Err(ScenarioError::invalid_length(0, &visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ScenarioError> {
        match self.content {
            Content::Value(_) => Err(ScenarioError::custom("a table")),
            Content::Table(table) => visitor.visit_map(Entries::new(table, self.tag)),
            Content::Nothing => visitor.visit_map(Entries::none()),
        }
    }
}

/// A table whose tag has been read.
struct TableDecoder<'de>(Entries<'de>);

impl<'de> Deserializer<'de> for TableDecoder<'de> {
    type Error = ScenarioError;
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ScenarioError> {
        visitor.visit_map(self.0)
    }
    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
