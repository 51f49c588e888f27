//! Pool sizes and budgets, the choice of a connection method, and generated clients.
//!
//! The functions compute numbers and texts from numbers. They do not read files, query servers or
//! read a clock. `docward connect` does that, and `docward-report` formats the results.

mod amount;
mod choose;
mod driver;
mod lock;
mod method;
mod plan;
mod reading;
mod scenario;

pub mod sdk;
mod skew;

pub use amount::{Amount, AmountFault};
pub use choose::{
    Budget, Choice, ChooseInput, Comparison, FEW_CLIENTS_FACTOR, Reason, choose, uri_form,
};
pub use driver::{Driver, DriverFault, Language, SrvSupport, Version};
pub use lock::{LOCK_FILES, LockedDriver, drivers_in};
pub use method::Method;
pub use plan::{
    CONNECT_TIMEOUT_MS, Deployment, Given, Gravity, Load, MAX_IDLE_MS, MIN_POOL, Plan, Platform,
    Pool, ServicePlan, Verdict, WAIT_QUEUE_MS, Warning, base_demand, plan, pool_for, share_text,
};
pub use reading::{ReadAdvice, read_preference};
pub use scenario::{Advice, Scenario, Scenarios, fitting_clients, scenarios};
pub use skew::{ALARM, Skew, route, simulate};
