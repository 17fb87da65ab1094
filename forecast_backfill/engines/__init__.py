"""Engines: read bytes, validate, transform, fingerprint."""
