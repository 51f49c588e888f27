//! Models read out of source code, language by language.
//! One program: each of its own would be built and linked with everything that Docward rests on.

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
