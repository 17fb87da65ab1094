"""Where source files come from: layout, reader, and the writer that lands real data."""
