"""Tests whether a change made a program slower, by two versions side by side."""
