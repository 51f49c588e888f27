//! Names and values in the syntax of mongosh, for messages. Statements of remedies are written by
//! [`docward_model::mongosh`].

pub use docward_model::shell::{collection, database, key, quote, quoted_key, value};
