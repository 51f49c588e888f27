//! Programs of other languages through the proxy.
