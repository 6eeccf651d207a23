//! Arguments of kernels as words of the command line, and buffers as text and `.npy` files.

use std::io::{BufReader, Read, Write};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use half::{bf16, f16};
use npyz::{DType, NpyHeader, Order, TypeStr, WriteOptions, WriterBuilder};

/// Element type of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    F32,
    F16,
    Bf16,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
}

/// Name on the command line, NumPy's name, bytes.
const TYPES: [(Type, &str, &str, usize); 11] = [
    (Type::F32, "f32", "<f4", 4),
    (Type::F16, "f16", "<f2", 2),
    (Type::Bf16, "bf16", "<u2", 2),
    (Type::I8, "i8", "|i1", 1),
    (Type::U8, "u8", "|u1", 1),
    (Type::I16, "i16", "<i2", 2),
    (Type::U16, "u16", "<u2", 2),
    (Type::I32, "i32", "<i4", 4),
    (Type::U32, "u32", "<u4", 4),
    (Type::I64, "i64", "<i8", 8),
    (Type::U64, "u64", "<u8", 8),
];

impl Type {
    fn row(self) -> (&'static str, &'static str, usize) {
        let found = TYPES.iter().find(|row| row.0 == self);
        let (_, name, npy, bytes) = found.expect("every type has a row");
        (name, npy, *bytes)
    }

    fn parse(name: &str) -> anyhow::Result<Type> {
        let names = || TYPES.map(|row| row.1).join(", ");
        let found = TYPES.iter().find(|row| row.1 == name);
        Ok(found
            .with_context(|| format!("`{name}` is no element type; there are {}", names()))?
            .0)
    }

    pub(crate) fn name(self) -> &'static str {
        self.row().0
    }

    pub(crate) fn bytes(self) -> usize {
        self.row().2
    }

    /// The bits of a number, little-endian.
    fn encode(self, value: f64) -> Vec<u8> {
        match self {
            Type::F32 => (value as f32).to_le_bytes().to_vec(),
            Type::F16 => f16::from_f64(value).to_le_bytes().to_vec(),
            Type::Bf16 => bf16::from_f64(value).to_le_bytes().to_vec(),
            Type::I8 => (value as i8).to_le_bytes().to_vec(),
            Type::U8 => (value as u8).to_le_bytes().to_vec(),
            Type::I16 => (value as i16).to_le_bytes().to_vec(),
            Type::U16 => (value as u16).to_le_bytes().to_vec(),
            Type::I32 => (value as i32).to_le_bytes().to_vec(),
            Type::U32 => (value as u32).to_le_bytes().to_vec(),
            Type::I64 => (value as i64).to_le_bytes().to_vec(),
            Type::U64 => (value as u64).to_le_bytes().to_vec(),
        }
    }

    /// An element as text.
    pub(crate) fn show(self, bytes: &[u8]) -> String {
        let mut word = [0u8; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(word);
        match self {
            Type::F32 => f32::from_bits(bits as u32).to_string(),
            Type::F16 => f16::from_bits(bits as u16).to_string(),
            Type::Bf16 => bf16::from_bits(bits as u16).to_string(),
            Type::I8 => (bits as i8).to_string(),
            Type::I16 => (bits as i16).to_string(),
            Type::I32 => (bits as i32).to_string(),
            Type::I64 => (bits as i64).to_string(),
            Type::U8 | Type::U16 | Type::U32 | Type::U64 => bits.to_string(),
        }
    }
}

/// One argument.
#[derive(Debug)]
pub(crate) enum Value {
    /// Bytes in the argument block.
    Plain(Vec<u8>),
    /// The address of the flag area.
    Sync,
    /// Device memory.
    Buffer(Array),
}

/// Contents of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Array {
    pub(crate) name: String,
    pub(crate) element: Type,
    pub(crate) shape: Vec<usize>,
    /// `None`: as device memory comes.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl Array {
    pub(crate) fn len(&self) -> usize {
        self.shape.iter().product::<usize>() * self.element.bytes()
    }
}

/// Most bytes of one buffer: what a typing error asks for is far above.
const MAX_BYTES: usize = 1 << 40;

