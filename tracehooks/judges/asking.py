"""BaseJudge: everything about asking that does not depend on which model answers."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from tracehooks.judges.completions import Completion, CompletionFailed, Messages
from tracehooks.judges.echoes import is_echo, repeats_material
from tracehooks.judges.memory import current_memory, fingerprint
from tracehooks.judges.posting import Letter, current_post, next_custom_id
from tracehooks.judges.prompts import CLOSING, RULES, Prompt, correction, render
from tracehooks.judges.replies import decode, sanitized
from tracehooks.judges.untraced import untraced
from tracehooks.masking import judge_masker
from tracehooks.protocols import Answer, BadReply, Question, Usage
from tracehooks.records import Reason

logger = logging.getLogger("tracehooks")

# Servers name the reasons for a reply's end in these ways.
_CUT_SHORT = frozenset({"length", "max_tokens", "model_length"})
_FILTERED = frozenset({"content_filter", "safety"})
_REFUSED = frozenset({"refusal"})


class BaseJudge:
    """Asks a question and returns a validated answer. A subclass only sends messages: ``_complete``.

    ``mask`` says what never reaches the model: ``"secrets"`` (keys, tokens, passwords), ``"none"``, or a list
    of regular expressions. ``model`` names the model, for provenance.
    """

    model: str | None = None
    address: str | None = None  # of the server, where there is one

    def __init__(self, *, mask: str | Sequence[str] = "secrets") -> None:
        self.mask = mask
        self._masked = judge_masker(mask)

    @property
    def options(self) -> Mapping[str, Any]:
        """What else than the model decides how it judges; part of a scorer's version."""
        return {"mask": self.mask if isinstance(self.mask, str) else list(self.mask)}

    async def ask(self, question: Question) -> Answer:
        """Ask ``question``: its material is masked, sent behind a nonce, and the reply is validated.

        A malformed reply is corrected once, in the same conversation. Never raises for a failure of the
        model, the network, the reply or our own code: the answer's ``reason`` says what happened.
        """
        asking = _Asking(self, question)
        try:
            return await asking.answered()
        except Exception as error:
            logger.error("judge failed on question %r: %s", question.name, error, exc_info=True)
            return asking.failed(Reason.SCORER_ERROR, f"{type(error).__name__}: {error}")

    async def _complete(self, messages: Messages, schema: Mapping[str, Any]) -> Completion:
        """Send ``messages``; raises CompletionFailed when no reply came."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to send a question")

    def _request(self, messages: Messages, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The request for ``messages`` as it stands in a batch; None for a judge that has no batches."""
        return None

    def _answered_by(self, letter: Letter) -> Completion | None:
        """The reply in an answered letter; None when the question is to be asked again.

        Raises CompletionFailed when it failed for good.
        """
        return None

    async def aclose(self) -> None:
        """Close what is open on the running event loop. The judge can be used again."""


