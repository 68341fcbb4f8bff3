"""NAS Parallel Benchmarks: by threads, by messages, and the reference implementation."""
