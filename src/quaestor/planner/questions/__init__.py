"""The questions a planner must be able to answer, by subject: each function answers one for a load."""
