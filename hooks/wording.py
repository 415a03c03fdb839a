"""The words by which people and agents announce decisions, limits, faults and finished work, in three languages.

Idea: one pattern per kind of evidence, written as data, so the rules in `classifier` stay short and a language is added
here alone. English patterns see the sentence in lower case with code replaced by a mark; the Japanese and Chinese ones
see it as it is written.
Invariant: nothing is compiled at import; a language costs nothing until its script turns up in a text. A line break and
the spaces behind it are layout, not pattern.
Checked in tests/hooks/test_classifier.py.
"""

from __future__ import annotations

CODE = "¤"  # stands for `code`, a path or a link: names like parse_error must not count as words

EN = {
    # speech acts that carry no judgment, whatever words they contain
    "narration": r"""
        ^(?:(?:ok|okay|good|great|perfect|right|yes|yeah|now|first|next|then|so|ah|hmm|wait|also|and|but|sorry|
        understood|interesting|good (?:question|point|catch|idea|progress)|got it|you're right|i see|
        fair (?:enough|point))\b[\s,.!:;—–-]*)*(?:let me|let's see|let's (?:check|look|verify|run|try|also|now|
        first|do this)|i'll (?:help|start|first|now|check|look|read|explore|investigate|run|verify|review|
        let you|invoke|execute|spawn)|i'm (?:using|going|continuing)|(?:i|we) (?:also )?(?:need|have) to|
        i see the test|now (?:let|update|add|fix|run|check|look|for|to|implement|register|verify|i (?:can|see|
        need|understand|have))|time to|(?:check|look|runn|read|test)ing\b(?!.*, ))
    """,
    "offer": r"""
        \b(?:want me to|would you (?:like|prefer|rather)|should (?:i|we)\b|shall (?:i|we)|do you want|
        which (?:one|approach|option|would)|i'd (?:suggest|recommend|say|propose)|my (?:recommendation|
        suggestion)|recommendation:|proposed fix|suggest(?:s|ed)?\b|you(?:'d| could| can| might| may)\b(?!'t)|
        we could|could (?:also|just|either)|one option|option [a-d1-9]\b|maybe|perhaps|probably|(?:simplest|
        easiest|quick(?:est)?|best) (?:way|fix:)|might want|if you (?:want|like|prefer)|consider\b|
        rather than speculate|feel free|arguments? for|ready (?:to|for)\b.*\?)
    """,
    # a bare imperative in an answer: a step, not a fact
    "plan": r"""
        ^(?:also )?(?:add|update|fix|implement|reset|remove|create|run|use|check|verify|make|move|set|test|
        write|change|replace|rename|refactor|keep|register|ensure|rebase|extract|investigate|reproduce|document|
        try|merge|just)\b(?! (?:passes|suite|fails|failed))
    """,
    "question": r"""
        \?[\s\"')*_]*$
    """,
    "condition": r"""
        ^(?:[\w ()-]{2,40}: |[^,]{3,40}, )?(?:if|unless|whenever|in case|suppose|assuming|when (?:you|the|a|an|
        it))\b
    """,
    # against a fault: it is over
    "mended": r"""
        \b(?:fixed|resolved|cleared|corrected|no longer|not anymore|now (?:works?|pass|passes|handles?|
        correctly|properly)|works? (?:now|correctly|fine|as expected)|(?:is|are|looks?) (?:now )?(?:clean|fine|
        ok|correct|good|intact)|no (?:errors?|issues?|problems?|failures?|warnings?|concerns?|regressions?)\b|
        without (?:errors?|issues?|problems?)|0 (?:errors|failures|failed)|as expected|expected behaviou?r|
        already (?:fixed|handled|covered)|so (?:this|that|it) (?:doesn't|won't)|previously|before the fix|
        used to\b|in case)
    """,
    # faults; each of these counts, see classifier.WEIGHTS
    "fault_named": r"""
        \b(?:there(?:'s| is| are)(?: also| still| now)? (?:an?|another|one|some|several|\d+)\b[^.]{0,40}?(?:bug|
        issue|problem|error|mismatch|regression|race|leak|failure|gap|flaw|discrepanc|duplication|conflict|
        failing)\w*|(?:real|root|actual|main|remaining|core|underlying|the|only|this|another|important|whole|
        one) (?:issue|problem|bug|root cause|cause|culprit|concern|blocker|
        risk)s?(?: here| now)?(?: \([^)]*\))?(?: to track[^:]*)?(?:\s*[:—–]| is\b| are\b| isn't\b| remains)|
        (?:has|have|hit|found|is|as) (?:the same|a|an|one more|another|\d+) (?:\w+ )?(?:bug|issue|problem|error|
        fault|mismatch|stale)s?\b|problem found|this is (?:\w+ |%|¤ ){0,6}bug\b|(?:errors?|failures?) (?:is|
        are) (?:in|coming|from)\b|\bsame (?:problem|issue|bug|error)\b|smoking gun|culprit|race condition|
        deadlock|memory leak|infinite loop|data loss|merge conflicts?|security hole|vulnerabilit|
        compiler errors?|typo in|regression in|bad default)
    """,
    "fault_verb": r"""
        \b(?:(?:is|are|was|were|still|keeps?|now|tests?|build|check|lint|hook|it|run|job|command|request|call|
        conversion|¤) (?:still |now |also )?(?:fail(?:s|ing|ed)?|crash(?:es|ed|ing)?|broke(?:n)?|breaks?|
        corrupt(?:s|ed|ing)?|hang(?:s|ing)?|tim(?:es?|ed) out|leak(?:s|ing)?)\b|unable to|refus(?:es|ed) to|
        (?:can't|cannot) (?:read|find|open|load|connect|use|import|resolve|be read)|silently|silent (?:failure|
        data|corruption)|block(?:s|ing) |failing|keeps? (?:coming back|happening|failing)|(?:happened|broke|
        failed) again|overwrit(?:es|ing) (?:existing|the)|throws?|panics?|produces? (?:invalid|wrong|garbage)|
        won't archive|conflicts with|out of sync|left behind|behind main|is behind|permission denied|
        not found\b|segfault|out of memory)
    """,
    "fault_not": r"""
        \b(?:(?:doesn't|does not|don't|do not|didn't|did not|isn't|is not|aren't|are not|won't|can't|cannot|
        could not|couldn't|wouldn't|would not|fails to|never) (?:\w+ )?(?:work|handle|exist|support|respect|
        cover|trigger|match|compile|implement|include|check|validate|create|read|test|parse|return|update|
        account|pad|pass|build|load|call|catch|set|register|restore|survive|clear|reach|propagate|close|find|
        show|mention|explain|archive|fire|run|start|render|terminate|flush|write|save|log|sync|apply|respond|
        connect|install|resolve)\w*\b|wasn't|weren't)
    """,
    "fault_only": r"(?:\b(?:it|they|which|that|and|but|only) only (?:\w+s)\b|[—–-] ?only \w+s\b|n't any\b)",
    "fault_gap": r"""
        \b(?:(?:there(?:'s| is| are)|have|has|with|^|still) (?:currently |still )?no (?:tests?|\w+ tests?|
        test coverage|\w+ coverage|validation|handling|existing|error handling|checks?|support|docs|
        documentation|indication|link|explicit)\b|not (?:yet |currently )?(?:covered|tested|registered|handled|
        implemented|supported|included|wired|documented|finished|done|updated)\b|(?:hasn't|haven't|has not|
        have not) (?:been|yet|\w+ed (?:any|the))|lacks?\b|(?:don't|doesn't|do not|does not) have (?:any|an?|
        \w+ tests?|tests?)\b|(?:shouldn't|should not) be (?:there|here)|(?:couldn't|could not) be \w+ed|
        does not explain|doesn't exist|(?:is|are) (?:defined .{0,40})?(?:never|not) used\b|never used\b)
    """,
    "fault_cry": r"!$",
    # "the missing file" speaks of a fault that is known already; "a missing file" and "is missing" tell of one
    "fault_word": r"""
        (?:\b(?:is|are|was|were|be|been|isn't|stays?|still|has|have|it's|they're|with|a|an|\d+\+?|several|some|
        another|more|fully|also|again|looks?|points? to|as|becomes?|of|will|what's|that's|can|keeps) (?:now |
        still |also |completely |fully |a |an |\w+ly |one |more |\w+ )?(?:broken|missing|lacking|lacks|stale|
        outdated|obsolete|incorrect|invalid|garbage|misleading|inconsistent|inconsistency|orphaned|duplicated|
        duplication|redundant|hard-?coded|dangling|unhandled|untested|misnamed|mismatch\w*|swallowed|flaky|
        corrupt(?:s|ed|ing|ion)?|unreliable|insecure|incomplete|out of date|magic (?:string|number)s?|garbled|
        broke)\b|^(?:\W|¤|[\w :/()-]{0,40}[:—–-] |but |and |so |important )*(?:broken|missing|lacking|lacks|
        stale|outdated|obsolete|incorrect|invalid|garbage|misleading|inconsistent|inconsistency|orphaned|
        duplicated|duplication|redundant|hard-?coded|dangling|unhandled|untested|misnamed|mismatch\w*|swallowed|
        flaky|corrupt(?:s|ed|ing|ion)?|unreliable|insecure|incomplete|out of date|magic (?:string|number)s?|
        garbled|broke)\b)
    """,
    "hedge": r"\b(?:may|might|could|would|likely|probably|can happen|in theory|hit \d)\b",
    "past": r"\b(?:was|were|had|didn't|did not|wasn't|weren't|originally|original|the old|previously)\b",
    "harmless": r"""
        (?:✓|^¤ ?\(?[^)]{0,12}\)? ?[-–—] )|\b(?:harmless|is gone|(?:can|could) see the (?:issue|problem)|
        found the (?:issue|problem)|instead of (?:silently|corrupt|fail|crash)\w*|fails fast|gracefully|
        never (?:crash|fail|break)\w*|falls? back|reproduc\w+|if that's the case|we now|now properly|no longer|
        nothing|not a (?:problem|bug|corruption)|no (?:\w+ )?(?:broken|missing|stale|orphaned|conflicts?|
        corrupt)|(?:doesn't|does not|isn't|is not|aren't|not) (?:cause|com|the cause|a bug)|without \w+,|
        (?:issue|problem|bug|error|cause) was\b|(?:problem|issue) is the same|test that|
        (?<!n't )(?<!not )handles? |reported as|
        edge cases?)
    """,
    "contrast": r"""
        (?:^|[\s,;—–-])(?:but|however|yet|although|even though|instead|unfortunately|except|still)\b
    """,
    "fault_maybe": r"""
        \b(?:wrong|ignored|skipped|dropped|lost|unsupported|undefined|unreachable|unrelated|unnecessary|
        conflict(?:s|ing)?|loses|fails?|error(?:s)?|failure|unexpected(?:ly)?)\b
    """,
    "fault_todo": r"""
        (?:\btodo\b|\bfixme\b|\bfollow-?up\b|\bstill (?:need|missing|open|waiting|references?|broken|to do)\b|
        \bneeds? (?:to be )?(?:fix|updat|rebas|test|review|clean|migrat|rewrit|document|registr|rework)\w*|
        \bremains? (?:open|unresolved|to)|\bunresolved|\bnot yet\b|\bneed to (?:refactor|confirm|fix)|
        \bwork in progress|\bnot finished)
    """,
    "fault_error": r"""
        (?:^|[\s:(\"'])(?:error|fatal|panic|exception|traceback|api error|syntaxerror|typeerror)\b[^a-z]{0,3}:|
        \bexit(?:ed with)? (?:code|status) [1-9]|\bcannot use ¤?.* as\b|^(?:error|fatal|panic)\b.{0,12}[:\[]
    """,
    "fault_user": r"""
        \b(?:(?:just |has |it )?(?:happened|broke|failed) (?:again|twice)|has broken|is broken|
        i(?:'m| am) (?:still |currently |now )*(?:getting|seeing)|(?:doesn't|does not|isn't|not|won't|
        didn't) (?:work|update|seem|correct|right|adhere|show|change)\w*|barfed|blew up|crash\w*|fails?\b|
        (?:getting|seeing|hit|got|this|same|there's) (?:an? |the )?(?:bug|error|crash)\b|yuck|what's (?:lacking|
        missing|wrong)|is wrong|looks? (?:wrong|off|weird|broken)|messed up|fuck\w* (?:up|good)|fucked|
        explod\w+|wtf|weird|is too \w+|are too \w+|still (?:looks?|shows?|the same|broken|fails|not)|
        not everything|artifacts?|stuck|stopped by|merge conflicts?|reproduc\w+)
    """,
    "fault_loud": r"""
        \b(?:broken?|again|getting|seeing|crash\w*|doesn't work|not working|barfed|failing|fails)\b
    """,
    # decisions
    "choose_strong": r"""
        ^(?:\W|ok(?:ay)?|yes|yeah|yep|no|nope|hmm|sure|right|cool|alright|and|so|then|well|oh|good|great|please|
        actually|,)*\s*(?:put|keep|move|leave|use|call|name|store|stick|switch|go with|drop|skip)\b
    """,
    "choose_ask": r"""
        ^(?:how about|what if we|can (?:we|you)|could (?:we|you)|would it)\b(?!.* or ).*\b(?:instead of|
        rather than|from scratch|in a (?:new|separate)|as a (?:new|separate))\b|^how about\b
    """,
    "choose_rule": r"^if .{5,90}\b(?:then|call|print|return|show|exit|ask|fall back|skip|use)\b|\s(?:→|->)\s",
    "choose_user": r"""
        ^[a-d]\) (?!why|what|how|is|are|do|does|can|should|where|when)|^(?:\W|ok(?:ay)?|yes|yeah|yep|no|nope|
        hmm|hm|sure|right|cool|alright|and|so|then|well|oh|good|great|please|[a-e1-9][.):]|
        ,)*\s*(?:let's (?!look|see|check|think|discuss|talk|not\b|jump)|i(?:'d| would) (?:prefer|rather|like)|
        (?:we )?(?:don't|do not) need to|(?:that|it|this) should (?:be|use|go|live)|
        (?:the )?¤?[\w /]{2,40}? should (?:be|stay|return|use|have|go|live)\b|no,? (?:the|it|that|we)\b|
        i'll do |i (?:prefer|want|figure|think (?:we|that|it)|choose|pick|decided)|
        we(?:'ll| will| should| can skip| need to)\b|(?:put|use|keep|make|move|rename|drop|skip|leave|go with|
        stick (?:with|to)|switch|do it|do this|call|name|pick|choose|take|write|run|start|create|build|add|
        remove|replace|store|each|the (?:idea|plan|goal|rule|point|intention) is)\b)
    """,
    "choose_mark": r"""
        \b(?:instead of|rather than|let's (?:do|use|keep|move|start|make|just)|go back|for now|as a separate|
        separately|go with|going with|prefer|let's go with|in (?:#?\d+|a (?:new|separate))|only |simply|first|
        before |by default|we don't need|no need to|don't need to|use |should (?:be|have|use|return|live|go|
        just)|manually|in the background|from scratch|either|always)\b
    """,
    "choose_assistant": r"""
        \b(?:(?:i'll|i will|we'll|we will|let's|i need to|let me|i should|we should)\b.{0,60}?\b(?:instead of|
        rather than|replac(?:e|ing)\b.{0,80}\bwith|as (?:an? )?(?:interim|stopgap|temporary|fallback|
        workaround))|i(?:'ll| will) (?:use|replace|pass|keep|skip|go with|store|put|make|treat|
        add .{0,60}(?:before|after|around)|update .{0,60}to (?:follow|use|show))|(?:is|are) the right (?:tool|
        choice|approach|way)|(?:the )?(?:correct|right|simplest|cleanest|best|intended) (?:behaviou?r|approach|
        solution|way|choice|fix) (?:is|uses|here|to)\b|decided (?:to|on|that|against)|decision:|
        we(?:'re| are) going with|going with|chose(?:n)? |(?:skipped|acceptable|deferred|postponed|rejected) \(|
        we'll .* in #?\d+|so (?:we|i)(?:'ll| will) |^using .* so\b|focus on .* first|(?:understood|agreed|
        got it)\b.{0,8}you want|i won't|^(?:you're right\W+|agreed\W+|so )*we should (?:add|use|keep|make|do|
        remove|store|treat|commit)\b|(?:the|we|logic|handlers?|code) should (?:use|live|rely on|go (?:in|into|
        to)|own)\b|i'll do (?:it|this|that) (?:in|by|with|as))
    """,
    # what a user asks for is the turn's intent, not a fact
    "request": r"""
        ^(?:\W|ok|and|also|then|,)*(?:can|could|would|will|please|do|does|is|are|what|how|why|where|which|show|
        tell|help|give|find|explain|fix)\b|^\S+( \S+){0,3}$
    """,
    # the line above a list
    "lead_done": r"""
        \b(?:(?:issues|problems|bugs) (?:fixed|addressed|resolved)|changes? made|summary of (?:\w+ )*changes|
        what (?:was|i|we) (?:fixed|changed|did|added|have done)|implemented|completed|changes in this commit|
        here's what (?:was|i) \w+|was fixed|what changed|now has|addressed|fixes|done(?! well))\b
    """,
    "lead_offer": r"""
        \b(?:options?|want me to|alternatives?|approach(?:es)?|recommend\w*|suggest\w*|would you|should|could|
        patterns?|arguments?|proposed?|plan|manual verification|tests?|scenarios?|next steps?|to merge|you can|
        possible|potential|either)\b
    """,
    "lead_faults": r"""
        \b(?:\d+ (?:\w+ )?(?:issues|problems|comments|bugs)|found|(?:new|more|review) (?:comments|ones)|
        important)\b
    """,
    "lead_fault": r"""
        \b(?:issues?|problems?|bugs|concerns|limitations|(?:new|more|review) (?:comments|ones)|open (?:items|
        questions)|todos?|left to do|risks|duplication)\b
    """,
    # a fault that is over, said as such
    "repaired": r"""
        \b(?:fixe[sd]|resolved|corrected|solved|no longer (?:fails?|happens?|an issue|crash\w*)|now (?:works?|
        passes|handles?|correctly|properly)|works? (?:now|again)|cleared|addressed|(?:tests?|checks?|lint|
        build)(?: and \w+)? (?:now |all )?(?:pass|passes|succeeds?|(?:is|are) (?:clean|green))|
        updated? .{0,60}to handle|handled now|unblocked|mended)\b
    """,
    "done_mark": r"""
        ^[✅✓☑✔]|^(?:added|handled|removed|replaced|updated|corrected|committed|pushed|implemented|rewrote|
        rebased|documented)\b
    """,
    "checks": r"\b(?:tests?|lint\w*|build|compil\w*|suite)\b",
    "checks_pass": r"""
        \ball .{0,30}(?:tests?|checks?) (?:and \w+ )?(?:now )?pass|\b(?:tests|suite|build|
        lint\w*)(?: and \w+)? (?:all )?(?:pass|passes|succeeds?|succeeded|(?:is|are) (?:clean|green))
    """,
    "rule_of_design": r"^[\w ()-]{3,40}: (?:log|return|use|skip|keep|store|treat|ignore|reject|retry|warn)\b",
    # limits
    "limit": r"""
        \b(?:(?<!because )(?<!difference )must(?:n't| not)?\b(?! have| be (?:in|coming|a|an|the|something|due|
        because|from))|should(?:n't| not| never)? be (?:committed|ignored|stored|blocked|kept|used|reused|
        changed|deleted|removed|exposed|logged|modified|in)\b|should (?:only|always|never)|(?:we|you|users?|
        they|hooks?) should(?:n't| not)|(?:is|are) (?:not allowed|forbidden|prohibited|off[- ]limits|required|
        mandatory)|need(?:s)? to (?:stay|remain|work without|be kept)|
        (?<!since they )(?<!since it )(?<!because they )(?<!because it )(?:can't|cannot|can not|can only|
        may only|may not) be\b|not allowed|no more than|at most|at least \d|only works? (?:with|on|if)|
        without (?:touching|breaking|changing)|has to (?:be|stay|work|run|support)|have to (?:be|stay|support)|
        limited to|circular import|won't be allowed)
    """,
    "limit_user": r"""
        \b(?:(?:do not|don't|dont|never) (?!know|think|need|
        see|understand|recall|remember|have|we\b|you\b|i\b|mind|want to)\w+|no don't|let's not|
        should(?:n't| not| never| only| always)|should be \w+ed\b|must(?:n't| not)?\b|(?:^|, |should |must |
        please )always \w+|only (?:use|do|touch|change|commit|when|if|for)|(?:is|are) not to|not allowed|
        no more|required|requirement|directive|without (?:\w+ing)|has to|have to|needs? to (?:be|stay|support|
        work))|(?:^|, )no \w+(?: \w+)?!$
    """,
    "limit_bare": r"^(?:not in|never|do not|don't)\b",
    "limit_loud": r"""
        (?:\b[Ss]hould |\b[Cc]an |\b[Mm]ay |\bbe |^|: |, )(?:NOT|NEVER|ONLY)\b|\b(?:MUST|DO NOT)\b
    """,
    # finished work
    "done_start": r"""
        ^(?:[✅✓☑✔●•*\s]|done[.:! ]|ok[, ]|great[,!: ]|perfect[,!: ]|i(?:'ve| have)? (?:also |now |
        successfully )?)*(?:added|updated|fixed|removed|created|renamed|changed|moved|implemented|replaced|
        refactored|converted|restored|adjusted|switched|simplified|copied|stopped|skipped|
        commit(?:ted)?\b(?! (?:the|your|them|please))|push(?:ed)|merg(?:ed)|rebased|reverted|restored|deleted|
        extracted|simplified|cleaned up|documented|wrote|written|logged|replied|respond(?:ed)|configured|
        installed|migrated|bumped|enabled|disabled|improved|ensured|verified|test(?:ed)|ported|published|
        deployed|released|opened|closed|registered|wired|passes)\b
    """,
    "done_state": r"""
        \b(?:(?:tests?|checks?|lint\w*|formatting|builds?|suite|strategies)(?: and \w+)?
        [ ](?:now |all |still )?(?:pass(?:es|ed|ing)?|succeed(?:s|ed)?|
        compiles?|(?:is|are) (?:clean|green|passing|complete|done))|(?:build|implementation|migration|
        refactor\w*|port|work|task|batch|deployment|rebase|fix) (?:is )?(?:now )?(?:complete(?:d)?|done|
        succeeded|finished|works?|passed|in place)|code compiles|lint(?:ing)? (?:is )?clean|
        overall: ?.{0,3}pass|(?:has|have) (?:now )?been (?:added|updated|fixed|removed|created|replaced|renamed|
        published|committed|pushed|merged|implemented|addressed|reverted)|(?:is|are) (?:now )?(?:fixed|
        implemented|in place|complete|completed|ready(?: to merge| for merge)?|done|committed|pushed|merged|
        resolved|cleared|rebuilt|working)\b|now (?:works|passes|uses|returns|handles|shows|creates|supports|has|
        follows)|working now|ready to merge|everything (?:is )?(?:works|working|passes)|it builds|
        builds? successfully|(?:rebased|committed|fixed) and pushed|written to|^(?:pr|commit|branch|
        pull request|release): |already done|(?:comments|items|issues) addressed|works correctly)|^[✅✓☑✔]|
        \bnow (?:stored|used|set|shown|written)\b|\b(?:updated|added|fixed) and (?:passing|tested|pushed|
        committed)
    """,
}

