"""What the figures mean: the papers' IF-THEN rules over SMF tables, live sections and settings."""
