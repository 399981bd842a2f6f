"""All settings of the program: typed, with unit and default, read once at the start and passed down.

    flag > CODECOMPASS_<SECTION>_<KEY> > --config FILE > <project>/.codecompass/config.toml > user file > default

The environment is read only here. An unknown key is an error that suggests the nearest one, so that a misspelled setting is never
silently ignored. `settings_sources.py` reads files and variables.
"""

import functools
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from codecompass.errors import InvalidInput
from codecompass.units import GIB, KIB, MIB

FreshnessPolicy = Literal["strict", "balanced", "best_effort"]
ExplainLevel = Literal["off", "basic", "full"]
Transport = Literal["stdio", "http"]
Store = Literal["embedded", "opensearch"]
AnswerForm = Literal["json", "text"]
LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["auto", "text", "json"]
EmbeddingApi = Literal["openai", "ollama"]
GitProtocol = Literal["https", "ssh", "git", "http", "file"]

MAX_LIMIT: Final = 100
MAX_TIMEOUT_MS: Final = 60_000
"""Upper bounds of a request's `limit` and `timeout_ms`."""

MAX_TEXT_LENGTH: Final = 4_096
"""Characters of any text, such as a path, a pattern or a URL."""

MAX_ITEMS: Final = 1_000
"""Items of any list."""

Text = Annotated[str, Meta(max_length=MAX_TEXT_LENGTH)]

PathText = Annotated[str, Meta(max_length=MAX_TEXT_LENGTH, extra={"is_path": True})]
"""A path. `~` is the home directory. Relative to the directory of the configuration file, or to the current directory."""


S3_SCHEME: Final = "s3://"
"""Begins the address of a bucket where a path may be given too."""

DEFAULT_UNMARKED_FILES: Final = 2_000


class IndexSettings(Struct, frozen=True, kw_only=True):
    """Which files are indexed, and how much of the machine indexing may use."""

    max_file_size: Annotated[int, Meta(ge=1, le=GIB, description="Larger files are skipped.", extra={"unit": "bytes"})] = 1 * MIB
    exclude: Annotated[
        tuple[Text, ...],
        Meta(max_length=MAX_ITEMS, description="Patterns of files to leave out, as in .gitignore; they win over ignore files."),
    ] = ()
    include: Annotated[
        tuple[Text, ...],
        Meta(max_length=MAX_ITEMS, description="Patterns of files to index although another rule leaves them out."),
    ] = ()
    workers: Annotated[
        int,
        Meta(ge=0, le=256, description="Processes that parse files; 0 means one per processor.", extra={"unit": "processes"}),
    ] = 0
    parse_timeout_ms: Annotated[
        int,
        Meta(
            ge=100,
            le=600_000,
            description="CPU time for parsing one file; a file that needs more is quarantined.",
            extra={"unit": "ms"},
        ),
    ] = 10_000
    max_line_length: Annotated[
        int,
        Meta(
            ge=100,
            le=GIB,
            description="A longer line is left out of its file.",
            extra={"unit": "characters"},
        ),
    ] = 20_000
    max_unmarked_files: Annotated[
        int,
        Meta(
            ge=0,
            le=10_000_000,
            description="A question indexes a directory without a project's marker only if it holds no more files than this.",
            extra={"unit": "files"},
        ),
    ] = DEFAULT_UNMARKED_FILES