/// Reads one word; `position` names buffers that have no name.
pub(crate) fn parse(word: &str, position: usize) -> anyhow::Result<Value> {
    let (name, what) = match word.split_once('=') {
        Some((name, what)) => (name.to_owned(), what),
        None => (format!("arg{position}"), word),
    };
    if what.ends_with(".npy") {
        return Ok(Value::Buffer(read(name, what.as_ref())?));
    }
    if let Some(fields) = what.strip_prefix("struct:") {
        return Ok(Value::Plain(structure(fields)?));
    }
    let parts: Vec<&str> = what.split(':').collect();
    match parts.as_slice() {
        ["bytes", digits] => Ok(Value::Plain(hex(digits)?)),
        ["u64", "sync"] => Ok(Value::Sync),
        [element, value] => Ok(Value::Plain(number(Type::parse(element)?, value)?)),
        [element, fill, shape] => {
            let element = Type::parse(element)?;
            let shape = shape
                .split('x')
                .map(str::parse)
                .collect::<Result<Vec<usize>, _>>()
                .with_context(|| format!("`{shape}` is no shape; write one like 4x128"))?;
            let elements = shape
                .iter()
                .try_fold(1usize, |all, size| all.checked_mul(*size));
            let fits = elements.and_then(|count| count.checked_mul(element.bytes()));
            ensure!(
                fits.is_some_and(|bytes| (1..=MAX_BYTES).contains(&bytes)),
                "a buffer of shape {shape:?} takes no bytes or more than {MAX_BYTES}"
            );
            let bytes = filled(element, fill, elements.unwrap_or(0), position)?;
            Ok(Value::Buffer(Array {
                name,
                element,
                shape,
                bytes,
            }))
        }
        _ => bail!(
            "`{what}` is no argument: write TYPE:VALUE, struct:TYPE:VALUE,..., TYPE:FILL:SHAPE, FILE.npy or bytes:HEX"
        ),
    }
}

/// A structure as C lays it out: each field on a multiple of its size, the whole a multiple of the largest.
fn structure(fields: &str) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut align = 1;
    for field in fields.split(',') {
        let pair = field.split_once(':');
        let (element, value) =
            pair.with_context(|| format!("`{field}` is no field; write TYPE:VALUE"))?;
        let element = Type::parse(element)?;
        align = align.max(element.bytes());
        bytes.resize(bytes.len().next_multiple_of(element.bytes()), 0);
        bytes.extend(number(element, value)?);
    }
    bytes.resize(bytes.len().next_multiple_of(align), 0);
    Ok(bytes)
}

