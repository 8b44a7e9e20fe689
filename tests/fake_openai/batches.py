"""The Batch API of the server: files, batches, and what becomes of them, as a test wants it.

The shapes are those of ``openai.types.Batch`` and ``openai.types.FileObject``; the files' lines are those of
https://platform.openai.com/docs/guides/batch.
"""

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.fake_openai.replies import HANG, RESET, Reply, Wire, as_wire, raw, status

Answer = Callable[[dict[str, Any]], Reply]
PAGE = 20
OVER = ("completed", "failed", "expired", "cancelled")
NEVER_RUN = {
    "expired": ("batch_expired", "This request could not be executed before the completion window expired."),
    "cancelled": ("batch_cancelled", "This request was not executed: the batch was cancelled."),
}


@dataclass
class Batches:
    """Takes files and batches. A batch stays ``in_progress`` until :meth:`finish` says what becomes of it.

    ``lost`` is how many replies to a creation are lost: the batch is
    made, and the connection breaks. ``hung`` is how many are never given. ``refused`` is answered to each
    creation in place of a batch; ``complaint`` makes each fail its validation. ``strays`` puts
    one line twice and one for an unknown request into each output. Not ``marked``, it keeps no
    metadata, as some compatible servers do.
    """

    lost: int = 0
    hung: int = 0
    refused: Reply | None = None
    complaint: str = ""
    strays: bool = False
    marked: bool = True
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    made: dict[str, dict[str, Any]] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    looks: int = 0

    def answer(self, method: str, target: str, headers: Mapping[str, str], content: bytes) -> Reply:
        """The answer to one request for a file or a batch."""
        url = urlsplit(target)
        parts = url.path.strip("/").split("/")[1:]  # without v1
        match (method, parts):
            case "POST", ["files"]:
                return self._upload(headers, content)
            case "GET", ["files", name, "content"] if name in self.contents and name not in self.deleted:
                return Wire(body=self.contents[name], content_type="application/octet-stream")
            case "GET", ["files", name] if name in self.files and name not in self.deleted:
                return raw(self.files[name])
            case "DELETE", ["files", name] if name in self.files:
                self.deleted.append(name)
                return raw({"id": name, "object": "file", "deleted": True})
            case "POST", ["batches"]:
                return self._create(json.loads(content))
            case "GET", ["batches"]:
                return self._list(parse_qs(url.query))
            case "GET", ["batches", name] if name in self.made:
                self.looks += 1
                return raw(self.made[name])
            case "POST", ["batches", name, "cancel"] if name in self.made:
                return self._cancel(self.made[name])
        return status(404, "not_found", message=f"there is no {target}")

    def requests(self, batch_id: str | None = None) -> list[dict[str, Any]]:
        """The requests of a batch, of all batches where none is named."""
        wanted = [self.made[batch_id]] if batch_id else self.made.values()
        return [
            json.loads(line)
            for batch in wanted
            for line in self.contents[batch["input_file_id"]].splitlines()
        ]

    def finish(self, answer: Answer, *, how: str = "completed", most: int | None = None) -> None:
        """End every batch that is under way: ``most`` of its requests answered, all unless told."""
        for batch in self.made.values():
            if batch["status"] not in OVER:
                self._finish(batch, answer, how, most)

    def _finish(self, batch: dict[str, Any], answer: Answer, how: str, most: int | None) -> None:
        requests = self.requests(batch["id"])
        done = requests[: len(requests) if most is None else most]
        lines = [_line(request, answer(request["body"])) for request in done]
        good = [line for line in lines if line["response"]["status_code"] == 200]
        bad = [line for line in lines if line["response"]["status_code"] != 200]
        code, message = NEVER_RUN.get(how, ("", ""))
        never = [_never(request, code, message) for request in requests[len(done) :] if code]
        output = good[::-1]  # in no order that could be relied on
        if self.strays and good:
            output = [*output, good[0], {**good[0], "custom_id": "nobody-0"}]
        now = int(time.time())
        batch.update(
            status=how,
            output_file_id=self._keep(output, "output") if output else None,
            error_file_id=self._keep([*bad, *never], "errors") if bad or never else None,
            request_counts={"total": len(requests), "completed": len(good), "failed": len(bad) + len(never)},
            finalizing_at=now,
        )
        batch[f"{how}_at"] = now

    def _upload(self, headers: Mapping[str, str], content: bytes) -> Wire:
        boundary = re.search(r"boundary=(\S+)", headers["content-type"])
        assert boundary is not None
        fields: dict[str, tuple[str, bytes]] = {}
        for part in content.split(b"--" + boundary[1].strip('"').encode())[1:-1]:
            head, _, body = part.partition(b"\r\n\r\n")
            said = head.decode()
            name, of_file = re.search(r'[; ]name="([^"]+)"', said), re.search(r'filename="([^"]+)"', said)
            assert name is not None
            fields[name[1]] = (of_file[1] if of_file else "", body[:-2])
        filename, lines = fields["file"]
        file_id = self._file(filename, lines, fields["purpose"][1].decode())
        return raw(self.files[file_id])

    def _file(self, filename: str, content: bytes, purpose: str) -> str:
        file_id = f"file-{len(self.files) + 1}"
        self.contents[file_id] = content
        self.files[file_id] = {
            "id": file_id,
            "object": "file",
            "bytes": len(content),
            "created_at": int(time.time()),
            "expires_at": int(time.time()) + 30 * 86400,
            "filename": filename,
            "purpose": purpose,
            "status": "processed",
        }
        return file_id

    def _keep(self, lines: list[dict[str, Any]], name: str) -> str:
        content = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        return self._file(f"batch_{name}.jsonl", content, "batch_output")

    def _create(self, wanted: Mapping[str, Any]) -> Reply:
        if self.refused is not None:
            return self.refused
        file = self.files.get(wanted["input_file_id"])
        if file is None or file["purpose"] != "batch" or wanted["completion_window"] != "24h":
            return status(400, "invalid_request_error")
        batch = self._new(wanted)
        self.made[batch["id"]] = batch
        if self.hung:
            self.hung -= 1
            return HANG
        if self.lost:
            self.lost -= 1
            return RESET
        return raw(batch)

    def _new(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        now, number = int(time.time()), len(self.made) + 1
        requests = self.contents[wanted["input_file_id"]].splitlines()
        batch = {
            "id": f"batch_{number}",
            "object": "batch",
            "endpoint": wanted["endpoint"],
            "errors": None,
            "input_file_id": wanted["input_file_id"],
            "completion_window": wanted["completion_window"],
            "status": "in_progress",
            "output_file_id": None,
            "error_file_id": None,
            "created_at": now,
            "in_progress_at": now,
            "expires_at": now + 86400,
            "request_counts": {"total": len(requests), "completed": 0, "failed": 0},
            "metadata": wanted.get("metadata") if self.marked else None,
        }
        if self.complaint:
            error = {"code": "invalid_json_line", "message": self.complaint, "param": None, "line": 1}
            batch.update(status="failed", failed_at=now, errors={"object": "list", "data": [error]})
        return batch

    def _list(self, query: Mapping[str, list[str]]) -> Wire:
        newest = list(self.made.values())[::-1]
        after, limit = query.get("after", [""])[0], int(query.get("limit", [str(PAGE)])[0])
        names = [batch["id"] for batch in newest]
        start = names.index(after) + 1 if after else 0
        page = newest[start : start + limit]
        return raw(
            {
                "object": "list",
                "data": page,
                "first_id": page[0]["id"] if page else None,
                "last_id": page[-1]["id"] if page else None,
                "has_more": start + limit < len(newest),
            }
        )

    def _cancel(self, batch: dict[str, Any]) -> Wire:
        if batch["status"] in OVER:
            return status(409, "conflict", message=f"Cannot cancel a batch with status '{batch['status']}'.")
        batch.update(status="cancelling", cancelling_at=int(time.time()))
        return raw(batch)


def _line(request: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    wire = as_wire(reply)
    assert isinstance(wire, Wire), "a request in a batch cannot break a connection"
    response = {
        "status_code": wire.status,
        "request_id": f"req_{request['custom_id']}",
        "body": json.loads(wire.body),
    }
    return {
        "id": f"batch_req_{request['custom_id']}",
        "custom_id": request["custom_id"],
        "response": response,
        "error": None,
    }


def _never(request: Mapping[str, Any], code: str, message: str) -> dict[str, Any]:
    return {
        "id": f"batch_req_{request['custom_id']}",
        "custom_id": request["custom_id"],
        "response": None,
        "error": {"code": code, "message": message},
    }
