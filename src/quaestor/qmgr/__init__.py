"""The queue manager: one module per manager, in one legal order of imports."""
