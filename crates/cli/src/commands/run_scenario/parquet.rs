//! A run's tables as Parquet, which data frames read with the types of the columns.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use whimbrel_lab::Record;
use whimbrel_lab::record::Column;

/// Writes each table to `directory/NAME.parquet`. Each file appears at once, complete.
pub(super) fn write(record: &Record, directory: &Path) -> anyhow::Result<()> {
    for table in record.tables() {
        let path = directory.join(format!("{}.parquet", table.name()));
        let temporary = directory.join(format!(".{}.parquet.{}", table.name(), std::process::id()));
        let written = File::create(&temporary).map_err(anyhow::Error::from).and_then(|file| {
            write_table(table.name(), table.columns(), &file)?;
            file.sync_all()?;
            Ok(fs::rename(&temporary, path)?)
        });
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written?;
    }
    Ok(())
}

/// Real numbers are DOUBLE, with NaN for missing ones; counts are unsigned INT64; words are strings.
pub(super) fn write_table<N: AsRef<str>, W: Write + Send>(
    name: &str,
    columns: &[(N, Column)],
    file: W,
) -> Result<(), ParquetError> {
    let fields = columns.iter().map(|(name, column)| {
        let (physical, logical) = match column {
            Column::Float(_) => (PhysicalType::DOUBLE, None),
            Column::Integer(_) => (PhysicalType::INT64, Some(LogicalType::integer(64, false))),
            Column::Text(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field =
            Type::primitive_type_builder(name.as_ref(), physical).with_repetition(Repetition::REQUIRED);
        field.with_logical_type(logical).build().map(Arc::new)
    });
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::new(Type::group_type_builder(name).with_fields(fields).build()?);
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(WriterProperties::builder().build()))?;
    let mut group = writer.next_row_group()?;
    for (_, values) in columns {
        let Some(mut column) = group.next_column()? else { break };
        match values {
            Column::Float(values) => column.typed::<DoubleType>().write_batch(values, None, None)?,
            Column::Integer(values) => {
                // The logical type is unsigned: the bits stay.
                let values: Vec<i64> = values.iter().map(|value| value.cast_signed()).collect();
                column.typed::<Int64Type>().write_batch(&values, None, None)?
            }
            Column::Text(words) => {
                let values: Vec<ByteArray> = words.iter().map(ByteArray::from).collect();
                column.typed::<ByteArrayType>().write_batch(&values, None, None)?
            }
        };
        column.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(())
}