class QuerySettings(Struct, frozen=True, kw_only=True):
    """Defaults of requests and limits of answers."""

    freshness_policy: Annotated[
        FreshnessPolicy,
        Meta(
            description="If files have changed: strict refuses, balanced updates first, best_effort answers from the old index."
        ),
    ] = "balanced"
    ranking_explain_level: Annotated[ExplainLevel, Meta(description="How much an answer says about its ranking.")] = "off"
    default_limit: Annotated[
        int, Meta(ge=1, le=MAX_LIMIT, description="Hits in an answer to a request without a limit.", extra={"unit": "hits"})
    ] = 10
    freshness_wait_ms: Annotated[
        int,
        Meta(
            ge=0,
            le=60_000,
            description="How long a query may wait for changed files to be indexed before it answers without them, and says so.",
            extra={"unit": "ms"},
        ),
    ] = 5_000
    first_answer_wait_ms: Annotated[
        int,
        Meta(
            ge=0,
            le=600_000,
            description="How long a query may wait for the first index of a project before it says that there is none yet.",
            extra={"unit": "ms"},
        ),
    ] = 25_000
    files_answer_after_ms: Annotated[
        int,
        Meta(
            ge=0,
            le=600_000,
            description="How long a query waits for the first index before the files themselves may answer it.",
            extra={"unit": "ms"},
        ),
    ] = 2_500
    timeout_ms: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_TIMEOUT_MS,
            description="Time limit of a search, which then returns what it has found.",
            extra={"unit": "ms"},
        ),
    ] = 10_000
    max_response_bytes: Annotated[
        int, Meta(ge=1 * KIB, le=16 * MIB, description="Maximum size of the results in one answer.", extra={"unit": "bytes"})
    ] = 64 * KIB


class ServerSettings(Struct, frozen=True, kw_only=True):
    """How `serve-mcp` listens, which workspaces it serves and which it keeps in memory."""

    transport: Annotated[Transport, Meta(description="How clients reach the server.")] = "stdio"
    store: Annotated[
        Store, Meta(description="Where the indexes are: embedded on this machine, or an organisation's in opensearch.")
    ] = "embedded"
    port: Annotated[int, Meta(ge=0, le=65_535, description="HTTP port; 0 means any free one.")] = 9100
    bind: Annotated[str, Meta(min_length=1, max_length=300, description="HTTP address to listen on.")] = "127.0.0.1"
    metrics_port: Annotated[
        int,
        Meta(
            ge=0,
            le=65_535,
            description="Port for GET /metrics alone, without a token, of a server or a worker of an organisation; 0: none.",
        ),
    ] = 0
    auto_workspace: Annotated[bool, Meta(description="Accept new workspaces if they are below the allowed roots.")] = False
    allowed_roots: Annotated[
        tuple[PathText, ...], Meta(max_length=MAX_ITEMS, description="Directories in which workspaces may be.")
    ] = ()
    allowed_git_dirs: Annotated[
        tuple[PathText, ...],
        Meta(
            max_length=MAX_ITEMS,
            description="Directories besides the allowed roots in which parts of git repositories may be, such as the common "
            "directory of linked work trees.",
        ),
    ] = ()
    max_auto_workspaces: Annotated[
        int,
        Meta(
            ge=1, le=10_000, description="Maximum number of workspaces accepted by auto_workspace.", extra={"unit": "workspaces"}
        ),
    ] = 10
    max_live_workspaces: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Maximum number of open workspaces, fewer if the system allows few open files; others are opened "
            "on request.",
            extra={"unit": "workspaces"},
        ),
    ] = 32
    max_memory: Annotated[
        int,
        Meta(
            ge=MIB,
            le=1024 * GIB,
            description="Memory use above which idle workspaces are closed.",
            extra={"unit": "bytes"},
        ),
    ] = 2 * GIB
    idle_seconds: Annotated[
        int, Meta(ge=1, le=604_800, description="A workspace without requests for this long is closed.", extra={"unit": "s"})
    ] = 900
    warmset_capacity: Annotated[
        int, Meta(ge=0, le=1000, description="Number of recent workspaces opened at the start.", extra={"unit": "workspaces"})
    ] = 3
    prewarm: Annotated[bool, Meta(description="Open recent workspaces at the start.")] = True
    project_from_cwd: Annotated[bool, Meta(description="Let the current directory choose the project.")] = False
    allowed_origins: Annotated[
        tuple[Text, ...], Meta(max_length=MAX_ITEMS, description="Web origins that may connect, besides local ones.")
    ] = ()
    allowed_hosts: Annotated[
        tuple[Text, ...], Meta(max_length=MAX_ITEMS, description="Host headers that are accepted, besides local ones.")
    ] = ()
    active_project_url: Annotated[
        Text,
        Meta(
            description="http:// URL of a server that knows the active project, asked if nothing else names one. Empty: none is "
            "asked. WORKFLOW_MCP_URL sets it too."
        ),
    ] = ""
    active_project_timeout_ms: Annotated[
        int, Meta(ge=100, le=5_000, description="How long to wait for that server.", extra={"unit": "ms"})
    ] = 1_000
    active_project_cache_seconds: Annotated[
        int,
        Meta(ge=10, le=300, description="How long its answer, or the lack of one, is cached.", extra={"unit": "s"}),
    ] = 60
    tools: Annotated[Text, Meta(min_length=1, description="Tools to list: default, core, all, or names separated by commas.")] = (
        "default"
    )
    answers: Annotated[
        AnswerForm,
        Meta(description="Form of the answers: json for programs, text for models. CODECOMPASS_ANSWERS sets it too."),
    ] = "json"
    cache_bytes: Annotated[
        int,
        Meta(
            ge=MIB,
            le=1024 * 1024 * GIB,
            description="Disk space for the cache of a server over an organisation's code.",
            extra={"unit": "bytes"},
        ),
    ] = 8 * GIB
    activity: Annotated[
        bool, Meta(description="Keep the last calls of each client in memory, for the page that a server over HTTP has at /ui.")
    ] = True


