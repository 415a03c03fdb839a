"""SQL that gives each message and summary its token number, by the one rule every view uses.

The number is the stored count where that is a number above 0; else the plugin's present rule over what is there: the
larger of the content and the parts, because a message's parts also carry tool payloads and reasoning. A count of
:data:`tokens.SUSPECT_COUNT` or more on a text with an embedded picture is not believed: it may have taken the picture
for text, a million tokens for what costs a flat sum.
"""

from lcm_lab import tokens
from lcm_lab.store.schema import Schema
from lcm_lab.store.text import estimate, octets, payload_estimate, valid_count


def parts_estimate(schema: Schema, message: str) -> str:
    """SQL: tokens of all parts of the message whose id is ``message``; 0 without parts."""

    def column(name: str) -> str:
        return schema.column("message_parts", name, alias="mp")

    payload = payload_estimate("mp", column)
    return f"COALESCE((SELECT sum({payload}) FROM message_parts mp WHERE mp.message_id = {message}), 0)"


def message_estimate(schema: Schema, alias: str) -> str:
    """SQL: tokens of a message by rule ``plugin``, from its content and its parts."""
    return f"max({estimate(f'{alias}.content')}, {parts_estimate(schema, f'{alias}.message_id')})"


def has_picture(alias: str) -> str:
    """SQL: whether a message's count is large enough to have taken an embedded picture for text, and there is one.

    The count is looked at first: to look for pictures in every text would cost more than all the rest.
    """
    # As a CASE, because SQLite evaluates both sides of an AND whose value is asked for.
    content = f"{alias}.content"
    found = f"{octets(content)} >= {tokens.PICTURE_FROM} AND instr({content}, ';base64,') > 0"
    return f"CASE WHEN {alias}.token_count >= {tokens.SUSPECT_COUNT} THEN {found} ELSE 0 END"


def message_tokens(schema: Schema, alias: str) -> str:
    """SQL: the token number of a message: stored where valid, else estimated."""
    estimated = message_estimate(schema, alias)
    stored = valid_count(f"{alias}.token_count")
    return f"CASE WHEN {has_picture(alias)} THEN {estimated} ELSE COALESCE({stored}, {estimated}) END"


def message_estimated(alias: str) -> str:
    """SQL: 1 where :func:`message_tokens` is an estimate, 0 where it is the stored count."""
    invalid = f"{valid_count(f'{alias}.token_count')} IS NULL"
    return f"CASE WHEN {invalid} THEN 1 ELSE {has_picture(alias)} END"


def message_rule(alias: str) -> str:
    """SQL: which rule gave :func:`message_tokens`: ``stored`` or ``estimated``."""
    return f"CASE WHEN {message_estimated(alias)} THEN 'estimated' ELSE 'stored' END"


def summary_tokens(alias: str) -> str:
    """SQL: the token number of a summary: stored where valid, else estimated."""
    return f"COALESCE({valid_count(f'{alias}.token_count')}, {estimate(f'{alias}.content')})"


def summary_rule(alias: str) -> str:
    """SQL: which rule gave :func:`summary_tokens`."""
    return f"CASE WHEN {valid_count(f'{alias}.token_count')} > 0 THEN 'stored' ELSE 'estimated' END"
