// Search while somebody types: the server renders the hits, this inserts them. The newest query wins, older ones are cancelled.

// A key press is sent at once if no request is in flight, so that the last one need not wait; presses that come faster than answers
// are sent together.
const DEBOUNCE_MS = 25;
const RETRY_MS = 1500;

const form = document.getElementById("search");
const results = document.getElementById("results");
let asked = new URLSearchParams(new FormData(form)).toString();
let timer = 0;
let running = null;

function address(base) {
  const fields = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (value && !(name === "mode" && value === "auto")) fields.set(name, value);
  }
  return `${base}?${fields}`;
}

// An index that is being built can answer soon: ask again.
function askAgainIfPassing() {
  if (!results.querySelector("[data-passing]")) return;
  clearTimeout(timer);
  timer = setTimeout(() => {
    asked = "";
    ask();
  }, RETRY_MS);
}

async function ask() {
  const now = new URLSearchParams(new FormData(form)).toString();
  if (now === asked) return;
  asked = now;
  const q = form.q.value;
  running?.abort();
  const mine = new AbortController();
  running = mine;
  results.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(address(form.dataset.results), { signal: mine.signal });
    const text = await answer.text();
    if (mine.signal.aborted) return;
    if (answer.headers.get("content-type")?.startsWith("text/html")) {
      // Rendered by our own server, with all values escaped.
      results.innerHTML = text;
    } else {
      results.textContent = "The server has refused this. Load the page again.";
    }
    history.replaceState(null, "", address(form.getAttribute("action")));
    results.dataset.answers = q;
    results.setAttribute("aria-busy", "false");
    running = null;
    askAgainIfPassing();
  } catch (error) {
    if (mine.signal.aborted) return;
    asked = "";
    results.textContent = "The server does not answer. Is it still running?";
    results.setAttribute("aria-busy", "false");
    running = null;
  }
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(ask, running ? DEBOUNCE_MS : 0);
});
form.addEventListener("change", () => {
  clearTimeout(timer);
  ask();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(timer);
  const row = results.querySelector("[data-row]");
  if (results.dataset.answers === form.q.value && row) row.focus();
  ask();
});
askAgainIfPassing();
