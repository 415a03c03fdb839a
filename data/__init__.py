"""The demo store as text, schema snapshots, and the builders that make stores from them."""
