"""The structures of SMF 115 and 116, one module per manager that counts into them."""