class AccessSettings(Struct, frozen=True, kw_only=True):
    """Who may ask a server over an organisation's code, and how much. Without a proxy here, tokens alone identify viewers."""

    trusted_proxies: Annotated[
        tuple[Text, ...],
        Meta(max_length=MAX_ITEMS, description="Networks (such as 10.0.0.0/8) of the proxy that authenticates users."),
    ] = ()
    user_header: Annotated[
        str, Meta(max_length=100, description="Header in which that proxy names the user, such as X-Forwarded-User.")
    ] = ""
    groups_header: Annotated[
        str, Meta(max_length=100, description="Header with the user's groups, separated by commas, such as X-Forwarded-Groups.")
    ] = ""
    admin_groups: Annotated[
        tuple[Text, ...], Meta(max_length=MAX_ITEMS, description="Groups of that proxy whose members may see every repository.")
    ] = ()
    login_header: Annotated[
        str,
        Meta(max_length=100, description="Header with the user's login at the code hosts. Empty: it is the name of the user."),
    ] = ""
    group_names: Annotated[
        tuple[Text, ...],
        Meta(
            max_length=MAX_ITEMS,
            description="Groups that proxies and providers name otherwise than repositories: 'their name=our name'.",
        ),
    ] = ()
    oidc_issuer: Annotated[
        Text, Meta(description="https:// URL of the OpenID Connect provider at which people sign in for a token. Empty: none.")
    ] = ""
    oidc_client_id: Annotated[str, Meta(max_length=300, description="What the servers are called at that provider.")] = ""
    oidc_secret_file: Annotated[
        PathText, Meta(description="File whose first line is their secret there. Empty: the provider asks for none.")
    ] = ""
    oidc_scopes: Annotated[str, Meta(max_length=500, description="What is asked of the provider, separated by blanks.")] = (
        "openid profile groups"
    )
    oidc_name_claim: Annotated[str, Meta(max_length=100, description="Claim with the name of the user.")] = "preferred_username"
    oidc_groups_claim: Annotated[str, Meta(max_length=100, description="Claim with the groups of the user.")] = "groups"
    oidc_token_days: Annotated[
        int,
        Meta(ge=1, le=365, description="How long a token is valid for which somebody has signed in.", extra={"unit": "days"}),
    ] = 7
    page_url: Annotated[
        Text,
        Meta(
            description="https:// URL without a path at which people open the web page of the servers. Empty: there is no page."
        ),
    ] = ""
    page_session_hours: Annotated[
        int,
        Meta(ge=1, le=168, description="How long somebody who signs in to the page stays signed in.", extra={"unit": "hours"}),
    ] = 12
    host_permissions: Annotated[
        bool, Meta(description="Show users what they may read at the code hosts, of sources that were added with --permissions.")
    ] = False
    host_permissions_seconds: Annotated[
        int,
        Meta(
            ge=60,
            le=7 * 86_400,
            description="How long it counts what a worker has read of them; after that they see nothing by it.",
            extra={"unit": "s"},
        ),
    ] = 7_200
    audit_queries: Annotated[bool, Meta(description="Whether the audit line of each answer has the question.")] = False
    max_requests_per_minute: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000_000,
            description="Questions that one viewer may ask a server in a minute; more are refused. 0: no limit.",
            extra={"unit": "questions"},
        ),
    ] = 1_200
    max_concurrent_requests: Annotated[
        int,
        Meta(
            ge=0,
            le=10_000,
            description="Questions of one viewer that a server answers at the same time; more are refused. 0: no limit.",
            extra={"unit": "questions"},
        ),
    ] = 32


