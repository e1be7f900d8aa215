"""A loopback server of the Messages API. What it answers follows from the last message alone."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def last_text(body):
    content = body["messages"][-1]["content"]
    if isinstance(content, str):
        return content, None
    results = [block for block in content if block["type"] == "tool_result"]
    # What the harness adds is not what the person said.
    texts = [block["text"] for block in content if block["type"] == "text"]
    texts = [text for text in texts if not text.startswith("<system-reminder>")]
    return (texts[-1] if texts else ""), (results[-1] if results else None)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        server = self.server
        server.requests.append(body)
        text, result = last_text(body)
        if "refuse" in text:
            self.refuse()
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        try:
            self.start(body["model"])
            if result is not None:
                failed = "failed" if result.get("is_error") else "worked"
                self.block({"type": "text", "text": ""}, {"type": "text_delta", "text": f"it {failed}"})
                self.stop("end_turn")
            elif text.startswith("call "):
                _, name, given = text.split(" ", 2)
                self.call(name, given)
            elif "write" in text:
                self.call("Write", json.dumps({"file_path": text.split()[-1], "content": "written\n"}))
            elif "slow" in text:
                self.block({"type": "text", "text": ""}, {"type": "text_delta", "text": "so far"})
                server.slow.set()
                # Until the client goes away: reading finds the end of its connection.
                self.rfile.read(1)
            else:
                self.block({"type": "text", "text": ""}, {"type": "text_delta", "text": f"you said {text.split()[-1]}"})
                self.stop("end_turn")
        except (BrokenPipeError, ConnectionResetError):
            pass

    def refuse(self):
        error = {"type": "error", "error": {"type": "invalid_request_error", "message": "not like this"}}
        self.send_response(400)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(error).encode())

    def event(self, data):
        self.wfile.write(f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()

    def start(self, model):
        usage = {"input_tokens": 10, "output_tokens": 1}
        number = len(self.server.requests)
        message = {
            "id": f"msg_{number}", "type": "message", "role": "assistant", "model": model, "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": usage,
        }
        self.event({"type": "message_start", "message": message})

    def block(self, block, delta):
        self.event({"type": "content_block_start", "index": 0, "content_block": block})
        self.event({"type": "content_block_delta", "index": 0, "delta": delta})
        self.event({"type": "content_block_stop", "index": 0})

    def call(self, name, given):
        call = {"type": "tool_use", "id": f"toolu_{len(self.server.requests)}", "name": name, "input": {}}
        self.block(call, {"type": "input_json_delta", "partial_json": given})
        self.stop("tool_use")

    def stop(self, reason):
        delta = {"stop_reason": reason, "stop_sequence": None}
        self.event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}})
        self.event({"type": "message_stop"})


def start():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.requests = []
    server.slow = threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
