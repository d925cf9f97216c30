"""IBM's Python API, unmodified, on a Quaestor queue manager."""
