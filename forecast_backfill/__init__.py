"""Rebuild forecast history beside the nightly run, with proof that the result is right."""

__version__ = "0.1.0"