fn number(element: Type, text: &str) -> anyhow::Result<Vec<u8>> {
    let wrong = || format!("`{text}` is no {}", element.name());
    let wide: Option<i128> = text.parse().ok();
    match element {
        Type::F32 | Type::F16 | Type::Bf16 => Ok(element.encode(text.parse().with_context(wrong)?)),
        _ => {
            let value = wide.with_context(wrong)?;
            let bits = 8 * element.bytes() as u32;
            let signed = matches!(element, Type::I8 | Type::I16 | Type::I32 | Type::I64);
            let (low, high) = if signed {
                (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
            } else {
                (0, (1i128 << bits) - 1)
            };
            ensure!(
                (low..=high).contains(&value),
                "{value} is no {}, which holds {low} to {high}",
                element.name()
            );
            Ok(value.to_le_bytes()[..element.bytes()].to_vec())
        }
    }
}

fn hex(digits: &str) -> anyhow::Result<Vec<u8>> {
    let pairs: Vec<char> = digits.chars().collect();
    let wrong = || format!("`{digits}` is not a row of bytes in hexadecimal digits");
    ensure!(!pairs.is_empty() && pairs.len().is_multiple_of(2), wrong());
    let byte = |pair: &[char]| Some((pair[0].to_digit(16)? << 4 | pair[1].to_digit(16)?) as u8);
    pairs
        .chunks_exact(2)
        .map(byte)
        .collect::<Option<_>>()
        .with_context(wrong)
}

/// Contents of a new buffer; `seed` makes random ones differ from argument to argument.
fn filled(element: Type, fill: &str, count: usize, seed: usize) -> anyhow::Result<Option<Vec<u8>>> {
    let mut state = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / f64::from(1 << 23) - 1.0
    };
    let float = matches!(element, Type::F32 | Type::F16 | Type::Bf16);
    let mut value = |index: usize| {
        Some(match fill {
            "zeros" => 0.0,
            "ones" => 1.0,
            "index" => index as f64,
            "random" if float => random(),
            "random" => (random() * 100.0).abs().floor(),
            _ => return None,
        })
    };
    if fill == "undefined" {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(count * element.bytes())
        .with_context(|| format!("no memory for {} bytes", count * element.bytes()))?;
    for index in 0..count {
        let value = value(index).with_context(|| {
            format!("`{fill}` is no filling; there are zeros, ones, index, random, undefined")
        })?;
        bytes.extend(element.encode(value));
    }
    Ok(Some(bytes))
}

fn read(name: String, path: &Path) -> anyhow::Result<Array> {
    let mut reader = BufReader::new(fs_err::File::open(path)?);
    let header = NpyHeader::from_reader(&mut reader).with_context(|| path.display().to_string())?;
    let DType::Plain(descr) = header.dtype() else {
        bail!(
            "{}: structured arrays are no buffers; save a plain array",
            path.display()
        );
    };
    let descr = descr.to_string();
    // A type of 16 unsigned bits is what it says: bfloat16 has no name in these files.
    let found = TYPES.iter().rev().find(|row| row.2 == descr);
    let element = found
        .with_context(|| format!("{}: element type `{descr}` is not read", path.display()))?
        .0;
    ensure!(
        header.order() == Order::C || header.shape().len() < 2,
        "{}: the array is in Fortran order; save it with np.ascontiguousarray",
        path.display()
    );
    let shape: Vec<usize> = header.shape().iter().map(|&size| size as usize).collect();
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    let array = Array {
        name,
        element,
        shape,
        bytes: None,
    };
    ensure!(
        bytes.len() == array.len(),
        "{}: shape {:?} takes {} bytes, the file has {}",
        path.display(),
        array.shape,
        array.len(),
        bytes.len()
    );
    Ok(Array {
        bytes: Some(bytes),
        ..array
    })
}

/// The file of a buffer.
pub(crate) fn npy(array: &Array, bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let descr: TypeStr = array
        .element
        .row()
        .1
        .parse()
        .expect("the table holds NumPy's names");
    let shape: Vec<u64> = array.shape.iter().map(|size| *size as u64).collect();
    let mut file = WriteOptions::new_header_only()
        .dtype(DType::Plain(descr))
        .shape(&shape)
        .writer(Vec::new())
        .write_header_only()?;
    file.write_all(bytes)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(word: &str) -> Vec<u8> {
        match parse(word, 0).expect("an argument") {
            Value::Plain(bytes) => bytes,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn scalars_and_structures() {
        assert_eq!(plain("i32:-3"), (-3i32).to_le_bytes());
        assert_eq!(plain("f16:1.5"), f16::from_f32(1.5).to_le_bytes());
        assert_eq!(plain("u64:18446744073709551615"), u64::MAX.to_le_bytes());
        assert_eq!(plain("bytes:00ff10"), [0, 255, 16]);
        assert!(matches!(parse("u64:sync", 0), Ok(Value::Sync)));
    }

    #[test]
    fn wrong_words_say_what_is_wrong() {
        for (word, part) in [
            ("i8:128", "-128 to 127"),
            ("u32:-1", "0 to 4294967295"),
            ("f31:1", "there are f32, f16"),
            ("f32:zero:4", "zeros, ones"),
            ("f32:zeros:4by4", "4x128"),
            ("f32:zeros:0", "no bytes"),
            ("f32:zeros:99999999999x99999999999", "more than"),
            ("f32:zeros:4294967296x1024", "more than"),
            ("bytes:0", "hexadecimal"),
            ("bytes:xy", "hexadecimal"),
            ("x", "TYPE:VALUE"),
            ("i32:1.5", "no i32"),
        ] {
            let error = format!("{:#}", parse(word, 0).expect_err(word));
            assert!(error.contains(part), "{word}: {error}");
        }
    }

    #[test]
    fn files_come_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.npy");
        for (element, ..) in TYPES {
            if element == Type::Bf16 {
                continue;
            }
            let array = Array {
                name: "x".to_owned(),
                element,
                shape: vec![2, 3],
                bytes: Some((0..6).flat_map(|i| element.encode(f64::from(i))).collect()),
            };
            let file = npy(&array, array.bytes.as_ref().expect("contents")).expect("a file");
            fs_err::write(&path, file).expect("a writable folder");
            assert_eq!(read("x".to_owned(), &path).expect("readable"), array);
        }
    }
}
