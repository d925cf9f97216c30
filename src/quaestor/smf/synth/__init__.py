"""Believable SMF dumps from a workload profile: what an installation would have written, and what went wrong in it."""
