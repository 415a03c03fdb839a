"""A conversation with many leaves below one summary, as SQL for a small store."""

from lcm_lab.analysis.health import markers


def wide(count: int, *, broken: bool = False) -> str:
    """Conversation 46: so many leaves of two messages each, and ``w_top`` in the context, made from all of them."""
    text = f"old text of %d{chr(10)}{markers.FALLBACK}" if broken else "old text of %d"
    sql = ["INSERT INTO conversations(conversation_id, session_id) VALUES (46, 's46');"]
    for i in range(count):
        first, leaf = 1000 + 2 * i, f"w_{i:03}"
        sql.append(
            f"""INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count, created_at) VALUES
            ({first}, 46, {2 * i}, 'user', 'Question {i}', 3, '2026-04-01 10:{i % 60:02}:00'),
            ({first + 1}, 46, {2 * i + 1}, 'assistant', 'Answer {i}', 3, '2026-04-01 10:{i % 60:02}:30');
            INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count, created_at)
            VALUES ('{leaf}', 46, 'leaf', 0, '{text % i}', 4, '2026-04-02 10:{i % 60:02}:00');
            INSERT INTO summary_messages VALUES ('{leaf}', {first}, 0), ('{leaf}', {first + 1}, 1);"""
        )
    sql.append(
        f"""INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count)
        VALUES ('w_top', 46, 'condensed', 1, 'old text of the top{chr(10) + markers.FALLBACK if broken else ""}', 9);
        INSERT INTO context_items(conversation_id, ordinal, item_type, summary_id) VALUES (46, 0, 'summary', 'w_top');"""
    )
    sql += [f"INSERT INTO summary_parents VALUES ('w_top', 'w_{i:03}', {i});" for i in range(count)]
    return "\n".join(sql)
