//! `.npy` files as NumPy writes them.

use fa_dsl::variant::Dtype;
use fa_runtime::{Tensor, npy};

/// A file of this version, header text and data.
fn file(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    let length_bytes = if version == 1 { 2 } else { 4 };
    let unpadded = bytes.len() + length_bytes + header.len() + 1;
    let padding = unpadded.next_multiple_of(64) - unpadded;
    let length = header.len() + padding + 1;
    bytes.extend(&(length as u32).to_le_bytes()[..length_bytes]);
    bytes.extend(header.as_bytes());
    bytes.extend(std::iter::repeat_n(b' ', padding));
    bytes.push(b'\n');
    bytes.extend(data);
    bytes
}

fn read(bytes: &[u8]) -> fa_runtime::Result<Tensor> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("t.npy");
    fs_err::write(&path, bytes).expect("the folder can be written");
    npy::read(&path)
}

fn floats(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

#[test]
fn all_versions_and_both_orders() {
    let data = floats(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    for version in [1, 2, 3] {
        let c = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
        let tensor = read(&file(version, c, &data)).expect("a plain file");
        assert_eq!(tensor.shape(), [2, 3]);
        assert_eq!(tensor.to_f64(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let fortran = c.replace("False", "True");
        let tensor = read(&file(version, &fortran, &data)).expect("a plain file");
        assert_eq!(tensor.shape(), [2, 3]);
        assert_eq!(tensor.to_f64(), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    }
}

#[test]
fn every_element_type_survives_a_round_trip() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for dtype in [
        Dtype::Fp32,
        Dtype::Fp16,
        Dtype::Bf16,
        Dtype::Int8,
        Dtype::Int32,
        Dtype::Bool,
    ] {
        let tensor = Tensor::from_f64(dtype, &[2, 1, 2], &[0.0, 1.0, 1.0, 0.0]);
        let path = folder.path().join(dtype.name());
        npy::write(&path, &tensor).expect("the folder can be written");
        let again = npy::read(&path).expect("just written");
        assert_eq!((again.dtype(), again.shape()), (dtype, tensor.shape()));
        assert_eq!(again.bytes(), tensor.bytes());
    }
    let names = fs_err::read_dir(folder.path()).expect("it exists").count();
    assert_eq!(names, 6, "nothing temporary is left");
}

#[test]
fn wide_ints_are_narrowed_or_refused() {
    let header = "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }";
    let data = |second: i64| [3_i64, second].map(i64::to_le_bytes).concat();
    let tensor = read(&file(1, header, &data(-4))).expect("they fit");
    assert_eq!(
        (tensor.dtype(), tensor.to_f64()),
        (Dtype::Int32, vec![3.0, -4.0])
    );
    let error = read(&file(1, header, &data(1 << 40))).expect_err("too wide");
    assert!(error.to_string().contains("1099511627776"), "{error}");
}

#[test]
fn what_is_not_read_is_named() {
    let big_endian = "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }";
    let error = read(&file(1, big_endian, &[0; 4])).expect_err("big endian");
    assert!(error.to_string().contains("`>f4`"), "{error}");
    let short = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
    let error = read(&file(1, short, &[0; 4])).expect_err("half the data");
    assert!(error.to_string().contains("8 bytes"), "{error}");
    assert!(read(b"not a tensor").is_err());
}
