"""The repository of the examples in seeds 000 and 001, with every definition on the line given there."""

from collections.abc import Mapping

JWT_HEAD = """\
use std::collections::HashMap;

use crate::auth::error::TokenError;

/// What a token says of its bearer.
"""

JWT_CLAIMS = """\
pub struct Claims {
    pub subject: String,
}
"""

JWT_IMPL = """\
impl JwtValidator {
    pub fn new(leeway: u64) -> Self {
        JwtValidator { leeway, keys: HashMap::new() }
    }
"""

VALIDATE_TOKEN = """\
    pub fn validate_token(token: &str, key: &[u8]) -> Result<Claims> {
        let decoded = decode(token, key, &Validation::default())?;
"""

HANDLER_STRUCT = """\
pub struct AuthHandler {
    pub config: AuthConfig,
    pub attempts: u32,
    pub locked: bool,
    pub name: String,
    pub realm: String,
}
"""


def _placed(parts: Mapping[int, str], n_lines: int, filler: str = "") -> str:
    """Returns a text of `n_lines` lines in which each part begins on its line (from 1), with `filler` as all other lines."""
    lines = [filler] * n_lines
    for start, part in parts.items():
        for offset, line in enumerate(part.splitlines()):
            lines[start - 1 + offset] = line
    return "\n".join(lines) + "\n"


BACKEND: Mapping[str, str] = {
    "src/auth/mod.rs": "pub mod error;\npub mod handler;\npub mod jwt;\n",
    "src/auth/error.rs": _placed({5: "pub enum TokenError {\n    Expired,\n    Malformed,\n}"}, 8),
    "src/auth/jwt.rs": _placed(
        {
            1: JWT_HEAD,
            12: JWT_CLAIMS,
            20: "pub struct JwtValidator {\n    leeway: u64,\n    keys: HashMap<String, Vec<u8>>,\n}",
            45: JWT_IMPL,
            87: VALIDATE_TOKEN,
            **{line: f"        check_claim(&decoded, {line}).or(Err(TokenError::Malformed))?;" for line in range(90, 111)},
            111: "        Ok(decoded.claims)\n    }\n}",
        },
        114,
    ),
    "src/auth/handler.rs": _placed(
        {
            1: "use crate::auth::Claims;",
            12: HANDLER_STRUCT,
            20: "impl AuthHandler {\n    pub fn new(config: AuthConfig) -> Self {",
            32: "        AuthHandler::configured(config)\n    }",
            35: "    pub fn authenticate(&self, req: &Request) -> Result<User> {",
            65: "        self.lookup(req)\n    }",
            130: "}",
        },
        130,
    ),
}
