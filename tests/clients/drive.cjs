// Does everything that hosts do, with one official client over one transport; prints the results as one JSON object.
// node drive.cjs PACKAGES 'JSON'    PACKAGES contains node_modules; JSON: {sdk: 1|2, mode, transport, url, command, root}
const { createRequire } = require("node:module");
const { pathToFileURL } = require("node:url");

const [packages, text] = process.argv.slice(2);
const load = createRequire(packages + "/");
const wish = JSON.parse(text);
const seen = { progress: [], problems: [] };

function version1() {
  const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
  const types = load("@modelcontextprotocol/sdk/types.js");
  const client = new Client({ name: "test", version: "1" }, { capabilities: { roots: { listChanged: true } } });
  client.setRequestHandler(types.ListRootsRequestSchema, roots);
  const transports = {
    stdio: () => load("@modelcontextprotocol/sdk/client/stdio.js").StdioClientTransport,
    http: () => load("@modelcontextprotocol/sdk/client/streamableHttp.js").StreamableHTTPClientTransport,
    sse: () => load("@modelcontextprotocol/sdk/client/sse.js").SSEClientTransport,
    websocket: () => load("@modelcontextprotocol/sdk/client/websocket.js").WebSocketClientTransport,
  };
  return { client, transport: transports[wish.transport](), call: (params, options) => client.callTool(params, undefined, options) };
}

function version2() {
  const sdk = load("@modelcontextprotocol/client");
  const negotiation = wish.mode === "legacy" ? {} : { versionNegotiation: { mode: wish.mode === "auto" ? "auto" : { pin: wish.mode } } };
  const client = new sdk.Client({ name: "test", version: "1" }, { capabilities: { roots: { listChanged: true } }, ...negotiation });
  client.setRequestHandler("roots/list", roots);
  const transports = {
    stdio: () => load("@modelcontextprotocol/client/stdio").StdioClientTransport,
    http: () => sdk.StreamableHTTPClientTransport,
    sse: () => sdk.SSEClientTransport,
  };
  return { client, transport: transports[wish.transport](), call: (params, options) => client.callTool(params, options) };
}

async function roots() {
  seen.n_roots_asked = (seen.n_roots_asked ?? 0) + 1;
  return { roots: [{ uri: pathToFileURL(wish.root).href, name: "project" }] };
}

function opened(Transport) {
  if (wish.transport !== "stdio") return new Transport(new URL(wish.url));
  const [command, ...args] = wish.command;
  return new Transport({ command, args, env: wish.env, cwd: wish.cwd, stderr: "ignore" });
}

async function refusal(promise) {
  try {
    return { result: await promise };
  } catch (error) {
    return { code: error.code ?? null, message: String(error.message) };
  }
}

async function main() {
  const { client, transport, call } = wish.sdk === 1 ? version1() : version2();
  client.onerror = (error) => seen.problems.push(String(error.message));
  await client.connect(opened(transport));
  seen.server = client.getServerVersion();
  seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
  seen.located = await call({ name: "locate_symbol", arguments: { name: "Order" } });
  const onprogress = (progress) => seen.progress.push(progress);
  seen.indexed = await call({ name: "index_repo", arguments: { force: true, wait_seconds: 50 } }, { onprogress });
  seen.refused = await call({ name: "search_code", arguments: { query: "x", limit: "many" } });
  seen.unknown = await refusal(call({ name: "no_such_tool", arguments: {} }));
  const stop = new AbortController();
  const cancelled = refusal(call({ name: "index_repo", arguments: { force: true, wait_seconds: 50 } }, { signal: stop.signal }));
  setTimeout(() => stop.abort("enough"), 20);
  seen.cancelled = await cancelled;
  seen.afterwards = await call({ name: "locate_symbol", arguments: { name: "OrderError" } });
  seen.resources = (await client.listResources()).resources.map((resource) => resource.uri);
  await client.close();
}

main().then(
  () => process.stdout.write(JSON.stringify(seen), () => process.exit(0)),
  (error) => {
    console.error(error, JSON.stringify(seen));
    process.exit(1);
  },
);
