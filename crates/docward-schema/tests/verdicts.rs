//! Schemas and validators: what we say of documents, held against what servers say.
//! One program: each of its own would be built and linked with everything that Docward rests on.

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
