r"""Telling a summary from a reply that talks to somebody: a refusal, a question back, an acknowledgement, a heartbeat.

A pattern counts only where a chat reply has it: at the very start of the text, or at the start of the last sentence of
a short one. Quotation marks before it are not skipped, so a text that opens with what somebody said is a summary. The
invariant: a summary in the third person is never taken for chatter. Checked by ``tests/repairs/test_verdict.py``.
"""

import re
from typing import Final

from lcm_lab import tokens

LONGEST_REFUSAL: Final = 250
LONGEST_QUESTION: Final = 90
LONGEST_GREETING: Final = 45
"""Tokens up to which a text of the kind is chatter; beyond it, it holds more than that."""


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in patterns), re.IGNORECASE)


_ACKNOWLEDGEMENT: Final = _any(
    r"[a-z]+(?:_[a-z]+)+|null|none|n/?a|yes|no|ready|done|sure|ok(?:ay)?|understood|acknowledged|got it",
    r"verstanden|erledigt|alles klar|compris|fait|d'accord|entendido|hecho|feito|capito|fatto|понятно|понял|готово",
    r"好的?|明白了?|收到|了解|完成|了解しました|承知しました|알겠습니다|완료",
)
_WORD_OF_A_MACHINE: Final = re.compile(r"[A-Z]{3,}")

_NOT_ABLE: Final = r"(?:can't|can not|cannot|won't|couldn't|don't|do not|unable|not able)"
_TO_SERVE: Final = (
    r"(?:help|assist|comply|do (?:that|this)|summari[sz]e|provide|fulfil|continue|process|create|generate|complete"
    r"|access|see|view|read|discuss|engage|produce|write)"
)
# At the start of the text. Apostrophes are straight there, and spaces single.
_REFUSAL: Final = _any(
    rf"(?:i'm|i am) (?:very |really |so )?sorry,? (?:but )?i(?: am|'m)? ?{_NOT_ABLE}",
    rf"(?:sorry|apologies|i apologi[sz]e|my apologies),? (?:but |however,? )?i(?: am|'m)? ?{_NOT_ABLE}",
    r"(?:unfortunately,? )?i(?: am|'m) (?:unable|not able) to",
    rf"(?:unfortunately,? )?i (?:can't|can not|cannot|won't|will not) {_TO_SERVE}\b",
    r"as an ai(?: language)?(?: model| assistant)?,? i\b",
    r"(?:es )?tut mir (?:sehr )?leid,? (?:aber )?(?:ich|das|dabei)\b",
    r"(?:entschuldigung|leider)[,:]? (?:aber )?(?:ich kann|kann ich|darf ich)\b",
    r"ich kann (?:dir|ihnen|das|dies\w*|dabei|hier)\b[^.]{0,60}\bnicht\b|ich kann nicht helfen",
    r"(?:je suis )?(?:vraiment )?désolée?,? (?:mais )?je\b",
    r"je ne (?:peux|suis) pas (?:en mesure|vous|faire|résumer|répondre|fournir|aider|traiter)",
    r"lo siento,? (?:pero )?no (?:puedo|tengo|me es)",
    r"no puedo (?:ayudar|resumir|hacer|proporcionar|procesar|cumplir|completar)",
    r"(?:desculpe|lamento|sinto muito),? (?:mas )?(?:eu )?não (?:posso|consigo)",
    r"mi dispiace,? (?:ma )?non posso",
    r"(?:извините|простите|к сожалению)[,!]? (?:но )?(?:я )?не (?:могу|смогу|в состоянии)",
    r"(?:很|非常)?(?:抱歉|对不起|對不起)[，,。！! ]*(?:但|我|无法|無法|不能)",
    r"(?:作为|作為)(?:一个|一個)?(?:ai|人工智能|语言模型|大语言模型)",
    r"我(?:无法|無法|不能)(?:帮助|协助|提供|总结|完成|处理|满足|回答)",
    r"(?:申し訳(?:ありません|ございません)が|すみませんが|恐れ入りますが)",
    r"(?:죄송하지만|죄송합니다)",
)
# At the start of the last sentence.
_QUESTION: Final = _any(
    r"(?:what|how|which)(?: else)? (?:would|do|can|could|may|should|shall) (?:you|i)\b.{0,140}\?$",
    r"(?:would you like|do you want|shall i|should i|may i|can i)\b.{0,140}\?$",
    r"(?:could|can|would) you (?:please )?(?:provide|share|paste|send|clarify|specify|tell me|give me)\b",
    r"please (?:provide|share|paste|send|clarify|let me know|tell me|specify)\b",
    r"(?:just )?let me know (?:if|what|how|which|when|whether)\b",
    r"(?:wie|womit) kann ich\b.{0,40}(?:helfen|dienen)|was (?:soll|kann) ich\b.*\?$|was möchte(?:st du|n sie)\b",
    r"(?:comment|en quoi) puis-je (?:vous|t')|que (?:souhaitez|voulez)-vous\b",
    r"¿ ?(?:en qué|cómo|qué) (?:puedo|te|le|quieres|quiere|desea)\b",
    r"(?:como|em que) posso (?:ajudar|te|lhe)|(?:come|in cosa) posso aiutar",
    r"чем (?:я )?могу (?:вам |тебе )?помочь",
    r"(?:请问)?(?:我能|有什么|需要我|您需要|你需要|您希望|你希望).{0,50}[？?]$",
    r"(?:何を|何か|どのような|どのように).{0,30}(?:お手伝い|しましょう|ご希望)",
    r"무엇을 도와",
)
_NOTHING_THERE: Final = re.compile(
    r"(?:it (?:looks|seems) like )?(?:i (?:don't|do not) see|there(?:'s| is| was)(?: no|n't)|you (?:haven't|didn't)) "
    r".{0,40}(?:conversation|text|content|transcript|messages?|file)",
    re.IGNORECASE,
)
_LEAD: Final = re.compile(r"^(?:so|now|and|okay|ok|sure|well|then)[,!:]? ", re.IGNORECASE)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?]) |(?<=[。！？])|\n+")
_GREETING: Final = _any(
    r"sure(?: thing)?|of course|certainly|absolutely|ok(?:ay)?|got it|understood|hello|hi|hey|hi there|all ?right",
    r"great|thanks|thank you|no problem|happy to help|gerne|natürlich|hallo|bien sûr|bonjour|claro|por supuesto|hola",
    r"olá|certo|ciao|конечно|здравствуйте|привет|当然|好的|你好|您好|もちろん|はい|こんにちは|네|안녕하세요",
)
_AFTER_GREETING: Final = re.compile(r"[!,.:;—–！，。、]| -")
_ADDRESSED: Final = re.compile(
    r"\b(?:i|i'll|i'm|i've|me|you|your|let's|ich|du|sie|dir|ihnen|je|vous|yo|usted|eu|você|я|вы|вам)\b"
    r"|[我您你]|あなた|제가",
    re.IGNORECASE,
)
_PREAMBLE: Final = re.compile(
    r"(?:(?:sure|of course|certainly|absolutely|okay|ok|gerne|natürlich|bien sûr|claro)[!,.:]? ?)?"
    r"(?:here(?:'s| is| are)|below is|hier (?:ist|kommt)|voici|aquí (?:está|tienes)|aqui está|ecco|вот"
    r"|以下是|这是|以下は)"
    r" ?[^.\n]{0,60}(?:summary|zusammenfassung|résumé|resumen|resumo|riassunto|резюме|摘要|总结|要約)[^.\n]{0,60}[:：]",
    re.IGNORECASE,
)