class _Asking:
    """One question on its way: the conversation so far, and what it has cost."""

    def __init__(self, judge: BaseJudge, question: Question) -> None:
        self.judge = judge
        self.question = question
        self.messages: list[Mapping[str, str]] = []
        self.model = judge.model
        self.usage = Usage()
        self.attempts = 0
        self.raw: str | None = None
        self.post = current_post()
        self.custom_id = next_custom_id()
        self.letter: Letter | None = None
        self.batched = False

    async def answered(self) -> Answer:
        """The answer: the one that is remembered, or else a new one, remembered if it is a verdict."""
        if self.post is not None and self.custom_id is not None:
            self.letter = self.post.find(self.custom_id, self._fingerprint())
        memory = current_memory()
        if memory is None:
            return await self.answer()
        place = memory.place(self._fingerprint())
        # an answer of this run's own batch is paid for: it comes before that of another run
        recalled = None if self.letter else self._recalled(memory.recall(place))
        if recalled is not None:
            return recalled
        answer = await self.answer()
        if answer.reason is None and answer.raw is not None:
            memory.keep(place, answer.raw, answer.model)
        return answer

    def _recalled(self, found: tuple[str, str | None] | None) -> Answer | None:
        """The answer in a remembered reply; None when it cannot be read any more."""
        if found is None:
            return None
        reply, model = found
        try:
            value = self.question.read(decode(reply).value)
        except BadReply:
            return None
        prompt = tuple(self._rendered().messages)
        used = Usage(input_tokens=0, output_tokens=0)
        return Answer(value=value, model=model, usage=used, prompt=prompt, raw=reply, attempts=0, cached=True)

    def _fingerprint(self) -> str:
        """Everything that makes a reply, but for chance: judge, model, prompt, schema, text."""
        judge, question = self.judge, self.question
        return fingerprint(
            {
                "judge": [type(judge).__module__, type(judge).__qualname__, judge.model, judge.address],
                "options": judge.options,
                "prompt": [question.name, question.instructions, RULES, CLOSING],
                "material": list(self._material().items()),
                "schema": question.schema,
            }
        )

    def _material(self) -> Mapping[str, str]:
        """What is judged, without what must not reach the model."""
        material, masked = self.question.material, self.judge._masked
        return material if masked is None else {label: masked(text) for label, text in material.items()}

    async def answer(self) -> Answer:
        """The answer to the question, after one correction at most."""
        prompt = self._rendered()
        self.messages = list(prompt.messages)
        if self._is_posted(prompt):
            return self.failed(Reason.NOT_ATTEMPTED, "the question waits for its batch")
        first = await self._turn(prompt)
        if first.reason is not Reason.MALFORMED:
            return first
        self.messages += correction(self.raw or "", first.detail)
        return await self._turn(prompt)

    def failed(self, reason: Reason, detail: str) -> Answer:
        """An answer without a value."""
        return self._answer(reason=reason, detail=detail)

    def _rendered(self) -> Prompt:
        return render(self.question, self._material(), self.letter.nonce if self.letter else None)

    def _is_posted(self, prompt: Prompt) -> bool:
        """Put the question into a batch, where one is made up."""
        if self.post is None or self.custom_id is None or self.letter is not None:
            return False
        body = self.judge._request(self.messages, self.question.schema)
        if body is None:
            return False
        letter = Letter(custom_id=self.custom_id, question=self._fingerprint(), nonce=prompt.nonce, body=body)
        return self.post.put(letter, self.judge)

    async def _completion(self) -> Completion:
        """The reply to the conversation so far: the one that a batch brought, or else a new one."""
        letter, self.letter = self.letter, None  # it answers the first turn only
        if letter is not None:
            self.batched = True
            found = self.judge._answered_by(letter)
            if found is not None:
                return found
            self.batched = False
        with untraced():
            return await self.judge._complete(self.messages, self.question.schema)

    async def _turn(self, prompt: Prompt) -> Answer:
        try:
            completion = await self._completion()
        except CompletionFailed as failure:
            self.attempts += failure.attempts
            return self.failed(failure.reason, failure.detail)
        self._count(completion)
        unusable = _unusable(completion)
        if unusable is not None:
            return self.failed(*unusable)
        return self._read(self.raw or "", prompt)

    def _count(self, completion: Completion) -> None:
        self.attempts += completion.attempts
        self.usage += completion.usage
        self.model = completion.model or self.model
        said = completion.refusal if completion.text is None else completion.text
        self.raw = None if said is None else sanitized(said)

    def _read(self, reply: str, prompt: Prompt) -> Answer:
        if repeats_material(reply, prompt):
            return self.failed(Reason.SUSPECT, "the judge repeated what it was given instead of judging it")
        try:
            decoded = decode(reply)
            if is_echo(decoded, prompt):
                return self.failed(Reason.SUSPECT, "the judge's answer stood ready in what it was to judge")
            return self._answer(value=self.question.read(decoded.value))
        except BadReply as bad:
            return self.failed(bad.reason, str(bad))

    def _answer(self, **outcome: Any) -> Answer:
        return Answer(
            model=self.model,
            usage=self.usage,
            prompt=tuple(self.messages),
            raw=self.raw,
            attempts=self.attempts,
            batched=self.batched,
            **outcome,
        )


def _unusable(completion: Completion) -> tuple[Reason, str] | None:
    """Why ``completion`` is no reply to read, whatever its text says; None when it is one."""
    ending = (completion.finish_reason or "").casefold()
    if completion.refusal or ending in _REFUSED:
        return Reason.REFUSED, f"the judge refused: {sanitized(completion.refusal or completion.text or '')}"
    if ending in _FILTERED:
        return Reason.CONTENT_FILTERED, "the judge's reply was withheld by a content filter"
    if ending in _CUT_SHORT:
        return Reason.TRUNCATED, f"the judge's reply was cut off (finish_reason {completion.finish_reason})"
    if not (completion.text and completion.text.strip("\ufeff \t\r\n")):
        return Reason.EMPTY, f"the judge's reply was empty (finish_reason {completion.finish_reason})"
    return None
