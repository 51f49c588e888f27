//! Tests with the real binary. All tests are one program, because each separate program would have
//! to be linked with all dependencies.

mod adoption;
mod ci_files;
mod cli;
mod cluster;
mod common;
mod connect_check;
mod connect_plan;
mod connect_sdk;
mod data_sets;
mod design;
mod design_simulate;
mod evidence;
mod first_screen;
mod guard;
mod guard_cleanup;
mod guard_clients;
mod guard_operation;
mod languages;
mod lint;
mod lint_changes;
mod lint_fixes;
mod live;
mod live_workload;
mod logs;
mod page;
mod proposals;
mod pushdown;
mod ranges;
mod recipes;
mod schema;
mod schema_live;
mod secrets;
mod security;
mod shardkey;
mod stories;
