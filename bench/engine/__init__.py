"""What the queue manager promises, measured beside what a user would take instead."""