class StorageSettings(Struct, frozen=True, kw_only=True):
    """The data directory, its size and its registry."""

    data_dir: Annotated[
        PathText,
        Meta(
            extra={"is_utf8": True},
            description="Directory of all indexes; empty means the platform's default. CODECOMPASS_HOME sets it too.",
        ),
    ] = ""
    max_size: Annotated[
        int,
        Meta(
            ge=0,
            le=1024 * 1024 * GIB,
            description="Maximum size of all indexes; beyond it, those of unregistered projects are deleted. 0 means no limit.",
            extra={"unit": "bytes"},
        ),
    ] = 20 * GIB
    max_refs: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000,
            description="Number of refs of a project, besides the working tree, whose indexes are kept; the least recently used "
            "is deleted.",
            extra={"unit": "indexes"},
        ),
    ] = 8
    busy_timeout_ms: Annotated[
        int,
        Meta(ge=0, le=600_000, description="How long to wait while another process uses the registry.", extra={"unit": "ms"}),
    ] = 5000


class LogSettings(Struct, frozen=True, kw_only=True):
    """What is logged to stderr, and how."""

    level: Annotated[LogLevel, Meta(description="Lowest severity that is logged; -v and -vv lower it.")] = "warning"
    format: Annotated[LogFormat, Meta(description="auto is text on a terminal, else JSON lines.")] = "auto"


class SemanticSettings(Struct, frozen=True, kw_only=True):
    """Search by meaning: which endpoint makes vectors, and how much is sent there. Off while `endpoint` is empty."""

    endpoint: Annotated[
        Text,
        Meta(
            description="http(s):// URL of a server that makes embeddings; text of your files and of questions is sent there. "
            "Empty: nothing is sent."
        ),
    ] = ""
    api: Annotated[EmbeddingApi, Meta(description="Its interface: openai is POST /v1/embeddings, ollama POST /api/embed.")] = (
        "openai"
    )
    model: Annotated[str, Meta(max_length=200, description="Name of the model, as the server knows it.")] = ""
    dimensions: Annotated[
        int,
        Meta(ge=0, le=8_192, description="Length of the model's vectors; needed with an endpoint.", extra={"unit": "numbers"}),
    ] = 0
    request_dimensions: Annotated[
        bool, Meta(description="Request vectors of that length, from models that can shorten theirs.")
    ] = False
    api_key_env: Annotated[
        str,
        Meta(max_length=200, description="Name of the environment variable with the key; the key itself is never in a file."),
    ] = ""
    allow_plain_http: Annotated[
        bool, Meta(description="Also send to other machines over http://, where it can be read on the way.")
    ] = False
    document_prefix: Annotated[
        str, Meta(max_length=500, description="Prefix of each text, if the model needs one (search_document: ).")
    ] = ""
    question_prefix: Annotated[
        str, Meta(max_length=500, description="Prefix of each question, if the model needs one (search_query: ).")
    ] = ""
    question_timeout_ms: Annotated[
        int,
        Meta(
            ge=10,
            le=10_000,
            description="How long a question waits for its vector before it is answered by its words alone.",
            extra={"unit": "ms"},
        ),
    ] = 300
    timeout_ms: Annotated[
        int, Meta(ge=100, le=600_000, description="How long the vectors of one batch may take.", extra={"unit": "ms"})
    ] = 30_000
    batch_size: Annotated[int, Meta(ge=1, le=256, description="Texts in one request.", extra={"unit": "texts"})] = 32
    requests_per_second: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000,
            description="Maximum requests a second for vectors of texts, over all projects.",
            extra={"unit": "requests"},
        ),
    ] = 5
    max_texts: Annotated[
        int,
        Meta(
            ge=1,
            le=200_000,
            description="Maximum number of a project's texts with vectors, product code first; others are found by their words.",
            extra={"unit": "texts"},
        ),
    ] = 20_000
    max_text_characters: Annotated[
        int, Meta(ge=100, le=20_000, description="Longer texts are cut.", extra={"unit": "characters"})
    ] = 2_000
    min_similarity: Annotated[
        float,
        Meta(ge=0.0, le=1.0, description="Cosine similarity below which a text is not a hit; usual values depend on the model."),
    ] = 0.2


