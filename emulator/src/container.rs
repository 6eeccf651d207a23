//! The file that the driver writes: both passes of a kernel source, the kernels' names and types, and a hash.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// First bytes of every container.
const MAGIC: &[u8; 8] = b"FAEMUKO\x01";

/// Which cores a kernel runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum KernelType {
    AivOnly,
    AicOnly,
    /// Vector cores only, with cross-core flags.
    MixAiv10,
    /// Cube cores only, with cross-core flags.
    MixAic10,
    MixAic11,
    MixAic12,
}

impl KernelType {
    /// From the argument of `KERNEL_TASK_TYPE_DEFAULT`.
    pub(crate) fn from_name(name: &str) -> Option<KernelType> {
        Some(match name.strip_prefix("KERNEL_TYPE_")? {
            "AIV_ONLY" => KernelType::AivOnly,
            "AIC_ONLY" => KernelType::AicOnly,
            "MIX_AIV_1_0" => KernelType::MixAiv10,
            "MIX_AIC_1_0" => KernelType::MixAic10,
            "MIX_AIC_1_1" => KernelType::MixAic11,
            "MIX_AIC_1_2" => KernelType::MixAic12,
            _ => return None,
        })
    }

    /// From the arguments of `__mix__`.
    pub(crate) fn from_ratio(aic: &str, aiv: &str) -> Option<KernelType> {
        Some(match (aic, aiv) {
            ("0", "1") => KernelType::MixAiv10,
            ("1", "0") => KernelType::MixAic10,
            ("1", "1") => KernelType::MixAic11,
            ("1", "2") => KernelType::MixAic12,
            _ => return None,
        })
    }

    /// Whether it has a cube core, and how many vector cores.
    pub(crate) fn cores(self) -> (bool, usize) {
        match self {
            KernelType::AivOnly | KernelType::MixAiv10 => (false, 1),
            KernelType::AicOnly | KernelType::MixAic10 => (true, 0),
            KernelType::MixAic11 => (true, 1),
            KernelType::MixAic12 => (true, 2),
        }
    }
}

impl std::fmt::Display for KernelType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            KernelType::AivOnly => "AIV_ONLY",
            KernelType::AicOnly => "AIC_ONLY",
            KernelType::MixAiv10 => "MIX_AIV_1_0",
            KernelType::MixAic10 => "MIX_AIC_1_0",
            KernelType::MixAic11 => "MIX_AIC_1_1",
            KernelType::MixAic12 => "MIX_AIC_1_2",
        })
    }
}

/// One kernel of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    pub(crate) kernel_type: KernelType,
}

/// What the container says about itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) npu_arch: String,
    pub(crate) abi: u32,
    pub(crate) kernels: Vec<Kernel>,
    cube_bytes: usize,
    vector_bytes: usize,
    sha256: String,
}

/// A whole container.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    pub(crate) header: Header,
    pub(crate) cube: Vec<u8>,
    pub(crate) vector: Vec<u8>,
}

/// Why bytes are not a container.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ContainerError {
    #[error("this is not an emulated kernel binary; real device binaries cannot run here")]
    Magic,
    #[error("the kernel binary is cut short or altered")]
    Corrupt,
    #[error("the kernel binary was made by another version of the emulator; compile it again")]
    Version,
}

impl Container {
    pub(crate) fn new(
        npu_arch: String,
        abi: u32,
        kernels: Vec<Kernel>,
        cube: Vec<u8>,
        vector: Vec<u8>,
    ) -> Container {
        let sha256 = digest(&cube, &vector);
        let header = Header {
            npu_arch,
            abi,
            kernels,
            cube_bytes: cube.len(),
            vector_bytes: vector.len(),
            sha256,
        };
        Container {
            header,
            cube,
            vector,
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let header = serde_json::to_vec(&self.header).expect("a header has only plain fields");
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&(header.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(&self.cube);
        bytes.extend_from_slice(&self.vector);
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Container, ContainerError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(ContainerError::Magic)?;
        let (length, rest) = rest.split_at_checked(8).ok_or(ContainerError::Corrupt)?;
        let length = u64::from_le_bytes(length.try_into().expect("eight bytes")) as usize;
        let (header, rest) = rest
            .split_at_checked(length)
            .ok_or(ContainerError::Corrupt)?;
        let header: Header = serde_json::from_slice(header).map_err(|_| ContainerError::Corrupt)?;
        if header.abi != crate::abi::ABI_VERSION {
            return Err(ContainerError::Version);
        }
        let (cube, rest) = rest
            .split_at_checked(header.cube_bytes)
            .ok_or(ContainerError::Corrupt)?;
        if rest.len() != header.vector_bytes || digest(cube, rest) != header.sha256 {
            return Err(ContainerError::Corrupt);
        }
        let (cube, vector) = (cube.to_vec(), rest.to_vec());
        Ok(Container {
            header,
            cube,
            vector,
        })
    }
}

fn digest(cube: &[u8], vector: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update(cube);
    hash.update(vector);
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
