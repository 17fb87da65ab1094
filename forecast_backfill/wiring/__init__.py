"""Builds adapters and hands them to the application, one module for each use of them."""
