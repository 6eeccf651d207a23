//! The backend for general-purpose processors.
