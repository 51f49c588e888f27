//! docward-config
