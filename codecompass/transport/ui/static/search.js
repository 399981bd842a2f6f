// Search while somebody types: the server renders the hits, this inserts them. One search runs at a time, because two would slow
// each other down: what is typed meanwhile is sent when it has answered. One that takes long is cancelled for the newest.
// Enter, or a pause, makes a query an entry of the browser's history; what is typed in between replaces one entry.

import { hide, remember } from "./complete.js";

const PATIENCE_MS = 300;
const RETRY_MS = 1500;
const PAUSE_MS = 2000;
const COUNT_MS = 250;

const form = document.getElementById("search");
const results = document.getElementById("results");
const facets = document.getElementById("facets");
let asked = new URLSearchParams(new FormData(form)).toString();
let timer = 0;
let pause = 0;
let countTimer = 0;
let running = null;
let sentAt = 0;
let counting = null;
// Whether the current entry of the history is a query that stays there.
let isKept = Boolean(form.q.value);

function address(base) {
  const fields = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (value && !(name === "mode" && value === "auto")) fields.set(name, value);
  }
  return `${base}?${fields}`;
}

function here() {
  return address(form.getAttribute("action"));
}

// An index that is being built can answer soon: ask again.
function askAgainIfPassing() {
  if (!results.querySelector("[data-passing]")) return;
  clearTimeout(timer);
  timer = setTimeout(() => {
    // Whoever is among the hits keeps the place.
    if (results.contains(document.activeElement)) {
      askAgainIfPassing();
      return;
    }
    asked = "";
    ask({ isPast: true });
  }, RETRY_MS);
}

function note() {
  if (here() === location.pathname + location.search) return;
  if (isKept) history.pushState(null, "", here());
  else history.replaceState(null, "", here());
  isKept = false;
}

function keep() {
  clearTimeout(pause);
  if (!form.q.value.trim()) return;
  note();
  isKept = true;
  remember(form.q.value);
}

async function count() {
  counting?.abort();
  const mine = new AbortController();
  counting = mine;
  try {
    const answer = await fetch(address(facets.dataset.facets), { signal: mine.signal });
    const text = answer.ok ? await answer.text() : "";
    // Rendered by our own server, with all values escaped.
    if (!mine.signal.aborted) facets.innerHTML = text;
  } catch {
    // The hits are there; they are not counted.
  }
}

function written() {
  return new URLSearchParams(new FormData(form)).toString();
}

async function ask({ isPast = false } = {}) {
  clearTimeout(timer);
  const now = written();
  if (now === asked) return;
  asked = now;
  const q = form.q.value;
  running?.abort();
  counting?.abort();
  clearTimeout(countTimer);
  const mine = new AbortController();
  running = mine;
  sentAt = performance.now();
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
    if (!isPast) note();
    results.dataset.answers = q;
    results.setAttribute("aria-busy", "false");
    running = null;
    if (written() !== now) {
      ask();
      return;
    }
    countTimer = setTimeout(count, COUNT_MS);
    askAgainIfPassing();
  } catch (error) {
    if (mine.signal.aborted) return;
    asked = "";
    results.textContent = "The server does not answer. Is it still running?";
    results.setAttribute("aria-busy", "false");
    running = null;
  }
}

function pauseAgain() {
  clearTimeout(pause);
  pause = setTimeout(keep, PAUSE_MS);
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  const left = sentAt + PATIENCE_MS - performance.now();
  if (running && left > 0) timer = setTimeout(ask, left);
  else ask();
  pauseAgain();
});
form.addEventListener("change", () => {
  clearTimeout(timer);
  ask();
  pauseAgain();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(timer);
  hide();
  const row = results.querySelector("[data-row]");
  if (results.dataset.answers === form.q.value && row) row.focus();
  ask();
  keep();
});

// A filter that is removed, or added by a count.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-q]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  keep();
  form.q.value = link.dataset.q;
  form.q.focus();
  hide();
  ask();
  keep();
});

addEventListener("popstate", () => {
  const fields = new URLSearchParams(location.search);
  for (const field of form.elements) {
    if (!field.name) continue;
    if (field.type === "checkbox") field.checked = fields.has(field.name);
    else if (field.name === "mode") field.value = fields.get("mode") ?? "auto";
    else if (field.name !== "project" || fields.has("project")) field.value = fields.get(field.name) ?? "";
  }
  clearTimeout(timer);
  clearTimeout(pause);
  isKept = Boolean(form.q.value);
  hide();
  ask({ isPast: true });
});
// Whoever opens a hit has meant the query.
addEventListener("pagehide", () => remember(form.q.value));

if (form.q.value) remember(form.q.value);
askAgainIfPassing();
