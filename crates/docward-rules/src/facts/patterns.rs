//! Collections that already follow a pattern of the rule book, so that they are told so and not
//! flagged for it (PT-*, GC-04, GC-49).
