"""SMF 115 and 116: read, write, print and synthesise the records a queue manager counts into."""
