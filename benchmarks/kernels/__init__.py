"""NPB's kernels at every instruction-set level, beside NPB's own code and its C++ port."""
