"""The LCM store as it lies on disk: schema found by looking, connections, rows, every SELECT, search."""
