"""Certificates for 127.0.0.1, made by openssl."""

import shutil
import subprocess
from pathlib import Path

import pytest


def signed(directory: Path, name: str) -> tuple[Path, Path, Path]:
    """Returns the files of a key, of its certificate, and of the certificate of the authority that signed it."""
    authority_key, authority = self_signed(directory, f"{name}-authority")
    key, made, request = (directory / f"{name}{suffix}" for suffix in ("-key.pem", ".pem", ".csr"))
    extensions = directory / f"{name}.ext"
    extensions.write_text("subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
    for command in (
        ["req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", key, "-out", request],
        [
            "x509",
            "-req",
            "-in",
            request,
            "-CA",
            authority,
            "-CAkey",
            authority_key,
            "-CAcreateserial",
            "-extfile",
            extensions,
            "-out",
            made,
        ],
    ):
        subprocess.run(["openssl", *command], check=True, capture_output=True)
    return key, made, authority


def self_signed(directory: Path, name: str) -> tuple[Path, Path]:
    """Returns the files of a key and of its certificate. Skips the test where there is no openssl."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    key, made = directory / f"{name}-key.pem", directory / f"{name}.pem"
    wanted = ["-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", "req", *wanted, "-keyout", key, "-out", made], check=True, capture_output=True)
    return key, made