class ClusterSettings(Struct, frozen=True, kw_only=True):
    """The search engine with an organisation's code, and how workers fetch repositories. Off while `url` is empty."""

    url: Annotated[
        tuple[Text, ...],
        Meta(max_length=MAX_ITEMS, description="http(s):// addresses of OpenSearch nodes; any node may get any request."),
    ] = ()
    prefix: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=100,
            pattern="^[a-z0-9][a-z0-9-]*$",
            description="Prefix of the names of its indexes: lower-case letters, digits and hyphens.",
        ),
    ] = "codecompass"
    user: Annotated[Text, Meta(description="Name with which programs log in to the nodes. Empty: without a password.")] = ""
    password_file: Annotated[PathText, Meta(description="File whose first line is the password of cluster.user.")] = ""
    ca_file: Annotated[
        PathText, Meta(description="PEM certificates that may have signed the nodes' ones. Empty: those of the system.")
    ] = ""
    client_certificate: Annotated[PathText, Meta(description="PEM certificate that is shown to the nodes. Empty: none.")] = ""
    client_key: Annotated[PathText, Meta(description="PEM key of that certificate. Empty: it is in the same file.")] = ""
    segments: Annotated[
        PathText,
        Meta(
            description="Where workers publish finished indexes, which servers copy and read themselves: a directory that all "
            "share, or s3://BUCKET/PREFIX, in which the prefix may be left out."
        ),
    ] = ""
    s3_endpoint: Annotated[
        Text,
        Meta(description="http(s):// address of the service with the bucket. Empty: AWS_ENDPOINT_URL, or Amazon's."),
    ] = ""
    s3_region: Annotated[Text, Meta(description="Its region. Empty: AWS_REGION, or us-east-1.")] = ""
    s3_path_style: Annotated[
        bool,
        Meta(description="Whether addresses have the bucket in their path (true) or before the host's name (false)."),
    ] = True
    s3_access_key_file: Annotated[
        PathText,
        Meta(
            description="File whose first line is the access key. Empty: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or what "
            "the machine has from its cloud."
        ),
    ] = ""
    s3_secret_key_file: Annotated[PathText, Meta(description="File whose first line is the secret of that key.")] = ""
    s3_ca_file: Annotated[
        PathText,
        Meta(description="PEM certificates that may have signed the service's one, besides those of the system. Empty: none."),
    ] = ""
    s3_timeout_ms: Annotated[
        int,
        Meta(
            ge=1_000,
            le=10 * 60_000,
            description="How long a request to that service may take, with its content of up to 8 MiB.",
            extra={"unit": "ms"},
        ),
    ] = 30_000
    protocols: Annotated[
        tuple[GitProtocol, ...],
        Meta(max_length=5, description="Protocols by which repositories may be fetched: https, ssh, git, http, file."),
    ] = ("https", "ssh", "git")
    poll_seconds: Annotated[
        int,
        Meta(ge=1, le=86_400, description="How often a worker checks each remote for changes.", extra={"unit": "s"}),
    ] = 60
    discover_seconds: Annotated[
        int,
        Meta(
            ge=30,
            le=7 * 86_400,
            description="How often the repositories of each source at a code host are listed again.",
            extra={"unit": "s"},
        ),
    ] = 600
    host_tokens: Annotated[
        PathText,
        Meta(description="Directory with tokens for code hosts: in a file named like the host, its first line. Empty: none."),
    ] = ""
    history: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000,
            description="How many generations of commits of a default branch can be searched and compared; 0: none.",
        ),
    ] = 500
    max_repository_size: Annotated[
        int,
        Meta(
            ge=1 * MIB,
            le=1024 * GIB,
            description="Maximum size of a repository's copy on a worker's disk; larger ones are not fetched.",
            extra={"unit": "bytes"},
        ),
    ] = 20 * GIB


