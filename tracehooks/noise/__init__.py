"""Noise: known questions, their noisy variants, the files that hold them, and what a replay's scores mean."""
