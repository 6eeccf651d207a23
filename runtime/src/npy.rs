//! Tensors in NumPy's `.npy` files.

use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use fa_dsl::variant::Dtype;
use npyz::{DType, NpyHeader, Order, TypeStr, WriteOptions, WriterBuilder};

use crate::error::{Error, Result};
use crate::files;
use crate::tensor::Tensor;

/// Element types of files: those of tensors, and `<i8`, which is narrowed to int32 where it fits.
#[derive(Clone, Copy)]
enum Stored {
    As(Dtype),
    Int64,
    Fp64,
}

fn stored(descr: &str) -> Option<Stored> {
    Some(match descr {
        "<f4" => Stored::As(Dtype::Fp32),
        "<f8" => Stored::Fp64,
        "<f2" => Stored::As(Dtype::Fp16),
        // NumPy has no bfloat16: its bit patterns stand in unsigned 16-bit files.
        "<u2" => Stored::As(Dtype::Bf16),
        "<i4" => Stored::As(Dtype::Int32),
        "<i8" => Stored::Int64,
        "|i1" => Stored::As(Dtype::Int8),
        "|b1" | "|u1" => Stored::As(Dtype::Bool),
        _ => return None,
    })
}

fn descr(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::Fp32 => "<f4",
        Dtype::Fp16 => "<f2",
        Dtype::Bf16 => "<u2",
        Dtype::Int8 => "|i1",
        Dtype::Int32 => "<i4",
        Dtype::Bool => "|b1",
    }
}

/// What reading did to numbers that the file has in a wider type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Narrowed {
    /// The element type of the file, `fp64` or `fp32`.
    pub from: &'static str,
    /// The element type of the tensor.
    pub to: Dtype,
    /// How many finite elements became infinite.
    pub overflowed: usize,
}

/// Reads a file: versions 1 to 3, C and Fortran order. `<u2` is read as bf16 bit patterns, `|u1` as bool, `<f8` is
/// rounded to fp32.
///
/// # Errors
/// The file cannot be read, is damaged, has another element type, or an `<i8` that does not fit 32 bits.
pub fn read(path: &Path) -> Result<Tensor> {
    read_as(path, None).map(|(tensor, _)| tensor)
}

/// The same; `<f4` and `<f8` files are rounded to `wanted` where that is a float type of at most their width, and what
/// that did is told.
///
/// # Errors
/// As [`read`].
pub fn read_as(path: &Path, wanted: Option<Dtype>) -> Result<(Tensor, Option<Narrowed>)> {
    let refused = |reason: String| Error::Npy {
        path: path.to_owned(),
        reason,
    };
    let mut reader = BufReader::new(fs_err::File::open(path)?);
    let header = NpyHeader::from_reader(&mut reader).map_err(|e| refused(e.to_string()))?;
    let DType::Plain(type_str) = header.dtype() else {
        return Err(refused(
            "structured arrays are not tensors; save a plain array".to_owned(),
        ));
    };
    let type_str = type_str.to_string();
    let Some(stored) = stored(&type_str) else {
        return Err(refused(format!(
            "element type `{type_str}` is not read; save as <f4, <f2, <u2 (bf16 bits), <i4, <i8, |i1, |b1 or |u1"
        )));
    };
    let shape: Vec<usize> = header
        .shape()
        .iter()
        .map(|size| usize::try_from(*size))
        .collect::<std::result::Result<_, _>>()
        .map_err(|e| refused(e.to_string()))?;
    let elem_bytes = match stored {
        Stored::As(dtype) => dtype.bytes() as usize,
        Stored::Int64 | Stored::Fp64 => 8,
    };
    let expected = shape
        .iter()
        .try_fold(elem_bytes, |bytes, size| bytes.checked_mul(*size))
        .ok_or_else(|| refused(format!("shape {shape:?} is too large")))?;
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    if bytes.len() != expected {
        return Err(refused(format!(
            "shape {shape:?} of `{type_str}` takes {expected} bytes, the file has {}",
            bytes.len()
        )));
    }
    let fortran = header.order() == Order::Fortran;
    let memory_shape: Vec<usize> = if fortran {
        shape.iter().rev().copied().collect()
    } else {
        shape
    };
    let (tensor, narrowed) = tensor_of(stored, wanted, &memory_shape, &bytes).map_err(refused)?;
    let tensor = if fortran {
        let axes: Vec<usize> = (0..memory_shape.len()).rev().collect();
        tensor.view().permute(&axes).to_tensor()
    } else {
        tensor
    };
    Ok((tensor, narrowed))
}

/// Values of a float type in one that may be narrower.
fn rounded(
    from: &'static str,
    to: Dtype,
    shape: &[usize],
    values: &[f64],
) -> (Tensor, Option<Narrowed>) {
    let tensor = Tensor::from_f64(to, shape, values);
    let stored = tensor.to_f64();
    let lost = |(value, stored): &(&f64, &f64)| value.is_finite() && !stored.is_finite();
    let narrowed = Narrowed {
        from,
        to,
        overflowed: values.iter().zip(&stored).filter(lost).count(),
    };
    (tensor, Some(narrowed))
}

fn tensor_of(
    stored: Stored,
    wanted: Option<Dtype>,
    shape: &[usize],
    bytes: &[u8],
) -> std::result::Result<(Tensor, Option<Narrowed>), String> {
    let half = wanted.filter(|dtype| matches!(dtype, Dtype::Fp16 | Dtype::Bf16));
    let words = || {
        bytes
            .chunks_exact(8)
            .map(|word| <[u8; 8]>::try_from(word).expect("chunks of eight"))
    };
    match stored {
        Stored::As(dtype) => {
            let tensor = Tensor::from_bytes(dtype, shape, bytes);
            Ok(match half {
                Some(half) if dtype == Dtype::Fp32 => {
                    rounded("fp32", half, shape, &tensor.to_f64())
                }
                _ => (tensor, None),
            })
        }
        Stored::Int64 => {
            let mut values = Vec::with_capacity(bytes.len() / 8);
            for value in words().map(i64::from_le_bytes) {
                let narrow = i32::try_from(value)
                    .map_err(|_| format!("{value} does not fit a 32-bit int"))?;
                values.push(f64::from(narrow));
            }
            Ok((Tensor::from_f64(Dtype::Int32, shape, &values), None))
        }
        Stored::Fp64 => {
            let values: Vec<f64> = words().map(f64::from_le_bytes).collect();
            Ok(rounded("fp64", half.unwrap_or(Dtype::Fp32), shape, &values))
        }
    }
}

/// Writes a file in C order; the file appears whole or not at all.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, tensor: &Tensor) -> Result<()> {
    let file = files::temporary_beside(path)?;
    let type_str: TypeStr = descr(tensor.dtype())
        .parse()
        .expect("the table holds type strings of NumPy");
    let shape: Vec<u64> = tensor.shape().iter().map(|size| *size as u64).collect();
    let mut writer = WriteOptions::new_header_only()
        .dtype(DType::Plain(type_str))
        .shape(&shape)
        .writer(BufWriter::new(file))
        .write_header_only()?;
    writer.write_all(tensor.bytes())?;
    let file = writer.into_inner().map_err(|error| error.into_error())?;
    files::publish(file, path)
}
