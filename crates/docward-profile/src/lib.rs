//! docward-profile
