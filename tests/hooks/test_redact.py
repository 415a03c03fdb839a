"""What is masked and what is left alone."""

from __future__ import annotations

import pytest

from lcm_lab.hooks.redact import redact

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\nabc=\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("key sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123 end", "abcdefghijklmnopqrstuvwxyz0123"),
        ("OPENAI sk-proj-AAAABBBBCCCCDDDDEEEE", "BBBBCCCCDDDDEEEE"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "efghijklmnopqrstuvwxyz0123456789"),
        ("github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuv", "ABCDEFG0abcdefghijkl"),
        ("glpat-abcdefghij0123456789", "efghij0123456789"),
        ("xoxb-123456789012-abcdefghijklmn", "123456789012-abcdefghijklmn"),
        ("AKIAABCDEFGHIJKLMNOP", "ABCDEFGHIJKLMNOP"),
        ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "SyA1234567890"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijk", "eyJzdWIiOiIxMjM0In0"),
        ("Authorization: Bearer abcdef0123456789", "abcdef0123456789"),
        ('{"authorization": "Basic dXNlcjpwYXNzd29yZA=="}', "dXNlcjpwYXNzd29yZA"),
        ("postgres://admin:hunter22@db.example/x", "hunter22"),
        ("PASSWORD=hunter2hunter", "hunter2hunter"),
        ('{"password": "correct-horse-1"}', "correct-horse-1"),
        ('\\"api_key\\": \\"a1B2c3D4e5F6g7H8\\"', "a1B2c3D4e5F6g7H8"),
        (
            "export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI7K7MDENGbPxRfiCYEXAMPLEKEY",
            "wJalrXUtnFEMI7K7MDENGbPxRfiCYEXAMPLEKEY",
        ),
        ("token: 9f8e7d6c5b4a39281706", "9f8e7d6c5b4a39281706"),
        (PEM, "MIIEpAIBAAKCAQEA7"),
        (PEM.replace("\n", "\\n"), "MIIEpAIBAAKCAQEA7"),
        (PEM[:50], "MIIEpAIBAAKCAQEA7"),
    ],
)
def test_secrets_are_masked(text: str, secret: str) -> None:
    """The secret is gone, a mark stands there, and a second pass changes nothing."""
    masked = redact(f"before {text} after")
    assert secret not in masked
    assert "[masked " in masked
    assert masked.startswith("before ")
    assert redact(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        '{"max_tokens": 4096, "input_tokens": 12000000}',
        "max_tokens=16384 tokens: 123456789",
        "total_tokens = 1234567890",
        "the token budget: unlimited for now",
        "password: string;",
        "const token = getToken()",
        "secret: ${SECRET_NAME}",
        "api_key = os.environ['KEY_NAME_1']",
        "token = null, password = undefined",
        "see https://example.org/path:80/x@y and user@example.org",
        "sk-learn and risk-averse-decision",
        "the private key is somewhere else",
        "Bearer of bad news",
        "",
        "short",
        "トークン: 数は4096です",
        "git commit 9f8e7d6c5b4a392817060504030201 done",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    """Counts, code, words and hashes are left as they are."""
    assert redact(text) == text


def test_the_rest_of_a_text_stays_byte_for_byte() -> None:
    """Only the secret's own characters change."""
    lines = [f"line {number} with ünïcödé" for number in range(200)]
    lines[77] = "Authorization: Bearer abcdef0123456789"
    masked = redact("\n".join(lines)).split("\n")
    assert masked[:77] + masked[78:] == lines[:77] + lines[78:]
