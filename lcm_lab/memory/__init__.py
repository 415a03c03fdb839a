"""The session memory that the hooks keep, read for people and analysts: rows, tables, pictures, upkeep."""
