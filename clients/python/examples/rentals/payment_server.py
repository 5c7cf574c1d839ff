"""A payment server: it refuses one card in ten, honours `Idempotency-Key`, and dies on request.

What it has answered is in its ledger, an SQLite file, before the answer is sent. After a crash it
is started again with the same ledger, and answers a repeated request as the first.
"""

import argparse
import json
import os
import sqlite3
import threading
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

LEDGER = """
CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, line TEXT, status INTEGER, body TEXT);
CREATE TABLE IF NOT EXISTS charges (id INTEGER PRIMARY KEY, card TEXT, amount TEXT, rental INTEGER);
CREATE TABLE IF NOT EXISTS refunds (id INTEGER PRIMARY KEY, charge INTEGER, amount TEXT);
CREATE TABLE IF NOT EXISTS repeats (key TEXT);
"""

Answer = tuple[int, dict[str, Any]]


class Ledger:
    """What the server has done; requests take turns."""

    def __init__(self, path: Path, deaths: list[int]) -> None:
        self._deaths = deaths
        self._lock = threading.Lock()
        self._database = sqlite3.connect(path, check_same_thread=False)
        self._database.executescript(LEDGER)

    def answer(self, key: str, line: str, request: dict[str, Any]) -> Answer:
        """Act on a request once, however often it comes."""
        with self._lock:
            with self._database:
                known = self._database.execute(
                    "SELECT status, body FROM answers WHERE key = ?", [key]
                ).fetchone()
                if known is not None:
                    self._database.execute("INSERT INTO repeats VALUES (?)", [key])
                    return known[0], json.loads(known[1])
                status, body = self._act(line, request)
                self._database.execute(
                    "INSERT INTO answers VALUES (?, ?, ?, ?)",
                    [key, line, status, json.dumps(body)],
                )
            if line == "POST /charges" and status == 200 and body["id"] in self._deaths:
                # The charge is made, and not answered.
                os._exit(1)
            return status, body

    def _act(self, line: str, request: dict[str, Any]) -> Answer:
        if line == "POST /charges":
            if request["card"].endswith("0"):
                return 402, {"error": "card_declined"}
            made = self._database.execute(
                "INSERT INTO charges (card, amount, rental) VALUES (?, ?, ?)",
                [request["card"], str(request["amount"]), request["rental"]],
            )
            return 200, {"id": made.lastrowid}
        if line == "POST /refunds":
            made = self._database.execute(
                "INSERT INTO refunds (charge, amount) SELECT id, amount FROM charges WHERE id = ?",
                [request["charge"]],
            )
            return (200, {"id": made.lastrowid}) if made.rowcount else (404, {"error": "no charge"})
        return 404, {"error": f"no {line}"}


def handler(ledger: Ledger, token: str) -> type[BaseHTTPRequestHandler]:
    """Make the class that serves requests."""

    class Handler(BaseHTTPRequestHandler):
        """Serves the requests of one connection."""

        protocol_version = "HTTP/1.1"
        # Head and body of an answer are one packet; otherwise the second waits for an ACK.
        wbufsize = -1

        def do_POST(self) -> None:
            """Charge or refund."""
            body = self.rfile.read(int(self.headers["content-length"]))
            key = self.headers["idempotency-key"]
            if self.headers["authorization"] != f"Bearer {token}":
                return self._send(401, {"error": "unauthorized"})
            if not key:
                return self._send(400, {"error": "no Idempotency-Key"})
            request = json.loads(body, parse_float=Decimal)
            return self._send(*ledger.answer(key, f"POST {self.path}", request))

        def _send(self, status: int, answer: dict[str, Any]) -> None:
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    return Handler


class Server(ThreadingHTTPServer):
    """A server on which many may call at once."""

    daemon_threads = True
    request_queue_size = 128


def main() -> None:
    """Serve until the end of the process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ledger", type=Path, required=True, help="its file")
    parser.add_argument("--port", type=int, default=0, help="where it listens; any by default")
    parser.add_argument(
        "--die-at", type=int, nargs="*", default=[], help="die before answering these charges"
    )
    arguments = parser.parse_args()
    # Not an argument, because everybody can read those.
    token = os.environ["PAYMENTS_TOKEN"]
    ledger = Ledger(arguments.ledger, arguments.die_at)
    server = Server(("127.0.0.1", arguments.port), handler(ledger, token))
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
