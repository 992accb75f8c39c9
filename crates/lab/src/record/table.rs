//! A table of columns of equal length.

use std::collections::BTreeMap;

/// A column's values.
#[derive(Clone, PartialEq, Debug)]
pub enum Column {
    /// Real numbers; NaN for missing values.
    Float(Vec<f64>),
    /// Counts and positions.
    Integer(Vec<u64>),
    /// Words from a small set.
    Text(Words),
}

impl Column {
    /// The number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Float(values) => values.len(),
            Self::Integer(values) => values.len(),
            Self::Text(words) => words.codes.len(),
        }
    }

    /// `true` if it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Words from a small set, held once each.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Words {
    codes: Vec<u32>,
    categories: Vec<String>,
    index: BTreeMap<String, u32>,
}

impl Words {
    /// Adds a word at the end.
    pub fn push(&mut self, word: &str) {
        let code = match self.index.get(word) {
            Some(code) => *code,
            None => {
                let code = self.categories.len() as u32;
                self.categories.push(word.to_owned());
                self.index.insert(word.to_owned(), code);
                code
            }
        };
        self.codes.push(code);
    }

    /// The words by code, in the order of their first use.
    pub fn categories(&self) -> &[String] {
        &self.categories
    }

    /// The code of each value.
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The code of each value, and the words by code.
    pub fn into_parts(self) -> (Vec<u32>, Vec<String>) {
        (self.codes, self.categories)
    }

    /// The values.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.codes.iter().map(|code| self.categories[*code as usize].as_str())
    }
}

impl<'a> FromIterator<&'a str> for Words {
    fn from_iter<I: IntoIterator<Item = &'a str>>(words: I) -> Self {
        let mut collected = Self::default();
        words.into_iter().for_each(|word| collected.push(word));
        collected
    }
}

/// Named columns of equal length.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    name: &'static str,
    columns: Vec<(&'static str, Column)>,
}

impl Table {
    /// A table without columns.
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, columns: Vec::new() }
    }

    /// A table of columns of equal length, as of a record that was stored.
    pub fn from_columns(name: &'static str, columns: Vec<(&'static str, Column)>) -> Self {
        let mut table = Self::new(name);
        columns.into_iter().for_each(|(name, column)| table.add(name, column));
        table
    }

    /// Adds a column.
    pub(crate) fn add(&mut self, name: &'static str, column: Column) {
        debug_assert!(self.columns.first().is_none_or(|(_, first)| first.len() == column.len()));
        self.columns.push((name, column));
    }

    pub(crate) fn floats(&mut self, name: &'static str, values: impl Iterator<Item = f64>) {
        self.add(name, Column::Float(values.collect()));
    }

    pub(crate) fn integers(&mut self, name: &'static str, values: impl Iterator<Item = u64>) {
        self.add(name, Column::Integer(values.collect()));
    }

    pub(crate) fn words<'a>(&mut self, name: &'static str, values: impl Iterator<Item = &'a str>) {
        self.add(name, Column::Text(values.collect()));
    }

    /// Keeps the rows whose word in `column` is accepted.
    pub(crate) fn retain(&mut self, column: &str, accepted: impl Fn(&str) -> bool) {
        let Some(Column::Text(words)) = self.column(column) else { return };
        let kept: Vec<bool> = words.iter().map(accepted).collect();
        if kept.iter().all(|kept| *kept) {
            return;
        }
        for (_, column) in &mut self.columns {
            let mut rows = kept.iter();
            let mut is_kept = || rows.next().is_some_and(|kept| *kept);
            match column {
                Column::Float(values) => values.retain(|_| is_kept()),
                Column::Integer(values) => values.retain(|_| is_kept()),
                Column::Text(words) => *words = words.iter().filter(|_| is_kept()).collect(),
            }
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its columns with their names, in order.
    pub fn columns(&self) -> &[(&'static str, Column)] {
        &self.columns
    }

    /// The columns themselves.
    pub fn into_columns(self) -> Vec<(&'static str, Column)> {
        self.columns
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(other, _)| *other == name).map(|(_, column)| column)
    }

    /// A number in it: `None` if there is no such column or row, or the column holds words.
    pub fn number(&self, column: &str, row: usize) -> Option<f64> {
        match self.column(column)? {
            Column::Float(values) => values.get(row).copied(),
            Column::Integer(values) => values.get(row).map(|value| *value as f64),
            Column::Text(_) => None,
        }
    }

    /// A word in it: `None` if there is no such column or row, or the column holds numbers.
    pub fn text(&self, column: &str, row: usize) -> Option<&str> {
        match self.column(column)? {
            Column::Text(words) => words.iter().nth(row),
            Column::Float(_) | Column::Integer(_) => None,
        }
    }
}