# Japanese and Chinese are written without spaces, so these look for the whole phrase.
CJK = {
    "offer": r"""
        (?:しましょうか|ましょうか|でしょうか|いかがですか|どうですか|ますか[?？。]?$|お勧め|おすすめ|提案|
        かもしれません|かもしれない|検討して(?:ください|みて)|方がいい(?:と思|です)|要不要|是否(?:需要|要)|
        需要我|您(?:想|要|希望)|你(?:想|要|希望)|建议|可以考虑|也许|或许|可能会更|要我)
    """,
    "question": r"[?？]\s*$|(?:ですか|ますか|でしょうか)[。]?$|(?:吗|呢)[。]?$",
    # against a fault: it is over
    "mended": r"""
        (?:修正(?:し(?:た|ました)|済み|されました|完了)|直(?:した|しました|りました)|解決(?:し|済み)|解消|
        エラーなし|問題(?:なし|ありません|ない)|期待(?:どおり|通り)|想定(?:どおり|通り)|已(?:经)?(?:修复|解决|
        修正|处理)|修复了|修好了|解决了|没有(?:问题|错误|报错)|不再|符合预期|正常(?:工作|运行))
    """,
    "fault": r"""
        (?:失敗(?:し|する|中|です)|エラー(?:が|で|に|と|:|：|です)|(?:動|働|効)(?:か|き)ない|動作しない|
        落ち(?:る|た|ます|ました)|壊れ|クラッシュ|バグ|不具合|不足|漏れ|未(?:解決|対応|実装|修正|確認|テスト|
        検証)|対応していない|できていない|(?:原因|問題)は|問題が(?:ある|あり|残)|(?:必要|確認)が残|残っている|
        要(?:調整|検討|確認|修正)|課題|タイムアウト(?:し|する|が)|例外が|競合(?:が|し)|リークし|欠け|
        見つからない|(?:なぜか|どうしても|まだ).{1,20}(?:できない|ならない|出ない|開かない|繋がらない)|TODO|
        FIXME|再現|失敗|失败|报错|出错|错误[::：]|崩溃|异常|(?:问题|原因)(?:是|在于|仍|还)|存在(?:问题|缺陷|
        漏洞|竞争)|有(?:问题|bug|漏洞|缺陷)|缺少|缺失|遗漏|不(?:工作|生效|支持|兼容|正确|一致)|无法|没有(?:处理|
        覆盖|测试)|尚未|还没(?:有)?|未(?:处理|覆盖|解决|实现|修复)|待(?:办|解决|修复|确认)|超时|泄漏|冲突|坏了|
        挂了|卡住|(?:打|登|进|跑|编|启动|连|装|找|读|写|加载)不(?:开|了|上|进去|起来|过|到|出来))
    """,
    "choose": r"""
        (?:(?:こと)?に(?:決め(?:た|ました|る|よう)|決定)|決定(?:し|:|：)|採用(?:し|する|:|：)|を(?:使う|使い|
        使用する|使おう)(?:ことに|。|$|ましょう|ます)|にしよう|にしましょう|にします|でいこう|で行こう|で進め|
        で統一|(?:代わり|かわり)に|ではなく|(?:は|を)(?:見送|やめ)|に変更(?:する|します|しよう)|方針(?:は|:|：|
        とする)|とする(?:。|$)|ことにする|ことにした|ことにしました|に切り替え(?:る|ます|よう)|决定|选择(?:了|
        使用|用)|选用|采用|改(?:用|为|成)|(?:就|先|统一|直接|还是)(?:用|使用|采用|改|做|放|按)|而(?:不是|非)|
        代替|方案(?:是|定为|:|：)|我们(?:用|使用|不用)|暂(?:时)?(?:不|先)|先不|换成|放到)
    """,
    # limits
    "limit": r"""
        (?:禁止|しないで(?:ください|$|。)?|するな|ないこと|てはいけ(?:ない|ません)|てはなら(?:ない|ません)|
        ではいけ|だめ|ダメ|不可|必須|必ず|しなければなら|なければいけ|べき(?:ではない|で|だ|。|$)|のみ(?:対応|
        使用|許可|可)|だけ(?:を)?(?:使|変更|許可)|以内|以下に|以上に(?:し|保)|(?:でき|使え|呼べ|送れ|
        置け)ない(?:ため|ので|制約)|使えない(?:ため|ので)?|触らないで|変えないで|不要(?!紧|な|に|で)|不能|不得|
        不允许|不可(?!能)|禁止|必须|务必|一定要|只能|只允许|仅(?:限|支持|允许|能)|不超过|至少|最多|别(?:动|改|
        用|碰|提交|删)|不准|严禁|应该?(?:始终|总是|只))
    """,
    "done": r"""
        (?:(?:追加|修正|更新|変更|削除|作成|実装|置換|移動|対応|完了|反映|統合|導入|整理|改善|設定|コミット|
        プッシュ|公開|確認)(?:し(?:た|ました|ています|ておきました)|済み|されました|できました|しました|
        です。?$|が完了)|(?:テスト|ビルド|検証|lint|チェック)(?:は|が|も)?(?:すべて|全て|全部|全件)?(?:通|成功|
        パス|グリーン|合格)|成功(?:し(?:た|ました)|です)|(?:に|く)なりました|(?:降|提升|减少|缩短)到|直し(?:た|ました)|(?:書き|置き|差し)(?:換え|替え)(?:た|
        ました)|已(?:经)?(?:将|把|添加|修复|更新|删除|创建|实现|完成|提交|推送|重命名|替换|移动|合并|改|加|写|
        部署|配置|修改)|(?:添加|修复|更新|删除|创建|实现|完成|提交|推送|替换|合并|修改|重构|写好|加好|改好)了|
        (?:测试|构建|编译|检查)(?:都|全部|均|已)?(?:已)?通过|(?:构建|编译|部署)成功|搞定)
    """,
    # speech acts that carry no judgment, whatever words they contain
    "narration": r"""
        ^(?:では|まず|次に|それでは|さて|ちょっと)?.{0,30}(?:確認します|調べます|見てみます|読みます|実行します|
        見ます|調査します|チェックします)。?$|^[一-龠ァ-ヶー]{2,6}します。?$|^(?:好的，?)?(?:让我|我来|先).{0,6}(?:一下|改)?。?$|
        ^(?:让我|我来|我先|先|现在|接下来|首先).{0,30}(?:看|检查|查|运行|
        读|确认|分析|测试)
    """,
    "context": r"""
        (?:という前提|前提は|環境は|背景|仕様(?:は|では|上)|要件|使っている|使われている|構成|現在は|対応が必須|
        背景是|目前|环境是|项目(?:使用|是|用)|需求是|前提是|要求是|版本是)
    """,
}
