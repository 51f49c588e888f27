//! Connection strings, taken apart as drivers do, with the place of every part.
