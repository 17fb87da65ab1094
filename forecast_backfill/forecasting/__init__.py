"""Features, models and their accuracy."""
