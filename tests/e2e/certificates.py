# SPDX-License-Identifier: Apache-2.0
"""Certificates for tests of TLS, made by the program openssl."""
import subprocess

KEYS = {"ec": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
        "rsa": ["-newkey", "rsa:2048"],
        # A key of a curve that TLS clients do not offer.
        "unoffered": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:secp256k1"]}


def openssl(*words, **options):
    return subprocess.run(["openssl", *map(str, words)], check=True, timeout=120,
                          capture_output=True, **options)


class Authority:
    """Signs certificates. They and their keys are files in `folder`."""

    def __init__(self, folder, name="authority"):
        self.folder, self.name = folder, name
        self.file, self.key = folder / f"{name}.pem", folder / f"{name}.key"
        openssl("req", "-x509", *KEYS["ec"], "-nodes", "-days", 30, "-subj",
                f"/CN={name}", "-keyout", self.key, "-out", self.file)

    def sign(self, name, kind="ec", days=30, names="DNS:localhost,IP:127.0.0.1"):
        """Makes a certificate and its key. Returns both files."""
        request, rules = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        file, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        rules.write_text(f"subjectAltName={names}\n")
        openssl("req", *KEYS[kind], "-nodes", "-subj", f"/CN={name}", "-keyout", key,
                "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.file, "-CAkey", self.key,
                "-days", days, "-extfile", rules, "-out", file)
        return file, key
