//! docward-report
