//! Decides a single relationship or entity: facts, votes and patterns.

pub(crate) mod alternative;
pub(crate) mod attribute;
pub(crate) mod decision;
pub(crate) mod derive;
pub(crate) mod entity_patterns;
pub(crate) mod facts;
pub(crate) mod flip_points;
pub(crate) mod pattern;
pub(crate) mod preview;
pub(crate) mod relationship_patterns;
pub(crate) mod vote;