class OrganisationSettings(Struct, frozen=True, kw_only=True):
    """The organisation's server, which answers about projects that are not on this machine. Off while `url` is empty."""

    url: Annotated[
        Text,
        Meta(
            description="https:// URL of that server. Questions about several projects, or about repositories unknown here, are "
            "sent there; the token is in CODECOMPASS_ORGANISATION_TOKEN. Empty: nothing is sent."
        ),
    ] = ""
    timeout_ms: Annotated[
        int,
        Meta(
            ge=100,
            le=MAX_TIMEOUT_MS,
            description="How long a question about several projects waits for that server.",
            extra={"unit": "ms"},
        ),
    ] = 3_000


class TraceSettings(Struct, frozen=True, kw_only=True):
    """Traces of requests and of workers' turns, which a collector of OpenTelemetry gets. Off while `endpoint` is empty."""

    endpoint: Annotated[
        Text,
        Meta(
            description="http(s):// URL to which spans are posted by OTLP over HTTP, such as http://collector:4318/v1/traces. "
            "Empty: nothing is recorded."
        ),
    ] = ""
    sample_ratio: Annotated[
        float,
        Meta(ge=0.0, le=1.0, description="Which part of the requests is recorded; the sender's own traces as it has decided."),
    ] = 1.0
    queries: Annotated[bool, Meta(description="Also record what was asked, up to 1,000 characters.")] = False


class Settings(Struct, frozen=True, kw_only=True):
    """All settings. Built by `settings_sources.load_settings`; `Settings()` has the defaults."""

    index: IndexSettings = IndexSettings()
    query: QuerySettings = QuerySettings()
    server: ServerSettings = ServerSettings()
    access: AccessSettings = AccessSettings()
    semantic: SemanticSettings = SemanticSettings()
    storage: StorageSettings = StorageSettings()
    cluster: ClusterSettings = ClusterSettings()
    organisation: OrganisationSettings = OrganisationSettings()
    traces: TraceSettings = TraceSettings()
    log: LogSettings = LogSettings()


PROJECT_SECTIONS: Final = frozenset({"index", "query"})
"""Sections that a project's own file may set. It may come from a clone, so it must not open ports, widen roots or move the
store."""

USER_KEYS: Final = frozenset({"index.workers", "index.parse_timeout_ms", "index.max_unmarked_files"})
"""Keys of these sections that it may not set, because the user decides how much of the machine indexing may use."""

LOWERED_KEYS: Final = frozenset(
    {
        "index.max_file_size",
        "index.max_line_length",
        "query.files_answer_after_ms",
        "query.first_answer_wait_ms",
        "query.freshness_wait_ms",
        "query.max_response_bytes",
        "query.timeout_ms",
    }
)
"""Resource limits that a project's own file may lower below the user's file or the default, but never raise. A higher value is
ignored, which is reported."""

EXCLUDE, INCLUDE = "index.exclude", "index.include"
"""Lists whose patterns from a project's own file come before the user's, so that files that the user excludes stay excluded."""

ENVIRONMENT_PREFIX: Final = "CODECOMPASS_"
HOME_VARIABLE: Final = "CODECOMPASS_HOME"
SHORT_VARIABLES: Final[Mapping[str, str]] = {
    HOME_VARIABLE: "storage.data_dir",
    "CODECOMPASS_ANSWERS": "server.answers",
    "WORKFLOW_MCP_URL": "server.active_project_url",
}
"""Variables that set a key under a shorter name, or under a name that other programs use too."""

