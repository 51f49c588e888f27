//! Pools and budgets, the choice of a connection method, and clients written out.
