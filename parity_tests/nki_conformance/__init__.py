"""One file per instruction: what the public documentation says, stated in NumPy, and what it forbids."""
