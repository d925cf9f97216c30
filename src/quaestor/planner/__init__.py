"""The papers' formulas and tables as typed pure functions: how large, how fast, how long."""
