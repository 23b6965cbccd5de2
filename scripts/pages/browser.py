"""A headless Chromium driven over its DevTools pipe with the standard library alone."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
# key → (code, virtual key code, text)
KEYS = {
    "Tab": ("Tab", 9, ""),
    "Enter": ("Enter", 13, "\r"),
    " ": ("Space", 32, " "),
    "PageUp": ("PageUp", 33, ""),
    "PageDown": ("PageDown", 34, ""),
    "End": ("End", 35, ""),
    "Home": ("Home", 36, ""),
    "ArrowLeft": ("ArrowLeft", 37, ""),
    "ArrowUp": ("ArrowUp", 38, ""),
    "ArrowRight": ("ArrowRight", 39, ""),
    "ArrowDown": ("ArrowDown", 40, ""),
}


class BrowserError(Exception):
    pass


def find_browser():
    """The path of an installed Chromium, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page of one browser. Everything a person does goes through real key and mouse events."""

    def __init__(self, program, timeout=30.0):
        self.timeout = timeout
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.buffer = b""
        self.events = []
        self.last_id = 0
        self.session = None
        to_browser, self.outgoing = os.pipe()
        self.incoming, from_browser = os.pipe()
        # The browser reads its orders from descriptor 3 and answers on 4; the originals must not be in the way.
        high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10) for descriptor in (to_browser, from_browser)]

        def place_pipes():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}", "--window-size=1400,1000", "about:blank"],
            preexec_fn=place_pipes, pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        for descriptor in (to_browser, from_browser, *high):
            os.close(descriptor)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.outgoing)
        os.close(self.incoming)
        self.profile.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def call(self, method, **parameters):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.outgoing, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + self.timeout
        while True:
            answer = self._read(end, method)
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def _read(self, end, what):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.incoming], [], [], max(0.0, end - time.monotonic()))
            piece = os.read(self.incoming, 1 << 16) if ready else b""
            if not piece:
                raise BrowserError(f"the browser did not answer {what} within {self.timeout:.0f} s")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def open(self, path, scheme):
        """Loads a file with a light or dark setting, and waits until it stands."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def evaluate(self, expression):
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"{expression}: {answer['exceptionDetails']['exception'].get('description')}")
        return answer["result"].get("value")

    def wait(self, condition):
        end = time.monotonic() + self.timeout
        while not self.evaluate(condition):
            if time.monotonic() > end:
                raise BrowserError(f"waited {self.timeout:.0f} s in vain for {condition}")
            time.sleep(0.02)

    def press(self, key, times=1):
        code, number, text = KEYS[key]
        for _ in range(times):
            down = {"type": "keyDown" if text else "rawKeyDown", "key": key, "code": code, "windowsVirtualKeyCode": number}
            if text:
                down["text"] = text
            self.call("Input.dispatchKeyEvent", **down)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=code, windowsVirtualKeyCode=number)

    def mouse(self, x, y, click=False):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        if click:
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def screenshot(self, path):
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(picture))

    def complaints(self):
        """What went wrong in the page, and every request for anything but files and data."""
        found = []
        self.evaluate("0")  # whatever is under way has been reported before this is answered
        for event in self.events:
            parameters = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(parameters["exceptionDetails"]["exception"].get("description", "an exception"))
            elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                found.append(parameters["entry"]["text"])
            elif event.get("method") == "Network.requestWillBeSent":
                url = parameters["request"]["url"]
                if not url.startswith(("file:", "data:")):
                    found.append(f"a request for {url}")
        return found
