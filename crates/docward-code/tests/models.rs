//! Tests models in source code, language by language. All tests are one program, because each
//! separate program would have to be linked with all dependencies.

mod common;
mod csharp;
mod fixtures;
mod go;
mod hostile;
mod json_schema;
mod mongoose;
mod php;
mod prisma;
mod pydantic;
mod spring;
