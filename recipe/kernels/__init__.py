"""One file per operation: its module for each implementation, its autograd wiring, its NKI kernels and its torch reference."""
