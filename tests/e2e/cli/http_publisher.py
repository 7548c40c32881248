"""A publisher of services over HTTP that shares no code with Holdfast: docs/discovery.md, the openssl command and curl's way."""

import base64
import json
import os
import subprocess
import urllib.error
import urllib.request


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class HttpPublisher:
    def __init__(self, url, scratch, name):
        self.url = url
        self.key = os.path.join(scratch, name + ".pem")
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", self.key], check=True)
        public = subprocess.run(["openssl", "pkey", "-in", self.key, "-pubout", "-outform", "DER"], check=True,
                                capture_output=True).stdout
        self.public_key = public[-32:]

    def sign(self, body):
        message = self.key + ".message"
        with open(message, "wb") as file:
            file.write(b"holdfast lease update v1\n" + body)
        return subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", self.key, "-in", message], check=True,
                              capture_output=True).stdout

    def signed(self, action, name, **fields):
        """An update, as a request that send() takes."""
        with urllib.request.urlopen(self.url + "/v1/relay") as answer:
            relay = json.load(answer)
        update = {"action": action, "name": name, "relay": relay["relay"], "time_ms": relay["time_ms"],
                  "nonce": os.urandom(8).hex(), **fields}
        body = json.dumps(update).encode()
        signature = base64url(self.public_key) + "." + base64url(self.sign(body))
        return urllib.request.Request(self.url + "/v1/services", body, method="POST", headers={
            "Content-Type": "application/json", "Holdfast-Signature": signature})

    def send(self, request):
        """The status and the answer."""
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)

    def say(self, action, name, **fields):
        return self.send(self.signed(action, name, **fields))

    def register(self, name, **fields):
        return self.say("register", name, **fields)
