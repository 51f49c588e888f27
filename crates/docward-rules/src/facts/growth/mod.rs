//! Facts about growth: arrays, time series, forecasts, and patterns that limit growth.

pub mod arrays;
pub mod forecast;
pub mod patterns;
pub mod series;
