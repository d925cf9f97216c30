"""The language of the queue manager: its words, its pure rules and its reason codes."""
