"""Quaestor: a transactional queue manager that accounts for itself, and the pipeline that reads the accounts."""

__version__ = "0.1.0"
