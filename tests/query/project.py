"""A small project in several languages, shared by the query tests. Line numbers in the tests refer to these texts."""

FILES = {
    "src/auth/handler.rs": """\
use crate::auth::Claims;
use std::{fmt, sync::Arc as Shared};

/// Talks to the login form.
pub struct AuthHandler {
    claims: Claims,
}

impl AuthHandler {
    pub fn new(claims: Claims) -> Self {
        Self { claims }
    }

    pub fn authenticate(&self, request: &Request) -> Result<User, TokenError> {
        let token = request.bearer()?;
        validate_token(token, &self.claims)
    }
}

mod tests {
    use super::*;

    fn rejects_expired() {}
}
""",
    "src/auth/jwt.rs": """\
use crate::auth::error::TokenError;

pub struct Claims {
    pub subject: String,
}

/// Checks the signature and the expiry of a token.
pub fn validate_token(token: &str, claims: &Claims) -> Result<User, TokenError> {
    if token.is_empty() {
        return Err(TokenError::Missing);
    }
    decode(token, claims)
}

fn decode(token: &str, claims: &Claims) -> Result<User, TokenError> {
    Err(TokenError::Expired)
}
""",
    "src/auth/error.rs": """\
pub enum TokenError {
    Missing,
    Expired,
}
""",
    "shop/__init__.py": "",
    "shop/limits.py": '''\
"""Limits how often a client may call."""

from shop.storage import Storage
from shop.storage import open_storage as opened
import json


class RateLimiter:
    """A token bucket for each client."""

    def __init__(self, storage: Storage, per_minute: int) -> None:
        self.storage = storage
        self.per_minute = per_minute

    def allow(self, client: str) -> bool:
        """Takes one token from the bucket of a client."""
        if self.storage.count(client) >= self.per_minute:
            raise LimitExceeded("too many requests from this client")
        return True

    class Window:
        def reset(self) -> None:
            pass


class LimitExceeded(Exception):
    pass


def parse_http_header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip(), value.strip()
''',
    "shop/storage.py": '''\
"""Where counts are kept."""


class Storage:
    def count(self, client: str) -> int:
        return 0


def open_storage(url: str) -> Storage:
    """Connects to the storage behind a URL."""
    return Storage()


def reset() -> None:
    pass
''',
    "shop/latest_version.py": '''\
def latest_version() -> str:
    """Says which version of the rate limiter is the newest."""
    return "2.0"
''',
    "tests/test_limits.py": '''\
from shop.limits import RateLimiter


class RateLimiterStub:
    pass


def test_rate_limiter_refuses_when_the_token_bucket_is_empty():
    limiter = RateLimiter(None, 0)
    assert not limiter.allow("rate limiter token bucket client")


def reset():
    """The tests' own reset."""
''',
    "third_party/limiter/limits.py": '''\
class RateLimiter:
    """Somebody else's rate limiter, a token bucket for each client."""
''',
    "web/server.ts": """\
import express, { Router as BaseRouter } from "express";
import * as path from "node:path";
import { parseHeader } from "./header";

export interface ServerOptions {
  port: number;
}

export class HTTPServer {
  constructor(private readonly options: ServerOptions) {}

  getHTTPServerName(): string {
    return `server:${this.options.port}`;
  }
}

export const createServer = (options: ServerOptions): HTTPServer => new HTTPServer(options);
""",
    "web/header.ts": """\
export function parseHeader(line: string): [string, string] {
  const [name, value] = line.split(":");
  return [name.trim(), value.trim()];
}
""",
    "native/queue.h": """\
#include <stddef.h>

struct queue;
int queue_push(struct queue *queue, int value);
""",
    "native/queue.c": """\
#include "queue.h"

struct queue {
    int *items;
    size_t length;
};

int queue_push(struct queue *queue, int value)
{
    queue->items[queue->length++] = value;
    return 0;
}
""",
    "docs/limits.md": """\
# Rate limiter

The rate limiter is a token bucket for each client. The rate limiter refuses with a message.
""",
}