def chatter(text: str) -> str | None:
    """What kind of chat a reply is, as the end of "the reply is ..."; None for a summary.

    >>> chatter("HEARTBEAT_OK"), chatter("Sure! What would you like me to do?")
    ('a bare acknowledgement', 'a question back')
    >>> chatter('"Sure!" said the user when asked whether port 443 is right.') is None
    True
    """
    plain = _plain(text)
    bare = plain.strip(" \n.!*_`'\"。！")
    if _ACKNOWLEDGEMENT.fullmatch(bare) or _WORD_OF_A_MACHINE.fullmatch(bare):
        return "a bare acknowledgement"
    size = tokens.plugin_tokens(plain)
    if size <= LONGEST_REFUSAL and _REFUSAL.match(plain):
        return "a refusal"
    if size <= LONGEST_QUESTION and (_QUESTION.match(_last_sentence(plain)) or _NOTHING_THERE.match(plain)):
        return "a question back"
    greeting = _GREETING.match(plain) if size <= LONGEST_GREETING else None
    if greeting and _AFTER_GREETING.match(plain, greeting.end()) and _ADDRESSED.search(plain):
        return "talk to the user"
    return None


def preamble(text: str) -> str | None:
    """The words a reply puts before its summary (``Here is the summary:``); None where it starts with the summary."""
    found = _PREAMBLE.match(_plain(text))
    return None if found is None else found.group()


def _plain(text: str) -> str:
    """``text`` with straight apostrophes and single spaces, line ends kept, without decoration at its start."""
    straight = text.replace("\u2019", "'").replace("\u02bc", "'").strip().lstrip("*_#>` ")
    return re.sub(r"[ \t]+", " ", straight)


def _last_sentence(plain: str) -> str:
    sentences = [one.strip() for one in _SENTENCE_END.split(plain) if one.strip()]
    return _LEAD.sub("", sentences[-1], count=1) if sentences else ""