WEBHOOK_SECRET_VARIABLE: Final = "CODECOMPASS_WEBHOOK_SECRET"
"""Holds the secret with which git servers sign their messages. Never read from a file, never shown."""

ORGANISATION_TOKEN_VARIABLE: Final = "CODECOMPASS_ORGANISATION_TOKEN"
"""Holds the user's token for the organisation's server. Never read from a file, never shown."""

NO_SETTING: Final = frozenset({"CODECOMPASS_PROJECT", WEBHOOK_SECRET_VARIABLE, ORGANISATION_TOKEN_VARIABLE})
"""Variables with the prefix that are not settings."""


class Setting(Struct, frozen=True):
    """One key of the configuration, for `config show` and the checks."""

    key: str
    """Section and name, with a dot."""
    type: object
    """The annotation that msgspec converts to."""
    default: object
    description: str
    unit: str
    is_path: bool
    is_utf8: bool
    """Whether a path must be UTF-8, because libraries cannot open others."""

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return ENVIRONMENT_PREFIX + self.key.replace(".", "_").upper()


@functools.cache
def known_settings() -> tuple[Setting, ...]:
    """Returns all keys, in the order of the sections and fields above."""
    return tuple(
        _setting(section.name, field)
        for section in msgspec.structs.fields(Settings)
        for field in msgspec.structs.fields(section.type)
    )


def read_environment() -> Mapping[str, str]:
    """Returns a copy of the environment of the process."""
    return dict(os.environ)


def wants_color(environment: Mapping[str, str]) -> bool:
    """Returns False if the user wants plain output: NO_COLOR is set and not empty, or the terminal is dumb."""
    return not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def user_file() -> Path:
    """Returns the path of the user's configuration file, which may not exist."""
    return user_directory("config") / "config.toml"


def user_directory(kind: Literal["config", "data"]) -> Path:
    """Returns our directory for files of this kind that belong to the user, by the conventions of the platform."""
    if sys.platform == "linux" and os.path.isabs(os.environ.get("HOME", "")):
        # As platformdirs does, whose import takes 5 ms.
        named = os.environ.get(f"XDG_{kind.upper()}_HOME", "")
        usual = "~/.config" if kind == "config" else "~/.local/share"
        return Path(named if os.path.isabs(named) else os.path.expanduser(usual), "codecompass")
    import platformdirs

    place = platformdirs.user_config_dir if kind == "config" else platformdirs.user_data_dir
    return Path(place("codecompass", appauthor=False))


def require_utf8(path: str, source: str) -> None:
    """Raises InvalidInput for a directory of indexes whose path is not UTF-8, because SQLite and tantivy cannot open it."""
    try:
        path.encode()
    except UnicodeEncodeError:
        shown = path.encode("utf-8", "backslashreplace").decode()
        raise InvalidInput(
            f"{source}: {shown} is not UTF-8, and no index can be kept there. Set CODECOMPASS_HOME to a directory whose path is.",
            key="storage.data_dir",
            constraint="UTF-8",
        ) from None


def project_file(root: Path) -> Path:
    """Returns the path of the configuration file of the project at `root`, which may not exist."""
    return root / ".codecompass" / "config.toml"


def _setting(section: str, field: msgspec.structs.FieldInfo) -> Setting:
    metas = [item for item in getattr(field.type, "__metadata__", ()) if isinstance(item, Meta)]
    extra = {name: value for meta in metas for name, value in (meta.extra or {}).items()}
    descriptions = [meta.description for meta in metas if meta.description]
    return Setting(
        key=f"{section}.{field.name}",
        type=field.type,
        default=field.default,
        description=descriptions[-1] if descriptions else "",
        unit=str(extra.get("unit", "")),
        is_path=_is_path(field.type),
        is_utf8=bool(extra.get("is_utf8")),
    )


def _is_path(annotation: object) -> bool:
    metas = [item for item in getattr(annotation, "__metadata__", ()) if isinstance(item, Meta)]
    return any((meta.extra or {}).get("is_path") for meta in metas) or any(map(_is_path, get_args(annotation)))
