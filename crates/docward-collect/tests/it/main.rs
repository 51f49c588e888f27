//! Files as people have them, built here, read back through the public interface.

mod archives;
mod damage;
mod dumps;
mod loose;
mod real_data;
mod running;
mod support;
mod zips;
