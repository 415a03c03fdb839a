"""Session files of OpenClaw on disk, read tolerantly and never written.

The room's modules, from the ground up: :mod:`lines` (bytes to lines), :mod:`flatten` (content to text), :mod:`jsonl`
(lines to entries), :mod:`branch` (which entries are on the active branch), :mod:`host_db` (OpenClaw's own SQLite
store), :mod:`state` (the state folder and its agents), :mod:`discover` (an agent's list of sessions), :mod:`match`
(sessions to conversations).
"""
