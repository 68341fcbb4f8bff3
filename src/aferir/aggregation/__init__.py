"""Several network links used as one: test networks, methods, what each carries, which to choose."""
