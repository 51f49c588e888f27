//! Defaults.
use docward_model::Driver;
/// x
pub struct Default;
/// x
pub struct Defaults;
/// x
pub struct Since;
/// x
pub fn defaults(_: Driver) -> Defaults {
    Defaults
}
