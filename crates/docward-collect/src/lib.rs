//! docward-collect
