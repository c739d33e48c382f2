"""One file per operation: modules, autograd wiring, NKI kernels and torch reference."""
