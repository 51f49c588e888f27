//! Compares Docward's verdicts on schemas and validators with those of servers. A single test
//! program, because each separate one would link all dependencies again.

mod cases;
mod compared;
#[path = "generate/conditions.rs"]
mod conditions;
mod explained;
mod generate;
mod live;
#[path = "generate/orders.rs"]
mod orders;
mod queries;
mod validators;
