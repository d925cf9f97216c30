"""The rules, one module per manager, in the order of the managers."""
