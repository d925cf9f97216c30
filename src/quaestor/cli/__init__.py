"""The command line: one module per noun; parse, call, print."""
